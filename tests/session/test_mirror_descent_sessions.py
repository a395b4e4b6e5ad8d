"""Sessions of mirror descent: every norm, what they buy, resume, survive kills, and refuse."""

import json
import os
import signal
import sys

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.bounds import Setting
from graphcuts_dp.learn.calibrations import guaranteed_error
from graphcuts_dp.learn.norms import best_exponent, parse_norm
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.noise import SeededEntropy
from graphcuts_dp.session.session import open_session, session_of
from graphcuts_dp.session.terms import SessionTerms
from scripts.figures.random_graphs import imbalanced_bipartite

SIDE, RIGHT = 48, 12
NORMS = ("auto", "l2", "lp", "l1.5", "2,p", "2,1.4", "entropy", "schatten", "schatten-1.5")
TERMS = {
    "epsilon": 40.0,
    "delta": 0.01,
    "queries": 400,
    "method": "mirror-descent",
    "most_right": RIGHT,
}


def graph():
    return imbalanced_bipartite(SIDE, seed=5)


def query(number):
    rng = np.random.default_rng(number)
    T = np.zeros(SIDE, dtype=bool)
    T[rng.choice(SIDE, size=RIGHT, replace=False)] = True
    return gc.CutQuery(rng.random(SIDE) < 0.5, T)


def hub(number):
    """Cuts of the vertices of largest degree, which every start answers worst."""
    rows = np.argsort(-graph().dense().sum(axis=1))[: 8 + number % 9]
    S = np.zeros(SIDE, dtype=bool)
    S[rows] = True
    return gc.CutQuery(S, query(number).T)


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("calibration", ["tight", "dr14"])
def test_a_session_goes_on_as_if_it_had_not_been_closed(tmp_path, norm, calibration):
    """Corrections are made again from the record; seeded, so both runs draw the same noise."""
    terms = TERMS | {"norm": norm, "calibration": calibration, "seed": 4}
    if calibration != "tight":
        terms["epsilon"] = 1.0
    queries = [hub(number) for number in range(10)]
    answers = []
    for query_, path in ((queries[:1], "a.db"), (queries[1:], "a.db")):
        with session_of(graph(), store=tmp_path / path, **terms) as session:
            answers += session.ask_all(query_)
            taken, bound = session.norm, session.error_bound
    with session_of(graph(), store=tmp_path / "b.db", **terms) as session:
        whole = session.ask_all(queries[:1])
        whole += session.ask_all(queries[1:])
        assert (session.norm, session.error_bound) == (taken, bound)
    assert [answer.value for answer in answers] == [answer.value for answer in whole]
    wanted, p = parse_norm(norm)
    name, exponent = parse_norm(taken)
    assert wanted in ("auto", name) or exponent == 2  # which all norms share
    assert p is None or exponent == p
    for asked, answer in zip(queries, answers, strict=True):
        low, high = answer.interval
        assert low <= asked.value(graph()) <= high
    if calibration == "tight" and norm in ("auto", "l2"):
        assert sum(len(answer.updates) for answer in answers) >= 1


@pytest.mark.parametrize("norm", ["2,p", "auto"])
def test_root_degrees_are_bought_and_shown_in_the_guarantee(tmp_path, norm):
    terms = TERMS | {"norm": norm, "most_right": 3}
    with session_of(graph(), store=tmp_path / "a.db", **terms) as session:
        parts = dict(session.guarantee.parts)
        assert set(parts) == {"total weight", "root degrees", "answers"}
        assert sum(parts.values()) == pytest.approx(40.0)
        state = session._runner.present()
        assert state.norm_bound > 0
        content = json.loads(session._ledger.state(1).public)["state"]
        assert content["norm_bound"] == state.norm_bound
    with session_of(graph(), store=tmp_path / "b.db", **(terms | {"norm": "l2"})) as session:
        assert set(dict(session.guarantee.parts)) == {"total weight", "answers"}
        assert session._runner.present().norm_bound is None


def test_what_is_bought_bounds_the_sum_and_p_follows_from_it():
    """A matching of hubs: few full rows, so that the group norm is small."""
    rows, columns = np.divmod(np.arange(4 * 400), 400)
    made = gc.BipartiteGraph(rows, columns, left=4000, right=400)
    mechanism = SessionTerms.of(
        method="mirror-descent", norm="2,p", most_right=2, epsilon=4.0, delta=1e-6, queries=50
    ).mechanism(Universe.of(made), Grid.of(made))
    state = mechanism.start(made, SeededEntropy(2))
    truth = 4 * 20
    # A row of nothing may be rounded down by a step of 1/1024; the rest is noise.
    assert truth <= state.norm_bound <= truth + 300
    name, p = parse_norm(mechanism.norm_of(state))
    assert name == "2,p"
    total = state.total_weight + state.total_error
    expected = best_exponent(np.log(4000 * total) - 2 * np.log(state.norm_bound))
    assert p == pytest.approx(expected, rel=1e-5)
    assert p < 1.5
    l2 = SessionTerms.of(
        method="mirror-descent", norm="l2", most_right=2, epsilon=4.0, delta=1e-6, queries=50
    ).mechanism(Universe.of(made), Grid.of(made))
    assert mechanism.error_bound(state) < l2.error_bound(l2.start(made, SeededEntropy(2)))


def settings():
    for n in ((100, 100), (300, 2000), (1500, 60)):
        pairs = n[0] * n[1]
        for share in (0.002, 0.05, 0.4):
            for right in (None, 2, n[1] // 8):
                for queries in (100, 10**6):
                    yield Setting(
                        n=n,
                        edges=max(20.0, share * pairs),
                        workload=gc.SessionWorkload(queries=queries, most_right=right),
                        epsilon=1.0,
                        delta=1e-6,
                    )


def test_auto_guarantees_within_5_percent_of_the_best_norm():
    """Of sessions, before anything is bought: over sizes, densities, cuts and numbers of queries.

    What auto may buy costs it a fiftieth of the budget, and no more.
    """
    worst = 1.0
    for setting in settings():
        universe, errors = Universe(*setting.n), {}
        for norm in ("auto", "l2", "lp", "2,p", "entropy", "schatten"):
            if norm == "schatten" and max(setting.n) > 2048:
                continue
            mechanism = SessionTerms.of(
                method="mirror-descent",
                norm=norm,
                epsilon=setting.epsilon,
                delta=setting.delta,
                queries=setting.workload.queries,
                most_right=setting.workload.most_right,
            ).mechanism(universe, Grid())
            errors[norm] = mechanism.expected_error(setting.edges)
        auto = errors.pop("auto")
        worst = max(worst, auto / min(errors.values()))
        # Plans know the number of edges.
        assert guaranteed_error("mirror-descent", setting) <= auto
    assert worst <= 1.05


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
def test_vertices_are_protected_with_norms_that_buy_nothing(tmp_path):
    for norm in ("auto", "l2", "lp", "entropy"):
        terms = TERMS | {"norm": norm, "protect": "vertex", "degree_bound": 9, "most_right": 2}
        with session_of(graph(), store=tmp_path / f"{norm}.db", **terms) as session:
            assert "root degrees" not in dict(session.guarantee.parts)
            assert session.ask([0], [1, 2]).interval[1] >= 0


def test_another_norm_is_another_session(tmp_path):
    with session_of(graph(), store=tmp_path / "a.db", **TERMS, norm="l2"):
        pass
    with pytest.raises(ParameterError, match="norm='l2'"):
        session_of(graph(), store=tmp_path / "a.db", norm="entropy")
    with open_session(graph(), store=tmp_path / "a.db") as session:
        assert session.norm == "l2"
    with open_session(graph(), store=tmp_path / "a.db", name="b", epsilon=1.0, queries=9) as other:
        assert other.norm is None


def killed_within_a_session(path, say, norm, fuse):
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
        with session_of(graph(), store=path, **TERMS, norm=norm) as session:
            for number in range(40):
                answer = session.ask_all([hub(number)])[0]
                os.write(say, json.dumps([number, answer.value]).encode() + b"\n")
    except BaseException:
        os._exit(1)
    os._exit(0)


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.parametrize("norm", ["2,1.4", "entropy", "auto"])
def test_a_killed_session_keeps_what_it_showed_and_counts_what_it_lost(tmp_path, norm):
    path, log = tmp_path / "a.db", tmp_path / "a.log"
    say = os.open(log, os.O_WRONLY | os.O_CREAT)
    for kills, fuse in enumerate((0, 1, 5), start=1):
        status = killed_within_a_session(path, say, norm, fuse)
        assert os.WIFSIGNALED(status)
        with open_session(graph(), store=path) as session:
            shown = [json.loads(line) for line in log.read_text().splitlines()]
            known = session.ask_all([hub(number) for number, _ in shown])
            assert [answer.value for answer in known] == [value for _, value in shown]
            assert session.status.interruptions == kills
