"""A hierarchical random graph: a tree by a Markov chain, noisy numbers of edges across nodes.

The proof needs the stationary law of a Markov chain, which finitely many steps do not reach. The
public code also stops by the likelihoods of the private graph, writes ten sampled graphs for the
budget of one, and draws floating-point noise; here the number of steps is public, 1,000 for each
vertex, the fewest of that code.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple, final

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from scripts.benchmark.contenders.dendrogram import Dendrogram
from scripts.benchmark.contenders.opening import Run, contender

TREE_SHARE = Fraction(1, 2)  # of epsilon
MOVES = 1000  # steps of the chain for each vertex
_NODE_SCALE = 0.05  # noise of a chance across a node, from which on its vertices may be one block
_BLOCK_SCALE = 0.01  # and from which on of that block's chance


def hierarchical_random_graph(run: Run) -> AnyGraph:
    """Release a graph from a hierarchical random graph, as published: the claim is not proven.

    1. A tree on the vertices, by 1000 n steps of a chain whose stationary law is that of the
       exponential mechanism with the logarithmic likelihood, for half of epsilon.
    2. The number of edges across each inner node with discrete Laplace noise, for the rest, where
       small subtrees are one block with one count (`noisy_chances`).
    3. Across each node, and in each block, pairs are edges independently with the noisy chance.

    Guarantee: none that is proven. Step 2 is (epsilon/2)-DP, and step 1 would be, were the tree
    drawn from the stationary law; after finitely many steps it is not, and by how much is
    not known. epsilon is what the paper claims.

    Source: Xiao, Chen, Tan, "Differentially private network data release via structural inference",
    KDD 2014. Deviation: the number of steps is public; there, the chain stops when the likelihoods
    of the private graph seem to have settled.
    """
    n, for_tree = run.graph.n, run.epsilon * TREE_SHARE
    run.spend(tree=for_tree, edges_across_nodes=run.epsilon - for_tree)
    rng = run.generator()
    tree = Dendrogram(run.graph, rng.permutation(n).tolist())
    tree.walk(MOVES * n, float(for_tree) / (2 * sensitivity(n)), run.source)
    cells = noisy_chances(tree, epsilon=run.epsilon - for_tree, source=run.source)
    endpoints = [_drawn(tree, cell, rng) for cell in cells]
    return run.made(*np.concatenate(endpoints, axis=1))


def sensitivity(n: int) -> float:
    """Return the largest change of a tree's log likelihood by one pair, for n vertices.

    ln N + (N - 1) ln(N/(N - 1)) with N = floor(n/2) ceil(n/2), the most pairs of one node: from
    no edge among them to one. Source: Xiao, Chen, Tan 2014, section 4.2.
    """
    pairs = (n // 2) * ((n + 1) // 2)
    if pairs < 2:
        return math.log(2)  # where nothing changes, and anything will do
    return math.log(pairs) + (pairs - 1) * math.log(pairs / (pairs - 1))


@final
class NoisyChance(NamedTuple):
    """Pairs with one noisy chance of an edge.

    Attributes:
        node: an inner node of the tree.
        is_block: whether the chance is that of all pairs below the node, or of those across it.
        chance: in [0, 1].
    """

    node: int
    is_block: bool
    chance: float


def noisy_chances(
    tree: Dendrogram, *, epsilon: Fraction, source: EntropySource
) -> Iterator[NoisyChance]:
    """Yield noisy chances of edges, from the root down.

    A node's chance is its number of edges with discrete Laplace noise, over its pairs. Where that
    noise has a scale of 1/20 or more, and the noise of the chance of all pairs below has one of
    1/100 or more, all of these are one block, and nothing below is counted.

    Guarantee: epsilon-DP for a tree that is public or was charged: each pair is counted once.
    Source: Xiao, Chen, Tan 2014, Algorithm 3; the two limits are those of their code.
    """
    open_nodes = [tree.root]
    while open_nodes:
        node = open_nodes.pop()
        if node < tree.n:
            continue
        across, size = tree.pairs(node), tree.size(node)
        below = size * (size - 1) // 2
        is_block = 1 / (epsilon * across) >= _NODE_SCALE and 1 / (epsilon * below) >= _BLOCK_SCALE
        true = tree.edges_below(node) if is_block else tree.edges(node)
        noisy = true + int(sample_discrete_laplace(epsilon, 1, source)[0])
        chance = noisy / (below if is_block else across)
        yield NoisyChance(node, is_block, min(max(chance, 0.0), 1.0))
        if not is_block:
            open_nodes.extend(tree.children(node))


def _drawn(tree: Dendrogram, cell: NoisyChance, rng: np.random.Generator) -> IntVector:
    """Draw edges in a cell; return endpoints, shape (2, edges)."""
    if cell.is_block:
        all_below = np.array(tree.leaves(cell.node))
        first, second = np.triu_indices(len(all_below), 1)
        joined = np.flatnonzero(rng.random(len(first)) < cell.chance)
        return np.asarray([all_below[first[joined]], all_below[second[joined]]])
    left, right = (np.array(tree.leaves(child)) for child in tree.children(cell.node))
    joined = np.flatnonzero(rng.random(len(left) * len(right)) < cell.chance)
    first, second = np.divmod(joined, len(right))
    return np.asarray([left[first], right[second]])


HRG = contender(
    hierarchical_random_graph,
    name="hrg",
    source="Xiao, Chen, Tan, KDD 2014",
    most_vertices=300,
    claim_holds=False,
)
