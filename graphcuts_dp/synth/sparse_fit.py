"""From kept edges, noisy degrees and noisy sums between groups to a sparse model of the graph.

Noisy counts of weights tell of one pair whose noisy weight was kept, or was not (`WeightPrior`);
noisy degrees tell of kept edges by their best linear combination, by conjugate gradients.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.estimate.measurement import (
    LOWEST,
    CellSums,
    Classes,
    CountMeasurement,
    Degrees,
    Measurements,
)
from graphcuts_dp.estimate.sparse_model import SparseModel
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.schema.vertices import Space
from graphcuts_dp.synth.sampling import saturated_pairs
from graphcuts_dp.synth.targets import CellEstimates, known_totals, posterior_shares, weighed

_POINTS = 6  # of each class, at least
_OPEN = 8.0  # the class without an end is taken to end at so many times its start
_DOUBT = 6.0  # deviations: sums of counts below are taken for noise; it passes with e^-8.5 each
_UNSEEN = 0.5  # edges that such a class may hold all the same, for what a kept weight says
_TABLE = 1500  # noisy weights at which the posterior is added up
_REACH = 30.0  # scales of noise above the threshold, beyond which a noisy weight is as it is
_FINE = 3.0  # points within a scale of noise, so that the posterior falls between them
_MOST_POINTS = 240  # of a class; those that would take more lie beyond that reach


@final
@dataclass(frozen=True, eq=False)
class WeightPrior:
    """Weights of pairs before their noisy values are seen: points with expected numbers of pairs.

    Attributes:
        points: weights, ascending, > 0, shape (p,).
        masses: expected number of edges at each, shape (p,).
        pairs: how many pairs there are; those without weight are the rest.
    """

    points: FloatVector
    masses: FloatVector
    pairs: float

    @classmethod
    def of(
        cls,
        counts: CountMeasurement[Classes],
        *,
        pairs: float,
        cap: float | None,
        whole: bool,
    ) -> Self:
        """From noisy counts: each class spread evenly over its weights, in the logarithm.

        There are so many pairs; `cap` is the largest weight, or None, and `whole` says that weights
        are whole numbers.
        """
        found = _believed(counts)
        found *= max(counts.total, 1.0) / found.sum()
        starts = counts.map.starts
        ends = np.append(starts[1:], cap if cap is not None else starts[-1] * _OPEN)
        scale = max(float(starts[1]) if len(starts) > 1 else 0.0, 1e-300) * 2.0**-LOWEST
        points, masses = [], []
        for start, end, mass in zip(starts, ends, found, strict=True):
            least = start if start > 0 else end / 2**_POINTS
            if whole and end - start <= _POINTS:
                inside = np.arange(math.ceil(start), max(math.ceil(end), math.ceil(start) + 1))
                inside = inside.astype(np.float64)
            elif end <= start:
                inside = np.array([start])
            else:
                count = int(min(max(_POINTS, _FINE * (end - start) / scale), _MOST_POINTS))
                steps = (np.arange(count) + 0.5) / count
                inside = least * (end / least) ** steps
            points.append(inside)
            masses.append(np.full(len(inside), mass / len(inside)))
        return cls(np.concatenate(points), np.concatenate(masses), max(pairs, 1.0))

    @property
    def edges(self) -> float:
        """Expected number of edges."""
        return float(self.masses.sum())

    def missed(self, threshold: float, scale: float) -> FloatVector:
        """P(weight + noise < threshold) for each point, under Laplace noise of a scale."""
        beyond = (threshold - self.points) / scale
        tail = np.exp(-np.abs(beyond)) / 2
        return np.asarray(np.where(beyond > 0, 1 - tail, tail))

    def left(self, threshold: float, scale: float) -> Self:
        """The edges that a filter is expected to leave out."""
        return replace(self, masses=self.masses * self.missed(threshold, scale))

    def moment(self, power: int) -> float:
        """Sum of a power of the weights of all edges."""
        return float(self.masses @ self.points**power)

    def posterior(self, noisy: FloatVector, scale: float) -> "KeptPosterior":
        """Weights of pairs with given noisy values, under Laplace noise of a scale.

        Cost: one table look-up for each value.
        """
        if not len(noisy):
            return KeptPosterior(*(np.zeros(0) for _ in range(3)))
        low = float(noisy.min())
        high = min(float(noisy.max()), low + _REACH * scale)
        grid = np.linspace(low, max(high, low), _TABLE if high > low else 1)
        points = np.concatenate([[0.0], self.points])
        empty = max(self.pairs - self.edges, 1.0)
        masses = np.maximum(self.masses, _UNSEEN / len(self.masses))
        logs = -np.abs(grid[:, None] - points) / scale + np.log(np.concatenate([[empty], masses]))
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        mean, square, chance = shares @ points, shares @ points**2, 1 - shares[:, 0]
        found = np.interp(noisy, grid, mean)
        spread = np.interp(noisy, grid, np.maximum(square - mean**2, 0.0))
        chances = np.interp(noisy, grid, chance)
        # No pair without weight, nor a sharp change of the law of weights, is near: as it is.
        beyond = noisy > high
        found[beyond], spread[beyond], chances[beyond] = noisy[beyond], 2 * scale**2, 1.0
        return KeptPosterior(found, spread, chances)


def _believed(counts: CountMeasurement[Classes]) -> FloatVector:
    """Counts of classes without what may be noise: a false heavy edge would count for many.

    From the heaviest class down, classes are put together until their sum is far above its noise.
    It is then spread over those of them that stand out; but where the last one is far above its
    noise by itself, what came before was noise. What is left at the end is light.
    """
    (numbers,), deviation = counts.values, math.sqrt(counts.law.variance)
    found = np.zeros(len(numbers))
    run: list[int] = []
    for place in range(len(found) - 1, -1, -1):
        run.append(place)
        total = float(numbers[run].sum())
        if numbers[place] > _DOUBT * deviation:
            found[place] = numbers[place]
            run = []
        elif total > _DOUBT * deviation * math.sqrt(len(run)):
            shares = np.maximum(numbers[run] - deviation, 0.0) ** 2
            found[run] = total * shares / shares.sum()
            run = []
    found[0] += max(float(numbers[run].sum()), 0.0)
    if not found.any():
        found[0] = 1.0
    return found


@final
class KeptPosterior(NamedTuple):
    """What is known of kept pairs.

    Attributes:
        mean: expected weight, shape (k,).
        variance: of the weight.
        chance: that it is an edge.
    """

    mean: FloatVector
    variance: FloatVector
    chance: FloatVector


def fit_sparse(
    measurements: Measurements, space: Space, *, max_weight: float | None, whole: bool
) -> SparseModel:
    """The model that explains what was measured: kept edges first, then degrees and groups.

    1. Noisy counts give the law of weights before anything else is seen (`WeightPrior`).
    2. A kept pair weighs its posterior mean: much noise on a pair without weight is known for it;
       and what noisy degrees tell of it is added (`corrections`).
    3. What kept pairs leave of noisy degrees is freed of noise (`posterior_residuals`).
    4. What they leave of the sums between groups, none below 0, is spread over pairs by residual
       degrees: a degree-corrected block model, raked to both.
    5. Where a weight would pass the cap, pairs are listed at the cap, and 3 and 4 repeated.

    `max_weight` is the public largest weight, or None; `whole` says that weights are whole numbers.
    """
    fit = _SparseFit(measurements, space, max_weight)
    counts = measurements.find(Classes)
    if counts is None:
        raise ValueError("a sparse release has counts of weights")
    prior = WeightPrior.of(counts, pairs=fit.pairs, cap=max_weight, whole=whole)
    kept = measurements.kept
    none = np.zeros(0)
    rows = columns = np.zeros(0, dtype=np.int32)
    known, left = KeptPosterior(none, none, none), prior
    if kept is not None:
        scale = kept.unit / float(kept.distribution.rate)
        known = prior.posterior(kept.weights, scale)
        left = prior.left(kept.threshold * kept.unit, scale)
        rows, columns = kept.rows, kept.columns
        if max_weight is not None:
            known = known._replace(mean=np.minimum(known.mean, max_weight))
    shares = left.masses / max(float(left.masses.sum()), _LEAST)
    if not shares.any():
        shares = np.full(len(left.points), 1 / len(left.points))
    shares = shares / shares.sum()
    codes = fit.codes
    shape = fit.layout.shape
    ends = np.zeros(shape[0])
    other_ends = ends if fit.layout.symmetric else np.zeros(shape[1])
    model = SparseModel(
        space=space,
        max_weight=max_weight,
        whole=whole,
        rows=rows,
        columns=columns,
        weights=known.mean,
        spread=known.variance,
        chances=known.chance,
        row_codes=codes[0],
        column_codes=codes[1],
        row_factors=ends,
        column_factors=other_ends,
        blocks=np.zeros([int(each.max(initial=0)) + 1 for each in codes]),
        row_spread=ends,
        column_spread=other_ends,
        left_mean=float(shares @ left.points),
        left_square=float(shares @ left.points**2),
        left_points=left.points,
        left_shares=shares,
    )
    model = fit.with_residual(fit.corrected(model), left)
    if max_weight is None:
        return model
    for _ in range(_LISTINGS):
        pairs = saturated_pairs(model, max_weight)
        if not pairs.size:
            break
        model = fit.with_residual(_with_full(model, pairs, max_weight), left)
    return model


def _with_full(model: SparseModel, pairs: IntVector, cap: float) -> SparseModel:
    """With more pairs listed, at the cap; those that were listed before are raised to it."""
    listed = model.layout.places(model.rows.astype(np.int64), model.columns.astype(np.int64))
    full = model.layout.places(*pairs)
    known, fresh = np.isin(listed, full), ~np.isin(full, listed)
    count = int(fresh.sum())
    return replace(
        model,
        rows=np.concatenate([model.rows, pairs[0][fresh].astype(np.int32)]),
        columns=np.concatenate([model.columns, pairs[1][fresh].astype(np.int32)]),
        weights=np.concatenate([np.where(known, cap, model.weights), np.full(count, cap)]),
        spread=np.concatenate([model.spread, np.zeros(count)]),
        chances=np.concatenate([np.where(known, 1.0, model.chances), np.ones(count)]),
    )


class _SparseFit:
    """What noisy degrees and noisy sums between groups say of a model."""

    def __init__(self, measurements: Measurements, space: Space, cap: float | None) -> None:
        self.cap = cap
        self.layout = Layout.of(space)
        self.pairs = float(self.layout.pairs_before(self.layout.shape[0]))
        self.degrees = measurements.find(Degrees)
        self.groups = measurements.find(CellSums)
        self.cells = None if self.groups is None else CellEstimates.of(self.groups)
        if self.groups is not None:
            self.codes = self.groups.map.members
        else:
            rows, columns = (np.zeros(size, dtype=np.int64) for size in self.layout.shape)
            self.codes = rows, rows if self.layout.symmetric else columns

    def corrected(self, model: SparseModel) -> SparseModel:
        """With what noisy degrees tell of kept pairs."""
        if self.degrees is None or not len(model.rows):
            return model
        rest = self._left_of(self.degrees, model)
        offset = 0 if model.symmetric else len(rest[0])
        added = corrections(
            (model.rows.astype(np.int64), model.columns.astype(np.int64) + offset),
            model.spread,
            np.concatenate(rest),
            self.degrees.law.variance,
            np.concatenate(self._kept_sums(model, model.chances)),
        )
        return replace(model, weights=np.clip(model.weights + added, 0.0, self.cap))

    def with_residual(self, model: SparseModel, left: WeightPrior) -> SparseModel:
        """The block model of what kept pairs leave."""
        model = self._within_groups(model)
        residuals = self._residual_degrees(model, left)
        degrees = [mean for mean, _ in residuals]
        shape = model.blocks.shape
        masses = [
            np.bincount(codes, mean, minlength=count)
            for codes, mean, count in zip(self.codes, degrees, shape, strict=False)
        ]
        # Residual weight between groups, ordered: row sums are the residual volumes of groups.
        if self.cells is not None:
            kept = self._kept_blocks(model, model.weights)
            blocks = np.maximum(self.cells.matrix(self.cells.values) - kept, 0.0)
        else:
            blocks = np.outer(masses[0], masses[-1]) / max(masses[0].sum(), _LEAST)
        factors = []
        for codes, mean, mass in zip(self.codes, degrees, masses, strict=False):
            even = 1 / np.maximum(np.bincount(codes, minlength=len(mass)), 1)
            some = mass[codes] > _LEAST
            factors.append(np.where(some, mean / np.maximum(mass[codes], _LEAST), even[codes]))
        if model.layout.hollow:  # what falls on no pair, a vertex and itself, is made up for
            lost = np.zeros(shape)
            np.add.at(lost, self.codes, factors[0] * factors[-1])
            blocks = blocks / np.maximum(1 - lost, 0.1)
        return replace(
            model,
            row_factors=factors[0],
            column_factors=factors[-1],
            row_spread=residuals[0][1],
            column_spread=residuals[-1][1],
            blocks=blocks,
        )

    def _within_groups(self, model: SparseModel) -> SparseModel:
        """With less weight on kept pairs where they weigh more than groups hold, by precision."""
        if self.cells is None:
            return model
        measured, variance = self.cells.matrix(self.cells.values), self.cells.variances[0]
        kept, spread = (self._kept_blocks(model, each) for each in (model.weights, model.spread))
        trusted = spread / np.maximum(spread + variance, _LEAST)
        excess = np.maximum(kept - np.maximum(measured, 0), 0) * trusted
        factors = 1 - np.divide(excess, kept, out=np.zeros_like(kept), where=kept > 0)
        at = model.row_codes[model.rows], model.column_codes[model.columns]
        return replace(model, weights=model.weights * factors[at])

    def _residual_degrees(
        self, model: SparseModel, left: WeightPrior
    ) -> list[tuple[FloatVector, FloatVector]]:
        """Mean and variance of what kept pairs leave of each degree; of rows, and columns."""
        likely = self._kept_sums(model, model.chances)
        twice = 2 if model.symmetric else 1
        rest = left.moment(1)
        known = known_totals(self.degrees, self.groups, self.layout)
        if known:  # weight of all pairs
            rest = max(max(weighed(known) / twice, 0.0) - float(model.weights.sum()), 0.0)
        found = []
        if self.degrees is None:
            # As many left out as kept, by the count of kept edges of each vertex.
            for each in likely:
                mean = twice * rest * ((each + 1) / float((each + 1).sum()))
                spread = mean * left.moment(2) / max(left.moment(1), _LEAST)
                found.append((mean, spread + mean**2 / (each + 1)))
            return found
        deviation = math.sqrt(self.degrees.law.variance)
        told = self._left_of(self.degrees, model), likely, self._kept_sums(model, model.spread)
        for noisy, each, own_spread in zip(*told, strict=True):
            mean, variance = posterior_residuals(noisy, each, deviation, own_spread)
            mean = np.maximum(mean, 0)
            mean = mean * (twice * rest / max(float(mean.sum()), _LEAST)) if rest else mean * 0
            found.append((mean, variance))
        return found

    def _left_of(self, degrees: CountMeasurement[Degrees], model: SparseModel) -> list[FloatVector]:
        """Noisy degrees less kept weights; of the rows, and of the columns if they are others."""
        sums = self._kept_sums(model, model.weights)
        noisy = (degrees.values[0], degrees.values[-1])
        return [each - own for each, own in zip(noisy, sums, strict=False)]

    def _kept_sums(self, model: SparseModel, values: FloatVector) -> list[FloatVector]:
        """Sums of values of kept pairs at each row, and each column if they are others."""
        shape = self.layout.shape
        rows = np.bincount(model.rows, values, minlength=shape[0]).astype(np.float64)
        columns = np.bincount(model.columns, values, minlength=shape[1]).astype(np.float64)
        return [rows + columns] if model.symmetric else [rows, columns]

    def _kept_blocks(self, model: SparseModel, values: FloatVector) -> FloatMatrix:
        """Sums of values of kept pairs between groups."""
        shape = model.blocks.shape
        at = model.row_codes[model.rows] * shape[1] + model.column_codes[model.columns]
        sums = np.bincount(at, values, minlength=shape[0] * shape[1])
        found = sums.reshape(shape).astype(np.float64)  # without kept pairs they are integers
        return np.asarray(found + found.T) if model.symmetric else found


_ROUNDS = 30
_SOLUTIONS = 4  # with more and more residual degrees at 0
_NEAR = 1e-3  # of the right-hand side, where rounds end
_LEAST = 1e-9
_LISTINGS = 3  # of pairs at the cap


def corrections(
    ends: tuple[IntVector, IntVector],
    spread: FloatVector,
    left: FloatVector,
    noise: float,
    likely: FloatVector,
) -> FloatVector:
    """What to add to the weight of each kept edge, given the noisy degrees of its ends.

    The observations are y_v = sum of w_e at v + r_v + noise, with independent w_e of variance s_e
    around what is known of them, and residual degrees r_v whose mean and variance are those of
    their stratum. The best linear estimate adds s_e (l_i + l_j) to the edge {i, j}, where
    (A S A' + D) l = y - sums - mean, A being the incidence matrix, S = diag(s_e) and D the variance
    of residual degree and noise.

    Args:
        ends: number of both ends of each kept edge, among all that have a degree.
        spread: s_e, shape (kept,).
        left: noisy degree less kept weights, shape (ends,).
        noise: variance of the noise of a degree.
        likely: expected number of kept edges at each, which tells the strata.

    Returns:
        Shape (kept,).
    """
    if not len(spread):
        return np.zeros(0)
    first, second = ends

    def at_ends(values: FloatVector) -> FloatVector:
        sums = np.bincount(first, values, minlength=len(left)).astype(np.float64)
        sums += np.bincount(second, values, minlength=len(left))
        return sums

    def across(found: FloatVector) -> FloatVector:
        return np.asarray(spread * (found[first] + found[second]))

    own = at_ends(spread)
    mean, variance = _moments(left, own + noise, likely)
    found = np.zeros(len(left))
    for _ in range(_SOLUTIONS):
        found = _solved(
            lambda x: (variance + noise) * x + at_ends(across(x)),
            left - mean,
            np.maximum(own + variance + noise, _LEAST),
            found,
        )
        below = mean + variance * found < 0
        if not below.any():
            break
        mean[below], variance[below] = 0.0, 0.0
    return across(found)


def _solved(
    matrix: Callable[[FloatVector], FloatVector],
    goal: FloatVector,
    diagonal: FloatVector,
    start: FloatVector,
) -> FloatVector:
    """The solution of a positive definite system, by conjugate gradients with its diagonal."""
    found = start.copy()
    rest = goal - matrix(found)
    ready = rest / diagonal
    direction, size = ready, float(rest @ ready)
    enough = _NEAR**2 * float(goal @ (goal / diagonal))
    for _ in range(_ROUNDS):
        if size <= enough:
            break
        image = matrix(direction)
        step = size / float(direction @ image)
        found += step * direction
        rest = rest - step * image
        ready = rest / diagonal
        before, size = size, float(rest @ ready)
        direction = ready + size / before * direction
    return found


def _moments(
    left: FloatVector, noise: FloatVector, likely: FloatVector
) -> tuple[FloatVector, FloatVector]:
    """Mean and variance of residual degrees, by stratum."""
    mean, variance = np.empty_like(left), np.empty_like(left)
    for members in strata(likely):
        mean[members] = max(float(left[members].mean()), 0.0)
        variance[members] = max(float(left[members].var() - noise[members].mean()), 0.0)
    return mean, variance


_STRATA = 12  # vertices with alike kept edges have alike residual degrees
_BINS = 400
_GRID = 160
_STEPS = 80
_STRATUM = 400  # vertices in a stratum


def posterior_residuals(
    observed: FloatVector, expected: FloatVector, deviation: float, spread: FloatVector
) -> tuple[FloatVector, FloatVector]:
    """Posterior mean and variance of each residual degree.

    Vertices fall into strata by what is expected of them; in each, the law of residual degrees is
    the one that explains the observations best (nonparametric maximum likelihood by expectation
    maximisation on a grid of numbers >= 0), under Laplace noise of the mean variance there.

    Args:
        observed: noisy degree less kept weight, shape (n,).
        expected: what tells how large residual degrees are, such as the number of kept edges.
        deviation: of the noise of a degree.
        spread: variance of the kept weight of each vertex, shape (n,).

    Source: Robbins 1956; Kiefer, Wolfowitz 1956; Jiang, Zhang 2009.
    """
    mean, variance = np.empty_like(observed), np.empty_like(observed)
    for members in strata(expected):
        own = observed[members]
        scale = deviation / math.sqrt(2)
        least = -2 * math.sqrt(float(spread[members].mean()))
        mean[members], variance[members] = _explained(own, scale, least)
    return mean, variance


def strata(expected: FloatVector) -> list[IntVector]:
    """Vertices of which alike is expected, a vector of their numbers for each stratum."""
    order = np.argsort(expected, kind="stable")
    sizes = np.linspace(0, len(order), max(1, min(_STRATA, len(order) // _STRATUM)) + 1)
    ends = sizes.astype(np.int64)
    # Equal values stay together.
    ranked = expected[order]
    ends = np.unique(np.searchsorted(ranked, ranked[np.minimum(ends, len(order) - 1)]))
    ends = np.unique(np.concatenate([[0], ends[1:], [len(order)]]))
    return [part for part in np.split(order, ends[1:-1]) if len(part)]


def _explained(
    observed: FloatVector, scale: float, least: float
) -> tuple[FloatVector, FloatVector]:
    """Posterior means and variances under the best law on numbers >= 0."""
    centres, weights, at = _binned(observed)
    most = max(float(centres.max()), scale)
    high = max(float(np.quantile(observed, 0.98)), scale)
    grid = np.unique(
        np.concatenate(
            [np.linspace(least, high, _GRID), np.maximum(centres, least), [max(most, high)]]
        )
    )
    likelihood = np.exp(
        -(np.abs(centres[:, None] - grid) - np.abs(centres - np.clip(centres, 0, None))[:, None])
        / scale
    )
    shares = posterior_shares(likelihood, weights, _STEPS)
    mean = shares @ grid
    variance = np.maximum(shares @ grid**2 - mean**2, 0)
    return np.interp(observed, centres, mean), variance[at]


def _binned(observed: FloatVector) -> tuple[FloatVector, FloatVector, IntVector]:
    """Centres of bins with about as many observations each, how many, and the bin of each."""
    if len(observed) <= _BINS:
        centres, at, counts = np.unique(observed, return_inverse=True, return_counts=True)
        return centres, counts.astype(np.float64), at
    levels = np.linspace(0, 1, _BINS // 2 + 1)
    edges = np.concatenate(
        [
            np.quantile(observed, levels),
            np.linspace(observed.min(), observed.max(), _BINS // 2 + 1),
        ]
    )
    edges = np.unique(edges)
    at = np.clip(np.searchsorted(edges, observed, side="right") - 1, 0, max(len(edges) - 2, 0))
    counts = np.bincount(at, minlength=max(len(edges) - 1, 1))
    sums = np.bincount(at, observed, minlength=len(counts))
    filled = counts > 0
    renumbered = np.cumsum(filled) - 1
    return sums[filled] / counts[filled], counts[filled].astype(np.float64), renumbered[at]
