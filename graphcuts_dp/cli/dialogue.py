"""Questions on a terminal, of which each can be corrected: `Dialogue` asks them in order.

Where nobody sits, the answers are the lines of standard input, and what is missing at its end is
taken as usual.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from graphcuts_dp.cli.console import say
from graphcuts_dp.errors import GraphCutsError, ParameterError

BACK, EXPLAIN = "back", "?"
NONE, YES, NO = "none", "yes", "no"
_HOW = (
    f'An empty line takes what stands in brackets, "{EXPLAIN}" explains a question, and "{BACK}" '
    "returns to the question before."
)
_ENDED = "; no command was printed: start again"

Answers = dict[str, Any]


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
        explain: what "?" prints before the question is asked again.
        needed: what an empty line is told where nothing is usual.
        forecast: what is said once it is answered, "" for nothing.
    """

    key: str
    text: Callable[[Answers], str]
    read: Callable[[str, Answers], Any]
    explain: Callable[[Answers], str]
    usual: Callable[[Answers], str] = lambda _: ""
    applies: Callable[[Answers], bool] = lambda _: True
    needed: Callable[[Answers], str] = lambda _: "this needs an answer"
    forecast: Callable[[Answers], str] = lambda _: ""


class Dialogue:
    """Questions that are asked in order, of which each may be corrected.

    Args:
        questions: all that may be asked.
    """

    def __init__(self, questions: tuple[AskedQuestion, ...]) -> None:
        self._questions = questions
        self._answers: Answers = {}
        self._typed: dict[str, str] = {}  # what each question was answered with last
        self._first_line: str | None = None  # typed before the first question

    def run(self, first_line: str | None = None) -> Answers:
        """Return the answers by the keys of their questions.

        Args:
            first_line: what was typed already, for the first question; None for nothing.

        Raises:
            ParameterError: what is typed ends with a wrong answer, or before a question without a
                usual answer.
        """
        if sys.stdin.isatty():
            say(_HOW)
        self._first_line = first_line
        asked_keys: list[str] = []  # keys, in order
        while question := self._next(asked_keys):
            if self._answer(question):
                asked_keys.append(question.key)
            elif asked_keys:
                del self._answers[asked_keys.pop()]
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
            usual, hindrance = self._usual(question)
            if hindrance is not None and problem is None:
                _note(text, str(hindrance))
            typed = self._typed_line(f"{text} [{usual}] " if usual else f"{text} ")
            if typed == BACK:
                return False
            if typed == EXPLAIN:
                _note(text, question.explain(self._answers))
                continue
            if typed is None and problem is not None:
                raise ParameterError(f"{text} {problem}{_ENDED}")
            try:
                if not typed and not usual:
                    raise hindrance or ParameterError(question.needed(self._answers))
                self._answers[question.key] = question.read(typed or usual, self._answers)
            except GraphCutsError as wrong:
                if typed is None:
                    raise ParameterError(f"{text} {wrong}{_ENDED}") from None
                self._typed.pop(question.key, None)
                problem = wrong
                _note(text, str(wrong))
            else:
                self._typed[question.key] = typed or usual
                forecast = question.forecast(self._answers)
                if forecast:
                    say(f"note: {forecast}")
                return True

    def _usual(self, question: AskedQuestion) -> tuple[str, GraphCutsError | None]:
        """Return what an empty line stands for, or why nothing would do."""
        try:
            return self._typed.get(question.key) or question.usual(self._answers), None
        except GraphCutsError as hindrance:
            return "", hindrance

    def _typed_line(self, prompt: str) -> str | None:
        """Return what is typed, None at its end; no question is printed where nobody sits."""
        if self._first_line is not None:
            typed, self._first_line = self._first_line.strip(), None
            return typed
        try:
            return input(prompt if sys.stdin.isatty() else "").strip()
        except EOFError:
            return None


def _note(question: str, message: str) -> None:
    """Say something about a question, which is named where nobody sits and it was not printed."""
    asked = "" if sys.stdin.isatty() else f"{question.partition('?')[0]}? "
    say(f"note: {asked}{message}")
