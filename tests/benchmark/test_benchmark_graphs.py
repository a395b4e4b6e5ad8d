"""The graphs of the benchmark are the same on every machine, and are what their lines say."""

import gzip
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import ParameterError
from scripts.benchmark import made_graphs
from scripts.benchmark.graphs import CASES, DATA_VARIABLE, MADE, cases_of, find_cases

KINDS = {gc.Graph: "undirected", gc.DirectedGraph: "directed", gc.BipartiteGraph: "bipartite"}
SMALL = [case for case in CASES if case.vertices <= 20_000]
# Of rows, columns and weights: made without functions whose last digit differs between machines.
DIGESTS = json.loads((Path(__file__).parents[1] / "golden" / "benchmark_graphs.json").read_text())


def test_random_bits_are_those_of_splitmix64():
    """By the recurrence in whole numbers, without NumPy."""
    state, mask, found = (3 * 0xBF58476D1CE4E5B9) % 2**64, 2**64 - 1, []
    for _ in range(5):
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        found.append(((z ^ (z >> 31)) >> 11) * 2.0**-53)
    assert made_graphs.uniform(3, 5).tolist() == found
    assert made_graphs.uniform(3, (5, 1)).tolist() == [[each] for each in found]


@pytest.mark.parametrize("case", SMALL, ids=[case.name for case in SMALL])
def test_a_graph_is_what_its_line_says(case):
    graph = case.make()
    assert (KINDS[type(graph)], graph.weighted) == (case.kind, case.weighted)
    assert (graph.max_weight is not None) == case.bounded
    if not case.bounded:
        assert (graph.max_weight_change, graph.weights.min() >= 5) == (1, True)
    vertices = sum(graph.shape) if case.kind == "bipartite" else graph.shape[0]
    assert vertices == case.vertices
    assert len(graph.rows) > 0
    if case.groups is not None:
        groups = case.groups()
        assert groups.vertices == graph.vertices
        assert 2 <= len(groups.labels()) <= 64
    assert case.title
    assert case.licence


@pytest.mark.parametrize("case", MADE, ids=[case.name for case in MADE])
def test_made_graphs_are_the_same_for_ever(case):
    graph = case.make()
    parts = (graph.rows.astype("<i8"), graph.columns.astype("<i8"), graph.weights.astype("<f8"))
    digest = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
    assert digest[:16] == DIGESTS[case.name]


def test_there_are_enough_of_every_kind():
    levels = {len(case.groups().levels) for case in SMALL if case.groups is not None}
    assert levels == {1, 2, 3}
    assert len({case.name for case in CASES}) == len(CASES) >= 15
    assert {case.kind for case in CASES} == {"undirected", "directed", "bipartite"}
    assert {case.weighted for case in CASES} == {True, False}
    assert max(case.vertices for case in CASES) == 100_000
    assert 2 <= sum(case.quick for case in CASES) <= 4


def test_cases_are_found_by_name_or_beginning():
    def names(*typed):
        return [case.name for case in find_cases(typed)]

    assert find_cases() == CASES
    assert find_cases(quick=True) == tuple(case for case in CASES if case.quick)
    assert names("karate", "us-", "karate") == ["karate", "us-flights", "us-flights-weighted"]
    assert names("us-flights") == ["us-flights"]
    for name in ("nothing", ""):
        with pytest.raises(ParameterError, match="no graph of the benchmark"):
            find_cases([name])


def test_graphs_of_a_folder_are_added(tmp_path, monkeypatch):
    ends = np.random.default_rng(1).integers(0, 900, (6_000, 2))
    text = "".join(f"{a} {b}\n" for a, b in ends if a != b)
    (tmp_path / "polblogs.edges").write_text(text)  # another name
    assert list(cases_of(tmp_path)) == []
    (tmp_path / "polblogs.edges.gz").write_bytes(gzip.compress(text.encode()))
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    (case,) = find_cases(["polblogs"])
    graph = case.make()
    assert graph.shape == (600, 600) == (case.vertices, case.vertices)
    # The largest degrees: more edges than any other 600 of 900 would have on average.
    assert len(graph.rows) > 6_000 * (600 / 900) ** 2
