"""The tree counts its edges right, its chain has the stated stationary law, pairs count once."""

import copy
import math
from fractions import Fraction

import numpy as np
import pytest
from contender_runs import run, wrong_by_luck
from helpers import random_graph

from graphcuts_dp import Graph
from graphcuts_dp.plugins import SeededEntropy
from scripts.benchmark.contenders import hrg
from scripts.benchmark.contenders.dendrogram import Dendrogram, likelihood
from scripts.benchmark.contenders.hrg import HRG, noisy_chances, sensitivity
from tests.audits.contenders_of_trees import all_trees, stationary_law, transition_matrix


def check(tree, dense):
    """Every number of a tree against the graph."""
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
def test_a_tree_keeps_its_counts_on_its_way(n):
    graph = random_graph(n, 1)
    tree = Dendrogram(graph, np.random.default_rng(0).permutation(n).tolist())
    check(tree, graph.dense())
    source = SeededEntropy(1)
    for _ in range(10):
        tree.walk(37, 0.3, source)
        check(tree, graph.dense())


def test_gains_are_differences_of_likelihoods():
    graph = random_graph(12, 2)
    tree = Dendrogram(graph, range(12))
    tree.walk(50, 0.0, SeededEntropy(2))
    for node in set(tree.inner(tree.root)) - {tree.root}:
        for second in (False, True):
            other = copy.deepcopy(tree)
            move = other.proposed(node, second)
            other.make(move)
            check(other, graph.dense())
            assert other.shape() != tree.shape()
            change = other.log_likelihood() - tree.log_likelihood()
            assert move.gain == pytest.approx(change, abs=1e-9)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("rate", [0.0, 0.4, 2.0])
def test_the_stationary_law_is_that_of_the_exponential_mechanism(rate):
    """Of all trees on four and five vertices; and it is reached from everywhere."""
    for n, count in ((4, 15), (5, 105)):
        trees = all_trees(random_graph(n, 3, density=0.5))
        assert len(trees) == count
        law = np.array(list(stationary_law(trees, rate).values()))
        chances = transition_matrix(trees, rate)
        np.testing.assert_allclose(chances.sum(axis=1), 1)
        np.testing.assert_allclose(law @ chances, law, atol=1e-12)
        far = np.linalg.matrix_power(chances, 4096)
        np.testing.assert_allclose(far, np.tile(law, (count, 1)), atol=1e-6)


def test_the_chain_that_runs_is_that_chain():
    """After 3 moves from one tree, of 15: against powers of the matrix."""
    graph, runs, source = random_graph(4, 3, density=0.5), 2500, SeededEntropy(5)
    trees = all_trees(graph)
    law = np.linalg.matrix_power(transition_matrix(trees, 0.7), 3)[0]
    seen = dict.fromkeys(trees, 0)
    for _ in range(runs):
        tree = copy.deepcopy(next(iter(trees.values())))
        tree.walk(3, 0.7, source)
        seen[tree.shape()] += 1
    for shape, chance in zip(trees, law, strict=True):
        assert not wrong_by_luck(seen[shape], runs, chance)


@pytest.mark.parametrize("n", [3, 4, 5, 10, 41])
def test_one_pair_moves_the_likelihood_by_at_most_that(n):
    worst = max(
        abs(likelihood(edges + 1, left * right) - likelihood(edges, left * right))
        for left in range(1, n)
        for right in range(1, n - left + 1)
        for edges in range(left * right)
    )
    assert worst == pytest.approx(sensitivity(n))
    assert sensitivity(2) == math.log(2)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(50)])
def test_each_pair_is_counted_once(epsilon):
    """At epsilon 50 all nodes are counted, and noise is not 0 with probability below 1e-20."""
    graph = random_graph(30, 4)
    tree = Dendrogram(graph, range(30))
    tree.walk(300, 0.1, SeededEntropy(0))
    counted = np.eye(30, dtype=int)
    cells = list(noisy_chances(tree, epsilon=epsilon, source=SeededEntropy(1)))
    for cell in cells:
        assert 0 <= cell.chance <= 1
        left, right = (tree.leaves(child) for child in tree.children(cell.node))
        ends = np.zeros((2, 30), dtype=bool)
        ends[0, left] = ends[1, right] = True
        if cell.is_block:
            ends[:] = ends.any(axis=0)
        counted += (np.outer(*ends) | np.outer(*ends[::-1])) & ~np.eye(30, dtype=bool)
        if epsilon == 50:
            assert cell.chance == tree.edges(cell.node) / tree.pairs(cell.node)
    assert (counted == 1).all()
    wholes = sum(cell.is_block for cell in cells)
    assert (wholes == 1) == (epsilon < 1)  # then all is one block; else there are several or none
    assert epsilon < 50 or (len(cells), wholes) == (29, 0)


def test_it_makes_about_as_many_edges(monkeypatch):
    monkeypatch.setattr(hrg, "MOVES", 20)
    graph = random_graph(60, 5)
    made = run(HRG, graph, seed=1).estimate
    assert abs(len(made.rows) - len(graph.rows)) < 0.5 * len(graph.rows)


def test_where_the_rate_is_large_it_finds_the_likeliest_tree():
    """Two cliques with a bridge: a tree that parts them has -5.1 (an edge among 64 pairs)."""
    ends = np.triu_indices(8, 1)
    rows, columns = np.concatenate([ends, np.array(ends) + 8, [[0], [8]]], axis=1)
    graph = Graph(rows, columns, vertices=16)
    assert Dendrogram(graph, range(16)).log_likelihood() == pytest.approx(-5.15, abs=0.01)
    tree = Dendrogram(graph, np.random.default_rng(1).permutation(16).tolist())
    assert tree.log_likelihood() < -60
    tree.walk(5000, 0.6, SeededEntropy(1))
    assert tree.log_likelihood() == pytest.approx(-5.15, abs=0.01)
