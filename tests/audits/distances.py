"""Audits of distance answers: one person moves on a small map.

A run gives, where that is known, the log likelihood ratio of the neighbours for what was released,
the most telling number there is.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

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
from graphcuts_dp.privacy.distributions import ValueNoise
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.privacy.noise import EntropySource
from tests.audits.base import Audit, Entry, Enumerated, Sampled
from tests.audits.losses import DistributionPair

Run = Callable[[Any], npt.ArrayLike]
MAP = Metric.path(4)
MOVES = (
    Neighbours("from 2 to 3", Locations(MAP, [2, 0, 1, 0]), Locations(MAP, [1, 0, 1, 1])),
    Neighbours("one step", Locations(MAP, [2, 0, 1, 0]), Locations(MAP, [1, 1, 1, 0])),
)
_MAKERS: dict[str, Callable[..., NoisySums]] = {
    "tree-counts": tree_counts,
    "histogram": histogram,
    "per-query": per_query,
}
_TINY = Fraction(1, 10**6)


def log_ratio(
    honest: NoisySums, mechanism: NoisySums, pair: Neighbours, source: EntropySource
) -> Run:
    """Log likelihood ratio of the honest mechanism, of what the other one releases."""
    here, there = (honest.exact(place.counts) for place in (pair.first, pair.second))

    def run(locations: Locations) -> list[float]:
        levels = zip(
            honest.noise.parameters,
            mechanism.noisy(locations, source),
            here,
            there,
            strict=True,
        )
        return [
            sum(
                float(rate) * float((np.abs(noisy - b) - np.abs(noisy - a)).sum())
                for rate, noisy, a, b in levels
            )
        ]

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


def _laplace_audit(name: str, epsilon: float) -> Audit:
    made = _MAKERS[name](MAP, 3, distribution="laplace", epsilon=epsilon, delta=0)
    twins = {"half the noise": partial(log_ratio, made, _louder(made, 2), MOVES[0])}
    if name == "per-query":
        # Noise for one query, of which there are four.
        twins = {"sensitivity of one query": partial(log_ratio, made, _louder(made, 4), MOVES[0])}
    if name == "tree-counts":
        twins["noise reused"] = partial(_same_noise_on_levels, made)
    return Sampled(
        claim=Claim(epsilon),
        pairs=MOVES[:1],
        start=partial(log_ratio, made, made, MOVES[0]),
        twins=twins,
        twin_pairs=MOVES,
        runs=20_000,
    )


def normal_distribution(variance: float, shift: float) -> DistributionPair:
    """A discrete Gaussian and its shift; on a coarser grid where there are too many numbers."""
    coarse = max(1.0, variance**0.5 / 1000)
    variance, shift = variance / coarse**2, shift / coarse
    reach = int(12 * variance**0.5 + abs(shift)) + 1
    at = np.arange(-reach, reach + 1)
    distributions = [np.exp(-((at - move) ** 2) / (2 * variance)) for move in (0, shift)]
    return DistributionPair(
        "count",
        distributions[0] / distributions[0].sum(),
        distributions[1] / distributions[1].sum(),
    )


def _all_moves(mechanism: NoisySums, factor: float) -> Iterator[DistributionPair]:
    """Exact losses of every count that changes, for all moves of one person."""
    places = np.eye(4, dtype=np.int64)
    for x in range(4):
        for y in range(x):
            before, after = (mechanism.exact(places[end] + [1, 1, 0, 0]) for end in (x, y))
            parts = [
                normal_distribution(float(variance) / factor**2, int(change))
                for variance, a, b in zip(mechanism.noise.parameters, after, before, strict=True)
                for change in a - b
                if change
            ]
            yield replace(parts[0], name=f"from {x} to {y}", beside=tuple(parts[1:]))


def _gaussian_audit(name: str, epsilon: float) -> Audit:
    made = _MAKERS[name](MAP, 3, distribution="gaussian", epsilon=epsilon, delta=1e-6)
    return Enumerated(
        claim=Claim(made.cost.rho or 0.0, kind="rho"),
        distributions=partial(_all_moves, made, 1),
        twins={
            "half the noise": partial(_all_moves, made, 2),
            "sensitivity 1 for 2": partial(_all_moves, made, 2**0.5),
        },
    )


# HR12: one coordinate, of width 4, with rates chosen by hand.

WIDTH, PEOPLE = 4, 12
ALWAYS = AboveThreshold(Fraction(9), Fraction(9), -(10**9))  # fires, and so tells nothing


def _at_ends(left: int) -> Profile:
    return Profile(np.array([0, WIDTH]), np.array([left, PEOPLE - left]))


ENDS = (Neighbours("from end to end", _at_ends(6), _at_ends(7)),)


def _tuning(
    *,
    test: AboveThreshold = ALWAYS,
    value: Fraction = _TINY,
    count: Fraction = _TINY,
    updates: int = 1,
) -> CoordinateTuning:
    return CoordinateTuning(
        task=CoordinateTask(WIDTH, PEOPLE, 50, WIDTH + 1),
        updates=updates,
        test=test,
        value_noise=ValueNoise("laplace", value),
        count_noise=ValueNoise("laplace", count),
        value_radius=0,
        count_radius=0,
        below=0,
        above=0,
        spent=Fraction(0),
    )


def _tangents(tuned: CoordinateTuning, at: int, steps: int, source: EntropySource) -> Run:
    """Slopes and values that some steps buy."""

    def run(profile: Profile) -> list[float]:
        state = start_coordinate(tuned, source)
        for _ in range(steps):
            state = step_coordinate(tuned, state, profile, at, source)
        lines = state.hypothesis.lines
        slopes, values = [line.slope for line in lines], [line.value for line in lines]
        return [float(sum(slopes)), float(values[0])]

    return run


def _slope_audit(epsilon: float) -> Audit:
    """A move across the position changes the sum's slope by 2, where HR12 says 1."""
    rate = Fraction(epsilon) - WIDTH * _TINY
    slope = partial(_tangents, _tuning(count=rate), 1, 6)
    return Sampled(
        claim=Claim(epsilon),
        pairs=ENDS,
        start=slope,
        twins={
            "sensitivity 1 for 2": partial(_tangents, _tuning(count=2 * rate), 1, 1),
            "continue after the cap": partial(_tangents, _tuning(count=rate, updates=6), 1, 6),
        },
    )


def _value_audit(epsilon: float) -> Audit:
    """At an end a move changes the sum of distances by the whole width."""
    rate = (Fraction(epsilon) - _TINY) / WIDTH
    return Sampled(
        claim=Claim(epsilon),
        pairs=ENDS,
        start=partial(_tangents, _tuning(value=rate), 0, 1),
        twins={"half the noise": partial(_tangents, _tuning(value=2 * rate), 0, 1)},
    )


def _firings(tuned: CoordinateTuning, source: EntropySource) -> Run:
    """When the only instance fired, if it did."""

    def run(profile: Profile) -> list[float]:
        state, found = start_coordinate(tuned, source), []
        for at in (WIDTH, 0):
            state = step_coordinate(tuned, state, profile, at, source)
            found.append(float(state.updates))
        return [found[0], found[-1], sum(found)]

    return run


def _tests_audit(epsilon: float) -> Audit:
    """The sum from 0 is 4 (12 - left); at 4 it is 4 left: one grows where the other shrinks."""
    one = AboveThreshold(Fraction(1, 16), Fraction(1, 4), 26)
    factor = Fraction(epsilon) / one.cost(WIDTH)

    def louder(by: Fraction) -> CoordinateTuning:
        rates = by * one.threshold_rate, by * one.query_rate
        return _tuning(test=AboveThreshold(rates[0], rates[1], 26))

    return Sampled(
        claim=Claim(epsilon),
        pairs=ENDS,
        start=partial(_firings, louder(factor)),
        twins={"an eighth of the noise": partial(_firings, louder(8 * factor))},
    )


GRID = Metric.grid(3, 3)
EMBEDDING = exact_embedding(GRID)


def _on_grid(*rows: int) -> Locations:
    return Locations(GRID, np.bincount(rows, minlength=9))


ACROSS = (
    Neighbours("corner to corner", _on_grid(0, 0, 4), _on_grid(0, 8, 4)),
    Neighbours("as far from the last one", _on_grid(0, 4, 2), _on_grid(0, 4, 6)),
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


def _which_coordinates_erred(plan: L1Learner, source: EntropySource) -> Run:
    """HR12's Lemma 6 as printed: which coordinates are far off is told without noise."""
    del source

    def run(locations: Locations) -> list[float]:
        points = plan.embedding.points[8].tolist()
        pairs = zip(plan.profiles(locations), points, strict=True)
        return [float(profile.value(at) > 3.5) for profile, at in pairs]

    return run


def _offline(plan: L1Learner, source: EntropySource) -> Run:
    def run(locations: Locations) -> npt.NDArray[np.float64]:
        return plan.values(plan.learnt(locations, source))[[0, 8]]

    return run


def _without_noise(plan: L1Learner, source: EntropySource) -> Run:
    """Values and counts that are bought come without noise."""
    bare = ValueNoise("laplace", Fraction(50))
    tunings = [
        replace(tuned, test=ALWAYS, value_noise=bare, count_noise=bare) for tuned in plan.tunings
    ]
    loud = replace(plan)
    vars(loud)["tunings"] = tuple(tunings)
    return _offline(loud, source)


def _hr12_audit(queries: int | None, epsilon: float) -> Audit:
    plan = L1Learner(embedding=EMBEDDING, people=3, queries=queries, epsilon=epsilon)
    if queries is None:
        twins = {"no noise on what is bought": partial(_without_noise, plan)}
    else:
        twins = {"which coordinate erred": partial(_which_coordinates_erred, plan)}
    return Sampled(
        claim=Claim(epsilon),
        pairs=ACROSS,
        start=partial(_asked if queries else _offline, plan),
        twins=twins,
        runs=3000,
    )


ENTRIES = (
    *(
        Entry(
            f"distances: {name}, laplace",
            partial(_laplace_audit, name),
            (f"distances: {name}, laplace",),
        )
        for name in _MAKERS
    ),
    *(
        Entry(
            f"distances: {name}, gaussian",
            partial(_gaussian_audit, name),
            (f"distances: {name}, gaussian",),
        )
        for name in _MAKERS
    ),
    Entry(
        "distances: HR12 interactive",
        partial(_hr12_audit, 3),
        ("distances: HR12 interactive",),
    ),
    Entry("distances: HR12 offline", partial(_hr12_audit, None), ("distances: HR12 offline",)),
    Entry("distances: HR12, slopes", _slope_audit),
    Entry("distances: HR12, values", _value_audit),
    Entry("distances: HR12, tests", _tests_audit),
)
