"""Measure how much a bound on users leaves out, for intervals of the count of all rows."""

import numpy as np

from graphcuts_dp.estimate.counted_rows import NAME as LEFT_OUT
from graphcuts_dp.estimate.measurement import CountMeasurement, NonlinearCounts
from graphcuts_dp.graph.rows import PairCounts
from graphcuts_dp.measure.statistics import draw
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.schema.counting import STEPS


def measure_left_out(
    counts: PairCounts, *, change: int, noise: LevelNoise, source: EntropySource
) -> CountMeasurement[NonlinearCounts]:
    """Return with noise the total of rows that the bound on users has left out.

    Args:
        counts: the result of `counted_rows` with `known_max`. Private.
        change: S, the result of `Rows.most_left_out`, in the grid units of the counts.
        noise: noise with one parameter.
        source: where the noise comes from.

    Privacy: each user adds a whole number in 0..S that follows from that user's rows and public
    constants alone (proof in `engine.most_left_out`), so neighbours, which differ in the rows of
    one user (or of one user in one period, if the bound is for each), differ in this sum by at most
    S. If grid units are whole rows, whole rows are left out, so the division below is exact. The
    cost is `LevelNoise.cost` with the change (S, S^2): epsilon' = rate S for discrete
    Laplace noise, rho = S^2/(2 variance) for discrete Gaussian noise. The noise is independent of
    that of the cells, so the costs add up.

    Raises:
        ValueError: nothing was counted of what is left out.
    """
    if counts.cells.left_out is None:
        raise ValueError("what is left out was not counted")
    kind = NonlinearCounts(
        counted="what the bound on users leaves out",
        sensitivity="of each user it counts for at most the public maximum less the bound",
    )
    private_sum = np.array([counts.cells.left_out // counts.step], dtype=np.int64)
    return draw(
        LEFT_OUT,
        kind,
        [[private_sum]],
        [(change, change**2)],
        unit=counts.step / STEPS,
        noise=noise,
        source=source,
    )
