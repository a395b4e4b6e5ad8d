"""A session of each kind, in one table: its answers, its record, and that it goes on from a store.

A new method is in here by being registered in `METHODS`, a norm by its name in `NORMS`.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from helpers import LARGE_DELTA
from online_cases import (
    EVERY_KIND,
    KINDS,
    METHODS,
    Halves,
    blocks_of,
    graph_of,
    linear_queries,
    suits,
    terms_of,
)

import graphcuts_dp as gc
from graphcuts_dp import ExhaustedError, PrivacyUnit
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.norms import parse_norm
from graphcuts_dp.plugins import Universe
from graphcuts_dp.queries.coefficients import Extent
from graphcuts_dp.queries.graph_queries import STATISTICS, GraphQuery
from graphcuts_dp.session.session import Preview, session_of
from scripts.figures.random_graphs import imbalanced_bipartite, planted_partition

NORMS = ("auto", "l2", "lp", "l1.5", "2,p", "2,1.4", "entropy", "schatten", "schatten-1.5")
SIDE = 40


pytestmark = [pytest.mark.usefixtures("no_forecast"), LARGE_DELTA]


@dataclass(frozen=True)
class Case:
    """What a session is on, of what terms, and asked what.

    Attributes:
        again: what whoever opens it again must say.
        learns: whether some answer must have corrected a hypothesis.
        opened: what opens it.
        truth: what the intervals are about.
    """

    graph: Any
    queries: list[Any]
    terms: dict[str, Any]
    again: dict[str, Any] = field(default_factory=dict)
    learns: bool = False
    opened: Callable[..., Any] = session_of
    truth: Callable[[Any, Any], float] = lambda query, graph: query.value(graph)


def cuts_of(graph, count=5, share=0.5):
    """Cuts of random sets, and one the other way round where that is another one."""
    rng = np.random.default_rng(2)
    left, right = Universe.of(graph).shape
    found = [gc.CutQuery(rng.random(left) < share, rng.random(right) < share) for _ in range(count)]
    if isinstance(graph, gc.DirectedGraph):
        found.append(gc.CutQuery(found[0].T, found[0].S))
    found += [gc.CutQuery([0], [1, 2]), gc.CutQuery([3])]
    return [query for query in found if query.norm_squared(graph.space)]  # the others are free


def of_method(method, kind):
    graph = graph_of(kind)
    return Case(graph, cuts_of(graph), terms_of(method, epsilon=40.0, queries=30))


def of_linear(kind, terms):
    graph = graph_of(kind)
    cut = gc.CutQuery(range(4), range(3))
    queries = [*linear_queries(graph), *linear_queries(graph, 1)[:-1], cut]
    return Case(graph, queries, {"epsilon": 45.0, "delta": 0.01, "queries": 60} | terms)


def of_norm(norm, calibration):
    """About cuts of few right vertices, with those of the largest degree, which are answered worst.

    A cut of the hubs corrects if the norm is not among those with a dear start.
    """
    graph = imbalanced_bipartite(48, seed=5)
    hubs = np.argsort(-graph.dense().sum(axis=1))
    rng = np.random.default_rng(0)
    queries = [
        gc.CutQuery(hubs[: 8 + number % 9], rng.choice(48, size=12, replace=False))
        for number in range(8)
    ]
    terms = {"method": "mirror-descent", "norm": norm, "calibration": calibration}
    terms |= {"epsilon": 40.0 if calibration == "tight" else 1.0, "delta": 0.01, "queries": 400}
    learns = calibration == "tight" and norm in ("auto", "l2")
    return Case(graph, queries, terms | {"max_right_size": 12}, learns=learns)


def of_linear_norm(norm, calibration):
    """About ratings of two kinds of users, by queries that every flat start answers by 0."""
    users, items = np.random.default_rng(1).integers(2, size=(2, SIDE))
    alike = users[:, None] == items
    graph = gc.BipartiteGraph(*np.nonzero(alike), left=SIDE, right=SIDE)
    rng, sign = np.random.default_rng(0), np.where(alike, 1.0, -1.0)
    queries = [
        gc.Query.matrix((2.5 if number % 2 else -0.5) * sign * (rng.random((SIDE, SIDE)) < 0.9))
        for number in range(8)
    ]
    terms = {"method": "mirror-descent", "norm": norm, "calibration": calibration, "linear": True}
    terms |= {"epsilon": 45.0 if calibration == "tight" else 1.0, "delta": 0.01, "queries": 60}
    learns = calibration == "tight"
    return Case(graph, queries, terms | {"max_spectral_norm": float(SIDE)}, learns=learns)


def of_start(method, norm):
    """From the sums between groups that do not explain the graph."""
    graph = planted_partition(120, 4, 0.6, 0.02, seed=3)
    half = np.arange(120) < 60
    queries = [*cuts_of(graph), gc.CutQuery(half), gc.CutQuery(np.arange(120) < 30)]
    terms = terms_of(method, epsilon=40.0, queries=200, start="groups") | {"delta": 0.01}
    terms |= {"groups": blocks_of(graph, 4, shuffled=True)} | ({"norm": norm} if norm else {})
    return Case(graph, queries, terms, learns=True)


def of_start_on(method, kind):
    """From the sums between two groups, or two of each side."""
    graph = graph_of(kind)
    sides = [graph.left, graph.right] if kind == "bipartite" else [graph.vertices]
    made = [
        gc.Groups(side, {"half": [2 * i // len(side) for i in range(len(side))]}) for side in sides
    ]
    groups = made[0] if len(made) == 1 else tuple(made)
    terms = terms_of(method, epsilon=40.0, queries=30, start="groups", groups=groups)
    return Case(graph, cuts_of(graph), terms)


def of_people(method, privacy_unit):
    """Protecting more than an edge; a vertex, by cuts in which it has at most five edges."""
    graph = planted_partition(60, 3, 0.5, 0.1, seed=2)
    terms = terms_of(method, epsilon=5.0, queries=12) | privacy_unit
    bound = PrivacyUnit.of(privacy_unit["privacy_unit"]).max_degree
    if bound is None:
        return Case(graph, cuts_of(graph), terms)
    grid = Grid.of_vertices(graph, bound)
    again = dict(privacy_unit)
    return Case(graph, cuts_of(graph), terms, again, truth=grid.count)


def of_median():
    """Of all graphs on five vertices the complete one is the farthest from their median."""
    graph = gc.Graph(*np.triu_indices(5, 1), vertices=5)
    sets = [(range(5), range(5)), ([0, 1, 2], range(5)), ([0, 1], None), ([0], [1])]
    queries = [*(gc.CutQuery(*each) for each in sets), *map(gc.Query.statistic, STATISTICS)]
    terms = {"epsilon": 50.0, "delta": 0.5, "queries": 8, "beta": 0.9, "method": "median"}
    return Case(graph, queries, terms, learns=True)


def of_own_rule():
    """Of the object itself nothing is kept: another one of its name and version goes on."""
    graph = planted_partition(48, 2, 0.5, 0.1, seed=1)
    own, other = (Halves(Universe.of(graph), other=each) for each in (1, lambda: 2))
    terms = {"epsilon": 40.0, "delta": 0.01, "queries": 300, "method": own}
    return Case(graph, cuts_of(graph), terms, {"method": other}, opened=gc.open_session)


PLAIN = [(method, kind) for method in METHODS for kind in EVERY_KIND if suits(method, kind)]
LEARN = {"method": "mirror-descent", "linear": True}
PEOPLE = {
    "1 vertex": {"privacy_unit": "vertex:max-degree=5"},
    "3 edges": {"privacy_unit": "edge:3"},
}
TUNED = [(norm, "tight") for norm in NORMS]
TUNED += [(norm, "dr14") for norm in ("auto", "2,p", "schatten")]
CASES: dict[str, Callable[[], Case]] = {
    **{f"{method}, {kind}": lambda m=method, k=kind: of_method(m, k) for method, kind in PLAIN},
    **{
        f"linear, {name}, {kind}": lambda t=terms, k=kind: of_linear(k, t)
        for kind in KINDS
        for name, terms in {
            "laplace": {"method": "laplace"},
            "gaussian": {"method": "gaussian"},
            "l2": LEARN | {"norm": "l2"},
            "entropy, bought": LEARN | {"norm": "entropy", "value_share": 0.3},
            "lp": LEARN | {"norm": "lp"},
        }.items()
    },
    **{f"cuts, {norm}, {tuned}": lambda n=norm, c=tuned: of_norm(n, c) for norm, tuned in TUNED},
    **{
        f"linear, {norm}, {tuned}": lambda n=norm, c=tuned: of_linear_norm(n, c)
        for norm, tuned in TUNED
    },
    **{
        f"groups, {method} {norm}": lambda m=method, n=norm: of_start(m, n)
        for method, norm in (
            ("frieze-kannan", ""),
            ("multiplicative-weights", ""),
            ("mirror-descent", "l2"),
            ("mirror-descent", "entropy"),
        )
    },
    **{
        f"groups, {method}, {kind}": lambda m=method, k=kind: of_start_on(m, k)
        for method in ("frieze-kannan", "multiplicative-weights")
        for kind in ("weighted", "directed", "bipartite")
    },
    **{
        f"{name}, {method}": lambda m=method, p=privacy_unit: of_people(m, p)
        for name, privacy_unit in PEOPLE.items()
        for method in ("laplace", "gaussian", "frieze-kannan")
    },
    "median": of_median,
    "own rule": of_own_rule,
}


# About linear queries each learner and each noise is quick on one kind of graph, in turn.
LINEAR = [name for name in CASES if name.startswith("linear, ") and name.endswith(tuple(KINDS))]
SLOW = [name for number, name in enumerate(LINEAR) if (number % 5 - number // 5) % 4]


def facts(session):
    """What two sessions that did the same have in common."""
    learnt = None
    with contextlib.suppress(ExhaustedError):  # a method that answers each query by itself
        learnt = session.hypothesis.tolist()
    status = session.status
    counted = status.remaining, status.answers, status.corrections, status.interruptions
    return *counted, session.error_bound, session.norm, session.parameters, learnt


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in CASES]
)
def test_a_session_goes_on_as_if_it_had_not_been_closed(tmp_path, name):
    """Seeded, so both runs draw the same noise, and every interval does hold the truth."""
    case = CASES[name]()
    graph, queries = case.graph, case.queries
    with case.opened(graph, store=tmp_path / "a.db", seed=6, **case.terms) as session:
        answers = session.ask_all(queries[:3])
    with case.opened(graph, store=tmp_path / "a.db", **case.again) as session:
        assert session.ask_all(queries[:3]) == answers
        answers += session.ask_all(queries[3:])
        assert [entry.answer for entry in session.history] == answers
        values = [entry.query.value(graph) for entry in session.history]
        assert values == pytest.approx([query.value(graph) for query in queries])
        assert (session.cost(queries[::-1]).new, session.status.interruptions) == (0, 0)
        bound, resumed = session.error_bound, facts(session)
        judge_norm(case.terms.get("norm"), session.norm)
    assert {file.name for file in tmp_path.iterdir()} == {"a.db"}
    with case.opened(graph, store=tmp_path / "b.db", seed=6, **case.terms) as session:
        whole = session.ask_all(queries[:3]) + session.ask_all(queries[3:])
        assert facts(session) == resumed
    assert [answer.value for answer in whole] == [answer.value for answer in answers]
    for query, answer in zip(queries, answers, strict=True):
        assert answer.interval[0] <= case.truth(query, graph) <= answer.interval[1]
        assert answer.guaranteed
        judge_width(query, answer, bound, graph)
    assert sum(len(answer.updates) for answer in answers) >= case.learns


def judge_width(query, answer, bound, graph):
    """No interval is wider than was guaranteed, nor than what is known without the graph."""
    if not isinstance(query, GraphQuery):
        low, high = answer.interval
        extent = Extent.of(query, graph.space)
        finer = (
            0 if isinstance(query, gc.CutQuery) else Grid.of(graph).unit
        )  # noise of cuts is on whole numbers
        assert high - low <= 2 * (bound + finer) * extent.largest * (1 + 1e-6) + 1e-6
        least, most = extent.possible(graph.max_weight)
        assert least * (1 + 1e-15) <= low <= answer.value <= high <= most * (1 + 1e-15)


def judge_norm(wanted, taken):
    """What was chosen for what was bought is of the family that was asked for."""
    if wanted is not None:
        (family, exponent), (name, p) = parse_norm(wanted), parse_norm(taken)
        assert family in ("auto", name) or p == 2  # which all norms share
        assert exponent is None or p == exponent


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize(("method", "kind"), PLAIN)
def test_what_noise_could_leave_the_possible_range_does_not(tmp_path, method, kind):
    """And what is certain is free: a cut without pairs is 0, whatever the session has left."""
    graph = graph_of(kind)
    left, right = (range(size) for size in Universe.of(graph).shape)
    last = ([], right) if kind in ("sides", "bipartite") else ([3], [3])
    sets = [([], None), ([], []), (left, []), last]
    empty = [gc.CutQuery(*each) for each in sets]
    asked = [*cuts_of(graph, 20, 0.2), gc.CutQuery(left, right)]
    terms = terms_of(method, epsilon=0.5, queries=len(asked))
    with session_of(graph, store=tmp_path / "s.db", **terms) as session:
        certain = session.ask_all(empty)
        assert {(each.value, each.interval) for each in certain} == {(0.0, (0.0, 0.0))}
        assert all(each.guaranteed and each.confidence == 1 for each in certain)
        mixed = [empty[0], asked[0], empty[1]]
        assert session.cost(mixed) == Preview(queries=3, free=2, new=1, left=len(asked))
        assert [each.confidence for each in session.ask_all(mixed)] == [
            1.0,
            DEFAULT_CONFIDENCE,
            1.0,
        ]
        answers = session.ask_all(asked)
        bound, late = session.error_bound, gc.CutQuery([2], [3, 4])
        assert not answers[0].seeded
        with pytest.raises(ExhaustedError):
            session.ask(late.S, late.T)
        assert session.ask(empty[0].S) == certain[0]
        if method in ("gaussian", "laplace"):
            with pytest.raises(ExhaustedError, match="nothing to answer from"):
                session.ask_all([late], unguaranteed=True)
        else:
            answers += session.ask_all([late], unguaranteed=True)
            assert answers[-1].guaranteed == (method == "binary")
            asked.append(late)
        assert (session.status.state, len(session.history)) == ("stopped", len(asked))
    for query, answer in zip(asked, answers, strict=True):
        if answer.guaranteed:
            judge_width(query, answer, bound, graph)
    possible = [Extent.of(query, graph.space).possible(graph.max_weight)[1] for query in asked]
    ends = [answer.interval[0] == 0 for answer in answers]
    ends += [a.interval[1] >= most * (1 - 1e-9) for a, most in zip(answers, possible, strict=True)]
    assert any(ends)  # the noise alone would have left the range
    with gc.open_session(graph, store=tmp_path / "s.db") as session:
        assert session.ask_all(asked) == answers
        assert session.history[-1].query.value(graph) == asked[-1].value(graph)
