"""Audits of distances that hide several people together: three move, each from one place."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from graphcuts_dp.distances.answers import MECHANISMS, plan_distances
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.privacy.composition import zcdp_rho
from tests.audits.base import Audit, Entry, Enumerated, Sampled
from tests.audits.distances import MAP, log_ratio, normal_distribution
from tests.audits.losses import DistributionPair

_MOST, _DELTA = 3, 1e-6
_MOVED = Neighbours("three people move", Locations(MAP, [3, 0, 0, 1]), Locations(MAP, [0, 0, 0, 4]))
_TWIN = "epsilon of one person used for three"


@lru_cache(maxsize=32)
def _built(name: str, noise: str, at_most: int, epsilon: float) -> Any:
    """The mechanism that `answer_distances` runs."""
    plan = plan_distances(
        MAP,
        people=4,
        epsilon=epsilon,
        delta=_DELTA if noise == "gaussian" else 0.0,
        at_most=at_most,
        mechanism=name,
        noise=noise,
    )
    return plan.best.built


def _laplace_audit(name: str, epsilon: float) -> Audit:
    sound, of_one = (_built(name, "laplace", at_most, epsilon) for at_most in (_MOST, 1))
    return Sampled(
        claim=Claim(epsilon),
        pairs=(_MOVED,),
        start=partial(log_ratio, sound, sound, _MOVED),
        twins={_TWIN: partial(log_ratio, of_one, of_one, _MOVED)},
        runs=20_000,
    )


def _all_moves(mechanism: Any) -> Iterator[DistributionPair]:
    """Exact losses of every count that changes, where three people move together.

    No other moves show more: counts change by the sum of what each of the three moves changes, and
    its square is largest where all three are the worst move.
    """
    places = np.eye(len(MAP), dtype=np.int64)
    for x, y in itertools.combinations(range(len(MAP)), 2):
        ends = (mechanism.exact(_MOST * places[end]) for end in (x, y))
        parts = [
            normal_distribution(float(variance), int(change))
            for variance, a, b in zip(mechanism.noise.parameters, *ends, strict=True)
            for change in b - a
            if change
        ]
        yield replace(parts[0], name=f"from {x} to {y}", beside=tuple(parts[1:]))


def _gaussian_audit(name: str, epsilon: float) -> Audit:
    sound, of_one = (_built(name, "gaussian", at_most, epsilon) for at_most in (_MOST, 1))
    return Enumerated(
        claim=Claim(zcdp_rho(epsilon=epsilon, delta=_DELTA), kind="rho"),
        distributions=partial(_all_moves, sound),
        twins={_TWIN: partial(_all_moves, of_one)},
    )


ENTRIES = tuple(
    Entry(f"3 people: {name}, {noise}", partial(make, name))
    for name in MECHANISMS
    if name not in ("auto", "learner")  # which adds no noise to counts: see `learnt_distances`
    for noise, make in (("laplace", _laplace_audit), ("gaussian", _gaussian_audit))
)
