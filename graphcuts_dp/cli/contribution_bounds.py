"""`graphcuts-dp flows --contributions`: how much users contribute, and a bound chosen from it."""

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, final

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report, forecast_report
from graphcuts_dp.cli.resumption import kept_result
from graphcuts_dp.cli.spending import expected_refusal_of_job
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.noisy_contributions import Contributions, check_bounds
from graphcuts_dp.graph.rows import Rows
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.options import check, option
from graphcuts_dp.planning.bounds import ContributionBoundPlan, plan_contribution_bounds
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.release.contributions import (
    BoundJob,
    ContributionBound,
    ContributionsJob,
    bound_job,
    contributions_job,
)
from graphcuts_dp.release.job import execute

_CANDIDATES = option(
    None,
    help="Public candidates for the bound, as 1/5/10; 1 to 100,000 if omitted.",
    parse=options.typed_bounds,
)
_PER_PERIOD = option(default=False, help="Count the rows of a user in each period by itself.")


@final
@dataclass(frozen=True, kw_only=True)
class BoundTable:
    """Options of a noisy table: how many users have more rows than each candidate for the bound."""

    for_epsilon: float = option(1.0, help="Epsilon of the later release that the bound is for.")
    cells: int = option(
        1, help="Over how many cells of that release the left-out rows are spread.", least=1
    )
    known_max: int | None = option(
        None, help="What is publicly known: no user has more rows than this.", least=1
    )
    max_contributions: int | None = option(
        None,
        help="A bound that you have already chosen among the candidates: what it leaves out is "
        "stated by itself, more sharply than for all candidates at once.",
        least=1,
    )
    bounds: list[int] | None = _CANDIDATES
    per_period: bool = _PER_PERIOD

    def __post_init__(self) -> None:
        check(self)
        exact_epsilon(self.for_epsilon)
        if self.max_contributions is not None and self.max_contributions not in self.candidates:
            raise ParameterError(
                f"max_contributions={self.max_contributions} is none of the bounds of the table"
            )

    @property
    def candidates(self) -> tuple[int, ...]:
        """Return the public candidates, ascending."""
        return check_bounds(self.bounds)

    def job(self, rows: Rows, epsilon: float) -> ContributionsJob:
        """Return the job that releases the table, made from public facts alone."""
        return contributions_job(
            rows, epsilon=epsilon, bounds=self.candidates, per_period=self.per_period
        )

    def kept_report(self) -> Report | None:
        """Report the table that a resumed use has kept; None if it is to be released."""
        table = kept_result(Contributions)
        return None if table is None else self._report_of(table)

    def report(
        self, rows: Rows, *, epsilon: float, store: Store | None, seed: int | None
    ) -> Report:
        """Release the table, and report it."""
        return self._report_of(execute(self.job(rows, epsilon), rows, store=store, seed=seed))

    def _report_of(self, table: Contributions) -> Report:
        plan = plan_contribution_bounds(
            table,
            epsilon=self.for_epsilon,
            cells=self.cells,
            known_max=self.known_max,
            max_contributions=self.max_contributions,
        )
        notes = []
        last = plan.rows[-1]
        if last.users_above > table.users_above(last.max_contributions)[1]:
            notes.append("Some users have more than the last bound; give larger bounds=.")
        facts = {
            "guarantee": str(table.guarantee),
            "max_contributions": plan.best.max_contributions,
        }
        return Report(facts | _fields_of_plan(plan), [facts, plan], notes)


@final
@dataclass(frozen=True, kw_only=True)
class BoundChoice:
    """Options of the private choice of one bound, which needs less epsilon than a table."""

    share_above: float = option(help="Choose the bound that about this share of the users exceeds.")
    bounds: list[int] | None = _CANDIDATES
    per_period: bool = _PER_PERIOD

    def __post_init__(self) -> None:
        check_bounds(self.bounds)

    def job(self, rows: Rows, epsilon: float) -> BoundJob:
        """Return the job that chooses the bound, made from public facts alone."""
        return bound_job(
            rows,
            epsilon=epsilon,
            share_above=self.share_above,
            bounds=check_bounds(self.bounds),
            per_period=self.per_period,
        )

    def kept_report(self) -> Report | None:
        """Report the bound that a resumed use has kept; None if it is to be chosen."""
        choice = kept_result(ContributionBound)
        return None if choice is None else self._report_of(choice)

    def report(
        self, rows: Rows, *, epsilon: float, store: Store | None, seed: int | None
    ) -> Report:
        """Choose the bound, with noise, and report it."""
        return self._report_of(execute(self.job(rows, epsilon), rows, store=store, seed=seed))

    def _report_of(self, choice: ContributionBound) -> Report:
        facts = {"guarantee": str(choice.guarantee), "max_contributions": choice.max_contributions}
        note = "The users above the bound, however few, may have most of the rows."
        return Report(facts, [facts], [note])


CONTRIBUTIONS = {"table": BoundTable, "choice": BoundChoice}  # as they are typed


def contributions_forecast(
    contributions: BoundTable | BoundChoice,
    empty_rows: Rows,
    *,
    epsilon: float,
    store: Store | None,
) -> Report:
    """Forecast the errors of a table of bounds, or of a choice, from public facts alone."""
    job = contributions.job(empty_rows, epsilon)
    # The words of the guarantee are those for all rows of a user, whatever their number.
    unit = PrivacyUnit.user(max_contributions=1, per_period=contributions.per_period)
    notes = [expected_refusal_of_job(store, job), *job.notes]
    return forecast_report(job.guarantee, unit, job.errors(), notes, job.warning)


def _fields_of_plan(plan: ContributionBoundPlan) -> dict[str, Any]:
    """Return plain values for JSON, in which None stands for infinite."""
    rows = [asdict(row) for row in plan.rows]
    for row in rows:
        row["left_out"] = [count if isfinite(count) else None for count in row["left_out"]]
        if row["left_out"][1] is None:
            row["share_left_out"] = None
    fields = {"what": plan.what, "confidence": plan.confidence, "undetectable": plan.undetectable}
    fields |= {"warning": plan.warning, "coverage": plan.coverage}
    if plan.chosen is not None:
        bound, (low, high) = plan.chosen
        fields["left_out_of_chosen"] = [low, high if isfinite(high) else None]
        fields["chosen"] = bound
    return fields | {"bounds": rows}
