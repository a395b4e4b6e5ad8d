"""Audit differential privacy: bound the privacy loss of a mechanism from below, from runs.

A mechanism is run on two neighbours, each run giving a vector of numbers. Events are
thresholds on its entries, on their absolute values and on the differences of two of them. Training
runs pick the event with the best bound; fresh runs count how often it happens. With Clopper-Pearson
bounds low <= P(E | one) and P(E | other) <= high, each wrong with probability at most alpha/2, the
loss is at least `Claim.bound`. So an audit reports more than the claim of a mechanism that keeps it
with probability at most alpha, whatever its distribution and however pair and event were picked.

Audits run on simulated data only: they print facts about a mechanism, never about anybody's data.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, final

import numpy as np
import numpy.typing as npt
import scipy

from graphcuts_dp.arrays import FloatMatrix, FloatVector

T = TypeVar("T")
# Maps (data, number of the first run, number of runs) to a matrix with one row for each run.
Draw = Callable[[Any, int, int], FloatMatrix]

ALPHA = 1e-6  # default probability of a bound that is too large
_LEVELS = np.linspace(0, 1, 15)  # thresholds are these quantiles of the pooled training runs
_TINY = 1e-300  # in place of 0, in logarithms
# Failure probability of the bounds on shares by which training runs choose an event.
_TRAINING_ALPHA = 0.1


@final
@dataclass(frozen=True)
class Claim:
    """Guarantee of a mechanism, in the currency in which it is audited.

    Attributes:
        value: epsilon or rho, > 0.
        delta: in [0, 1), of an (epsilon, delta) guarantee.
        kind: "epsilon", or "rho" for zero-concentrated differential privacy.
    """

    value: float
    delta: float = 0.0
    kind: Literal["epsilon", "rho"] = "epsilon"

    def __str__(self) -> str:
        delta = f", delta = {self.delta:g}" if self.delta else ""
        return f"{self.kind} = {self.value:.4g}{delta}"

    def bound(self, low: npt.ArrayLike, high: npt.ArrayLike) -> FloatVector:
        """Return the least loss with which an event can have these probabilities.

        P(E) <= e^epsilon P'(E) + delta gives epsilon >= ln((P(E) - delta)/P'(E)). rho-zCDP gives
        P(E)^a P'(E)^(1-a) <= e^(a (a-1) rho) for every a > 1, hence
        rho >= -ln(1/P)/(a-1) + ln(1/P')/a, at best (sqrt(ln 1/P') - sqrt(ln 1/P))^2 for P > P'.

        Args:
            low: P(E) on one of the neighbours, or a lower bound of it.
            high: P'(E) on the other, or an upper bound of it.
        """
        p, q = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        if self.kind == "epsilon":
            losses = np.log(np.maximum(p - self.delta, _TINY)) - np.log(np.maximum(q, _TINY))
            return np.asarray(losses)
        gap = np.sqrt(-np.log(np.clip(q, _TINY, 1))) - np.sqrt(-np.log(np.clip(p, _TINY, 1)))
        return np.where(p > q, gap**2, -(gap**2))

    def detectable_loss(self, runs: int, *, alpha: float = ALPHA) -> float:
        """Estimate the bound that an audit gives for a mechanism whose loss is the claim.

        For epsilon the mechanism is randomised response of one bit, with an output of probability
        delta that reveals it; for rho the Gaussian mechanism, at its most informative threshold.

        Args:
            runs: on each neighbour, to count an event that was chosen before.
            alpha: as for `audit`.
        """
        if self.kind == "epsilon":
            p = np.array([(math.exp(self.value) + self.delta) / (1 + math.exp(self.value))])
            q = 1 - p
        else:
            thresholds = np.linspace(-4, 6, 200)
            p = scipy.stats.norm.sf(thresholds - math.sqrt(2 * self.value))
            q = scipy.stats.norm.sf(thresholds)
        low, _ = clopper_pearson(np.floor(p * runs), runs, alpha / 2)
        _, high = clopper_pearson(np.ceil(q * runs), runs, alpha / 2)
        return float(self.bound(low, high).max())


@final
@dataclass(frozen=True)
class AuditResult:
    """Result of an audit.

    Attributes:
        epsilon_lower: the true epsilon (or rho, if that was claimed) is at least this, with
            probability 1 - alpha.
        event: the event that shows it.
        pair: name of the neighbours that show it.
    """

    epsilon_lower: float
    event: str
    pair: str = ""


@final
@dataclass(frozen=True)
class Neighbours:
    """Two simulated data sets that differ by one change.

    Attributes:
        name: where they differ.
        first: one of them.
        second: the other.
    """

    name: str
    first: Any
    second: Any


def audit(
    mechanism: Callable[[T, int], npt.ArrayLike],
    first: T,
    second: T,
    *,
    runs: int = 4000,
    alpha: float = ALPHA,
    claim: Claim | None = None,
) -> AuditResult:
    """Return a lower bound on the loss of a mechanism on two neighbours.

    Args:
        mechanism: called with data and the number of the run; returns a vector. Each call draws new
            noise.
        first: simulated data.
        second: a neighbour of it.
        runs: on each; half choose the event, half test it.
        alpha: probability of a bound that is too large, at most.
        claim: its kind and delta say which loss is bounded; None for pure epsilon.
    """
    claim = claim or Claim(1.0)
    half = runs // 2
    draw = draw_of_runs(mechanism)
    samples = [draw(data, 0, runs) for data in (first, second)]
    event = _best_event((samples[0][:half], samples[1][:half]), runs - half, claim, alpha)
    return _bound_of_event(event, (samples[0][half:], samples[1][half:]), claim, alpha)


def audit_worst(
    draw: Draw,
    pairs: Sequence[Neighbours],
    *,
    training: int,
    runs: int,
    claim: Claim,
    alpha: float = ALPHA,
) -> AuditResult:
    """Return a lower bound on the loss of a mechanism on the worst of several pairs of neighbours.

    Args:
        draw: runs the mechanism.
        pairs: neighbours, at least one pair.
        training: runs on each neighbour of each pair, which choose a pair and an event.
        runs: fresh ones on each neighbour of that pair.
        claim: its kind and delta say which loss is bounded.
        alpha: probability of a bound that is too large, at most. Pairs need no share of it: only
            fresh runs of one of them are counted.
    """
    candidates = []
    for pair in pairs:
        training_outputs = draw(pair.first, 0, training), draw(pair.second, 0, training)
        candidates.append(_best_event(training_outputs, runs, claim, alpha))
    worst = max(range(len(pairs)), key=lambda index: candidates[index].score)
    pair = pairs[worst]
    outputs = draw(pair.first, training, runs), draw(pair.second, training, runs)
    return replace(_bound_of_event(candidates[worst], outputs, claim, alpha), pair=pair.name)


def clopper_pearson(
    successes: npt.ArrayLike, trials: int, alpha: float
) -> tuple[FloatVector, FloatVector]:
    """Return one-sided bounds on a probability, each wrong with probability at most alpha.

    Args:
        successes: how often an event was seen, any shape.
        trials: in how many independent runs.
        alpha: in (0, 1).

    Returns:
        Lower and upper bounds, of the same shape.
    """
    k = np.asarray(successes, dtype=float)
    low = scipy.stats.beta.ppf(alpha, np.maximum(k, 0.5), trials - k + 1)
    high = scipy.stats.beta.ppf(1 - alpha, k + 1, np.maximum(trials - k, 0.5))
    return np.where(k == 0, 0.0, low), np.where(k == trials, 1.0, high)


def draw_of_runs(mechanism: Callable[[T, int], npt.ArrayLike]) -> Draw:
    """Return the `Draw` of a mechanism that returns the vector of one run at a time."""

    def draw(data: Any, start: int, count: int) -> FloatMatrix:
        return np.array([mechanism(data, start + run) for run in range(count)], dtype=float)

    return draw


@final
@dataclass(frozen=True)
class _Event:
    """A threshold on one feature of an output.

    Attributes:
        column: of the feature, see `_features`.
        level: the threshold.
        above: whether values at or above the threshold are the event; else those at or below it.
        swapped: whether it is likelier on the second neighbour.
        score: the bound that it should give, from the training runs.
    """

    column: int
    level: float
    above: bool
    swapped: bool
    score: float

    def counts(self, outputs: tuple[FloatMatrix, FloatMatrix]) -> tuple[int, int]:
        """Return the counts of the event on the neighbour where it is likely, and on the other."""
        hits = []
        for output in outputs:
            values = _features(output)[:, self.column]
            is_hit = values >= self.level if self.above else values <= self.level
            hits.append(int(is_hit.sum()))
        return (hits[1], hits[0]) if self.swapped else (hits[0], hits[1])

    def name(self, entries: int) -> str:
        """Return the event in words, for outputs with so many entries."""
        sense = ">=" if self.above else "<="
        return f"{_names(entries)[self.column]} {sense} {self.level:g}"


def _best_event(
    outputs: tuple[FloatMatrix, FloatMatrix], runs: int, claim: Claim, alpha: float
) -> _Event:
    """Return the event that should give the best bound from fresh runs.

    Args:
        outputs: of the training runs on both neighbours, from which probabilities are estimated.
        runs: number of fresh runs on each neighbour.
        claim: its kind and delta say which loss is bounded.
        alpha: probability of a bound that is too large, at most.
    """
    features = [_features(output) for output in outputs]
    trials = len(features[0])
    levels = np.quantile(np.concatenate(features), _LEVELS, axis=0, method="nearest")
    # Shape (two neighbours, above or below, levels, columns).
    counts = np.array(
        [[_hits(values, levels, above) for above in (True, False)] for values in features]
    )
    # Shares that the training runs do not rule out: an event picked for its luck would not last.
    low, high = clopper_pearson(counts, trials, _TRAINING_ALPHA)
    # The bounds of events that are likelier on the first neighbour, and on the second.
    scores = np.array(
        [
            _bound(low[likelier] * runs, high[1 - likelier] * runs, runs, claim, alpha)
            for likelier in (0, 1)
        ]
    )
    swapped, below, level, column = np.unravel_index(int(np.argmax(scores)), scores.shape)
    return _Event(
        column=int(column),
        level=float(levels[level, column]),
        above=not below,
        swapped=bool(swapped),
        score=float(scores.max()),
    )


def _bound_of_event(
    event: _Event, outputs: tuple[FloatMatrix, FloatMatrix], claim: Claim, alpha: float
) -> AuditResult:
    """Return the bound that an event gives by fresh outputs on both neighbours."""
    bound = _bound(*event.counts(outputs), len(outputs[0]), claim, alpha)
    return AuditResult(float(bound), event.name(outputs[0].shape[1]))


def _bound(
    one: npt.ArrayLike, other: npt.ArrayLike, trials: int, claim: Claim, alpha: float
) -> FloatVector:
    """Return the bound of events by their counts on two neighbours, in `trials` runs each."""
    low, _ = clopper_pearson(one, trials, alpha / 2)
    _, high = clopper_pearson(other, trials, alpha / 2)
    return claim.bound(low, high)


def _hits(values: FloatMatrix, levels: FloatMatrix, above: bool) -> npt.NDArray[np.intp]:
    """Return how many runs are on one side of each level, shape (levels, features)."""
    is_hit = values[:, None] >= levels if above else values[:, None] <= levels
    return np.asarray(is_hit.sum(axis=0))


def _features(output: FloatMatrix) -> FloatMatrix:
    """Return entries, their absolute values and the differences of two, shape (runs, features)."""
    pairs = itertools.combinations(range(output.shape[1]), 2)
    differences = [output[:, i] - output[:, j] for i, j in pairs]
    return np.column_stack([output, np.abs(output), *differences])


def _names(entries: int) -> list[str]:
    """Return the names of the features of outputs with so many entries."""
    names = [f"y{i}" for i in range(entries)] + [f"|y{i}|" for i in range(entries)]
    return names + [f"y{i} - y{j}" for i, j in itertools.combinations(range(entries), 2)]
