"""`python -m linattn_verify.engine.kernels FD REQUEST`: every case, told line by line to FD."""

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from linattn_verify.configs.kernels import KERNEL_FAULTS
from linattn_verify.engine.environment import cpu, kernel_path, versions
from linattn_verify.engine.kernel_messages import KernelFacts, KernelLine, KernelsRequest
from linattn_verify.engine.kernels.faults import Injection
from linattn_verify.engine.kernels.isolation import Event, isolated
from linattn_verify.engine.kernels.registry import Case, Kernel, all_kernels
from linattn_verify.engine.native_libs import find_broken, shield
from linattn_verify.traces.kernels import CaseStatus, KernelRow

_REFUSALS = (RuntimeError, NotImplementedError, AssertionError)
"""How operators say that they cannot do a combination of dtypes."""
Tell = Callable[[KernelLine], None]


def main(descriptor: int, request: KernelsRequest) -> None:
    """Load the engine's operators, then run the cases of every kernel in a fork of its own."""
    tell = partial(_tell, descriptor)
    shield(find_broken())
    for kernel in all_kernels(request.only):
        reason = kernel.missing()
        if reason is not None:
            tell(KernelLine(row=_row(kernel, "–", status=CaseStatus.UNSUPPORTED, note=reason)))
        else:
            run(kernel, request, tell)
    # At the end: operators load the engine's libraries as they are asked for.
    facts = KernelFacts(versions=versions(), cpu=cpu(), kernel_path=tuple(kernel_path([])))
    tell(KernelLine(facts=facts))


def run(kernel: Kernel, request: KernelsRequest, tell: Tell) -> None:
    """Every case of one kernel; each ends with a row, whatever it does to its process."""
    faults = [f for f in request.inject if KERNEL_FAULTS[f].operator == kernel.operator]
    injection = Injection(*faults)
    cases = list(kernel.cases(injection))
    if not cases and kernel.engine_uses():
        tell(KernelLine(row=_row(kernel, "–", status=CaseStatus.ERROR, note="it has no cases")))

    def told(event: Event) -> None:
        row = ended(kernel, cases[event.index], event)
        struck = {"fault": injection.fault, "fired": event.strikes} if event.strikes else {}
        tell(KernelLine(row=row.model_copy(update=struck)))

    isolated([partial(_task, injection, case) for case in cases], request.case_timeout, told)


def _task(injection: Injection, case: Case, strike: Callable[[], None]) -> dict[str, Any]:
    """One case in a fork, as plain data."""
    import torch

    injection.on_strike(strike)
    try:
        with torch.no_grad():
            measured = case.run()
    except Exception as error:
        refused = case.may_refuse and isinstance(error, _REFUSALS)
        said = " ".join(str(error).split())[:300]
        status = CaseStatus.UNSUPPORTED if refused else CaseStatus.CRASHED
        return {"status": status, "note": f"{type(error).__name__}: {said}"}
    return {
        "status": CaseStatus.MEASURED,
        "measures": [m.model_dump() for m in measured.measures],
        "gb_per_s": measured.gb_per_s,
    }


def ended(kernel: Kernel, case: Case, event: Event) -> KernelRow:
    """The row of a case, from how its fork told that it ended."""
    more: dict[str, Any] = event.result or {}
    if event.timed_out:
        more = {"status": CaseStatus.TIMED_OUT, "note": f"no end after {event.seconds:.0f} s"}
    elif event.death:
        more = {"status": CaseStatus.CRASHED, "note": f"the process died: {event.death}"}
    return _row(
        kernel, case.name, called=case.called, dtypes=case.dtypes, seconds=event.seconds, **more
    )


def _row(kernel: Kernel, case: str, **more: Any) -> KernelRow:
    return KernelRow.model_validate(
        {
            "operator": kernel.operator,
            "path": kernel.path,
            "engine_uses": kernel.engine_uses(),
            "case": case,
            **more,
        }
    )


def _tell(descriptor: int, line: KernelLine) -> None:
    data = (line.model_dump_json(exclude_none=True) + "\n").encode()
    while data:
        data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    main(int(sys.argv[1]), KernelsRequest.model_validate_json(sys.argv[2]))
