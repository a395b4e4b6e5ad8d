"""The contract of all estimators: what a list of queries gets from every kind of release.

A new kind of release adds a case to `CASES`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.estimate.estimator import AnswerOptions, Estimates
from graphcuts_dp.iterative.accuracy import CountNoise
from graphcuts_dp.iterative.methods import CONSTRUCTION
from graphcuts_dp.results.flow_table import CellSum

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")

PATHS = gc.Graph([0, 1, 2, 4, 5], [1, 2, 3, 5, 6], vertices=8)
SMALL_PATH = gc.Graph([0, 1], [1, 2], vertices=4)  # "net" and "median" list all graphs
RATINGS = gc.BipartiteGraph([0, 1, 2], [0, 1, 0], [1.0, 0.5, 1.0], left=4, right=4, max_weight=1.0)
GROUPS = gc.Groups(PATHS.vertices, {"half": ["a"] * 4 + ["b"] * 4})
RANK_ONE = gc.Query.rank_one(np.linspace(0.1, 0.9, 8), np.linspace(0.9, 0.1, 8))
MAX_MESSAGE_LENGTH = 250  # characters of a message that is one clear line


@dataclass(frozen=True)
class Case:
    """A release and queries of its kind.

    Attributes:
        release: returns the release, computed once.
        queries: different queries that it answers.
        whole: a query of all pairs.
        whole_weight: largest value of that query.
        empty: a query of no pair.
        refused: a query that it refuses; None if there is none.
        refused_options: options under which it does.
    """

    release: Callable[[], Any]
    queries: tuple[Any, ...]
    whole: Any
    whole_weight: float
    empty: Any
    refused: Any = None
    refused_options: dict[str, Any] = field(default_factory=dict)


CUTS = (
    gc.CutQuery([0], [1]),
    gc.CutQuery([0, 1], [2, 3]),
    gc.CutQuery([3], [0, 1]),
    gc.CutQuery([0, 1, 2], [1, 2, 3]),
)
EMPTY_CUT = gc.CutQuery([], [1])


def all_pairs(n: int) -> gc.CutQuery:
    return gc.CutQuery(list(range(n)), list(range(n)))


def graph_case(*, refused: Any = RANK_ONE, refused_options: Any = None, **options: Any) -> Case:
    """Return the case of a release of a graph with these options."""
    return Case(
        release=cache(lambda: gc.release_graph(PATHS, epsilon=4.0, seed=3, **options)),
        queries=(*CUTS, gc.CutQuery([0, 1, 2, 3])),
        whole=all_pairs(8),
        whole_weight=28.0,
        empty=EMPTY_CUT,
        refused=refused,
        refused_options=refused_options or {},
    )


def iterative_case(construction: str) -> Case:
    """Return the case of an iterative release, of a list of all queries that it is to answer."""
    graph, n, whole_weight = PATHS, 8, 28.0
    if construction == "sensing":
        graph, n, whole_weight = RATINGS, 4, 16.0
    elif construction in ("net", "median"):
        graph, n, whole_weight = SMALL_PATH, 4, 6.0
    listed = [*CUTS, all_pairs(n), EMPTY_CUT]
    if construction == "sensing":  # it refuses queries of no pair
        listed = [*CUTS, all_pairs(n), gc.Query.matrix(np.eye(4))]

    refused = gc.Query.statistic("triangles")
    answers_list_only = construction in ("answers", "k-norm", "laplace")
    if answers_list_only:
        refused = gc.CutQuery([2], [3])
    elif construction == "median":  # it answers statistics
        refused = gc.Query.matrix(np.eye(3))

    is_pure = answers_list_only or construction == "net"
    return Case(
        release=cache(
            lambda: gc.release_iteratively(
                graph,
                listed,
                epsilon=4.0,
                delta=0.0 if is_pure else 1e-6,
                construction=construction,
                seed=3,
            )
        ),
        queries=CUTS,
        whole=all_pairs(n),
        whole_weight=whole_weight,
        empty=EMPTY_CUT,
        refused=refused,
    )


def cell_sum(level_index: int, *coefficients: float, union: bool = True) -> CellSum:
    return CellSum(level_index, np.array(coefficients, dtype=float), union=union)


def flows_case(**options: Any) -> Case:
    """Return the case of flows between two groups, of which a table has cells aa, ab and bb."""
    return Case(
        release=cache(lambda: gc.release_flows(PATHS, GROUPS, epsilon=2.0, seed=3, **options)),
        queries=(cell_sum(1, 1, 0, 0), cell_sum(1, 0, 1, 1), cell_sum(1, 2, -1, 0, union=False)),
        whole=cell_sum(0, 1),
        whole_weight=28.0,
        empty=cell_sum(1, 0, 0, 0),
    )


SHRUNK = {"estimate": "shrunk"}
CASES = {
    "binary": graph_case(
        refused=gc.Query.matrix(np.tri(8)),
        refused_options={"simultaneous": True},
        mechanism="randomized-response",
    ),
    "laplace": graph_case(refused_options=SHRUNK, noise="laplace"),
    "with degrees": graph_case(refused_options=SHRUNK, mechanism="degrees+randomized-response"),
    "with groups": graph_case(refused_options=SHRUNK, groups=GROUPS),
    "sparse": graph_case(mechanism="sparse"),
    "sparse, with groups": graph_case(mechanism="sparse", groups=GROUPS),
    "flows": flows_case(),
    "flows, gaussian": flows_case(delta=1e-6),
    **{f"iterative: {name}": iterative_case(name) for name in CONSTRUCTION},
}
ITERATIVE = [name for name in CASES if name.startswith("iterative")]
NOT_ITERATIVE = [name for name in CASES if name not in ITERATIVE]
GRAPH_RELEASES = [name for name in CASES if not name.startswith("flows")]


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


@pytest.fixture(params=GRAPH_RELEASES)
def graph_release_case(request):
    return CASES[request.param]


def estimate(case: Case, queries: list[Any], **options: Any) -> Estimates:
    """Return the estimates of the estimator of a release, at the confidence of iterative ones."""
    release = case.release()
    estimator = release if isinstance(release, gc.Flows) else release.estimator
    if isinstance(release, gc.IterativeRelease):
        options = {"confidence": release.accuracy.confidence} | options
    return estimator.estimate(queries, AnswerOptions(**options))


def possible_part(query_estimate):
    """Return the interval of an estimate as answers show it: without impossible values."""
    least, most = query_estimate.least, query_estimate.most
    low, high = query_estimate.interval
    return min(max(low, least), most), min(max(high, least), most)


def assert_same_estimate(first, second):
    assert second.value == pytest.approx(first.value, rel=1e-9, abs=1e-9)
    assert second.interval == pytest.approx(first.interval, rel=1e-9, abs=1e-9)
    assert (second.most, second.least, second.kind) == (first.most, first.least, first.kind)


@pytest.mark.thorough(cases=7)
def test_a_query_has_the_same_estimate_in_any_order_and_alone(case):
    queries = list(case.queries)
    in_order = estimate(case, queries).queries
    in_reverse = estimate(case, queries[::-1]).queries[::-1]
    alone = [estimate(case, [query]).queries[0] for query in queries]
    assert len(in_order) == len(queries)
    for query_estimate, reversed_estimate, single_estimate in zip(
        in_order, in_reverse, alone, strict=True
    ):
        assert_same_estimate(query_estimate, reversed_estimate)
        assert_same_estimate(query_estimate, single_estimate)
    assert len({query_estimate.value for query_estimate in in_order}) > 1


def test_an_empty_list_has_no_estimates(case):
    assert estimate(case, []).queries == []


@pytest.mark.thorough(cases=8)
def test_values_are_finite_and_intervals_contain_possible_values(case):
    for query_estimate in estimate(case, list(case.queries)).queries:
        assert np.isfinite(query_estimate.value)
        assert query_estimate.least <= query_estimate.most
        low, high = possible_part(query_estimate)
        assert query_estimate.least <= low <= high <= query_estimate.most
        assert query_estimate.typical is None or query_estimate.typical >= 0


def has_one_confidence(case):
    """Whether intervals are known only at the confidence of the release."""
    release = case.release()
    return isinstance(release, gc.IterativeRelease) and release.law is None


def test_intervals_grow_with_the_confidence(case):
    queries = list(case.queries)
    if has_one_confidence(case):
        with pytest.raises(gc.QueryError, match="confidence"):
            estimate(case, queries, confidence=0.5)
        return
    narrow, wide = (
        [query_estimate.interval for query_estimate in estimates.queries]
        for estimates in (estimate(case, queries, confidence=level) for level in (0.5, 0.99))
    )
    for (narrow_low, narrow_high), (wide_low, wide_high) in zip(narrow, wide, strict=True):
        assert wide_low <= narrow_low
        assert narrow_high <= wide_high
    assert narrow != wide


def is_iterative(case):
    return isinstance(case.release(), gc.IterativeRelease)


@pytest.mark.parametrize("name", NOT_ITERATIVE)
def test_a_joint_list_shares_the_failure_probability(name):
    case, queries = CASES[name], list(CASES[name].queries)
    separate, joint = (estimate(case, queries, joint=is_joint) for is_joint in (False, True))
    assert (separate.together, joint.together) == (1, len(queries))
    assert not joint.simultaneous
    assert estimate(case, queries, simultaneous=True).simultaneous


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize("name", NOT_ITERATIVE)
def test_a_longer_joint_list_has_longer_intervals(name):
    """Not compared with single queries: their combination of least variance may be longer."""
    case, any_longer = CASES[name], False
    for confidence in (0.5, 0.7, 0.9, 0.95):
        of_two, of_all = (
            estimate(case, queries, joint=True, confidence=confidence)
            for queries in (list(case.queries[:2]), list(case.queries))
        )
        assert of_two.together == 2
        lengths_of_two, lengths_of_all = (
            np.diff([query_estimate.interval for query_estimate in estimates.queries[:2]])
            for estimates in (of_two, of_all)
        )
        assert (lengths_of_two <= lengths_of_all).all()
        any_longer |= bool((lengths_of_two < lengths_of_all).any())
    assert any_longer


@pytest.mark.parametrize("name", ITERATIVE)
def test_a_list_of_an_iterative_release_is_joint_in_any_case(name):
    queries, release = list(CASES[name].queries), CASES[name].release()
    separate, joint = (estimate(CASES[name], queries, joint=is_joint) for is_joint in (False, True))
    assert joint == separate
    counts_queries = isinstance(release.law, CountNoise)
    assert joint.together == (len(release.listed) if counts_queries else 1)
    assert joint.simultaneous is not counts_queries


@pytest.mark.parametrize("name", ["binary", "sparse"])
def test_a_cut_that_is_named_twice_counts_once_in_a_joint_list(name):
    query = CASES[name].queries[0]
    swapped = gc.CutQuery(query.T, query.S)
    assert estimate(CASES[name], [query, query, swapped], joint=True).together == 1


def test_the_value_of_all_pairs_is_at_most_the_weight_of_a_complete_graph(case):
    (whole,) = estimate(case, [case.whole]).queries
    assert whole.least == 0
    assert whole.most == pytest.approx(case.whole_weight)


def test_a_query_of_no_pair_is_known_to_be_0(case):
    (empty,) = estimate(case, [case.empty]).queries
    assert (empty.least, empty.most) == (0, pytest.approx(0, abs=1e-300))
    assert possible_part(empty) == pytest.approx((0, 0), abs=1e-300)
    if not is_iterative(case):  # an iterative release may have noise here, too
        assert empty.value == pytest.approx(0, abs=1e-9)


def test_a_query_that_a_release_cannot_answer_is_refused_in_one_line(graph_release_case):
    case = graph_release_case
    with pytest.raises(gc.QueryError) as error:
        case.release().answer_all([case.queries[0], case.refused], **case.refused_options)
    message = str(error.value)
    assert message == message.strip()
    assert "\n" not in message
    assert 20 < len(message) < MAX_MESSAGE_LENGTH


def test_a_single_answer_is_that_of_a_list(graph_release_case):
    release, queries = graph_release_case.release(), graph_release_case.queries
    confidence = release.accuracy.confidence if is_iterative(graph_release_case) else None
    for query, in_list in zip(queries, release.answer_all(queries), strict=True):
        alone = release.answer(query)
        assert release.answer_all([query])[0] == alone
        assert in_list.estimate == pytest.approx(alone.estimate, rel=1e-9, abs=1e-9)
        assert in_list.confidence == alone.confidence
        low, high = alone.interval
        assert 0 <= low <= high
        if low < alone.value < high:
            assert alone.value == alone.estimate
        assert alone.confidence in (1.0, confidence or alone.confidence)


def test_a_flow_is_the_estimate_of_its_cells():
    flows = CASES["flows"].release()
    cell_aa = CASES["flows"].queries[0]
    (query_estimate,) = flows.estimate([cell_aa], AnswerOptions(confidence=0.9)).queries
    answer = flows.between("a", "a", confidence=0.9)
    assert (answer.estimate, answer.interval) == (query_estimate.value, query_estimate.interval)
    assert answer.deviation == query_estimate.typical


def test_answers_report_what_their_estimates_do(graph_release_case):
    case, queries = graph_release_case, list(graph_release_case.queries)
    options = {} if is_iterative(case) else {"joint": True}
    estimates = estimate(case, queries, **options)
    answers = case.release().answer_all(queries, **options)
    for answer, query_estimate in zip(answers, estimates.queries, strict=True):
        assert (answer.together, answer.simultaneous) == (
            estimates.together,
            estimates.simultaneous,
        )
        assert (answer.estimate, answer.kind) == (query_estimate.value, query_estimate.kind)
        assert answer.typical_error == query_estimate.typical
        assert answer.interval == possible_part(query_estimate)
        assert (answer.confidence == 1) is query_estimate.certain
        assert answer.seeded


def test_an_interval_of_all_possible_values_is_certain():
    """Of a query that is not in the list of the release."""
    case = CASES["iterative: multiplicative-weights"]
    unlisted = gc.CutQuery([5, 6])
    (query_estimate,) = estimate(case, [unlisted]).queries
    assert query_estimate.certain
    assert query_estimate.interval == (query_estimate.least, query_estimate.most) == (0, 12)
    assert case.release().answer(unlisted).confidence == 1
