"""An engine process seen from outside: start, ask, and a clean end of all its descendants."""

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

import psutil

from linattn_verify.engine.death import death
from linattn_verify.engine.messages import REPLIES, Command, Failed, Progress, Reply, Stop
from linattn_verify.traces.outcome import Status

_GRACE = 5.0  # seconds between asking a process to end and ending it
_SHORT_OF_MEMORY = " (which is how a machine short of memory ends processes)"
TAIL_LINES = 30
_CHILD = "linattn_verify.engine.child"


class EngineFailure(Exception):
    """The engine process could not do what it was asked."""

    def __init__(self, failure: Failed, log_tail: tuple[str, ...]) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.log_tail = log_tail


class EngineProcess:
    """One child process that holds at most one engine. Its output goes to `log`."""

    def __init__(self, log: Path, environment: dict[str, str]) -> None:
        self.log = log
        commands_out, self._commands = os.pipe()
        self._replies, replies_in = os.pipe()
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _CHILD, str(commands_out), str(replies_in)],
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=(commands_out, replies_in),
                start_new_session=True,
            )
        os.close(commands_out)
        os.close(replies_in)
        self._buffer = b""
        self._descendants: dict[int, psutil.Process] = {}

    @property
    def pid(self) -> int:
        """Process id, also the id of its process group."""
        return self._process.pid

    def ask(
        self,
        command: Command,
        timeout: float,
        progress: Callable[[Progress], None] = lambda _: None,
    ) -> Reply:
        """Send `command`, return the reply that ends it.

        Raises EngineFailure where the child says that it failed, died, or made no progress for
        `timeout` seconds; after a death or a timeout nothing of it is left running.
        """
        deadline = time.monotonic() + timeout
        done = 0
        self._send(command)
        while True:
            reply = self._next_reply(deadline)
            if isinstance(reply, Progress):
                progress(reply)
                if reply.done > done:
                    done, deadline = reply.done, time.monotonic() + timeout
            elif reply is None:
                self._give_up(command, timeout)
            elif isinstance(reply, Failed):
                raise EngineFailure(reply, self.tail())
            else:
                return reply

    def _send(self, command: Command) -> None:
        data = (command.model_dump_json() + "\n").encode()
        with suppress(BrokenPipeError):  # the reader finds out, and says how the child died
            while data:
                data = data[os.write(self._commands, data) :]

    def _next_reply(self, deadline: float) -> Reply | None:
        """The next reply; None when the deadline passed or the child is gone."""
        while b"\n" not in self._buffer:
            # Asked before the pipe is: what a child wrote before it ended is still read.
            gone = self._process.poll() is not None
            with selectors.DefaultSelector() as selector:
                selector.register(self._replies, selectors.EVENT_READ)
                ready = selector.select(max(0.0, min(1.0, deadline - time.monotonic())))
            self._note_descendants()
            if ready:
                data = os.read(self._replies, 1 << 16)
                if not data:
                    return None
                self._buffer += data
            elif gone or time.monotonic() >= deadline:
                return None
        line, self._buffer = self._buffer.split(b"\n", 1)
        try:
            return REPLIES.validate_json(line)
        except ValueError as error:
            tail = self.tail()
            self.kill()
            message = f"the engine process wrote what is no reply: {line[:80]!r}"
            raise EngineFailure(Failed(status=Status.ERROR, message=message), tail) from error

    def _give_up(self, command: Command, timeout: float) -> None:
        """Say how the child ended, or end it because it took too long."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0 if self._process.poll() is None else 0)
        code = self._process.poll()
        tail = self.tail()
        self.kill()
        if code is None:
            status = Status.TIMED_OUT
            message = f"no progress of {command.type!r} within {timeout:g} s: hung, or too slow"
        else:
            status = Status.CRASHED
            message = f"the engine process died: {_death(code)}"
        raise EngineFailure(Failed(status=status, message=message), tail)

    def _note_descendants(self) -> None:
        """Remember who belongs to the child while it lives: some leave its process group."""
        with suppress(psutil.Error):
            for process in psutil.Process(self.pid).children(recursive=True):
                self._descendants[process.pid] = process

    def tail(self) -> tuple[str, ...]:
        """The last lines of the log."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, self.log.stat().st_size - 16384))
                text = file.read().decode("utf-8", errors="replace")
        except OSError:
            return ()
        return tuple(text.splitlines()[-TAIL_LINES:])

    def stop(self) -> None:
        """Ask the child to end, then see to it."""
        if self._process.poll() is None:
            self._send(Stop())
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE)
        self.kill()

    def kill(self) -> None:
        """End the child and all its descendants, and wait until they are gone."""
        self._note_descendants()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        for process in self._descendants.values():
            with suppress(psutil.Error):
                process.kill()  # psutil knows a recycled pid by its start time
        psutil.wait_procs(list(self._descendants.values()), timeout=_GRACE)
        self._process.wait()
        for descriptor in (self._commands, self._replies):
            with suppress(OSError):
                os.close(descriptor)
        self._commands = self._replies = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.stop()
        else:
            self.kill()


def _death(code: int) -> str:
    killed = code == -signal.SIGKILL
    return death(code) + (_SHORT_OF_MEMORY if killed else "")
