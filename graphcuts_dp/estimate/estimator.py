"""The interface of all estimators, and what they share: options, failure probabilities of cuts.

An estimator knows the measurements of one release and estimates queries from them. For each query
it returns a value, an interval that is proven whatever the graph is, and what the query can be.
`answers` makes of these what callers get.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeVar, final, get_args

import numpy as np

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE
from graphcuts_dp.errors import QueryError
from graphcuts_dp.privacy.noise_sums import NoiseSum
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.schema.vertices import Space

Asked = TypeVar("Asked", contravariant=True)  # the queries that an estimator takes
EstimateKind = Literal["unbiased", "shrunk", "model"]
ESTIMATES: tuple[str, ...] = get_args(EstimateKind)
ROUNDING = 1e-12  # of all that is added up: what floats may be off


class QueryEstimate(NamedTuple):
    """What is known of one query.

    Attributes:
        value: the estimate.
        interval: (low, high), proven at the confidence that was asked for, whatever the graph is;
            it may pass what is possible.
        most: the most that the query can be on any graph.
        least: the least that it can be, 0 for cuts.
        kind: of the value, see `CutAnswer.estimate`.
        typical: of flows the standard deviation of the error; of an estimate of a model its typical
            error by the model itself, no proof; None of others.
        certain: whether the interval is all that is possible, and so holds for sure.
    """

    value: float
    interval: tuple[float, float]
    most: float
    least: float = 0.0
    kind: EstimateKind = "unbiased"
    typical: float | None = None
    certain: bool = False


class Estimates(NamedTuple):
    """Estimates of a list of queries.

    Attributes:
        queries: of each query, in order.
        together: how many queries share the failure probability.
        simultaneous: whether the intervals hold for all cuts at once, also for such as were chosen
            after looking at other answers.
    """

    queries: list[QueryEstimate]
    together: int
    simultaneous: bool


class Sizes(NamedTuple):
    """How many vertices a cut has in S, in T, and, where these are of one set, in both."""

    S: int
    T: int
    both: int

    @classmethod
    def of(cls, S: BoolVector, T: BoolVector, *, one_set: bool) -> "Sizes":
        """Of truth vectors; `one_set` if rows and columns are the same vertices."""
        both = np.count_nonzero(S & T) if one_set else 0
        return cls(int(np.count_nonzero(S)), int(np.count_nonzero(T)), int(both))


def check_confidence(confidence: float) -> None:
    """Raises QueryError unless it lies between 0 and 1."""
    if not (isinstance(confidence, float | int) and 0 < confidence < 1):
        raise QueryError(f"confidence must lie between 0 and 1, for example {DEFAULT_CONFIDENCE:g}")


@final
@dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """Which estimates and intervals are wanted; see `Release.answer_all`.

    Attributes:
        confidence: of each interval.
        simultaneous: whether intervals hold for all cuts at once.
        joint: whether they hold for all cuts of a list at once.
        estimate: which value is wanted where there are several, one of `ESTIMATES`.
    """

    confidence: float = DEFAULT_CONFIDENCE
    simultaneous: bool = False
    joint: bool = False
    estimate: str = "unbiased"

    def __post_init__(self) -> None:
        check_confidence(self.confidence)
        if self.joint and self.simultaneous:
            raise QueryError("give joint or simultaneous, not both: the latter is for all cuts")
        if self.estimate not in ESTIMATES:
            raise QueryError(
                f"unknown estimate {self.estimate!r}; choose one of {', '.join(ESTIMATES)}"
            )

    def log_failures(self, together: int, sizes: Sizes, layout: Layout) -> float:
        """Ln of 1 over the failure probability that one of so many cuts gets."""
        log = math.log(together) - math.log1p(-self.confidence)
        return log + log_cuts(sizes, layout) if self.simultaneous else log


class Estimator(Protocol[Asked]):
    """Estimates queries from the measurements of one release; reads public numbers alone.

    Attributes:
        shape: numbers of rows and columns of the adjacency matrix.
        space: what may be joined: one vertex set, two, or `Arcs`.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """See the class."""

    @property
    def space(self) -> Space:
        """See the class."""

    def estimate(self, queries: Sequence[Asked], options: AnswerOptions) -> Estimates:
        """Estimate queries on the vertex sets of the release.

        Args:
            queries: in any number, also none.
            options: the confidence of the intervals, and for which queries it is at once.

        Returns:
            An estimate of each query, in their order.

        Raises:
            QueryError: a query that does not fit, or that this release cannot answer.
        """


@final
@dataclass(frozen=True)
class Estimate:
    """An unbiased estimate of a query, and what is known of its error.

    Attributes:
        value: the estimate.
        noise: the law of its error, up to `slack`.
        slack: by how much rounding weights down to fine grids, and floats, may move it besides.
    """

    value: float
    noise: NoiseSum
    slack: float

    def radius(self, log_failures: float) -> float:
        """Half width of an interval; `log_failures` is ln of 1 over its failure probability."""
        return self.noise.radius(log_failures) + self.slack if self.noise.terms else 0.0

    def interval(self, log_failures: float) -> tuple[float, float]:
        """The interval, see `radius`."""
        radius = self.radius(log_failures)
        return self.value - radius, self.value + radius


def distinct_cuts(cuts: Sequence[tuple[BoolVector, BoolVector]], *, symmetric: bool) -> int:
    """How many cuts a list names; in an undirected (symmetric) graph (S, T) and (T, S) are one."""
    named = ((S.tobytes(), T.tobytes()) for S, T in cuts)
    return len({tuple(sorted(sides)) if symmetric else sides for sides in named})


def log_cuts(sizes: Sizes, layout: Layout) -> float:
    """Logarithm of 1 over the share of a failure probability for all cuts that one cut gets.

    Shares of all cuts add up to at most 1. Each shape of a cut gets the same share, and each cut of
    a shape the same part of it: of a graph with n vertices there are C(n+3, 3) shapes (|S only|,
    |T only|, |both|), and n!/(|S only|! |T only|! |both|! |neither|!) pairs (S, T) of each; (S, T)
    and (T, S) are one cut and use both of their shares. Of a bipartite or directed graph there are
    (rows + 1)(columns + 1) shapes (|S|, |T|), and C(rows, |S|) C(columns, |T|) cuts of each. So a
    cut of few vertices pays for the few cuts that there are of its kind, not for all 4^n.
    """
    (in_s, in_t, both), (rows, columns) = sizes, layout.shape
    if not layout.symmetric:
        shapes = math.log(rows + 1) + math.log(columns + 1)
        return shapes + _log_ways(in_s, rows - in_s) + _log_ways(in_t, columns - in_t)
    parts = in_s - both, in_t - both, both, rows - in_s - in_t + both
    found = math.log(math.comb(rows + 3, 3)) + _log_ways(*parts)
    return found - math.log(2) if parts[0] or parts[1] else found


def _log_ways(*sizes: int) -> float:
    """Logarithm of the number of ways to put vertices into sets of these sizes."""
    return math.lgamma(sum(sizes) + 1) - math.fsum(math.lgamma(size + 1) for size in sizes)
