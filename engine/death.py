"""What a process died of."""

import signal


def death(code: int) -> str:
    """An exit code of Python's subprocess in words: the signal's name where it was one."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
