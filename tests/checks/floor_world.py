"""The made run with the reference served again, and a second budget."""

from linattn_verify.configs.asides import with_floor
from linattn_verify.configs.legs import Leg
from linattn_verify.configs.plan import Plan
from linattn_verify.configs.profile import Limit
from tests.checks.world import World, plan

SMALL = "chunked@5"
NOISE = 0.0625 / 4
"""A quarter of a unit in the last place of bfloat16 logits of 9."""
LIMITS = {"first": 2.0, "later": 10.0, "edge": 3.0, "budget": 3.0}


def floor_plan() -> Plan:
    """chunked@5 beside chunked@7, and full-again after both."""
    plain, caching = plan().engines
    full, chunked = plain.scenarios
    small = chunked.model_copy(update={"name": SMALL, "budget": 5})
    members = with_floor([full, chunked, small], budget=28)
    return Plan(engines=(plain.model_copy(update={"scenarios": tuple(members)}), caching))


class FloorWorld(World):
    """A run whose errors stay below every limit but those of contrasts."""

    def __init__(self) -> None:
        super().__init__(floor_plan())
        limits = {"max": 100.0} | {f"contrast.{name}": limit for name, limit in LIMITS.items()}
        made = {name: Limit(limit=limit, origin="made") for name, limit in limits.items()}
        update = {"contrasts": True, "limits": {"bfloat16": made}}
        self.profile = self.profile.model_copy(update=update)

    def move(self, scenario: str, by: float, first: bool) -> None:
        """Move every log-probability of the prompt leg in first chunks, or in later ones."""
        for row in self.rows[scenario]:
            if row["leg"] == Leg.PROMPT and (row["chunk"] == 0) is first:
                row["logprob"] += by

    def contrasts(self, scenario: str) -> dict[str, float]:
        """What the check of a scenario measures of them, by their own names."""
        check = "chunked_prefill" if scenario.startswith("chunked") else "prefix_cache"
        metrics = self.judge(check, scenario).metrics
        found = {name.partition("."): value for name, value in metrics.items()}
        return {name: value for (kind, _, name), value in found.items() if kind == "contrast"}
