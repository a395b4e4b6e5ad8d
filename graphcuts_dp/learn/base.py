"""Iterative database constructions: a hypothesis, and a rule that corrects it.

A hypothesis is a public approximation of a private graph that answers queries. If its answer to a
query is found to be at least alpha below or above the truth, the update rule makes a better
hypothesis. A potential, a distance between the truth and the hypothesis, falls with each update by
at least a least drop. So the number of updates is at most

    B(alpha) = potential at the start / least drop.

Nothing here reads private data: rules see queries, signs and noisy answers. All is post-processing.

The public vertex pairs are a `Universe` of one of three kinds. Undirected: one vertex set, matrices
are symmetric (`universe.symmetric`) with diagonal 0. Directed: one vertex set, entry (i, j) is the
arc from i to j, the diagonal is 0. Bipartite: rows and columns are two vertex sets, and every entry
is a pair. `universe.total(matrix)` sums a matrix over pairs, each undirected pair once.

Hypotheses are stored as bytes: a magic line, a SHA-256 digest, a line of JSON, and plain arrays.

Source: GRU12 section 3; DR14 section 5.2 (database update algorithms).
"""

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.array_archive import ArrayForm
from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.errors import FileFormatError, HypothesisError, ParameterError
from graphcuts_dp.options import check_positive
from graphcuts_dp.queries.linear import LinearQuery
from graphcuts_dp.queries.universe import Universe

# +1: the true answer is above that of the hypothesis; -1: below.
Sign = Literal[1, -1]
# The form of an update rule, for the modules that have rules. "as printed": the paper's steps and
# constants. "tight": the best that the same proof gives.
Rule = Literal["tight", "as printed"]
Arrays = dict[str, npt.NDArray[Any]]

H = TypeVar("H", bound="Hypothesis")

_MAGIC = b"graphcuts-dp hypothesis 1\n"  # first bytes of a stored hypothesis
_PREFIX_LENGTH = len(_MAGIC) + hashlib.sha256().digest_size  # bytes before the body


class Hypothesis(ABC):
    """An immutable data structure that answers linear queries.

    Attributes:
        kind: name of the class in stored bytes.
        universe: the public vertex pairs.
    """

    kind: ClassVar[str]
    universe: Universe

    @abstractmethod
    def estimate(self, query: LinearQuery) -> float:
        """Return the answer to one query.

        Raises:
            QueryError: a query that does not fit the vertex sets.
        """

    def estimate_all(self, queries: Sequence[LinearQuery]) -> FloatVector:
        """Return the answers to many queries, shape (len(queries),).

        Args:
            queries: in the order of the answers.
        """
        return np.array([self.estimate(query) for query in queries], dtype=np.float64)

    @abstractmethod
    def arrays(self) -> Arrays:
        """Return the state without vertex labels; equal hypotheses have equal arrays."""

    @classmethod
    @abstractmethod
    def of_arrays(cls, universe: Universe, arrays: Arrays) -> Self:
        """Return the hypothesis of stored arrays.

        Raises:
            Exception: of any kind, if the arrays are not those of a hypothesis. `from_bytes` turns
                it into a FileFormatError.
        """

    def to_bytes(self) -> bytes:
        """Return the state as bytes; equal hypotheses give equal bytes."""
        return pack(self.kind, self.universe, self.arrays())

    @classmethod
    def from_bytes(cls, data: bytes, universe: Universe) -> Self:
        """Return the hypothesis that `to_bytes` wrote.

        Args:
            data: the bytes.
            universe: the public vertex pairs.

        Raises:
            FileFormatError: bytes that are damaged, of another kind, or for another universe.
        """
        try:
            return cls.of_arrays(universe, unpack(data, cls.kind, universe))
        except FileFormatError:
            raise
        except Exception:  # damaged bytes can raise anything
            raise FileFormatError("the stored hypothesis is damaged") from None


def pack(kind: str, universe: Universe, arrays: Arrays) -> bytes:
    """Return bytes that `unpack` reads back, the same on every machine: little-endian numbers."""
    little_endian = {
        name: np.asarray(array, dtype=array.dtype.newbyteorder("<"))
        for name, array in arrays.items()
    }
    header = {
        "kind": kind,
        **_universe_fields(universe),
        "arrays": [[name, array.dtype.str, array.shape] for name, array in little_endian.items()],
    }
    numbers = b"".join(array.tobytes() for array in little_endian.values())
    body = json.dumps(header).encode() + b"\n" + numbers
    return _MAGIC + hashlib.sha256(body).digest() + body


def unpack(data: bytes, kind: str, universe: Universe) -> Arrays:
    """Return the arrays that `pack` wrote.

    Raises:
        FileFormatError: damaged bytes, or those of another kind or universe.
        Exception: any, if the digest is right but the body is not what `pack` writes.
    """
    body = memoryview(data)[_PREFIX_LENGTH:]
    if data[:_PREFIX_LENGTH] != _MAGIC + hashlib.sha256(body).digest():
        raise FileFormatError("these bytes are not a stored hypothesis, or damaged")
    header_stop = data.index(b"\n", _PREFIX_LENGTH)
    header = json.loads(data[_PREFIX_LENGTH:header_stop])
    descriptions = header.pop("arrays")
    if header.pop("kind") != kind:
        raise FileFormatError(f"these bytes do not hold a {kind} of this version")
    if header != _universe_fields(universe):
        raise FileFormatError("the stored hypothesis is for another universe")
    arrays: Arrays = {}
    offset = header_stop + 1
    for name, type_name, shape in descriptions:
        try:
            form = ArrayForm.of(type_name, shape)
        except FileFormatError as problem:
            raise FileFormatError(f"the stored hypothesis is damaged: {problem}") from None
        if form.dtype.kind not in "biuf":
            raise FileFormatError("the stored hypothesis is damaged: it is not of real numbers")
        array = np.frombuffer(data, dtype=form.dtype, count=math.prod(shape), offset=offset)
        arrays[name] = array.reshape(shape).astype(form.dtype.newbyteorder("="))
        offset += form.nbytes
    if offset != len(data):
        raise FileFormatError("the stored hypothesis is damaged: it is longer than it says")
    return arrays


def _universe_fields(universe: Universe) -> dict[str, Any]:
    """Return what a header says of the vertex pairs: no labels.

    `directed` is stored only if true: headers from before directed graphs do not have it.
    """
    fields = {"shape": [*universe.shape], "bipartite": universe.bipartite}
    return fields | {"directed": True} if universe.directed else fields


@final
class DenseHypothesis(Hypothesis):
    """A matrix over the universe. Entries may be negative or above 1.

    Args:
        universe: the public vertex pairs.
        matrix: finite, of shape `universe.shape`; symmetric if the universe is undirected. It is
            copied. Except on a bipartite universe, the diagonal of the copy is set to 0. The matrix
            of a released synthetic graph can be used as a start.

    Attributes:
        universe: as given.
        matrix: shape (n1, n2), read-only.

    Raises:
        HypothesisError: another shape, entries that are not finite, or no symmetry.
    """

    kind = "dense hypothesis"

    def __init__(self, universe: Universe, matrix: npt.ArrayLike) -> None:
        copy = np.array(matrix, dtype=np.float64)
        if copy.shape != universe.shape or not np.isfinite(copy).all():
            raise HypothesisError(f"a dense hypothesis needs finite numbers, {universe.shape}")
        universe.clear_diagonal(copy)
        if universe.symmetric and (copy != copy.T).any():
            raise HypothesisError("the matrix of an undirected universe must be symmetric")
        copy.flags.writeable = False
        self.universe = universe
        self.matrix: FloatMatrix = copy

    @classmethod
    def constant(cls, universe: Universe, weight: float) -> Self:
        """Return the hypothesis with the same weight on every pair."""
        return cls(universe, np.full(universe.shape, weight))

    def estimate(self, query: LinearQuery) -> float:
        """Return the answer to one query."""
        return float(self.estimate_all([query])[0])

    def estimate_all(self, queries: Sequence[LinearQuery]) -> FloatVector:
        """Return the answers to many queries, shape (len(queries),)."""
        return self.universe.answers(queries, self.matrix)

    def dense(self) -> FloatMatrix:
        """Return `matrix`; hypotheses of other classes compute their matrix in `dense`."""
        return self.matrix

    def plus(self, query: LinearQuery, weight: float) -> Self:
        """Return a hypothesis with `weight` times the query's coefficients added."""
        return type(self)(self.universe, self.matrix + weight * self.universe.coefficients(query))

    def tilted(self, query: LinearQuery, exponent: float) -> Self:
        """Return a hypothesis with weights times exp(exponent * coefficient), of the same total."""
        weights = tilt(self.matrix, self.universe.coefficients(query), exponent)
        self.universe.clear_diagonal(weights)
        return type(self)(self.universe, weights * (self.total() / self.universe.total(weights)))

    def total(self) -> float:
        """Return the sum of the weights of all pairs, each pair once."""
        return self.universe.total(self.matrix)

    def arrays(self) -> Arrays:
        """Return the matrix."""
        return {"matrix": self.matrix}

    @classmethod
    def of_arrays(cls, universe: Universe, arrays: Arrays) -> Self:
        """Return the hypothesis of stored arrays, see `Hypothesis.of_arrays`."""
        return cls(universe, **arrays)


def tilt(
    weights: FloatMatrix, coefficients: npt.NDArray[np.generic], exponent: float
) -> FloatMatrix:
    """Return max(weights * exp(exponent * coefficients), tiny).

    tiny, about 1e-308, is the smallest positive normal float: a weight that underflows to 0 could
    never grow again. Callers scale the result to a total, which can still lower such a tiny weight
    to 0. This is accepted: the next call raises it to tiny again.

    Args:
        weights: >= 0, any shape.
        coefficients: of the same shape.
        exponent: any number.

    Raises:
        HypothesisError: a negative weight.
    """
    if (weights < 0).any():
        raise HypothesisError("multiplicative weights need a start without negative weights")
    tilted: FloatMatrix = weights * np.exp(exponent * coefficients.astype(np.float64))
    return np.maximum(tilted, np.finfo(np.float64).tiny)


class Construction(ABC, Generic[H]):
    """An update rule with its start, tuned to one tolerance.

    Attributes:
        start: the hypothesis before the first update, of any class that the rule can begin from.
        alpha: tolerance, in edges: an update is due if an answer has at least this error.
        start_potential: an upper bound on the potential at the start.
    """

    start: H
    alpha: float
    start_potential: float

    def initial(self) -> H:
        """Return the hypothesis before the first update, of the class that `update` takes.

        This is `start`, unless a rule converts it: mirror descent turns a hypothesis that is
        constant on blocks of vertices into a matrix of all pairs.
        """
        return self.start

    @abstractmethod
    def update(
        self, hypothesis: H, query: LinearQuery, sign: Sign, value: float | None = None
    ) -> H:
        """Return a better hypothesis.

        It must be a function of its arguments and of the construction alone. A session that is
        opened again repeats stored updates, and must come to the same hypothesis.

        Args:
            hypothesis: the present one; it is not changed.
            query: one whose true answer differs from the hypothesis's by at least alpha.
            sign: +1 if the true answer is above, -1 if it is below.
            value: a noisy measurement of the true answer; None if there is none. Rules that make
                larger steps for larger errors use it, others ignore it.

        Raises:
            QueryError: a query outside the class that the bound is for.
            HypothesisError: an update that cannot be made.
        """

    @abstractmethod
    def least_drop(self, alpha: float) -> float:
        """Return the least drop of the potential in an update, if the rule were tuned to `alpha`.

        Implementations must read this argument and not the attribute `self.alpha`. Callers rely on
        it: they make one construction and ask it for B of all tolerances.
        """

    def update_bound(self, alpha: float) -> float:
        """Return B(alpha): no sequence of updates is longer, if the rule is tuned to `alpha`.

        Infinite if an update need not lower the potential: a step that a user chose can be so
        large for `alpha` that nothing is proven.
        """
        return updates_of(self.start_potential, self.least_drop(alpha))


def updates_of(start_potential: float, least_drop: float) -> float:
    """Return B = start potential/least drop; infinity where no drop is proven.

    Args:
        start_potential: upper bound on the potential of the start, >= 0.
        least_drop: least drop of it in one update; not positive if none is proven.
    """
    return start_potential / least_drop if least_drop > 0 else math.inf


def check_tuning(universe: Universe, alpha: float) -> None:
    """Check what all rules require: a vertex pair, and a positive tolerance.

    Raises:
        ParameterError: a universe without pairs, or alpha not positive.
    """
    if not universe.size:
        raise ParameterError("a universe without vertex pairs has nothing to learn")
    check_positive(alpha=alpha)
