"""`linattn-verify localise`: the cause of a recorded FAIL, looked for on the engine."""

from pathlib import Path

from linattn_verify.checks.registry import checks_named
from linattn_verify.cli.assembly import assemble
from linattn_verify.cli.files import RunFiles
from linattn_verify.cli.localise import localise
from linattn_verify.cli.model import check_engine_is_installed, located
from linattn_verify.cli.printer import Printer
from linattn_verify.cli.progress import Display
from linattn_verify.cli.recorded import LOCALISED, read_run
from linattn_verify.cli.suspect import Suspect
from linattn_verify.configs.errors import UsageError
from linattn_verify.configs.profile import Profile
from linattn_verify.reports.json_report import write_json
from linattn_verify.reports.terminal import render_localised, render_text
from linattn_verify.traces.files import write_whole


def localise_command(folder: Path, scenario: str | None, seconds: float | None) -> None:
    """Look, say what was found, and keep it in the run's folder. Raises UsageError for a run in
    which there is nothing to look for."""
    check_engine_is_installed()
    run = read_run(folder)
    request = run.record.request
    console = Printer()
    display = Display(console)
    with display.phase("judge again"):
        report = assemble(run, checks_named(request.only, request.skip))
    suspect = Suspect(run.evidence, report, run.tokens(), located(request.model), RunFiles(folder))
    try:
        with display.live():
            found = localise(suspect, seconds or _seconds(request.profile), display, scenario)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"What was found so far is in {folder / LOCALISED}.") from None
    if found is None:
        raise UsageError(
            f"{folder}: no scenario that serves the prompts fails and has left a trace, so there "
            f"is nothing to look for. `linattn-verify report {folder}` says how it ended."
        )
    report = report.model_copy(update={"localised": found})
    write_json(report, folder)
    write_whole(folder / "report.txt", render_text(report))
    render_localised(found, console)


def _seconds(profile: Profile) -> float:
    """The profile's; where it says that a run is not to look, as much as it would say else."""
    usual: float = Profile.model_fields["localise_seconds"].default
    return profile.localise_seconds or usual
