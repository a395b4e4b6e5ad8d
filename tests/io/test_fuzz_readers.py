"""Damaged and hostile files: every reader gives a graph or a one-line error, whatever it is fed."""

import gzip

import hypothesis.strategies as st
import numpy as np
import pytest
from helpers import read_flat
from hypothesis import HealthCheck, given, settings

import graphcuts_dp as gc
from graphcuts_dp import GraphCutsError, read_graph
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.io.files import FORMATS, read_vertices

SAME = (".konect", ".edgelist", ".txt", ".tsv", ".feather")  # as others, but for the name
ENDINGS = [ending for ending in FORMATS if ending not in SAME]
OPTIONS = (
    *({}, {"bipartite": True}, {"directed": True}),
    *({"weighted": True}, {"weighted": False, "vertices": 9}),
    {"weighted": False, "vertices": 9, "on_bad": "skip"},
)
# What has broken readers of others: huge numbers, odd digits, quotes, brackets, entities, blanks.
TOKENS = [
    *(b"9" * 5000, b"-1", b"1e400", b"nan", b"inf", b"0x10", b"1_000", b"+7", b"00"),
    *("٣".encode(), "\u2028".encode(), b"\xff\xfe", b"\x00", b"\xef\xbb\xbf", b"\r", b"\x1a"),
    *(b'"', b"'", b"[", b"]", b"<", b">", b"&lt;", b"&#0;", b"%", b"#", b"*", b",", b"\t", b"\n"),
    *(b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"*Vertices 99999999999", b"*Matrix", b"graph [", b"{"),
    *(b"<graph>", b'<data key="weight">', b"graphcuts-dp: {}", b'graphcuts-dp: {"vertices": []}'),
]


def seeds(ending, folder):
    """Valid files to start from: plain and bipartite, weighted and not, odd labels."""
    graphs = [
        gc.Graph.of([(0, 1), (1, 2), (0, 3)], vertices=5),
        gc.Graph.of([("a b", "ü"), ("ü", '"')], vertices=["a b", "ü", '"', "&"]),
        gc.Graph.of([(0, 1, 0.5), (1, 2, 3.0)], weighted=True, max_weight=4),
        gc.BipartiteGraph.of([("u", "x"), ("v", "x")]),
        gc.DirectedGraph.of([("u", "x"), ("x", "u")]),
    ]
    found = []
    for number, graph in enumerate(graphs):
        path = folder / f"seed{number}{ending}"
        try:
            graph.write(path, force=True)
        except GraphCutsError:
            continue  # some formats cannot hold some labels
        found.append(path.read_bytes())
    return found


@st.composite
def damaged(draw, files):
    """A valid file with some pieces cut, doubled, swapped or replaced by tokens."""
    data = draw(st.sampled_from(files))
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        piece = draw(
            st.one_of(
                st.just(b""),
                st.just(2 * data[start:end]),
                st.sampled_from(TOKENS),
                st.binary(max_size=8),
            )
        )
        data = data[:start] + piece + data[end:]
    return data


def check_reader(path, data, options):
    """A graph or an error of ours, in one line that does not go on for ever."""
    path.write_bytes(data)
    try:
        graph = read_flat(path, **options)
    except GraphCutsError as problem:
        text = str(problem)
        assert "\n" not in text
        assert len(text) < 400 + len(str(path))
    else:
        assert isinstance(graph, AnyGraph)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("examples", [80, pytest.param(5_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("ending", ENDINGS)
def test_readers_survive_damaged_files(ending, examples, tmp_path):
    files = seeds(ending, tmp_path)
    assert files
    counts = {"read": 0}

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(damaged(files), st.sampled_from(OPTIONS))
    def one(data, options):
        counts["read"] += 1
        check_reader(tmp_path / f"fuzz{ending}", data, options)

    one()
    assert counts["read"] >= examples * 0.9


@pytest.mark.thorough
@pytest.mark.parametrize("ending", [".edges.gz", ".npz"])
def test_small_files_that_unpack_to_far_too_much_are_refused(ending, tmp_path):
    path = tmp_path / f"bomb{ending}"
    if ending == ".npz":
        np.savez_compressed(path, data=np.zeros(10_000_000))
    else:
        with gzip.open(path, "wb") as stream:
            for _ in range(70):
                stream.write(b"1 2\n" * (1 << 18))
    with pytest.raises(GraphCutsError, match="unpacks to more than 64 MiB") as error:
        read_graph(path)
    assert str(path) in str(error.value)


def test_packed_files_of_several_members_are_read(tmp_path):
    path = tmp_path / "x.edges.gz"
    path.write_bytes(gzip.compress(b"1 2\n") + gzip.compress(b"2 3\n"))
    assert read_graph(path) == gc.Graph.of([(1, 2), (2, 3)])


@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(data=st.lists(st.sampled_from(TOKENS) | st.binary(max_size=9)).map(b"".join))
def test_any_bytes_are_a_vertex_set_or_an_error(data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "vertices.txt"
    path.write_bytes(data)
    try:
        vertices = read_vertices(path)
    except GraphCutsError as problem:
        vertices, message = [None], str(problem)
    else:
        message = ""
    assert len(vertices) >= 1
    assert "\n" not in message
