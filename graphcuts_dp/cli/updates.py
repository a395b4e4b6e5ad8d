"""`graphcuts-dp flows-over-time`: a table of flows that grows by one period with each command.

The first command charges all periods of the horizon; the store keeps the series.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast, final

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report, forecast_report, note_formulas, remember_written, say
from graphcuts_dp.cli.group_reading import GroupReading
from graphcuts_dp.cli.job_results import table_report, written_report
from graphcuts_dp.cli.reading import ApproximatePrivacyOptions, Reading, directions_note
from graphcuts_dp.cli.spending import WOULD_REFUSE, Spending, expected_refusal
from graphcuts_dp.errors import GraphCutsError, LedgerError, ParameterError
from graphcuts_dp.estimate.strategy import EXPECTED_CELL
from graphcuts_dp.estimate.time_strategy import TIME_STRATEGIES
from graphcuts_dp.files import check_writable_set
from graphcuts_dp.frames import plain
from graphcuts_dp.graph.rows import Rows
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.ledger.records import Head
from graphcuts_dp.ledger.series import find_series
from graphcuts_dp.options import METHOD, Checked, option, output_option, privacy_option
from graphcuts_dp.release.updates import UpdatePlan, update_plan
from graphcuts_dp.results.bundle import KINDS, check_path, guarantee_of, read_receipt, receipt_path
from graphcuts_dp.results.flows_over_time import NAME, FlowsOverTime
from graphcuts_dp.schema.groups import Groups


@final
@dataclass(frozen=True, kw_only=True)
class UpdateOptions(Checked):
    """Options of one period of a table over time."""

    period: str | None = privacy_option(
        None,
        usual=True,
        metavar="LABEL",
        help="The period to publish, such as 2026-03: the next one of --periods, when it is over. "
        "A period that is published already is written again from the store, without reading a "
        "private file.",
    )
    series: str = privacy_option(
        "flows",
        metavar="NAME",
        help="Name of the series, if the store has several.",
    )
    strategy: str = option(
        "auto",
        group=METHOD,
        usual=True,
        help="What is published with each period: the period (independent); also each calendar "
        "year, for a third of the budget (calendar-years); or running sums with Gaussian noise, "
        "for windows of six months and more (square-root, which needs --delta). auto takes the "
        "last one with --delta, else calendar-years if --periods has a whole year, else "
        "independent.",
        choices=TIME_STRATEGIES,
    )
    whole: bool = option(
        False,
        group=METHOD,
        help="Count whole rows of a user, where the bound leaves only a part of them.",
    )
    expected_cell: float | None = EXPECTED_CELL
    plot: str | None = output_option(
        None,
        usual=True,
        help="Also draw the largest cells over the periods so far (.png, .pdf or .svg).",
        metavar="FILE",
    )
    expect_head: str | None = options.EXPECT_HEAD
    dry_run: bool = options.DRY_RUN
    force: bool = options.FORCE
    spreadsheet: bool = options.SPREADSHEET


def flows_over_time(
    *,
    source: str = options.PRIVATE_GRAPH,
    groups: str = typer.Argument(metavar="GROUPS", help="Public groups of vertices."),
    target: str = typer.Argument(metavar="OUT", help="The .csv file to write the table to."),
    privacy: ApproximatePrivacyOptions,
    spending: Spending,
    reading: Reading,
    grouping: GroupReading,
    update: UpdateOptions,
) -> Report:
    """Publish flows between groups for one more period, as with one command a month.

    Example: graphcuts-dp flows-over-time trips.csv zones.csv table.csv --period 2026-01
    --periods 2026-01..2030-12 --epsilon 1 --columns period=date --vertices zones.txt
    --store trips.db

    GRAPH is the table of all rows so far, or the file of this month: rows of other periods do not
    count. Rows that come after their month was published never count.

    --periods is the horizon. The first command charges epsilon for all of it: one row lies in one
    month, so all months together cost epsilon once. Type the same command with the next --period,
    and with --force to replace the table of the month before. If a command was interrupted, type it
    again; this costs nothing more. OUT has a line for each cell and each period, each year, and all
    periods so far (periods, from, to, estimate, deviation, low, high), estimated from all that is
    published; other windows are sums, with their intervals: `graphcuts-dp answer OUT --from GROUP
    --to GROUP --period 2026-01..2026-06`.

    If a user is the privacy unit, --privacy-unit user:max-contributions=50 is a bound for all
    periods together: each month counts what earlier months have left of it. The store then knows
    how many rows of each user have counted, and is as private as the rows.
    """
    store = spending.store_to_charge()
    group_file = grouping.of(groups)
    if store is not None and update.expect_head is not None:
        Head.parse(update.expect_head)  # refuses what is no head
        store = replace(store, expect_head=update.expect_head)
    if update.period is None:
        raise ParameterError(
            "name the period to publish, the next one of --periods: --period LABEL"
        )
    if store is None and not update.dry_run:
        raise ParameterError(
            "a table over time is kept in a store: add, for example, --store trips.db"
        )
    if spending.no_keep:
        raise ParameterError("--no-keep is not for a table over time: later periods need the store")
    empty, sides = reading.empty_data(privacy.privacy_unit, group_file)
    if not isinstance(empty, Rows):
        raise ParameterError(
            "a table over time is of rows: add --columns period=COLUMN, and --periods FROM..TO"
        )
    plan = update_plan(
        empty,
        cast("Groups | tuple[Groups, Groups]", sides),  # not None: the argument GROUPS is required
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        privacy_unit=privacy.privacy_unit,
        strategy=update.strategy,
        whole=update.whole,
        expected_cell=update.expected_cell,
        series=update.series,
    )
    if store is None or update.dry_run:  # a dry run alone can do without a store
        return _forecast(plan, store, update.period, empty)
    check_path(NAME, target, force=update.force)
    if update.plot is not None:
        check_writable_set((*KINDS[NAME].files(target), update.plot), force=update.force)
    table = plan.published(store, update.period)  # None if the period is still to be published
    _check_replaced_table(target, plan, store)
    if table is not None:
        say(f"note: {update.period} is published already: it is written from the store.")
    else:
        for note in plan.notes:
            say(f"note: {note}")
        private, _ = reading.read_private(source, privacy.privacy_unit, group_file, has_cells=True)
        rows = cast(Rows, private)  # as `empty` is
        table = plan.publish(rows, update.period, store=store)
    return _write(table, target, source, update)


def _forecast(plan: UpdatePlan, store: Store | None, period: str, empty: Rows) -> Report:
    """Forecast the errors of a period, and a refusal by the store, without private rows."""
    notes = [_expected_refusal(plan, store, period), *plan.notes, directions_note(empty)]
    # The noise of a series that has begun can no longer be changed.
    warning = None if _has_begun(plan, store) else plan.warning
    return forecast_report(plan.guarantee, plan.privacy_unit, plan.errors(), notes, warning)


def _expected_refusal(plan: UpdatePlan, store: Store | None, period: str) -> str:
    """Return why a store would refuse to publish a period; "" if nothing is known against it."""
    if store is not None and store.exists:
        try:
            plan.published(store, period, read_only=True)  # refuses as `publish` would
            if _has_begun(plan, store):
                return ""  # all of its periods are charged
        except GraphCutsError as refusal:
            return f"The store {store.path}{WOULD_REFUSE}{refusal}"
    terms = plan.terms
    return expected_refusal(
        store,
        guarantee=terms.guarantee,
        cost=terms.cost,
        periods=terms.periods,
        data=plan.public,
    )


def _has_begun(plan: UpdatePlan, store: Store | None) -> bool:
    """Return whether the store has charged the series already."""
    if store is None or not store.exists:
        return False
    with suppress(GraphCutsError):  # `_expected_refusal` reports it
        return find_series(store, plan.terms, read_only=True) is not None
    return False


def _check_replaced_table(target: str, plan: UpdatePlan, store: Store) -> None:
    """Refuse to replace a table of another series, or a later state of this one.

    A store that was put back to an earlier time would measure published periods again.

    Raises:
        ParameterError: the table is of another store or series.
        LedgerError: the table has periods that the store lacks.
    """
    receipt = receipt_path(target)
    if not receipt.exists():
        return
    fields = read_receipt(receipt)
    if fields["kind"] != NAME:
        return
    table_origin = guarantee_of(fields).provenance
    series = find_series(store, plan.terms)
    if (
        table_origin is None
        or series is None
        or (table_origin.store, table_origin.use)
        != (series.provenance.store, series.provenance.use)
    ):
        raise ParameterError(
            f"{target} is a table of another series or store: use its store, or another file"
        )
    if len(fields["published"]) > len(series.contents):  # one content for each published period
        raise LedgerError(
            f"{target} has periods that {store.path} lacks, so the store was put back to an "
            "earlier time: use its latest copy, since a period must not be measured twice"
        )


def _write(table: FlowsOverTime, target: str, source: str, update: UpdateOptions) -> Report:
    """Write the table and its plot, and report them."""
    columns = table.columns(table.periods[-1])
    labels = (label for name in ("from", "to") for label in plain(columns[name]))
    note_formulas(labels, spreadsheet=update.spreadsheet)
    written = [*table.save(target, force=update.force, spreadsheet=update.spreadsheet)]
    remember_written(written, f"the rest is made of them without noise: gc.load({target!r}).plot()")
    if update.plot is not None:
        from graphcuts_dp.plotting.style import write_figure  # matplotlib is slow to import

        write_figure(table.plot(), update.plot, force=update.force)
        written.append(update.plot)
    report = written_report(_facts(table), table.guarantee, written, source)
    return table_report(report, table, target, written)


def _facts(table: FlowsOverTime) -> dict[str, Any]:
    return {
        **({"counted": table.counted_sentence} if table.counted_sentence else {}),
        "guarantee": str(table.guarantee),
        "strategy": table.strategy,
        "noise": table.noisy.noise_name,
        "published": list(table.periods),
        "horizon": [table.horizon[0], table.horizon[-1]],
        "total": str(table.total(table.periods[-1])),
        "total_so_far": str(table.total()),
        "verdict": table.noise_verdict,
    }
