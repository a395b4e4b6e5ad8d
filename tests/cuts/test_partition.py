"""`Partition`, the result of a least cut: its names, sets, files and notes."""

import csv

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError, GraphError, QueryError
from graphcuts_dp.cuts import least
from graphcuts_dp.cuts.weights import MeasuredCut
from tests.audits.cuts import pairs_of_four

NAMES = ["ann", "bob", "eve, or so", "kim", "42"]
CASES = {
    "names": (gc.Graph([0, 1, 3], [1, 2, 4], vertices=NAMES), ("ann", "kim")),
    "numbers": (gc.Graph([0, 1, 3], [1, 2, 4], vertices=5), (0, [3, 4])),
    "arcs": (gc.DirectedGraph([0, 1, 3], [1, 2, 4], vertices=NAMES), (["kim", "42"], "ann")),
    "several": (gc.Graph([0, 1, 3], [1, 2, 4], vertices=NAMES), ("ann", "kim", "42")),
}


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("name", CASES)
def test_a_saved_partition_is_loaded_unchanged_and_a_changed_file_is_refused(name, seed, tmp_path):
    graph, terminals = CASES[name]
    partition = gc.least_cut(graph, *terminals, epsilon=2.0, seed=seed)
    path = tmp_path / "parts.csv"
    assert [file.rsplit("/", 1)[1] for file in partition.save(path)] == [
        "parts.csv",
        "parts.csv.arrays.npz",
        "parts.csv.json",
    ]
    loaded = gc.load(path)
    assert isinstance(loaded, gc.Partition)
    assert (loaded.space, loaded.names, loaded.shortfall) == (
        partition.space,
        partition.names,
        partition.shortfall,
    )
    assert loaded.guarantee == partition.guarantee
    np.testing.assert_array_equal(loaded.codes, partition.codes)
    assert (repr(loaded), loaded._repr_html_()) == (repr(partition), partition._repr_html_())
    assert ("not private" in repr(partition)) == (seed is not None)
    with path.open(newline="") as handle:
        heading, *rows = csv.reader(handle)
    assert heading == ["vertex", "part"] + ["mark"] * (seed is not None)
    labels = [str(partition.part_of(label)) for label in partition.vertices.labels]
    assert [row[1] for row in rows] == labels
    path.write_text(path.read_text().replace("ann", "bob", 1))
    if name != "numbers":
        with pytest.raises(FileFormatError, match="is not the file that the receipt names"):
            gc.load(path)


def test_parts_are_sets_groups_and_names():
    graph, _ = CASES["names"]
    partition = gc.least_cut(graph, "ann", ["kim", "42"], epsilon=40.0)
    S, T = partition.parts
    assert (S, T) == (("ann",), ("bob", "eve, or so", "kim", "42")) or "bob" in S
    assert partition.sizes == (len(S), len(T))
    assert {label for part in partition.parts for label in part} == set(NAMES)
    assert partition.part_of("42") == "kim"
    with pytest.raises(QueryError, match="unknown vertex 'joe'"):
        partition.part_of("joe")
    assert partition.names == ("ann", "kim")


def test_the_weight_of_the_cut_is_released_as_a_flow_between_its_parts():
    graph = gc.datasets.load("karate")
    partition = gc.least_cut(graph, 0, 33, epsilon=20.0)
    flows = gc.release_flows(graph, partition.groups, epsilon=20.0)
    assert flows.between(0, 33).value == pytest.approx(
        gc.CutQuery(*partition.parts).value(graph), abs=4
    )


def test_a_note_about_a_part_of_terminals_alone_follows_from_the_output(monkeypatch):
    """On one graph with three outputs: a note that read the graph would be a leak."""
    graph, outputs = CASES["names"][0], []
    # Trivial cuts weigh more, so that the noisy one is the lightest.
    weights = {"across": 0, "terminals": (9, 9), "between": 0}
    monkeypatch.setattr(
        least, "measure_cut", lambda *_, **__: MeasuredCut(codes=np.array(outputs.pop()), **weights)
    )
    for codes, beginnings in (
        ([0, 1, 1, 1, 1], ["Nothing but ann was cut off"]),
        ([0, 0, 0, 1, 1], ["Nothing but kim, 42 was cut off"]),
        ([0, 0, 1, 1, 1], []),
    ):
        outputs.append(codes)
        partition = gc.least_cut(graph, "ann", ["kim", "42"], epsilon=1.0)
        assert len(partition.notes) == len(beginnings)
        assert all(map(str.startswith, partition.notes, beginnings))
        assert all(note in partition._repr_html_() for note in partition.notes)


def test_the_pairs_of_the_audit_are_those_that_a_cut_can_have():
    assert pairs_of_four(directed=False) == ((0, 1), (0, 2), (1, 2), (1, 3), (2, 3))
    assert pairs_of_four(directed=True) == ((0, 1), (0, 2), (1, 2), (1, 3), (2, 1), (2, 3))


def test_a_cut_is_drawn_on_a_map():
    graph = gc.Graph.of([("ann", "bob"), ("bob", "eve"), ("kim", "joe")])
    partition = gc.least_cut(graph, "ann", "kim", epsilon=5.0, seed=1)
    figure = partition.plot({"ann": (0.0, 1.0), "bob": (1.0, 2.0), "kim": (3.0, 1.0)})
    (axes,) = figure.axes
    assert sum(len(markers.get_offsets()) for markers in axes.collections) == 3
    assert {text.get_text() for text in axes.texts} == {"ann", "bob", "kim"}
    assert axes.get_title(loc="left").startswith("least-cut of ann, kim (epsilon = 5")
    with pytest.raises(GraphError, match="no vertex has a position"):
        partition.plot({"eva": (0.0, 0.0)})
    with pytest.raises(GraphError, match="no vertex has a position"):
        partition.plot()
