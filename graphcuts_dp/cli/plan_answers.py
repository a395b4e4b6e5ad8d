"""Readers of the answers of `plan --ask`: each makes a value of what was typed.

A reader says what is wrong with an answer by a `GraphCutsError`; `plan_questions` asks again.
"""

import math
import os
import warnings
from collections.abc import Iterator
from contextlib import suppress

from graphcuts_dp.cli.dialogue import BACK, NO, NONE, YES, Answers
from graphcuts_dp.cli.inspect_data import advice, declares_vertices, inspect_head
from graphcuts_dp.cli.plan_choices import (
    ALL_TIME,
    DIRECTED,
    EVERYBODY,
    GRAPH,
    LINES,
    PAIRS,
    PRODUCTS,
    SAME,
    TABLE,
    TEAM,
    TOGETHER,
    TWO,
    WHO,
    groups_of,
    has_two_kinds,
    reading_of,
    releases_rows,
    wants_table,
)
from graphcuts_dp.cli.plan_columns import column_names, endpoint_names, shown_names
from graphcuts_dp.cli.proposals import (
    Proposal,
    proposal_of,
)
from graphcuts_dp.cli.reading import Reading
from graphcuts_dp.display import up_to_digits
from graphcuts_dp.errors import FileFormatError, GraphCutsError, ParameterError
from graphcuts_dp.io.files import read_vertices
from graphcuts_dp.planning.planner import least_epsilon
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON
from graphcuts_dp.privacy.privacy_unit import BOUND_KEYS, PrivacyUnit
from graphcuts_dp.schema.columns import Columns
from graphcuts_dp.schema.dates import DATE_EXAMPLES, check_date_format
from graphcuts_dp.schema.group_tables import group_column_names
from graphcuts_dp.schema.periods import Periods
from graphcuts_dp.schema.table_headers import names_in_header
from graphcuts_dp.schema.typed_names import split_names

USUAL_EPSILON = 1.0  # of the error that is proposed, where it is any use
ISO = "2026-01-31"  # how dates are written by custom
LARGE = 3.0  # an epsilon from which a guarantee is weak
RESULTS_IN_BUDGET = 2  # like the first one, in a proposed budget
DIGITS = 3  # significant ones of an advised epsilon, which is rounded up
# Words for privacy units beside those of the command line.
_TYPED_WORDS = ("person", "people", "trip", "link", "place")
_UNIT_WORDS = dict(zip(_TYPED_WORDS, ("user", "user", "row", "edge", "vertex"), strict=True))
_MOST_QUERIES = 10**6
# How a list of people is made that may be public.
PUBLIC_MEMBERS = (
    "List all who could be in the data, such as all customer numbers that were ever given out, and "
    "never make the list from the private file: that would show who is in it"
)
UNITS = {
    "user": "a person, with all lines",
    "row": "a single line, such as a trip",
    "edge": "whether two are linked at all",
    "vertex": "a place or a member, with all links; no synthetic graph is possible then",
}


def epsilon_of(answers: Answers) -> float:
    """Return the epsilon that the answers lead to."""
    epsilon: float = answers["epsilon"]
    return epsilon


def read_yes_or_no(text: str, _: Answers) -> str:
    if text not in (YES, NO):
        raise ParameterError(f"{text!r:.60} is neither {YES} nor {NO}")
    return text


def read_sides(text: str, _: Answers) -> str:
    if text not in (SAME, TWO):
        raise ParameterError(f"{text!r:.60} is neither {SAME} nor {TWO}")
    return text


def read_directions(text: str, _: Answers) -> str:
    if text not in (DIRECTED, TOGETHER):
        raise ParameterError(f"{text!r:.60} is neither {DIRECTED} nor {TOGETHER}")
    return text


def read_data(text: str, _: Answers) -> str | None:
    if text == NONE:
        return None
    path = os.path.expanduser(text)  # noqa: PTH111  # the shell does not expand it in quotes
    if path.startswith("-"):  # which a command would take for an option
        path = os.path.join(".", path)  # noqa: PTH118  # a Path would drop the dot
    inspect_head(path, Reading())
    return path


def read_counted(text: str, _: Answers) -> str:
    if text not in (LINES, PAIRS):
        raise ParameterError(f"{text!r:.60} is neither {LINES} nor {PAIRS}")
    return text


def kinds_of_unit(answers: Answers) -> tuple[str, ...]:
    """Return the privacy units of what counts."""
    return ("user", "row") if answers.get("counted") == LINES else ("edge", "user", "vertex")


def read_unit(text: str, answers: Answers) -> str:
    kind, kinds = _UNIT_WORDS.get(text, text), kinds_of_unit(answers)
    if kind in kinds:
        return kind
    if kind in UNITS and answers.get("counted") is not None:
        other, counts = (PAIRS, "every line counts") if "row" in kinds else (LINES, "a pair counts")
        raise ParameterError(
            f"where {counts}, {' or '.join(kinds)} is protected: for {kind} go back ({BACK}) and "
            f"choose {other}"
        )
    raise ParameterError(f"{text!r:.60} is none of {', '.join(kinds)}")


def read_column(text: str, answers: Answers) -> str:
    names, shown = column_names(answers), shown_names(answers)
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None
    if text in names:
        return text
    if number is not None and 0 < number <= (len(names) or number):
        return text
    known = f"{', '.join(shown)}, or numbers from 1" if shown else "numbers from 1"
    raise ParameterError(f"{text!r:.60} is no column; there are {known}")


def read_period_column(text: str, answers: Answers) -> str | None:
    return None if text == NONE else read_column(text, answers)


def read_endpoints(text: str, answers: Answers) -> tuple[str, ...]:
    columns = tuple(read_column(name, answers) for name in split_names(text))
    if len(columns) != 2:
        raise ParameterError("name two columns with a comma between, FROM,TO")
    problems = open_problems({**answers, "endpoints": columns})
    if problems:
        raise ParameterError(problems[0])
    return columns


def open_problems(answers: Answers) -> list[str]:
    """Return what the head of the private file leaves open."""
    path = answers["data"]
    inspection = inspect_head(path, reading_of(answers))
    return [advice(problem, path) for problem in inspection.problems]


def read_bound(text: str, answers: Answers) -> int:
    bound = _whole(text)
    PrivacyUnit.of(f"{answers['unit']}:{BOUND_KEYS[answers['unit']]}={bound}")
    return bound


def read_continued(text: str, answers: Answers) -> str:
    """Return "" if nothing follows, else how further periods are protected."""
    if text == ALL_TIME and may_have_one_bound(answers):
        return text
    read_yes_or_no(text, answers)
    return "" if text == NO else text


def may_have_one_bound(answers: Answers) -> bool:
    """Return whether one bound on the rows of a person can be for all periods to come."""
    return (
        answers["unit"] == "user" and answers.get("periods") is not None and releases_rows(answers)
    )


def read_known_max(text: str, answers: Answers) -> int | None:
    return None if text == NONE else read_rows(text, {**answers, "known-max": None})


def read_rows(text: str, answers: Answers) -> int:
    rows, most = _whole(text), answers.get("known-max")
    PrivacyUnit.of(f"user:{BOUND_KEYS['user']}={rows}")
    if most is not None and rows > most:
        raise ParameterError(f"nobody has more than {most:,}, as you said: type {most} or less")
    return rows


def read_groups(text: str, answers: Answers) -> str | None:
    names = endpoint_names(answers)
    if text == NONE:
        if has_two_kinds(answers):
            raise ParameterError(
                "the members of both kinds are public: name a file with a group for each, which "
                f"may be the same for all. {PUBLIC_MEMBERS}"
            )
        if wants_table(answers):
            raise ParameterError(
                "a table is between public groups of the places or people: name the file that "
                f"lists them; or go back ({BACK}) and choose {without_groups(answers)}"
            )
        return None
    path = _read_group_table(text)
    if names is not None and has_two_kinds(answers):
        _check_side(path, *names)
    return path


def read_right_groups(text: str, answers: Answers) -> str:
    """Return the table of the groups of the right side."""
    path, names = _read_group_table(text), endpoint_names(answers)
    if names is not None:
        _check_side(path, *names[::-1])
    return path


def _check_side(path: str, side: str, other: str) -> None:
    """Refuse a table of groups whose header names the other side.

    Raises:
        FileFormatError: it does.
    """
    header = names_in_header(path, Columns(header=True))
    if other in header and side not in header:
        raise FileFormatError(f"{path} lists {other}; name the table that lists {side}")


def _read_group_table(text: str) -> str:
    """Return the path of a public table of groups.

    Raises:
        GraphCutsError: it is none.
    """
    path = os.path.expanduser(text)  # noqa: PTH111
    if not os.path.isfile(path):  # noqa: PTH113  # false for names too long, too
        raise FileFormatError(f"{text!r:.200} does not exist; name a file")
    if not group_column_names(path, Columns()):
        groups_of({"groups": path})
    elif not list(nested_levels(path)):
        raise FileFormatError(f"{path}: no column names groups of the places in the first one")
    return path


def without_groups(answers: Answers) -> str:
    """Return what can be chosen where no public file lists the places or people."""
    if answers["unit"] == "row":
        return f"{PAIRS} in place of {LINES}"
    return "analysts" if answers["unit"] == "vertex" else GRAPH


def nested_levels(path: str) -> Iterator[list[str]]:
    """Generate columns that can be the levels of groups: all, all from right to left, or one."""
    names = group_column_names(path, Columns())
    for levels in (names, names[::-1], *([name] for name in names)):
        with suppress(GraphCutsError):
            groups_of({"groups": path, "levels": levels})
            yield levels


def read_levels(text: str, answers: Answers) -> list[str]:
    levels = split_names(text, "/")
    groups_of({**answers, "levels": levels})
    return levels


def read_right_levels(text: str, answers: Answers) -> list[str]:
    levels = split_names(text, "/")
    groups_of({**answers, "right-levels": levels}, right=True)
    return levels


def read_periods(text: str, _: Answers) -> str | None:
    if text == NONE:
        return None
    Periods.of(text)
    return text


def read_date_format(text: str, _: Answers) -> str | None:
    formats = {example: date_format for date_format, example in DATE_EXAMPLES.items()}
    if text == ISO:
        return None
    if "%" not in text and text not in formats:
        raise ParameterError(f"{text!r:.60} is none of {', '.join(formats)}; or type as %d.%m.%Y")
    date_format = formats.get(text, text)
    check_date_format(date_format, zoned=False)
    return date_format


def read_product(text: str, _: Answers) -> str:
    if text not in PRODUCTS:
        raise ParameterError(f"{text!r:.60} is neither {TABLE} nor {GRAPH}")
    return text


def read_who(text: str, answers: Answers) -> str:
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


def read_queries(text: str, _: Answers) -> int:
    queries = _whole(text)
    if not 1 <= queries <= _MOST_QUERIES:
        raise ParameterError(f"the number of questions is from 1 to {_MOST_QUERIES:,}")
    return queries


def read_on_bad(text: str, _: Answers) -> str | None:
    if text not in ("refuse", "skip"):
        raise ParameterError(f"{text!r:.60} is neither refuse nor skip")
    return None if text == "refuse" else text


def read_size(text: str, answers: Answers) -> tuple[str | None, int]:
    """Return what --vertices is, None to leave it out, and how many vertices there are."""
    path = answers["data"]
    file = os.path.expanduser(text)  # noqa: PTH111
    if path is not None and not text.isdigit() and os.path.isfile(file):  # noqa: PTH113
        try:
            return file, len(read_vertices(file))
        except GraphCutsError as problem:
            raise FileFormatError(
                f"{problem}; a table of groups is the answer to an earlier question, which asks "
                f"for it: go {BACK}"
            ) from None
    if path is not None and not _is_number(text):
        raise FileFormatError(
            f"{text!r:.200} is no number such as 20, and no file of this name exists"
        )
    size = _whole(text)
    if size < 2:
        raise ParameterError(
            "what a published graph costs grows with its size: say how many vertices there are, "
            "if that is public"
        )
    listed = path is not None and declares_vertices(inspect_head(path, reading_of(answers)).head)
    return None if listed else str(size), size


def read_guess(text: str, _: Answers) -> float | None:
    if text == NONE:
        return None
    guess = _number(text)
    if not 1 <= guess < math.inf:
        raise ParameterError("the guess is a number from 1 on, for example 50000")
    return guess


def read_budget(text: str, answers: Answers) -> float:
    budget = _number(text)
    if not epsilon_of(answers) <= budget < math.inf:
        raise ParameterError(f"this result alone uses up {epsilon_of(answers):g}")
    return budget


def read_error(text: str, answers: Answers) -> float:
    """Return the least epsilon that keeps an error."""
    error = _number(text)
    if not 0 < error < math.inf:
        raise ParameterError("the error is a number above 0, for example 20")
    with suppress(GraphCutsError):  # where no usual error is any use
        (nearest, usual_epsilon) = usual_error(answers)
        if error == nearest:
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


def noise_warning(proposal: Proposal, epsilon: float) -> str:
    """Return a warning if noise exceeds what an answer measures, and what to change; else ""."""
    if not proposal.is_mostly_noise(epsilon) or proposal.typical_value is None:
        return ""
    size, error = proposal.typical_value, up_to_digits(proposal.error_at(epsilon), DIGITS)
    enough = epsilon_for(proposal, size)
    assumption = "" if proposal.assumed is None else f" ({proposal.assumed})"
    remedy = f"; epsilon = {enough:g} would be enough" if enough <= LARGE else ""
    return (
        f"noise will hide most of this. {proposal.error_of[:1].upper()}{proposal.error_of[1:]} "
        f"is about {size:,.3g}{assumption}, and may be off by {error:,g} {proposal.counted_items}. "
        f"Before anything is spent: {proposal.remedy}{remedy}."
    )


def usual_error(answers: Answers) -> tuple[float, float]:
    """Return an error and its epsilon: 1, or the least larger one that is any use."""
    error_at, problem = proposal_of(answers).error_at, ParameterError("no epsilon is any use here")
    for epsilon in (USUAL_EPSILON, 2.0, 4.0, 8.0, 16.0):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return up_to_digits(error_at(epsilon), DIGITS), epsilon
        except GraphCutsError as wrong:
            problem = ParameterError(str(wrong))
    raise problem


def _is_number(text: str) -> bool:
    with suppress(ParameterError):
        _number(text)
        return True
    return False


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
