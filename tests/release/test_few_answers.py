"""Answers to a few cuts at once: values, intervals, columns, promises, refusals."""

import numpy as np
import pytest
import scipy.stats

import graphcuts_dp as gc
from graphcuts_dp.errors import BudgetError, GraphError, ParameterError, QueryError
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.release.few_answers import buying_of, columns_of

GRAPH = gc.Graph([0, 0, 1, 3, 4], [1, 2, 2, 4, 5], vertices=6)
SIDES = gc.BipartiteGraph([0, 1, 2], [0, 1, 1], [0.5, 5, 2.5], left=3, right=2, weight_cap=5.0)
ARCS = gc.DirectedGraph([0, 1, 2], [1, 0, 3], vertices=4)
CUTS = [gc.CutQuery([0, 1]), gc.CutQuery([0, 2, 3]), gc.CutQuery([0], [1, 2])]
FALSE = 1e-6


def cuts_of(graph):
    if graph is SIDES:
        return [gc.CutQuery([0, 1], [0, 1]), gc.CutQuery([1], [1])]
    return [gc.CutQuery([0, 1]), gc.CutQuery([0], [1, 2]), gc.CutQuery([1, 2, 3], [0, 1])]


@pytest.mark.parametrize("graph", [GRAPH, SIDES, ARCS], ids=["plain", "sides", "arcs"])
@pytest.mark.parametrize("noise", ["auto", "k-norm", "laplace"])
def test_intervals_hold_for_all_answers_at_once(graph, noise):
    cuts = cuts_of(graph)
    truth = np.array([query.value(graph) for query in cuts])
    made = gc.release_answers(graph, cuts, epsilon=1.0, noise=noise, confidence=0.8, seed=1)
    buying = buying_of(graph, cuts, epsilon=1.0, noise=noise, confidence=0.8)
    assert made.radius == buying.radius
    source, wrong = SeededEntropy(2), 0
    for _ in range(60):
        answers = buying.answered(buying.values(graph, source), made.guarantee).answers
        wrong += any(
            not answer.interval[0] <= true <= answer.interval[1]
            for answer, true in zip(answers, truth, strict=True)
        )
    assert wrong <= scipy.stats.binom.isf(FALSE, 60, 0.2)
    assert made.answers[0].together == len(cuts)
    assert made.answers[0].confidence == 0.8
    assert made.noise in ("k-norm", "laplace")
    assert not made.guarantee.is_private
    assert "seeded" in repr(made)


@pytest.mark.parametrize("graph", [GRAPH, SIDES, ARCS], ids=["plain", "sides", "arcs"])
def test_every_pair_has_its_column(graph):
    """What each pair changes, counted on graphs of that pair alone."""
    buying = buying_of(graph, cuts_of(graph), epsilon=1.0)
    columns = {tuple(column) for column in columns_of(buying.queries)}
    rows, others = buying.queries.universe.pairs()
    seen = set()
    for i, j in zip(rows, others, strict=True):
        if graph is SIDES:
            single = gc.BipartiteGraph([i], [j], [5.0], left=3, right=2, weight_cap=5.0)
        else:
            single = type(graph)([i], [j], vertices=len(graph.vertices))
        counts = buying.queries.counts(single, buying.grid)
        assert set(counts) <= {0, int(counts.max())}
        assert counts.max() <= buying.grid.sensitivity
        seen.add(tuple((counts > 0).astype(int)))
    assert seen <= columns
    assert max(sum(column) for column in seen) > 1


def test_k_norm_noise_is_less_where_cuts_overlap():
    """Spread of answers to five random halves of 20 vertices, 200 draws of each noise."""
    rng = np.random.default_rng(1)
    graph = gc.Graph(*np.triu_indices(20, 1), vertices=20)
    halves = [gc.CutQuery(rng.random(20) < 0.5) for _ in range(5)]
    spread = {}
    for noise in ("k-norm", "laplace"):
        buying, source = buying_of(graph, halves, epsilon=1.0, noise=noise), SeededEntropy(3)
        values = np.array([buying.values(graph, source) for _ in range(200)])
        spread[noise] = np.sqrt(((values - values.mean(axis=0)) ** 2).mean())
    assert spread["k-norm"] < 0.6 * spread["laplace"]
    radii = {
        noise: gc.release_answers(graph, halves, epsilon=1.0, noise=noise, seed=1).radius
        for noise in ("auto", "k-norm", "laplace")
    }
    assert radii["auto"] == min(radii.values()) == radii["k-norm"] < radii["laplace"]


def test_long_lists_and_protections():
    many = [gc.CutQuery([i], [j]) for i in range(6) for j in range(6) if i < j]
    made = gc.release_answers(GRAPH, many, epsilon=2.0)
    assert made.noise == "laplace"  # no pair is in two of them: noise of 2
    assert made.guarantee.is_private
    assert made.guarantee.epsilon == 2.0
    one = gc.release_answers(GRAPH, CUTS, epsilon=1.0, seed=1)
    ten = gc.release_answers(GRAPH, CUTS, epsilon=1.0, at_most=10, seed=1)
    assert ten.guarantee.protects == "10 edges"
    assert ten.guarantee.epsilon <= 1.0
    assert ten.radius > 8 * one.radius
    assert len(one.answers.to_pandas()) == 3


def test_a_store_is_charged(tmp_path):
    store = gc.Store(tmp_path / "s.db", budget=1.5)
    gc.release_answers(GRAPH, CUTS, epsilon=1.0, store=store)
    assert gc.store_status(tmp_path / "s.db").epsilon == 1.0
    with pytest.raises(BudgetError):
        gc.release_answers(GRAPH, CUTS, epsilon=1.0, store=store)


def test_what_does_not_fit_is_refused():
    seven = [gc.CutQuery([i % 6]) for i in range(7)]
    uncapped = gc.Graph([0], [1], [2.0], vertices=3, hide_change=1)
    for graph, queries, options, error, message in (
        (GRAPH, seven, {"noise": "k-norm"}, ParameterError, "at most 6"),
        (GRAPH, CUTS, {"noise": "gaussian"}, ParameterError, "unknown noise"),
        (GRAPH, CUTS, {"confidence": 1.0}, ParameterError, "confidence"),
        (GRAPH, CUTS, {"epsilon": 0}, ParameterError, "epsilon"),
        (GRAPH, [], {}, ParameterError, "at least one"),
        (GRAPH, [gc.CutQuery([0])] * 1001, {}, ParameterError, "at most 1000"),
        (GRAPH, gc.CutList(buying_of(ARCS, cuts_of(ARCS), epsilon=1.0).queries.universe, CUTS[:1]),
         {}, ParameterError, "other vertices"),
        (GRAPH, [gc.CutQuery([9])], {}, QueryError, "9"),
        (GRAPH, [gc.RankOneQuery([1] * 6, [1] * 6)], {}, QueryError, "cuts"),
        (GRAPH, CUTS, {"protect": "vertex"}, ParameterError, "vertex"),
        (uncapped, CUTS[:1], {}, ParameterError, "weight_cap"),
        (gc.Graph([], [], vertices=1), CUTS[:1], {}, GraphError, "one vertex"),
        (np.zeros((3, 3)), CUTS[:1], {}, GraphError, "Graph"),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            gc.release_answers(graph, queries, **{"epsilon": 1.0, **options})
    with pytest.raises(TypeError):
        gc.release_answers(GRAPH, CUTS, epsilon=1.0, delta=1e-6)
