"""Small graphs and lists of cuts, and their probabilities by enumeration."""

import itertools

import numpy as np
import scipy.stats

from graphcuts_dp.graph.adjacency import DirectedGraph, Graph
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe

FALSE_ALARM = 1e-7  # of each chi-square test, if its seed were drawn at random


def random_cuts(universe, count, seed, *, disjoint=False):
    rng = np.random.default_rng(seed)
    rows, columns = universe.shape
    S = rng.random((count, rows)) < 0.5
    T = rng.random((count, columns)) < 0.5
    return [CutQuery(s, t & ~s if disjoint else t) for s, t in zip(S, T, strict=True)]


def all_graphs(n, *, directed=False):
    """Every graph on n vertices as (edges as a bit vector, graph)."""
    rows, columns = Universe(n, directed=directed).pairs()
    kind = DirectedGraph if directed else Graph
    for bits in itertools.product((False, True), repeat=len(rows)):
        kept = np.array(bits, dtype=bool)
        yield bits, kind(rows[kept], columns[kept], vertices=n)


def disjoint_pairs(n):
    """All (S, T) with S and T disjoint, as truth vectors, 3^n of them."""
    for places in itertools.product((0, 1, 2), repeat=n):
        where = np.array(places)
        yield where == 1, where == 2


def check_frequencies(counts, probabilities):
    """Chi-square at FALSE_ALARM; rare outcomes are counted together."""
    counts, probabilities = np.asarray(counts, float), np.asarray(probabilities, float)
    expected = probabilities * counts.sum()
    rare = expected < 10
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 5:  # too few to count by themselves
        counts, expected = counts[:-1], expected[:-1]
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert statistic < scipy.stats.chi2.isf(FALSE_ALARM, len(counts)), statistic
