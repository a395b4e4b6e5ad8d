"""Constructions by name: the table, and the learner for a name.

Terms used here:

- A *construction* is an update rule with a first hypothesis, a public approximation of the private
  graph. It is tuned to a tolerance alpha in edges: an update needs an answer that is off by alpha.
- A *learner* is the rule before it is tuned. `Learner` in `learn.learners` is a protocol with the
  members `name`, `universe` (the public vertex pairs, X in number) and `construction(alpha=...)`.
- B(alpha), an `UpdateBound`, is the largest number of updates of a construction.
- A `Rule` is "as printed" for the constants of a paper, "tight" for the best of the same proof.
- `KnownConstruction` is an entry of the table below. `initials` are for printed tables, `learner`
  makes the learner, and `updates` returns B for simple graphs of a size.

`CONSTRUCTIONS` lists the names that `construction=` of iterative releases and `method=` of sessions
take, besides "median". Sessions, iterative releases, the planner and the audits read it.

A new construction for cuts needs a learner in a file of its own, and an entry in `CONSTRUCTIONS`.
Three functions below treat some names apart, and have to be looked at as well:

- `learner_of` passes options to mirror descent that others do not have;
- `_learner_of_list` lists the constructions that learn from any linear queries, not only cuts;
- `bound_of` asks a mirror descent learner for B, and the constructions of other learners.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

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
from graphcuts_dp.plug_ins import PlugInTable
from graphcuts_dp.queries.universe import Universe

# `learner` is called with (universe, disjoint, rule), `updates` with (n, edges, rule, disjoint),
# where n is the size of a graph (`learn.sizes.Size`). Lambdas drop what a construction ignores.
_OUR_CONSTRUCTIONS: Mapping[str, KnownConstruction] = {
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
CONSTRUCTIONS = PlugInTable(
    "graphcuts_dp.learners",
    "learner",
    _OUR_CONSTRUCTIONS,
    lambda name, plug_in: _learner_of_package(name, plug_in),
)
BUILT_IN = CONSTRUCTIONS.built_in  # the constructions of which the planner knows the bounds


def _learner_of_package(name: str, plug_in: object) -> KnownConstruction:
    """Return the entry of the table for the object of an entry point.

    Raises:
        ParameterError: it is not callable.
    """
    if not callable(plug_in):
        raise ParameterError("its entry point must be a function of a `Universe`")

    def learner(universe: Universe, *_: object) -> Learner:
        return learner_of(cast(Learner, plug_in(universe)), universe)

    def updates(*_: object) -> UpdateBound:
        raise ParameterError(f"the planner knows no bound on the updates of {name!r:.60}")

    return KnownConstruction(initials=name, learner=learner, updates=updates)


def learner_of(
    construction: str | Learner,
    universe: Universe,
    *,
    disjoint: bool = False,
    rule: Rule = "tight",
    norm: str | None = None,
    signed: bool | None = None,
    step: float | None = None,
    **announced: Any,
) -> Learner:
    """Return the learner of a name, or the given learner after checking its universe.

    Args:
        construction: a name of `CONSTRUCTIONS`, or an object that satisfies `Learner`.
        universe: the public vertex pairs.
        disjoint: whether all queries are cuts with disjoint S and T. Not read for a list.
        rule: of a named construction.
        norm: of mirror descent, a name such as "l2" or "auto" (see `parse_norm`). For cuts, None
            means "auto", the norm with the least B. For a list of linear queries, None means "l2".
        step: of every update: eta of multiplicative weights and mirror descent, the step of
            Frieze-Kannan in edges; None for that of the rule.
        signed: for a *list* of linear queries with coefficients in [-1, 1] that are all public from
            the start: True if some coefficients are negative, else False. None without such a list:
            then queries are cuts, unless `linear` announces others.
        announced: what else was announced of queries that are not in a list. Only mirror descent
            reads it. The learners of other constructions are for cuts then; their updates raise
            QueryError for other queries, so callers do not choose them if there are any.

            - `linear`: whether any linear queries will be asked, not only cuts.
            - `max_spectral_norm`: the largest singular value of a query's matrix, or None.
            - `max_right_size`: the most right vertices of a query, or None.
            - `may_measure_degrees`: whether the learner may ask for a noisy statistic of the graph.

    Raises:
        ParameterError: an unknown name, too many vertices, a learner over other vertices, a norm
            for another construction, or a construction that has no bound for such queries.
    """
    if norm is not None and construction != "mirror-descent":
        raise ParameterError("norm is for mirror-descent; the others have none to choose")
    if step is not None:
        terms = {"disjoint": disjoint, "rule": rule, "norm": norm, "signed": signed, **announced}
        return _with_step(learner_of(construction, universe, **terms), step)
    if not isinstance(construction, str):
        # `Learner` is a protocol that users' classes need not inherit: look for its members.
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


def _with_step(learner: Learner, step: float) -> Learner:
    """Return a learner of this package with the same step in every update.

    Raises:
        ParameterError: another learner, or mirror descent that has no norm yet.
    """
    if isinstance(learner, FriezeKannanLearner):
        return replace(learner, step=step)
    if isinstance(learner, MultiplicativeWeightsLearner | MirrorDescentLearner):
        return replace(learner, eta=step)
    raise ParameterError(
        "a step can be chosen for multiplicative-weights, mirror-descent (eta) and frieze-kannan"
        " (step) alone"
    )


def _learner_of_list(
    construction: str, universe: Universe, *, signed: bool, rule: Rule, norm: str | None
) -> Learner:
    """Return the learner for a public list of any linear queries, see `learner_of`.

    Raises:
        ParameterError: the construction has no bound for such queries.
    """
    if construction == "multiplicative-weights":
        # As printed, the factor exp(-eta (1 - q)) and its bound are for q in [0, 1]. The message
        # names the two calibrations of `release_iteratively` with the tight rule.
        if signed and rule == "as printed":
            raise ParameterError(
                "multiplicative weights as printed take coefficients in [0, 1] alone; use"
                " 'frieze-kannan', or the calibrations 'practical' or 'tight'"
            )
        # span: the largest difference of two coefficients, which lie in [-1, 1] or in [0, 1].
        return MultiplicativeWeightsLearner(universe, rule, span=2.0 if signed else 1.0)
    if construction == "frieze-kannan":
        # dense: a hypothesis is a matrix of all pairs, to which any coefficients can be added.
        return FriezeKannanLearner(universe, rule=rule, dense=True)
    if construction != "mirror-descent":
        raise ParameterError(
            f"the construction {construction!r:.40} learns from no other queries than cuts"
        )
    norm = norm or "l2"
    # A learner without `linear` has the B of entropy for coefficients in [0, 1], as of cuts. B of
    # the other norms holds for all coefficients in [-1, 1].
    if signed and norm in ("entropy", AUTO):
        raise ParameterError(
            f"mirror descent with norm {norm!r} is for coefficients that are not negative; use 'l2'"
        )
    return MirrorDescentLearner(universe, False, rule, norm=norm)


def bound_of(
    learner: Learner, *, alpha: float, total_weight: float, total_error: float
) -> UpdateBound:
    """Return B of a learner, as a function of the tolerance.

    A construction is tuned to one tolerance, but its `update_bound` takes any tolerance and answers
    for the same rule tuned to that one. So one construction suffices. Mirror descent is different:
    with norm "auto" the tolerance decides which norm a construction has, and so one construction
    has B of one norm only. Its learner has a method that takes the least B of all norms.

    Args:
        learner: any.
        alpha: any tolerance that `Learner.construction` accepts: it refuses one that is too small
            for `total_error`. It is needed to make a construction; the returned B does not depend
            on it.
        total_weight: the total weight, or a noisy value of it, in (0, X].
        total_error: how far the true total may be from `total_weight`, >= 0.
    """
    if isinstance(learner, MirrorDescentLearner):
        return learner.update_bound(total_weight=total_weight, total_error=total_error)
    construction = learner.construction(
        alpha=alpha, total_weight=total_weight, total_error=total_error
    )
    return construction.update_bound
