"""Helpers of tests in several folders: random graphs, combinations of cases, a fixed clock."""

import itertools
from dataclasses import fields, replace
from datetime import datetime

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.graph.adjacency import kind_of_graph
from graphcuts_dp.learn.learners import FriezeKannanLearner, MultiplicativeWeightsLearner
from graphcuts_dp.plugins import Universe

# For tests that need a large delta, since their graphs are small or their numbers coarse.
LARGE_DELTA = pytest.mark.filterwarnings("ignore:delta = :graphcuts_dp.errors.PrivacyWarning")


def covering(*axes, together=2):
    """Return parameters for all combinations of values, most of them marked as slow.

    The quick tests keep every value of every axis, and every pair of values of two axes if
    `together` is 2: they detect a mistake that needs one value, or two of different axes.

    Args:
        axes: lists of values, each at least one long.
        together: how many values of different axes must meet in some quick test, 1 or 2.
    """
    values_of_axes = [list(values) for values in axes]
    combinations = list(itertools.product(*(range(len(values)) for values in values_of_axes)))
    subsets_of = {
        combination: set(itertools.combinations(enumerate(combination), together))
        for combination in combinations
    }
    uncovered, quick = set().union(*subsets_of.values()), set()
    while uncovered:
        best = max(combinations, key=lambda combination: len(subsets_of[combination] & uncovered))
        quick.add(best)
        uncovered -= subsets_of[best]
    return [
        pytest.param(
            *(values[index] for values, index in zip(values_of_axes, combination, strict=True)),
            marks=[] if combination in quick else [pytest.mark.slow],
        )
        for combination in combinations
    ]


class StandingClock:
    """A replacement of `datetime` in a module: every moment is the same."""

    @staticmethod
    def now(zone):
        return datetime(2012, 3, 19, 12, tzinfo=zone)


def frieze_kannan(universe, *, rule="tight", disjoint=False, **terms):
    """Return the tuned construction of Frieze and Kannan, the usual one for cuts."""
    return FriezeKannanLearner(universe, disjoint, rule).construction(**terms)


def multiplicative_weights(universe, *, rule="tight", **terms):
    """Return the tuned construction of multiplicative weights."""
    return MultiplicativeWeightsLearner(universe, rule).construction(**terms)


def kind_of(graph):
    """Return the options that choose the kind of a graph in functions of tests."""
    return {
        "bipartite": isinstance(graph, BipartiteGraph),
        "directed": isinstance(graph, DirectedGraph),
    }


def random_graph(
    shape, seed=0, *, density=0.3, largest=None, whole=False, directed=False, **options
):
    """Return a random graph with independent edges.

    Args:
        shape: a number of vertices, or (left, right) for a bipartite graph.
        seed: of numpy's generator.
        density: chance of an edge.
        largest: maximum of uniform weights; None for a graph without weights.
        whole: whether weights are rounded up to whole numbers.
        directed: whether edges are arcs.
        options: of the graph.
    """
    rng = np.random.default_rng(seed)
    plain = isinstance(shape, int)
    dense = rng.random((shape, shape) if plain else shape) < density
    if directed:
        np.fill_diagonal(dense, 0)
    endpoints = np.nonzero(np.triu(dense, 1) if plain and not directed else dense)
    weights = None if largest is None else rng.random(len(endpoints[0])) * largest
    if whole and weights is not None:
        weights = np.ceil(weights)
    if plain:
        kind = DirectedGraph if directed else Graph
        return kind(*endpoints, weights, **{"vertices": shape, "max_weight_change": 1} | options)
    sides = {"left": shape[0], "right": shape[1], "max_weight_change": 1}
    return BipartiteGraph(*endpoints, weights, **sides | options)


def two_cliques(n, **options):
    """Return a graph of two complete halves; the cut between them is empty."""
    rows, columns = np.triu_indices(n, 1)
    is_inside = (rows < n // 2) == (columns < n // 2)
    return Graph(rows[is_inside], columns[is_inside], vertices=n, **options)


def cuts_of_halves(n, count, seed=0):
    """Return cuts of the first half and of random halves from all other vertices."""
    S = np.random.default_rng(seed).random((count, n)) < 0.5
    S[0] = np.arange(n) < n // 2
    return gc.CutList.of_masks(Universe(n), S, ~S)


def expecting(terms, edges):
    """Return terms of a session with an expected number of edges."""
    return replace(terms, workload=replace(terms.workload, expected_edges=edges))


_COLUMNS = {field.name for field in fields(gc.Columns)}


def _split(options):
    """Return the class of a graph, and its options with those of columns in one `gc.Columns`."""
    kind = kind_of_graph(
        bipartite=options.pop("bipartite", False), directed=options.pop("directed", False)
    )
    columns = {name: options.pop(name) for name in _COLUMNS & set(options)}
    return kind, options | ({"columns": gc.Columns(**columns)} if columns else {})


def read_flat(path, /, **options):
    """Read a graph; its kind and its columns are options like all others."""
    kind, options = _split(options)
    return kind.read(path, **options)


def make_flat(source, /, **options):
    """Make a graph of an object in memory, with the options of `read_flat`."""
    kind, options = _split(options)
    return kind.of(source, **options)


def read_owned_flat(path, /, *, bipartite=False, directed=False, **options):
    """Read rows with users, with the options of `read_flat`."""
    return gc.Rows.read(path, kind=word(bipartite, directed), **_counting(options))


def owned_flat(table, /, *, bipartite=False, directed=False, **options):
    """Make rows with users of a table in memory, with the options of `read_flat`."""
    return gc.Rows.of(table, kind=word(bipartite, directed), **_counting(options))


def word(bipartite, directed):
    """Return the name of a kind of rows."""
    return "bipartite" if bipartite else "directed" if directed else "undirected"


def _counting(options):
    return {"counting": "edges", **_split(options)[1]}
