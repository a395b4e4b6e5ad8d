"""Graphs with blocks, and noisy data of them as fits see it."""

from fractions import Fraction

import numpy as np

from graphcuts_dp import BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.estimate.blocks import Blocks
from graphcuts_dp.measure.entries import distribution_for, randomized_response
from graphcuts_dp.measure.statistics import measure_degrees
from graphcuts_dp.plugins import FitProblem, SeededEntropy
from graphcuts_dp.synth.spectrum import find_spectrum, structure_along


def indicators(sizes):
    """0/1 columns of consecutive groups."""
    return np.repeat(np.eye(len(sizes)), sizes, axis=0)


def matrix_problem(noisy, symmetric, cap=1.0):
    """The problem of a plain matrix of estimates."""
    return FitProblem(Blocks.from_matrix(noisy, symmetric=symmetric), cap)


def planted(sizes, inside, between, seed=0):
    """A graph of consecutive blocks, and its expected matrix (diagonal included)."""
    groups = indicators(sizes)
    k = len(sizes)
    expected = groups @ (between + (inside - between) * np.eye(k)) @ groups.T
    n = len(groups)
    chosen = np.triu(np.random.default_rng(seed).random((n, n)) < expected, 1)
    return Graph(*np.nonzero(chosen), vertices=n), expected


def planted_directed(sizes, forth, back, elsewhere, seed=0):
    """Blocks in a row: many arcs from each to the next, others back, and elsewhere."""
    k = len(sizes)
    core = np.full((k, k), elsewhere) + (forth - elsewhere) * np.eye(k, k=1)
    core += (back - elsewhere) * np.eye(k, k=-1)
    expected = indicators(sizes) @ core @ indicators(sizes).T
    chosen = np.random.default_rng(seed).random(expected.shape) < expected
    return DirectedGraph(*np.nonzero(chosen), vertices=len(expected)), expected


def planted_bipartite(left, right, inside, between, seed=0):
    """Likewise, with group i on the left near group i on the right."""
    k = len(left)
    core = between + (inside - between) * np.eye(k)
    expected = indicators(left) @ core @ indicators(right).T
    chosen = np.random.default_rng(seed).random(expected.shape) < expected
    ends = np.nonzero(chosen)
    return BipartiteGraph(*ends, left=expected.shape[0], right=expected.shape[1]), expected


def problem(graph, *, epsilon=1.0, noise="binary", degrees=None, seed=0):
    """Noisy entries, and noisy degrees at another epsilon if one is given."""
    source = SeededEntropy(seed)
    distribution = distribution_for(graph, noise, epsilon)
    noisy_degrees = None
    if degrees is not None:
        noisy_degrees = measure_degrees(
            graph, distribution, epsilon=Fraction(degrees), source=source
        )
    noisy = randomized_response(graph, distribution, source)
    return FitProblem(noisy.blocks, graph.max_weight, noisy_degrees)


def gaussian(shape, *, symmetric, deviation=1.0, signal=0.0, seed=0):
    """Blocks of a plain matrix: Gaussian noise on a signal."""
    noise = np.random.default_rng(seed).normal(0, deviation, shape)
    if symmetric:
        noise = np.triu(noise, 1) + np.triu(noise, 1).T
    matrix = noise + signal
    if symmetric:
        np.fill_diagonal(matrix, 0.0)
    return Blocks.from_matrix(matrix, symmetric=symmetric)


def spectral_structure(view):
    """Structure from the spectrum alone: what sharpening starts from."""
    return structure_along(find_spectrum(view))
