"""Answers to queries of any release as users get them: from estimates to lists with labels.

An estimator says of a query what its kind of release knows: a value, an interval that is proven
whatever the graph is, and what it can be. What is the same of all of them is here: how many cuts
share a failure probability, how intervals are cut to what is possible, how lists are shown, and
estimates between the unbiased answers and those of the synthetic graph, without guarantee.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final, get_args

import numpy as np

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE, percent
from graphcuts_dp.display import Card, Displayed
from graphcuts_dp.errors import QueryError
from graphcuts_dp.frames import made_frame
from graphcuts_dp.pairs.queries import CutQuery, LinearQuery, is_query
from graphcuts_dp.pairs.universe import Layout, possible_part
from graphcuts_dp.privacy.laws import NoiseSum

if TYPE_CHECKING:
    from graphcuts_dp.estimate.least_squares import MatrixEstimator
    from graphcuts_dp.estimate.shrinkage import Synthetic
    from graphcuts_dp.estimate.sparse_answers import SparseEstimator

EstimateKind = Literal["unbiased", "shrunk", "model"]
NO_GUARANTEE = "estimate, no guarantee"
ESTIMATES: tuple[str, ...] = get_args(EstimateKind)
ROUNDING = 1e-12  # of all that is added up: what floats may be off
# Of a failure probability, where the total weight is needed beside what else can fail.
FOR_TOTAL = 0.1
_COLUMNS = ("value", "low", "high", "confidence", "simultaneous", "estimate")


@final
@dataclass(frozen=True)
class CutAnswer:
    """An estimate of the value of a cut, with its interval.

    Attributes:
        value: the estimate. An unbiased one may be negative, or more than the cut can weigh, and
            then lies outside of the interval; a shrunk one may lie outside of it, too. As text, it
            is moved to the nearest end of the interval.
        interval: (low, high) that holds the true value with probability `confidence`, cut to what
            the pairs of the cut can weigh.
        confidence: in (0, 1).
        simultaneous: whether the confidence is for all cuts of the graph at once, so that the cut
            may have been chosen after looking at other answers; else it is for this cut alone,
            chosen before.
        together: how many cuts, chosen before, the confidence is for at once.
        seeded: whether the noise came from a seed, so that the answer is not private.
        estimate: which kind of estimate `value` is: "unbiased", or "shrunk", which has no
            guarantee; the interval is the same proven one. Or "model": what a sparse release's
            model says where nothing was measured that tells this cut, also without guarantee.
        typical_error: of an estimate of a model, by the model itself and so no proof; else None.
    """

    value: float
    interval: tuple[float, float]
    confidence: float
    simultaneous: bool = False
    seeded: bool = False
    estimate: EstimateKind = "unbiased"
    together: int = 1
    typical_error: float | None = None

    def __str__(self) -> str:
        low, high = self.interval
        scope = "this cut" if self.together == 1 else f"{self.together:,} cuts at once"
        scope = "all cuts at once" if self.simultaneous else scope
        mark = " [seeded: not private]" if self.seeded else ""
        note = "" if self.typical_error is None else f" +- {self.typical_error:.1f} typically"
        note += "" if self.estimate == "unbiased" else f" ({NO_GUARANTEE})"
        return (
            f"{self.possible:.1f}{note} in [{low:.1f}, {high:.1f}] "
            f"({percent(self.confidence)}, {scope}){mark}"
        )

    @property
    def possible(self) -> float:
        """The value in the interval that is nearest to the estimate: it is biased, but possible."""
        return nearest_within(self.value, self.interval)


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


class CutEstimate(NamedTuple):
    """What is known of one cut.

    Attributes:
        value: the estimate.
        interval: proven, whatever the graph is.
        most: what the pairs of the cut can weigh.
        kind: of the value, see `CutAnswer.estimate`.
        typical: typical error of an estimate of a model, no proof; None of others.
    """

    value: float
    interval: tuple[float, float]
    most: float
    kind: EstimateKind = "unbiased"
    typical: float | None = None


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


def nearest_within(value: float, interval: tuple[float, float]) -> float:
    """The number of an interval that is nearest to an estimate: what people are shown of it.

    An unbiased estimate can be impossible, as one below 0 is, and then lies beside its interval,
    which holds what is possible alone. NaN stays NaN.
    """
    low, high = interval
    return min(max(value, low), high)


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


def answer_queries(
    estimator: "MatrixEstimator | SparseEstimator",
    queries: Sequence[LinearQuery],
    options: AnswerOptions,
    *,
    synthetic: Callable[[], "Synthetic"],
    seeded: bool,
) -> "AnswerList":
    """Answers to cuts and other linear queries, in order; see `Release.answer_all`.

    Args:
        estimator: of the release.
        queries: on its vertex sets.
        options: what is wanted.
        synthetic: makes what the synthetic graph says.
        seeded: whether the noise came from a seed.
    """

    def of_cuts(cuts: Sequence[CutQuery], wanted: AnswerOptions) -> list[CutAnswer]:
        found, together = estimator.estimates(cuts, wanted, synthetic)
        return [
            CutAnswer(
                value=each.value,
                interval=possible_part(each.interval, each.most),
                confidence=wanted.confidence,
                simultaneous=wanted.simultaneous,
                seeded=seeded,
                estimate=each.kind,
                together=together,
                typical_error=each.typical,
            )
            for each in found
        ]

    cuts = [query for query in queries if isinstance(query, CutQuery)]
    if len(cuts) == len(queries):
        return AnswerList(of_cuts(cuts, options))
    confidence, simultaneous = options.confidence, options.simultaneous
    together = len(queries) if options.joint else 1
    log_failures = math.log(together) - math.log1p(-confidence)
    alone = replace(options, confidence=1 - (1 - confidence) / together, joint=False)
    answers: list[CutAnswer] = []
    for query in queries:
        if isinstance(query, CutQuery):
            (one,) = of_cuts([query], alone)
            answers.append(replace(one, confidence=confidence, together=together))
            continue
        value, interval = estimator.linear(query, log_failures, simultaneous=simultaneous)
        if options.estimate != "unbiased":
            raise QueryError("shrunk estimates are made of cuts; other queries have unbiased ones")
        answers.append(
            CutAnswer(value, interval, confidence, simultaneous, seeded, together=together)
        )
    return AnswerList(answers)


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


def whole_query(S: Any, T: Any) -> LinearQuery:
    """What was asked: a whole query, or the cut between two sets.

    Raises:
        QueryError: a whole query, and a set beside it.
    """
    if not is_query(S):
        return CutQuery(S, T)
    if T is not None:
        raise QueryError("give either a whole query or two sets, not both")
    query: LinearQuery = S
    return query


class AnswerList(list[CutAnswer], Displayed):
    """Answers in the order of their queries: a list, and more for those who look at it."""

    def to_frame(self, kind: Any = None) -> Any:
        """One row an answer: value, low, high, confidence, simultaneous, estimate, together, mark.

        Of a kind as for `Graph.to_frame`. `mark` says of a seeded answer that it is not private,
        and is empty otherwise.
        """
        rows = [
            (*self._row(answer), answer.together, "seeded: not private" if answer.seeded else "")
            for answer in self
        ]
        names = [*_COLUMNS, "together", "mark"]
        return made_frame({name: [row[i] for row in rows] for i, name in enumerate(names)}, kind)

    @staticmethod
    def _row(answer: CutAnswer) -> tuple[object, ...]:
        return (
            answer.value,
            *answer.interval,
            answer.confidence,
            answer.simultaneous,
            answer.estimate,
        )

    def _card(self) -> Card:
        seeded = any(answer.seeded for answer in self)
        return Card(
            title=f"{len(self):,} answers",
            columns=_COLUMNS,
            rows=[self._row(answer) for answer in self[:20]],
            size=len(self),
            warning="seeded: not private" if seeded else "",
        )
