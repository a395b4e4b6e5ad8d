"""Series of a table in long form: columns "x", "y" and "repetition", and others that name them."""

from typing import Any

import numpy as np
import numpy.typing as npt

from graphcuts_dp.evaluation.experiments.base import Table


def by_repetition(table: Table, **fixed: Any) -> tuple[list[float], npt.NDArray[np.float64]]:
    """The series in the rows where these columns have these values.

    Returns:
        (x in increasing order, y of shape (len(x), repetitions)).
    """
    rows = table.where(**fixed)
    x = sorted({row["x"] for row in rows})
    return x, np.array([[row["y"] for row in rows if row["x"] == place] for place in x])


def medians(table: Table, **fixed: Any) -> tuple[list[float], list[float]]:
    """The same with medians over repetitions."""
    x, y = by_repetition(table, **fixed)
    return x, np.median(y, axis=1).tolist()
