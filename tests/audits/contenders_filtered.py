"""Audits of the high-pass filter and of the topology sampler, by the chances of all outputs."""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.evaluation.audit import Claim
from graphcuts_dp.privacy.distributions import LaplaceNoise
from scripts.benchmark.contenders import high_pass_filter, topology_sampler
from tests.audits.base import Audit, Entry, Enumerated
from tests.audits.losses import DistributionPair

_DELTA = 0.01
_SPAN = 6.0  # scales of the noise beyond the threshold that are told apart
_GRAINS = 64  # in a scale: on a fine grid, the others lie between these
_FEW_PAIRS = 10


# The filter: what comes out of the one pair that differs; the rest has one law.


def _filtered(steps: int | None, noise: LaplaceNoise, threshold: int) -> FloatVector:
    """Chances of what comes out of a pair: nothing; each value from the threshold on.

    Values are taken together a few at a time on fine grids, and beyond a last one.

    Args:
        steps: weight of the edge, None for no edge.
        noise: its distribution.
        threshold: in steps.
    """
    scale = 1 / float(noise.rate)
    grain = max(1, round(scale / _GRAINS))
    if steps is None:
        count = math.ceil(_SPAN * scale / grain) + 2
        nothing: FloatVector = np.eye(1, count)[0]
        return nothing
    ends = threshold + grain * np.arange(math.ceil(_SPAN * scale / grain) + 1)
    above = np.array([_tail(int(end) - steps, noise) for end in ends])
    return np.concatenate([[1 - above[0]], above[:-1] - above[1:], above[-1:]])


def _tail(steps: int, noise: LaplaceNoise) -> float:
    """P(K >= steps)."""
    ratio = math.exp(-float(noise.rate))
    if steps > 0:
        return ratio**steps / (1 + ratio)
    return 1 - ratio ** (1 - steps) / (1 + ratio)


def _filters(
    noise: LaplaceNoise, threshold: int, *, drops: bool = True
) -> Iterator[DistributionPair]:
    """All that neighbours can differ in, at one pair, within some multiples of the change."""
    change = noise.sensitivity_steps
    # An edge can weigh next to nothing, and is an edge.
    edges = [(0, change), (change, 2 * change), (threshold - change, threshold)]
    if noise.weight_cap is not None:
        edges = edges[:1]
    for first, second in edges:
        laws = [_filtered(each, noise, threshold) for each in (first, second)]
        yield DistributionPair(f"an edge of {first} or {second} steps", laws[0], laws[1])
    for steps in (0, change):
        laws = [_filtered(None, noise, threshold), _filtered(steps, noise, threshold)]
        if not drops:  # the edge itself is told
            laws = [np.append(law, 0.0) for law in laws]
            laws[1][0], laws[1][-1] = 0.0, laws[1][0]
        yield DistributionPair(f"no edge or {steps} steps", laws[0], laws[1])


def _forgotten(noise: LaplaceNoise) -> int:
    """A threshold that counts from 0, as if the edge that is hidden weighed nothing."""
    beyond = high_pass_filter.threshold_of(noise, _DELTA)
    return max(1, beyond - noise.sensitivity_steps)


def _filter_audit(name: str, cap: float | None, epsilon: float) -> Audit:
    noise = noise_distribution(name, epsilon=epsilon, weight_cap=cap)
    if not isinstance(noise, LaplaceNoise):
        raise TypeError("Laplace noise was asked for")
    threshold = high_pass_filter.threshold_of(noise, _DELTA)
    half, twice = (replace(noise, epsilon=noise.epsilon * factor) for factor in (2, Fraction(1, 2)))
    twins = {
        "twice the noise, the same threshold": partial(_filters, twice, threshold),
        "a threshold for an edge of no weight": partial(_filters, noise, _forgotten(noise)),
        "edges below the threshold are told": partial(_filters, noise, threshold, drops=False),
    }
    if cap is None:  # below a cap all edges are hidden by the threshold alone
        twins["half the noise"] = partial(_filters, half, threshold)
    return Enumerated(
        claim=Claim(epsilon, _DELTA),
        distributions=partial(_filters, noise, threshold),
        twins=twins,
    )


# The sampler: every set of pairs can come out, and its size is the noisy count.


def _size_law(edges: int, rate: Fraction) -> FloatVector:
    """Chances of the noisy size, in 0.._FEW_PAIRS."""
    ratio = math.exp(-float(rate))
    sizes = np.arange(_FEW_PAIRS + 1)
    law: FloatVector = (1 - ratio) / (1 + ratio) * ratio ** np.abs(sizes - edges)
    law[0] = ratio**edges / (1 + ratio)
    law[-1] = ratio ** (_FEW_PAIRS - edges) / (1 + ratio)
    return law


def _sets(edges: int, size_rate: Fraction | None, rate: Fraction, *, hidden: bool) -> FloatVector:
    """Chances of one set of each size with each number of edges in it.

    A set is told by its size, by whether it has the pair that differs, and by how many of the
    other edges it has: others of the same numbers are equally likely.

    Args:
        edges: of the neighbour without the pair.
        size_rate: of the noisy size; None for the true one.
        rate: of the set.
        hidden: whether the pair is an edge here.
    """
    true = edges + hidden
    sizes = np.eye(_FEW_PAIRS + 1)[true] if size_rate is None else _size_law(true, size_rate)
    found = []
    for size in range(_FEW_PAIRS + 1):
        for here in (0, 1):
            others = range(
                max(0, size - here - (_FEW_PAIRS - 1 - edges)), min(edges, size - here) + 1
            )
            for other in others:
                overlap = other + here * hidden
                chance = topology_sampler.set_chance(overlap, true, size, _FEW_PAIRS, rate)
                found.append(float(sizes[size]) * chance)
    return np.array(found)


def _samples(size_rate: Fraction | None, rate: Fraction) -> Iterator[DistributionPair]:
    for edges in range(_FEW_PAIRS):
        laws = [_sets(edges, size_rate, rate, hidden=hidden) for hidden in (False, True)]
        yield DistributionPair(f"{edges} edges and one more", laws[0], laws[1])


def _sampler_audit(epsilon: float) -> Audit:
    exact = Fraction(epsilon)
    share = topology_sampler.COUNT_SHARE
    parts = exact * share, exact * (1 - share)
    return Enumerated(
        claim=Claim(epsilon),
        distributions=partial(_samples, *parts),
        twins={
            "m used raw": partial(_samples, None, parts[1]),
            "the size is not charged": partial(_samples, exact, exact),
            "a score that counts both kinds of errors": partial(_samples, parts[0], 2 * parts[1]),
        },
    )


_BY_DELTA = "Below a cap the threshold alone hides an edge: it uses delta, and none of epsilon."
ENTRIES = (
    Entry(
        "benchmark: high-pass-filter",
        partial(_filter_audit, "discrete-laplace", 1.0),
        unseen=_BY_DELTA,
    ),
    Entry("benchmark: high-pass-filter, weights", partial(_filter_audit, "laplace", None)),
    Entry(
        "benchmark: high-pass-filter, capped",
        partial(_filter_audit, "laplace", 20.0),
        unseen=_BY_DELTA,
    ),
    Entry("benchmark: topology-sampler", _sampler_audit),
)
