"""Contributions of users: their noisy counts by bound, and the private choice of a bound.

A bound on degrees, for vertices as privacy units, is chosen privately in the same way.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.noisy_contributions import Contributions, check_bounds
from graphcuts_dp.files import PathLike
from graphcuts_dp.final_classes import final
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.private_data import PrivateSource, private_graph, private_rows
from graphcuts_dp.graph.rows import Rows, without_rows
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.measure.statistics import (
    bound_candidates,
    choice_cost,
    choose_by_share,
    choose_candidate,
    measure_contributions,
    rate_of_choice,
    score_rate,
    share_sensitivity,
)
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.composition import Cost, stated_cost
from graphcuts_dp.privacy.entropy import EntropySource, Seed
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon
from graphcuts_dp.privacy.privacy_unit import NO_PERIODS, PrivacyUnit
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.release.job import Job, execute
from graphcuts_dp.resources import Progress, silent
from graphcuts_dp.results.packing import ResultParts, SavedParts
from graphcuts_dp.schema.vertices import public_vertices

EXPONENTIAL = "exponential mechanism"
_LARGEST_NOISE = 1e9  # in weight
_FINEST_SHARE = 1000  # shares are fractions with no larger denominator


@final
@dataclass(frozen=True, kw_only=True)
class ContributionBound:
    """A bound on users that was chosen privately. It may be published.

    Attributes:
        max_contributions: the bound.
        share_above: requested share of users above the bound.
        guarantee: of the choice.

    Examples:
        >>> import pandas
        >>> frame = pandas.DataFrame(
        ...     {"user": [1, 1, 2], "source": ["a", "b", "a"], "target": ["b", "a", "b"]}
        ... )
        >>> rows = gc.Rows.of(frame, vertices=["a", "b"], columns=gc.Columns(user="user"))
        >>> bound = gc.choose_contribution_bound(rows, epsilon=1.0)
        >>> bound.guarantee.epsilon
        1.0
    """

    max_contributions: int
    share_above: float
    guarantee: PrivacyGuarantee

    @classmethod
    def from_saved(cls, saved: SavedParts) -> Self:
        """Return the choice from what its store has.

        Args:
            saved: the parts of a saved result, as `gc.load` reads them.
        """
        return cls(**saved.fields, guarantee=saved.guarantee)


@refuses_former_options()
def release_contributions(
    rows: Rows,
    *,
    epsilon: float,
    bounds: tuple[int, ...] | list[int] | None = None,
    per_period: bool = False,
    store: PathLike | Store | None = None,
    seed: Seed | None = None,
) -> Contributions:
    """Release noisy numbers of users above each possible bound on contributions.

    Args:
        rows: private.
        epsilon: privacy parameter for one user, in [1e-6, 50]; all of it is spent.
        bounds: public candidates for `max_contributions`, ascending; None for 1, 2, 3, 5, 7, 10,
            ... 100,000.
        per_period: whether the bound will be one for each period of the rows: then a user counts
            in each period as another user, and the guarantee is for a user in one period.
        store: path of the store, or a `Store`, that records what was spent on these rows.
        seed: makes the run repeatable and voids the guarantee; None for the system's entropy.

    Raises:
        ParameterError: epsilon or bounds out of range, or something else than rows with users,
            or with `per_period` rows without periods.
        BudgetError: the budget of the store does not allow it. Nothing was spent.
        LedgerError: the store cannot be used.

    Guarantee: epsilon-DP for all rows of one user, or with `per_period` for those in one period,
    however many, see `measure_contributions`.

    Examples:
        >>> import pandas
        >>> frame = pandas.DataFrame(
        ...     {"user": [1, 1, 2], "source": ["a", "b", "a"], "target": ["b", "a", "b"]}
        ... )
        >>> rows = gc.Rows.of(frame, vertices=["a", "b"], columns=gc.Columns(user="user"))
        >>> contributions = gc.release_contributions(rows, epsilon=1.0)
        >>> contributions.guarantee.epsilon
        1.0
    """
    rows = private_rows(rows)
    job = contributions_job(rows, epsilon=epsilon, bounds=bounds, per_period=per_period)
    return execute(job, rows, store=store, seed=seed)


def contributions_job(
    rows: Rows,
    *,
    epsilon: float,
    bounds: tuple[int, ...] | list[int] | None = None,
    per_period: bool = False,
) -> "ContributionsJob":
    """Return the job that `release_contributions` executes.

    It is made from public facts: `Rows.empty` of the same schema makes the same job.

    Args:
        rows: private rows, or `Rows.empty` of their schema.
        epsilon: as for `release_contributions`.
        bounds: as for `release_contributions`.
        per_period: as for `release_contributions`.

    Raises:
        ParameterError: epsilon or bounds out of range, rows without users, or with `per_period`
            rows without periods.

    Examples:
        >>> import pandas as pd
        >>> trips = pd.DataFrame({"from": [0, 1], "to": [1, 2], "user": ["ann", "bob"]})
        >>> columns = gc.Columns(source="from", target="to", user="user")
        >>> rows = gc.Rows.of(trips, columns=columns, vertices=range(3))
        >>> gc.release.contributions_job(rows, epsilon=1.0).cost.epsilon
        1.0
    """
    return ContributionsJob(
        public=without_rows(rows),
        epsilon=epsilon,
        budget_plan=BudgetPlan.of_one(
            "users by bound", "discrete Laplace", Cost.of_pure(exact_epsilon(epsilon))
        ),
        guarantee=_guarantee(rows, epsilon, per_period=per_period),
        bounds=check_bounds(bounds),
        per_period=per_period,
    )


@refuses_former_options()
def choose_contribution_bound(
    rows: Rows,
    *,
    epsilon: float,
    share_above: float = 0.05,
    bounds: tuple[int, ...] | list[int] | None = None,
    per_period: bool = False,
    store: PathLike | Store | None = None,
    seed: Seed | None = None,
) -> ContributionBound:
    """Choose privately a bound that about a given share of the users exceeds.

    It needs far less epsilon than the table of `release_contributions`: 0.1 is enough for a
    thousand users. It does not depend on the numbers of rows: the users above the bound, however
    few, may have most rows.

    Args:
        rows: private.
        epsilon: privacy parameter for one user, in [1e-6, 50]; all of it is spent.
        share_above: share of the users that have more than the bound, from 0.001 to 0.999; it is
            rounded to a multiple of 0.001.
        bounds: public candidates, ascending; None as for `release_contributions`.
        per_period: as for `release_contributions`.
        store: as for `release_contributions`.
        seed: as for `release_contributions`.

    Raises:
        ParameterError: a number out of range, or something else than rows with users, or with
            `per_period` rows without periods.
        BudgetError: the budget of the store does not allow it. Nothing was spent.
        LedgerError: the store cannot be used.

    Guarantee: epsilon-DP for all rows of one user, or with `per_period` for those in one period,
    however many, see `choose_by_share`.

    Examples:
        >>> import pandas
        >>> frame = pandas.DataFrame(
        ...     {"user": [1, 1, 2], "source": ["a", "b", "a"], "target": ["b", "a", "b"]}
        ... )
        >>> rows = gc.Rows.of(frame, vertices=["a", "b"], columns=gc.Columns(user="user"))
        >>> bound = gc.choose_contribution_bound(rows, epsilon=1.0)
        >>> bound.guarantee.epsilon
        1.0
    """
    rows = private_rows(rows)
    job = bound_job(
        rows, epsilon=epsilon, share_above=share_above, bounds=bounds, per_period=per_period
    )
    return execute(job, rows, store=store, seed=seed)


def bound_job(
    rows: Rows,
    *,
    epsilon: float,
    share_above: float = 0.05,
    bounds: tuple[int, ...] | list[int] | None = None,
    per_period: bool = False,
) -> "BoundJob":
    """Return the job that `choose_contribution_bound` executes.

    It is made from public facts: `Rows.empty` of the same schema makes the same job.

    Args:
        rows: private rows, or `Rows.empty` of their schema.
        epsilon: as for `choose_contribution_bound`.
        share_above: as for `choose_contribution_bound`.
        bounds: as for `choose_contribution_bound`.
        per_period: as for `choose_contribution_bound`.

    Raises:
        ParameterError: a number out of range, rows without users, or with `per_period` rows
            without periods.
    """
    share = _share(share_above)
    rate = rate_of_choice(share, exact_epsilon(epsilon))
    return BoundJob(
        public=without_rows(rows),
        epsilon=epsilon,
        budget_plan=BudgetPlan.of_one(
            "bound on users", EXPONENTIAL, Cost.of_pure(2 * share_sensitivity(share) * rate)
        ),
        guarantee=_guarantee(rows, epsilon, per_period=per_period),
        bounds=check_bounds(bounds),
        share=share,
        rate=rate,
        per_period=per_period,
    )


@final
@dataclass(frozen=True, kw_only=True)
class DegreeBound:
    """A bound on degrees that was chosen privately. It may be published.

    Attributes:
        max_degree: D, for `privacy_unit="vertex"`.
        candidates: the bounds among which it was chosen, ascending.
        guarantee: of the choice; releases with this bound have a cost of their own.

    Examples:
        >>> bound = gc.choose_degree_bound(gc.datasets.load("karate"), epsilon=1.0)
        >>> bound.guarantee.epsilon
        1.0
    """

    max_degree: int
    candidates: tuple[int, ...]
    guarantee: PrivacyGuarantee

    @classmethod
    def from_saved(cls, saved: SavedParts) -> Self:
        """Return the choice from what its store has.

        Args:
            saved: the parts of a saved result, as `gc.load` reads them.
        """
        max_degree, candidates = saved.fields["max_degree"], tuple(saved.fields["candidates"])
        return cls(max_degree=max_degree, candidates=candidates, guarantee=saved.guarantee)


@refuses_former_options()
def choose_degree_bound(
    graph: PrivateSource,
    *,
    epsilon: float,
    noise: float = 1.0,
    candidates: Sequence[int] | None = None,
    store: PathLike | Store | None = None,
    seed: Seed | None = None,
) -> DegreeBound:
    """Choose privately a degree bound with about the least sum of left-out weight and noise.

    Args:
        graph: the private graph, or one of networkx or igraph, a matrix, or a table, see
            `private_data`.
        epsilon: privacy parameter of the choice, for one vertex with all its edges, in [1e-6, 50];
            a tenth of the epsilon of the answers is a good first value.
        noise: the error of an answer with a bound of 1, in weight, in [0, 1e9]: for one answer
            1/epsilon of the answers, for cells of a table of k groups about k/epsilon.
        candidates: whole numbers to choose from; None for the powers of two up to the largest
            possible degree. Weights without a maximum that is a whole number need them.
        store: path of the store, or a `Store`, to which the choice is charged; see `release_flows`.
        seed: makes the run repeatable and voids the guarantee; None for the system's entropy.

    Raises:
        ParameterError: an option out of range.
        BudgetError: the budget of the store does not allow it. Nothing was spent.
        LedgerError: the store cannot be used.

    Guarantee: epsilon-DP, for neighbours that differ in the edges at one vertex: see
        `choose_candidate`.
    Source: Raskhodnikova, Smith, FOCS 2016, section 4.

    Examples:
        >>> bound = gc.choose_degree_bound(gc.datasets.load("karate"), epsilon=1.0)
        >>> bound.guarantee.epsilon
        1.0
    """
    data, rate = private_graph(graph), score_rate(exact_epsilon(epsilon))
    is_number = isinstance(noise, int | float) and not isinstance(noise, bool)
    if not is_number or not 0 <= noise <= _LARGEST_NOISE:
        raise ParameterError("noise is the error that a bound of 1 costs, for example 1.0")
    all_candidates = bound_candidates(data, candidates)
    whole_candidates = tuple(int(bound) for bound in all_candidates)
    if whole_candidates != all_candidates:
        raise ParameterError("candidates are whole numbers, for example candidates=[10, 20, 40]")
    plan = BudgetPlan.of_one("bound on degrees", EXPONENTIAL, choice_cost(rate))
    guarantee = PrivacyGuarantee(
        epsilon=stated_cost(plan.cost, epsilon=epsilon).epsilon,
        neighbours="all edges of any one vertex, however many",
        public=f"{Universe.of(data).public} and the candidates",
        privacy_unit="1 vertex",
    )
    job = DegreeBoundJob(
        public=without_rows(data),
        epsilon=epsilon,
        budget_plan=plan,
        guarantee=guarantee,
        candidates=whole_candidates,
        noise=float(noise),
        rate=rate,
    )
    return execute(job, data, store=store, seed=seed)


@final
@dataclass(frozen=True, kw_only=True)
class ContributionsJob(Job[Contributions]):
    """The job of noisy counts of users by how much they have.

    Attributes:
        bounds: public candidates, ascending.
        per_period: whether a user counts in each period as another user.
    """

    kind: str = "contributions"
    bounds: tuple[int, ...]
    per_period: bool

    def measure(
        self, bounded: Rows, source: EntropySource, progress: Progress = silent
    ) -> IntVector:
        """See `Job.measure`."""
        del progress
        return measure_contributions(
            bounded,
            self.bounds,
            rate=self.budget_plan.amount,
            source=source,
            per_period=self.per_period,
        )

    def finish(
        self,
        measured: IntVector,
        guarantee: PrivacyGuarantee,
        source: EntropySource,
        progress: Progress = silent,
    ) -> Contributions:
        """See `Job.finish`."""
        del source, progress
        return self._table(measured, guarantee)

    def parts(self, measured: IntVector, guarantee: PrivacyGuarantee) -> ResultParts:
        """See `Job.parts`."""
        return contributions_parts(self._table(measured, guarantee))

    def completed(
        self, saved: SavedParts, completion: Mapping[str, Any], progress: Progress = silent
    ) -> Contributions:
        """See `Job.completed`."""
        del completion, progress
        return contributions_from(saved)

    def errors(self) -> Iterable[tuple[str, float]]:
        """See `Job.errors`: of the number of users above each bound."""
        empty = self._table(np.zeros(len(self.bounds) + 1, dtype=np.int64), self.guarantee)
        return tuple(
            (f"users with more than {bound:,} {empty.what}", float(empty.users_above(bound)[1]))
            for bound in self.bounds
        )

    def _table(self, counts: IntVector, guarantee: PrivacyGuarantee) -> Contributions:
        """Return the table of noisy counts."""
        return Contributions(
            bounds=self.bounds,
            counts=counts,
            rate=self.budget_plan.amount,
            what=_rows_of(self).what,
            guarantee=guarantee,
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """See `Job.parameters`."""
        return {"bounds": len(self.bounds)}

    @property
    def periods(self) -> tuple[str, ...] | None:
        """See `Job.periods`."""
        return _declared_periods(self)


@final
@dataclass(frozen=True, kw_only=True)
class BoundJob(Job[ContributionBound]):
    """The job of the choice of a bound that about a given share of the users exceeds.

    Attributes:
        bounds: public candidates, ascending.
        share: requested share of users above the bound.
        rate: of the exponential mechanism, in which a choice has a probability proportional to
            e^(rate times its score).
        per_period: whether a user counts in each period as another user.
    """

    kind: str = "bound"
    bounds: tuple[int, ...]
    share: Fraction
    rate: Fraction
    per_period: bool

    def measure(self, bounded: Rows, source: EntropySource, progress: Progress = silent) -> int:
        """See `Job.measure`."""
        del progress
        return choose_by_share(
            bounded,
            self.bounds,
            share=self.share,
            rate=self.rate,
            source=source,
            per_period=self.per_period,
        )

    def finish(
        self,
        measured: int,
        guarantee: PrivacyGuarantee,
        source: EntropySource,
        progress: Progress = silent,
    ) -> ContributionBound:
        """See `Job.finish`."""
        del source, progress
        return ContributionBound(
            max_contributions=measured, share_above=float(self.share), guarantee=guarantee
        )

    def parts(self, measured: int, guarantee: PrivacyGuarantee) -> ResultParts:
        """See `Job.parts`."""
        fields = {"max_contributions": measured, "share_above": float(self.share)}
        return ResultParts(kind=self.kind, guarantee=guarantee, fields=fields)

    def completed(
        self, saved: SavedParts, completion: Mapping[str, Any], progress: Progress = silent
    ) -> ContributionBound:
        """See `Job.completed`."""
        del completion, progress
        return ContributionBound.from_saved(saved)

    def errors(self) -> Iterable[tuple[str, float]]:
        """See `Job.errors`: the deviation from the share, beyond that of the best candidate.

        A score is -q |users above - share x all users| for a share p/q, so the deviation of the
        chosen bound, in users, is at most ln((candidates - 1)/failure)/(q rate) more than that of
        the best candidate; see `exponential_choice`.
        """
        candidates = max(len(self.bounds) - 1, 1)
        error = math.log(candidates / DEFAULT_FAILURE) / float(self.share.denominator * self.rate)
        return (("users off the share, beyond what the best candidate misses it by", error),)

    @property
    def parameters(self) -> dict[str, Any]:
        """See `Job.parameters`."""
        return {"share_above": float(self.share), "bounds": len(self.bounds)}

    @property
    def periods(self) -> tuple[str, ...] | None:
        """See `Job.periods`."""
        return _declared_periods(self)


@final
@dataclass(frozen=True, kw_only=True)
class DegreeBoundJob(Job[DegreeBound]):
    """The job of the choice of a bound on degrees.

    Attributes:
        candidates: whole numbers, ascending.
        noise: error of an answer with a bound of 1, in weight.
        rate: of the exponential mechanism, in which a choice has a probability proportional to
            e^(rate times its score).
    """

    kind: str = "degree bound"
    candidates: tuple[int, ...]
    noise: float
    rate: Fraction

    def measure(self, bounded: AnyGraph, source: EntropySource, progress: Progress = silent) -> int:
        """See `Job.measure`."""
        del progress
        return choose_candidate(
            bounded, self.candidates, rate=self.rate, noise=self.noise, source=source
        )

    def finish(
        self,
        measured: int,
        guarantee: PrivacyGuarantee,
        source: EntropySource,
        progress: Progress = silent,
    ) -> DegreeBound:
        """See `Job.finish`."""
        del source, progress
        return DegreeBound(
            max_degree=self.candidates[measured],
            candidates=self.candidates,
            guarantee=guarantee,
        )

    def parts(self, measured: int, guarantee: PrivacyGuarantee) -> ResultParts:
        """See `Job.parts`."""
        fields = {"max_degree": self.candidates[measured], "candidates": list(self.candidates)}
        return ResultParts(kind=self.kind, guarantee=guarantee, fields=fields)

    def completed(
        self, saved: SavedParts, completion: Mapping[str, Any], progress: Progress = silent
    ) -> DegreeBound:
        """See `Job.completed`."""
        del completion, progress
        return DegreeBound.from_saved(saved)

    @property
    def parameters(self) -> dict[str, Any]:
        """See `Job.parameters`."""
        return {"candidates": list(self.candidates), "noise": self.noise}


def contributions_parts(table: Contributions) -> ResultParts:
    """Return the parts of a private table of contributions for a store.

    Raises:
        ParameterError: a public table, which was charged to no store.
    """
    if table.guarantee is None:
        raise ParameterError("a public table of contributions has cost nothing")
    fields = {"bounds": list(table.bounds), "rate": str(table.rate), "what": table.what}
    return ResultParts(
        kind="contributions",
        guarantee=table.guarantee,
        fields=fields,
        arrays={"counts": table.counts},
    )


def contributions_from(saved: SavedParts) -> Contributions:
    """Return the table from the parts that `contributions_parts` returned."""
    fields, counts = saved.fields, saved.arrays()["counts"]
    counts.setflags(write=False)
    return Contributions(
        bounds=tuple(fields["bounds"]),
        counts=counts,
        rate=Fraction(fields["rate"]),
        what=fields["what"],
        guarantee=saved.guarantee,
    )


def _share(share: float) -> Fraction:
    """Return a share as a fraction, rounded to a multiple of 0.001.

    Raises:
        ParameterError: no number in (0, 1), or one that rounds to 0 or 1.
    """
    is_number = isinstance(share, int | float | Fraction) and not isinstance(share, bool)
    if is_number and 0 < share < 1:
        rounded_share = Fraction(round(Fraction(share) * _FINEST_SHARE), _FINEST_SHARE)
        if 0 < rounded_share < 1:
            return rounded_share
    raise ParameterError("share_above must be a number from 0.001 to 0.999, for example 0.05")


def _guarantee(rows: Rows, epsilon: float, *, per_period: bool) -> PrivacyGuarantee:
    """Return the guarantee for all rows of one user.

    Raises:
        ParameterError: no rows, or with `per_period` rows without periods.
    """
    if not isinstance(rows, Rows):
        raise ParameterError("users are those of rows: read the file with Rows.read")
    where, several, public = "", "", "the candidates for a bound"
    if rows.periods is not None:
        public = f"the periods and {public}"
    if per_period:
        if rows.periods is None:
            raise ParameterError(NO_PERIODS)
        where = " in any one period"
        several = "; of a user with rows in k periods the guarantee holds with k epsilon"
    return PrivacyGuarantee(
        epsilon=float(epsilon),
        neighbours=(
            f"all rows of any one user{where}, however many (added or removed; replacing them is"
            f" two such changes){several}"
        ),
        public=f"{public_vertices(rows.space)} and {public}",
        privacy_unit=rows.privacy_unit(
            PrivacyUnit.user(max_contributions=1, per_period=per_period)
        ),
    )


def _rows_of(job: ContributionsJob | BoundJob) -> Rows:
    """Return the schema of a job, which is one of rows."""
    rows = job.public
    if not isinstance(rows, Rows):
        raise TypeError("a job of rows was made for a graph")
    return rows


def _declared_periods(job: ContributionsJob | BoundJob) -> tuple[str, ...] | None:
    """Return the labels of the declared periods of the rows; None if they have none."""
    periods = _rows_of(job).periods
    return None if periods is None else periods.labels
