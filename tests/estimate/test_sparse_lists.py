"""Lists of cuts between groups of a sparse release: the answers are those of single cuts.

A list is answered faster by *parts*: sets of vertices that no set of the list divides.
"""

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.estimate import cut_sets, sparse_answers
from graphcuts_dp.estimate.cut_sets import common_parts, parted_cuts
from graphcuts_dp.schema.groups import GroupUnion

N, COLUMNS = 60, 40  # vertices, and right vertices of bipartite graphs
GRAPH_CLASSES = {
    "plain": gc.Graph,
    "directed": gc.DirectedGraph,
    "bipartite": gc.BipartiteGraph,
}
KINDS = pytest.mark.parametrize("kind", GRAPH_CLASSES)
# Options of all kinds of answers.
ANSWER_OPTIONS = ({}, {"simultaneous": True}, {"estimate": "model"})


def sparse_release(kind, *, max_weight=None, with_groups=True):
    """Release a graph of 400 weighted edges.

    Returns:
        The release; groups of each side on two levels, measured if `with_groups`; and other groups
        of each side.
    """
    rng = np.random.default_rng(3)
    rows = rng.integers(0, N, 400)
    columns = rng.integers(0, COLUMNS if kind == "bipartite" else N, 400)
    weights = np.minimum(rng.lognormal(3.5, 1.2, 400), 300.0)
    options = {"max_weight": max_weight} if max_weight else {"max_weight_change": 1}
    options |= {"left": N, "right": COLUMNS} if kind == "bipartite" else {"vertices": N}
    graph = GRAPH_CLASSES[kind](rows, columns, weights, **options)

    groups, other_groups = [], []
    for side in graph.space if kind == "bipartite" else [graph.vertices]:
        codes = np.arange(len(side)) * 7 % 5
        codes[codes == 4] = 0
        codes[len(side) - 1] = 4  # a group of one vertex
        levels = {
            "coarse": [f"c{code // 2}" for code in codes],
            "fine": [f"f{code}" for code in codes],
        }
        groups.append(gc.Groups(side, levels))
        thirds = [f"h{vertex % 3}" for vertex in range(len(side))]
        other_groups.append(gc.Groups(side, {"third": thirds}))
    of_graph = tuple(groups) if kind == "bipartite" else groups[0]
    release = gc.release_graph(
        graph,
        epsilon=2.0,
        mechanism="sparse",
        groups=of_graph if with_groups else None,
        seed=4,
    )
    return release, groups, other_groups


def random_cuts(groups, other_groups, *, count=40):
    """Generate cuts between unions of groups, all vertices ("*"), and all others (None)."""
    rng = np.random.default_rng(8)

    def random_union(side):
        table = (groups, other_groups)[rng.random() < 0.3][side % len(groups)]
        level = table.levels[rng.integers(len(table.levels))]
        labels = table.labels(level)
        codes = rng.choice(len(labels), rng.integers(1, len(labels) + 1), replace=False)
        return GroupUnion(table, [(labels[code], level) for code in codes.tolist()])

    for _ in range(count):
        choice = rng.random()
        T = None if choice < 0.2 else "*" if choice < 0.3 else random_union(1)
        S = "*" if choice > 0.95 else random_union(0)
        yield gc.CutQuery(S, T)


def assert_list_answers_as_single_cuts(
    release, queries, single_queries=None, all_options=ANSWER_OPTIONS
):
    """Compare the answers of a list with those of single cuts; return the kinds of the answers.

    Args:
        release: that answers.
        queries: the list.
        single_queries: the same cuts, perhaps written in another way; `queries` if None.
        all_options: of the answers, one after the other.
    """
    kinds = set()
    for options in all_options:
        answers = release.answer_all(queries, **options)
        for query, in_list in zip(single_queries or queries, answers, strict=True):
            single = release.answer(query, **options)
            for field in ("confidence", "simultaneous", "together", "kind", "seeded"):
                assert getattr(in_list, field) == getattr(single, field)
            np.testing.assert_allclose(
                [in_list.value, *in_list.interval],
                [single.value, *single.interval],
                rtol=1e-9,
                atol=1e-7,
            )
            # A list may show that its sets overlap by chance; then structure does not count.
            assert in_list.typical_error <= single.typical_error * (1 + 1e-9) + 1e-7
            kinds.add(in_list.kind)
    return kinds


@pytest.mark.thorough(cases=1)
@KINDS
@pytest.mark.parametrize("max_weight", [None, 300])
@pytest.mark.parametrize("with_groups", [True, False], ids=["with groups", "without groups"])
def test_a_list_of_cuts_between_groups_has_the_answers_of_single_cuts(
    kind, max_weight, with_groups
):
    release, groups, other_groups = sparse_release(
        kind, max_weight=max_weight, with_groups=with_groups
    )
    queries = list(random_cuts(groups, other_groups))
    # Lists of vertices, so that single cuts are not known to be unions of groups.
    single_queries = [
        gc.CutQuery(*(np.flatnonzero(mask).tolist() for mask in query.masks(release.space)))
        for query in queries
    ]
    kinds = assert_list_answers_as_single_cuts(release, queries, single_queries)
    assert kinds == {"unbiased", "model"}


@pytest.mark.thorough(cases=2)
@KINDS
def test_equal_cuts_of_a_joint_list_count_once(kind):
    release, groups, other_groups = sparse_release(kind)
    queries = list(random_cuts(groups, other_groups))
    keys = [tuple(mask.tobytes() for mask in query.masks(release.space)) for query in queries]
    distinct = {tuple(sorted(key)) if kind == "plain" else key for key in keys}
    (together,) = {answer.together for answer in release.answer_all(queries, joint=True)}
    assert together == len(distinct) < len(queries)


@pytest.mark.thorough(cases=1)
@KINDS
def test_a_list_of_random_sets_has_the_answers_of_single_cuts(kind):
    release, groups, _ = sparse_release(kind, max_weight=300)
    rng = np.random.default_rng(6)
    columns = COLUMNS if kind == "bipartite" else N
    queries = [gc.CutQuery(rng.random(N) < 0.5, rng.random(columns) < 0.3) for _ in range(35)]
    queries += [gc.CutQuery(rng.random(N) < 0.5) for _ in range(5)]
    queries += [gc.CutQuery([], [1]), gc.CutQuery([3]), gc.CutQuery([4], "*")]
    queries += [gc.CutQuery(GroupUnion(groups[0], [("f0", "fine")]), rng.random(columns) < 0.5)]
    assert_list_answers_as_single_cuts(release, queries)


@pytest.fixture
def plain_release():
    release, _, _ = sparse_release("plain")
    return release


@pytest.fixture
def parted_lists(monkeypatch):
    """Record what `parted_cuts` returns for each list: None if it finds no parts."""
    results, original = [], sparse_answers.parted_cuts

    def recorded(*arguments):
        results.append(original(*arguments))
        return results[-1]

    monkeypatch.setattr(sparse_answers, "parted_cuts", recorded)
    return results


def test_a_list_of_cuts_of_a_few_sets_is_answered_by_parts(plain_release, parted_lists):
    rng = np.random.default_rng(1)
    masks = [rng.random(N) < 0.5 for _ in range(6)]
    for mask in masks:
        mask.flags.writeable = False  # so that cuts share it
    queries = [gc.CutQuery(masks[i % 6], masks[i // 6 % 6]) for i in range(60)]
    assert_list_answers_as_single_cuts(plain_release, queries, all_options=[{}])
    assert parted_lists[0].indices == list(range(60))


def test_a_list_of_cuts_of_different_sets_is_not_answered_by_parts(plain_release, parted_lists):
    rng = np.random.default_rng(1)
    queries = [gc.CutQuery(rng.random(N) < 0.5) for _ in range(60)]
    assert_list_answers_as_single_cuts(plain_release, queries, all_options=[{}])
    assert parted_lists[0] is None


def test_cuts_are_answered_in_batches_whose_parts_are_few(plain_release, monkeypatch):
    """A batch has eight sets at most, and its sets are merged once."""
    sets_of_batches, merges = [], []
    sets_of_masks, without_gaps = sparse_answers.sets_of_masks, cut_sets._without_gaps

    def recorded_sets(model, masks, columns):
        sets_of_batches.append(sum(1 if T is None else 2 for _, T in masks))
        return sets_of_masks(model, masks, columns)

    def recorded_merge(codes):
        merges.append(codes)
        return without_gaps(codes)

    monkeypatch.setattr(sparse_answers, "sets_of_masks", recorded_sets)
    monkeypatch.setattr(cut_sets, "_without_gaps", recorded_merge)
    rng = np.random.default_rng(3)

    plain_release.answer_all([gc.CutQuery(rng.random(N) < 0.5) for _ in range(20)])
    assert sets_of_batches == [8, 8, 4]  # T is the complement of S
    plain_release.answer_all(
        [gc.CutQuery(rng.random(N) < 0.5, rng.random(N) < 0.3) for _ in range(9)]
    )
    assert sets_of_batches[3:] == [8, 8, 2]
    assert len(merges) == 6


def test_no_set_divides_a_common_part():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 3, 200)
    masks = list(rng.random((90, 200)) < 0.03)
    part_of_vertex, first_of_part = common_parts([codes, *masks])
    for values in (codes, *masks):
        assert np.array_equal(values[first_of_part][part_of_vertex], values)
    distinct = {(codes[v], *(mask[v] for mask in masks)) for v in range(200)}
    assert len(first_of_part) == len(distinct)


def test_too_many_parts_are_not_used():
    assert common_parts([np.arange(5000)]) is None


def test_groups_of_other_vertices_are_refused_in_a_list_as_in_a_single_cut(plain_release):
    other_vertices = gc.Groups(gc.VertexSet(N + 1), {"part": ["a"] * N + ["b"]})
    queries = [gc.CutQuery(GroupUnion(other_vertices, [("a", "part")]))] * 20
    assert parted_cuts(queries, plain_release.estimator.model) is None
    with pytest.raises(gc.QueryError, match="length 60"):
        plain_release.answer_all(queries)


def test_a_saved_release_knows_the_names_of_groups_of_all_levels(tmp_path):
    release, groups, _ = sparse_release("plain")
    release.save(tmp_path / "release.graphml")
    loaded = gc.Release.load(tmp_path / "release.graphml", graph=False)
    assert not loaded.has_graph
    assert loaded.groups.left == groups[0]
    assert loaded.answer("@c1", "@f0") == release.answer("@c1", "@f0")
    assert loaded.answer(["@c1", "@f0"], ["@fine:f4"]).kind == "unbiased"
