"""Integer scores of cuts, their sensitivity, and what the exponential mechanism costs on them.

The score of a cut is its gap q(G) - q(h) in sub-steps of the grid: the true answer is a whole
number of steps, the hypothesis's answer is rounded to a sub-step. One pair changes all true answers
by at most `sensitivity` sub-steps, all in the same direction, and the hypothesis's ones not at all.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost

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

    def check(self, graph: AnyGraph) -> None:
        """Refuse graphs that are not over the universe, or counted otherwise.

        Raises:
            ParameterError: such a graph. Its schema is read only.
        """
        if graph.space != self.universe.space:
            raise ParameterError("the graph has other vertices than the distinguisher")
        if Grid.of(graph) != self.grid:
            raise ParameterError("the graph's weights are counted on another grid: use Grid.of")


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
