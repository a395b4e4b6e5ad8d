"""`graphcuts-dp evaluate`: measured errors. Reads the truth: what it prints is not private."""

from typing import Annotated

import typer

from graphcuts_dp.cli.console import out, say, show_json, show_table
from graphcuts_dp.cli.reading import (
    BipartiteOption,
    IgnoreWeightsOption,
    OneBasedOption,
    Reading,
    VerticesOption,
    WeightCapOption,
)
from graphcuts_dp.evaluation.cut_error import cut_errors
from graphcuts_dp.evaluation.tables import NOT_PRIVATE, CutErrorTable
from graphcuts_dp.graph.atomic import atomic_write, check_writable
from graphcuts_dp.plotting.cut_errors import cut_error_figure
from graphcuts_dp.release.release import Release

RELEASE_EXAMPLE = """Example: graphcuts-dp evaluate release mail.edges.gz synthetic.graphml

Measures the cut errors of a release against its private graph. NOT PRIVATE."""


def evaluate_release(
    source: Annotated[str, typer.Argument(metavar="IN", help="The private graph.")],
    path: Annotated[str, typer.Argument(metavar="RELEASE", help="OUT of `release`.")],
    vertices: VerticesOption = None,
    bipartite: BipartiteOption = False,
    ignore_weights: IgnoreWeightsOption = False,
    weight_cap: WeightCapOption = None,
    one_based: OneBasedOption = False,
    figure: Annotated[
        str | None, typer.Option(help="Also draw the errors to this .png or .pdf file.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the random cuts.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace the figure.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Measure the cut errors of a release against the truth. NOT PRIVATE."""
    if figure is not None:
        check_writable(figure, force=force)
    release = Release.load(path)
    graph = Reading(vertices, bipartite, ignore_weights, weight_cap, one_based).read(source)
    table = cut_errors(graph, release, seed=seed)
    if as_json:
        show_json(table.to_dict())
    else:
        show_cut_errors(table)
    if figure is not None:
        save_cut_errors(table, figure, force=force)
        say(f"figure: {figure} ({NOT_PRIVATE})")


def show_cut_errors(table: CutErrorTable) -> None:
    """Print a table of cut errors."""
    columns = ("mean error", "cuts", "true size", *table.estimates)
    rows = [
        (
            row.kind,
            f"{row.cuts:,}" if row.cuts else "all",
            f"{row.size:,.1f}",
            *(f"{error:,.1f}" for error in row.errors),
        )
        for row in table.rows
    ]
    show_table(f"{table.title} ({NOT_PRIVATE})", columns, rows)
    out.print("worst cut: a proven upper bound, edges inside both sets counted twice")


def save_cut_errors(table: CutErrorTable, path: str, *, force: bool) -> None:
    """Draw a table of cut errors to a file."""
    form = "pdf" if path.lower().endswith(".pdf") else "png"
    with atomic_write(path, force=force) as handle:
        cut_error_figure(table).savefig(handle, format=form)
