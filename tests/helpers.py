"""What tests of several folders need: made graphs, a clock that stands still."""

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

# Of tests whose graphs are so small, or whose numbers so coarse, that they take a large delta.
LARGE_DELTA = pytest.mark.filterwarnings("ignore:delta = :graphcuts_dp.errors.PrivacyWarning")


def covering(*axes, together=2):
    """Return parameters for all combinations of values, most of them marked as slow.

    The quick tests keep every value of every axis, and every pair of values of two axes if
    `together` is 2: they notice a mistake that takes one value, or two that meet.

    Args:
        axes: lists of values, each at least one long.
        together: how many values of different axes must meet in some quick test, 1 or 2.
    """
    listed = [list(values) for values in axes]
    places = list(itertools.product(*(range(len(values)) for values in listed)))
    meetings = {place: set(itertools.combinations(enumerate(place), together)) for place in places}
    missing, quick = set().union(*meetings.values()), set()
    while missing:
        best = max(places, key=lambda place: len(meetings[place] & missing))
        quick.add(best)
        missing -= meetings[best]
    return [
        pytest.param(
            *(values[index] for values, index in zip(listed, place, strict=True)),
            marks=[] if place in quick else [pytest.mark.slow],
        )
        for place in places
    ]


class StandingClock:
    """In place of `datetime` in a module: every moment is the same."""

    @staticmethod
    def now(zone):
        return datetime(2012, 3, 19, 12, tzinfo=zone)


def frieze_kannan(universe, *, rule="tight", disjoint=False, **terms):
    """The usual rule of cuts, tuned."""
    return FriezeKannanLearner(universe, disjoint, rule).construction(**terms)


def multiplicative_weights(universe, *, rule="tight", **terms):
    """Likewise."""
    return MultiplicativeWeightsLearner(universe, rule).construction(**terms)


def kind_of(graph):
    """The options with which such a graph is read, and its matrix asked."""
    return {
        "bipartite": isinstance(graph, BipartiteGraph),
        "directed": isinstance(graph, DirectedGraph),
    }


def random_graph(
    shape, seed=0, *, density=0.3, largest=None, whole=False, directed=False, **options
):
    """A graph of independent edges.

    Args:
        shape: a number of vertices, or (left, right) for a bipartite graph.
        seed: of numpy's generator.
        density: chance of an edge.
        largest: weights are uniform up to this; None for a graph without weights.
        whole: whether they are rounded up to whole numbers.
        directed: whether edges are arcs.
        options: of the graph.
    """
    rng = np.random.default_rng(seed)
    plain = isinstance(shape, int)
    dense = rng.random((shape, shape) if plain else shape) < density
    if directed:
        np.fill_diagonal(dense, 0)
    ends = np.nonzero(np.triu(dense, 1) if plain and not directed else dense)
    weights = None if largest is None else rng.random(len(ends[0])) * largest
    if whole and weights is not None:
        weights = np.ceil(weights)
    if plain:
        kind = DirectedGraph if directed else Graph
        return kind(*ends, weights, **{"vertices": shape, "max_weight_change": 1} | options)
    sides = {"left": shape[0], "right": shape[1], "max_weight_change": 1}
    return BipartiteGraph(*ends, weights, **sides | options)


def two_cliques(n, **options):
    """Two halves, each with all of its pairs: the cut between them is empty."""
    rows, columns = np.triu_indices(n, 1)
    kept = (rows < n // 2) == (columns < n // 2)
    return Graph(rows[kept], columns[kept], vertices=n, **options)


def cuts_of_halves(n, count, seed=0):
    """The first half and random ones, each from the rest."""
    S = np.random.default_rng(seed).random((count, n)) < 0.5
    S[0] = np.arange(n) < n // 2
    return gc.CutList.of_masks(Universe(n), S, ~S)


def expecting(terms, edges):
    """Terms of a session with a guess of the number of edges."""
    return replace(terms, workload=replace(terms.workload, expected_edges=edges))


_COLUMNS = {field.name for field in fields(gc.Columns)}


def _split(options):
    """The class of a graph, and options whose columns are together, of options written flat."""
    kind = kind_of_graph(
        bipartite=options.pop("bipartite", False), directed=options.pop("directed", False)
    )
    columns = {name: options.pop(name) for name in _COLUMNS & set(options)}
    return kind, options | ({"columns": gc.Columns(**columns)} if columns else {})


def read_flat(path, /, **options):
    """A graph of a file; which kind, and which columns, is told by options beside the others."""
    kind, options = _split(options)
    return kind.read(path, **options)


def make_flat(source, /, **options):
    """The same of something in memory."""
    kind, options = _split(options)
    return kind.of(source, **options)


def read_owned_flat(path, /, *, bipartite=False, directed=False, **options):
    """Rows with users of a file, likewise."""
    return gc.Rows.read(path, kind=word(bipartite, directed), **_counting(options))


def owned_flat(table, /, *, bipartite=False, directed=False, **options):
    """Rows with users of a table, likewise."""
    return gc.Rows.of(table, kind=word(bipartite, directed), **_counting(options))


def word(bipartite, directed):
    """The kind of rows by two truths."""
    return "bipartite" if bipartite else "directed" if directed else "undirected"


def _counting(options):
    return {"counting": "edges", **_split(options)[1]}
