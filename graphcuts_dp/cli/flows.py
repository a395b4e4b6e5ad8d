"""`graphcuts-dp flows`: what passes between public groups, and how much users contribute."""

from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import Any, final

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report, forecast_report, note_formulas, remember_written
from graphcuts_dp.cli.group_reading import GroupReading
from graphcuts_dp.cli.job_results import carry_out, comment_note, written_report
from graphcuts_dp.cli.reading import (
    ApproximatePrivacyOptions,
    Reading,
    TableRun,
    directions_note,
    note,
)
from graphcuts_dp.cli.resumption import kept_result
from graphcuts_dp.cli.spending import Spending, expected_refusal_of_job
from graphcuts_dp.errors import FileFormatError, ParameterError
from graphcuts_dp.estimate.noisy_contributions import Contributions, check_bounds
from graphcuts_dp.estimate.strategy import MARGIN_SHARE, MARGINS, FlowWorkload
from graphcuts_dp.files import check_writable_set
from graphcuts_dp.frames import plain
from graphcuts_dp.graph.rows import Rows
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.options import check, input_option, option, output_option
from graphcuts_dp.planning.bounds import ContributionBoundPlan, plan_contribution_bounds
from graphcuts_dp.plotting.flow_page import check_html
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.release.contributions import (
    BoundJob,
    ContributionBound,
    ContributionsJob,
    bound_job,
    contributions_job,
)
from graphcuts_dp.release.flow_tables import flows_job, privacy_unit_of
from graphcuts_dp.release.job import execute
from graphcuts_dp.results.bundle import KINDS, check_path
from graphcuts_dp.results.flow_pictures import MOST_PANELS
from graphcuts_dp.results.flows import Flows
from graphcuts_dp.results.od_tables import GroupLocations, od_files
from graphcuts_dp.schema.typed_names import split_names

_SHOWN = 10  # cells of the finest level
_CANDIDATES = option(
    None,
    help="Public candidates for the bound, as 1/5/10; 1 to 100,000 if omitted.",
    parse=options.typed_bounds,
)
_IN_EACH_PERIOD = option(default=False, help="Count the rows of a user in each period by itself.")


@final
@dataclass(frozen=True, kw_only=True)
class BoundTable:
    """Release how many users have more than each bound, and what each would leave out."""

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
    per_period: bool = _IN_EACH_PERIOD

    def __post_init__(self) -> None:
        check(self)
        exact_epsilon(self.for_epsilon)
        candidates = check_bounds(self.bounds)
        if self.max_contributions is not None and self.max_contributions not in candidates:
            raise ParameterError(
                f"max_contributions={self.max_contributions} is none of the bounds of the table"
            )

    def job(self, rows: Rows, epsilon: float) -> ContributionsJob:
        """Return what `report` executes, made from public facts alone."""
        return contributions_job(
            rows, epsilon=epsilon, bounds=check_bounds(self.bounds), per_period=self.per_period
        )

    def report(
        self, rows: Rows, *, epsilon: float, store: Store | None, seed: int | None
    ) -> Report:
        """Release the table, with noise."""
        return self.report_of(execute(self.job(rows, epsilon), rows, store=store, seed=seed))

    def kept_report(self) -> Report | None:
        """Show the table that a store has kept; None where one is to be released."""
        table = kept_result(Contributions)
        return None if table is None else self.report_of(table)

    def report_of(self, table: Contributions) -> Report:
        """Show a table that was released."""
        plan = plan_contribution_bounds(
            table,
            epsilon=self.for_epsilon,
            cells=self.cells,
            known_max=self.known_max,
            max_contributions=self.max_contributions,
        )
        notes = []
        if plan.rows[-1].users_above > table.users_above(plan.rows[-1].max_contributions)[1]:
            notes.append("Some users have more than the last bound; give larger bounds=.")
        best = plan.best.max_contributions
        facts = {"guarantee": str(table.guarantee), "max_contributions": best}
        return Report(facts | _plain(plan), [facts, plan], notes)


@final
@dataclass(frozen=True, kw_only=True)
class BoundChoice:
    """One bound that about a share of the users exceeds: it needs less epsilon."""

    share_above: float = option(help="Choose the bound that about this share of the users exceeds.")
    bounds: list[int] | None = _CANDIDATES
    per_period: bool = _IN_EACH_PERIOD

    def __post_init__(self) -> None:
        check_bounds(self.bounds)

    def job(self, rows: Rows, epsilon: float) -> BoundJob:
        """Return what `report` executes, made from public facts alone."""
        return bound_job(
            rows,
            epsilon=epsilon,
            share_above=self.share_above,
            bounds=check_bounds(self.bounds),
            per_period=self.per_period,
        )

    def report(
        self, rows: Rows, *, epsilon: float, store: Store | None, seed: int | None
    ) -> Report:
        """Choose the bound, with noise."""
        return self.report_of(execute(self.job(rows, epsilon), rows, store=store, seed=seed))

    def kept_report(self) -> Report | None:
        """Show the bound that a store has kept; None where one is to be chosen."""
        choice = kept_result(ContributionBound)
        return None if choice is None else self.report_of(choice)

    def report_of(self, choice: ContributionBound) -> Report:
        """Show a bound that was chosen."""
        facts = {"guarantee": str(choice.guarantee), "max_contributions": choice.max_contributions}
        note = "The users above the bound, however few, may have most of the rows."
        return Report(facts, [facts], [note])


@final
@dataclass(frozen=True, kw_only=True)
class FlowOptions(TableRun):
    """Options of what is released of rows, drawn, and written for programs that draw maps."""

    by: list[str] | None = option(
        None,
        usual=True,
        parse=split_names,
        help="For rows with periods: one table for each day, month, quarter or year; or several "
        "of these, coarsest first, as year,month. If omitted, one for each period of --periods.",
    )
    known_max: int | None = option(
        None,
        usual=True,
        help="Set it if it is publicly known that no user has more rows than this. Then a tenth "
        "of the budget goes to the number of rows that --privacy-unit user:max-contributions= "
        "leaves out, and the table has intervals of all rows, too.",
        least=1,
    )
    measure_margins: bool = option(
        False,
        usual=True,
        help="Also measure what leaves and what enters each group of the finest level, for a "
        "quarter of the budget of the cells: intervals of these sums become narrower, those of "
        "cells wider. --dry-run states both.",
    )
    contributions: BoundTable | BoundChoice | None = option(
        None,
        help="Instead of flows: a noisy table of how many rows users have, or a choice of "
        "max-contributions from it.",
        of={"table": BoundTable, "choice": BoundChoice},
    )
    plot: str | None = output_option(
        None,
        usual=True,
        help="Also draw the finest level: a heat map, the largest flows over time if there are "
        "periods, or with --locations a map, of each period if there are several (.png, .pdf or "
        ".svg).",
        metavar="FILE",
    )
    html: str | None = output_option(
        None,
        usual=True,
        help="Also write a page for a browser (.html) that shows the finest level as a matrix, or "
        "with --locations as a map; a click or the keys show the interval of a number. The page "
        "is one file that loads nothing from the network.",
        metavar="FILE",
    )
    od: str | None = output_option(
        None,
        help="Also write the flows whose interval is above 0 as origins and destinations, in the "
        "format of flowmap.blue and kepler.gl (.csv, .parquet), or with --locations as lines "
        "(.geojson).",
        metavar="FILE",
    )
    margins: str | None = output_option(
        None,
        help="Also write what leaves and what enters each group of the finest level, with the "
        "interval of each such sum (.csv); --measure-margins makes them narrower.",
        metavar="FILE",
    )
    locations: str | None = input_option(
        None,
        usual=True,
        help="Public coordinates of the groups, or of all vertices in them: a .csv or .tsv file "
        "with columns id, lat and lon.",
        metavar="FILE",
    )

    def read(self, target: str) -> GroupLocations | None:
        """The places, after a check of all files that will be written.

        Raises:
            FileFormatError: a file that cannot be written or read.
            ParameterError: places that nothing needs.
        """
        if self.locations is not None and (self.plot, self.html, self.od) == (None, None, None):
            raise ParameterError("--locations is for --plot, --html or --od; name one")
        od = () if self.od is None else od_files(self.od, located=self.locations is not None)
        more = [file for file in (self.plot, self.html, self.margins) if file is not None]
        if self.html is not None:
            check_html(self.html, force=self.force)
        if self.margins is not None and not self.margins.lower().endswith(".csv"):
            raise FileFormatError(f"{self.margins} must end in .csv: margins are a table")
        check_writable_set((*KINDS["flows"].files(target), *od, *more), force=self.force)
        return None if self.locations is None else GroupLocations.of(self.locations)

    def write(self, made: Flows, places: GroupLocations | None) -> list[str]:
        """Write what is asked for; returns the paths."""
        written: list[str] = []

        def add(*files: str) -> None:
            written.extend(files)
            remember_written(files)

        if self.od is not None:
            add(*made.write_od(self.od, places, force=self.force))
        if self.margins is not None:
            made.write_margins(self.margins, force=self.force, spreadsheet=self.spreadsheet)
            add(self.margins)
        if self.plot is not None:
            from graphcuts_dp.plotting.style import write_figure  # matplotlib is slow to import

            periods = made.cells.periods
            count = 1 if periods is None else len(periods.sizes())
            has_panels = count > 1 and (places is None or count <= MOST_PANELS)
            by = periods.levels[-1] if periods is not None and has_panels else None
            write_figure(made.plot(locations=places, by=by), self.plot, force=self.force)
            add(self.plot)
        if self.html is not None:
            made.to_html(self.html, locations=places, force=self.force)
            add(self.html)
        return written


def flows(
    *,
    source: str = options.PRIVATE_GRAPH,
    privacy: ApproximatePrivacyOptions,
    spending: Spending,
    reading: Reading,
    grouping: GroupReading,
    groups: str | None = typer.Argument(None, metavar="GROUPS", help="Public groups of vertices."),
    target: str | None = typer.Argument(
        None, metavar="OUT", help="The .csv file to write the table to."
    ),
    workload: FlowWorkload,
    asked: FlowOptions,
) -> Report:
    """Release privately how much weight passes between public groups of vertices.

    Example: graphcuts-dp flows mail.csv staff.csv flows.csv --epsilon 1 --vertices staff.txt
    --groups-columns vertex=name,levels=division/department

    Example: graphcuts-dp flows trips.csv zones.csv flows.csv --epsilon 1 --vertices stops.txt
    --locations places.csv --plot map.png --html map.html

    Example: graphcuts-dp flows visits.csv wards.csv --contributions table:for-epsilon=1 --epsilon
    0.5 --columns user=patient --store visits.db

    Example: graphcuts-dp flows visits.csv --contributions choice:share-above=0.05 --epsilon 0.1
    --columns user=patient --vertices wards.txt --store visits.db

    GRAPH is a file, a folder of Parquet files, or - for rows in CSV on standard input.

    If --vertices is left out, the vertices are those that GROUPS names.

    GROUPS is public: a table (.csv, .tsv, .txt) with a row for each vertex and a column for each
    level. The command writes the table (level, from, to, count, estimate, low, high, outside), a
    receipt beside it (.json) and the measured sums (.noisy.npz). Counts are whole and add up over
    the levels; for sums of your own add up the unbiased estimates. For a bipartite graph, GROUPS
    are the groups of the left side, and --right-groups those of the right.

    If a user is the privacy unit, low and high are the interval of the rows that count, and all_low
    is a lower end for all rows. If no user can have more rows than a known number, --known-max adds
    all_high.

    --contributions table shows, with noise, how many users have more rows than each bound and what
    the bound would leave out, beside the noise that it needs. --contributions choice chooses one.
    Both spend a part of the budget of the rows. Noise hides a few users, and each of them may have
    most of the rows: no private table can rule that out. If no user can have more than a known
    number, say it with --contributions table:known-max=.
    """
    store, files = spending.store_to_charge(), grouping.of(groups)
    if asked.contributions is not None:
        outputs = (asked.plot, asked.html, asked.od, asked.locations, asked.margins)
        for_tables = (*outputs, asked.measure_margins)
        if target is not None or reading.columns.user is None or any(for_tables):
            raise ParameterError(
                "--contributions needs the file of rows and --columns user=COLUMN, and no OUT, "
                "maps or margins: what it finds is printed"
            )
        if groups is None and reading.vertices is None and not reading.public_vertices_from_file:
            raise ParameterError(
                "name the public vertices: a table of groups behind GRAPH, as flows GRAPH GROUPS "
                "--contributions, or --vertices"
            )
        shown = asked.contributions.kept_report()
        if shown is not None:
            return shown
        if asked.dry_run:
            unread = reading.empty_rows(reading.vertices_of_groups(files))
            return _contributions_forecast(
                asked.contributions, unread, epsilon=privacy.epsilon, store=store
            )
        rows = reading.read_rows(source, public=reading.vertices_of_groups(files))
        if store is not None:
            note(
                "The store knows these rows as they are read here: give the table the same "
                "--kind, --counting, --periods, vertices and --columns, also the key period."
            )
        spending.check_and_register(rows, source)
        return asked.contributions.report(
            rows, epsilon=privacy.epsilon, store=store, seed=asked.seed
        )
    if groups is None or target is None:
        if groups is None:
            raise ParameterError("name the groups and the file to write: GRAPH GROUPS OUT")
        of_left = (
            "GROUPS are those of the left side, beside --right-groups"
            if reading.bipartite
            else "GROUPS is the public table of groups"
        )
        raise ParameterError(f"GRAPH GROUPS OUT needs three files, and there are two: {of_left}")
    locations = groups_read = None
    if asked.dry_run:
        private, groups_read = reading.empty_data(privacy.privacy_unit, files)
    else:
        check_path("flows", target, force=asked.force)
        locations = asked.read(target)
        kept_flows = kept_result(Flows)
        if kept_flows is not None:
            if locations is not None:
                _, groups_read = reading.empty_data(privacy.privacy_unit, files)
            return _written(kept_flows, target, source, asked, _of_groups(locations, groups_read))
        private, groups_read = reading.read_private(
            source, privacy.privacy_unit, files, has_cells=True
        )
        spending.check_and_register(private, source)
    sides: Any = groups_read  # never None: the file is named
    locations = _of_groups(locations, sides)  # refused here, before anything is spent
    job = flows_job(
        private,
        sides,
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        by=asked.by,
        workload=workload,
        privacy_unit=privacy.privacy_unit,
        known_max=asked.known_max,
        measure_margins=asked.measure_margins,
    )
    if asked.dry_run:
        privacy_unit, errors = privacy_unit_of(private, privacy.privacy_unit), list(job.errors())
        pair = sides if isinstance(sides, tuple) else (sides,)
        side = max(len(groups_of_side.labels()) for groups_of_side in pair)
        cells = {"what": "table", "side": side, "cell": None, "error": errors[0][1]}
        cells |= {"numbers": job.cells.size(job.cells.depth - 1)}  # of the finest level
        notes = [expected_refusal_of_job(store, job), *job.notes, directions_note(private)]
        return forecast_report(job.guarantee, privacy_unit, errors, notes, job.warning, cells)
    table = carry_out(job, private, target, store=store, seed=asked.seed)
    return _written(table, target, source, asked, locations)


def _of_groups(places: GroupLocations | None, sides: Any) -> GroupLocations | None:
    """Return where groups are, from locations that may be those of their vertices.

    Raises:
        QueryError: they are neither those of all groups nor those of all vertices.
    """
    return None if places is None else GroupLocations.of(places, sides)


def _written(
    made: Flows, target: str, source: str, asked: FlowOptions, places: GroupLocations | None
) -> Report:
    """Write a table of flows, and what else is asked for of it."""
    columns = made.columns()
    labels = (label for name in ("from", "to") for label in plain(columns[name]))
    note_formulas(labels, spreadsheet=asked.spreadsheet)
    saved = made.save(target, force=asked.force, spreadsheet=asked.spreadsheet)
    remember_written(
        saved, f"the rest is made of them without further noise: gc.load({target!r}) in Python"
    )
    written = [*saved, *asked.write(made, places)]
    report = written_report(_facts(made), made.guarantee, written, source)
    notes = [*report.notes, comment_note(target)]
    return replace(report, blocks=[made, {"files": "  ".join(written)}], notes=notes, most=_SHOWN)


def _contributions_forecast(
    asked: BoundTable | BoundChoice, unread: Rows, *, epsilon: float, store: Store | None
) -> Report:
    """Forecast the errors of a table of bounds, or of a choice, from public facts alone."""
    job = asked.job(unread, epsilon)
    unit = PrivacyUnit.user(max_contributions=1, per_period=asked.per_period)
    notes = [expected_refusal_of_job(store, job), *job.notes]
    return forecast_report(job.guarantee, unit, job.errors(), notes, job.warning)


def _facts(made: Flows) -> dict[str, Any]:
    shares = zip(made.strategy.measured_levels, made.strategy.shares, strict=True)
    names = ("total", *made.levels)
    margins = Fraction(0) if made.strategy.margin_noise is None else MARGIN_SHARE
    share_of_margins = {MARGINS: float(margins)} if margins else {}
    return {
        **({"counted": made.counted_sentence} if made.counted_sentence else {}),
        "guarantee": str(made.guarantee),
        "counts": made.noisy.map.counted,
        "noise": made.strategy.noise.distribution,
        "shares": {
            names[level_index]: float(share * (1 - margins)) for level_index, share in shares
        }
        | share_of_margins,
        "levels": {
            name: " x ".join(map(str, made.cells.shape(level_index)))
            for level_index, name in enumerate(made.levels, 1)
        },
        **({} if made.periods is None else {"periods": list(made.periods.labels())}),
        "total": str(made.total),
        "verdict": made.noise_verdict,
    }


def _plain(plan: ContributionBoundPlan) -> dict[str, Any]:
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
