"""`graphcuts-dp session repl`: a prompt at which cut queries are typed."""

import sys
from collections.abc import Callable
from typing import final

from graphcuts_dp.cli.console import out, say, show_facts
from graphcuts_dp.cli.queries import read_sets
from graphcuts_dp.cli.session import answer_text, session_facts
from graphcuts_dp.display import printable
from graphcuts_dp.errors import GraphCutsError, LedgerError, QueryError
from graphcuts_dp.pairs.graph_queries import Question
from graphcuts_dp.pairs.query_lines import labels_of_cut, query_title, read_asked
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.pairs.vertices import Label
from graphcuts_dp.session.session import Session

_SHOWN = 40  # characters of a set
HELP = """A query is one or two sets of labels:
  ann, bob | kim, lee    what passes between {ann, bob} and {kim, lee}
  ann, bob               what passes between {ann, bob} and all others
  * | kim                all vertices; of two sides, sets may hold vertices of both
  {"left": {"ann": 0.5}, "right": {"kim": 1}}    any line of `session run`
  @team.txt | kim        a set from a file, one label on each line
  @@Sales, @@IT | kim    groups of the public table --groups
Commands:
  :status                what was promised, asked and left
  :cost QUERY            whether a query is on the record already; asks nothing
  :history [N]           the latest answers
  :plot FILE.png         draw all answers with their intervals (.png or .pdf)
  :help                  this text
  :quit                  leave; the session stays open for another day"""


def converse(session: Session, *, unguaranteed: bool) -> None:
    """Answer line after line until the last one."""
    prompt = Prompt(session, unguaranteed=unguaranteed)
    if sys.stdin.isatty():
        out.print(f"session {session.name}: {session.guarantee}", markup=False)
        out.print("type a query, or :help", markup=False)
        _complete(prompt)
    while prompt.turn():
        pass


@final
class Prompt:
    """Reads lines and acts on them.

    Args:
        session: the open session.
        unguaranteed: as for `Session.ask`.
    """

    def __init__(self, session: Session, *, unguaranteed: bool) -> None:
        self._session = session
        self._unguaranteed = unguaranteed
        self._left, self._right = session.vertices
        self._commands: dict[str, Callable[[str], None]] = {
            ":status": self._status,
            ":cost": self._cost,
            ":history": self._history,
            ":plot": self._plot,
            ":help": lambda _: out.print(HELP, markup=False),
        }

    def turn(self) -> bool:
        """One line; False when it was the last."""
        try:
            line = input(self._prompt() if sys.stdin.isatty() else "").strip()
        except EOFError:
            return False
        except KeyboardInterrupt:
            out.print()  # a line that was given up
            return True
        command, _, rest = line.partition(" ")
        if command in (":quit", ":q", ":exit"):
            return False
        try:
            if command in self._commands:
                self._commands[command](rest.strip())
            elif line.startswith(":"):
                say(f"error: unknown command {command}; :help lists them")
            elif line:
                self._ask(line)
        except LedgerError:
            raise  # nothing more can be recorded
        except GraphCutsError as problem:
            say(f"error: {problem}")
        return True

    def completions(self, word: str, before: str) -> list[str]:
        """What a word may become.

        Args:
            word: the text of the label so far.
            before: the line before it.
        """
        if not before and word.startswith(":"):
            return [name for name in (*self._commands, ":quit") if name.startswith(word)]
        vertices = self._right if "|" in before else self._left
        return [text for label in vertices.labels if (text := str(label)).startswith(word)]

    def _prompt(self) -> str:
        left = self._session.remaining.queries
        return f"{self._session.name}> " if left is None else f"{left:,} left> "

    def _query(self, line: str) -> Question:
        if line.startswith("{"):
            return read_asked(line, None, self._session.universe.space)
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

    def _cost(self, line: str) -> None:
        preview = self._session.cost([self._query(line)])
        free = "free: on the record, or without pairs"
        out.print(free if preview.free else "one new query", markup=False)

    def _status(self, _: str) -> None:
        show_facts(session_facts(self._session.status))

    def _history(self, rest: str) -> None:
        count = int(rest[:18]) if rest.isascii() and rest.isdigit() else 10
        history = self._session.history
        first = max(0, len(history) - count)
        for number, entry in enumerate(history[first:], start=first + 1):
            cut = _query_text(entry.query, self._session.universe)
            out.print(f"{number:>6}  {cut:<30}  {answer_text(entry.answer)}", markup=False)

    def _plot(self, path: str) -> None:
        if not path.lower().endswith((".png", ".pdf")):
            raise QueryError("name a file, for example :plot answers.png")
        from graphcuts_dp.plotting.style import write_figure

        write_figure(self._session.plot(), path)
        points = self._session.history
        out.print(f"{len(points):,} answers drawn to {path}", markup=False)


def _complete(prompt: Prompt) -> None:
    """Complete labels with Tab, and keep lines for the arrow keys."""
    try:
        import readline
    except ImportError:  # not every Python is built with it
        return
    readline.set_completer_delims(",|\t\n")
    readline.parse_and_bind("tab: complete")

    def completer(text: str, index: int) -> str | None:
        word = text.lstrip()
        before = readline.get_line_buffer()[: readline.get_begidx()]
        found = prompt.completions(word, before)
        gap = text[: len(text) - len(word)]
        return gap + found[index] if index < len(found) else None

    readline.set_completer(completer)


def _query_text(query: Question, universe: Universe) -> str:
    """A cut by its labels, of which what is too long is cut off; of another query what it is."""
    S, T = labels_of_cut(query, universe)
    if S is None or T is None:
        return query_title(query, universe)
    one_set = not universe.bipartite
    others = one_set and len(S) + len(T) == universe.shape[0] and not set(S) & set(T)
    return f"{_shortened(S)} | {'others' if others and len(T) > 1 else _shortened(T)}"


def _shortened(labels: tuple[Label, ...]) -> str:
    text = ", ".join(map(str, labels))
    if len(text) > _SHOWN:
        text = f"{text[:_SHOWN]}... ({len(labels):,})"
    return printable(text)
