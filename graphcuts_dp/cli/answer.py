"""`graphcuts-dp answer`: cut queries on a release, free and as many as you like."""

import os
from typing import Annotated

import typer

from graphcuts_dp.cli.console import out, show_json
from graphcuts_dp.cli.group_options import GroupReading
from graphcuts_dp.cli.reading import read_set, with_options
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.group_names import GroupNames, asked_query
from graphcuts_dp.graph.linear_query import sides_of
from graphcuts_dp.graph.queries import CutQuery
from graphcuts_dp.graph.vertices import Space
from graphcuts_dp.iterative.release import IterativeRelease, hypothesis_path
from graphcuts_dp.measurements.noisy_matrix import NO_GUARANTEE
from graphcuts_dp.release.release import Release

EXAMPLE = """Example: graphcuts-dp answer synthetic.graphml --from "SFO,LAX,SAN" --to "JFK,LGA,EWR"

Example: graphcuts-dp answer synthetic.graphml --from @@Sales,@@IT --to @@Board

A set is a list of labels with commas between, or @FILE with one label on each line; @@NAME is a
group of the release, or of the public table --groups."""


@with_options
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
    *,
    grouping: GroupReading,
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
        names = grouping.names(release.universe.space)
        found = release.answer(_query(first, second, names, release.universe.space))
    else:
        release = Release.load(path)
        names = grouping.names(release.noisy.space) or release.groups
        query = _query(first, second, names, release.noisy.space)
        found = release.answer(query, confidence=confidence, simultaneous=simultaneous)
        if release.has_graph:
            shrunk = release.answer(query, confidence=confidence, estimate="shrunk").value
    if as_json:
        show_json(
            {
                "value": found.value,
                "interval": list(found.interval),
                "confidence": found.confidence,
                "simultaneous": found.simultaneous,
                "shrunk": None if shrunk is None else {"value": shrunk, "note": NO_GUARANTEE},
                "guarantee": str(release.guarantee),
            }
        )
    else:
        out.print(str(found), markup=False)
        if shrunk is not None:
            out.print(f"{shrunk:.1f} with the synthetic graph ({NO_GUARANTEE})", markup=False)


def _query(first: str, second: str | None, names: GroupNames | None, space: Space) -> CutQuery:
    left, right = sides_of(space)
    groups = (None, None) if names is None else (names.left, names.right)
    S = read_set(first, left, groups[0])
    return asked_query(S, None if second is None else read_set(second, right, groups[1]), names)
