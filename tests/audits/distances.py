"""Audits of distance answers: one person moves on a small map, or three people do.

A run gives, where that is known, the log likelihood ratio of the neighbours for what was released,
the most telling number there is.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from graphcuts_dp.distances.answers import MECHANISMS, plan_distances
from graphcuts_dp.distances.coordinate import (
    AboveThreshold,
    CoordinateTask,
    CoordinateTuning,
    Profile,
    start_coordinate,
    step_coordinate,
)
from graphcuts_dp.distances.counts import NoisySums, histogram, per_query, tree_counts
from graphcuts_dp.distances.embeddings import exact_embedding
from graphcuts_dp.distances.learner import L1Learner
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.distances.session import InteractiveDistances
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.plugins import Cost, EntropySource, ValueNoise
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.session.runner import read_state, stored_state
from tests.audits.base import Audit, Enumerated, Sampled, audited
from tests.audits.losses import DistributionPair, laplace_gain, normal_pair, side_by_side

Run = Callable[[Any], npt.ArrayLike]
MAP = Metric.path(4)
MOVES = (
    Neighbours("from 2 to 3", Locations(MAP, [2, 0, 1, 0]), Locations(MAP, [1, 0, 1, 1])),
    Neighbours("one step", Locations(MAP, [2, 0, 1, 0]), Locations(MAP, [1, 1, 1, 0])),
)
_THREE = Neighbours("three people move", Locations(MAP, [3, 0, 0, 1]), Locations(MAP, [0, 0, 0, 4]))
_MAKERS: dict[str, Callable[..., NoisySums]] = {
    "tree-counts": tree_counts,
    "histogram": histogram,
    "per-query": per_query,
}
_NOISES = ("laplace", "gaussian")
_MOST, _DELTA = 3, 1e-6
OF_ONE = "epsilon of one person used for three"


def _delta_of(noise: str) -> float:
    return _DELTA if noise == "gaussian" else 0.0


def _claimed(epsilon: float, cost: Cost) -> Claim:
    return Claim(epsilon) if cost.pure is not None else Claim(cost.rho or 0.0, kind="rho")


# Noisy sums.


def _log_ratio(
    honest: NoisySums, mechanism: NoisySums, pair: Neighbours, source: EntropySource
) -> Run:
    """Log likelihood ratio of the honest mechanism, of what the other one releases."""
    here, there = (honest.exact(place.counts) for place in (pair.first, pair.second))

    def run(locations: Locations) -> list[float]:
        noisy = mechanism.noisy(locations, source)
        return [sum(map(laplace_gain, noisy, there, here, honest.noise.parameters))]

    return run


def _louder(mechanism: NoisySums, factor: int) -> NoisySums:
    rates = tuple(factor * rate for rate in mechanism.noise.parameters)
    return replace(mechanism, noise=LevelNoise("laplace", rates))


def _same_noise_on_levels(mechanism: NoisySums, source: EntropySource) -> Run:
    """The noise of the vertices is taken for the larger parts, too: a difference has none."""

    def run(locations: Locations) -> list[float]:
        large, small = mechanism.exact(locations.counts)
        noise = mechanism.noise.draw(1, 4, source)
        return [float(large[0] + noise[0]), float(small[0] + noise[0])]

    return run


@audited("distances: {}, laplace", _MAKERS)
def _laplace_audit(name: str, epsilon: float) -> Audit:
    made = _MAKERS[name](MAP, 3, distribution="laplace", epsilon=epsilon, delta=0)
    incorrect_variants = {"half the noise": partial(_log_ratio, made, _louder(made, 2), MOVES[0])}
    if name == "per-query":
        # Noise for one query, of which there are four.
        incorrect_variants = {
            "sensitivity of one query": partial(_log_ratio, made, _louder(made, 4), MOVES[0])
        }
    if name == "tree-counts":
        incorrect_variants["noise reused"] = partial(_same_noise_on_levels, made)
    return Sampled(
        claim=Claim(epsilon),
        pairs=MOVES[:1],
        start=partial(_log_ratio, made, made, MOVES[0]),
        incorrect_variants=incorrect_variants,
        variant_pairs=MOVES,
        runs=20_000,
    )


def _moves(mechanism: Any, people: int = 1, factor: float = 1) -> Iterator[DistributionPair]:
    """Exact losses of every count that changes, where people move together.

    No other moves show more: counts change by the sum of what each of them changes, and its square
    is largest where all are the worst move.
    """
    places = people * np.eye(len(MAP), dtype=np.int64)
    for x, y in itertools.combinations(range(len(MAP)), 2):
        ends = (mechanism.exact(places[end]) for end in (x, y))
        parts = [
            normal_pair(float(variance) / factor**2, int(change))
            for variance, a, b in zip(mechanism.noise.parameters, *ends, strict=True)
            for change in b - a
            if change
        ]
        yield side_by_side(f"from {x} to {y}", parts)


@audited("distances: {}, gaussian", _MAKERS)
def _gaussian_audit(name: str, epsilon: float) -> Audit:
    made = _MAKERS[name](MAP, 3, distribution="gaussian", epsilon=epsilon, delta=_DELTA)
    return Enumerated(
        claim=Claim(made.cost.rho or 0.0, kind="rho"),
        distributions=partial(_moves, made),
        incorrect_variants={
            "half the noise": partial(_moves, made, factor=2),
            "sensitivity 1 for 2": partial(_moves, made, factor=2**0.5),
        },
    )


@lru_cache(maxsize=32)
def _built(
    metric: Metric, people: int, name: str, noise: str, group_size: int, epsilon: float
) -> Any:
    """The mechanism that `answer_distances` runs."""
    plan = plan_distances(
        metric,
        people=people,
        epsilon=epsilon,
        delta=_delta_of(noise),
        group_size=group_size,
        mechanism=name,
        noise=noise,
    )
    return plan.best.built


_COUNTING = [name for name in MECHANISMS if name not in ("auto", "learner")]


@audited("3 people: {}, laplace", _COUNTING)
def _three_laplace_audit(name: str, epsilon: float) -> Audit:
    sound, of_one = (_built(MAP, 4, name, "laplace", k, epsilon) for k in (_MOST, 1))
    return Sampled(
        claim=Claim(epsilon),
        pairs=(_THREE,),
        start=partial(_log_ratio, sound, sound, _THREE),
        incorrect_variants={OF_ONE: partial(_log_ratio, of_one, of_one, _THREE)},
        runs=20_000,
    )


@audited("3 people: {}, gaussian", _COUNTING)
def _three_gaussian_audit(name: str, epsilon: float) -> Audit:
    sound, of_one = (_built(MAP, 4, name, "gaussian", k, epsilon) for k in (_MOST, 1))
    return Enumerated(
        claim=Claim(zcdp_rho(epsilon=epsilon, delta=_DELTA), kind="rho"),
        distributions=partial(_moves, sound, _MOST),
        incorrect_variants={OF_ONE: partial(_moves, of_one, _MOST)},
    )


# HR12: one coordinate, of width 4, with rates chosen by hand.

_WIDTH, _PEOPLE, _TINY = 4, 12, Fraction(1, 10**6)
_ALWAYS = AboveThreshold(Fraction(9), Fraction(9), -(10**9))  # fires, and so tells nothing


def _at_ends(left: int) -> Profile:
    return Profile(np.array([0, _WIDTH]), np.array([left, _PEOPLE - left]))


_ENDS = (Neighbours("from end to end", _at_ends(6), _at_ends(7)),)


def _tuning(
    *,
    test: AboveThreshold = _ALWAYS,
    value: Fraction = _TINY,
    count: Fraction = _TINY,
    updates: int = 1,
) -> CoordinateTuning:
    return CoordinateTuning(
        task=CoordinateTask(_WIDTH, _PEOPLE, 50, _WIDTH + 1),
        updates=updates,
        test=test,
        value_noise=ValueNoise("laplace", value),
        count_noise=ValueNoise("laplace", count),
        value_radius=0,
        count_radius=0,
        below=0,
        above=0,
        total_cost=Fraction(0),
    )


def _tangents(tuned: CoordinateTuning, at: int, steps: int, source: EntropySource) -> Run:
    """Slopes and values that some steps buy."""

    def run(profile: Profile) -> list[float]:
        state = start_coordinate(tuned, source)
        for _ in range(steps):
            state = step_coordinate(tuned, state, profile, at, source)
        lines = state.hypothesis.lines
        return [float(sum(line.slope for line in lines)), float(lines[0].value)]

    return run


@audited("distances: HR12, slopes")
def _slope_audit(epsilon: float) -> Audit:
    """A move across the position changes the sum's slope by 2, where HR12 says 1."""
    rate = Fraction(epsilon) - _WIDTH * _TINY
    return Sampled(
        claim=Claim(epsilon),
        pairs=_ENDS,
        start=partial(_tangents, _tuning(count=rate), 1, 6),
        incorrect_variants={
            "sensitivity 1 for 2": partial(_tangents, _tuning(count=2 * rate), 1, 1),
            "continue after the cap": partial(_tangents, _tuning(count=rate, updates=6), 1, 6),
        },
    )


@audited("distances: HR12, values")
def _value_audit(epsilon: float) -> Audit:
    """At an end a move changes the sum of distances by the whole width."""
    rate = (Fraction(epsilon) - _TINY) / _WIDTH
    return Sampled(
        claim=Claim(epsilon),
        pairs=_ENDS,
        start=partial(_tangents, _tuning(value=rate), 0, 1),
        incorrect_variants={"half the noise": partial(_tangents, _tuning(value=2 * rate), 0, 1)},
    )


def _firings(factor: Fraction, source: EntropySource) -> Run:
    """When the only instance fired, if it did, with so many times the rates of the test."""
    tuned = _tuning(test=AboveThreshold(factor / 16, factor / 4, 26))

    def run(profile: Profile) -> list[float]:
        state, found = start_coordinate(tuned, source), []
        for at in (_WIDTH, 0):
            state = step_coordinate(tuned, state, profile, at, source)
            found.append(float(state.updates))
        return [found[0], found[-1], sum(found)]

    return run


@audited("distances: HR12, tests")
def _tests_audit(epsilon: float) -> Audit:
    """The sum from 0 is 4 (12 - left); at 4 it is 4 left: one grows where the other shrinks."""
    one = AboveThreshold(Fraction(1, 16), Fraction(1, 4), 26)
    factor = Fraction(epsilon) / one.cost(_WIDTH)
    return Sampled(
        claim=Claim(epsilon),
        pairs=_ENDS,
        start=partial(_firings, factor),
        incorrect_variants={"an eighth of the noise": partial(_firings, 8 * factor)},
    )


# HR12's learner, of all coordinates of a small grid.

_GRID = Metric.grid(3, 3)
_EMBEDDING = exact_embedding(_GRID)
_CORNERS = [0, 8]


def _on_grid(*rows: int) -> Locations:
    return Locations(_GRID, np.bincount(rows, minlength=9))


_ACROSS = (
    Neighbours("corner to corner", _on_grid(0, 0, 4), _on_grid(0, 8, 4)),
    Neighbours("as far from the last one", _on_grid(0, 4, 2), _on_grid(0, 4, 6)),
)
_TOGETHER = (Neighbours("three people move", _on_grid(0, 0, 0), _on_grid(8, 8, 8)),)


def _without_noise(plan: L1Learner, *, everywhere: bool = True) -> L1Learner:
    """An incorrect variant that buys values and counts without noise, and at every position."""
    bare = ValueNoise("laplace", Fraction(50))
    noises: dict[str, Any] = {"test": _ALWAYS, "value_noise": bare, "count_noise": bare}
    if everywhere:
        noises |= {"value_radius": 0, "count_radius": 0}
    loud = replace(plan)
    vars(loud)["tunings"] = tuple(
        replace(tuned, **noises, updates=tuned.task.queries if everywhere else tuned.updates)
        for tuned in plan.tunings
    )
    return loud


def _audit(
    start: Callable[[L1Learner, EntropySource], Run],
    plan: L1Learner,
    claim: Claim,
    pairs: tuple[Neighbours, ...] = _ACROSS,
) -> Audit:
    return Sampled(
        claim=claim,
        pairs=pairs,
        start=partial(start, plan),
        incorrect_variants={"no noise on what is bought": partial(start, _without_noise(plan))},
        runs=3000,
    )


def _asked(plan: L1Learner, source: EntropySource) -> Run:
    """Answers of three queries, and the pattern of updates."""
    mechanism = InteractiveDistances(plan)

    def run(locations: Locations) -> list[float]:
        state, seen = mechanism.start(locations, source), []
        for row in (8, 8, 0):
            state, _ = mechanism.step(state, row, None, source)
            seen.append(float(plan.values(state.coordinates)[row]))
        return [*seen, *(float(part.updates) for part in state.coordinates)]

    return run


def _which_coordinates_erred(plan: L1Learner, _source: EntropySource) -> Run:
    """HR12's Lemma 6 as printed: which coordinates are far off is told without noise."""

    def run(locations: Locations) -> list[float]:
        points = plan.embedding.points[8].tolist()
        pairs = zip(plan.profiles(locations), points, strict=True)
        return [float(profile.value(at) > 3.5) for profile, at in pairs]

    return run


@audited("distances: HR12 interactive")
def _interactive_audit(epsilon: float) -> Audit:
    plan = L1Learner(embedding=_EMBEDDING, people=3, queries=3, epsilon=epsilon)
    return Sampled(
        claim=Claim(epsilon),
        pairs=_ACROSS,
        start=partial(_asked, plan),
        incorrect_variants={"which coordinate erred": partial(_which_coordinates_erred, plan)},
        runs=3000,
    )


def _offline(plan: L1Learner, source: EntropySource) -> Run:
    return lambda locations: plan.values(plan.learn(locations, source))[_CORNERS]


@audited("distances: HR12 offline")
def _offline_audit(epsilon: float) -> Audit:
    plan = L1Learner(embedding=_EMBEDDING, people=3, queries=None, epsilon=epsilon)
    bare = partial(_offline, _without_noise(plan, everywhere=False))
    sound = _audit(_offline, plan, Claim(epsilon))
    return replace(sound, incorrect_variants={"no noise on what is bought": bare})


def _answered(plan: L1Learner, source: EntropySource) -> Run:
    """Values and radii of two corners: all that comes out is made of the same lines."""

    def run(locations: Locations) -> npt.ArrayLike:
        values, radii = plan.answer_all(locations, source, confidence=0.95)
        return np.concatenate([values[_CORNERS], radii[_CORNERS]])

    return run


@audited("distances: learner, {}", _NOISES)
def _learner_audit(noise: str, epsilon: float) -> Audit:
    plan = _built(_GRID, 3, "learner", noise, 1, epsilon)
    return _audit(_answered, plan, _claimed(epsilon, plan.cost))


@audited("3 people: learner, {}", _NOISES)
def _three_learnt_audit(noise: str, epsilon: float) -> Audit:
    """They move together, from one corner to the other."""
    rho = zcdp_rho(epsilon=epsilon, delta=_DELTA)
    claim = Claim(rho, kind="rho") if noise == "gaussian" else Claim(epsilon)
    return _audit(_answered, _built(_GRID, 3, "learner", noise, _MOST, epsilon), claim, _TOGETHER)


def _session(plan: L1Learner, source: EntropySource) -> Run:
    """A session that loses a step and goes on from the store: answers, and what was bought."""
    mechanism = InteractiveDistances(plan)

    def run(locations: Locations) -> npt.ArrayLike:
        state, seen = mechanism.start(locations, source), []
        for row in (8, 0):
            state, answer = mechanism.step(state, row, None, source)
            seen += [answer.value, answer.interval[1]]
            if len(seen) == 2:
                state = mechanism.after_interruption(state, source)
                kept = read_state(mechanism, stored_state(mechanism, state))
                state = mechanism.restore(kept, locations, b"")
        return [*seen, *(float(part.updates) for part in state.coordinates)]

    return run


@audited("distances: session, {}", _NOISES)
def _session_audit(noise: str, epsilon: float) -> Audit:
    plan = L1Learner(
        embedding=_EMBEDDING, people=3, queries=3, epsilon=epsilon, delta=_delta_of(noise)
    )
    return _audit(_session, plan, _claimed(epsilon, plan.cost), _ACROSS[:1])
