"""Queries of sessions in one canonical form, as bytes: equal queries have equal bytes."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.errors import LedgerError, QueryError
from graphcuts_dp.queries.coefficients import (
    as_cut,
    pair_coefficients,
)
from graphcuts_dp.queries.graph_queries import GraphQuery, Question
from graphcuts_dp.queries.linear import (
    CutQuery,
    LinearQuery,
    MatrixQuery,
    RankOneQuery,
    pairs_of_cut,
)
from graphcuts_dp.queries.plain import plain_question
from graphcuts_dp.queries.universe import Universe

_COMPLEMENT, _TWO_SETS, _RANK_ONE, _DENSE, _SPARSE, _STATISTIC = range(6)  # kinds of queries
_BITS, _NUMBERS, _DIGEST = range(3)  # forms of a part: bits, numbers, or the SHA-256 of a long one
_LONGEST_SHORT = 64  # bytes; longer parts are stored once, and queries name them by their SHA-256


@final
@dataclass(frozen=True)
class EncodedQuery:
    """A query in its canonical form.

    Attributes:
        query: as `SessionMechanism.step` takes it. On a graph: a cut with truth vectors for sets, a
            `RankOneQuery`, a `GraphQuery`, or for every other linear query a `MatrixQuery` with
            one coefficient for each pair.
        data: the query as bytes.
        digest: SHA-256 of `data`: equal for equal queries.
        long_parts: parts that `data` names by their SHA-256, to be stored beside it.
        pairs: a bound on the number of vertex pairs that it counts; for a `GraphQuery`, its largest
            value. 0 if the answer is 0 on every graph: that takes no step, and no budget.
    """

    query: Any = field(repr=False)
    data: bytes = field(repr=False)
    digest: bytes
    long_parts: tuple[bytes, ...] = field(repr=False)
    pairs: int

    @classmethod
    def of(
        cls, query: Any, data: bytes, *, long_parts: tuple[bytes, ...] = (), pairs: int = 1
    ) -> "EncodedQuery":
        """Return a query with the digest of its bytes."""
        return cls(query, data, hashlib.sha256(data).digest(), long_parts, pairs)


def encode_query(query: Question, universe: Universe) -> EncodedQuery:
    """Return the canonical form of a query.

    Sets are compared as sets. If T is the complement of S, only S is stored. In an undirected graph
    (S, T) and (T, S) are one query, S and its complement are one query, and u and v of a rank-one
    query can be exchanged. A rank-one query that is a cut is stored as that cut; other linear
    queries are stored by their coefficients.

    Privacy: the query that is counted is `plain_question` of this one, read here once from the
    public vertices, so no method of a user's own class decides on noise or reads the graph.

    Raises:
        QueryError: neither a linear query nor a statistic, unknown vertices, or a truth vector of
            the wrong length.
    """
    query = plain_question(query, universe.space)
    if isinstance(query, GraphQuery):
        query.check(universe.space)
        parts = [query.statistic.encode()]
        return _from_parts(_STATISTIC, parts, query, query.largest(universe.space))
    if isinstance(query, RankOneQuery):
        cut = as_cut(query, universe.space)
        if cut is None:
            parts = [_encode_numbers(x) for x in query.vectors(universe.shape)]
            if universe.symmetric:
                parts.sort()
            pairs = universe.size if query.sensitivity(universe.space) > 0 else 0
            return _from_parts(_RANK_ONE, parts, query, pairs)
        query = cut
    if not isinstance(query, CutQuery):
        return _encode_coefficients(query, universe)
    S, T = query.masks(universe.space)
    if universe.bipartite:
        is_complement = bool(T.all())
    else:
        is_complement = query.T is None or np.array_equal(T, ~S)
        if universe.symmetric and _is_after(S, T):
            S, T = T, S
    pairs = pairs_of_cut(S, T, universe.space)
    if is_complement:
        return _from_parts(_COMPLEMENT, [_encode_set(S)], CutQuery(S), pairs)
    return _from_parts(_TWO_SETS, [_encode_set(S), _encode_set(T)], CutQuery(S, T), pairs)


def decode_query(data: bytes, universe: Universe, content: Callable[[bytes], bytes]) -> Question:
    """Return the query that `encode_query` encoded.

    Args:
        data: the bytes.
        universe: the public vertex pairs.
        content: (SHA-256) -> the long part that has it.

    Raises:
        LedgerError: bytes of another version, or of another graph.
    """
    try:
        return _decode(data[0], data[1:], universe.shape, content)
    except (ValueError, IndexError, QueryError):
        raise LedgerError("a query on the record is of another version or another graph") from None


def _encode_coefficients(query: LinearQuery, universe: Universe) -> EncodedQuery:
    """Return a linear query by its coefficients: all of them, or those that are not 0."""
    coefficients = pair_coefficients(query, universe.space)
    rows, columns = np.nonzero(coefficients)
    if 2 * len(rows) < universe.size:
        indices = [_encode_part(_NUMBERS, side.astype("<u4").tobytes()) for side in (rows, columns)]
        tag, parts = _SPARSE, [*indices, _encode_numbers(coefficients[rows, columns])]
    else:
        tag, parts = _DENSE, [_encode_numbers(coefficients)]
    pairs = universe.size if len(rows) else 0
    return _from_parts(tag, parts, MatrixQuery(coefficients), pairs)


def _encode_set(mask: BoolVector) -> bytes:
    """Return a set as a part: its row numbers or its bits, whichever is shorter."""
    rows = np.flatnonzero(mask)
    if 4 * len(rows) < len(mask) / 8:
        return _encode_part(_NUMBERS, rows.astype("<u4").tobytes())
    return _encode_part(_BITS, np.packbits(mask).tobytes())


def _encode_numbers(numbers: npt.NDArray[np.float64]) -> bytes:
    """Return floats as a part, in which -0 is 0."""
    return _encode_part(_NUMBERS, (numbers + 0.0).astype("<f8").tobytes())


def _encode_part(form: int, payload: bytes) -> bytes:
    """Return a part: its form, the length of its payload, and the payload."""
    return bytes([form]) + len(payload).to_bytes(4, "little") + payload


def _from_parts(tag: int, parts: list[bytes], query: Question, pairs: int) -> EncodedQuery:
    """Return the query with these parts, of which the long ones are named by their SHA-256."""
    long_parts = tuple(part for part in parts if len(part) > _LONGEST_SHORT)
    short_parts = [
        part
        if len(part) <= _LONGEST_SHORT
        else _encode_part(_DIGEST, hashlib.sha256(part).digest())
        for part in parts
    ]
    data = bytes([tag]) + b"".join(short_parts)
    return EncodedQuery.of(query, data, long_parts=long_parts, pairs=pairs)


def _is_after(S: BoolVector, T: BoolVector) -> bool:
    """Return whether T comes before S in the canonical order.

    A smaller set comes first; of sets of one size, the one with the first vertex in which they
    differ.
    """
    sizes = np.count_nonzero(S), np.count_nonzero(T)
    if sizes[0] != sizes[1]:
        return bool(sizes[1] < sizes[0])
    first = int((S != T).argmax())
    return bool(T[first] and not S[first])


def _decode(
    tag: int, data: bytes, shape: tuple[int, int], content: Callable[[bytes], bytes]
) -> Question:
    """Return the query of a tag and its parts; see `_from_parts`.

    Raises:
        ValueError, IndexError, QueryError: parts that do not fit the tag or the shape.
    """
    if tag == _STATISTIC:
        return GraphQuery(data.decode())
    parts = []
    while data:
        form, payload, data = _decode_part(data, content)
        parts.append((form, payload))
    if tag == _COMPLEMENT:
        (part,) = parts
        return CutQuery(_decode_set(*part, shape[0]))
    if tag == _TWO_SETS:
        S, T = parts
        return CutQuery(_decode_set(*S, shape[0]), _decode_set(*T, shape[1]))
    *indices, values = (payload for _, payload in parts)
    numbers = np.frombuffer(values, "<f8")
    if tag == _RANK_ONE:
        (u,) = indices
        query = RankOneQuery(np.frombuffer(u, "<f8"), numbers)
        query.vectors(shape)
        return query
    if tag == _DENSE:
        return MatrixQuery(numbers.reshape(shape))
    rows, columns = (np.frombuffer(payload, "<u4") for payload in indices)
    matrix = np.zeros(shape)
    matrix[rows, columns] = numbers
    return MatrixQuery(matrix)


def _decode_part(data: bytes, content: Callable[[bytes], bytes]) -> tuple[int, bytes, bytes]:
    """Return the form and the payload of the first part, and the bytes after it."""
    form, length = data[0], int.from_bytes(data[1:5], "little")
    payload, following = data[5 : 5 + length], data[5 + length :]
    if len(payload) < length:
        raise ValueError
    if form == _DIGEST:
        form, payload, _ = _decode_part(content(payload), content)
    return form, payload, following


def _decode_set(form: int, payload: bytes, size: int) -> BoolVector:
    """Return the truth vector of a set from its part.

    Raises:
        ValueError, IndexError: a set of another number of vertices.
    """
    if form == _BITS:
        bits: npt.NDArray[np.uint8] = np.unpackbits(np.frombuffer(payload, np.uint8))
        if not 0 <= len(bits) - size < 8:
            raise ValueError
        return bits[:size].astype(np.bool_)
    mask = np.zeros(size, dtype=np.bool_)
    mask[np.frombuffer(payload, "<u4")] = True
    return mask
