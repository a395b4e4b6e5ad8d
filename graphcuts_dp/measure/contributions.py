"""What is bought of rows with owners before a bound is chosen: how many owners have how much."""

from fractions import Fraction

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.graph.owned_rows import OwnedRows
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from graphcuts_dp.privacy.selection import exponential_choice


def measure_contributions(
    rows: OwnedRows, bounds: tuple[int, ...], *, rate: Fraction, source: EntropySource
) -> IntVector:
    """How many owners have a number of pairs, rows or units in each of some classes, with noise.

    Args:
        rows: private.
        bounds: public upper ends of the classes, ascending, see `Contributions`.
        rate: of the discrete Laplace noise of each count, > 0.
        source: where the noise comes from.

    Guarantee: rate-DP for neighbours that differ in all rows of one owner, however many these are,
    added or removed: each owner with any row is in exactly one class, which follows from its own
    rows, so one count changes, by 1. Noise is independent, P(k) proportional to e^(-rate |k|).
    """
    counts = class_counts(rows, bounds)
    counts += sample_discrete_laplace(rate, len(counts), source)
    counts.flags.writeable = False
    return counts


def choose_by_share(
    rows: OwnedRows,
    bounds: tuple[int, ...],
    *,
    share: Fraction,
    rate: Fraction,
    source: EntropySource,
) -> int:
    """The bound above which about a share of all owners is: an exponential mechanism.

    Args:
        rows: private.
        bounds: public candidates, ascending.
        share: of owners above the bound, p/q in (0, 1).
        rate: of the exponential mechanism, > 0.
        source: where the randomness comes from.

    Guarantee: (2 s rate)-DP for neighbours that differ in all rows of one owner, added or removed,
    with s = `share_sensitivity`. The score of a bound is -|q above - p owners|, a whole number; one
    owner more changes what is between the bars by q - p if above, and by -p if not, so by at most
    s = max(p, q - p). Draws are exact (`exponential_choice`).
    """
    scores = share_scores(class_counts(rows, bounds), share)
    return bounds[exponential_choice(scores, rate, source)]


def share_scores(counts: IntVector, share: Fraction) -> IntVector:
    """The score of each bound, see `choose_by_share`, from how many owners each class has."""
    above = counts.sum() - np.cumsum(counts)[:-1]
    scores: IntVector = -np.abs(share.denominator * above - share.numerator * counts.sum())
    return scores


def share_sensitivity(share: Fraction) -> int:
    """By how much one owner changes a score, at most."""
    return max(share.numerator, share.denominator - share.numerator)


def class_counts(rows: OwnedRows, bounds: tuple[int, ...]) -> IntVector:
    """True numbers of owners in each class, shape (bounds + 1,). Private."""
    places = np.searchsorted(np.array(bounds), rows.contributions(), side="left")
    return np.bincount(places, minlength=len(bounds) + 1).astype(np.int64)


def rate_of_choice(share: Fraction, epsilon: Fraction) -> Fraction:
    """The rate at which `choose_by_share` costs epsilon."""
    return epsilon / (2 * share_sensitivity(share))
