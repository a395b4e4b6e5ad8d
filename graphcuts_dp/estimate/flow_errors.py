"""Expected and proven errors of a table of flows, known before anything is spent.

All of it is computed from public numbers: the tree of cells (`CellTree`) and the strategy, which
says how the levels of the tree are measured (`FlowStrategy`). Levels are numbered by a *level
index*: 0 is the grand total, i the i-th level. Errors are in *grid units* (the smallest step of
what cells count) or, multiplied by the `unit`, in weight. The *noise of a cell* is the expected
standard deviation of its estimate.

Of a strategy, this file uses `places` (level indices of the measured levels), `noise` (one
parameter for each of them) and `deviations` (the noise of a cell of each level, by level index, in
grid units). `LeastSquares` computes the estimates from all measured levels; a *spread* describes
how much of each level's noise enters an estimate, and `error_radii` makes proven errors of it.

`noise_warning` refuses tables whose finest cells drown in noise. `level_errors` and
`least_cell_note` describe what users can expect; `guaranteed_flows` is for plans.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple, Protocol, final

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.confidence import DEFAULT_FAILURE, DEFAULT_PERCENT
from graphcuts_dp.display import up_to_digits
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.margin_fit import fit_of
from graphcuts_dp.estimate.strategy import FlowStrategy
from graphcuts_dp.estimate.tails import error_radii
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON
from graphcuts_dp.schema.cells import CellTree

_EPSILON_PRECISION = 0.03  # relative width at which the search for an epsilon ends
# A cell shows above its noise from this many standard deviations on.
_VISIBLE_DEVIATIONS = 2


class CellNoise(Protocol):
    """The noise of cells before anything is measured: of `FlowStrategy`, and of a series."""

    @property
    def deviations(self) -> Sequence[float]:
        """Standard deviation of the error of a cell of each level, by level index, grid units."""
        ...


def noise_warning(
    cells: CellTree,
    choose: Callable[..., CellNoise],
    strategy: CellNoise,
    *,
    epsilon: float | Fraction,
    unit: float,
    weighted: bool,
    expected: float | None,
) -> str | None:
    """Refuse a release whose noise will hide the cells of the finest level.

    The noise of a cell is compared with two numbers: the user's guess of what a cell holds, and,
    for graphs without weights, the number of pairs that half of the cells do not exceed. Noise
    hides the cells if it is above the smaller one. Then the release is refused with advice, unless
    the user has asked for it all the same; then a warning is returned.

    Args:
        cells: the public cells.
        choose: returns the strategy for another `epsilon=`, all else being equal.
        strategy: for this epsilon.
        epsilon: of the release.
        unit: weight of a grid unit.
        weighted: whether edges have weights. The number of pairs of a cell then bounds nothing.
        expected: what a finest cell holds by the user's guess, in units of weight, see
            `FlowWorkload.expected_cell`. None if he gave none; 0 if the table is to be released all
            the same.

    Returns:
        None if noise will not hide the cells; a warning if it will, and `expected` is 0.

    Raises:
        ParameterError: if noise would hide the cells, and `expected` is not 0.
    """
    finest = cells.depth - 1
    noise = strategy.deviations[finest] * unit
    # Half of the cells can hold no more than this: the number of their pairs.
    possible = math.inf if weighted else _lower_median_pairs(cells, finest)
    guess = expected if expected else math.inf  # neither None nor 0 is a guess
    visible = min(possible, guess)
    if noise <= visible:
        return None
    finding = f"noise of {_three_digits(noise)} is expected on a cell of level "
    finding += f"{cells.levels[-1]!r:.60}"
    if noise > possible:
        finding += f", and half of these cells can hold {_edges(possible)} at most"
    else:
        finding += f", above the {expected:,.6g} that you expect in one"
    if expected == 0:
        return f"{finding}: what is shown of this level is noise"

    def is_enough(candidate: float) -> bool:
        return choose(epsilon=candidate).deviations[finest] * unit <= visible

    remedies = []
    enough = _least_epsilon(is_enough, epsilon)
    if enough is not None:
        remedies.append(f"raise epsilon to {enough:g}")
    # The finest of the other levels that noise would not hide. A guess for finest cells is one for
    # the whole level, so a cell of a coarser level holds more by the ratio of the numbers of cells.
    for level_index in range(finest - 1, 0, -1):
        visible_here = guess * cells.size(finest) / cells.size(level_index)
        if not weighted:
            visible_here = min(visible_here, _lower_median_pairs(cells, level_index))
        level_noise = strategy.deviations[level_index] * unit
        if level_noise <= visible_here:
            remedies.append(
                f"leave out what is finer than level {cells.levels[level_index - 1]!r:.60} (noise "
                f"of {_three_digits(level_noise)})"
            )
            break
    if noise > possible:  # a user whose own guess is below the noise has to change the guess
        remedies.append("pass expected_cell=0 to release it all the same")
    advice = ", or ".join(remedies) or "no epsilon is enough for such cells"
    raise ParameterError(f"{finding}; {advice}")


def least_cell_note(
    cells: CellTree, strategy: CellNoise, *, unit: float, counted: str, when: str = ""
) -> str:
    """Return a note on what a finest cell of rows has to hold to show above its noise.

    Nothing public bounds what cells of rows hold, so their noise cannot be compared with a bound.

    Args:
        cells: the public cells.
        strategy: of the levels.
        unit: weight of a grid unit.
        counted: what cells count, in a word.
        when: the period of a cell, in words that follow its level; "" if there is none.
    """
    finest = cells.depth - 1
    least = _VISIBLE_DEVIATIONS * strategy.deviations[finest] * unit
    cell_count = cells.size(finest)
    return (
        f"A cell of level {cells.levels[-1]!r:.60}{when} shows above its noise from about "
        f"{_three_digits(least)} on, and all {cell_count:,} cells together from a total of "
        f"{_three_digits(least * cell_count)} ({counted}). --expected-cell NUMBER "
        "(expected_cell=) tells what you expect in one: then a table of noise is refused before "
        "anything is spent."
    )


@final
class LevelErrors(NamedTuple):
    """Errors to expect of the cells of one level, in units of weight, before anything is spent.

    Attributes:
        level: its name.
        cell: expected error: root of the mean variance of a cell.
        half_width: of the longest interval of a single cell, of the default confidence.
        simultaneous_half_width: of the longest of the intervals that hold for all cells of all
            levels at once.
    """

    level: str
    cell: float
    half_width: float
    simultaneous_half_width: float

    @property
    def note(self) -> str:
        """The errors in a sentence."""
        return (
            f"Expected error of a cell of level {self.level!r}: {_three_digits(self.cell)} (root "
            f"mean square); its {DEFAULT_PERCENT} interval is \N{PLUS-MINUS SIGN}"
            f"{_three_digits(self.half_width)}. Simultaneous intervals, for all cells at once, "
            f"reach {_three_digits(self.simultaneous_half_width)} to both sides."
        )


def level_errors(cells: CellTree, strategy: FlowStrategy, *, unit: float) -> list[LevelErrors]:
    """Return the errors to expect of each level, the coarsest first.

    Args:
        cells: the public cells.
        strategy: of the levels.
        unit: weight of a grid unit.
    """
    # With at most one level of periods, all periods have the same cells and the same strategy, and
    # each is estimated by itself. So the errors of one period are those of all.
    representative = cells.of_period() if cells.has_one_period_level else cells
    fit = fit_of(representative, strategy)
    errors = []
    for level_index, level in enumerate(cells.levels, 1):
        spread = fit.spreads(level_index)
        # Intervals of single cells, and of all cells at once, which share the failure probability.
        half_width, simultaneous_half_width = (
            float(
                error_radii(
                    strategy.all_noise, strategy.noise_indices, spread, failure=failure
                ).max()
            )
            for failure in (DEFAULT_FAILURE, DEFAULT_FAILURE / cells.total_size)
        )
        deviation = strategy.deviations[level_index]
        errors.append(
            LevelErrors(level, deviation * unit, half_width * unit, simultaneous_half_width * unit)
        )
    return errors


@final
class MarginErrors(NamedTuple):
    """The price of measured margins: half widths of longest intervals with them and without.

    All are of the default confidence, each for one number alone, in units of weight.

    Attributes:
        cell: of a single cell of the finest level, with measured margins.
        cell_without: with margins that are sums of cells.
        margin: of what leaves or enters one group of the finest level, in one of its periods.
        margin_without: with margins that are sums of cells.
    """

    cell: float
    cell_without: float
    margin: float
    margin_without: float

    @property
    def note(self) -> str:
        """The price in a sentence."""
        return (
            f"Margins are measured: the {DEFAULT_PERCENT} interval of what leaves or enters one "
            f"group is ±{_three_digits(self.margin)}, as a sum of cells it would "
            f"be ±{_three_digits(self.margin_without)}; for that the one of a "
            f"single cell of the finest level is ±{_three_digits(self.cell)}, "
            f"else ±{_three_digits(self.cell_without)}."
        )


def margin_errors(
    cells: CellTree, measured: FlowStrategy, summed: FlowStrategy, *, unit: float
) -> MarginErrors:
    """Return the price of measured margins.

    Args:
        cells: the public cells.
        measured: the strategy with measured margins.
        summed: that of the same budget without them.
        unit: weight of a grid unit.
    """
    cells = cells.of_period() if cells.has_one_period_level else cells
    finest, margins = cells.depth - 1, cells.margins
    sizes = np.bincount(margins.leaving, minlength=margins.total) + np.bincount(
        margins.entering[margins.two], minlength=margins.total
    )
    margin = np.argmax(sizes)  # of most cells
    inside = (margins.leaving == margin) | (margins.entering == margin)
    widths = []
    for strategy in (measured, summed):
        fit, noise, indices = fit_of(cells, strategy), strategy.all_noise, strategy.noise_indices
        spread = fit.spread_of(fit.coefficients({finest: inside.astype(np.float64)}))
        for spreads in (fit.spreads(finest), spread):
            radii = error_radii(noise, indices, spreads, failure=DEFAULT_FAILURE)
            widths.append(float(radii.max()) * unit)
    cell, margin_width, cell_without, margin_without = widths
    return MarginErrors(cell, cell_without, margin_width, margin_without)


def guaranteed_flows(
    cells: CellTree, strategy: FlowStrategy, *, failure: float
) -> dict[str, tuple[float, float]]:
    """Return the proven error and the standard deviation of sums of finest cells, in grid units.

    Args:
        cells: the public cells.
        strategy: of the levels.
        failure: probability that an error is larger, for each sum, in (0, 1).

    Returns:
        (proven error, standard deviation) of "cell", the cell of the longest interval; "union", the
        flow between two unions of about sqrt(k) groups; and "half", the flow between half of the
        groups and the others. The last two are left out if there are too few groups, or if no pairs
        are between them.
    """
    variances, fit = strategy.variances(cells.depth), fit_of(cells, strategy)
    noise, indices = strategy.all_noise, strategy.noise_indices
    finest = cells.depth - 1
    # Noise of levels that are not measured enters no estimate: its coefficients are 0.
    measured_variances = np.where(np.isfinite(variances), variances, 0.0)
    # Of a cell the number that `LevelErrors.half_width` states.
    cell_radii = error_radii(noise, indices, fit.spreads(finest), failure=failure)
    errors = {"cell": (float(cell_radii.max()), math.sqrt(float(fit.variances[finest].max())))}
    # An indicator is 1 for the finest cells of a sum and 0 for the others.
    for name, indicator in _union_indicators(cells, finest).items():
        spread = fit.spread_of(fit.coefficients({finest: indicator}))
        radii = error_radii(noise, indices, spread, failure=failure)
        columns = len(spread.squares[0])  # one more with margins
        deviation = math.sqrt(float(spread.squares[0] @ measured_variances[:columns]))
        errors[name] = float(radii[0]), deviation
    return errors


def _union_indicators(cells: CellTree, level_index: int) -> dict[str, FloatVector]:
    """Return the cells between two unions of groups, as 1 for each cell of the sum and else 0.

    Only cells of the first period count. See `guaranteed_flows` for the names.
    """
    # Row group and column group of each cell, and the numbers of groups.
    (a, b), (row_groups, column_groups) = cells.cells(level_index), cells.shape(level_index)
    fewest_groups = min(row_groups, column_groups)
    root = max(1, round(math.sqrt(fewest_groups)))
    # Two unions by name, as 1 or 0 for each row group and for each column group. [::-1]: the last
    # groups in place of the first, so that the unions are disjoint.
    unions = {}
    if root * 2 <= fewest_groups:
        unions["union"] = _first(row_groups, root), _first(column_groups, root)[::-1]
    if fewest_groups >= 2:
        first_half = _first(column_groups, column_groups // 2)
        unions["half"] = _first(row_groups, row_groups // 2), 1 - first_half
    indicators = {}
    for name, (in_rows, in_columns) in unions.items():
        indicator: FloatVector = in_rows[a] * in_columns[b]
        if cells.symmetric:
            indicator = np.maximum(indicator, in_rows[b] * in_columns[a])
        indicator = indicator * (cells.periods_of(level_index) == 0)
        if indicator.any():
            indicators[name] = indicator
    return indicators


def _first(size: int, count: int) -> FloatVector:
    """Return a vector of a size with 1 in the first entries and 0 in the others."""
    return (np.arange(size) < count).astype(np.float64)


def _lower_median_pairs(cells: CellTree, level_index: int) -> float:
    """Return the lower median of the numbers of pairs of a level's cells."""
    pairs = np.sort(cells.pairs(level_index))
    return float(pairs[(len(pairs) - 1) // 2])


def _least_epsilon(is_enough: Callable[[float], bool], epsilon: float | Fraction) -> float | None:
    """Return the least epsilon that is enough, rounded up to two digits; None if there is none.

    Args:
        is_enough: true from some epsilon on.
        epsilon: for which it is false.
    """
    low, high = math.log(epsilon), math.log(LARGEST_EPSILON)
    if not is_enough(LARGEST_EPSILON):
        return None
    while high - low > _EPSILON_PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(math.exp(middle)) else (middle, high)
    return min(LARGEST_EPSILON, up_to_digits(math.exp(high), 2))


def _three_digits(number: float) -> str:
    """Return a number with at least three digits, without an exponent if it is large."""
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"


def _edges(number: float) -> str:
    """Return a number of edges in words."""
    return f"{number:,.0f} edge" + "s" * (number != 1)
