"""DR14 Theorems 5.8 to 5.10 for queries that need not be linear: the median learns every graph."""

import math

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.learn.median import Median, all_graphs
from graphcuts_dp.pairs.graph_queries import STATISTICS, GraphQuery
from graphcuts_dp.pairs.universe import Universe

UNIVERSE = Universe(4)
EVERY = all_graphs(UNIVERSE)
QUERIES = [
    *(GraphQuery(name) for name in STATISTICS),
    *(gc.CutQuery([i]) for i in range(4)),
    gc.CutQuery([0, 1]),
]


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("chosen", ["largest gap", "first", "statistics first"])
def test_every_graph_is_learnt_within_log2_of_their_number(alpha, chosen):
    """Theorem 5.8 with the trivial net of Theorem 5.9: for each of the 64 truths, updates by
    queries that are off by alpha or more end after at most log2(64); the truth is never lost."""
    answers = np.stack([EVERY.answers(query) for query in QUERIES], axis=1)
    rule = Median(start=EVERY, alpha=alpha)
    most = 0
    for truth, row in zip(EVERY.databases, answers, strict=True):
        family, count = rule.initial(), 0
        while True:
            gaps = row - np.array([family.estimate(query) for query in QUERIES])
            due = np.flatnonzero(np.abs(gaps) >= alpha)
            if not len(due):
                break
            place = due[np.abs(gaps[due]).argmax()] if chosen == "largest gap" else due[0]
            if chosen == "first":
                place = due[-1]
            before = len(family)
            family = rule.update(family, QUERIES[place], 1 if gaps[place] > 0 else -1)
            assert len(family) <= before / 2
            assert (family.databases == truth).all(axis=1).any()
            count += 1
        most = max(most, count)
    assert 1 <= most <= rule.update_bound(alpha) == math.log2(64)
