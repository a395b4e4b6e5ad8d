"""Vertex sets: the labels of vertices, their row numbers, and the spaces of pairs between them.

A `VertexSet` holds the labels of the vertices, which are strings or integers. The *row* of a vertex
is its number 0, 1, 2, ... in the set. A truth vector says of each row whether its vertex belongs to
a subset.

A `Space` says which pairs of vertices a graph can join:

| graph | space | `sides_in` (rows, columns) | `vertex_sets` | `sets_in` |
|---|---|---|---|---|
| undirected | a `VertexSet` V | V, V | V, V | V |
| bipartite | a pair of sets (L, R) | L, R | L, R | L, R |
| directed | `Arcs` of V | V, and an equal copy of V | V, V | V |

- `sides_in` is for matrices. If rows and columns are one object, the matrix is taken for symmetric.
  So a directed graph needs an equal copy of V, and nothing may replace it by V itself.
- `vertex_sets` is for users: one set of rows and one of columns, the same object for one set V.
- `sets_in` has each set once: one for undirected and directed graphs, two for bipartite ones.
- `one_set` says whether rows and columns are the same vertices: False for bipartite graphs alone.
"""

import unicodedata
from abc import abstractmethod
from collections.abc import Collection, Hashable, Iterable, Sequence, Set
from functools import cached_property
from typing import Any, Self, TypeGuard, cast

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.errors import GraphError, QueryError, UnknownVertexError
from graphcuts_dp.final_classes import final

Label = str | int
ALL = "*"  # stands for all vertices: `mask("*")`. In a list, `mask(["*"])`, "*" is a vertex label.
_MOST_VERTICES = 2**31 - 1  # row numbers are 32-bit integers
# Texts of this length or more are not looked up as integers, which takes Python long.
_MOST_DIGITS = 100
_TRUTH_TYPES = {bool, np.bool_}


class NamedSet(Iterable[Label]):
    """A subset of the vertices that is stored in a short form instead of a list or a truth vector.

    `schema.groups.GroupUnion` is one: the names of groups stand for all of their members.
    """

    @abstractmethod
    def truth_vector(self) -> BoolVector:
        """Return which vertices are in the subset, shape (n,), read-only."""


@final
class VertexSet:
    """An ordered set of vertex labels.

    Args:
        labels: a count n (labels 0..n-1) or the labels themselves, all strings or integers,
            each once as text; or another `VertexSet`, of which only the labels are taken.
        inferred: whether the labels are those that occur in private edges. Such a set is not public
            and reveals which vertices have edges; guarantees say so. Two sets with the same labels
            are equal whether inferred or not.

    Raises:
        GraphError: neither a count nor labels, no label, a label that is neither a string nor an
            integer, one twice, one as an integer and as text (1 and "1"), or one in two spellings
            that look alike (Unicode normal forms).

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
            if labels > _MOST_VERTICES:
                raise GraphError(f"a graph has at most {_MOST_VERTICES:,} vertices")
            self._labels = range(int(labels))
        elif isinstance(labels, range) and labels == range(_checked_length(labels)):
            self._labels = labels  # the range is 0..n-1
        elif isinstance(labels, Iterable) and not (
            isinstance(labels, np.ndarray) and labels.ndim == 0
        ):
            self._labels = _python_labels(labels)
        else:
            kind = type(labels).__name__
            raise GraphError(f"the vertex set must be a count or labels, not of type {kind:.60}")
        if not self._labels:
            raise GraphError("a graph needs at least one vertex")
        # `_labels` is the range 0..n-1, which is distinct, or a tuple. `is_default` relies on that.
        if isinstance(self._labels, tuple):
            _check_distinct(self._labels)

    @cached_property
    def _index(self) -> dict[Label, int]:
        """The row of each label, for `find`: the label 7 is found by 7 and not by "7"."""
        return {label: row for row, label in enumerate(self._labels)}

    @cached_property
    def text_index(self) -> dict[str, int]:
        """The row of each label written as text, in row order: 7 and "7" alike. Read-only.

        For readers of text files, which match whole columns with the labels at once.
        """
        return {str(label): row for row, label in enumerate(self._labels)}

    @property
    def labels(self) -> Sequence[Label]:
        """The labels in row order; a `range` if they are 0..n-1."""
        return self._labels

    @property
    def is_default(self) -> bool:
        """Return whether the labels are 0..n-1."""
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
        """Return the row of a label; None if it is not in the set.

        Types count: "7" does not find the label 7, see `find_text`.
        """
        if isinstance(label, np.integer):
            label = int(label)
        if isinstance(label, bool) or not isinstance(label, str | int):
            return None
        if isinstance(self._labels, range):
            return label if isinstance(label, int) and 0 <= label < len(self) else None
        return self._index.get(label)

    def find_text(self, text: str) -> int | None:
        """Return the row of the label that a text stands for; None if it is not in the set.

        A text of digits also stands for an integer label, unless it has 100 characters or more:
        "007" is found as 7.

        Args:
            text: a label as a file has it.
        """
        row = self.find(text)
        digits = text.removeprefix("-")
        if row is None and digits.isdecimal() and text.isascii() and len(text) < _MOST_DIGITS:
            row = self.find(int(text))
        return row

    def at(self, rows: Iterable[int] | npt.NDArray[np.integer[Any]]) -> BoolVector:
        """Return the truth vector of the vertices with some row numbers, shape (n,), read-only.

        A set in a query is made of labels, also where these are integers. This is how to name
        vertices by their place instead: `gc.CutQuery(graph.vertices.at([0, 3]))`.

        Args:
            rows: row numbers in 0..n-1.

        Raises:
            QueryError: something else than integers in this range.

        Examples:
            >>> people = gc.VertexSet(["ann", "bob", "eve"])
            >>> people.at([0, 2]).tolist()
            [True, False, True]
        """
        array = np.asarray(rows if isinstance(rows, np.ndarray) else list(rows))
        numbers = array if array.size else array.astype(np.int64)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise QueryError("row numbers are integers; labels stand in a set as they are")
        if numbers.size and not (numbers.min() >= 0 and numbers.max() < len(self)):
            raise QueryError(f"row numbers of this vertex set are 0..{len(self) - 1}")
        mask = np.zeros(len(self), dtype=np.bool_)
        mask[numbers] = True
        mask.flags.writeable = False
        return mask

    def mask(self, subset: Iterable[Label] | npt.NDArray[Any]) -> BoolVector:
        """Return the truth vector of a subset of the vertices.

        Args:
            subset: labels, or truth values, one for each vertex, or "*" for all vertices. Integers
                are labels, and `at` makes a subset of row numbers. Truth values are in the order of
                the vertices, whatever holds them; but those of a series of pandas belong to the
                labels of its index, unless that only numbers the rows.

        Returns:
            Shape (n,). A read-only truth vector comes back as it is, another one as a copy.

        Raises:
            UnknownVertexError: a label that is no vertex, as a truth value among labels is.
            QueryError: a truth vector of the wrong length.

        Examples:
            >>> people = gc.VertexSet(["ann", "bob", "eve"])
            >>> people.mask(["bob"]).tolist() == people.mask([False, True, False]).tolist()
            True
        """
        if isinstance(subset, str) and subset == ALL:
            return np.ones(len(self), dtype=np.bool_)
        if isinstance(subset, str):
            raise QueryError(f"a set of vertices is a list of labels, not the string {subset!r}")
        if isinstance(subset, NamedSet):
            subset = subset.truth_vector()
        if not isinstance(subset, np.ndarray) or subset.dtype == np.object_:
            subset = plain_subset(subset)
        if isinstance(subset, np.ndarray) and subset.dtype == np.bool_:
            if subset.shape != (len(self),):
                raise QueryError(
                    f"a truth vector for this vertex set has length {len(self)}, not {subset.shape}"
                )
            return np.array(subset, dtype=np.bool_) if subset.flags.writeable else subset
        mask = np.zeros(len(self), dtype=np.bool_)
        if self.is_default and isinstance(subset, np.ndarray) and subset.dtype.kind in "iu":
            unknown = (subset < 0) | (subset >= len(self))
            if unknown.any():
                raise UnknownVertexError(f"unknown vertex {subset[unknown][0]!s}")
            mask[subset] = True
            return mask
        labels = subset if isinstance(subset, Collection) else tuple(subset)
        rows = self._rows(labels)
        if rows is not None:
            mask[rows] = True
            return mask
        for label in labels:
            row = self.find(label)
            if row is None:
                raise UnknownVertexError(
                    f"unknown vertex {label!r}; the public vertex set has {len(self)} vertices"
                )
            mask[row] = True
        return mask

    def _rows(self, labels: Collection[Label]) -> npt.NDArray[np.int64] | None:
        """Return the rows of many labels at once, shape (labels,): a fast way for `mask`.

        None if a label may be unknown: `find` then looks at each of them.
        """
        types = set(map(type, labels))  # of all labels; nearly always one or two types
        label_types = (int, np.integer) if self.is_default else (int, np.integer, str)
        # A dict finds True and 1.0 under the key 1, as they equal it. They are no labels, so leave
        # them to `find`, which refuses them.
        if not all(issubclass(kind, label_types) and kind is not bool for kind in types):
            return None
        count = len(labels)
        try:
            if not self.is_default:
                return np.fromiter(map(self._index.__getitem__, labels), np.int64, count)
            rows = np.fromiter(labels, np.int64, count)  # the label of a row is its number
        except (KeyError, OverflowError):
            return None
        all_known = not count or (rows.min() >= 0 and rows.max() < len(self))
        return rows if all_known else None


@final
class Arcs(tuple[VertexSet, VertexSet]):
    """All ordered pairs of different vertices of one set: the arcs that a directed graph can have.

    It is the pair (vertices as tails, vertices as heads), two equal sets that are not the same
    object: if they were, a matrix over them would be taken for a symmetric one. A vertex is not
    paired with itself: the diagonal of such a matrix is zero. `Arcs` equal no other pair of sets.

    Args:
        vertices: the vertex set.
    """

    __slots__ = ()

    def __new__(cls, vertices: VertexSet) -> Self:
        """Return the pair of the set and an equal copy."""
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


def plain_subset(subset: Iterable[Any]) -> Collection[Any]:
    """Return a subset as a truth vector if it holds truth values, else as a collection of labels.

    A series of pandas with truth values becomes the labels of its index where they are true, unless
    the index only numbers the rows.
    """
    members = subset if isinstance(subset, Collection) else tuple(subset)
    if isinstance(members, NamedSet | Set):
        return members
    types = set(map(type, members))
    if not types or not types <= _TRUTH_TYPES:
        return members  # a truth value among labels is an unknown vertex
    truth = np.fromiter(members, np.bool_, len(members))
    index = getattr(subset, "index", None)
    if index is None or callable(index) or only_numbers_rows(index):
        return truth
    return list(index[truth])


def only_numbers_rows(index: Any) -> bool:
    """Return whether an index of pandas only numbers the rows: a range 0, 1, 2, ..."""
    if type(index).__name__ != "RangeIndex":
        return False
    return (getattr(index, "start", None), getattr(index, "step", None)) == (0, 1)


Space = VertexSet | tuple[VertexSet, VertexSet]  # see the table at the top; `Arcs` are a pair, too


def vertex_sets(space: Space) -> tuple[VertexSet, VertexSet]:
    """Return the vertex sets of both sides; the same object twice if there is one vertex set."""
    if isinstance(space, tuple) and not isinstance(space, Arcs):
        return space
    vertices = space.vertices if isinstance(space, Arcs) else space
    return vertices, vertices


def sets_in(space: Space) -> tuple[VertexSet, ...]:
    """Return each vertex set once: one, or the two of a bipartite graph."""
    if isinstance(space, VertexSet):
        return (space,)
    return (space.vertices,) if isinstance(space, Arcs) else space


def sides_in(space: Space) -> tuple[VertexSet, VertexSet]:
    """Return the vertex sets of rows and of columns of a matrix over a space.

    They are the same object if and only if the graph is undirected, and its matrix symmetric.
    """
    return (space, space) if isinstance(space, VertexSet) else (space[0], space[1])


def one_set(space: Space) -> bool:
    """Return whether the rows and the columns are the same vertices: not of a bipartite graph."""
    return isinstance(space, VertexSet | Arcs)


def labels_or_number(vertices: VertexSet) -> int | list[Label]:
    """Return a vertex set as plain values: its labels, or their number if they are 0, 1, 2, ..."""
    return len(vertices) if vertices.is_default else list(vertices.labels)


def public_vertices(space: Space) -> str:
    """Return the words of a guarantee for the vertex sets of a space.

    They say if a set was inferred from private edges, so that it is not public.
    """
    sets = sets_in(space)
    text = "the vertex set" if len(sets) == 1 else "both vertex sets"
    if any(vertices.inferred for vertices in sets):
        text += " (taken from the edges: not private in its vertex set)"
    return text


def _checked_length(labels: range) -> int:
    """Return the length of a range.

    It is checked before any label is made, and without `len`, which fails above 2^63.
    """
    if labels and (labels[-1] - labels[0]) // labels.step >= _MOST_VERTICES:
        raise GraphError(f"a graph has at most {_MOST_VERTICES:,} vertices")
    return len(labels)


def _python_labels(labels: Iterable[Label]) -> Sequence[Label]:
    """Return labels as strings and integers of Python; a `range` if they are 0..n-1."""
    if isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype.kind in "iu":
        if np.array_equal(labels, np.arange(len(labels))):
            return range(len(labels))
        return tuple(labels.tolist())
    python_labels = tuple(labels)
    if not set(map(type, python_labels)) <= {str, int}:
        python_labels = tuple(_python_label(label) for label in python_labels)
    default_labels = range(len(python_labels))
    return default_labels if python_labels == tuple(default_labels) else python_labels


def _python_label(label: object) -> Label:
    if not is_label(label):
        raise GraphError("vertex labels must be strings or integers")
    return str(label) if isinstance(label, str) else int(label)


def is_label(value: object) -> TypeGuard[Label]:
    """Return whether something can label a vertex: a text or an integer, and no truth value."""
    return isinstance(value, str | int | np.integer) and not isinstance(value, bool)


def label_order(label: Label) -> tuple[bool, Label]:
    """Return a key that sorts labels: integers by size, then strings by letters."""
    return isinstance(label, str), label


def _check_distinct(labels: tuple[Label, ...]) -> None:
    """Refuse equal labels, equal texts of labels, and a name in two normal forms of Unicode.

    Rows of tables name a vertex by its text, and people see one vertex in two normal forms.
    """
    if len(set(labels)) != len(labels):
        raise GraphError("a vertex label occurs twice; labels must be distinct")
    types = set(map(type, labels))
    if types == {int}:  # distinct integers have distinct texts
        return
    # Text in ASCII has one normal form. This is so nearly always, and saves the slow test below.
    if types == {str} and all(map(str.isascii, cast(tuple[str, ...], labels))):
        return
    # Integers and text together: no integer may be written like a text.
    if int in types and not set(labels).isdisjoint(_integer_texts(labels)):
        raise GraphError('two vertex labels are one text, such as 1 and "1"; rename one')
    # No two texts that are not ASCII may have the same normal form. Texts in ASCII are not compared
    # with them, although a few signs, such as that of Kelvin, have a normal form in ASCII ("K").
    not_ascii = [label for label in labels if isinstance(label, str) and not label.isascii()]
    if len({unicodedata.normalize("NFC", label) for label in not_ascii}) != len(not_ascii):
        raise GraphError(
            "two vertex labels look alike: one name in two Unicode spellings; "
            "bring all labels to the form NFC first, for example by uconv -x nfc"
        )


def _integer_texts(labels: tuple[Label, ...]) -> Iterable[str]:
    """Return the texts of the labels that are integers."""
    try:
        return [str(label) for label in labels if isinstance(label, int)]
    except ValueError:
        raise GraphError("a vertex label has thousands of digits; make it a string") from None
