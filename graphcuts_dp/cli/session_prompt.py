"""The prompt of `graphcuts-dp session repl`: one line is one query or one command."""

import sys
from collections.abc import Callable
from typing import final

from graphcuts_dp.cli.console import out, say, show_facts
from graphcuts_dp.cli.queries import read_sets
from graphcuts_dp.cli.store import session_facts
from graphcuts_dp.display import printable
from graphcuts_dp.errors import GraphCutsError, LedgerError, QueryError
from graphcuts_dp.files import PICTURE_ENDINGS
from graphcuts_dp.queries.graph_queries import Question
from graphcuts_dp.queries.query_lines import labels_of_cut, query_title, read_question
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.schema.vertices import Label
from graphcuts_dp.session.base import Answer
from graphcuts_dp.session.session import Session

_HELP = """A query is one or two sets of labels:
  ann, bob | kim, lee    what passes between {ann, bob} and {kim, lee}
  ann, bob               what passes between {ann, bob} and all others
  * | kim                all vertices; of two sides, sets may hold vertices of both
  {"left": {"ann": 0.5}, "right": {"kim": 1}}    any line of `session run`
  @team.txt | kim        a set from a file, one label on each line
  @@Sales, @@IT | kim    groups of the public table --groups
  "Lee, Ann", bob        a name with a comma stands in double quotes
Commands:
  :status                what was guaranteed, asked and left
  :cost QUERY            whether a query is on the record already; asks nothing
  :history [N]           the latest answers
  :plot FILE.png         draw all answers with their intervals (.png, .pdf or .svg)
  :help                  this text
  :quit                  leave; the session stays open for another day"""
_QUIT = (":quit", ":q", ":exit")
_LATEST = 10  # answers that :history lists, if no number is typed
_LONGEST_SET = 40  # characters of a set in the history


def converse(session: Session, *, unguaranteed: bool) -> None:
    """Answer line after line, until the end of the input or `:quit`."""
    prompt = Prompt(session, unguaranteed=unguaranteed)
    if sys.stdin.isatty():
        out.print(f"session {session.name}: {session.guarantee}", markup=False)
        out.print("type a query, or :help", markup=False)
        _enable_completion(prompt)
    while prompt.answer_line():
        pass


@final
class Prompt:
    """Read lines, and answer their queries or carry out their commands.

    Args:
        session: the open session.
        unguaranteed: as for `Session.ask`.
    """

    def __init__(self, session: Session, *, unguaranteed: bool) -> None:
        self._session = session
        self._unguaranteed = unguaranteed
        self._commands: dict[str, Callable[[str], None]] = {
            ":status": self._status,
            ":cost": self._cost,
            ":history": self._history,
            ":plot": self._plot,
            ":help": self._help,
        }

    def answer_line(self) -> bool:
        """Read one line and act on it; return False if no further line is to be read.

        Raises:
            LedgerError: nothing more can be recorded.
        """
        try:
            line = input(self._prompt_text() if sys.stdin.isatty() else "").strip()
        except EOFError:
            return False
        except KeyboardInterrupt:  # gives up this line alone
            out.print()
            return True
        command, _, argument = line.partition(" ")
        if command in _QUIT:
            return False
        try:
            if command in self._commands:
                self._commands[command](argument.strip())
            elif line.startswith(":"):
                say(f"error: unknown command {command}; :help lists them")
            elif line:
                self._ask(line)
        except LedgerError:
            raise
        except GraphCutsError as problem:
            say(f"error: {problem}")
        return True

    def completions(self, word: str, before: str) -> list[str]:
        """Return the commands or labels that begin with a word.

        Args:
            word: the beginning of a command or label.
            before: the text of the line before the word.
        """
        if not before and word.startswith(":"):
            return [name for name in (*self._commands, _QUIT[0]) if name.startswith(word)]
        left, right = self._session.vertices
        labels = map(str, (right if "|" in before else left).labels)
        return [label for label in labels if label.startswith(word)]

    def _prompt_text(self) -> str:
        left = self._session.remaining.queries
        return f"{self._session.name}> " if left is None else f"{left:,} left> "

    def _query(self, line: str) -> Question:
        if line.startswith("{"):
            return read_question(line, None, self._session.universe.space)
        first, bar, second = line.partition("|")
        if "|" in second:
            raise QueryError("a query has one | at most, between its two sets")
        return read_sets(
            first.strip(),
            second.strip() if bar else None,
            self._session.vertices,
            self._session.groups,
        )

    def _ask(self, line: str) -> None:
        answer = self._session.ask(self._query(line), unguaranteed=self._unguaranteed)
        out.print(answer_text(answer), markup=False)

    def _status(self, _argument: str) -> None:
        show_facts(session_facts(self._session.status))

    def _cost(self, line: str) -> None:
        preview = self._session.cost([self._query(line)])
        free = "free: on the record, or without pairs"
        out.print(free if preview.free else "one new query", markup=False)

    def _history(self, argument: str) -> None:
        is_number = argument.isascii() and argument.isdigit()
        count = int(argument[:18]) if is_number else _LATEST  # more digits list all answers, too
        history = self._session.history
        first = max(0, len(history) - count)
        for number, entry in enumerate(history[first:], start=first + 1):
            query = _query_text(entry.query, self._session.universe)
            out.print(f"{number:>6}  {query:<30}  {answer_text(entry.answer)}", markup=False)

    def _plot(self, path: str) -> None:
        if not path.lower().endswith(PICTURE_ENDINGS):
            raise QueryError("name a file, for example :plot answers.png")
        from graphcuts_dp.plotting.style import write_figure  # matplotlib is slow to import

        write_figure(self._session.plot(), path)
        out.print(f"{len(self._session.history):,} answers drawn to {path}", markup=False)

    def _help(self, _argument: str) -> None:
        out.print(_HELP, markup=False)


def answer_text(answer: Answer) -> str:
    """Return an answer on one line, with the number of queries that are left."""
    parts = [str(answer)]
    if answer.updated:
        parts.append("corrected")
    if answer.queries_left is not None:
        parts.append(f"{answer.queries_left:,} left")
    return "  ".join(parts)


def _query_text(query: Question, universe: Universe) -> str:
    """Return a cut by its labels, shortened; any other query by its title."""
    S, T = labels_of_cut(query, universe)
    if S is None or T is None:
        return query_title(query, universe)
    has_one_set = not universe.bipartite
    covers_all = has_one_set and len(S) + len(T) == universe.shape[0] and not set(S) & set(T)
    return f"{_set_text(S)} | {'others' if covers_all and len(T) > 1 else _set_text(T)}"


def _set_text(labels: tuple[Label, ...]) -> str:
    text = ", ".join(map(str, labels))
    if len(text) > _LONGEST_SET:
        text = f"{text[:_LONGEST_SET]}... ({len(labels):,})"
    return printable(text)


def _enable_completion(prompt: Prompt) -> None:
    """Complete labels with the Tab key, and bring back lines with the arrow keys."""
    try:
        import readline
    except ImportError:  # not every Python is built with it
        return
    readline.set_completer_delims(",|\t\n")  # no blank: labels may contain some
    readline.parse_and_bind("tab: complete")

    def completer(text: str, index: int) -> str | None:
        word = text.lstrip()
        indent = text[: len(text) - len(word)]
        before = readline.get_line_buffer()[: readline.get_begidx()]
        matches = prompt.completions(word, before)
        return indent + matches[index] if index < len(matches) else None

    readline.set_completer(completer)
