"""The public vertex set: labels, and the way from labels to row numbers."""

import unicodedata
from abc import abstractmethod
from collections.abc import Collection, Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any, Self, cast, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.errors import GraphError, QueryError

Label = str | int
_MOST = 2**31 - 1  # row numbers are 32-bit integers
ALL = "*"  # as a set, not as a label in one: all vertices


class NamedSet(Iterable[Label]):
    """A set of vertices by a name: in less memory than its labels, or a truth vector."""

    @abstractmethod
    def truth_vector(self) -> BoolVector:
        """Which vertices it has, shape (n,), read-only."""


@final
class VertexSet:
    """An ordered set of public vertex labels.

    Args:
        labels: a count n (labels 0..n-1) or the labels themselves, all strings or integers,
            each once as text; or another `VertexSet`.
        inferred: whether they are those that occur in private edges, so that the set itself tells
            of them. Guarantees say so; sets are compared without it.

    Raises:
        GraphError: no label, a label that is neither a string nor an integer, one twice, one as
            an integer and as text (1 and "1"), or one in two spellings that look alike (Unicode
            normal forms).

    Examples:
        >>> gc.VertexSet(["ann", "bob"]).labels
        ('ann', 'bob')
    """

    def __init__(
        self, labels: "int | Iterable[Label] | VertexSet", *, inferred: bool = False
    ) -> None:
        self.inferred = inferred
        if isinstance(labels, VertexSet):
            self._labels: Sequence[Label] = labels.labels
            return
        if isinstance(labels, bool):
            raise GraphError("the vertex set must be a count or labels, not a truth value")
        if isinstance(labels, int | np.integer):
            if labels < 1:
                raise GraphError("a graph needs at least one vertex")
            if labels > _MOST:
                raise GraphError(f"a graph has at most {_MOST:,} vertices")
            self._labels = range(int(labels))
        elif isinstance(labels, range) and labels == range(_length(labels)):
            self._labels = labels
        else:
            self._labels = _plain_labels(labels)
        if not self._labels:
            raise GraphError("a graph needs at least one vertex")
        if isinstance(self._labels, tuple):
            _check_distinct(self._labels)

    @cached_property
    def _index(self) -> dict[Label, int]:
        return {label: i for i, label in enumerate(self._labels)}

    @cached_property
    def text_index(self) -> dict[str, int]:
        """Row number of each label as text, in row order. Do not write to it."""
        return {str(label): row for row, label in enumerate(self._labels)}

    @property
    def labels(self) -> Sequence[Label]:
        """The labels in row order; a `range` when they are 0..n-1."""
        return self._labels

    @property
    def is_default(self) -> bool:
        """Whether the labels are just 0..n-1."""
        return isinstance(self._labels, range)

    def __len__(self) -> int:
        return len(self._labels)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VertexSet):
            return NotImplemented
        return self._labels == other._labels

    def __hash__(self) -> int:
        return hash(self._labels)

    def __repr__(self) -> str:
        return f"VertexSet(n={len(self)})"

    def find(self, label: Hashable) -> int | None:
        """Row number of a label, or None when the set does not hold it."""
        if isinstance(label, np.integer):
            label = int(label)
        if isinstance(label, bool) or not isinstance(label, str | int):
            return None
        if isinstance(self._labels, range):
            return label if isinstance(label, int) and 0 <= label < len(self) else None
        return self._index.get(label)

    def find_text(self, text: str) -> int | None:
        """Row number of the label that a text stands for; numbers are integers if labels are."""
        found = self.find(text)
        plain = text.removeprefix("-")
        if found is None and plain.isdecimal() and text.isascii() and len(text) < 100:
            found = self.find(int(text))
        return found

    def _rows(self, labels: Collection[Label]) -> npt.NDArray[np.int64] | None:
        """Row numbers of labels, all at once; None if one may be unknown, which `find` decides."""
        kinds = set(map(type, labels))
        known = (int, np.integer) if self.is_default else (int, np.integer, str)
        # A truth value and a float can equal a label and have its hash, and are none.
        if not all(issubclass(kind, known) and kind is not bool for kind in kinds):
            return None
        count = len(labels)
        try:
            if not self.is_default:
                return np.fromiter(map(self._index.__getitem__, labels), np.int64, count)
            rows = np.fromiter(labels, np.int64, count)
        except (KeyError, OverflowError):
            return None
        inside = not count or (rows.min() >= 0 and rows.max() < len(self))
        return rows if inside else None

    def mask(self, subset: Iterable[Label] | npt.NDArray[Any]) -> BoolVector:
        """Indicator vector of a set of vertices.

        Args:
            subset: labels, or a truth vector of length n, or "*" for all vertices.

        Returns:
            Truth vector of length n: the given one, if that cannot be written to.

        Raises:
            QueryError: an unknown vertex, or a truth vector of the wrong length.
        """
        if isinstance(subset, str) and subset == ALL:
            return np.ones(len(self), dtype=np.bool_)
        if isinstance(subset, str):
            raise QueryError(f"a set of vertices is a list of labels, not the string {subset!r}")
        if isinstance(subset, NamedSet):
            subset = subset.truth_vector()
        if isinstance(subset, np.ndarray) and subset.dtype == np.bool_:
            if subset.shape != (len(self),):
                raise QueryError(
                    f"a truth vector for this vertex set has length {len(self)}, not {subset.shape}"
                )
            return np.array(subset, dtype=np.bool_) if subset.flags.writeable else subset
        result = np.zeros(len(self), dtype=np.bool_)
        if self.is_default and isinstance(subset, np.ndarray) and subset.dtype.kind in "iu":
            bad = (subset < 0) | (subset >= len(self))
            if bad.any():
                raise QueryError(f"unknown vertex {subset[bad][0]!s}")
            result[subset] = True
            return result
        labels = subset if isinstance(subset, Collection) else tuple(subset)
        rows = self._rows(labels)
        if rows is not None:
            result[rows] = True
            return result
        for label in labels:
            row = self.find(label)
            if row is None:
                raise QueryError(
                    f"unknown vertex {label!r}; the public vertex set has {len(self)} vertices"
                )
            result[row] = True
        return result


@final
class Arcs(tuple[VertexSet, VertexSet]):
    """All ordered pairs of different vertices of one set: what the arcs of a graph can join.

    It is the pair (vertices as tails, vertices as heads), two objects, where no vertex is paired
    with its own copy: matrices over it have a zero diagonal. Equal to no other pair of sets.

    Args:
        vertices: the vertex set.
    """

    __slots__ = ()

    def __new__(cls, vertices: VertexSet) -> Self:
        """The pair of both copies."""
        return super().__new__(cls, (vertices, VertexSet(vertices, inferred=vertices.inferred)))

    def __getnewargs__(self) -> tuple[VertexSet]:
        return (self[0],)

    @property
    def vertices(self) -> VertexSet:
        """The vertex set."""
        return self[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Arcs) and self.vertices == other.vertices

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((Arcs, self.vertices))

    def __repr__(self) -> str:
        return f"Arcs({self.vertices!r})"


Space = VertexSet | tuple[VertexSet, VertexSet]


def vertex_sets(space: Space) -> tuple[VertexSet, VertexSet]:
    """The sets that a user knows: one object twice, also of arcs, or those of two sides."""
    if isinstance(space, tuple) and not isinstance(space, Arcs):
        return space
    vertices = space.vertices if isinstance(space, Arcs) else space
    return vertices, vertices


def _length(labels: range) -> int:
    """How many there are, before any is made; `len` fails above 2^63."""
    if labels and (labels[-1] - labels[0]) // labels.step >= _MOST:
        raise GraphError(f"a graph has at most {_MOST:,} vertices")
    return len(labels)


def _check_distinct(labels: tuple[Label, ...]) -> None:
    """Refuse equal labels, equal texts of labels, and a name in two normal forms of Unicode.

    Rows of tables name a vertex by its text, and people see one vertex in two normal forms.
    """
    if len(set(labels)) != len(labels):
        raise GraphError("a vertex label occurs twice; labels must be distinct")
    kinds = set(map(type, labels))
    if kinds == {int}:
        return
    if kinds == {str} and all(map(str.isascii, cast(tuple[str, ...], labels))):
        return  # as nearly always
    if int in kinds and not set(labels).isdisjoint(_texts_of_integers(labels)):
        raise GraphError('two vertex labels are one text, such as 1 and "1"; rename one')
    odd = [label for label in labels if isinstance(label, str) and not label.isascii()]
    if len({unicodedata.normalize("NFC", label) for label in odd}) != len(odd):
        raise GraphError(
            "two vertex labels look alike: one name in two Unicode spellings; "
            "bring all labels to the form NFC first, for example by uconv -x nfc"
        )


def _texts_of_integers(labels: tuple[Label, ...]) -> Iterable[str]:
    try:
        return [str(label) for label in labels if isinstance(label, int)]
    except ValueError:
        raise GraphError("a vertex label has thousands of digits; make it a string") from None


def labels_or_number(vertices: VertexSet) -> int | list[Label]:
    """A vertex set as plain values: its labels, or their number where they are 0, 1, 2, ..."""
    return len(vertices) if vertices.is_default else list(vertices.labels)


def sets_in(space: Space) -> tuple[VertexSet, ...]:
    """The vertex set that is public, or the two different ones."""
    if isinstance(space, VertexSet):
        return (space,)
    return (space.vertices,) if isinstance(space, Arcs) else space


def sides_in(space: Space) -> tuple[VertexSet, VertexSet]:
    """Return the vertex sets of rows and of columns; the same object for a plain graph."""
    return (space, space) if isinstance(space, VertexSet) else (space[0], space[1])


def one_set(space: Space) -> bool:
    """Return whether the rows and the columns are the same vertices: all but two sides."""
    return isinstance(space, VertexSet | Arcs)


def public_vertices(space: Space) -> str:
    """What a guarantee says of the vertex set, or of both: that it is public, or not quite."""
    sets = sets_in(space)
    text = "the vertex set" if len(sets) == 1 else "both vertex sets"
    if any(vertices.inferred for vertices in sets):
        text += " (taken from the edges: not private in its vertex set)"
    return text


def _plain_labels(labels: Iterable[Label]) -> Sequence[Label]:
    """Strings and integers of Python; a `range` if they are 0..n-1."""
    if isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype.kind in "iu":
        if np.array_equal(labels, np.arange(len(labels))):
            return range(len(labels))
        return tuple(labels.tolist())
    plain = tuple(labels)
    if not set(map(type, plain)) <= {str, int}:
        plain = tuple(_plain_label(label) for label in plain)
    return range(len(plain)) if plain == tuple(range(len(plain))) else plain


def _plain_label(label: object) -> Label:
    if isinstance(label, np.integer):
        return int(label)
    if isinstance(label, bool) or not isinstance(label, str | int):
        raise GraphError("vertex labels must be strings or integers")
    return str(label) if isinstance(label, str) else int(label)
