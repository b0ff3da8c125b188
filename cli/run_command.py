"""`linattn-verify run`: from options to a report and an exit code."""

import signal
from types import FrameType
from typing import Any

from linattn_verify.checks.registry import checks_named
from linattn_verify.checks.result import Verdict
from linattn_verify.cli.assembly import assemble
from linattn_verify.cli.exports import tell_github
from linattn_verify.cli.folder import RunFolder, open_run_folder
from linattn_verify.cli.localise import localise
from linattn_verify.cli.measuring import Asked, measure
from linattn_verify.cli.model import check_engine_is_installed, located
from linattn_verify.cli.needs import check_tasks
from linattn_verify.cli.output import Output
from linattn_verify.cli.progress import Display
from linattn_verify.cli.recorded import read_run
from linattn_verify.cli.suspect import Suspect
from linattn_verify.configs.errors import UsageError
from linattn_verify.configs.kernels import CHECK
from linattn_verify.configs.plan import Need
from linattn_verify.configs.profile import load_profile
from linattn_verify.configs.request import (
    Request,
    overridden,
    parse_budgets,
    parse_engine_args,
    parse_inject,
)
from linattn_verify.configs.strict import validated
from linattn_verify.reports.document import Report
from linattn_verify.reports.json_report import write_json
from linattn_verify.reports.terminal import render_text
from linattn_verify.traces.files import write_whole
from linattn_verify.workloads import prompts as workload
from linattn_verify.workloads.embedded import EMBEDDED


def run_command(options: dict[str, Any]) -> int:
    """Carry out the command; returns its exit code. Raises UsageError for a bad request."""
    output = Output(options)
    out, force = options.pop("out"), options.pop("force")
    asked = asked_for(request_from(options))
    folder = open_run_folder(out, asked.request.model, force)
    report = _run(asked, folder, output)
    output.show(report)
    tell_github(report)
    return report.exit_code


def request_from(options: dict[str, Any]) -> Request:
    """The request that the command's options make."""
    profile = overridden(
        load_profile(options.pop("profile")),
        budgets=parse_budgets(b) if (b := options.pop("budgets")) is not None else None,
        decode_tokens=options.pop("decode_tokens"),
        scenario_timeout=options.pop("timeout"),
        isolate=options.pop("isolate"),
        mutations=options.pop("mutations"),
        localise_seconds=0.0 if options.pop("localise") is False else None,
        task={key: options.pop(key) for key in ("limit", "num_fewshot", "max_gen_toks")},
    )
    options["tasks"] = tuple(dict.fromkeys(options["tasks"])) or None
    options["engine_args"] = parse_engine_args(options.pop("engine_arg"))
    options["inject"] = parse_inject(options.pop("inject"))
    given = {key: value for key, value in options.items() if value is not None}
    return validated(Request, {**given, "profile": profile}, where="command line")


def asked_for(request: Request) -> Asked:
    """What the request asks to be measured, checked as far as that goes without an engine."""
    specs = checks_named(request.only, request.skip)
    if all(Need.KERNELS in spec.needs for spec in specs):
        raise UsageError(
            f"--only {CHECK}: a run serves a model, and this check needs none. "
            f"`linattn-verify {CHECK}` runs it alone."
        )
    prompts = (
        workload.read_prompts(request.prompts) if request.prompts else workload.embedded_prompts()
    )
    check_engine_is_installed()
    if request.model in EMBEDDED and request.revision is not None:
        raise UsageError("--revision: needs --model; the embedded models have no revisions.")
    model = located(request.model)
    check_tasks(request, specs)
    return Asked(request, specs, tuple(prompts), model)


def _run(asked: Asked, folder: RunFolder, output: Output) -> Report:
    """Measure, judge what is on disk, and look for the cause of a FAIL."""
    signal.signal(signal.SIGTERM, _interrupt)
    display = Display(output.console)
    seconds = asked.request.profile.localise_seconds
    try:
        keeper = measure(asked, folder, display)
        with display.phase("compare and judge"):
            run = read_run(folder.path)
            report = assemble(run, asked.specs)
        if report.verdict is Verdict.FAIL and seconds:
            write_json(report, folder.path)  # it is there whatever becomes of the search
            suspect = Suspect(run.evidence, report, run.tokens(), asked.model, folder)
            report = _localised(suspect, seconds, display)
            keeper.spent(report.phases)
    except KeyboardInterrupt:
        # Its text is what the user is told (`linattn_verify.cli.main.entry`).
        raise KeyboardInterrupt(folder.left()) from None
    write_json(report, folder.path)
    write_whole(folder.path / "report.txt", render_text(report))
    return report


def _localised(suspect: Suspect, seconds: float, display: Display) -> Report:
    """The report with what was found of the fault. A search that fails changes no verdict."""
    report = suspect.report
    try:
        found: dict[str, Any] = {"localised": localise(suspect, seconds, display)}
    except Exception as error:
        lost = f"The search for the cause itself failed: {type(error).__name__}: {error}"
        found = {"notes": (*report.notes, lost)}
    return report.model_copy(update={**found, "phases": tuple(display.phases)})


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
