"""The live display of a run: what goes on, tokens done, time left."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from linattn_verify.reports.document import Phase


class _TimeLeft(ProgressColumn):
    """Seconds left of a phase whose tokens are counted; nothing where nobody can tell."""

    def render(self, task: Task) -> Text:
        left = task.time_remaining
        return Text("" if left is None or task.finished else f"{left:.0f} s left")


class Display:
    """Shows the phases of a run and remembers what each took. On a terminal it is live; elsewhere
    each phase prints a line when it ends, so that a log shows that the run is alive."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.phases: list[Phase] = []
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[tokens]}"),
            _TimeLeft(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task: TaskID | None = None

    @contextmanager
    def live(self) -> Iterator["Display"]:
        """Display while the block runs."""
        with self._progress:
            yield self

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Name what goes on in the block, and keep its time."""
        started = time.monotonic()
        self._task = self._progress.add_task(name, total=None, tokens="")
        try:
            yield
        finally:
            seconds = time.monotonic() - started
            self._progress.remove_task(self._task)
            self.phases.append(Phase(name=name, seconds=seconds))
            self.console.print(f"{seconds:7.1f} s  {name}", highlight=False, markup=False)

    def cases(self, done: int) -> None:
        """Cases done of the current phase, whose number nobody knows before."""
        if self._task is not None:
            self._progress.update(self._task, tokens=f"{done:,} cases")

    def tokens(self, done: int, total: int) -> None:
        """Tokens done of the current phase."""
        if self._task is not None:
            self._progress.update(
                self._task, completed=done, total=total, tokens=f"{done:,}/{total:,} tokens"
            )
