"""What a session is agreed on: plain public numbers, from which its mechanism is made."""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.interactive.base import Mechanism
from graphcuts_dp.interactive.choice import Setting
from graphcuts_dp.interactive.methods import METHODS, guaranteed_error, make_mechanism

_GUESSED_DEGREE = 20  # average, where nobody says how many edges to expect


@final
@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The agreement of a session.

    Attributes:
        method: "auto", or one of `methods.METHODS`.
        epsilon: privacy of the whole session, in [1e-6, 50].
        delta: in [0, 1); 0 for pure privacy, which "laplace" and "binary" have.
        queries: k: how many answers are promised.
        beta: probability that any of the k intervals is wrong, in (0, 1).
        calibration: of the constructions, see `make_mechanism`.
        disjoint: of "frieze-kannan": only cuts with disjoint S and T will be asked.
        value_share: of the tight calibration, see `make_mechanism`.
    """

    method: str = "auto"
    epsilon: float
    delta: float = 0.0
    queries: int
    beta: float = 0.05
    calibration: str = "tight"
    disjoint: bool = False
    value_share: float = 0.0

    def resolved(
        self, universe: Universe, grid: Grid, expected_edges: float | None = None
    ) -> "Parameters":
        """With method "auto" replaced by the one of least guaranteed error.

        Args:
            universe: the public vertex pairs.
            grid: how answers are counted.
            expected_edges: a public guess of the number of edges, for this choice only; if None,
                an average degree of 20.

        Raises:
            ParameterError: a number out of range.
        """
        if self.method != "auto":
            return self
        setting = self._setting(universe, expected_edges)
        errors = {
            name: method.error(setting, True)
            for name, method in METHODS.items()
            if (method.weights or not grid.weighted)
            and (grid.cap is not None or not method.needs_cap)
            and max(universe.shape) <= (method.most_vertices or math.inf)
        }
        return replace(self, method=min(errors, key=errors.__getitem__))

    def expected_error(
        self, universe: Universe, grid: Grid, expected_edges: float | None = None
    ) -> float | None:
        """How far off any of the promised answers may be, in weight; None where nobody knows.

        A forecast for constructions, which go by the true number of edges: their answers carry
        the intervals that hold.

        Args:
            universe: the public vertex pairs.
            grid: how answers are counted.
            expected_edges: as for `resolved`.
        """
        if self.calibration != "tight":
            return None
        setting = self._setting(universe, expected_edges)
        return guaranteed_error(self.method, setting) * grid.unit * grid.sensitivity

    def _setting(self, universe: Universe, expected: float | None) -> Setting:
        if expected is None:
            vertices = sum(universe.shape) if universe.bipartite else universe.shape[0]
            expected = vertices * _GUESSED_DEGREE / 2
        if not isinstance(expected, int | float) or not expected > 0:
            raise ParameterError("expected_edges is a number of edges, for example 10_000")
        return Setting(
            n=universe.shape if universe.bipartite else universe.shape[0],
            edges=min(max(1.0, float(expected)), float(universe.size)),
            queries=self.queries,
            epsilon=self.epsilon,
            delta=self.delta,
            beta=self.beta,
        )

    def mechanism(self, universe: Universe, grid: Grid) -> Mechanism[Any]:
        """The mechanism; see `make_mechanism`. The method must not be "auto".

        Raises:
            ParameterError: a number out of range, or a method that does not suit the graph.
        """
        return make_mechanism(
            self.method,
            universe=universe,
            grid=grid,
            epsilon=self.epsilon,
            queries=self.queries,
            delta=self.delta,
            beta=self.beta,
            calibration=self.calibration,
            disjoint=self.disjoint,
            value_share=self.value_share,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values; `Parameters(**values)` is the way back."""
        return asdict(self)
