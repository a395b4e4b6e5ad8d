"""Audit of a Kronecker model fitted to noisy degrees, and of what public code does instead."""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np
import scipy

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.evaluation.audit import Claim
from graphcuts_dp.privacy.noise import entropy_source
from scripts.benchmark.contenders.privskg import measured_degrees
from tests.audits.base import Audit, Entry, Enumerated
from tests.audits.graphs import LAST_PAIR
from tests.audits.losses import DistributionPair

_FAR = 12  # degrees this far from 0 are told from each other no more
_COMMON = 8  # neighbours that the ends of an edge have in common


def _degree(true: int, rate: float) -> FloatVector:
    """Chances of a noisy degree, values beyond `_FAR` taken together."""
    ratio = math.exp(-rate)
    values = np.arange(-_FAR, _FAR + 1) - true
    law: FloatVector = (1 - ratio) / (1 + ratio) * ratio ** np.abs(values)
    law[0] = ratio ** -values[0] / (1 + ratio)
    law[-1] = ratio ** values[-1] / (1 + ratio)
    return law


def _degrees(rate: float) -> Iterator[DistributionPair]:
    """An edge raises two degrees by 1. All else comes of these and of others that stay."""
    for degree in (0, 3):
        laws = [_degree(each, rate) for each in (degree, degree + 1)]
        yield DistributionPair(f"degrees {degree}", laws[0], laws[1], copies=2)


def _true_degrees_in_stars(rate: float) -> Iterator[DistributionPair]:
    """The number of stars, sum of d (y - 1)(y - 2), is told along with the noisy degrees y."""
    values = np.arange(-_FAR, _FAR + 1)
    factor = (values - 1) * (values - 2)
    told = factor[:, None] + factor[None, :] != 0  # by how much the sum differs
    joint = [np.outer(_degree(each, rate), _degree(each, rate)) for each in (0, 1)]
    nothing = np.zeros(int(told.sum()))
    first = np.concatenate([joint[0][~told], joint[0][told], nothing])
    second = np.concatenate([joint[1][~told], nothing, joint[1][told]])
    yield DistributionPair("degrees 0", first, second)


def _triangles_by_their_own_scale(epsilon: float) -> Iterator[DistributionPair]:
    """Triangles get noise that is scaled by the most that one vertex has, 1 if there are none."""
    ends = np.linspace(-10 * _COMMON / epsilon, 10 * _COMMON / epsilon, 401)
    laws = []
    for triangles in (0, _COMMON):
        scale = 2 * max(triangles, 1) / (epsilon / 2)
        below = scipy.stats.laplace.cdf(ends, loc=triangles, scale=scale)
        laws.append(np.diff(np.concatenate([[0.0], below, [1.0]])))
    yield DistributionPair("ends with common neighbours", laws[0], laws[1])


def _audit(epsilon: float) -> Audit:
    graph = LAST_PAIR.first
    rate = float(measured_degrees(graph, Fraction(epsilon), entropy_source(0)).rate)
    return Enumerated(
        claim=Claim(epsilon),
        distributions=partial(_degrees, rate),
        twins={
            "public code: sensitivity 1 for 2 degrees": partial(_degrees, 2 * rate),
            "public code: true degrees count stars": partial(_true_degrees_in_stars, rate),
            "public code: triangles hidden by their own number": partial(
                _triangles_by_their_own_scale, epsilon
            ),
        },
    )


ENTRIES = (Entry("benchmark: privskg", _audit),)
