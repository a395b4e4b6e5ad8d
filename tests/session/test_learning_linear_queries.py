"""Sessions that learn from any linear queries: answers, what they cost, buy, resume and refuse."""

import json
import os
import signal
import sys
from fractions import Fraction

import numpy as np
import pytest
from helpers import expecting, random_graph

import graphcuts_dp as gc
from graphcuts_dp.errors import AccuracyWarning, ParameterError, QueryError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.session.base import Answer
from graphcuts_dp.session.online import Counting
from graphcuts_dp.session.queries import Counted, linear_count
from graphcuts_dp.session.session import open_session, session_of
from graphcuts_dp.session.terms import SessionTerms

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
SIDE = 40
TERMS = {
    "epsilon": 45.0,
    "delta": 0.01,
    "queries": 60,
    "method": "mirror-descent",
    "linear": True,
}
NORMS = ("auto", "l2", "lp", "l1.5", "2,p", "2,1.4", "entropy", "schatten", "schatten-1.5")
KINDS = {
    "plain": {"shape": 14, "seed": 1},
    "weighted": {"shape": 14, "seed": 2, "largest": 3.0, "weight_cap": 3.0},
    "directed": {"shape": 14, "seed": 3, "directed": True},
    "bipartite": {"shape": (9, 11), "seed": 4, "largest": 5.0, "weight_cap": 5.0},
}


def ratings(seed=1):
    """Two kinds of users, each of which rates the items of one kind: far from flat."""
    rng = np.random.default_rng(seed)
    users, items = rng.integers(2, size=SIDE), rng.integers(2, size=SIDE)
    rows, columns = np.nonzero(users[:, None] == items)
    return gc.BipartiteGraph(rows, columns, left=SIDE, right=SIDE)


def tastes(number):
    """Queries that every flat start answers by 0, and that the kinds of users make large."""
    rng = np.random.default_rng(number)
    sign = np.where(ratings().dense() > 0, 1.0, -1.0)
    kept = rng.random((SIDE, SIDE)) < 0.9
    return gc.Query.matrix((2.5 if number % 2 else -0.5) * sign * kept)


def graph_of(kind):
    options = dict(KINDS[kind])
    return random_graph(options.pop("shape"), **{"hide_change": None} | options)


def queries_of(graph, seed=0):
    rng = np.random.default_rng(seed)
    rows, columns = Universe.of(graph).shape
    return [
        gc.Query.rank_one(rng.random(rows), rng.random(columns)),
        gc.Query.matrix(rng.normal(size=(rows, columns))),
        gc.Query.matrix((rng.random((rows, columns)) < 0.1) * 2.5),
        gc.Query.matrix(rng.choice([-1e-3, 1e-3], size=(rows, columns))),
        gc.CutQuery(range(rows // 2), range(columns // 3)),
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norm", ["l2", "entropy", "lp"])
@pytest.mark.parametrize("value_share", [0.0, 0.3])
def test_every_interval_holds_on_every_kind_of_graph(tmp_path, kind, norm, value_share):
    graph = graph_of(kind)
    terms = TERMS | {"norm": norm, "value_share": value_share}
    with session_of(graph, store=tmp_path / "a.db", **terms) as session:
        for seed in range(4):
            for query in queries_of(graph, seed):
                answer = session.ask(query)
                low, high = answer.interval
                assert low <= query.value(graph) <= high
                assert answer.guaranteed
                largest = query.sensitivity(graph)
                assert high - low <= 2 * largest * session.error_bound * (1 + 1e-6)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("calibration", ["tight", "dr14"])
def test_a_session_goes_on_as_if_it_had_not_been_closed(tmp_path, norm, calibration):
    """Corrections are made again from the record; seeded, so both runs draw the same noise."""
    terms = TERMS | {"norm": norm, "calibration": calibration, "seed": 4, "most_spectral": 40.0}
    if calibration != "tight":
        terms["epsilon"] = 1.0
    queries = [tastes(number) for number in range(8)]
    answers = []
    for part in (queries[:1], queries[1:]):
        with session_of(ratings(), store=tmp_path / "a.db", **terms) as session:
            answers += session.ask_all(part)
            taken, bound = session.norm, session.error_bound
    with session_of(ratings(), store=tmp_path / "b.db", **terms) as session:
        whole = session.ask_all(queries[:1]) + session.ask_all(queries[1:])
        assert (session.norm, session.error_bound) == (taken, bound)
        assert [each.query.C.shape for each in session.history] == [(SIDE, SIDE)] * 8
    assert [answer.value for answer in answers] == [answer.value for answer in whole]
    for query, answer in zip(queries, answers, strict=True):
        low, high = answer.interval
        assert low <= query.value(ratings()) <= high
    if calibration == "tight":
        assert sum(len(answer.updates) for answer in answers) >= 1


def test_it_learns_what_it_was_not_asked(tmp_path):
    """After some corrections, other queries of the same tastes are answered without one."""
    graph = ratings()
    with session_of(graph, store=tmp_path / "a.db", **TERMS, norm="l2") as session:
        first = session.ask(tastes(1))
        assert first.updated
        later = session.ask_all([tastes(number) for number in range(3, 13, 2)])
        assert sum(answer.updated for answer in later) <= 2
        flat = len(graph.rows) / SIDE**2
        for number, answer in zip(range(3, 13, 2), later, strict=True):
            truth = tastes(number).value(graph)
            blind = flat * float(np.sum(tastes(number).C))
            assert abs(answer.value - truth) < 0.7 * abs(blind - truth)
        assert session.hypothesis.shape == (SIDE, SIDE)


def test_counts_are_the_exact_ones_rounded_down_and_change_by_the_sensitivity():
    for kind in KINDS:
        graph = graph_of(kind)
        grid, universe = Grid.of(graph), Universe.of(graph)
        counting = Counting.of(grid, linear=True)
        assert 2**24 <= counting.sensitivity <= 2**25
        assert counting.unit <= counting.sensitivity < counting.unit + 1
        for query in queries_of(graph)[:4]:
            asked = Counted.of(query, universe, grid)
            exact = linear_count(query, graph, grid)
            assert counting.count(exact, asked) == exact // counting.over
            count = counting.count(exact, asked) * counting.step
            told = counting.told(Answer(value=count, interval=(count, count), confidence=1), asked)
            low, high = told.interval
            truth = query.value(graph)
            assert low - 1e-9 <= truth <= high + 1e-9
            # A change of one weight by the largest one, up or down, and what lies between.
            for change in (2**30 * grid.sensitivity, -(2**30) * grid.sensitivity, 12345, -1):
                moved = counting.count(exact + change, asked) - counting.count(exact, asked)
                assert abs(moved) <= counting.sensitivity
        cut = gc.CutQuery([0, 1], [2, 3])
        asked = Counted.of(cut, universe, grid)
        truth = counting.count(grid.count(cut, graph), asked)
        off = asked.raised + counting.step + 1e-9
        assert abs(truth * counting.step - cut.value(graph)) <= off


def test_the_cost_is_of_two_monotone_steps():
    """Signed answers change either way: a session has half of the noise's budget of one of cuts."""
    universe, given = Universe(20, 20), {"epsilon": 1.0, "delta": 1e-6, "queries": 100}
    signed = SessionTerms.of(method="mirror-descent", norm="l2", linear=True, **given).mechanism(
        universe, Grid()
    )
    assert signed.steps == 2
    assert signed.cost.epsilon <= 1.0
    rho = signed.calibration.cost.rho
    assert 4 * rho <= zcdp_rho(epsilon=1.0, delta=1e-6)
    assert signed.cost.rho == pytest.approx(4 * rho)
    cuts = SessionTerms.of(method="mirror-descent", norm="l2", **given).mechanism(universe, Grid())
    assert cuts.steps == 1
    assert 1.1 < signed.expected_error(200.0) / cuts.expected_error(200.0) < 2.1
    several = SessionTerms.of(**TERMS | {"at_most": 3}).mechanism(universe, Grid())
    assert several.steps == 6


def test_the_stream_between_two_neighbours_is_a_monotone_step_from_either():
    """The proof of the cost, computed: for all pairs of weights and random signed queries."""
    graph = graph_of("bipartite")
    grid, rng = Grid.of(graph), np.random.default_rng(2)
    dense = graph.dense()
    for _ in range(40):
        row, column = (int(rng.integers(side)) for side in dense.shape)
        other = dense.copy()
        other[row, column] = rng.choice([0.0, 5.0])
        ends = np.nonzero(other)
        moved = gc.BipartiteGraph(
            *ends, other[ends], left=dense.shape[0], right=dense.shape[1], weight_cap=5.0
        )
        counting = Counting.of(grid, linear=True)
        for query in queries_of(graph, int(rng.integers(100)))[:4]:
            first, last = (linear_count(query, each, grid) for each in (graph, moved))
            between = first + max(0, last - first)
            steps = [each // counting.over for each in (first, between, last)]
            assert 0 <= steps[1] - steps[0] <= counting.sensitivity
            assert 0 <= steps[1] - steps[2] <= counting.sensitivity
    assert counting.unit == Fraction(2**30 * grid.largest, counting.over)


@pytest.mark.parametrize("norm", ["schatten", "auto"])
def test_the_nuclear_norm_is_bought_and_shown_in_the_guarantee(tmp_path, norm):
    terms = TERMS | {"norm": norm, "most_spectral": 10.0}
    with session_of(ratings(), store=tmp_path / "a.db", **terms) as session:
        parts = dict(session.guarantee.parts)
        assert set(parts) == {"total weight", "nuclear norm", "answers"}
        assert sum(parts.values()) == pytest.approx(session.guarantee.epsilon)
        assert session.guarantee.epsilon <= 45.0
        truth = float(np.linalg.norm(ratings().dense(), "nuc"))
        state = session._runner.present()
        assert truth <= state.norm_bound <= truth + 40
        content = json.loads(session._ledger.state(1).public)["state"]
        assert content["norm_bound"] == state.norm_bound
    for more in ({"norm": "l2"}, {"norm": "schatten", "most_spectral": None}):
        path = tmp_path / f"{more['norm']}.db"
        with session_of(ratings(), store=path, **(terms | more)) as session:
            assert "nuclear norm" not in dict(session.guarantee.parts)


def test_low_rank_ratings_are_answered_within_less_with_schatten():
    """Before anything is spent the error is that of l2; what is bought makes it smaller."""
    n = 800
    users = np.arange(n) % 2
    rows, columns = np.nonzero(users[:, None] == users)
    graph = gc.BipartiteGraph(rows, columns, left=n, right=n)
    bounds = {}
    for norm in ("l2", "schatten", "auto"):
        mechanism = SessionTerms.of(
            method="mirror-descent",
            norm=norm,
            linear=True,
            most_spectral=58.0,
            epsilon=4.0,
            delta=1e-6,
            queries=10_000,
        ).mechanism(Universe.of(graph), Grid())
        state = mechanism.start(graph, gc.privacy.noise.SeededEntropy(2))
        bounds[norm] = mechanism.error_bound(state)
        if norm != "l2":
            assert mechanism.norm_of(state).startswith("schatten-1.")
    assert bounds["schatten"] < 0.9 * bounds["l2"]
    assert bounds["auto"] <= 1.02 * bounds["schatten"]


def test_queries_that_were_not_announced_are_refused_and_nothing_is_spent(tmp_path):
    terms = TERMS | {"norm": "schatten", "most_spectral": 9.0}
    with session_of(ratings(), store=tmp_path / "a.db", **terms) as session:
        for query, message in (
            (gc.Query.matrix(np.ones((SIDE, SIDE))), "largest singular value is 40"),
            (gc.Query.statistic("triangles"), "statistics of whole graphs"),
        ):
            with pytest.raises(QueryError, match=message):
                session.ask(query)
        assert session.remaining.queries == 60
        assert session.ask(gc.Query.matrix(np.zeros((SIDE, SIDE)))).interval == (0.0, 0.0)
        assert session.remaining.queries == 60
        # What counts is the largest singular value for a largest coefficient of 1.
        assert session.ask(gc.Query.matrix(1000 * np.eye(SIDE))).guaranteed


def test_terms_are_kept_and_must_agree(tmp_path):
    terms = TERMS | {"norm": "schatten", "most_spectral": 9.0}
    with session_of(ratings(), store=tmp_path / "a.db", **terms):
        pass
    with pytest.raises(ParameterError, match=r"most_spectral=9\.0"):
        session_of(ratings(), store=tmp_path / "a.db", most_spectral=8.0)
    with open_session(ratings(), store=tmp_path / "a.db") as session:
        assert session.parameters["most_spectral"] == 9.0
    assert "most_spectral" not in SessionTerms.of(**TERMS).to_dict()


def test_auto_takes_what_promises_least_of_the_methods_for_all_linear_queries():
    universe = Universe(2000, 2000)
    terms = {"epsilon": 1.0, "delta": 1e-6, "linear": True, "expected_edges": 20_000}
    few = SessionTerms.of(queries=100, **terms)
    assert few.resolved(universe, Grid()).method.name == "gaussian"
    many = SessionTerms.of(queries=10**9, most_spectral=90.0, **terms)
    found = many.resolved(universe, Grid())
    assert found.method.name == "mirror-descent"
    assert found.workload.most_spectral == 90.0


def test_a_session_that_is_worse_than_answering_0_says_so_before_it_begins(tmp_path):
    parameters = SessionTerms.of(**TERMS | {"norm": "l2", "epsilon": 1.0})
    universe = Universe(SIDE, SIDE)
    parameters = expecting(parameters, 30.0)
    assert parameters.expected_error(universe, Grid()) > 30.0
    told = parameters.warning(universe, Grid())
    assert "to answer 0 is never farther off than 30" in told
    strong = SessionTerms.of(**TERMS | {"norm": "l2"})
    strong = expecting(strong, 790.0)
    assert strong.expected_error(universe, Grid()) < 790.0
    assert strong.warning(universe, Grid()) is None
    with (
        pytest.warns(AccuracyWarning, match="to answer 0"),
        session_of(
            ratings(), store=tmp_path / "a.db", **(TERMS | {"epsilon": 1.0}), expected_edges=30
        ),
    ):
        pass


def killed_within_a_session(path, say, fuse):
    """A child that shows answers as they come and kills itself within a step."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return status
    try:
        from graphcuts_dp.session.online import OnlineMechanism

        real, count = OnlineMechanism.step, iter(range(10**6))

        def step(self, *arguments):
            made = real(self, *arguments)
            if next(count) == fuse:
                os.kill(os.getpid(), signal.SIGKILL)
            return made

        OnlineMechanism.step = step
        with session_of(
            ratings(), store=path, **TERMS, norm="schatten-1.5", most_spectral=40.0
        ) as session:
            for number in range(30):
                answer = session.ask_all([tastes(number)])[0]
                os.write(say, json.dumps([number, answer.value]).encode() + b"\n")
    except BaseException:
        os._exit(1)
    os._exit(0)


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_killed_session_keeps_what_it_showed_and_counts_what_it_lost(tmp_path):
    path, log = tmp_path / "a.db", tmp_path / "a.log"
    say = os.open(log, os.O_WRONLY | os.O_CREAT)
    for kills, fuse in enumerate((0, 1, 5), start=1):
        status = killed_within_a_session(path, say, fuse)
        assert os.WIFSIGNALED(status)
        with open_session(ratings(), store=path) as session:
            shown = [json.loads(line) for line in log.read_text().splitlines()]
            known = session.ask_all([tastes(number) for number, _ in shown])
            assert [answer.value for answer in known] == [value for _, value in shown]
            assert session.status.interruptions == kills
    os.close(say)
