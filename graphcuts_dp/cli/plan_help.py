"""Help for each question of `plan --ask`, with names of columns of the private file if possible.

`EXPLANATIONS` has what "?" prints, by the key of the question. `NEEDED` has what is printed after
an empty line if a question has no usual answer: what is needed, with an example.
"""

import shlex
from collections.abc import Callable, Mapping
from typing import Final

from graphcuts_dp.cli.dialogue import BACK, NONE, Answers
from graphcuts_dp.cli.plan_answers import PUBLIC_MEMBERS
from graphcuts_dp.cli.plan_choices import (
    ANALYSTS,
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
    has_two_kinds,
)
from graphcuts_dp.cli.plan_columns import endpoint_names, shown_names
from graphcuts_dp.cli.proposals import epsilon_of_estimate, estimate_of_bound
from graphcuts_dp.estimate.noisy_contributions import BOUNDS, hidden_users

Explanation = Callable[[Answers], str]

_EXAMPLE_GROUPS = 'a file with two columns, in two lines for example "name,group" and "A17,North"'


def _pair(answers: Answers) -> str:
    """Return two endpoints in words: by the names of their columns if these may be shown."""
    names = endpoint_names(answers)
    return f"one {names[0]} and one {names[1]}" if names else "two people or places"


def _explain_user_column(answers: Answers) -> str:
    names = shown_names(answers)
    example = f", for example {names[0]}" if names else ""
    return f"name the column that says whose line it is{example}; all lines of one are hidden"


def _explain_unit(answers: Answers) -> str:
    if answers.get("counted") == LINES:
        return (
            "user hides whether a person is in the file at all, with all lines up to a bound, and "
            "needs a column that names the person; row hides one line, such as one trip, and a "
            "person with many lines is hidden less; the noise of user is larger by the bound"
        )
    return (
        f"edge hides whether {_pair(answers)} are linked at all; user hides all that one person "
        "in a column adds; vertex hides a person or place with all of its links, and needs the "
        "most noise"
    )


def _explain_rows(answers: Answers) -> str:
    """Return the command that estimates a bound on rows, with what it costs and hides."""
    if answers["data"] is None:
        return "it is estimated from the private file, of which none was named"
    command = shlex.join(["graphcuts-dp", *estimate_of_bound(answers)])
    epsilon = epsilon_of_estimate(answers)
    hidden = hidden_users(epsilon, len(BOUNDS) + 1)
    with_maximum = ""
    if not answers.get("known-max"):
        with_maximum = (
            f"with a known largest number (go {BACK}) it also says how many rows a bound leaves "
            "out at most; "
        )
    return (
        f"this command shows, with noise, how many rows people have, for epsilon = {epsilon:g} of "
        f"the budget, which hides up to {hidden} persons of each size; half of it hides twice as "
        f"many; {with_maximum}less is enough for one bound that about a twentieth of the persons "
        "exceed: --contributions choice:share-above=0.05 --epsilon 0.1 in it; "
        f"keep this terminal open, type it in another one, and come back: {command}"
    )


EXPLANATIONS: Final[Mapping[str, Explanation]] = {
    "data": lambda _: (
        "the name of the file that nobody may see, such as trips.csv; only the names of its "
        f"columns are read here; {NONE} plans from public numbers alone"
    ),
    "header": lambda _: (
        "open the file yourself: yes if its first line says what the columns are, no if the first "
        "line is data already"
    ),
    "counted": lambda answers: (
        f"if {_pair(answers)} stand in 3 lines together, {LINES} counts 3, and {PAIRS} counts 1; "
        f"a network, and questions one by one, are of {PAIRS}"
    ),
    "unit": _explain_unit,
    "user": _explain_user_column,
    "bound": lambda answers: (
        "1 hides any one link; 5 hides any five links together, with five times the noise"
        if answers["unit"] == "edge"
        else "links of a vertex beyond this number are left out; twice the number is twice the "
        "noise"
    ),
    "endpoints": lambda answers: (
        "the two columns that say who or what is joined, such as "
        f"{','.join(shown_names(answers)[:2]) or '1,2'}; the first is where it goes from"
    ),
    "sides": lambda _: (
        f"if the same label could stand in both columns, type {SAME}; if the one are for example "
        f"users and the other films, type {TWO}: each then has a public table of groups"
    ),
    "directions": lambda answers: (
        f"{DIRECTED} keeps what goes from {_pair(answers).replace(' and ', ' to ')} apart from the "
        f"way back; {TOGETHER} adds both up"
    ),
    "who": lambda _: (
        f"{EVERYBODY}: one result, which may be published; {ANALYSTS}: a fixed number of questions "
        f"in a terminal; {TEAM}: the same on a page in a browser"
    ),
    "product": lambda _: (
        f"{TABLE} has a number for each pair of groups, and is the most exact; {GRAPH} is a "
        "made-up network, which also answers questions about other sets"
    ),
    "queries": lambda _: (
        "all of them together share the budget: twice as many questions are each off by about "
        "twice as much; a number that is too small ends the session early"
    ),
    "groups": lambda answers: (
        f"a public file that says which group each of them is in: {_EXAMPLE_GROUPS}; "
        "whoever it does not list cannot be counted"
        + (f". {PUBLIC_MEMBERS}" if has_two_kinds(answers) else "")
    ),
    "levels": lambda _: (
        "one column gives one table; two, as region/district, give a coarse table as well; each "
        "group of the second has to lie within one of the first"
    ),
    "period": lambda answers: (
        f"the column with the day of each line; a table by month needs it; {NONE} counts all "
        f"lines together (columns: {', '.join(shown_names(answers)) or 'by number'})"
    ),
    "periods": lambda _: (
        "the first and the last, as 2026-01..2026-12 for months, 2026-Q1..2026-Q4, 2026..2028, or "
        "2026-01-01..2026-01-31 for days; other lines are left out"
    ),
    "date-format": lambda _: (
        "choose the example that looks like the dates in the file; other ways are typed as "
        "%d.%m.%Y: %d day, %m month, %Y year"
    ),
    "continued": lambda _: (
        "decide it before the first table, since a store cannot change it: with yes, the guarantee "
        "is for each period, and later ones need no new budget; with no, it is for all together, "
        "and later ones need more; with all, it is for the whole year, as far as the bound on rows "
        "of a person reaches"
    ),
    "on-bad": lambda _: (
        "refuse stops at the first line that cannot be read or names a place that is not listed; "
        "skip leaves such lines out, and nobody can say how many"
    ),
    "vertices": lambda _: (
        "a public file with one label on each line, and nothing else; a table with groups is "
        f"typed one question before: go {BACK}"
    ),
    "known-max": lambda _: (
        "such as 366 for one line a day in a year, or what a subscription allows; never what the "
        "private file shows; with it, an estimate says how many lines a bound leaves out at most"
    ),
    "rows": _explain_rows,
    "guess": lambda _: (
        "what you would tell a stranger, such as 50000, and never a count of the private file; "
        "with it you are warned if noise will hide most of the result"
    ),
    "epsilon": lambda _: (
        "a smaller error needs a larger epsilon, which hides less; half the error is twice the "
        "epsilon; in 95 of 100 cases the number is off by less"
    ),
    "budget": lambda _: (
        "when it is used up, nothing more about these data can come out; 1 is strong, 3 and more "
        "weak; what is not used now is left for later results"
    ),
}


NEEDED: Final[Mapping[str, Explanation]] = {
    "header": lambda _: "this needs yes or no: yes if the first line says what the columns are",
    "user": lambda answers: (
        f"this needs a column: {', '.join(shown_names(answers)) or 'a number from 1'}"
    ),
    "endpoints": lambda _: "this needs two columns with a comma between, as from,to or 1,2",
    "sides": lambda _: f"this needs {SAME} or {TWO}; ? explains them",
    "groups": lambda _: f"this needs the name of {_EXAMPLE_GROUPS}",
    "periods": lambda _: "this needs the first and the last period, as 2026-01..2026-12",
    "vertices": lambda answers: (
        "this needs a number, as 200"
        if answers["data"] is None
        else 'this needs a file with one label on each line, in two lines for example "A17" and '
        '"B02"; or a number, as 200, if they are called 0, 1, 2, ...'
    ),
}
