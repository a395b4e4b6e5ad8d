"""Queries of classes that lie: what a mechanism reads of them, and when."""
# ruff: noqa: ARG002  # methods that override others have their arguments

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import QueryError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative.answer_grid import AnswerGrid
from graphcuts_dp.iterative.query_lists import QuestionList, Scoring, as_list
from graphcuts_dp.plugins import SeededEntropy, Task, Universe
from graphcuts_dp.queries.graph_queries import GraphQuery
from graphcuts_dp.queries.mixed_cuts import MixedCut
from graphcuts_dp.queries.plain import plain_query, plain_question
from graphcuts_dp.session.counts import EdgeCounter, linear_count
from graphcuts_dp.session.queries import encode_query

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
CALLS: Counter[str] = Counter()
SIDES = gc.BipartiteGraph([0, 1, 2], [1, 2, 0], left=3, right=3)
PLAIN = gc.Graph([0, 1, 2], [1, 2, 3], vertices=4)


class Understated(gc.Query):
    """Coefficients of 1000, and a sensitivity, a range and a norm of 1."""

    def coefficients(self, space):
        CALLS["coefficients"] += 1
        shape = Universe.over(space).shape
        return np.full(shape, 1000.0) * (1 - np.eye(*shape) * (shape[0] == shape[1] == 4))

    def sensitivity(self, graph):
        return 1.0

    def coefficient_range(self, space):
        return 0.0, 1.0

    def norm_squared(self, space):
        return 1.0


class Watching(Understated):
    """What it says of a pair depends on how many private edges there are."""

    def coefficients_at(self, rows, columns, space):
        CALLS["private"] += 1
        return np.full(len(rows), 1000.0 * (-1) ** len(rows))

    def value(self, data, **options):
        CALLS["private"] += 1
        return 1e9

    def value_on_matrix(self, matrix, space):
        CALLS["private"] += 1
        return 1e9


class Changing(Understated):
    """Larger each time that it is read."""

    def coefficients(self, space):
        return super().coefficients(space) * 2.0 ** CALLS["coefficients"]


class WatchingCut(gc.CutQuery):
    """A cut whose sets, value and coefficients depend on the graph that it gets."""

    def masks(self, space):
        if hasattr(space, "rows"):
            CALLS["private"] += 1
        return super().masks(space)

    def value(self, data, **options):
        CALLS["private"] += 1
        return 1e9

    coefficients_at = Watching.coefficients_at
    sensitivity = Understated.sensitivity


class WatchingMatrix(type(gc.Query.matrix([[0.0]]))):
    """A matrix query with methods of its own."""

    coefficients_at = Watching.coefficients_at
    sensitivity = Understated.sensitivity


class WatchingRankOne(type(gc.Query.rank_one([0], [0]))):
    """A rank-one query with methods of its own."""

    coefficients_at = Watching.coefficients_at
    sensitivity = Understated.sensitivity


class Inflated(GraphQuery):
    """A statistic that moves by more than it says."""

    def value(self, graph):
        CALLS["private"] += 1
        return 10**6 * len(graph.rows)

    def sensitivity(self, space):
        return 1


@pytest.fixture(autouse=True)
def _no_calls_before():
    CALLS.clear()


def liars(graph):
    """One query of each class that lies, for a graph."""
    shape = Universe.of(graph).shape
    return [
        Understated(),
        Watching(),
        Changing(),
        WatchingCut([0, 1], [2]),
        WatchingMatrix(np.arange(float(np.prod(shape))).reshape(shape)),
        WatchingRankOne(np.full(shape[0], 0.5), np.full(shape[1], 0.5)),
    ]


@pytest.mark.parametrize("graph", [SIDES, PLAIN], ids=["sides", "plain"])
def test_a_plain_query_has_the_coefficients_that_were_read_once(graph):
    universe = Universe.of(graph)
    for query in liars(graph):
        CALLS.clear()
        plain = plain_query(query, universe.space)
        assert CALLS["coefficients"] <= 1
        first = np.abs(plain.coefficients(universe.space))
        assert plain.sensitivity(universe.space) == pytest.approx(first.max())
        expected = plain.coefficients(universe.space)[graph.rows, graph.columns]
        assert np.array_equal(
            plain.coefficients_at(graph.rows, graph.columns, universe.space), expected
        )
        assert plain.value(graph) == pytest.approx(expected.sum())
        assert CALLS["coefficients"] <= 1
        assert not CALLS["private"]


def test_queries_of_this_package_stay_as_they_are():
    universe = Universe.of(SIDES)
    mask = np.array([True, False, False])
    kept = [
        gc.Query.rank_one([0, 0.5, 1], [1, 1, 0]),
        gc.Query.matrix(np.ones((3, 3))),
        MixedCut((mask, ~mask), (~mask, mask)),
    ]
    assert all(plain_query(query, universe.space) is query for query in kept)
    cut = plain_query(gc.CutQuery([0]), universe.space)
    assert [side.tolist() for side in cut.masks(universe.space)] == [
        [True, False, False],
        [True, True, True],
    ]
    with pytest.raises(QueryError, match="no matrix of coefficients"):
        plain_query(object(), universe.space)
    assert type(plain_question(Inflated("triangles"), PLAIN.space)) is GraphQuery


def test_sensing_makes_its_noise_for_what_queries_move_and_not_for_what_they_say():
    """One more edge moves each count by the sensitivity at most, in every class."""
    universe, empty = Universe.of(SIDES), SIDES.without_edges()
    fuller = gc.BipartiteGraph([0], [1], left=3, right=3)
    for query in liars(SIDES):
        CALLS.clear()
        job = gc.Sensing().job(Task(SIDES, [query], epsilon=1.0, delta=1e-6))
        steps = AnswerGrid(universe, [plain_query(query, universe.space)], 1.0)
        moved = abs(int((steps.count(fuller) - steps.count(empty))[0]))
        assert 0 <= moved <= steps.sensitivity
        assert moved**2 <= steps.squared_sensitivity
        job.run(job.bounded(SIDES), SeededEntropy(0))
        assert not CALLS["private"]
    steps = AnswerGrid(universe, [plain_query(Understated(), universe.space)], 1.0)
    assert steps.sensitivity * steps.unit == pytest.approx(1000.0)
    assert steps.noise(Fraction(1), 1)[1].parameter == steps.sensitivity**2


def test_one_edge_shows_by_no_more_than_its_noise_in_released_answers():
    """An answer at epsilon = 1 with 1000 for a coefficient has a deviation of thousands."""
    released = [
        gc.release_iteratively(
            SIDES, [Understated()], epsilon=1.0, delta=1e-6, construction=gc.Sensing(), seed=seed
        )
        for seed in range(30)
    ]
    values = np.array([release.transcript[0].value for release in released])
    assert released[0].accuracy.deviation > 1000.0
    # The standard error of a deviation from 30 runs is an eighth of it.
    assert values.std() == pytest.approx(released[0].accuracy.deviation, rel=3 / 8)


def test_sensing_refuses_more_own_coefficients_than_memory_is_for(monkeypatch):
    monkeypatch.setattr("graphcuts_dp.iterative.answer_grid.MOST_NUMBERS", 20)
    task = Task(SIDES, [Understated(), Watching(), Changing()], epsilon=1.0, delta=1e-6)
    with pytest.raises(QueryError, match="classes of your own"):
        gc.Sensing().job(task)


@pytest.mark.parametrize("graph", [SIDES, PLAIN], ids=["sides", "plain"])
def test_sessions_count_what_they_have_read_of_a_query(graph):
    universe, grid = Universe.of(graph), Grid.of(graph)
    counter = EdgeCounter(graph, grid)
    for query in liars(graph):
        CALLS.clear()
        asked = encode_query(query, universe).query
        truth = counter.counts([asked])[0]
        assert not CALLS["private"]
        assert type(asked) is not type(query)
        if not isinstance(asked, gc.CutQuery):
            assert truth == linear_count(asked, graph, grid)


def test_a_cut_that_a_distinguisher_returns_is_counted_by_its_public_sets():
    for graph in (SIDES, PLAIN):
        cut = WatchingCut([0, 1], [2])
        assert Grid.of(graph).count(cut, graph) == gc.CutQuery([0, 1], [2]).value(graph)
    assert not CALLS["private"]


def test_statistics_are_counted_by_their_names():
    universe, grid = Universe.of(PLAIN), Grid.of(PLAIN)
    asked = encode_query(Inflated("triangles"), universe).query
    assert EdgeCounter(PLAIN, grid).counts([asked]) == [0]
    listed = QuestionList(universe, [Inflated("triangles"), Understated()])
    assert listed.true_scores(PLAIN, Scoring(universe, grid))[0] == 0
    assert not CALLS["private"]


def test_lists_count_what_they_have_read():
    universe, grid = Universe.of(PLAIN), Grid.of(PLAIN)
    listed = as_list(universe, [*liars(PLAIN)[:3], gc.Query.matrix(np.ones((4, 4)))])
    scoring = Scoring(universe, grid)
    empty = listed.true_scores(PLAIN.without_edges(), scoring)
    one = listed.true_scores(gc.Graph([0], [1], vertices=4), scoring)
    assert np.abs(one - empty).max() <= scoring.sensitivity
    assert not CALLS["private"]


def test_a_list_of_an_own_class_is_read_query_by_query():
    class Lying(gc.CutList):
        def true_count(self, listed_query, graph, grid):
            CALLS["private"] += 1
            return 10**6

        counts = true_scores = true_count

    lying = Lying(Universe.of(PLAIN), [gc.CutQuery([0]), gc.CutQuery([1, 2])])
    task = Task(PLAIN, lying, epsilon=1.0, delta=1e-6)
    assert type(task.listed) is gc.CutList
    gc.release_iteratively(PLAIN, lying, epsilon=1.0, construction="answers", seed=0)
    assert not CALLS["private"]
