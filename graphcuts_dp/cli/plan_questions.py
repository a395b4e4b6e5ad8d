"""The questions of `plan --ask`, in order, and how their answers are read.

`questions` is where to begin; each reader below it makes a value of what was typed, or says what is
wrong with it. `proposals` makes a command of all answers.
"""

import math
import os
import shlex
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from graphcuts_dp.cli.dialogue import BACK, EXPLAIN, Answers, AskedQuestion
from graphcuts_dp.cli.inspect_data import advice, head_of
from graphcuts_dp.cli.proposals import (
    DIRECTED,
    EVERYBODY,
    GRAPH,
    LINES,
    NO_TEXT,
    PAIRS,
    PRODUCTS,
    ROW,
    TABLE,
    TEAM,
    TOGETHER,
    UNCLEAR,
    WHO,
    Proposal,
    counts_lines,
    estimate_of_bound,
    first_line,
    groups_of,
    is_rows,
    lists_vertices,
    may_have_rows,
    proposal_of,
    reading_of,
    store_of,
)
from graphcuts_dp.cli.reading import Reading
from graphcuts_dp.confidence import DEFAULT_PERCENT
from graphcuts_dp.display import up_to_digits
from graphcuts_dp.errors import FileFormatError, GraphCutsError, ParameterError
from graphcuts_dp.io.files import ending_of, read_vertices
from graphcuts_dp.planning.planner import least_epsilon
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON
from graphcuts_dp.privacy.privacy_unit import BOUND_KEYS, PrivacyUnit
from graphcuts_dp.schema.column_names import normalised_names
from graphcuts_dp.schema.columns import Columns
from graphcuts_dp.schema.dates import DATE_EXAMPLES, check_date_format
from graphcuts_dp.schema.group_tables import group_column_names
from graphcuts_dp.schema.header_words import endpoint_pairs
from graphcuts_dp.schema.periods import Periods
from graphcuts_dp.schema.table_headers import suggested_columns
from graphcuts_dp.schema.typed_names import join_names, split_names

NONE, ISO, YES, NO = "none", "2026-01-31", "yes", "no"
_USUAL_EPSILON = 1.0  # of the error that is proposed, where it is any use
_ROOM = 2  # results like the first one that a proposed budget has room for
DIGITS = 3  # significant ones of an advised epsilon, which is rounded up
# Words for privacy units beside those of the command line.
_TYPED_WORDS = ("person", "people", "trip", "link", "place")
_UNIT_WORDS = dict(zip(_TYPED_WORDS, ("user", "user", "row", "edge", "vertex"), strict=True))
_UNITS = {
    "user": "a person, with all lines",
    "row": "a single line, such as a trip",
    "edge": "whether two are linked at all",
    "vertex": "a place or a member, with all links; no synthetic graph is possible then",
}
_EDGE_LISTS = (".edges", ".edgelist", ".txt", ".konect")  # of pairs, by custom
_USUAL_ROWS = 20  # of a person, at most
# The question about the bound of a privacy unit of a graph, and the default.
_BOUNDS: dict[str, tuple[str, int]] = {
    "edge": ("How many edges are protected together?", 1),
    "vertex": ("How many edges of a vertex count, at most?", 50),
}


def questions() -> tuple[AskedQuestion, ...]:
    """Return all questions, in order."""

    def table(answers: Answers) -> bool:
        return answers["data"] is not None and answers["who"] == EVERYBODY and is_rows(answers)

    return (
        AskedQuestion(
            key="data",
            text=lambda _: f"Which file holds the private data? (or: {NONE})",
            usual=lambda _: NONE,
            read=_read_data,
        ),
        AskedQuestion(
            key="header",
            text=lambda _: f"Does the first line hold names of columns? {YES}/{NO}",
            usual=_usual_header,
            read=_read_yes_or_no,
            applies=lambda answers: (
                answers["data"] is not None and first_line(answers["data"]).kind == UNCLEAR
            ),
        ),
        AskedQuestion(
            key="counted",
            text=lambda _: (
                f"Count every line, such as each mail or each trip ({LINES}), or each pair once, "
                f"however many lines name it ({PAIRS})?"
            ),
            usual=lambda answers: LINES if _has_columns_of_a_table(answers["data"]) else PAIRS,
            read=_read_counted,
            applies=lambda answers: answers["data"] is not None and may_have_rows(answers["data"]),
        ),
        AskedQuestion(
            key="unit",
            text=lambda answers: f"What is protected: {_units_text(answers)}?",
            usual=_usual_unit,
            read=_read_unit,
        ),
        AskedQuestion(
            key="user",
            text=lambda answers: (
                f"Which column names the person of each row? {_columns_text(answers)}"
            ),
            usual=lambda answers: _suggested(answers, "user"),
            read=_read_column,
            applies=lambda answers: answers["unit"] == "user" and answers["data"] is not None,
        ),
        AskedQuestion(
            key="bound",
            text=lambda answers: _BOUNDS[answers["unit"]][0],
            usual=lambda answers: str(_BOUNDS[answers["unit"]][1]),
            read=_read_bound,
            applies=lambda answers: answers["unit"] in _BOUNDS,
        ),
        AskedQuestion(
            key="endpoints",
            text=lambda answers: (
                f"Which columns say from where and to where? FROM,TO {_columns_text(answers)}"
            ),
            usual=_usual_endpoints,
            read=_read_endpoints,
            applies=_asks_endpoints,
        ),
        AskedQuestion(
            key="directions",
            text=lambda _: (
                f"Does it matter who sends to whom, or from where to where? ({DIRECTED}, or "
                f"{TOGETHER}: both ways count as one; a store keeps to this)"
            ),
            usual=lambda _: DIRECTED,
            read=_read_directions,
            applies=_asks_directions,
        ),
        AskedQuestion(
            key="who",
            text=lambda _: (
                "Who shall see answers: everybody (a published result), analysts "
                "(questions one by one), team (the same in a browser)?"
            ),
            usual=lambda _: EVERYBODY,
            read=_read_who,
        ),
        AskedQuestion(
            key="product",
            text=lambda _: (
                f"What shall come out: {TABLE} (how much passes between groups), "
                f"{GRAPH} (a synthetic network)?"
            ),
            usual=lambda answers: TABLE if answers["unit"] == "user" else GRAPH,
            read=_read_product,
            applies=_asks_product,
        ),
        AskedQuestion(
            key="groups",
            text=lambda answers: (
                "Which public table lists the places or people, with their groups?"
                + ("" if _wants_table(answers) else f" (or: {NONE})")
            ),
            usual=lambda answers: "" if _wants_table(answers) else NONE,
            read=_read_groups,
            applies=lambda answers: answers["data"] is not None,
        ),
        AskedQuestion(
            key="levels",
            text=lambda _: "Which columns are groups, coarsest first, with slashes between?",
            usual=_usual_levels,
            read=_read_levels,
            applies=lambda answers: (
                answers.get("groups") is not None
                and len(group_column_names(answers["groups"], Columns())) > 1
            ),
        ),
        AskedQuestion(
            key="period",
            text=lambda answers: (
                f"Which column has the date? {_columns_text(answers)} (or: {NONE})"
            ),
            usual=lambda answers: _suggested(answers, "period") or NONE,
            read=_read_period_column,
            applies=table,
        ),
        AskedQuestion(
            key="periods",
            text=lambda _: "Which months, days or years shall the table have? As 2026-01..2026-12",
            read=_read_periods,
            applies=lambda answers: answers.get("period") is not None,
        ),
        AskedQuestion(
            key="date-format",
            text=lambda _: (
                f"How are dates written? {ISO} (with or without a time), "
                + ", ".join(DATE_EXAMPLES.values())
            ),
            usual=lambda _: ISO,
            read=_read_date_format,
            applies=lambda answers: (
                answers.get("period") is not None and first_line(answers["data"]).kind != NO_TEXT
            ),
        ),
        AskedQuestion(
            key="continued",
            text=lambda answers: (
                f"Will you publish further {Periods.of(answers['periods']).by}s later? {YES}/{NO}"
            ),
            usual=lambda _: NO,
            read=lambda text, answers: _read_yes_or_no(text, answers) == YES,
            applies=_asks_whether_continued,
        ),
        AskedQuestion(
            key="on-bad",
            text=lambda _: (
                "If rows cannot be used, as of a place that is not listed: refuse the "
                "file, or skip them?"
            ),
            usual=lambda _: "refuse",
            read=_read_on_bad,
            applies=table,
        ),
        AskedQuestion(
            key="vertices",
            text=_text_of_vertices,
            read=_read_vertices,
            applies=lambda answers: answers.get("groups") is None,
        ),
        AskedQuestion(
            key="rows",
            text=_text_of_rows,
            usual=lambda _: str(_USUAL_ROWS),
            read=_read_rows,
            applies=lambda answers: answers["unit"] == "user",
            explain=_explain_rows,
            forecast=_forecast_of_rows,
        ),
        AskedQuestion(
            key="guess",
            text=_text_of_guess,
            usual=lambda _: NONE,
            read=_read_guess,
            applies=lambda answers: answers["data"] is not None,
        ),
        AskedQuestion(
            key="epsilon",
            text=_text_of_error,
            usual=lambda answers: f"{_usual_error(answers)[0]:g}",
            read=_read_error,
        ),
        AskedQuestion(
            key="budget",
            text=lambda answers: (
                f"This uses up epsilon = {epsilon_of(answers):g}. How much may all results of "
                "these data use up together, for ever?"
            ),
            usual=lambda answers: f"{_ROOM * epsilon_of(answers):g}",
            read=_read_budget,
            applies=_asks_budget,
        ),
    )


def epsilon_of(answers: Answers) -> float:
    """Return the epsilon that the answers lead to."""
    epsilon: float = answers["epsilon"]
    return epsilon


def _names(answers: Answers) -> tuple[str, ...]:
    """Return the names of the columns of the private file, from its head.

    They are empty if its first line is a row, or holds a number.
    """
    path = answers.get("data")
    if path is None or answers.get("header") == NO:
        return ()
    return first_line(path).names


def _shown_names(answers: Answers) -> tuple[str, ...]:
    """Return those of the names that may be shown."""
    return first_line(answers["data"]).shown if _names(answers) else ()


def _suggested(answers: Answers, role: str) -> str:
    return suggested_columns(_shown_names(answers) if answers["data"] else ()).get(role, "")


def _read_yes_or_no(text: str, _: Answers) -> str:
    if text not in (YES, NO):
        raise ParameterError(f"{text!r:.60} is neither {YES} nor {NO}")
    return text


def _read_directions(text: str, _: Answers) -> str:
    if text not in (DIRECTED, TOGETHER):
        raise ParameterError(f"{text!r:.60} is neither {DIRECTED} nor {TOGETHER}")
    return text


def _asks_directions(answers: Answers) -> bool:
    """Return whether the names of columns are of a direction, such as sender and recipient."""
    words = normalised_names(_names(answers))
    return bool(endpoint_pairs(words, range(len(words))))


def _asks_whether_continued(answers: Answers) -> bool:
    """Return whether the periods of a table can be followed by others of their kind."""
    periods = answers.get("periods")
    return periods is not None and Periods.of(periods).by in ("month", "quarter", "year")


def _usual_header(answers: Answers) -> str:
    """Return yes if a name in the first line is usual, no if it holds numbers."""
    line = first_line(answers["data"])
    if line.usual:
        return YES
    return "" if line.names else NO


def _columns_text(answers: Answers) -> str:
    """Return how columns are typed."""
    shown = _shown_names(answers)
    if shown:
        return f"({', '.join(shown)}, or a number)"
    return "(its name, or its number from 1)" if _names(answers) else "(its number from 1)"


def _read_data(text: str, _: Answers) -> str | None:
    if text == NONE:
        return None
    path = os.path.expanduser(text)  # noqa: PTH111  # the shell does not expand it in quotes
    if path.startswith("-"):  # which a command would take for an option
        path = os.path.join(".", path)  # noqa: PTH118  # a Path would drop the dot
    head_of(path, Reading())
    return path


def _read_counted(text: str, _: Answers) -> str:
    if text not in (LINES, PAIRS):
        raise ParameterError(f"{text!r:.60} is neither {LINES} nor {PAIRS}")
    return text


def _has_columns_of_a_table(path: str) -> bool:
    """Return whether a file is a table by its name, not a list of edges."""
    return not Path(path).is_file() or ending_of(path) not in _EDGE_LISTS


def _units_text(answers: Answers) -> str:
    """Return the privacy units that can be chosen, each in a few words."""
    return ", ".join(f"{kind} ({_UNITS[kind]})" for kind in _kinds_of_unit(answers))


def _kinds_of_unit(answers: Answers) -> tuple[str, ...]:
    """Return the privacy units of what counts."""
    return ("user", "row") if answers.get("counted") == LINES else ("edge", "user", "vertex")


def _read_unit(text: str, answers: Answers) -> str:
    kind, kinds = _UNIT_WORDS.get(text, text), _kinds_of_unit(answers)
    if kind in kinds:
        return kind
    if kind in _UNITS and answers.get("counted") is not None:
        other, counts = (PAIRS, "every line counts") if "row" in kinds else (LINES, "a pair counts")
        raise ParameterError(
            f"where {counts}, {' or '.join(kinds)} is protected: for {kind} go back ({BACK}) and "
            f"choose {other}"
        )
    raise ParameterError(f"{text!r:.60} is none of {', '.join(kinds)}")


def _read_column(text: str, answers: Answers) -> str:
    names, shown = _names(answers), _shown_names(answers)
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None
    if text in names:
        return text
    if number is not None and 0 < number <= (len(names) or number):
        return text
    known = f"{', '.join(shown)}, or numbers from 1" if shown else "numbers from 1"
    raise ParameterError(f"{text!r:.60} is no column; there are {known}")


def _read_period_column(text: str, answers: Answers) -> str | None:
    return None if text == NONE else _read_column(text, answers)


def _usual_endpoints(answers: Answers) -> str:
    """Return the first two columns that name nobody, of a file without names."""
    if answers.get("header") != NO and first_line(answers["data"]).kind != ROW:
        return ""
    free = [number for number in ("1", "2", "3") if number != answers.get("user")]
    return ",".join(free[:2])


def _asks_endpoints(answers: Answers) -> bool:
    """Return whether the head leaves open which columns are the endpoints."""
    if answers["data"] is None:
        return False
    if answers.get("header") == NO:
        return True
    if first_line(answers["data"]).kind == ROW:  # the first two columns, but of rows
        return answers["unit"] in ("user", "row")
    return bool(_problems(answers))


def _read_endpoints(text: str, answers: Answers) -> tuple[str, ...]:
    columns = tuple(_read_column(name, answers) for name in split_names(text))
    if len(columns) != 2:
        raise ParameterError("name two columns with a comma between, FROM,TO")
    problems = _problems({**answers, "endpoints": columns})
    if problems:
        raise ParameterError(problems[0])
    return columns


def _problems(answers: Answers) -> list[str]:
    """Return what the head of the private file leaves open."""
    path = answers["data"]
    return [advice(problem, path) for problem in head_of(path, reading_of(answers))[2]]


def _read_bound(text: str, answers: Answers) -> int:
    bound = _whole(text)
    PrivacyUnit.of(f"{answers['unit']}:{BOUND_KEYS[answers['unit']]}={bound}")
    return bound


def _text_of_rows(answers: Answers) -> str:
    scope = ""
    if answers.get("periods") is not None:
        scope = " in each period" if answers.get("continued") else " in all periods together"
    return (
        f"At most how many rows of one person shall count{scope}? More are left out; twice the "
        f"number is twice the noise. ({EXPLAIN} shows a command that estimates it)"
    )


def _read_rows(text: str, _: Answers) -> int:
    rows = _whole(text)
    PrivacyUnit.of(f"user:{BOUND_KEYS['user']}={rows}")
    return rows


def _explain_rows(answers: Answers) -> str:
    """Return how a bound is estimated privately."""
    if answers["data"] is None:
        return "it is estimated from the private file, of which none was named"
    command = shlex.join(["graphcuts-dp", *estimate_of_bound(answers)])
    return (
        "this command shows, with noise, how many rows people have, for a tenth of the budget; "
        f"run it elsewhere, and come back: {command}"
    )


def _forecast_of_rows(answers: Answers) -> str:
    """Return how exact the numbers will be with the bound that was answered."""
    with suppress(GraphCutsError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a forecast at an epsilon that nobody chose
        proposal = proposal_of(answers)
        error = up_to_digits(proposal.error_at(_USUAL_EPSILON), DIGITS)
        return (
            f"With epsilon = {_USUAL_EPSILON:g}, {proposal.error_of} may then be off by "
            f"{error:,g} {proposal.counted} ({DEFAULT_PERCENT})."
        )
    return ""


def _read_groups(text: str, answers: Answers) -> str | None:
    if text == NONE:
        if _wants_table(answers):
            raise ParameterError(
                "a table is between public groups of the places or people: name the file that "
                f"lists them; or go back ({BACK}) and choose {_without_groups(answers)}"
            )
        return None
    path = os.path.expanduser(text)  # noqa: PTH111
    if not os.path.isfile(path):  # noqa: PTH113  # false for names too long, too
        raise FileFormatError(f"{text!r:.200} does not exist; name a file")
    if not group_column_names(path, Columns()):
        groups_of({"groups": path})
    elif not list(_nested_levels(path)):
        raise FileFormatError(f"{path}: no column names groups of the places in the first one")
    return path


def _without_groups(answers: Answers) -> str:
    """Return what can be chosen where no public file lists the places or people."""
    if answers["unit"] == "row":
        return f"{PAIRS} in place of {LINES}"
    return "analysts" if answers["unit"] == "vertex" else GRAPH


def _nested_levels(path: str) -> Iterator[list[str]]:
    """Generate columns that can be the levels of groups: all, all from right to left, or one."""
    names = group_column_names(path, Columns())
    for levels in (names, names[::-1], *([name] for name in names)):
        with suppress(GraphCutsError):
            groups_of({"groups": path, "levels": levels})
            yield levels


def _usual_levels(answers: Answers) -> str:
    return join_names(next(_nested_levels(answers["groups"])), "/")


def _read_levels(text: str, answers: Answers) -> list[str]:
    levels = split_names(text, "/")
    groups_of({**answers, "levels": levels})
    return levels


def _read_periods(text: str, _: Answers) -> str | None:
    if text == NONE:
        return None
    Periods.of(text)
    return text


def _read_date_format(text: str, _: Answers) -> str | None:
    formats = {example: date_format for date_format, example in DATE_EXAMPLES.items()}
    if text == ISO:
        return None
    if "%" not in text and text not in formats:
        raise ParameterError(f"{text!r:.60} is none of {', '.join(formats)}; or type as %d.%m.%Y")
    date_format = formats.get(text, text)
    check_date_format(date_format, zoned=False)
    return date_format


def _read_product(text: str, _: Answers) -> str:
    if text not in PRODUCTS:
        raise ParameterError(f"{text!r:.60} is neither {TABLE} nor {GRAPH}")
    return text


def _asks_product(answers: Answers) -> bool:
    """Return whether a table as well as a synthetic graph can be published."""
    both = answers["unit"] in ("edge", "user")
    return answers["data"] is not None and answers["who"] == EVERYBODY and both


def _wants_table(answers: Answers) -> bool:
    product: str = answers.get("product", TABLE) if answers["who"] == EVERYBODY else ""
    return product == TABLE


def _read_who(text: str, answers: Answers) -> str:
    if text not in WHO:
        raise ParameterError(f"{text!r:.60} is none of {', '.join(WHO)}")
    kind = answers["unit"]
    if text != EVERYBODY and kind == "row":
        raise ParameterError(
            "answers one by one are for links or people: choose everybody, or go back "
            f"({BACK}) and choose {PAIRS}"
        )
    if text == TEAM and kind == "user":
        raise ParameterError("the server reads graphs, not rows with users: choose analysts")
    return text


def _read_on_bad(text: str, _: Answers) -> str | None:
    if text not in ("refuse", "skip"):
        raise ParameterError(f"{text!r:.60} is neither refuse nor skip")
    return None if text == "refuse" else text


def _read_vertices(text: str, answers: Answers) -> tuple[str | None, int]:
    """Return what --vertices is, None to leave it out, and how many vertices there are."""
    path = answers["data"]
    if path is not None and not text.isdigit() and os.path.isfile(text):  # noqa: PTH113
        return text, len(read_vertices(text))
    size = _whole(text)
    if size < 2:
        raise ParameterError(
            "what a published graph costs grows with its size: say how many vertices there are, "
            "if that is public"
        )
    listed = path is not None and lists_vertices(head_of(path, reading_of(answers))[0])
    return None if listed else text, size


def _read_guess(text: str, _: Answers) -> float | None:
    if text == NONE:
        return None
    guess = _number(text)
    if not 1 <= guess < math.inf:
        raise ParameterError("the guess is a number from 1 on, for example 50000")
    return guess


def _text_of_guess(answers: Answers) -> str:
    counted = "rows" if counts_lines(answers) else "edges"
    return (
        f"About how many {counted} are there? A guess that may be public, for the forecast "
        f"(or: {NONE})"
    )


def _read_budget(text: str, answers: Answers) -> float:
    budget = _number(text)
    if not epsilon_of(answers) <= budget < math.inf:
        raise ParameterError(f"this result alone uses up {epsilon_of(answers):g}")
    return budget


def _asks_budget(answers: Answers) -> bool:
    """Return whether a store begins, so that its budget is to be chosen."""
    if answers["data"] is None or answers["who"] == TEAM:
        return False
    return not os.path.exists(store_of(answers))  # noqa: PTH110  # false for names too long, too


def _read_error(text: str, answers: Answers) -> float:
    """Return the least epsilon that keeps an error."""
    error = _number(text)
    if not 0 < error < math.inf:
        raise ParameterError("the error is a number above 0, for example 20")
    with suppress(GraphCutsError):  # where no usual error is any use
        usual_error, usual_epsilon = _usual_error(answers)
        if error == usual_error:
            return usual_epsilon
    epsilon = epsilon_for(proposal_of(answers), error)
    if not epsilon <= LARGEST_EPSILON / 1.1:
        raise ParameterError(
            "so small an error cannot be had for these answers at any epsilon that hides anything: "
            "allow more, name public groups, or go back to a smaller privacy unit"
        )
    return max(up_to_digits(epsilon, DIGITS), 1e-3)


def epsilon_for(proposal: Proposal, error: float) -> float:
    """Return the least epsilon at which no answer has a larger error; infinity if none has."""

    def enough(epsilon: float) -> bool:
        with suppress(GraphCutsError):
            return proposal.error_at(epsilon) <= error
        return False

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of forecasts at an epsilon that nobody chose
        return least_epsilon(enough)


def _usual_error(answers: Answers) -> tuple[float, float]:
    """Return an error and its epsilon: 1, or the least larger one that is any use."""
    error_at, problem = proposal_of(answers).error_at, ParameterError("no epsilon is any use here")
    for epsilon in (_USUAL_EPSILON, 2.0, 4.0, 8.0, 16.0):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return up_to_digits(error_at(epsilon), DIGITS), epsilon
        except GraphCutsError as wrong:
            problem = ParameterError(str(wrong))
    raise problem


def _whole(text: str) -> int:
    number = _number(text)
    if not number.is_integer():
        raise ParameterError(f"{text:.40} is no whole number such as 20")
    return int(number)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"{text!r:.40} is no number such as 20") from None


def _usual_unit(answers: Answers) -> str:
    if _suggested(answers, "user"):
        return "user"
    return "row" if answers.get("counted") == LINES else "edge"


def _text_of_error(answers: Answers) -> str:
    proposal = proposal_of(answers)
    question = f"How far may {proposal.error_of} be off?"
    with suppress(GraphCutsError):  # where no epsilon is any use
        error, epsilon = _usual_error(answers)
        question += f" With epsilon = {epsilon:g}: {error:,g} {proposal.counted}."
    return question


def _text_of_vertices(answers: Answers) -> str:
    if answers["data"] is None:
        return "How many vertices are there? (if that is public)"
    return (
        "Which public file lists the people or places, one on each line? (or their number, if they "
        "are called 0, 1, 2, ...)"
    )
