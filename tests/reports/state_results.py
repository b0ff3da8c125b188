"""Made answers of the checks of states and of memory."""

from linattn_verify.checks.result import (
    CheckResult,
    LimitOutcome,
    Parted,
    StateErrors,
    Verdict,
)

LAYERS = ("model.layers.2.mixer", "model.layers.9.mixer", "model.layers.10.mixer")
ORIGIN = "eight times what 7 model families differ by"
CONVOLUTION, RECURRENT = 1 / 32, 1 / 16
"""The limits."""
WORST = (1 / 256, 1 / 64)
"""Errors of a healthy run: margins of 8 and 4."""
Errors = tuple[float | None, ...]


def errors(
    part: str, by_layer: Errors, position: int = 1187, edge: int = 5, prompt: str = "ledger"
) -> StateErrors:
    """The errors of one part at one place, a layer each."""
    return StateErrors(
        request=0,
        prompt=prompt,
        position=position,
        edge=edge,
        part=part,
        by_layer=dict(zip(LAYERS, by_layer, strict=True)),
    )


HEALTHY = (
    errors("convolution", (0.0, 0.0, 0.0), position=256, edge=1),
    errors("recurrent", (0.0, 0.0, 0.0), position=256, edge=1),
    errors("convolution", (0.0, 0.0019, WORST[0])),
    errors("recurrent", (0.0012, WORST[1], 0.0035)),
)


def held(value: float | None, limit: float, origin: str = ORIGIN) -> LimitOutcome:
    return LimitOutcome(
        value=value,
        limit=limit,
        origin=origin,
        holds=value is not None and value <= limit,
        margin=limit / value if value else None,
    )


def states_of(
    scenario: str,
    restored: int = 0,
    changed: int = 0,
    measured: tuple[StateErrors, ...] = HEALTHY,
    parted: Parted | None = None,
    left_out: int = 0,
) -> CheckResult:
    """What the check of states says of a scenario: of 12 states, 7 found by later steps."""
    worst = {
        part: max((e for s in measured if s.part == part for e in _sizes(s)), default=0.0)
        for part in ("convolution", "recurrent")
    }
    values = {part: None if value == float("inf") else value for part, value in worst.items()}
    limits = {
        "states_changed_between_steps": held(float(changed), 0.0, "rule of the check"),
        "convolution.error": held(values["convolution"], CONVOLUTION),
        "recurrent.error": held(values["recurrent"], RECURRENT),
    }
    return CheckResult(
        name="state_equivalence",
        scenario=scenario,
        reference="prefixes",
        verdict=Verdict.PASS if parted is None else Verdict.FAIL,
        message="within rounding" if parted is None else parted.detail,
        metrics={f"{part}.error": v for part, v in values.items() if v is not None},
        limits=limits,
        counts={
            "states_compared": 12,
            "states_left_out_no_prefix": left_out,
            "states_carried": 7,
            "states_carried_changed": 0 if restored else changed,
            "states_restored": restored,
            "states_restored_changed": changed if restored else 0,
        },
        parted=parted,
        states=measured,
    )


def _sizes(measured: StateErrors) -> list[float]:
    return [float("inf") if e is None else e for e in measured.by_layer.values()]


def parting(**changes: object) -> Parted:
    """A restored state of the last layer that is zeros."""
    place = Parted(
        how="not restored",
        request=1,
        prompt="story",
        position=256,
        edge=0,
        layer=LAYERS[2],
        index=2,
        kind="mamba2",
        part="recurrent",
        error=None,
        found="the step found zeros",
        spread="0 of 6 convolution and 3 of 6 recurrent states are wrong, in 1 of 3 layers",
        detail="state not restored first at token 256 of story",
    )
    return place.model_copy(update=changes)


def lost(scenario: str, **changes: object) -> CheckResult:
    """A scenario of which 3 of 5 restored states are not those that were saved; one is NaN."""
    wrong = errors("recurrent", (0.0012, 0.75, None), position=811, edge=1, prompt="story")
    return states_of(
        scenario, restored=5, changed=3, measured=(*HEALTHY, wrong), parted=parting(**changes)
    )


def clean(scenario: str, rows: int = 8321) -> CheckResult:
    """What the check of memory says of a scenario that did not change on NaN."""
    nothing = held(0.0, 0.0, "rule of the check")
    return CheckResult(
        name="cache_hygiene",
        scenario=scenario,
        reference=scenario.removesuffix("-nan"),
        verdict=Verdict.PASS,
        message=f"{rows:,} rows the same, bit for bit",
        metrics={"rows_differing": 0.0, "non_finite": 0.0},
        limits={"rows_differing": nothing, "non_finite": nothing},
        counts={"rows_compared": rows},
    )
