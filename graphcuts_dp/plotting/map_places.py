"""Hold the positions of groups on a map, for pictures and for pages drawn without matplotlib."""

from dataclasses import dataclass
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class MapPlaces:
    """Positions of groups on a plane, in one unit on both axes.

    Attributes:
        rows: of the groups of the rows, shape (groups, 2).
        columns: of those of the columns, shape (groups, 2).
        longitude_scale: of places on earth, what a degree of longitude is in units of a degree of
            latitude: y is the latitude, and x the longitude times this. None for other planes.
    """

    rows: FloatMatrix
    columns: FloatMatrix
    longitude_scale: float | None = None

    @property
    def points(self) -> FloatMatrix:
        """Positions of the groups of rows, then of those of columns, shape (groups of both, 2)."""
        return np.concatenate([self.rows, self.columns])
