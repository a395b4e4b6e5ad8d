"""Answers have a value to read and an estimate to add up.

The value lies in the interval; the estimate is unbiased, and may lie outside of it.
"""

from dataclasses import asdict
from itertools import product

import numpy as np
import pytest
from period_cases import MONTHS, cells_of, flows_of
from statistic_cases import planted

import graphcuts_dp as gc
from graphcuts_dp.iterative.methods import CONSTRUCTION

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")

EPSILONS = (0.05, 0.5, 4.0)  # from nothing but noise to hardly any
# About half of all unbiased estimates of a graph without edges are below 0.
ONE_EDGE = gc.Graph([0], [1], vertices=8)
GROUPS = gc.Groups(ONE_EDGE.vertices, {"half": ["a"] * 4 + ["b"] * 4})
CUTS = [gc.CutQuery([v], [w]) for v, w in product(range(4), range(4, 8))]
RELEASE_OPTIONS = {
    "binary": {"mechanism": "randomized-response"},
    "laplace": {"noise": "laplace"},
    "degrees": {"mechanism": "degrees+randomized-response"},
    "groups": {"groups": GROUPS},
    "sparse": {"mechanism": "sparse"},
    "no fit": {"fit": "none"},
}
CONFIDENCES = (0.05, 0.5, 0.95)
ANSWER_OPTIONS = ({}, {"simultaneous": True}, {"joint": True})


def count_outside(answers):
    """Count the estimates outside of their intervals, and check that no value is outside."""
    outside = 0
    for answer in answers:
        low, high = answer.interval
        assert low <= answer.value <= high
        assert answer.value == min(max(answer.estimate, low), high)
        outside += answer.estimate != answer.value
    return outside


def kinds_of_estimates(release, name):
    """Return the kinds of estimates that a release offers."""
    if name == "sparse":
        return ["unbiased", "model"]
    return ["unbiased", "shrunk"] if release.has_graph else ["unbiased"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "all_confidences",
    [
        pytest.param(False, id="one confidence each"),
        pytest.param(True, id="all confidences", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", RELEASE_OPTIONS)
def test_values_of_cuts_lie_in_their_intervals(name, all_confidences):
    unbiased_outside = 0
    for release_index, (epsilon, seed) in enumerate(product(EPSILONS, range(2))):
        release = gc.release_graph(ONE_EDGE, epsilon=epsilon, seed=seed, **RELEASE_OPTIONS[name])
        kinds = kinds_of_estimates(release, name)
        for kind, (option_index, options) in product(kinds, enumerate(ANSWER_OPTIONS)):
            one_confidence = CONFIDENCES[(release_index + option_index) % 3]
            for confidence in CONFIDENCES if all_confidences else [one_confidence]:
                answers = release.answer_all(CUTS, **options, estimate=kind, confidence=confidence)
                outside = count_outside([*answers, release.answer(CUTS[0])])
                unbiased_outside += outside if kind == "unbiased" else 0
    assert unbiased_outside or name == "sparse"


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("name", RELEASE_OPTIONS)
def test_a_frame_of_answers_has_their_values_estimates_and_intervals(name):
    release = gc.release_graph(ONE_EDGE, epsilon=0.5, seed=0, **RELEASE_OPTIONS[name])
    for kind in kinds_of_estimates(release, name):
        answers = release.answer_all(CUTS, estimate=kind, joint=True)
        frame = answers.to_frame("pandas")
        low, high = (frame[column] for column in answers.interval_columns)
        assert ((low <= frame["value"]) & (frame["value"] <= high)).all()
        assert frame["estimate"].tolist() == [answer.estimate for answer in answers]


# The constructions left out need graphs and lists of their own, see test_estimators.py.
@pytest.mark.parametrize("construction", sorted({*CONSTRUCTION} - {"net", "median", "sensing"}))
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_values_of_iterative_releases_lie_in_their_intervals(construction, epsilon):
    queries = CUTS[:6]  # K-norm noise takes no more
    is_pure = construction in ("answers", "k-norm", "laplace")
    release = gc.release_iteratively(
        ONE_EDGE,
        queries,
        epsilon=epsilon,
        delta=0.0 if is_pure else 1e-6,
        construction=construction,
        seed=1,
    )
    count_outside(release.answer_all(queries))


def empty_flows(kind, period, epsilon):
    """Return the flows of a table whose true sums are all 0."""
    cells = cells_of(kind, period)
    return flows_of(cells, np.zeros(cells.size(cells.depth - 1), dtype=np.int64), epsilon=epsilon)


KINDS = pytest.mark.parametrize("kind", ["plain", "directed", "bipartite"])


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("epsilon", EPSILONS)
@KINDS
def test_values_of_flows_lie_in_their_intervals(kind, epsilon):
    flows = empty_flows(kind, "month", epsilon)
    outside = 0
    for level, simultaneous, confidence in product(flows.levels, (False, True), (0.05, 0.95)):
        options = {"confidence": confidence, "simultaneous": simultaneous}
        outside += count_outside(
            flows.between(source, target, level, **options)
            for source, target in product(*flows.labels(level))
        )
    sum_of_coarsest = flows.linear(np.ones(flows.cells.shape(1)), flows.levels[0])
    outside += count_outside([flows.total, sum_of_coarsest])
    assert outside or epsilon > 0.05
    for table in (flows.table, flows.margins()):
        assert (table["low"] <= table["high"]).all()


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("epsilon", EPSILONS)
@KINDS
def test_estimates_of_all_cells_and_months_add_up_to_the_total(kind, epsilon):
    flows = empty_flows(kind, "month", epsilon)
    finest_estimates = [
        flows.between(source, target, period=period).estimate
        for period in MONTHS.labels
        for source, target in product(*flows.labels(None))
        if kind != "plain" or source <= target
    ]
    assert sum(finest_estimates) == pytest.approx(flows.total.estimate)


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("epsilon", [*EPSILONS, 50.0])
def test_values_of_statistics_lie_in_their_intervals(epsilon):
    graph, _, groups, _ = planted(20, inside=0.1, outside=0.0)
    workload = gc.FlowWorkload(expected_cell=0)  # to release although noise exceeds the cells
    for seed in range(3):
        flows = gc.release_flows(graph, groups, epsilon=epsilon, seed=seed, workload=workload)
        for name in ("share_inside", "share_outside", "ei_index", "modularity", "assortativity"):
            statistic = getattr(flows, name)("part")
            low, high = statistic.interval
            assert low <= statistic.value <= high or np.isnan(statistic.value)
        for name in ("conductance", "contacts", "social_connectedness"):
            statistic = getattr(flows, name)("part")
            inside = (statistic.low <= statistic.values) & (statistic.values <= statistic.high)
            assert (inside | np.isnan(statistic.values)).all()
        count_outside(flows.top_flows(flows.cells.size(2), "part").flows)


@pytest.mark.parametrize("confidence", [0.05, 0.95])
def test_values_of_the_largest_flows_are_possible_although_estimates_are_not(confidence):
    flows = empty_flows("directed", None, epsilon=0.05)
    finest_cells = flows.cells.size(flows.cells.depth - 1)
    top_flows = flows.top_flows(finest_cells, confidence=confidence).flows
    assert count_outside(top_flows)
    assert all(flow.value >= 0 for flow in top_flows)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_values_of_sessions_and_least_cuts_lie_in_their_intervals(epsilon, tmp_path):
    with gc.open_session(
        ONE_EDGE, queries=20, store=tmp_path / "a.db", epsilon=epsilon, seed=1
    ) as session:
        answers = session.ask_all(CUTS)
    least_cut = gc.least_cut(ONE_EDGE, 0, 5, epsilon=epsilon, seed=1)
    for answer in [*answers, least_cut]:
        low, high = answer.interval
        assert low <= answer.value <= high


def test_values_are_computed_and_not_stored():
    """So a stored value cannot contradict the estimate and the interval."""
    cut = gc.CutAnswer(estimate=-2.0, interval=(0.0, 3.0), confidence=0.9)
    flow = gc.FlowAnswer(estimate=5.0, deviation=1.0, interval=(0.0, 3.0), confidence=0.9)
    assert (cut.value, flow.value) == (0.0, 3.0)
    assert "value" not in asdict(cut).keys() | asdict(flow).keys()
