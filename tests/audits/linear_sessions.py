"""Audits of sessions that learn from any linear queries: signed answers, and the nuclear norm.

One change raises some answers and lowers others, so such sessions pay for two steps. Whether that
is enough is computed: streams of answers that change either way, in tests with the rates that users
get. What is bought beside is audited by runs, as root degrees are.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.learners import MirrorDescentLearner
from graphcuts_dp.pairs.queries import MatrixQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.noise import EntropySource, SeededEntropy
from graphcuts_dp.privacy.sparse_vector import OneSidedPair
from graphcuts_dp.session.online import Counting, OnlineMechanism
from graphcuts_dp.session.queries import linear_count
from graphcuts_dp.session.terms import SessionTerms
from tests.audits.base import Audit, Entry, Enumerated, Sampled
from tests.audits.calibrations import instance
from tests.audits.equal_parts import EqualParts, norm_and_answers
from tests.audits.losses import DistributionPair

_SIDE, _QUERIES, _DELTA = 90, 4, 1e-6
_COARSE = 8  # steps of a change here, for 2^24: losses depend on rates times steps alone
_RARE = 1e-12  # outcomes that are rarer count as one
_MORE = 20  # instances of a twin that does not stop, for one that is paid for


def _streams(r1: float, r2: float) -> Iterator[tuple[tuple[int, float, int], ...]]:
    """Stages: silent ones whose answers change one way, then one that changes the other way."""
    for far in (0, 2, 5, 10):
        for low in (-1, 0, 1, 2, 3):
            for many in (1, 10, 100, 1000):
                for way in (-1, 1):
                    silent = (many, low / r1, way * _COARSE)
                    for last in (-1, 0, 1):
                        yield (silent, (1, far / r2, last * _COARSE))
                        yield ((1, far / r2, last * _COARSE), silent, (1, far / r2, -way * _COARSE))


def _distributions(
    rates: tuple[float, float], copies: int, factor: float, more: int
) -> Iterator[DistributionPair]:
    r1, r2 = (rate * factor for rate in rates)
    for stages in _streams(r1, r2):
        first, second = (
            instance(r1, r2, two_sided=False, stages=stages, changed=changed)
            for changed in (False, True)
        )
        rare = np.minimum(first, second) < _RARE
        both = [np.append(each[~rare], each[rare].sum()) for each in (first, second)]
        if min(both[0][-1], both[1][-1]) < _RARE:
            both = [each[:-1] for each in both]
        yield DistributionPair(f"stream {stages}", both[0], both[1], copies * more)


def _signed_audit(epsilon: float) -> Audit:
    made = SessionTerms.of(
        method="mirror-descent",
        epsilon=epsilon,
        delta=_DELTA,
        queries=_QUERIES,
        norm="l2",
        linear=True,
    ).mechanism(Universe(_SIDE, _SIDE), Grid())
    if not isinstance(made, OnlineMechanism):
        raise TypeError("a construction is run by an online mechanism")
    made = replace(made, total_weight=_SIDE**2 / 2)  # the audit is of what comes after it
    nothing = BipartiteGraph([], [], left=_SIDE, right=_SIDE)
    tuning = made.start(nothing, SeededEntropy(0)).tuning
    if not isinstance(tuning.test, OneSidedPair):
        raise TypeError("the tight calibration has one-sided tests")
    steps = Counting.of(Grid(), linear=True).sensitivity
    test = tuning.test
    rates = tuple(float(r * steps / _COARSE) for r in (test.threshold_rate, test.query_rate))
    shown = partial(_distributions, (rates[0], rates[1]), tuning.updates + 1)
    return Enumerated(
        claim=Claim(made.cost.rho or 0.0, kind="rho"),
        distributions=partial(shown, 1.0, 1),
        twins={
            "charged as cuts are, one step": partial(shown, 2.0, 1),
            "continue after the cap": partial(shown, 1.0, _MORE),
        },
    )


_UNIVERSE = Universe(2, 2)
_SIGNED = MatrixQuery([[2.0, -1.0], [-1.0, 0.5]])
_PAIRS = (
    Neighbours(
        "the rating that makes the rank 2",
        BipartiteGraph([1], [1], left=2, right=2),
        BipartiteGraph([0, 1], [0, 1], left=2, right=2),
    ),
    Neighbours(
        "a rating with a negative coefficient",
        BipartiteGraph([1], [1], left=2, right=2),
        BipartiteGraph([0, 1], [1, 1], left=2, right=2),
    ),
)


def _session(calibration: EqualParts, source: EntropySource) -> Callable[[AnyGraph], FloatVector]:
    mechanism = OnlineMechanism(
        learner=MirrorDescentLearner(
            _UNIVERSE, norm="schatten-1.5", linear=True, most_spectral=2.0
        ),
        calibration=calibration,
        grid=Grid(),
        steps=2,
    )

    return norm_and_answers(
        mechanism, _SIGNED, lambda graph: linear_count(_SIGNED, graph, mechanism.grid), source
    )


def _nuclear_audit(epsilon: float) -> Audit:
    """Two steps are paid for, of half of epsilon each."""
    sound = EqualParts(epsilon=Fraction(epsilon) / 2, parts=3)
    twins = {
        "nuclear norm used raw": replace(sound, other=(1, 100 * sound.epsilon / 3)),
        "a sixteenth of the noise": replace(sound, factor=16),
    }
    return Sampled(
        claim=Claim(epsilon),
        pairs=_PAIRS,
        start=partial(_session, sound),
        twins={name: partial(_session, twin) for name, twin in twins.items()},
        runs=6000,
    )


ENTRIES = (
    Entry(
        "session: linear queries",
        _signed_audit,
        ("session: linear queries",),
        unseen="The proof bounds the divergence by the range of the loss, whatever the answers "
        "are; the streams of answers that are tried lose less.",
    ),
    Entry("session: nuclear norm", _nuclear_audit, ("session: nuclear norm",)),
)
