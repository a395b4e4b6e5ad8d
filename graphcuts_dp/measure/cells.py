"""Measure the weight between public groups of a private graph, on one level or several at once.

With a degree bound, the sums are bounded: no vertex changes them by much, whatever edges it has.
Read `measure_cells` first.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.estimate.cell_changes import cell_changes, margin_change
from graphcuts_dp.estimate.measurement import CellSums, CountMeasurement
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import (
    BoundedEdges,
    Grid,
    doubled_sums,
    endpoints_of,
    joined_digits,
    vertex_count,
)
from graphcuts_dp.graph.rows import PairCounts, PrivateData, Rows
from graphcuts_dp.measure.statistics import Digits, Refinable, draw
from graphcuts_dp.privacy.count_distribution import Change
from graphcuts_dp.privacy.count_noise import ValueNoise
from graphcuts_dp.privacy.default_unit import EDGE
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.counting import STEPS, Reach
from graphcuts_dp.schema.groups import Groups, Sides
from graphcuts_dp.schema.vertices import VertexSet, vertex_sets

_BITS = 30  # noise of all of epsilon has a scale of 2^30 grid units, with a maximum weight
_OPEN_BITS = 20  # the same without a maximum weight, so that sums have room above
_BOUNDED_BITS = 37  # bits of the largest change of the bounded sums of all groups of a table
_FEWEST_BITS = 8  # the fewest bits of a bound of bounded sums
_BLOCK = 1 << 21  # edges that are added up at a time


def measure_refinable_groups(
    graph: AnyGraph,
    sides: Sides,
    *,
    epsilon: Fraction,
    most: Fraction | None = None,
    whole: bool,
    name: str,
    source: EntropySource,
) -> Refinable[CellSums]:
    """Measure all sums between the groups of the finest level, with discrete Laplace noise.

    Args:
        graph: the private graph; weights without a maximum need `max_weight_change`.
        sides: public groups of its rows and columns, of as many levels each.
        epsilon: privacy parameter of all sums together, exact.
        most: largest epsilon of a finer copy, for which the grid is chosen; None if there will be
            no copy.
        whole: whether weights are rounded down to whole numbers first.
        name: of the measurement.
        source: of the noise.

    Raises:
        ParameterError: weights without a public bound.
        GraphError: groups without any pair.

    Guarantee: epsilon-DP. Groups of a level are disjoint, so each pair lies in at most one cell,
    and one pair changes one sum by at most s steps, s = `grid.sensitivity`: the L1 sensitivity is
    s. Independent noise with P(k) proportional to e^(-rate |k|), rate = epsilon/s, on integers of
    that sensitivity is epsilon-DP; see `measure_cells`.
    """
    grid = grid_of_cells(graph, epsilon=float(most or epsilon), whole=whole)
    rows, columns = (side.codes() for side in sides)
    tree = cell_tree(graph, sides)
    kind = CellSums(
        tree=tree,
        measured_levels=(tree.depth - 1,),
        # The columns are not the same object where there are directions: see `CellSums`.
        codes=(rows, columns.copy() if tree.directed else columns),
        max_weight=graph.max_weight,
        weighted=graph.weighted,
        integral=whole or not graph.weighted,
    )
    counts = digits_of_cells(graph, sides, tree, grid)[-1:]
    changes = changes_on(grid, tree, EDGE)[-1:]
    return Refinable.draw(
        name, kind, counts, changes, unit=grid.unit, epsilon=epsilon, source=source
    )


def bounded_cells(
    graph: AnyGraph, sides: tuple[Groups, Groups], cells: CellTree, grid: Grid
) -> IntVector:
    """Return f_D of each cell of the finest level in steps, shape (cells,). Private.

    Each cell is bounded by itself: f_D of its edges, with D = `grid.sensitivity` for every vertex,
    rounded down; see `graph.grid`. It is the true sum if no vertex has more than D of weight within
    the cell, and less otherwise.

    Args:
        graph: the private graph.
        sides: public groups of its rows and columns.
        cells: the public cells.
        grid: of bounded cuts.

    Guarantee: sensitivities are those of `estimate.cell_changes`.
    """
    finest = cells.depth - 1
    codes = tuple(side.codes() for side in sides)
    cell = cells.locate(finest, codes[0][graph.rows], codes[1][graph.columns])
    # A vertex counts as another one in each cell, so that cells share no vertex.
    size = vertex_count(graph)
    first, second = endpoints_of(graph, graph.rows, graph.columns)
    keys = np.concatenate([cell * size + first, cell * size + second])
    distinct, numbers = np.unique(keys, return_inverse=True)
    edges = BoundedEdges(
        numbers[: len(cell)],
        numbers[len(cell) :],
        grid.edge_steps(graph),
        vertices=len(distinct),
        sum_index=distinct // size,
        sum_count=cells.size(finest),
    )
    return doubled_sums(edges, grid.sensitivity) // 2


def sides_of_groups(graph: PrivateData, groups: Groups | tuple[Groups, Groups]) -> Sides:
    """Return the groups of rows and of columns; one object for a graph with one vertex set.

    Raises:
        GraphError: something else than groups of the vertices of this graph.
    """
    sets = vertex_sets(graph.space)
    one_set = sets[0] is sets[1]
    is_pair = isinstance(groups, tuple) and len(groups) == 2
    both_sides = groups if isinstance(groups, tuple) else (groups, groups)
    # A graph with one vertex set has one object of groups, any other graph a pair of them.
    if is_pair == one_set or not all(type(side_groups) is Groups for side_groups in both_sides):
        expected = "a Groups" if one_set else "a pair of Groups, left and right"
        raise GraphError(
            f"the groups of this graph are {expected}; make them with Groups.of or Groups.read"
        )
    left, right = (
        side_groups.on(vertices) for side_groups, vertices in zip(both_sides, sets, strict=True)
    )
    return left, left if one_set else right


def cell_tree(data: PrivateData, sides: Sides, by: str | Sequence[str] | None = None) -> CellTree:
    """Return the public cells of a table of a graph, or of rows. Reads the schema only.

    Args:
        data: a graph, or rows.
        sides: public groups of its rows and columns.
        by: names of the levels of periods, such as "month"; None for the declared periods.

    Raises:
        GraphError: groups that have no table; see `CellTree`.
        ParameterError: levels of periods, and there are none.
    """
    left, right = vertex_sets(data.space)
    one_set = left is right
    loops = isinstance(data, Rows)
    periods = None
    if isinstance(data, Rows) and data.periods is not None:
        periods = data.periods.tree(by)
    elif by is not None:
        raise ParameterError("by= is for rows with periods: read them with Rows.read, periods=")
    return CellTree(
        sides[0].tree,
        None if one_set else sides[1].tree,
        directed=one_set and not isinstance(data.space, VertexSet),
        loops=one_set and loops,
        periods=periods,
    )


def grid_of_cells(
    graph: AnyGraph,
    *,
    epsilon: float,
    whole: bool = False,
    privacy_unit: PrivacyUnit = EDGE,
    groups: int = 1,
) -> Grid:
    """Return the grid that weights are counted on. Reads the schema of the graph only.

    The scale of noise of all of epsilon, max_weight/epsilon, has 2^30 to 2^31 steps; without a
    maximum weight 2^20, so that sums have room above. The bound of bounded sums has 2^30 steps, or
    fewer if there are so many groups that the noise would not fit.

    Args:
        graph: the private graph.
        epsilon: of all levels together.
        whole: whether weights are rounded down to whole numbers.
        privacy_unit: what neighbouring data differ by.
        groups: number of groups of the finest level, on both sides together.

    Raises:
        ParameterError: weights without a public bound, or a degree bound out of range.
    """
    if privacy_unit.max_degree is not None:
        bits_that_fit = _BOUNDED_BITS + math.log2(min(epsilon, 1.0) / groups)
        bits = max(_FEWEST_BITS, min(_BITS, math.floor(bits_that_fit)))
        return Grid.of_vertices(
            graph, privacy_unit.max_degree, bits=bits, whole=whole, cells=2 * groups
        )
    graph.check_bounded()
    if not graph.weighted:
        return Grid()
    largest = graph.max_weight or 1.0
    bits = _OPEN_BITS if graph.max_weight is None else _BITS
    unit = 1.0 if whole else 2.0 ** (math.floor(math.log2(largest / epsilon)) - bits)
    return Grid(unit, math.ceil(Fraction(largest) / Fraction(unit)), graph.max_weight)


def changes_on(
    grid: Grid, cells: CellTree, privacy_unit: PrivacyUnit, reach: Reach | None = None
) -> tuple[Change, ...]:
    """Return the largest change of the cells of each level between neighbours, in grid units.

    Args:
        grid: on which weights are counted.
        cells: the public cells.
        privacy_unit: what neighbouring data differ by.
        reach: which cells the rows of one user can touch; None for other privacy units.

    Raises:
        ParameterError: a grid for another kind of neighbours.
    """
    is_for_vertices, counts_bounded = privacy_unit.max_degree is not None, grid.bounded is not None
    if is_for_vertices != counts_bounded:
        raise ParameterError("bounded sums are for privacy_unit='vertex', and the only ones for it")
    return cell_changes(
        cells,
        privacy_unit,
        sensitivity=grid.sensitivity,
        capped=grid.cap is not None,
        largest=grid.largest,
        reach=reach,
    )


def margin_change_on(
    grid: Grid, cells: CellTree, privacy_unit: PrivacyUnit, reach: Reach | None = None
) -> Change:
    """Return the largest change of all margins of the finest level, in grid units.

    Arguments are those of `changes_on`.
    """
    return margin_change(
        cells,
        privacy_unit,
        sensitivity=grid.sensitivity,
        capped=grid.cap is not None,
        largest=grid.largest,
        reach=reach,
    )


def grid_of_rows(*, whole: bool, unit: float = 1.0) -> Grid:
    """Return the grid that rows are counted on.

    Args:
        whole: whether a grid unit is a whole row, or unit of weight; else it is 1/1024 of one.
        unit: weight of a row or a unit of weight, in which results are stated. The sensitivity and
            all noise are in grid units.
    """
    return Grid(unit, cap=None) if whole else Grid(unit / STEPS, STEPS, None)


def measure_cells(  # noqa: PLR0913  # public facts that the noise depends on
    graph: AnyGraph | PairCounts,
    sides: Sides,
    cells: CellTree,
    *,
    measured_levels: tuple[int, ...],
    noise: LevelNoise,
    grid: Grid,
    whole: bool = False,
    privacy_unit: PrivacyUnit = EDGE,
    reach: Reach | None = None,
    margins: bool = False,
    source: EntropySource,
) -> CountMeasurement[CellSums]:
    """Measure the weight in each cell of some levels, and perhaps in each margin.

    Each cell and each margin has noise of its own.

    Args:
        graph: the private graph, or the counts of pairs in rows.
        sides: public groups of its rows and columns.
        cells: the public cells, as `cell_tree` returns them.
        measured_levels: indices of the levels to measure, ascending.
        noise: with a parameter for each of these levels, and then one for margins.
        grid: on which weights are counted.
        whole: whether weights count in whole numbers, see `grid_of_cells`.
        privacy_unit: what neighbouring data differ by.
        reach: which cells the rows of one user can touch; None for other privacy units.
        margins: whether the sums that leave and that enter each group of the finest level are
            measured, too, as the last part; see `CellTree.margins`.
        source: of the noise.

    Guarantee: with s = `grid.sensitivity` and discrete Laplace noise of rates r_i, exactly
    (sum s r_i)-DP; with discrete Gaussian noise of variances v_i, (sum s^2/(2 v_i))-zCDP, for
    graphs on the same vertices that differ in one pair.

    Proof. That pair lies in exactly one cell of each level, since groups of a level are disjoint
    and hold all vertices. Its weight changes by at most s steps: rounding down to steps keeps that
    (see `Grid`), and so does adding up, which is exact, however large weights are
    (`Grid.digits_of`). So one sum of each level changes, by at most s, and levels with independent
    noise compose. Which cells are left out follows from the sizes of the groups. Source: DR14
    Theorem 3.16; Canonne, Kamath, Steinke 2020, Theorem 4.

    For neighbours that differ in k pairs, or in all edges of a vertex (the grid is then one of
    bounded cuts), sensitivities are larger: `cell_changes` computes them, and
    `CountMeasurement.cost` the cost.

    Rows of a user change by at most k s steps over all pairs and periods together, see
    `Rows.cells`. A pair in a period lies in one cell of each level, too, so the cells of a level
    change by at most k s together, and their squares by at most (k s)^2.

    Margins are sums of finest cells with noise of their own: a pair lies in at most two of them,
    and `margin_change` is the change of all of them together.

    Side channel: adding up takes time proportional to the number of edges.
    """
    sums = digits_of_cells(graph, sides, cells, grid)
    changes = changes_on(grid, cells, privacy_unit, reach)
    rows = isinstance(graph, PairCounts)
    kind = CellSums(
        tree=cells,
        measured_levels=measured_levels,
        max_weight=graph.max_weight,
        weighted=graph.weighted,
        integral=(whole or not graph.weighted) and (not rows or float(grid.unit).is_integer()),
        rounding="none" if rows else "pairs",
        counting=graph.counting if isinstance(graph, PairCounts) else None,
        max_degree=privacy_unit.max_degree,
        margins=margins,
    )
    counts = [sums[level_index] for level_index in measured_levels]
    measured_changes = [changes[level_index] for level_index in measured_levels]
    if margins:
        counts.append(margin_digits(cells, sums[-1]))
        measured_changes.append(margin_change_on(grid, cells, privacy_unit, reach))
    return draw("flows", kind, counts, measured_changes, unit=grid.unit, noise=noise, source=source)


def margin_digits(cells: CellTree, finest: Digits) -> Digits:
    """Return the margins of the finest level from the digits of its cells, exactly. Private."""
    margins = []
    for digit in finest:
        sums = np.zeros(cells.margins.total, dtype=np.int64)
        np.add.at(sums, cells.margins.leaving, digit)
        np.add.at(sums, cells.margins.entering[cells.margins.two], digit[cells.margins.two])
        margins.append(sums)
    return margins


def sums_of_cells(
    graph: AnyGraph | PairCounts, sides: Sides, cells: CellTree, grid: Grid
) -> list[IntVector]:
    """Return the weight of each cell of each level in steps, exactly. Private."""
    return [joined_digits(digits) for digits in digits_of_cells(graph, sides, cells, grid)]


def digits_of_cells(
    graph: AnyGraph | PairCounts, sides: Sides, cells: CellTree, grid: Grid
) -> list[Digits]:
    """Return the weight of each cell of each level in the digits of `Grid.digits_of`. Private.

    Sums are exact. On a grid of bounded cuts each cell of the finest level is bounded, and those of
    other levels are sums of these.
    """
    if isinstance(graph, PairCounts):
        sums = _sums_of_levels(cells, _finest_sums_of_rows(graph, sides, cells))
        return [[level_sums] for level_sums in sums]
    finest = cells.depth - 1
    if grid.bounded is not None:
        sums = _sums_of_levels(cells, bounded_cells(graph, sides, cells, grid))
        return [[level_sums] for level_sums in sums]
    codes = tuple(side.codes() for side in sides)
    width = cells.shape(finest)[1]
    table = np.zeros((grid.digits, cells.shape(finest)[0] * width), dtype=np.int64)
    for start in range(0, len(graph.rows), _BLOCK):
        block = slice(start, start + _BLOCK)
        first, second = codes[0][graph.rows[block]], codes[1][graph.columns[block]]
        if cells.symmetric:
            first, second = np.minimum(first, second), np.maximum(first, second)
        indices = first * width + second
        if not graph.weighted:  # each edge is one step
            table[0] += np.bincount(indices, minlength=table.shape[1])
            continue
        for total, digit in zip(table, grid.digits_of(graph.weights[block]), strict=True):
            np.add.at(total, indices, digit)
    first, second = cells.cells(finest)
    levels_of_digits = [_sums_of_levels(cells, digit[first * width + second]) for digit in table]
    return [list(digits) for digits in zip(*levels_of_digits, strict=True)]


def _sums_of_levels(cells: CellTree, finest_sums: IntVector) -> list[IntVector]:
    """Return the sums of the cells of all levels, the coarsest first, from those of the finest."""
    levels = [finest_sums]
    for level_index in range(cells.depth - 1, 0, -1):
        levels.insert(0, cells.sums(level_index, levels[0]))
    return levels


def _finest_sums_of_rows(counts: PairCounts, sides: Sides, cells: CellTree) -> IntVector:
    """Return the counts of rows in each cell of the finest level, below 2^53 steps altogether."""
    finest = cells.depth - 1
    left, right = (side.codes() for side in sides)
    pairs = counts.cells
    period = None if cells.periods is None else pairs.period
    cell = cells.locate(finest, left[pairs.first], right[pairs.second], period)
    sums = np.zeros(cells.size(finest), dtype=np.int64)
    np.add.at(sums, cell, pairs.steps // counts.step)
    return sums


def measure_group_sums(
    graph: AnyGraph,
    sides: Sides,
    cells: CellTree,
    grid: Grid,
    noise: ValueNoise,
    source: EntropySource,
) -> IntVector:
    """Measure the weight in each cell of the finest level in steps, for sessions.

    `measure_cells` does so for tables, on several levels. Here each cell has noise of a single
    count.

    Args:
        graph: the private graph.
        sides: public groups of its rows and columns.
        cells: their cells.
        grid: `Grid.of` the graph.
        noise: for a count of sensitivity `grid.sensitivity`.
        source: of the noise.

    Guarantee: the cost of one noisy count, `ValueNoise.cost(grid.sensitivity)`, for all cells
        together, for neighbours that differ in one pair: it lies in exactly one cell, whose sum
        changes by at most `grid.sensitivity` steps; the others have the same distribution.

    Raises:
        ParameterError: a grid of bounded cuts, in which all edges of a vertex change.
    """
    sums = _finest_sums_with_maximum(graph, sides, cells, grid)
    return sums + noise.draw_many(len(sums), source)


def measure_weighted_sum(
    graph: AnyGraph,
    sides: Sides,
    cells: CellTree,
    grid: Grid,
    coefficients: IntVector,
    noise: ValueNoise,
    source: EntropySource,
) -> int:
    """Measure floor(sum over cells of a coefficient times the weight of the cell).

    Weights count in units of the largest weight of a pair, which has `grid.largest` steps.

    Args:
        graph: the private graph.
        sides: public groups of its rows and columns.
        cells: their cells.
        grid: `Grid.of` the graph.
        coefficients: of the cells of the finest level, whole numbers; public.
        noise: for a count of sensitivity `weighted_sensitivity(coefficients)`.
        source: of the noise.

    Guarantee: `ValueNoise.cost(weighted_sensitivity(coefficients))`, for neighbours that differ in
        one pair. It lies in one cell, so that the sum in steps changes by at most c u, where c is
        the largest |coefficient| and u = `grid.sensitivity` = `grid.largest`; divided by u, by at
        most c; and floor(x + c) = floor(x) + c for whole c, with floor monotone.

    Raises:
        ParameterError: as `measure_group_sums`.
    """
    sums = _finest_sums_with_maximum(graph, sides, cells, grid)
    exact = sum(int(c) * int(weight) for c, weight in zip(coefficients, sums, strict=True))
    return exact // grid.largest + noise.draw(source)


def weighted_sensitivity(coefficients: Sequence[int] | IntVector) -> int:
    """Return a sensitivity of `measure_weighted_sum`: the power of two above max |coefficient|.

    The power of two may be the maximum itself. A sampler makes a table for each scale of noise,
    which takes longer than drawing; powers of two keep the number of scales small.
    """
    return 1 << (max(1, int(np.abs(np.asarray(coefficients)).max())) - 1).bit_length()


def _finest_sums_with_maximum(
    graph: AnyGraph, sides: Sides, cells: CellTree, grid: Grid
) -> IntVector:
    """Return the weight of each cell of the finest level in steps, in 64 bits. Private.

    Raises:
        ParameterError: a grid of bounded cuts, or weights without a maximum.
    """
    if grid.bounded is not None or grid.cap is None:
        raise ParameterError(
            "sums between groups are measured for edges and users as privacy units"
        )
    # With a maximum weight a pair has 2^31 steps at most: 2^31 edges of them fit into 64 bits.
    return sums_of_cells(graph, sides, cells, grid)[-1].astype(np.int64)
