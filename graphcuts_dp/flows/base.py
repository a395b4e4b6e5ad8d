"""What statistics and pictures read of flows."""

from typing import TYPE_CHECKING, Protocol

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.flows.consistency import LeastSquares, Values
from graphcuts_dp.graph.cells import CellTree
from graphcuts_dp.graph.groups import GroupTree
from graphcuts_dp.measurements.noisy_cells import NoisyCells
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee

if TYPE_CHECKING:
    import pandas as pd


class FlowTable(Protocol):
    """A noisy table between public groups; see `Flows`, which is the only one."""

    @property
    def noisy(self) -> NoisyCells:
        """What was measured."""
        ...

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """The promise of differential privacy."""
        ...

    @property
    def cells(self) -> CellTree:
        """The public cells."""
        ...

    @property
    def groups(self) -> GroupTree:
        """Names and sizes of the groups of the rows."""
        ...

    @property
    def right_groups(self) -> GroupTree:
        """Those of the columns."""
        ...

    @property
    def fit(self) -> LeastSquares:
        """The least squares over the levels."""
        ...

    @property
    def estimates(self) -> Values:
        """Estimates of all cells, in units of weight."""
        ...

    def values(self, level: str | None = None) -> FloatMatrix:
        """See `Flows.values`."""
        ...

    def intervals(
        self, level: str | None = None, *, confidence: float = 0.95, simultaneous: bool = False
    ) -> tuple[FloatMatrix, FloatMatrix]:
        """See `Flows.intervals`."""
        ...

    def to_pandas(
        self, level: str | None = None, *, confidence: float = 0.95, simultaneous: bool = False
    ) -> "pd.DataFrame":
        """See `Flows.to_pandas`."""
        ...
