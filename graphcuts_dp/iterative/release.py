"""What a user gets from an iterative construction: answers, graph, promise, transcript, files."""

import math
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast, final

import numpy as np

from graphcuts_dp.display import Card, Displayed, size_text
from graphcuts_dp.distinguishers.cut_list import CutList
from graphcuts_dp.distinguishers.question_list import QuestionList
from graphcuts_dp.errors import FileFormatError, QueryError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.atomic import atomic_write
from graphcuts_dp.graph.file_sets import check_writable_files, writing_files, written_files
from graphcuts_dp.graph.files import graph_files, read_graph, write_graph
from graphcuts_dp.graph.graph_queries import GraphQuery, Question
from graphcuts_dp.graph.grid import most_weight
from graphcuts_dp.graph.linear_query import LinearQuery, is_query
from graphcuts_dp.graph.linear_steps import Extent, as_cut
from graphcuts_dp.graph.mixed_cuts import MixedCut, understood
from graphcuts_dp.graph.queries import CutQuery, RankOneQuery, Subset
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.graph.vertices import VertexSet, labels_or_number, sets_in
from graphcuts_dp.idc.dense import DenseHypothesis
from graphcuts_dp.iterative.outcome import Measured
from graphcuts_dp.iterative.release_arrays import arrays_of, read_back
from graphcuts_dp.measurements.answer_list import AnswerList
from graphcuts_dp.measurements.noisy_matrix import CutAnswer
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.receipts import (
    PathLike,
    check_files,
    read_receipt,
    receipt_path,
    sha256_of,
    telling_damage,
    write_receipt,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FORMAT = "iterative construction 1"
_OTHER_QUERIES = "iterative construction 2"  # with a list that has others than cuts


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


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class IterativeRelease(Displayed):
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
        if is_query(S):
            if T is not None:
                raise QueryError("give either a whole query or two sets, not both")
            asked: LinearQuery = S
        else:
            asked = CutQuery(cast(Subset, S), T)
        query = understood(asked, self.universe.space)
        if isinstance(query, RankOneQuery):
            query = as_cut(query, self.universe.space) or query
        value = self.hypothesis.estimate(query)
        error, confidence = self._error(query), self.accuracy.confidence
        low, high = self._possible(query)
        if error is None:
            interval, confidence = (low, high), 1.0
        else:
            interval = min(max(value - error, low), high), min(max(value + error, low), high)
        return CutAnswer(
            value=value,
            interval=interval,
            confidence=confidence,
            simultaneous=True,
            seeded=not self.guarantee.is_private,
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
        from graphcuts_dp.iterative.picture import drawn  # matplotlib takes a while to import

        return drawn(self, title)

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
        files = writing_files(_names(path), force=force)
        with files as (graph_file, hypothesis_file, receipt_file):
            write_graph(self.graph, graph_file, about=self.guarantee.about)
            with atomic_write(hypothesis_file) as handle:
                np.savez_compressed(handle, **self._arrays())
            write_receipt(receipt_file, self._receipt((*graph_files(graph_file), hypothesis_file)))
        return written_files(_names(path))

    def _arrays(self) -> dict[str, Any]:
        kept = arrays_of(self.universe, self.transcript, self.listed)
        return {"matrix": self.hypothesis.matrix} | kept

    def _receipt(self, files: Iterable[Path]) -> dict[str, Any]:
        return {
            "format": _OTHER_QUERIES if isinstance(self.listed, QuestionList) else _FORMAT,
            "guarantee": self.guarantee.to_dict(),
            "settings": asdict(self.settings),
            "accuracy": asdict(self.accuracy),
            "cap": self.cap,
            "weighted": bool(self.graph.weighted),
            "bipartite": self.universe.bipartite,
            "directed": self.universe.directed,
            "vertices": [labels_or_number(side) for side in sets_in(self.universe.space)],
            "files": {file.name: sha256_of(file) for file in files},
        }

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read back what `save` wrote.

        Args:
            path: the same path as for `save`.

        Raises:
            FileFormatError: a file is missing, damaged, or not the one that the receipt names.
        """
        receipt = read_receipt(path, _FORMAT, _OTHER_QUERIES)
        with telling_damage(path):
            _check_files(path, receipt["files"])
            left, *right = (VertexSet(labels) for labels in receipt["vertices"])
            directed = receipt.get("directed", False)
            universe = Universe(left, *right, directed=directed)
            with np.load(hypothesis_path(path), allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            accuracy, settings = Accuracy(**receipt["accuracy"]), Settings(**receipt["settings"])
            graph = read_graph(
                path,
                vertices=(left, right[0]) if right else left,
                weighted=receipt["weighted"],
                weight_cap=receipt["cap"],
                bipartite=universe.bipartite,
                directed=directed,
            )
            _check_files(path, receipt["files"])  # as read: others may replace it meanwhile
            transcript, listed = read_back(universe, arrays)
            return cls(
                graph=graph,
                hypothesis=DenseHypothesis(universe, arrays["matrix"]),
                guarantee=PrivacyGuarantee.from_dict(receipt["guarantee"]),
                accuracy=accuracy,
                settings=settings,
                transcript=transcript,
                cap=receipt["cap"],
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


def hypothesis_path(path: PathLike) -> Path:
    """Where the hypothesis of a release at `path` is."""
    return Path(f"{os.fspath(path)}.hypothesis.npz")


def _names(path: PathLike) -> tuple[Path, Path, Path]:
    return Path(path), hypothesis_path(path), receipt_path(path)


def check_iterative_path(path: PathLike, *, force: bool = False) -> None:
    """Check that an iterative release can be written here; call it before anything is spent.

    Raises:
        FileFormatError: unknown ending, missing folder, no permission, or a file that is there.
    """
    check_writable_files(_names(path), force=force)


def _check_files(path: PathLike, files: dict[str, str]) -> None:
    expected = {file.name for file in (*graph_files(path), hypothesis_path(path))}
    if set(files) != expected:
        raise FileFormatError(f"{receipt_path(path)} is the receipt of another release")
    check_files(path, files)
