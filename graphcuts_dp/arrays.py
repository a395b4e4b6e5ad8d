"""Types of arrays, one name for each kind of entries wherever it is used; and numpy's scalars.

The names say what an array is for; the type checker sees the type of the entries alone.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

BoolVector = npt.NDArray[np.bool_]
BoolMatrix = npt.NDArray[np.bool_]
IndexArray = npt.NDArray[np.int32]
IntVector = npt.NDArray[np.int64]
IntMatrix = npt.NDArray[np.int64]
IntegerVector = npt.NDArray[np.integer[Any]]  # of any width
IntegerMatrix = npt.NDArray[np.integer[Any]]
FloatVector = npt.NDArray[np.float64]
FloatMatrix = npt.NDArray[np.float64]
FloatArray = npt.NDArray[np.float64]  # of any number of dimensions
RealMatrix = npt.NDArray[np.floating[Any]]  # float32 where memory counts, else float64


def plain_number(value: Any) -> Any:
    """Return a scalar of numpy as Python's own number or text, and all else as it is.

    So are those of a short tuple or list whose first entry is such a scalar.
    """
    if isinstance(value, np.generic):
        return value.item()
    if type(value) in (tuple, list) and value and isinstance(value[0], np.generic):
        return type(value)(map(plain_number, value))
    return value
