"""Audits of the Net mechanism: exact probabilities on every pair of neighbours, and twins.

The distribution of the choice is `choice_probabilities`, which test_noisy_maximum.py compares with
the sampler; what is enumerated here is what the mechanism does with the graph. The audit that runs
the code as it is may fail with probability 1e-6 if its seeds were drawn at random.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from offline_calls import choose_from_net

from graphcuts_dp.evaluation.audit import audit
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.offline import lists
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.noise import sample_geometric
from tests.audits.selection import choice_probabilities

EPSILON = Fraction(1)
WEIGHTED = [MatrixQuery(np.array([[0, 2, 1], [0, 0, -1], [0, 0, 0]]))]


def all_cuts(n):
    """Each cut once: the side without vertex 0."""
    sides = itertools.product([False, True], repeat=n - 1)
    return [CutQuery(np.array([False, *side])) for side in sides if any(side)]


def graphs(n):
    """Every graph, in the order of the bits of its pairs."""
    rows, columns = np.triu_indices(n, 1)
    for bits in itertools.product([0, 1], repeat=len(rows)):
        used = np.array(bits, dtype=bool)
        yield Graph(rows[used], columns[used], vertices=n)


def largest_loss(n, queries, rate_of):
    """max over neighbours and members of ln P/P', exactly."""
    public = lists._Net(Universe(n), queries, None, 0.0)
    rate = rate_of(public)
    distributions = [choice_probabilities(public.scores(graph), rate) for graph in graphs(n)]
    pairs = range(n * (n - 1) // 2)
    return max(
        float(np.log(distribution / distributions[i ^ (1 << pair)]).max())
        for i, distribution in enumerate(distributions)
        for pair in pairs
    )


CASES = [(3, all_cuts(3)), (4, all_cuts(4)), (3, WEIGHTED)]


@pytest.mark.parametrize(("n", "queries"), CASES)
def test_no_member_is_likelier_by_more_than_e_to_the_epsilon(n, queries):
    found = largest_loss(n, queries, lambda public: EPSILON / (2 * public.sensitivity))
    assert 0.5 < found <= float(EPSILON) * (1 + 1e-12)


@pytest.mark.parametrize(("n", "queries"), CASES)
def test_a_twin_that_takes_scores_for_monotone_is_caught(n, queries):
    """Half the noise: right only if all scores moved in one direction."""
    assert largest_loss(n, queries, lambda public: EPSILON / public.sensitivity) > float(EPSILON)


def test_a_twin_that_takes_all_queries_for_cuts_is_caught():
    assert largest_loss(3, WEIGHTED, lambda _: EPSILON / 2) > float(EPSILON)


def release_of(epsilon):
    """Which pairs are edges in the released graph."""

    def mechanism(graph, run):
        made = choose_from_net(graph, all_cuts(3), epsilon=epsilon, seed=run)
        return made.graph.dense()[np.triu_indices(3, 1)]

    return mechanism


NEIGHBOURS = Graph([0], [1], vertices=3), Graph([0, 0], [1, 2], vertices=3)


def test_the_release_keeps_its_promise():
    found = audit(release_of(2.0), *NEIGHBOURS, runs=1500)
    assert 0.5 < found.epsilon_lower <= 2.0, found.event


def test_a_twin_with_the_same_noise_for_all_members_is_caught(monkeypatch):
    def reused(scores, rate, source):
        return int(np.argmax(scores + sample_geometric(rate, 1, source)))

    monkeypatch.setattr(lists, "noisy_maximum", reused)
    found = audit(release_of(2.0), *NEIGHBOURS, runs=1000)
    assert found.epsilon_lower > 2.0, found.event
