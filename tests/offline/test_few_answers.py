"""Answers to a few cuts at once: values, intervals, columns, promises, refusals."""

import numpy as np
import pytest
import scipy.stats
from graphcuts_dp.offline.answers_at_once import buying_of
from offline_calls import answer_at_once

import graphcuts_dp as gc
from graphcuts_dp.errors import (
    BudgetError,
    FileFormatError,
    GraphError,
    ParameterError,
    QueryError,
)
from graphcuts_dp.offline.lists import columns_of
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.results.bundle import read_receipt, write_receipt

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
    made = answer_at_once(graph, cuts, epsilon=1.0, noise=noise, confidence=0.8, seed=1)
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
        noise: answer_at_once(graph, halves, epsilon=1.0, noise=noise, seed=1).radius
        for noise in ("auto", "k-norm", "laplace")
    }
    assert radii["auto"] == min(radii.values()) == radii["k-norm"] < radii["laplace"]


def test_long_lists_and_protections():
    many = [gc.CutQuery([i], [j]) for i in range(6) for j in range(6) if i < j]
    made = answer_at_once(GRAPH, many, epsilon=2.0)
    assert made.noise == "laplace"  # no pair is in two of them: noise of 2
    assert made.guarantee.is_private
    assert made.guarantee.epsilon == 2.0
    one = answer_at_once(GRAPH, CUTS, epsilon=1.0, seed=1)
    ten = answer_at_once(GRAPH, CUTS, epsilon=1.0, at_most=10, seed=1)
    assert ten.guarantee.protects == "10 edges"
    assert ten.guarantee.epsilon <= 1.0
    assert ten.radius > 8 * one.radius
    assert len(one.answers.to_pandas()) == 3


def test_a_store_is_charged(tmp_path):
    store = gc.Store(tmp_path / "s.db", budget=1.5)
    answer_at_once(GRAPH, CUTS, epsilon=1.0, store=store)
    assert gc.store_status(tmp_path / "s.db").epsilon == 1.0
    with pytest.raises(BudgetError):
        answer_at_once(GRAPH, CUTS, epsilon=1.0, store=store)


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
            answer_at_once(graph, queries, **{"epsilon": 1.0, **options})
    with pytest.raises(TypeError):
        answer_at_once(GRAPH, CUTS, epsilon=1.0, delta=1e-6)


# What is saved


@pytest.mark.parametrize("graph", [GRAPH, SIDES, ARCS], ids=["plain", "sides", "arcs"])
@pytest.mark.parametrize("noise", ["k-norm", "laplace"])
def test_answers_come_back_from_files(graph, noise, tmp_path):
    cuts = cuts_of(graph)
    made = answer_at_once(graph, cuts, epsilon=1.0, noise=noise, confidence=0.9, seed=1)
    assert made.save(tmp_path / "a.npz") == (
        str(tmp_path / "a.npz"),
        str(tmp_path / "a.npz.json"),
    )
    again = gc.IterativeRelease.load(tmp_path / "a.npz")
    assert (again.guarantee, again.noise, again.values) == (made.guarantee, noise, made.values)
    assert list(again.answers) == list(made.answers)
    for level in (0.5, 0.9, 0.999):
        assert again.answer_all(cuts, confidence=level) == made.answer_all(cuts, confidence=level)
        fresh = buying_of(graph, cuts, epsilon=1.0, noise=noise, confidence=level)
        assert again.radius_at(level) == fresh.radius
    with pytest.raises(FileFormatError, match="exists"):
        made.save(tmp_path / "a.npz")
    made.save(tmp_path / "a.npz", force=True)


def test_cuts_of_the_list_are_found_and_others_refused():
    made = answer_at_once(GRAPH, CUTS, epsilon=1.0, seed=1)
    other_way = made.answer([1, 2], [0])  # a cut of an undirected graph
    assert other_way == made.answers[2] == made.answer(CUTS[2])
    rank = gc.RankOneQuery([1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1])
    assert made.answer(rank) == made.answers[0]
    arcs = answer_at_once(ARCS, cuts_of(ARCS), epsilon=1.0, seed=1)
    for few, asked, other in (
        (made, gc.CutQuery([5]), None),
        (made, gc.RankOneQuery([0.5] * 6, [1] * 6), None),
        (made, CUTS[0], [1]),
        (made, [77], None),
        (arcs, [1, 2], [0]),
    ):
        with pytest.raises(QueryError, match=r"none of them|not both|77"):
            few.answer(asked, other)
    for level in (0.0, 1.0, 2.0):
        with pytest.raises(ParameterError, match="confidence"):
            made.answer(CUTS[0], confidence=level)


def test_damaged_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    made = answer_at_once(GRAPH, CUTS, epsilon=1.0, seed=1)
    with pytest.raises(FileFormatError, match="must end in"):
        made.save(tmp_path / "a.csv")
    with pytest.raises(FileFormatError, match="exist"):
        gc.IterativeRelease.load(path)
    made.save(path)
    receipt = read_receipt(tmp_path / "a.npz.json")
    receipt.pop("versions")

    def rewritten(**changed):
        fields = {**receipt, **changed}
        (tmp_path / "a.npz.json").unlink()
        write_receipt(tmp_path / "a.npz.json", fields)
        with pytest.raises(FileFormatError) as problem:
            gc.IterativeRelease.load(path)
        assert "\n" not in str(problem.value)
        return str(problem.value)

    assert "not a receipt of this version" in rewritten(format="answers 1")
    assert "not a receipt of this version" in rewritten(format=3)
    assert "not a receipt of this kind, but of 'sensing'" in rewritten(kind="sensing")
    assert "damaged" in rewritten(kind="songs")
    assert "damaged" in rewritten(kind=None)
    assert "another release" in rewritten(files={"b.npz": "0"})
    for damage in (
        {"vertices": [90]},
        {"weight": 0},
        {"rate": "0"},
        {"rate": "1/0"},
        {"confidence": 2.0},
        {"noise": "gaussian"},
        {"grid": {"step": 1}},
        {"guarantee": {}},
    ):
        assert "damaged or of another version" in rewritten(**damage)
    (tmp_path / "a.npz.json").unlink()
    write_receipt(tmp_path / "a.npz.json", receipt)
    assert gc.IterativeRelease.load(path).values == made.values
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(FileFormatError, match="changed"):
        gc.IterativeRelease.load(path)
