"""Did the engine run with the settings that were asked for?

The fault it exists for: a setting that the engine silently changes, switches off or refuses, so
that a run tests something else than its name says.

What it cannot see: a setting that is reported as asked for and then ignored (the proofs of the
scenarios are about that), and arguments that the resolved configuration does not show.
"""

from linattn_verify.checks.evidence import EngineSettings, Evidence
from linattn_verify.checks.judging import VERDICT_OF_STATUS, ended_badly
from linattn_verify.checks.registry import check
from linattn_verify.checks.result import CheckResult, Verdict, overall
from linattn_verify.checks.settings import Change, Settings, compare_settings, in_words
from linattn_verify.configs.plan import EnginePlan, Kind

NAME = "effective_config"


@check(
    name=NAME,
    fault="a setting that the engine silently changes, switches off or refuses",
    blind="a setting that is reported as asked for and then ignored; arguments that the resolved "
    "configuration does not show",
)
def effective_config(evidence: Evidence) -> list[CheckResult]:
    """Every engine's requested arguments against what it resolved."""
    return [_judge(evidence, engine) for engine in evidence.plan.engines]


def _judge(evidence: Evidence, engine: EnginePlan) -> CheckResult:
    settings = evidence.engines.get(engine.name)
    if settings is None:
        return _result(engine, *_not_started(evidence, engine))
    found = compare_settings(settings.requested, settings.resolved)
    return _result(engine, *_verdict(found, settings), found)


def _verdict(found: Settings, settings: EngineSettings) -> tuple[Verdict, str]:
    aside = f"; not reported: {', '.join(found.not_reported)}" if found.not_reported else ""
    if found.changed:
        changes = "; ".join(_described(change, settings.notes) for change in found.changed)
        return Verdict.FAIL, changes + aside
    if not found.same:
        return Verdict.VACUOUS, f"the engine reported none of the settings asked for{aside}"
    return Verdict.PASS, f"{len(found.same)} settings resolved as asked for{aside}"


def _described(change: Change, notes: tuple[str, ...]) -> str:
    words = change.name.removeprefix("enable_").split(".")[0]
    spellings = (words, words.replace("_", " "), words.replace("_", "-"))
    said = next((n for n in notes if any(s in n.lower() for s in spellings)), None)
    asked, got = in_words(change.requested), in_words(change.resolved)
    log = f" (log: {said})" if said else ""
    return f"{change.name} asked for {asked}, engine resolved {got}{log}"


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
