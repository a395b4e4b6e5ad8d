"""Iterative releases by names: constructions, distinguishers, calibrations, and the release."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.distinguishers.base import Distinguisher
from graphcuts_dp.distinguishers.cut_list import CutList
from graphcuts_dp.distinguishers.exact_cuts import MOST_VERTICES, ExactCuts
from graphcuts_dp.distinguishers.exponential import Exponential
from graphcuts_dp.distinguishers.power_method import PowerRankOne
from graphcuts_dp.distinguishers.response_rank_one import ResponseRankOne
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.fits.certify import weights_of
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.queries import CutQuery
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.idc.base import Rule
from graphcuts_dp.idc.dense import DenseHypothesis
from graphcuts_dp.idc.learners import (
    FriezeKannanLearner,
    Learner,
    MirrorDescentLearner,
    MultiplicativeWeightsLearner,
)
from graphcuts_dp.iterative.construction import IterativeConstruction, Outcome
from graphcuts_dp.iterative.paper_tuning import PaperOffline
from graphcuts_dp.iterative.pure_tuning import PureOffline
from graphcuts_dp.iterative.release import Accuracy, IterativeRelease, Settings
from graphcuts_dp.iterative.tuning import (
    TOTAL_SHARE,
    OfflineCalibration,
    PracticalOffline,
    TightOffline,
    check_probabilities,
)
from graphcuts_dp.privacy.entropy import SEEDED_WARNING, entropy_source
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon, hidden_change
from graphcuts_dp.privacy.laws import noise_law
from graphcuts_dp.progress import Progress, silent

CONSTRUCTIONS = ("multiplicative-weights", "frieze-kannan", "mirror-descent")
_MOST_VERTICES = 8192  # the synthetic graph is made from a matrix of all pairs
_ANY = Fraction(1)  # the calibration chooses the budget

# Each makes a distinguisher from the universe, the grid, the listed queries and delta.
Maker = Callable[[Universe, Grid, CutList | None, float], Distinguisher]


def _listed(universe: Universe, grid: Grid, queries: CutList | None, delta: float) -> Distinguisher:
    del universe, delta
    if queries is None:
        raise ParameterError(
            "the distinguisher 'exponential' needs queries, the public list to choose from"
        )
    return Exponential(queries=queries, epsilon=_ANY, grid=grid)


def _all(universe: Universe, grid: Grid, queries: CutList | None, delta: float) -> Distinguisher:
    del queries, delta
    return ExactCuts(universe=universe, epsilon=_ANY, grid=grid)


def _response(
    universe: Universe, grid: Grid, queries: CutList | None, delta: float
) -> Distinguisher:
    del queries, delta
    noise = "laplace" if grid.weighted else "binary"
    cap = grid.cap if grid.weighted else None
    return ResponseRankOne(universe=universe, law=noise_law(noise, epsilon=1.0, weight_cap=cap))


def _power(universe: Universe, grid: Grid, queries: CutList | None, delta: float) -> Distinguisher:
    del queries
    return PowerRankOne(universe=universe, rho=1.0, delta=delta or 1e-6, grid=grid)


MAKERS: dict[str, Maker] = {
    "exponential": _listed,
    "exact-cuts": _all,
    "response-rank-one": _response,
    "power-rank-one": _power,
}
DISTINGUISHERS = ("auto", *MAKERS)


@final
@dataclass(frozen=True, kw_only=True)
class IterativeOptions:
    """Options of an iterative release; see `release_graph`."""

    delta: float = 0.0
    construction: str = "multiplicative-weights"
    distinguisher: str = "auto"
    queries: Iterable[CutQuery] | None = None
    calibration: str = "practical"
    rounds: int | None = None
    queries_per_round: int = 1
    refits: int = 12
    beta: float = 0.05
    total_weight: float | None = None


def iterative_mechanism(
    graph: AnyGraph, *, epsilon: float, options: IterativeOptions
) -> IterativeConstruction:
    """The mechanism of these options. Reads the graph's schema only.

    Raises:
        ParameterError: an option out of range, or options that do not fit together or the graph.
        GraphError: fewer than two vertices.
        QueryError: a query that is no cut of the graph.
    """
    universe = _universe_of(graph)
    if max(universe.shape) > _MOST_VERTICES:
        raise ParameterError(
            f"an iterative construction holds a number for each pair: up to {_MOST_VERTICES}"
            " vertices; use another mechanism"
        )
    grid = Grid.of(graph)
    queries = None if options.queries is None else _as_list(universe, options.queries)
    name = options.distinguisher
    if name == "auto":
        small = min(universe.shape) <= MOST_VERTICES
        name = "exact-cuts" if small else "response-rank-one"
        name = name if queries is None else "exponential"
    if name not in MAKERS:
        raise ParameterError(
            f"unknown distinguisher {name!r}; choose one of {', '.join(DISTINGUISHERS)}"
        )
    if queries is not None and name != "exponential":
        raise ParameterError("queries are for the distinguisher 'exponential'")
    exact_epsilon(epsilon)
    distinguisher = MAKERS[name](universe, grid, queries, options.delta)
    calibration = _calibration(epsilon, options, distinguisher)
    disjoint = queries.disjoint if queries is not None else name == "exact-cuts"
    rule: Rule = "as printed" if isinstance(calibration, PaperOffline) else "tight"
    return IterativeConstruction(
        learner=_learner(options.construction, universe, disjoint, rule),
        distinguisher=distinguisher,
        calibration=calibration,
        grid=grid,
        mass=options.total_weight,
        refits=0 if isinstance(calibration, PaperOffline) else options.refits,
    )


def release_iteratively(
    graph: AnyGraph,
    *,
    epsilon: float,
    options: IterativeOptions,
    seed: int | None = None,
    progress: Progress = silent,
) -> IterativeRelease:
    """Run the mechanism of these options and make a release; see `release_graph`.

    Guarantee: that of `IterativeConstruction`; the rest is computed from its outcome.
    """
    mechanism = iterative_mechanism(graph, epsilon=epsilon, options=options)
    outcome = mechanism.run(graph, entropy_source(seed), progress=progress)
    cap = mechanism.grid.cap or 1.0
    universe = mechanism.universe
    learnt: Any = outcome.hypothesis
    matrix = learnt.dense() * mechanism.unit
    weights = weights_of(np.clip(matrix, 0, cap), cap)
    guarantee = _guarantee(mechanism, seed)
    listed = getattr(mechanism.distinguisher, "queries", None)
    return IterativeRelease(
        graph=_synthetic(graph, weights, cap, "" if seed is None else SEEDED_WARNING),
        hypothesis=DenseHypothesis(universe, matrix),
        guarantee=guarantee,
        accuracy=_accuracy(mechanism, outcome, options.beta, weights - matrix, listed),
        settings=Settings(
            construction=mechanism.learner.name,
            distinguisher=mechanism.distinguisher.name,
            calibration=options.calibration,
            rounds=outcome.tuning.rounds,
            used=max((measured.round for measured in outcome.transcript), default=0),
            stopped=outcome.stopped,
            total=outcome.mass * mechanism.unit,
        ),
        transcript=outcome.transcript,
        cap=cap,
        listed=listed,
    )


def _universe_of(graph: AnyGraph) -> Universe:
    if isinstance(graph, Graph):
        universe = Universe(graph.vertices)
    elif isinstance(graph, BipartiteGraph):
        universe = Universe(graph.left, graph.right)
    else:
        raise GraphError(
            "the first argument must be a Graph; build one with read_graph or from_..."
        )
    if not universe.size:
        raise GraphError("a graph of one vertex has no pairs: there is nothing to release")
    return universe


def _as_list(universe: Universe, queries: Iterable[CutQuery]) -> CutList:
    if isinstance(queries, CutList):
        if queries.universe != universe:
            raise ParameterError("the queries are for other vertices than the graph's")
        return queries
    return CutList(universe, queries)


def _learner(name: str, universe: Universe, disjoint: bool, rule: Rule) -> Learner:
    if name == "multiplicative-weights":
        return MultiplicativeWeightsLearner(universe, rule)
    if name == "frieze-kannan":
        return FriezeKannanLearner(universe, disjoint, rule)
    if name == "mirror-descent":
        return MirrorDescentLearner(universe, disjoint, rule)
    raise ParameterError(f"unknown construction {name!r}; choose one of {', '.join(CONSTRUCTIONS)}")


def _calibration(
    epsilon: float, options: IterativeOptions, distinguisher: Distinguisher
) -> OfflineCalibration:
    if options.calibration not in ("practical", "tight"):
        made = PaperOffline(
            paper=options.calibration, epsilon=epsilon, delta=options.delta, beta=options.beta
        )
        if options.rounds is not None or options.queries_per_round != 1:
            raise ParameterError(
                "rounds and queries_per_round are for the calibrations 'practical' and 'tight'"
            )
        return made
    if options.calibration == "practical" and distinguisher.call is None:
        check_probabilities(options.delta, options.beta, pure=True)
        pure = PureOffline(
            universe=distinguisher.universe,
            epsilon=epsilon,
            beta=options.beta,
            calls=options.queries_per_round,
        )
        return pure if options.rounds is None else replace(pure, rounds=options.rounds)
    kind = PracticalOffline if options.calibration == "practical" else TightOffline
    return kind(
        epsilon=epsilon,
        delta=options.delta,
        beta=options.beta,
        rounds=options.rounds,
        calls=options.queries_per_round,
    )


def _guarantee(mechanism: IterativeConstruction, seed: int | None) -> PrivacyGuarantee:
    cost, grid = mechanism.cost, mechanism.grid
    public = "both vertex sets" if mechanism.universe.bipartite else "the vertex set"
    if grid.weighted:
        public += ", the weight cap"
    if mechanism.mass is not None:
        public += ", the total weight"
    bought = mechanism.mass is None
    if isinstance(mechanism.calibration, PureOffline):
        parts = mechanism.calibration.parts(total=bought)
    else:
        total = cost.epsilon * float(TOTAL_SHARE)
        parts = (("total weight", total), ("rounds", cost.epsilon - total)) if bought else ()
    return PrivacyGuarantee(
        epsilon=cost.epsilon,
        delta=cost.delta,
        neighbours=hidden_change(weighted=grid.weighted, weight_cap=grid.cap),
        public=public,
        seed=seed,
        parts=parts,
    )


def _accuracy(
    mechanism: IterativeConstruction,
    outcome: Outcome,
    beta: float,
    moved: FloatMatrix,
    listed: CutList | None,
) -> Accuracy:
    """Of the hypothesis, and of the graph, whose weights are `moved` away from it."""
    if outcome.error is None:
        return Accuracy(error=None, confidence=1 - beta, queries="none", graph_error=None)
    grid = mechanism.grid
    error = outcome.error * mechanism.unit + grid.rounding(mechanism.universe.size)
    if listed is not None:
        shift = float(np.abs(listed.on_matrix(moved)).max())
    else:
        shift = cut_norm(moved).upper
    return Accuracy(
        error=error,
        confidence=1 - beta,
        queries="disjoint" if listed is None else "listed",
        graph_error=error + shift,
    )


def _synthetic(graph: AnyGraph, weights: FloatMatrix, cap: float, note: str) -> AnyGraph:
    def rows() -> Iterator[FloatMatrix]:
        yield from (weights[start : start + 512] for start in range(0, len(weights), 512))

    if isinstance(graph, Graph):
        return Graph.from_rows(
            rows(), vertices=graph.vertices, weighted=True, weight_cap=cap, note=note
        )
    return BipartiteGraph.from_rows(
        rows(), left=graph.left, right=graph.right, weighted=True, weight_cap=cap, note=note
    )
