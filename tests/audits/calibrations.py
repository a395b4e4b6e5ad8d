"""Audits of what sessions' calibrations guarantee: exact losses of transcripts, term by term.

An analyst can choose queries so that each instance of a test sees one of a few streams of true
answers and public thresholds. Here the probabilities of all outcomes of such a stream are summed
over the noise; instances are independent and add up, as many as a calibration allows to fire. The
rates, thresholds and caps are those of mechanisms made as users make them; that their tests draw
from these distributions is what the audits by runs look at.

One change raises some answers to linear queries and lowers others, so sessions of these pay for two
steps: their streams change either way.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

import graphcuts_dp as gc
from graphcuts_dp import ParameterError
from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.evaluation.audit import Claim
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.calibration_base import Tuning
from graphcuts_dp.learn.calibrations import CALIBRATIONS
from graphcuts_dp.learn.constructions import CONSTRUCTIONS
from graphcuts_dp.plugins import Cost, SeededEntropy, Universe
from graphcuts_dp.privacy.default_unit import EDGE
from graphcuts_dp.privacy.sparse_vector import NoisyComparison, OneSidedPair, SharedThreshold
from graphcuts_dp.session.counts import CountUnits
from graphcuts_dp.session.online import OnlineMechanism
from graphcuts_dp.session.plain import PerQueryNoise
from graphcuts_dp.session.terms import SessionTerms
from tests.audits.base import Variants, audited_laws
from tests.audits.losses import DistributionPair

_QUERIES, _DELTA = 4, 1e-6
_VERTICES = {"tight": 128}  # enough for several updates; 24 for the others
_RARE = 1e-12  # outcomes that are rarer count as one
_MORE = 20  # instances of an incorrect variant that does not stop, for one that is paid for


def _one_sided(x: npt.ArrayLike, rate: float) -> FloatVector:
    """P(N >= x) of geometric noise N >= 0."""
    return np.exp(-rate * np.maximum(x, 0))


def _two_sided(x: npt.ArrayLike, rate: float) -> FloatVector:
    """P(N >= x) of discrete Laplace noise."""
    at, half = np.asarray(x, dtype=np.float64), 1 + math.exp(-rate)
    above = np.exp(-rate * np.maximum(at, 0)) / half
    return np.where(at > 0, above, 1 - np.exp(-rate * np.maximum(1 - at, 0)) / half)


@lru_cache(maxsize=4096)  # an incorrect variant that goes on has the same instances, more of them
def instance(
    r1: float,
    r2: float,
    *,
    two_sided: bool,
    stages: tuple[tuple[int, float, int], ...],
    changed: bool,
) -> FloatVector:
    """Probabilities of the stage in which an instance fires, and of none.

    Args:
        r1: rate of the threshold's noise.
        r2: of each test's noise.
        two_sided: whether noise is discrete Laplace, or geometric.
        stages: for each, how many tests, how far the truth is below the threshold, and by how much
            it is nearer for the neighbour.
        changed: whether this is the neighbour.
    """
    reach = math.ceil(40 / r1)
    R = np.arange(-reach if two_sided else 0, reach + 1)
    weights = np.exp(-r1 * np.abs(R))
    weights /= weights.sum()
    tail = _two_sided if two_sided else _one_sided
    left, found = weights, []
    for tests, below, change in stages:
        silent = (1 - tail(round(below) - change * changed + R, r2)) ** tests
        found.append(float((left * (1 - silent)).sum()))
        left = left * silent
    found.append(float(left.sum()))
    return np.array(found)


def _streams(r1: float, r2: float, signs: tuple[int, ...], steps: int) -> Iterator[tuple[Any, ...]]:
    """Stages to try: one that fires if its own change helps, silent ones, and a last one."""
    for low, far, last in itertools.product((-3, -1, 0, 1, 3), (0, 2, 5, 10), signs):
        yield ((1, low / r2, steps),)
        for many in (100, 1000) if -1 in signs else (1, 3, 10, 100):
            silent = (many, low / r1, steps)
            yield (silent, (1, far / r2, last * steps))
            yield ((1, far / r2, steps), silent, (1, far / r2, last * steps))


def _stream(
    r1: float, r2: float, two_sided: bool, stages: tuple[Any, ...], copies: int
) -> DistributionPair:
    """Outcomes of an instance on both neighbours; rare ones count as one, or are left out."""
    first, second = (
        instance(r1, r2, two_sided=two_sided, stages=stages, changed=changed)
        for changed in (False, True)
    )
    rare = np.minimum(first, second) < _RARE
    both = [np.append(each[~rare], each[rare].sum()) for each in (first, second)]
    if min(both[0][-1], both[1][-1]) < _RARE:
        both = [each[:-1] for each in both]
    return DistributionPair(f"stream {stages}", both[0], both[1], copies)


def _of_test(tuning: Tuning, copies: int, steps: int) -> Iterator[DistributionPair]:
    test = tuning.test
    if isinstance(test, NoisyComparison):
        yield _of_values(float(test.rate), copies, steps)
        return
    if not isinstance(test, OneSidedPair | SharedThreshold):
        raise TypeError(f"no distribution is known for {type(test).__name__}")
    shared = isinstance(test, SharedThreshold)
    r1, r2 = float(test.threshold_rate), float(test.query_rate)
    # A shared threshold also sees tests of the other sign, for which the truth moves away.
    for stages in _streams(r1, r2, (-1, 0, 1) if shared else (0, 1), steps):
        yield _stream(r1, r2, shared, stages, copies)


def _of_values(rate: float, copies: int, steps: int) -> DistributionPair:
    """How many of the bought values are at least the truth of the second neighbour."""
    above = [float(_two_sided(steps - change, rate)) for change in (0, steps)]
    counts = np.arange(copies + 1)
    distributions = [scipy.stats.binom.pmf(counts, copies, p) for p in above]
    return DistributionPair(f"{copies} bought values", distributions[0], distributions[1])


def _with_values(tuning: Tuning, copies: int, steps: int) -> Iterator[DistributionPair]:
    """Instances, each with the value that it buys: losses in pure epsilon add up."""
    for distribution in _of_test(tuning, copies, steps):
        if tuning.value_noise is None:
            yield distribution
            continue
        rate = float(tuning.value_noise.parameter)
        x = np.array([float(_two_sided(steps - change, rate)) for change in (0, steps)])
        values = np.array([x, 1 - x])
        both = [
            np.outer(p, values[:, k]).ravel()
            for k, p in enumerate((distribution.first, distribution.second))
        ]
        yield DistributionPair(distribution.name, both[0], both[1], distribution.copies)


def transcripts_of(tuning: Tuning, *, more: int = 1, steps: int = 1) -> Iterator[DistributionPair]:
    """The most telling transcripts that a tuning allows.

    Args:
        tuning: of a session.
        more: instances that fire, for one that is paid for.
        steps: how many pairs change, all of them in every cut.
    """
    # With a cap of c that is not met on the last update, one more test fires.
    copies = tuning.updates + (not tuning.halts)
    return _with_values(tuning, max(1, copies) * more, steps)


# Incorrect variants.


def _louder(tuning: Tuning, factor: int) -> Tuning:
    test, noise = tuning.test, tuning.value_noise
    if isinstance(test, NoisyComparison):
        return replace(tuning, test=replace(test, rate=factor * test.rate))
    if isinstance(test, OneSidedPair):
        test = OneSidedPair(factor * test.threshold_rate, factor * test.query_rate, test.threshold)
    elif isinstance(test, SharedThreshold):
        r1, r2 = factor * test.threshold_rate, factor * test.query_rate
        test = SharedThreshold(r1, r2, test.threshold)
    if noise is not None:
        noise = replace(noise, parameter=factor * noise.parameter)
    return replace(tuning, test=test, value_noise=noise)


def _not_reset(tuning: Tuning) -> Iterator[DistributionPair]:
    """Instances that have fired go on with the same threshold noise, uncharged."""
    test = tuning.test
    if not isinstance(test, OneSidedPair | SharedThreshold):
        raise TypeError("there is no threshold to reset")
    tests = _MORE * max(1, tuning.updates + 1)
    shared = isinstance(test, SharedThreshold)
    r1, r2 = float(test.threshold_rate), float(test.query_rate)
    reach = math.ceil(40 / r1)
    R = np.arange(-reach if shared else 0, reach + 1)
    weights = np.exp(-r1 * np.abs(R))
    tail = _two_sided if shared else _one_sided
    fires = np.arange(tests + 1)[:, None]
    for below in (0, round(1 / r1)):
        distributions = []
        for change in (0, 1):
            often = scipy.stats.binom.pmf(fires, tests, tail(below - change + R, r2))
            distributions.append(often @ (weights / weights.sum()))
        yield DistributionPair(f"{tests} tests", distributions[0], distributions[1])
    # Tests with the edge that all fire, and as many without it that do not: R cannot hide that.
    many = math.ceil(4 / r2)
    both = []
    for change in (0, 1):
        event = tail(R - change, r2) ** many * (1 - tail(R + 1, r2)) ** many
        p = float(event @ (weights / weights.sum()))
        both.append(np.array([p, 1 - p]))
    yield DistributionPair(f"{many} tests with the edge, {many} without", both[0], both[1])


def _numbers_left_bare(*_terms: Any) -> Iterator[DistributionPair]:
    """Values are bought, and given without noise."""
    yield DistributionPair("a value", np.array([1.0, 0.0]), np.array([0.0, 1.0]))


def _tuned(total: float, empty: AnyGraph, **terms: Any) -> tuple[Tuning, Cost]:
    """The tuning of a session as users make it, and its cost.

    The audit is of what comes after the total, which is given.
    """
    made = SessionTerms.of(queries=_QUERIES, **terms).mechanism(Universe.of(empty), Grid())
    if not isinstance(made, OnlineMechanism):
        raise TypeError("a construction is run by an online mechanism")
    made = replace(made, total_weight=total)
    return made.start(empty, SeededEntropy(0)).tuning, made.cost


def calibrated(
    construction: str, calibration: str, epsilon: float, privacy_unit: gc.PrivacyUnit = EDGE
) -> tuple[Tuning, Claim]:
    """The tuning of a session, and what is guaranteed for all changes together."""
    if calibration in ("gru12", "jt12"):
        epsilon = min(epsilon, 1.0)  # the theorems' range
    delta, n = 0.0 if calibration == "dr14" else _DELTA, _VERTICES.get(calibration, 24)
    terms = {"method": construction, "calibration": calibration, "privacy_unit": privacy_unit.typed}
    empty = gc.Graph([], [], vertices=n)
    tuning, cost = _tuned(n * (n - 1) / 4, empty, epsilon=epsilon, delta=delta, **terms)
    if calibration == "tight":
        return tuning, Claim(cost.rho or 0.0, kind="rho")
    return tuning, Claim(epsilon, delta)


_GENEROUS = (
    "The paper's constants are so generous that what a session releases loses next to nothing of "
    "its claim."
)


def _variants_of_calibration(_: str, calibration: str) -> Variants:
    if calibration in ("gru12", "jt12"):
        # Their constants are so large that much less noise would do: only gross mistakes show.
        return {"sigma's factor left out": {"far": 3.0}, "m used raw": _numbers_left_bare}
    return {
        "half the noise": {"factor": 2},
        "continue after the cap": {"more": _MORE},
        "un-reset threshold": {"reset": False},
    }


@audited_laws(
    "session: {}, {}",
    CONSTRUCTIONS,
    CALIBRATIONS,
    incorrect_variants=_variants_of_calibration,
    claim=lambda *terms: calibrated(*terms)[1],
    why_below_half=lambda _, calibration: _GENEROUS if calibration in ("gru12", "jt12") else "",
)
def _transcripts(
    construction: str,
    calibration: str,
    epsilon: float,
    factor: int = 1,
    far: float | None = None,
    more: int = 1,
    reset: bool = True,
) -> Iterator[DistributionPair]:
    tuning, claim = calibrated(construction, calibration, epsilon)
    if far is not None and isinstance(tuning.test, NoisyComparison):
        factor = math.ceil(far * claim.value / float(tuning.test.rate))
    return transcripts_of(_louder(tuning, factor), more=more) if reset else _not_reset(tuning)


# Parameters of a user's own.

_CHOSEN_UPDATES = {"gru12": 300, "jt12": 300}  # many, so that losses add up; 3 of the others
_RANGE = (
    "The proof bounds the divergence by the range of the loss, or a moment of it by a theorem on "
    "noisy comparisons; the streams of answers that are tried lose less."
)


@lru_cache(maxsize=16)  # a search of some tenths of a second
def _with_chosen_noise(calibration: str, epsilon: float) -> tuple[Tuning, Claim]:
    """The tuning of a session with nearly the least sigma that its budget allows, and its claim."""
    if calibration in ("gru12", "jt12"):
        epsilon = min(epsilon, 1.0)  # the theorems' range
    delta, empty = 0.0 if calibration == "dr14" else _DELTA, gc.Graph([], [], vertices=24)
    terms: dict[str, Any] = {"method": "multiplicative-weights", "calibration": calibration}
    updates = _CHOSEN_UPDATES.get(calibration, 3)
    terms |= {"epsilon": epsilon, "delta": delta, "updates": updates, "threshold": 40.0}
    low, high = 0.01, 1e6
    while high > 1.001 * low:
        middle = math.sqrt(low * high)
        try:
            _tuned(60.0, empty, sigma=middle, **terms)
        except ParameterError:
            low = middle
        else:
            high = middle
    tuning, cost = _tuned(60.0, empty, sigma=high, **terms)
    if calibration == "tight":
        return tuning, Claim(cost.rho or 0.0, kind="rho")
    return tuning, Claim(epsilon, delta)


@audited_laws(
    "session: chosen sigma, {}",
    CALIBRATIONS,
    incorrect_variants=lambda calibration: {
        "noise of a fifth of sigma": {"factor": 5},
        **({} if calibration in ("gru12", "jt12") else {"noise of half of sigma": {"factor": 2}}),
        "continue after the cap": {"more": _MORE},
    },
    claim=lambda *terms: _with_chosen_noise(*terms)[1],
    why_below_half=lambda calibration: "" if calibration == "dr14" else _RANGE,
)
def _with_chosen_sigma(
    calibration: str, epsilon: float, factor: int = 1, more: int = 1
) -> Iterator[DistributionPair]:
    """Transcripts of sessions whose noise and number of updates a user has set."""
    tuning, _ = _with_chosen_noise(calibration, epsilon)
    return transcripts_of(_louder(tuning, factor), more=more)


@audited_laws(
    "session: gaussian, delta = 1e-6",
    incorrect_variants={"half the noise": {"factor": 2}, "sensitivity 1 for 2": {"factor": 2}},
    claim=lambda epsilon: Claim(epsilon, _DELTA),
)
def _normal(epsilon: float, factor: float = 1) -> Iterator[DistributionPair]:
    """The sum of all answers of a Gaussian session, which tells nearly all."""
    options: Any = {"universe": Universe(4), "grid": Grid(), "queries": _QUERIES}
    made = PerQueryNoise(distribution="gaussian", epsilon=epsilon, delta=_DELTA, **options)
    variance = float(made.noise.parameter) / factor**2
    reach = math.ceil(14 * math.sqrt(variance * _QUERIES))
    one = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * variance))
    both = total = one / one.sum()
    for _ in range(_QUERIES - 1):
        both = np.convolve(both, total)
    laws = np.append(both, [0.0] * _QUERIES), np.append([0.0] * _QUERIES, both)
    yield DistributionPair("an edge in all cuts", *laws)


# Linear queries.

_SIDE = 90
_COARSE = 8  # steps of a change here, for 2^24: losses depend on rates times steps alone


@lru_cache(maxsize=2)
def _signed(epsilon: float) -> tuple[Tuning, Cost]:
    terms: Any = {"method": "mirror-descent", "delta": _DELTA, "norm": "l2", "linear": True}
    nothing = gc.BipartiteGraph([], [], left=_SIDE, right=_SIDE)
    return _tuned(_SIDE**2 / 2, nothing, epsilon=epsilon, **terms)


@audited_laws(
    "session: linear queries",
    incorrect_variants={
        "charged as cuts are, one step": {"factor": 2},
        "continue after the cap": {"more": _MORE},
    },
    claim=lambda epsilon: Claim(_signed(epsilon)[1].rho or 0.0, kind="rho"),
    why_below_half="The proof bounds the divergence by the range of the loss, whatever the answers "
    "are; the streams of answers that are tried lose less.",
)
def _signed_streams(epsilon: float, factor: int = 1, more: int = 1) -> Iterator[DistributionPair]:
    """Stages: silent ones whose answers change one way, then one that changes the other way."""
    tuning, _ = _signed(epsilon)
    test, copies = tuning.test, (tuning.updates + 1) * more
    if not isinstance(test, OneSidedPair):
        raise TypeError("the tight calibration has one-sided tests")
    steps = factor * CountUnits.of(Grid(), linear=True).sensitivity
    r1, r2 = (float(r * steps / _COARSE) for r in (test.threshold_rate, test.query_rate))
    ranges = (0, 2, 5, 10), (-1, 0, 1, 2, 3), (1, 10, 100, 1000), (-1, 1), (-1, 0, 1)
    for far, low, many, way, last in itertools.product(*ranges):
        silent = (many, low / r1, way * _COARSE)
        first, then = (1, far / r2, last * _COARSE), (1, far / r2, -way * _COARSE)
        for stages in ((silent, first), (first, silent, then)):
            yield _stream(r1, r2, False, stages, copies)
