"""Maps and people on them: distances, what a map is recognised as, places, and what is refused."""

import itertools
import math
from fractions import Fraction
from functools import partial

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphcuts_dp as gc
from graphcuts_dp import (
    BipartiteGraph,
    DirectedGraph,
    FileFormatError,
    GraphError,
    ParameterError,
    QueryError,
)
from graphcuts_dp.distances import Locations, Metric, answer_distances, plan_distances
from graphcuts_dp.distances.coordinate import CoordinateTask, tune_coordinate
from graphcuts_dp.distances.embeddings import bourgain_embedding, projection_embedding
from graphcuts_dp.distances.locations import DistanceQuery, all_distances

TREE = Metric([0, 1, 1], [1, 2, 3], [1.0, 2.0, 0.5], vertices=["a", "b", "c", "d"])


def random_tree(size, seed):
    random = np.random.default_rng(seed)
    parents = [int(random.integers(0, v)) for v in range(1, size)]
    return Metric(range(1, size), parents, random.uniform(0.5, 3.0, size - 1), vertices=size)


def random_map(size, seed):
    graph = nx.connected_watts_strogatz_graph(size, 4, 0.3, seed=seed)
    random = np.random.default_rng(seed)
    for u, v in graph.edges:
        graph[u][v]["weight"] = float(random.uniform(0.5, 3.0))
    return graph


@pytest.mark.parametrize("seed", range(3))
def test_distances_are_those_of_networkx(seed):
    graph = random_map(30, seed)
    metric = Metric.of(graph)
    expected = nx.floyd_warshall_numpy(graph)
    assert np.allclose(metric.matrix, expected)
    assert metric.diameter == pytest.approx(expected.max())
    assert np.allclose(metric.eccentricities, expected.max(axis=1))
    assert metric.kind == "graph"
    weights = np.random.default_rng(seed).normal(size=30)
    assert np.allclose(metric.weighted_sums(weights), expected @ weights)


@given(st.integers(1, 40), st.integers(0, 1000))
def test_sums_on_trees_are_those_of_all_distances(size, seed):
    metric = random_tree(size, seed)
    weights = np.random.default_rng(seed).normal(size=size)
    assert metric.kind in ("tree", "path")
    assert np.allclose(metric.weighted_sums(weights), metric.matrix @ weights)
    assert metric.diameter == pytest.approx(metric.matrix.max())
    assert np.allclose(metric.eccentricities, metric.matrix.max(axis=1))


def coordinate_distances(metric):
    points = metric.l1_coordinates
    return np.abs(points[:, None] - points[None]).sum(axis=2)


def test_paths_and_grids_are_recognised():
    shuffled = Metric([2, 0, 3], [0, 3, 1], [1.0, 2.0, 4.0], vertices="abcd")
    assert shuffled.kind == "path"
    assert shuffled.matrix[2, 1] == 7
    for metric in (shuffled, Metric.path(1), Metric.path(5), Metric.grid(3, 4)):
        assert np.allclose(coordinate_distances(metric), metric.matrix)
    assert Metric.grid(3, 4).kind == "grid"
    assert Metric.path(3, [1.0, 0.5]).diameter == 1.5


def test_grids_with_uneven_lengths_or_missing_edges():
    grid = nx.grid_2d_graph(3, 4)
    gaps = {0: 2.0, 1: 0.5, 2: 4.0}
    for (i, j), (k, m) in grid.edges:
        grid[i, j][k, m]["weight"] = gaps[min(j, m)] if i == k else 1.5
    for i, j in grid.nodes:
        grid.nodes[i, j].update(x=10.0 * i, y=3.0 * j)
    named = nx.relabel_nodes(grid, {(i, j): f"{i},{j}" for i, j in grid.nodes})
    metric = Metric.of(named)
    assert metric.kind == "grid"
    assert np.allclose(coordinate_distances(metric), metric.matrix)
    named["0,0"]["0,1"]["weight"] = 9.0
    assert Metric.of(named).kind == "graph"
    named.remove_edge("0,0", "0,1")
    assert Metric.of(named).kind == "graph"


def test_labels_of_points_may_be_an_array():
    metric = Metric.of_points([[0, 0], [3, 4]], vertices=np.array(["a", "b"]))
    assert metric.vertices.labels == ("a", "b")


def test_all_kinds_of_graphs_are_maps():
    edges = [("a", "b", 2.0), ("b", "c", 1.0), ("a", "c", 9.0)]
    plain = nx.Graph()
    plain.add_weighted_edges_from(edges)
    nx.set_node_attributes(plain, {v: {"lon": i, "lat": 2 * i} for i, v in enumerate("abc")})
    drawn = Metric.of(plain)
    packed = igraph.Graph.TupleList(edges, weights=True)
    for metric in (drawn, Metric.of(packed), Metric.of(gc.Graph.of(edges)), Metric.of(drawn)):
        assert metric.distances_from([metric.row("a")])[0, metric.row("c")] == 3
    assert drawn.coordinates.tolist() == [[0, 0], [1, 2], [2, 4]]
    assert Metric.of(packed).coordinates is None
    assert Metric.of(igraph.Graph.Ring(4)).diameter == 2


def test_parallel_edges_count_by_their_shortest():
    metric = Metric([0, 1, 0, 1], [1, 0, 1, 1], [3.0, 2.0, 5.0, 1.0], vertices=2)
    assert metric.diameter == 2


# People


def test_labels_counts_and_files_agree(tmp_path):
    expected = [2, 0, 1, 0]
    files = {
        "lines.txt": "a\nc\n a \n\n",
        "people.csv": "vertex\na\nc\na\n",
        "counts.csv": "people,place\n2,a\n1,c\n\n",
        "other.csv": "place;age\na;30\n a ;40\nc;50",
        "tabs.tsv": "age\tlocation\n1\ta\n2\ta\n3\tc\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.write_text(text)
        assert Locations.read(TREE, path).counts.tolist() == expected
    same = Locations(TREE, expected)
    for people in (["a", "c", "a"], {"c": 1, "a": 2}, path, str(path), same):
        assert Locations.of(TREE, people).counts.tolist() == expected
    numbered = tmp_path / "numbers.txt"
    numbered.write_text("2\n0\n0\n")
    assert Locations.read(Metric.path(3), numbered).counts.tolist() == [2, 0, 1]


def test_tables_and_files_prefer_the_same_columns(tmp_path):
    columns = {"label": ["b", "b"], "vertex": ["a", "c"], "count": [7, 7], "people": [2, 1]}
    frame = pd.DataFrame(columns)
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    for people in (frame, path):
        assert Locations.of(TREE, people).counts.tolist() == [2, 0, 1, 0]


def test_only_the_number_of_people_is_told():
    here, there = (Locations(TREE, counts) for counts in ([3, 0, 0, 0], [0, 0, 1, 2]))
    assert repr(here) == repr(there) == "Locations(people=3, Metric(tree, vertices=4))"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("vertex\na\nsecret\n", "line 3: not a vertex"),
        ("secret\na\n", "names no column vertex; write vertex above"),
        ("", "the file is empty"),
        ("vertex,people\na,0\n", "no people"),
        ("vertex,people\na,1.5\n", "line 2: the number of people"),
        ("vertex,people\na,-1\n", "line 2"),
        ("vertex,people\na\n", "line 2"),
        ('vertex\n"a\na"\n', "line 2: malformed row: check its quotes"),
    ],
)
def test_bad_files_are_refused_without_quoting_them(tmp_path, text, message):
    path = tmp_path / "people.csv"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=message) as error:
        Locations.read(TREE, path)
    assert "secret" not in str(error.value)
    assert "\n" not in str(error.value)


def test_values_are_averages_of_distances():
    locations = Locations(TREE, [2, 0, 1, 1])
    expected = TREE.matrix @ [2, 0, 1, 1] / 4
    values = [DistanceQuery(v).value(locations) for v in "abcd"]
    assert np.allclose(values, expected)
    assert np.allclose(all_distances(locations), expected)


def test_sensitivities_are_the_largest_changes_of_all_replacements():
    people = 3
    for vertex in "abcd":
        changes = [
            abs(
                DistanceQuery(vertex).value(Locations(TREE, first))
                - DistanceQuery(vertex).value(Locations(TREE, second))
            )
            for first, second in neighbours(people)
        ]
        exact = DistanceQuery(vertex).sensitivity(TREE, people=people)
        assert exact == pytest.approx(max(changes))
    largest = max(DistanceQuery(v).sensitivity(TREE, people=people) for v in "abcd")
    assert largest == pytest.approx(TREE.diameter / people)


def neighbours(people):
    """All pairs of locations in which one person is elsewhere."""
    for rest in itertools.combinations_with_replacement(range(4), people - 1):
        for x, y in itertools.permutations(range(4), 2):
            yield tuple(np.bincount([*rest, place], minlength=4) for place in (x, y))


# What is refused

PATH = Metric.path(3)
PEOPLE = Locations(PATH, [3, 0, 1])
POINTS = np.random.default_rng(3).uniform(size=(16, 2))
answered = partial(answer_distances, PATH, PEOPLE)
labelled = partial(Locations.from_labels, PATH)
counted = partial(Locations.from_counts, PATH)
points = Metric.of_points
two = partial(Metric, vertices=2)
RING = nx.cycle_graph(4)
nx.set_edge_attributes(RING, {edge: float(edge != (0, 1)) for edge in RING.edges}, "weight")

NO_MAPS = (
    "map.csv",
    DirectedGraph([0, 1], [1, 2], vertices=3),
    BipartiteGraph([0, 0], [0, 1], left=1, right=2),
)
# A pair on a straight line across the direction of the only projection.
TURNED = np.random.default_rng(4).standard_normal((2, 1))
ACROSS = np.array([[0.0, 0.0], [TURNED[1, 0], -TURNED[0, 0]], [1.0, 1.0]])
projected = partial(projection_embedding, ACROSS, public_seed=4)
bourgain = partial(bourgain_embedding, PATH, public_seed=1)
tuned = partial(tune_coordinate, budget=Fraction(1, 10**8), pure=True, beta=0.1)

REFUSED = [
    (partial(answered, epsilon=0.0), ParameterError, "epsilon"),
    (partial(answered, epsilon=1.0, delta=1.0), ParameterError, "delta must be"),
    (partial(answered, epsilon=1.0, confidence=1.0), ParameterError, "confidence must be"),
    (partial(answered, epsilon=1.0, confidence=1e-17), ParameterError, "confidence must be"),
    (partial(answered, epsilon=1.0, mechanism="magic"), ParameterError, "unknown mechanism"),
    (partial(answered, epsilon=1.0, noise="uniform"), ParameterError, "unknown noise"),
    (partial(answered, epsilon=1.0, noise="gaussian"), ParameterError, "needs a delta"),
    (partial(answered, epsilon=1.0, seed=-1), ParameterError, "seed"),
    (partial(plan_distances, PATH, people=0, epsilon=1.0), ParameterError, "number of people"),
    (partial(Metric.of, nx.Graph([(0, 1), (2, 3)])), GraphError, "2 parts"),
    *(
        (partial(Metric.of, ring), GraphError, "positive")  # a length of 0 is not left out
        for ring in (RING, igraph.Graph.from_networkx(RING))
    ),
    (partial(Metric.grid, True, 4), ParameterError, "at least one row"),
    (partial(plan_distances, Metric.path(1), people=1, epsilon=1.0), ParameterError, "least two"),
    (partial(Locations.of, Metric.path(5), PEOPLE), QueryError, "another map"),
    (partial(Locations.of, PATH, 7), ParameterError, "locations are"),
    (partial(labelled, [0, "secret"]), QueryError, "location 2 .counted from 1."),
    (partial(counted, {0: 1, "secret": 1}), QueryError, "location 2 .counted from 1."),
    (partial(counted, {0: -1}), QueryError, "whole numbers"),
    (partial(counted, {}), QueryError, "no people"),
    *(
        (partial(counted, {0: [1], 1: more}), QueryError, "list of whole numbers")
        for more in ([1], [1, 2])
    ),
    (partial(Locations, PATH, []), QueryError, "each of the 3 vertices"),
    (partial(Locations, PATH, [2**40, 1, 0]), QueryError, "more than 2.40"),
    (partial(labelled, []), QueryError, "no people"),
    (partial(Locations, PATH, [1, 2]), QueryError, "each of the 3 vertices"),
    (partial(Locations, PATH, [0, 0, 0]), QueryError, "no people"),
    (partial(Locations, PATH, [1, -1, 1]), QueryError, "whole numbers"),
    (partial(Locations, PATH, [0.5, 1, 1]), QueryError, "whole numbers"),
    (partial(Locations, PATH, [2**41, 0, 0]), QueryError, "whole numbers"),
    (partial(DistanceQuery(9).value, PEOPLE), QueryError, "unknown vertex"),
    *(
        (partial(DistanceQuery(0).sensitivity, PATH, people=people), ParameterError, "2.40")
        for people in (0, True, 1.5, 2**41)
    ),
    *((partial(two, [0], [1], [x]), GraphError, "positive") for x in (-1, 0, math.nan, math.inf)),
    (partial(two, [0], [2], [1.0]), GraphError, "outside its vertex set"),
    *(
        (partial(two, [row], [1], [1.0]), GraphError, "row numbers")  # 0.7 is not rounded to 0
        for row in (math.nan, 0.7, "0", [0, [1]])
    ),
    (partial(two, [0, 1], [1], [1.0]), GraphError, "same length"),
    (partial(two, [], [], []), GraphError, "2 parts"),
    (partial(two, [0], [1], [1], coordinates=[[0, 0], [1, np.nan]]), GraphError, "coordinates"),
    (partial(Metric.path, 2, ["far"]), GraphError, "not a number"),
    (partial(Metric.path, 3, [1.0]), GraphError, "same length"),
    (partial(PATH.row, 3), QueryError, "3 vertices"),
    (partial(Metric.grid, 0, 3), ParameterError, "at least one row"),
    (partial(Metric.grid, 2.5, 3), ParameterError, "at least one row"),
    *((partial(Metric.of, source), ParameterError, "an undirected Graph") for source in NO_MAPS),
    *((partial(points, POINTS, p=p), ParameterError, "1 to 2") for p in (0.9, 2.1, True, math.nan)),
    (partial(points, [[0, 0], [0, 0]]), ParameterError, "the same"),
    (partial(points, [[0, math.inf]]), ParameterError, "finite"),
    (partial(points, [1, 2]), ParameterError, "shape"),
    (partial(points, np.arange(2049)[:, None]), ParameterError, "at most 2,048"),
    (partial(points, [["x"]]), GraphError, "not a number"),
    (partial(points, POINTS, vertices=15), GraphError, "one label for each"),
    (partial(projected, dimensions=2**27), ParameterError, "too large"),
    (partial(bourgain, repetitions=2**26), ParameterError, "too large"),
    (partial(projected, dimensions=1), ParameterError, "one point"),
    (partial(CoordinateTask, 2**30, 2**29, 1, 1), ParameterError, "larger unit"),
    (partial(tuned, CoordinateTask(2**40, 2, 10, 10)), ParameterError, "64 bits"),
]


@pytest.mark.parametrize(("make", "error", "message"), REFUSED)
def test_what_will_not_do_is_refused(make, error, message):
    with pytest.raises(error, match=message) as told:
        make()
    assert "secret" not in str(told.value)
    assert "\n" not in str(told.value)
