"""`graphcuts-dp answer`: cut queries on a release, free and as many as you like."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report, say, write_out
from graphcuts_dp.cli.group_reading import GroupFile
from graphcuts_dp.cli.queries import (
    QueryOptions,
    QueryWithText,
    check_quoted,
    pairs_of_groups,
    read_query_file,
    read_sets,
    similar_names,
)
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE, percent
from graphcuts_dp.display import Card, short, short_interval
from graphcuts_dp.errors import FileFormatError, ParameterError, QueryError
from graphcuts_dp.estimate.answers import NO_GUARANTEE, AnswerList, CutAnswer
from graphcuts_dp.estimate.time_estimator import SumsOverTime
from graphcuts_dp.iterative.release import IterativeRelease
from graphcuts_dp.options import Checked, input_option, output_option
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.queries.group_names import GroupNames
from graphcuts_dp.queries.linear import CutQuery, LinearQuery, sides_of
from graphcuts_dp.queries.query_lines import read_linear_query
from graphcuts_dp.results import bundle
from graphcuts_dp.results.flows import FlowAnswer, Flows
from graphcuts_dp.results.flows_over_time import FlowsOverTime
from graphcuts_dp.results.release import Release
from graphcuts_dp.results.release_parts import KIND
from graphcuts_dp.schema.counting import counted_by
from graphcuts_dp.schema.periods import Periods
from graphcuts_dp.schema.typed_names import join_names, split_names
from graphcuts_dp.schema.vertices import ALL, Space

_LISTED = 8  # groups that an error names
_TABLES = ("flows", "flows over time")  # kinds of files that answer sums of cells
_Answering = Release | IterativeRelease


@final
@dataclass(frozen=True, kw_only=True)
class Intervals(Checked):
    """Choose the intervals beside answers; as `Release.answer_all` takes them."""

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
    typed: QueryOptions,
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
    option_count = sum(
        option_value is not None for option_value in (typed.first, typed.query, queries)
    )
    if option_count > 1 or not (option_count or grouping.groups):
        is_table = option_count == 0 and bundle.kind_at(path) in _TABLES
        raise ParameterError(
            "name groups of the table: --from GROUP --to GROUP; all of them by --from '*'"
            if is_table
            else "give one of --from, --query, --queries with a file, or --groups for all pairs"
        )
    if queries is None and option_count and (intervals.joint or output is not None):
        raise ParameterError("--joint and --output are for --queries, or all pairs of --groups")
    if output is not None and not output.lower().endswith(".csv"):
        raise FileFormatError(f"{output} must end in .csv: answers are a table")
    release = _load(path)
    if isinstance(release, Flows | FlowsOverTime):
        many = queries is not None or typed.query is not None
        if many or typed.first is None or grouping != GroupFile():
            raise ParameterError(
                "a table of flows answers --from GROUP, with or without --to GROUP and --period"
            )
        sums = _sum_of_cells(release, typed, period, intervals)
        verdict = _verdict(sums, release)
        facts_of_sum = {"value": sums.value} | asdict(sums) | {"verdict": verdict}
        trend = _trend_warning(release, period)
        lines = [*filter(None, [verdict]), *_lines_of_sum(sums, release), *filter(None, [trend])]
        return Report(facts_of_sum | {"guarantee": str(release.guarantee)}, lines)
    if period is not None:
        raise ParameterError("--period is for a table of flows that has periods")
    space = release.space if isinstance(release, Release) else release.universe.space
    names = grouping.names(space)
    if names is None and isinstance(release, Release):
        names = release.groups
    questions = _asked(typed, queries, space, names)
    cuts = [question.query for question in questions]
    answer_list = _answers(release, cuts, intervals)
    shrunk: list[float | None] = [None] * len(cuts)
    if isinstance(release, Release) and release.has_graph:
        shrunk = _shrunk(release, cuts)
    guarantee = {"guarantee": str(release.guarantee)}
    facts = [_facts(one, value) for one, value in zip(answer_list, shrunk, strict=True)]
    if queries is None and option_count:
        parts = [str(answer_list[0])]
        if shrunk[0] is not None:
            parts.append(f"{shrunk[0]:.1f} with the synthetic graph ({NO_GUARANTEE})")
        return Report(facts[0] | guarantee, parts)
    if output is not None:
        _write(output, questions, answer_list, shrunk, force=force)
        say(f"{len(questions):,} answers in {output}")
    answers = [
        {"S": question.S, "T": question.T, **fact}
        for question, fact in zip(questions, facts, strict=True)
    ]
    parts = _table(questions, answer_list, shrunk) if output is None else []
    return Report({"answers": answers} | guarantee, parts)


def _sum_of_cells(
    flows: Flows | FlowsOverTime, typed: QueryOptions, period: str | None, intervals: Intervals
) -> FlowAnswer:
    """Return what passes between groups of the finest level that has them, in some periods or all.

    Raises:
        QueryError: no level has these groups, or the finest one that has them not these periods.
    """
    texts = (typed.first or "", typed.second or ALL)
    sides = [split_names(text) for text in texts]
    how: Any = {"confidence": intervals.confidence}
    if isinstance(flows, FlowsOverTime):
        if intervals.simultaneous:
            raise QueryError("a table over time has an interval for each sum by itself")
        how["periods"] = None if period is None else split_names(period)
    else:
        how["simultaneous"] = intervals.simultaneous
        how |= {} if period is None else {"period": _labels_of_periods(period)}
    for level in reversed(flows.levels):
        known = [{str(label): label for label in labels} for labels in flows.labels(level)]
        for text, names, labels in zip(texts, sides, known, strict=True):
            check_quoted(text, names, labels.__contains__)
        pairs = list(zip(sides, known, strict=True))
        if any(ALL in side and (len(side) > 1 or ALL in labels) for side, labels in pairs):
            raise QueryError(
                "'*' stands alone for all groups, and no group can have this name; name the groups"
            )
        sets = [list(labels) if side == [ALL] else side for side, labels in pairs]
        if all(set(names) <= set(labels) for names, labels in zip(sets, known, strict=True)):
            a, b = (
                [labels[name] for name in names] for names, labels in zip(sets, known, strict=True)
            )
            return flows.between(a, b, level=level, **how)
    raise QueryError(_no_such_groups(flows, [name for side in sides for name in side]))


def _verdict(answer: FlowAnswer, flows: Flows | FlowsOverTime) -> str:
    """Return whether a table, or this answer, is mostly noise, in a sentence; "" for neither."""
    is_noise = answer.interval[0] <= 0
    if flows.noise_verdict:
        return f"{flows.noise_verdict}; the answer below {'is, too' if is_noise else 'is not'}."
    return "The answer below is mostly noise: it may as well be 0." if is_noise else ""


def _trend_warning(flows: Flows | FlowsOverTime, period: str | None) -> str:
    """Return a sentence where an answer about some periods counts fewer rows than one of others.

    All periods so far together are compared with none.
    """
    if not isinstance(flows, FlowsOverTime) or not flows.trend_warning:
        return ""
    if flows.window(None if period is None else split_names(period)) == flows.window():
        return ""
    return f"{flows.trend_warning[:1].upper()}{flows.trend_warning[1:]}."


def _lines_of_sum(answer: FlowAnswer, flows: Flows | FlowsOverTime) -> list[str]:
    """Return a sum in two lines: its value and interval; and what of all rows was counted."""
    scope = percent(answer.confidence) + (", all at once" if answer.simultaneous else "")
    mark = f" [{SEEDED_WARNING}]" if answer.seeded else ""
    counted, sums = flows.counted_rows, flows.noisy.map
    noun = counted_by(sums.counting) if isinstance(sums, SumsOverTime) else sums.counted
    if counted is not None:
        noun = counted.what
    low, high = short_interval(answer.interval)[1:-1].split(", ")
    if sums.counting != "weight" and noun != "weight":  # whole numbers, rounded outward
        low, high = f"{math.floor(answer.interval[0]):,}", f"{math.ceil(answer.interval[1]):,}"
    value = f"{short(answer.value)} {noun}, between {low} and {high} ({scope}){mark}"
    if counted is None:
        return [value]
    least, most = (None, None) if answer.all_rows is None else answer.all_rows
    every = "no lower limit known" if least is None else f"at least {math.floor(least):,}"
    limit = "no upper limit known" if most is None else f"at most {math.ceil(most):,}"
    if counted.known_max is not None:
        limit += f" if nobody has more than {counted.known_max:,}"
    bound = f"at most {counted.max_contributions:,} {noun} a {counted.per}"
    return [value, f"Counted: {bound}. All {noun}: {every}, {limit}."]


def _labels_of_periods(text: str) -> list[str]:
    """Return the labels in a list of periods, of which each may be a range of dates.

    Raises:
        ParameterError: a range that is none.
    """
    labels: list[str] = []
    for part in split_names(text):
        labels += Periods.of(part).labels if ".." in part else [part]
    return labels


def _no_such_groups(flows: Flows | FlowsOverTime, names: list[str]) -> str:
    """Say which name is no group of a table, or that the groups are of several levels."""
    known = {str(label) for level in flows.levels for side in flows.labels(level) for label in side}
    unknown = [name for name in names if name != ALL and name not in known]
    if not unknown:
        return f"these groups are not all of one level; the levels are {', '.join(flows.levels)}"
    whole = ",".join(unknown)  # a name with a comma that was typed without quotes
    meant = [close for text in (whole, unknown[0]) for close in similar_names(text, known)]
    without = "in a table of flows, names are typed without @@: " * whole.startswith("@")
    if meant:
        typed = join_names([meant[0]])
        typed = f"'{typed}'" if typed != meant[0] else typed
        return f"the table has no group {unknown[0]!r:.60}; {without}did you mean {typed}?"
    level = flows.levels[-1]
    labels = flows.labels(level)[0]
    shown_names = [repr(str(label)) for label in labels[:_LISTED]]
    more = ", ..." if len(labels) > _LISTED else ""
    message = (
        f"the table has no group {unknown[0]!r:.60}; {without}of level {level} there are "
        f"{', '.join(shown_names)}{more}"
    )
    if isinstance(flows, Flows) and flows.groups.n > len(labels):
        finer = "/".join([*flows.levels, "COLUMN"])
        message += (
            f". Places within these need a table with a level of their own: flows "
            f"--groups-columns levels={finer}, COLUMN that of the places"
        )
    return message


def _load(path: str) -> _Answering | Flows | FlowsOverTime:
    """The release at a path, of whichever kind; a sparse one answers without its graph."""
    if bundle.kind_at(path) == KIND:
        return Release.load(path, graph=False)
    result = bundle.load(path)
    if not isinstance(result, _Answering | Flows | FlowsOverTime):
        raise FileFormatError(
            f"{path} holds a table, which any program opens that reads CSV; to ask it for sums of "
            "cells, see gc.load in Python"
        )
    return result


def _asked(
    typed: QueryOptions, queries: str | None, space: Space, names: GroupNames | None
) -> list[QueryWithText]:
    first, second, line = typed.first, typed.second, typed.query
    if queries is not None:
        return read_query_file(queries, space, names)
    if line is not None:
        return [QueryWithText(read_linear_query(line, None, space), line, None)]
    if first is not None:
        return [QueryWithText(read_sets(first, second, sides_of(space), names), first, second)]
    return [] if names is None else pairs_of_groups(names, space)


def _answers(release: _Answering, cuts: Sequence[LinearQuery], intervals: Intervals) -> AnswerList:
    if isinstance(release, Release):
        return release.answer_all(cuts, **vars(intervals))
    is_learned = release.law is None
    if is_learned and intervals != Intervals():
        raise ParameterError(
            "this release was learned from a few answers: its intervals are what they are, for all"
            " queries at once; leave out --confidence, --simultaneous and --joint"
        )
    return release.answer_all(cuts, confidence=None if is_learned else intervals.confidence)


def _shrunk(release: Release, queries: Sequence[LinearQuery]) -> list[float | None]:
    """Shrunk estimates of the cuts among the queries, made together."""
    indices = [i for i, query in enumerate(queries) if isinstance(query, CutQuery)]
    estimates: list[float | None] = [None] * len(queries)
    try:
        shrunk_answers = release.answer_all([queries[i] for i in indices], estimate="shrunk")
    except QueryError:  # a cut that mixes both sides is another query
        return estimates
    for i, shrunk_answer in zip(indices, shrunk_answers, strict=True):
        estimates[i] = shrunk_answer.value
    return estimates


def _facts(found: CutAnswer, shrunk: float | None) -> dict[str, Any]:
    estimate = {"value": shrunk, "note": NO_GUARANTEE}
    facts = {name: value for name, value in asdict(found).items() if name != "seeded"}
    return {"value": found.value} | facts | {"shrunk": None if shrunk is None else estimate}


def _table(
    asked: Sequence[QueryWithText], found: Sequence[CutAnswer], shrunk: Sequence[float | None]
) -> list[Any]:
    rows = [
        (question.title, *map(_shown, (one.value, *one.interval, value)))
        for question, one, value in zip(asked, found, shrunk, strict=True)
    ]
    _, _, scope = str(found[0]).partition("] (")
    return [
        Card(title="", columns=("cut", "answer", "from", "to", "shrunk"), rows=rows),
        f"From, to: the interval ({scope}",
        f"Shrunk: with the synthetic graph, {NO_GUARANTEE}.",
    ]


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"


def _write(
    path: str,
    asked: Sequence[QueryWithText],
    found: AnswerList,
    shrunk: Sequence[float | None],
    *,
    force: bool,
) -> None:
    """A table with a row for each query; of a seeded release every row says so.

    Values lie in their intervals, estimates need not. Where a model answers some of them, each row
    says of which kind its estimate is.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    seeded = any(answer.seeded for answer in found)
    modelled = any(answer.kind == "model" for answer in found)
    header = ["S", "T", "value", *found.interval_columns, "shrunk", "estimate"]
    header += ["kind", "typical_error"] if modelled else []
    writer.writerow([*header, "mark"] if seeded else header)
    for a, one, value in zip(asked, found, shrunk, strict=True):
        row = [a.S, a.T, one.value, *one.interval, value, one.estimate]
        row += [one.kind, one.typical_error] if modelled else []
        writer.writerow([*row, SEEDED_WARNING] if seeded else row)
    write_out([text.getvalue()], path, force=force)
