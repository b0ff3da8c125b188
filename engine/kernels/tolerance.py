"""How far a result may be from the exact one: counted from the roundings on the way to it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from linattn_verify.traces.kernels import Measure

if TYPE_CHECKING:
    from torch import Tensor, dtype


@dataclass(frozen=True)
class Tolerance:
    """Relative error that rounding alone can make.

    Each rounding to a dtype moves a value by at most its unit roundoff u (half its eps), and the
    sum of n terms in float32 by at most n units of float32 (Higham, Accuracy and Stability of
    Numerical Algorithms, 2nd ed., section 3.1). In the worst case they all add up.
    """

    dtype: "dtype"
    """The coarsest dtype on the way."""
    roundings: int
    """Roundings to it, one after the other."""
    terms: int = 0
    """Terms summed in float32."""
    steps: str = ""
    """What is rounded, in words."""

    @property
    def limit(self) -> float:
        """The largest relative error that passes."""
        import torch

        coarse, fine = (torch.finfo(d).eps / 2 for d in (self.dtype, torch.float32))
        return float(self.roundings * coarse + self.terms * fine)

    @property
    def origin(self) -> str:
        """The rule in words."""
        if not self.limit:
            return "an exact copy"
        name = str(self.dtype).removeprefix("torch.")
        what = f" ({self.steps})" if self.steps else ""
        many = "" if self.roundings == 1 else "s"
        rounded = [f"{self.roundings} rounding{many} to {name}{what}"] * bool(self.roundings)
        summed = [f"{self.terms} terms in float32"] * bool(self.terms)
        return ", ".join([*rounded, *summed])


def compared(what: str, got: "Tensor", exact: "Tensor", tolerance: Tolerance) -> Measure:
    """The largest relative error among rows; rows lie along the last axis of [..., N].

    A row's error is held against its own norm, or the rows' root mean square where it is smaller,
    so that neither a lost token hides among many nor a row near zero raises alarm.
    """
    import torch

    got, exact = got.double(), exact.double()
    if got.shape != exact.shape:
        raise ValueError(f"{what}: shape {list(got.shape)} against {list(exact.shape)}")
    if not got.numel():
        raise ValueError(f"{what}: nothing to compare")
    wrong = int((~torch.isfinite(got)).sum())
    if wrong:
        return _measure(what, None, tolerance, f"{wrong} of {got.numel()} values are not finite")
    norms = torch.linalg.vector_norm(exact, dim=-1)
    scale = torch.maximum(norms, norms.square().mean().sqrt()).clamp_min(1e-30)
    errors = torch.linalg.vector_norm(got - exact, dim=-1) / scale
    place = [int(i) for i in torch.unravel_index(errors.argmax(), errors.shape)]
    return _measure(what, float(errors.max()), tolerance, f"row {place} of {list(errors.shape)}")


def untouched(what: str, before: "Tensor", after: "Tensor") -> Measure:
    """Bytes that changed where nothing may: NaN included, so compared bit by bit."""
    import torch

    left, right = (x.contiguous().view(torch.uint8) for x in (before, after))
    changed = int((left != right).sum())
    return Measure(what=what, error=changed, limit=0, origin="bit by bit", note=f"{changed} bytes")


def _measure(what: str, error: float | None, tolerance: Tolerance, note: str) -> Measure:
    return Measure(
        what=what, error=error, limit=tolerance.limit, origin=tolerance.origin, note=note
    )
