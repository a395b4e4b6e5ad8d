"""What is made of a run of an iterative construction: promise, synthetic graph, accuracy."""

from dataclasses import replace
from typing import Any

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.distinguishers.cut_list import CutList
from graphcuts_dp.distinguishers.question_list import QuestionList
from graphcuts_dp.fits.certify import weights_of
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.idc.dense import DenseHypothesis
from graphcuts_dp.idc.learners import Learner, MedianLearner
from graphcuts_dp.idc.median import DatabaseFamily, all_graphs
from graphcuts_dp.idc.norm_learner import MirrorDescentLearner
from graphcuts_dp.iterative.construction import IterativeConstruction
from graphcuts_dp.iterative.made import synthetic_graph
from graphcuts_dp.iterative.outcome import Outcome
from graphcuts_dp.iterative.pure_tuning import PureOffline
from graphcuts_dp.iterative.release import Accuracy, IterativeRelease, Settings
from graphcuts_dp.privacy.calibration import TOTAL_SHARE
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, hidden_change


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
    grid, cost = mechanism.grid, mechanism.cost
    public = mechanism.universe.public
    if grid.weighted:
        public += ", the weight cap"
    parts: tuple[tuple[str, float], ...]
    if isinstance(mechanism.calibration, PureOffline):
        parts = mechanism.calibration.parts(roots=mechanism.buys_roots)
    else:
        parts = (("rounds", cost.epsilon),)
        for bought in ("total weight", *(["root degrees"] if mechanism.buys_roots else [])):
            left = parts[-1][1]
            spent = left * float(TOTAL_SHARE)
            parts = (*parts[:-1], (bought, spent), ("rounds", left - spent))
    return PrivacyGuarantee(
        epsilon=cost.epsilon,
        delta=cost.delta,
        neighbours=hidden_change(
            weighted=grid.weighted, weight_cap=grid.cap, directed=mechanism.universe.directed
        ),
        public=public,
        seed=seed,
        parts=parts,
    )


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
