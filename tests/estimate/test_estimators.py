"""The contract of all estimators: what one list of queries gets from every kind of release."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import Groups, QueryError
from graphcuts_dp.estimate.estimator import AnswerOptions
from graphcuts_dp.iterative.accuracy import CountNoise
from graphcuts_dp.iterative.methods import CONSTRUCTION
from graphcuts_dp.results.flow_table import CellSum

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")

VERTICES = range(8)
PATH = gc.Graph([0, 1, 2, 4, 5], [1, 2, 3, 5, 6], vertices=8)
SMALL = gc.Graph([0, 1], [1, 2], vertices=4)  # a net lists all graphs
RATINGS = gc.BipartiteGraph([0, 1, 2], [0, 1, 0], [1.0, 0.5, 1.0], left=4, right=4, max_weight=1.0)
GROUPS = Groups(PATH.vertices, {"half": ["a"] * 4 + ["b"] * 4})
ONES = gc.Query.rank_one(np.linspace(0.1, 0.9, 8), np.linspace(0.9, 0.1, 8))
LONGEST = 250  # characters of a message that is one clear line


@dataclass(frozen=True)
class Case:
    """A release and queries of its kind.

    Attributes:
        make: makes the release.
        queries: that it answers, different ones.
        whole: the query of everything, and how many pairs of weight 1 it has.
        empty: a query of no pair.
        refused: a query that it refuses.
        options: under which it does.
    """

    make: Callable[[], Any]
    queries: tuple[Any, ...]
    whole: tuple[Any, float]
    empty: Any
    refused: Any
    options: dict[str, Any]


def cuts(rows, columns, *, disjoint=False):
    """Some cuts, that of everything and an empty one; by rows and columns of an adjacency matrix.

    `disjoint` leaves out cuts whose sets meet: of these a few answers say nothing.
    """
    some = [([0], [1]), ([0, 1], [2, 3]), ([3], [0, 1])]
    some += [] if disjoint else [([0, 1, 2], [1, 2, 3])]
    whole = gc.CutQuery(list(range(rows)), list(range(columns)))
    return tuple(gc.CutQuery(*sets) for sets in some), whole, gc.CutQuery([], [1])


def of_graph(*, epsilon=4.0, refused=ONES, options=None, **given):
    queries, whole, empty = cuts(8, 8)
    graph = given.pop("graph", PATH)
    return Case(
        make=cache(lambda: gc.release_graph(graph, epsilon=epsilon, seed=3, **given)),
        queries=(*queries, gc.CutQuery(list(range(4)))),
        whole=(whole, 28.0),
        empty=empty,
        refused=refused,
        options=options or {},
    )


def learnt(construction):
    """An iterative release; those that answer a list alone have all queries in it."""
    graph = {"sensing": RATINGS, "net": SMALL, "median": SMALL}.get(construction, PATH)
    sides = (4, 4) if graph is not PATH else (8, 8)
    queries, whole, empty = cuts(*sides)
    listed = [*queries, whole, empty]
    if construction == "sensing":
        listed = [*queries, whole, gc.Query.matrix(np.eye(4))]  # it cannot learn of no pair
    pairs = {"sensing": 16.0}.get(construction, 6.0 if graph is SMALL else 28.0)
    few = construction in ("answers", "k-norm", "laplace")
    refused = gc.CutQuery([2], [3]) if few else gc.Query.statistic("triangles")
    if construction == "median":  # it answers statistics
        refused = gc.Query.matrix(np.eye(3))
    return Case(
        make=cache(
            lambda: gc.release_iteratively(
                graph,
                listed,
                epsilon=4.0,
                delta=0.0 if few or construction == "net" else 1e-6,
                construction=construction,
                seed=3,
            )
        ),
        queries=queries,
        whole=(whole, pairs),
        empty=empty,
        refused=refused,
        options={},
    )


def of_flows(**options):
    def one(place, *coefficients, union=True):
        return CellSum(place, np.array(coefficients, dtype=float), union=union)

    return Case(
        make=cache(lambda: gc.release_flows(PATH, GROUPS, epsilon=2.0, seed=3, **options)),
        queries=(one(1, 1, 0, 0), one(1, 0, 1, 1), one(1, 2, -1, 0, union=False)),
        whole=(one(0, 1), 28.0),
        empty=one(1, 0, 0, 0),
        refused=None,
        options={},
    )


CASES = {
    "binary": of_graph(
        options={"simultaneous": True},
        refused=gc.Query.matrix(np.tri(8)),
        mechanism="randomized-response",
    ),
    "laplace": of_graph(options={"estimate": "shrunk"}, noise="laplace"),
    "with degrees": of_graph(
        options={"estimate": "shrunk"}, mechanism="degrees+randomized-response"
    ),
    "with groups": of_graph(options={"estimate": "shrunk"}, groups=GROUPS),
    "sparse": of_graph(mechanism="sparse"),
    "sparse, with groups": of_graph(mechanism="sparse", groups=GROUPS),
    "flows": of_flows(),
    "flows, gaussian": of_flows(delta=1e-6),
    **{f"iterative: {name}": learnt(name) for name in CONSTRUCTION},
}
RELEASES = [name for name in CASES if not name.startswith("flows")]
GIVEN_CONFIDENCE = (0.5, 0.99)


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


@pytest.fixture(params=RELEASES)
def release_case(request):
    return CASES[request.param]


def estimate(case, queries, **options):
    made = case.make()
    estimator = made if isinstance(made, gc.Flows) else made.estimator
    if isinstance(made, gc.IterativeRelease):
        options = {"confidence": made.accuracy.confidence} | options
    return estimator.estimate(queries, AnswerOptions(**options))


def within(interval, least, most):
    """An interval as it is shown: cut to what is possible."""
    return tuple(min(max(end, least), most) for end in interval)


def any_confidence(case):
    """Whether intervals are known at every confidence."""
    made = case.make()
    return not isinstance(made, gc.IterativeRelease) or made.law is not None


@pytest.mark.thorough(cases=7)
def test_estimates_are_as_many_as_the_queries_and_in_their_order(case):
    queries = list(case.queries)
    found = estimate(case, queries).queries
    assert len(found) == len(queries)
    backwards = estimate(case, queries[::-1]).queries[::-1]
    alone = [estimate(case, [query]).queries[0] for query in queries]
    for one, *others in zip(found, backwards, alone, strict=True):
        for other in others:
            assert other.value == pytest.approx(one.value, rel=1e-9, abs=1e-9)
            assert other.interval == pytest.approx(one.interval, rel=1e-9, abs=1e-9)
            assert other[2:5] == one[2:5]
    assert len({each.value for each in found}) > 1
    assert estimate(case, []).queries == []


@pytest.mark.thorough(cases=8)
def test_values_are_finite_and_intervals_meet_what_is_possible(case):
    for each in estimate(case, list(case.queries)).queries:
        assert np.isfinite(each.value)
        assert each.least <= each.most
        low, high = within(each.interval, each.least, each.most)
        assert each.least <= low <= high <= each.most
        assert each.typical is None or each.typical >= 0


def test_intervals_are_at_the_confidence_that_is_asked(case):
    queries, longer = list(case.queries), 0
    if not any_confidence(case):
        with pytest.raises(QueryError, match="confidence"):
            estimate(case, queries, confidence=0.5)
        return
    narrow, wide = (estimate(case, queries, confidence=given).queries for given in GIVEN_CONFIDENCE)
    for one, other in zip(narrow, wide, strict=True):
        assert other.interval[0] <= one.interval[0]
        assert one.interval[1] <= other.interval[1]
        longer += other.interval != one.interval
    assert longer


@pytest.mark.thorough(cases=6)
def test_a_joint_list_shares_the_failure_probability(case):
    queries, made = list(case.queries), case.make()
    alone, joint = (estimate(case, queries, joint=joint) for joint in (False, True))
    if isinstance(made, gc.IterativeRelease):  # for all of its list at once in any case
        assert joint == alone
        counts = isinstance(made.law, CountNoise)
        assert joint.together == (len(made.listed) if counts else 1)
        assert joint.simultaneous is not counts
        return
    assert (alone.together, joint.together) == (1, len(queries))
    assert not joint.simultaneous
    # Not next to `alone`, whose combination of least variance may have the longer interval.
    longer = 0
    for confidence in (0.5, 0.7, 0.9, 0.95):
        few, many = (
            estimate(case, some, joint=True, confidence=confidence)
            for some in (queries[:2], queries)
        )
        assert few.together == 2
        few, many = (
            np.diff([each.interval for each in found.queries[:2]]) for found in (few, many)
        )
        assert (few <= many).all()
        longer += np.count_nonzero(few < many)
    assert longer
    assert estimate(case, queries, simultaneous=True).simultaneous


def test_a_cut_that_is_named_twice_counts_once_in_a_joint_list():
    for name in ("binary", "sparse"):
        one = CASES[name].queries[0]
        twice = gc.CutQuery(one.T, one.S)
        assert estimate(CASES[name], [one, one, twice], joint=True).together == 1


def test_the_whole_graph_and_no_pair_at_all(case):
    query, pairs = case.whole
    (whole,) = estimate(case, [query]).queries
    assert whole.least == 0
    assert whole.most == pytest.approx(pairs)
    (empty,) = estimate(case, [case.empty]).queries
    assert (empty.least, empty.most) == (0, pytest.approx(0, abs=1e-300))
    assert within(empty.interval, 0, empty.most) == pytest.approx((0, 0), abs=1e-300)
    if "accuracy" not in dir(case.make()):  # a noisy answer to a list has noise here, too
        assert empty.value == pytest.approx(0, abs=1e-9)


def test_what_is_not_answered_is_refused_in_one_line(release_case):
    case = release_case
    with pytest.raises(QueryError) as caught:
        case.make().answer_all([case.queries[0], case.refused], **case.options)
    message = str(caught.value)
    assert message == message.strip()
    assert "\n" not in message
    assert 20 < len(message) < LONGEST


def test_one_answer_is_the_first_of_a_list(release_case):
    made = release_case.make()
    answers = made.answer_all(release_case.queries)
    for query, among in zip(release_case.queries, answers, strict=True):
        alone = made.answer(query)
        assert made.answer_all([query])[0] == alone
        assert among.estimate == pytest.approx(alone.estimate, rel=1e-9, abs=1e-9)
        assert among.confidence == alone.confidence
        low, high = alone.interval
        assert 0 <= low <= high
        if low < alone.value < high:
            assert alone.value == alone.estimate
        assert alone.confidence in (1.0, getattr(made, "accuracy", alone).confidence)


def test_a_flow_is_the_estimate_of_its_cells():
    flows = CASES["flows"].make()
    (between,) = flows.estimate([CASES["flows"].queries[0]], AnswerOptions(confidence=0.9)).queries
    answer = flows.between("a", "a", confidence=0.9)
    assert (answer.estimate, answer.interval) == (between.value, between.interval)
    assert answer.deviation == between.typical


def test_answers_say_what_their_estimates_do(release_case):
    made, queries = release_case.make(), list(release_case.queries)
    listed = isinstance(made, gc.IterativeRelease)
    joint = {} if listed else {"joint": True}
    found = estimate(release_case, queries, **joint)
    answers = made.answer_all(queries, **joint)
    for answer, known in zip(answers, found.queries, strict=True):
        assert (answer.together, answer.simultaneous) == (found.together, found.simultaneous)
        assert (answer.estimate, answer.kind) == (known.value, known.kind)
        assert answer.typical_error == known.typical
        assert answer.interval == within(known.interval, known.least, known.most)
        assert (answer.confidence == 1) is known.certain
        assert answer.seeded


def test_an_interval_of_all_that_is_possible_is_certain():
    """A query that a release learnt nothing about."""
    case = CASES["iterative: multiplicative-weights"]
    other = gc.CutQuery([5, 6])
    (known,) = estimate(case, [other]).queries
    assert known.certain
    assert known.interval == (known.least, known.most) == (0, 12)
    assert case.make().answer(other).confidence == 1
