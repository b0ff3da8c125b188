"""All that is known of an engine's settings: asked for, configured, in effect, said in the log."""

from dataclasses import replace

from linattn_verify.checks.evidence import EngineSettings
from linattn_verify.checks.guarded import contradictions
from linattn_verify.checks.inside import holds, observations
from linattn_verify.checks.preconditions import preconditions
from linattn_verify.checks.settings import Change, Settings, compare_settings


def compare_engine(engine: EngineSettings) -> Settings:
    """What became of every setting; one that came out otherwise is listed once, by the first of:
    the configuration, what the engine has, a precondition of its scenarios, its log."""
    requested, resolved, observed = engine.requested, engine.resolved, engine.observed
    told = compare_settings(requested, resolved)
    seen = list(observations(requested, resolved, observed)) if observed else []
    names = {change.name for change in seen}
    found: dict[str, Change] = {change.name: change for change in told.changed}
    for change in (
        *(change for change in seen if not holds(change)),
        *preconditions(requested, resolved, observed),
        *contradictions(requested, resolved, engine.guards, names),
    ):
        found.setdefault(change.name, change)
    kept = [*told.same, *(n for n in told.not_reported if n in names)]
    return replace(
        told,
        same=tuple(n for n in kept if n not in found),
        changed=tuple(found.values()),
        not_reported=tuple(n for n in told.not_reported if n not in names | found.keys()),
    )
