"""What an iterative database construction is: a hypothesis, and a rule that corrects it.

A hypothesis answers queries. When the truth is found at least alpha above or below one of its
answers, the rule makes a better hypothesis out of it, and a potential argument bounds how often
that can happen: B(alpha) = start potential / least drop of an update. Everything here reads
noisy answers only, so it is post-processing.

Hypotheses are kept as bytes: a magic line, a SHA-256, a line of JSON, and plain arrays. No pickle.

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

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.errors import FileFormatError, HypothesisError, ParameterError
from graphcuts_dp.options import check_positive
from graphcuts_dp.queries.linear import LinearQuery
from graphcuts_dp.queries.universe import Universe

# +1: the true answer is above the hypothesis; -1: below.
Sign = Literal[1, -1]
# The paper's steps and constants to the letter, or the best that the same proof gives.
Rule = Literal["tight", "as printed"]
Arrays = dict[str, npt.NDArray[Any]]
_MAGIC = b"graphcuts-dp hypothesis 1\n"
_BODY = len(_MAGIC) + hashlib.sha256().digest_size  # where it starts


class Hypothesis(ABC):
    """An immutable data structure that answers linear queries.

    Attributes:
        kind: what its bytes say that they are.
        universe: the public vertex pairs.
    """

    kind: ClassVar[str]
    universe: Universe

    @abstractmethod
    def estimate(self, query: LinearQuery) -> float:
        """The answer to one query.

        Raises:
            QueryError: a query that does not fit the vertex sets.
        """

    def estimate_all(self, queries: Sequence[LinearQuery]) -> FloatVector:
        """Answers to many queries, shape (len(queries),)."""
        return np.array([self.estimate(query) for query in queries], dtype=np.float64)

    @abstractmethod
    def arrays(self) -> Arrays:
        """The state, without the vertex labels; equal hypotheses have equal arrays."""

    @classmethod
    @abstractmethod
    def of_arrays(cls, universe: Universe, arrays: Arrays) -> Self:
        """The hypothesis that has these arrays, which may be damaged: any error says so."""

    def to_bytes(self) -> bytes:
        """The state; equal hypotheses give equal bytes."""
        return pack(self.kind, self.universe, self.arrays())

    @classmethod
    def from_bytes(cls, data: bytes, universe: Universe) -> Self:
        """The hypothesis that `to_bytes` wrote.

        Raises:
            FileFormatError: bytes that are damaged, of another kind, or for another universe.
        """
        try:
            return cls.of_arrays(universe, unpack(data, cls.kind, universe))
        except FileFormatError:
            raise
        except Exception as problem:  # many kinds of damage, one thing to tell
            raise FileFormatError("the stored hypothesis is damaged") from problem


def pack(kind: str, universe: Universe, arrays: Arrays) -> bytes:
    """Bytes that `unpack` reads back: numbers are little-endian on every machine."""
    plain = {key: np.asarray(a, dtype=a.dtype.newbyteorder("<")) for key, a in arrays.items()}
    header = {
        "kind": kind,
        **_pairs_of(universe),
        "arrays": [[key, array.dtype.str, array.shape] for key, array in plain.items()],
    }
    body = json.dumps(header).encode() + b"\n" + b"".join(a.tobytes() for a in plain.values())
    return _MAGIC + hashlib.sha256(body).digest() + body


def _pairs_of(universe: Universe) -> dict[str, Any]:
    """What is stored of the vertex pairs: no labels."""
    pairs = {"shape": [*universe.shape], "bipartite": universe.bipartite}
    return pairs | {"directed": True} if universe.directed else pairs


def unpack(data: bytes, kind: str, universe: Universe) -> Arrays:
    """The arrays that `pack` wrote.

    Raises:
        FileFormatError: damaged bytes, or those of another kind or universe.
        Exception: of any kind, for bytes that have the right digest all the same.
    """
    body = memoryview(data)[_BODY:]
    if data[:_BODY] != _MAGIC + hashlib.sha256(body).digest():
        raise FileFormatError("these bytes are not a stored hypothesis, or damaged")
    end = data.index(b"\n", _BODY)
    header = json.loads(data[_BODY:end])
    stored = header.pop("arrays")
    if header.pop("kind") != kind:
        raise FileFormatError(f"these bytes do not hold a {kind} of this version")
    if header != _pairs_of(universe):
        raise FileFormatError("the stored hypothesis is for another universe")
    found: Arrays = {}
    at = end + 1
    for name, code, shape in stored:
        array = np.frombuffer(data, dtype=code, count=math.prod(shape), offset=at)
        if array.dtype.kind not in "biuf":
            raise FileFormatError("the stored hypothesis is damaged: it is not of real numbers")
        found[name] = array.reshape(shape).astype(array.dtype.newbyteorder("="))
        at += array.nbytes
    if at != len(data):
        raise FileFormatError("the stored hypothesis is damaged: it is longer than it says")
    return found


@final
class DenseHypothesis(Hypothesis):
    """A matrix over the universe, n1 x n2 numbers. Entries may be negative or above 1.

    Args:
        universe: the public vertex pairs.
        matrix: of the universe's shape, finite; symmetric if plain (the diagonal is set to 0, too
            if directed). It is copied. A released synthetic graph as such is a warm start.

    Attributes:
        universe: as given.
        matrix: shape (n1, n2), read-only.

    Raises:
        HypothesisError: a matrix that is none over the universe.
    """

    kind = "dense hypothesis"

    def __init__(self, universe: Universe, matrix: npt.ArrayLike) -> None:
        copy = np.array(matrix, dtype=np.float64)
        if copy.shape != universe.shape or not np.isfinite(copy).all():
            raise HypothesisError(f"a dense hypothesis needs finite numbers, {universe.shape}")
        universe.clear_diagonal(copy)
        if universe.symmetric and (copy != copy.T).any():
            raise HypothesisError("the matrix of a plain universe must be symmetric")
        copy.flags.writeable = False
        self.universe = universe
        self.matrix: FloatMatrix = copy

    @classmethod
    def constant(cls, universe: Universe, weight: float) -> Self:
        """The same weight on every pair."""
        return cls(universe, np.full(universe.shape, weight))

    def estimate(self, query: LinearQuery) -> float:
        """The answer to one query."""
        return float(self.estimate_all([query])[0])

    def estimate_all(self, queries: Sequence[LinearQuery]) -> FloatVector:
        """Answers to many queries."""
        return self.universe.answers(queries, self.matrix)

    def dense(self) -> FloatMatrix:
        """The matrix, read-only."""
        return self.matrix

    def plus(self, query: LinearQuery, weight: float) -> Self:
        """A new hypothesis with `weight` times the query's coefficients added."""
        return type(self)(self.universe, self.matrix + weight * self.universe.coefficients(query))

    def tilted(self, query: LinearQuery, exponent: float) -> Self:
        """A new hypothesis, weights times exp(exponent * coefficient), with the same total."""
        weights = tilt(self.matrix, self.universe.coefficients(query), exponent)
        self.universe.clear_diagonal(weights)
        return type(self)(self.universe, weights * (self.total() / self.universe.total(weights)))

    def total(self) -> float:
        """Sum of the weights of all pairs."""
        return self.universe.total(self.matrix)

    def arrays(self) -> Arrays:
        """See `Hypothesis`."""
        return {"matrix": self.matrix}

    @classmethod
    def of_arrays(cls, universe: Universe, arrays: Arrays) -> Self:
        """See `Hypothesis`."""
        return cls(universe, **arrays)


def tilt(
    weights: FloatMatrix, coefficients: npt.NDArray[np.generic], exponent: float
) -> FloatMatrix:
    """Weights times exp(exponent * coefficient); a positive one never reaches 0.

    Raises:
        HypothesisError: a negative weight.
    """
    if (weights < 0).any():
        raise HypothesisError("multiplicative weights need a start without negative weights")
    tilted: FloatMatrix = weights * np.exp(exponent * coefficients.astype(np.float64))
    return np.maximum(tilted, np.finfo(np.float64).tiny)


H = TypeVar("H", bound=Hypothesis)


class Construction(ABC, Generic[H]):
    """An update rule with its start, tuned to one tolerance.

    Attributes:
        start: the hypothesis before the first update.
        alpha: tolerance: an update is due when an answer is off by at least this, in edges.
        start_potential: upper bound on the potential at the start.
    """

    start: H
    alpha: float
    start_potential: float

    def initial(self) -> H:
        """The hypothesis before the first update; the same each time."""
        return self.start

    @abstractmethod
    def update(
        self, hypothesis: H, query: LinearQuery, sign: Sign, value: float | None = None
    ) -> H:
        """A better hypothesis.

        Args:
            hypothesis: the present one; it is not changed.
            query: one whose true answer is at least alpha away from the hypothesis's.
            sign: +1 when the true answer is above, -1 when it is below.
            value: an estimate of the true answer, when there is one. Rules that need the sign
                only ignore it.

        Raises:
            QueryError: a query outside the class that the bound is for.
            HypothesisError: an update that cannot be made.
        """

    @abstractmethod
    def least_drop(self, alpha: float) -> float:
        """By how much an update lowers the potential at least, if the rule is tuned to alpha."""

    def update_bound(self, alpha: float) -> float:
        """B(alpha): no update sequence is longer, if the rule is tuned to alpha."""
        return self.start_potential / self.least_drop(alpha)


def checked_tuning(universe: Universe, alpha: float) -> None:
    """Check what all rules have in common.

    Raises:
        ParameterError: a universe without pairs, or alpha not positive.
    """
    if not universe.size:
        raise ParameterError("a universe without vertex pairs has nothing to learn")
    check_positive(alpha=alpha)
