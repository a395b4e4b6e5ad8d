"""Bounds that are chosen privately: on what one owner may have, and on the degree of a vertex.

What is bought of rows with owners before a bound is chosen: how many owners have how much.

A bound on degrees shall keep most edges, and cost little noise.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid, checked_bound, most_degree
from graphcuts_dp.graph.owned_rows import OwnedRows
from graphcuts_dp.measure.statistics import with_noise
from graphcuts_dp.privacy.composition import Cost, rounded_up
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import Choice, exponential_choice


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
    (noisy,), _ = with_noise([counts], sensitivity=1, epsilon=rate, source=source)
    return noisy


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


_LOGARITHM_ERROR = 2.0**-40  # of float logarithms that are within 100 of the largest
_MOST_CANDIDATES = 64
_SPAN = 2.0**26  # of candidates: below the bits of a grid


def bound_candidates(
    graph: AnyGraph, candidates: Sequence[float] | None = None
) -> tuple[float, ...]:
    """Bounds to choose from, ascending. Reads the schema of the graph only.

    Args:
        graph: the private graph.
        candidates: bounds that were given; None for powers of two (with weights: times the cap)
            up to what no degree exceeds.

    Raises:
        ParameterError: bounds out of range, or none where weights have no cap.
    """
    if candidates is None:
        most = most_degree(graph)
        if most is None or graph.weight_cap is None:
            raise ParameterError("weights without a cap: give the candidates, for example 1, 10")
        last = math.ceil(math.log2(max(1.0, most / graph.weight_cap)))
        candidates = [graph.weight_cap * 2**power for power in range(last + 1)]
    given = sorted({float(checked_bound(D, weighted=graph.weighted)) for D in candidates})
    if not 1 <= len(given) <= _MOST_CANDIDATES or given[-1] > given[0] * _SPAN:
        raise ParameterError("the candidates are 1 to 64 bounds, within a factor of 2^26")
    return tuple(given)


def bound_scores(
    graph: AnyGraph, candidates: Sequence[float], *, noise: float
) -> tuple[list[Fraction], list[int]]:
    """What each bound is worth, f_D - noise D, and by how much a vertex changes that. Private.

    Both in steps of one grid. The first is, but for the same number for all, minus the sum of what
    the bound takes from the total weight and of the noise that it costs.
    """
    grid = Grid.of_vertices(graph, candidates[-1])
    bounds = [math.floor(Fraction(D) / Fraction(grid.unit)) for D in candidates]
    totals = [replace(grid, sensitivity=bound).total(graph) for bound in bounds]
    scores = [total - Fraction(noise) * bound for total, bound in zip(totals, bounds, strict=True)]
    return scores, bounds


def normalised(
    scores: Sequence[Fraction], changes: Sequence[int], penalty: Fraction
) -> list[Fraction]:
    """Scores of the generalised exponential mechanism: no two neighbours' differ by more than 1.

    With u_i the score of candidate i, D_i its sensitivity and t the penalty, the new score is
    min over j of ((u_i - t D_i) - (u_j - t D_j))/(D_i + D_j), which is 0 for the best and negative
    for others.
    """
    lowered = [u - penalty * D for u, D in zip(scores, changes, strict=True)]
    return [
        min((a - b) / (D + E) for b, E in zip(lowered, changes, strict=True))
        for a, D in zip(lowered, changes, strict=True)
    ]


def score_rate(epsilon: Fraction) -> Fraction:
    """The rate of a choice that may cost epsilon: its privacy loss has range twice the rate."""
    return epsilon / 2


def choice_cost(rate: Fraction) -> Cost:
    """Of `pick_bound` with this rate: its privacy loss has range twice that."""
    epsilon = 2 * rate
    return Cost(epsilon=rounded_up(epsilon), rho=rounded_up(epsilon**2 / 8), pure=epsilon)


def pick_bound(
    graph: AnyGraph,
    candidates: Sequence[float],
    *,
    rate: Fraction,
    noise: float,
    source: EntropySource,
    beta: float = 0.05,
) -> int:
    """The number of a candidate that is nearly the best one.

    Args:
        graph: the private graph.
        candidates: bounds D, ascending, see `bound_candidates`.
        rate: of the exponential mechanism; with it the choice is (2 rate)-DP.
        noise: the error of an answer that a bound of 1 costs, for example 1/epsilon' for one
            answer with Laplace noise of epsilon'.
        source: where the bits come from.
        beta: in (0, 1), for the accuracy.

    Guarantee: with epsilon = 2 rate, epsilon-DP and epsilon^2/8-zCDP. Neighbours are graphs that
    differ in the edges at one vertex.
    Proof. f_D of all edges changes by at most D (`graph.bounded_cuts`), so the score u_D changes by
    at most D; the weight that the bound takes away, w(G) - f_D, changes by more, but w(G) is the
    same for all candidates and is left out. Each term of a normalised score then changes by at most
    (D_i + D_j)/(D_i + D_j) = 1, and so does the smallest of them. The exponential mechanism with
    probabilities proportional to e^(epsilon s/2) is epsilon-DP, with a loss of range epsilon.

    Accuracy: with t = 2 ln(candidates/beta)/epsilon, with probability 1 - beta the chosen i has
    u_i >= u_j - 2 t D_j for all j: its score is at least -t then.

    Source: Raskhodnikova, Smith, *Lipschitz Extensions for Node-Private Graph Statistics and the
    Generalized Exponential Mechanism*, FOCS 2016, section 4; zCDP: Cesar, Rogers 2021.
    """
    penalty = Fraction(math.log(len(candidates) / beta)) / rate
    logs = [
        rate * score for score in normalised(*bound_scores(graph, candidates, noise=noise), penalty)
    ]

    def exact(index: int) -> Decimal:
        return Decimal(logs[index].numerator) / Decimal(logs[index].denominator)

    return Choice(np.array([float(log) for log in logs]), _LOGARITHM_ERROR, exact).draw(source)
