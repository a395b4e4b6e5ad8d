"""What a session that starts from public groups buys: the sums between them, and a weighted sum."""

from collections.abc import Sequence

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.measure.cells import Sides, sums_of_cells
from graphcuts_dp.pairs.cells import CellTree
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.value_noise import ValueNoise


def buy_group_sums(
    graph: AnyGraph,
    sides: Sides,
    cells: CellTree,
    grid: Grid,
    noise: ValueNoise,
    source: EntropySource,
) -> IntVector:
    """The weight in each cell of the finest level in steps, each with its own noise.

    Args:
        graph: the private graph.
        sides: public groups of its rows and columns.
        cells: their cells.
        grid: `Grid.of` the graph.
        noise: for a count of sensitivity `grid.sensitivity`.
        source: where the noise comes from.

    Guarantee: the cost of one noisy count, `ValueNoise.cost(grid.sensitivity)`, for all cells
        together, for neighbours that differ in one pair: it lies in exactly one cell, whose sum
        changes by at most `grid.sensitivity` steps; the others have the same distribution.

    Raises:
        ParameterError: a grid of bounded cuts, in which all edges of a vertex change.
    """
    sums = _sums(graph, sides, cells, grid)
    return sums + noise.draw_many(len(sums), source)


def buy_weighted_sum(
    graph: AnyGraph,
    sides: Sides,
    cells: CellTree,
    grid: Grid,
    coefficients: IntVector,
    noise: ValueNoise,
    source: EntropySource,
) -> int:
    """floor(sum over cells of a coefficient times the weight of the cell), with noise.

    The weight counts in units of the largest one that a pair can have, of `grid.largest` steps.

    Args:
        graph: the private graph.
        sides: public groups of its rows and columns.
        cells: their cells.
        grid: `Grid.of` the graph.
        coefficients: of the cells of the finest level, whole numbers; public.
        noise: for a count of sensitivity `weighted_sensitivity(coefficients)`.
        source: where the noise comes from.

    Guarantee: `ValueNoise.cost(weighted_sensitivity(coefficients))`, for neighbours that differ in
        one pair. It lies in one cell, so that the sum in steps changes by at most c u, where c is
        the largest |coefficient| and u = `grid.sensitivity` = `grid.largest`; divided by u, by at
        most c; and floor(x + c) = floor(x) + c for whole c, with floor monotone.

    Raises:
        ParameterError: as `buy_group_sums`.
    """
    sums = _sums(graph, sides, cells, grid)
    exact = sum(int(c) * int(each) for c, each in zip(coefficients, sums, strict=True))
    return exact // grid.largest + noise.draw(source)


def weighted_sensitivity(coefficients: Sequence[int] | IntVector) -> int:
    """By how much one pair can move `buy_weighted_sum`, at most, rounded up to a power of two.

    The largest |coefficient| is what it can. Samplers make tables for each scale of noise, which
    takes longer than to draw; so there are few scales.
    """
    return 1 << (max(1, int(np.abs(np.asarray(coefficients)).max())) - 1).bit_length()


def _sums(graph: AnyGraph, sides: Sides, cells: CellTree, grid: Grid) -> IntVector:
    if grid.bounded is not None or grid.cap is None:
        raise ParameterError(
            "sums between groups are bought where edges, or owners, are to be hidden"
        )
    return sums_of_cells(graph, sides, cells, grid)[-1]
