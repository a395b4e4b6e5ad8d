"""`graphcuts-dp answer`: cut queries on a release, free and as many as you like.

`answer_flows` answers sums of cells of a table of flows.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.answer_flows import AnyFlows, sum_report
from graphcuts_dp.cli.console import Report, say, write_out
from graphcuts_dp.cli.group_reading import GroupFile
from graphcuts_dp.cli.queries import (
    QueryOptions,
    QueryWithText,
    pairs_of_groups,
    read_query_file,
    read_sets,
)
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE
from graphcuts_dp.display import Card
from graphcuts_dp.errors import FileFormatError, ParameterError, QueryError
from graphcuts_dp.estimate.answers import NO_GUARANTEE, AnswerList, CutAnswer
from graphcuts_dp.iterative.release import IterativeRelease
from graphcuts_dp.options import Checked, input_option, output_option
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.queries.group_names import GroupNames
from graphcuts_dp.queries.linear import CutQuery, LinearQuery, sides_of
from graphcuts_dp.queries.query_lines import read_linear_query
from graphcuts_dp.results import bundle
from graphcuts_dp.results.release import Release
from graphcuts_dp.results.release_parts import KIND
from graphcuts_dp.schema.vertices import Space

_TABLES = ("flows", "flows over time")  # kinds of results that answer sums of cells
_CutRelease = Release | IterativeRelease  # releases that answer cut queries


@final
@dataclass(frozen=True, kw_only=True)
class Intervals(Checked):
    """Options of the intervals of answers, which `Release.answer_all` takes by these names."""

    confidence: float = output_option(
        DEFAULT_CONFIDENCE, help="Probability that the interval contains the true value."
    )
    simultaneous: bool = output_option(
        False,
        help="Intervals that hold for all possible cuts at once; needed if you chose the cut after "
        "seeing the release.",
    )
    joint: bool = output_option(
        False,
        help="Intervals that hold for all cuts of --queries at once; as a rule narrower than with "
        "--simultaneous.",
    )


def answer(
    *,
    path: str = typer.Argument(
        metavar="RELEASE", help="The file OUT that `release` or another command wrote."
    ),
    grouping: GroupFile,
    typed_query: QueryOptions,
    queries: str | None = input_option(
        None, metavar="FILE", help="A .csv or .jsonl file of many queries."
    ),
    period: str | None = input_option(
        None,
        metavar="LABEL,...",
        help="For a table of flows: periods whose cells are added up, such as 2026-01..2026-06; "
        "all if omitted. For a table over time: a window of periods.",
    ),
    intervals: Intervals,
    output: str | None = output_option(
        None, help="A .csv file to write the table of answers to.", flag="-o --output"
    ),
    force: bool = options.FORCE,
) -> Report:
    """Answer cut queries from a release: how much weight passes between S and T.

    Prints the unbiased answer with its proven interval. If there is a synthetic graph, it also
    prints an estimate that is moved towards this graph; it is nearer to the truth on most cuts, but
    has no guarantee. Estimates of a file are computed together: put cuts of one kind into one file.

    Example: graphcuts-dp answer synthetic.graphml --from "SFO,LAX,SAN" --to "JFK,LGA,EWR"

    Example: graphcuts-dp answer synthetic.graphml --from @@Sales,@@IT --to @@Board

    Example: graphcuts-dp answer synthetic.graphml --queries cuts.csv --joint -o answers.csv

    Example: graphcuts-dp answer synthetic.graphml --groups staff.csv
    --groups-columns levels=department

    For a table of `flows`, --from and --to are groups, whose cells are added up: graphcuts-dp
    answer flows.csv --from north --to south,west --period 2026-01,2026-02. There "*" is all groups,
    and so is --to if omitted: --from GROUP alone is what leaves a group, and --from "*" --to GROUP
    what enters it. A name with a comma stands in double quotes, as in --from '"Halle, Saale"'.

    A set is a list of labels separated by commas, or @FILE with one label on each line. @@NAME is a
    group of the release, or of the public table --groups. With --groups but without --from and
    --queries, the command answers all pairs of groups of the finest level. A file of queries is a
    .csv table with columns S and T, or has lines such as {"S": ["ann"], "T": ["kim"]}; in it
    "@NAME" is a group. "*" alone is all vertices. Other linear queries are lines such as
    {"left": {"ann": 0.5}, "right": {"kim": 1}}, {"entries": [["ann", "kim", 2.5]]} or
    {"matrix": "file.npz"}; pass a single one with --query.
    """
    given_options = (typed_query.first, typed_query.query, queries)
    option_count = sum(value is not None for value in given_options)
    if option_count > 1 or (option_count == 0 and not grouping.groups):
        is_table = option_count == 0 and bundle.kind_at(path) in _TABLES
        raise ParameterError(
            "name groups of the table: --from GROUP --to GROUP; all of them by --from '*'"
            if is_table
            else "give one of --from, --query, --queries with a file, or --groups for all pairs"
        )
    is_single = queries is None and option_count == 1
    if is_single and (intervals.joint or output is not None):
        raise ParameterError("--joint and --output are for --queries, or all pairs of --groups")
    if output is not None and not output.lower().endswith(".csv"):
        raise FileFormatError(f"{output} must end in .csv: answers are a table")
    release = _load(path)
    if isinstance(release, AnyFlows):
        if queries is not None or typed_query.first is None or grouping != GroupFile():
            raise ParameterError(
                "a table of flows answers --from GROUP, with or without --to GROUP and --period"
            )
        return sum_report(
            release,
            typed_query.first,
            typed_query.second,
            period,
            confidence=intervals.confidence,
            simultaneous=intervals.simultaneous,
        )
    if period is not None:
        raise ParameterError("--period is for a table of flows that has periods")
    space = release.space if isinstance(release, Release) else release.universe.space
    names = grouping.names(space)
    if names is None and isinstance(release, Release):
        names = release.groups
    texts = _read_queries(typed_query, queries, space, names)
    linear_queries = [text.query for text in texts]
    answers = _answers(release, linear_queries, intervals)
    shrunk = _shrunk_estimates(release, linear_queries)
    if is_single:
        return _single_report(release, answers[0], shrunk[0])
    if output is not None:
        _write_table(output, texts, answers, shrunk, force=force)
        say(f"{len(texts):,} answers in {output}")
    fields = [
        {"S": text.S, "T": text.T, **_fields(answer, estimate)}
        for text, answer, estimate in zip(texts, answers, shrunk, strict=True)
    ]
    return Report(
        {"answers": fields, "guarantee": str(release.guarantee)},
        _table(texts, answers, shrunk) if output is None else [],
    )


def _load(path: str) -> _CutRelease | AnyFlows:
    """Return the result at a path; a sparse release is loaded without its graph.

    Raises:
        FileFormatError: the path holds no result, or one that answers neither cuts nor sums.
    """
    if bundle.kind_at(path) == KIND:
        return Release.load(path, graph=False)
    result = bundle.load(path)
    if not isinstance(result, _CutRelease | AnyFlows):
        raise FileFormatError(
            f"{path} holds a table, which any program opens that reads CSV; to ask it for sums of "
            "cells, see gc.load in Python"
        )
    return result


def _read_queries(
    typed_query: QueryOptions, queries: str | None, space: Space, names: GroupNames | None
) -> list[QueryWithText]:
    """Return the queries of a file, the typed one, or those of all pairs of groups."""
    if queries is not None:
        return read_query_file(queries, space, names)
    line = typed_query.query
    if line is not None:
        return [QueryWithText(read_linear_query(line, None, space), line, None)]
    first, second = typed_query.first, typed_query.second
    if first is not None:
        return [QueryWithText(read_sets(first, second, sides_of(space), names), first, second)]
    return [] if names is None else pairs_of_groups(names, space)


def _answers(
    release: _CutRelease, queries: Sequence[LinearQuery], intervals: Intervals
) -> AnswerList:
    if isinstance(release, Release):
        return release.answer_all(queries, **vars(intervals))
    is_learned = release.law is None  # no distribution of the errors is known, only a bound
    if is_learned and intervals != Intervals():
        raise ParameterError(
            "this release was learned from a few answers: its intervals are what they are, for all"
            " queries at once; leave out --confidence, --simultaneous and --joint"
        )
    return release.answer_all(queries, confidence=None if is_learned else intervals.confidence)


def _shrunk_estimates(release: _CutRelease, queries: Sequence[LinearQuery]) -> list[float | None]:
    """Return estimates moved towards the synthetic graph, computed together for all cuts.

    Those of other queries are None; without a synthetic graph, all are.
    """
    estimates: list[float | None] = [None] * len(queries)
    if not isinstance(release, Release) or not release.has_graph:
        return estimates
    indices = [index for index, query in enumerate(queries) if isinstance(query, CutQuery)]
    try:
        answers = release.answer_all([queries[index] for index in indices], estimate="shrunk")
    except QueryError:  # sets that mix both sides have no shrunk estimates
        return estimates
    for index, answer in zip(indices, answers, strict=True):
        estimates[index] = answer.value
    return estimates


def _single_report(release: _CutRelease, answer: CutAnswer, shrunk: float | None) -> Report:
    lines = [str(answer)]
    if shrunk is not None:
        lines.append(f"{shrunk:.1f} with the synthetic graph ({NO_GUARANTEE})")
    return Report(_fields(answer, shrunk) | {"guarantee": str(release.guarantee)}, lines)


def _fields(answer: CutAnswer, shrunk: float | None) -> dict[str, Any]:
    fields = {name: value for name, value in asdict(answer).items() if name != "seeded"}
    estimate = None if shrunk is None else {"value": shrunk, "note": NO_GUARANTEE}
    return {"value": answer.value} | fields | {"shrunk": estimate}


def _table(
    texts: Sequence[QueryWithText], answers: Sequence[CutAnswer], shrunk: Sequence[float | None]
) -> list[Any]:
    """Return the blocks of a report of many answers: their table, and what its columns are."""
    rows = [
        (text.title, *map(_cell, (answer.value, *answer.interval, estimate)))
        for text, answer, estimate in zip(texts, answers, shrunk, strict=True)
    ]
    _, _, scope = str(answers[0]).partition("] (")  # of "... in [low, high] (95%, proven)"
    return [
        Card(title="", columns=("cut", "answer", "from", "to", "shrunk"), rows=rows),
        f"From, to: the interval ({scope}",
        f"Shrunk: with the synthetic graph, {NO_GUARANTEE}.",
    ]


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"


def _write_table(
    path: str,
    texts: Sequence[QueryWithText],
    answers: AnswerList,
    shrunk: Sequence[float | None],
    *,
    force: bool,
) -> None:
    """Write a table with a row for each query.

    Values lie in their intervals, estimates need not. If a model answers some queries, each row
    names the kind of its estimate. If the release is seeded, each row has a mark that says so.
    """
    is_seeded = any(answer.seeded for answer in answers)
    has_model = any(answer.kind == "model" for answer in answers)
    header = ["S", "T", "value", *answers.interval_columns, "shrunk", "estimate"]
    header += ["kind", "typical_error"] if has_model else []
    header += ["mark"] if is_seeded else []
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(header)
    for text, answer, estimate in zip(texts, answers, shrunk, strict=True):
        row = [text.S, text.T, answer.value, *answer.interval, estimate, answer.estimate]
        row += [answer.kind, answer.typical_error] if has_model else []
        row += [SEEDED_WARNING] if is_seeded else []
        writer.writerow(row)
    write_out([table.getvalue()], path, force=force)
