"""A distinguisher over a public list of cuts: the exponential mechanism, or report-noisy-max."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import Hypothesis
from graphcuts_dp.offline.cut_list import CutList
from graphcuts_dp.offline.distinguisher import Found
from graphcuts_dp.offline.question_list import QuestionList
from graphcuts_dp.offline.scoring import (
    EDGES,
    Score,
    Scoring,
    bounded_range_cost,
    check_rounds,
    root_at_most,
)
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.selection import exponential_choice, noisy_maximum

Sampling = Literal["exponential", "noisy-max"]
SAMPLINGS = ("exponential", "noisy-max")


@final
@dataclass(frozen=True, kw_only=True)
class Exponential:
    """Finds a cut of a list by its gap; see `Scoring` for the scores, and for their rate c.

    "exponential" is `exponential_choice`, "noisy-max" is `noisy_maximum`: it finds gaps that are at
    least as large for the same epsilon, but has four times the proven zCDP.

    Args:
        queries: the public list; of one that has other queries than cuts, scores move both ways,
            which "signed" does not allow.
        epsilon: of one call, exact, > 0.
        grid: of the graph.
        score: see `Scoring`.
        sampling: "exponential" or "noisy-max".

    Guarantee, for one call: epsilon-DP. "exponential": see `Scoring.rate`; epsilon^2/8-zCDP.
        "noisy-max": scores differ between neighbours by the sensitivity at most, and in one
        direction if the score is "signed", so `noisy_maximum` is epsilon-DP; epsilon^2/2-zCDP.
        Counting is exact; its time depends on the number of edges.

    Raises:
        ParameterError: an unknown name, or a number out of range.

    Source: McSherry, Talwar 2007 (DR14 Theorems 3.10, 3.11 and 5.5; Nik17 has the exponent
    inverted); McKenna, Sheldon, *Permute-and-Flip*, 2020, for the merits of one-sided noise.
    """

    queries: CutList | QuestionList
    epsilon: Fraction
    grid: Grid = EDGES
    score: Score = "two-signed"
    sampling: Sampling = "exponential"

    def __post_init__(self) -> None:
        if self.sampling not in SAMPLINGS:
            raise ParameterError(
                f"unknown sampling {self.sampling!r}; choose one of {', '.join(SAMPLINGS)}"
            )
        if self.score == "signed" and isinstance(self.queries, QuestionList):
            raise ParameterError("signed scores are for cuts, which all grow with a weight")
        self.scoring.rate(self.epsilon)

    name = "exponential"

    @property
    def universe(self) -> Universe:
        """Of the list."""
        return self.queries.universe

    @cached_property
    def scoring(self) -> Scoring:
        """How gaps are scored."""
        return Scoring(self.universe, self.grid, self.score)

    setup = None  # nothing is bought at the start

    @property
    def call(self) -> Cost:
        """Of one call."""
        if self.sampling == "noisy-max":
            return Cost.of_pure(self.epsilon)
        return bounded_range_cost(self.epsilon)

    def shortfall(self, gamma: float) -> float:
        """ln(k/gamma)/c for k scores, and a sub-step for rounding, in weight.

        With the score "signed" it is behind the largest gap, not the largest |gap|.
        """
        entries = len(self.queries) * self.scoring.signs
        steps = math.log(entries / gamma) / float(self.scoring.rate(self.epsilon))
        return (steps * (1 + 1e-12) + 1) * self.scoring.unit

    @property
    def usual_shortfall(self) -> float:
        """1/c, in weight."""
        return self.scoring.unit / float(self.scoring.rate(self.epsilon))

    def with_rho(self, rho: float, *, rounds: int) -> "Exponential":
        """A call has epsilon sqrt(8 rho/rounds), or sqrt(2 rho/rounds) for "noisy-max"."""
        check_rounds(rounds)
        factor = 2 if self.sampling == "noisy-max" else 8
        return replace(self, epsilon=root_at_most(Fraction(rho) * factor / rounds))

    def with_epsilon(self, epsilon: Fraction, *, rounds: int) -> "Exponential":
        """A call has epsilon/rounds."""
        check_rounds(rounds)
        return replace(self, epsilon=Fraction(epsilon) / rounds)

    def begin(self, graph: AnyGraph, source: EntropySource) -> "ExponentialSearch":  # noqa: ARG002
        """Count all cuts of the list once. Draws no noise.

        Raises:
            ParameterError: a graph over other vertices, or of another grid.
        """
        self.scoring.check(graph)
        return ExponentialSearch(self, self.queries.scored(graph, self.scoring))


@final
class ExponentialSearch:
    """A list at work on one graph. Holds the true counts: private.

    Args:
        distinguisher: with its list and its epsilon.
        counts: true answers in sub-steps, shape (k,).
    """

    def __init__(self, distinguisher: Exponential, counts: npt.NDArray[np.int64]) -> None:
        self._of = distinguisher
        self._counts = counts

    def __repr__(self) -> str:
        return "ExponentialSearch()"

    def find(self, hypothesis: Hypothesis, source: EntropySource) -> Found:
        """See `Search.find`."""
        of = self._of
        answers = of.scoring.rounded(of.queries.answers(hypothesis))
        index = self._draw(self._scores(self._counts - answers), source)
        query = of.queries[index % len(of.queries)]
        if of.score == "absolute":
            return Found(query=query, sign=None)
        return Found(query=query, sign=1 if index < len(of.queries) else -1)

    def _scores(self, gaps: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        if self._of.score == "absolute":
            return np.abs(gaps)
        return gaps if self._of.score == "signed" else np.concatenate([gaps, -gaps])

    def _draw(self, scores: npt.NDArray[np.int64], source: EntropySource) -> int:
        rate = self._of.scoring.rate(self._of.epsilon)
        choose = noisy_maximum if self._of.sampling == "noisy-max" else exponential_choice
        return choose(scores, rate, source)
