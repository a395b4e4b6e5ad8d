"""Constructions that learn from any linear queries: their hypotheses are matrices."""

from dataclasses import dataclass, replace
from typing import Any, Unpack, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.base import Rule
from graphcuts_dp.learn.bit_sets import DenseHypothesis
from graphcuts_dp.learn.frieze_kannan import frieze_kannan
from graphcuts_dp.learn.learners import Learned, Learner, ToleranceTerms
from graphcuts_dp.learn.multiplicative_weights import multiplicative_weights
from graphcuts_dp.learn.norm_learner import MirrorDescentLearner
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe

_DENSE = ("multiplicative-weights", "frieze-kannan")


@final
@dataclass(frozen=True)
class DenseLearner:
    """Multiplicative weights or Frieze-Kannan for queries with coefficients in [-1, 1].

    ||q||^2 is at most X, which is what B of Frieze-Kannan is for; B of multiplicative weights grows
    with the square of the coefficients' span.

    Attributes:
        universe: the public vertex pairs.
        name: which of the two.
        span: R of multiplicative weights: 1 for coefficients in [0, 1], 2 where some are negative.
        rule: see `Rule`.

    Raises:
        ParameterError: another name, or the rule as printed for negative coefficients.
    """

    universe: Universe
    name: str
    span: float = 1.0
    rule: Rule = "tight"

    def __post_init__(self) -> None:
        if self.name not in _DENSE:
            raise ParameterError(f"a dense construction is one of {', '.join(_DENSE)}")
        if self.rule == "as printed" and self.span != 1 and self.name == _DENSE[0]:
            raise ParameterError(
                "multiplicative weights as printed take coefficients in [0, 1] alone; use"
                " 'frieze-kannan', or the calibrations 'practical' or 'tight'"
            )

    def construction(self, **terms: Unpack[ToleranceTerms]) -> Learned:
        """See `Learner.construction`."""
        flat = terms["total_weight"] / self.universe.size
        found: Any
        if self.name == "frieze-kannan":
            found = frieze_kannan(self.universe, **terms, rule=self.rule)
            flat, more = flat if self.rule == "tight" else 0.0, {}
        else:
            found = multiplicative_weights(self.universe, **terms, rule=self.rule)
            more = {"span": self.span}
        start = DenseHypothesis.constant(self.universe, flat)
        learned: Learned = replace(found, start=start, **more)
        return learned

    def check(self, query: CutQuery) -> None:
        """See `Learner.check`."""
        self.universe.masks(query)


def linear_learner(
    construction: str | Learner, universe: Universe, *, signed: bool, rule: Rule, norm: str | None
) -> Learner:
    """The learner of a name for lists of any linear queries with coefficients in [-1, 1].

    Args:
        construction: a name, or a learner of one's own, which is taken as it is.
        universe: the public vertex pairs.
        signed: whether some coefficients are negative.
        rule: see `Rule`.
        norm: of mirror descent.

    Raises:
        ParameterError: a construction that has no bound for such queries.
    """
    if construction in _DENSE and isinstance(construction, str):
        if norm is not None:
            raise ParameterError("norm is for mirror-descent; the others have none to choose")
        return DenseLearner(universe, construction, 2.0 if signed else 1.0, rule)
    if construction == "mirror-descent":
        if signed and norm in ("entropy", "auto"):
            raise ParameterError(
                f"mirror descent with norm {norm!r} is for coefficients that are not negative;"
                " use 'l2'"
            )
        return MirrorDescentLearner(universe, False, rule, norm=norm or "l2")
    if isinstance(construction, str):
        raise ParameterError(
            f"the construction {construction!r:.40} learns from no other queries than cuts"
        )
    return construction
