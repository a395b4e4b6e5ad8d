"""The table of constructions: what `construction=` and a session's `method=` can name.

Sessions, iterative releases, the planner and the audits read it: a new construction is its module
and a line here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.base import Rule
from graphcuts_dp.learn.learners import (
    FriezeKannanLearner,
    Learner,
    MultiplicativeWeightsLearner,
)
from graphcuts_dp.learn.norm_learner import MirrorDescentLearner
from graphcuts_dp.learn.norms import AUTO, norm_updates
from graphcuts_dp.learn.update_bounds import (
    Size,
    UpdateBound,
    frieze_kannan_updates,
    multiplicative_weights_updates,
)
from graphcuts_dp.pairs.universe import Universe


@final
@dataclass(frozen=True, kw_only=True)
class KnownConstruction:
    """A line of the table.

    Attributes:
        initials: for tables.
        learner: makes it from the universe, whether only cuts with disjoint S and T will come,
            and which form of its rule.
        updates: B on simple graphs, from the size, the number of edges, the form of the rule and
            whether S and T are disjoint; None where a start decides it.
        online: whether sessions can run it: its hypothesis can be stored and gone on from.
    """

    initials: str
    learner: Callable[[Universe, bool, Rule], Learner]
    updates: Callable[[Size, float, Rule, bool], UpdateBound] | None
    online: bool


CONSTRUCTIONS: Mapping[str, KnownConstruction] = {
    "multiplicative-weights": KnownConstruction(
        initials="MW",
        learner=lambda universe, _, rule: MultiplicativeWeightsLearner(universe, rule),
        updates=lambda n, edges, rule, _: multiplicative_weights_updates(n, edges, rule=rule),
        online=True,
    ),
    "frieze-kannan": KnownConstruction(
        initials="FK",
        learner=FriezeKannanLearner,
        updates=lambda n, edges, rule, disjoint: frieze_kannan_updates(
            n, edges, rule=rule, disjoint=disjoint
        ),
        online=True,
    ),
    "mirror-descent": KnownConstruction(
        initials="MD",
        learner=MirrorDescentLearner,
        updates=norm_updates,
        online=True,
    ),
}


def learner_of(
    construction: str | Learner,
    universe: Universe,
    *,
    disjoint: bool = False,
    rule: Rule = "tight",
    norm: str | None = None,
    most_right: int | None = None,
    may_buy: bool = True,
    linear: bool = False,
    most_spectral: float | None = None,
) -> Learner:
    """The learner of a name, or a given one.

    Args:
        construction: a name of the table, or an object that satisfies `Learner`.
        universe: the public vertex pairs.
        disjoint: whether only cuts with disjoint S and T will come.
        rule: of the named ones: the proven best, or as its paper prints it.
        norm: of mirror descent, see `parse_norm`; None for "auto".
        most_right: of mirror descent, see `MirrorDescentLearner`; others do not look at it.
        may_buy: likewise.
        linear: likewise.
        most_spectral: likewise.

    Raises:
        ParameterError: an unknown name, too many vertices, a learner over other vertices, or a norm
            for another construction.
    """
    if norm is not None and construction != "mirror-descent":
        raise ParameterError("norm is for mirror-descent; the others have none to choose")
    if isinstance(construction, str):
        if construction not in CONSTRUCTIONS:
            raise ParameterError(
                f"unknown construction {construction!r}; choose one of {', '.join(CONSTRUCTIONS)}"
            )
        if construction == "mirror-descent":
            return MirrorDescentLearner(
                universe,
                disjoint,
                rule,
                norm=AUTO if norm is None else norm,
                most_right=most_right,
                may_buy=may_buy,
                linear=linear,
                most_spectral=most_spectral,
            )
        return CONSTRUCTIONS[construction].learner(universe, disjoint, rule)
    if not hasattr(construction, "construction") or not hasattr(construction, "universe"):
        raise ParameterError("construction is a name, or an object as `Learner` describes it")
    if construction.universe != universe:
        raise ParameterError("the construction is over other vertices than the graph's")
    return construction
