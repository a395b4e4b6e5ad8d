"""The noisy weight between the public groups of one level, for a release."""

from fractions import Fraction

from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.measurements.cells import Sides, cell_tree, grid_of_cells, measure_cells
from graphcuts_dp.measurements.noisy_groups import NoisyGroups, Stage
from graphcuts_dp.measurements.parts import PartedGraph, public_of
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.level_noise import LevelNoise


def measure_groups(
    graph: AnyGraph | PartedGraph,
    sides: Sides,
    *,
    epsilon: Fraction,
    whole: bool,
    name: Stage,
    source: EntropySource,
) -> NoisyGroups:
    """All sums between the groups of the finest level, with discrete Laplace noise.

    Args:
        graph: the private graph; weights without a cap need `hide_change`.
        sides: public groups of its rows and columns, of as many levels each.
        epsilon: privacy parameter of all sums together, exact.
        whole: whether weights are rounded down to whole numbers first.
        name: of the measurement.
        source: where the noise comes from.

    Raises:
        ParameterError: weights whose bound nobody has given.
        GraphError: groups without any pair.

    Guarantee: epsilon-DP. Groups of a level are disjoint, so each pair lies in at most one cell,
    and one pair changes one sum by at most s steps, s = `grid.sensitivity`: the L1 sensitivity is
    s. Independent noise with P(k) proportional to e^(-rate |k|), rate = epsilon/s, on integers of
    that sensitivity is epsilon-DP; see `measure_cells`.
    """
    public = public_of(graph)
    grid = grid_of_cells(public, epsilon=float(epsilon), whole=whole)
    tree = cell_tree(public, sides)
    measured = measure_cells(
        graph,
        sides,
        tree,
        places=(tree.depth - 1,),
        noise=LevelNoise("laplace", (epsilon / grid.sensitivity,)),
        grid=grid,
        whole=whole or not public.weighted,
        source=source,
    )
    rows, columns = (side.codes() for side in sides)
    if measured.cells.directed:
        columns = rows.copy()  # not the same object: see `NoisyGroups`
    return NoisyGroups(name, rows, columns, measured)
