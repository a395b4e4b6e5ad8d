"""Measure the squared distance of a private graph from a fit: one linear query, after the fit.

Read `estimate.mean_square` first: it has the purpose, the grid, and the bound that follows.
"""

from fractions import Fraction

import numpy as np

from graphcuts_dp.estimate.mean_square import FittedWeights, SquaredDistance, on_grid
from graphcuts_dp.estimate.measurement import CountMeasurement
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.measure.statistics import draw
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.synth.budget_plans import SQUARED_DISTANCE


def measure_squared_distance(
    graph: AnyGraph,
    fitted: FittedWeights,
    *,
    whole: bool,
    epsilon: Fraction,
    source: EntropySource,
) -> CountMeasurement[SquaredDistance]:
    """Measure the sum over pairs of a^2 - 2 x a, with discrete Laplace noise.

    Args:
        graph: private; its weights are at most `fitted.max_weight`.
        fitted: x, public, chosen before this noise is drawn.
        whole: whether weights are rounded down to whole numbers first.
        epsilon: privacy parameter, exact.
        source: where the noise comes from.

    Privacy:
        epsilon-DP, neighbours being graphs on the same vertices that differ in one pair, an arc if
        they are directed, given x. Each weight is rounded to grid units by itself, so that
        only one term changes. The largest weight is s = `GRID_STEPS` grid units.

        *Graphs without directions.* The term is (a - x)^2 - x^2 with a and x in 0..s. So it changes
        by at most the larger of x^2 and (s - x)^2, which is at most s^2. Without weights a is 0 or
        s, and the change is s |s - 2 x|.

        *Directed graphs.* The term is (b - y)^2 - y^2, where b = a_ij + a_ji and y = x_ij + x_ji
        lie in 0..2s. One arc changes b by u <= s, from b1 to b2 say, and the term by
        u |b1 + b2 - 2 y|. Both b1 + b2 >= u and b1 + b2 <= 4 s - u, so this is at most
        u (4 s - u), which grows with u up to 2 s: at most 3 s^2. The bound is attained if both arcs
        have the largest weight and y = 0.

        Independent noise with P(k) proportional to e^(-rate |k|), rate = epsilon over these, on an
        integer of that sensitivity is epsilon-DP. Since x depends on earlier measurements of the
        same graph, costs add up by adaptive composition. If x were changed after this noise was
        seen, the guarantee would hold, but the bound would be false.

    Source: Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009; DR14
        Theorem 3.16.
    Side channel: adding up takes time proportional to the number of edges.
    """
    sensitivity = fitted.sensitivity
    return draw(
        SQUARED_DISTANCE,
        SquaredDistance(fitted.digest),
        [[np.array([squared_distance(graph, fitted, whole=whole)])]],
        [(sensitivity, sensitivity**2)],
        unit=fitted.unit**2,
        epsilon=epsilon,
        source=source,
    )


def squared_distance(graph: AnyGraph, fitted: FittedWeights, *, whole: bool) -> int:
    """Return the sum over pairs of a^2 - 2 x a in squared grid units, exactly. Private.

    There are at most 2^31 edges, each with a term within 3 10^8, so that 64 bits hold the sum.
    """
    rows, columns = graph.rows, graph.columns
    weights = np.floor(graph.weights) if whole else graph.weights
    a = on_grid(weights, fitted.max_weight)
    x = fitted.units[rows, columns].astype(np.int64)
    if not fitted.layout.directed:
        return int((a * (a - 2 * x)).sum())
    y = x + fitted.units[columns, rows]
    without_products = int((a * (a - 2 * y)).sum())
    # b^2 = a_ij^2 + a_ji^2 + 2 a_ij a_ji: each arc is matched with the opposite one, so that the
    # sum counts each product twice, as it should.
    size = fitted.layout.shape[0]
    arcs = rows.astype(np.int64) * size + columns
    order = np.argsort(arcs, kind="stable")
    opposite_arcs = columns.astype(np.int64) * size + rows
    index = np.searchsorted(arcs[order], opposite_arcs)
    matches = order[np.minimum(index, len(order) - 1)] if len(order) else order
    has_opposite = arcs[matches] == opposite_arcs
    return without_products + int((a * a[matches] * has_opposite).sum())
