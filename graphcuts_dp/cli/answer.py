"""`graphcuts-dp answer`: cut queries on a release, free and as many as you like."""

import csv
import io
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.markup import escape

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import out, say, show_json, show_table
from graphcuts_dp.cli.group_options import GroupReading
from graphcuts_dp.cli.options import with_options
from graphcuts_dp.cli.query_files import AskedQuery, pairs_of_groups, read_query_file
from graphcuts_dp.cli.reading import check_apart, read_sets
from graphcuts_dp.errors import FileFormatError, ParameterError, QueryError
from graphcuts_dp.estimate.answers import NO_GUARANTEE, CutAnswer
from graphcuts_dp.files import atomic_write, check_writable
from graphcuts_dp.offline.release import IterativeRelease
from graphcuts_dp.pairs.groups import asked_query
from graphcuts_dp.pairs.queries import CutQuery, LinearQuery, sides_of
from graphcuts_dp.privacy.noise import SEEDED_WARNING
from graphcuts_dp.results import bundle
from graphcuts_dp.results.release import SPARSE, Release
from graphcuts_dp.session.query_lines import read_linear

EXAMPLE = """Example: graphcuts-dp answer synthetic.graphml --from "SFO,LAX,SAN" --to "JFK,LGA,EWR"

Example: graphcuts-dp answer synthetic.graphml --from @@Sales,@@IT --to @@Board

Example: graphcuts-dp answer synthetic.graphml --queries cuts.csv --joint -o answers.csv

Example: graphcuts-dp answer synthetic.graphml --groups staff.csv --levels department

A set is a list of labels separated by commas, or @FILE with one label on each line. @@NAME is a
group of the release, or of the public table --groups. With --groups but without --from and
--queries, the command answers all pairs of groups of the finest level. A file of queries is a .csv
table with columns S and T, or has lines such as {"S": ["ann"], "T": ["kim"]}; in it "@NAME" is a
group. "*" alone is all vertices. Other linear queries are lines such as
{"left": {"ann": 0.5}, "right": {"kim": 1}}, {"entries": [["ann", "kim", 2.5]]} or
{"matrix": "file.npz"}; pass a single one with --query."""


@with_options
def answer(
    path: Annotated[
        str,
        typer.Argument(metavar="RELEASE", help="The file OUT that `release` or its like wrote."),
    ],
    first: Annotated[str | None, typer.Option("--from", help="The set S of vertices.")] = None,
    second: Annotated[
        str | None, typer.Option("--to", help="The set T; all other vertices if omitted.")
    ] = None,
    complement: options.Complement = False,
    query: Annotated[
        str | None, typer.Option(help="Instead of sets: one line of JSON, as in --queries.")
    ] = None,
    queries: Annotated[
        str | None, typer.Option(metavar="FILE", help="A .csv or .jsonl file of many queries.")
    ] = None,
    confidence: Annotated[
        float, typer.Option(help="Probability that the interval contains the true value.")
    ] = 0.95,
    simultaneous: Annotated[
        bool,
        typer.Option(
            "--simultaneous",
            help="Intervals that hold for all cuts at once; needed if you chose the "
            "cut after seeing the release.",
        ),
    ] = False,
    joint: Annotated[
        bool, typer.Option("--joint", help="Intervals that hold for all cuts of the table at once.")
    ] = False,
    *,
    grouping: GroupReading,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="A .csv file to write the table of answers to."),
    ] = None,
    force: options.ForceOutput = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
) -> None:
    """Answer cut queries from a release: how much weight passes between S and T.

    Prints the unbiased answer with its proven interval. If there is a synthetic graph, it also
    prints an estimate that is moved towards this graph; it is nearer to the truth on most cuts, but
    has no guarantee. Estimates of a file are made together, so put cuts of one kind into one file.
    """
    several = joint or output is not None
    _check_sets((first, second, complement), query, queries, grouping, table=several)
    if output is not None:
        _check_output(output, [path, queries, *grouping.files], force=force)
    release = _load(path)
    learnt = isinstance(release, IterativeRelease) and release.law is None
    if learnt and (confidence != 0.95 or simultaneous or joint):
        raise ParameterError(
            "this release was learnt from a few answers: its intervals are what they are, for all"
            " queries at once; leave out --confidence, --simultaneous and --joint"
        )
    space = release.space if isinstance(release, Release) else release.universe.space
    names = grouping.names(space)
    if names is None and isinstance(release, Release):
        names = release.groups
    if queries is not None:
        asked = read_query_file(queries, space, names)
    elif query is not None:
        asked = [AskedQuery(read_linear(query, None, space), query, None)]
    elif first is None and names is not None:
        asked = pairs_of_groups(names, space)
    else:
        sets = read_sets(first or "", second, sides_of(space), names)
        asked = [AskedQuery(asked_query(*sets, names), first or "", second)]
    cuts = [each.query for each in asked]
    shrunk: list[float | None] = [None] * len(cuts)
    found: Sequence[CutAnswer]
    if isinstance(release, IterativeRelease):
        found = release.answer_all(cuts, confidence=None if learnt else confidence)
    else:
        found = release.answer_all(
            cuts, confidence=confidence, simultaneous=simultaneous, joint=joint
        )
        if release.has_graph:
            shrunk = _shrunk(release, cuts)
    guarantee = str(release.guarantee)
    if first is not None or query is not None:
        _show_one(found[0], shrunk[0], guarantee, as_json)
        return
    if output is not None:
        _write(output, asked, found, shrunk, force=force)
        say(f"{len(asked):,} answers in {output}")
    if as_json:
        rows = zip(asked, found, shrunk, strict=True)
        answers = [{"S": a.S, "T": a.T, **_facts(one, value)} for a, one, value in rows]
        show_json({"answers": answers, "guarantee": guarantee})
    elif output is None:
        _show_many(asked, found, shrunk)


_Answering = Release | IterativeRelease


def _load(path: str) -> _Answering:
    """The release at a path, of whichever kind; a sparse one answers without its graph."""
    if bundle.kind_at(path) == SPARSE:
        return Release.load(path, graph=False)
    found = bundle.load(path)
    if not isinstance(found, _Answering):
        raise FileFormatError(f"{path} holds a table; any program that reads CSV opens it")
    return found


def _shrunk(release: Release, queries: Sequence[LinearQuery]) -> list[float | None]:
    """Shrunk estimates of the cuts among the queries, made together."""
    places = [i for i, query in enumerate(queries) if isinstance(query, CutQuery)]
    found: list[float | None] = [None] * len(queries)
    try:
        made = release.answer_all([queries[i] for i in places], estimate="shrunk")
    except QueryError:  # a cut that mixes both sides is another query
        return found
    for i, each in zip(places, made, strict=True):
        found[i] = each.value
    return found


def _check_sets(
    sets: tuple[str | None, str | None, bool],
    query: str | None,
    queries: str | None,
    grouping: GroupReading,
    *,
    table: bool,
) -> None:
    """Refuse options about sets that do not fit together.

    Args:
        sets: --from, --to, and whether --complement.
        query: one in place of sets.
        queries: a file of them.
        grouping: public groups.
        table: whether there is an option that is for several answers.
    """
    first, second, complement = sets
    given = sum(each is not None for each in (first, query, queries))
    if given > 1:
        raise ParameterError("give either --from, or --query, or --queries with a file")
    if not given and grouping.groups is None:
        raise ParameterError(
            "give --from, or --query, or --queries with a file, or --groups for all pairs"
        )
    if complement and second is not None:
        raise ParameterError("give --to or --complement, not both")
    if queries is None and given and table:
        raise ParameterError("--joint and --output are for --queries, or all pairs of --groups")
    if first is None and (complement or second is not None):
        raise ParameterError(
            "leave out --to and --complement, which need --from: the sets are given"
        )


def _check_output(output: str, inputs: Sequence[str | None], *, force: bool) -> None:
    if not output.lower().endswith(".csv"):
        raise FileFormatError(f"{output} must end in .csv: answers are a table")
    check_apart([output], *inputs)
    check_writable(output, force=force)


def _facts(found: CutAnswer, shrunk: float | None) -> dict[str, object]:
    return {
        "value": found.value,
        "interval": list(found.interval),
        "confidence": found.confidence,
        "simultaneous": found.simultaneous,
        "together": found.together,
        "estimate": found.estimate,
        "typical_error": found.typical_error,
        "shrunk": None if shrunk is None else {"value": shrunk, "note": NO_GUARANTEE},
    }


def _show_one(found: CutAnswer, shrunk: float | None, guarantee: str, as_json: bool) -> None:
    if as_json:
        show_json({**_facts(found, shrunk), "guarantee": guarantee})
        return
    out.print(str(found), markup=False)
    if shrunk is not None:
        out.print(f"{shrunk:.1f} with the synthetic graph ({NO_GUARANTEE})", markup=False)


def _show_many(
    asked: Sequence[AskedQuery], found: Sequence[CutAnswer], shrunk: Sequence[float | None]
) -> None:
    rows = [
        (escape(a.title), *(_shown(x) for x in (one.value, *one.interval, value)))
        for a, one, value in zip(asked, found, shrunk, strict=True)
    ]
    show_table("", ("cut", "answer", "from", "to", "shrunk"), rows)
    _, _, scope = str(found[0]).partition("] (")
    out.print(f"From, to: the interval ({scope}", markup=False)
    out.print(f"Shrunk: with the synthetic graph, {NO_GUARANTEE}.", markup=False)


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"


def _write(
    path: str,
    asked: Sequence[AskedQuery],
    found: Sequence[CutAnswer],
    shrunk: Sequence[float | None],
    *,
    force: bool,
) -> None:
    """A table with a row for each query; of a seeded release every row says so.

    Where a model answers some of them, each row says whether it is unbiased.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    seeded = any(each.seeded for each in found)
    modelled = any(each.typical_error is not None for each in found)
    header = ["S", "T", "value", "low", "high", "shrunk"]
    header += ["estimate", "typical_error"] if modelled else []
    writer.writerow([*header, "mark"] if seeded else header)
    for a, one, value in zip(asked, found, shrunk, strict=True):
        row = [a.S, "" if a.T is None else a.T, one.value, *one.interval]
        row.append("" if value is None else value)
        if modelled:
            row += [one.estimate, "" if one.typical_error is None else one.typical_error]
        writer.writerow([*row, SEEDED_WARNING] if seeded else row)
    with atomic_write(path, force=force) as handle:
        handle.write(text.getvalue().encode())
