"""`graphcuts-dp evaluate`: errors of graphs and releases, and cut norms, against the truth."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import out, progress_bar, say, show_facts, show_json, show_table
from graphcuts_dp.cli.options import Commands, with_options
from graphcuts_dp.cli.reading import Reading, check_apart
from graphcuts_dp.cutnorm.certificate import CutNormCertificate
from graphcuts_dp.cutnorm.cut_norm import METHODS, NORMS, cut_norm
from graphcuts_dp.evaluation.cut_error import cut_errors, graph_cut_errors
from graphcuts_dp.evaluation.cut_error_figure import cut_error_figure
from graphcuts_dp.evaluation.tables import NOT_PRIVATE, CutErrorTable
from graphcuts_dp.files import check_writable
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, Graph
from graphcuts_dp.pairs.vertices import Label, VertexSet
from graphcuts_dp.plotting.style import write_figure
from graphcuts_dp.results.release import Release
from graphcuts_dp.session.query_lines import read_lines, read_query

NORM_EXAMPLE = """Example: graphcuts-dp evaluate cut-norm before.edges after.edges --vertices 1000

Example: graphcuts-dp evaluate cut-norm before.edges --norm infinity-to-one --json

The command bounds the cut norm of a graph's adjacency matrix, or of the difference of two graphs on
the same vertices. The cut norm is the largest error of any cut, where edges inside both sets count
twice. --norm infinity-to-one uses signs of rows and columns instead of sets; it is between one and
four times the cut norm. --norm normalised divides the sum over S and T by sqrt(|S| |T|). The
certificate contains the sets that reach the lower bound, and the theorem behind the upper bound.
NOT PRIVATE."""


@with_options
def evaluate_cut_norm(
    first: Annotated[str, typer.Argument(metavar="A", help="A graph file.")],
    second: Annotated[
        str | None, typer.Argument(metavar="B", help="Another graph file, on the same vertices.")
    ] = None,
    norm: Annotated[str, typer.Option(help=f"Norm, one of: {', '.join(NORMS)}.")] = "cut",
    method: Annotated[
        str,
        typer.Option(
            help=f"Method, one of: {', '.join(METHODS)}; not spectral for infinity-to-one, and not "
            "low-rank or sdp for normalised."
        ),
    ] = "auto",
    tolerance: Annotated[
        float, typer.Option(help="Stop when upper/lower is at most 1 + this number.")
    ] = 0.01,
    time_limit: Annotated[
        float | None, typer.Option(help="Limit on the search, in seconds.")
    ] = None,
    *,
    reading: Reading,
    as_json: options.Json = False,
) -> None:
    """Bound the cut norm of a graph, or the cut distance of two, from both sides. NOT PRIVATE."""
    asked: dict[str, Any] = {
        "norm": norm,
        "method": method,
        "tolerance": tolerance,
        "time_limit": time_limit,
    }
    graph = reading.read(first)
    if second is None:
        certificate = cut_norm(graph.to_scipy(), **asked)
    else:
        certificate = cut_norm(graph, reading.read(second), **asked)
    if as_json:
        show_json(_facts(certificate, graph))
    else:
        show_facts(_lines(certificate))
        say(f"({NOT_PRIVATE}; --json names S and T)")


def _lines(certificate: CutNormCertificate) -> dict[str, str]:
    signs = ", the signs +1" if certificate.norm == "infinity-to-one" else ""
    return {
        "norm": certificate.norm,
        "at least": f"{certificate.lower:,.6g}  (|S| = {int(certificate.S.sum()):,}, "
        f"|T| = {int(certificate.T.sum()):,}{signs})",
        "at most": f"{certificate.upper:,.6g}  ({certificate.upper_proof})",
        "ratio": f"{certificate.ratio:.4f}",
        "method": f"{certificate.method}, stopped: {certificate.stopped}",
    }


def _facts(certificate: CutNormCertificate, graph: AnyGraph) -> dict[str, Any]:
    left, right = (
        (graph.vertices, graph.vertices) if isinstance(graph, Graph) else (graph.left, graph.right)
    )
    return {
        "mark": NOT_PRIVATE,
        "norm": certificate.norm,
        "lower": certificate.lower,
        "upper": certificate.upper,
        "upper_proof": certificate.upper_proof,
        "failure_probability": certificate.failure_probability,
        "method": certificate.method,
        "stopped": certificate.stopped,
        "S": _members(left, certificate.S),
        "T": _members(right, certificate.T),
    }


def _members(vertices: VertexSet, mask: Any) -> list[Label]:
    return [label for label, chosen in zip(vertices.labels, mask, strict=True) if chosen]


RELEASE_EXAMPLE = """Example: graphcuts-dp evaluate release mail.edges.gz synthetic.graphml

Measures the cut errors of a release against its private graph. NOT PRIVATE."""


GRAPHS_EXAMPLE = """Example: graphcuts-dp evaluate mail.edges.gz synthetic.graphml --plot errors.png

Example: graphcuts-dp evaluate graphs mail.edges.gz other.csv --cuts queries.jsonl --json

Measures the cut errors of any synthetic graph against the true one, on the same vertices. You may
leave out the word `graphs`. NOT PRIVATE."""

PlotOption = Annotated[
    str | None, typer.Option(help="Also draw the errors to this .png or .pdf file.")
]


class GraphsByDefault(TyperGroup):
    """`evaluate TRUE SYNTHETIC` is `evaluate graphs TRUE SYNTHETIC`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the word `graphs` before arguments that begin with no subcommand."""
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["graphs", *args]
        return super().parse_args(ctx, args)


@with_options
def evaluate_graphs(
    source: Annotated[str, typer.Argument(metavar="TRUE", help="The true graph.")],
    other: Annotated[
        str, typer.Argument(metavar="SYNTHETIC", help="Any other graph on the same vertices.")
    ],
    cuts: Annotated[
        str | None,
        typer.Option(
            help='File of more cuts to measure, with lines like {"S": ["ann"], "T": ["kim"]}.'
        ),
    ] = None,
    plot: PlotOption = None,
    *,
    reading: Reading,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random cuts.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing plot.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Measure the cut errors of any graph against a true one. NOT PRIVATE."""
    check_apart([plot], source, other, cuts, reading.vertices)
    if plot is not None:
        check_writable(plot, force=force)
    queries = [read_query(line, number) for number, line in read_lines(cuts)] if cuts else []
    graph = reading.read(source)
    public = (graph.left, graph.right) if isinstance(graph, BipartiteGraph) else graph.vertices
    same = Reading(
        bipartite=reading.bipartite, directed=reading.directed, one_based=reading.one_based
    )
    synthetic = same.read(other, public=public)
    with progress_bar("measuring") as progress:
        table = graph_cut_errors(
            graph,
            synthetic,
            queries=queries,
            seed=seed,
            title=f"{Path(other).name} against {Path(source).name}",
            progress=progress,
        )
    _show(table, plot, force=force, as_json=as_json)


@with_options
def evaluate_release(
    source: options.PrivateGraph,
    path: Annotated[
        str, typer.Argument(metavar="RELEASE", help="The file OUT that `release` wrote.")
    ],
    *,
    reading: Reading,
    plot: PlotOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random cuts.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing plot.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Measure the cut errors of a release against the truth. NOT PRIVATE."""
    check_apart([plot], source, path, reading.vertices)
    if plot is not None:
        check_writable(plot, force=force)
    release = Release.load(path)
    graph = reading.read(source)
    table = cut_errors(graph, release, seed=seed)
    _show(table, plot, force=force, as_json=as_json)


def _show(table: CutErrorTable, figure: str | None, *, force: bool, as_json: bool) -> None:
    if figure is not None:  # before the table: whoever reads that may stop reading early
        save_cut_errors(table, figure, force=force)
        say(f"figure: {figure} ({NOT_PRIVATE})")
    if as_json:
        show_json(table.to_dict())
    else:
        show_cut_errors(table)


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
    write_figure(cut_error_figure(table), path, force=force)


evaluations = Commands(
    cls=GraphsByDefault,
    help="Measure errors against the truth: evaluate TRUE SYNTHETIC. NOT PRIVATE.",
)
evaluations.command("graphs", epilog=GRAPHS_EXAMPLE)(evaluate_graphs)
evaluations.command("release", epilog=RELEASE_EXAMPLE)(evaluate_release)
evaluations.command("cut-norm", epilog=NORM_EXAMPLE)(evaluate_cut_norm)
