"""LouvainDP and its block model as a contender."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy
from contender_runs import run
from helpers import random_graph

from graphcuts_dp.privacy.noise import SeededEntropy
from scripts.benchmark.contenders import louvain_dp
from scripts.benchmark.contenders.louvain_dp import LOUVAIN_DP, LouvainShares

GRAPH = random_graph(70, 5)


def test_the_shares_add_up():
    assert LouvainShares.of(Fraction(3, 7)).cost.pure == Fraction(3, 7)


def test_what_passes_has_the_law_of_noise_on_every_cell():
    """Of four cells with 0, 0, 1 and 3 edges: all that passes, cell by cell, against the law."""
    counts, threshold, runs = np.array([0, 0, 1, 3]), 2, 6000
    ratio, source = math.exp(-1.0), SeededEntropy(1)
    shown = np.array(
        [
            louvain_dp.passing_cells(counts, rate=Fraction(1), threshold=threshold, source=source)
            for _ in range(runs)
        ]
    )
    for cell, count in enumerate(counts):
        values = np.arange(threshold, 7)
        law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(values - count)
        chances = np.concatenate([law, [ratio ** (7 - count) / (1 + ratio)]])
        chances = np.concatenate([[1 - chances.sum()], chances])
        seen = [(shown[:, cell] == value).sum() for value in (0, *values)]
        seen.append(runs - sum(seen))
        assert scipy.stats.chisquare(seen, chances * runs).pvalue > 1e-7
    both = [((shown[:, 0] > 0) == a) & ((shown[:, 1] > 0) == b) for a in (0, 1) for b in (0, 1)]
    q = ratio**threshold / (1 + ratio)
    chances = np.array([(1 - q) ** 2, q * (1 - q), q * (1 - q), q**2])
    assert scipy.stats.chisquare([each.sum() for each in both], chances * runs).pvalue > 1e-7


@pytest.mark.parametrize(("filled", "cells"), [(0, 1), (1, 1), (50, 1000), (999, 1000), (-5, 10)])
def test_about_as_many_empty_cells_pass_as_there_are_filled_ones(filled, cells):
    rate = Fraction(1, 3)
    threshold = louvain_dp.filter_threshold(filled, cells, rate)
    taken = min(max(filled, 1), cells)

    def false(least):
        return (cells - taken) * math.exp(-least / 3) / (1 + math.exp(-1 / 3))

    assert threshold >= 1
    assert false(threshold) <= taken * (1 + 1e-9)
    assert threshold == 1 or false(threshold - 1) > taken * (1 - 1e-9)


def test_blocks_hold_the_edges_at_a_large_epsilon():
    communities = np.arange(70) % 3
    density = louvain_dp.block_densities(
        GRAPH, communities, rate=Fraction(50), source=SeededEntropy(2)
    )
    adjacency = GRAPH.dense()
    for a in range(3):
        for b in range(3):
            block = adjacency[communities == a][:, communities == b]
            pairs = block.size - (a == b) * len(block)
            assert density[a, b] == pytest.approx(block.sum() / pairs)


def test_the_matrix_has_about_the_edges_of_the_graph():
    """At most 15 cells of rate 25: one of them is off with probability below 30 e^-25."""
    matrix = run(LOUVAIN_DP, GRAPH, 50.0).estimate
    assert matrix.sum() / 2 == pytest.approx(len(GRAPH.rows), abs=2)
