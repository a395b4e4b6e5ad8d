"""Norms by brute force, and the noisy matrices that the theorems are tested on."""

import itertools

import numpy as np
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp.measure.entries import distribution_for, randomized_response
from graphcuts_dp.plugins import SeededEntropy

NOISES = ["binary", "laplace", "discrete-laplace", "staircase"]
KRIVINE = 1.7823  # Grothendieck's constant is at most pi/(2 ln(1+sqrt 2)) = 1.78222


def exact_cut_norm(matrix):
    """max over S, T of |M(S,T)|, by enumeration."""
    return gc.cut_norm(matrix, method="exact").lower


def exact_normalised_norm(matrix):
    """max over S, T of |M(S,T)|/sqrt(|S||T|): all S; for each size the best T is a prefix."""
    rows, columns = matrix.shape
    masks = np.array(list(itertools.product([0, 1], repeat=rows))[1:], dtype=float)
    sums = np.sort(masks @ matrix, axis=1)
    smallest = np.cumsum(sums, axis=1)
    largest = np.cumsum(sums[:, ::-1], axis=1)
    sizes = np.sqrt(masks.sum(axis=1)[:, None] * np.arange(1, columns + 1))
    return float((np.maximum(largest, -smallest) / sizes).max())


def spectral_norm(matrix):
    return float(np.linalg.norm(matrix, 2))


def truth_and_noisy(graph, noise, seed, epsilon=1.0):
    """A and z."""
    distribution = distribution_for(graph, noise, epsilon)
    return graph.dense(), randomized_response(graph, distribution, SeededEntropy(seed)).estimate()


def instances(noise, sizes, seeds, *, bipartite=4, densities=(0.0, 0.15, 0.5, 0.9)):
    """(A, z, symmetric) for each seed: graphs of all densities, some of them bipartite."""
    for seed in seeds:
        n, density = sizes[seed % len(sizes)], densities[seed // 2 % len(densities)]
        symmetric = (seed + 1) % bipartite != 0
        graph = random_graph(n if symmetric else (n, max(2, n - 3)), seed, density=density)
        yield *truth_and_noisy(graph, noise, seed, (0.3, 1.0, 2.5)[seed % 3]), symmetric
