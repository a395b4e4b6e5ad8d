"""The interface of all estimators, and what they share: options, results, failure probabilities.

An *estimator* knows the measurements of one release and estimates queries from them. For each query
it returns a value and an interval that is proven whatever the graph is. `answers` turns these into
what callers get.

An interval fails with its *failure probability*, which is 1 - confidence. Several intervals that
are to hold at once share one failure probability. Functions take it as `log_failures`, which is
ln(1/probability), since shares can be smaller than any float: the larger it is, the surer and the
longer the interval. To divide a probability by k, add ln k.

A *mask* is a truth vector of the rows, or of the columns, of the adjacency matrix.
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

Asked = TypeVar("Asked", contravariant=True)  # the type of queries that an estimator takes
CutMasks = tuple[BoolVector, BoolVector]  # of a cut: mask of the rows S, mask of the columns T
Interval = tuple[float, float]  # (low, high)
EstimateKind = Literal["unbiased", "shrunk", "model"]
ESTIMATES: tuple[str, ...] = get_args(EstimateKind)
# Relative error of a sum of floats, over the sum of the absolute values that are added up.
ROUNDING = 1e-12


class QueryEstimate(NamedTuple):
    """The estimate of one query.

    Attributes:
        value: the estimate.
        interval: (low, high), proven at the confidence that was asked for, whatever the graph is.
            It may exceed what is possible.
        most: the largest value that the query has on any graph.
        least: the smallest value that it has, 0 for cuts.
        kind: of the estimate, see `CutAnswer.kind`.
        typical: typical error. Of flows and unbiased cuts it is the standard deviation of the
            error; of shrunk and model values it is an estimate, see `misfit`, and no proof; None of
            other estimates.
        certain: whether the interval holds all possible values, and so holds for sure.
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
        queries: the estimate of each query, in order.
        together: how many queries share the failure probability.
        simultaneous: whether the intervals hold for all cuts of the graph at once, so also for cuts
            that were chosen after looking at other answers.
    """

    queries: list[QueryEstimate]
    together: int
    simultaneous: bool


class Sizes(NamedTuple):
    """The number of vertices of a cut in S, in T, and in both.

    `both` is 0 if rows and columns are two vertex sets.
    """

    S: int
    T: int
    both: int

    @classmethod
    def of(cls, S: BoolVector, T: BoolVector, *, one_set: bool) -> "Sizes":
        """Return the sizes of two masks; `one_set` if rows and columns are the same vertices."""
        both = np.count_nonzero(S & T) if one_set else 0
        return cls(int(np.count_nonzero(S)), int(np.count_nonzero(T)), int(both))


def check_confidence(confidence: float) -> None:
    """Check that a confidence lies between 0 and 1.

    Raises:
        QueryError: if it does not.
    """
    if not (isinstance(confidence, float | int) and 0 < confidence < 1):
        raise QueryError(f"confidence must lie between 0 and 1, for example {DEFAULT_CONFIDENCE:g}")


@final
@dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """The kind of estimates and intervals to compute; see `Release.answer_all`.

    Attributes:
        confidence: of each interval, in (0, 1).
        simultaneous: whether intervals hold for all cuts of the graph at once.
        joint: whether they hold for all cuts of the list at once.
        estimate: kind of the value where there are several, one of `ESTIMATES`.

    Raises:
        QueryError: if the confidence is out of range, the kind is unknown, or both `simultaneous`
            and `joint` are set.
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
        """Return ln of 1 over the failure probability that one cut gets.

        Args:
            together: how many cuts share the failure probability.
            sizes: of the cut.
            layout: of the matrix.
        """
        log = math.log(together) - math.log1p(-self.confidence)
        return log + log_cuts(sizes, layout) if self.simultaneous else log


class Estimator(Protocol[Asked]):
    """Estimates queries from the measurements of one release; reads public numbers alone.

    Attributes:
        space: the vertex sets between which there can be edges: one set (undirected graphs), two
            sets (bipartite ones), or `Arcs` of one set (directed ones).
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns of the adjacency matrix."""

    @property
    def space(self) -> Space:
        """The vertex sets between which there can be edges."""

    def estimate(self, queries: Sequence[Asked], options: AnswerOptions) -> Estimates:
        """Estimate queries on the vertex sets of the release.

        Args:
            queries: any number of them, also none.
            options: the confidence of the intervals, and for which queries they hold at once.

        Returns:
            An estimate of each query, in their order.

        Raises:
            QueryError: if a query does not fit the vertex sets, or this release cannot answer it.
        """


@final
@dataclass(frozen=True)
class Estimate:
    """An unbiased estimate of a query, with the law of its error.

    Attributes:
        value: the estimate.
        noise: law of its error, up to `slack`: a sum of independent noises, with a term for those
            of one law and coefficient. Without terms the estimate is exact, and its slack is 0.
        slack: bound on the part of the error that is no noise: rounding weights down to grids, and
            the rounding of floats.
    """

    value: float
    noise: NoiseSum
    slack: float

    def radius(self, log_failures: float) -> float:
        """Return the half width of an interval, 0 for an exact estimate.

        Args:
            log_failures: ln of 1 over the failure probability of the interval.
        """
        return self.noise.radius(log_failures) + self.slack if self.noise.terms else 0.0

    def interval(self, log_failures: float) -> tuple[float, float]:
        """Return the interval whose half width is `radius`."""
        radius = self.radius(log_failures)
        return self.value - radius, self.value + radius


def distinct_cuts(cuts: Sequence[CutMasks], *, symmetric: bool) -> int:
    """Return the number of distinct cuts of a list.

    Args:
        cuts: masks of rows and of columns.
        symmetric: whether (S, T) and (T, S) are one cut, as in an undirected graph.
    """
    keys = ((S.tobytes(), T.tobytes()) for S, T in cuts)
    return len({tuple(sorted(key)) if symmetric else key for key in keys})


def log_cuts(sizes: Sizes, layout: Layout) -> float:
    """Return ln(1/share), for the share of a failure probability that one of all cuts gets.

    The shares of all cuts add up to at most 1. Each *shape* of a cut gets the same share, and each
    cut of a shape the same part of it. So a cut of few vertices pays for the few cuts of its shape,
    and not for all 4^n.

    In an undirected graph of n vertices a shape is (|S only|, |T only|, |both|). There are C(n+3,
    3) shapes, and n!/(|S only|! |T only|! |both|! |neither|!) pairs (S, T) of each. (S, T) and (T,
    S) are one cut, and use the shares of both. In a bipartite or directed graph a shape is (|S|,
    |T|). There are (rows + 1)(columns + 1) shapes, and C(rows, |S|) C(columns, |T|) cuts of each.

    Args:
        sizes: of the cut.
        layout: of the matrix.
    """
    (in_S, in_T, both), (rows, columns) = sizes, layout.shape
    if not layout.symmetric:
        log_shapes = math.log(rows + 1) + math.log(columns + 1)
        return log_shapes + _log_ways(in_S, rows - in_S) + _log_ways(in_T, columns - in_T)
    # An undirected graph: `both` vertices are in both sets.
    S_only, T_only, neither = in_S - both, in_T - both, rows - in_S - in_T + both
    log_shapes = math.log(math.comb(rows + 3, 3))
    log_pairs = log_shapes + _log_ways(S_only, T_only, both, neither)  # of the pair (S, T)
    # The cut has the shares of (S, T) and of (T, S), twice as much, unless S = T.
    is_one_pair = S_only == T_only == 0
    return log_pairs if is_one_pair else log_pairs - math.log(2)


def _log_ways(*sizes: int) -> float:
    """Return ln of the number of ways to divide vertices into sets of these sizes."""
    return math.lgamma(sum(sizes) + 1) - math.fsum(math.lgamma(size + 1) for size in sizes)
