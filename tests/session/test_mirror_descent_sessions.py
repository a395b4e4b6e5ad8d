"""Sessions of mirror descent, of cuts and of any linear queries: norms, costs and records."""

import json
from fractions import Fraction

import numpy as np
import pytest
from helpers import LARGE_DELTA, expecting
from online_cases import KINDS, graph_of, linear_queries

import graphcuts_dp as gc
from graphcuts_dp import AccuracyWarning, Answer
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.forecasts import mirror_descent_error
from graphcuts_dp.learn.norms import best_exponent, parse_norm
from graphcuts_dp.learn.workload import Setting
from graphcuts_dp.plugins import SeededEntropy, Universe
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.session.counts import CountUnits, QueryCount, linear_count
from graphcuts_dp.session.online import rescaled_answer
from graphcuts_dp.session.session import session_of
from graphcuts_dp.session.terms import SessionTerms
from scripts.figures.random_graphs import imbalanced_bipartite

pytestmark = [
    pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning"),
    LARGE_DELTA,
]
CUTS = {
    "epsilon": 40.0,
    "delta": 0.01,
    "queries": 400,
    "method": "mirror-descent",
    "max_right_size": 3,
}
LINEAR = {
    "epsilon": 45.0,
    "delta": 0.01,
    "queries": 60,
    "method": "mirror-descent",
    "linear": True,
}
USERS = 40


def ratings(seed=1):
    """Two kinds of users, each of which rates the items of one kind: far from flat."""
    rng = np.random.default_rng(seed)
    users, items = rng.integers(2, size=USERS), rng.integers(2, size=USERS)
    rows, columns = np.nonzero(users[:, None] == items)
    return gc.BipartiteGraph(rows, columns, left=USERS, right=USERS)


def tastes(number):
    """Queries that every flat start answers by 0, and that the kinds of users make large."""
    rng = np.random.default_rng(number)
    sign = np.where(ratings().dense() > 0, 1.0, -1.0)
    kept = rng.random((USERS, USERS)) < 0.9
    return gc.Query.matrix((2.5 if number % 2 else -0.5) * sign * kept)


def made(universe, grid=None, **terms):
    return SessionTerms.of(**{"method": "mirror-descent"} | terms).mechanism(
        universe, grid or Grid()
    )


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize(
    ("terms", "bought"),
    [
        (CUTS | {"norm": "2,p"}, "root degrees"),
        (CUTS | {"norm": "auto"}, "root degrees"),
        (CUTS | {"norm": "auto", "privacy_unit": "vertex:max-degree=9"}, None),
        (CUTS | {"norm": "l2"}, None),
        (LINEAR | {"norm": "schatten", "max_spectral_norm": 10.0}, "nuclear norm"),
        (LINEAR | {"norm": "auto", "max_spectral_norm": 10.0}, "nuclear norm"),
        (LINEAR | {"norm": "l2", "max_spectral_norm": 10.0}, None),
        (LINEAR | {"norm": "schatten"}, None),
    ],
)
def test_a_private_norm_is_bought_and_shown_in_the_guarantee(tmp_path, terms, bought):
    graph = ratings() if "linear" in terms else imbalanced_bipartite(48, seed=5)
    with session_of(graph, store=tmp_path / "a.db", **terms) as session:
        guarantee, state = session.guarantee, session._runner.current_state()
        assert set(dict(guarantee.spent)) == {"total weight", "answers"} | ({bought} - {None})
        assert sum(dict(guarantee.spent).values()) == pytest.approx(guarantee.epsilon)
        assert guarantee.epsilon <= terms["epsilon"]
        kept = json.loads(session._ledger.state(1).public)["state"]
        assert kept.get("norm_bound") == state.norm_bound
        assert (state.norm_bound is None) is (bought is None)
        if bought == "nuclear norm":
            truth = float(np.linalg.norm(graph.dense(), "nuc"))
            assert truth <= state.norm_bound <= truth + 40


def test_what_is_bought_bounds_the_sum_and_p_follows_from_it():
    """A matching of hubs: few full rows, so that the group norm is small."""
    rows, columns = np.divmod(np.arange(4 * 400), 400)
    graph = gc.BipartiteGraph(rows, columns, left=4000, right=400)
    terms = {"max_right_size": 2, "epsilon": 4.0, "delta": 1e-6, "queries": 50}
    mechanism, l2 = (
        made(Universe.of(graph), Grid.of(graph), norm=norm, **terms) for norm in ("2,p", "l2")
    )
    state = mechanism.start(graph, SeededEntropy(2))
    truth = 4 * 20
    # A row of nothing may be rounded down by a step of 1/1024; the rest is noise.
    assert truth <= state.norm_bound <= truth + 300
    name, p = parse_norm(mechanism.norm_of(state))
    assert name == "2,p"
    total = state.total_weight + state.total_error
    expected = best_exponent(np.log(4000 * total) - 2 * np.log(state.norm_bound))
    assert p == pytest.approx(expected, rel=1e-5)
    assert p < 1.5
    assert mechanism.error_bound(state) < l2.error_bound(l2.start(graph, SeededEntropy(2)))


def settings():
    for n in ((100, 100), (300, 2000), (1500, 60)):
        pairs = n[0] * n[1]
        for share in (0.002, 0.05, 0.4):
            for right in (None, 2, n[1] // 8):
                for queries in (100, 10**6):
                    yield Setting(
                        n=n,
                        edges=max(20.0, share * pairs),
                        workload=gc.SessionWorkload(queries=queries, max_right_size=right),
                        epsilon=1.0,
                        delta=1e-6,
                    )


@pytest.mark.thorough
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
            work = vars(setting.workload)
            mechanism = made(universe, norm=norm, epsilon=1.0, delta=1e-6, **work)
            errors[norm] = mechanism.expected_error(setting.edges)
        auto = errors.pop("auto")
        worst = max(worst, auto / min(errors.values()))
        # Plans know the number of edges.
        assert mirror_descent_error(setting) <= auto
    assert worst <= 1.05


def test_it_learns_what_it_was_not_asked(tmp_path):
    """After some corrections, other queries of the same tastes are answered without one."""
    graph = ratings()
    with session_of(graph, store=tmp_path / "a.db", **LINEAR, norm="l2") as session:
        first = session.ask(tastes(1))
        assert first.updated
        later = session.ask_all([tastes(number) for number in range(3, 13, 2)])
        assert sum(answer.updated for answer in later) <= 2
        flat = len(graph.rows) / USERS**2
        for number, answer in zip(range(3, 13, 2), later, strict=True):
            truth = tastes(number).value(graph)
            blind = flat * float(np.sum(tastes(number).C))
            assert abs(answer.value - truth) < 0.7 * abs(blind - truth)
        assert session.hypothesis.shape == (USERS, USERS)


def test_counts_are_the_exact_ones_rounded_down_and_change_by_the_sensitivity():
    for kind in KINDS:
        graph = graph_of(kind)
        grid, universe = Grid.of(graph), Universe.of(graph)
        counting = CountUnits.of(grid, linear=True)
        assert 2**24 <= counting.sensitivity <= 2**25
        assert counting.per_pair <= counting.sensitivity < counting.per_pair + 1
        for query in linear_queries(graph):
            asked = QueryCount.of(query, universe, grid)
            exact = linear_count(query, graph, grid)
            assert counting.count(exact, asked) == exact // counting.divisor
            count = counting.count(exact, asked) * counting.unit
            told = rescaled_answer(
                Answer(value=count, interval=(count, count), confidence=1), asked, counting
            )
            low, high = told.interval
            truth = query.value(graph)
            assert low - 1e-9 <= truth <= high + 1e-9
            # A change of one weight by the largest one, up or down, and what lies between.
            for change in (2**30 * grid.sensitivity, -(2**30) * grid.sensitivity, 12345, -1):
                moved = counting.count(exact + change, asked) - counting.count(exact, asked)
                assert abs(moved) <= counting.sensitivity
        cut = gc.CutQuery([0, 1], [2, 3])
        asked = QueryCount.of(cut, universe, grid)
        truth = counting.count(grid.count(cut, graph), asked)
        off = asked.deficit + counting.unit + 1e-9
        assert abs(truth * counting.unit - cut.value(graph)) <= off


def test_the_cost_is_of_two_monotone_steps():
    """Signed answers change either way: a session has half of the noise's budget of one of cuts."""
    universe, given = Universe(20, 20), {"epsilon": 1.0, "delta": 1e-6, "queries": 100}
    signed = made(universe, norm="l2", linear=True, **given)
    assert signed.steps == 2
    assert signed.cost.epsilon <= 1.0
    rho = signed.calibration.cost.rho
    assert 4 * rho <= zcdp_rho(epsilon=1.0, delta=1e-6)
    assert signed.cost.rho == pytest.approx(4 * rho)
    cuts = made(universe, norm="l2", **given)
    assert cuts.steps == 1
    assert 1.1 < signed.expected_error(200.0) / cuts.expected_error(200.0) < 2.1
    assert made(universe, **LINEAR | {"privacy_unit": "edge:3"}).steps == 6


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
            *ends, other[ends], left=dense.shape[0], right=dense.shape[1], max_weight=5.0
        )
        counting = CountUnits.of(grid, linear=True)
        for query in linear_queries(graph, int(rng.integers(100))):
            first, last = (linear_count(query, each, grid) for each in (graph, moved))
            between = first + max(0, last - first)
            steps = [each // counting.divisor for each in (first, between, last)]
            assert 0 <= steps[1] - steps[0] <= counting.sensitivity
            assert 0 <= steps[1] - steps[2] <= counting.sensitivity
    assert counting.per_pair == Fraction(2**30 * grid.largest, counting.divisor)


@pytest.mark.thorough
def test_low_rank_ratings_are_answered_within_less_with_schatten():
    """Before anything is spent the error is that of l2; what is bought makes it smaller."""
    n = 800
    users = np.arange(n) % 2
    rows, columns = np.nonzero(users[:, None] == users)
    graph = gc.BipartiteGraph(rows, columns, left=n, right=n)
    bounds = {}
    terms = {"linear": True, "max_spectral_norm": 58.0, "epsilon": 4.0, "delta": 1e-6}
    for norm in ("l2", "schatten", "auto"):
        mechanism = made(Universe.of(graph), norm=norm, queries=10_000, **terms)
        state = mechanism.start(graph, SeededEntropy(2))
        bounds[norm] = mechanism.error_bound(state)
        if norm != "l2":
            assert mechanism.norm_of(state).startswith("schatten-1.")
    assert bounds["schatten"] < 0.9 * bounds["l2"]
    assert bounds["auto"] <= 1.02 * bounds["schatten"]


def test_what_counts_is_the_largest_singular_value_for_a_largest_coefficient_of_1(tmp_path):
    terms = LINEAR | {"norm": "schatten", "max_spectral_norm": 9.0}
    with session_of(ratings(), store=tmp_path / "a.db", **terms) as session:
        assert session.ask(gc.Query.matrix(np.zeros((USERS, USERS)))).interval == (0.0, 0.0)
        assert session.remaining.queries == 60
        assert session.ask(gc.Query.matrix(1000 * np.eye(USERS))).guaranteed


def test_auto_takes_what_guarantees_least_of_the_methods_for_all_linear_queries():
    universe = Universe(2000, 2000)
    terms = {"epsilon": 1.0, "delta": 1e-6, "linear": True, "expected_edges": 20_000}
    few = SessionTerms.of(queries=100, **terms)
    assert few.resolved(universe, Grid()).method.name == "gaussian"
    many = SessionTerms.of(queries=10**9, max_spectral_norm=90.0, **terms)
    found = many.resolved(universe, Grid())
    assert found.method.name == "mirror-descent"
    assert found.workload.max_spectral_norm == 90.0


def test_a_session_that_is_worse_than_answering_0_says_so_before_it_begins(tmp_path):
    universe, weak = Universe(USERS, USERS), LINEAR | {"norm": "l2", "epsilon": 1.0}
    for terms, edges in ((weak, 30.0), (weak | {"epsilon": 45.0}, 790.0)):
        terms = expecting(SessionTerms.of(**terms), edges)
        worse = terms.expected_error(universe, Grid()) > edges
        assert worse is (edges == 30.0)
        warning = terms.warning(universe, Grid()) or ""
        assert ("to answer 0 is within 30" in warning) is worse
    opened = {"store": tmp_path / "a.db", "expected_edges": 30}
    with pytest.warns(AccuracyWarning, match="to answer 0"):
        session_of(ratings(), **opened, **weak).close()
