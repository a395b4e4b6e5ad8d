"""Statistics of a private graph that are whole numbers, each with its sensitivity and its noise.

The total weight, the degrees, and how many edges weigh how much, for releases; for sessions and
offline releases the sums between public groups, a weighted sum of these, and two private norms.
Of each there is a function that counts, on the grid of the weights, and the proof of how far
neighbours can move what it counts; `draw`, or a `ValueNoise`, draws the noise.

The sum of the roots of the left degrees of a bipartite graph is JT12's private norm. A row of the
matrix has a Euclidean norm of at most the root of its degree, so the sum bounds ||X||_{2,1}, which
mirror descent with a (2,p) norm needs to know.

The nuclear norm of a matrix of ratings, the sum of the singular values, is small where few kinds of
users explain all ratings. Mirror descent with a Schatten norm needs an upper bound of it.

Source: JT12, sections 3.2 (the start needs the norm), 4.1 and 4.2.

Last come the bounds that are chosen privately: on what one user may have, from noisy counts of
users by how much they have, and on the degree of a vertex, which shall keep most edges and cost
little noise.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Generic, Self, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, IntVector
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
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, Graph
from graphcuts_dp.graph.grid import Grid, checked_bound, joined_digits, most_degree, whole_steps
from graphcuts_dp.graph.rows import Rows
from graphcuts_dp.privacy.choices import Choice, exponential_choice
from graphcuts_dp.privacy.composition import Cost, rounded_up
from graphcuts_dp.privacy.count_noise import Change, ValueNoise
from graphcuts_dp.privacy.distributions import LaplaceNoise, NoiseDistribution
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.privacy.noise import RefinableLaplace, sample_discrete_laplace
from graphcuts_dp.resources import one_blas_thread

ROOT_STEPS = 1024  # that a change of the sum by 1 is counted in
_COUNTED = 1024  # steps of a change of the norm by 1
NUCLEAR_STEPS = _COUNTED + 2  # by which the count can differ: see `nuclear_norm`
_OFF = 2.0**-11  # how far a computed norm may be from the true one, in units
_ROUNDING = 2.0**-53


# Whole numbers by their digits of `graph.grid.DIGIT_BITS` bits, the lowest first.
Digits = Sequence[IntVector]


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
    """Whole numbers, each with its own noise.

    Args:
        name: of the measurement.
        kind: the linear map that was counted by.
        counts: private, the digits of an array for each part of the map; their noise is drawn in
            this order. It is added to the lowest digit, and what comes out is joined: no step
            depends on how large the counts are.
        changes: of each part the largest sums of |change| and of change^2 between neighbours.
        unit: what a step stands for.
        epsilon: privacy parameter of all of them together, exact: for discrete Laplace noise of one
            rate.
        noise: in place of that, a parameter for each part.
        source: where the noise comes from.

    Guarantee: epsilon-DP. Independent noise with P(k) proportional to e^(-rate |k|),
    rate = epsilon/sensitivity, on integers of that L1 sensitivity is epsilon-DP; the sensitivity is
    at most the sum of |change| over all parts. For other noise see `LevelNoise.cost`.
    Source: Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009.
    """
    if noise is None:
        if epsilon is None:
            raise ValueError("give either epsilon or the noise")
        rate = epsilon / sum(change for change, _ in changes)
        noise = LevelNoise("laplace", (rate,) * len(counts))
    noisy = tuple(
        _noisy(each, noise.draw(i, len(each[0]), source)) for i, each in enumerate(counts)
    )
    return CountMeasurement(
        name=name, map=kind, steps=noisy, unit=unit, noise=noise, changes=tuple(changes)
    )


def _noisy(counts: Digits, noise: IntVector) -> IntVector:
    """Counts with their noise, exactly, of any size: they may be published."""
    return joined_digits([counts[0] + noise, *counts[1:]])


@final
@dataclass(frozen=True, eq=False)
class Refinable(Generic[K]):
    """A measurement of which a finer copy can be bought: what was paid for it is not lost.

    Attributes:
        measurement: may be published.
    """

    measurement: CountMeasurement[K]
    _noise: tuple[RefinableLaplace, ...] = field(repr=False)  # private: it tells the true counts

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
        """As the function `draw`, whose noise it has with the same seed, and whose guarantee."""
        rate = epsilon / sum(change for change, _ in changes)
        own = tuple(RefinableLaplace.draw(rate, len(each[0]), source) for each in counts)
        noisy = tuple(_noisy(each, noise.values) for each, noise in zip(counts, own, strict=True))
        noise = LevelNoise("laplace", (rate,) * len(counts))
        made = CountMeasurement(
            name=name, map=kind, steps=noisy, unit=unit, noise=noise, changes=tuple(changes)
        )
        return cls(made, own)

    def refined(self, epsilon: Fraction, source: EntropySource, *, name: str) -> Self:
        """A finer copy, which takes the place of this one, and keeps it as its `look`.

        Args:
            epsilon: of both together; above what `measurement` cost.
            source: where the noise comes from.
            name: of the new measurement.

        Guarantee: `measurement` and the finer copy are epsilon-DP together, also where
        `measurement` decides whether there is one, and its epsilon: see `RefinableLaplace`.
        """
        coarse = self.measurement
        rate = epsilon / sum(change for change, _ in coarse.changes)
        finer = tuple(own.refined(rate, source) for own in self._noise)
        noisy = tuple(
            steps - own.values + other.values
            for steps, own, other in zip(coarse.steps, self._noise, finer, strict=True)
        )
        noise = LevelNoise("laplace", (rate,) * len(noisy))
        look = Look(steps=coarse.steps, noise=coarse.noise, fresh=())
        return type(self)(replace(coarse, name=name, steps=noisy, noise=noise, look=look), finer)


def measure_total(
    graph: AnyGraph,
    distribution: NoiseDistribution,
    *,
    epsilon: Fraction,
    source: EntropySource,
) -> CountMeasurement[Total]:
    """The sum of the whole matrix (each edge of a `Graph` twice), with discrete Laplace noise.

    Args:
        graph: the private graph; weights need a public bound.
        distribution: of the entries; tells the grid that weights are rounded down to.
        epsilon: privacy parameter, exact.
        source: where the noise comes from.

    Raises:
        ParameterError: weights without a cap, or sums that could overflow.

    Guarantee: epsilon-DP. One pair changes the sum of the weights by at most s steps (see
    `measure_degrees`), and the noise k, added before doubling, has P(k) proportional to
    e^(-epsilon |k|/s). May be negative.
    """
    counts, changes, unit = _total(graph, distribution)
    return draw("total", Total(), counts, changes, unit=unit, epsilon=epsilon, source=source)


def refinable_total(
    graph: AnyGraph,
    distribution: NoiseDistribution,
    *,
    epsilon: Fraction,
    source: EntropySource,
) -> Refinable[Total]:
    """As `measure_total`, with the same noise and guarantee; a finer copy can be bought."""
    counts, changes, unit = _total(graph, distribution)
    return Refinable.draw(
        "total", Total(), counts, changes, unit=unit, epsilon=epsilon, source=source
    )


def _total(
    graph: AnyGraph, distribution: NoiseDistribution
) -> tuple[list[Digits], list[Change], float]:
    """The sum of the weights of all pairs in steps, by how much it can change, and the unit."""
    grid = sums_grid(distribution)
    s = grid.sensitivity_steps
    unit = grid.unit * (2 if isinstance(graph, Graph) else 1)
    # At most 2^31 edges of 2^31 steps: 64 bits hold the sum.
    steps = whole_steps(graph.weights, grid.unit, LARGEST_ENTRY)
    return [[steps.sum(keepdims=True)]], [(s, s**2)], unit


def measure_degrees(
    graph: AnyGraph,
    distribution: NoiseDistribution,
    *,
    epsilon: Fraction,
    source: EntropySource,
    without_cap: bool = False,
) -> CountMeasurement[Degrees]:
    """All degrees with discrete Laplace noise.

    Args:
        graph: the private graph; weights need a public bound.
        distribution: of the entries; tells the grid that weights are rounded down to.
        epsilon: privacy parameter of all degrees together, exact.
        source: where the noise comes from.
        without_cap: whether weights may have no cap, so that a change by 1 is hidden.

    Raises:
        ParameterError: weights without a cap, or sums that could overflow.

    Guarantee: epsilon-DP, neighbours being graphs on the same vertices that differ in one pair (an
    edge; or its weight within 0..cap). Let an entry be at most s steps. Changing the pair {i, j}
    changes the row sums of i and of j (or the row sum of i and the column sum of j: of an arc, the
    out-degree of its tail and the in-degree of its head) by the same number of steps, at most s,
    and no other: the L1 sensitivity is exactly 2 s. Independent noise with P(k) proportional to
    e^(-rate |k|), rate = epsilon/(2 s), on integers of that sensitivity is epsilon-DP. Weights are
    rounded down to steps before they are added, entry by entry, which keeps s. Sums are exact,
    however large weights are: they are added up digit by digit. Without a cap s steps are a change
    by 1.
    Source: Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009.
    Side channel: adding up takes time proportional to the number of edges.
    """
    grid = sums_grid(distribution, without_cap=without_cap)
    return draw(
        "degrees",
        Degrees(),
        *_degrees(graph, grid),
        unit=grid.unit,
        epsilon=epsilon,
        source=source,
    )


def refinable_degrees(
    graph: AnyGraph,
    distribution: NoiseDistribution,
    *,
    epsilon: Fraction,
    source: EntropySource,
    name: str = "degrees",
    without_cap: bool = False,
) -> Refinable[Degrees]:
    """As `measure_degrees`, with the same noise and guarantee; a finer copy can be bought."""
    grid = sums_grid(distribution, without_cap=without_cap)
    counts, changes = _degrees(graph, grid)
    return Refinable.draw(
        name, Degrees(), counts, changes, unit=grid.unit, epsilon=epsilon, source=source
    )


def _degrees(graph: AnyGraph, noise: LaplaceNoise) -> tuple[list[Digits], list[Change]]:
    """Sums of rows and, of two vertex sets, of columns, and by how much each kind can change."""
    s = noise.sensitivity_steps
    grid = Grid(noise.unit, s, noise.max_weight)
    digits = grid.digits_of(graph.weights)
    sides = (graph.shape[0],) if isinstance(graph, Graph) else graph.shape
    sums: list[Digits] = [[np.zeros(size, dtype=np.int64) for _ in digits] for size in sides]
    for place, each in enumerate(digits):
        np.add.at(sums[0][place], graph.rows, each)
        np.add.at(sums[-1][place], graph.columns, each)  # one vertex set: of both together
    both = 2 // len(sums)  # one vertex set: two of its sums change
    return sums, [(both * s, both * s**2)] * len(sums)


def measure_weight_counts(
    graph: AnyGraph,
    distribution: LaplaceNoise,
    *,
    epsilon: Fraction,
    source: EntropySource,
) -> CountMeasurement[Classes]:
    """How many pairs have a weight in each of a few public classes, with discrete Laplace noise.

    Args:
        graph: the private graph.
        distribution: of the noise of each pair with all of epsilon; tells the steps that weights
            are rounded down to, and the classes.
        epsilon: privacy parameter of all counts together, exact.
        source: where the noise comes from.

    Guarantee: epsilon-DP, neighbours being graphs on the same vertices that differ in one pair.
    That pair leaves at most one class and enters at most one other; no other pair moves. So the L1
    sensitivity is 2 where there are several classes, and 1 where there is one, that of all edges of
    a graph without weights. Independent noise with P(k) proportional to e^(-rate |k|),
    rate = epsilon over that sensitivity, is epsilon-DP. Classes are public: they depend on epsilon
    and the cap alone.
    Side channel: counting takes time proportional to the number of edges.
    """
    lower = weight_classes(1 / float(distribution.rate), distribution.most_steps)
    classes = Classes(lower, distribution.unit)
    # Above the last class there is no other: to cut weights there changes no count.
    steps = whole_steps(graph.weights, distribution.unit, int(lower[-1]))
    places = np.searchsorted(lower, steps, side="right")
    counts = [[np.bincount(places, minlength=len(lower) + 1)[1:].astype(np.int64)]]  # 0: no step
    moved = min(2, len(lower))
    return draw(
        "weights", classes, counts, [(moved, moved)], unit=1.0, epsilon=epsilon, source=source
    )


def root_degrees(graph: AnyGraph, grid: Grid) -> int:
    """The sum over left vertices of floor(1024 sqrt(W_i / u)), exactly. Private.

    W_i is the weight of all edges at i, u the largest weight of one, both in steps of the grid.

    Sensitivity: exactly 1024. Changing one pair changes one W_i, by at most u. Of W < W' <= W + u
    the roots differ by at most sqrt(u), since sqrt(a + u) <= sqrt(a) + sqrt(u); and
    floor(b) <= floor(a + 1024) = floor(a) + 1024 for a <= b <= a + 1024. A vertex that gets its
    first edge, of the largest weight, attains it. No sum overflows: W_i < 2^31 * 2^31.

    Raises:
        ParameterError: a graph without two sides, or a grid of bounded cuts, in which all edges of
            a vertex change.
    """
    if not isinstance(graph, BipartiteGraph) or grid.bounded is not None or grid.cap is None:
        raise ParameterError("root degrees are of bipartite graphs, whose edges are to be hidden")
    weights = np.zeros(graph.shape[0], dtype=np.int64)
    steps = grid.edge_steps(graph)
    np.add.at(weights, graph.rows, np.int64(1) if steps is None else steps)
    scale = ROOT_STEPS**2
    return sum(math.isqrt(scale * int(weight) // grid.largest) for weight in weights)


def buy_root_degrees(
    graph: AnyGraph, grid: Grid, noise: ValueNoise, radius: int, source: EntropySource
) -> float:
    """An upper bound of the sum of root degrees, from a noisy one.

    Args:
        graph: the private bipartite graph.
        grid: `Grid.of` it.
        noise: for a count of sensitivity `ROOT_STEPS`.
        radius: how far the noise can be off, in steps.
        source: where the noise comes from.

    Returns:
        The noisy sum, its radius, and a step for each left vertex, whose root was rounded down; in
        units. The sum is not larger but with the probability that the radius is for.

    Guarantee: the cost of the noise, `ValueNoise.cost(ROOT_STEPS)`, for neighbours that differ in
        one pair: see `root_degrees`.
    """
    noisy = root_degrees(graph, grid) + noise.draw(source)
    return max(0, noisy + radius + graph.shape[0]) / ROOT_STEPS


def nuclear_norm(graph: AnyGraph, grid: Grid) -> int:
    """The nuclear norm of the matrix of weights, in 1024ths of the largest weight. Private.

    Sensitivity: at most 1026. Changing one weight by at most the largest one changes the matrix, in
    units of that, by a matrix of one entry of at most 1, whose nuclear norm is that entry; so by
    the triangle inequality the true norm changes by at most 1. What is computed is within 2^-11 of
    the true norm, so it changes by at most 1 + 2^-10, which is 1025 of the steps; and
    floor(b) <= floor(a) + 1026 for a <= b <= a + 1025.

    That it is so near is checked after each computation, by `_is_near`. Where the check fails, the
    count is the largest that the public vertex set allows. The singular values of LAPACK are off by
    a few roundings of the largest one, a millionth of what the check allows at 2,048 vertices, so
    this does not happen; the guarantee of the noise is for all matrices with which it does not.

    Raises:
        ParameterError: a graph without two sides, or a grid of bounded cuts, in which all edges of
            a vertex change.
    """
    if not isinstance(graph, BipartiteGraph) or grid.bounded is not None or grid.cap is None:
        raise ParameterError(
            "a nuclear norm is of bipartite graphs with a max_weight, whose edges are to be hidden"
        )
    matrix = np.zeros(graph.shape)
    steps = grid.edge_steps(graph)
    matrix[graph.rows, graph.columns] = 1.0 if steps is None else steps / grid.largest
    with one_blas_thread():
        found = _checked_norm(matrix)
    if found is None:
        found = math.sqrt(min(matrix.shape) * matrix.size)
    return math.floor(found * _COUNTED)


def _checked_norm(matrix: FloatMatrix) -> float | None:
    """The nuclear norm; None if it may be farther off than 2^-11."""
    try:
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
    except np.linalg.LinAlgError:
        return None
    return float(values.sum()) if _is_near(matrix, left, values, right) else None


def _is_near(
    matrix: FloatMatrix, left: FloatMatrix, values: FloatMatrix, right: FloatMatrix
) -> bool:
    """Whether the sum of these values is proven to be within 2^-11 of the nuclear norm.

    Proof. Let U S V be the product of what was computed, E = A - U S V, and d the larger of
    ||U'U - I|| and ||V V' - I|| in the Frobenius norm. All singular values of U and V lie within
    [(1-d)^(1/2), (1+d)^(1/2)], so the singular values of U S V are those of S times something
    within [1-d, 1+d], and its nuclear norm is within d sum(S) of sum(S). ||A||_* differs from it
    by at most ||E||_* <= rank^(1/2) ||E||_F. The products below are computed with errors: an entry
    of a product over k terms is off by at most (k + 2) 2^-53 times the product of the moduli,
    whatever the order, of which the Frobenius norms are at most ||U||_F ||S V||_F and ||U||_F^2.
    The sums of floats are covered by doubling everything.
    """
    rank = len(values)
    longest = max(matrix.shape)
    error = matrix - (left * values) @ right
    identity = np.eye(rank)
    turned = max(
        float(np.linalg.norm(left.T @ left - identity)),
        float(np.linalg.norm(right @ right.T - identity)),
    )
    size = float(np.linalg.norm(left))
    turned += (longest + 2) * _ROUNDING * max(size, float(np.linalg.norm(right))) ** 2
    lost = float(np.linalg.norm(error))
    lost += (rank + 4) * _ROUNDING * size * float(np.linalg.norm(values[:, None] * right))
    off = 2 * (turned * float(values.sum()) + math.sqrt(rank) * lost)
    return bool(turned < 0.5 and off <= _OFF)


def measure_nuclear_norm(
    graph: AnyGraph, grid: Grid, noise: ValueNoise, radius: int, source: EntropySource
) -> float:
    """An upper bound of the nuclear norm, from a noisy one.

    Args:
        graph: the private bipartite graph.
        grid: `Grid.of` it.
        noise: for a count of sensitivity `NUCLEAR_STEPS`.
        radius: how far the noise can be off, in steps.
        source: where the noise comes from.

    Returns:
        The noisy norm, its radius, and what rounding took away; in units of the largest weight. The
        norm of the weights, each rounded down to its grid, is not larger but with the probability
        that the radius is for.

    Guarantee: the cost of the noise, `ValueNoise.cost(NUCLEAR_STEPS)`, for neighbours that differ
        in one pair: see `nuclear_norm`.
    """
    noisy = nuclear_norm(graph, grid) + noise.draw(source)
    return max(0, noisy + radius + 2) / _COUNTED


def measure_contributions(
    rows: Rows,
    bounds: tuple[int, ...],
    *,
    rate: Fraction,
    source: EntropySource,
    per_period: bool = False,
) -> IntVector:
    """How many users have a number of pairs, rows or units in each of some classes, with noise.

    Args:
        rows: private.
        bounds: public upper ends of the classes, ascending, see `Contributions`.
        rate: of the discrete Laplace noise of each count, > 0.
        source: where the noise comes from.
        per_period: whether a user counts in each period as one of its own.

    Guarantee: rate-DP for neighbours that differ in all rows of one user, however many these are,
    added or removed: each user with any row is in exactly one class, which follows from its own
    rows, so one count changes, by 1. Noise is independent, P(k) proportional to e^(-rate |k|). With
    `per_period` the same holds of all rows of one user in one period, since those of other periods
    are another user's there.
    """
    counts = class_counts(rows, bounds, per_period=per_period)
    noisy = counts + sample_discrete_laplace(rate, len(counts), source)
    noisy.flags.writeable = False
    return noisy


def choose_by_share(
    rows: Rows,
    bounds: tuple[int, ...],
    *,
    share: Fraction,
    rate: Fraction,
    source: EntropySource,
    per_period: bool = False,
) -> int:
    """The bound above which about a share of all users is: an exponential mechanism.

    Args:
        rows: private.
        bounds: public candidates, ascending.
        share: of users above the bound, p/q in (0, 1).
        rate: of the exponential mechanism, > 0.
        source: where the randomness comes from.
        per_period: as for `measure_contributions`, with what it says of neighbours.

    Guarantee: (2 s rate)-DP for neighbours that differ in all rows of one user, added or removed,
    with s = `share_sensitivity`. The score of a bound is -|q above - p users|, a whole number; one
    user more changes what is between the bars by q - p if above, and by -p if not, so by at most
    s = max(p, q - p). Draws are exact (`exponential_choice`).
    """
    scores = share_scores(class_counts(rows, bounds, per_period=per_period), share)
    return bounds[exponential_choice(scores, rate, source)]


def share_scores(counts: IntVector, share: Fraction) -> IntVector:
    """The score of each bound, see `choose_by_share`, from how many users each class has."""
    above = counts.sum() - np.cumsum(counts)[:-1]
    scores: IntVector = -np.abs(share.denominator * above - share.numerator * counts.sum())
    return scores


def share_sensitivity(share: Fraction) -> int:
    """By how much one user changes a score, at most."""
    return max(share.numerator, share.denominator - share.numerator)


def class_counts(rows: Rows, bounds: tuple[int, ...], *, per_period: bool = False) -> IntVector:
    """True numbers of users in each class, shape (bounds + 1,). Private."""
    found = rows.contributions(per_period=per_period)
    places = np.searchsorted(np.array(bounds), found, side="left")
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
        if most is None or graph.max_weight is None:
            raise ParameterError("weights without a cap: give the candidates, for example 1, 10")
        last = math.ceil(math.log2(max(1.0, most / graph.max_weight)))
        candidates = [graph.max_weight * 2**power for power in range(last + 1)]
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
    beta: float = DEFAULT_FAILURE,
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


# What a construction can want to know of a private norm: the sensitivity of its count, and what
# buys an upper bound.
PRIVATE_NORMS: Mapping[str, tuple[int, Callable[..., float]]] = {
    "root degrees": (ROOT_STEPS, buy_root_degrees),
    "nuclear norm": (NUCLEAR_STEPS, measure_nuclear_norm),
}
