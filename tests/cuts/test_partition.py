"""The cut that a user gets: names, sets, files, and what it says of itself."""

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
def test_what_is_saved_is_read_back(name, seed, tmp_path):
    graph, terminals = CASES[name]
    made = gc.least_cut(graph, *terminals, epsilon=2.0, seed=seed)
    path = tmp_path / "parts.csv"
    assert [file.rsplit("/", 1)[1] for file in made.save(path)] == [
        "parts.csv",
        "parts.csv.arrays.npz",
        "parts.csv.json",
    ]
    again = gc.load(path)
    assert isinstance(again, gc.Partition)
    assert (again.space, again.names, again.shortfall) == (made.space, made.names, made.shortfall)
    assert again.guarantee == made.guarantee
    np.testing.assert_array_equal(again.codes, made.codes)
    assert (repr(again), again._repr_html_()) == (repr(made), made._repr_html_())
    assert ("not private" in repr(made)) == (seed is not None)
    with path.open(newline="") as handle:
        head, *rows = csv.reader(handle)
    assert head == ["vertex", "part"] + ["mark"] * (seed is not None)
    labels = [str(made.part_of(label)) for label in made.vertices.labels]
    assert [row[1] for row in rows] == labels
    path.write_text(path.read_text().replace("ann", "bob", 1))
    if name != "numbers":
        with pytest.raises(FileFormatError, match="is not the file that the receipt names"):
            gc.load(path)


def test_parts_are_sets_groups_and_names():
    graph, _ = CASES["names"]
    made = gc.least_cut(graph, "ann", ["kim", "42"], epsilon=40.0)
    S, T = made.parts
    assert (S, T) == (("ann",), ("bob", "eve, or so", "kim", "42")) or "bob" in S
    assert made.sizes == (len(S), len(T))
    assert {label for part in made.parts for label in part} == set(NAMES)
    assert made.part_of("42") == "kim"
    with pytest.raises(QueryError, match="unknown vertex 'joe'"):
        made.part_of("joe")
    assert made.names == ("ann", "kim")


def test_the_value_is_asked_by_itself():
    """By flows between the parts, or by the sets in a session."""
    graph = gc.datasets.load("karate")
    made = gc.least_cut(graph, 0, 33, epsilon=20.0)
    flows = gc.release_flows(graph, made.groups, epsilon=20.0)
    assert flows.between(0, 33).value == pytest.approx(gc.CutQuery(*made.parts).value(graph), abs=4)


def test_that_only_an_end_was_cut_off_is_said_of_the_output_alone(monkeypatch):
    """Whatever the graph is: the sentence follows from the parts."""
    graph, codes = CASES["names"][0], []
    # Trivial cuts weigh more, so that the noisy one is the lightest.
    weights = {"across": 0, "terminals": (9, 9), "between": 0}
    monkeypatch.setattr(
        least, "measure_cut", lambda *_, **__: MeasuredCut(codes=np.array(codes.pop()), **weights)
    )
    for given, alone in (
        ([0, 1, 1, 1, 1], ["Nothing but ann was cut off"]),
        ([0, 0, 0, 1, 1], ["Nothing but kim, 42 was cut off"]),
        ([0, 0, 1, 1, 1], []),
    ):
        codes.append(given)
        made = gc.least_cut(graph, "ann", ["kim", "42"], epsilon=1.0)
        assert [note[: len(told)] for note, told in zip(made.notes, alone, strict=True)] == alone
        assert all(note in made._repr_html_() for note in made.notes)


def test_the_pairs_of_the_audit_are_those_that_a_cut_can_have():
    assert pairs_of_four(directed=False) == ((0, 1), (0, 2), (1, 2), (1, 3), (2, 3))
    assert pairs_of_four(directed=True) == ((0, 1), (0, 2), (1, 2), (1, 3), (2, 1), (2, 3))


def test_a_cut_is_drawn_on_a_map():
    graph = gc.Graph.of([("ann", "bob"), ("bob", "eve"), ("kim", "joe")])
    made = gc.least_cut(graph, "ann", "kim", epsilon=5.0, seed=1)
    figure = made.plot({"ann": (0.0, 1.0), "bob": (1.0, 2.0), "kim": (3.0, 1.0)})
    (axes,) = figure.axes
    assert sum(len(each.get_offsets()) for each in axes.collections) == 3
    assert {text.get_text() for text in axes.texts} == {"ann", "bob", "kim"}
    assert axes.get_title(loc="left").startswith("least-cut of ann, kim (epsilon = 5")
    with pytest.raises(GraphError, match="no vertex has a position"):
        made.plot({"eva": (0.0, 0.0)})
    with pytest.raises(GraphError, match="no vertex has a position"):
        made.plot()
