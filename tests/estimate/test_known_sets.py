"""Sets of a sparse release that are known by the object that they are: same answers, less work."""

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.estimate.answers import AnswerOptions
from graphcuts_dp.pairs.groups import GroupNames
from graphcuts_dp.pairs.queries import CutQuery, pairs_of_cut
from graphcuts_dp.pairs.universe import most_weight

KINDS = ("undirected", "directed", "bipartite")


def made(kind, cap):
    """A sparse release with groups, and the groups."""
    rng = np.random.default_rng(3)
    ends, n = rng.integers(0, 24, (2, 60)), 24
    ends = ends[:, ends[0] != ends[1]]
    options = {"vertices": n} if kind != "bipartite" else {"left": n, "right": n}
    if not cap:
        options |= {"weights": rng.integers(1, 5, ends.shape[1]).astype(float), "hide_change": 1}
    graph = {"undirected": gc.Graph, "directed": gc.DirectedGraph, "bipartite": gc.BipartiteGraph}[
        kind
    ](*ends, **options)
    sides = (graph.left, graph.right) if kind == "bipartite" else (graph.vertices,) * 2
    groups = tuple(
        gc.Groups(side, {"part": [f"g{i * 4 // n}" for i in range(n)]}) for side in sides
    )
    given = groups if kind == "bipartite" else groups[0]
    release = gc.release_graph(graph, epsilon=1.0, mechanism="sparse", groups=given, seed=2)
    return release, groups if kind == "bipartite" else (groups[0], groups[0])


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
@pytest.mark.parametrize("cap", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_answers_by_name_are_those_of_the_same_sets_written_out(kind, cap):
    release, groups = made(kind, cap)
    names = GroupNames(*groups)
    asked = [names.query("@g0", "@g1"), names.query("@g2", "@g2"), names.query("@g3")]
    asked += [names.query(["@g0", "@g1"], "@g1"), names.query("@g1", "*"), asked[0]]
    by_name = release.answer_all(asked)
    for query, answer in zip(asked, by_name, strict=True):
        S, T = query.masks(release.space)
        (again,), _ = release.estimator.estimates([CutQuery(S.copy(), T.copy())], AnswerOptions())
        assert again.kind == "unbiased"
        assert answer.value == pytest.approx(again.value)
        assert answer.interval[0] >= again.interval[0] - 1e-9
        assert again.most == most_weight(pairs_of_cut(S, T, release.space), 1.0 if cap else None)


def test_queries_share_a_set_that_nobody_can_write_to():
    groups = gc.Groups(gc.Graph([], [], vertices=4).vertices, {"part": ["a", "a", "b", "b"]})
    first, second = (GroupNames(groups, groups).query("@a", "@b") for _ in range(2))
    known = first.masks(groups.vertices)[0]
    assert known is second.masks(groups.vertices)[0]
    with pytest.raises(ValueError, match="read-only"):
        known[0] = False
    mine = np.array([True, False, False, False])
    query = CutQuery(mine)
    mine[1] = True
    assert query.masks(groups.vertices)[0].tolist() == [True, False, False, False]
    part = mine[:]
    part.flags.writeable = False  # but `mine` still writes to it
    query = CutQuery(part)
    mine[2] = True
    assert query.masks(groups.vertices)[0].tolist() == [True, True, False, False]


def test_members_are_kept_within_bounds(monkeypatch):
    monkeypatch.setattr("graphcuts_dp.pairs.groups._KEPT_BYTES", 8)
    groups = gc.Groups(gc.Graph([], [], vertices=4).vertices, {"part": list("abcd")})
    for _ in range(2):
        for place, label in enumerate("abcd"):
            assert groups.members(label).tolist() == [i == place for i in range(4)]
            assert len(groups._members) <= 2


def test_a_name_is_a_label_as_it_is_written():
    groups = gc.Groups(gc.Graph([], [], vertices=3).vertices, {"part": [7, -3, 12]})
    assert groups.label_of_text("7") == 7
    assert groups.label_of_text("-3") == -3
    assert groups.label_of_text("007") is None
    assert groups.label_of_text("+7") is None
    assert groups.label_of_text("none") is None
