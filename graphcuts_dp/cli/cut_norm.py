"""`graphcuts-dp evaluate cut-norm`: the cut norm of a file, or of the difference of two."""

from typing import Annotated, Any

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import say, show_facts, show_json
from graphcuts_dp.cli.reading import Reading, with_options
from graphcuts_dp.cutnorm.certificate import CutNormCertificate
from graphcuts_dp.cutnorm.cut_norm import METHODS, NORMS, certified_norm
from graphcuts_dp.evaluation.cut_distance import cut_distance, matrix_of
from graphcuts_dp.evaluation.tables import NOT_PRIVATE
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.graph.vertices import Label, VertexSet

EXAMPLE = """Example: graphcuts-dp evaluate cut-norm before.edges after.edges --vertices 1000

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
        certificate = certified_norm(matrix_of(graph), **asked)
    else:
        certificate = cut_distance(graph, reading.read(second), **asked)
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
