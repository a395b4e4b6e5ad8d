"""Distinguishers over a public list, and the table of all: what `distinguisher=` can name.

A list is searched by the exponential mechanism or by report-noisy-max at each call; or answered
once, by randomised response, and then searched without the graph.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.errors import HypothesisError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import Hypothesis
from graphcuts_dp.offline.distinguisher import (
    Distinguisher,
    Found,
    PaidByCall,
    Scoring,
    checked_graph,
)
from graphcuts_dp.offline.exact_cuts import MOST_VERTICES, ExactCuts
from graphcuts_dp.offline.power_method import PowerRankOne
from graphcuts_dp.offline.query_lists import CutList, QuestionList
from graphcuts_dp.offline.rank_one import (
    PaidOnce,
    ResponseRankOne,
    noisy_pairs,
)
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import exponential_choice, noisy_maximum
from graphcuts_dp.privacy.value_noise import noise_distribution

Sampling = Literal["exponential", "noisy-max"]
SAMPLINGS = ("exponential", "noisy-max")


@final
@dataclass(frozen=True, kw_only=True)
class Exponential(PaidByCall):
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

    @property
    def call(self) -> Cost:
        """Of one call."""
        return Cost.of_pure(self.epsilon) if self.sampling == "noisy-max" else super().call

    def shortfall(self, gamma: float) -> float:
        """ln(k/gamma)/c for k scores, and a sub-step for rounding, in weight.

        With the score "signed" it is behind the largest gap, not the largest |gap|.
        """
        entries = len(self.queries) * self.scoring.signs
        steps = math.log(entries / gamma) / float(self.scoring.rate(self.epsilon))
        return (steps * (1 + 1e-12) + 1) * self.scoring.unit

    def with_rho(self, rho: float, *, rounds: int) -> Self:
        """A call has epsilon sqrt(8 rho/rounds), or sqrt(2 rho/rounds) for "noisy-max"."""
        return super().with_rho(rho / 4 if self.sampling == "noisy-max" else rho, rounds=rounds)

    def begin(self, graph: AnyGraph, source: EntropySource) -> "ExponentialSearch":  # noqa: ARG002
        """Count all cuts of the list once. Draws no noise.

        Raises:
            ParameterError: a graph over other vertices, or of another grid.
        """
        checked_graph(graph, self.universe, self.grid)
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


@final
@dataclass(frozen=True, kw_only=True)
class Released(PaidOnce):
    """Release answers to a list once, by randomised response; distinguish without the graph.

    The list is answered from one noisy matrix. Each call compares a hypothesis with these answers
    and names the cut where they are farthest apart, with the sign.

    Args:
        queries: the public list.
        distribution: the noise for one pair; its epsilon is what `begin` costs. Binary noise for
            graphs without weights.
        beta: probability that `ReleasedSearch.error_of` may be too small, in (0, 1).

    Guarantee: `begin` is purely epsilon-DP with the distribution's epsilon: neighbours differ in
        one pair, one noisy value depends on it, and each is epsilon-DP. Calls are post-processing.
    Accuracy: with probability 1 - gamma all answers of the release are within r(gamma) of the
        truth, in a union over the k cuts of the list. Then at every call a cut whose released gap
        is largest has a true signed gap of at least (largest |gap|) - 2 r: the released gap of the
        truly worst cut is at most r smaller than its true one, and that of the cut which is named
        at most r larger.

    Source: DR14 section 5.3.2 (query release solves distinguishing); the release is GRU12 section
    6. Deviation: one release serves all rounds, where the reduction pays for one in each.
    """

    queries: CutList
    beta: float = 0.05

    name = "released"

    @property
    def universe(self) -> Universe:
        """Of the list."""
        return self.queries.universe

    def radius(self, gamma: float) -> float:
        """r: no released answer of the list is farther off, but for probability gamma."""
        pairs, noise = self.queries.most_pairs, self.distribution
        failures = math.log(len(self.queries) / gamma)
        return noise.radius(pairs, log_failures=failures) + pairs * noise.rounding

    def shortfall(self, gamma: float) -> float:
        """2 r(gamma), in weight; see `Distinguisher.shortfall`.

        Args:
            gamma: in (0, 1), for all calls together.
        """
        return 2 * self.radius(gamma)

    @property
    def usual_shortfall(self) -> float:
        """About the largest error among the answers of the list."""
        return self.radius(0.5)

    def begin(self, graph: AnyGraph, source: EntropySource) -> "ReleasedSearch":
        """See `Distinguisher.begin`. Draws one noisy value for each pair; dense, n1 x n2 numbers.

        Raises:
            ParameterError: other vertices, or a distribution for another weight cap or without
                weights.
        """
        noisy = noisy_pairs(graph, self.universe, self.distribution, source)
        return ReleasedSearch(self, self.queries.on_matrix(noisy))


@final
@dataclass(frozen=True, eq=False)
class ReleasedSearch:
    """Released answers at work. All of it is public.

    Attributes:
        of: the distinguisher, with its list.
        answers: the released answers, in weight, shape (k,).
    """

    of: Released
    answers: FloatVector

    def find(self, hypothesis: Hypothesis, source: EntropySource) -> Found:  # noqa: ARG002
        """See `Search.find`: the cut of the largest released gap. Draws nothing.

        Raises:
            HypothesisError: a hypothesis over other vertices.
        """
        gaps = self._gaps(hypothesis)
        worst = int(np.argmax(np.abs(gaps)))
        return Found(query=self.of.queries[worst], sign=1 if gaps[worst] > 0 else -1)

    def error_of(self, hypothesis: Hypothesis) -> float:
        """A bound on the error of a hypothesis on the whole list, in weight; free.

        It is proven with probability 1 - beta, whichever hypothesis and however it was found: the
        largest released gap, plus the radius of the release.

        Raises:
            HypothesisError: a hypothesis over other vertices.
        """
        return float(np.abs(self._gaps(hypothesis)).max()) + self.of.radius(self.of.beta)

    def _gaps(self, hypothesis: Hypothesis) -> FloatVector:
        queries = self.of.queries
        if hypothesis.universe != queries.universe:
            raise HypothesisError("the hypothesis is over other vertices than the list")
        gaps: FloatVector = self.answers - queries.answers(hypothesis)
        return gaps


_ANY = Fraction(1)  # the calibration chooses the budget


@final
@dataclass(frozen=True, kw_only=True)
class Task:
    """What a distinguisher is made for. Public.

    Attributes:
        universe: the public vertex pairs.
        grid: how true answers are counted.
        queries: the public list to choose from, or None for all cuts.
        delta: of the whole release; 0 for pure privacy.
        beta: probability that what is proven of the release fails.
    """

    universe: Universe
    grid: Grid
    queries: CutList | QuestionList | None
    delta: float
    beta: float = 0.05


def _list_of(task: Task, name: str) -> CutList | QuestionList:
    if task.queries is None:
        raise ParameterError(
            f"the distinguisher {name!r} needs queries, the public list to choose from"
        )
    return task.queries


def _released(task: Task) -> Distinguisher:
    queries = _list_of(task, "released")
    if not isinstance(queries, CutList):
        raise ParameterError(
            "the distinguisher 'released' answers lists of cuts; for others take 'exponential'"
        )
    return Released(queries=queries, distribution=_response_noise(task), beta=task.beta)


def _response_noise(task: Task) -> NoiseDistribution:
    noise = "laplace" if task.grid.weighted else "binary"
    cap = task.grid.cap if task.grid.weighted else None
    return noise_distribution(noise, epsilon=1.0, weight_cap=cap)


def _power(task: Task, certificate: float = 0.0) -> Distinguisher:
    return PowerRankOne(
        universe=task.universe,
        rho=1.0,
        delta=task.delta or 1e-6,
        grid=task.grid,
        certificate=certificate,
        beta=task.beta,
    )


DISTINGUISHERS: Mapping[str, Callable[[Task], Distinguisher]] = {
    "exponential": lambda task: Exponential(
        queries=_list_of(task, "exponential"), epsilon=_ANY, grid=task.grid
    ),
    "released": _released,
    "exact-cuts": lambda task: ExactCuts(universe=task.universe, epsilon=_ANY, grid=task.grid),
    "response-rank-one": lambda task: ResponseRankOne(
        universe=task.universe, distribution=_response_noise(task)
    ),
    "power-rank-one": _power,
    "power-rank-one-certified": lambda task: _power(task, 1.0),
}
LISTED = ("exponential", "released")  # those that search a public list
DISTINGUISHER_NAMES = ("auto", *DISTINGUISHERS)


def distinguisher_of(name: str | Distinguisher, task: Task) -> Distinguisher:
    """The distinguisher of a name, of "auto", or a given one.

    Args:
        name: one of `DISTINGUISHER_NAMES`, or an object that satisfies `Distinguisher`.
        task: what it is for.

    Raises:
        ParameterError: an unknown name, a list of queries for one that takes none, or an object
            over other vertices.
    """
    if not isinstance(name, str):
        if not hasattr(name, "begin") or not hasattr(name, "universe"):
            raise ParameterError(
                "distinguisher is a name, or an object as `Distinguisher` describes it"
            )
        if name.universe != task.universe:
            raise ParameterError("the distinguisher is over other vertices than the graph's")
        return name
    if name == "auto":
        small = min(task.universe.shape) <= MOST_VERTICES
        name = "exact-cuts" if small else "response-rank-one"
        name = name if task.queries is None else "exponential"
    if name not in DISTINGUISHERS:
        raise ParameterError(
            f"unknown distinguisher {name!r}; choose one of {', '.join(DISTINGUISHER_NAMES)}"
        )
    if task.queries is not None and name not in LISTED:
        raise ParameterError(f"queries are for the distinguishers {' and '.join(LISTED)}")
    return DISTINGUISHERS[name](task)
