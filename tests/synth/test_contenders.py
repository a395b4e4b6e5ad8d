"""Blocks near the threshold: a block model finds what the spectrum merges."""

import math

import numpy as np
import pytest
from noisy_cases import gaussian, planted_directed, problem

from graphcuts_dp.deadline import Deadline
from graphcuts_dp.estimate.blocks import Blocks
from graphcuts_dp.synth import credible_sums
from graphcuts_dp.synth.block_model import fit_blocks
from graphcuts_dp.synth.credible_sums import best_structure, explained
from graphcuts_dp.synth.message_passing import sharpened_structure
from graphcuts_dp.synth.structure import View, largest_triples


def planted_noise(sizes, signal, seed=0):
    """Blocks whose entries are `signal` above those between them, unit noise."""
    block = np.repeat(np.arange(len(sizes)), sizes)
    expected = signal * ((block[:, None] == block) - 1 / len(sizes))
    return View(gaussian(expected.shape, symmetric=True, signal=expected, seed=seed)), block


def matrix_of(structure):
    return (structure.left * structure.sizes) @ structure.right.T


def error_of_blocks(structure, block, signal):
    """Mean error of the means of pairs of different blocks."""
    x, k = matrix_of(structure), block.max() + 1
    means = [x[np.ix_(block == a, block == b)].mean() for a in range(k) for b in range(a)]
    return float(np.abs(np.array(means) + signal / k).mean())


@pytest.mark.parametrize("seed", range(4))
def test_blocks_near_the_edge_are_told_apart(seed):
    """Four blocks of 100 whose eigenvalue is 1.7 times sqrt(n)."""
    signal = 1.7 * 20 / 100
    view, block = planted_noise([100] * 4, signal, seed)
    blocks = fit_blocks(view, largest_triples(view), 4, 1.0)
    found = blocks.left.argmax(axis=1)
    purity = sum(np.bincount(found[block == b], minlength=4).max() for b in range(4)) / len(block)
    assert purity > 0.8
    assert error_of_blocks(best_structure(view, 1.0), block, signal) < 0.25 * signal


def test_blocks_of_noise_are_no_structure():
    for seed in range(4):
        view = View(gaussian((300, 300), symmetric=True, seed=seed))
        assert len(best_structure(view, 1.0).sizes) == 0


@pytest.mark.parametrize("seed", [4, 5])
def test_blocks_that_are_not_found_again_are_no_structure(seed):
    """Twelve blocks that nothing can see: their likelihood alone would believe blocks of noise."""
    signal = 0.6 * math.sqrt(300) / 25
    view, block = planted_noise([25] * 12, signal, seed)
    expected = signal * ((block[:, None] == block) - 1 / 12)
    np.fill_diagonal(expected, 0)
    found = matrix_of(best_structure(view, 1.0))
    assert ((found - expected) ** 2).sum() <= 1.02 * (expected**2).sum()


def test_the_likelier_one_is_kept(monkeypatch):
    view, _ = planted_noise([100] * 4, 1.7 * 20 / 100)
    best = best_structure(view, 1.0)
    assert explained(best, view) >= explained(sharpened_structure(view), view)
    monkeypatch.setattr(credible_sums, "_MOST_VERTICES", 10)
    alone = best_structure(view, 1.0)
    assert np.array_equal(alone.sizes, sharpened_structure(view).sizes)


@pytest.mark.parametrize("kind", ["plain", "bipartite", "directed"])
def test_likelihood_against_the_dense_sum(kind):
    view, _ = planted_noise([60] * 3, 1.0)
    pairs = np.triu(np.ones((180, 180), dtype=bool), 1)
    if kind == "bipartite":
        view = View(Blocks.from_matrix(view.blocks.estimate()[:100], symmetric=False))
        pairs = np.ones((100, 180), dtype=bool)
    if kind == "directed":
        graph, _ = planted_directed([60] * 3, 0.6, 0.1, 0.1)
        view, pairs = View(problem(graph, epsilon=3.0).blocks), ~np.eye(180, dtype=bool)
    structure = best_structure(view, 1.0)
    assert len(structure.sizes)
    T, z = matrix_of(structure), view.blocks.estimate()
    dense = float((z * T - T**2 / 2)[pairs].sum())
    assert explained(structure, view) == pytest.approx(dense, rel=1e-4)


def test_no_time_for_a_second_contender():
    view, _ = planted_noise([100] * 4, 1.7 * 20 / 100)
    hurried = best_structure(view, 1.0, Deadline(0.0))
    assert len(hurried.sizes) <= 4
    assert np.isfinite(hurried.sizes).all()
