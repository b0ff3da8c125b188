"""`linattn-verify kernels`: the engine's operators alone, without a model."""

import platform
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

from linattn_verify.checks.kernels import judge
from linattn_verify.cli.folder import check_writable
from linattn_verify.cli.model import check_engine_is_installed
from linattn_verify.cli.pipeline import engine_environment
from linattn_verify.cli.printer import Printer
from linattn_verify.cli.progress import Display
from linattn_verify.configs.errors import UsageError, unknown
from linattn_verify.configs.kernels import KERNEL_FAULTS, OPERATORS
from linattn_verify.engine.kernel_messages import KernelsRequest
from linattn_verify.engine.kernel_process import KernelProcess
from linattn_verify.reports.build import build_kernels_report
from linattn_verify.reports.document import Cpu, Environment, KernelsReport
from linattn_verify.reports.json_report import REPORT, to_json
from linattn_verify.reports.terminal import render_kernels
from linattn_verify.traces.files import write_whole
from linattn_verify.traces.kernels import KERNELS, KernelEvidence, read_kernels, write_kernels

LOG = "kernels.log"
TIMEOUT = 180.0
"""Seconds without a line after which the process has hung: its imports take 12 on two cores."""


def kernels_command(options: dict[str, Any]) -> int:
    """Carry out the command; returns its exit code. Raises UsageError for a bad request."""
    request = request_from(options["only"], options["inject"])
    check_engine_is_installed()
    json_to, out = options["json_to"], options["out"]
    if json_to and json_to != "-":
        check_writable(Path(json_to), "--json")
    if out is not None:
        _make(out)
    signal.signal(signal.SIGTERM, _interrupt)
    console = Printer(stderr=json_to == "-")
    with tempfile.TemporaryDirectory() as scratch:
        folder = out or Path(scratch)
        write_kernels(folder, measure(request, folder, Display(console)))
        report = _report(read_kernels(folder), options["strict"], out)
    if out is not None:
        write_whole(out / REPORT, to_json(report))
    render_kernels(report, console)
    if json_to == "-":
        sys.stdout.write(to_json(report))
    elif json_to:
        write_whole(Path(json_to), to_json(report))
    return report.exit_code


def request_from(only: tuple[str, ...], inject: tuple[str, ...] = ()) -> KernelsRequest:
    """The request; raises UsageError for an operator or fault that is none."""
    for name in only:
        if name not in OPERATORS:
            raise unknown("operator", name, OPERATORS, "--only")
    for fault in inject:
        if fault not in KERNEL_FAULTS:
            raise unknown("fault", fault, KERNEL_FAULTS, "--inject")
        operator = KERNEL_FAULTS[fault].operator
        if only and operator not in only:
            raise UsageError(f"--inject {fault}: strikes in {operator}, which --only leaves out.")
    return KernelsRequest(only=only, inject=inject)


def start(request: KernelsRequest, folder: Path) -> KernelProcess:
    """The process that calls the operators, at work from now on."""
    return KernelProcess(folder / "logs" / LOG, engine_environment(""), request)


def measure(request: KernelsRequest, folder: Path, display: Display) -> KernelEvidence:
    """Call the operators while the display shows it."""
    with display.live(), display.phase("call the engine's operators"), start(request, folder) as at:
        return at.collect(TIMEOUT, display.cases)


def injected(measured: KernelEvidence) -> list[str]:
    """What was put in on purpose, and how often it struck."""
    faults = dict.fromkeys(row.fault for row in measured.rows if row.fault)
    return [
        f"Fault injected on purpose in {KERNEL_FAULTS[fault].operator}: {fault}, fired "
        f"{sum(row.fired for row in measured.rows if row.fault == fault)} times."
        for fault in faults
    ]


def _report(measured: KernelEvidence, strict: bool, out: Path | None) -> KernelsReport:
    return build_kernels_report(
        measured=measured,
        results=judge(measured, strict),
        environment=_environment(measured),
        strict=strict,
        run_folder=out,
        notes=injected(measured),
    )


def _environment(measured: KernelEvidence) -> Environment:
    cpu = measured.cpu
    return Environment(
        versions=measured.versions or {"python": platform.python_version()},
        cpu=Cpu(
            model=cpu.get("model", platform.processor() or platform.machine()),
            features=tuple(cpu.get("features", ())),
            threads=cpu.get("torch_threads", 0),
        ),
        platform=platform.platform(),
        kernel_path=measured.kernel_path,
        variables=engine_environment(""),
    )


def _make(out: Path) -> None:
    """Make the folder; raises UsageError where it cannot be used, or holds results already."""
    earlier = [name for name in (KERNELS, REPORT) if (out / name).exists()]
    if earlier:
        raise UsageError(f"--out {out}: holds {', '.join(earlier)}. Give another folder.")
    check_writable(out / KERNELS, "--out")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {out}: cannot be written to ({error}). Give a folder.") from error


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
