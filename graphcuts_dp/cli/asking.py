"""`graphcuts-dp plan --ask`: questions, and the commands to type that the answers lead to.

Of the private file the head is read, which names its columns, and no row; public files are read
whole. What the header and earlier answers suggest stands in brackets, and an empty line takes it. A
wrong answer is asked again with what was wrong, "back" returns to the question before, and all
other answers stay. The commands can be typed as they are.

`Dialogue` asks `_questions` in order, those that apply. `proposals` makes of the answers a command,
and the error at each epsilon, by formulas and dry runs.
"""

import math
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, final

from graphcuts_dp.cli.console import Report, say
from graphcuts_dp.cli.inspect_data import advice, head_of
from graphcuts_dp.cli.proposals import (
    EVERYBODY,
    TEAM,
    WHO,
    Answers,
    groups_of,
    is_rows,
    lists_vertices,
    proposal_of,
    reading_of,
    unit_of,
)
from graphcuts_dp.cli.reading import Reading
from graphcuts_dp.confidence import DEFAULT_PERCENT
from graphcuts_dp.display import up_to_digits
from graphcuts_dp.errors import FileFormatError, GraphCutsError, ParameterError
from graphcuts_dp.io.files import read_vertices
from graphcuts_dp.planning.planner import least_epsilon
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON
from graphcuts_dp.privacy.privacy_unit import BOUND_KEYS, PrivacyUnit
from graphcuts_dp.schema.columns import Columns
from graphcuts_dp.schema.dates import DATE_EXAMPLES, check_date_format
from graphcuts_dp.schema.group_tables import group_column_names
from graphcuts_dp.schema.header_words import is_header_word
from graphcuts_dp.schema.periods import Periods
from graphcuts_dp.schema.table_headers import names_in_header, suggested_columns
from graphcuts_dp.schema.typed_names import join_names, split_names

NONE, BACK, ISO = "none", "back", "2026-01-31"
_HOW = f'An empty line takes what stands in brackets, and "{BACK}" returns to the question before.'
_USUAL_EPSILON = 1.0  # of the error that is proposed, where it is any use
_LARGE = 3.0  # an epsilon from which a guarantee is weak
_DIGITS = 3  # significant ones of an advised epsilon, which is rounded up
# Words for privacy units beside those of the command line.
_TYPED_WORDS = ("person", "people", "trip", "link", "place")
_UNIT_WORDS = dict(zip(_TYPED_WORDS, ("user", "user", "row", "edge", "vertex"), strict=True))
# Of each privacy unit with a bound: the question about it, and the default.
_BOUNDS: dict[str, tuple[str, int]] = {
    "user": ("How many rows of a person count, at most?", 20),
    "edge": ("How many edges are protected together?", 1),
    "vertex": ("How many edges of a vertex count, at most?", 50),
}


@final
@dataclass(frozen=True, kw_only=True)
class AskedQuestion:
    """A question whose answer others may depend on.

    Attributes:
        key: of its answer.
        text: the question.
        read: makes an answer of what was typed; a GraphCutsError says what is wrong with it.
        usual: what an empty line stands for, from the answers so far; "" if there is nothing usual.
        applies: whether it is asked.
    """

    key: str
    text: Callable[[Answers], str]
    read: Callable[[str, Answers], Any]
    usual: Callable[[Answers], str] = lambda _: ""
    applies: Callable[[Answers], bool] = lambda _: True


def ask() -> Report:
    """Ask what a plan needs, and return the commands to type with their forecast.

    Raises:
        ParameterError: the answers end with one that is wrong, or before a question without a
            usual answer.
    """
    answers = Dialogue(_questions()).run()
    proposal, unit, epsilon = proposal_of(answers), unit_of(answers), _epsilon(answers)
    privacy = [proposal.spends, f"{epsilon:g}"]
    if (unit.kind, unit.group_size) != ("edge", 1):
        privacy += ["--privacy-unit", unit.typed]
    words = [*proposal.words, *privacy]
    lines = [shlex.join(["graphcuts-dp", *words])]
    parts = []
    if proposal.dry_run is not None:
        lines.insert(0, shlex.join(["graphcuts-dp", *words, *proposal.dry_run]))
        parts.append(f"For a forecast, which reads no private file, type:\n\n  {lines[0]}\n")
    named = shlex.join(["graphcuts-dp", *words])
    what = "To compare all mechanisms at" if proposal.words[0] == "plan" else "To spend"
    parts.append(f"{what} epsilon = {epsilon:g}, type:\n\n  {named}\n")
    if proposal.afterwards:
        lines.append(shlex.join(["graphcuts-dp", *proposal.afterwards]))
        parts.append(f"Afterwards ask, as often as you like:\n\n  {lines[-1]}\n")
    explained = unit.explain(epsilon=epsilon).sentences
    error = up_to_digits(proposal.error_at(epsilon), _DIGITS)
    forecast = (
        f"Forecast: at epsilon = {epsilon:g} the error of {proposal.error_of} is at most "
        f"{error:,g} {proposal.what} ({DEFAULT_PERCENT})."
    )
    parts += [
        forecast,
        f"The guarantee: {explained['The guarantee']}",
        f"Strength: {explained['Strength']}",
    ]
    if epsilon >= _LARGE:
        parts.append(
            f"That is weak: an epsilon of {epsilon:g} hides little. Allow more error, or "
            "take a smaller privacy unit."
        )
    facts = {
        "command": named,
        "commands": lines,
        "epsilon": epsilon,
        "error": error,
        "error_of": proposal.error_of,
        "privacy_unit": str(unit),
        "private_rows_read": False,
    }
    nothing = "No row of the private file was read, nothing spent; forecasts are by formulas."
    return Report(facts, parts, [nothing])


class Dialogue:
    """Questions that are asked in order, of which each may be corrected.

    Args:
        questions: all that may be asked.
    """

    def __init__(self, questions: tuple[AskedQuestion, ...]) -> None:
        self._questions = questions
        self._answers: Answers = {}
        self._typed: dict[str, str] = {}  # what each question was answered with last

    def run(self) -> Answers:
        """Return the answers by the keys of their questions.

        Raises:
            ParameterError: what is typed ends with a wrong answer, or before a question without a
                usual answer.
        """
        if sys.stdin.isatty():
            say(_HOW)
        asked: list[str] = []  # keys, in order
        while question := self._next(asked):
            if self._answer(question):
                asked.append(question.key)
            elif asked:
                del self._answers[asked.pop()]
            else:
                say("note: This is the first question.")
        return self._answers

    def _next(self, asked: list[str]) -> AskedQuestion | None:
        """Return the first question after the last one asked that applies."""
        keys = [question.key for question in self._questions]
        later = self._questions[keys.index(asked[-1]) + 1 if asked else 0 :]
        return next((question for question in later if question.applies(self._answers)), None)

    def _answer(self, question: AskedQuestion) -> bool:
        """Ask a question until its answer will do; returns False to go back."""
        text = question.text(self._answers)
        problem: GraphCutsError | None = None
        while True:
            usual = self._typed.get(question.key) or question.usual(self._answers)
            typed = _typed_line(f"{text} [{usual}] " if usual else f"{text} ")
            if typed == BACK:
                return False
            if typed is None and problem is not None:
                raise ParameterError(f"{text} {problem}")
            try:
                if not typed and not usual:
                    raise ParameterError("this needs an answer")
                self._answers[question.key] = question.read(typed or usual, self._answers)
            except GraphCutsError as wrong:
                if typed is None:
                    raise ParameterError(f"{text} {wrong}") from None
                self._typed.pop(question.key, None)
                problem = wrong
                say(f"note: {wrong}")
            else:
                self._typed[question.key] = typed or usual
                return True


def _typed_line(prompt: str) -> str | None:
    """Return what is typed, or None at its end; the question is not printed where nobody sits."""
    try:
        return input(prompt if sys.stdin.isatty() else "").strip()
    except EOFError:
        return None


def _epsilon(answers: Answers) -> float:
    epsilon: float = answers["epsilon"]
    return epsilon


def _names(answers: Answers) -> list[str]:
    """Return the names of the columns of the private file, from its head.

    The list is empty if no word of the first line is a usual one for a column: that line may be a
    row.
    """
    path = answers.get("data")
    if path is None:
        return []
    names = names_in_header(path, Columns())
    if any(map(is_header_word, names)):
        return names
    return [column.name for column in head_of(path, Reading())[0].columns if column.name]


def _suggested(answers: Answers, role: str) -> str:
    return suggested_columns(_names(answers)).get(role, "")


def _read_data(text: str, _: Answers) -> str | None:
    if text == NONE:
        return None
    path = os.path.expanduser(text)  # noqa: PTH111  # the shell does not expand it in quotes
    if path.startswith("-"):  # which a command would take for an option
        path = os.path.join(".", path)  # noqa: PTH118  # a Path would drop the dot
    head_of(path, Reading())
    return path


def _read_unit(text: str, answers: Answers) -> str:
    kind = _UNIT_WORDS.get(text, text)
    kinds = tuple(_BOUNDS) if answers["data"] is None else ("edge", "row", "user", "vertex")
    if kind not in kinds:
        raise ParameterError(f"{text!r:.60} is none of {', '.join(kinds)}")
    return kind


def _read_column(text: str, answers: Answers) -> str:
    names = _names(answers)
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None
    is_unknown_name = not names and number is None and bool(text)
    if is_unknown_name or text in names:
        return text
    if number is not None and 0 < number <= (len(names) or number):
        return text
    known = f"{', '.join(names)}, or numbers from 1" if names else "numbers from 1"
    raise ParameterError(f"{text!r:.60} is no column; there are {known}")


def _read_period_column(text: str, answers: Answers) -> str | None:
    return None if text == NONE else _read_column(text, answers)


def _read_endpoints(text: str, answers: Answers) -> tuple[str, ...]:
    found = tuple(_read_column(name, answers) for name in split_names(text))
    if len(found) != 2:
        raise ParameterError("name two columns with a comma between, FROM,TO")
    problems = _problems({**answers, "endpoints": found})
    if problems:
        raise ParameterError(problems[0])
    return found


def _problems(answers: Answers) -> list[str]:
    """Return what the head of the private file leaves open."""
    path = answers["data"]
    return [advice(problem, path) for problem in head_of(path, reading_of(answers))[2]]


def _read_bound(text: str, answers: Answers) -> int:
    bound = _whole(text)
    PrivacyUnit.of(f"{answers['unit']}:{BOUND_KEYS[answers['unit']]}={bound}")
    return bound


def _read_groups(text: str, answers: Answers) -> str | None:
    if text == NONE:
        if answers["unit"] == "row":
            raise ParameterError(
                "a table of rows is between public places: name their file; or go back and "
                "choose edge"
            )
        if answers["unit"] == "vertex" and answers["who"] == EVERYBODY:
            raise ParameterError(
                "a published graph cannot hide a vertex: name groups, or go back and choose "
                "analysts"
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


def _read_who(text: str, answers: Answers) -> str:
    if text not in WHO:
        raise ParameterError(f"{text!r:.60} is none of {', '.join(WHO)}")
    kind = answers["unit"]
    if text != EVERYBODY and kind == "row":
        raise ParameterError("answers one by one are for links or people: choose everybody")
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


def _read_error(text: str, answers: Answers) -> float:
    """Return the least epsilon that keeps an error."""
    error = _number(text)
    if not 0 < error < math.inf:
        raise ParameterError("the error is a number above 0, for example 20")
    usual_error, usual_epsilon = _usual_error(answers)
    if error == usual_error:
        return usual_epsilon
    error_at = proposal_of(answers).error_at

    def enough(epsilon: float) -> bool:
        with suppress(GraphCutsError):
            return error_at(epsilon) <= error
        return False

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of forecasts at an epsilon that nobody chose
        epsilon = least_epsilon(enough)
    if not epsilon <= LARGEST_EPSILON / 1.1:
        raise ParameterError(
            "so small an error cannot be had for these answers at any epsilon that hides anything: "
            "allow more, name public groups, or go back to a smaller privacy unit"
        )
    return max(up_to_digits(epsilon, _DIGITS), 1e-3)


def _usual_error(answers: Answers) -> tuple[float, float]:
    """Return an error and its epsilon: 1, or the least larger one that is any use."""
    error_at, problem = proposal_of(answers).error_at, ParameterError("no epsilon is any use here")
    for epsilon in (_USUAL_EPSILON, 2.0, 4.0, 8.0, 16.0):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return up_to_digits(error_at(epsilon), _DIGITS), epsilon
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


def _questions() -> tuple[AskedQuestion, ...]:
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
            key="unit",
            text=lambda _: "What is protected: edge, row, user (a person), vertex (a place)?",
            usual=_usual_unit,
            read=_read_unit,
        ),
        AskedQuestion(
            key="user",
            text=lambda _: "Which column names the person of each row?",
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
            text=lambda _: "Which columns say from where and to where? FROM,TO",
            read=_read_endpoints,
            applies=lambda answers: answers["data"] is not None and bool(_problems(answers)),
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
            key="groups",
            text=lambda _: (
                f"Which public table lists the places or people, with their groups? (or: {NONE})"
            ),
            usual=lambda answers: "" if answers["unit"] in ("user", "row") else NONE,
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
            text=lambda _: f"Which column has the date? (or: {NONE})",
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
            text=lambda _: "How are dates written? " + ", ".join((ISO, *DATE_EXAMPLES.values())),
            usual=lambda _: ISO,
            read=_read_date_format,
            applies=lambda answers: (
                answers.get("period") is not None
                and bool(names_in_header(answers["data"], Columns()))
            ),
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
            key="epsilon",
            text=_text_of_error,
            usual=lambda answers: f"{_usual_error(answers)[0]:g}",
            read=_read_error,
        ),
    )


def _usual_unit(answers: Answers) -> str:
    if _suggested(answers, "user"):
        return "user"
    return "row" if _suggested(answers, "period") else "edge"


def _text_of_error(answers: Answers) -> str:
    proposal = proposal_of(answers)
    return f"By how many {proposal.what} may {proposal.error_of} be off?"


def _text_of_vertices(answers: Answers) -> str:
    number = "How many vertices are there, numbered from 0"
    if answers["data"] is None:
        return f"{number}? (if that is public)"
    return f"{number}; or which public file lists them, one on each line?"
