"""Which levels of a table are measured, and which share of the budget each of them gets.

Chosen before anything is spent, from the sizes of the public groups alone; so is what errors to
expect.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import NamedTuple, final

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.confidence import DEFAULT_FAILURE, DEFAULT_PERCENT
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.consistency import LeastSquares
from graphcuts_dp.estimate.measurement import place_variances
from graphcuts_dp.estimate.tails import error_radii
from graphcuts_dp.options import check, option
from graphcuts_dp.privacy.budget_plan import BudgetPlan, BudgetStep
from graphcuts_dp.privacy.count_noise import COUNT_NOISES, Change, count_noise
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON, exact_epsilon
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.group_tree import GroupTree

ALL_CELLS, ALL_LEVELS, TOTALS = "all cells", "all levels", "totals"
NOISES = ("auto", *COUNT_NOISES)
_PARTS = 128  # shares are whole multiples of one over this
_LEAST = 13  # parts for the finest level, so that every cell has an estimate: a tenth
_SCALE = 2**47  # of the noise, in steps: 64-bit integers hold it


@final
@dataclass(frozen=True, kw_only=True)
class FlowWorkload:
    """What a table of flows is for, and how its cells are counted. Public.

    Where `release_flows` takes one, a string stands for one that says what should be accurate.

    Attributes:
        accurate: what the levels' shares of the budget are chosen for: "all levels" (every level
            counts alike), "all cells" (every cell of every level counts alike, so that the finest
            level counts most), "totals" (the grand total), or the name of a level.
        noise: "laplace", "gaussian" (which needs a delta), or "auto" for the less expected error.
        whole: count weights in whole numbers, rounded down; else in small steps. Of users with
            more rows than count: keep so many whole ones; else each row counts for a share of one.
        expected_cell: about what a cell of the finest level holds, a public guess: a release whose
            noise is above it is refused, before anything is spent. None: one of a graph without
            weights is refused where most of these cells cannot hold as many edges as the noise; 0
            releases it all the same, with a warning.

    Raises:
        ParameterError: an option out of range.

    Examples:
        >>> club, groups = gc.datasets.load("karate"), gc.datasets.load_groups("karate")
        >>> work = gc.FlowWorkload(accurate="totals", expected_cell=20)
        >>> flows = gc.release_flows(club, groups, epsilon=1.0, workload=work)
    """

    accurate: str = option(
        ALL_LEVELS,
        flag="--workload",
        help='Which sums are to be accurate: "all levels", "all cells", totals, or one level.',
    )
    noise: str = option("auto", help="Distribution of the noise.", choices=NOISES)
    whole: bool = option(
        False,
        help="Count whole rows, and weights rounded down to whole numbers; otherwise a user above "
        "the bound has a share of each row counted.",
    )
    expected_cell: float | None = option(
        None,
        help="A public guess of what a cell of the finest level holds: the release is refused if "
        "noise is above it. 0 refuses nothing.",
        least=0,
    )

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def of(cls, workload: "str | FlowWorkload") -> "FlowWorkload":
        """Return the workload that a name or an object stands for.

        Raises:
            ParameterError: something else.
        """
        if not isinstance(workload, str | FlowWorkload):
            raise ParameterError(f"workload is a name or a FlowWorkload, not {workload!r:.60}")
        return cls(accurate=workload) if isinstance(workload, str) else workload


@final
@dataclass(frozen=True, kw_only=True)
class FlowStrategy:
    """How a table will be measured. Public.

    Attributes:
        workload: what the shares were chosen for.
        places: measured places, ascending; 0 is the grand total, i the level i from 1.
        shares: of the budget (epsilon, or rho), one a measured place; they add up to 1.
        noise: a parameter for each measured place.
        deviations: expected standard deviation of a cell of each place, the root of the mean
            variance, in steps; place 0 first.
    """

    workload: str
    places: tuple[int, ...]
    shares: tuple[Fraction, ...]
    noise: LevelNoise
    deviations: tuple[float, ...]

    def budget_plan(
        self, cells: CellTree, *, epsilon: float | Fraction, delta: float = 0.0
    ) -> BudgetPlan:
        """Return the budget plan of the measured places: a step each, with the shares of these.

        Args:
            cells: the public cells.
            epsilon: that the strategy was chosen for.
            delta: likewise.
        """
        kind, names = self.noise.distribution, ("total", *cells.levels)
        pure = COUNT_NOISES[kind].pure
        steps, left = [], Fraction(1)
        for place, share in zip(self.places, self.shares, strict=True):
            noise = f"discrete {kind.capitalize()}"
            steps.append(BudgetStep(statistic=names[place], share=share / left, noise=noise))
            left -= share
        return BudgetPlan(
            steps=tuple(steps),
            amount=count_noise(kind).budget(exact_epsilon(epsilon), delta=delta),
            currency="epsilon" if pure else "rho",
            delta=0.0 if pure else delta,
        )


def choose_strategy(
    cells: CellTree,
    *,
    epsilon: float | Fraction,
    delta: float = 0.0,
    changes: Sequence[Change] | None = None,
    workload: str = ALL_LEVELS,
    noise: str = "auto",
) -> FlowStrategy:
    """The shares with the least mean variance of a workload after least squares.

    The variance of the estimate of a cell is a formula of the variances v_p of the places (two
    passes, see `LeastSquares`): upwards 1/w = 1/v + 1/W, W = sum of the parts' w; downwards
    Var(x_part) = w (1 - w/W) + (w/W)^2 Var(x). With a share e of the budget, v is
    1/(2 sinh(e epsilon/(2 s))^2), about 2 (s/(e epsilon))^2, for discrete Laplace noise and a sum
    of |changes| of s, and q/(2 e rho) for discrete Gaussian noise and a sum of squares of q. The
    objective is the mean variance of the cells of the workload. It is minimised over whole
    multiples of 1/128 by moving parts from one place to another as long as that helps, from several
    starts: the finest level alone, all levels alike, and the levels of the workload. (For Gaussian
    noise the problem is convex in the shares; for Laplace noise it is not, hence the starts.) The
    finest level gets at least a tenth, so that every cell has an estimate. With delta > 0 the
    better of both noises. Of several coarsest periods each stands for itself: the grand total is
    not measured, but the sum of what each of them tells.

    Args:
        cells: the public cells.
        epsilon: privacy parameter, in [1e-6, 50].
        delta: in [0, 1); 0 for pure privacy.
        changes: of each place, see `cell_changes`; None for one pair of a graph without weights.
        workload: "all levels" (every level counts alike), "all cells" (every cell of every level
            counts alike, so that the finest level counts most), "totals" (the grand total), or
            the name of a level.
        noise: "laplace", "gaussian" (which needs a delta), or "auto" for the better of the two.

    Raises:
        ParameterError: a number out of range, an unknown workload or noise, or an epsilon so small
            that the noise would not fit into 64 bits.
    """
    exact = exact_epsilon(epsilon)
    if not (isinstance(delta, int | float) and 0 <= delta < 1):
        raise ParameterError(f"delta must be at least 0 and below 1, not {delta}")
    changes = ((1, 1),) * cells.depth if changes is None else changes
    if max(change[0] for change in changes) * _PARTS / exact > _SCALE:
        raise ParameterError("epsilon is too small for weights of this cap")
    wanted = _workload(cells, workload)
    times = 1  # so many periods are alike, and one of them tells all
    if cells.has_one_period_level:
        times, cells = len(cells.lengths(1)), cells.of_period()
    shape = _Shape.of(cells)
    first = 1 if times > 1 or cells.has_period_trees else 0
    found = []
    for kind in _kinds(noise, delta):
        budget = count_noise(kind).budget(exact, delta=delta)

        @cache
        def value(parts: tuple[int, ...], kind: str = kind, budget: Fraction = budget) -> float:
            noise, places = _noise(kind, budget, changes, parts)
            means = shape.mean_variances(place_variances(noise, places, cells.depth))
            return float(means @ wanted)

        least, parts = _best_parts(value, wanted, first)
        found.append((least, kind, budget, parts))
    _, kind, budget, parts = min(found, key=lambda each: each[0])
    chosen_noise, places = _noise(kind, budget, changes, parts)
    means = shape.mean_variances(place_variances(chosen_noise, places, cells.depth))
    return FlowStrategy(
        workload=workload,
        places=places,
        shares=tuple(Fraction(parts[p], _PARTS) for p in places),
        noise=chosen_noise,
        deviations=tuple(math.sqrt(mean) for mean in (means[0] * times, *means[1:])),
    )


def _kinds(noise: str, delta: float) -> tuple[str, ...]:
    """The noises to try: one, or all that this delta allows."""
    if noise not in NOISES:
        raise ParameterError(f"unknown noise {noise!r:.60}; choose one of {', '.join(NOISES)}")
    if noise != "auto":
        return (noise,)
    return tuple(name for name, kind in COUNT_NOISES.items() if kind.pure or delta)


def _workload(cells: CellTree, workload: str) -> FloatVector:
    """How much the mean variance of each place counts; the weights add up to 1."""
    weights = np.zeros(cells.depth)
    if workload == ALL_CELLS:
        weights[1:] = [cells.size(place) for place in range(1, cells.depth)]
    elif workload == ALL_LEVELS:
        weights[1:] = 1.0
    elif workload == TOTALS:
        weights[0] = 1.0
    elif workload in cells.levels:
        weights[cells.levels.index(workload) + 1] = 1.0
    else:
        raise ParameterError(
            f"unknown workload {workload!r:.60}; it is 'all cells', 'all levels', 'totals', or a "
            "level: " + ", ".join(f"{name!r:.40}" for name in cells.levels[:6])
        )
    return np.asarray(weights / weights.sum())


def _noise(
    kind: str, budget: Fraction, changes: Sequence[Change], parts: Sequence[int]
) -> tuple[LevelNoise, tuple[int, ...]]:
    places = tuple(place for place, part in enumerate(parts) if part)
    spent = [(budget * Fraction(parts[place], _PARTS), changes[place]) for place in places]
    return LevelNoise(kind, tuple(count_noise(kind).parameter(*each) for each in spent)), places


@final
@dataclass(frozen=True, eq=False)
class _Shape:
    """What the variances depend on: who is part of whom, and how many parts the last ones have.

    Attributes:
        parents: of the cells of each place but the last.
        last: how many of the finest cells each cell of the place before them has.
    """

    parents: tuple[IntVector, ...]
    last: FloatVector

    @classmethod
    def of(cls, cells: CellTree) -> "_Shape":
        end = cells.depth - 1
        counts = np.bincount(cells.parents(end), minlength=cells.size(end - 1))
        return cls(tuple(cells.parents(place) for place in range(end)), counts.astype(np.float64))

    def mean_variances(self, noise: FloatVector) -> FloatVector:
        """Mean variance of the estimates of each place, for these variances of its sums."""
        depth = len(self.parents) + 1
        totals = [np.empty(0)] * depth  # W
        spread = [np.empty(0)] * depth  # w
        totals[depth - 2] = self.last * noise[-1]
        for place in range(depth - 2, -1, -1):
            # 1/(1/v + 1/W), also for an infinite v
            spread[place] = 1 / (1 / noise[place] + 1 / totals[place])
            if place:
                above = len(self.parents[place - 1])
                totals[place - 1] = np.bincount(
                    self.parents[place], weights=spread[place], minlength=above
                ).astype(np.float64)
        variances = spread[0]
        means = [float(variances.mean())]
        for place in range(1, depth - 1):
            share = spread[place] / totals[place - 1][self.parents[place]]
            variances = spread[place] * (1 - share) + share**2 * variances[self.parents[place]]
            means.append(float(variances.mean()))
        total = ((self.last - 1) * noise[-1] + variances / self.last).sum()
        means.append(float(total / self.last.sum()))
        return np.array(means)


def _best_parts(
    value: Callable[[tuple[int, ...]], float], wanted: FloatVector, first: int
) -> tuple[float, tuple[int, ...]]:
    """The least value of a search from several starts, and the parts of places from `first` on."""
    depth = len(wanted)
    levels, kept = range(1, depth), {depth - 1}
    picks = [kept, {*levels}, {0, *levels}, {*np.flatnonzero(wanted).tolist()} | kept]
    starts = sorted({_even(pick & {*range(first, depth)}, depth) for pick in picks})
    found = [_improved(start, value, first) for start in starts]
    return min((value(parts), parts) for parts in found)


def _even(pick: set[int], depth: int) -> tuple[int, ...]:
    parts = [_PARTS // len(pick) if place in pick else 0 for place in range(depth)]
    parts[-1] += _PARTS - sum(parts)
    return tuple(parts)


def _improved(
    parts: tuple[int, ...], value: Callable[[tuple[int, ...]], float], first: int
) -> tuple[int, ...]:
    step = _PARTS // 4
    while step:
        better = min((value(moved), moved) for moved in (parts, *_moves(parts, step, first)))
        if better[0] < value(parts) * (1 - 1e-9):
            parts = better[1]
        else:
            step //= 2
    return parts


def _moves(parts: tuple[int, ...], step: int, first: int) -> Iterator[tuple[int, ...]]:
    last = len(parts) - 1
    for source, target in itertools.permutations(range(first, len(parts)), 2):
        given = min(step, parts[source] - (_LEAST if source == last else 0))
        if given > 0:
            moved = list(parts)
            moved[source] -= given
            moved[target] += given
            yield tuple(moved)


def noise_warning(
    cells: CellTree,
    choose: Callable[..., FlowStrategy],
    strategy: FlowStrategy,
    *,
    epsilon: float | Fraction,
    unit: float,
    weighted: bool,
    expected: float | None,
) -> str | None:
    """Why noise will hide the cells of the finest level, where that is to be released all the same.

    The noise of a cell is the root of the mean variance of all of its level, and half of the cells
    hold at most the number of pairs that is compared with it. Reads public numbers alone.

    Args:
        cells: the public cells.
        choose: the strategy for another epsilon: `choose_strategy` with all else given.
        strategy: that of this one.
        epsilon: of the release.
        unit: weight of a step.
        weighted: whether edges have weights, so that the pairs of a cell bound nothing.
        expected: see `FlowWorkload.expected_cell`.

    Raises:
        ParameterError: noise would hide the cells, and nobody said that it may.
    """
    end = cells.depth - 1
    deviations = strategy.deviations
    noise = deviations[end] * unit
    held = math.inf if weighted else _pairs_of_half(cells, end)
    most = min(held, expected or math.inf)
    if noise <= most:
        return None
    told = f"noise of {_three(noise)} is expected on a cell of level {cells.levels[-1]!r:.60}"
    if noise > held:
        told += f", and half of these cells can hold {_counted(held, 'edge')} at most"
    else:
        told += f", above the {expected:,.6g} that you expect in one"
    if expected == 0:
        return f"{told}: what is shown of this level is noise"
    ways = []
    needed = _least_epsilon(lambda e: choose(epsilon=e).deviations[end] * unit <= most, epsilon)
    if needed is not None:
        ways.append(f"raise epsilon to {needed:g}")
    for place in range(end - 1, 0, -1):
        within = (expected or math.inf) * cells.size(end) / cells.size(place)
        if not weighted:
            within = min(within, _pairs_of_half(cells, place))
        if deviations[place] * unit <= within:
            ways.append(
                f"leave out what is finer than level {cells.levels[place - 1]!r:.60} (noise of "
                f"{_three(deviations[place] * unit)})"
            )
            break
    if noise > held:
        ways.append("pass expected_cell=0 to release it all the same")
    raise ParameterError(f"{told}; {', or '.join(ways) or 'no epsilon is enough for such cells'}")


def least_cell_note(cells: CellTree, strategy: FlowStrategy, *, unit: float, counted: str) -> str:
    """What a cell of rows has to hold to show above its noise: nothing public bounds what it does.

    Reads public numbers alone: twice the noise of a cell, and what so many cells hold together.

    Args:
        cells: the public cells.
        strategy: of the levels.
        unit: weight of a step.
        counted: what cells count, in a word.
    """
    place = cells.depth - 1
    least, count = 2 * strategy.deviations[place] * unit, cells.size(place)
    return (
        f"A cell of level {cells.levels[-1]!r:.60} shows above its noise from about "
        f"{_three(least)} on, and all {count:,} cells together from a total of "
        f"{_three(least * count)} ({counted}). --expected-cell NUMBER (expected_cell=) tells what "
        "you expect in one: then a table of noise is refused before anything is spent."
    )


def _pairs_of_half(cells: CellTree, place: int) -> float:
    """The largest number of pairs that half of the cells of a place do not exceed."""
    pairs = np.sort(cells.pairs(place))
    return float(pairs[(len(pairs) - 1) // 2])


def _three(number: float) -> str:
    """A number with three digits at least, and without an exponent where it is large."""
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"


def _counted(number: float, what: str) -> str:
    return f"{number:,.0f} {what}" + "s" * (number != 1)


def _least_epsilon(enough: Callable[[float], bool], epsilon: float | Fraction) -> float | None:
    """The least epsilon above one that is not enough, rounded up to two digits; None for none."""
    low, high = math.log(epsilon), math.log(LARGEST_EPSILON)
    if not enough(LARGEST_EPSILON):
        return None
    while high - low > 0.03:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(math.exp(middle)) else (middle, high)
    scale = 10.0 ** (math.floor(high / math.log(10)) - 1)
    return min(LARGEST_EPSILON, math.ceil(math.exp(high) / scale) * scale)


_MOST_GROUPS = 2000  # two million cells


@final
class LevelErrors(NamedTuple):
    """What to expect of the cells of one level, in units of weight; known before anything is spent.

    Attributes:
        level: its name.
        cell: expected error: root of the mean variance of a cell.
        within: half of the longest interval of a single cell, of the default confidence.
        all_within: half of the longest of the intervals that hold for all cells at once.
    """

    level: str
    cell: float
    within: float
    all_within: float

    @property
    def note(self) -> str:
        """In a sentence."""
        return (
            f"Expected error of a cell of level {self.level!r}: {_three(self.cell)}; "
            f"{DEFAULT_PERCENT} intervals: +-{_three(self.within)}, and "
            f"+-{_three(self.all_within)} for all cells at once."
        )


def level_errors(cells: CellTree, strategy: FlowStrategy, *, unit: float) -> list[LevelErrors]:
    """Of each level, the coarsest first.

    Args:
        cells: the public cells.
        strategy: of the levels.
        unit: weight of a step.
    """
    part = cells.of_period() if cells.has_one_period_level else cells
    fit = LeastSquares(part, place_variances(strategy.noise, strategy.places, cells.depth))
    found = []
    for place, level in enumerate(cells.levels, 1):
        spread = fit.spreads(place)
        within = (
            float(error_radii(strategy.noise, strategy.places, spread, failure=f).max()) * unit
            for f in (DEFAULT_FAILURE, DEFAULT_FAILURE / cells.total_size)
        )
        found.append(LevelErrors(level, strategy.deviations[place] * unit, *within))
    return found


def _unions(cells: CellTree, place: int) -> dict[str, dict[int, FloatVector]]:
    """The cells between two unions of about sqrt(k) groups, and between half of them and the rest.

    As 0 and 1 for each cell of the place, in its first period; without those for which there are
    too few groups.
    """
    (a, b), (rows, columns) = cells.cells(place), cells.shape(place)
    smaller = min(rows, columns)
    few = max(1, round(math.sqrt(smaller)))
    sides = {}
    if few * 2 <= smaller:
        sides["union"] = _first(rows, few), _first(columns, few)[::-1]
    if smaller >= 2:
        sides["half"] = _first(rows, rows // 2), 1 - _first(columns, columns // 2)
    found = {}
    for name, (left, right) in sides.items():
        wanted: FloatVector = left[a] * right[b]
        if cells.symmetric:
            wanted = np.maximum(wanted, left[b] * right[a])
        wanted = wanted * (cells.periods_of(place) == 0)
        if wanted.any():
            found[name] = {place: wanted}
    return found


def _deviation(fit: LeastSquares, strategy: FlowStrategy, wanted: dict[int, FloatVector]) -> float:
    """Standard deviation of a combination of cells, in steps."""
    variances = place_variances(strategy.noise, strategy.places, fit.cells.depth)
    told = fit.spread_of(fit.coefficients(wanted)).squares[0]
    return math.sqrt(float(told @ np.where(np.isfinite(variances), variances, 0.0)))


def guaranteed_flows(
    cells: CellTree, strategy: FlowStrategy, *, failure: float
) -> dict[str, tuple[float, float]]:
    """Proven error and standard deviation of the finest level, in steps.

    Args:
        cells: the public cells.
        strategy: of the levels.
        failure: that one of them is farther off, in (0, 1).

    Returns:
        Of the worst cell, a union of groups and half of them ("cell", "union", "half"), as far as
        there are enough groups.
    """
    fit = LeastSquares(cells, place_variances(strategy.noise, strategy.places, cells.depth))
    place = cells.depth - 1
    worst = np.eye(1, cells.size(place), int(np.argmax(fit.variances[place])))[0]
    found = {}
    for name, wanted in ({"cell": {place: worst}} | _unions(cells, place)).items():
        spread = fit.spread_of(fit.coefficients(wanted))
        radius = error_radii(strategy.noise, strategy.places, spread, failure=failure)
        found[name] = float(radius[0]), _deviation(fit, strategy, wanted)
    return found


def equal_groups(vertices: int, counts: Sequence[int]) -> GroupTree:
    """Nested groups of nearly equal sizes, for planning.

    Args:
        vertices: how many.
        counts: how many groups each level has, from the coarsest to the finest, not falling.

    Raises:
        ParameterError: numbers that do not allow that.
    """
    if not counts or list(counts) != sorted(counts) or not 1 <= counts[0] <= counts[-1] <= vertices:
        raise ParameterError(
            "numbers of groups grow from the coarsest level to the finest, from 1 to the number of "
            "vertices"
        )
    if counts[-1] > _MOST_GROUPS:
        raise ParameterError(f"at most {_MOST_GROUPS:,} groups can be planned")
    sizes = [_shares_of(vertices, counts[-1])]
    parents: list[IntVector] = []
    for above, count in zip(reversed(counts[:-1]), reversed(counts[1:]), strict=True):
        parents.insert(0, np.repeat(np.arange(above), _shares_of(count, above)))
        sizes.insert(0, np.bincount(parents[0], weights=sizes[0]).astype(np.int64))
    parents.insert(0, np.zeros(counts[0], dtype=np.int64))
    labels = {f"level {i}": range(count) for i, count in enumerate(counts, 1)}
    return GroupTree(labels, sizes, parents)


def _shares_of(total: int, parts: int) -> IntVector:
    """Whole numbers that add up to a total and differ by at most 1."""
    return total // parts + (np.arange(parts) < total % parts).astype(np.int64)


def _first(size: int, count: int) -> FloatVector:
    return (np.arange(size) < count).astype(np.float64)
