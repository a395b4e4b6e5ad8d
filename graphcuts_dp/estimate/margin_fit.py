"""Least squares of a table of flows whose margins are measured beside its levels.

A *margin* of the finest level is the sum of its cells that leave a group, or that enter one, in one
period (`CellTree.margins`). Margins cross the tree of cells: the cells that leave a group lie in
many cells of coarser levels. So the two passes of `LeastSquares` cannot use them. `MarginFit` takes
the estimates x of the tree, whose errors have the covariance C, and corrects them by the noisy
margins m = M x + noise of variance v, by the formula of best linear unbiased estimates:

    x' = x + C M' S^-1 (m - M x),   S = M C M' + v I.

By the theorem of Gauss and Markov, the estimates x' have the least variance of all that are linear
in the noisy numbers and unbiased. They add up over the levels.

Every coarsest period is a *block*, with a tree and margins of its own (`CellTree.of_period`), and
blocks are independent. The matrix M C M' of a block has a row for each of its margins, so the size
of a block is limited (`MOST_MARGIN_PRODUCTS`). The noisy sums of the levels are y.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, cast, final

import numpy as np
import scipy
import scipy.linalg

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.consistency import ErrorSpread, LeastSquares, Values
from graphcuts_dp.schema.cells import MOST_MARGIN_PRODUCTS, CellTree

if TYPE_CHECKING:
    from graphcuts_dp.estimate.strategy import FlowStrategy

# Largest product of the numbers of cells of a level and of finest cells for which the coefficients
# of each cell are computed.
_MOST_EXACT = 1 << 16
# Factor on sums of squares, moduli and largest coefficients: more than floats lose.
_UPWARD = 1 + 1e-9


def check_margins(cells: CellTree) -> None:
    """Refuse tables whose margins are too many to be measured.

    Raises:
        ParameterError: there are too many cells and margins in a coarsest period.
    """
    if cells.margin_products > MOST_MARGIN_PRODUCTS:
        raise ParameterError(
            "margins are measured of tables of up to 170 groups, or of fewer with several levels "
            "of periods: leave measure_margins out, and they are sums of cells"
        )


def least_squares(
    cells: CellTree, variances: FloatVector, margin_variance: float | None = None
) -> "LeastSquares | MarginFit":
    """Return the least squares of the levels of a table, and of its margins if these are measured.

    Args:
        cells: the public cells.
        variances: variance of one noisy sum of each level, shape (depth,), see `LeastSquares`.
        margin_variance: variance of one noisy margin; None if margins were not measured.
    """
    if margin_variance is None:
        return LeastSquares(cells, variances)
    return MarginFit(cells, variances, margin_variance)


def fit_of(cells: CellTree, strategy: "FlowStrategy") -> "LeastSquares | MarginFit":
    """Return the least squares with which a strategy estimates cells.

    Args:
        cells: the public cells.
        strategy: the noise of the levels, and of the margins if these are measured.
    """
    *variances, margin_variance = strategy.variances(cells.depth).tolist()
    has_margins = strategy.margin_noise is not None
    return least_squares(cells, np.array(variances), margin_variance if has_margins else None)


@final
class _PeriodFit:
    """The fit of a tree of cells with one root, and of its margins.

    Args:
        cells: the cells of one coarsest period.
        variances: variance of one noisy sum of each level, see `LeastSquares`, shape (depth,).
        margin_variance: v, the variance of one noisy margin.
    """

    def __init__(self, cells: CellTree, variances: FloatVector, margin_variance: float) -> None:
        self.cells, self._noise_variances = cells, variances
        self.tree = LeastSquares(cells, variances)
        self._finest, self._margins = cells.depth - 1, cells.margins
        self._measured = np.flatnonzero(np.isfinite(variances)).tolist()
        size = self._margins.total
        # `_products[l][i]` is M E_l E_l' for the cells of level i, shape (margins, cells), where
        # E_l are the columns of the estimator of the tree that belong to the noise of level l.
        # `_sizes[l]` is the sum of |coefficient| of that noise in each margin, shape (margins,).
        self._products = {
            noise: [np.empty((size, cells.size(level))) for level in range(cells.depth)]
            for noise in self._measured
        }
        self._sizes = {noise: np.empty(size) for noise in self._measured}
        for margin in range(size):
            indicator = np.zeros(size)
            indicator[margin] = 1.0
            of_y = self.tree.coefficients({self._finest: self._cells_of(indicator)})
            for noise in self._measured:
                self._sizes[noise][margin] = np.abs(of_y[noise]).sum()
                for level, row in enumerate(self._estimated({noise: of_y[noise]})):
                    self._products[noise][level][margin] = row
        # M E_l E_l' M', shape (margins, margins), for each measured level l.
        self._squares = {
            noise: np.array([self._sums_of(row) for row in self._products[noise][self._finest]])
            for noise in self._measured
        }
        S = sum(variances[noise] * self._squares[noise] for noise in self._measured)
        self._factor = scipy.linalg.cho_factor((S + S.T) / 2 + margin_variance * np.eye(size))

    def _cells_of(self, values: FloatVector) -> FloatVector:
        """Return M' values: the sum over the margins of each finest cell, shape (cells,)."""
        margins = self._margins
        return np.asarray(values[margins.leaving] + margins.two * values[margins.entering])

    def _sums_of(self, values: FloatVector) -> FloatVector:
        """Return M values: the margins of values of the finest cells, shape (margins,)."""
        margins = self._margins
        leaving = np.bincount(margins.leaving, weights=values, minlength=margins.total)
        entering = np.bincount(
            margins.entering, weights=margins.two * values, minlength=margins.total
        )
        return np.asarray(leaving + entering)

    def _estimated(self, sums: Mapping[int, FloatVector]) -> Values:
        """Return the estimates of the tree if the sums of all other levels are 0."""
        return self.tree.estimates(
            {
                noise: sums[noise] if noise in sums else np.zeros(self.cells.size(noise))
                for noise in self._measured
            }
        )

    def _covariances(self, of_y: Sequence[FloatVector]) -> Values:
        """Return the covariances of a combination with all x, from its coefficients of y."""
        return self._estimated(
            {noise: self._noise_variances[noise] * of_y[noise] for noise in self._measured}
        )

    def _solved(self, values: FloatMatrix) -> FloatMatrix:
        """Return S^-1 values."""
        return np.asarray(scipy.linalg.cho_solve(self._factor, values))

    def estimates(self, sums: Mapping[int, FloatVector]) -> Values:
        """Return x', see `MarginFit.estimates`."""
        x = self.tree.estimates({noise: sums[noise] for noise in self._measured})
        residuals = sums[self.cells.depth] - self._sums_of(x[self._finest])
        correction = self._covariances(
            self.tree.coefficients({self._finest: self._cells_of(self._solved(residuals))})
        )
        return [level + change for level, change in zip(x, correction, strict=True)]

    def coefficients(self, combination: Mapping[int, FloatVector]) -> Values:
        """Return the coefficients of all noise, see `MarginFit.coefficients`.

        With c the combination and g = S^-1 M C c, the combination c of x' is the combination
        c - M' g of x plus the combination g of the noisy margins.
        """
        of_y = self.tree.coefficients(combination)
        g = self._solved(self._sums_of(self._covariances(of_y)[self._finest]))
        subtracted = self.tree.coefficients({self._finest: self._cells_of(g)})
        return [*(level - part for level, part in zip(of_y, subtracted, strict=True)), g]

    @cached_property
    def _gains(self) -> Values:
        """Return S^-1 M C for the cells of each level, shape (margins, cells)."""
        return [self._solved(self._margin_covariances(level)) for level in range(self.cells.depth)]

    def _margin_covariances(self, level: int) -> FloatMatrix:
        """Return M C for the cells of a level, shape (margins, cells)."""
        parts = (
            self._noise_variances[noise] * self._products[noise][level] for noise in self._measured
        )
        return np.asarray(sum(parts))

    @cached_property
    def variances(self) -> Values:
        """Return the variances of x', for each level an array of shape (cells,)."""
        return [
            np.maximum(
                variances - (self._margin_covariances(level) * self._gains[level]).sum(axis=0), 0.0
            )
            for level, variances in enumerate(self.tree.variances)
        ]

    def spreads(self, level: int) -> ErrorSpread:
        """Return the spreads of all cells of a level, see `MarginFit.spreads`.

        With g the gain of a cell e, the noise of level l has the coefficients E_l' (e - M' g): the
        sum of their squares is |E_l' e|^2 - 2 g M E_l E_l' e + g M E_l E_l' M' g.

        The coefficient of the noise of a cell f of level l in x' of e is Cov(x'_e, x'_f) over the
        variance of that noise, so at most the root of both variances over it, by Cauchy and
        Schwarz. The root of the sum of squares is another bound.
        """
        of_tree, gains, depth = self.tree.spreads(level), self._gains[level], self.cells.depth
        squares, largest, absolute, squares_below = (
            np.zeros((gains.shape[1], depth + 1)) for _ in range(4)
        )
        for noise in self._measured:
            tree_squares = of_tree.squares[:, noise]
            mixed = 2 * (gains * self._products[noise][level]).sum(axis=0)
            margin_squares = (gains * (self._squares[noise] @ gains)).sum(axis=0)
            total = tree_squares + np.maximum(margin_squares - mixed, -tree_squares)
            # The terms may nearly cancel, so that floats lose a part of the terms, not of the sum.
            float_error = (_UPWARD - 1) * (tree_squares + np.abs(mixed) + margin_squares)
            squares_below[:, noise] = np.maximum(total - float_error, 0.0)
            total += float_error
            covariance = np.sqrt(self.variances[level] * self.variances[noise].max())
            squares[:, noise] = total
            largest[:, noise] = np.minimum(
                np.sqrt(total), covariance / self._noise_variances[noise] * _UPWARD
            )
            moduli = of_tree.absolute[:, noise] + np.abs(gains).T @ self._sizes[noise]
            moduli = np.minimum(moduli, np.sqrt(total * self.cells.size(noise)))
            absolute[:, noise] = moduli * _UPWARD
        squares[:, depth] = (gains**2).sum(axis=0) * _UPWARD
        largest[:, depth] = np.abs(gains).max(axis=0) * _UPWARD
        absolute[:, depth] = np.abs(gains).sum(axis=0) * _UPWARD**2
        least = self._least_largest(level, squares_below, absolute)
        return ErrorSpread(squares, largest, absolute, least)

    def _least_largest(
        self, level: int, squares: FloatMatrix, absolute: FloatMatrix
    ) -> FloatMatrix:
        """Return lower bounds on the largest coefficients, see `ErrorSpread`.

        The sum of squares is at most the largest coefficient times the sum of moduli. Of the noise
        of the k cells of a level that lie in a cell e, the coefficients add up to the variance of
        x'_e over that of this noise, see `spreads`, since their x' add up to x'_e; so the largest
        is at least a k-th part of that. Coefficients of the noise of margins are known.
        """
        least = np.divide(squares, absolute, out=np.zeros_like(squares), where=absolute > 0)
        for noise in [noise for noise in self._measured if noise >= level]:
            parts = np.ones(self.cells.size(noise), dtype=np.int64)
            for finer in range(noise, level, -1):
                parts = self.cells.sums(finer, parts)
            means = self.variances[level] / (self._noise_variances[noise] * parts)
            least[:, noise] = np.maximum(least[:, noise], means)
        least[:, -1] = np.abs(self._gains[level]).max(axis=0)
        return np.maximum(least, 0.0) / _UPWARD


@final
class MarginFit:
    """The best linear unbiased estimates from noisy levels and noisy margins; see the module.

    It has the methods of `LeastSquares`, with one more noise, that of the margins, whose index is
    the depth of the tree.

    Args:
        cells: the public cells.
        variances: variance of one noisy sum of each level, see `LeastSquares`, shape (depth,).
        margin_variance: variance of one noisy margin, > 0 and finite.

    Attributes:
        variances: exact variances of the estimates x', for each level an array of shape (cells,).
        upward_variances: the variances of the tree alone by which cells are rounded.
    """

    def __init__(self, cells: CellTree, variances: FloatVector, margin_variance: float) -> None:
        self.cells = cells
        tree = LeastSquares(cells, variances)
        self.upward_variances: Values = tree.upward_variances
        has_blocks = cells.has_period_trees
        codes = range(len(cells.lengths(1)) if has_blocks else 1)
        # For each block: which cells of each level lie in it, and which margins.
        self._cells: list[list[BoolVector]] = [
            [
                np.ones(1, dtype=np.bool_),
                *(
                    cells.in_period(level, code)
                    if has_blocks
                    else np.ones(cells.size(level), dtype=np.bool_)
                    for level in range(1, cells.depth)
                ),
            ]
            for code in codes
        ]
        finest, margins = cells.depth - 1, cells.margins
        self._margins: list[BoolVector] = []
        for masks in self._cells:
            inside = np.zeros(margins.total, dtype=np.bool_)
            width = margins.total // len(cells.lengths(finest))
            periods = np.unique(cells.periods_of(finest)[masks[finest]])
            inside[(periods[:, None] * width + np.arange(width)).ravel()] = True
            self._margins.append(inside)
        # With one level of periods all blocks have the same cells, and share one fit.
        if not has_blocks:
            self._blocks = [_PeriodFit(cells, variances, margin_variance)]
        elif cells.has_one_period_level:
            self._blocks = [_PeriodFit(cells.of_period(), variances, margin_variance)] * len(codes)
        else:
            labels = cells.periods.labels(cells.periods.levels[0]) if cells.periods else ()
            self._blocks = [
                _PeriodFit(cells.of_period(label), variances, margin_variance) for label in labels
            ]

    @cached_property
    def variances(self) -> Values:
        """Return the variances of the estimates, for each level an array of shape (cells,)."""
        return self._joined([block.variances for block in self._blocks])

    def estimates(self, sums: Mapping[int, FloatVector]) -> Values:
        """Return the estimates of all cells, which add up over the levels.

        Args:
            sums: noisy sums of each measured level by level index, shape (cells,) each, and the
                noisy margins by the depth of the tree, shape (margins,).
        """
        depth = self.cells.depth
        return self._joined(
            [
                block.estimates(
                    {
                        index: values[margins if index == depth else cells[index]]
                        for index, values in sums.items()
                    }
                )
                for block, cells, margins in self._parts
            ]
        )

    def coefficients(self, combination: Mapping[int, FloatVector]) -> Values:
        """Return the coefficients of all noise in a linear combination of the estimates.

        Args:
            combination: coefficients of the estimates of some levels, by level index, shape
                (cells,) each. The coefficient of the root is that of all coarsest periods.

        Returns:
            For each level an array of shape (cells,), and then one of shape (margins,).
        """
        depth = self.cells.depth
        coefficients: Values = [np.zeros(self.cells.size(level)) for level in range(depth)]
        coefficients.append(np.zeros(self.cells.margins.total))
        for block, cells, margins in self._parts:
            parts = {level: values[cells[level]] for level, values in combination.items()}
            of_block = block.coefficients(parts)
            for level in range(depth):
                # If there are several blocks, the root is not measured: its coefficient is 0.
                coefficients[level][cells[level]] = of_block[level]
            coefficients[depth][margins] = of_block[depth]
        return coefficients

    def spread_of(self, coefficients: Sequence[FloatVector]) -> ErrorSpread:
        """Return the spread of one combination, from the coefficients of all noise."""
        absolute = [np.abs(part) for part in coefficients]
        rows = [[(part**2).sum(), part.max(initial=0.0), part.sum()] for part in absolute]
        squares, largest, sums = np.array(rows, dtype=np.float64).T
        return ErrorSpread(squares[None], largest[None], sums[None])

    def spreads(self, level_index: int) -> ErrorSpread:
        """Return the spreads of the estimates of all cells of a level below the root.

        `squares` are exact but for floats, which are rounded up. The others are bounds, which are
        loose for cells of coarse levels. In small tables (`_MOST_EXACT`) all three are exact.
        """
        count = self.cells.size(level_index)
        if count * self.cells.size(self.cells.depth - 1) <= _MOST_EXACT:
            rows = [
                self.spread_of(self.coefficients({level_index: cell})) for cell in np.eye(count)
            ]
            exact = ((row.squares, row.largest, row.absolute) for row in rows)
            return ErrorSpread(*(np.concatenate(parts) for parts in zip(*exact, strict=True)))
        tables = [np.zeros((self.cells.size(level_index), self.cells.depth + 1)) for _ in range(4)]
        spread_of_block: dict[int, ErrorSpread] = {}  # by the id of a block: some are the same
        for block, cells, _ in self._parts:
            if id(block) not in spread_of_block:
                spread_of_block[id(block)] = block.spreads(level_index)
            spread = spread_of_block[id(block)]
            parts = (spread.squares, spread.largest, spread.absolute, spread.least_largest)
            for table, part in zip(tables, parts, strict=True):
                table[cells[level_index]] = cast(FloatMatrix, part)
        return ErrorSpread(*tables)

    @property
    def _parts(self) -> "list[tuple[_PeriodFit, list[BoolVector], BoolVector]]":
        """Return each block with masks of its cells of each level, and of its margins."""
        return list(zip(self._blocks, self._cells, self._margins, strict=True))

    def _joined(self, of_blocks: Sequence[Values]) -> Values:
        """Return values of all cells from those of the blocks; at the root they are added up."""
        joined: Values = [np.zeros(self.cells.size(level)) for level in range(self.cells.depth)]
        for values, cells in zip(of_blocks, self._cells, strict=True):
            joined[0] = joined[0] + values[0]
            for level in range(1, self.cells.depth):
                joined[level][cells[level]] = values[level]
        return joined
