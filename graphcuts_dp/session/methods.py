"""The tables of session methods and of calibrations: what `method=` and `calibration=` can name.

Sessions, the planner, the command line and the audits read them. A new method is its module and a
line here; a construction that sessions can run has its line in `learn.constructions`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import Rule
from graphcuts_dp.learn.constructions import CONSTRUCTIONS, learner_of
from graphcuts_dp.learn.learners import Learner, MedianLearner
from graphcuts_dp.learn.norms import CutSizes
from graphcuts_dp.learn.own_learner import OwnLearner
from graphcuts_dp.learn.update_bounds import size_of
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import as_stored
from graphcuts_dp.privacy.protection import EDGE, Protect
from graphcuts_dp.session.base import CutMechanism
from graphcuts_dp.session.calibrations import CALIBRATIONS
from graphcuts_dp.session.choice import (
    Setting,
    binary_error,
    construction_error,
    gaussian_error,
    laplace_error,
    median_error,
    mirror_descent_error,
)
from graphcuts_dp.session.online import TOTAL, OnlineMechanism, check_start
from graphcuts_dp.session.per_query import PerQueryNoise
from graphcuts_dp.session.response import BinaryAnswers


@final
@dataclass(frozen=True, kw_only=True)
class SessionMethod:
    """A line of the table of methods.

    Attributes:
        make: the mechanism, from the keywords of `make_mechanism`.
        error: with probability 1 - beta no answer about disjoint sets is farther off, from a
            setting and whether queries may depend on earlier answers; infinite where delta must
            not be 0. For plans, which know no vertex set; a mechanism knows its own errors.
    """

    make: Callable[..., CutMechanism[Any]]
    error: Callable[[Setting, bool], float]


def _construction(
    name: str | Learner,
    *,
    universe: Universe,
    grid: Grid,
    calibration: str,
    value_share: float,
    epsilon: float,
    delta: float,
    queries: int,
    beta: float,
    protection: Protect,
    linear: bool,
    adaptive: bool,
    **announced: Any,
) -> OnlineMechanism:
    del adaptive
    tight = calibration == "tight"
    protection = protection.either_way if linear else protection.monotone
    bought = {"value_share": value_share} if tight else {}
    epsilon, delta = protection.step_budget(epsilon=epsilon, delta=delta, zcdp=tight)
    rule: Rule = "tight" if tight else "as printed"
    may_buy = grid.bounded is None
    return OnlineMechanism(
        learner=learner_of(name, universe, rule=rule, may_buy=may_buy, linear=linear, **announced),
        calibration=CALIBRATIONS[calibration](
            epsilon=epsilon, delta=delta, queries=queries, beta=beta, **bought
        ),
        grid=grid,
        steps=protection.steps,
    )


def _per_query(
    distribution: Literal["gaussian", "laplace"],
    *,
    universe: Universe,
    grid: Grid,
    epsilon: float,
    queries: int,
    delta: float,
    beta: float,
    protection: Protect,
    **_: Any,
) -> CutMechanism[Any]:
    return PerQueryNoise(
        distribution=distribution,
        universe=universe,
        grid=grid,
        epsilon=epsilon,
        queries=queries,
        delta=delta if distribution == "gaussian" else 0.0,
        beta=beta,
        steps=protection.steps,
    )


def _binary(
    *,
    universe: Universe,
    grid: Grid,
    epsilon: float,
    queries: int,
    beta: float,
    disjoint: bool,
    adaptive: bool,
    protection: Protect,
    **_: Any,
) -> CutMechanism[Any]:
    if grid.bounded is not None:
        Protect.of_pairs("vertex", at_most=None, others=max(universe.shape) - 1, epsilon=epsilon)
    return BinaryAnswers(
        universe=universe,
        grid=grid,
        epsilon=as_stored(protection.per_step(epsilon)),
        steps=protection.steps,
        queries=queries,
        beta=beta,
        disjoint=disjoint,
        adaptive=adaptive,
    )


def _median(*, universe: Universe, grid: Grid, **options: Any) -> CutMechanism[Any]:
    """The mechanism of the other constructions with the median; it needs no total weight."""
    if grid.weighted or grid.bounded is not None:
        raise ParameterError(
            "the median lists graphs without weights, and has no bounded cuts: use another method"
        )
    made = _construction(MedianLearner(universe), universe=universe, grid=grid, **options)
    return replace(made, total_weight=float(universe.size))


METHODS: Mapping[str, SessionMethod] = {
    **{
        name: SessionMethod(
            make=partial(_construction, name),
            error=partial(construction_error, known.updates),
        )
        for name, known in CONSTRUCTIONS.items()
        if known.online and known.updates is not None
    },
    "mirror-descent": SessionMethod(
        make=partial(_construction, "mirror-descent"), error=mirror_descent_error
    ),
    "median": SessionMethod(make=_median, error=median_error),
    "gaussian": SessionMethod(make=partial(_per_query, "gaussian"), error=gaussian_error),
    "laplace": SessionMethod(make=partial(_per_query, "laplace"), error=laplace_error),
    "binary": SessionMethod(make=_binary, error=binary_error),
}


# That answer every linear query, where it was announced; noise on each needs no announcement.
LINEAR_METHODS = ("gaussian", "laplace", "mirror-descent")


def session_method(name: str) -> SessionMethod:
    """The line of a name.

    Raises:
        ParameterError: an unknown name.
    """
    if name not in METHODS:
        raise ParameterError(f"unknown method {name!r}; choose one of {', '.join(METHODS)}")
    return METHODS[name]


def guaranteed_error(method: str, setting: Setting, *, adaptive: bool = True) -> float:
    """With probability 1 - beta no answer about disjoint sets is farther off than this, in edges.

    Args:
        method: a name of `METHODS`.
        setting: the public numbers.
        adaptive: whether queries may depend on earlier answers.

    Returns:
        Infinity for a method that needs delta > 0 where delta is 0.

    Raises:
        ParameterError: an unknown method.
    """
    return session_method(method).error(setting, adaptive)


def make_mechanism(  # noqa: PLR0913  # the terms of a session
    method: str | OwnLearner,
    *,
    universe: Universe,
    grid: Grid,
    epsilon: float,
    queries: int,
    delta: float = 0.0,
    beta: float = 0.05,
    calibration: str = "tight",
    disjoint: bool = False,
    value_share: float = 0.0,
    adaptive: bool = True,
    protection: Protect = EDGE,
    norm: str | None = None,
    most_right: int | None = None,
    linear: bool = False,
    most_spectral: float | None = None,
    start: str = TOTAL,
) -> CutMechanism[Any]:
    """The mechanism that a session of this method runs. Reads nothing private.

    Args:
        method: a name of `METHODS`, or a learner of one's own.
        universe: the public vertex pairs.
        grid: `Grid.of` the graph; of a vertex `Grid.of_vertices`.
        epsilon: in [1e-6, 50].
        queries: k >= 1.
        delta: in [0, 1); > 0 for "gaussian", the tight calibration, "gru12" and "jt12".
            "laplace" and "binary" are pure and do not use it.
        beta: probability that any interval is wrong, in (0, 1).
        calibration: of the constructions: a name of `CALIBRATIONS`; the papers' use their printed
            update rules too, and (for delta > 0) epsilon of at most 1.
        disjoint: only cuts with disjoint S and T will be asked: smaller errors of "frieze-kannan"
            and "binary", which then refuse others.
        value_share: of the tight calibration: see `calibrations.Tight`.
        adaptive: of "binary": see `BinaryAnswers`.
        protection: whom the promise is for.
        norm: of "mirror-descent": see `learn.norms.parse_norm`; None for "auto".
        most_right: of a bipartite graph: only cuts with at most so many right vertices will be
            asked: smaller errors of "mirror-descent", which then refuses others.
        linear: any linear queries will be asked; of `LINEAR_METHODS`. Since answers then change
            either way, "mirror-descent" has twice the noise that it has for cuts.
        most_spectral: of "mirror-descent" for linear queries of a bipartite graph: no matrix of
            coefficients, divided by the largest of them, has a larger singular value.
        start: of the constructions: a name of `online.STARTS`.

    Raises:
        ParameterError: an unknown name, a number out of range, or a graph that does not suit.
    """
    make = (
        partial(_construction, method)
        if isinstance(method, OwnLearner)
        else session_method(method).make
    )
    if norm is not None and method != "mirror-descent":
        raise ParameterError("norm is for method 'mirror-descent'; the others have none to choose")
    if most_spectral is not None and (not linear or method != "mirror-descent"):
        raise ParameterError("most_spectral is for method 'mirror-descent' with linear=True")
    if linear and method not in LINEAR_METHODS:
        raise ParameterError(
            f"linear=True needs a method that answers every linear query: "
            f"{', '.join(LINEAR_METHODS)}; method 'binary' answers rank-one queries without it"
        )
    CutSizes.of(size_of(universe), disjoint=disjoint, most_right=most_right)
    if (grid.bounded is None) is (protection.degree_bound is not None):
        raise ParameterError("bounded cuts are for protect='vertex', and the only ones for it")
    if calibration not in CALIBRATIONS:  # also for methods that have none
        raise ParameterError(
            f"unknown calibration {calibration!r}; choose one of {', '.join(CALIBRATIONS)}"
        )
    made = make(
        universe=universe,
        grid=grid,
        epsilon=epsilon,
        queries=queries,
        delta=delta,
        beta=beta,
        calibration=calibration,
        disjoint=disjoint,
        value_share=value_share,
        adaptive=adaptive,
        protection=protection,
        norm=norm,
        most_right=most_right,
        linear=linear,
        most_spectral=most_spectral,
    )
    if start == TOTAL:
        return made
    if not isinstance(made, OnlineMechanism):
        check_start(start, None, grid)
        return made
    return replace(made, begins=start)
