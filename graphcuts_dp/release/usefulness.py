"""Is a release good for my questions? Errors of four kinds of questions beside what they measure.

Everything is read off noisy data: the total, and how far answers of each kind may be off. What a
question measures is what it would hold if the weight lay evenly on all pairs, so it is a guide and
no estimate.
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
from graphcuts_dp.graph.adjacency import AnyGraph, on_space
from graphcuts_dp.queries.linear import CutQuery, pairs_of_cut
from graphcuts_dp.results.release import Release
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.schema.vertices import Arcs, Space, VertexSet

_SURE = AnswerOptions(confidence=DEFAULT_CONFIDENCE)  # each interval
_MOST_EDGES = 20_000_000  # of the graph that a forecast makes up
_CELLS = 4  # pairs of groups that are looked at
_WELL, _ROUGHLY = 0.25, 1.0  # errors in parts of what is measured, up to which it is called so
Masks = tuple[BoolVector, BoolVector]


@final
@dataclass(frozen=True, kw_only=True)
class Question:
    """One kind of question.

    Attributes:
        what: in words, such as "one vertex with all others".
        size: about what it measures, in weight.
        error: how far an answer may be off; with the default confidence it is not farther.
        basis: "proven", "by a model" or "expected", which are no proofs.
    """

    what: str
    size: float
    error: float
    basis: str

    @property
    def verdict(self) -> str:
        """How well it is answered: "well", "roughly", or "drowns in noise"."""
        if self.error <= _WELL * self.size:
            return "well"
        return "roughly" if self.error <= _ROUGHLY * self.size else "drowns in noise"


@final
@dataclass(frozen=True, kw_only=True)
class Usefulness(Displayed):
    """What a release is good for.

    Attributes:
        edges: total weight: of a noisy one the number of the interval that is nearest to the
            estimate; of a forecast a public guess.
        interval: of the total, with the default confidence; None of a guess.
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
        """What to do, in one sentence."""
        good, rough, lost = (
            [each.what for each in self.questions if each.verdict == verdict]
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
        if lost:
            text += f"; not for {', '.join(lost)}"
        if lost and not self.groups:
            text += "; public groups (--groups) make sums between them better"
        return f"{text}."

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "edges": self.edges,
            "edges_interval": None if self.interval is None else list(self.interval),
            "questions": [
                {
                    "what": each.what,
                    "measures_about": each.size,
                    "error_bound": each.error,
                    "basis": each.basis,
                    "verdict": each.verdict,
                }
                for each in self.questions
            ],
            "advice": self.advice,
        }

    def _card(self) -> Card:
        return Card(
            title=f"Is it good for my questions? ({DEFAULT_PERCENT}, each question by itself)",
            facts=(("edges, or their weight", self.total),),
            columns=("question", "measures about", "off by at most", "basis", "verdict"),
            rows=[
                (each.what, short(each.size), short_bound(each.error), each.basis, each.verdict)
                for each in self.questions
            ],
            notes=(f"Advice: {self.advice}",),
        )


def usefulness_of(release: Release, *, edges: float | None = None) -> Usefulness:
    """What a release is good for, from noisy data alone.

    Args:
        release: with or without a synthetic graph.
        edges: total weight to compare with, for a forecast; None for the noisy one.
    """
    interval = None
    if edges is None:
        total = release.answer(CutQuery(*_everything(release)))
        edges, interval = total.value, total.interval
    whole = pairs_of_cut(*_everything(release), release.space)
    questions = []
    for what, cuts in _kinds(release):
        found = [_error(release, masks) for masks in cuts]
        sizes = [edges * pairs_of_cut(*masks, release.space) / whole for masks in cuts]
        error, basis = sorted(found)[len(found) // 2]
        size = sorted(sizes)[len(sizes) // 2]
        questions.append(Question(what=what, size=size, error=error, basis=basis))
    questions += _worst(release, edges)
    return Usefulness(
        edges=edges,
        interval=interval,
        questions=tuple(questions),
        groups=release.measurements.find(CellSums) is not None,
    )


def made_up_graph(space: Space, edges: float, *, weighted: bool, **schema: Any) -> AnyGraph:
    """A graph of about so many edges at random, for a forecast: a job is tried on it.

    No private graph is read, and no noise comes from here. Weights are 1, or the cap if it is less.

    Raises:
        ParameterError: there are fewer pairs, or more edges than a forecast takes.
    """
    layout = Layout.of(space)
    pairs = layout.pairs_before(layout.shape[0])
    if not 0 < edges <= min(pairs, _MOST_EDGES):
        raise ParameterError(
            f"a guess of the edges must be above 0 and at most {min(pairs, _MOST_EDGES):,}: the "
            f"pairs of these vertices are {pairs:,}"
        )
    generator = np.random.default_rng(0)
    places = np.unique(generator.integers(0, pairs, 3 * int(edges) + 20))
    places = generator.permutation(places)[: int(edges)]
    rows, columns = layout.ends(places)
    weights = np.full(len(rows), min(1.0, schema["max_weight"] or 1.0)) if weighted else None
    return on_space(space, rows, columns, weights, **schema)


def _everything(release: Release) -> Masks:
    rows, columns = release.shape
    return np.ones(rows, dtype=np.bool_), np.ones(columns, dtype=np.bool_)


def _kinds(release: Release) -> Iterator[tuple[str, list[Masks]]]:
    """Questions, with the cuts that stand for them."""
    rows, columns = release.shape
    one_set = isinstance(release.space, VertexSet | Arcs)
    one = np.arange(rows) == 0
    yield (
        "one vertex with all others",
        [(one, ~one if one_set else np.ones(columns, dtype=np.bool_))],
    )
    groups = release.measurements.find(CellSums)
    if groups is not None:
        (a, b), (left, right) = groups.map.ends, groups.map.members
        apart = np.flatnonzero(a != b) if one_set else np.arange(len(a))
        if len(apart):
            places = apart[np.linspace(0, len(apart) - 1, min(_CELLS, len(apart))).astype(int)]
            yield (
                "two groups with each other",
                [(left == a[place], right == b[place]) for place in places],
            )
    half = np.arange(rows) % 2 == 0
    if rows > 1 and columns > 1:
        other = ~half if one_set else np.arange(columns) % 2 == 0
        yield "two halves with each other", [(half, other)]


def _error(release: Release, masks: Masks) -> tuple[float, str]:
    (found,) = release.estimator.estimate([CutQuery(*masks)], _SURE).queries
    if found.kind != "unbiased" and found.typical is not None:
        return DEFAULT_DEVIATIONS * found.typical, "by a model"
    return (found.interval[1] - found.interval[0]) / 2, "proven"


def _worst(release: Release, edges: float) -> list[Question]:
    what = "any cut of the synthetic graph at once"
    if release.has_graph:
        bound = release.worst_cut_error_bound()
        return [Question(what=what, size=edges, error=bound, basis="proven")]
    try:
        error = release.expected_worst_cut_error
    except GraphError:  # there is no noisy matrix
        return []
    return [Question(what=what, size=edges, error=error, basis="expected")]
