"""Mechanisms by name."""

from typing import Any

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.idc.base import Rule
from graphcuts_dp.idc.learners import (
    FriezeKannanLearner,
    Learner,
    MultiplicativeWeightsLearner,
)
from graphcuts_dp.interactive.base import Mechanism
from graphcuts_dp.interactive.calibrations import Calibration, Tight
from graphcuts_dp.interactive.mechanism import OnlineMechanism
from graphcuts_dp.interactive.paper_calibrations import DR14, GRU12, JT12
from graphcuts_dp.interactive.per_query import PerQueryNoise
from graphcuts_dp.interactive.response import BinaryAnswers

CONSTRUCTIONS = ("multiplicative-weights", "frieze-kannan")
CALIBRATIONS = ("tight", "gru12", "jt12", "dr14")


def make_mechanism(
    method: str,
    *,
    universe: Universe,
    grid: Grid,
    epsilon: float,
    queries: int,
    delta: float = 0.0,
    beta: float = 0.05,
    calibration: str = "tight",
    mass: float | None = None,
    disjoint: bool = False,
    value_share: float = 0.0,
    adaptive: bool = True,
) -> Mechanism[Any]:
    """The mechanism that a session of this method runs. Reads nothing private.

    Args:
        method: one of `choice.METHODS`.
        universe: the public vertex pairs.
        grid: `Grid.of` the graph.
        epsilon: in [1e-6, 50].
        queries: k >= 1.
        delta: in [0, 1); > 0 for "gaussian", the tight calibration, "gru12" and "jt12".
            "laplace" and "binary" are pure and do not use it.
        beta: probability that any interval is wrong, in (0, 1).
        calibration: of the constructions: one of `CALIBRATIONS`; the papers' use their printed
            update rules too, and (for delta > 0) epsilon of at most 1.
        mass: of the constructions: public total weight; None buys a noisy one.
        disjoint: of "frieze-kannan": only cuts with disjoint S and T will be asked.
        value_share: of the tight calibration: see `calibrations.Tight`.
        adaptive: of "binary": see `BinaryAnswers`.

    Raises:
        ParameterError: an unknown name, a number out of range, or a graph that does not suit.
    """
    if method == "binary":
        return BinaryAnswers(
            universe=universe,
            grid=grid,
            epsilon=epsilon,
            queries=queries,
            beta=beta,
            adaptive=adaptive,
        )
    if method in ("gaussian", "laplace"):
        return PerQueryNoise(
            law="gaussian" if method == "gaussian" else "laplace",
            universe=universe,
            grid=grid,
            epsilon=epsilon,
            queries=queries,
            delta=delta if method == "gaussian" else 0.0,
            beta=beta,
        )
    if method not in CONSTRUCTIONS:
        raise ParameterError(
            f"unknown method {method!r}; choose one of {', '.join(CONSTRUCTIONS)}, gaussian,"
            " laplace, binary"
        )
    return OnlineMechanism(
        learner=_learner(method, universe, printed=calibration != "tight", disjoint=disjoint),
        calibration=_calibration(calibration, epsilon, delta, queries, beta, value_share),
        grid=grid,
        mass=mass,
    )


def _learner(method: str, universe: Universe, *, printed: bool, disjoint: bool) -> Learner:
    rule: Rule = "as printed" if printed else "tight"
    if method == "multiplicative-weights":
        return MultiplicativeWeightsLearner(universe, rule)
    return FriezeKannanLearner(universe, disjoint, rule)


def _calibration(
    name: str, epsilon: float, delta: float, queries: int, beta: float, value_share: float
) -> Calibration:
    if name == "tight":
        return Tight(
            epsilon=epsilon, delta=delta, queries=queries, beta=beta, value_share=value_share
        )
    papers: dict[str, type[GRU12] | type[JT12] | type[DR14]] = {
        "gru12": GRU12,
        "jt12": JT12,
        "dr14": DR14,
    }
    if name not in papers:
        raise ParameterError(
            f"unknown calibration {name!r}; choose one of {', '.join(CALIBRATIONS)}"
        )
    return papers[name](epsilon=epsilon, delta=delta, queries=queries, beta=beta)
