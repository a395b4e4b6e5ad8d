"""Distances of l_p norms, straight lines among them, by random projections into l1."""

import math

import numpy as np
import numpy.typing as npt

from graphcuts_dp.distances.embeddings import (
    STEPS,
    L1Embedding,
    check_entries,
    measured,
    on_grid,
)
from graphcuts_dp.distances.shapes import NormedPoints
from graphcuts_dp.errors import ParameterError


def projection_embedding(
    positions: npt.ArrayLike, *, dimensions: int, public_seed: int, p: float = 2.0
) -> L1Embedding:
    """Points whose l1 distances are nearly the l_p distances of given positions, 1 < p <= 2.

    Each coordinate is a sum of the positions' coordinates with independent symmetric p-stable
    weights: of a difference v it is distributed as |v|_p times one such variable Z, so that the
    average of absolute values tends to |v|_p E|Z|, which is finite for p > 1. For p = 2 these are
    Gaussian weights; below 2 they have heavy tails, so that more dimensions are needed, and no
    number of them is promised beforehand.

    Scaled so that the largest expansion of a pair is 1; then the contraction is at most
    (1 + a)/(1 - a) with probability 1 - failure, for p = 2 and (pi/a^2) ln(V^2/failure) dimensions.
    It is measured: all pairs are public. The directions are public coins that protect nothing,
    hence a seed; so the embedding is oblivious to the people, and also to the queries.

    Args:
        positions: public, of the vertices, finite and not all the same, shape (V, coordinates).
        dimensions: of the l1 space, >= 1.
        public_seed: of the directions.
        p: of the norm, in (1, 2].

    Raises:
        ParameterError: arguments out of range, or an unlucky seed with too few dimensions.

    Source: HR12, Lemma 9, Theorem 10 and the remark after it (Johnson, Schechtman 1982).
    """
    given = np.asarray(positions, dtype=np.float64)
    if given.ndim != 2 or not np.isfinite(given).all() or not np.ptp(given, axis=0).any():
        raise ParameterError("positions are finite, shape (V, coordinates), and not all the same")
    if dimensions < 1:
        raise ParameterError("a projection has at least one dimension")
    if not 1 < p <= 2:
        raise ParameterError(f"projections are for norms with 1 < p <= 2, not {p}")
    check_entries(len(given), dimensions)
    shape = given.shape[1], dimensions
    projected = given @ stable_variables(p, shape, np.random.default_rng(public_seed)) / dimensions
    rows = np.arange(len(given))
    true = NormedPoints(given, p).distances(rows)
    unit = float(np.ptp(projected, axis=0).max()) / STEPS
    raw = measured(on_grid(projected, unit), unit, true, rows)
    # The largest ratio of any pair, also where it is below 1, becomes 1.
    largest = max(
        float((raw.distances_from(row)[apart] / true[row][apart]).max())
        for row in rows.tolist()
        if (apart := true[row] > 0).any()
    )
    return measured(raw.points, unit / largest, true, rows)


def stable_variables(
    p: float, shape: tuple[int, ...], source: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Symmetric p-stable variables, with characteristic function e^(-|t|^p): public coins.

    Args:
        p: in (1, 2].
        shape: of the result.
        source: of the coins.

    Source: Chambers, Mallows, Stuck 1976.
    """
    if p == 2:
        return math.sqrt(2) * source.standard_normal(shape)
    angle = math.pi * (source.random(shape) - 0.5)
    wait = source.standard_exponential(shape)
    cosine = np.cos(angle)
    bent = np.cos((1 - p) * angle) / wait
    return np.asarray(np.sin(p * angle) / cosine ** (1 / p) * bent ** ((1 - p) / p))
