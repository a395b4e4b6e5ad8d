"""What is asked of a construction, and what comes of it: answers, a graph or a matrix, files.

It is long because one class of results serves every construction: to answer, to save, to draw.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast, final

import numpy as np

from graphcuts_dp.confidence import DEFAULT_FAILURE, percent
from graphcuts_dp.display import MOST_PICTURED, Card, Displayed, size_text
from graphcuts_dp.errors import GraphError, ParameterError, QueryError
from graphcuts_dp.estimate.answers import AnswerList, CutAnswer, whole_query
from graphcuts_dp.estimate.estimator import check_confidence
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.rows import PrivateData, bounded_graph, paired_graph, without_rows
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.learn.learners import MOST_DENSE_VERTICES
from graphcuts_dp.offline.query_lists import CutList, QuestionList, as_list
from graphcuts_dp.options import check_probability
from graphcuts_dp.pairs.graph_queries import Extent, GraphQuery, Question, as_cut
from graphcuts_dp.pairs.queries import (
    CutQuery,
    LinearQuery,
    MixedCut,
    RankOneQuery,
    Subset,
    understood,
)
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.pairs.vertices import Space, VertexSet
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.composition import as_stored
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, Protect, hidden_change, promise_text
from graphcuts_dp.privacy.level_noise import KNormNoise
from graphcuts_dp.privacy.noise import SEEDED_WARNING, EntropySource, shortfall
from graphcuts_dp.release.job import Job
from graphcuts_dp.resources import Progress, silent
from graphcuts_dp.results import bundle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GRAPH, TABLE = "iterative construction", "answers"  # kinds of files: with a graph, or without


@final
@dataclass(frozen=True, kw_only=True)
class Measured:
    """A query that a round has found or chosen, with its noisy answer. Public.

    Attributes:
        round: from 1.
        query: the cut, or whatever was asked for in a list; the place in the list where all of it
            was measured, and of sensing, whose queries are too large to be kept.
        value: noisy answer, in weight.
        updated: whether the hypothesis was corrected by it.
        estimate: of the hypothesis before; NaN where that is not told.
    """

    round: int
    query: Any
    value: float
    updated: bool
    estimate: float = math.nan


_TOLD = ("round", "value", "updated", "estimate")  # of a measured query, in files


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
        queries: the class: "listed" (the queries that were given), "measured" (the same, and each
            was measured, so that answers are the values that were measured), "disjoint" (all cuts
            between disjoint sets; all cuts if bipartite), or "none".
        graph_error: the same for the synthetic graph, whose weights are cut to what is allowed.
        deviation: standard deviation of the noise on each measured answer, at most, where told.
    """

    error: float | None
    confidence: float
    queries: str
    graph_error: float | None = None
    deviation: float | None = None


@final
@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a release was made.

    Attributes:
        construction: name of the update rule, or of what takes its place.
        distinguisher: its name, or how queries were chosen; "" where none are.
        calibration: its name; "" where there is one way.
        rounds: hard cap on the number of rounds.
        used: rounds that were run.
        stopped: see `Outcome`.
        total: total weight that it was made from, noisy unless it was public; None where it is not
            used.
    """

    construction: str
    distinguisher: str = ""
    calibration: str = ""
    rounds: int = 1
    used: int = 1
    stopped: str = "rounds"
    total: float | None = None


@final
@dataclass(frozen=True, kw_only=True)
class NetChoice:
    """The law of the error of a graph that was chosen from a net.

    Attributes:
        members: size of the net.
        alpha: how far the nearest member may be from the truth on any query.
        unit: of the answers that scores are counted in.
        rounding: how far counting in whole units can move a difference of two answers.
        rate: of the noise on each score, for one unit.
    """

    members: int
    alpha: float
    unit: float
    rounding: float
    rate: Fraction

    def error(self, beta: float) -> float:
        """A bound on the error of every query at once that fails with probability beta at most.

        alpha + (2 Delta/epsilon) ln((members - 1)/beta), rounded down to a whole unit, where Delta
        is the sensitivity of the queries; `rounding` is added twice. DR14, Proposition 5.2 has
        members for members - 1. It holds if the truth was in the family that the net is for.
        """
        steps = shortfall(self.members, self.rate, failure=beta)
        return self.alpha + self.unit * steps + 2 * self.rounding


@final
@dataclass(frozen=True, kw_only=True)
class CountNoise:
    """The law of the noise on all counts of a list.

    Attributes:
        noise: in steps of the grid.
        grid: how cuts were counted: rounding lowers an answer besides.
    """

    noise: KNormNoise
    grid: Grid

    def error(self, beta: float) -> float:
        """By how much noise has moved any answer, in weight, but for probability beta."""
        return self.noise.radius(beta) * self.grid.unit

    def measure(self, queries: CutList, graph: AnyGraph, source: EntropySource) -> list[float]:
        """Noisy answers in weight; reads the graph."""
        counts = queries.counts(graph, self.grid)
        return [float(noisy * self.grid.unit) for noisy in counts + self.noise.draw(source)]


Law = NetChoice | CountNoise


@final
@dataclass(frozen=True)
class Digests:
    """A list of queries that are too large to be kept: SHA-256 of each."""

    universe: Universe
    digests: tuple[bytes, ...]

    @classmethod
    def of(cls, queries: Sequence[LinearQuery], universe: Universe) -> Self:
        """Of queries over two vertex sets."""
        return cls(universe, tuple(query_digest(query, universe.space) for query in queries))

    def __len__(self) -> int:
        return len(self.digests)

    @property
    def asked(self) -> Sequence[int]:
        """In place of the queries, their places."""
        return range(len(self))

    def find(self, query: Any) -> int | None:
        """The first place of a query in the list; None for one that is not in it."""
        known = query_digest(query, self.universe.space)
        return self.digests.index(known) if known in self.digests else None

    def arrays(self) -> dict[str, Any]:
        """What `of_arrays` reads."""
        return {"digests": np.array([list(digest) for digest in self.digests], dtype=np.uint8)}

    @classmethod
    def of_arrays(cls, universe: Universe, digests: Any) -> Self:
        """From what `arrays` gave."""
        return cls(universe, tuple(digest.tobytes() for digest in digests))


Listed = CutList | QuestionList | Digests | None
_LISTS: dict[str, Any] = {"cuts": CutList, "questions": QuestionList, "digests": Digests}


def query_digest(query: LinearQuery, space: Space) -> bytes:
    """What a query of the list is known by: SHA-256 of its sets, vectors or coefficients."""
    if isinstance(query, RankOneQuery):
        query = as_cut(query, space) or query
    if isinstance(query, CutQuery):
        kind = b"cut"
        arrays: list[Any] = [np.packbits(mask) for mask in query.masks(space)]
    elif isinstance(query, RankOneQuery):
        left, right = cast(tuple[VertexSet, VertexSet], space)
        kind, arrays = b"rank one", list(query.vectors((len(left), len(right))))
    else:
        kind, arrays = b"entries", [query.coefficients(space) + 0.0]
    found = hashlib.sha256(kind)
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.digest()


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class IterativeRelease(Displayed):
    """What was learnt about a graph from noisy answers to queries. All of it may be published.

    Attributes:
        universe: the public vertex pairs.
        guarantee: the promise of differential privacy.
        accuracy: how far off answers may be.
        settings: how it was made.
        hypothesis: what has been learnt, in weight; `answer` reads it. None of answers alone.
        transcript: the queries that were measured, with their noisy answers.
        cap: public largest weight of a pair.
        listed: the queries that were given, if any.
        law: of errors, where it tells them for every confidence.
    """

    universe: Universe
    guarantee: PrivacyGuarantee
    accuracy: Accuracy
    settings: Settings
    _graph: AnyGraph | None = None
    hypothesis: DenseHypothesis | None = None
    transcript: tuple[Measured, ...] = ()
    cap: float = 1.0
    listed: Listed = None
    law: Law | None = None

    @property
    def has_graph(self) -> bool:
        """Whether there is a synthetic graph: not of sensing, nor of answers alone."""
        return self._graph is not None

    @property
    def graph(self) -> AnyGraph:
        """The synthetic graph: what was learnt with weights cut to [0, cap], or a net's member.

        Raises:
            GraphError: there is none.
        """
        if self._graph is None:
            raise GraphError("this release has no graph: it answers queries alone")
        return self._graph

    def answer(
        self, S: Subset | Question, T: Subset | None = None, *, confidence: float | None = None
    ) -> CutAnswer:
        """Answer any linear query; free, as often as you like.

        Releases of the median answer statistics of whole graphs, too; those of the constructions
        "answers", "k-norm" and "laplace" the cuts of their list alone.

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
            confidence: in (0, 1), for all queries of the list at once; None for that of
                `accuracy`, the only one that releases without a `law` have.

        Raises:
            QueryError: an unknown vertex, a query that does not fit or was not answered, or a
                confidence out of range.
        """
        level = self._level(confidence)
        if isinstance(S, GraphQuery):
            return self._statistic(S)
        query = understood(whole_query(S, T), self.universe.space)
        if isinstance(query, RankOneQuery):
            query = as_cut(query, self.universe.space) or query
        place = None if self.listed is None else self.listed.find(query)
        low, high = interval = Extent.of(query, self.universe.space).possible(self.cap)
        value, error = self._value(query, place), self._error(query, place, level)
        if error is None:
            level = 1.0
        else:
            above = error
            if isinstance(self.law, CountNoise) and isinstance(query, CutQuery):
                above += self.law.grid.rounding(self.universe.pairs_between(query))
            interval = min(max(value - error, low), high), min(max(value + above, low), high)
        if self._graph is None and self.hypothesis is not None:  # a matrix that knows no bounds
            value = min(max(value, low), high)
        return self._shown(value, interval, level)

    def answer_all(
        self, queries: Iterable[Question], *, confidence: float | None = None
    ) -> AnswerList:
        """Answer several queries; see `answer`."""
        return AnswerList(self.answer(query, confidence=confidence) for query in queries)

    def plot(self, *, title: str | None = None) -> "Figure":
        """Draw the queries that were measured: noisy answers, and what was learnt of them.

        Args:
            title: above the picture, before the guarantee.

        Returns:
            A figure of matplotlib. Where the whole list was measured, with intervals; where sensing
            has chosen, with what the hypothesis expected of each query before.

        Raises:
            QueryError: no query was measured.
        """
        from graphcuts_dp.plotting.answer_lists import answer_list_figure  # slow: matplotlib

        if not self.transcript:
            raise QueryError("no query was measured, so there is nothing to draw")
        shown = noisy = np.array([measured.value for measured in self.transcript])
        queries = [each.query for each in self.transcript if not isinstance(each.query, int)]
        if queries:
            answers = self.answer_all(queries)
            shown, other = np.array([answer.value for answer in answers]), noisy
            low, high = np.array([answer.interval for answer in answers]).T
        else:
            radius = self.accuracy.error if self.accuracy.queries == "measured" else math.inf
            low, high = noisy - radius, noisy + radius
            other = np.array([measured.estimate for measured in self.transcript])
        return answer_list_figure(
            values=shown,
            low=low,
            high=high,
            other=None if np.isnan(other).any() else other,
            other_label="noisy, as measured" if queries else "expected by what was learnt before",
            title=f"{title or 'Measured queries'} ({promise_text(self.guarantee)})",
            across="query, in the order of measuring",
            unit=f"{self.guarantee.counted} between S and T",
        )

    def _level(self, confidence: float | None) -> float:
        """The confidence of intervals."""
        if confidence is None:
            return self.accuracy.confidence
        check_confidence(confidence)
        if self.law is None and confidence != self.accuracy.confidence:
            raise QueryError(
                "this release was learnt from a few answers: its intervals are what they are, for"
                f" all queries at once with confidence {self.accuracy.confidence:g}"
            )
        return confidence

    def _shown(self, value: float, interval: tuple[float, float], confidence: float) -> CutAnswer:
        listed = self.listed if isinstance(self.law, CountNoise) else None
        return CutAnswer(
            value=value,
            interval=interval,
            confidence=confidence,
            simultaneous=listed is None,
            together=1 if listed is None else len(listed),
            seeded=not self.guarantee.is_private,
        )

    def _value(self, query: LinearQuery, place: int | None) -> float:
        if place is not None and self.accuracy.queries == "measured":
            return self.transcript[place].value
        if self.hypothesis is None:
            raise QueryError(
                f"only the {len(self.transcript):,} cuts of the list were answered, and this query"
                " is none of them"
            )
        return self.hypothesis.estimate(query)

    def _statistic(self, query: GraphQuery) -> CutAnswer:
        """The statistic of a hypothesis that is a graph without weights, in its steps."""
        learnt = None
        if self.hypothesis is not None:
            learnt = self.hypothesis.matrix[self.universe.pairs()]
        if learnt is None or self.settings.construction != "median":
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
        return self._shown(value, (min(low, high), max(low, high)), confidence)

    def _error(self, query: LinearQuery, place: int | None, confidence: float) -> float | None:
        """How far off an answer may be; None where nothing is proven."""
        error, queries = self.accuracy.error, self.accuracy.queries
        if error is None or queries in ("listed", "measured"):
            if place is None or self.law is None or confidence == self.accuracy.confidence:
                return None if place is None else error
            return self.law.error(math.nextafter(1 - confidence, 0))  # rounded down
        if isinstance(query, CutQuery):
            S, T = self.universe.masks(query)
            return error if self.universe.bipartite or not (S & T).any() else None
        if isinstance(query, MixedCut):
            return error * query.parts
        if not isinstance(query, RankOneQuery):
            return None
        u, v = query.vectors(self.universe.shape)
        two_sides = self.universe.bipartite
        scale = float(u.max() * v.max()) if two_sides else float((u + v).max()) ** 2
        return error * scale * (1 + 1e-9)

    def save(self, path: PathLike, *, force: bool = False) -> tuple[str, ...]:
        """Write what is released and a receipt beside it, at `path` + ".json".

        Args:
            path: where; the ending tells the graph's format, and what was learnt is at `path` +
                ".hypothesis.npz". Without a graph `path` ends in .npz and holds all.
            force: replace files that are there.

        Returns:
            The paths written, the receipt last.

        Raises:
            FileFormatError: unknown ending, missing folder, files that are there, a full disk.
                Nothing is left behind then, and older files stay as they are.
        """
        transcript, found = self.transcript, self.listed
        queries = [measured.query for measured in transcript]
        if found is None and queries:
            found = CutList(self.universe, queries)
        kinds = [name for name, kind in _LISTS.items() if isinstance(found, kind)]
        fields = {
            "settings": asdict(self.settings),
            "accuracy": asdict(self.accuracy),
            "cap": self.cap,
            "law": _law_fields(self.law),
            "list": {"kind": kinds[0] if kinds else None, "given": self.listed is not None},
            **bundle.space_fields(self.universe.space),
        }
        arrays = {name: np.array([getattr(each, name) for each in transcript]) for name in _TOLD}
        if found is not None:
            places = [each if isinstance(each, int) else found.find(each) for each in queries]
            arrays["places"] = np.array(places, dtype=np.int64)
            arrays |= {f"list_{name}": values for name, values in found.arrays().items()}
        if self.hypothesis is not None:
            arrays["matrix"] = self.hypothesis.matrix
        if isinstance(self.law, CountNoise):
            arrays["facets"] = self.law.noise.facets
        kind = GRAPH if self.has_graph else TABLE
        return bundle.save(
            kind, path, self.guarantee, fields, arrays, graph=self._graph, force=force
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
            fields, arrays = saved.fields, saved.arrays()
            universe = Universe.over(saved.space)
            found: Any = None
            if fields["list"]["kind"] is not None:
                parts = {
                    name.removeprefix("list_"): values
                    for name, values in arrays.items()
                    if name.startswith("list_")
                }
                found = _LISTS[fields["list"]["kind"]].of_arrays(universe, **parts)
            rows = zip(*(arrays[name].tolist() for name in _TOLD), strict=True)
            learnt, accuracy = arrays.get("matrix"), Accuracy(**fields["accuracy"])
            places = arrays.get("places", np.zeros(0, dtype=np.int64)).tolist()
            if accuracy.queries != "measured":  # else places tell it
                places = [found.asked[place] for place in places]
            made = cls(
                universe=universe,
                guarantee=saved.guarantee,
                accuracy=accuracy,
                settings=Settings(**fields["settings"]),
                _graph=saved.graph(universe.space) if saved.kind == GRAPH else None,
                hypothesis=None if learnt is None else DenseHypothesis(universe, learnt),
                transcript=tuple(
                    Measured(query=query, **dict(zip(_TOLD, row, strict=True)))
                    for query, row in zip(places, rows, strict=True)
                ),
                cap=fields["cap"],
                listed=found if fields["list"]["given"] else None,
                law=_law_from(fields["law"], arrays),
            )
            made._check_whole()
            return made

    def _check_whole(self) -> None:
        """Refuse parts of a saved release that do not belong together."""
        accuracy, listed = self.accuracy, self.listed
        if not self.cap > 0:
            raise ValueError("no largest weight")
        check_probability("confidence", accuracy.confidence)
        if accuracy.error is not None and not accuracy.error >= 0:
            raise ValueError("an error that is none")
        if accuracy.queries == "measured":
            places = sorted(each.query for each in self.transcript)
            if listed is None or places != list(range(len(listed))):
                raise ValueError("answers to other queries")
        if self.law is not None:
            self.law.error(0.5)
            if isinstance(self.law, CountNoise) and self.law.noise.counts != len(self.transcript):
                raise ValueError("noise of other answers")
        elif self.hypothesis is None:
            raise ValueError("answers without the law of their noise")

    def _picture(self) -> "Figure | None":
        return self.plot() if 0 < len(self.transcript) <= MOST_PICTURED else None

    def _card(self) -> Card:
        settings, accuracy, law = self.settings, self.accuracy, self.law
        error = "nothing is proven"
        if accuracy.error is not None:
            error = f"{accuracy.error:,.5g}, with probability {percent(accuracy.confidence)}"
        told = [each for each in self.transcript if not math.isnan(each.estimate)]
        facts = {
            "vertices": size_text(self.universe.shape),
            "construction": settings.construction,
            "distinguisher": settings.distinguisher,
            "members of the net": f"{law.members:,}" if isinstance(law, NetChoice) else "",
            "rounds": f"{settings.used} of at most {settings.rounds}",
            "error at most": error,
        }
        return Card(
            title="Iterative release",
            facts=(*(fact for fact in facts.items() if fact[1]), *self.guarantee.facts),
            columns=("query", "noisy answer", "estimate before") if told else (),
            rows=[(each.query, each.value, each.estimate) for each in told],
            warning=self.guarantee.warning,
        )

    def __repr__(self) -> str:
        size = " x ".join(str(n) for n in self.universe.shape)
        mark = "" if self.guarantee.is_private else f", {SEEDED_WARNING}"
        return (
            f"IterativeRelease({size}, epsilon={self.guarantee.epsilon:g}, "
            f"construction={self.settings.construction!r}, rounds={self.settings.used}{mark})"
        )


def _law_fields(law: Law | None) -> dict[str, Any] | None:
    if law is None:
        return None
    if isinstance(law, NetChoice):
        return asdict(law) | {"rate": str(law.rate)}
    noise = law.noise
    return {"weight": noise.weight, "rate": str(noise.rate), "grid": asdict(law.grid)}


def _law_from(fields: dict[str, Any] | None, arrays: dict[str, Any]) -> Law | None:
    if fields is None:
        return None
    rate = Fraction(fields["rate"])
    if "members" in fields:
        return NetChoice(**{**fields, "rate": rate})
    noise = KNormNoise(arrays["facets"], fields["weight"], rate)
    return CountNoise(noise=noise, grid=Grid(**fields["grid"]))


@final
class Task:
    """What is asked for, of data of a schema. Public: it holds no private row.

    Args:
        data: the private data, of which no row is kept.
        queries: the public list, if any.
        epsilon: for all steps of the protection together, in [1e-6, 50].
        delta: likewise, in [0, 1).
        beta: probability that a stated error fails, in (0, 1).
        protect: whom the promise is for.

    Attributes:
        data: the private data without any row.
        graph: the graph of these, likewise.

    Raises:
        ParameterError: a number out of range, weights without a public cap, or a protection that
            the data cannot have.
        GraphError: no graph, or one without pairs.
    """

    def __init__(
        self,
        data: PrivateData,
        queries: Iterable[Question] | None = None,
        *,
        epsilon: float,
        delta: float = 0.0,
        beta: float = DEFAULT_FAILURE,
        protect: str | Protect = "edges",
    ) -> None:
        check_probability("beta", beta)
        check_probability("delta", delta, zero=True)
        self.data: PrivateData = without_rows(data)
        self.graph, self.protect = paired_graph(self.data, protect, at_most=None, epsilon=epsilon)
        if not Universe.of(self.graph).size:
            raise GraphError("a graph of one vertex has no pairs: there is nothing to release")
        if self.graph.weighted and self.graph.weight_cap is None:
            raise ParameterError(
                "an iterative release of weights needs their public cap: pass weight_cap= when the "
                "graph is read or made, or leave its weights out by weighted=False"
            )
        if queries is not None and not isinstance(queries, CutList | QuestionList):
            if not isinstance(queries, Iterable):
                raise QueryError(f"queries are a list of queries, not {queries!r:.60}")
            queries = tuple(queries)
        self.queries: Sequence[Any] | None = queries
        self.epsilon, self.delta, self.beta = epsilon, delta, beta

    @cached_property
    def universe(self) -> Universe:
        """The public vertex pairs."""
        return Universe.of(self.graph)

    @cached_property
    def grid(self) -> Grid:
        """How weights are counted."""
        return Grid.of(self.graph)

    @cached_property
    def listed(self) -> CutList | QuestionList | None:
        """The queries as a list, if there are any."""
        return None if self.queries is None else as_list(self.universe, self.queries)

    @property
    def confidence(self) -> float:
        """Of what is stated."""
        return 1 - self.beta

    @property
    def failure(self) -> float:
        """1 - confidence, rounded down."""
        return math.nextafter(1 - self.confidence, 0)

    def check_size(self) -> None:
        """Refuse more vertices than a number for each pair is held for.

        Raises:
            ParameterError: there are more.
        """
        if max(self.universe.shape) > MOST_DENSE_VERTICES:
            raise ParameterError(
                "an iterative construction holds a number for each pair: up to"
                f" {MOST_DENSE_VERTICES} vertices; use release_graph"
            )

    def given(self, what: str) -> Sequence[Any]:
        """The queries.

        Raises:
            ParameterError: there are none.
        """
        if not self.queries:
            raise ParameterError(f"{what} needs queries, a public list of at least one")
        return self.queries

    def job(
        self,
        *,
        kind: str,
        parameters: dict[str, Any],
        plan: BudgetPlan,
        public: str,
        measure: Callable[[Any, EntropySource, Progress], Any],
        release: Callable[[Any, PrivacyGuarantee], IterativeRelease],
        warning: str | None = None,
    ) -> "IterativeJob":
        """Return the job that measures and releases, with its cost and its promise.

        Args:
            kind: for the ledger.
            parameters: likewise.
            plan: how the budget is spent, for one step of the protection; its cost is that of the
                scales of the noise.
            public: what is public besides the vertices and their pairs.
            measure: draws all noise: (bounded graph, noise, progress) -> what was drawn.
            release: makes the result of what was drawn.
            warning: why the result will be worthless, or None.
        """
        epsilon, graph = as_stored(self.epsilon), self.graph
        step = plan.cost
        cost = self.protect.cost(step, epsilon=epsilon, delta=self.delta)
        promised = PrivacyGuarantee(
            epsilon=step.epsilon,
            delta=step.delta,
            neighbours=hidden_change(
                weighted=graph.weighted,
                weight_cap=graph.weight_cap,
                directed=self.universe.directed,
            ),
            public=", ".join(filter(None, (self.universe.public, public))),
            budget_plan=plan.executed,
        )
        return IterativeJob(
            kind=kind,
            public=self.data,
            epsilon=epsilon,
            delta=self.delta,
            budget_plan=replace(plan, group_size=self.protect.steps),
            guarantee=self.protect.promise(promised, cost),
            whom=self.protect,
            told=parameters,
            why_worthless=warning,
            measuring=measure,
            releasing=release,
        )


@final
@dataclass(frozen=True, kw_only=True)
class IterativeJob(Job[IterativeRelease]):
    """An iterative release.

    Attributes:
        whom: the promise is for.
        told: see `Job.parameters`.
        why_worthless: see `Job.warning`.
        measuring: draws all noise: (bounded graph, noise, progress) -> what was drawn.
        releasing: makes the result of what was drawn.
    """

    whom: Protect
    told: dict[str, Any]
    why_worthless: str | None
    measuring: Callable[[Any, EntropySource, Progress], Any]
    releasing: Callable[[Any, PrivacyGuarantee], IterativeRelease]

    def bound(self, data: PrivateData) -> AnyGraph:
        """See `Job.bound`."""
        return bounded_graph(data, self.whom)

    def measure(self, bounded: Any, source: EntropySource, progress: Progress = silent) -> Any:
        """See `Job.measure`."""
        return self.measuring(bounded, source, progress)

    def finish(
        self,
        measured: Any,
        guarantee: PrivacyGuarantee,
        source: EntropySource,
        progress: Progress = silent,
    ) -> IterativeRelease:
        """See `Job.finish`."""
        del source, progress
        return self.releasing(measured, guarantee)

    @property
    def parameters(self) -> dict[str, Any]:
        """See `Job.parameters`."""
        return self.told

    @property
    def warning(self) -> str | None:
        """See `Job.warning`."""
        return self.why_worthless
