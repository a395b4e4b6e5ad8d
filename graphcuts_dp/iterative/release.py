"""The result of an iterative release: answers, a graph or a matrix, files."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from graphcuts_dp.confidence import percent
from graphcuts_dp.display import MOST_PICTURED, Card, Displayed, size_text
from graphcuts_dp.errors import GraphError, QueryError
from graphcuts_dp.estimate.answers import AnswerList, CutAnswer, answer_queries, whole_query
from graphcuts_dp.estimate.estimator import AnswerOptions
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.iterative.accuracy import (
    Accuracy,
    CountNoise,
    Law,
    NetChoice,
    law_fields,
    law_from,
)
from graphcuts_dp.iterative.hypothesis_estimator import HypothesisEstimator, Listed
from graphcuts_dp.iterative.query_digests import Digests
from graphcuts_dp.iterative.query_lists import CutList, QuestionList
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.options import check_probability
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, guarantee_text
from graphcuts_dp.queries.graph_queries import GraphQuery, Question
from graphcuts_dp.queries.linear import Subset
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.results import bundle
from graphcuts_dp.results.packing import ResultParts, SavedParts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Kinds of saved releases: with a synthetic graph, or with answers alone.
GRAPH, TABLE = "iterative construction", "answers"
_LISTS: dict[str, Any] = {"cuts": CutList, "questions": QuestionList, "digests": Digests}
_MEASURED_FIELDS = ("round", "value", "updated", "estimate")  # of `MeasuredQuery`, in files


@final
@dataclass(frozen=True, kw_only=True)
class MeasuredQuery:
    """A query that a round has measured, with its noisy answer. Public.

    Attributes:
        round: from 1.
        query: the cut, or another query of the public list; its index in the list if the whole list
            was measured, and for sensing, whose queries are too large to be stored.
        value: noisy answer, in weight.
        updated: whether the answer corrected the hypothesis.
        estimate: answer of the hypothesis before; NaN if it is not recorded.
    """

    round: int
    query: Any
    value: float
    updated: bool
    estimate: float = math.nan


@final
@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a release.

    Attributes:
        construction: name of the update rule, or of another construction.
        distinguisher: its name, or how queries were chosen; "" if none were chosen.
        calibration: its name; "" if the construction has no choice.
        rounds: largest number of rounds.
        used: the number of rounds that were run.
        stopped: see `Outcome`.
        total: the total weight that the rounds started from, noisy unless it was public; None if
            the construction uses none.
        void_reason: why no bound on the error holds for the parameters that were set; None if one
            does, or if the distinguisher proves nothing.
    """

    construction: str
    distinguisher: str = ""
    calibration: str = ""
    rounds: int = 1
    used: int = 1
    stopped: str = "rounds"
    total: float | None = None
    void_reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a receipt, without a reason if there is none."""
        values = asdict(self)
        if self.void_reason is None:
            del values["void_reason"]
        return values


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class IterativeRelease(Displayed):
    """A hypothesis that was learned from noisy answers, or answers alone. It may be published.

    Attributes:
        universe: the public vertex pairs.
        guarantee: of differential privacy.
        accuracy: a proven bound on the errors of answers.
        settings: the construction, its parts and its rounds.
        hypothesis: the learned weights, from which `answer` computes answers; None if there are
            answers alone.
        transcript: the queries that were measured, with their noisy answers.
        cap: public largest weight of a pair.
        listed: the public list of queries; None if there is none.
        law: distribution of errors, for every confidence; None if only `accuracy` is known.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> learning = gc.Learning(rule="frieze-kannan", rounds=5)
        >>> release = gc.release_iteratively(club, epsilon=4.0, delta=1e-6, construction=learning)
        >>> release.settings.construction
        'frieze-kannan'
    """

    universe: Universe
    guarantee: PrivacyGuarantee
    accuracy: Accuracy
    settings: Settings
    _graph: AnyGraph | None = None
    hypothesis: DenseHypothesis | None = None
    transcript: tuple[MeasuredQuery, ...] = ()
    cap: float = 1.0
    listed: Listed = None
    law: Law | None = None

    @cached_property
    def estimator(self) -> HypothesisEstimator:
        """The estimator of queries, by the hypothesis or by the measured values."""
        return HypothesisEstimator(
            universe=self.universe,
            hypothesis=self.hypothesis,
            accuracy=self.accuracy,
            cap=self.cap,
            listed=self.listed,
            measured=[measured.value for measured in self.transcript],
            law=self.law,
            statistics=self.settings.construction == "median",
            clip_values=self.hypothesis is not None and not self.has_graph,
        )

    @property
    def budget_plan(self) -> BudgetPlan | None:
        """The plan by which the budget was spent; None if it is not known."""
        return self.guarantee.budget_plan

    @property
    def has_graph(self) -> bool:
        """True if there is a synthetic graph: not for sensing, nor for answers alone."""
        return self._graph is not None

    @property
    def graph(self) -> AnyGraph:
        """The synthetic graph: the learned weights clipped to [0, cap], or a net's member.

        Raises:
            GraphError: there is none.
        """
        if self._graph is None:
            raise GraphError("this release has no graph: it answers queries alone")
        return self._graph

    def answer(
        self, S: Subset | Question, T: Subset | None = None, *, confidence: float | None = None
    ) -> CutAnswer:
        """Answer any linear query; free, any number of times.

        Releases of the median answer statistics of whole graphs, too; those of the constructions
        "answers", "k-norm" and "laplace" answer the cuts of their list alone.

        The interval holds for all queries of `accuracy.queries` at once, and for queries that
        follow from these (see `HypothesisEstimator`), clipped to the possible range of the query.
        For other queries it is the possible range, which is certain.

        Args:
            S: vertex labels or a truth vector, "*" for all vertices, or a whole query, such as a
                `CutQuery`, a `RankOneQuery` or a `GraphQuery`. Labels of a bipartite graph may be
                of both sides.
            T: as S, but no whole query; None for all vertices outside S (all right ones).
            confidence: in (0, 1), for all queries of the list at once; None for that of
                `accuracy`, the only one that releases without a `law` have.

        Raises:
            QueryError: an unknown vertex, a query that does not fit or was not answered, or a
                confidence out of range.
        """
        query = S if isinstance(S, GraphQuery) else whole_query(S, T)
        return self.answer_all([query], confidence=confidence)[0]

    def answer_all(
        self, queries: Iterable[Question], *, confidence: float | None = None
    ) -> AnswerList:
        """Answer several queries; see `answer`."""
        options = AnswerOptions(
            confidence=self.accuracy.confidence if confidence is None else confidence
        )
        seeded = not self.guarantee.is_private
        whole_queries = [
            query if isinstance(query, GraphQuery) else whole_query(query, None)
            for query in queries
        ]
        return answer_queries(self.estimator, whole_queries, options, seeded=seeded)

    def plot(self, *, title: str | None = None) -> "Figure":
        """Draw the queries that were measured: noisy answers, and the release's answers to them.

        Args:
            title: above the picture, before the guarantee.

        Returns:
            A figure of matplotlib. If the whole list was measured, with intervals; if sensing has
            chosen queries, with the hypothesis's answer to each query before.

        Raises:
            QueryError: no query was measured.
        """
        from graphcuts_dp.plotting.answer_lists import answer_list_figure  # slow: matplotlib

        if not self.transcript:
            raise QueryError("no query was measured, so there is nothing to draw")
        noisy_values = np.array([measured.value for measured in self.transcript])
        queries = [
            measured.query for measured in self.transcript if not isinstance(measured.query, int)
        ]
        if queries:
            answers = self.answer_all(queries)
            values = np.array([answer.value for answer in answers])
            second_values = noisy_values
            low, high = np.array([answer.interval for answer in answers]).T
        else:
            radius = self.accuracy.error if self.accuracy.queries == "measured" else math.inf
            values = noisy_values
            low, high = noisy_values - radius, noisy_values + radius
            second_values = np.array([measured.estimate for measured in self.transcript])
        return answer_list_figure(
            values=values,
            low=low,
            high=high,
            second_values=None if np.isnan(second_values).any() else second_values,
            second_label="noisy, as measured" if queries else "expected by what was learned before",
            title=f"{title or 'Measured queries'} ({guarantee_text(self.guarantee)})",
            x_label="query, in the order of measuring",
            unit=f"{self.guarantee.counted} between S and T",
        )

    def save(self, path: PathLike, *, force: bool = False) -> tuple[str, ...]:
        """Write the release, and a receipt beside it at `path` + ".json".

        Args:
            path: of the graph, whose ending names the format; the hypothesis is written to `path` +
                ".hypothesis.npz". Without a graph `path` ends in .npz and holds everything.
            force: replace existing files.

        Returns:
            The paths written, the receipt last.

        Raises:
            FileFormatError: unknown ending, missing folder, existing files, a full disk. Nothing
                is left behind then, and older files stay as they are.
        """
        return bundle.save(self.to_parts(), path, force=force)

    def to_parts(self) -> ResultParts:
        """Return the parts that `save` writes."""
        transcript, listed = self.transcript, self.listed
        queries = [measured.query for measured in transcript]
        if listed is None and queries:
            listed = CutList(self.universe, queries)
        kinds = [name for name, kind in _LISTS.items() if isinstance(listed, kind)]
        fields = {
            "settings": self.settings.to_dict(),
            "accuracy": asdict(self.accuracy),
            "cap": self.cap,
            "law": law_fields(self.law),
            "list": {"kind": kinds[0] if kinds else None, "listed": self.listed is not None},
            **bundle.space_fields(self.universe.space),
        }
        arrays = {
            name: np.array([getattr(measured, name) for measured in transcript])
            for name in _MEASURED_FIELDS
        }
        if listed is not None:
            indices = [query if isinstance(query, int) else listed.find(query) for query in queries]
            arrays["places"] = np.array(indices, dtype=np.int64)
            arrays |= {f"list_{name}": values for name, values in listed.arrays().items()}
        if self.hypothesis is not None:
            arrays["matrix"] = self.hypothesis.matrix
        if isinstance(self.law, CountNoise):
            arrays["facets"] = self.law.noise.facets
        kind = GRAPH if self.has_graph else TABLE
        return ResultParts(
            kind=kind, guarantee=self.guarantee, fields=fields, arrays=arrays, graph=self._graph
        )

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read back what `save` wrote.

        Args:
            path: the same path as for `save`.

        Raises:
            FileFormatError: a file is missing, damaged, or not the one that the receipt names.
        """
        with bundle.opened(path, GRAPH, TABLE) as saved:
            return cls.from_saved(saved)

    @classmethod
    def from_saved(cls, saved: SavedParts) -> Self:
        """Return the release from the parts that `to_parts` returned.

        Args:
            saved: the parts of a saved result, as `gc.load` reads them.

        Raises:
            GraphCutsError, LookupError, TypeError, ValueError, ArithmeticError: the parts of
                something else.
        """
        fields, arrays = saved.fields, saved.arrays()
        universe = Universe.over(bundle.space_from(fields))
        listed: Any = None
        if fields["list"]["kind"] is not None:
            parts = {
                name.removeprefix("list_"): values
                for name, values in arrays.items()
                if name.startswith("list_")
            }
            listed = _LISTS[fields["list"]["kind"]].of_arrays(universe, **parts)
        rows = zip(*(arrays[name].tolist() for name in _MEASURED_FIELDS), strict=True)
        matrix, accuracy = arrays.get("matrix"), Accuracy(**fields["accuracy"])
        queries = arrays.get("places", np.zeros(0, dtype=np.int64)).tolist()
        if accuracy.queries != "measured":  # else the transcript has the indices themselves
            queries = [listed.public_queries[index] for index in queries]
        release = cls(
            universe=universe,
            guarantee=saved.guarantee,
            accuracy=accuracy,
            settings=Settings(**fields["settings"]),
            _graph=saved.graph(universe.space) if saved.kind == GRAPH else None,
            hypothesis=None if matrix is None else DenseHypothesis(universe, matrix),
            transcript=tuple(
                MeasuredQuery(query=query, **dict(zip(_MEASURED_FIELDS, row, strict=True)))
                for query, row in zip(queries, rows, strict=True)
            ),
            cap=fields["cap"],
            listed=listed if fields["list"]["listed"] else None,
            law=law_from(fields["law"], arrays),
        )
        release._check_parts()
        return release

    def _check_parts(self) -> None:
        """Refuse parts of a saved release that do not belong together."""
        accuracy, listed = self.accuracy, self.listed
        if not self.cap > 0:
            raise ValueError("a maximum weight that is not above 0")
        if not np.isfinite([measured.value for measured in self.transcript]).all():
            raise ValueError("an answer that is no number")
        check_probability("confidence", accuracy.confidence)
        if accuracy.error is not None and not accuracy.error >= 0:
            raise ValueError("an error below 0")
        if accuracy.queries == "measured":
            indices = sorted(measured.query for measured in self.transcript)
            if listed is None or indices != list(range(len(listed))):
                raise ValueError("the measured queries are not those of the list")
        if self.law is not None:
            self.law.error(0.5)
            if isinstance(self.law, CountNoise) and self.law.noise.counts != len(self.transcript):
                raise ValueError("noise for another number of answers")
        elif self.hypothesis is None:
            raise ValueError("answers without the law of their noise")

    def _picture(self) -> "Figure | None":
        return self.plot() if 0 < len(self.transcript) <= MOST_PICTURED else None

    def _card(self) -> Card:
        settings, accuracy, law = self.settings, self.accuracy, self.law
        error = "nothing is proven"
        if settings.void_reason is not None:
            error = f"no bound holds for these values: {settings.void_reason}"
        if accuracy.error is not None:
            error = f"{accuracy.error:,.5g}, with probability {percent(accuracy.confidence)}"
        with_estimate = [
            measured for measured in self.transcript if not math.isnan(measured.estimate)
        ]
        facts = {
            "vertices": size_text(self.universe.shape),
            "construction": settings.construction,
            "distinguisher": settings.distinguisher,
            "members of the net": f"{law.members:,}" if isinstance(law, NetChoice) else "",
            "rounds": f"{settings.used} of at most {settings.rounds}" if settings.rounds else "",
            "error at most": error,
        }
        return Card(
            title="Iterative release",
            facts=(*(fact for fact in facts.items() if fact[1]), *self.guarantee.facts),
            columns=("query", "noisy answer", "estimate before") if with_estimate else (),
            rows=[(row.query, row.value, row.estimate) for row in with_estimate],
            warning=self.guarantee.warning,
        )

    def __repr__(self) -> str:
        size = " x ".join(str(n) for n in self.universe.shape)
        mark = "" if self.guarantee.is_private else f", {SEEDED_WARNING}"
        return (
            f"IterativeRelease({size}, epsilon={self.guarantee.epsilon:g}, "
            f"construction={self.settings.construction!r}, rounds={self.settings.used}{mark})"
        )
