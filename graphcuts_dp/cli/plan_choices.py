"""Meaning of the answers of `plan --ask`: the privacy unit, the product, and options to type.

Answers are values by the key of their question, see `plan_questions`. Functions here are also
called before all questions are answered: what is missing is then taken as left open.
"""

from dataclasses import replace
from typing import cast

from graphcuts_dp.cli.dialogue import NO, YES, Answers
from graphcuts_dp.cli.group_reading import GroupColumns, GroupFile
from graphcuts_dp.cli.inspect_data import ignores_weights, inspect_head, needs_bound
from graphcuts_dp.cli.plan_columns import NAMES, first_line
from graphcuts_dp.cli.reading import Reading
from graphcuts_dp.privacy.privacy_unit import BOUND_KEYS, PrivacyUnit, UnitKind
from graphcuts_dp.schema.columns import Column, Columns, column_of
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.schema.periods import Periods
from graphcuts_dp.schema.typed_names import join_names
from graphcuts_dp.schema.vertices import VertexSet

EVERYBODY, ANALYSTS, TEAM = WHO = ("everybody", "analysts", "team")  # who sees answers
TABLE, GRAPH = PRODUCTS = ("table", "graph")  # results that everybody may see
DIRECTED, TOGETHER = "directed", "together"  # how both directions of a pair count
LINES, PAIRS = "lines", "pairs"  # what counts of a file with rows
SAME, TWO = "same", "two"  # whether both endpoints are of one kind or of two
# The answer that further periods follow, with one bound on the rows of a person in all of them.
ALL_TIME = "all"
USUAL_QUERIES = 50  # number of questions of analysts if nobody answers how many
_YEARS_TO_COME = 4  # years for which a table by period is proposed, after that of its last period
# The last part of a year, by the kind of periods; days and names cannot be continued.
_LAST_PARTS_OF_YEAR = {"year": "", "quarter": "-Q4", "month": "-12"}
CONTINUED_KINDS = tuple(_LAST_PARTS_OF_YEAR)
_COLUMN_ROLES = ("source", "target", "user", "period")  # keys of --columns that pick a column


def unit_of(answers: Answers) -> PrivacyUnit:
    """Return the privacy unit with its bound."""
    kind = cast(UnitKind, answers["unit"])
    if kind == "row":
        return PrivacyUnit.row()
    bound = answers["rows" if kind == "user" else "bound"]
    per_period = ",per-period" if kind == "user" and is_per_period(answers) else ""
    return PrivacyUnit.of(f"{kind}:{BOUND_KEYS[kind]}={bound}{per_period}")


def wants_table(answers: Answers) -> bool:
    """Return whether a table for everybody is chosen, or may still be."""
    who, product = answers.get("who", EVERYBODY), answers.get("product", TABLE)
    return (who, product) == (EVERYBODY, TABLE)


def is_table(answers: Answers) -> bool:
    """Return whether a table of flows is released; False until its groups are named."""
    return wants_table(answers) and bool(answers.get("groups"))


def releases_rows(answers: Answers) -> bool:
    """Return whether the result is a table of rows, not of edges; False until groups are named."""
    return is_table(answers) and answers["unit"] in ("user", "row")


def counts_lines(answers: Answers) -> bool:
    """Return whether every line counts, not each pair once."""
    return releases_rows(answers) and answers.get("counted") != PAIRS


def has_two_kinds(answers: Answers) -> bool:
    """Return whether the two endpoints are of two kinds, such as users and films."""
    return answers.get("sides") == TWO


def is_continued(answers: Answers) -> bool:
    """Return whether further periods of a table will be published."""
    return bool(answers.get("continued")) and answers.get("periods") is not None


def is_per_period(answers: Answers) -> bool:
    """Return whether a person has a bound and a guarantee for each period."""
    return is_continued(answers) and answers["continued"] != ALL_TIME


def horizon_of(answers: Answers) -> str | None:
    """Return the periods to declare, as they are typed; None if there are none.

    If the table is continued, they end with a year: with the last one that was answered if one
    bound is for all periods, since it grows with their number, else `_YEARS_TO_COME` later.
    """
    typed: str | None = answers.get("periods")
    if typed is None or not is_continued(answers):
        return typed
    periods = Periods.of(typed)
    first, last = periods.labels[0], periods.labels[-1]
    years = 0 if answers["continued"] == ALL_TIME else _YEARS_TO_COME
    last_year = min(int(last[:4]) + years, 9999)
    return f"{first}..{last_year:04}{_LAST_PARTS_OF_YEAR[periods.by]}"


def store_of(answers: Answers) -> str:
    """Return the name of the store that keeps account of the private file."""
    return f"{answers['data'].rstrip('/')}.db"


def store_words(answers: Answers) -> list[str]:
    """Return the options that charge a store, with the budget of a new one."""
    words, budget = ["--store", store_of(answers)], answers.get("budget")
    return words if budget is None else [*words, "--budget", f"{budget:g}"]


def reading_of(answers: Answers) -> Reading:
    """Return how the private file is read."""
    typed, vertices = _typed_columns(answers), answers.get("vertices")
    picks = {role: column_of(typed[role]) for role in _COLUMN_ROLES if role in typed}
    columns = Columns(
        source=picks.get("source"),
        target=picks.get("target"),
        user=picks.get("user"),
        period=picks.get("period"),
        header={YES: True, NO: False}.get(typed.get("header", "")),
        date_format=typed.get("date-format"),
    )
    directions = answers.get("directions", DIRECTED if releases_rows(answers) else TOGETHER)
    one_kind = "directed" if directions == DIRECTED else "undirected"
    counting = None
    if releases_rows(answers):
        counting = "rows" if counts_lines(answers) else "edges"
    elif columns.user is not None:
        counting = "edges"
    reading = Reading(
        columns=columns,
        vertices=None if vertices is None else vertices[0],
        periods=answers.get("periods"),
        kind="bipartite" if has_two_kinds(answers) else one_kind,
        counting=counting,
    )
    if counting is None:  # a graph, whose edges count once each
        head = inspect_head(answers["data"], reading).head
        may_have_weights = needs_bound(head, reading) or ignores_weights(head, reading)
        reading = replace(reading, ignore_weights=may_have_weights)
    return reading


def reading_words(answers: Answers) -> list[str]:
    """Return the options of `reading_of` as they are typed, with all periods to declare."""
    reading, typed = reading_of(answers), _typed_columns(answers)
    words = _typed_keys("--columns", typed)
    is_implied = reading.counting == "rows" and not typed.keys().isdisjoint({"user", "period"})
    options = {
        "--kind": None if reading.kind == "undirected" else reading.kind,
        "--counting": None if is_implied else reading.counting,
        "--periods": horizon_of(answers),
        "--vertices": reading.vertices,
    }
    for option, value in options.items():
        words += [option, value] if value is not None else []
    return [*words, *["--ignore-weights"] * reading.ignore_weights]


def _typed_columns(answers: Answers) -> dict[str, str]:
    """Return the keys of --columns with their values as they are typed."""
    source, target = answers.get("endpoints", (None, None))
    values = {
        "header": answers.get("header"),
        "source": source,
        "target": target,
        "user": answers.get("user"),
    }
    if releases_rows(answers):
        values |= {key: answers.get(key) for key in ("period", "date-format", "on-bad")}
    is_numbered = any(str(values.get(role)).isdigit() for role in _COLUMN_ROLES)
    if is_numbered and values["header"] is None and first_line(answers["data"]).kind == NAMES:
        values["header"] = YES  # has to be typed if columns are picked by number
    return {key: str(value) for key, value in values.items() if value}


def grouping_of(answers: Answers) -> GroupFile:
    """Return how the public groups are read."""
    columns = GroupColumns(
        levels=_columns_named(answers.get("levels")),
        right_levels=_columns_named(answers.get("right-levels")),
    )
    return GroupFile(
        groups=answers["groups"],
        right_groups=answers.get("right-groups"),
        groups_columns=columns,
    )


def grouping_words(answers: Answers) -> list[str]:
    """Return the options of `grouping_of` as they are typed, but for the first table."""
    levels = {key: answers.get(key) for key in ("levels", "right-levels")}
    words = _typed_keys(
        "--groups-columns",
        {key: join_names(names, "/") for key, names in levels.items() if names is not None},
    )
    right = answers.get("right-groups")
    return words if right is None else [*words, "--right-groups", right]


def groups_of(answers: Answers, *, right: bool = False) -> Groups:
    """Return the public groups; of the left or of the right side if there are two.

    Raises:
        FileFormatError, GraphError: as `GroupFile.read`.
    """
    side = "right-" if right else ""
    columns = GroupColumns(levels=_columns_named(answers.get(f"{side}levels")))
    grouping = GroupFile(groups=answers[f"{side}groups"], groups_columns=columns)
    return cast(Groups, grouping.read(cast(VertexSet, grouping.space(bipartite=False))))


def _columns_named(names: list[str] | None) -> list[Column] | None:
    return None if names is None else [column_of(name) for name in names]


def _typed_keys(option: str, values: dict[str, str]) -> list[str]:
    r"""Return an option with keys as it is typed, with "\," for commas in values."""
    typed = ",".join(f"{key}={value.replace(',', chr(92) + ',')}" for key, value in values.items())
    return [option, typed] if typed else []
