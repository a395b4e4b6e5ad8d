"""Measure statistics of a private graph that are whole numbers, each with its sensitivity.

Read `draw` first: it adds the noise. Then come the total weight, the degrees, and the numbers of
edges by weight. For each, one function counts on the grid of the weights, with the proof of its
sensitivity. Norms are in `measure.private_norms`, sums between groups in `measure.cells`.

Last come private choices: of a bound on contributions, from noisy numbers of users by their
contributions, and of a bound on degrees that keeps most edges and costs little noise.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Generic, Self, final

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.looks import Look
from graphcuts_dp.estimate.measurement import (
    Classes,
    CountMeasurement,
    Degrees,
    K,
    Total,
    weight_classes,
)
from graphcuts_dp.estimate.noises import LARGEST_ENTRY, sums_grid
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.graph.grid import (
    Grid,
    check_degree_bound,
    joined_digits,
    largest_possible_degree,
    whole_steps,
)
from graphcuts_dp.graph.rows import Rows
from graphcuts_dp.measure.private_norms import (
    NUCLEAR_STEPS,
    ROOT_STEPS,
    measure_nuclear_norm,
    measure_root_degrees,
)
from graphcuts_dp.privacy.choices import Choice, exponential_choice
from graphcuts_dp.privacy.composition import Cost, rounded_up
from graphcuts_dp.privacy.count_distribution import Change
from graphcuts_dp.privacy.distributions import LaplaceNoise, NoiseDistribution
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.privacy.noise import RefinableLaplace, sample_discrete_laplace

# Whole numbers by their digits of `graph.grid.DIGIT_BITS` bits, the lowest first.
Digits = Sequence[IntVector]

# The private norms that constructions need: the sensitivity of the count of each norm, and the
# function that measures an upper bound of it.
PRIVATE_NORMS: Mapping[str, tuple[int, Callable[..., float]]] = {
    "root degrees": (ROOT_STEPS, measure_root_degrees),
    "nuclear norm": (NUCLEAR_STEPS, measure_nuclear_norm),
}
_LOGARITHM_ERROR = 2.0**-40  # error of a float logarithm that is at most 100 below the largest
_MOST_CANDIDATES = 64  # for a degree bound
_LARGEST_RATIO = 2.0**26  # of two candidates: the smallest has steps of the grid of the largest


def draw(
    name: str,
    kind: K,
    counts: Sequence[Digits],
    changes: Sequence[Change],
    *,
    unit: float,
    epsilon: Fraction | None = None,
    noise: LevelNoise | None = None,
    source: EntropySource,
) -> CountMeasurement[K]:
    """Add to whole numbers noise of their own, and return the measurement.

    Args:
        name: of the measurement.
        kind: the linear map of the counts, the attribute `map` of the measurement.
        counts: the digits of an array for each part of the map. Private. Noise is drawn in this
            order, and added to the lowest digit before digits are joined, so that no operation
            depends on the size of the counts.
        changes: for each part, the largest sum of |change| and the largest sum of change^2 over its
            counts between neighbours.
        unit: value of a step.
        epsilon: privacy parameter of all counts together, exact, for discrete Laplace noise of one
            rate; None if `noise` is passed.
        noise: noise with a parameter for each part; None if `epsilon` is passed.
        source: of the noise.

    Guarantee: epsilon-DP. Independent noise with P(k) proportional to e^(-rate |k|),
    rate = epsilon/sensitivity, on integers of that L1 sensitivity is epsilon-DP; the sensitivity is
    at most the sum of |change| over all parts. For other noise see `LevelNoise.cost`.
    Source: Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009.
    """
    if noise is None:
        if epsilon is None:
            raise ValueError("give either epsilon or the noise")
        noise = LevelNoise("laplace", (_laplace_rate(epsilon, changes),) * len(counts))
    noisy = tuple(
        _noisy(part_counts, noise.draw(part, len(part_counts[0]), source))
        for part, part_counts in enumerate(counts)
    )
    return CountMeasurement(
        name=name, map=kind, steps=noisy, unit=unit, noise=noise, changes=tuple(changes)
    )


@final
@dataclass(frozen=True, eq=False)
class Refinable(Generic[K]):
    """A measurement that can be refined to a more exact one; the privacy loss of both is not added.

    Attributes:
        measurement: may be published.
    """

    measurement: CountMeasurement[K]
    _noise: tuple[RefinableLaplace, ...] = field(repr=False)  # private: it reveals true counts

    @classmethod
    def draw(
        cls,
        name: str,
        kind: K,
        counts: Sequence[Digits],
        changes: Sequence[Change],
        *,
        unit: float,
        epsilon: Fraction,
        source: EntropySource,
    ) -> Self:
        """Draw as the function `draw`: with the same guarantee, and for a seed the same noise."""
        rate = _laplace_rate(epsilon, changes)
        drawn_noise = tuple(
            RefinableLaplace.draw(rate, len(part_counts[0]), source) for part_counts in counts
        )
        measurement = CountMeasurement(
            name=name,
            map=kind,
            steps=tuple(
                _noisy(part_counts, part_noise.values)
                for part_counts, part_noise in zip(counts, drawn_noise, strict=True)
            ),
            unit=unit,
            noise=LevelNoise("laplace", (rate,) * len(counts)),
            changes=tuple(changes),
        )
        return cls(measurement, drawn_noise)

    def refined(self, epsilon: Fraction, source: EntropySource, *, name: str) -> Self:
        """Return a finer copy, to be used instead of this one, whose numbers are its `look`.

        Args:
            epsilon: of both together; above the cost of `measurement`.
            source: of the noise.
            name: of the new measurement.

        Guarantee: `measurement` and the finer copy are epsilon-DP together, also where
        `measurement` decides whether there is one, and its epsilon: see `RefinableLaplace`.
        """
        coarse = self.measurement
        rate = _laplace_rate(epsilon, coarse.changes)
        finer_noise = tuple(part_noise.refined(rate, source) for part_noise in self._noise)
        noisy = tuple(
            steps - old_noise.values + new_noise.values
            for steps, old_noise, new_noise in zip(
                coarse.steps, self._noise, finer_noise, strict=True
            )
        )
        noise = LevelNoise("laplace", (rate,) * len(noisy))
        look = Look(steps=coarse.steps, noise=coarse.noise, fresh=())
        finer = replace(coarse, name=name, steps=noisy, noise=noise, look=look)
        return type(self)(finer, finer_noise)


def measure_total(
    graph: AnyGraph,
    distribution: NoiseDistribution,
    *,
    epsilon: Fraction,
    source: EntropySource,
) -> CountMeasurement[Total]:
    """Measure the sum of the whole matrix (each edge of a `Graph` twice).

    Args:
        graph: the private graph; weights need a public bound.
        distribution: of the entries; it has the grid that weights are rounded down to.
        epsilon: privacy parameter, exact.
        source: of the noise.

    Raises:
        ParameterError: weights without a maximum, or sums that could overflow.

    Guarantee: epsilon-DP. One pair changes the sum of the weights by at most s steps (see
    `measure_degrees`), and the discrete Laplace noise k, added before doubling, has P(k)
    proportional to e^(-epsilon |k|/s). May be negative.
    """
    return measure_refinable_total(graph, distribution, epsilon=epsilon, source=source).measurement


def measure_refinable_total(
    graph: AnyGraph,
    distribution: NoiseDistribution,
    *,
    epsilon: Fraction,
    source: EntropySource,
) -> Refinable[Total]:
    """Measure as `measure_total`, with its guarantee, and keep what a finer copy needs."""
    counts, changes, unit = _total(graph, distribution)
    return Refinable.draw(
        "total", Total(), counts, changes, unit=unit, epsilon=epsilon, source=source
    )


def measure_degrees(
    graph: AnyGraph,
    distribution: NoiseDistribution,
    *,
    epsilon: Fraction,
    source: EntropySource,
    without_maximum: bool = False,
) -> CountMeasurement[Degrees]:
    """Measure all degrees, by discrete Laplace noise.

    Args:
        graph: the private graph; weights need a public bound.
        distribution: of the entries; it has the grid that weights are rounded down to.
        epsilon: privacy parameter of all degrees together, exact.
        source: of the noise.
        without_maximum: whether weights may have no maximum; neighbours then differ in a weight by
            at most 1.

    Raises:
        ParameterError: weights without a maximum, or sums that could overflow.

    Guarantee: epsilon-DP, neighbours being graphs on the same vertices that differ in one pair (an
    edge; or its weight, within 0..max_weight). Let an entry be at most s steps. Changing the pair
    {i, j} changes the row sums of i and of j (or the row sum of i and the column sum of j: of an
    arc, the out-degree of its tail and the in-degree of its head) by the same number of steps, at
    most s, and no other: the L1 sensitivity is exactly 2 s. Independent noise with P(k)
    proportional to e^(-rate |k|), rate = epsilon/(2 s), on integers of that sensitivity is
    epsilon-DP. Weights are rounded down to steps before they are added, entry by entry, which keeps
    s. Sums are exact, however large weights are: they are added up digit by digit. Without a
    maximum weight, s steps are a change by 1.
    Source: Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009.
    Side channel: adding up takes time proportional to the number of edges.
    """
    return measure_refinable_degrees(
        graph, distribution, epsilon=epsilon, source=source, without_maximum=without_maximum
    ).measurement


def measure_refinable_degrees(
    graph: AnyGraph,
    distribution: NoiseDistribution,
    *,
    epsilon: Fraction,
    source: EntropySource,
    name: str = "degrees",
    without_maximum: bool = False,
) -> Refinable[Degrees]:
    """Measure as `measure_degrees`, with its guarantee, and keep what a finer copy needs."""
    grid = sums_grid(distribution, without_maximum=without_maximum)
    counts, changes = _degrees(graph, grid)
    return Refinable.draw(
        name, Degrees(), counts, changes, unit=grid.unit, epsilon=epsilon, source=source
    )


def measure_weight_counts(
    graph: AnyGraph,
    distribution: LaplaceNoise,
    *,
    epsilon: Fraction,
    source: EntropySource,
) -> CountMeasurement[Classes]:
    """Measure how many pairs have a weight in each of a few public classes.

    Args:
        graph: the private graph.
        distribution: of the noise of each pair with all of epsilon; it has the steps that weights
            are rounded down to, and determines the classes.
        epsilon: privacy parameter of all counts together, exact.
        source: of the noise.

    Guarantee: epsilon-DP, neighbours being graphs on the same vertices that differ in one pair.
    That pair leaves at most one class and enters at most one other; no other pair moves. So the L1
    sensitivity is 2 if there are several classes, and 1 if there is one, that of all edges of a
    graph without weights. Independent discrete Laplace noise with P(k) proportional to
    e^(-rate |k|), rate = epsilon over that sensitivity, is epsilon-DP. Classes are public: they
    depend on epsilon and the maximum weight alone.
    Side channel: counting takes time proportional to the number of edges.
    """
    lower = weight_classes(1 / float(distribution.rate), distribution.most_steps)
    classes = Classes(lower, distribution.unit)
    # The last class has no upper end, so clipping weights to its lower end changes no count.
    steps = whole_steps(graph.weights, distribution.unit, int(lower[-1]))
    classes_above = np.searchsorted(lower, steps, side="right")  # 0 for weights of no step
    counts = np.bincount(classes_above, minlength=len(lower) + 1)[1:].astype(np.int64)
    change = min(2, len(lower))
    return draw(
        "weights", classes, [[counts]], [(change, change)], unit=1.0, epsilon=epsilon, source=source
    )


def measure_contributions(
    rows: Rows,
    bounds: tuple[int, ...],
    *,
    rate: Fraction,
    source: EntropySource,
    per_period: bool = False,
) -> IntVector:
    """Measure how many users have a number of pairs, rows or units in each of some classes.

    Args:
        rows: private.
        bounds: public upper limits of the classes, ascending, see `Contributions`.
        rate: of the discrete Laplace noise of each count, > 0.
        source: of the noise.
        per_period: whether a user counts in each period as a user of its own.

    Guarantee: rate-DP for neighbours that differ in all rows of one user, however many these are,
    added or removed: each user with any row is in exactly one class, which follows from the user's
    own rows, so one count changes, by 1. Noise is independent, P(k) proportional to e^(-rate |k|).
    With `per_period` the same holds for all rows of one user in one period, since a user in another
    period counts as another user.
    """
    counts = class_counts(rows, bounds, per_period=per_period)
    noisy = counts + sample_discrete_laplace(rate, len(counts), source)
    noisy.flags.writeable = False
    return noisy


def class_counts(rows: Rows, bounds: tuple[int, ...], *, per_period: bool = False) -> IntVector:
    """Return the true numbers of users in each class, shape (bounds + 1,). Private."""
    contributions = rows.contributions(per_period=per_period)
    user_classes = np.searchsorted(np.array(bounds), contributions, side="left")
    return np.bincount(user_classes, minlength=len(bounds) + 1).astype(np.int64)


def choose_by_share(
    rows: Rows,
    bounds: tuple[int, ...],
    *,
    share: Fraction,
    rate: Fraction,
    source: EntropySource,
    per_period: bool = False,
) -> int:
    """Choose a bound that about a share of all users exceed, by an exponential mechanism.

    Args:
        rows: private.
        bounds: public candidates, ascending.
        share: of users above the bound, p/q in (0, 1).
        rate: of the exponential mechanism, > 0.
        source: of the randomness.
        per_period: as for `measure_contributions`, with its neighbours.

    Guarantee: (2 s rate)-DP for neighbours that differ in all rows of one user, added or removed,
    with s = `share_sensitivity`. The score of a bound is -|q above - p users|, a whole number. One
    user more changes q above - p users by q - p if the user is above, and else by -p, so by at most
    s = max(p, q - p). Draws are exact (`exponential_choice`).
    """
    scores = share_scores(class_counts(rows, bounds, per_period=per_period), share)
    return bounds[exponential_choice(scores, rate, source)]


def share_scores(counts: IntVector, share: Fraction) -> IntVector:
    """Return the score of each bound, see `choose_by_share`, from the number of users by class."""
    above = counts.sum() - np.cumsum(counts)[:-1]
    scores: IntVector = -np.abs(share.denominator * above - share.numerator * counts.sum())
    return scores


def share_sensitivity(share: Fraction) -> int:
    """Return the largest change of a score by one user."""
    return max(share.numerator, share.denominator - share.numerator)


def rate_of_choice(share: Fraction, epsilon: Fraction) -> Fraction:
    """Return the rate at which `choose_by_share` costs epsilon."""
    return epsilon / (2 * share_sensitivity(share))


def choose_candidate(
    graph: AnyGraph,
    candidates: Sequence[float],
    *,
    rate: Fraction,
    noise: float,
    source: EntropySource,
    beta: float = DEFAULT_FAILURE,
) -> int:
    """Choose a degree bound that is nearly the best candidate, and return its index.

    Args:
        graph: the private graph.
        candidates: bounds D, ascending, see `bound_candidates`.
        rate: of the exponential mechanism; with it the choice is (2 rate)-DP.
        noise: error of an answer by its noise if the bound is 1, for example 1/epsilon' for one
            answer with Laplace noise of epsilon'. It grows in proportion to the bound.
        source: of the randomness.
        beta: probability in (0, 1) that the accuracy below is missed.

    Guarantee: with epsilon = 2 rate, epsilon-DP and epsilon^2/8-zCDP. Neighbours are graphs that
    differ in the edges at one vertex.
    Proof. f_D of all edges changes by at most D (Theorem "Bounded cuts"), so the score u_D changes
    by at most D; the weight that the bound takes away, w(G) - f_D, changes by more, but w(G) is the
    same for all candidates and is left out. Each term of a normalised score then changes by at most
    (D_i + D_j)/(D_i + D_j) = 1, and so does the smallest of them. The exponential mechanism with
    probabilities proportional to e^(epsilon s/2) is epsilon-DP, with a loss of range epsilon.

    Accuracy: with t = 2 ln(candidates/beta)/epsilon, with probability 1 - beta the chosen i has
    u_i >= u_j - 2 t D_j for all j: its score is at least -t then.

    Source: Raskhodnikova, Smith, *Lipschitz Extensions for Node-Private Graph Statistics and the
    Generalized Exponential Mechanism*, FOCS 2016, section 4; zCDP: Cesar, Rogers 2021.
    """
    penalty = Fraction(math.log(len(candidates) / beta)) / rate
    scores, sensitivities = bound_scores(graph, candidates, noise=noise)
    log_weights = [rate * score for score in normalised_scores(scores, sensitivities, penalty)]

    def exact_log_weight(index: int) -> Decimal:
        return Decimal(log_weights[index].numerator) / Decimal(log_weights[index].denominator)

    floats = np.array([float(log_weight) for log_weight in log_weights])
    return Choice(floats, _LOGARITHM_ERROR, exact_log_weight).draw(source)


def choice_cost(rate: Fraction) -> Cost:
    """Return the cost of `choose_candidate` at this rate; its privacy loss has range 2 rate."""
    epsilon = 2 * rate
    return Cost(epsilon=rounded_up(epsilon), rho=rounded_up(epsilon**2 / 8), pure=epsilon)


def score_rate(epsilon: Fraction) -> Fraction:
    """Return the rate of a choice of `choose_candidate` that costs epsilon; see `choice_cost`."""
    return epsilon / 2


def bound_candidates(
    graph: AnyGraph, candidates: Sequence[float] | None = None
) -> tuple[float, ...]:
    """Return the degree bounds to choose from, ascending. Reads the schema of the graph only.

    Args:
        graph: the private graph.
        candidates: bounds of the caller; None for powers of two (times the maximum weight) up to a
            bound that no degree exceeds.

    Raises:
        ParameterError: bounds out of range, or None for weights without a maximum.
    """
    if candidates is None:
        largest_degree = largest_possible_degree(graph)
        if largest_degree is None or graph.max_weight is None:
            raise ParameterError("weights without a maximum: pass candidates, for example 1, 10")
        last_power = math.ceil(math.log2(max(1.0, largest_degree / graph.max_weight)))
        candidates = [graph.max_weight * 2**power for power in range(last_power + 1)]
    bounds = sorted({float(check_degree_bound(D, weighted=graph.weighted)) for D in candidates})
    if not 1 <= len(bounds) <= _MOST_CANDIDATES or bounds[-1] > bounds[0] * _LARGEST_RATIO:
        raise ParameterError("the candidates are 1 to 64 bounds, within a factor of 2^26")
    return tuple(bounds)


def bound_scores(
    graph: AnyGraph, candidates: Sequence[float], *, noise: float
) -> tuple[list[Fraction], list[int]]:
    """Return the score of each bound D, f_D - noise D, and its sensitivity D. Private.

    Both are in steps of one grid. Up to a constant, a score is minus the sum of the weight that the
    bound takes from the total and of the noise that it costs.
    """
    grid = Grid.of_vertices(graph, candidates[-1])
    bounds = [math.floor(Fraction(D) / Fraction(grid.unit)) for D in candidates]
    totals = [replace(grid, sensitivity=bound).total(graph) for bound in bounds]
    scores = [total - Fraction(noise) * bound for total, bound in zip(totals, bounds, strict=True)]
    return scores, bounds


def normalised_scores(
    scores: Sequence[Fraction], sensitivities: Sequence[int], penalty: Fraction
) -> list[Fraction]:
    """Normalise scores to a sensitivity of 1, for the generalised exponential mechanism.

    With v_i = u_i - t D_i, u_i the score of candidate i, D_i its sensitivity and t the penalty, the
    new score is min over j of (v_i - v_j)/(D_i + D_j), which is 0 for the largest v_i and negative
    for others.
    """
    penalised = [u - penalty * D for u, D in zip(scores, sensitivities, strict=True)]
    return [
        min((v_i - v_j) / (D_i + D_j) for v_j, D_j in zip(penalised, sensitivities, strict=True))
        for v_i, D_i in zip(penalised, sensitivities, strict=True)
    ]


def _laplace_rate(epsilon: Fraction, changes: Sequence[Change]) -> Fraction:
    """Return the rate of discrete Laplace noise of all counts that costs epsilon."""
    return epsilon / sum(change for change, _ in changes)


def _noisy(counts: Digits, noise: IntVector) -> IntVector:
    """Return counts with their noise, exactly, of any size: they may be published."""
    return joined_digits([counts[0] + noise, *counts[1:]])


def _total(
    graph: AnyGraph, distribution: NoiseDistribution
) -> tuple[list[Digits], list[Change], float]:
    """Return the sum of the weights of all pairs in steps, its largest change, and the unit."""
    grid = sums_grid(distribution)
    s = grid.sensitivity_steps
    unit = grid.unit * (2 if isinstance(graph, Graph) else 1)
    # At most 2^31 edges of 2^31 steps: 64 bits hold the sum.
    steps = whole_steps(graph.weights, grid.unit, LARGEST_ENTRY)
    return [[steps.sum(keepdims=True)]], [(s, s**2)], unit


def _degrees(graph: AnyGraph, distribution: LaplaceNoise) -> tuple[list[Digits], list[Change]]:
    """Return the sums of rows and, for two vertex sets, of columns, and the largest changes.

    Args:
        graph: the private graph.
        distribution: of `sums_grid`, with the grid that weights are counted on.
    """
    s = distribution.sensitivity_steps
    grid = Grid(distribution.unit, s, distribution.max_weight)
    digits = grid.digits_of(graph.weights)
    sides = (graph.shape[0],) if isinstance(graph, Graph) else graph.shape
    sums: list[Digits] = [[np.zeros(size, dtype=np.int64) for _ in digits] for size in sides]
    for power, digit in enumerate(digits):
        np.add.at(sums[0][power], graph.rows, digit)
        np.add.at(sums[-1][power], graph.columns, digit)  # one vertex set: to the same sums
    changed_sums = 2 // len(sums)  # number of sums of each part that a pair changes
    return sums, [(changed_sums * s, changed_sums * s**2)] * len(sums)
