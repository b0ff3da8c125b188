"""The console that commands print to."""

import os

from rich.console import Console


class Printer(Console):
    """A console whose reader may go away (`| head`): the run goes on, in silence."""

    def on_broken_pipe(self) -> None:
        """Instead of rich's way, which is to exit with 1: here that means FAIL."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())
