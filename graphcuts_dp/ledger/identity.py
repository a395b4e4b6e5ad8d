"""Recognise private data that a store knows, by digests that no way of reading them changes.

A digest is a keyed function of a multiset of rows, each of which is a few integers w_1, w_2, ...
below the prime p = 2^61 - 1. It is the product of z + s_1 w_1 + s_2 w_2 + ... mod p over the rows,
where z and s follow from the store's salt, computed for two choices of z and s. So it does not
depend on the order of the rows, but on how often each occurs, and one pass over the rows suffices.

Two multisets of at most N rows have the same digest with a probability of at most (N/p)^2 over the
keys: the rows are different monic linear forms in (z, s), which factor uniquely, so the products
are different polynomials of degree N, and such agree at a random point with a probability of at
most N/p (Schwartz, Zippel). A sum of HMACs would have a weaker bound at fifty times the cost. A
name enters as 59 bits of a keyed hash, a plain number as it is. With salt and digest a guess of the
data can be confirmed, so both stay in the store.

Data are recognised by any of these digests that two readings have in common:

- pairs: the pairs of labels that occur, each once and without order: the same for rows with
  users, for graphs made of them, and for arcs.
- positive: of rows of which some weigh 0, the pairs of the others, as a graph without them has.
- entries: of a graph, its pairs and weights as read.
- rows: (user, pair) for each row that has a user; and (pair) for each row, under a name that ends
  with `WITHOUT_USERS`. Two tables between few vertices may have the same pairs, but these digests
  differ.
- weighed rows: as rows, each with its weight, if weights were read.

Rows that stay in an engine have no such digest: one that is the same in every engine would need
each row here, in integers of 61 bits. They are known by a name that the caller chooses, which
reveals nothing of the rows: the same rows under two names count as two data sets, and different
rows under one name as one.
"""

import hashlib
import hmac
import unicodedata

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatArray, IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.rows import Rows
from graphcuts_dp.io.edge_store import sorted_distinct
from graphcuts_dp.schema.vertices import Label, Space, VertexSet, sets_in

Identity = dict[str, str]
_Words = npt.NDArray[np.uint64]

ENTRIES = "entries"
WITHOUT_USERS = " without owners"  # end of the name of a digest of rows without their users
NAME = "name"
_LONGEST_NAME = 100  # characters
_PRIME = 2**61 - 1
_P = np.uint64(_PRIME)
_BLOCK = 2**15  # largest number of rows that are multiplied side by side; a power of two
_LANES = 2  # independent products in a digest
_LEAST_TEXT_TAG = 2**60  # tags of text are at least this; tags of plain integers are smaller
_LOW_31, _LOW_30 = np.uint64(2**31 - 1), np.uint64(2**30 - 1)  # masks of the low bits
_1, _30, _31, _32, _61 = (np.uint64(shift) for shift in (1, 30, 31, 32, 61))  # shifts


def identity_of_edges(graph: AnyGraph, key: bytes) -> Identity:
    """Return digests of a graph.

    Args:
        graph: private.
        key: salt of a store, or key of the index of an account.
    """
    numbers, tags = _numbers_and_tags(graph.space, key)
    first, second = numbers[0][graph.rows], numbers[1][graph.columns]
    unordered = isinstance(graph.space, VertexSet)
    endpoints = _in_order(first, second, tags) if unordered else (first, second)
    words = tags[endpoints[0]], tags[endpoints[1]]
    weights = _float_words(graph.weights) if graph.weighted else ()
    return {
        ENTRIES: _digest(key, ENTRIES, *words, *weights),
        "pairs": (
            _digest(key, "pairs", *words)  # no pair is in a graph twice
            if unordered
            else _pairs_digest(key, _pair_keys(first, second), tags)
        ),
    }


def _numbers_and_tags(space: Space, key: bytes) -> tuple[tuple[_Words, _Words], _Words]:
    """Number the labels; return the numbers of the vertices of both sides, and the tags by number.

    A label that is on both sides has one number, as when the file is read as one set of vertices.
    """
    tags = [_tags(vertices, key) for vertices in sets_in(space)]
    if len(tags) == 1:
        numbers_of_one_set = np.arange(len(tags[0]), dtype=np.uint64)
        return (numbers_of_one_set, numbers_of_one_set), tags[0]
    distinct, inverse = np.unique(np.concatenate(tags), return_inverse=True)
    numbers: _Words = inverse.astype(np.uint64)
    return (numbers[: len(tags[0])], numbers[len(tags[0]) :]), distinct


def _tags(vertices: VertexSet, key: bytes) -> _Words:
    """Return a tag below p for each label; the tag of an integer, also as text, is the integer."""
    if vertices.is_default:
        return np.arange(len(vertices), dtype=np.uint64)
    return np.array([_tag(label, key) for label in vertices.labels], dtype=np.uint64)


def _tag(label: Label, key: bytes) -> int:
    """Return the tag of one label, see `_tags`."""
    text = str(label)
    if len(text) < 18 and text.isascii() and text.isdecimal() and (text[0] != "0" or text == "0"):
        return int(text)
    data = text.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(data, digest_size=8, key=key).digest()
    return _LEAST_TEXT_TAG + (int.from_bytes(digest, "big") >> 5)


def _in_order(first: _Words, second: _Words, tags: _Words) -> tuple[_Words, _Words]:
    """Return both endpoints of each pair, the one with the smaller tag first.

    Tags depend on the labels alone, but the numbers of labels on the order of the vertices.
    """
    is_swapped = tags[first] > tags[second]
    return np.where(is_swapped, second, first), np.where(is_swapped, first, second)


def _float_words(weights: FloatArray) -> tuple[_Words, _Words]:
    """Return both halves of the bits of each weight; -0.0 counts as 0.0."""
    bits = (weights.astype(np.float64) + 0.0).view(np.uint64)
    return bits >> _32, bits & np.uint64(2**32 - 1)


def _digest(key: bytes, name: str, *words: _Words) -> str:
    """Return a digest of a multiset of rows of integers below p.

    Args:
        key: salt of a store, or key of the index of an account.
        name: of the digest: digests of different names are independent.
        words: the integers, at most five for each row: one array for each column.
    """
    lane_products = ""
    # The least power of two that is no less than the number of rows, or `_BLOCK`.
    block_size = min(_BLOCK, 1 << max(len(words[0]) - 1, 0).bit_length())
    for lane in range(_LANES):
        constant, *factors = (_factor(key, f"{name}/{lane}/{i}") for i in range(len(words) + 1))
        products = np.ones(block_size, dtype=np.uint64)
        for start in range(0, len(words[0]), block_size):
            pieces = [word[start : start + block_size] for word in words]
            sums = np.full(len(pieces[0]), constant)
            for piece, factor in zip(pieces, factors, strict=True):
                sums += _times(piece, factor)  # at most six numbers below 2^61
            block = slice(0, len(sums))
            products[block] = _times(products[block], _reduced(sums))
        lane_products += f"{_product(products):016x}"
    return hmac.new(key, f"{name}={lane_products}".encode(), hashlib.sha256).hexdigest()


def _factor(key: bytes, name: str) -> np.uint64:
    """Return a pseudorandom integer below p."""
    digest = hmac.new(key, name.encode(), hashlib.sha256).digest()
    return np.uint64(int.from_bytes(digest[:16], "big") % _PRIME)


def _times(first: _Words, second: "_Words | np.uint64") -> _Words:
    """Multiply integers below p modulo p, 31 and 30 bits at a time, where 2^61 is 1."""
    low, high = first & _LOW_31, first >> _31
    other_low, other_high = second & _LOW_31, second >> _31
    middle = high * other_low + low * other_high
    total = (high * other_high << _1) + low * other_low  # below 2^61 + 2^62
    total += (middle >> _30) + ((middle & _LOW_30) << _31)  # below 2^32 + 2^61
    return _reduced(total)


def _reduced(numbers: _Words) -> _Words:
    """Return integers below 2^64 modulo p."""
    folded = (numbers & _P) + (numbers >> _61)
    reduced: _Words = np.where(folded >= _P, folded - _P, folded)
    return reduced


def _product(values: _Words) -> int:
    """Return the product of integers modulo p."""
    while len(values) > 1:  # the length is a power of two
        values = _times(*np.split(values, 2))
    return int(values[0])


def _pairs_digest(key: bytes, keys: _Words, tags: _Words) -> str:
    """Return a digest of the distinct pairs; without loops, which some ways of reading leave out.

    Args:
        key: of the digest.
        keys: of the pairs, see `_pair_keys`; their memory is overwritten.
        tags: of the labels, by number.
    """
    distinct = sorted_distinct(keys.view(np.int64)).view(np.uint64)
    first, second = distinct >> _32, distinct & np.uint64(2**32 - 1)
    is_pair = first != second
    endpoints = _in_order(first[is_pair], second[is_pair], tags)
    return _digest(key, "pairs", tags[endpoints[0]], tags[endpoints[1]])


def _pair_keys(first: _Words, second: _Words) -> _Words:
    """Return one integer for each unordered pair of numbers of labels: 32 bits for each label."""
    return np.minimum(first, second) << _32 | np.maximum(first, second)


def identity_of_rows(rows: Rows, key: bytes) -> Identity:
    """Return digests of all rows, also of those that a bound on contributions leaves out.

    Args:
        rows: private, in memory.
        key: salt of a store, or key of the index of an account.
    """
    row_arrays = rows.row_arrays
    assert row_arrays is not None  # noqa: S101  # rows in an engine are known by a name
    numbers, tags = _numbers_and_tags(rows.space, key)
    first, second = numbers[0][row_arrays.endpoints[0]], numbers[1][row_arrays.endpoints[1]]
    keys = _pair_keys(first, second)
    if isinstance(rows.space, VertexSet):
        first, second = _in_order(first, second, tags)
    # Integers of each row, by the end of the name of their digest.
    words: dict[str, tuple[_Words, ...]] = {WITHOUT_USERS: (tags[first], tags[second])}
    if row_arrays.users is not None:
        users = (row_arrays.marks % _P)[row_arrays.users]
        words[""] = (users, *words[WITHOUT_USERS])
    digests = {f"rows{kind}": _digest(key, f"rows{kind}", *row) for kind, row in words.items()}
    if row_arrays.weights is not None:
        positive = row_arrays.weights > 0
        if not positive.all():  # else it would be that of all pairs
            digests["positive"] = _pairs_digest(key, keys[positive], tags)
        for kind, row in words.items():
            name = f"weighed rows{kind}"
            digests[name] = _digest(key, name, *row, *_float_words(row_arrays.weights))
    return digests | {"pairs": _pairs_digest(key, keys, tags)}  # last, since it overwrites `keys`


def identity_of_counts(counts: IntVector, key: bytes) -> Identity:
    """Return a digest of the numbers of people at each vertex.

    Args:
        counts: private, shape (vertices,).
        key: salt of a store.
    """
    data = counts.astype("<i8", copy=False).tobytes()
    return {"counts": hmac.new(key, data, hashlib.sha256).hexdigest()}


def identity_of_name(name: str, key: bytes) -> Identity:
    """Return a digest of the name of data, from which the name cannot be read without the key."""
    text = unicodedata.normalize("NFC", name).encode()
    return {NAME: hmac.new(key, b"name=" + text, hashlib.sha256).hexdigest()}


def check_name(name: str) -> None:
    """Check the name of data.

    Raises:
        ParameterError: it is no printable text of 1 to 100 characters, or begins or ends with a
            blank.
    """
    is_printable = isinstance(name, str) and name.isprintable() and name == name.strip()
    if not is_printable or not 0 < len(name) <= _LONGEST_NAME:
        raise ParameterError(
            "data_name is the name of the rows, a printable text of 1 to 100 characters, "
            "for example data_name='trips-2026'"
        )
