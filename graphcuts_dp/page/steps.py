"""The steps of the page, and `PlainWords`, the labels of an option in a step."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

DATA, CHECK, WHO, COUNT = "data", "check", "who", "count"
OUT, EXACT, CONFIRM, RESULT = "out", "exact", "confirm", "result"

# The title of each step, and a sentence about what happens next.
STEPS: Mapping[str, tuple[str, str]] = {
    DATA: (
        "Choose the data",
        "Next, the page shows how it understands the file. This step uses nothing up.",
    ),
    CHECK: (
        "Check what was understood",
        "Next, you say who is protected. This step uses nothing up.",
    ),
    WHO: (
        "Who is protected",
        "Next, you say how much of each may count. This step uses nothing up.",
    ),
    COUNT: (
        "How much counts",
        "Next, you choose what comes out. Only an estimate, if you ask for it, uses something up.",
    ),
    OUT: (
        "What comes out",
        "Next, you see how exact it would be. This step uses nothing up.",
    ),
    EXACT: (
        "How exact",
        "Next, you see all of it once more and confirm. This step uses nothing up.",
    ),
    CONFIRM: (
        "Confirm",
        "The button uses up the amount that it names, for ever. Until then nothing happens.",
    ),
    RESULT: ("Result", "Another result of these data uses up more."),
}


@final
@dataclass(frozen=True, kw_only=True)
class PlainWords:
    """The words of the page for an option.

    Attributes:
        label: of the field.
        step: the step with the field.
        hint: the text below the field; None for the help of the command.
        role: the name of the field in the scripts of the page; None if they do not name it.
        choices: the words of the page for each choice, by its word on the command line.
        needs_date_column: whether the field is shown only if a column of the date is chosen.
        empty: the text of a list in which nothing is chosen.
    """

    label: str
    step: str
    hint: str | None = None
    role: str | None = None
    choices: Mapping[str, str] = field(default_factory=dict)
    needs_date_column: bool = False
    empty: str = "none"
