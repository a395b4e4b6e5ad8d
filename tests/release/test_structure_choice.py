"""The structure test by itself, and the choice that a release makes of it."""

from fractions import Fraction

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import BudgetError, GraphError, ParameterError
from graphcuts_dp.estimate.measurement import Degrees
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.synth.budget_plans import DEGREES, STRUCTURE, UNEVENNESS, MatrixShares
from graphcuts_dp.synth.detected_structure import (
    DEGREE_SHARES,
    HIDDEN_SHARE,
    StructureSetting,
    chosen_share,
)
from scripts.figures.random_graphs import planted_partition
from tests.release_cases import job_of

PLANTED = planted_partition(150, 3, 0.5, 0.08, seed=1)
UNIFORM = planted_partition(150, 1, 0.2, 0.2, seed=1)
LAYOUT = Layout((150, 150), symmetric=True)
SPREAD = 150 * 30.0  # unevenness of degrees far from even


@pytest.mark.thorough
def test_structure_is_detected_from_one_store_and_kept(tmp_path):
    store = tmp_path / "graph.db"
    found = gc.detect_structure(PLANTED, epsilon=0.2, store=gc.Store(store, budget=1.0))
    assert found.shows_at(5.0)
    assert not found.shows_at(0.01)
    assert found.guarantee.epsilon == 0.2
    again = gc.resume(store)
    assert (again.value, again.signal) == (found.value, found.signal)
    with pytest.raises(BudgetError):
        gc.detect_structure(PLANTED, epsilon=0.9, store=store)
    assert not gc.detect_structure(UNIFORM, epsilon=0.2, seed=1).shows_at(1.0)
    assert not gc.detect_structure(UNIFORM, epsilon=0.2, seed=1).guarantee.is_private


@pytest.mark.parametrize("epsilon", [1e-6, 0.0, 51.0])
def test_epsilon_out_of_range_is_refused(epsilon):
    with pytest.raises(ParameterError):
        gc.detect_structure(PLANTED, epsilon=epsilon)


def test_what_has_no_structure_to_test_is_refused():
    with pytest.raises(ParameterError, match="max_weight"):
        gc.detect_structure(gc.Graph([0], [1], [0.5], vertices=5), epsilon=1.0)
    with pytest.raises(GraphError, match="one vertex"):
        gc.detect_structure(gc.BipartiteGraph([0], [1], left=1, right=5), epsilon=1.0)


def three_blocks(kind, seed, inside=0.5, between=0.08):
    """Three blocks of 50 rows and 50 columns, or of as many vertices."""
    rng, block = np.random.default_rng(seed), np.arange(150) * 3 // 150
    matrix = rng.random((150, 150)) < np.where(block[:, None] == block, inside, between)
    if kind == "bipartite":
        return gc.BipartiteGraph(*np.nonzero(matrix), left=150, right=150)
    if kind == "directed":
        return gc.DirectedGraph(*np.nonzero(matrix & ~np.eye(150, dtype=bool)), vertices=150)
    rows, columns = np.nonzero(np.triu(matrix, 1))
    return gc.Graph(rows, columns, np.full(len(rows), 5.0), vertices=150, max_weight=5.0)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["weighted", "directed", "bipartite"])
def test_structure_of_other_kinds_is_detected_and_measured(kind):
    planted, uniform = three_blocks(kind, 1), three_blocks(kind, 2, 0.22, 0.22)
    unit = 5.0 if kind == "weighted" else 1.0
    found = gc.detect_structure(planted, epsilon=0.5, seed=0)
    assert found.signal == pytest.approx(0.42 * 50 * unit, rel=0.2)
    assert found.shows_at(2.0)
    assert not found.shows_at(0.1)
    assert not gc.detect_structure(uniform, epsilon=0.5, seed=0).shows_at(2.0)
    tested = {STRUCTURE, UNEVENNESS}
    if kind == "directed":  # looks at degrees choose there
        assert not tested & set(job_of(planted).budget_plan.statistics)
        return
    assert tested < set(job_of(planted).budget_plan.statistics)
    for graph, hidden in ((planted, False), (uniform, True)):
        measured = job_of(graph, epsilon=2.0).measure(graph, SeededEntropy(3))
        amounts = measured.guarantee.budget_plan.amounts
        assert (amounts.get(DEGREES, 0) > sum(amounts.values()) / 2) is hidden


@pytest.mark.thorough
def test_structure_of_arcs_is_kept_in_a_store(tmp_path):
    store = tmp_path / "arcs.db"
    planted = three_blocks("directed", 1)
    found = gc.detect_structure(planted, epsilon=0.5, store=gc.Store(store, budget=1.0))
    again = gc.resume(store)
    assert (again.shape, again.signal, again.max_weight) == ((150, 150), found.signal, None)


@pytest.mark.thorough
def test_entries_get_all_where_structure_shows_and_degrees_most_where_none_does():
    left = MatrixShares((150, 150), 1.0, "binary", tested=LAYOUT).left_by_tests
    for graph, share in ((PLANTED, 0), (UNIFORM, HIDDEN_SHARE)):
        for seed in range(3):
            measured = job_of(graph).measure(graph, SeededEntropy(seed))
            amounts = measured.guarantee.budget_plan.amounts
            assert amounts.get(DEGREES, 0) == share * left
            assert amounts[STRUCTURE] + amounts[UNEVENNESS] < Fraction(1, 25)
            assert sum(amounts.values()) == 1
            degrees = measured.find(Degrees)
            assert degrees is None or not degrees.used_in_decision


@pytest.mark.thorough
def test_communities_are_kept_that_looks_at_degrees_lose():
    block = np.arange(150) * 3 // 150
    release = gc.release_graph(PLANTED, epsilon=1.0, seed=2)
    weights = release.expected.dense()
    inside = weights[block[:, None] == block].sum() / weights.sum()
    assert inside > 0.6
    truth = PLANTED.dense()
    assert truth[block[:, None] == block].sum() / truth.sum() > 0.7


@pytest.mark.parametrize("kind", ["few", "few on one side", "share"])
def test_other_releases_keep_the_earlier_choice(kind):
    graph = {
        "few": planted_partition(38, 2, 0.5, 0.1, seed=1),
        "few on one side": gc.BipartiteGraph([0], [1], left=38, right=400),
        "share": PLANTED,
    }[kind]
    plan = job_of(graph, share=0.3 if kind == "share" else None).budget_plan
    assert not {STRUCTURE, UNEVENNESS} & set(plan.statistics)
    assert {STRUCTURE, UNEVENNESS} < set(job_of(PLANTED).budget_plan.statistics)


def value_of(setting, signal):
    """The value whose signal is this, by bisection."""
    low, high = 0.0, 1e7
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if setting.signal_of(middle) < signal else (low, middle)
    return high


@pytest.mark.parametrize(
    ("strength", "unevenness", "share"),
    [
        (0.0, 0.0, HIDDEN_SHARE),
        (0.85, 0.0, HIDDEN_SHARE),
        (1.05, 0.0, 0),
        (1.05, SPREAD, HIDDEN_SHARE),
        (2.1, 0.0, Fraction(1, 5)),
        (8.0, 0.0, Fraction(7, 20)),
        (9.0, SPREAD, Fraction(7, 20)),
    ],
)
def test_the_choice_follows_strength_and_unevenness(strength, unevenness, share):
    """With noise of deviation 1 on entries that get all, and 1/part with a part."""
    setting = StructureSetting.of(LAYOUT, 0.2 * 150 * 149)
    p = setting.density
    signal = strength * np.sqrt(150 * (1 + p * (1 - p)))
    found = chosen_share(
        setting,
        structure=value_of(setting, signal),
        unevenness=unevenness,
        deviation=lambda part: 1 / float(part),
    )
    assert found == share
    assert found == 0 or found in DEGREE_SHARES


@pytest.mark.thorough
def test_a_signal_is_the_eigenvalue_of_planted_structure():
    """Of k equal blocks: (inside - between) n/k, as the semicircle law predicts."""
    rng = np.random.default_rng(0)
    n, inside, between = 300, 0.4, 0.1
    block = rng.permutation(n) % 2
    upper = np.triu(rng.random((n, n)) < np.where(block[:, None] == block, inside, between), 1)
    graph = gc.Graph(*np.nonzero(upper), vertices=n)
    signal = gc.detect_structure(graph, epsilon=50.0, seed=0).signal
    assert signal == pytest.approx((inside - between) * n / 2, rel=0.1)
