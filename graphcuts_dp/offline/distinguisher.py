"""What a private distinguisher is: it finds a query on which a graph and a hypothesis differ.

Source: GRU12 Definition 7.1; DR14 section 5.2 (private distinguishers).

Those by the exponential mechanism score queries in integers. The score of a cut is its gap q(G) -
q(h) in sub-steps of the grid: the true answer is a whole number of steps, the hypothesis's answer
is rounded to a sub-step. One pair changes all true answers by at most `sensitivity` sub-steps, all
in the same direction, and the hypothesis's ones not at all.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal, Protocol, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
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


@final
@dataclass(frozen=True, kw_only=True)
class Measured:
    """A query that a round has found, with its noisy answer. Public.

    Attributes:
        round: from 1.
        query: the cut, or whatever was asked for in a list.
        value: noisy answer, in weight.
        updated: whether the hypothesis was corrected by it.
    """

    round: int
    query: Question
    value: float
    updated: bool


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


# Which gaps count, and whether the sign is told; see `Score.rate`.
Score = Literal["two-signed", "absolute", "signed"]
EDGES = Grid()  # of graphs without weights
SCORES = ("two-signed", "absolute", "signed")
_SUBSTEPS = 1 << 20  # of an edge, in graphs without weights
_LARGEST = 1 << 60  # scores stay below, so that sums and differences fit into 64 bits
_LEAST_RATE = Fraction(1, 2**52)  # a sub-step


@final
@dataclass(frozen=True)
class Scoring:
    """Scores over a universe.

    Args:
        universe: the public vertex pairs.
        grid: of the graph.
        score: "two-signed": a cut counts twice, with its gap and with minus its gap, and the sign
            is told. "absolute": with the size of its gap, and no sign is told. "signed": with its
            gap, so that only cuts where the truth is above the hypothesis are found.

    Raises:
        ParameterError: an unknown score, or weights without a public cap or too large for 64 bits.
    """

    universe: Universe
    grid: Grid
    score: Score

    def __post_init__(self) -> None:
        if self.score not in SCORES:
            raise ParameterError(f"unknown score {self.score!r}; choose one of {', '.join(SCORES)}")
        if self.grid.cap is None:
            raise ParameterError(
                "a distinguisher needs a public weight_cap; read the graph with one"
            )
        if self.universe.size * self.sensitivity >= _LARGEST:
            raise ParameterError(
                "sums of these weights do not fit into 64 bits; use fewer vertices"
            )

    @property
    def substeps(self) -> int:
        """Of a step of the grid."""
        return 1 if self.grid.weighted else _SUBSTEPS

    @property
    def sensitivity(self) -> int:
        """By how many sub-steps a score can differ between neighbours."""
        return self.grid.sensitivity * self.substeps

    @property
    def unit(self) -> float:
        """Weight of a sub-step."""
        return self.grid.unit / self.substeps

    @property
    def signs(self) -> int:
        """How many scores a cut has."""
        return 2 if self.score == "two-signed" else 1

    def rate(self, epsilon: Fraction) -> Fraction:
        """c: choosing with probability proportional to e^(c score) is epsilon-DP.

        With neighbours' scores s and s' = s + d, the log-ratio of a probability is c d minus the
        logarithm of a mean of e^(c d): it lies within c (max d - min d) of 0. Signed gaps all move
        in one direction, so max d - min d is at most the sensitivity; else at most twice that. The
        difference of two log-ratios has the same bound: the loss has range epsilon.

        Raises:
            ParameterError: an epsilon so small that scores would not matter.
        """
        moves = 1 if self.score == "signed" else 2
        found = epsilon / (moves * self.sensitivity)
        if found < _LEAST_RATE:
            raise ParameterError("epsilon is too small for a distinguisher; use fewer rounds")
        return found

    def rounded(self, answers: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """A hypothesis's answers or entries in sub-steps; a function of public numbers."""
        whole = np.rint(np.asarray(answers, dtype=np.float64) / self.unit)
        return np.clip(whole, -_LARGEST, _LARGEST).astype(np.int64)


def bounded_range_cost(epsilon: Fraction) -> Cost:
    """epsilon-DP with a privacy loss of range epsilon: epsilon^2/8-zCDP.

    Source: Cesar, Rogers, *Bounding, Concentrating, and Truncating*, 2021, Lemma 3.2.
    """
    rho = math.nextafter(float(epsilon**2 / 8), math.inf)
    return Cost(epsilon=float(epsilon), rho=rho, pure=epsilon)


def root_at_most(number: float | Fraction) -> Fraction:
    """A fraction of few digits, at most the square root of a number > 0.

    Raises:
        ParameterError: a number out of range.
    """
    if not (number > 0 and math.isfinite(number)):
        raise ParameterError(f"a budget must be positive and finite, not {number}")
    bits = max(0, 60 - math.frexp(float(number))[1])
    return Fraction(math.isqrt(math.floor(Fraction(number) * 4**bits)), 2**bits)


def check_rounds(rounds: int) -> None:
    """Refuse numbers of calls below 1.

    Raises:
        ParameterError: such a number.
    """
    if isinstance(rounds, bool) or not isinstance(rounds, int) or rounds < 1:
        raise ParameterError("rounds must be a whole number, at least 1")


def checked_graph(graph: AnyGraph, universe: Universe, grid: Grid | None = None) -> None:
    """Check a private graph against what a distinguisher was made for; reads the schema only.

    Raises:
        ParameterError: other vertices, or weights that are counted on another grid.
    """
    if universe.space != graph.space:
        raise ParameterError("the graph has other vertices than the distinguisher")
    if grid is not None and Grid.of(graph) != grid:
        raise ParameterError("the graph's weights are counted on another grid: use Grid.of")


@dataclass(frozen=True, kw_only=True)
class PaidByCall(ABC):
    """What distinguishers by the exponential mechanism share: epsilon buys one call.

    Attributes:
        epsilon: of one call, exact, > 0.
        grid: of the graph.
        score: see `Scoring`.
    """

    epsilon: Fraction
    grid: Grid = EDGES
    score: Score = "two-signed"
    setup: ClassVar[None] = None  # nothing is bought at the start

    @property
    @abstractmethod
    def scoring(self) -> Scoring:
        """How gaps are scored."""

    @property
    def call(self) -> Cost:
        """Of one call."""
        return bounded_range_cost(self.epsilon)

    @property
    def usual_shortfall(self) -> float:
        """1/c, in weight."""
        return self.scoring.unit / float(self.scoring.rate(self.epsilon))

    def with_rho(self, rho: float, *, rounds: int) -> Self:
        """A call has epsilon sqrt(8 rho/rounds)."""
        check_rounds(rounds)
        return replace(self, epsilon=root_at_most(Fraction(rho) * 8 / rounds))

    def with_epsilon(self, epsilon: Fraction, *, rounds: int) -> Self:
        """A call has epsilon/rounds."""
        check_rounds(rounds)
        return replace(self, epsilon=Fraction(epsilon) / rounds)
