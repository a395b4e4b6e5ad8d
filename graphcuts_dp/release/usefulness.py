"""Compare the errors of four kinds of questions to their size: is a release good for them?

Everything is computed from noisy data: the total, and the errors of answers of each kind. The size
of a question is its true answer if the weight were spread evenly over all pairs, so it is a guide
and no estimate.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE, DEFAULT_DEVIATIONS, DEFAULT_PERCENT
from graphcuts_dp.display import Card, Displayed, short, short_bound, short_interval
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.estimate.estimator import AnswerOptions
from graphcuts_dp.estimate.measurement import CellSums
from graphcuts_dp.graph.adjacency import AnyGraph, graph_on_space
from graphcuts_dp.queries.linear import CutQuery, pairs_of_cut
from graphcuts_dp.results.release import Release
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.schema.vertices import Arcs, Space, VertexSet

_ONE_INTERVAL = AnswerOptions(confidence=DEFAULT_CONFIDENCE)  # of each question by itself
_MOST_EDGES = 20_000_000  # of the random graph of a forecast
_EXAMPLE_CELLS = 4  # pairs of groups whose errors are computed
_WELL, _ROUGHLY = 0.25, 1.0  # largest error over size for the verdicts "well" and "roughly"
Masks = tuple[BoolVector, BoolVector]  # of a cut: rows in S, columns in T


@final
@dataclass(frozen=True, kw_only=True)
class Question:
    """One kind of question.

    Attributes:
        text: in words, such as "one vertex with all others".
        size: about the true answer, in weight.
        error: a bound on the error of an answer, with the default confidence.
        basis: of the bound: "proven"; or "by a model" or "expected", which are no proofs.
    """

    text: str
    size: float
    error: float
    basis: str

    @property
    def verdict(self) -> str:
        """The quality of the answer: "well", "roughly", or "drowns in noise"."""
        if self.error <= _WELL * self.size:
            return "well"
        return "roughly" if self.error <= _ROUGHLY * self.size else "drowns in noise"


@final
@dataclass(frozen=True, kw_only=True)
class Usefulness(Displayed):
    """The usefulness of a release for each kind of question.

    Attributes:
        edges: number of edges, or their total weight: the noisy estimate, moved into `interval`;
            or the public guess of a forecast.
        interval: of the total, with the default confidence; None for a guess.
        questions: from single vertices to the worst cut.
        groups: whether sums between public groups were measured.
    """

    edges: float
    interval: tuple[float, float] | None
    questions: tuple[Question, ...]
    groups: bool

    @property
    def total(self) -> str:
        """The number of edges, with its interval if it is noisy."""
        if self.interval is None:
            return f"{short(self.edges)} (a public guess)"
        low, high = self.interval
        return f"{short(self.edges)} in {short_interval((low, high))} ({DEFAULT_PERCENT})"

    @property
    def advice(self) -> str:
        """Advice to the user, in one sentence."""
        good, rough, useless = (
            [question.text for question in self.questions if question.verdict == verdict]
            for verdict in ("well", "roughly", "drowns in noise")
        )
        if not good and not rough:
            return (
                "Nothing of this can be answered at this epsilon: raise epsilon, or ask for fewer "
                "and larger sums (graphcuts-dp flows)."
            )
        if not good:
            return f"Take answers as rough ones only: {', '.join(rough)}; more epsilon helps."
        text = f"Good for {', '.join(good)}"
        if rough:
            text += f"; rough for {', '.join(rough)}"
        if useless:
            text += f"; not for {', '.join(useless)}"
        if useless and not self.groups:
            text += "; public groups (--groups) make sums between them better"
        return f"{text}."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "edges": self.edges,
            "edges_interval": None if self.interval is None else list(self.interval),
            "questions": [
                {
                    "what": question.text,
                    "measures_about": question.size,
                    "error_bound": question.error,
                    "basis": question.basis,
                    "verdict": question.verdict,
                }
                for question in self.questions
            ],
            "advice": self.advice,
        }

    def _card(self) -> Card:
        return Card(
            title=f"Is it good for my questions? ({DEFAULT_PERCENT}, each question by itself)",
            facts=(("edges, or their weight", self.total),),
            columns=("question", "measures about", "off by at most", "basis", "verdict"),
            rows=[
                (
                    question.text,
                    short(question.size),
                    short_bound(question.error),
                    question.basis,
                    question.verdict,
                )
                for question in self.questions
            ],
            notes=(f"Advice: {self.advice}",),
        )


def usefulness_of(release: Release, *, edges: float | None = None) -> Usefulness:
    """Return the usefulness of a release, from noisy data alone.

    Args:
        release: with or without a synthetic graph.
        edges: guess of the total weight, for a forecast; None for the noisy total.
    """
    interval = None
    if edges is None:
        total = release.answer(CutQuery(*_all_pairs(release)))
        edges, interval = total.value, total.interval
    all_pairs = pairs_of_cut(*_all_pairs(release), release.space)
    questions = []
    for text, cuts in _example_cuts(release):
        errors = [_error(release, masks) for masks in cuts]
        sizes = [edges * pairs_of_cut(*masks, release.space) / all_pairs for masks in cuts]
        error, basis = sorted(errors)[len(errors) // 2]  # the median of the examples
        size = sorted(sizes)[len(sizes) // 2]
        questions.append(Question(text=text, size=size, error=error, basis=basis))
    questions += _worst_cut(release, edges)
    return Usefulness(
        edges=edges,
        interval=interval,
        questions=tuple(questions),
        groups=release.measurements.find(CellSums) is not None,
    )


def simulated_graph(space: Space, edges: float, *, weighted: bool, **schema: Any) -> AnyGraph:
    """Return a random graph for a forecast, which runs a job on it. Reads no private graph.

    Args:
        space: the public vertex set, or both.
        edges: a guess of their number; the graph has about so many.
        weighted: whether the graph has weights; all of them are 1, or the maximum weight if that
            is smaller.
        schema: `max_weight` and other keywords of `Graph`.

    Raises:
        ParameterError: no number above 0, or more than there are pairs, or than a forecast allows.
    """
    layout = Layout.of(space)
    pairs = layout.pairs_before(layout.shape[0])
    if not 0 < edges <= min(pairs, _MOST_EDGES):
        raise ParameterError(
            f"a guess of the edges must be above 0 and at most {min(pairs, _MOST_EDGES):,}: the "
            f"pairs of these vertices are {pairs:,}"
        )
    generator = np.random.default_rng(0)
    indices = np.unique(generator.integers(0, pairs, 3 * int(edges) + 20))
    indices = generator.permutation(indices)[: int(edges)]
    rows, columns = layout.ends(indices)  # endpoints of each edge
    weights = np.full(len(rows), min(1.0, schema.get("max_weight") or 1.0)) if weighted else None
    return graph_on_space(space, rows, columns, weights, **schema)


def _all_pairs(release: Release) -> Masks:
    """Return the masks of the cut between all rows and all columns."""
    rows, columns = release.shape
    return np.ones(rows, dtype=np.bool_), np.ones(columns, dtype=np.bool_)


def _example_cuts(release: Release) -> Iterator[tuple[str, list[Masks]]]:
    """Yield the text of each kind of question, with cuts that are examples of it."""
    rows, columns = release.shape
    one_set = isinstance(release.space, VertexSet | Arcs)
    first_vertex = np.arange(rows) == 0
    yield (
        "one vertex with all others",
        [(first_vertex, ~first_vertex if one_set else np.ones(columns, dtype=np.bool_))],
    )
    groups = release.measurements.find(CellSums)
    if groups is not None:
        left_groups, right_groups = groups.map.ends  # indices of both groups of each cell
        row_groups, column_groups = groups.map.members  # index of the group of each vertex
        cells = np.arange(len(left_groups))
        if one_set:
            cells = np.flatnonzero(left_groups != right_groups)
        if len(cells):
            examples = cells[
                np.linspace(0, len(cells) - 1, min(_EXAMPLE_CELLS, len(cells))).astype(int)
            ]
            yield (
                "two groups with each other",
                [
                    (row_groups == left_groups[cell], column_groups == right_groups[cell])
                    for cell in examples
                ],
            )
    half = np.arange(rows) % 2 == 0
    if rows > 1 and columns > 1:
        other_half = ~half if one_set else np.arange(columns) % 2 == 0
        yield "two halves with each other", [(half, other_half)]


def _error(release: Release, masks: Masks) -> tuple[float, str]:
    """Return the error of a cut, and the basis of this number."""
    (estimate,) = release.estimator.estimate([CutQuery(*masks)], _ONE_INTERVAL).queries
    if estimate.kind != "unbiased" and estimate.typical is not None:
        return DEFAULT_DEVIATIONS * estimate.typical, "by a model"
    low, high = estimate.interval
    return (high - low) / 2, "proven"


def _worst_cut(release: Release, edges: float) -> list[Question]:
    """Return the question about all cuts of the synthetic graph; [] if its error is not known."""
    text = "any cut of the synthetic graph at once"
    if release.has_graph:
        bound = release.worst_cut_error_bound()
        return [Question(text=text, size=edges, error=bound, basis="proven")]
    try:
        error = release.expected_worst_cut_error
    except GraphError:  # there is no noisy matrix
        return []
    return [Question(text=text, size=edges, error=error, basis="expected")]
