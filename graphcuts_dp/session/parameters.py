"""What a session is agreed on: plain public numbers, from which its mechanism is made."""

from dataclasses import dataclass, field, fields, replace
from typing import Any, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.own_learner import OWN, OwnLearner
from graphcuts_dp.learn.update_bounds import size_of
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.protection import Protect
from graphcuts_dp.session.base import CutMechanism
from graphcuts_dp.session.choice import Setting
from graphcuts_dp.session.counts import BOUNDED
from graphcuts_dp.session.methods import LINEAR_METHODS, METHODS, make_mechanism
from graphcuts_dp.session.online import TOTAL

_NEW = ("most_spectral",)  # left out where it has no value, as before there was such a thing
_OF_THE_MECHANISM = (
    *("epsilon", "delta", "queries", "beta", "calibration", "disjoint", "value_share", "norm"),
    *("most_right", "linear", "most_spectral", "start"),
)
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
        disjoint: only cuts with disjoint S and T will be asked, see `make_mechanism`.
        value_share: of the tight calibration, see `make_mechanism`.
        protect: whom all of it is for, see `Protect.of`.
        at_most: likewise.
        degree_bound: likewise.
        linear: rank-one, matrix and other linear queries will be asked, too: "auto" then chooses
            among the methods that answer them all, and others are refused.
        norm: of "mirror-descent", see `make_mechanism`.
        most_right: likewise.
        most_spectral: likewise.
        start: of the constructions: "total", or "groups", see `online.STARTS`.
        learner: of one's own, for such a method; None where nobody has given it. Not kept.
    """

    method: str = "auto"
    epsilon: float
    delta: float = 0.0
    queries: int
    beta: float = 0.05
    calibration: str = "tight"
    disjoint: bool = False
    value_share: float = 0.0
    protect: str = "edges"
    at_most: int | None = None
    degree_bound: int | None = None
    linear: bool = False
    norm: str | None = None
    most_right: int | None = None
    most_spectral: float | None = None
    start: str = TOTAL
    learner: OwnLearner | None = field(default=None, repr=False, compare=False)

    @property
    def protection(self) -> Protect:
        """Whom the session protects.

        Raises:
            ParameterError: see `Protect.of`.
        """
        return Protect.of(self.protect, at_most=self.at_most, degree_bound=self.degree_bound)

    def grid(self, graph: AnyGraph) -> Grid:
        """How true answers are counted, for whom the session protects. Reads the schema only.

        Raises:
            ParameterError: see `Protect.of` and `Grid`.
        """
        bound = self.protection.degree_bound
        return Grid.of(graph) if bound is None else Grid.of_vertices(graph, bound)

    def resolved(
        self, universe: Universe, grid: Grid, expected_edges: float | None = None
    ) -> "Parameters":
        """With method "auto" replaced by the one of least guaranteed error.

        Args:
            universe: the public vertex pairs.
            grid: how answers are counted.
            expected_edges: a public guess of the number of edges, for this choice only; if None,
                an average degree of 20, or half of all pairs.

        Raises:
            ParameterError: a number out of range.
        """
        if self.method != "auto":
            return self
        if self.norm is not None:
            raise ParameterError("norm is for method 'mirror-descent'; name that, or no norm")
        self._check(universe, expected_edges)
        if self.linear and grid.bounded is not None:
            raise ParameterError(BOUNDED)
        errors, refusal = {}, ParameterError("there is no method")
        for name in LINEAR_METHODS if self.linear else METHODS:
            chosen = replace(self, method=name)
            if name != "mirror-descent":
                chosen = replace(chosen, most_spectral=None)
            try:
                errors[chosen] = chosen.expected_error(universe, grid, expected_edges)
            except ParameterError as problem:  # it does not suit the graph, or needs delta
                refusal = problem
        if not errors:
            raise refusal
        return min(errors, key=errors.__getitem__)

    def expected_error(
        self, universe: Universe, grid: Grid, expected_edges: float | None = None
    ) -> float:
        """How far off any of the promised answers may be, in weight.

        The mechanism's own `expected_error`: where the method goes by the total weight, a session
        on a graph of another one has other intervals. `Session.error_bound` tells what holds.

        Args:
            universe: the public vertex pairs.
            grid: how answers are counted.
            expected_edges: as for `resolved`.

        Raises:
            ParameterError: as `mechanism`.
        """
        edges = self._expected(universe, expected_edges)
        made = self.mechanism(universe, grid)
        return made.expected_error(edges * grid.unit * grid.largest)

    def _expected(self, universe: Universe, expected: float | None) -> float:
        """The number of edges to expect, or of the largest weights that can change."""
        if expected is None:
            vertices = sum(universe.shape) if universe.bipartite else universe.shape[0]
            # Hardly any graph has more than half of all pairs.
            expected = min(vertices * _GUESSED_DEGREE, max(universe.size, 2)) / 2
        if not isinstance(expected, int | float) or not expected > 0:
            raise ParameterError("expected_edges is a number of edges, for example 10_000")
        return min(max(1.0, float(expected)), float(universe.size))

    def _check(self, universe: Universe, expected: float | None) -> None:
        Setting(
            n=size_of(universe),
            edges=self._expected(universe, expected),
            queries=self.queries,
            epsilon=self.epsilon,
            delta=self.delta,
            beta=self.beta,
        )

    def mechanism(self, universe: Universe, grid: Grid) -> CutMechanism[Any]:
        """The mechanism; see `make_mechanism`. The method must not be "auto".

        Raises:
            ParameterError: a number out of range, a method that does not suit the graph, or a
                learner of one's own that was not given.
        """
        own = self.method.startswith(OWN)
        if own and (self.learner is None or self.learner.method != self.method):
            raise ParameterError(
                f"the session learns by one of your own ({self.method.partition(': ')[2]}): open it"
                " in Python, with this learner as method="
            )
        return make_mechanism(
            self.learner if own and self.learner is not None else self.method,
            universe=universe,
            grid=grid,
            protection=self.protection,
            **{name: getattr(self, name) for name in _OF_THE_MECHANISM},
        )

    def guarantee(self, made: CutMechanism[Any], seed: int | None) -> PrivacyGuarantee:
        """What a session with the mechanism of these parameters promises."""
        return self.protection.promise(made.guarantee(seed), made.cost)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; `Parameters(**values)` is the way back."""
        given = {each.name: getattr(self, each.name) for each in fields(self) if each.compare}
        return {name: value for name, value in given.items() if name not in _NEW or value}
