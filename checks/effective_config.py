"""Did the engine run with the settings that were asked for, and that its scenarios need?

The fault it exists for: a setting that the engine silently changes, switches off or refuses, so
that a run tests something else than its name says. Looked for in four places: the configuration
that the engine resolved; its layers, state tensors, KV-cache blocks, scheduler and compiled
modules; what the scenarios need without anybody's asking for it; and the log, where a guard of the
platform or the model may be all that tells. What the engine has outweighs what it says.

What it cannot see: a setting that is in effect by all of these and then ignored while serving (the
proofs of the scenarios are about that); arguments that nothing shows; a guard that is silent, or
logs below the log level, in words that are not read, in another process, or after loading.
"""

from linattn_verify.checks.effective import compare_engine
from linattn_verify.checks.evidence import EngineSettings, Evidence
from linattn_verify.checks.judging import VERDICT_OF_STATUS, ended_badly
from linattn_verify.checks.preconditions import NEEDED
from linattn_verify.checks.registry import check
from linattn_verify.checks.result import CheckResult, Verdict, overall
from linattn_verify.checks.settings import Change, Settings
from linattn_verify.configs.plan import EnginePlan, Kind

NAME = "effective_config"


@check(
    name=NAME,
    fault="a setting that the engine silently changes, switches off or refuses",
    blind="a setting that is in effect once loaded and then ignored; arguments that nothing shows; "
    "a guard that leaves no trace in configuration, layers, tensors, scheduler or log",
)
def effective_config(evidence: Evidence) -> list[CheckResult]:
    """Every engine's settings, as far as it shows them."""
    return [_judge(evidence, engine) for engine in evidence.plan.engines]


def _judge(evidence: Evidence, engine: EnginePlan) -> CheckResult:
    settings = evidence.engines.get(engine.name)
    if settings is None:
        return _result(engine, *_not_started(evidence, engine))
    found = compare_engine(settings)
    return _result(engine, *_verdict(found, settings), found)


def _verdict(found: Settings, settings: EngineSettings) -> tuple[Verdict, str]:
    aside = f"; not reported: {', '.join(found.not_reported)}" if found.not_reported else ""
    if found.changed:
        changes = "; ".join(_described(change, settings) for change in found.changed)
        return Verdict.FAIL, changes + aside
    if unproven := [name for name in NEEDED if name in found.not_reported]:
        return Verdict.VACUOUS, f"the scenarios need {', '.join(unproven)}{aside}"
    if not found.same:
        return Verdict.VACUOUS, f"the engine reported none of the settings asked for{aside}"
    return Verdict.PASS, f"{len(found.same)} settings resolved as asked for{aside}"


def _described(change: Change, settings: EngineSettings) -> str:
    said = _said(change.name, settings)
    return change.told() + (f" (log: {said})" if said else "")


def _said(name: str, settings: EngineSettings) -> str | None:
    """The log's last line that is known to be about a setting, or the first that names it."""
    known = [guard.line for guard in settings.guards if guard.setting == name]
    words = name.removeprefix("enable_").split(".")[0]
    spellings = (words, words.replace("_", " "), words.replace("_", "-"))
    naming = [n for n in settings.notes if any(s in n.lower() for s in spellings)]
    return next(iter([*reversed(known), *naming]), None)


def _not_started(evidence: Evidence, engine: EnginePlan) -> tuple[Verdict, str]:
    """The worst of what its scenarios say. The reference's own crash judges nothing: ERROR."""
    ends = [(s, ended_badly(evidence, s.name)) for s in engine.scenarios]
    bad = [(s, *end) for s, end in ends if end]
    if not bad:
        return Verdict.ERROR, "its scenarios were served, but its settings were not recorded"
    verdicts = [
        Verdict.ERROR
        if s.kind is Kind.FULL and VERDICT_OF_STATUS[status] is Verdict.FAIL
        else VERDICT_OF_STATUS[status]
        for s, status, _ in bad
    ]
    worst = overall(verdicts)
    scenario, status, reason = bad[verdicts.index(worst)]
    return worst, f"the engine reported no settings; {scenario.name} {status}: {reason}"


def _result(
    engine: EnginePlan, verdict: Verdict, message: str, found: Settings | None = None
) -> CheckResult:
    return CheckResult(
        name=NAME,
        scenario=engine.name,
        reference=None,
        verdict=verdict,
        message=message,
        counts=found.counts() if found else {},
    )
