"""Iterative releases: the mechanism that the options describe, its run, and what is released.

A release is by an iterative construction, or by a query player that learns; see `PlayerGame`.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import AnyGraph, from_rows_on
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.owned_rows import PrivateData, paired_graph
from graphcuts_dp.learn.base import Rule
from graphcuts_dp.learn.bit_sets import DenseHypothesis
from graphcuts_dp.learn.constructions import CONSTRUCTIONS, learner_of
from graphcuts_dp.learn.learners import MOST_DENSE_VERTICES, Learner, MedianLearner
from graphcuts_dp.learn.linear_learners import linear_learner
from graphcuts_dp.learn.median import DatabaseFamily, all_graphs
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.ledger.uses import charged
from graphcuts_dp.offline.construction import IterativeConstruction, Outcome
from graphcuts_dp.offline.distinguisher import Distinguisher
from graphcuts_dp.offline.distinguishers import Task, distinguisher_of
from graphcuts_dp.offline.player_game import PLAYERS, Player, PlayerGame
from graphcuts_dp.offline.query_lists import CutList, QuestionList, as_list
from graphcuts_dp.offline.release import Accuracy, IterativeRelease, Settings
from graphcuts_dp.offline.tuning import (
    OfflineCalibration,
    PaperOffline,
    PracticalOffline,
    PureOffline,
    TightOffline,
    check_counts,
    check_probabilities,
)
from graphcuts_dp.pairs.graph_queries import Question
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import as_stored
from graphcuts_dp.privacy.entropy import SEEDED_WARNING, entropy_source
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, hidden_change
from graphcuts_dp.privacy.protection import EDGE, Protect
from graphcuts_dp.progress import Progress, silent
from graphcuts_dp.synth.finishing import weights_of

MEDIAN = "median"  # beside the table of constructions: its hypothesis is no matrix
LEARNT_BY = (*CONSTRUCTIONS, MEDIAN)
Playable = IterativeConstruction | PlayerGame


def universe_of(graph: AnyGraph) -> Universe:
    """The public pairs of a graph.

    Raises:
        GraphError: something else than a graph, or one without pairs.
        ParameterError: more vertices than a matrix of all pairs can be held for.
    """
    if not isinstance(graph, AnyGraph):
        raise GraphError("the first argument must be a Graph; make one by Graph.of, or read_graph")
    universe = Universe.of(graph)
    if not universe.size:
        raise GraphError("a graph of one vertex has no pairs: there is nothing to release")
    if max(universe.shape) > MOST_DENSE_VERTICES:
        raise ParameterError(
            f"an iterative construction holds a number for each pair: up to {MOST_DENSE_VERTICES}"
            " vertices; use release_graph"
        )
    return universe


def finished(
    graph: AnyGraph,
    mechanism: Playable,
    outcome: Outcome[Any],
    *,
    calibration: str,
    beta: float,
    seed: int | None,
) -> IterativeRelease:
    """What is made of an outcome. Reads the graph's schema only."""
    cap, listed, error = mechanism.grid.cap or 1.0, mechanism.listed, outcome.error
    learnt: Any = outcome.hypothesis
    if isinstance(learnt, DatabaseFamily) and listed is not None:
        learnt, off = nearest_graph(learnt, listed)
        error = None if error is None else error + off
    matrix = learnt.dense() * mechanism.unit
    weights = weights_of(np.clip(matrix, 0, cap), cap)
    rows = (weights[start : start + 512] for start in range(0, len(weights), 512))
    note = "" if seed is None else SEEDED_WARNING
    return IterativeRelease(
        graph=from_rows_on(graph.space, rows, weighted=True, weight_cap=cap, note=note),
        hypothesis=DenseHypothesis(mechanism.universe, matrix),
        guarantee=guarantee_of(mechanism, seed),
        accuracy=_accuracy(mechanism, error, beta, weights - matrix, listed),
        settings=Settings(
            construction=mechanism.name,
            distinguisher=mechanism.found_by,
            calibration=calibration,
            rounds=outcome.tuning.rounds,
            used=outcome.used,
            stopped=outcome.stopped,
            total=outcome.total_weight * mechanism.unit,
        ),
        transcript=outcome.transcript,
        cap=cap,
        listed=listed,
    )


def nearest_graph(
    learnt: DatabaseFamily, listed: CutList | QuestionList
) -> tuple[DenseHypothesis, float]:
    """The graph whose answers to a list are nearest to those of a median, and how far they are.

    Every graph without weights is looked at, so the true one is among them: where the median is
    within E of the truth on the whole list, the nearest graph is within E of the median.

    Source: DR14 Theorem 5.10, whose mechanism returns a database.
    """
    family = all_graphs(learnt.universe)
    off = np.zeros(len(family))
    for query in listed:
        off = np.maximum(off, np.abs(family.answers(query) - learnt.estimate(query)))
    nearest = int(np.argmin(off))
    graph = DatabaseFamily(learnt.universe, family.databases[nearest : nearest + 1])
    return DenseHypothesis(learnt.universe, graph.median_weights()), float(off[nearest])


def guarantee_of(mechanism: Playable, seed: int | None) -> PrivacyGuarantee:
    """What a run promises for one pair."""
    universe, grid = mechanism.universe, mechanism.grid
    hides = isinstance(mechanism, PlayerGame) and mechanism.hide is not None
    return PrivacyGuarantee(
        epsilon=mechanism.cost.epsilon,
        delta=mechanism.cost.delta,
        neighbours=hidden_change(
            weighted=grid.weighted, weight_cap=grid.cap, directed=universe.directed
        ),
        public=universe.public
        + (", the weight cap" if grid.weighted else "")
        + (", the number of queries" if hides else ""),
        seed=seed,
        parts=mechanism.parts,
    )


def _accuracy(
    mechanism: Playable,
    error: float | None,
    beta: float,
    moved: FloatMatrix,
    listed: CutList | QuestionList | None,
) -> Accuracy:
    """Of the hypothesis, and of the graph, whose weights are `moved` away from it."""
    if error is None:
        return Accuracy(error=None, confidence=1 - beta, queries="none", graph_error=None)
    grid = mechanism.grid
    error = error * mechanism.unit + grid.rounding(mechanism.universe.size)
    if listed is None:
        shift = cut_norm(moved).upper
    else:
        error = (error + listed.rounding(grid)) * listed.scale
        shift = float(np.abs(listed.on_matrix(moved)).max()) * listed.scale
    return Accuracy(
        error=error,
        confidence=1 - beta,
        queries="disjoint" if listed is None else "listed",
        graph_error=error + shift,
    )


def release_iteratively(  # noqa: PLR0913  # each is a public number of its promise
    graph: PrivateData,
    *,
    epsilon: float,
    delta: float = 0.0,
    store: PathLike | Store | None = None,
    queries: Iterable[Question] | None = None,
    construction: str | Learner = "multiplicative-weights",
    norm: str | None = None,
    distinguisher: str | Distinguisher = "auto",
    calibration: str = "practical",
    protect: str = "edges",
    at_most: int | None = None,
    rounds: int | None = None,
    queries_per_round: int = 1,
    refits: int = 12,
    player: str = "data",
    hide_queries: float | None = None,
    beta: float = 0.05,
    seed: int | None = None,
    progress: Progress = silent,
) -> IterativeRelease:
    """Learn a synthetic graph from noisy answers to cuts that a private distinguisher finds.

    As a synthetic graph it is worse than that of `release_graph` on all that was measured; it is
    for lists of `queries`, for proven errors on small graphs, and for comparison.

    Args:
        graph: the private graph, at least two vertices (one on each side if bipartite), at most
            8192 a side; weights need a public cap.
        epsilon: privacy parameter, for whom `protect` names, in [1e-6, 50]; all of it is spent.
        delta: in (0, 1), needed but for calibration="dr14", and for "practical" with
            "response-rank-one" or "released", which spend epsilon alone.
        store: path of the store, or a `Store`, that remembers what was spent on this graph: the
            release is charged to it, and refused if its budget does not allow it. None for a graph
            of which nothing else is ever released.
        queries: a public list of cuts, a `CutList` for very long ones; or of any linear queries (at
            most 2^24 coefficients together), and for the median of statistics, too.
        construction: "multiplicative-weights", "frieze-kannan", "mirror-descent" (its hypothesis
            stays within the weights allowed), "median" (of all graphs without weights, on at most
            16 pairs: DR14 Theorem 5.10), or an object of your own, see `Learner`.
        norm: of "mirror-descent": "l2" if omitted; "lp", "2,p", "entropy", "schatten" or "auto"
            (least bound on the number of updates); a number in place of p fixes it, as in "2,1.25".
            "2,p" buys the noisy sum of root degrees of a bipartite graph.
        distinguisher: "exponential" (over `queries`), "released" (likewise: noisy pairs answer all
            of them once, and prove the result), "exact-cuts" (all cuts, up to 22 vertices),
            "response-rank-one" or "power-rank-one" (no accuracy is proven; the latter for
            thousands of vertices), "power-rank-one-certified" (half of its budget proves at the
            end how far off the result is: see `power_certificate`), or "auto": the first of these
            that fits; or an object of your own, see `Distinguisher`, whose costs are then yours to
            prove.
        calibration: "practical" (all rounds are used, the error is measured), "tight" (stops when
            the result is proven to be good), or a paper's: "gru12", "dr14", "nik17" (which is
            Nik17 Alg. 1 with `queries` and multiplicative weights).
        protect: whom the promise is for: "edges", see `Protect.of`.
        at_most: of edges: how many may change together, 1 if omitted.
        rounds: at most so many; None for the calibration's choice.
        queries_per_round: found by the same hypothesis.
        refits: corrections by old answers after each round.
        player: of the query release game: who learns. "data": the hypothesis, against the worst
            query. "query": the query player, by multiplicative weights over `queries`, against best
            responses; "both". These take no construction, norm, distinguisher, calibration or
            refits, and `queries_per_round` are drawn: see `PlayerGame`.
        hide_queries: of the players "query" and "both": most total variation by which one query of
            the list may show in what is released, in (0, 1); the list is then not published, and
            no error is proven.
        beta: probability that the stated accuracy fails.
        seed: makes the run repeatable and voids the promise; None for the system's entropy.
        progress: called with the fraction of the rounds done and a message.

    Raises:
        ParameterError: an option out of range, or options that do not fit together or the graph.
        GraphError: fewer than two vertices.
        QueryError: a query that is no cut of the graph.
        BudgetError: the budget of the store does not allow the release, and nothing was spent; or a
            distinguisher of your own costs more than it was given, and nothing is released.
        LedgerError: the store cannot be used.

    Guarantee: (epsilon, delta)-DP at edge level: see `IterativeConstruction`, and `PlayerGame` for
    a query player that learns; the synthetic graph is computed from the outcome.
    Source: GRU12 Alg. 3; DR14 Alg. 8; Nik17 Alg. 1.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> cuts = [gc.CutQuery([0]), gc.CutQuery([33])]
        >>> made = gc.release_iteratively(club, epsilon=4.0, delta=1e-6, queries=cuts)
        >>> low, high = made.answer(cuts[0]).interval  # both intervals hold with 95%
    """
    private = graph
    graph, protection = paired_graph(private, protect, at_most=at_most, epsilon=epsilon)
    if player not in PLAYERS:
        names = ", ".join(map(repr, PLAYERS))
        raise ParameterError(f"unknown player {player!r:.40}; choose one of {names}")
    mechanism: Playable
    if player != "data":
        usual = ("multiplicative-weights", None, "auto", "practical", 12)
        if (construction, norm, distinguisher, calibration, refits) != usual:
            raise ParameterError(
                "a query player that learns takes no construction, norm, distinguisher, calibration"
                " or refits"
            )
        mechanism = game_of(
            graph,
            protection,
            player=player,
            epsilon=epsilon,
            delta=delta,
            queries=queries,
            rounds=rounds,
            draws=queries_per_round,
            hide=hide_queries,
            beta=beta,
        )
        names_of = {"construction": f"game, player {player}"}
        if hide_queries is not None:
            calibration = f"practical, queries hidden: {hide_queries:g}"
    elif hide_queries is not None:
        raise ParameterError("hide_queries is for the players 'query' and 'both'")
    else:
        mechanism = iterative_mechanism(
            graph,
            protection=protection,
            epsilon=epsilon,
            delta=delta,
            queries=queries,
            construction=construction,
            norm=norm,
            distinguisher=distinguisher,
            calibration=calibration,
            rounds=rounds,
            queries_per_round=queries_per_round,
            refits=refits,
            beta=beta,
        )
        names_of = {
            "construction": mechanism.name,
            "distinguisher": mechanism.found_by,
            "calibration": calibration,
        }
    source = entropy_source(seed)
    cost = protection.cost(mechanism.cost, epsilon=as_stored(epsilon), delta=delta)
    guarantee = protection.promise(guarantee_of(mechanism, seed), cost)
    with charged(
        store,
        private,
        kind="release-iteratively",
        parameters=names_of,
        cost=cost,
        guarantee=guarantee,
    ):
        outcome: Any = mechanism.run(graph, source, progress=progress)
        mechanism.check_paid(outcome)
        made = finished(graph, mechanism, outcome, calibration=calibration, beta=beta, seed=seed)
        return replace(made, guarantee=guarantee)


def iterative_mechanism(  # noqa: PLR0913  # the options of a release
    graph: AnyGraph,
    *,
    epsilon: float,
    delta: float = 0.0,
    queries: Iterable[Question] | None = None,
    construction: str | Learner = "multiplicative-weights",
    norm: str | None = None,
    distinguisher: str | Distinguisher = "auto",
    calibration: str = "practical",
    rounds: int | None = None,
    queries_per_round: int = 1,
    refits: int = 12,
    beta: float = 0.05,
    protection: Protect = EDGE,
) -> IterativeConstruction:
    """The mechanism of these options; see `release_iteratively`. Reads the graph's schema only.

    Its cost is that of one step of `protection`.
    """
    universe = universe_of(graph)
    grid = Grid.of(graph)
    listed = None if queries is None else as_list(universe, queries)
    protection.per_step(epsilon)
    finder = distinguisher_of(
        distinguisher, Task(universe=universe, grid=grid, queries=listed, delta=delta, beta=beta)
    )
    if calibration == "practical" and finder.call is None:  # costs epsilon alone
        epsilon = as_stored(protection.per_step(epsilon))
    else:
        epsilon, delta = protection.step_budget(
            epsilon=epsilon, delta=delta, zcdp=calibration in ("practical", "tight")
        )
    budget: OfflineCalibration
    if calibration not in ("practical", "tight"):
        budget = PaperOffline(paper=calibration, epsilon=epsilon, delta=delta, beta=beta)
        if rounds is not None or queries_per_round != 1:
            raise ParameterError(
                "rounds and queries_per_round are for the calibrations 'practical' and 'tight'"
            )
    elif calibration == "practical" and finder.call is None:
        check_probabilities(delta, beta, pure=True)
        pure = PureOffline(universe=universe, epsilon=epsilon, beta=beta, calls=queries_per_round)
        budget = pure if rounds is None else replace(pure, rounds=rounds)
    else:
        kind = PracticalOffline if calibration == "practical" else TightOffline
        budget = kind(
            epsilon=epsilon, delta=delta, beta=beta, rounds=rounds, calls=queries_per_round
        )
    printed = isinstance(budget, PaperOffline)
    rule: Rule = "as printed" if printed else "tight"
    return IterativeConstruction(
        learner=_learner(construction, norm, rule, finder, grid),
        distinguisher=finder,
        calibration=budget,
        grid=grid,
        refits=0 if printed else refits,
    )


def _learner(
    construction: str | Learner, norm: str | None, rule: Rule, finder: Distinguisher, grid: Grid
) -> Learner:
    """The learner that suits the list, if there is one."""
    universe, listed = finder.universe, getattr(finder, "queries", None)
    other = listed if isinstance(listed, QuestionList) else None
    if construction == MEDIAN:
        if grid.weighted or listed is None or norm is not None:
            raise ParameterError(
                "the median learns graphs without weights from a list of queries, and has no norm"
            )
        return MedianLearner(universe)
    if other is not None and other.statistics:
        raise ParameterError(
            "statistics of whole graphs are for construction='median', on few vertices"
        )
    if other is not None:
        return linear_learner(construction, universe, signed=other.signed, rule=rule, norm=norm)
    if norm is None and construction == "mirror-descent":
        norm = "l2"
    disjoint = listed.disjoint if listed is not None else finder.name == "exact-cuts"
    return learner_of(construction, universe, disjoint=disjoint, rule=rule, norm=norm)


def game_of(
    graph: AnyGraph,
    protection: Protect,
    *,
    player: str,
    epsilon: float,
    delta: float,
    queries: Iterable[Question] | None,
    rounds: int | None = None,
    draws: int = 1,
    hide: float | None = None,
    beta: float = 0.05,
) -> PlayerGame:
    """The game of these options. Reads the graph's schema only.

    Its cost is that of one step of the protection.

    Raises:
        ParameterError: no list of queries, or a number out of range.
    """
    universe = universe_of(graph)
    if queries is None:
        raise ParameterError("a query player that learns needs queries, a public list of cuts")
    check_counts(None, draws)
    listed = as_list(universe, queries)
    if not isinstance(listed, CutList):
        raise ParameterError("a query player that learns has a list of cuts, and no other queries")
    epsilon, delta = protection.step_budget(epsilon=epsilon, delta=delta, zcdp=True)
    return PlayerGame(
        queries=listed,
        grid=Grid.of(graph),
        budget=PracticalOffline(epsilon=epsilon, delta=delta, beta=beta / 4),
        player=cast(Player, player),
        rounds=rounds,
        draws=draws,
        hide=hide,
        beta=beta,
    )
