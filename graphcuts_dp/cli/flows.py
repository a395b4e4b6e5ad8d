"""`graphcuts-dp flows`: release what passes between public groups of vertices.

`contribution_bounds` has the tables of how much users contribute, for --contributions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, final

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report, forecast_report, note_formulas, remember_written
from graphcuts_dp.cli.contribution_bounds import (
    CONTRIBUTIONS,
    BoundChoice,
    BoundTable,
    contributions_forecast,
)
from graphcuts_dp.cli.group_reading import GroupFile, GroupReading
from graphcuts_dp.cli.job_results import carry_out, table_report, written_report
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
from graphcuts_dp.estimate.strategy import MARGIN_SHARE, MARGINS, FlowWorkload
from graphcuts_dp.files import check_writable_set
from graphcuts_dp.frames import plain
from graphcuts_dp.graph.rows import PrivateData
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.options import input_option, option, output_option
from graphcuts_dp.plotting.flow_page import check_html
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.release.flow_tables import FlowsJob, flows_job, privacy_unit_of
from graphcuts_dp.results.bundle import KINDS, check_path
from graphcuts_dp.results.flow_pictures import MOST_PANELS
from graphcuts_dp.results.flows import Flows
from graphcuts_dp.results.od_tables import GroupLocations, od_files
from graphcuts_dp.schema.typed_names import split_names


@final
@dataclass(frozen=True, kw_only=True)
class FlowOptions(TableRun):
    """Options of a table of flows: what is measured, drawn, and written for maps."""

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
        of=CONTRIBUTIONS,
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

    def check_files(self, target: str) -> None:
        """Check that all files can be written, before anything is read.

        Raises:
            FileFormatError: a file that cannot be written.
            ParameterError: locations that no file needs.
        """
        if self.locations is not None and (self.plot, self.html, self.od) == (None, None, None):
            raise ParameterError("--locations is for --plot, --html or --od; name one")
        od = () if self.od is None else od_files(self.od, located=self.locations is not None)
        others = [file for file in (self.plot, self.html, self.margins) if file is not None]
        if self.html is not None:
            check_html(self.html, force=self.force)
        if self.margins is not None and not self.margins.lower().endswith(".csv"):
            raise FileFormatError(f"{self.margins} must end in .csv: margins are a table")
        check_writable_set((*KINDS["flows"].files(target), *od, *others), force=self.force)

    def write_others(self, table: Flows, locations: GroupLocations | None) -> list[str]:
        """Write the files beside the table that are asked for, and return their paths."""
        written: list[str] = []

        def note_written(*files: str) -> None:
            written.extend(files)
            remember_written(files)

        if self.od is not None:
            note_written(*table.write_od(self.od, locations, force=self.force))
        if self.margins is not None:
            table.write_margins(self.margins, force=self.force, spreadsheet=self.spreadsheet)
            note_written(self.margins)
        if self.plot is not None:
            from graphcuts_dp.plotting.style import write_figure  # matplotlib is slow to import

            figure = table.plot(locations=locations, by=_level_of_panels(table, locations))
            write_figure(figure, self.plot, force=self.force)
            note_written(self.plot)
        if self.html is not None:
            table.to_html(self.html, locations=locations, force=self.force)
            note_written(self.html)
        return written


def _level_of_panels(table: Flows, locations: GroupLocations | None) -> str | None:
    """Return the level of periods that have a panel each; None if one panel shows all periods."""
    periods = table.cells.periods
    if periods is None:
        return None
    count = len(periods.sizes())
    has_panels = count > 1 and (locations is None or count <= MOST_PANELS)
    return periods.levels[-1] if has_panels else None


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
    run: FlowOptions,
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
    store, group_file = spending.store_to_charge(), grouping.of(groups)
    if run.contributions is not None:
        _check_contributions(run, reading, groups, target)
        return _contributions_report(
            run.contributions, source, reading, group_file, spending, run, epsilon=privacy.epsilon
        )
    if groups is None:
        raise ParameterError("name the groups and the file to write: GRAPH GROUPS OUT")
    if target is None:
        groups_are = (
            "GROUPS are those of the left side, beside --right-groups"
            if reading.bipartite
            else "GROUPS is the public table of groups"
        )
        raise ParameterError(f"GRAPH GROUPS OUT needs three files, and there are two: {groups_are}")
    job_of: Callable[..., FlowsJob] = partial(
        flows_job,
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        by=run.by,
        workload=workload,
        privacy_unit=privacy.privacy_unit,
        known_max=run.known_max,
        measure_margins=run.measure_margins,
    )
    if run.dry_run:
        empty, sides = reading.empty_data(privacy.privacy_unit, group_file)
        job = job_of(empty, sides)
        return _forecast(job, privacy_unit_of(empty, privacy.privacy_unit), empty, store)
    check_path("flows", target, force=run.force)
    run.check_files(target)
    # Locations may be those of vertices: they become those of groups when the groups are read.
    locations = None if run.locations is None else GroupLocations.of(run.locations)
    table = kept_result(Flows)
    if table is None:
        private, sides = reading.read_private(
            source, privacy.privacy_unit, group_file, has_cells=True
        )
        spending.check_and_register(private, source)
        if locations is not None:  # before anything is spent, which refuses missing ones
            locations = GroupLocations.of(locations, sides)
        table = carry_out(job_of(private, sides), private, target, store=store, seed=run.seed)
    elif locations is not None:
        _, sides = reading.empty_data(privacy.privacy_unit, group_file)
        locations = GroupLocations.of(locations, sides)
    return _write(table, target, source, run, locations)


def _check_contributions(
    run: FlowOptions, reading: Reading, groups: str | None, target: str | None
) -> None:
    """Check the options and arguments beside --contributions.

    Raises:
        ParameterError: some are for tables of flows, or the users or the vertices are not named.
    """
    outputs = (run.plot, run.html, run.od, run.locations, run.margins)
    is_table = target is not None or any(outputs) or run.measure_margins
    if is_table or reading.columns.user is None:
        raise ParameterError(
            "--contributions needs the file of rows and --columns user=COLUMN, and no OUT, "
            "maps or margins: what it finds is printed"
        )
    if groups is None and reading.vertices is None and not reading.public_vertices_from_file:
        raise ParameterError(
            "name the public vertices: a table of groups behind GRAPH, as flows GRAPH GROUPS "
            "--contributions, or --vertices"
        )


def _contributions_report(
    contributions: BoundTable | BoundChoice,
    source: str,
    reading: Reading,
    group_file: GroupFile,
    spending: Spending,
    run: FlowOptions,
    *,
    epsilon: float,
) -> Report:
    """Release, or forecast, how much users contribute in place of flows."""
    report = contributions.kept_report()
    if report is not None:
        return report
    store = spending.store_to_charge()
    vertices = reading.vertices_of_groups(group_file)
    if run.dry_run:
        empty_rows = reading.empty_rows(vertices)
        return contributions_forecast(contributions, empty_rows, epsilon=epsilon, store=store)
    rows = reading.read_rows(source, public=vertices)
    if store is not None:
        note(
            "The store knows these rows as they are read here: give the table the same "
            "--kind, --counting, --periods, vertices and --columns, also the key period."
        )
    spending.check_and_register(rows, source)
    return contributions.report(rows, epsilon=epsilon, store=store, seed=run.seed)


def _forecast(
    job: FlowsJob, privacy_unit: PrivacyUnit, empty: PrivateData, store: Store | None
) -> Report:
    """Forecast a table of flows from a job on data without rows."""
    errors = list(job.errors())
    _, finest_error = errors[0]
    picture = {
        "what": "table",
        "side": max(len(groups.labels()) for groups in job.sides),
        "cell": None,
        "error": finest_error,
        "numbers": job.cells.size(job.cells.depth - 1),  # cells of the finest level
    }
    notes = [expected_refusal_of_job(store, job), *job.notes, directions_note(empty)]
    return forecast_report(job.guarantee, privacy_unit, errors, notes, job.warning, picture)


def _write(
    table: Flows, target: str, source: str, run: FlowOptions, locations: GroupLocations | None
) -> Report:
    """Write a table of flows and the files beside it, and report them."""
    columns = table.columns()
    labels = (label for name in ("from", "to") for label in plain(columns[name]))
    note_formulas(labels, spreadsheet=run.spreadsheet)
    saved = table.save(target, force=run.force, spreadsheet=run.spreadsheet)
    remember_written(
        saved, f"the rest is made of them without further noise: gc.load({target!r}) in Python"
    )
    written = [*saved, *run.write_others(table, locations)]
    report = written_report(_facts(table), table.guarantee, written, source)
    return table_report(report, table, target, written)


def _facts(table: Flows) -> dict[str, Any]:
    strategy, level_names = table.strategy, ("total", *table.levels)
    margin_share = Fraction(0) if strategy.margin_noise is None else MARGIN_SHARE
    shares = {
        level_names[level_index]: float(share * (1 - margin_share))
        for level_index, share in zip(strategy.measured_levels, strategy.shares, strict=True)
    }
    if margin_share:
        shares[MARGINS] = float(margin_share)
    return {
        **({"counted": table.counted_sentence} if table.counted_sentence else {}),
        "guarantee": str(table.guarantee),
        "counts": table.noisy.map.counted,
        "noise": strategy.noise.distribution,
        "shares": shares,
        "levels": {
            name: " x ".join(map(str, table.cells.shape(level_index)))
            for level_index, name in enumerate(table.levels, 1)
        },
        **({} if table.periods is None else {"periods": list(table.periods.labels())}),
        "total": str(table.total),
        "verdict": table.noise_verdict,
    }
