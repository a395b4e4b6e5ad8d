"""Audits of whole mechanisms of HR12 on neighbouring locations; their parts: learnt_distances.py.

Each audit may fail with probability 1e-6 if its seed were drawn at random. The test's exact loss is
in tests/theorems/test_hr12_above_threshold.py; here the code runs as it is.
"""

import numpy as np
import pytest

from graphcuts_dp.distances.coordinate import PiecewiseLinear
from graphcuts_dp.distances.embeddings import exact_embedding
from graphcuts_dp.distances.learner import L1Learner
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.distances.session import InteractiveDistances
from graphcuts_dp.evaluation.audit import audit
from graphcuts_dp.privacy.noise import SeededEntropy

GRID = Metric.grid(3, 3)
EMBEDDING = exact_embedding(GRID)


def on_grid(*rows):
    return Locations(GRID, np.bincount(rows, minlength=9))


FIRST, SECOND = on_grid(0, 0, 4), on_grid(0, 8, 4)


def erred(plan, profiles, hypothesis, alpha, row):
    """HR12's Lemma 6 as printed: which coordinates are wrong by more than alpha/l. No noise."""
    point = plan.embedding.points[row].tolist()
    return [
        float(profile.value(at) - part(at) > alpha / len(point))
        for profile, part, at in zip(profiles, hypothesis, point, strict=True)
    ]


def test_erratum_which_coordinate_erred_is_private():
    """One person moves from a corner to the opposite one, as far from the query as before.

    The sum of distances stays, so that testing it tells nothing; which coordinates are wrong tells
    the move with certainty. Here each coordinate has its own test, and the pattern of updates keeps
    the promise.
    """
    first, second = on_grid(0, 4, 2), on_grid(0, 4, 6)
    plan = L1Learner(embedding=EMBEDDING, people=3, queries=2, epsilon=1.0)

    def printed(locations, _):
        zero = [PiecewiseLinear()] * 2
        return erred(plan, plan.profiles(locations), zero, 7.0, 8)

    caught = audit(printed, first, second, runs=500)
    assert caught.epsilon_lower > 1.0, caught.event
    mechanism, source = InteractiveDistances(plan), SeededEntropy(6)

    def honest(locations, _):
        state = mechanism.start(locations, source)
        for _ in range(2):
            state, _ = mechanism.step(state, 8, None, source)
        return [part.updates for part in state.coordinates]

    assert audit(honest, first, second, runs=1500).epsilon_lower <= 1.0


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_whole_mechanisms_keep_their_promise(delta):
    """For rho-zCDP this looks at epsilon alone, which errs to our disadvantage."""
    epsilon = 3.0
    online = InteractiveDistances(
        L1Learner(embedding=EMBEDDING, people=3, queries=3, epsilon=epsilon, delta=delta)
    )
    offline = L1Learner(embedding=EMBEDDING, people=3, queries=None, epsilon=epsilon, delta=delta)
    source = SeededEntropy(7)

    def interactive(locations, _):
        state, values = online.start(locations, source), []
        for row in (8, 8, 0):
            state, _ = online.step(state, row, None, source)
            values.append(online.learner.values(state.coordinates)[row])
        return values

    def at_once(locations, _):
        return offline.values(offline.learnt(locations, source))[[0, 8]]

    for mechanism in (interactive, at_once):
        found = audit(mechanism, FIRST, SECOND, runs=800)
        assert found.epsilon_lower <= epsilon, found.event
