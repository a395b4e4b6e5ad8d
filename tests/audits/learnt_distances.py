"""Audits of HR12's learner as users reach it: one person moves on a small grid."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from graphcuts_dp.distances.answers import plan_distances
from graphcuts_dp.distances.learner import L1Learner
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.session import InteractiveDistances
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.privacy.distributions import ValueNoise
from graphcuts_dp.privacy.level_noise import DistributionPair
from graphcuts_dp.privacy.noise import EntropySource
from graphcuts_dp.session.runner import read_state, stored_state
from tests.audits.base import Audit, Entry, Sampled
from tests.audits.distances import ACROSS, ALWAYS, EMBEDDING, GRID

_NOISES: tuple[DistributionPair, ...] = ("laplace", "gaussian")
_CONFIDENCE = 0.95
Run = Callable[[Any], npt.ArrayLike]


def _released(built: L1Learner, source: EntropySource) -> Run:
    """Values and radii of two corners: all that comes out is made of the same lines."""

    def run(locations: Locations) -> npt.ArrayLike:
        values, radii = built.answered(locations, source, confidence=_CONFIDENCE)
        return np.concatenate([values[[0, 8]], radii[[0, 8]]])

    return run


def without_noise(built: L1Learner) -> L1Learner:
    """A twin that buys values and counts without noise, at every position."""
    bare = ValueNoise("laplace", Fraction(50))
    loud = replace(built)
    vars(loud)["tunings"] = tuple(
        replace(
            tuned,
            updates=tuned.task.queries,
            test=ALWAYS,
            value_noise=bare,
            count_noise=bare,
            value_radius=0,
            count_radius=0,
        )
        for tuned in built.tunings
    )
    return loud


def _learner(noise: DistributionPair, epsilon: float, *, at_most: int) -> L1Learner:
    """The one that `answer_distances` runs."""
    found = plan_distances(
        GRID,
        people=3,
        epsilon=epsilon,
        delta=1e-6 if noise == "gaussian" else 0.0,
        at_most=at_most,
        mechanism="learner",
        noise=noise,
        confidence=_CONFIDENCE,
    )
    return cast(L1Learner, found.best.built)


def _audit(noise: DistributionPair, epsilon: float) -> Audit:
    built = _learner(noise, epsilon, at_most=1)
    rho = built.cost.rho or 0.0
    return Sampled(
        claim=Claim(epsilon) if noise == "laplace" else Claim(rho, kind="rho"),
        pairs=ACROSS,
        start=partial(_released, built),
        twins={"no noise on what is bought": partial(_released, without_noise(built))},
        runs=3000,
    )


def _several_audit(noise: DistributionPair, epsilon: float) -> Audit:
    """Three people move together, from one corner to the other."""
    built = _learner(noise, epsilon, at_most=3)
    rho = zcdp_rho(epsilon=epsilon, delta=1e-6)
    return Sampled(
        claim=Claim(rho, kind="rho") if noise == "gaussian" else Claim(epsilon),
        pairs=(Neighbours("three people move", *(_together(corner) for corner in (0, 8))),),
        start=partial(_released, built),
        twins={"no noise on what is bought": partial(_released, without_noise(built))},
        runs=3000,
    )


def _together(corner: int) -> Locations:
    return Locations(GRID, 3 * np.eye(len(GRID), dtype=np.int64)[corner])


def _session(plan: L1Learner, source: EntropySource) -> Run:
    """A session that loses a step and goes on from the store: answers, and what was bought."""
    mechanism = InteractiveDistances(plan)

    def run(locations: Locations) -> npt.ArrayLike:
        state, seen = mechanism.start(locations, source), []
        for row in (8, 0):
            state, answer = mechanism.step(state, row, None, source)
            seen += [answer.value, answer.interval[1]]
            if len(seen) == 2:
                state = mechanism.interrupted(state, source)
                kept = read_state(mechanism, stored_state(mechanism, state))
                state = mechanism.resumed(kept, locations, b"")
        return [*seen, *(float(part.updates) for part in state.coordinates)]

    return run


def _session_audit(noise: DistributionPair, epsilon: float) -> Audit:
    plan = L1Learner(
        embedding=EMBEDDING,
        people=3,
        queries=3,
        epsilon=epsilon,
        delta=1e-6 if noise == "gaussian" else 0.0,
    )
    twin = without_noise(plan)
    rho = plan.cost.rho or 0.0
    return Sampled(
        claim=Claim(epsilon) if noise == "laplace" else Claim(rho, kind="rho"),
        pairs=ACROSS[:1],
        start=partial(_session, plan),
        twins={"no noise on what is bought": partial(_session, twin)},
        runs=3000,
    )


ENTRIES = (
    *(Entry(f"3 people: learner, {noise}", partial(_several_audit, noise)) for noise in _NOISES),
    *(
        Entry(
            f"distances: learner, {noise}",
            partial(_audit, noise),
            (f"distances: learner, {noise}",),
        )
        for noise in _NOISES
    ),
    *(
        Entry(
            f"distances: session, {noise}",
            partial(_session_audit, noise),
            (f"distances: session, {noise}",),
        )
        for noise in _NOISES
    ),
)
