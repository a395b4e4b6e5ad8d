"""What the commands on sessions share: options, opening a session, printing answers."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from graphcuts_dp.cli.group_options import GroupReading
from graphcuts_dp.cli.reading import Reading, read_sets
from graphcuts_dp.errors import LedgerError
from graphcuts_dp.graph.owned_rows import PrivateData
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.pairs.graph_queries import Question
from graphcuts_dp.pairs.groups import asked_query
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.pairs.vertices import Label
from graphcuts_dp.session.base import Answer
from graphcuts_dp.session.query_lines import labels_of_cut, query_title
from graphcuts_dp.session.session import Session, open_session
from graphcuts_dp.session.transcript import session_source

_SHOWN = 40  # characters of a set


def remembered(path: str, reading: Reading) -> dict[str, Any]:
    """How to read a graph again, from any folder."""
    vertices = reading.vertices
    if vertices is not None:
        parts = vertices.split(",") if reading.bipartite else [vertices]
        vertices = ",".join(
            part if part.isascii() and part.isdigit() else str(Path(part).resolve())
            for part in parts
        )
    return {"path": str(Path(path).resolve()), **asdict(reading), "vertices": vertices}


def resume(
    store: Store, name: str, graph: str | None, grouping: GroupReading | None = None
) -> Session:
    """Open a session on a store, with its graph, and with groups that queries may name.

    Raises:
        ParameterError: no such session, or nobody knows where the graph is.
        GraphCutsError: as `open_session`, and as `GroupReading.read`.
    """
    path, source = session_source(store, name, moved_to=graph)
    private = _read(path, source)
    groups = None if grouping is None else grouping.read(private.space)
    return open_session(private, store=store, name=name, groups=groups)


def typed_cut(session: Session, first: str, second: str | None) -> CutQuery:
    """The cut between two sets as they were typed; see `read_sets`."""
    names = session.groups
    return asked_query(*read_sets(first, second, session.vertices, names), names)


def _read(path: str, source: dict[str, Any]) -> PrivateData:
    try:
        return Reading(**source).read_data(path)
    except TypeError:
        raise LedgerError("the session was begun by another version of this program") from None


def query_text(query: Question, universe: Universe) -> str:
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
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def answer_text(answer: Answer) -> str:
    """An answer on one line, with what is left."""
    parts = [str(answer)]
    if answer.updated:
        parts.append("corrected")
    if answer.queries_left is not None:
        parts.append(f"{answer.queries_left:,} left")
    return "  ".join(parts)
