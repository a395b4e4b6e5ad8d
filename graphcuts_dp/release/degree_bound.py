"""A bound on degrees for what protects vertices, chosen privately and paid for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.ledger.uses import charged
from graphcuts_dp.measure.bounds import (
    bound_candidates,
    choice_cost,
    pick_bound,
    score_rate,
)
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import stated_cost
from graphcuts_dp.privacy.entropy import entropy_source
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon

_LARGEST_NOISE = 1e9


@final
@dataclass(frozen=True, kw_only=True)
class DegreeBound:
    """A bound on degrees that was chosen privately. It may be published.

    Attributes:
        degree_bound: D, for `protect="vertex"`.
        candidates: what it was chosen from, ascending.
        guarantee: the promise for the choice; what is released with it costs more beside it.
    """

    degree_bound: int
    candidates: tuple[int, ...]
    guarantee: PrivacyGuarantee


def choose_degree_bound(
    graph: AnyGraph,
    *,
    epsilon: float,
    noise: float = 1.0,
    candidates: Sequence[int] | None = None,
    store: PathLike | Store | None = None,
    seed: int | None = None,
) -> DegreeBound:
    """Choose privately a degree bound with about the least sum of left-out weight and noise.

    Args:
        graph: the private graph.
        epsilon: privacy parameter of the choice, for one vertex with all its edges, in [1e-6, 50]:
            a tenth of what the answers get is a beginning.
        noise: the error of an answer that a bound of 1 would cost, in weight, in [0, 1e9]: for one
            answer 1/epsilon of the answers, for cells of a table of k groups about k/epsilon.
        candidates: whole numbers to choose from; None for the powers of two up to what no degree
            exceeds. Weights whose cap is no whole number, or that have none, need them.
        store: path of the store, or a `Store`, that the choice is charged to; see `release_flows`.
        seed: makes the run repeatable and voids the promise; None for the system's entropy.

    Raises:
        ParameterError: an option out of range.
        BudgetError: the budget of the store does not allow it. Nothing was spent.
        LedgerError: the store cannot be used.

    Guarantee: epsilon-DP, for neighbours that differ in the edges at one vertex: see `pick_bound`.
    Source: Raskhodnikova, Smith, FOCS 2016, section 4.
    """
    exact = exact_epsilon(epsilon)
    number = isinstance(noise, int | float) and not isinstance(noise, bool)
    if not number or not 0 <= noise <= _LARGEST_NOISE:
        raise ParameterError("noise is the error that a bound of 1 costs, for example 1.0")
    found = bound_candidates(graph, candidates)
    whole = tuple(int(bound) for bound in found)
    if whole != found:
        raise ParameterError("candidates are whole numbers, for example candidates=[10, 20, 40]")
    source = entropy_source(seed)
    rate = score_rate(exact)
    cost = stated_cost(choice_cost(rate), epsilon=epsilon)
    guarantee = PrivacyGuarantee(
        epsilon=cost.epsilon,
        neighbours="all edges of any one vertex, however many",
        public=f"{Universe.of(graph).public} and the candidates",
        seed=source.seed,
        protects="1 vertex",
    )
    with charged(
        store,
        graph,
        kind="degree bound",
        parameters={"candidates": list(whole), "noise": float(noise)},
        cost=cost,
        guarantee=guarantee,
    ):
        index = pick_bound(graph, found, rate=rate, noise=float(noise), source=source)
    return DegreeBound(degree_bound=whole[index], candidates=whole, guarantee=guarantee)
