"""Constructions by name: the table, and the learner for a name.

`CONSTRUCTIONS` lists the names that `construction=` of iterative releases and `method=` of sessions
take, besides "median". Sessions, iterative releases, the planner and the audits read it. A new
construction is a learner (see `learn.learners.Learner`) in a file of its own, and an entry here.

Two cases need more than the entry: mirror descent, which has options that others do not have, and
public lists of any linear queries, from which only some constructions learn. `learner_of` has both.
"""

from collections.abc import Mapping
from typing import Any

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.base import Rule
from graphcuts_dp.learn.bounds import (
    UpdateBound,
    frieze_kannan_updates,
    multiplicative_weights_updates,
)
from graphcuts_dp.learn.learners import (
    FriezeKannanLearner,
    KnownConstruction,
    Learner,
    MirrorDescentLearner,
    MultiplicativeWeightsLearner,
)
from graphcuts_dp.learn.norms import AUTO, norm_updates
from graphcuts_dp.queries.universe import Universe

CONSTRUCTIONS: Mapping[str, KnownConstruction] = {
    "multiplicative-weights": KnownConstruction(
        initials="MW",
        learner=lambda universe, _, rule: MultiplicativeWeightsLearner(universe, rule),
        updates=lambda n, edges, rule, _: multiplicative_weights_updates(n, edges, rule=rule),
    ),
    "frieze-kannan": KnownConstruction(
        initials="FK",
        learner=FriezeKannanLearner,
        updates=frieze_kannan_updates,
    ),
    "mirror-descent": KnownConstruction(
        initials="MD",
        learner=MirrorDescentLearner,  # with norm l2; `learner_of` passes other norms
        updates=norm_updates,
    ),
}


def learner_of(
    construction: str | Learner,
    universe: Universe,
    *,
    disjoint: bool = False,
    rule: Rule = "tight",
    norm: str | None = None,
    signed: bool | None = None,
    **announced: Any,
) -> Learner:
    """Return the learner of a name, or the given learner after checking its universe.

    Args:
        construction: a name of `CONSTRUCTIONS`, or an object that satisfies `Learner`.
        universe: the public vertex pairs.
        disjoint: whether all queries are cuts with disjoint S and T.
        rule: of a named construction, see `Rule`.
        norm: of mirror descent, see `parse_norm`. None means "auto" for cuts (`signed` None) and
            "l2" for a list of linear queries (`signed` given).
        signed: for a public list of any linear queries with coefficients in [-1, 1]: whether some
            are negative. None for cuts.
        announced: `max_right_size`, `may_measure_degrees`, `linear`, `max_spectral_norm` of mirror
            descent, see `MirrorDescentLearner`. Other constructions ignore them.

    Raises:
        ParameterError: an unknown name, too many vertices, a learner over other vertices, a norm
            for another construction, or a construction that has no bound for such queries.
    """
    if norm is not None and construction != "mirror-descent":
        raise ParameterError("norm is for mirror-descent; the others have none to choose")
    if not isinstance(construction, str):
        if not hasattr(construction, "construction") or not hasattr(construction, "universe"):
            raise ParameterError("construction is a name, or an object as `Learner` describes it")
        if construction.universe != universe:
            raise ParameterError("the construction is over other vertices than the graph's")
        return construction
    if construction not in CONSTRUCTIONS:
        raise ParameterError(
            f"unknown construction {construction!r}; choose one of {', '.join(CONSTRUCTIONS)}"
        )
    if signed is not None:
        return _learner_of_list(construction, universe, signed=signed, rule=rule, norm=norm)
    if construction == "mirror-descent":
        return MirrorDescentLearner(universe, disjoint, rule, norm=norm or AUTO, **announced)
    return CONSTRUCTIONS[construction].learner(universe, disjoint, rule)


def _learner_of_list(
    construction: str, universe: Universe, *, signed: bool, rule: Rule, norm: str | None
) -> Learner:
    """Return the learner for a public list of any linear queries, see `learner_of`.

    Raises:
        ParameterError: the construction has no bound for such queries.
    """
    if construction == "multiplicative-weights":
        if signed and rule == "as printed":
            raise ParameterError(
                "multiplicative weights as printed take coefficients in [0, 1] alone; use"
                " 'frieze-kannan', or the calibrations 'practical' or 'tight'"
            )
        return MultiplicativeWeightsLearner(universe, rule, span=2.0 if signed else 1.0)
    if construction == "frieze-kannan":
        return FriezeKannanLearner(universe, rule=rule, dense=True)
    if construction != "mirror-descent":
        raise ParameterError(
            f"the construction {construction!r:.40} learns from no other queries than cuts"
        )
    norm = norm or "l2"
    if signed and norm in ("entropy", AUTO):
        raise ParameterError(
            f"mirror descent with norm {norm!r} is for coefficients that are not negative; use 'l2'"
        )
    return MirrorDescentLearner(universe, False, rule, norm=norm)


def bound_of(
    learner: Learner, *, alpha: float, total_weight: float, total_error: float
) -> UpdateBound:
    """Return B of a learner, for all tolerances.

    Args:
        learner: any.
        alpha: a tolerance for which `Learner.construction` does not raise; B does not depend on it.
        total_weight: the total weight, or a noisy value of it, in (0, X].
        total_error: how far the true total may be from `total_weight`, >= 0.
    """
    if isinstance(learner, MirrorDescentLearner):  # the norm of its construction depends on alpha
        return learner.update_bound(total_weight=total_weight, total_error=total_error)
    construction = learner.construction(
        alpha=alpha, total_weight=total_weight, total_error=total_error
    )
    return construction.update_bound
