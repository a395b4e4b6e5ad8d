"""The benchmark's contenders of this package and the simple ones: what they claim and hand in.

All noise is seeded, so nothing here fails by chance.
"""

import numpy as np
import pytest
import scipy.sparse as sp

import graphcuts_dp as gc
from graphcuts_dp.errors import GraphError
from scripts.benchmark.contenders.blocks import spread_evenly
from scripts.benchmark.contenders.ours import OURS
from scripts.benchmark.contenders.simple import (
    DRAWN,
    EMPTY,
    GROUP_SUMS,
    SIMPLE,
)
from scripts.benchmark.contenders.table import CONTENDERS
from scripts.figures.random_graphs import planted_partition
from tests.audits.registry import ENTRIES

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
N = 60
PLAIN = planted_partition(N, 3, 0.5, 0.1, seed=1)
KINDS = {
    "undirected": PLAIN,
    "weighted": gc.Graph(
        PLAIN.rows, PLAIN.columns, np.linspace(0.1, 2, len(PLAIN.rows)), vertices=N, weight_cap=2.0
    ),
    "directed": gc.DirectedGraph(PLAIN.rows, PLAIN.columns, vertices=N),
    "bipartite": gc.BipartiteGraph(PLAIN.rows % 30, PLAIN.columns % 50, left=30, right=50),
}
GROUPS = gc.Groups(PLAIN.vertices, {"block": (np.arange(N) * 3 // N).tolist()})
TAKEN = [
    (contender, kind)
    for contender in (*OURS, *SIMPLE)
    for kind in KINDS
    if (contender.weights if kind == "weighted" else kind in contender.kinds)
]


def hand_in(contender, graph, *, epsilon=2.0, seed=5):
    groups = None if isinstance(graph, gc.BipartiteGraph) else GROUPS
    return contender.method(graph, epsilon=epsilon, delta=1e-6, groups=groups, seed=seed)


def matrix_of(estimate):
    if isinstance(estimate, np.ndarray):
        return estimate
    return estimate.toarray() if sp.issparse(estimate) else estimate.dense()


@pytest.mark.parametrize(
    ("contender", "kind"), TAKEN, ids=[f"{contender.name}, {kind}" for contender, kind in TAKEN]
)
def test_what_is_handed_in_is_of_the_graph_s_shape_and_claims_what_was_given(contender, kind):
    graph = KINDS[kind]
    made = hand_in(contender, graph)
    assert made.guarantee.epsilon == (0.0 if contender is EMPTY else 2.0)
    assert made.guarantee.delta == 0.0
    assert made.guarantee.seed == 5
    if callable(made.estimate):
        S = np.arange(graph.shape[0]) < 10
        T = np.arange(graph.shape[1]) >= 10
        assert np.isfinite(made.estimate(S, T))
        return
    matrix = matrix_of(made.estimate)
    assert matrix.shape == graph.shape
    assert np.isfinite(matrix).all()
    if kind in ("undirected", "weighted"):
        assert (matrix == matrix.T).all()
    if kind != "bipartite":
        assert not matrix.diagonal().any()


def test_the_table_holds_them_by_name():
    assert [CONTENDERS[each.name] for each in (*OURS, *SIMPLE)] == [*OURS, *SIMPLE]
    assert all(each.note or each.source for each in CONTENDERS.values())


# Contenders that are public functions or baselines, whose audits have other names.
ELSEWHERE = {
    "ours": ("auto, binary", "auto, laplace"),
    "ours-synthetic": ("auto for the synthetic graph, binary",),
    "ours-answers": ("auto, binary", "auto, laplace"),
    "ours-response": ("response, binary", "response, laplace"),
    "ours-degrees": ("degrees+response, binary", "degrees+response, laplace"),
    "ours-groups": ("groups, binary", "groups, laplace"),
    "ours-sparse": ("sparse",),
    "ours-sparse-groups": ("sparse",),
    "ours-flows": ("flows: laplace",),
    "ours-iterative": ("distinguisher: response-rank-one",),
    "density": ("baseline: density only",),
    "raw-response": ("baseline: raw matrix",),
    "degrees-chung-lu": ("baseline: noisy degrees, Chung-Lu",),
    "top-m": ("baseline: top-m filter",),
    "empty-graph": (),  # it reads nothing
}


@pytest.mark.parametrize("name", CONTENDERS)
def test_every_contender_has_an_audit(name):
    """Those of papers are called "benchmark: NAME", or begin so."""
    for wanted in ELSEWHERE.get(name, (f"benchmark: {name}",)):
        assert any(entry.name.startswith(wanted) for entry in ENTRIES), wanted


def test_group_sums_without_noise_are_the_block_means():
    # At epsilon 50 noise of a sum is 0 but with probability 2 e^-50 a cell.
    matrix = hand_in(GROUP_SUMS, PLAIN, epsilon=50.0).estimate
    truth, block = PLAIN.dense(), GROUPS.codes()
    for a in range(3):
        for b in range(3):
            cell = np.ix_(block == a, block == b)
            assert matrix[cell].sum() == pytest.approx(truth[cell].sum(), abs=1e-9)


@pytest.mark.parametrize("hollow", [True, False])
def test_cuts_of_a_table_are_those_of_its_matrix(hollow, monkeypatch):
    random = np.random.default_rng(1)
    density = random.random((3, 3))
    density += density.T
    codes = random.integers(0, 3, 40)
    matrix = spread_evenly(density, codes, codes, hollow=hollow)
    monkeypatch.setattr("scripts.benchmark.contenders.blocks._DENSE_ENTRIES", 0)
    answer = spread_evenly(density, codes, codes, hollow=hollow)
    for _ in range(5):
        S, T = random.random((2, 40)) < 0.5
        assert answer(S, T) == pytest.approx(matrix[S][:, T].sum())


def test_a_drawn_graph_has_the_degrees_it_was_drawn_from():
    star = gc.Graph(np.zeros(400, int), np.arange(1, 401), vertices=2_000)
    matrix = hand_in(DRAWN, star, epsilon=50.0).estimate
    assert set(np.unique(matrix.data)) == {1.0}
    degrees = matrix.sum(axis=1)
    assert degrees[401:].sum() == 0
    # Half of all ends are the hub's: of 400 edges 100 are loops, 200 join the hub to leaves, of
    # which 400 (1 - (1 - 1/800)^400), 157, differ; deviations are below 10.
    assert 157 - 50 <= degrees[0] <= 157 + 50
    assert degrees[0] + 50 <= matrix.sum() / 2 <= degrees[0] + 150
    assert (hand_in(DRAWN, star).estimate != hand_in(DRAWN, star, seed=6).estimate).nnz


def test_a_graph_without_edges_is_drawn_without_any():
    nothing = gc.Graph([], [], vertices=50)
    made = hand_in(DRAWN, nothing, epsilon=50.0)
    assert made.estimate.nnz == 0


def test_contenders_of_groups_need_them():
    for contender in CONTENDERS.values():
        if contender.needs_groups and contender.name in ("ours-flows", "group-sums"):
            with pytest.raises(GraphError, match="public groups"):
                contender.method(PLAIN, epsilon=1.0, delta=0.0, groups=None, seed=1)
