"""Tables of cut errors: equal to direct computations, and marked as not private."""

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
    """Return two cliques joined by one edge."""
    pairs = [(i, j) for i in range(size) for j in range(i)]
    pairs += [(i + size, j + size) for i, j in pairs] + [(0, size)]
    rows, columns = np.array(pairs).T
    return gc.Graph(rows, columns, vertices=2 * size)


@pytest.fixture(scope="module")
def cliques():
    """Return two cliques of twelve, and a release of them."""
    graph = two_cliques(12)
    return graph, gc.release_graph(graph, epsilon=2.0, seed=4)


def test_errors_of_a_release_equal_direct_computations(cliques):
    graph, release = cliques
    table = gc.cut_errors(graph, release)
    assert table.estimates == ("noisy", "synthetic", DEGREES, EMPTY)
    truth, noisy = graph.dense(), release.noisy.estimate()
    synthetic = release.graph.dense()
    rows = {row.kind: row for row in table.rows}

    degrees = rows["one vertex against all"]
    true_degrees = truth.sum(axis=1)
    chung_lu = np.outer(true_degrees, true_degrees) / truth.sum() * (1 - np.eye(24))
    estimates = (noisy, synthetic, chung_lu, np.zeros_like(truth))
    expected = [np.abs((estimate - truth).sum(axis=1)).mean() for estimate in estimates]
    assert degrees.errors == pytest.approx(expected)
    assert degrees.size == pytest.approx(truth.sum() / 24)

    between = rows["between communities"]
    assert (between.cuts, between.size) == (1, 1.0)
    assert between.errors[0] == pytest.approx(abs(noisy[:12, 12:].sum() - 1))

    worst = rows["worst cut (matrix form)"]
    assert worst.errors[3] == truth.sum()
    for estimate, error in zip((noisy, synthetic), worst.errors, strict=False):
        assert gc.cut_norm(estimate - truth).lower <= error


def test_cuts_between_groups_are_plotted_and_all_forms_are_marked_as_not_private(cliques):
    graph, release = cliques
    groups = {"a": list(range(6)), "b": list(range(6, 12)), "c": list(range(12, 24))}
    table = gc.cut_errors(graph, release, groups=groups)
    assert table.rows[-1].kind == "between groups"
    assert [point.truth for point in table.points] == [36.0, 1.0, 0.0]
    assert all(low <= value <= high for value, low, high in (point.noisy for point in table.points))
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
        plotted = [float(x) for x, _ in collection.get_offsets()]
        assert plotted == pytest.approx([row.errors[column] for row in table.rows])
    assert len(points.collections[-1].get_offsets()) == len(table.points)


def test_errors_of_any_graph_equal_direct_computations():
    graph, other = two_cliques(12), gc.Graph([0, 3], [1, 20], vertices=24)
    cut = gc.CutQuery([0, 3], [1, 2, 20])
    reported = []
    table = graph_cut_errors(
        graph, other, queries=[cut], title="a", progress=lambda done, _: reported.append(done)
    )
    assert table.estimates == ("synthetic", DEGREES, EMPTY)
    assert table.title == "a"
    rows = {row.kind: row for row in table.rows}
    edges = 2 * 66 + 1
    assert rows["worst cut (matrix form)"].errors[2] == 2 * edges
    given_cuts = rows["given cuts"]
    assert given_cuts.size == 4
    # Vertex 0, of degree 12, and vertex 3 with three vertices of degree 11 in T, by Chung-Lu.
    expected = (12 * (11 + 11 + 11) + 11 * (11 + 11 + 11)) / (2 * edges)
    assert given_cuts.errors == pytest.approx((2, abs(4 - expected), 4))
    assert [(point.truth, point.synthetic, point.noisy) for point in table.points] == [(4, 2, None)]
    degrees = np.abs((graph.dense() - other.dense()).sum(axis=1)).mean()
    assert rows["one vertex against all"].errors[0] == pytest.approx(degrees)
    assert reported == sorted(reported)
    assert all(0 <= done < 1 for done in reported[:-1])
    assert reported[-1] == 1
    table.plot().draw_without_rendering()


def test_modularity_is_that_of_igraph_and_degrees_are_those_of_the_matrix(cliques):
    """Degrees alone, and the empty graph, have no communities."""
    graph, release = cliques
    table = graph_cut_errors(graph, release.graph)
    rows = {row.kind: row for row in table.properties}
    halves = [v // 12 for v in range(24)]
    modularity = rows["modularity of the communities"]
    for g, value in ((graph, modularity.truth), (release.graph, modularity.values[0])):
        network = igraph.Graph(n=24, edges=list(zip(g.rows, g.columns, strict=True)))
        expected = network.modularity(halves, weights=g.weights.tolist())
        assert value == pytest.approx(expected, abs=1e-6)
    assert modularity.truth > 0.4
    assert modularity.values[1] < 0.1
    assert modularity.values[2] == 0
    assert [rows[f"degrees: {name}"].truth for name in ("least", "median", "largest")] == [
        11,
        11,
        12,
    ]
    least = release.graph.dense().sum(axis=1).min()
    assert rows["degrees: least"].values[0] == pytest.approx(least)
    assert table.to_dict()["kept"][0]["estimates"][EMPTY] == 0


def test_small_communities_count_for_modularity():
    parts = np.repeat(range(4), (12, 12, 5, 5))
    rows, columns = np.nonzero(np.triu(parts[:, None] == parts, 1))
    graph = gc.Graph([*rows, 0, 12, 24], [*columns, 12, 24, 29], vertices=34)
    network = igraph.Graph(n=34, edges=list(zip(graph.rows, graph.columns, strict=True)))
    value = graph_cut_errors(graph, graph).properties[0].truth
    assert value == pytest.approx(network.modularity(parts.tolist()))


def test_bipartite_graphs_have_no_modularity():
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


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("graph", [gc.datasets.load("davis"), gc.Graph([], [], vertices=5)])
def test_a_graph_has_no_error_against_itself_and_is_plotted(graph):
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
def test_graphs_of_other_vertices_kinds_or_weights_are_refused(cliques, compare, graph, message):
    with pytest.raises(GraphCutsError, match=message):
        compare(graph, cliques[compare is gc.cut_errors])


def test_random_cuts_follow_from_the_seed():
    graph = two_cliques(12)

    def cuts(seed):
        families = cut_families(graph, seed=seed)
        return np.array([query.S for family in families for query in family.queries])

    assert np.array_equal(cuts(1), cuts(1))
    assert not np.array_equal(cuts(1), cuts(2))


def test_bipartite_graphs_have_no_communities_and_a_release_without_fit_no_synthetic_graph():
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
    synthetic = release.graph.dense()
    rows = {row.kind: row for row in gc.cut_errors(graph, release).rows}
    for axis, kind in ((1, "out of one vertex"), (0, "into one vertex")):
        error = np.abs(synthetic.sum(axis=axis) - truth.sum(axis=axis)).mean()
        assert rows[kind].errors[1] == pytest.approx(error)
    between = rows["between communities"]
    assert between.cuts == 2
    assert between.size == 24  # 48 one way, none the other
    errors = abs(synthetic[:12, 12:].sum() - 48), abs(synthetic[12:, :12].sum())
    assert between.errors[1] == pytest.approx(np.mean(errors))
    worst = rows["worst cut (matrix form)"]
    assert worst.size == truth.sum()
    assert worst.errors[1] == pytest.approx(gc.cut_norm(graph, release.graph).upper)
    with pytest.raises(QueryError, match="other vertices"):
        gc.cut_errors(two_cliques(12), release)
    error_of_degrees = graph_cut_errors(graph, graph, seed=1).rows[0].errors[1]
    chung_lu = np.outer(truth.sum(axis=1), truth.sum(axis=0)) / truth.sum() * (1 - np.eye(24))
    assert error_of_degrees == pytest.approx(gc.cut_norm(np.minimum(chung_lu, 1) - truth).upper)
