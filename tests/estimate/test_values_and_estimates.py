"""What to read and what to add up: values lie in their intervals, and estimates are unbiased."""

from dataclasses import asdict
from itertools import product

import numpy as np
import pytest
from period_cases import MONTHS, cells_of, flows_of
from statistic_cases import planted

import graphcuts_dp as gc
from graphcuts_dp import CutAnswer, FlowAnswer
from graphcuts_dp.iterative.methods import CONSTRUCTION

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")

EPSILONS = (0.05, 0.5, 4.0)  # from nothing but noise to hardly any
EMPTY = gc.Graph([0], [1], vertices=8)  # nearly: about half of all unbiased estimates are below 0
GROUPS = gc.Groups(EMPTY.vertices, {"half": ["a"] * 4 + ["b"] * 4})
CUTS = [gc.CutQuery([v], [w]) for v, w in product(range(4), range(4, 8))]
RELEASES = {
    "binary": {"mechanism": "randomized-response"},
    "laplace": {"noise": "laplace"},
    "degrees": {"mechanism": "degrees+randomized-response"},
    "groups": {"groups": GROUPS},
    "sparse": {"mechanism": "sparse"},
    "no fit": {"fit": "none"},
}
WORKLOAD = gc.FlowWorkload(expected_cell=0)  # released although noise hides the cells
CONFIDENCES = (0.05, 0.5, 0.95)
OPTIONS = ({}, {"simultaneous": True}, {"joint": True})


def beside(answers):
    """How many estimates lie outside of their intervals; their values must not."""
    count = 0
    for answer in answers:
        low, high = answer.interval
        assert low <= answer.value <= high
        assert answer.value == min(max(answer.estimate, low), high)
        count += answer.estimate != answer.value
    return count


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", RELEASES)
def test_values_of_cuts_lie_in_their_intervals(name, every):
    """Each option with each confidence, on one release or on every one."""
    outside = 0
    for turn, (epsilon, seed) in enumerate(product(EPSILONS, range(2))):
        how = {"epsilon": epsilon, "seed": seed}
        release = gc.release_graph(EMPTY, **how, **RELEASES[name])
        kinds = ["unbiased"]
        kinds += ["model"] if name == "sparse" else []
        kinds += ["shrunk"] if release.has_graph and name != "sparse" else []
        for kind, (number, options) in product(kinds, enumerate(OPTIONS)):
            for confidence in CONFIDENCES if every else [CONFIDENCES[(turn + number) % 3]]:
                options = options | {"estimate": kind, "confidence": confidence}
                answers = release.answer_all(CUTS, **options)
                found = beside([*answers, *(release.answer(CUTS[0]),)])
                outside += found if kind == "unbiased" else 0
            frame = answers.to_frame("pandas")
            low, high = (frame[column] for column in answers.interval_columns)
            assert ((low <= frame["value"]) & (frame["value"] <= high)).all()
            assert frame["estimate"].tolist() == [answer.estimate for answer in answers]
    assert outside or name == "sparse"


# Those left out have graphs and lists of their own: tests/estimate/test_estimators.py.
@pytest.mark.parametrize("construction", sorted({*CONSTRUCTION} - {"net", "median", "sensing"}))
def test_values_of_iterative_releases_lie_in_their_intervals(construction):
    few = construction in ("answers", "k-norm", "laplace")
    for epsilon in EPSILONS:
        cuts = CUTS[:6]  # the most that K-norm noise takes
        made = gc.release_iteratively(
            EMPTY,
            cuts,
            epsilon=epsilon,
            delta=0.0 if few else 1e-6,
            construction=construction,
            seed=1,
        )
        beside(made.answer_all(cuts))


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("kind", ["plain", "directed", "bipartite"])
def test_values_of_flows_lie_in_their_intervals_and_estimates_add_up(kind, epsilon):
    cells = cells_of(kind, "month")
    flows = flows_of(cells, np.zeros(cells.size(cells.depth - 1), dtype=np.int64), epsilon=epsilon)
    outside = 0
    for level, simultaneous in product(flows.levels, (False, True)):
        sides = flows.labels(level)
        for confidence in (0.05, 0.95):
            how = {"confidence": confidence, "simultaneous": simultaneous}
            outside += beside(flows.between(a, b, level, **how) for a, b in product(*sides))
            outside += beside([flows.total, flows.linear(np.ones(flows.cells.shape(1)), "county")]
                              if level == "county" else [])  # fmt: skip
    assert outside or epsilon > 0.05
    finest = [flows.between(a, b, period=period)
              for period in MONTHS.labels for a, b in product(*flows.labels(None))
              if kind != "plain" or a <= b]  # fmt: skip
    assert sum(each.estimate for each in finest) == pytest.approx(flows.total.estimate)
    for table in (flows.table, flows.margins()):
        assert (table["low"] <= table["high"]).all()


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("epsilon", [*EPSILONS, 50.0])
def test_values_of_statistics_lie_in_their_intervals(epsilon):
    graph, _, groups, _ = planted(20, inside=0.1, outside=0.0)
    for seed in range(3):
        flows = gc.release_flows(graph, groups, epsilon=epsilon, seed=seed, workload=WORKLOAD)
        for name in ("share_inside", "share_outside", "ei_index", "modularity", "assortativity"):
            found = getattr(flows, name)("part")
            assert found.interval[0] <= found.value <= found.interval[1] or np.isnan(found.value)
        for name in ("conductance", "contacts", "social_connectedness"):
            found = getattr(flows, name)("part")
            inside = (found.low <= found.values) & (found.values <= found.high)
            assert (inside | np.isnan(found.values)).all()
        beside(flows.top_flows(flows.cells.size(2), "part").flows)


def test_values_of_the_largest_flows_are_possible():
    cells = cells_of("directed", None)
    flows = flows_of(cells, np.zeros(cells.size(cells.depth - 1), dtype=np.int64), epsilon=0.05)
    for confidence in (0.05, 0.95):
        top = flows.top_flows(cells.size(cells.depth - 1), confidence=confidence).flows
        assert beside(top)
        assert all(each.value >= 0 for each in top)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_values_of_sessions_and_least_cuts_lie_in_their_intervals(epsilon, tmp_path):
    how = {"store": tmp_path / "a.db", "epsilon": epsilon, "seed": 1}
    with gc.open_session(EMPTY, queries=20, **how) as session:
        answers = session.ask_all(CUTS)
    answers.append(gc.least_cut(EMPTY, 0, 5, epsilon=epsilon, seed=1))
    for answer in answers:
        assert answer.interval[0] <= answer.value <= answer.interval[1]


def test_a_value_is_never_stored_beside_its_estimate():
    cut = CutAnswer(estimate=-2.0, interval=(0.0, 3.0), confidence=0.9)
    flow = FlowAnswer(estimate=5.0, deviation=1.0, interval=(0.0, 3.0), confidence=0.9)
    assert (cut.value, flow.value) == (0.0, 3.0)
    assert "value" not in asdict(cut).keys() | asdict(flow).keys()  # so they cannot disagree
