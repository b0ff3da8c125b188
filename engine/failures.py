"""What kind of failure an exception in the engine process is."""

import re
import traceback

from linattn_verify.engine.messages import Failed
from linattn_verify.traces.outcome import Status

_CANNOT = re.compile(
    r"not (yet |currently |officially )?(supported|implemented|available)|unsupported|"
    r"requires (BF16|bfloat16|float16|CUDA|Triton)|unexpected head dim|"
    r"no attribute 'selective_scan_fwd'|not compiled with|no kernel image",
    re.IGNORECASE,
)


def failed(error: BaseException, otherwise: Status) -> Failed:
    """What to say of `error`: UNSUPPORTED where the engine says it cannot, else `otherwise`."""
    frames = {frame.name for frame in traceback.extract_tb(error.__traceback__)}
    cannot = isinstance(error, NotImplementedError) or _CANNOT.search(str(error))
    return Failed(
        status=Status.UNSUPPORTED if cannot else otherwise,
        # There vLLM checks its arguments; whoever gave them must change what it refuses.
        usage="create_engine_config" in frames and not cannot,
        message=f"{type(error).__name__}: {_first_lines(str(error))}",
        traceback="".join(traceback.format_exception(error)),
    )


def usage(message: str) -> Failed:
    """The request itself is at fault."""
    return Failed(status=Status.ERROR, usage=True, message=message)


def _first_lines(text: str, lines: int = 4, width: int = 400) -> str:
    return "\n".join(text.strip().splitlines()[:lines])[:width]
