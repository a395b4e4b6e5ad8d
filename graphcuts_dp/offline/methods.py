"""Iterative releases: the mechanism that the options describe, its run, and what is released.

What is made of a run of an iterative construction: promise, synthetic graph, accuracy.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.owned_rows import PrivateData
from graphcuts_dp.learn.base import Rule
from graphcuts_dp.learn.bit_sets import DenseHypothesis
from graphcuts_dp.learn.constructions import learner_of
from graphcuts_dp.learn.learners import Learner, MedianLearner
from graphcuts_dp.learn.linear_learners import linear_learner
from graphcuts_dp.learn.median import DatabaseFamily, all_graphs
from graphcuts_dp.learn.norm_learner import MirrorDescentLearner
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.ledger.uses import charged
from graphcuts_dp.measure.parted import paired_graph
from graphcuts_dp.measure.statistics import ROOT_STEPS
from graphcuts_dp.offline.construction import IterativeConstruction
from graphcuts_dp.offline.cut_list import CutList
from graphcuts_dp.offline.distinguisher import Distinguisher
from graphcuts_dp.offline.distinguishers import Task, distinguisher_of
from graphcuts_dp.offline.outcome import (
    MEDIAN,
    Outcome,
    as_list,
    pair_promise,
    synthetic_graph,
    universe_of,
)
from graphcuts_dp.offline.paper_tuning import PaperOffline
from graphcuts_dp.offline.player_game import PLAYERS
from graphcuts_dp.offline.player_release import game_of, release_by_game
from graphcuts_dp.offline.pure_tuning import PureOffline
from graphcuts_dp.offline.question_list import QuestionList
from graphcuts_dp.offline.release import Accuracy, IterativeRelease, Settings
from graphcuts_dp.offline.tuning import (
    OfflineCalibration,
    PracticalOffline,
    TightOffline,
    check_probabilities,
)
from graphcuts_dp.pairs.graph_queries import Question
from graphcuts_dp.privacy.calibration import TOTAL_SHARE
from graphcuts_dp.privacy.composition import as_stored, check_paid, compose
from graphcuts_dp.privacy.entropy import SEEDED_WARNING, entropy_source
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.protection import EDGE, Protection
from graphcuts_dp.progress import Progress, silent
from graphcuts_dp.synth.certify import weights_of


def construction_name(learner: Learner) -> str:
    """The name of a construction, with the norm unless it is l2."""
    norm = learner.norm if isinstance(learner, MirrorDescentLearner) else "l2"
    return learner.name if norm == "l2" else f"{learner.name}, norm {norm}"


def finished(
    graph: AnyGraph,
    mechanism: IterativeConstruction,
    outcome: Outcome,
    *,
    calibration: str,
    beta: float,
    seed: int | None,
) -> IterativeRelease:
    """What is made of an outcome. Reads the graph's schema only."""
    cap = mechanism.grid.cap or 1.0
    learnt: Any = outcome.hypothesis
    listed = getattr(mechanism.distinguisher, "queries", None)
    if isinstance(mechanism.learner, MedianLearner) and listed is not None:
        learnt, off = nearest_graph(learnt, listed)
        if outcome.error is not None:
            outcome = replace(outcome, error=outcome.error + off)
    matrix = learnt.dense() * mechanism.unit
    weights = weights_of(np.clip(matrix, 0, cap), cap)
    return IterativeRelease(
        graph=synthetic_graph(graph, weights, cap, "" if seed is None else SEEDED_WARNING),
        hypothesis=DenseHypothesis(mechanism.universe, matrix),
        guarantee=guarantee_of(mechanism, seed),
        accuracy=_accuracy(mechanism, outcome, beta, weights - matrix, listed),
        settings=Settings(
            construction=construction_name(mechanism.learner),
            distinguisher=mechanism.distinguisher.name,
            calibration=calibration,
            rounds=outcome.tuning.rounds,
            used=max((measured.round for measured in outcome.transcript), default=0),
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


def guarantee_of(mechanism: IterativeConstruction, seed: int | None) -> PrivacyGuarantee:
    """What a run promises for one pair."""
    cost = mechanism.cost
    parts: tuple[tuple[str, float], ...]
    if isinstance(mechanism.calibration, PureOffline):
        parts = mechanism.calibration.parts(roots=mechanism.buys_roots)
    else:
        parts = (("rounds", cost.epsilon),)
        for bought in ("total weight", *(["root degrees"] if mechanism.buys_roots else [])):
            left = parts[-1][1]
            spent = left * float(TOTAL_SHARE)
            parts = (*parts[:-1], (bought, spent), ("rounds", left - spent))
    return pair_promise(mechanism.universe, mechanism.grid, cost, seed=seed, parts=parts)


def _accuracy(
    mechanism: IterativeConstruction,
    outcome: Outcome,
    beta: float,
    moved: FloatMatrix,
    listed: CutList | QuestionList | None,
) -> Accuracy:
    """Of the hypothesis, and of the graph, whose weights are `moved` away from it."""
    if outcome.error is None:
        return Accuracy(error=None, confidence=1 - beta, queries="none", graph_error=None)
    grid = mechanism.grid
    error = outcome.error * mechanism.unit + grid.rounding(mechanism.universe.size)
    if isinstance(listed, QuestionList):
        error = (error + listed.rounding(grid)) * listed.scale
        shift = float(np.abs(listed.on_matrix(moved)).max()) * listed.scale
    elif listed is not None:
        shift = float(np.abs(listed.on_matrix(moved)).max())
    else:
        shift = cut_norm(moved).upper
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
        protect: whom the promise is for: "edges", see `Protection.of`.
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

    Guarantee: (epsilon, delta)-DP at edge level: see `IterativeConstruction`; the synthetic graph
    is computed from its outcome. Source: GRU12 Alg. 3; DR14 Alg. 8; Nik17 Alg. 1.

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
    if player != "data":
        usual = ("multiplicative-weights", None, "auto", "practical", 12)
        if (construction, norm, distinguisher, calibration, refits) != usual:
            raise ParameterError(
                "a query player that learns takes no construction, norm, distinguisher, calibration"
                " or refits"
            )
        game = game_of(
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
        return release_by_game(
            game,
            private,
            graph,
            protection,
            epsilon=epsilon,
            delta=delta,
            store=store,
            seed=seed,
            progress=progress,
        )
    if hide_queries is not None:
        raise ParameterError("hide_queries is for the players 'query' and 'both'")
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
    source = entropy_source(seed)
    cost = protection.cost(mechanism.cost, epsilon=as_stored(epsilon), delta=delta)
    guarantee = protection.promise(guarantee_of(mechanism, seed), cost)
    with charged(
        store,
        private,
        kind="release-iteratively",
        parameters={
            "construction": construction_name(mechanism.learner),
            "distinguisher": mechanism.distinguisher.name,
            "calibration": calibration,
        },
        cost=cost,
        guarantee=guarantee,
    ):
        outcome = mechanism.run(graph, source, progress=progress)
        _check_outcome(mechanism, outcome)
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
    protection: Protection = EDGE,
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


def _check_outcome(mechanism: IterativeConstruction, outcome: Outcome) -> None:
    """Refuse to release what cost more than is stated, by the scales of the noise that was drawn.

    A bought total weight decides about the rounds. What they cost may then be less than the budget
    in some runs, but only the budget, which is fixed beforehand, is a bound for all of them.
    """
    steps, budget = mechanism.grid.sensitivity, mechanism.cost
    noise, _, _, rest = mechanism.calibration.with_total(steps)
    bought = [noise.cost(steps, delta=budget.delta)]
    if mechanism.buys_roots:
        noise, _, _, rest = rest.with_total(ROOT_STEPS)
        bought.append(noise.cost(ROOT_STEPS, delta=budget.delta))
    check_paid(
        compose(outcome.tuning.built(steps, delta=budget.delta), delta=budget.delta), rest.cost
    )
    check_paid(compose([*bought, rest.cost], delta=budget.delta), budget)
