"""Questions on a terminal, each of which can be corrected: `Dialogue` asks them in order.

If standard input is no terminal, its lines are the answers. At its end, all further questions get
their usual answers.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from graphcuts_dp.cli.console import say
from graphcuts_dp.errors import GraphCutsError, ParameterError

BACK, EXPLAIN = "back", "?"  # lines that are no answers
NONE, YES, NO = "none", "yes", "no"
_INSTRUCTIONS = (
    f'An empty line takes what stands in brackets, "{EXPLAIN}" explains a question, and "{BACK}" '
    "returns to the question before."
)
_NO_COMMAND = "; no command was printed: start again"

Answers = dict[str, Any]  # values by the keys of their questions


@final
@dataclass(frozen=True, kw_only=True)
class AskedQuestion:
    """A question whose text, answer and help may depend on the answers so far.

    Attributes:
        key: key of its answer.
        text: the question.
        read: converts a typed line to the answer; it raises a GraphCutsError that says what is
            wrong with the line.
        explain: what "?" prints.
        usual: the line that an empty line stands for; "" if there is none. A GraphCutsError says
            why there is none.
        applies: whether the question is asked.
        needed: what is printed after an empty line if there is no usual answer.
        forecast: what is printed once the question is answered; "" for nothing.
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
    """A dialogue that asks questions in order, and returns to earlier ones.

    Args:
        questions: all questions that may be asked.
    """

    def __init__(self, questions: tuple[AskedQuestion, ...]) -> None:
        self._questions = questions
        self._answers: Answers = {}
        self._last_lines: dict[str, str] = {}  # the line that answered each question last, by key
        self._first_line: str | None = None  # typed before the first question

    def run(self, first_line: str | None = None) -> Answers:
        """Ask the questions.

        Args:
            first_line: line that was typed already, for the first question; None if there is none.

        Returns:
            The answers by the keys of their questions.

        Raises:
            ParameterError: the lines end with a wrong answer, or before a question without a usual
                answer.
        """
        if sys.stdin.isatty():
            say(_INSTRUCTIONS)
        self._first_line = first_line
        asked_keys: list[str] = []  # keys of the answered questions, in order
        while question := self._next_question(asked_keys):
            if self._answer(question):
                asked_keys.append(question.key)
            elif asked_keys:
                del self._answers[asked_keys.pop()]
            else:
                say("note: This is the first question.")
        return self._answers

    def _next_question(self, asked_keys: list[str]) -> AskedQuestion | None:
        """Return the first question after the last one asked that applies; None at the end."""
        keys = [question.key for question in self._questions]
        start = keys.index(asked_keys[-1]) + 1 if asked_keys else 0
        later = self._questions[start:]
        return next((question for question in later if question.applies(self._answers)), None)

    def _answer(self, question: AskedQuestion) -> bool:
        """Ask a question until its answer can be read; return False to go back instead."""
        text = question.text(self._answers)
        problem: GraphCutsError | None = None  # of the latest wrong answer
        while True:
            usual, hindrance = self._usual(question)
            if hindrance is not None and problem is None:
                _note(text, str(hindrance))
            line = self._next_line(f"{text} [{usual}] " if usual else f"{text} ")
            if line == BACK:
                return False
            if line == EXPLAIN:
                _note(text, question.explain(self._answers))
                continue
            if line is None and problem is not None:
                raise ParameterError(f"{text} {problem}{_NO_COMMAND}")
            try:
                if not line and not usual:
                    raise hindrance or ParameterError(question.needed(self._answers))
                self._answers[question.key] = question.read(line or usual, self._answers)
            except GraphCutsError as refusal:
                if line is None:
                    raise ParameterError(f"{text} {refusal}{_NO_COMMAND}") from None
                self._last_lines.pop(question.key, None)
                problem = refusal
                _note(text, str(refusal))
            else:
                self._last_lines[question.key] = line or usual
                forecast = question.forecast(self._answers)
                if forecast:
                    say(f"note: {forecast}")
                return True

    def _usual(self, question: AskedQuestion) -> tuple[str, GraphCutsError | None]:
        """Return the line that an empty line stands for, or "" and why there is none."""
        try:
            return self._last_lines.get(question.key) or question.usual(self._answers), None
        except GraphCutsError as hindrance:
            return "", hindrance

    def _next_line(self, prompt: str) -> str | None:
        """Return the next line, without blanks around it; None at the end.

        Args:
            prompt: what a terminal prints before; others print no question.
        """
        if self._first_line is not None:
            line, self._first_line = self._first_line.strip(), None
            return line
        try:
            return input(prompt if sys.stdin.isatty() else "").strip()
        except EOFError:
            return None


def _note(question: str, message: str) -> None:
    """Print a note on a question, which it names unless a terminal has printed the question."""
    name = "" if sys.stdin.isatty() else f"{question.partition('?')[0]}? "
    say(f"note: {name}{message}")
