"""Queries and answers as text and as bytes: one form for each query, however it was written."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.errors import FileFormatError, LedgerError, QueryError
from graphcuts_dp.graph.file_bytes import read_bytes
from graphcuts_dp.graph.graph_queries import STATISTICS, GraphQuery
from graphcuts_dp.graph.group_names import MARK
from graphcuts_dp.graph.queries import CutQuery, pairs_of_cut
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.interactive.base import Answer, Update

_COMPLEMENT, _PAIR, _STATISTIC = 0, 1, 2
_BITS, _ROWS, _NAMED = 0, 1, 2
_SHORT = 64  # bytes: longer sets are kept once each, and queries name them


@final
@dataclass(frozen=True)
class EncodedQuery:
    """A query in its one form.

    Attributes:
        query: a cut with truth vectors for sets, or a `GraphQuery`.
        data: the query as bytes.
        digest: SHA-256 of them: equal for equal queries.
        sets: long sets as bytes, which `data` names by their SHA-256: to be kept with it.
        pairs: how many vertex pairs it counts; of a `GraphQuery` the largest it can be.
        sensitivity: of a `GraphQuery`: what its number is divided by; else 1.
    """

    query: Any = field(repr=False)
    data: bytes = field(repr=False)
    digest: bytes
    sets: tuple[bytes, ...] = field(repr=False)
    pairs: int
    sensitivity: int = 1


def read_lines(path: str) -> list[tuple[int, str]]:
    """The lines of a text file that are not empty, with their numbers.

    Raises:
        FileFormatError: the file cannot be read, or is not text.
    """
    try:
        text = read_bytes(path).decode("utf-8-sig")  # some editors begin with a mark
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not text") from None
    return [(i, line) for i, line in enumerate(text.split("\n"), start=1) if line.strip()]


def read_query(line: str, number: int) -> CutQuery:
    """A cut query from a line of JSON: {"S": ["ann"], "T": ["kim"]}, or without T.

    A set may also be one text, {"S": "@Sales"}, which names a group.

    Raises:
        QueryError: anything else.
    """
    try:
        value: Any = json.loads(line, object_pairs_hook=_each_key_once)
        S, T = (_listed(each) for each in (value["S"], value.get("T")))
        if set(value) <= {"S", "T"} and isinstance(S, list) and isinstance(T, list | None):
            return CutQuery(S, T)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass
    raise QueryError(
        f'line {number} of the queries is not an object like {{"S": ["ann"], "T": ["kim"]}}'
    )


def read_question(line: str, number: int) -> CutQuery | GraphQuery:
    """What a session can be asked: as `read_query`, or {"statistic": "triangles"}.

    Raises:
        QueryError: anything else.
    """
    try:
        value: Any = json.loads(line, object_pairs_hook=_each_key_once)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and set(value) == {"statistic"}:
        if isinstance(value["statistic"], str) and value["statistic"] in STATISTICS:
            return GraphQuery(value["statistic"])
        known = ", ".join(STATISTICS)
        raise QueryError(f"line {number} of the queries: a statistic is one of {known}")
    return read_query(line, number)


def _listed(given: Any) -> Any:
    return [given] if isinstance(given, str) and given.startswith(MARK) else given


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def encode_query(query: CutQuery | GraphQuery, universe: Universe) -> EncodedQuery:
    """The one form of a query.

    Sets are compared as sets. The complement of S is stored as such. In an undirected graph (S, T)
    and (T, S) are one query, and S may also be exchanged with its complement.

    Raises:
        QueryError: another query than a cut, unknown vertices, or a truth vector of the wrong
            length.
    """
    if isinstance(query, GraphQuery):
        return _encode_statistic(query, universe)
    if not isinstance(query, CutQuery):
        raise QueryError(
            f"a session answers cut queries, not {type(query).__name__}: give two sets of vertices"
        )
    S, T = query.masks(universe.space)
    if universe.bipartite:
        complement = bool(T.all())
    else:
        complement = query.T is None or np.array_equal(T, ~S)
        if universe.symmetric and _later(S, T):
            S, T = T, S
    sets = [_encode_set(mask) for mask in ((S,) if complement else (S, T))]
    named = [each if len(each) <= _SHORT else _name_of(each) for each in sets]
    data = bytes([_COMPLEMENT if complement else _PAIR]) + b"".join(named)
    found = CutQuery(S) if complement else CutQuery(S, T)
    long = tuple(each for each in sets if len(each) > _SHORT)
    pairs = pairs_of_cut(S, T, universe.space)
    return EncodedQuery(found, data, hashlib.sha256(data).digest(), long, pairs)


def _encode_statistic(query: GraphQuery, universe: Universe) -> EncodedQuery:
    query.check(universe.space)
    data = bytes([_STATISTIC]) + query.statistic.encode()
    digest, largest = hashlib.sha256(data).digest(), query.largest(universe.space)
    return EncodedQuery(query, data, digest, (), largest, query.sensitivity(universe.space))


def decode_query(
    data: bytes, universe: Universe, content: Callable[[bytes], bytes]
) -> CutQuery | GraphQuery:
    """The query that `encode_query` made these bytes of.

    Args:
        data: the bytes.
        universe: the public vertex pairs.
        content: gives a long set by its SHA-256.

    Raises:
        LedgerError: other bytes.
    """
    try:
        if data[0] == _STATISTIC:
            return GraphQuery(data[1:].decode())
        S, rest = _decode_set(data[1:], universe.shape[0], content)
        if data[0] == _COMPLEMENT and not rest:
            return CutQuery(S)
        T, rest = _decode_set(rest, universe.shape[1], content)
        if data[0] == _PAIR and not rest:
            return CutQuery(S, T)
    except (ValueError, IndexError, QueryError):
        pass
    raise LedgerError("a query on the record is of another version or another graph")


def _later(S: BoolVector, T: BoolVector) -> bool:
    """Whether T comes first: it is smaller, or as large and holds the first vertex not in both."""
    sizes = np.count_nonzero(S), np.count_nonzero(T)
    if sizes[0] != sizes[1]:
        return bool(sizes[1] < sizes[0])
    first = int((S != T).argmax())
    return bool(T[first] and not S[first])


def _encode_set(mask: BoolVector) -> bytes:
    """Row numbers or bits, whichever is shorter."""
    rows = np.flatnonzero(mask)
    if 4 * len(rows) < len(mask) / 8:
        form, payload = _ROWS, rows.astype("<u4").tobytes()
    else:
        form, payload = _BITS, np.packbits(mask).tobytes()
    return bytes([form]) + len(payload).to_bytes(4, "little") + payload


def _name_of(encoded: bytes) -> bytes:
    name = hashlib.sha256(encoded).digest()
    return bytes([_NAMED]) + len(name).to_bytes(4, "little") + name


def _decode_set(
    data: bytes, size: int, content: Callable[[bytes], bytes]
) -> tuple[BoolVector, bytes]:
    length = int.from_bytes(data[1:5], "little")
    payload, rest = data[5 : 5 + length], data[5 + length :]
    if data[0] == _NAMED:
        return _decode_set(content(payload), size, content)[0], rest
    if data[0] == _BITS:
        bits: npt.NDArray[np.uint8] = np.unpackbits(np.frombuffer(payload, np.uint8))
        if not 0 <= len(bits) - size < 8:
            raise ValueError
        return bits[:size].astype(np.bool_), rest
    mask = np.zeros(size, dtype=np.bool_)
    mask[np.frombuffer(payload, "<u4")] = True
    return mask, rest


def encode_answer(answer: Answer) -> dict[str, Any]:
    """An answer as plain values, short: there will be many."""
    values: dict[str, Any] = {
        "value": answer.value,
        "interval": list(answer.interval),
        "confidence": answer.confidence,
        "left": [answer.queries_left, answer.updates_left],
    }
    if not answer.guaranteed:
        values["guaranteed"] = False
    if answer.updates:
        values["updates"] = [[update.sign, update.value] for update in answer.updates]
    if answer.seeded:
        values["seeded"] = True
    return values


def decode_answer(values: dict[str, Any]) -> Answer:
    """The answer that `encode_answer` made these values of.

    Raises:
        LedgerError: other values.
    """
    try:
        low, high = values["interval"]
        return Answer(
            value=values["value"],
            interval=(low, high),
            confidence=values["confidence"],
            guaranteed=values.get("guaranteed", True),
            updates=tuple(Update(sign, value) for sign, value in values.get("updates", ())),
            queries_left=values["left"][0],
            updates_left=values["left"][1],
            seeded=values.get("seeded", False),
        )
    except (LookupError, TypeError, ValueError):
        raise LedgerError("an answer on the record is of another version") from None
