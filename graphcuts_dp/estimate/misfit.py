"""Typical errors of cuts of a fitted model, estimated before any answer is known.

A fitted model has an expected weight for every pair. It differs from the truth for two reasons:

- *by chance*: edges are there or not, and degrees were measured with noise. On sets that were
  chosen without regard to the graph there is no other error, and its variance follows from the
  model;
- *by structure*: sets that mean something (communities, departments) have more edges inside than
  their degrees explain, and a model without structure puts these edges between them. Degrees do
  not determine their number, which is guessed from the usual modularity of communities.

Both errors are estimated from public numbers alone, without a guarantee. The estimates do not hold
for sets that were chosen by looking at the private graph, such as the neighbours of a vertex.

A *volume* is the sum of the degrees of a set.

Source: Reichardt, Bornholdt, *When are networks truly modular?*, 2006 (the modularity of random
graphs); Newman, Girvan 2004 (modularity).
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.estimate.estimator import CutMasks

# The best partition of a random graph without structure, of mean degree d and density p, has a
# modularity of about this number times sqrt((1 - p)/d).
_OF_RANDOM_GRAPHS = 0.97
_TINY = 1e-12  # replaces a divisor of 0


class MisfitVariances(NamedTuple):
    """Variances of the true weights of cuts around those of a model, shape (cuts,) each.

    Attributes:
        by_chance: from single edges and noisy degrees.
        by_structure: from structure that the model may lack.
    """

    by_chance: FloatVector
    by_structure: FloatVector


class Misfit(Protocol):
    """A function that returns the variances of cuts; `meaningful` if sets may be communities."""

    def __call__(self, cuts: Sequence[CutMasks], *, meaningful: bool) -> MisfitVariances: ...


def usual_modularity(mean_degree: float, density: float) -> float:
    """Return the modularity that communities of a graph with these degrees usually have.

    It is the geometric mean of 1, the largest modularity, and the modularity of a random graph, the
    least of communities that an algorithm detects. It was chosen on the "tuning" graphs of
    scripts/bench/baseline_graphs.py, whose communities had .3 to 3.5 times as much.

    Args:
        mean_degree: mean number of edges of a vertex; below 1 it counts as 1.
        density: share of the pairs that are edges, limited to [0, 1].
    """
    missing = 1 - min(max(density, 0.0), 1.0)
    of_random = _OF_RANDOM_GRAPHS * math.sqrt(missing / max(mean_degree, 1.0))
    return min(math.sqrt(of_random), 1.0)


def volume_at_stake(S: FloatMatrix, T: FloatMatrix, total: FloatMatrix) -> FloatMatrix:
    """Return the volume whose share Q, the modularity, a model without structure misplaces.

    Let communities have the excess Q vol/2 of edges inside over what degrees expect. Then the
    cut between a community and all other vertices weighs Q vol less than expected, and that between
    two communities less by the same share.

    Args:
        S: volumes of the first sets, in any shape.
        T: volumes of the second sets.
        total: volume of all vertices.
    """
    larger, smaller = np.maximum(S, T), np.minimum(S, T)
    remaining = np.maximum(total - larger, _TINY)
    stake: FloatMatrix = np.minimum(smaller, S * T / remaining)
    return stake


def _posterior_variance(fitted: float, noise: float) -> float:
    """Return the variance of a degree given its noisy value, from that of the fitted degrees.

    Degrees of variance D with noise of variance s have posterior means that vary by
    q = D^2/(D + s), so D = (q + sqrt(q^2 + 4 q s))/2; what is left of D is D s/(D + s).

    Args:
        fitted: q, variance between the degrees of the synthetic graph, which are such means.
        noise: s, variance of the noise of a degree.
    """
    prior = (fitted + math.sqrt(fitted**2 + 4 * fitted * noise)) / 2
    return noise * prior / max(noise + prior, _TINY)


@final
class MatrixMisfit:
    """The misfit of a synthetic graph with a weight for every pair.

    By chance: a pair of weight x with the largest weight c varies by x (c - x), independently, but
    the sums at vertices are known from noisy degrees. So a cut, as a sum of weights, is divided
    into the part u_i + u_j that degrees explain, by least squares with these variances, and the
    remainder. The former varies with the noisy degrees, the latter with single pairs. The variances
    v_i of the rows give u_i = w_i/v_i - W/V, with w_i the variance of the pairs of i in the cut, W
    that of the cut, and V the sum of all v_i.

    Args:
        matrix: weights of the synthetic graph, shape (rows, columns), sparse or dense.
        cap: largest weight of a pair; None if absent: then a pair of weight x has the variance x.
        degree_noise: variances of the noise of the released degree of a row, and of a column.
        symmetric: whether the graph is undirected.
        hollow: whether rows and columns are the same vertices.
    """

    def __init__(
        self,
        matrix: Any,
        *,
        cap: float | None,
        degree_noise: tuple[float, float],
        symmetric: bool,
        hollow: bool,
    ) -> None:
        self._symmetric, self._hollow = symmetric, hollow
        dense = matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
        self._variances = np.maximum(dense * (cap - dense) if cap else dense, 0.0)
        self._degrees = dense.sum(axis=1), dense.sum(axis=0)
        self._vertex_variances = self._variances.sum(axis=1), self._variances.sum(axis=0)
        self._degree_variances = tuple(
            _posterior_variance(float(degrees.var()), noise)
            for degrees, noise in zip(self._degrees, degree_noise, strict=True)
        )
        entries = self._degrees[0].sum() / (cap or 1.0)  # an undirected edge has two
        mean_degree = entries / max(1, min(dense.shape))
        self._modularity = usual_modularity(mean_degree, entries / max(1, dense.size))

    def __call__(self, cuts: Sequence[CutMasks], *, meaningful: bool) -> MisfitVariances:
        """Return the variances of cuts; see `Misfit`."""
        S, T = (np.array(side, dtype=np.float64) for side in zip(*cuts, strict=True))
        structure = self._by_structure(S, T) if meaningful else np.zeros(len(S))
        return MisfitVariances(self._by_chance(S, T), structure)

    def _by_chance(self, S: FloatMatrix, T: FloatMatrix) -> FloatVector:
        """Return the variances of single edges and of noisy degrees."""
        rows = S * (T @ self._variances.T)  # w of the rows
        if self._symmetric:
            both = S * T
            rows += T * (S @ self._variances) - both * (both @ self._variances)
            sides, pair_count = [rows], 2  # each pair is in two of the sums
        else:
            sides, pair_count = [rows, T * (S @ self._variances)], 1
        total = max(float(self._vertex_variances[0].sum()), _TINY)
        variance = rows.sum(axis=1) / pair_count  # W
        share = (variance / total)[:, None]
        explained = -(variance**2) / total * (2 if self._symmetric else 1)
        of_degrees = np.zeros(len(S))
        for index, w in enumerate(sides):
            parts = w / np.maximum(self._vertex_variances[index], _TINY)
            explained += (w * parts).sum(axis=1)
            half = share if self._symmetric else share / 2
            of_degrees += ((parts - half) ** 2).sum(axis=1) * self._degree_variances[index]
        return np.asarray(np.maximum(variance - explained, 0.0) + of_degrees)

    def _by_structure(self, S: FloatMatrix, T: FloatMatrix) -> FloatVector:
        """Return the squared weight that the usual modularity moves from a cut into its sets."""
        (rows, columns), total = self._degrees, float(self._degrees[0].sum())
        in_S, in_T = S @ rows, T @ columns
        common = (S * T).sum(axis=1) if self._hollow else np.zeros(len(S))
        stake = volume_at_stake(in_S, in_T, np.full(len(S), total))
        inside = np.minimum(in_S, in_T) / (2 if self._symmetric else 1)
        stake = np.where(common > 0, inside, stake)
        # The cut of one vertex, or of all rows or all columns, follows from the degrees.
        sizes_S, sizes_T = S.sum(axis=1), T.sum(axis=1)
        if self._hollow:
            covering = sizes_S + sizes_T - common >= S.shape[1]
            known = covering & (np.minimum(sizes_S, sizes_T) <= 1)
        else:
            known = (sizes_S == S.shape[1]) | (sizes_T == T.shape[1])
        return np.where(known, 0.0, (self._modularity * stake) ** 2)
