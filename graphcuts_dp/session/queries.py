"""Queries of sessions: their one form as bytes, how they are counted, and the true answers."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.errors import LedgerError, QueryError
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.graph.grid import DIGIT_BITS, Grid
from graphcuts_dp.queries.coefficients import (
    CoefficientGrid,
    Extent,
    as_cut,
    exact_sums,
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

_COMPLEMENT, _PAIR, _RANK_ONE, _DENSE, _SPARSE, _STATISTIC = range(6)
_BITS, _ROWS, _NAMED = 0, 1, 2
_WORD = 8  # queries that one pass over the edges answers
_EDGES = 1 << 15  # edges at a time: their bytes stay in the cache
_SHORT = 64  # bytes: longer sets are kept once each, and queries name them


@final
@dataclass(frozen=True)
class EncodedQuery:
    """A query in its one form.

    Attributes:
        query: what `SessionMechanism.step` takes. On a graph: a cut with truth vectors for sets, a
            `RankOneQuery`, a `GraphQuery`, or for every other linear query a `MatrixQuery` with
            each pair's coefficient at one place.
        data: the query as bytes.
        digest: SHA-256 of them: equal for equal queries.
        sets: long parts as bytes, which `data` names by their SHA-256: to be kept with it.
        pairs: how many vertex pairs it counts, or has to; of a `GraphQuery` the largest it can be:
            0 if the answer is 0 on every graph: that takes no step, and no budget.
    """

    query: Any = field(repr=False)
    data: bytes = field(repr=False)
    digest: bytes
    sets: tuple[bytes, ...] = field(repr=False)
    pairs: int

    @classmethod
    def of(
        cls, query: Any, data: bytes, *, sets: tuple[bytes, ...] = (), pairs: int = 1
    ) -> "EncodedQuery":
        """A query with the digest of its bytes."""
        return cls(query, data, hashlib.sha256(data).digest(), sets, pairs)


def encode_query(query: Question, universe: Universe) -> EncodedQuery:
    """The one form of a query.

    Sets are compared as sets. The complement of S is stored as such. In an undirected graph (S, T)
    and (T, S) are one query, and S may also be exchanged with its complement; u and v of a rank-one
    query likewise. A rank-one query that is a cut is stored as that cut, one that is given by its
    coefficients by them.

    Privacy: the query that is counted is `plain_question` of this one, read here once from the
    public vertices, so no method of a class of the user's own decides on noise or reads the graph.

    Raises:
        QueryError: no linear query, unknown vertices, or a truth vector of the wrong length.
    """
    query = plain_question(query, universe.space)
    if isinstance(query, GraphQuery):
        query.check(universe.space)
        parts = [query.statistic.encode()]
        return _of_parts(_STATISTIC, parts, query, query.largest(universe.space))
    if isinstance(query, RankOneQuery):
        cut = as_cut(query, universe.space)
        if cut is None:
            parts = [_encode_numbers(x) for x in query.vectors(universe.shape)]
            if universe.symmetric:
                parts.sort()
            some = query.sensitivity(universe.space) > 0
            return _of_parts(_RANK_ONE, parts, query, universe.size * some)
        query = cut
    if not isinstance(query, CutQuery):
        return _encode_coefficients(query, universe)
    S, T = query.masks(universe.space)
    if universe.bipartite:
        complement = bool(T.all())
    else:
        complement = query.T is None or np.array_equal(T, ~S)
        if universe.symmetric and _later(S, T):
            S, T = T, S
    pairs = pairs_of_cut(S, T, universe.space)
    if complement:
        return _of_parts(_COMPLEMENT, [_encode_set(S)], CutQuery(S), pairs)
    return _of_parts(_PAIR, [_encode_set(S), _encode_set(T)], CutQuery(S, T), pairs)


def _of_parts(tag: int, parts: list[bytes], query: Question, pairs: int) -> EncodedQuery:
    """A query from its parts, of which long ones are named."""
    long = tuple(each for each in parts if len(each) > _SHORT)
    named = [
        each if len(each) <= _SHORT else _encoded(_NAMED, hashlib.sha256(each).digest())
        for each in parts
    ]
    data = bytes([tag]) + b"".join(named)
    return EncodedQuery.of(query, data, sets=long, pairs=pairs)


def _encode_coefficients(query: LinearQuery, universe: Universe) -> EncodedQuery:
    coefficients = pair_coefficients(query, universe.space)
    rows, columns = np.nonzero(coefficients)
    if 2 * len(rows) < universe.size:
        ends = [_encoded(_ROWS, each.astype("<u4").tobytes()) for each in (rows, columns)]
        tag, parts = _SPARSE, [*ends, _encode_numbers(coefficients[rows, columns])]
    else:
        tag, parts = _DENSE, [_encode_numbers(coefficients)]
    some = len(rows) > 0
    return _of_parts(tag, parts, MatrixQuery(coefficients), universe.size * some)


def _encode_numbers(numbers: npt.NDArray[np.float64]) -> bytes:
    return _encoded(_ROWS, (numbers + 0.0).astype("<f8").tobytes())


def _encode_set(mask: BoolVector) -> bytes:
    """Row numbers or bits, whichever is shorter."""
    rows = np.flatnonzero(mask)
    if 4 * len(rows) < len(mask) / 8:
        return _encoded(_ROWS, rows.astype("<u4").tobytes())
    return _encoded(_BITS, np.packbits(mask).tobytes())


def _encoded(form: int, payload: bytes) -> bytes:
    return bytes([form]) + len(payload).to_bytes(4, "little") + payload


def _later(S: BoolVector, T: BoolVector) -> bool:
    """Whether T comes first: it is smaller, or as large and holds the first vertex not in both."""
    sizes = np.count_nonzero(S), np.count_nonzero(T)
    if sizes[0] != sizes[1]:
        return bool(sizes[1] < sizes[0])
    first = int((S != T).argmax())
    return bool(T[first] and not S[first])


def decode_query(data: bytes, universe: Universe, content: Callable[[bytes], bytes]) -> Question:
    """The query that `encode_query` made these bytes of.

    Args:
        data: the bytes.
        universe: the public vertex pairs.
        content: gives a long part by its SHA-256.

    Raises:
        LedgerError: other bytes.
    """
    try:
        return _decoded(data[0], data[1:], universe.shape, content)
    except (ValueError, IndexError, QueryError):
        raise LedgerError("a query on the record is of another version or another graph") from None


def _decoded(
    tag: int, rest: bytes, shape: tuple[int, int], content: Callable[[bytes], bytes]
) -> Question:
    if tag == _STATISTIC:
        return GraphQuery(rest.decode())
    parts = []
    while rest:
        form, payload, rest = _decode_part(rest, content)
        parts.append((form, payload))
    if tag == _COMPLEMENT:
        (part,) = parts
        return CutQuery(_decode_set(*part, shape[0]))
    if tag == _PAIR:
        first, second = parts
        return CutQuery(_decode_set(*first, shape[0]), _decode_set(*second, shape[1]))
    *ends, values = (payload for _, payload in parts)
    numbers = np.frombuffer(values, "<f8")
    if tag == _RANK_ONE:
        (u,) = ends
        found = RankOneQuery(np.frombuffer(u, "<f8"), numbers)
        found.vectors(shape)
        return found
    if tag == _DENSE:
        return MatrixQuery(numbers.reshape(shape))
    rows, columns = (np.frombuffer(end, "<u4") for end in ends)
    matrix = np.zeros(shape)
    matrix[rows, columns] = numbers
    return MatrixQuery(matrix)


def _decode_part(data: bytes, content: Callable[[bytes], bytes]) -> tuple[int, bytes, bytes]:
    """Form and payload of the first part, and what follows it."""
    form, length = data[0], int.from_bytes(data[1:5], "little")
    payload, rest = data[5 : 5 + length], data[5 + length :]
    if len(payload) < length:
        raise ValueError
    if form == _NAMED:
        form, payload, _ = _decode_part(content(payload), content)
    return form, payload, rest


def _decode_set(form: int, payload: bytes, size: int) -> BoolVector:
    if form == _BITS:
        bits: npt.NDArray[np.uint8] = np.unpackbits(np.frombuffer(payload, np.uint8))
        if not 0 <= len(bits) - size < 8:
            raise ValueError
        return bits[:size].astype(np.bool_)
    mask = np.zeros(size, dtype=np.bool_)
    mask[np.frombuffer(payload, "<u4")] = True
    return mask


@final
class EdgeCounter:
    """Counts edges in cuts; keeps what can be computed once for a graph.

    Each vertex gets a byte with one bit for each of 8 queries, so that a pass over the edges
    answers all of them: an edge's byte says which cuts it crosses, and a histogram of the bytes
    gives all counts. Integers only. Graphs with weights, and bounded cuts,
    are answered query by query.

    Args:
        graph: the private graph.
        grid: how answers are counted.
    """

    def __init__(self, graph: AnyGraph, grid: Grid) -> None:
        self._graph = graph
        self._grid = grid
        # Index arrays of the platform's size: numpy would convert others at each use.
        self._rows = graph.rows.astype(np.intp)
        self._columns = graph.columns.astype(np.intp)

    def __repr__(self) -> str:
        return "EdgeCounter()"

    def counts(self, queries: Sequence[Question]) -> list[int]:
        """The true answers, in order: of cuts and statistics in steps, of others `linear_count`.

        Raises:
            QueryError: a query that does not fit the graph.
        """
        cuts = iter(self._cuts([query for query in queries if isinstance(query, CutQuery)]))
        return [
            next(cuts) if isinstance(query, CutQuery) else self._one(query) for query in queries
        ]

    def _cuts(self, queries: Sequence[CutQuery]) -> list[int]:
        if self._graph.weighted or self._grid.bounded is not None:
            return [self._grid.count(query, self._graph) for query in queries]
        answers: list[int] = []
        for start in range(0, len(queries), _WORD):
            answers += self._word(queries[start : start + _WORD])
        return answers

    def _one(self, query: Question) -> int:
        if not isinstance(query, GraphQuery):
            return linear_count(query, self._graph, self._grid)
        if self._grid.bounded is not None:
            raise QueryError(f"{query.statistic!r} cannot hide all edges of a vertex: ask for cuts")
        return query.value(self._graph) // query.sensitivity(self._graph.space)

    def _word(self, queries: Sequence[CutQuery]) -> list[int]:
        masks = [query.masks(self._graph.space) for query in queries]
        S, T = (_columns_of_bits(side) for side in zip(*masks, strict=True))
        plain = isinstance(self._graph, Graph)
        cut = plain and all(query.T is None for query in queries)
        histogram = np.zeros(1 << _WORD, dtype=np.int64)
        for start in range(0, len(self._rows), _EDGES):
            rows, columns = (ends[start : start + _EDGES] for ends in (self._rows, self._columns))
            if cut:  # half as many bytes are looked up
                words = S[rows] ^ S[columns]
            else:
                words = S[rows] & T[columns]
                if plain:
                    words |= T[rows] & S[columns]
            if len(queries) == 1:  # a third of the time of a histogram
                histogram[1] += np.count_nonzero(words)
            else:
                histogram += np.bincount(words, minlength=len(histogram))
        values = np.arange(len(histogram))
        return [int(histogram[values >> bit & 1 == 1].sum()) for bit in range(len(queries))]


def linear_count(query: LinearQuery, graph: AnyGraph, grid: Grid) -> int:
    """The true answer in units of `CoefficientGrid` times steps of the grid, exactly. Private.

    If one pair's weight changes by at most d steps of the grid, the count changes by at most
    `CoefficientGrid.max_units` times d, up or down: the units of a pair's coefficient do not depend
    on the graph, and those of its weight change by at most d.

    Raises:
        QueryError: a query that does not fit the graph, or bounded cuts.
    """
    if grid.bounded is not None:
        raise QueryError(BOUNDED)
    extent = Extent.of(query, graph.space)
    if not extent.largest:
        return 0
    found = query.coefficients_at(graph.rows, graph.columns, graph.space)
    coefficients = CoefficientGrid(extent).grid_units(found)
    if not graph.weighted:  # fewer than 2^32 edges of 2^30 steps
        return int(coefficients.sum())
    digits = grid.digits_of(graph.weights)
    sums = [exact_sums(coefficients[None, :], each)[0] for each in digits]
    return sum(each << (DIGIT_BITS * place) for place, each in enumerate(sums))


@final
@dataclass(frozen=True, kw_only=True)
class Counted:
    """How a query is counted, from public numbers alone.

    Attributes:
        steps: of its coefficients, and 2^30 of them the largest; None of cuts and statistics, which
            are counted in steps of the grid alone.
        largest: coefficient of a pair.
        step: weight of one step of the count.
        lowered: by how much rounding may have raised the count, in weight.
        raised: by how much it may have lowered it.
        possible: what the answer can be on any graph.
        sensitivity: of a `GraphQuery`: what its number is divided by before it is counted; else 1.
    """

    steps: CoefficientGrid | None = None
    largest: float = 1.0
    step: float
    lowered: float = 0.0
    raised: float
    possible: tuple[float, float]
    sensitivity: int = 1

    @classmethod
    def of(cls, query: Question, universe: Universe, grid: Grid) -> "Counted | None":
        """None where the answer is 0 on every graph.

        Raises:
            QueryError: a query that does not fit, or another one than a bounded cut where such are
                counted, or coefficients whose rounding nobody can bound.
        """
        if isinstance(query, CutQuery):
            pairs = universe.pairs_between(query)
            possible, raised = (0.0, grid.most(pairs)), grid.rounding(pairs)
            return cls(step=grid.unit, raised=raised, possible=possible) if pairs else None
        if isinstance(query, GraphQuery):
            query.check(universe.space)
            largest = query.largest(universe.space)
            sensitivity = query.sensitivity(universe.space)
            if not largest:
                return None
            return cls(
                step=grid.unit,
                raised=grid.rounding(-(-largest // sensitivity)),
                possible=(0.0, grid.most(largest)),
                sensitivity=sensitivity,
            )
        if grid.bounded is not None:
            raise QueryError(BOUNDED)
        extent = Extent.of(query, universe.space)
        if not extent.largest:
            return None
        steps = CoefficientGrid(extent)
        rounded = steps.rounding_error(universe.size, grid.cap)
        # Weights are rounded down by less than a step, so negative coefficients raise the count.
        down = grid.unit if grid.weighted else 0.0
        return cls(
            steps=steps,
            largest=extent.largest,
            step=steps.unit * grid.unit,
            lowered=rounded + down * extent.negative,
            raised=rounded + down * extent.positive,
            possible=extent.possible(grid.cap),
        )


BOUNDED = (
    "a session with privacy_unit='vertex' answers bounded cuts: no bound is known on what one "
    "vertex can change of other queries; ask for cuts, or take privacy_unit='edge' or 'user'"
)


def _columns_of_bits(masks: Sequence[BoolVector]) -> npt.NDArray[np.uint8]:
    """A byte for each vertex; faster than numpy's `packbits`, which goes vertex by vertex here."""
    words = np.zeros(len(masks[0]), dtype=np.uint8)
    for bit, mask in enumerate(masks):
        words |= mask.view(np.uint8) << np.uint8(bit)
    return words
