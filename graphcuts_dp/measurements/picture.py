"""What a picture of how much owners have shows."""

import numpy as np
from matplotlib.figure import Figure

from graphcuts_dp.measurements.noisy_contributions import Contributions
from graphcuts_dp.plotting.plans import classes_figure


def drawn(table: Contributions) -> Figure:
    """See `Contributions.plot`."""
    promise = table.guarantee
    told = "a public table" if promise is None else f"epsilon = {promise.epsilon:g}"
    if promise is not None and promise.warning:
        told += f", {promise.warning}"
    return classes_figure(
        table.names,
        table.counts.astype(np.float64),
        title=f"How many owners have how many {table.what} ({told})",
        what=f"{table.what} of an owner",
    )
