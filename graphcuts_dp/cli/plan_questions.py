"""Questions of `plan --ask`, in the order in which they are asked.

`questions` is where to begin: it has a text, a usual answer, a reader and a condition for each.
Longer texts and conditions are functions below, in the order of the questions. Readers are in
`plan_answers`, help is in `plan_help`, and `proposals` makes a command of all answers.
"""

import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from graphcuts_dp.cli import plan_answers
from graphcuts_dp.cli.dialogue import BACK, EXPLAIN, NO, NONE, YES, Answers, AskedQuestion
from graphcuts_dp.cli.plan_answers import (
    DIGITS,
    RESULTS_IN_BUDGET,
    UNITS,
    USUAL_DATE,
    USUAL_EPSILON,
    epsilon_of,
    kinds_of_unit,
    may_have_one_bound,
    nested_levels,
    noise_warning,
    open_problems,
    usual_error,
)
from graphcuts_dp.cli.plan_choices import (
    ALL_TIME,
    CONTINUED_KINDS,
    DIRECTED,
    EVERYBODY,
    GRAPH,
    LINES,
    PAIRS,
    SAME,
    TABLE,
    TEAM,
    TOGETHER,
    TWO,
    USUAL_QUERIES,
    counts_lines,
    has_two_kinds,
    horizon_of,
    is_per_period,
    releases_rows,
    store_of,
    wants_table,
)
from graphcuts_dp.cli.plan_columns import (
    NO_TEXT,
    ROW,
    UNCLEAR,
    column_names,
    endpoint_names,
    first_line,
    is_usual_pair,
    may_have_rows,
    shown_names,
    suggested_column,
)
from graphcuts_dp.cli.plan_help import EXPLANATIONS, NEEDED
from graphcuts_dp.cli.proposals import proposal_of
from graphcuts_dp.confidence import DEFAULT_PERCENT
from graphcuts_dp.display import up_to_digits
from graphcuts_dp.errors import GraphCutsError
from graphcuts_dp.io.files import ending_of
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.schema.columns import Columns
from graphcuts_dp.schema.dates import DATE_EXAMPLES
from graphcuts_dp.schema.group_tables import group_column_names
from graphcuts_dp.schema.periods import Periods
from graphcuts_dp.schema.typed_names import join_names
from graphcuts_dp.session.transcript import store_status

_USUAL_ROWS = 20  # bound on the rows of a person
_TINY_EPSILON = 0.01  # up to this, an error was probably typed with too many digits
# Endings of files that hold pairs by custom, one on each line.
_EDGE_LISTS = (".edges", ".edgelist", ".txt", ".konect")
# The question about the bound of a privacy unit of a graph, and the usual answer.
_BOUNDS: dict[str, tuple[str, int]] = {
    "edge": ("How many edges are protected together?", 1),
    "vertex": ("How many edges of a vertex count, at most?", 50),
}


def questions() -> tuple[AskedQuestion, ...]:
    """Return all questions, in order."""
    return (*_about_data(), *_about_results(), *_about_periods(), *_about_sizes_and_budget())


def _question(
    key: str, text: Callable[[Answers], str], read: Callable[[str, Answers], Any], **options: Any
) -> AskedQuestion:
    """Return a question with its help; those of the right side have the help of the left side."""
    subject = key.removeprefix("right-")
    if subject in NEEDED:
        options["needed"] = NEEDED[subject]
    return AskedQuestion(key=key, text=text, read=read, explain=EXPLANATIONS[subject], **options)


def _about_data() -> tuple[AskedQuestion, ...]:
    """Return the questions about the private file and its rows."""
    return (
        _question(
            "data",
            text=lambda _: f"Which file holds the private data? (or: {NONE})",
            usual=lambda _: NONE,
            read=plan_answers.read_data,
            forecast=_forecast_of_data,
        ),
        _question(
            "header",
            text=lambda _: f"Does the first line hold names of columns? {YES}/{NO}",
            usual=_usual_header,
            read=plan_answers.read_yes_or_no,
            applies=lambda answers: (
                _has_file(answers) and first_line(answers["data"]).kind == UNCLEAR
            ),
        ),
        _question(
            "counted",
            text=lambda _: (
                f"Count every line, such as each mail or each trip ({LINES}), or each pair once, "
                f"however many lines name it ({PAIRS})?"
            ),
            usual=lambda answers: PAIRS if _is_edge_list(answers["data"]) else LINES,
            read=plan_answers.read_counted,
            applies=lambda answers: _has_file(answers) and may_have_rows(answers["data"]),
        ),
        _question(
            "unit",
            text=lambda answers: f"What is protected: {_units_text(answers)}?",
            usual=_usual_unit,
            read=plan_answers.read_unit,
        ),
        _question(
            "user",
            text=lambda answers: (
                f"Which column names the person of each row? {_columns_text(answers)}"
            ),
            usual=lambda answers: suggested_column(answers, "user"),
            read=plan_answers.read_column,
            applies=lambda answers: answers["unit"] == "user" and _has_file(answers),
        ),
        _question(
            "bound",
            text=lambda answers: _BOUNDS[answers["unit"]][0],
            usual=lambda answers: str(_BOUNDS[answers["unit"]][1]),
            read=plan_answers.read_bound,
            applies=lambda answers: answers["unit"] in _BOUNDS,
        ),
        _question(
            "endpoints",
            text=lambda answers: (
                f"Which columns say from where and to where? FROM,TO {_columns_text(answers)}"
            ),
            usual=_usual_endpoints,
            read=plan_answers.read_endpoints,
            applies=_must_name_endpoints,
        ),
        _question(
            "sides",
            text=_text_of_sides,
            usual=lambda answers: "" if column_names(answers) else SAME,
            read=plan_answers.read_sides,
            applies=lambda answers: (
                _has_file(answers) and may_have_rows(answers["data"]) and not is_usual_pair(answers)
            ),
        ),
        _question(
            "directions",
            text=lambda _: (
                f"Does it matter who sends to whom, or from where to where? ({DIRECTED}, or "
                f"{TOGETHER}: both ways count as one; a store keeps to this)"
            ),
            usual=lambda _: DIRECTED,
            read=plan_answers.read_directions,
            applies=_has_columns_of_a_direction,
        ),
    )


def _about_results() -> tuple[AskedQuestion, ...]:
    """Return the questions about what comes out, and for whom."""
    return (
        _question(
            "who",
            text=lambda _: (
                "Who shall see answers: everybody (a published result), analysts "
                "(questions one by one), team (the same in a browser)?"
            ),
            usual=lambda _: EVERYBODY,
            read=plan_answers.read_who,
        ),
        _question(
            "product",
            text=lambda _: (
                f"What shall come out: {TABLE} (how much passes between groups), "
                f"{GRAPH} (a synthetic network)?"
            ),
            usual=lambda answers: TABLE if answers["unit"] == "user" else GRAPH,
            read=plan_answers.read_product,
            applies=_may_have_a_table_or_a_graph,
        ),
        _question(
            "queries",
            text=lambda _: "About how many questions will be asked in all?",
            usual=lambda _: str(USUAL_QUERIES),
            read=plan_answers.read_queries,
            applies=lambda answers: answers["who"] != EVERYBODY,
        ),
        _question(
            "groups",
            text=_text_of_groups,
            usual=lambda answers: "" if _needs_groups(answers) else NONE,
            read=plan_answers.read_groups,
            applies=_has_file,
        ),
        _question(
            "levels",
            text=lambda _: "Which columns are groups, coarsest first, with slashes between?",
            usual=lambda answers: _usual_levels(answers["groups"]),
            read=plan_answers.read_levels,
            applies=lambda answers: _has_levels(answers.get("groups")),
        ),
        _question(
            "right-groups",
            text=lambda answers: f"And which public table lists {_right_side_text(answers)}?",
            read=plan_answers.read_right_groups,
            applies=has_two_kinds,
        ),
        _question(
            "right-levels",
            text=lambda _: "Which of its columns are groups, coarsest first, with slashes between?",
            usual=lambda answers: _usual_levels(answers["right-groups"]),
            read=plan_answers.read_right_levels,
            applies=lambda answers: _has_levels(answers.get("right-groups")),
        ),
    )


def _about_periods() -> tuple[AskedQuestion, ...]:
    """Return the questions about dates and periods."""
    return (
        _question(
            "period",
            text=lambda answers: (
                f"Which column has the date? {_columns_text(answers)} (or: {NONE})"
            ),
            usual=lambda answers: suggested_column(answers, "period") or NONE,
            read=plan_answers.read_period_column,
            applies=releases_rows,
        ),
        _question(
            "periods",
            text=lambda _: "Which months, days or years shall the table have? As 2026-01..2026-12",
            read=plan_answers.read_periods,
            applies=lambda answers: answers.get("period") is not None,
        ),
        _question(
            "date-format",
            text=lambda _: (
                f"How are dates written? {USUAL_DATE} (with or without a time), "
                + ", ".join(DATE_EXAMPLES.values())
            ),
            usual=lambda _: USUAL_DATE,
            read=plan_answers.read_date_format,
            applies=_has_dates_in_text,
        ),
        _question(
            "continued",
            text=_text_of_continued,
            usual=lambda _: NO,
            read=plan_answers.read_continued,
            applies=_may_be_continued,
            forecast=_forecast_of_continued,
        ),
    )


def _about_sizes_and_budget() -> tuple[AskedQuestion, ...]:
    """Return the questions about rows left out, sizes, errors and the budget."""
    return (
        _question(
            "on-bad",
            text=lambda _: (
                "If rows cannot be used, as of a place that is not listed: refuse the "
                "file, or skip them?"
            ),
            usual=lambda _: "refuse",
            read=plan_answers.read_on_bad,
            applies=releases_rows,
        ),
        _question(
            "vertices",
            text=_text_of_vertices,
            read=plan_answers.read_size,
            applies=lambda answers: answers.get("groups") is None,
        ),
        _question(
            "known-max",
            text=lambda answers: (
                f"Is it publicly known that nobody has more than some number of rows"
                f"{_scope_of_bound(answers)}? That number (or: {NONE})"
            ),
            usual=lambda _: NONE,
            read=plan_answers.read_known_max,
            applies=lambda answers: answers["unit"] == "user" and _has_file(answers),
        ),
        _question(
            "rows",
            text=_text_of_rows,
            usual=lambda answers: str(min(answers.get("known-max") or _USUAL_ROWS, _USUAL_ROWS)),
            read=plan_answers.read_rows,
            applies=lambda answers: answers["unit"] == "user",
            forecast=_forecast_of_rows,
        ),
        _question(
            "guess",
            text=_text_of_guess,
            usual=lambda _: NONE,
            read=plan_answers.read_guess,
            applies=_has_file,
        ),
        _question(
            "epsilon",  # an error is typed, and the answer is the least epsilon that keeps it
            text=_text_of_error,
            usual=lambda answers: f"{usual_error(answers)[0]:g}",
            read=plan_answers.read_epsilon_of_error,
            forecast=_forecast_of_error,
        ),
        _question(
            "budget",
            text=lambda answers: (
                f"This uses up epsilon = {epsilon_of(answers):g}. How much may all results of "
                "these data use up together, for ever?"
            ),
            usual=lambda answers: f"{RESULTS_IN_BUDGET * epsilon_of(answers):g}",
            read=plan_answers.read_budget,
            applies=_has_a_new_store,
        ),
    )


def _has_file(answers: Answers) -> bool:
    return answers["data"] is not None


def _forecast_of_data(answers: Answers) -> str:
    """Return what the store of the file has left, if there is one."""
    if not _has_file(answers) or not Path(store_of(answers)).is_file():
        return ""
    try:
        status = store_status(Store(store_of(answers)))
    except GraphCutsError:  # the file is no store, which the command will say
        return ""
    spent = f"The store {store_of(answers)} has spent epsilon = {status.epsilon:g} on these data"
    if status.left is None:
        return f"{spent}, and has no budget."
    return f"{spent}: {status.left:g} is left."


def _usual_header(answers: Answers) -> str:
    """Return yes if a name in the first line is usual, no if the line holds numbers, else ""."""
    line = first_line(answers["data"])
    if line.usual:
        return YES
    return "" if line.names else NO


def _is_edge_list(path: str) -> bool:
    """Return whether a file is a list of edges by its name, not a table."""
    return Path(path).is_file() and ending_of(path) in _EDGE_LISTS


def _units_text(answers: Answers) -> str:
    """Return the privacy units that can be chosen, each in a few words."""
    return ", ".join(f"{kind} ({UNITS[kind]})" for kind in kinds_of_unit(answers))


def _usual_unit(answers: Answers) -> str:
    if suggested_column(answers, "user"):
        return "user"
    return "row" if answers.get("counted") == LINES else "edge"


def _columns_text(answers: Answers) -> str:
    """Return how a column is typed."""
    shown = shown_names(answers)
    if shown:
        return f"({', '.join(shown)}, or a number)"
    return "(its name, or its number from 1)" if column_names(answers) else "(its number from 1)"


def _usual_endpoints(answers: Answers) -> str:
    """Return the first two columns that name no person if the file has no header, else ""."""
    if answers.get("header") != NO and first_line(answers["data"]).kind != ROW:
        return ""
    free = [number for number in ("1", "2", "3") if number != answers.get("user")]
    return ",".join(free[:2])


def _must_name_endpoints(answers: Answers) -> bool:
    """Return whether the head leaves open which columns are the endpoints."""
    if not _has_file(answers):
        return False
    if answers.get("header") == NO:
        return True
    if first_line(answers["data"]).kind == ROW:
        return answers["unit"] in ("user", "row")  # a graph has the first two columns
    return bool(open_problems(answers))


def _text_of_sides(answers: Answers) -> str:
    names = endpoint_names(answers)
    endpoints = "the two endpoints of a line" if names is None else f"{names[0]} and {names[1]}"
    return (
        f"Are {endpoints} of the same kind, as people and people ({SAME}), or of two kinds, as "
        f"users and films ({TWO})?"
    )


def _has_columns_of_a_direction(answers: Answers) -> bool:
    """Return whether the header names two columns as a sender and a recipient, say."""
    return is_usual_pair({"data": answers.get("data"), "header": answers.get("header")})


def _may_have_a_table_or_a_graph(answers: Answers) -> bool:
    """Return whether a table as well as a synthetic graph can be published."""
    has_both = answers["unit"] in ("edge", "user")
    return _has_file(answers) and answers["who"] == EVERYBODY and has_both


def _text_of_groups(answers: Answers) -> str:
    if has_two_kinds(answers):
        return f"Which public table lists {_left_side_text(answers)}?"
    question = "Which public table lists the places or people, with their groups?"
    return question if wants_table(answers) else f"{question} (or: {NONE})"


def _left_side_text(answers: Answers) -> str:
    """Return what the table of groups of the left side lists."""
    names = endpoint_names(answers)
    return "where lines go from" if names is None else f"every {names[0]}, with its group"


def _right_side_text(answers: Answers) -> str:
    """Return what the table of groups of the right side lists."""
    names = endpoint_names(answers)
    return "where lines go to" if names is None else f"every {names[1]}, with its group"


def _needs_groups(answers: Answers) -> bool:
    return wants_table(answers) or has_two_kinds(answers)


def _has_levels(path: str | None) -> bool:
    """Return whether a table has several columns that may be groups; False for no table."""
    return path is not None and len(group_column_names(path, Columns())) > 1


def _usual_levels(path: str) -> str:
    return join_names(next(nested_levels(path)), "/")


def _has_dates_in_text(answers: Answers) -> bool:
    """Return whether the column of periods holds dates as text, not names or stored dates."""
    periods = answers.get("periods")
    if periods is None or Periods.of(periods).by == "period":
        return False
    return first_line(answers["data"]).kind != NO_TEXT


def _may_be_continued(answers: Answers) -> bool:
    """Return whether further periods may follow, or further rows of a file with dates."""
    periods = answers.get("periods")
    if periods is None:
        return bool(suggested_column(answers, "period"))
    return Periods.of(periods).by in CONTINUED_KINDS


def _text_of_continued(answers: Answers) -> str:
    """Return the question whether more follows, with the effect of each answer."""
    if answers.get("periods") is None:
        return f"Will you publish results of further rows, as of later months, too? {YES}/{NO}"
    by = Periods.of(answers["periods"]).by
    question = f"Will you publish further {by}s later?"
    if answers["unit"] != "user":
        effect = f"a line is in one {by}, so that later ones need no more budget"
        return f"{question} {YES}/{NO} ({YES}: {effect})"
    effect = (
        f"each {by} has a guarantee of its own, and a person who is there in k {by}s is hidden "
        "k times less: k times epsilon"
    )
    if not may_have_one_bound(answers):
        return f"{question} {YES}/{NO} ({YES}: {effect})"
    return (
        f"{question} {YES}/{NO}/{ALL_TIME} ({YES}: {effect}; {ALL_TIME}: one guarantee for all "
        f"{by}s of the year, and one bound on the rows of a person in them, so that whoever has "
        f"used it up is missing in later {by}s)"
    )


def _forecast_of_continued(answers: Answers) -> str:
    """Return which periods the command will declare, or where later results are charged."""
    if not answers["continued"]:
        return ""
    if answers.get("periods") is None:
        return (
            "Later results of the same people are charged to the same store, by --same-people-as: "
            "leave some of the budget for them."
        )
    horizon = cast(str, horizon_of(answers))
    first, last = Periods.of(answers["periods"]).labels[0], Periods.of(horizon).labels[-1]
    more = "the rest of the year" if answers["continued"] == ALL_TIME else "years to come"
    return (
        f"The command will have --periods {first}..{last}: what you typed, and {more}, "
        f"since a store can add no periods later. {first} is published first, the others after it."
    )


def _text_of_vertices(answers: Answers) -> str:
    if not _has_file(answers):
        return "How many vertices are there? (if that is public)"
    return (
        "Which public file lists the people or places, one on each line? (or their number, if they "
        "are called 0, 1, 2, ...)"
    )


def _text_of_rows(answers: Answers) -> str:
    """Return the question about the bound on rows, with a rule of thumb for many periods."""
    rule = ""
    if answers.get("continued") == ALL_TIME:
        declared = Periods.of(cast(str, horizon_of(answers)))
        rule = (
            f" About {len(declared.labels)} times those of a regular person in one {declared.by}, "
            f"or later {declared.by}s show a decline that is none."
        )
    return (
        f"At most how many rows of one person shall count{_scope_of_bound(answers)}?{rule} More "
        "are left out; twice the number is twice the noise. "
        f"({EXPLAIN} shows a command that estimates it)"
    )


def _scope_of_bound(answers: Answers) -> str:
    """Return in which periods rows of a person are bounded, as the end of a question."""
    if answers.get("periods") is None:
        return ""
    return " in each period" if is_per_period(answers) else " in all periods together"


def _forecast_of_rows(answers: Answers) -> str:
    """Return how exact the numbers will be with the bound that was answered."""
    with suppress(GraphCutsError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about an epsilon that nobody chose
        proposal = proposal_of(answers)
        error = up_to_digits(proposal.error_at(USUAL_EPSILON), DIGITS)
        return (
            f"With epsilon = {USUAL_EPSILON:g}, {proposal.error_of} may then be off by "
            f"{error:,g} {proposal.counted_items} ({DEFAULT_PERCENT})."
        )
    return ""


def _text_of_guess(answers: Answers) -> str:
    counted = "rows" if counts_lines(answers) else "edges"
    return (
        f"About how many {counted} are there? A guess that may be public, for the forecast "
        f"(or: {NONE})"
    )


def _text_of_error(answers: Answers) -> str:
    """Return the question about the error, with an example unless every answer is useless."""
    proposal = proposal_of(answers)
    question = f"How far may {proposal.error_of} be off?"
    with suppress(GraphCutsError):
        error, epsilon = usual_error(answers)
        question += f" With epsilon = {epsilon:g}: {error:,g} {proposal.counted_items}."
    return question


def _forecast_of_error(answers: Answers) -> str:
    """Return which epsilon the error takes if noise would hide most of the result, else "".

    This also shows slips, such as an error that was typed with three digits too many.
    """
    epsilon = epsilon_of(answers)
    if epsilon <= _TINY_EPSILON:
        return (
            f"That takes epsilon = {epsilon:g} alone: so large an error may hide the whole result. "
            f"If that is not meant, go {BACK}."
        )
    warning = noise_warning(proposal_of(answers), epsilon)
    return f"That takes epsilon = {epsilon:g}, and {warning} Or go {BACK}." if warning else ""


def _has_a_new_store(answers: Answers) -> bool:
    """Return whether the command creates a store, so that its budget is to be chosen."""
    if not _has_file(answers) or answers["who"] == TEAM:
        return False
    return not os.path.exists(store_of(answers))  # noqa: PTH110  # false for names too long, too
