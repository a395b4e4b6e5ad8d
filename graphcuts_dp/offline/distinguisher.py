"""What a private distinguisher is: it finds a query on which a graph and a hypothesis differ.

Source: GRU12 Definition 7.1; DR14 section 5.2 (private distinguishers).
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self, final

from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.learn.base import Hypothesis, Sign
from graphcuts_dp.pairs.graph_queries import Question
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource


@final
@dataclass(frozen=True, kw_only=True)
class Found:
    """What a distinguisher says. Public.

    Attributes:
        query: a query of its class.
        sign: +1 when it holds the true answer to be above the hypothesis's, -1 below; None when it
            does not tell.
    """

    query: Question
    sign: Sign | None


class Search(Protocol):
    """A distinguisher at work on one graph, with what it has bought at the start."""

    def find(self, hypothesis: Hypothesis, source: EntropySource) -> Found:
        """A query on which the graph and a hypothesis differ by nearly as much as on any.

        Args:
            hypothesis: over the distinguisher's universe; computed from noisy answers only.
            source: where the noise comes from.

        Guarantee: costs `Distinguisher.call`; with probability 1 - gamma the signed gap,
        sign (q(G) - q(h)), or its size where there is no sign, is within
        `Distinguisher.shortfall(gamma)` of the largest |gap| of the class.
        """


class Distinguisher(Protocol):
    """A way to find such queries, tuned to a budget. All its parameters are public.

    One of your own, which `release_iteratively(graph, distinguisher=InTurn(universe, cuts), ...)`
    takes. Privacy rests on `setup` and `call` being what it really costs; this one reads nothing::

        @dataclass
        class InTurn:
            universe: Universe
            cuts: list[CutQuery]
            name: str = "in-turn"
            setup = call = None
            usual_shortfall: float = math.inf

            def shortfall(self, gamma):
                return math.inf  # nothing is proven of what it finds

            def with_rho(self, rho, *, rounds):
                return self

            def with_epsilon(self, epsilon, *, rounds):
                return self

            def begin(self, graph, source):
                return self

            def find(self, hypothesis, source):
                self.cuts = [*self.cuts[1:], self.cuts[0]]
                return Found(query=self.cuts[-1], sign=None)
    """

    @property
    def name(self) -> str:
        """As users type it."""

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""

    @property
    def setup(self) -> Cost | None:
        """What `begin` costs, once; None when it draws no noise."""

    @property
    def call(self) -> Cost | None:
        """What each `Search.find` costs; None when it reads only what `begin` has bought."""

    def shortfall(self, gamma: float) -> float:
        """F: by how much the gap found may stay below the largest, but for probability gamma.

        Args:
            gamma: in (0, 1); for each call, or for all of them together where `call` is None.
        """

    @property
    def usual_shortfall(self) -> float:
        """About what F usually is: measured, not proven. Only numbers of rounds rest on it."""

    def with_rho(self, rho: float, *, rounds: int) -> Self:
        """The same distinguisher with `begin` and `rounds` calls rho-zCDP together."""

    def with_epsilon(self, epsilon: Fraction, *, rounds: int) -> Self:
        """The same distinguisher with `begin` and `rounds` calls purely epsilon-DP together.

        Raises:
            ParameterError: no pure bound is proven for it.
        """

    def begin(self, graph: AnyGraph, source: EntropySource) -> Search:
        """Start on a private graph.

        Raises:
            ParameterError: a graph that is not over `universe`.
        """
