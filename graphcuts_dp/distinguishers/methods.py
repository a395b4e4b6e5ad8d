"""The table of distinguishers: what `distinguisher=` of an iterative release can name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from graphcuts_dp.distinguishers.base import Distinguisher
from graphcuts_dp.distinguishers.cut_list import CutList
from graphcuts_dp.distinguishers.exact_cuts import MOST_VERTICES, ExactCuts
from graphcuts_dp.distinguishers.exponential import Exponential
from graphcuts_dp.distinguishers.power_method import PowerRankOne
from graphcuts_dp.distinguishers.question_list import QuestionList
from graphcuts_dp.distinguishers.released import Released
from graphcuts_dp.distinguishers.response_rank_one import ResponseRankOne
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.privacy.distributions import NoiseDistribution
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
