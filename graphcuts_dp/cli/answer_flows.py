"""`graphcuts-dp answer` on a table of flows: sums of cells between groups."""

import math
from dataclasses import asdict
from typing import Any

from graphcuts_dp.cli.console import Report
from graphcuts_dp.cli.queries import check_quoted, similar_names
from graphcuts_dp.confidence import percent
from graphcuts_dp.display import short, short_interval
from graphcuts_dp.errors import QueryError
from graphcuts_dp.estimate.time_estimator import SumsOverTime
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.results.flows import FlowAnswer, Flows
from graphcuts_dp.results.flows_over_time import FlowsOverTime
from graphcuts_dp.schema.counting import counted_by
from graphcuts_dp.schema.periods import Periods
from graphcuts_dp.schema.typed_names import join_names, split_names
from graphcuts_dp.schema.vertices import ALL, Label

AnyFlows = Flows | FlowsOverTime
_LISTED = 8  # groups that an error lists


def sum_report(
    flows: AnyFlows,
    first: str,
    second: str | None,
    period: str | None,
    *,
    confidence: float,
    simultaneous: bool,
) -> Report:
    """Report what passes between groups of a table of flows.

    Args:
        flows: the table.
        first: typed names of the groups of --from.
        second: typed names of the groups of --to; None for all groups.
        period: typed periods; None for all periods.
        confidence: of the interval, in (0, 1).
        simultaneous: whether the interval holds at once with those of all sums.

    Raises:
        QueryError: no level of the table has all of these groups, or it has not these periods.
    """
    answer = _sum_between(
        flows, first, second or ALL, period, confidence=confidence, simultaneous=simultaneous
    )
    verdict, trend_warning = _verdict(answer, flows), _trend_warning(flows, period)
    fields = {"value": answer.value} | asdict(answer)
    fields |= {"verdict": verdict, "guarantee": str(flows.guarantee)}
    return Report(fields, [*filter(None, (verdict, *_lines(answer, flows), trend_warning))])


def _sum_between(
    flows: AnyFlows,
    first: str,
    second: str,
    period: str | None,
    *,
    confidence: float,
    simultaneous: bool,
) -> FlowAnswer:
    """Return the sum of the finest level that has all of these groups; see `sum_report`."""
    typed_sets = (first, second)
    names_of_sets = [split_names(text) for text in typed_sets]
    options: dict[str, Any] = {"confidence": confidence}
    if isinstance(flows, FlowsOverTime):
        if simultaneous:
            raise QueryError("a table over time has an interval for each sum by itself")
        options["periods"] = None if period is None else split_names(period)
    else:
        options["simultaneous"] = simultaneous
        if period is not None:
            options["period"] = _labels_of_periods(period)
    for level in reversed(flows.levels):
        sets: list[list[Label]] = []
        for text, names, labels in zip(typed_sets, names_of_sets, flows.labels(level), strict=True):
            label_of = {str(label): label for label in labels}
            check_quoted(text, names, label_of.__contains__)
            if ALL in names and (len(names) > 1 or ALL in label_of):
                raise QueryError(
                    "'*' stands alone for all groups, and no group can have this name; name the "
                    "groups"
                )
            if names == [ALL]:
                sets.append([*labels])
            elif label_of.keys() >= set(names):
                sets.append([label_of[name] for name in names])
        if len(sets) == len(typed_sets):  # the level has all groups
            return flows.between(sets[0], sets[1], level=level, **options)
    raise QueryError(_no_such_groups(flows, names_of_sets))


def _labels_of_periods(text: str) -> list[str]:
    """Return the labels of typed periods; each range, such as 2026-01..2026-06, becomes several.

    Raises:
        ParameterError: a part with ".." is no range.
    """
    labels: list[str] = []
    for part in split_names(text):
        labels += Periods.of(part).labels if ".." in part else [part]
    return labels


def _no_such_groups(flows: AnyFlows, names_of_sets: list[list[str]]) -> str:
    """Return a message on a name that is no group of its side, or on groups of several levels.

    Args:
        flows: the table.
        names_of_sets: typed names of groups, of --from and of --to.
    """
    for side, names in enumerate(names_of_sets):
        known = {str(label) for level in flows.levels for label in flows.labels(level)[side]}
        unknown = [name for name in names if name != ALL and name not in known]
        if unknown:
            return _no_such_group(flows, side, unknown, known)
    return f"these groups are not all of one level; the levels are {', '.join(flows.levels)}"


def _no_such_group(flows: AnyFlows, side: int, unknown: list[str], known: set[str]) -> str:
    """Return a message on names that are no groups of a side, with a suggestion or some groups.

    Args:
        flows: the table.
        side: 0 for groups of --from, 1 for those of --to.
        unknown: typed names; the message is on the first one.
        known: the groups of the side, of all levels.
    """
    message = f"the table has no group {unknown[0]!r:.60}; "
    joined = ",".join(unknown)  # perhaps one name with a comma that was typed without quotes
    if joined.startswith("@"):
        message += "in a table of flows, names are typed without @@: "
    suggestions = [name for text in (joined, unknown[0]) for name in similar_names(text, known)]
    if suggestions:
        typed = join_names([suggestions[0]])
        if typed != suggestions[0]:
            typed = f"'{typed}'"
        return f"{message}did you mean {typed}?"
    level = flows.levels[-1]
    labels = flows.labels(level)[side]
    listed = ", ".join(repr(str(label)) for label in labels[:_LISTED])
    omission = ", ..." if len(labels) > _LISTED else ""
    message += f"of level {level} there are {listed}{omission}"
    if isinstance(flows, Flows) and (flows.groups, flows.right_groups)[side].n > len(labels):
        option = "levels" if side == 0 or flows.right_groups is flows.groups else "right-levels"
        finer_levels = "/".join([*flows.levels, "COLUMN"])
        message += (
            f". Places within these need a table with a level of their own: flows "
            f"--groups-columns {option}={finer_levels}, COLUMN that of the places"
        )
    return message


def _verdict(answer: FlowAnswer, flows: AnyFlows) -> str:
    """Return a sentence if the table or this answer is mostly noise; else ""."""
    is_noise = answer.interval[0] <= 0
    if flows.noise_verdict:
        return f"{flows.noise_verdict}; the answer below {'is, too' if is_noise else 'is not'}."
    return "The answer below is mostly noise: it may as well be 0." if is_noise else ""


def _trend_warning(flows: AnyFlows, period: str | None) -> str:
    """Return the table's warning that later periods count fewer rows, as a sentence.

    It is "" if the table has none, or if the answer is about all periods so far.
    """
    if not isinstance(flows, FlowsOverTime) or not flows.trend_warning:
        return ""
    if flows.window(None if period is None else split_names(period)) == flows.window():
        return ""
    return f"{flows.trend_warning[:1].upper()}{flows.trend_warning[1:]}."


def _lines(answer: FlowAnswer, flows: AnyFlows) -> list[str]:
    """Return one line on a sum and its interval; if rows are left out, a second one on all rows."""
    counted_rows = flows.counted_rows  # None if all rows count
    measured = flows.noisy.map  # the linear map from rows to cells
    if counted_rows is not None:
        noun = counted_rows.what
    elif isinstance(measured, SumsOverTime):
        noun = counted_by(measured.counting)
    else:
        noun = measured.counted
    low, high = short_interval(answer.interval)[1:-1].split(", ")  # of "[low, high]"
    if measured.counting != "weight" and noun != "weight":  # whole numbers, rounded outward
        low, high = f"{math.floor(answer.interval[0]):,}", f"{math.ceil(answer.interval[1]):,}"
    scope = percent(answer.confidence) + (", all at once" if answer.simultaneous else "")
    mark = f" [{SEEDED_WARNING}]" if answer.seeded else ""
    value = f"{short(answer.value)} {noun}, between {low} and {high} ({scope}){mark}"
    if counted_rows is None:
        return [value]
    least, most = (None, None) if answer.all_rows is None else answer.all_rows
    lower = "no lower limit known" if least is None else f"at least {math.floor(least):,}"
    upper = "no upper limit known" if most is None else f"at most {math.ceil(most):,}"
    if counted_rows.known_max is not None:
        upper += f" if nobody has more than {counted_rows.known_max:,}"
    bound = f"at most {counted_rows.max_contributions:,} {noun} a {counted_rows.per}"
    return [value, f"Counted: {bound}. All {noun}: {lower}, {upper}."]
