"""What is asked of the process that runs the operators, and what it tells."""

from typing import Any

from linattn_verify.configs.strict import Strict
from linattn_verify.traces.kernels import KernelRow


class KernelsRequest(Strict):
    """Which operators, under which faults."""

    only: tuple[str, ...] = ()
    """Operators by name; empty: all."""
    inject: tuple[str, ...] = ()
    """Names of faults of `configs.kernels`; each strikes in its own operator's cases."""
    case_timeout: float = 60.0
    """Seconds after which a case has hung."""


class KernelFacts(Strict):
    """What the rows are measured on."""

    versions: dict[str, str]
    cpu: dict[str, Any]
    kernel_path: tuple[str, ...]


class KernelLine(Strict):
    """One line of the process: a row a case, and the facts at its end."""

    facts: KernelFacts | None = None
    row: KernelRow | None = None
