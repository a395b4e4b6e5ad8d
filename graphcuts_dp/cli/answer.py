"""`graphcuts-dp answer`: cut queries on a release, free and as many as you like."""

import os
from typing import Annotated

import typer

from graphcuts_dp.cli.console import out, show_json
from graphcuts_dp.cli.reading import read_set
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.queries import CutQuery
from graphcuts_dp.graph.vertices import Label, Space
from graphcuts_dp.iterative.release import IterativeRelease, hypothesis_path
from graphcuts_dp.measurements.noisy_matrix import NO_GUARANTEE
from graphcuts_dp.release.release import Release

EXAMPLE = """Example: graphcuts-dp answer synthetic.graphml --from "SFO,LAX,SAN" --to "JFK,LGA,EWR"

A set is a list of labels with commas between, or @FILE with one label on each line."""


def answer(
    path: Annotated[str, typer.Argument(metavar="RELEASE", help="OUT of `release`.")],
    first: Annotated[str, typer.Option("--from", help="The set S of vertices.")],
    second: Annotated[
        str | None, typer.Option("--to", help="The set T; all other vertices if omitted.")
    ] = None,
    complement: Annotated[
        bool, typer.Option("--complement", help="T is all other vertices, as without --to.")
    ] = False,
    confidence: Annotated[float, typer.Option(help="Of the interval.")] = 0.95,
    simultaneous: Annotated[
        bool,
        typer.Option(
            "--simultaneous", help="Interval for all cuts at once: if you chose by looking."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
) -> None:
    """Answer a cut query from a release: how much passes between S and T.

    Prints the unbiased answer with its proven interval, and where there is a synthetic graph an
    estimate that is drawn towards it, which is nearer to the truth on most cuts and has no
    guarantee.
    """
    if complement and second is not None:
        raise ParameterError("give --to or --complement, not both")
    release: Release | IterativeRelease
    shrunk = None
    if os.path.isfile(hypothesis_path(path)):  # noqa: PTH113  # false for names too long, too
        if confidence != 0.95 or simultaneous:
            raise ParameterError(
                "this release was learnt from a few cuts: its intervals are what they are, for all"
                " cuts at once; leave out --confidence and --simultaneous"
            )
        release = IterativeRelease.load(path)
        found = release.answer(*_sets(first, second, release.universe.space))
    else:
        release = Release.load(path)
        query = CutQuery(*_sets(first, second, release.space))
        found = release.answer(query, confidence=confidence, simultaneous=simultaneous)
        if release.has_graph and not release.is_sparse:
            shrunk = release.answer(query, confidence=confidence, estimate="shrunk").value
    if as_json:
        show_json(
            {
                "value": found.value,
                "interval": list(found.interval),
                "confidence": found.confidence,
                "simultaneous": found.simultaneous,
                "estimate": found.estimate,
                "typical_error": found.typical_error,
                "shrunk": None if shrunk is None else {"value": shrunk, "note": NO_GUARANTEE},
                "guarantee": str(release.guarantee),
            }
        )
    else:
        out.print(str(found), markup=False)
        if shrunk is not None:
            out.print(f"{shrunk:.1f} with the synthetic graph ({NO_GUARANTEE})", markup=False)


def _sets(first: str, second: str | None, space: Space) -> tuple[list[Label], list[Label] | None]:
    left, right = space if isinstance(space, tuple) else (space, space)
    return read_set(first, left), None if second is None else read_set(second, right)
