"""Sessions that hide all edges of a vertex."""

import math
from fractions import Fraction

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import BudgetError, CutQuery, ParameterError, PrivacyUnit
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.plugins import Universe
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.privacy.sparse_vector import OneSidedPair
from graphcuts_dp.session.counts import EdgeCounter
from graphcuts_dp.session.session import session_of
from graphcuts_dp.session.terms import SessionTerms
from scripts.figures.random_graphs import planted_partition

N = 300
GRAPH = planted_partition(N, 3, 0.2, 0.05, seed=2)
TERMS = {"epsilon": 5.0, "delta": 1e-6, "queries": 6, "privacy_unit": "vertex"}
QUERIES = [
    CutQuery(range(100)),
    CutQuery(range(50), range(30, 200)),
    CutQuery([4]),
    CutQuery(range(N), range(N)),
]


def mechanism(method, grid, **options):
    return SessionTerms.of(
        method=method,
        epsilon=1.0,
        delta=1e-6,
        queries=10,
        **options,
        privacy_unit=PrivacyUnit.vertex(max_degree=grid.sensitivity),
    ).mechanism(Universe(N), grid)


def test_a_session_keeps_its_bound_and_whom_it_protects(tmp_path):
    store, terms = tmp_path / "mail.db", TERMS | {"method": "laplace", "privacy_unit": "vertex:5"}
    with session_of(GRAPH, store=store, **terms) as session:
        assert session.guarantee.privacy_unit == "1 vertex"
        assert session.parameters["privacy_unit"] == "vertex:max-degree=5"
        assert "degree bound" in session.guarantee.public
    with pytest.raises(ParameterError, match="max-degree=5"):
        session_of(GRAPH, store=store, privacy_unit="vertex:6")
    with pytest.raises(BudgetError, match="is 1 vertex, that of this use"):
        gc.open_session(GRAPH, store=store, name="other", epsilon=1.0, queries=1)


def test_all_counts_are_bounded_ones():
    grid = Grid.of_vertices(GRAPH, 4)
    counts = EdgeCounter(GRAPH, grid).counts(QUERIES)
    plain = EdgeCounter(GRAPH, Grid.of(GRAPH)).counts(QUERIES)
    assert counts == [grid.count(query, GRAPH) for query in QUERIES]
    assert all(c < p for c, p in zip(counts, plain, strict=True))
    assert counts[2] == 4


def test_noise_on_answers_is_made_for_the_bound():
    for bound in (5, 50):
        grid = Grid.of_vertices(GRAPH, bound)
        assert mechanism("laplace", grid).noise.parameter == Fraction(1) / (10 * bound)
        gaussian = mechanism("gaussian", grid)
        one = SessionTerms.of(method="gaussian", epsilon=1.0, delta=1e-6, queries=10).mechanism(
            Universe(N), Grid()
        )
        assert gaussian.noise.parameter == one.noise.parameter * bound**2
        assert gaussian.cost.epsilon == 1.0


@pytest.mark.parametrize("method", ["frieze-kannan", "multiplicative-weights"])
def test_tests_are_paid_for_both_steps(method):
    made = mechanism(method, Grid.of_vertices(GRAPH, 5))
    rho = zcdp_rho(epsilon=1.0, delta=1e-6)
    assert made.steps == 2
    assert made.calibration.cost.rho == pytest.approx(rho / 4, rel=1e-4)
    assert made.cost.rho <= rho
    assert made.cost.epsilon <= 1.0
    tuning = made._tune(2000.0, None)
    assert tuning.cost(5, delta=1e-6).rho <= made.calibration.cost.rho * (1 + 1e-12)
    # The tolerance is chosen in units of the bound, and the construction works in edges.
    one = SessionTerms.of(method=method, epsilon=1.0, delta=1e-6, queries=10).mechanism(
        Universe(N), Grid()
    )
    assert made.expected_error(2000.0) > one.expected_error(2000.0)


def one_sided_law(truths, thresholds, r1, r2, cut=400):
    """P(the upper instance fires first at each test), and at none; R is cut at 400."""
    R = np.arange(cut)
    weight = (1 - math.exp(-r1)) * np.exp(-r1 * R)
    silent, found = np.ones(cut), []
    for q, A in zip(truths, thresholds, strict=True):
        fires = np.exp(-r2 * np.maximum(A + R - q, 0))
        found.append((weight * silent * fires).sum())
        silent = silent * (1 - fires)
    return np.array([*found, (weight * silent).sum()])


def test_a_test_of_answers_that_change_both_ways_keeps_what_is_proven():
    """All ways in which a vertex can change three bounded cuts, through the graph without it."""
    s, r1, r2 = 2, 0.3, 0.2
    test = OneSidedPair(Fraction(r1), Fraction(r2), Fraction(0))
    one_step = test.cost(s, updates=0, delta=0.0).pure / 2  # of one instance: s (r1 + r2)
    a, b = s * r1, s * r2
    least, largest, spans = 0.0, 0.0, 0.0
    thresholds = (3, 3, 5)
    low = np.array([2, 4, 3])
    ups = np.stack(np.meshgrid(*[[0, s]] * 3), -1).reshape(-1, 3)
    laws = np.log([one_sided_law(low + up, thresholds, r1, r2) for up in ups])
    for one in laws:
        loss = one - laws
        largest = max(largest, np.abs(loss).max())
        spans = max(spans, (loss.max(1) - loss.min(1)).max())
        least = max(least, np.abs(one - laws[0]).max())
    assert least <= a + b == pytest.approx(float(one_step))
    assert a + b < largest <= a + 2 * b + 1e-9  # one step's cost would not do
    assert spans <= 2 * (a + 2 * b) + 1e-9


def test_a_grid_for_others_is_refused():
    with pytest.raises(ParameterError, match="vertex"):
        SessionTerms.of(method="laplace", epsilon=1.0, queries=1).mechanism(
            Universe(N), Grid.of_vertices(GRAPH, 5)
        )


def test_weights_without_a_cap_are_answered(tmp_path):
    weights = np.random.default_rng(0).exponential(9.0, len(GRAPH.rows))
    graph = gc.Graph(GRAPH.rows, GRAPH.columns, weights, vertices=GRAPH.vertices)
    with session_of(
        graph, store=tmp_path / "m.db", seed=1, **TERMS | {"privacy_unit": "vertex:10000"}
    ) as session:
        answer = session.ask(range(100))
    truth = CutQuery(range(100)).value(graph)  # no degree exceeds the bound
    assert answer.interval[0] <= truth <= answer.interval[1]
