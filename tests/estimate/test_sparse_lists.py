"""Lists of cuts between groups: the answers are those of single cuts."""

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.estimate import cut_sets, sparse_answers
from graphcuts_dp.estimate.cut_sets import common_parts, parted_cuts
from graphcuts_dp.schema.groups import GroupUnion

N, M = 60, 40  # rows, and columns of two sides
KINDS = pytest.mark.parametrize("kind", ["plain", "directed", "bipartite"])
WAYS = ({}, {"simultaneous": True}, {"estimate": "model"})


def made(kind, *, cap=False, measured=True):
    """A release, and tables of groups: those measured on two levels, and others."""
    rng = np.random.default_rng(3)
    ends = rng.integers(0, N, 400), rng.integers(0, M if kind == "bipartite" else N, 400)
    weights = np.minimum(rng.lognormal(3.5, 1.2, 400), 300.0)
    options = {"max_weight": 300} if cap else {"max_weight_change": 1}
    options |= {"left": N, "right": M} if kind == "bipartite" else {"vertices": N}
    maker = {"plain": gc.Graph, "directed": gc.DirectedGraph, "bipartite": gc.BipartiteGraph}
    graph = maker[kind](*ends, weights, **options)
    own, other = [], []
    for side in graph.space if kind == "bipartite" else [graph.vertices]:
        codes = np.arange(len(side)) * 7 % 5
        codes[codes == 4] = 0
        codes[len(side) - 1] = 4  # a group of one vertex
        coarse = [f"c{code // 2}" for code in codes]
        own.append(gc.Groups(side, {"coarse": coarse, "fine": [f"f{c}" for c in codes]}))
        other.append(gc.Groups(side, {"half": [f"h{v % 3}" for v in range(len(side))]}))
    given = None
    if measured:
        given = tuple(own) if kind == "bipartite" else own[0]
    release = gc.release_graph(graph, epsilon=2.0, mechanism="sparse", groups=given, seed=4)
    return release, own, other


def asked(own, other, *, count=40):
    """Unions on two levels and of two tables, all vertices, all others."""
    rng = np.random.default_rng(8)

    def some(side):
        groups = (own, other)[rng.random() < 0.3][side % len(own)]
        level = groups.levels[rng.integers(len(groups.levels))]
        labels = groups.labels(level)
        chosen = rng.choice(len(labels), rng.integers(1, len(labels) + 1), replace=False)
        return GroupUnion(groups, [(labels[code], level) for code in chosen.tolist()])

    for _ in range(count):
        kind = rng.random()
        T = None if kind < 0.2 else "*" if kind < 0.3 else some(1)
        yield gc.CutQuery("*" if kind > 0.95 else some(0), T)


def check_answers(release, queries, alone=None, ways=WAYS):
    """Those of a list, against each asked alone, perhaps in other words."""
    estimates = set()
    for options in ways:
        together = release.answer_all(queries, **options)
        for query, found in zip(alone or queries, together, strict=True):
            single = release.answer(query, **options)
            for name in ("confidence", "simultaneous", "together", "kind", "seeded"):
                assert getattr(found, name) == getattr(single, name)
            numbers = [[each.value, *each.interval] for each in (found, single)]
            np.testing.assert_allclose(numbers[0], numbers[1], rtol=1e-9, atol=1e-7)
            # A list may show that its sets lie by chance; then structure does not count.
            assert found.typical_error <= single.typical_error * (1 + 1e-9) + 1e-7
            estimates.add(found.kind)
    return estimates


@pytest.mark.thorough(cases=1)
@KINDS
@pytest.mark.parametrize("cap", [False, True])
@pytest.mark.parametrize("measured", [True, False])
def test_a_list_has_the_answers_of_its_cuts(kind, cap, measured):
    release, own, other = made(kind, cap=cap, measured=measured)
    queries = list(asked(own, other))
    masks = [query.masks(release.space) for query in queries]
    # With its sets written out nothing is known of them.
    alone = [gc.CutQuery(*(np.flatnonzero(mask).tolist() for mask in each)) for each in masks]
    assert check_answers(release, queries, alone) == {"unbiased", "model"}
    different = {
        tuple(sorted(pair)) if kind == "plain" else pair
        for pair in ((S.tobytes(), T.tobytes()) for S, T in masks)
    }
    (together,) = {each.together for each in release.answer_all(queries, joint=True)}
    assert together == len(different) < len(queries)


@pytest.mark.thorough(cases=1)
@KINDS
def test_random_sets_are_added_up_together(kind):
    release, own, _ = made(kind, cap=True)
    rng = np.random.default_rng(6)
    width = M if kind == "bipartite" else N
    queries = [gc.CutQuery(rng.random(N) < 0.5, rng.random(width) < 0.3) for _ in range(35)]
    queries += [gc.CutQuery(rng.random(N) < 0.5) for _ in range(5)]
    queries += [gc.CutQuery([], [1]), gc.CutQuery([3]), gc.CutQuery([4], "*")]
    queries += [gc.CutQuery(GroupUnion(own[0], [("f0", "fine")]), rng.random(width) < 0.5)]
    check_answers(release, queries)


def test_sets_that_many_cuts_share_are_parts_too(monkeypatch):
    release, _, _ = made("plain")
    rng = np.random.default_rng(1)
    masks = [rng.random(N) < 0.5 for _ in range(6)]
    for mask in masks:
        mask.flags.writeable = False
    seen, original = [], sparse_answers.parted_cuts
    monkeypatch.setattr(
        sparse_answers, "parted_cuts", lambda *given: seen.append(original(*given)) or seen[-1]
    )
    shared = [gc.CutQuery(masks[i % 6], masks[i // 6 % 6]) for i in range(60)]
    check_answers(release, shared, ways=WAYS[:1])
    assert seen[0].indices == list(range(60))
    seen.clear()
    once = [gc.CutQuery(rng.random(N) < 0.5) for _ in range(60)]  # each looked at alone
    check_answers(release, once, ways=WAYS[:1])
    assert seen[0] is None


def test_cuts_are_answered_some_at_a_time_so_that_their_parts_are_few(monkeypatch):
    release, _, _ = made("plain")
    seen, merged = [], []
    original, without_gaps = sparse_answers.sets_of_masks, cut_sets._without_gaps

    def looked_at(model, masks, places):
        seen.append([S for S, _ in masks] + [T for _, T in masks if T is not None])
        return original(model, masks, places)

    monkeypatch.setattr(sparse_answers, "sets_of_masks", looked_at)
    monkeypatch.setattr(
        cut_sets, "_without_gaps", lambda of: merged.append(len(of)) or without_gaps(of)
    )
    rng = np.random.default_rng(3)
    halves = [gc.CutQuery(rng.random(N) < 0.5) for _ in range(20)]
    release.answer_all(halves)
    assert [len(each) for each in seen] == [8, 8, 4]  # T is known of S
    release.answer_all([gc.CutQuery(rng.random(N) < 0.5, rng.random(N) < 0.3) for _ in range(9)])
    assert [len(each) for each in seen[3:]] == [8, 8, 2]
    assert len(merged) == 6  # once for all sets of a time


def test_parts_are_divided_by_no_set():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 3, 200)
    masks = list(rng.random((90, 200)) < 0.03)
    of, first = common_parts([codes, *masks])
    for each in (codes, *masks):
        assert np.array_equal(each[first][of], each)
    names = {(codes[v], *(mask[v] for mask in masks)) for v in range(200)}
    assert len(first) == len(names)
    assert common_parts([np.arange(5000)]) is None


def test_a_set_of_other_vertices_is_refused_as_ever():
    release, _, _ = made("plain")
    others = gc.Groups(gc.VertexSet(N + 1), {"part": ["a"] * N + ["b"]})
    queries = [gc.CutQuery(GroupUnion(others, [("a", "part")]))] * 20
    assert parted_cuts(queries, release.estimator.model) is None
    with pytest.raises(gc.errors.QueryError, match="length 60"):
        release.answer_all(queries)


def test_names_of_all_levels_are_read_back(tmp_path):
    release, own, _ = made("plain")
    release.save(tmp_path / "made.graphml")
    read = gc.Release.load(tmp_path / "made.graphml", graph=False)
    assert not read.has_graph
    assert read.groups.left == own[0]
    assert read.answer("@c1", "@f0") == release.answer("@c1", "@f0")
    assert read.answer(["@c1", "@f0"], ["@fine:f4"]).kind == "unbiased"
