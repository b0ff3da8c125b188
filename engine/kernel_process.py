"""The process that runs the operators, seen from outside: start, read, and a clean end."""

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from linattn_verify.engine.death import death
from linattn_verify.engine.kernel_messages import KernelFacts, KernelLine, KernelsRequest
from linattn_verify.traces.kernels import KernelEvidence, KernelRow

_MODULE = "linattn_verify.engine.kernels"
_TAIL_BYTES, _TAIL_LINES = 16384, 5
Progress = Callable[[int], None]


class KernelProcess:
    """One child process that runs every case asked for. Its output goes to `log`. It works from
    the start on; what it says waits in a pipe, so somebody has to `collect` before long."""

    def __init__(
        self, log: Path, environment: dict[str, str], request: KernelsRequest, module: str = _MODULE
    ) -> None:
        self.log = log
        self._started = time.monotonic()
        self._lines, writer = os.pipe()
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, str(writer), request.model_dump_json()],
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=(writer,),
                start_new_session=True,
            )
        os.close(writer)
        self._rows: list[KernelRow] = []
        self._facts: KernelFacts | None = None

    def collect(self, timeout: float, progress: Progress = lambda _: None) -> KernelEvidence:
        """Read until the process ends. Raises nothing for a process that crashes, hangs, or makes
        no progress for `timeout` seconds: what it had measured is kept, with the reason."""
        failure = self._read(timeout, progress)
        if not failure:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout)
            code = self._process.poll()
            if code != 0:
                failure = "it did not end" if code is None else f"it died: {death(code)}"
        self.kill()
        facts = self._facts or KernelFacts(versions={}, cpu={}, kernel_path=())
        return KernelEvidence(
            rows=tuple(self._rows),
            versions=facts.versions,
            cpu=facts.cpu,
            kernel_path=facts.kernel_path,
            seconds=time.monotonic() - self._started,
            failure=f"the operators' process: {failure}{self._tail()}" if failure else "",
        )

    def _read(self, timeout: float, progress: Progress) -> str:
        """Take every line; what went wrong, or nothing where the process closed its end."""
        buffer = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._lines, selectors.EVENT_READ)
            while selector.select(timeout):
                data = os.read(self._lines, 1 << 16)
                if not data:
                    return ""
                *lines, buffer = (buffer + data).split(b"\n")
                for line in lines:
                    try:
                        self._take(KernelLine.model_validate_json(line))
                    except ValueError:
                        return f"it wrote what is no line of results: {line[:80]!r}"
                progress(len(self._rows))
        return f"no progress within {timeout:g} s"

    def _take(self, line: KernelLine) -> None:
        self._facts = line.facts or self._facts
        if line.row:
            self._rows.append(line.row)

    def _tail(self) -> str:
        try:
            text = self.log.read_bytes()[-_TAIL_BYTES:].decode("utf-8", errors="replace")
        except OSError:
            return ""
        return "\n".join(["", *text.splitlines()[-_TAIL_LINES:]]).rstrip()

    def kill(self) -> None:
        """End the process and its forks, which are in its group, and wait until it is gone. Who
        collects in another thread sees its end of the pipe close: the pipe stays open for that."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """Let go of the pipe, once nobody collects any more."""
        self.kill()
        if self._lines >= 0:
            os.close(self._lines)
            self._lines = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
