"""Comparisons of two graphs: values of the statistics, kinds of graphs, marks, files and plots."""

import json
import math
import operator
import random

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError, GraphError, ParameterError
from graphcuts_dp.evaluation.comparison_tables import BASELINES, CHUNG_LU, EMPTY
from graphcuts_dp.evaluation.tables import NOT_PRIVATE, READS_TRUTH
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.plotting.style import COLUMN

KINDS = {
    "undirected": gc.datasets.load("karate"),
    "weighted": gc.datasets.load("lesmis"),
    "directed": gc.DirectedGraph.of(nx.gnp_random_graph(30, 0.1, seed=1, directed=True)),
    "bipartite": gc.datasets.load("davis"),
}


def changed_graph(graph: AnyGraph, seed: int = 0) -> AnyGraph:
    """Return a graph of the same kind, without a third of the edges and with 20 random ones."""
    random = np.random.default_rng(seed)
    is_kept = random.random(len(graph.rows)) < 0.67
    new_edges = [random.integers(0, size, 20) for size in graph.shape]
    rows = np.concatenate([graph.rows[is_kept], new_edges[0]])
    columns = np.concatenate([graph.columns[is_kept], new_edges[1]])
    weights = np.concatenate([graph.weights[is_kept], random.integers(1, 5, 20)])
    sides = isinstance(graph, gc.BipartiteGraph)
    space = {"left": graph.left, "right": graph.right} if sides else {"vertices": graph.vertices}
    options = {"weights": weights, "max_weight": graph.max_weight} if graph.weighted else {}
    return type(graph)(rows, columns, **options, **space)


@pytest.fixture(scope="module", params=KINDS)
def compared(request):
    graph = KINDS[request.param]
    other = changed_graph(graph)
    return graph, other, gc.compare(graph, other, seed=3)


def test_the_real_graph_has_no_error_and_the_empty_graph_loses_all(compared):
    graph, _, _ = compared
    comparison = gc.compare(graph, graph)
    for row in comparison.rows:
        synthetic, _, empty = row.values
        assert synthetic == pytest.approx(row.real, abs=1e-9)
        if row.topic == "cuts":
            assert empty == pytest.approx(1.0)
        if row.measure == "error":
            assert row.errors == row.values
        assert row.statistic == comparison.row(row.statistic).statistic
    assert comparison.synthetic == ("synthetic",)
    assert comparison.graphs == ("synthetic", *BASELINES)
    with pytest.raises(KeyError):
        comparison.row("beauty")


def test_errors_of_cuts_lie_within_certificates_and_equal_direct_computations(compared):
    graph, other, comparison = compared
    truth, changed = graph.dense(), other.dense()
    total = truth.sum()
    low, high = (comparison.row(f"worst cut, at {bound}") for bound in ("least", "most"))
    certificate = gc.cut_norm(graph, other)
    assert low.unit == high.unit == total
    assert low.values[0] <= certificate.upper / total * (1 + 1e-9)
    assert high.values[0] >= certificate.lower / total * (1 - 1e-9)
    assert all(map(operator.le, low.values, high.values))
    random = np.random.default_rng(3)
    S = random.random((graph.shape[0], 200)) < 0.5
    T = random.random((graph.shape[1], 200)) < 0.5 if isinstance(graph, gc.BipartiteGraph) else ~S
    cuts = [gc.CutQuery(s, t) for s, t in zip(S.T, T.T, strict=True)]
    exact, answers = (np.array([cut.value(g) for cut in cuts]) for g in (graph, other))
    halves = comparison.row("random halves")
    assert halves.unit == pytest.approx(exact.mean())
    assert halves.values[0] == pytest.approx(np.abs(answers - exact).mean() / exact.mean())
    assert halves.values[2] == pytest.approx(1.0)
    assert changed.sum() == pytest.approx(other.to_scipy().sum())


def test_modularity_agrees_with_igraph_and_networkx():
    graph, other = KINDS["undirected"], changed_graph(KINDS["undirected"])
    comparison = gc.compare(graph, other)
    best = comparison.row("modularity, best found")
    edges = list(zip(graph.rows.tolist(), graph.columns.tolist(), strict=True))
    network = igraph.Graph(n=graph.n, edges=edges)
    random.seed(0)  # igraph draws from it
    assert 0.35 <= network.community_multilevel().modularity <= best.real + 0.03
    real_communities = comparison.row("modularity of real communities")
    assert real_communities.real == pytest.approx(best.real)
    assert real_communities.values[0] <= best.values[0] + 0.05
    halves = np.arange(24) // 12
    rows, columns = np.nonzero(np.triu(halves[:, None] == halves, 1))
    cliques = gc.Graph([*rows, 0], [*columns, 12], vertices=24)
    bridges = gc.Graph([*rows[5:], 0, 1, 2], [*columns[5:], 12, 13, 14], vertices=24)
    cliques_comparison = gc.compare(cliques, bridges)
    assert cliques_comparison.row("inside communities").values[0] == pytest.approx(
        5 / 132
    )  # of 66 each
    assert cliques_comparison.row("inside communities").unit == 66
    assert cliques_comparison.row("between communities").values[0] == pytest.approx(
        2
    )  # three, not one
    assert cliques_comparison.row("between communities").unit == 1
    network = bridges.to_networkx()
    expected = nx.community.modularity(network, [range(12), range(12, 24)])
    assert cliques_comparison.row("modularity of real communities").values[0] == pytest.approx(
        expected
    )


def test_statistics_are_those_of_networkx():
    graph, other = KINDS["undirected"], changed_graph(KINDS["undirected"])
    comparison, network = gc.compare(graph, other), other.to_networkx()
    expected = {
        "edges": network.number_of_edges(),
        "largest degree": max(dict(network.degree).values()),
        "clustering, global": nx.transitivity(network),
        "clustering, mean local": nx.average_clustering(network),
        "assortativity by degree": nx.degree_assortativity_coefficient(network),
        "leading eigenvalue": max(nx.adjacency_spectrum(network).real),
    }
    values = {name: comparison.row(name).values[0] for name in expected}
    assert values == pytest.approx(expected)
    degrees = [np.array([degree for _, degree in g.to_networkx().degree]) for g in (graph, other)]
    gap = np.abs(np.diff(degrees, axis=0)).mean() / degrees[0].mean()
    assert comparison.row("degree of a vertex").values[0] == pytest.approx(gap)
    assert list(comparison.degrees[1]) == list(degrees[1])


@pytest.mark.parametrize(
    ("kind", "present", "absent"),
    [
        ("undirected", "clustering, global", "total weight"),
        ("weighted", "clustering, mean local, weighted", "reciprocity"),
        ("weighted", "weights: earth mover's", "out-degree of a vertex"),
        ("directed", "reciprocity", "assortativity by degree"),
        ("directed", "largest in-degree", "leading eigenvalue"),
        ("bipartite", "clustering by squares", "clustering, global"),
        ("bipartite", "degree, right: earth mover's", "largest degree"),
    ],
)
def test_every_kind_of_graph_has_its_statistics(kind, present, absent):
    names = [row.statistic for row in gc.compare(KINDS[kind], KINDS[kind]).rows]
    assert present in names
    assert absent not in names
    assert len(set(names)) == len(names)


@pytest.mark.thorough(cases=1)
def test_everything_is_marked_as_not_private(compared):
    _, _, comparison = compared
    for text in (str(comparison), repr(comparison), comparison._repr_html_()):
        assert NOT_PRIVATE in text
        assert READS_TRUTH in text
    told = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert (told["mark"], told["warning"]) == (NOT_PRIVATE, READS_TRUTH)
    assert [row["real"] for row in told["rows"]] == [row.real for row in comparison.rows]
    figure = comparison.plot()
    assert figure.get_suptitle() == NOT_PRIVATE
    assert figure.get_figwidth() == COLUMN


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("ending", "start"), [("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")]
)
def test_pictures_for_papers_are_written(tmp_path, ending, start):
    """The same bytes each time, and never over a file that is there."""
    comparison = gc.compare(KINDS["undirected"], KINDS["undirected"])
    files = [tmp_path / f"{name}.{ending}" for name in "ab"]
    for file in files:
        comparison.plot(file)
    first, second = (file.read_bytes() for file in files)
    assert first == second
    assert first.startswith(start)
    with pytest.raises(FileFormatError, match="exists"):
        comparison.plot(files[0])
    with pytest.raises(FileFormatError, match=r"\.svg"):
        comparison.plot(tmp_path / "a.gif")


def test_the_picture_shows_the_errors_of_the_table(compared):
    _, _, comparison = compared
    _, errors = comparison.plot().axes
    names = [label.get_text() for label in errors.get_yticklabels()]
    for index, points in enumerate(errors.collections):
        for x, place in points.get_offsets():
            error = comparison.row(names[int(place)]).errors[index]
            assert float(x) == pytest.approx(max(error, 1e-3))


def test_frames_are_of_the_users_kind(compared):
    _, _, comparison = compared
    frame = comparison.to_frame("pandas")
    assert isinstance(frame, pd.DataFrame)
    names = ["topic", "statistic", "measure", "unit", "real", *comparison.graphs]
    assert list(frame.columns) == names
    assert list(frame["statistic"]) == [row.statistic for row in comparison.rows]
    polars = comparison.to_frame("polars")
    assert isinstance(polars, pl.DataFrame)
    for row, value in zip(comparison.rows, polars[EMPTY], strict=True):
        assert value == row.values[-1]


@pytest.mark.thorough
def test_several_graphs_and_names():
    graph = KINDS["undirected"]
    others = [changed_graph(graph, seed) for seed in range(6)]
    comparison = gc.compare(graph, others)
    assert comparison.synthetic == tuple(f"synthetic {k}" for k in range(1, 7))
    row = comparison.row("edges")
    assert row.values[:6] == tuple(float(len(other.rows)) for other in others)
    edges = next(line for line in str(comparison).splitlines() if line.startswith("edges"))
    mean = math.fsum(row.values[:6]) / 6
    shown = [f"{value:.3g}" for value in (row.real, mean, min(row.values[:6]))]
    assert edges.split()[1:4] == shown
    comparison.plot().draw_without_rendering()
    named = gc.compare(graph, {"one": others[0], "$two": others[1]})
    assert named.synthetic == ("one", "$two")
    assert named.row("edges").values[:2] == row.values[:2]
    named.plot().draw_without_rendering()


def test_graphs_of_other_libraries_and_orders():
    graph = KINDS["undirected"]
    network, other = graph.to_networkx(), changed_graph(graph)
    expected = gc.compare(graph, other).rows
    shuffled = nx.Graph()
    shuffled.add_nodes_from(reversed(list(network)))
    shuffled.add_edges_from(other.to_networkx().edges)
    in_another_order = gc.Graph.of(shuffled, vertices=list(shuffled))
    for synthetic in (shuffled, in_another_order, other.to_scipy(), other.to_frame("pandas")):
        assert gc.compare(graph, synthetic, seed=0).rows[5:] == expected[5:]
    assert gc.compare(network, other).rows[5:] == expected[5:]
    arcs = gc.compare(nx.DiGraph([(0, 1), (1, 2), (2, 0)]), nx.DiGraph([(0, 1), (1, 2)]))
    assert arcs.row("mean path length").values[0] is None  # no strongly connected pair
    release = gc.release_graph(graph, epsilon=1.0, seed=1)
    assert gc.compare(graph, release).rows == gc.compare(graph, release.graph).rows
    sides = KINDS["bipartite"]
    assert gc.compare(sides, sides.to_scipy(), seed=1).row("edges").values[0] == len(sides.rows)


@pytest.mark.parametrize(
    ("synthetic", "error", "message"),
    [
        (gc.Graph([], [], vertices=5), GraphError, "different vertices"),
        (gc.datasets.load("davis"), GraphError, "bipartite"),
        ([], GraphError, "at least one"),
        ({"real": KINDS["undirected"]}, ParameterError, "names"),
        ({CHUNG_LU: KINDS["undirected"]}, ParameterError, "names"),
        ({"1": KINDS["undirected"], 1: KINDS["undirected"]}, ParameterError, "names"),
    ],
)
def test_what_cannot_be_compared_is_refused(synthetic, error, message):
    with pytest.raises(error, match=message):
        gc.compare(KINDS["undirected"], synthetic)
    with pytest.raises(ParameterError, match="seed"):
        gc.compare(KINDS["undirected"], KINDS["undirected"], seed=-1)


def test_graphs_without_edges_and_small_ones():
    empty = gc.Graph([], [], vertices=4)
    comparison = gc.compare(empty, gc.Graph([0], [1], vertices=4))
    assert comparison.row("worst cut, at most").values[0] is None  # no weight to compare with
    assert comparison.row("edges").values == (1.0, 0.0, 0.0)
    str(comparison)
    comparison.plot().draw_without_rendering()
    gc.compare(gc.Graph([], [], vertices=1), gc.Graph([], [], vertices=1))


def test_what_is_sampled_is_said(monkeypatch):
    monkeypatch.setattr("graphcuts_dp.evaluation.graph_statistics._MOST_SOURCES", 30)
    graph = KINDS["undirected"]
    notes = " ".join(gc.compare(graph, graph, seed=7).notes)
    assert "sampled with seed 7: mean path length: real from 34 of 34 vertices" in notes
    assert "sampled" not in " ".join(gc.compare(KINDS["directed"], KINDS["directed"]).notes)
    assert "expected weights" in notes
    monkeypatch.setattr("graphcuts_dp.evaluation.comparison._MOST_ENTRIES", 10)
    drawn = gc.compare(graph, graph, seed=7)
    assert "expected weights" not in " ".join(drawn.notes)


def test_progress_is_told():
    said = []
    gc.compare(KINDS["undirected"], KINDS["undirected"], progress=lambda done, _: said.append(done))
    assert said == sorted(said)
    assert said[-1] == 1.0
