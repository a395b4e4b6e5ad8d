"""`graphcuts-dp evaluate`: compare graphs and releases with the true graph. NOT PRIVATE."""

from pathlib import Path
from typing import Any, cast

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report, progress_bar, say
from graphcuts_dp.cli.options import Commands, command_first
from graphcuts_dp.cli.reading import Reading
from graphcuts_dp.cutnorm.certificate import NormName
from graphcuts_dp.cutnorm.cut_norm import METHODS, NORMS, Method, cut_norm
from graphcuts_dp.errors import FileFormatError, ParameterError
from graphcuts_dp.evaluation.comparison import compare as compare_graphs
from graphcuts_dp.evaluation.cut_error import cut_errors, graph_cut_errors
from graphcuts_dp.evaluation.tables import NOT_PRIVATE, CutErrorTable, PropertyTable
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
_SEED = output_option(0, help="Seed of the random cuts.", least=0)


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
    seed: int = _SEED,
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
    synthetic = _read_synthetic(other, graph, reading)
    with progress_bar("measuring") as progress:
        table = graph_cut_errors(
            graph,
            synthetic,
            queries=queries,
            seed=seed,
            title=f"{Path(other).name} against {Path(source).name}",
            progress=progress,
        )
    return _error_report(table, plot, force=force)


@evaluate.command()
def compare(
    *,
    source: str = typer.Argument(metavar="REAL", help="The real graph."),
    others: list[str] = typer.Argument(
        metavar="SYNTHETIC", help="Any other graphs on the same vertices, one or more."
    ),
    reading: Reading,
    plot: str | None = options.PLOT,
    seed: int = _SEED,
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
    synthetic = {
        _short_name(path, others): _read_synthetic(path, graph, reading) for path in others
    }
    with progress_bar("comparing") as progress:
        comparison = compare_graphs(graph, synthetic, seed=seed, progress=progress)
    if plot is not None:  # before the table, after which a pipe may be closed
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
    seed: int = _SEED,
    force: bool = options.FORCE,
) -> Report:
    """Measure the cut errors of a release against the truth. NOT PRIVATE.

    Example: graphcuts-dp evaluate release mail.edges.gz synthetic.graphml
    """
    result = Release.load(path)
    graph = reading.read(source)
    with progress_bar("measuring") as progress:
        table = cut_errors(graph, result, seed=seed, progress=progress)
    return _error_report(table, plot, force=force)


@evaluate.command("cut-norm")
def bound_cut_norm(
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
    graph = reading.read(first)
    matrix, other = (graph.to_scipy(), None) if second is None else (graph, reading.read(second))
    certificate = cut_norm(
        matrix,
        other,
        norm=cast(NormName, norm),
        method=cast(Method, method),
        tolerance=tolerance,
        time_limit=time_limit,
    )
    left, right = sides_of(graph.space)
    names = ("norm", "lower", "upper", "upper_proof", "failure_probability", "method", "stopped")
    fields = {
        "mark": NOT_PRIVATE,
        **{name: getattr(certificate, name) for name in names},
        "S": _labels_in(left, certificate.S),
        "T": _labels_in(right, certificate.T),
    }
    return Report(fields, [certificate], [f"{NOT_PRIVATE}; --json names S and T"])


def _read_synthetic(path: str, graph: AnyGraph, reading: Reading) -> AnyGraph:
    """Read a synthetic graph of the same kind as a true one, on the same vertices.

    Options of columns and weights are for the file of the true graph alone.

    Raises:
        FileFormatError: as `Reading.read`. The message offers no option that leaves out bad rows,
            since the graph without them would be another one.
    """
    vertices = (graph.left, graph.right) if isinstance(graph, BipartiteGraph) else graph.vertices
    synthetic_reading = Reading(
        kind=reading.kind, columns=Columns(one_based=reading.columns.one_based)
    )
    try:
        return synthetic_reading.read(path, public=vertices)
    except FileFormatError as problem:
        advice = SKIP_ADVICE.partition(",")[0]  # "correct ...", without the option to skip them
        faults, advised, _ = str(problem).partition(advice)
        if not advised:
            raise
        raise FileFormatError(
            f"{faults}{advice}: the vertices of a synthetic graph are those of the real one"
        ) from None


def _short_name(path: str, paths: list[str]) -> str:
    """Return the name of a file without its folder; the path if several files have this name."""
    name = Path(path).name
    return name if [Path(other).name for other in paths].count(name) == 1 else path


def _labels_in(vertices: VertexSet, mask: Any) -> list[Any]:
    return [label for label, is_in in zip(vertices.labels, mask, strict=True) if is_in]


def _error_report(table: CutErrorTable, plot: str | None, *, force: bool) -> Report:
    if plot is not None:  # before the table, after which a pipe may be closed
        write_figure(table.plot(), plot, force=force)
        say(f"figure: {plot} ({NOT_PRIVATE})")
    return Report(table.to_dict(), [table, PropertyTable(table.estimates, table.properties)])
