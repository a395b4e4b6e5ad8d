"""HRG: counts of the tree, the stationary law of its chain, and noise for each pair once."""

import copy
import math
from fractions import Fraction

import numpy as np
import pytest
from contender_runs import differs_from_chance, run
from helpers import random_graph

from graphcuts_dp import Graph
from graphcuts_dp.plugins import SeededEntropy
from scripts.benchmark.contenders import hrg
from scripts.benchmark.contenders.dendrogram import Dendrogram, likelihood
from scripts.benchmark.contenders.hrg import HRG, noisy_chances, sensitivity
from tests.audits.contenders_of_trees import all_trees, stationary_law, transition_matrix


def check_counts(tree: Dendrogram, dense: np.ndarray) -> None:
    """Compare every number of a tree with the matrix of its graph."""
    assert sorted(tree.leaves(tree.root)) == list(range(len(dense)))
    total = 0.0
    for node in tree.inner(tree.root):
        left, right = (tree.leaves(child) for child in tree.children(node))
        below = left + right
        assert (tree.size(node), tree.pairs(node)) == (len(below), len(left) * len(right))
        assert tree.edges(node) == dense[np.ix_(left, right)].sum()
        assert tree.edges_below(node) == dense[np.ix_(below, below)].sum() / 2
        total += likelihood(tree.edges(node), tree.pairs(node))
    assert tree.log_likelihood() == pytest.approx(total)


@pytest.mark.parametrize("n", [2, 3, 4, 9, 30])
def test_a_tree_keeps_its_counts_while_the_chain_moves(n):
    graph = random_graph(n, 1)
    tree = Dendrogram(graph, np.random.default_rng(0).permutation(n).tolist())
    check_counts(tree, graph.dense())
    source = SeededEntropy(1)
    for _ in range(10):
        tree.walk(37, 0.3, source)
        check_counts(tree, graph.dense())


def test_the_gain_of_a_move_is_the_difference_of_likelihoods():
    graph = random_graph(12, 2)
    tree = Dendrogram(graph, range(12))
    tree.walk(50, 0.0, SeededEntropy(2))
    for node in set(tree.inner(tree.root)) - {tree.root}:
        for second in (False, True):
            moved_tree = copy.deepcopy(tree)
            move = moved_tree.proposed(node, second)
            moved_tree.make(move)
            check_counts(moved_tree, graph.dense())
            assert moved_tree.shape() != tree.shape()
            change = moved_tree.log_likelihood() - tree.log_likelihood()
            assert move.gain == pytest.approx(change, abs=1e-9)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("rate", [0.0, 0.4, 2.0])
def test_the_chain_converges_to_the_exponential_mechanism_from_every_tree(rate):
    """On all trees of four and of five vertices."""
    for n, count in ((4, 15), (5, 105)):
        trees = all_trees(random_graph(n, 3, density=0.5))
        assert len(trees) == count
        law = np.array(list(stationary_law(trees, rate).values()))
        chances = transition_matrix(trees, rate)
        np.testing.assert_allclose(chances.sum(axis=1), 1)
        np.testing.assert_allclose(law @ chances, law, atol=1e-12)
        after_4096_moves = np.linalg.matrix_power(chances, 4096)
        np.testing.assert_allclose(after_4096_moves, np.tile(law, (count, 1)), atol=1e-6)


def test_random_moves_have_the_transition_chances():
    """After 3 moves from one of 15 trees, by a power of the transition matrix."""
    graph, runs, source = random_graph(4, 3, density=0.5), 2500, SeededEntropy(5)
    trees = all_trees(graph)
    law = np.linalg.matrix_power(transition_matrix(trees, 0.7), 3)[0]
    counts = dict.fromkeys(trees, 0)
    for _ in range(runs):
        tree = copy.deepcopy(next(iter(trees.values())))
        tree.walk(3, 0.7, source)
        counts[tree.shape()] += 1
    for shape, chance in zip(trees, law, strict=True):
        assert not differs_from_chance(counts[shape], runs, chance)


@pytest.mark.parametrize("n", [3, 4, 5, 10, 41])
def test_the_sensitivity_is_the_largest_change_of_the_likelihood_by_one_pair(n):
    worst = max(
        abs(likelihood(edges + 1, left * right) - likelihood(edges, left * right))
        for left in range(1, n)
        for right in range(1, n - left + 1)
        for edges in range(left * right)
    )
    assert worst == pytest.approx(sensitivity(n))
    assert sensitivity(2) == math.log(2)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(50)])
def test_every_pair_has_noise_of_one_cell(epsilon):
    """At epsilon 50 every node is a cell, and noise is not 0 with a chance below 1e-20."""
    graph = random_graph(30, 4)
    tree = Dendrogram(graph, range(30))
    tree.walk(300, 0.1, SeededEntropy(0))
    cells_of_pair = np.eye(30, dtype=int)
    cells = list(noisy_chances(tree, epsilon=epsilon, source=SeededEntropy(1)))
    for cell in cells:
        assert 0 <= cell.chance <= 1
        left, right = (tree.leaves(child) for child in tree.children(cell.node))
        sides = np.zeros((2, 30), dtype=bool)
        sides[0, left] = sides[1, right] = True
        if cell.is_block:
            sides[:] = sides.any(axis=0)
        cells_of_pair += (np.outer(*sides) | np.outer(*sides[::-1])) & ~np.eye(30, dtype=bool)
        if epsilon == 50:
            assert cell.chance == tree.edges(cell.node) / tree.pairs(cell.node)
    assert (cells_of_pair == 1).all()
    blocks = sum(cell.is_block for cell in cells)
    assert (blocks == 1) == (epsilon < 1)  # then the whole graph is one block
    assert epsilon < 50 or (len(cells), blocks) == (29, 0)


def test_a_release_has_about_as_many_edges_as_the_graph(monkeypatch):
    monkeypatch.setattr(hrg, "MOVES", 20)
    graph = random_graph(60, 5)
    estimate = run(HRG, graph, seed=1).estimate
    assert abs(len(estimate.rows) - len(graph.rows)) < 0.5 * len(graph.rows)


def test_at_a_large_rate_the_chain_finds_the_likeliest_tree():
    """Of two cliques with a bridge, a tree that parts them has -5.15: one edge among 64 pairs."""
    clique = np.triu_indices(8, 1)
    rows, columns = np.concatenate([clique, np.array(clique) + 8, [[0], [8]]], axis=1)
    graph = Graph(rows, columns, vertices=16)
    assert Dendrogram(graph, range(16)).log_likelihood() == pytest.approx(-5.15, abs=0.01)
    tree = Dendrogram(graph, np.random.default_rng(1).permutation(16).tolist())
    assert tree.log_likelihood() < -60
    tree.walk(5000, 0.6, SeededEntropy(1))
    assert tree.log_likelihood() == pytest.approx(-5.15, abs=0.01)
