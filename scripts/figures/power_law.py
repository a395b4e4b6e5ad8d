"""Errors on JT12's bipartite graphs whose left degrees follow a power law."""

from dataclasses import replace

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.progress import Progress
from scripts.figures.base import Table
from scripts.figures.bipartite_cuts import Family, measure_family
from scripts.figures.random_graphs import power_law_bipartite
from scripts.figures.rates import power_law_rates

EXPONENT = 1.25  # b of the distribution, inside the paper's 1 < b < 3/2
_GROUP_NORM = "JT12 4.1, promised error with (2,p): exponent of V, logarithms divided out"


def measure(*, quick: bool, seed: int, progress: Progress) -> Table:
    """Errors against V and |S| with l_2, entropy and (2,p), beside the claims for b = 5/4.

    The paper prints V^(3/4-b/2) for (2,p); V^(5/4-b/2) is right. A finding tells the printed one
    apart.

    Args:
        quick: see `Experiment`.
        seed: see `Experiment`.
        progress: see `Experiment`.

    Source: JT12, section 4.1, the second family.
    """
    family = Family(
        name="power law",
        degrees=_degrees,
        graph=lambda side, seed: power_law_bipartite(side, EXPONENT, seed=seed),
        rates=lambda side, size: power_law_rates(side, size, EXPONENT),
        powers=range(2, 8),
    )
    table = measure_family(family, quick=quick, seed=seed, progress=progress)
    (corrected,) = (one for one in table.findings if one.statement == _GROUP_NORM)
    claimed = 0.75 - EXPONENT / 2
    printed = replace(
        corrected,
        statement=f"{corrected.statement}, as printed",
        claimed=claimed,
        agrees=abs(corrected.measured - claimed) <= (corrected.tolerance or 0),
    )
    return replace(
        table,
        parameters={**table.parameters, "exponent of the distribution": EXPONENT},
        findings=[*table.findings, printed],
    )


def _degrees(side: int) -> tuple[FloatVector, FloatVector]:
    """The distribution itself, not rounded to whole numbers of vertices."""
    degrees = np.arange(1, side + 1, dtype=np.float64)
    counts = degrees**-EXPONENT
    return degrees, side * counts / counts.sum()
