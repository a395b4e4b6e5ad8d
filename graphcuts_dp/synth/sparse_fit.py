"""The fit of a sparse release: from kept edges, noisy degrees and group sums to a `SparseModel`.

A sparse release never stores a value for every pair. It has

- kept edges: the pairs whose noisy weight reached a threshold (the filter), with these weights;
- noisy counts of how many edges have a weight in each class;
- noisy degrees, perhaps, and noisy sums of weights between groups, perhaps.

The `SparseModel` has an estimated weight for each kept edge. Its field `spread` is the variance of
that weight, and `chances` is the probability that the kept pair is an edge. For the residual graph,
the edges that the filter missed, it has a degree-corrected block model: the residual weight of a
pair (i, j) in groups (g, h) is expected to be blocks_gh * row_factor_i * column_factor_j, where the
factors of a group add up to 1. Its fields `row_spread` and `column_spread` are variances of
residual degrees. Fields that begin with `left` describe the weights of missed edges, those that are
left over; they have nothing to do with a left side.

`fit_sparse` states the steps. Read also `synth.residual_degrees` (what noisy degrees say) and
`synth.weight_prior` (what a noisy weight says of a pair). A `WeightPrior` has weights `points`, and
how many edges are expected to have each of them (`masses`); its `moment(p)` is the expected sum of
w^p over the weights w of all its edges.

Sides: arrays for both sides come as lists or tuples `sides`. There is one array if the graph has no
directions (its matrix is symmetric), else there are two, for rows and for columns. So `sides[0]` is
for the rows and `sides[-1]` for the columns in every case. A symmetric matrix holds each pair
twice, in both directions; row sums of such a matrix are degrees.
"""

import math
from dataclasses import replace

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.estimate.measurement import (
    CellSums,
    Classes,
    CountMeasurement,
    Degrees,
    Measurements,
)
from graphcuts_dp.estimate.sparse_model import SparseModel
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.schema.vertices import Space
from graphcuts_dp.synth.group_sums import CellEstimates
from graphcuts_dp.synth.residual_degrees import corrections, posterior_residuals
from graphcuts_dp.synth.sampling import saturated_pairs
from graphcuts_dp.synth.targets import known_totals, precision_weighted_mean
from graphcuts_dp.synth.weight_prior import KeptPosterior, WeightPrior

# Times at most that pairs whose residual weight exceeds the largest weight are listed beside the
# kept edges, and the residual graph is fitted anew.
_LISTINGS = 3
_TINY = 1e-9  # weight below which a divisor counts as 0
# The formula of a block spreads weight over all pairs (i, j), i = j included, though a vertex makes
# no pair with itself. The share that falls on true pairs counts as at least this much.
_LEAST_PAIR_SHARE = 0.1


def fit_sparse(
    measurements: Measurements, space: Space, *, max_weight: float | None, integral: bool
) -> SparseModel:
    """Return the model that explains what was measured: kept edges first, then the residual graph.

    1. Noisy counts give the prior law of weights (`WeightPrior`).
    2. A kept pair gets its posterior mean, which allows for noise on a pair without weight. What
       noisy degrees say of it is added (`corrections`).
    3. Noisy degrees less kept weights, the residual degrees, are freed of noise
       (`posterior_residuals`).
    4. Noisy sums between groups less kept weights, none below 0, are spread over pairs by residual
       degrees: the degree-corrected block model of the residual graph.
    5. Pairs whose residual weight would exceed the largest weight are listed beside the kept
       edges, with the largest weight, and 3 and 4 are repeated; this happens up to three times.

    Args:
        measurements: of the release; counts of weight classes are among them.
        space: the public vertex set, or both.
        max_weight: public largest weight; None if there is none.
        integral: whether weights are whole numbers.

    Raises:
        ValueError: counts of weight classes are missing.

    Privacy: reads measurements alone, which are public noisy values.
    """
    fit = _SparseFit(measurements, space, max_weight)
    counts = measurements.find(Classes)
    if counts is None:
        raise ValueError("a sparse release has counts of weights")
    prior = WeightPrior.of(counts, pairs=fit.pairs, cap=max_weight, integral=integral)
    model, missed = _kept_model(fit, prior, integral=integral)
    model = fit.with_residual(fit.corrected(model), missed)
    if max_weight is None:
        return model
    for _ in range(_LISTINGS):
        # Rows and columns of pairs whose residual weight is above the largest, shape (2, k).
        pairs = saturated_pairs(model, max_weight)
        if not pairs.size:
            break
        model = fit.with_residual(_with_full_pairs(model, pairs, max_weight), missed)
    return model


def _kept_model(
    fit: "_SparseFit", prior: WeightPrior, *, integral: bool
) -> tuple[SparseModel, WeightPrior]:
    """Return the model of the kept edges alone, without a residual graph.

    Args:
        fit: of the release.
        prior: law of the weights of all edges.
        integral: whether weights are whole numbers.

    Returns:
        The model, and the law of the weights of the edges that the filter missed.
    """
    edges, cap = fit.measurements.kept, fit.cap
    rows = columns = np.zeros(0, dtype=np.int32)
    posterior, missed = KeptPosterior.none(), prior
    if edges is not None:
        # Threshold and noise are in grid units, of the weight `unit` each. The scale of Laplace
        # noise is 1/rate in grid units, here in weights.
        scale = edges.unit / float(edges.distribution.rate)
        rows, columns = edges.rows, edges.columns  # row < column in a symmetric matrix
        posterior = prior.posterior(edges.weights, scale)
        missed = prior.left(edges.threshold * edges.unit, scale)
        if cap is not None:
            posterior = posterior._replace(mean=np.minimum(posterior.mean, cap))
    # Probability of each point to be the weight of a missed edge, shape (points,).
    missed_shares = missed.masses / max(float(missed.masses.sum()), _TINY)
    if not missed_shares.any():  # if no edge is missed, all points are as likely
        missed_shares = np.full(len(missed.points), 1 / len(missed.points))
    missed_shares = missed_shares / missed_shares.sum()  # also if masses add up to less than _TINY
    row_codes, column_codes = fit.codes
    row_zeros = np.zeros(fit.layout.shape[0])
    # Readers of a symmetric model rely on one object for rows and columns.
    column_zeros = row_zeros if fit.layout.symmetric else np.zeros(fit.layout.shape[1])
    model = SparseModel(
        space=fit.space,
        max_weight=cap,
        integral=integral,
        rows=rows,
        columns=columns,
        weights=posterior.mean,
        spread=posterior.variance,
        chances=posterior.chance,
        row_codes=row_codes,
        column_codes=column_codes,
        row_factors=row_zeros,
        column_factors=column_zeros,
        blocks=np.zeros([int(codes.max(initial=0)) + 1 for codes in fit.codes]),
        row_spread=row_zeros,
        column_spread=column_zeros,
        # The law of the weights of missed edges.
        left_mean=float(missed_shares @ missed.points),
        left_square=float(missed_shares @ missed.points**2),
        left_points=missed.points,
        left_shares=missed_shares,
    )
    return model, missed


def _with_full_pairs(model: SparseModel, pairs: IntVector, cap: float) -> SparseModel:
    """Return the model with pairs listed at the largest weight.

    Args:
        model: of a release.
        pairs: rows and columns, shape (2, k). Those that the model lists already are raised to the
            largest weight, the others are appended.
        cap: the largest weight.
    """
    rows, columns = model.rows.astype(np.int64), model.columns.astype(np.int64)
    # `places` numbers all pairs of the matrix, so that pairs can be compared.
    listed = model.layout.places(rows, columns)
    full = model.layout.places(*pairs)
    is_full, is_new = np.isin(listed, full), ~np.isin(full, listed)
    new_pairs = int(is_new.sum())
    return replace(
        model,
        rows=np.concatenate([model.rows, pairs[0][is_new].astype(np.int32)]),
        columns=np.concatenate([model.columns, pairs[1][is_new].astype(np.int32)]),
        weights=np.concatenate([np.where(is_full, cap, model.weights), np.full(new_pairs, cap)]),
        spread=np.concatenate([model.spread, np.zeros(new_pairs)]),
        chances=np.concatenate([np.where(is_full, 1.0, model.chances), np.ones(new_pairs)]),
    )


class _SparseFit:
    """The measurements of a sparse release, and the steps by which they change a model.

    Attributes:
        measurements: of the release, kept edges among them if there are any.
        space: the public vertex set, or both.
        cap: public largest weight; None if there is none.
        layout: which pairs there are: `shape` and `symmetric` of the matrix, and `hollow` if a
            vertex makes no pair with itself.
        pairs: number of pairs.
        degrees: noisy degrees, one array for each side; None if absent.
        groups: noisy sums between groups; None if absent.
        cells: `groups` as estimates: a cell is a pair of groups, `values` are the noisy sums of
            the cells, and `matrix` arranges such values by groups of rows and columns. None if
            absent.
        codes: group of each row, shape (rows,), and of each column, shape (columns,); one array
            twice for a symmetric matrix. Without groups, all vertices are in group 0.
    """

    def __init__(self, measurements: Measurements, space: Space, cap: float | None) -> None:
        self.measurements, self.space, self.cap = measurements, space, cap
        self.layout = Layout.of(space)
        # `pairs_before` counts the pairs in the rows above a row: here all pairs.
        self.pairs = float(self.layout.pairs_before(self.layout.shape[0]))
        self.degrees = measurements.find(Degrees)
        self.groups = measurements.find(CellSums)
        self.cells = None if self.groups is None else CellEstimates.of(self.groups)
        if self.groups is not None:
            self.codes = self.groups.map.members
        else:
            rows, columns = (np.zeros(size, dtype=np.int64) for size in self.layout.shape)
            self.codes = rows, rows if self.layout.symmetric else columns

    @property
    def side_codes(self) -> tuple[IntVector, ...]:
        """`codes` of each side: one array for a symmetric matrix, else rows and columns."""
        return self.codes[:1] if self.layout.symmetric else self.codes

    def corrected(self, model: SparseModel) -> SparseModel:
        """Return the model whose kept weights also follow the noisy degrees."""
        if self.degrees is None or not len(model.rows):
            return model
        residuals = self._noisy_residuals(self.degrees, model)
        # `corrections` takes all vertices of both sides in one vector, columns after rows.
        offset = 0 if model.symmetric else len(residuals[0])
        added = corrections(
            (model.rows.astype(np.int64), model.columns.astype(np.int64) + offset),
            model.spread,
            np.concatenate(residuals),
            self.degrees.law.variance,
            np.concatenate(self._kept_sums(model, model.chances)),
        )
        return replace(model, weights=np.clip(model.weights + added, 0.0, self.cap))

    def with_residual(self, model: SparseModel, missed: WeightPrior) -> SparseModel:
        """Return the model with the block model of the residual graph.

        Args:
            model: with its kept edges.
            missed: law of the weights of the edges that the filter missed.
        """
        model = self._within_groups(model)
        residuals = self._residual_degrees(model, missed)
        degrees = [mean for mean, _ in residuals]  # of each side
        group_counts = model.blocks.shape  # of row groups and column groups
        # Sums of the residual degrees of each group, of each side.
        volumes: list[FloatVector] = [
            np.bincount(codes, side_degrees, minlength=count).astype(np.float64)
            for codes, side_degrees, count in zip(
                self.side_codes, degrees, group_counts[: len(degrees)], strict=True
            )
        ]
        # Residual weight between groups. It holds each pair as often as the matrix, so that the
        # sum over the column groups is the volume of a row group. Without sums between groups there
        # is a single group of each side, and the outer product gives its block.
        if self.cells is not None:
            kept_weights = self._kept_blocks(model, model.weights)
            blocks = np.maximum(self.cells.matrix(self.cells.values) - kept_weights, 0.0)
        else:
            blocks = np.outer(volumes[0], volumes[-1]) / max(volumes[0].sum(), _TINY)
        factors = [
            _shares_within_groups(codes, side_degrees, side_volumes)
            for codes, side_degrees, side_volumes in zip(
                self.side_codes, degrees, volumes, strict=True
            )
        ]
        if model.layout.hollow:
            # A vertex i makes no pair with itself, but the model's formula gives it a share r_i c_i
            # of the weight of block (g, h), for its row group g and its column group h. The shares
            # are added up for each block. Blocks grow, so that the true pairs have all the weight.
            own_shares = np.zeros(group_counts)
            np.add.at(own_shares, self.codes, factors[0] * factors[-1])  # at (g, h) for each i
            blocks = blocks / np.maximum(1 - own_shares, _LEAST_PAIR_SHARE)
        return replace(
            model,
            row_factors=factors[0],
            column_factors=factors[-1],
            row_spread=residuals[0][1],
            column_spread=residuals[-1][1],
            blocks=blocks,
        )

    def _within_groups(self, model: SparseModel) -> SparseModel:
        """Return the model with less weight on kept edges where they exceed the sums of groups.

        Let K be the sum of the kept weights in a cell, of variance V, and M the measured sum, of
        variance U, with K > M. Then K is lowered by (K - M) V/(V + U) to the mean of K and M with
        weights 1/V and 1/U. All kept weights in the cell are lowered by the same factor. Within a
        group of a symmetric matrix K and M count each pair twice. The code doubles V and U there,
        too, so that V/(V + U) is that of the pairs counted once.

        Weights only become smaller here, so they stay below the cap.
        """
        if self.cells is None:
            return model
        measured = self.cells.matrix(self.cells.values)
        sum_variance = self.cells.matrix(self.cells.variances)
        kept_weights = self._kept_blocks(model, model.weights)
        kept_variance = self._kept_blocks(model, model.spread)
        kept_share = kept_variance / np.maximum(kept_variance + sum_variance, _TINY)
        excess = np.maximum(kept_weights - np.maximum(measured, 0), 0)
        # Share of the kept weight that is taken off in each cell; 0 in cells without kept weight.
        reduction = np.zeros_like(kept_weights)
        np.divide(excess * kept_share, kept_weights, out=reduction, where=kept_weights > 0)
        factors = 1 - reduction  # (row groups, column groups)
        cell_of_edge = model.row_codes[model.rows], model.column_codes[model.columns]
        return replace(model, weights=model.weights * factors[cell_of_edge])

    def _residual_degrees(
        self, model: SparseModel, missed: WeightPrior
    ) -> list[tuple[FloatVector, FloatVector]]:
        """Return the mean and variance of the residual degrees of each side, shape (n,) each.

        Means are at least 0 and add up to the residual weight of the graph, twice for a symmetric
        matrix. That weight is the estimated total less the kept weights; if nothing but counts was
        measured, it comes from the law of missed edges.
        """
        kept_edges = self._kept_sums(model, model.chances)  # expected number at each vertex
        doubled = 2 if model.symmetric else 1  # a pair counts in two of the degrees of its side
        residual_weight = missed.moment(1)  # each pair once
        # Independent estimates of the sum of the whole matrix, from degrees and from groups: pairs
        # (value, variance). A symmetric matrix has each pair twice.
        totals = known_totals(self.degrees, self.groups, self.layout)
        if totals:
            total_weight = max(precision_weighted_mean(totals) / doubled, 0.0)
            residual_weight = max(total_weight - float(model.weights.sum()), 0.0)
        if self.degrees is None:
            return [
                _residuals_like_kept(side_edges, doubled * residual_weight, missed)
                for side_edges in kept_edges
            ]
        deviation = math.sqrt(self.degrees.law.variance)
        residuals = []
        for noisy, side_edges, weight_variances in zip(
            self._noisy_residuals(self.degrees, model),
            kept_edges,
            self._kept_sums(model, model.spread),
            strict=True,
        ):
            mean, variance = posterior_residuals(noisy, side_edges, deviation, weight_variances)
            mean = np.maximum(mean, 0)
            # Scaled so that the sum over the side agrees with the total of the graph.
            if residual_weight:
                mean = mean * (doubled * residual_weight / max(float(mean.sum()), _TINY))
            else:
                mean = np.zeros_like(mean)
            residuals.append((mean, variance))
        return residuals

    def _noisy_residuals(
        self, degrees: CountMeasurement[Degrees], model: SparseModel
    ) -> list[FloatVector]:
        """Return noisy degrees less kept weights, of each side; they may be below 0."""
        kept_weights = self._kept_sums(model, model.weights)
        return [
            noisy - weights for noisy, weights in zip(degrees.values, kept_weights, strict=True)
        ]

    def _kept_sums(self, model: SparseModel, values: FloatVector) -> list[FloatVector]:
        """Return the sums of values of kept edges at each vertex, of each side."""
        shape = self.layout.shape
        rows = np.bincount(model.rows, values, minlength=shape[0]).astype(np.float64)
        columns = np.bincount(model.columns, values, minlength=shape[1]).astype(np.float64)
        return [rows + columns] if model.symmetric else [rows, columns]

    def _kept_blocks(self, model: SparseModel, values: FloatVector) -> FloatMatrix:
        """Return the sums of values of kept edges between groups, shape (row, column groups).

        As in `CellEstimates.matrix`, a symmetric result counts pairs within a group twice.
        """
        shape = model.blocks.shape
        cells = model.row_codes[model.rows] * shape[1] + model.column_codes[model.columns]
        sums = np.bincount(cells, values, minlength=shape[0] * shape[1])
        blocks = sums.reshape(shape).astype(np.float64)  # `bincount` of no edges gives integers
        return np.asarray(blocks + blocks.T) if model.symmetric else blocks


def _residuals_like_kept(
    kept_edges: FloatVector, residual_weight: float, missed: WeightPrior
) -> tuple[FloatVector, FloatVector]:
    """Return the mean and variance of residual degrees in proportion to kept edges.

    Without noisy degrees, the mean is in proportion to the number k of kept edges plus 1. The
    number of missed edges is Poisson, and its mean has a Gamma law of shape k + 1. So the variance
    of the residual degree is that of a compound Poisson sum, mean * E[w^2]/E[w] for the weights w
    of missed edges, plus mean^2/(k + 1) for the Gamma law.

    Args:
        kept_edges: expected number at each vertex, shape (n,).
        residual_weight: sum of the residual degrees of this side.
        missed: law of the weights of missed edges.
    """
    counts = kept_edges + 1
    mean = residual_weight * (counts / float(counts.sum()))
    poisson_variance = mean * missed.moment(2) / max(missed.moment(1), _TINY)
    return mean, poisson_variance + mean**2 / counts


def _shares_within_groups(
    codes: IntVector, degrees: FloatVector, volumes: FloatVector
) -> FloatVector:
    """Return the share of each vertex in the degrees of its group; even shares if they are 0.

    Shares of a group add up to 1, as `SparseModel` needs it of its factors.

    Args:
        codes: group of each vertex, shape (n,).
        degrees: of each vertex, shape (n,).
        volumes: sum of the degrees of each group, shape (groups,).
    """
    even = 1 / np.maximum(np.bincount(codes, minlength=len(volumes)), 1)
    shares = degrees / np.maximum(volumes[codes], _TINY)
    return np.where(volumes[codes] > _TINY, shares, even[codes])
