"""Measured errors are what a by-hand computation gives, and are marked as not private."""

import igraph
import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import GraphCutsError, QueryError
from graphcuts_dp.evaluation.cut_error import (
    DEGREES,
    EMPTY,
    cut_families,
    graph_cut_errors,
)
from graphcuts_dp.evaluation.tables import NOT_PRIVATE


def two_cliques(size: int) -> gc.Graph:
    """Two cliques joined by one edge."""
    pairs = [(i, j) for i in range(size) for j in range(i)]
    pairs += [(i + size, j + size) for i, j in pairs] + [(0, size)]
    rows, columns = np.array(pairs).T
    return gc.Graph(rows, columns, vertices=2 * size)


@pytest.fixture(scope="module")
def cliques():
    """Two cliques of twelve, and a release of them."""
    graph = two_cliques(12)
    return graph, gc.release_graph(graph, epsilon=2.0, seed=4)


def test_errors_by_hand(cliques):
    graph, release = cliques
    table = gc.cut_errors(graph, release)
    assert table.estimates == ("noisy", "synthetic", DEGREES, EMPTY)
    truth, z, x = graph.dense(), release.noisy.estimate(), release.graph.dense()
    rows = {row.kind: row for row in table.rows}

    degrees = rows["one vertex against all"]
    ends = truth.sum(axis=1)
    alone = np.outer(ends, ends) / truth.sum() * (1 - np.eye(24))
    expected = [np.abs((m - truth).sum(axis=1)).mean() for m in (z, x, alone, 0 * x)]
    assert degrees.errors == pytest.approx(expected)
    assert degrees.size == pytest.approx(truth.sum() / 24)

    between = rows["between communities"]
    assert (between.cuts, between.size) == (1, 1.0)
    assert between.errors[0] == pytest.approx(abs(z[:12, 12:].sum() - 1))

    worst = rows["worst cut (matrix form)"]
    assert worst.errors[3] == truth.sum()
    for estimate, error in zip((z, x), worst.errors, strict=False):
        assert gc.cut_norm(estimate - truth).lower <= error


def test_groups_are_drawn_and_everything_is_marked_as_not_private(cliques):
    graph, release = cliques
    groups = {"a": list(range(6)), "b": list(range(6, 12)), "c": list(range(12, 24))}
    table = gc.cut_errors(graph, release, groups=groups)
    assert table.rows[-1].kind == "between groups"
    assert [point.truth for point in table.points] == [36.0, 1.0, 0.0]
    assert all(low <= value <= high for value, low, high in (p.noisy for p in table.points))
    assert all(point.noisy[1] >= 0 for point in table.points)
    figure = table.plot()
    assert table.to_dict()["mark"] == NOT_PRIVATE
    assert NOT_PRIVATE in figure.get_suptitle()
    assert NOT_PRIVATE in table._repr_html_()
    kinds, points = figure.axes
    assert [label.get_text() for label in kinds.get_yticklabels()] == [
        row.kind for row in table.rows
    ]
    for column, collection in enumerate(kinds.collections):
        shown = [float(x) for x, _ in collection.get_offsets()]
        assert shown == pytest.approx([row.errors[column] for row in table.rows])
    assert len(points.collections[-1].get_offsets()) == len(table.points)


def test_any_graph_by_hand():
    graph, other = two_cliques(12), gc.Graph([0, 3], [1, 20], vertices=24)
    cut = gc.CutQuery([0, 3], [1, 2, 20])
    said = []
    table = graph_cut_errors(
        graph, other, queries=[cut], title="a", progress=lambda done, _: said.append(done)
    )
    assert table.estimates == ("synthetic", DEGREES, EMPTY)
    assert table.title == "a"
    rows = {row.kind: row for row in table.rows}
    m = 2 * 66 + 1
    assert rows["worst cut (matrix form)"].errors[2] == 2 * m
    given = rows["given cuts"]
    assert given.size == 4
    # Two ends of the bridge in S with two others and one more in T: degrees of 12 and 11.
    expected = (12 * (11 + 11 + 11) + 11 * (11 + 11 + 11)) / (2 * m)
    assert given.errors == pytest.approx((2, abs(4 - expected), 4))
    assert [(point.truth, point.synthetic, point.noisy) for point in table.points] == [(4, 2, None)]
    degrees = np.abs((graph.dense() - other.dense()).sum(axis=1)).mean()
    assert rows["one vertex against all"].errors[0] == pytest.approx(degrees)
    assert said == sorted(said)
    assert all(0 <= done < 1 for done in said[:-1])
    assert said[-1] == 1
    table.plot().draw_without_rendering()


def test_what_is_kept_is_modularity_and_degrees(cliques):
    """As igraph has it; degrees alone, and the empty graph, have no communities."""
    graph, release = cliques
    table = graph_cut_errors(graph, release.graph)
    rows = {row.kind: row for row in table.properties}
    half = [v // 12 for v in range(24)]
    kept = rows["modularity of the communities"]
    for made, told in ((graph, kept.truth), (release.graph, kept.values[0])):
        network = igraph.Graph(n=24, edges=list(zip(made.rows, made.columns, strict=True)))
        found = network.modularity(half, weights=made.weights.tolist())
        assert told == pytest.approx(found, abs=1e-6)
    assert kept.truth > 0.4
    assert kept.values[1] < 0.1
    assert kept.values[2] == 0
    assert [rows[f"degrees: {name}"].truth for name in ("least", "median", "largest")] == [
        11,
        11,
        12,
    ]
    least = release.graph.dense().sum(axis=1).min()
    assert rows["degrees: least"].values[0] == pytest.approx(least)
    assert table.to_dict()["kept"][0]["estimates"][EMPTY] == 0
    parts = np.repeat(range(4), (12, 12, 5, 5))  # small communities count, too
    rows, columns = np.nonzero(np.triu(parts[:, None] == parts, 1))
    some = gc.Graph([*rows, 0, 12, 24], [*columns, 12, 24, 29], vertices=34)
    found = igraph.Graph(n=34, edges=list(zip(some.rows, some.columns, strict=True)))
    told = graph_cut_errors(some, some).properties[0].truth
    assert told == pytest.approx(found.modularity(parts.tolist()))
    two_sides = graph_cut_errors(*[gc.datasets.load("davis")] * 2)
    assert not any("modularity" in row.kind for row in two_sides.properties)


def test_large_graphs_are_measured_in_single_precision(monkeypatch, cliques):
    graph, release = cliques
    exact = graph_cut_errors(graph, release.graph)
    monkeypatch.setattr("graphcuts_dp.evaluation.cut_error._LARGE", 1)
    worst, *rows = graph_cut_errors(graph, release.graph).rows
    for row, other in zip(rows, exact.rows[1:], strict=True):
        assert row.errors == pytest.approx(other.errors, rel=1e-4, abs=1e-4)
    # Two upper bounds, each within a tenth of the largest cut, which neither is below.
    largest = gc.cut_norm(graph, release.graph).lower
    assert largest <= worst.errors[0] <= 1.1 * largest


@pytest.mark.parametrize("graph", [gc.datasets.load("davis"), gc.Graph([], [], vertices=5)])
def test_a_graph_against_itself_has_no_error_and_is_drawn(graph):
    table = graph_cut_errors(graph, graph)
    for row in table.rows:
        assert row.errors[0] == 0
        assert (row.errors[2] > 0) == (len(graph.rows) > 0)
    table.plot().draw_without_rendering()


FEW, HEAVY = two_cliques(11), gc.Graph([0], [1], [2.5], vertices=24)


@pytest.mark.parametrize(
    ("compare", "graph", "message"),
    [
        (graph_cut_errors, FEW, "different vertices"),
        (graph_cut_errors, gc.datasets.load("davis"), "bipartite"),
        (gc.cut_errors, FEW, "other vertices"),
        (gc.cut_errors, HEAVY, "without weights"),
    ],
)
def test_graphs_that_cannot_be_compared(cliques, compare, graph, message):
    with pytest.raises(GraphCutsError, match=message):
        compare(graph, cliques[compare is gc.cut_errors])


def test_the_seed_alone_decides_the_random_cuts():
    graph = two_cliques(12)

    def cuts(seed):
        families = cut_families(graph, seed=seed)
        return np.array([query.S for family in families for query in family.queries])

    assert np.array_equal(cuts(1), cuts(1))
    assert not np.array_equal(cuts(1), cuts(2))


def test_bipartite_and_weighted():
    graph = gc.datasets.load("davis_women")
    release = gc.release_graph(graph, epsilon=2.0, seed=4)
    kinds = {row.kind for row in gc.cut_errors(graph, release).rows}
    assert "between communities" not in kinds
    weighted = gc.datasets.load("lesmis")
    release = gc.release_graph(weighted, epsilon=2.0, noise="laplace", fit="none", seed=4)
    table = gc.cut_errors(weighted, release)
    assert table.estimates == ("noisy", DEGREES, EMPTY)


def test_directed_graphs_have_degrees_of_two_kinds_and_ordered_communities():
    truth = np.zeros((24, 24))
    truth[:12, :12] = truth[12:, 12:] = 1  # two cliques, and arcs from the first to the second
    truth[:4, 12:] = 1
    np.fill_diagonal(truth, 0)
    graph = gc.DirectedGraph.of(truth, weighted=False)
    release = gc.release_graph(graph, epsilon=2.0, seed=4)
    x = release.graph.dense()
    rows = {row.kind: row for row in gc.cut_errors(graph, release).rows}
    for axis, kind in ((1, "out of one vertex"), (0, "into one vertex")):
        error = np.abs(x.sum(axis=axis) - truth.sum(axis=axis)).mean()
        assert rows[kind].errors[1] == pytest.approx(error)
    between = rows["between communities"]
    assert between.cuts == 2
    assert between.size == 24  # 48 one way, none the other
    errors = abs(x[:12, 12:].sum() - 48), abs(x[12:, :12].sum())
    assert between.errors[1] == pytest.approx(np.mean(errors))
    worst = rows["worst cut (matrix form)"]
    assert worst.size == truth.sum()
    assert worst.errors[1] == pytest.approx(gc.cut_norm(graph, release.graph).upper)
    with pytest.raises(QueryError, match="other vertices"):
        gc.cut_errors(two_cliques(12), release)
    alone = graph_cut_errors(graph, graph, seed=1).rows[0].errors[1]
    expected = np.outer(truth.sum(axis=1), truth.sum(axis=0)) / truth.sum() * (1 - np.eye(24))
    assert alone == pytest.approx(gc.cut_norm(np.minimum(expected, 1) - truth).upper)
