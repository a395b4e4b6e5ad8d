"""Errors on JT12's imbalanced bipartite graphs: few left vertices joined to all, most to few."""

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.progress import Progress
from scripts.figures.base import Table
from scripts.figures.bipartite_cuts import Family, measure_family
from scripts.figures.random_graphs import imbalanced_bipartite
from scripts.figures.rates import imbalanced_rates


def measure(*, quick: bool, seed: int, progress: Progress) -> Table:
    """Errors against V and |S| with l_2, entropy and (2,p), beside V^(11/16), V^(7/8), V^(5/8).

    Args:
        quick: see `Experiment`.
        seed: see `Experiment`.
        progress: see `Experiment`.

    Source: JT12, section 4.1, equation (5) and the line after it.
    """
    family = Family(
        name="imbalanced",
        degrees=_degrees,
        graph=lambda side, seed: imbalanced_bipartite(side, seed=seed),
        rates=imbalanced_rates,
        powers=range(2, 9),
    )
    return measure_family(family, quick=quick, seed=seed, progress=progress)


def _degrees(side: int) -> tuple[FloatVector, FloatVector]:
    hubs = round(side**0.75)
    degrees = np.array([side, round(side**0.5)], dtype=np.float64)
    return degrees, np.array([hubs, side - hubs], dtype=np.float64)
