"""The coarse copy of refined counts, at which a decision of a release may have looked.

`privacy.refined_noise` has the mathematics; `estimate.usable_sums` says which numbers answers use.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, final

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.privacy.refined_noise import RefinedRates

# What receipts say of measurements at which a decision has looked.
WITHOUT_INTERVALS = (
    "a decision of the release has looked at these numbers, so answers and intervals do not use "
    "them; the fit does"
)
_FRESH_INTERVALS = (
    "a decision of the release has looked at a coarse copy (look) of these numbers, so intervals "
    "are made of numbers whose noise does not depend on it (fresh), or by the law of the noise "
    "given the coarse copy"
)


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Look:
    """The coarse copy of refined counts.

    Attributes:
        steps: its released integers, an array for each part.
        noise: of the coarse copy: Laplace noise of smaller rates than those of the refined one.
        fresh: integers whose noise does not depend on the coarse copy, an array for each part; see
            `RefinedRates.fresh_changes`.
    """

    steps: tuple[IntVector, ...]
    noise: LevelNoise
    fresh: tuple[IntVector, ...]

    def __post_init__(self) -> None:
        for part in (*self.steps, *self.fresh):
            part.flags.writeable = False

    def rates(self, refined: LevelNoise) -> RefinedRates:
        """Return the rates of both copies of the first part; all parts have the same.

        Args:
            refined: noise of the refined copy.
        """
        return RefinedRates(self.noise.parameters[0], refined.parameters[0])

    def parts(self) -> tuple[dict[str, Any], dict[str, IntVector]]:
        """Return plain values for receipts, and arrays."""
        rates = self.noise.parameters
        fields = {
            "look": [[rate.numerator, rate.denominator] for rate in rates],
            "intervals": _FRESH_INTERVALS,
        }
        arrays = {f"look {index}": part for index, part in enumerate(self.steps)}
        return fields, arrays | {f"fresh {index}": part for index, part in enumerate(self.fresh)}

    @classmethod
    def from_parts(
        cls,
        fields: Mapping[str, Any],
        integers: Mapping[str, IntVector],
        refined: Sequence[IntVector],
        noise: LevelNoise,
    ) -> Self | None:
        """Return the coarse copy that `parts` described; None if there is none.

        Args:
            fields: plain values, perhaps among others.
            integers: arrays, perhaps among others.
            refined: integers of the refined copy, to check the others.
            noise: of the refined copy.

        Raises:
            LookupError, TypeError, ValueError, ArithmeticError: it is something else.
        """
        if fields.get("look") is None:
            return None
        coarse = LevelNoise("laplace", tuple(Fraction(*rational) for rational in fields["look"]))
        steps, fresh = (
            tuple(integers[f"{kind} {index}"] for index in range(len(refined)))
            for kind in ("look", "fresh")
        )
        shapes = [part.shape for part in refined]
        if any([part.shape for part in parts] != shapes for parts in (steps, fresh)):
            raise ValueError("the coarse copy is of other numbers")
        rates = zip(coarse.parameters, noise.parameters, strict=True)
        if noise.distribution != "laplace" or not all(0 < low < high for low, high in rates):
            raise ValueError("a coarse copy has a smaller rate")
        return cls(steps=steps, noise=coarse, fresh=fresh)
