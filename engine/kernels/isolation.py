"""Work that may kill the process that does it, done in forks of one that has loaded everything.

The parent must not have computed anything in parallel before: OpenMP's threads do not survive a
fork, and the child would wait for them for ever.
"""

import json
import os
import resource
import selectors
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from linattn_verify.engine.death import death

Emit = Callable[["Event"], None]
Task = Callable[[Callable[[], None]], Any]
"""Returns what JSON can hold; its argument is called at each strike of a fault."""


@dataclass(frozen=True)
class Event:
    """How one task ended: with a result, by a signal or exit code, or not in time."""

    index: int
    result: Any = None
    death: str = ""
    timed_out: bool = False
    strikes: int = 0
    seconds: float = 0.0


def isolated(tasks: Sequence[Task], timeout: float, emit: Emit) -> None:
    """Run every task, in order, in a forked process. A task that kills it, or takes longer than
    `timeout` seconds, is told so, and the next one starts in a new fork."""
    begin = 0
    while begin < len(tasks):
        begin = _in_a_fork(tasks, begin, timeout, emit)


def _in_a_fork(tasks: Sequence[Task], begin: int, timeout: float, emit: Emit) -> int:
    """Run tasks from `begin` on until one breaks the process; the first that is left to do."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _work(tasks[begin:], writer)
    os.close(writer)
    listener = _Listener(reader, begin, emit)
    late = not listener.listen(timeout)
    os.close(reader)
    if late:
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if listener.at == len(tasks) and not late and code == 0:
        return listener.at
    # The task at hand broke it; or the process died between tasks, which the last one left behind.
    listener.broken("" if late else death(code), late)
    return listener.at


class _Listener:
    """Reads what a fork says: a line at each strike and at each end of a task."""

    def __init__(self, reader: int, at: int, emit: Emit) -> None:
        self.at = at
        self._reader, self._emit = reader, emit
        self._strikes, self._since = 0, time.monotonic()
        self._buffer = b""

    def listen(self, timeout: float) -> bool:
        """Until the fork closes its end: True. False where a task takes longer than `timeout`."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._reader, selectors.EVENT_READ)
            while True:
                left = self._since + timeout - time.monotonic()
                if not selector.select(max(0.0, left)):
                    return False
                data = os.read(self._reader, 1 << 16)
                if not data:
                    return True
                *lines, self._buffer = (self._buffer + data).split(b"\n")
                for line in lines:
                    self._take(json.loads(line))

    def _take(self, message: dict[str, Any]) -> None:
        if message.get("strike"):
            self._strikes += 1
        else:
            self._end(result=message["result"])

    def broken(self, death: str, late: bool) -> None:
        """The fork did not live to tell how the task at hand ended."""
        self._end(death=death, timed_out=late)

    def _end(self, **how: Any) -> None:
        now = time.monotonic()
        self._emit(Event(self.at, strikes=self._strikes, seconds=now - self._since, **how))
        self.at, self._strikes, self._since = self.at + 1, 0, now


def _work(tasks: Sequence[Task], writer: int) -> NoReturn:
    code = 1
    # A crash is expected here, and its memory image would be gigabytes.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    try:
        for task in tasks:
            _tell(writer, {"result": task(lambda: _tell(writer, {"strike": True}))})
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        # Not sys.exit: the parent's cleanup is not the fork's.
        os._exit(code)


def _tell(writer: int, message: dict[str, Any]) -> None:
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(writer, data) :]
