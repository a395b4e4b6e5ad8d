"""What is refused of maps, people and numbers: each mistake is told in a line, without a label."""

import math
from functools import partial

import igraph
import networkx as nx
import numpy as np
import pytest

from graphcuts_dp.distances import Locations, Metric, answer_distances, plan_distances
from graphcuts_dp.distances.locations import DistanceQuery
from graphcuts_dp.errors import GraphError, ParameterError, QueryError
from graphcuts_dp.graph.adjacency import BipartiteGraph, DirectedGraph

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

REFUSED = [
    (partial(answered, epsilon=0.0), ParameterError, "epsilon"),
    (partial(answered, epsilon=-1.0), ParameterError, "epsilon"),
    (partial(answered, epsilon=math.nan), ParameterError, "epsilon"),
    (partial(answered, epsilon=1.0, delta=1.0), ParameterError, "delta must be"),
    (partial(answered, epsilon=1.0, delta=math.nan), ParameterError, "delta must be"),
    (partial(answered, epsilon=1.0, delta="none"), ParameterError, "delta must be"),
    (partial(answered, epsilon=1.0, confidence=1.0), ParameterError, "confidence must be"),
    (partial(answered, epsilon=1.0, confidence=None), ParameterError, "confidence must be"),
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
    (
        partial(plan_distances, Metric.path(1), people=1, epsilon=1.0),
        ParameterError,
        "at least two",
    ),
    (partial(Locations.of, Metric.path(5), PEOPLE), QueryError, "another map"),
    (partial(Locations.of, PATH, 7), ParameterError, "locations are"),
    (partial(labelled, [0, "secret"]), QueryError, "location 2 .counted from 1."),
    (partial(counted, {0: 1, "secret": 1}), QueryError, "location 2 .counted from 1."),
    (partial(counted, {0: -1}), QueryError, "whole numbers"),
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
    (partial(two, [math.nan], [1], [1.0]), GraphError, "row numbers"),
    (partial(two, [0, 1], [1], [1.0]), GraphError, "same length"),
    (partial(two, [], [], []), GraphError, "2 parts"),
    (partial(two, [0], [1], [1], coordinates=[[0, 0], [1, np.nan]]), GraphError, "coordinates"),
    (partial(Metric.path, 2, ["far"]), GraphError, "not a number"),
    (partial(Metric.path, 3, [1.0]), GraphError, "same length"),
    (partial(PATH.row, 3), QueryError, "3 vertices"),
    (partial(Metric.grid, 0, 3), ParameterError, "at least one row"),
    (partial(Metric.grid, 2.5, 3), ParameterError, "at least one row"),
    *(
        (partial(Metric.of, source), ParameterError, "an undirected Graph")
        for source in (
            "map.csv",
            DirectedGraph([0, 1], [1, 2], vertices=3),
            BipartiteGraph([0, 0], [0, 1], left=1, right=2),
        )
    ),
    *((partial(points, POINTS, p=p), ParameterError, "1 to 2") for p in (0.9, 2.1, True, math.nan)),
    (partial(points, [[0, 0], [0, 0]]), ParameterError, "the same"),
    (partial(points, [[0, math.inf]]), ParameterError, "finite"),
    (partial(points, [1, 2]), ParameterError, "shape"),
    (partial(points, np.arange(2049)[:, None]), ParameterError, "at most 2,048"),
    (partial(points, [["x"]]), GraphError, "not a number"),
    (partial(points, POINTS, vertices=15), GraphError, "one label for each"),
]


@pytest.mark.parametrize(("make", "error", "message"), REFUSED)
def test_what_will_not_do_is_refused(make, error, message):
    with pytest.raises(error, match=message) as told:
        make()
    assert "secret" not in str(told.value)
    assert "\n" not in str(told.value)
