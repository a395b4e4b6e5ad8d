"""`graphcuts-dp evaluate`: errors of graphs and releases, and cut norms, against the truth."""

from pathlib import Path
from typing import Any

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report, progress_bar, say
from graphcuts_dp.cli.options import Commands, command_first
from graphcuts_dp.cli.reading import Reading
from graphcuts_dp.cutnorm.cut_norm import METHODS, NORMS, cut_norm
from graphcuts_dp.errors import FileFormatError, ParameterError
from graphcuts_dp.evaluation.comparison import compare as compare_graphs
from graphcuts_dp.evaluation.cut_error import cut_errors, graph_cut_errors
from graphcuts_dp.evaluation.tables import NOT_PRIVATE, CutErrorTable, KeptTable
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph
from graphcuts_dp.options import input_option, option, output_option
from graphcuts_dp.plotting.style import write_figure
from graphcuts_dp.queries.linear import sides_of
from graphcuts_dp.queries.query_lines import read_cut, read_lines
from graphcuts_dp.results.release import Release
from graphcuts_dp.schema.bad_rows import SKIP_ADVICE
from graphcuts_dp.schema.columns import Columns
from graphcuts_dp.schema.vertices import VertexSet

evaluate: Commands = Commands(
    cls=command_first("graphs"),
    help="Measure errors against the truth: evaluate TRUE SYNTHETIC. NOT PRIVATE.",
)
SEED = output_option(0, help="Seed of the random cuts.", least=0)


@evaluate.command()
def graphs(
    *,
    source: str = typer.Argument(metavar="TRUE", help="The true graph."),
    other: str = typer.Argument(metavar="SYNTHETIC", help="Any other graph on the same vertices."),
    reading: Reading,
    cuts: str | None = input_option(
        None,
        help='File of more cuts to measure, with lines like {"S": ["ann"], "T": ["kim"]}.',
        metavar="FILE",
    ),
    plot: str | None = options.PLOT,
    seed: int = SEED,
    force: bool = options.FORCE,
) -> Report:
    """Measure the cut errors of any graph against a true one. NOT PRIVATE.

    Example: graphcuts-dp evaluate mail.edges.gz synthetic.graphml --plot errors.png

    Example: graphcuts-dp evaluate graphs mail.edges.gz other.csv --cuts queries.jsonl --json

    Measures the cut errors of any synthetic graph against the true one, on the same vertices. You
    may leave out the word `graphs`. NOT PRIVATE.
    """
    queries = [read_cut(line, number) for number, line in read_lines(cuts)] if cuts else []
    graph = reading.read(source)
    synthetic = _read_like(graph, other, reading)
    with progress_bar("measuring") as progress:
        table = graph_cut_errors(
            graph,
            synthetic,
            queries=queries,
            seed=seed,
            title=f"{Path(other).name} against {Path(source).name}",
            progress=progress,
        )
    return _report(table, plot, force=force)


@evaluate.command()
def compare(
    *,
    source: str = typer.Argument(metavar="REAL", help="The real graph."),
    others: list[str] = typer.Argument(
        metavar="SYNTHETIC", help="Any other graphs on the same vertices, one or more."
    ),
    reading: Reading,
    plot: str | None = options.PLOT,
    seed: int = SEED,
    force: bool = options.FORCE,
) -> Report:
    """Compare synthetic graphs with the real one by many statistics. NOT PRIVATE.

    Example: graphcuts-dp evaluate compare mail.edges.gz synthetic.graphml --plot comparison.pdf

    Example: graphcuts-dp evaluate compare mail.edges.gz one.csv two.csv three.csv --json

    Prints the errors of cuts, with certified bounds on the worst one, and degrees, weights,
    clustering, assortativity, modularity, path lengths and leading eigenvalues of each graph,
    beside a graph of Chung and Lu and the empty graph. NOT PRIVATE.
    """
    if len(set(others)) < len(others):
        raise ParameterError("a synthetic graph is named twice; name each file once")
    graph = reading.read(source)
    synthetic = {_name(path, others): _read_like(graph, path, reading) for path in others}
    with progress_bar("comparing") as progress:
        comparison = compare_graphs(graph, synthetic, seed=seed, progress=progress)
    if plot is not None:  # before the table: whoever reads that may stop reading early
        comparison.plot(plot, force=force)
        say(f"figure: {plot} ({NOT_PRIVATE})")
    return Report(comparison.to_dict(), [comparison])


@evaluate.command()
def release(
    *,
    source: str = options.PRIVATE_GRAPH,
    path: str = typer.Argument(metavar="RELEASE", help="The file OUT that `release` wrote."),
    reading: Reading,
    plot: str | None = options.PLOT,
    seed: int = SEED,
    force: bool = options.FORCE,
) -> Report:
    """Measure the cut errors of a release against the truth. NOT PRIVATE.

    Example: graphcuts-dp evaluate release mail.edges.gz synthetic.graphml
    """
    result = Release.load(path)
    graph = reading.read(source)
    with progress_bar("measuring") as progress:
        table = cut_errors(graph, result, seed=seed, progress=progress)
    return _report(table, plot, force=force)


@evaluate.command("cut-norm")
def norm_of(
    *,
    first: str = typer.Argument(metavar="A", help="A graph file."),
    reading: Reading,
    second: str | None = typer.Argument(
        None, metavar="B", help="Another graph file, on the same vertices."
    ),
    norm: str = option("cut", help="Norm.", choices=tuple(NORMS)),
    method: str = option(
        "auto",
        help="Method; not spectral for infinity-to-one, and not low-rank or sdp for normalised.",
        choices=tuple(METHODS),
    ),
    tolerance: float = option(0.01, help="Stop when upper/lower is at most 1 + this number."),
    time_limit: float | None = option(None, help="Limit on the search.", unit="seconds"),
) -> Report:
    """Bound the cut norm of a graph or the distance of two. NOT PRIVATE.

    Example: graphcuts-dp evaluate cut-norm before.edges after.edges --vertices 1000

    Example: graphcuts-dp evaluate cut-norm before.edges --norm infinity-to-one --json

    The command bounds the cut norm of a graph's adjacency matrix, or of the difference of two
    graphs on the same vertices. The cut norm is the largest error of any cut, where edges inside
    both sets count twice. --norm infinity-to-one uses signs of rows and columns instead of sets; it
    is between one and four times the cut norm. --norm normalised divides the sum over S and T by
    sqrt(|S| |T|). The certificate contains the sets that reach the lower bound, and the theorem
    behind the upper bound. NOT PRIVATE.
    """
    norm_options: dict[str, Any] = {
        "norm": norm,
        "method": method,
        "tolerance": tolerance,
        "time_limit": time_limit,
    }
    graph = reading.read(first)
    if second is None:
        certificate = cut_norm(graph.to_scipy(), **norm_options)
    else:
        certificate = cut_norm(graph, reading.read(second), **norm_options)
    left, right = sides_of(graph.space)
    S, T = _members(left, certificate.S), _members(right, certificate.T)
    names = ("norm", "lower", "upper", "upper_proof", "failure_probability", "method", "stopped")
    data = {"mark": NOT_PRIVATE, **{name: getattr(certificate, name) for name in names}}
    return Report(data | {"S": S, "T": T}, [certificate], [f"{NOT_PRIVATE}; --json names S and T"])


def _read_like(graph: AnyGraph, path: str, reading: Reading) -> AnyGraph:
    """Read another graph of the same kind, on the same vertices.

    Raises:
        FileFormatError: as `Reading.read`. A graph without its bad rows would be another graph, so
            that the message does not offer to leave them out.
    """
    public = (graph.left, graph.right) if isinstance(graph, BipartiteGraph) else graph.vertices
    same = Reading(kind=reading.kind, columns=Columns(one_based=reading.columns.one_based))
    try:
        return same.read(path, public=public)
    except FileFormatError as problem:
        correct_rows = SKIP_ADVICE.partition(",")[0]  # the advice without the option
        faults, advice, _ = str(problem).partition(correct_rows)
        if not advice:
            raise
        raise FileFormatError(
            f"{faults}{correct_rows}: the vertices of a synthetic graph are those of the real one"
        ) from None


def _name(path: str, paths: list[str]) -> str:
    """Return the name of a file without its folder, or with it where others have the same name."""
    name = Path(path).name
    return name if [Path(other).name for other in paths].count(name) == 1 else path


def _members(vertices: VertexSet, mask: Any) -> list[Any]:
    return [label for label, chosen in zip(vertices.labels, mask, strict=True) if chosen]


def _report(table: CutErrorTable, plot: str | None, *, force: bool) -> Report:
    if plot is not None:  # before the table: whoever reads that may stop reading early
        write_figure(table.plot(), plot, force=force)
        say(f"figure: {plot} ({NOT_PRIVATE})")
    return Report(table.to_dict(), [table, KeptTable(table.estimates, table.properties)])
