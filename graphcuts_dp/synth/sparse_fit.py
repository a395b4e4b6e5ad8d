"""The fit of a sparse release: from kept edges, noisy degrees and group sums to a `SparseModel`.

A sparse release never stores a value for every pair. It has

- kept edges: the pairs whose noisy weight reached a threshold (the filter), with these weights;
- noisy counts of how many edges have a weight in each class;
- noisy degrees, perhaps, and noisy sums of weights between groups, perhaps.

The `SparseModel` has an estimated weight and variance for each kept edge. For the residual graph,
the edges that the filter missed, it has a degree-corrected block model: the residual weight of a
pair (i, j) in groups (g, h) is expected to be blocks_gh * row_factor_i * column_factor_j, where the
factors of a group add up to 1.

`fit_sparse` states the steps. Read also `synth.weight_prior` (what a noisy weight says of a pair)
and `synth.residual_degrees` (what noisy degrees say). Arrays for both sides come as lists: one
array if the rows and the columns are the same vertices, else one for rows and one for columns.
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

_LISTINGS = 3  # times that pairs above the cap are listed and the residual graph is fitted anew
_TINY = 1e-9  # weight below which a divisor counts as 0
# Least share of a block's expected weight that falls on true pairs, and not on a vertex with
# itself.
_LEAST_PAIR_SHARE = 0.1


def fit_sparse(
    measurements: Measurements, space: Space, *, max_weight: float | None, whole: bool
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
       edges, with the largest weight, and 3 and 4 are repeated.

    Args:
        measurements: of the release; counts of weight classes are among them.
        space: the public vertex set, or both.
        max_weight: public largest weight; None if there is none.
        whole: whether weights are whole numbers.

    Raises:
        ValueError: counts of weight classes are missing.

    Privacy: reads measurements alone, which are public noisy values.
    """
    fit = _SparseFit(measurements, space, max_weight)
    counts = measurements.find(Classes)
    if counts is None:
        raise ValueError("a sparse release has counts of weights")
    prior = WeightPrior.of(counts, pairs=fit.pairs, cap=max_weight, whole=whole)
    model, missed = _kept_model(fit, prior, whole=whole)
    model = fit.with_residual(fit.corrected(model), missed)
    if max_weight is None:
        return model
    for _ in range(_LISTINGS):
        pairs = saturated_pairs(model, max_weight)
        if not pairs.size:
            break
        model = fit.with_residual(_with_full_pairs(model, pairs, max_weight), missed)
    return model


def _kept_model(
    fit: "_SparseFit", prior: WeightPrior, *, whole: bool
) -> tuple[SparseModel, WeightPrior]:
    """Return the model of the kept edges alone, without a residual graph.

    Args:
        fit: of the release.
        prior: law of the weights of all edges.
        whole: whether weights are whole numbers.

    Returns:
        The model, and the law of the weights of the edges that the filter missed.
    """
    edges, cap = fit.measurements.kept, fit.cap
    rows = columns = np.zeros(0, dtype=np.int32)
    posterior, missed = KeptPosterior.none(), prior
    if edges is not None:
        scale = edges.unit / float(edges.distribution.rate)
        rows, columns = edges.rows, edges.columns
        posterior = prior.posterior(edges.weights, scale)
        missed = prior.left(edges.threshold * edges.unit, scale)
        if cap is not None:
            posterior = posterior._replace(mean=np.minimum(posterior.mean, cap))
    missed_shares = missed.masses / max(float(missed.masses.sum()), _TINY)
    if not missed_shares.any():
        missed_shares = np.full(len(missed.points), 1 / len(missed.points))
    missed_shares = missed_shares / missed_shares.sum()
    row_codes, column_codes = fit.codes
    row_zeros = np.zeros(fit.layout.shape[0])
    column_zeros = row_zeros if fit.layout.symmetric else np.zeros(fit.layout.shape[1])
    model = SparseModel(
        space=fit.space,
        max_weight=cap,
        whole=whole,
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
        pairs: rows and columns, shape (2, k). Those that are listed are raised to the largest
            weight.
        cap: the largest weight.
    """
    rows, columns = model.rows.astype(np.int64), model.columns.astype(np.int64)
    # Each pair has a number in the order of the layout.
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
    """The measurements of a sparse release beside kept edges, and how they change a model.

    Attributes:
        measurements: of the release.
        space: the public vertex set, or both.
        cap: public largest weight; None if there is none.
        layout: which pairs there are.
        pairs: number of pairs.
        degrees: noisy degrees; None if absent.
        groups: noisy sums between groups; None if absent.
        cells: estimates of these sums; None if absent.
        codes: group of each row and of each column, one array twice if rows and columns are the
            same vertices. Without groups, one group.
    """

    def __init__(self, measurements: Measurements, space: Space, cap: float | None) -> None:
        self.measurements, self.space, self.cap = measurements, space, cap
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

    @property
    def side_codes(self) -> tuple[IntVector, ...]:
        """The groups of the vertices of each side: one array, or rows and columns."""
        return self.codes[:1] if self.layout.symmetric else self.codes

    def corrected(self, model: SparseModel) -> SparseModel:
        """Return the model whose kept weights also follow the noisy degrees."""
        if self.degrees is None or not len(model.rows):
            return model
        residuals = self._noisy_residuals(self.degrees, model)
        # Columns that are other vertices than the rows are numbered after these.
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
        degrees = [mean for mean, _ in residuals]
        group_counts = model.blocks.shape
        volumes: list[FloatVector] = [  # sums of the residual degrees of each group
            np.bincount(codes, side_degrees, minlength=count).astype(np.float64)
            for codes, side_degrees, count in zip(
                self.side_codes, degrees, group_counts[: len(degrees)], strict=True
            )
        ]
        # Residual weight between groups, both directions of a pair: row sums are volumes.
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
            # A vertex makes no pair with itself; its share of the weight goes to the other pairs.
            own_shares = np.zeros(group_counts)
            np.add.at(own_shares, self.codes, factors[0] * factors[-1])
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

        The excess is divided between kept weights and the sum by their variances.
        """
        if self.cells is None:
            return model
        measured = self.cells.matrix(self.cells.values)
        sum_variance = self.cells.variances[0]  # all have the same noise
        kept_weights = self._kept_blocks(model, model.weights)
        kept_variance = self._kept_blocks(model, model.spread)
        kept_share = kept_variance / np.maximum(kept_variance + sum_variance, _TINY)
        excess = np.maximum(kept_weights - np.maximum(measured, 0), 0)
        reduction = np.zeros_like(kept_weights)  # share of the kept weight that is taken off
        np.divide(excess * kept_share, kept_weights, out=reduction, where=kept_weights > 0)
        factors = 1 - reduction
        cell_of_edge = model.row_codes[model.rows], model.column_codes[model.columns]
        return replace(model, weights=model.weights * factors[cell_of_edge])

    def _residual_degrees(
        self, model: SparseModel, missed: WeightPrior
    ) -> list[tuple[FloatVector, FloatVector]]:
        """Return the mean and variance of the residual degrees of each side."""
        kept_edges = self._kept_sums(model, model.chances)  # expected number at each vertex
        doubled = 2 if model.symmetric else 1  # every pair is in two degrees of one side
        residual_weight = missed.moment(1)
        # Estimates of the sum of the matrix, with variances.
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
            if residual_weight:
                mean = mean * (doubled * residual_weight / max(float(mean.sum()), _TINY))
            else:
                mean = mean * 0
            residuals.append((mean, variance))
        return residuals

    def _noisy_residuals(
        self, degrees: CountMeasurement[Degrees], model: SparseModel
    ) -> list[FloatVector]:
        """Return noisy degrees less kept weights, of each side."""
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
        """Return the sums of values of kept edges between groups, both directions of a pair."""
        shape = model.blocks.shape
        cells = model.row_codes[model.rows] * shape[1] + model.column_codes[model.columns]
        sums = np.bincount(cells, values, minlength=shape[0] * shape[1])
        blocks = sums.reshape(shape).astype(np.float64)  # without kept edges they are integers
        return np.asarray(blocks + blocks.T) if model.symmetric else blocks


def _residuals_like_kept(
    kept_edges: FloatVector, residual_weight: float, missed: WeightPrior
) -> tuple[FloatVector, FloatVector]:
    """Return the mean and variance of residual degrees in proportion to kept edges.

    Without noisy degrees, a vertex is taken to have missed edges in proportion to its kept edges
    and one more. The number of missed edges is Poisson, with a Gamma law for its mean.

    Args:
        kept_edges: expected number at each vertex, shape (n,).
        residual_weight: sum of the residual degrees.
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

    Args:
        codes: group of each vertex, shape (n,).
        degrees: of each vertex, shape (n,).
        volumes: sum of the degrees of each group, shape (groups,).
    """
    even = 1 / np.maximum(np.bincount(codes, minlength=len(volumes)), 1)
    shares = degrees / np.maximum(volumes[codes], _TINY)
    return np.where(volumes[codes] > _TINY, shares, even[codes])
