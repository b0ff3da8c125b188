"""What was measured of the engine's operators: a row a case, in one file of the run's folder."""

from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import Field

from linattn_verify.configs.strict import Strict
from linattn_verify.traces.files import write_whole

KERNELS = "kernels.json"


class CaseStatus(StrEnum):
    """How one case ended."""

    MEASURED = "measured"
    UNSUPPORTED = "unsupported"
    """This build or machine cannot do it: the note says why."""
    CRASHED = "crashed"
    """The operator raised, or the process died of it."""
    TIMED_OUT = "timed out"
    ERROR = "error"
    """Our side or the machine."""


class Measure(Strict):
    """One number of a case, and what rounding allows."""

    what: str
    """`output`, `state`, … against the reference; `… apart`: two calls against one."""
    error: float | None
    """Largest relative error of a row, or a count where the limit is 0; None: not finite."""
    limit: float
    origin: str
    """What the limit was derived from."""
    note: str = ""
    """Where the error is, or which values are not finite."""

    @property
    def holds(self) -> bool:
        """Whether the error is a number within the limit."""
        return self.error is not None and self.error <= self.limit


class KernelRow(Strict):
    """One case of one operator on one kernel path."""

    operator: str
    path: str
    """Which implementation computed it."""
    engine_uses: bool
    """Whether the engine would choose this path on this machine."""
    case: str
    dtypes: str = ""
    """Those that the case is about, in words; they are part of its name too."""
    called: bool = True
    """Whether the engine makes such calls; False: the signature allows it, no layer does it."""
    status: CaseStatus
    measures: tuple[Measure, ...] = ()
    note: str = ""
    """Signal or exception; the reason why it is unsupported."""
    seconds: float = 0.0
    gb_per_s: float | None = None
    """Throughput, where the case is about it."""
    fault: str = ""
    """The fault that was put around the operator on purpose."""
    fired: int = 0
    """How often it struck."""


class KernelEvidence(Strict):
    """All cases, and what they were measured on."""

    rows: tuple[KernelRow, ...] = ()
    versions: dict[str, str] = Field(default_factory=dict)
    cpu: dict[str, Any] = Field(default_factory=dict)
    kernel_path: tuple[str, ...] = ()
    """Libraries loaded and instruction sets, in words."""
    seconds: float = 0.0
    """From the start of the process to its end."""
    failure: str = ""
    """Why there may be fewer rows than were asked for; empty where the process ended well."""


def write_kernels(folder: Path, evidence: KernelEvidence) -> None:
    """Write the evidence into a run's folder, whole or not at all."""
    write_whole(folder / KERNELS, evidence.model_dump_json(indent=1) + "\n")


def read_kernels(folder: Path) -> KernelEvidence:
    """The evidence in a run's folder; raises OSError or ValueError where it cannot be read."""
    return KernelEvidence.model_validate_json((folder / KERNELS).read_text(encoding="utf-8"))
