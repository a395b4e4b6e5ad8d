"""Readers of the answers of `plan --ask`: each returns a value for what was typed.

A reader takes the text, and the answers so far by the key of their question. It raises a
`GraphCutsError` that says what is wrong with the text, and the dialogue asks again. Readers stand
in the order of the questions in `plan_questions`. Below them is the search for epsilon.
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
    ANALYSTS,
    DIRECTED,
    EVERYBODY,
    GRAPH,
    LINES,
    PAIRS,
    PRODUCTS,
    SAME,
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
from graphcuts_dp.schema.vertices import VertexSet

USUAL_EPSILON = 1.0  # at which an error is proposed, unless answers are useless there
_LARGER_EPSILONS = 2.0, 4.0, 8.0, 16.0  # which are tried instead
_LEAST_EPSILON = 1e-3  # that is proposed
LARGE_EPSILON = 3.0  # an epsilon from which a guarantee is weak
DIGITS = 3  # significant digits of proposed epsilons and errors, which are rounded up
RESULTS_IN_BUDGET = 2  # number of results like this one that a proposed budget suffices for
USUAL_DATE = "2026-01-31"  # an example of the format that dates have if nobody answers another
REFUSE, SKIP = "refuse", "skip"  # what happens to bad rows
_MOST_QUERIES = 10**6
# How a list of people that may be public is made.
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
# Words for privacy units that are typed in place of those of the command line.
_WORDS_OF_UNITS = (
    ("person", "user"),
    ("people", "user"),
    ("trip", "row"),
    ("link", "edge"),
    ("place", "vertex"),
)


# Readers of questions about the private file and its rows


def read_yes_or_no(text: str, _: Answers) -> str:
    return _one_of_two(text, YES, NO)


def read_data(text: str, _: Answers) -> str | None:
    """Return the path of the private file; None to plan without one."""
    if text == NONE:
        return None
    path = os.path.expanduser(text)  # noqa: PTH111  # the shell does not expand it in quotes
    if path.startswith("-"):  # which a command would take for an option
        path = os.path.join(".", path)  # noqa: PTH118  # a Path would drop the dot
    inspect_head(path, Reading())
    return path


def read_counted(text: str, _: Answers) -> str:
    return _one_of_two(text, LINES, PAIRS)


def read_unit(text: str, answers: Answers) -> str:
    kind, kinds = dict(_WORDS_OF_UNITS).get(text, text), kinds_of_unit(answers)
    if kind in kinds:
        return kind
    if kind in UNITS and answers.get("counted") is not None:
        other, counts = (PAIRS, "every line counts") if "row" in kinds else (LINES, "a pair counts")
        raise ParameterError(
            f"where {counts}, {' or '.join(kinds)} is protected: for {kind} go back ({BACK}) and "
            f"choose {other}"
        )
    raise ParameterError(f"{text!r:.60} is none of {', '.join(kinds)}")


def kinds_of_unit(answers: Answers) -> tuple[str, ...]:
    """Return the privacy units that can be chosen."""
    return ("user", "row") if answers.get("counted") == LINES else ("edge", "user", "vertex")


def read_column(text: str, answers: Answers) -> str:
    """Return the name or the number of a column of the private file."""
    names, shown = column_names(answers), shown_names(answers)
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None
    if text in names:
        return text
    if number is not None and 0 < number <= (len(names) or number):
        return text
    known = f"{', '.join(shown)}, or numbers from 1" if shown else "numbers from 1"
    raise ParameterError(f"{text!r:.60} is no column; there are {known}")


def read_bound(text: str, answers: Answers) -> int:
    """Return how many edges are protected together, or how many of a vertex count."""
    bound = _whole_number(text)
    PrivacyUnit.of(f"{answers['unit']}:{BOUND_KEYS[answers['unit']]}={bound}")
    return bound


def read_endpoints(text: str, answers: Answers) -> tuple[str, ...]:
    """Return the columns of sources and of targets."""
    columns = tuple(read_column(name, answers) for name in split_names(text))
    if len(columns) != 2:
        raise ParameterError("name two columns with a comma between, FROM,TO")
    problems = open_problems({**answers, "endpoints": columns})
    if problems:
        raise ParameterError(problems[0])
    return columns


def open_problems(answers: Answers) -> list[str]:
    """Return what the head of the private file leaves open, in words."""
    path = answers["data"]
    inspection = inspect_head(path, reading_of(answers))
    return [advice(problem, path) for problem in inspection.problems]


def read_sides(text: str, _: Answers) -> str:
    return _one_of_two(text, SAME, TWO)


def read_directions(text: str, _: Answers) -> str:
    return _one_of_two(text, DIRECTED, TOGETHER)


# Readers of questions about results and groups


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


def read_product(text: str, _: Answers) -> str:
    return _one_of_two(text, *PRODUCTS)


def read_queries(text: str, _: Answers) -> int:
    queries = _whole_number(text)
    if not 1 <= queries <= _MOST_QUERIES:
        raise ParameterError(f"the number of questions is from 1 to {_MOST_QUERIES:,}")
    return queries


def read_groups(text: str, answers: Answers) -> str | None:
    """Return the table of public groups, of the left side if there are two; None for no groups."""
    if text == NONE:
        if has_two_kinds(answers):
            raise ParameterError(
                "the members of both kinds are public: name a file with a group for each, which "
                f"may be the same for all. {PUBLIC_MEMBERS}"
            )
        if wants_table(answers):
            raise ParameterError(
                "a table is between public groups of the places or people: name the file that "
                f"lists them; or go back ({BACK}) and choose {_choice_without_groups(answers)}"
            )
        return None
    path, names = _group_table(text), endpoint_names(answers)
    if names is not None and has_two_kinds(answers):
        source, target = names
        _check_side(path, source, other=target)
    return path


def _choice_without_groups(answers: Answers) -> str:
    """Return what to choose if no public file lists the places or people."""
    if answers["unit"] == "row":
        return f"{PAIRS} in place of {LINES}"
    return ANALYSTS if answers["unit"] == "vertex" else GRAPH


def read_right_groups(text: str, answers: Answers) -> str:
    """Return the table of public groups of the right side."""
    path, names = _group_table(text), endpoint_names(answers)
    if names is not None:
        source, target = names
        _check_side(path, target, other=source)
    return path


def _group_table(text: str) -> str:
    """Return the path of a table of public groups.

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


def _check_side(path: str, side: str, *, other: str) -> None:
    """Check that the header of a table of groups does not name the other side.

    Raises:
        FileFormatError: it does.
    """
    header = names_in_header(path, Columns(header=True))
    if other in header and side not in header:
        raise FileFormatError(f"{path} lists {other}; name the table that lists {side}")


def nested_levels(path: str) -> Iterator[list[str]]:
    """Generate columns that can be levels of groups: all, all from right to left, or one."""
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


# Readers of questions about periods


def read_period_column(text: str, answers: Answers) -> str | None:
    return None if text == NONE else read_column(text, answers)


def read_periods(text: str, _: Answers) -> str:
    if text == NONE:
        raise ParameterError(
            f"a table without periods has no column of dates: go {BACK}, and type {NONE} for it"
        )
    Periods.of(text)
    return text


def read_date_format(text: str, _: Answers) -> str | None:
    """Return the format as Python writes it, such as %d.%m.%Y; None for the usual format."""
    formats = {example: date_format for date_format, example in DATE_EXAMPLES.items()}
    if text == USUAL_DATE:
        return None
    if "%" not in text and text not in formats:
        raise ParameterError(f"{text!r:.60} is none of {', '.join(formats)}; or type as %d.%m.%Y")
    date_format = formats.get(text, text)
    check_date_format(date_format, zoned=False)
    return date_format


def read_continued(text: str, answers: Answers) -> str:
    """Return "" if no further period follows, else how further periods are protected."""
    if text == ALL_TIME and may_have_one_bound(answers):
        return text
    return "" if read_yes_or_no(text, answers) == NO else text


def may_have_one_bound(answers: Answers) -> bool:
    """Return whether one bound on the rows of a person can be for all periods to come."""
    has_periods = answers.get("periods") is not None
    return answers["unit"] == "user" and has_periods and releases_rows(answers)


# Readers of questions about sizes, errors and the budget


def read_on_bad(text: str, _: Answers) -> str | None:
    """Return `SKIP`, or None to refuse a file with bad rows, which needs no option."""
    return None if _one_of_two(text, REFUSE, SKIP) == REFUSE else text


def read_size(text: str, answers: Answers) -> tuple[str | None, int]:
    """Return what to type for --vertices, None to leave it out, and the number of vertices."""
    data = answers["data"]
    path = os.path.expanduser(text)  # noqa: PTH111
    if data is not None and not text.isdigit() and os.path.isfile(path):  # noqa: PTH113
        try:
            return path, len(read_vertices(path))
        except GraphCutsError as problem:
            raise FileFormatError(
                f"{problem}; a table of groups is the answer to an earlier question, which asks "
                f"for it: go {BACK}"
            ) from None
    try:
        size = _whole_number(text)
    except ParameterError as problem:
        if data is None:
            raise
        raise FileFormatError(f"{problem}, and no file of this name exists") from None
    if size < 2:
        raise ParameterError(
            "what a published graph costs grows with its size: say how many vertices there are, "
            "if that is public"
        )
    VertexSet(size)  # refuses more vertices than a graph can have
    is_declared = data is not None and declares_vertices(
        inspect_head(data, reading_of(answers)).head
    )
    return None if is_declared else str(size), size


def read_known_max(text: str, answers: Answers) -> int | None:
    """Return how many rows nobody exceeds, as is publicly known; None if that is not known."""
    return None if text == NONE else read_rows(text, {**answers, "known-max": None})


def read_rows(text: str, answers: Answers) -> int:
    """Return how many rows of one person count at most."""
    rows, most = _whole_number(text), answers.get("known-max")
    PrivacyUnit.of(f"user:{BOUND_KEYS['user']}={rows}")
    if most is not None and rows > most:
        raise ParameterError(f"nobody has more than {most:,}, as you said: type {most} or less")
    return rows


def read_guess(text: str, _: Answers) -> float | None:
    """Return a guess of the number of edges or rows; None for no guess."""
    if text == NONE:
        return None
    guess = _number(text)
    if not 1 <= guess < math.inf:
        raise ParameterError("the guess is a number from 1 on, for example 50000")
    return guess


def read_epsilon_of_error(text: str, answers: Answers) -> float:
    """Return the least epsilon that keeps the error that was typed."""
    error = _number(text)
    if not 0 < error < math.inf:
        raise ParameterError("the error is a number above 0, for example 20")
    with suppress(GraphCutsError):  # answers are useless at every usual epsilon
        proposed_error, epsilon = usual_error(answers)
        if error == proposed_error:
            return epsilon
    epsilon = least_epsilon_of(proposal_of(answers), error)
    if not epsilon <= LARGEST_EPSILON / 1.1:  # rounding up must not exceed it
        raise ParameterError(
            "so small an error cannot be had for these answers at any epsilon that hides anything: "
            "allow more, name public groups, or go back to a smaller privacy unit"
        )
    return max(up_to_digits(epsilon, DIGITS), _LEAST_EPSILON)


def read_budget(text: str, answers: Answers) -> float:
    budget = _number(text)
    if not epsilon_of(answers) <= budget < math.inf:
        raise ParameterError(f"this result alone uses up {epsilon_of(answers):g}")
    return budget


# Epsilon and errors


def epsilon_of(answers: Answers) -> float:
    """Return the epsilon that the answers lead to."""
    epsilon: float = answers["epsilon"]
    return epsilon


def usual_error(answers: Answers) -> tuple[float, float]:
    """Return an error to propose, and its epsilon: the usual one, or the least that is any use.

    Raises:
        GraphCutsError: answers are useless at every epsilon that is tried.
    """
    error_at = proposal_of(answers).error_at
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about an epsilon that nobody chose
        for epsilon in (USUAL_EPSILON, *_LARGER_EPSILONS):
            try:
                return up_to_digits(error_at(epsilon), DIGITS), epsilon
            except GraphCutsError as refusal:
                problem = ParameterError(str(refusal))
    raise problem


def least_epsilon_of(proposal: Proposal, error: float) -> float:
    """Return the least epsilon at which no answer has a larger error; infinity if none has."""

    def is_enough(epsilon: float) -> bool:
        with suppress(GraphCutsError):
            return proposal.error_at(epsilon) <= error
        return False

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about an epsilon that nobody chose
        return least_epsilon(is_enough)


def noise_warning(proposal: Proposal, epsilon: float) -> str:
    """Return a warning if noise exceeds a typical answer, and what to change; else ""."""
    typical = proposal.typical_value
    if typical is None or not proposal.is_mostly_noise(epsilon):
        return ""
    error = up_to_digits(proposal.error_at(epsilon), DIGITS)
    enough = least_epsilon_of(proposal, typical)
    remedy = f"; epsilon = {enough:g} would be enough" if enough <= LARGE_EPSILON else ""
    assumption = "" if proposal.assumed is None else f" ({proposal.assumed})"
    return (
        f"noise will hide most of this. {proposal.error_of[:1].upper()}{proposal.error_of[1:]} "
        f"is about {typical:,.3g}{assumption}, and may be off by {error:,g} "
        f"{proposal.counted_items}. Before anything is spent: {proposal.remedy}{remedy}."
    )


# Parts of readers


def _one_of_two(text: str, first: str, second: str) -> str:
    if text not in (first, second):
        raise ParameterError(f"{text!r:.60} is neither {first} nor {second}")
    return text


def _whole_number(text: str) -> int:
    number = _number(text)
    if not number.is_integer():
        raise ParameterError(f"{text:.40} is no whole number such as 20")
    return int(number)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"{text!r:.40} is no number such as 20") from None
