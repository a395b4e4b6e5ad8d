"""Audits of the online mechanisms on neighbouring graphs, and of broken twins that must be caught.

Each audit may fail with probability 1e-6 if its seed were drawn at random. The test's exact loss is
in tests/theorems/test_sparse_vector_privacy.py; here the code runs as it is.
"""

from fractions import Fraction

from online_cases import EDGE, toy, toy_graph

from graphcuts_dp.evaluation.audit import audit
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.privacy.noise import SeededEntropy
from graphcuts_dp.privacy.sparse_vector import OneSidedPair

R1, R2 = Fraction(1, 5), Fraction(1)
BOUND = float(R1 + R2)  # of one instance


def first_test(test, seed=1):
    """Whether the upper instance fires at its first test: q against h + 1."""
    source = SeededEntropy(seed)

    def mechanism(truth, _):
        return [test.run(test.start(source), truth, Fraction(0), source).sign == 1]

    return mechanism


def test_one_instance_keeps_its_promise():
    found = audit(first_test(OneSidedPair(R1, R2, Fraction(1))), 0, 1, runs=8000)
    assert 0.5 < found.epsilon_lower <= BOUND, found.event


def test_a_twin_with_half_the_noise_is_caught():
    found = audit(first_test(OneSidedPair(2 * R1, 2 * R2, Fraction(1))), 0, 1, runs=8000)
    assert found.epsilon_lower > BOUND, found.event


class ReusedNoise:
    """A twin that draws the noise of a query once, and uses it for all tests of the instance."""

    def __init__(self, seed):
        self.test, self.source = OneSidedPair(R1, R2, Fraction(1)), SeededEntropy(seed)

    def __call__(self, truths):
        secret = self.test.start(self.source)
        state = self.source.bytes(4).tobytes()
        signs = []
        for truth in truths:
            again = SeededEntropy(int.from_bytes(state, "little"))
            signs.append(self.test.run(secret, truth, Fraction(0), again).sign or 0)
        return signs


def fresh_noise(seed):
    test, source = OneSidedPair(R1, R2, Fraction(1)), SeededEntropy(seed)

    def mechanism(truths):
        secret, signs = test.start(source), []
        for truth in truths:
            sign = 0 if 1 in signs else test.run(secret, truth, Fraction(0), source).sign
            signs.append(sign or 0)
        return signs

    return mechanism


def test_a_twin_that_reuses_noise_is_caught():
    """A cut without the edge, then one with it: that only the second fires tells everything."""
    runs = {}
    for name, mechanism in (("fresh", fresh_noise(2)), ("reused", ReusedNoise(2))):

        def second_only(truths, _, mechanism=mechanism):
            first, second = mechanism(truths)
            return [first == 0 and second == 1]

        runs[name] = audit(second_only, (0, 0), (0, 1), runs=3000).epsilon_lower
    assert runs["fresh"] <= BOUND < runs["reused"]


def firings(mechanism, seed):
    """How many tests fire at one query that the edge is in, and the sum of the signs found."""
    source = SeededEntropy(seed)

    def run(graph, _):
        state = mechanism.start(graph, source)
        state, answer = mechanism.step(state, EDGE, mechanism.grid.count(EDGE, graph), source)
        signs = [update.sign for update in answer.updates]
        return [len(signs) + (not answer.guaranteed), sum(signs)]

    return run


def test_a_session_keeps_the_promise_of_all_its_instances():
    mechanism = toy(updates=2, r1=Fraction(1, 4), r2=Fraction(1, 2))
    bound = float(mechanism.cost.pure)
    found = audit(firings(mechanism, 3), toy_graph(), toy_graph(1), runs=3000)
    assert 0.2 < found.epsilon_lower <= bound, found.event


def test_a_cut_without_the_edge_tells_nothing():
    mechanism = toy(updates=0)
    source = SeededEntropy(7)

    def run(graph, _):
        state = mechanism.start(graph, source)
        query = CutQuery([2], [3])
        state, answer = mechanism.step(state, query, mechanism.grid.count(query, graph), source)
        return [not answer.guaranteed]

    assert audit(run, toy_graph(), toy_graph(1), runs=1000).epsilon_lower <= 0
