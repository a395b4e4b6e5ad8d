"""What a user gets from an iterative construction: answers, graph, promise, transcript, files.

The arrays that an iterative release is saved in: what was measured, and the list of queries.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from graphcuts_dp.display import Card, Displayed, size_text
from graphcuts_dp.errors import QueryError
from graphcuts_dp.estimate.answers import AnswerList, whole_query
from graphcuts_dp.estimate.noisy_matrix import CutAnswer
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.learn.bit_sets import DenseHypothesis
from graphcuts_dp.offline.distinguisher import Measured
from graphcuts_dp.offline.query_lists import CutList, QuestionList
from graphcuts_dp.pairs.graph_queries import GraphQuery, Question
from graphcuts_dp.pairs.layout import most_weight
from graphcuts_dp.pairs.linear_query import LinearQuery
from graphcuts_dp.pairs.linear_steps import Extent, as_cut
from graphcuts_dp.pairs.mixed_cuts import MixedCut, understood
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery, RankOneQuery, Subset
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.results import bundle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Listed = CutList | QuestionList | None


def arrays_of(universe: Universe, transcript: Sequence[Measured], listed: Listed) -> dict[str, Any]:
    """The transcript and the list as arrays; of a list of cuts their sets, of others coefficients.

    Raises:
        QueryError: a transcript of other queries than cuts, without their list.
    """
    arrays: dict[str, Any] = {
        "values": np.array([measured.value for measured in transcript]),
        "rounds": np.array([measured.round for measured in transcript], dtype=np.int64),
        "updated": np.array([measured.updated for measured in transcript], dtype=np.bool_),
    }
    if isinstance(listed, QuestionList):
        places = [listed.place(measured.query) for measured in transcript]
        arrays["found_places"] = np.array(places, dtype=np.int64)
        arrays["listed_rows"] = listed.given_rows
        arrays["listed_statistics"] = np.array(
            [each.statistic if isinstance(each, GraphQuery) else "" for each in listed.asked]
        )
        return arrays
    masks = [universe.masks(_cut(measured.query)) for measured in transcript]
    for name, side, n in zip("ST", (0, 1), universe.shape, strict=True):
        sets = [mask[side] for mask in masks]
        arrays[f"found_{name}"] = np.array(sets, dtype=np.bool_).reshape(len(sets), n)
        if listed is not None:
            arrays[f"listed_{name}"] = listed.words[side]
    return arrays


def read_back(universe: Universe, arrays: dict[str, Any]) -> tuple[tuple[Measured, ...], Listed]:
    """The transcript and the list from what `arrays_of` made."""
    listed: Listed = None
    queries: list[Question]
    if "listed_rows" in arrays:
        asked = [
            GraphQuery(str(statistic)) if statistic else _matrix(universe, row)
            for statistic, row in zip(
                arrays["listed_statistics"], arrays["listed_rows"], strict=True
            )
        ]
        listed = QuestionList(universe, asked)
        queries = [asked[int(place)] for place in arrays["found_places"]]
    else:
        if "listed_S" in arrays:
            listed = CutList.of_words(universe, arrays["listed_S"], arrays["listed_T"])
        queries = [
            CutQuery(S, T) for S, T in zip(arrays["found_S"], arrays["found_T"], strict=True)
        ]
    rows = zip(arrays["rounds"], queries, arrays["values"], arrays["updated"], strict=True)
    return tuple(
        Measured(round=int(number), query=query, value=float(value), updated=bool(updated))
        for number, query, value, updated in rows
    ), listed


def _cut(query: Question) -> CutQuery:
    if not isinstance(query, CutQuery):
        raise QueryError("this release has measured another query than a cut")
    return query


def _matrix(universe: Universe, row: Any) -> MatrixQuery:
    matrix = np.zeros(universe.shape)
    matrix[universe.pairs()] = row
    return MatrixQuery(matrix)


_KIND = "iterative construction"


@final
@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """How far off answers may be.

    Attributes:
        error: with probability `confidence` no query of the class is farther off, in weight; None
            where nothing is proven. Of a list with other queries than cuts, for its largest
            coefficient; a statistic is then off by less than its sensitivity times one more than
            that many of the largest coefficient.
        confidence: in (0, 1).
        queries: the class: "listed" (the queries that were given), "disjoint" (all cuts between
            disjoint sets; all cuts if bipartite), or "none".
        graph_error: the same for the synthetic graph, whose weights are cut to what is allowed.
    """

    error: float | None
    confidence: float
    queries: str
    graph_error: float | None


@final
@dataclass(frozen=True, kw_only=True)
class Settings:
    """How an iterative release was made.

    Attributes:
        construction: name of the update rule.
        distinguisher: its name.
        calibration: its name.
        rounds: hard cap on the number of rounds.
        used: rounds that were run.
        stopped: see `Outcome`.
        total: total weight that it was made from, noisy unless it was public.
    """

    construction: str
    distinguisher: str
    calibration: str
    rounds: int
    used: int
    stopped: str
    total: float


class Answering(Displayed):
    """What releases share that answer any query by what was learnt, and prove some of it."""

    guarantee: PrivacyGuarantee

    def _within(
        self, value: float, error: float | None, possible: tuple[float, float], confidence: float
    ) -> CutAnswer:
        """An answer that is off by at most `error`, its interval cut to what is possible.

        Where nothing is proven, the interval is all of that, which is certain.
        """
        low, high = interval = possible
        if error is not None:
            interval = min(max(value - error, low), high), min(max(value + error, low), high)
        return CutAnswer(
            value=value,
            interval=interval,
            confidence=1.0 if error is None else confidence,
            simultaneous=True,
            seeded=not self.guarantee.is_private,
        )


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class IterativeRelease(Answering):
    """A synthetic graph that was learnt from noisy answers to a few cuts.

    Everything here may be published.

    Attributes:
        graph: the synthetic graph: the hypothesis with weights cut to [0, cap] and rounded.
        hypothesis: what has been learnt, in weight; `answer` reads it.
        guarantee: the promise of differential privacy.
        accuracy: how far off answers may be.
        settings: how it was made.
        transcript: the cuts that were measured, with their noisy answers.
        cap: public largest weight of a pair.
        listed: the queries that were given, if any.
    """

    graph: AnyGraph
    hypothesis: DenseHypothesis
    guarantee: PrivacyGuarantee
    accuracy: Accuracy
    settings: Settings
    transcript: tuple[Measured, ...]
    cap: float = 1.0
    listed: CutList | QuestionList | None = None

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""
        return self.hypothesis.universe

    def answer(self, S: Subset | Question, T: Subset | None = None) -> CutAnswer:
        """Answer any linear query from the hypothesis; free, as often as you like.

        Releases of the median answer statistics of whole graphs, too.

        The interval holds for all queries of `accuracy.queries` at once, cut to what the query can
        be. For others it is all of that, which is certain.

        Where all disjoint cuts (bipartite: all cuts) are covered, so are rank-one queries, by the
        same bound E: draw vertex i into S with chance u_i, into T with v_i, else into neither; if
        u + v <= 1, then u' D v is the mean of the errors D of disjoint cuts, and at most E. Any
        other one is (u/a, v/a) times a^2, a = max(u + v), and so within a^2 E; of two sides within
        max(u) max(v) E. A cut of sets that mix both sides is a sum of two or three cuts.

        Args:
            S: vertex labels or a truth vector, "*" for all vertices, or a whole query, such as a
                `CutQuery`, a `RankOneQuery` or a `GraphQuery`. Labels of a bipartite graph may be
                of both sides.
            T: likewise; None for all vertices outside S (all right ones).

        Raises:
            QueryError: an unknown vertex, or a query that does not fit.
        """
        if isinstance(S, GraphQuery):
            return self._statistic(S)
        query = understood(whole_query(S, T), self.universe.space)
        if isinstance(query, RankOneQuery):
            query = as_cut(query, self.universe.space) or query
        value = self.hypothesis.estimate(query)
        return self._within(
            value, self._error(query), self._possible(query), self.accuracy.confidence
        )

    def answer_all(self, queries: Iterable[Question]) -> AnswerList:
        """Answer several queries; see `answer`."""
        return AnswerList(self.answer(query) for query in queries)

    def plot(self, *, title: str | None = None) -> "Figure":
        """Draw the cuts that were measured: noisy answers, and what was learnt of them.

        Args:
            title: above the picture, before the guarantee.

        Returns:
            A figure of matplotlib.

        Raises:
            QueryError: no cut was measured.
        """
        from graphcuts_dp.plotting.answer_lists import answer_list_figure  # slow: matplotlib

        if not self.transcript:
            raise QueryError("no cut was measured, so there is nothing to draw")
        answers = self.answer_all([measured.query for measured in self.transcript])
        ends = np.array([answer.interval for answer in answers])
        mark = f", {self.guarantee.warning}" if self.guarantee.warning else ""
        return answer_list_figure(
            values=np.array([answer.value for answer in answers]),
            low=ends[:, 0],
            high=ends[:, 1],
            other=np.array([measured.value for measured in self.transcript]),
            other_label="noisy, as measured",
            title=f"{title or 'Measured cuts'} (epsilon = {self.guarantee.epsilon:g}{mark})",
            across="cut, in the order of measuring",
        )

    def _statistic(self, query: GraphQuery) -> CutAnswer:
        """The statistic of a hypothesis that is a graph without weights, in its steps."""
        learnt = self.hypothesis.matrix[self.universe.pairs()]
        if not ((learnt == 0) | (learnt == 1)).all():
            raise QueryError(
                f"{query.statistic!r} is answered by releases of the construction 'median' alone"
            )
        size = query.sensitivity(self.universe.space)
        value = float(size * int(query.steps(self.universe, learnt[None, :])[0]))
        low, high = 0.0, float(query.largest(self.universe.space))
        confidence, error = 1.0, self.accuracy.error
        if error is not None and isinstance(self.listed, QuestionList) and query in self.listed:
            off = size * math.floor(error / self.listed.scale + 1e-9)
            low, high = max(low, value - off), min(high, value + off + size - 1)
            confidence = self.accuracy.confidence
        return CutAnswer(
            value=value,
            interval=(min(low, high), max(low, high)),
            confidence=confidence,
            simultaneous=True,
            seeded=not self.guarantee.is_private,
        )

    def _possible(self, query: LinearQuery) -> tuple[float, float]:
        """Between which the answer lies for certain."""
        if isinstance(query, CutQuery):
            return 0.0, most_weight(self.universe.pairs_between(query), self.cap)
        return Extent.of(query, self.universe.space).possible(self.cap)

    def _error(self, query: LinearQuery) -> float | None:
        """How far off an answer may be; None where nothing is proven."""
        error = self.accuracy.error
        if error is None:
            return None
        if isinstance(self.listed, QuestionList):
            return error if query in self.listed else None
        if isinstance(query, CutQuery):
            return error if self._covers(query) else None
        if self.accuracy.queries != "disjoint":
            return None
        if isinstance(query, MixedCut):
            return error * query.parts
        if not isinstance(query, RankOneQuery):
            return None
        u, v = query.vectors(self.universe.shape)
        two_sides = self.universe.bipartite
        scale = float(u.max() * v.max()) if two_sides else float((u + v).max()) ** 2
        return error * scale * (1 + 1e-9)

    def _covers(self, query: CutQuery) -> bool:
        if self.accuracy.queries == "listed":
            return self.listed is not None and query in self.listed
        S, T = self.universe.masks(query)
        return self.universe.bipartite or not (S & T).any()

    def save(self, path: PathLike, *, force: bool = False) -> tuple[str, ...]:
        """Write the graph at `path`, the hypothesis and a receipt beside it.

        Args:
            path: where; the ending tells the graph's format. The receipt is `path` + ".json", the
                hypothesis `path` + ".hypothesis.npz".
            force: replace files that are there.

        Returns:
            The paths written, the receipt last.

        Raises:
            FileFormatError: unknown ending, missing folder, files that are there, a full disk.
                Nothing is left behind then, and older files stay as they are.
        """
        fields = {
            "settings": asdict(self.settings),
            "accuracy": asdict(self.accuracy),
            "cap": self.cap,
            **bundle.space_fields(self.universe.space),
        }
        arrays = arrays_of(self.universe, self.transcript, self.listed)
        arrays = {"matrix": self.hypothesis.matrix} | arrays
        return bundle.save(
            _KIND, path, self.guarantee, fields, arrays, graph=self.graph, force=force
        )

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read back what `save` wrote.

        Args:
            path: the same path as for `save`.

        Raises:
            FileFormatError: a file is missing, damaged, or not the one that the receipt names.
        """
        with bundle.opened(path, _KIND) as saved:
            fields, arrays = saved.fields, saved.arrays()
            universe = Universe.over(saved.space)
            graph = saved.graph(universe.space)
            if graph is None:
                raise ValueError("an iterative release has a graph")
            transcript, listed = read_back(universe, arrays)
            return cls(
                graph=graph,
                hypothesis=DenseHypothesis(universe, arrays["matrix"]),
                guarantee=saved.guarantee,
                accuracy=Accuracy(**fields["accuracy"]),
                settings=Settings(**fields["settings"]),
                transcript=transcript,
                cap=fields["cap"],
                listed=listed,
            )

    def _card(self) -> Card:
        settings, accuracy = self.settings, self.accuracy
        error = "nothing is proven" if accuracy.error is None else f"{accuracy.error:,.5g}"
        return Card(
            title="Iterative release",
            facts=(
                ("vertices", size_text(self.universe.shape)),
                ("construction", settings.construction),
                ("distinguisher", settings.distinguisher),
                ("rounds", f"{settings.used} of at most {settings.rounds}"),
                ("error at most", error),
                *self.guarantee.facts,
            ),
            warning=self.guarantee.warning,
        )

    def __repr__(self) -> str:
        size = " x ".join(str(n) for n in self.universe.shape)
        mark = "" if self.guarantee.is_private else f", {SEEDED_WARNING}"
        return (
            f"IterativeRelease({size}, epsilon={self.guarantee.epsilon:g}, "
            f"construction={self.settings.construction!r}, rounds={self.settings.used}{mark})"
        )
