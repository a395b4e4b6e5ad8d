"""What a bound on owners leaves out, and the choice of one: told only with noise, and paid.

A bound on degrees for what protects vertices, likewise chosen privately.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.noisy_contributions import Contributions, check_bounds
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.rows import Rows, without_rows
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.measure.statistics import (
    bound_candidates,
    choice_cost,
    choose_by_share,
    measure_contributions,
    pick_bound,
    rate_of_choice,
    score_rate,
    share_sensitivity,
)
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.pairs.vertices import public_vertices
from graphcuts_dp.privacy.composition import Cost, stated_cost
from graphcuts_dp.privacy.guarantee import NO_PERIODS, PrivacyGuarantee, Protect, exact_epsilon
from graphcuts_dp.release.job import Job, execute

_LARGEST_NOISE = 1e9
_FINEST_SHARE = 1000  # shares are fractions with no larger denominator


@final
@dataclass(frozen=True, kw_only=True)
class ChosenBound:
    """A bound on owners that was chosen privately. It may be published.

    Attributes:
        at_most: the bound.
        share_above: of the owners that was to be above it.
        guarantee: of the choice.
    """

    at_most: int
    share_above: float
    guarantee: PrivacyGuarantee


def release_contributions(
    rows: Rows,
    *,
    epsilon: float,
    bounds: tuple[int, ...] | list[int] | None = None,
    per_period: bool = False,
    store: PathLike | Store | None = None,
    seed: int | None = None,
) -> Contributions:
    """Release how many owners have how much, with noise: what each bound would leave out.

    Args:
        rows: private.
        epsilon: privacy parameter for one owner, in [1e-6, 50]; all of it is spent.
        bounds: public candidates for `at_most`, ascending; None for 1, 2, 3, 5, 7, 10, ... 100,000.
        per_period: whether the bound will be one for each period of the rows: then an owner counts
            in each period as one of its own, and the promise is for an owner in one period.
        store: path of the store, or a `Store`, that remembers what was spent on these rows.
        seed: makes the run repeatable and voids the promise; None for the system's entropy.

    Raises:
        ParameterError: epsilon or bounds out of range, or something else than rows with owners,
            or with `per_period` rows without periods.
        BudgetError: the budget of the store does not allow it. Nothing was spent.
        LedgerError: the store cannot be used.

    Guarantee: epsilon-DP for all rows of one owner, or with `per_period` for those in one period,
    however many, see `measure_contributions`.
    """
    found = check_bounds(bounds)
    rate = exact_epsilon(epsilon)
    cost = stated_cost(Cost.of_pure(rate), epsilon=epsilon)
    job = Job(
        kind="contributions",
        public=without_rows(rows),
        parameters={"bounds": len(found)},
        cost=cost,
        guarantee=_promise(rows, cost, per_period=per_period),
        periods=None if rows.periods is None else rows.periods.labels,
        measure=lambda private, source, _: measure_contributions(
            private, found, rate=rate, source=source, per_period=per_period
        ),
        finish=lambda counts, promised, *_: Contributions(
            bounds=found, counts=counts, rate=rate, what=rows.what, guarantee=promised
        ),
    )
    return execute(job, rows, store=store, seed=seed)


def choose_bound(
    rows: Rows,
    *,
    epsilon: float,
    share_above: float = 0.05,
    bounds: tuple[int, ...] | list[int] | None = None,
    per_period: bool = False,
    store: PathLike | Store | None = None,
    seed: int | None = None,
) -> ChosenBound:
    """Choose privately a bound that about a given share of the owners exceeds.

    It needs far less epsilon than the table of `release_contributions`: 0.1 does for a thousand
    owners. It says nothing of rows: the owners above the bound, however few, may have most of them.

    Args:
        rows: private.
        epsilon: privacy parameter for one owner, in [1e-6, 50]; all of it is spent.
        share_above: of the owners that have more than the bound, in (0, 1), a multiple of 0.001.
        bounds: public candidates, ascending; None as for `release_contributions`.
        per_period: likewise.
        store: likewise.
        seed: likewise.

    Raises:
        ParameterError: a number out of range, or something else than rows with owners, or with
            `per_period` rows without periods.
        BudgetError: the budget of the store does not allow it. Nothing was spent.
        LedgerError: the store cannot be used.

    Guarantee: epsilon-DP for all rows of one owner, or with `per_period` for those in one period,
    however many, see `choose_by_share`.
    """
    found = check_bounds(bounds)
    share = _share(share_above)
    rate = rate_of_choice(share, exact_epsilon(epsilon))
    cost = stated_cost(Cost.of_pure(2 * share_sensitivity(share) * rate), epsilon=epsilon)
    job = Job(
        kind="bound",
        public=without_rows(rows),
        parameters={"share_above": float(share), "bounds": len(found)},
        cost=cost,
        guarantee=_promise(rows, cost, per_period=per_period),
        periods=None if rows.periods is None else rows.periods.labels,
        measure=lambda private, source, _: choose_by_share(
            private, found, share=share, rate=rate, source=source, per_period=per_period
        ),
        finish=lambda at_most, promised, *_: ChosenBound(
            at_most=at_most, share_above=float(share), guarantee=promised
        ),
    )
    return execute(job, rows, store=store, seed=seed)


def _share(share: float) -> Fraction:
    number = isinstance(share, int | float | Fraction) and not isinstance(share, bool)
    if number and 0 < share < 1:
        exact = Fraction(round(Fraction(share) * _FINEST_SHARE), _FINEST_SHARE)
        if 0 < exact < 1:
            return exact
    raise ParameterError("share_above must be a number from 0.001 to 0.999, for example 0.05")


def _promise(rows: Rows, cost: Cost, *, per_period: bool) -> PrivacyGuarantee:
    if not isinstance(rows, Rows):
        raise ParameterError("owners are those of rows: read the file with Rows.read")
    where, several, public = "", "", "the candidates for a bound"
    if rows.periods is not None:
        public = f"the periods and {public}"
    if per_period:
        if rows.periods is None:
            raise ParameterError(NO_PERIODS)
        where = " in any one period"
        several = "; of an owner with rows in k periods the promise holds with k epsilon"
    return PrivacyGuarantee(
        epsilon=cost.epsilon,
        neighbours=(
            f"all rows of any one owner{where}, however many (added or removed; replacing them is"
            f" two such changes){several}"
        ),
        public=f"{public_vertices(rows.space)} and {public}",
        protects=rows.protects(Protect.owner(at_most=1, per_period=per_period)),
    )


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
    rate = score_rate(exact)
    cost = stated_cost(choice_cost(rate), epsilon=epsilon)
    guarantee = PrivacyGuarantee(
        epsilon=cost.epsilon,
        neighbours="all edges of any one vertex, however many",
        public=f"{Universe.of(graph).public} and the candidates",
        protects="1 vertex",
    )
    job = Job(
        kind="degree bound",
        public=without_rows(graph),
        parameters={"candidates": list(whole), "noise": float(noise)},
        cost=cost,
        guarantee=guarantee,
        measure=lambda private, source, _: pick_bound(
            private, found, rate=rate, noise=float(noise), source=source
        ),
        finish=lambda index, promised, *_: DegreeBound(
            degree_bound=whole[index], candidates=whole, guarantee=promised
        ),
    )
    return execute(job, graph, store=store, seed=seed)
