"""The table of distinguishers: what `distinguisher=` of an iterative release can name."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.offline.cut_list import CutList
from graphcuts_dp.offline.distinguisher import Distinguisher
from graphcuts_dp.offline.exact_cuts import MOST_VERTICES, ExactCuts
from graphcuts_dp.offline.exponential import Exponential
from graphcuts_dp.offline.noise_norms import response_norm
from graphcuts_dp.offline.noisy_pairs import noisy_pairs, rescaled
from graphcuts_dp.offline.power_method import PowerRankOne
from graphcuts_dp.offline.question_list import QuestionList
from graphcuts_dp.offline.rank_one import (
    Answer,
    MatrixSearch,
    checked_answer,
    pair_scale,
    usual_cut_norm,
)
from graphcuts_dp.offline.released import Released
from graphcuts_dp.offline.scoring import check_rounds, root_at_most
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.value_noise import noise_distribution

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


def _listed(task: Task) -> Distinguisher:
    return Exponential(queries=_list_of(task, "exponential"), epsilon=_ANY, grid=task.grid)


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


def _response(task: Task) -> Distinguisher:
    return ResponseRankOne(universe=task.universe, distribution=_response_noise(task))


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
    "exponential": _listed,
    "released": _released,
    "exact-cuts": lambda task: ExactCuts(universe=task.universe, epsilon=_ANY, grid=task.grid),
    "response-rank-one": _response,
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


@final
@dataclass(frozen=True, kw_only=True)
class ResponseRankOne:
    """Hide every pair on its own, then take the top singular pair of Z - h at each call.

    Args:
        universe: the public vertex pairs.
        distribution: the noise for one pair; its epsilon is what `begin` costs. Binary noise for
            graphs without weights.
        answer: "cut" or "pair"; see `rank_one`.

    Guarantee: `begin` is purely epsilon-DP with the distribution's epsilon, for graphs that differ
        in one
        pair: one noisy value depends on it, and each is epsilon-DP. Calls are post-processing, so
        they are free and any number is allowed. With E = Z - G and all calls at once, the pair
        found has u'(G - h)v >= sigma_1(G - h) - 2 ||E||: sigma_1(Z - h) is at least
        sigma_1(G - h) - ||E||, and u'Ev takes away at most ||E|| more.

    Raises:
        ParameterError: an unknown answer.

    Source: GRU12 sections 6 and 7; the bound on ||E|| is `noise_norms.response_norm`.
    """

    universe: Universe
    distribution: NoiseDistribution
    answer: Answer = "cut"

    def __post_init__(self) -> None:
        checked_answer(self.answer)

    name = "response-rank-one"

    @property
    def setup(self) -> Cost:
        """Pure epsilon of the distribution."""
        return Cost.of_pure(self.distribution.epsilon)

    call = None  # each call reads the noisy matrix

    def unit_shortfall(self, gamma: float) -> float:
        """F for unit pairs: u'Rv >= sigma_1(R) - F at all calls, but for probability gamma."""
        norm = response_norm(
            self.distribution,
            self.universe.shape,
            symmetric=self.universe.symmetric,
            failure=gamma,
        )
        return 2 * norm

    def shortfall(self, gamma: float) -> float:
        """See `Distinguisher.shortfall`: scale times F for pairs, infinite for cuts.

        Args:
            gamma: in (0, 1), for all calls together.
        """
        if self.answer == "cut":
            return math.inf
        return pair_scale(self.universe) * self.unit_shortfall(gamma)

    @property
    def usual_shortfall(self) -> float:
        """About the cut norm of the noise."""
        return usual_cut_norm(self.universe) * self.distribution.standard_deviation

    def with_rho(self, rho: float, *, rounds: int) -> Self:
        """See `Distinguisher.with_rho`: epsilon-DP is epsilon^2/2-zCDP."""
        return self.with_epsilon(root_at_most(2 * Fraction(rho)), rounds=rounds)

    def with_epsilon(self, epsilon: Fraction, *, rounds: int) -> Self:
        """See `Distinguisher.with_epsilon`."""
        check_rounds(rounds)
        return replace(self, distribution=rescaled(self.distribution, epsilon))

    def begin(self, graph: AnyGraph, source: EntropySource) -> MatrixSearch:
        """See `Distinguisher.begin`. Draws one noisy value for each pair; dense, n1 x n2 numbers.

        Raises:
            ParameterError: other vertices, or a distribution for another weight cap or without
                weights.
        """
        noisy = noisy_pairs(graph, self.universe, self.distribution, source)
        return MatrixSearch(self.universe, noisy, self.answer)
