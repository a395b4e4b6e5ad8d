"""Reading private data: no times as weights, no weights without a bound, no vertices from edges."""

import unicodedata

import pandas as pd
import pytest
from helpers import read_flat

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError, GraphError, ParameterError
from graphcuts_dp.session.session import session_of

TIMES = "Patient ID,Contacted Person,Time Stamp\n1,2,1597427261\n2,3,1597427999\n"
MARK = "not private in its vertex set"


@pytest.mark.parametrize("name", ["x.edges", "x.csv", "x.tsv", "x.txt", "out.x"])
def test_a_column_without_a_name_is_never_a_weight_unless_the_caller_says_so(put, name):
    separator = {"x.csv": ",", "x.tsv": "\t"}.get(name, " ")
    path = put(name, "1 2 1597427261\n2 3 1597427999\n".replace(" ", separator))
    none = {"header": False}
    for weighted in (None, True):
        with pytest.raises(FileFormatError, match="line 1: the third column has no name; pass wei"):
            read_flat(path, weighted=weighted, **none)
    assert read_flat(path, weighted=False, **none) == gc.Graph.of([(1, 2), (2, 3)])
    assert read_flat(path, weight=2, **none).weights.tolist() == [1597427261, 1597427999]


def test_a_column_with_an_unknown_name_is_ignored_with_a_note(put):
    notes = []
    graph = gc.read_graph(put("x.csv", TIMES), tell=notes.append)
    assert graph == gc.Graph.of([(1, 2), (2, 3)])
    # More than half of the names are usual ones, so the line is certain to name columns.
    names = "'Patient ID', 'Contacted Person'"
    assert notes == [f"Read as the endpoints of an edge: {names}; ignored: 'Time Stamp'."]


# ------------------------------------------------------------------ all kinds of releases


def session(method):
    def opened(graph, folder, **options):
        terms = {"epsilon": 40.0, "delta": 1e-6, "queries": 5, "method": method} | options
        with session_of(graph, store=folder / f"{method}.db", **terms) as made:
            return made

    return opened


def release(**options):
    return lambda g, _: gc.release_graph(g, epsilon=40.0, fit="none", **options)


def learnt(construction, queries=None):
    return lambda g, _: gc.release_iteratively(
        g, queries, epsilon=9.0, delta=1e-6, seed=0, construction=construction
    )


WEIGHTED = {
    "release": release(noise="laplace"),
    "release of whole numbers": release(noise="discrete-laplace"),
    "session, laplace": session("laplace"),
    "session, gaussian": session("gaussian"),
}
CUT = [gc.CutQuery(["a"], ["b"])]
CAPPED = {"multiplicative-weights:rounds=1": gc.Graph, "sensing": gc.BipartiteGraph}
PLAIN = {
    "release": release(),
    **{method: session(method) for method in ("gaussian", "binary", "multiplicative-weights")},
    "learnt": learnt("multiplicative-weights:rounds=1"),
    "net": learnt("net", CUT),
}


@pytest.mark.parametrize("construction", CAPPED)
def test_iterative_releases_and_sensing_need_a_maximum_weight(construction, tmp_path):
    heavy = CAPPED[construction].of([("a", "b", 7.0)], max_weight_change=1)
    with pytest.raises(ParameterError, match="max_weight"):
        learnt(construction, CUT)(heavy, tmp_path)


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
@pytest.mark.parametrize("kind", WEIGHTED)
def test_weights_need_a_maximum_or_a_largest_change_in_every_release(tmp_path, kind):
    def guarantee(folder, **options):
        edges = [("a", "b", 7.0), ("b", "c", 1.0)]
        folder.mkdir()
        graph = gc.Graph.of(edges, vertices=["a", "b", "c"], **options)
        return WEIGHTED[kind](graph, folder).guarantee.neighbours

    with pytest.raises(ParameterError, match=r"max_weight=.*weighted=False.*max_weight_change=1"):
        guarantee(tmp_path / "none")
    assert list((tmp_path / "none").iterdir()) == []
    neighbours = guarantee(tmp_path / "said", max_weight_change=1)
    assert neighbours.endswith("by at most 1; an edge that weighs more is not")
    assert "within 0 .. 7" in guarantee(tmp_path / "capped", max_weight=7)


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
@pytest.mark.parametrize("kind", PLAIN)
def test_vertices_from_edges_are_marked_in_every_guarantee(put, tmp_path, kind):
    path = put("x.csv", "source,target\na,b\nb,c\n")
    guarantee = PLAIN[kind](gc.read_graph(path), tmp_path).guarantee
    for text in (guarantee.public, str(guarantee), guarantee.to_dict()["public"]):
        assert MARK in text


def test_declared_and_listed_vertices_are_not_marked(put, tmp_path):
    pairs = [("a", "b"), ("b", "c")]
    path = put("x.csv", "source,target\na,b\nb,c\n")
    declarations = {"vertices": ["a", "b", "c"]}, {"public_vertices_from_file": True}
    listed = gc.Graph.of(gc.Graph.of(pairs).to_networkx())
    graphs = [*(read_flat(path, **options) for options in declarations), listed]
    for suffix in (".edges", ".csv", ".graphml", ".gml", ".net", ".mtx", ".npz"):
        listed.write(tmp_path / f"listed{suffix}")
        graphs.append(gc.read_graph(tmp_path / f"listed{suffix}"))
    graphs.append(gc.datasets.load("us-flights"))
    assert not any(graph.vertices.inferred for graph in graphs)
    for table in (pairs, pd.DataFrame(pairs, columns=["source", "target"])):
        assert gc.Graph.of(table).vertices.inferred
    guarantee = release()(gc.BipartiteGraph.of(pairs), tmp_path).guarantee
    assert guarantee.public == f"both vertex sets (taken from the edges: {MARK})"
    gc.release_graph(gc.Graph.of(pairs), epsilon=9.0, seed=0).save(tmp_path / "s.csv")
    assert MARK in (tmp_path / "s.csv.json").read_text()
    assert MARK in gc.Release.load(tmp_path / "s.csv").guarantee.public


# ------------------------------------------------------------------ labels


@pytest.mark.parametrize("size", [10**98, 2**63, 2**31])
def test_vertex_sets_above_31_bits_are_refused(size):
    for labels in (size, range(size), range(1, size + 2), range(0, -2 * size, -2)):
        with pytest.raises(GraphError, match=r"at most 2,147,483,647 vertices"):
            gc.VertexSet(labels)
    assert len(gc.VertexSet(2**31 - 1)) == 2**31 - 1


def test_one_name_in_two_unicode_spellings_is_refused_without_quoting_it(put):
    spellings = [unicodedata.normalize(form, "zoë") for form in ("NFC", "NFD")]
    path = put("x.csv", "source,target\n" + "".join(f"{name},b\n" for name in spellings))
    with pytest.raises(FileFormatError, match=r"two Unicode spellings.*NFC") as error:
        gc.read_graph(path)
    assert "zo" not in str(error.value)
    with pytest.raises(GraphError, match="two Unicode spellings"):
        gc.VertexSet(spellings)
    assert gc.VertexSet(["zoë", "zoé", "zoe"])
