"""Answers from entries, degrees and total together: values, laws, intervals, shrunk estimates."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from helpers import random_graph

from graphcuts_dp.errors import GraphError, QueryError
from graphcuts_dp.estimate.answers import Sizes, log_cuts, shrunk_towards
from graphcuts_dp.estimate.least_squares import PairTypes, best_combination
from graphcuts_dp.graph.adjacency import BipartiteGraph
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Layout
from graphcuts_dp.privacy.distributions import TwoSidedGeometric
from graphcuts_dp.privacy.noise import SeededEntropy
from graphcuts_dp.release.measuring import measure
from graphcuts_dp.release.releases import release_graph
from graphcuts_dp.release.shares import Response
from graphcuts_dp.results.release import Release

ARCS = "arcs on 6 vertices"
SHAPES = [9, (5, 6), ARCS]
MECHANISMS = ["response", "degrees+response", "auto"]
KINDS = [("binary", None), ("laplace", 1.0), ("discrete-laplace", 3.0), ("laplace", 0.3)]


def share_of(S, T, *, symmetric):
    layout = Layout((len(S), len(T)), symmetric=symmetric)
    return log_cuts(Sizes.of(S, T, one_set=symmetric), layout)


def graph_of(shape, cap=None, seed=0, density=0.4):
    options = {} if cap is None else {"largest": cap, "weight_cap": cap, "hide_change": None}
    if shape == ARCS:
        return random_graph(6, seed, density=density, directed=True, **options)
    return random_graph(shape, seed, density=density, **options)


def drawn(graph, how, *, noise="binary", epsilon=2.0, source=None):
    source = source or SeededEntropy(1)
    response = Response(how, degree_share=None if how == "response" else 0.4)
    bought = measure(graph, epsilon=epsilon, noise=noise, source=source, response=response)
    return Release(measurements=bought)


def observations(release):
    """Every number that was measured: its pattern over the pairs, its value, its variance."""
    z, noisy = release.noisy.estimate(), release.noisy
    rows, columns = noisy.shape
    if noisy.symmetric:
        pairs = list(itertools.combinations(range(rows), 2))
    else:
        every = itertools.product(range(rows), range(columns))
        pairs = [(i, j) for i, j in every if i != j or not noisy.directed]
    patterns, values = [np.eye(len(pairs))], [np.array([z[i, j] for i, j in pairs])]
    variances = [np.full(len(pairs), noisy.distribution.standard_deviation**2)]
    degrees, total = release.degrees, release.total
    if degrees is not None:
        law = TwoSidedGeometric(float(degrees.rate), degrees.unit)
        at_rows = [[i == v or (noisy.symmetric and j == v) for i, j in pairs] for v in range(rows)]
        at_columns = [[j == v for _, j in pairs] for v in range(columns)]
        sides = [(at_rows, degrees.values[0])]
        sides += [] if noisy.symmetric else [(at_columns, degrees.values[1])]
        for pattern, given in sides:
            patterns.append(np.array(pattern, dtype=float))
            values.append(given)
            variances.append(np.full(len(given), law.variance))
    if total is not None:
        patterns.append(np.ones((1, len(pairs))))
        twice = 2 if noisy.symmetric else 1
        values.append([total.total / twice])
        variances.append([total.law.variance / twice**2])
    return pairs, np.vstack(patterns), np.concatenate(values), np.concatenate(variances)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("how", MECHANISMS)
@pytest.mark.parametrize(("noise", "cap"), KINDS)
def test_the_value_is_the_best_of_all_unbiased_ones(shape, how, noise, cap):
    release = drawn(graph_of(shape, cap), how, noise=noise)
    pairs, patterns, values, variances = observations(release)
    inverse = np.linalg.inv(patterns.T @ (patterns / variances[:, None]))
    best = inverse @ (patterns.T @ (values / variances))
    rng = np.random.default_rng(3)
    rows, columns = release.noisy.shape
    for _ in range(12):
        S, T = rng.random(rows) < 0.5, rng.random(columns) < 0.5
        crossing = [
            (S[i] and T[j]) or (release.noisy.symmetric and S[j] and T[i]) for i, j in pairs
        ]
        wanted = np.array(crossing, dtype=float)
        answer = release.answer(S, T)
        assert answer.value == pytest.approx(wanted @ best, abs=1e-6)
        estimate = release.estimator.estimate(S, T)
        assert estimate.noise.variance == pytest.approx(wanted @ inverse @ wanted, abs=1e-9)


@pytest.mark.parametrize("variances", [(1.0, 40.0, 0.5, 12.0), (1e-9,) * 4, (1e9, 1e9, 1e-9, 5.0)])
def test_sums_that_are_all_but_exact_or_tell_nothing_are_used_for_what_they_are(variances):
    """The quadratic that is to be minimised, as least squares by an orthogonal factorisation."""
    rng, entry = np.random.default_rng(5), 1.7
    counts = rng.integers(1, 40, 6)
    query, patterns = rng.integers(0, 2, 6).astype(float), rng.random((6, 4))
    left, k = best_combination(counts, query, patterns, np.array(variances), entry=entry)
    roots = np.sqrt(entry * counts)
    system = np.vstack([roots[:, None] * patterns, np.diag(np.sqrt(variances))])
    wanted = np.concatenate([roots * query, np.zeros(4)])
    best = np.linalg.lstsq(system, wanted)[0]
    own = np.concatenate([roots * left, -np.sqrt(variances) * k])
    assert left == pytest.approx(query - patterns @ k)
    assert own @ own == pytest.approx(((wanted - system @ best) ** 2).sum(), rel=1e-5)


def test_the_closed_form_for_degrees():
    """V = s^2 sum q^2 - s^4 w' M^-1 w, and at most four numbers k."""
    n, s2, t2 = 30, 0.9, 40.0
    rng = np.random.default_rng(1)
    S, T = rng.random(n) < 0.5, rng.random(n) < 0.3
    types = PairTypes.of(S, T, Layout((n, n), symmetric=True))
    entries, k = best_combination(
        types.counts, types.joined, types.ends, t2 * types.sizes, entry=s2
    )
    crossing = np.logical_or(np.outer(S, T), np.outer(T, S)) & ~np.eye(n, dtype=bool)
    w = crossing.sum(axis=1)
    M = (s2 * (n - 2) + t2) * np.eye(n) + s2 * np.ones((n, n))
    assert k[types.cell] == pytest.approx(s2 * np.linalg.solve(M, w))
    variance = s2 * types.counts @ entries**2 + t2 * types.sizes @ k**2
    expected = s2 * crossing.sum() / 2 - s2**2 * w @ np.linalg.solve(M, w)
    assert variance == pytest.approx(expected)
    assert k.shape == (4,)


RUNS = 200
ALARM = 1e-6


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("noise", "cap"), KINDS[:3])
@pytest.mark.parametrize("how", ["degrees+response", "auto"])
def test_intervals_hold_as_often_as_they_say(shape, how, noise, cap):
    """Single cuts, a sparse and a dense graph; all cuts of a list at once with `simultaneous`.

    Each cut misses at most with the chance that it states; counts beyond the binomial quantile
    have probability below 1e-6.
    """
    queries = [CutQuery([0]), CutQuery([0, 1, 2, 3], [2, 3, 4]), CutQuery([1, 4], [0, 5])]
    source = SeededEntropy(11)
    for density in (0.1, 0.9):
        graph = graph_of(shape, cap, density=density)
        whole = np.floor(graph.weights) if noise == "discrete-laplace" else graph.weights
        truth = [
            query.value(_with_weights(graph, whole)) if noise == "discrete-laplace"
            else query.value(graph) for query in queries
        ]  # fmt: skip
        misses, at_once, errors = np.zeros(len(queries)), 0, []
        for _ in range(RUNS // 2):
            release = drawn(graph, how, noise=noise, source=source)
            found = release.answer_all(queries, confidence=0.8)
            every = release.answer_all(queries, confidence=0.5, simultaneous=True)
            misses += [not a.interval[0] <= t <= a.interval[1] for a, t in zip(found, truth)]  # noqa: B905
            at_once += any(not a.interval[0] <= t <= a.interval[1] for a, t in zip(every, truth))  # noqa: B905
            errors.append([a.value - t for a, t in zip(found, truth)])  # noqa: B905
        assert misses.max() <= scipy.stats.binom.isf(ALARM, RUNS // 2, 0.2)
        assert at_once <= scipy.stats.binom.isf(ALARM, RUNS // 2, 0.5)
        means, spreads = np.mean(errors, axis=0), np.std(errors, axis=0)
        assert (np.abs(means) <= 5.5 * spreads / math.sqrt(RUNS // 2)).all()
        claimed = [release.estimator.estimate(*_masks(q, release)).noise.deviation for q in queries]
        # Unit kurtosis up to 6: a variance of 100 runs is within a half, but for a chance of 1e-6.
        assert np.allclose(spreads, claimed, rtol=0.6)


def _with_weights(graph, weights):
    if not isinstance(graph, BipartiteGraph):
        return type(graph)(graph.rows, graph.columns, weights, vertices=graph.n, hide_change=1)
    return BipartiteGraph(
        graph.rows, graph.columns, weights, left=graph.shape[0], right=graph.shape[1], hide_change=1
    )


def _masks(query, release):
    return query.masks(release.noisy.space)


def test_degrees_make_single_vertices_three_times_better():
    """.35 of the entries' deviation, which all answers had before; and never more."""
    graph = random_graph(300, 1, density=0.1)
    release = drawn(graph, "degrees+response", epsilon=1.0)
    sd = release.noisy.distribution.standard_deviation
    first = np.arange(300) == 0
    assert release.estimator.estimate(first, ~first).noise.deviation < 0.35 * sd * math.sqrt(299)
    rng = np.random.default_rng(0)
    for size in (1, 17, 100, 150, 300):
        S, T = (np.isin(np.arange(300), rng.choice(300, size, replace=False)) for _ in range(2))
        pairs = int(CutQuery(S, T).norm_squared(release.noisy.left))
        assert release.estimator.estimate(S, T).noise.deviation <= sd * math.sqrt(pairs)


@pytest.mark.parametrize("how", MECHANISMS)
def test_simultaneous_intervals_are_never_wider_than_those_of_the_entries(how):
    """Chernoff's bound on the entries with 4^n cuts was what there was."""
    graph = random_graph(40, 2)
    release = drawn(graph, how, epsilon=1.0)
    rng = np.random.default_rng(6)
    for _ in range(10):
        S, T = (rng.random(40) < share for share in rng.random(2))
        logs = math.log(20) + share_of(S, T, symmetric=True)
        estimate = release.estimator.estimate_for_all(S, T, logs)
        pairs = int(CutQuery(S, T).norm_squared(release.noisy.left))
        before = release.noisy.distribution.radius(
            pairs, log_failures=math.log(20) + 80 * math.log(2)
        )
        assert estimate.radius(logs) <= 1.01 * before


@pytest.mark.parametrize(("rows", "columns"), [(3, None), (4, None), (2, 3), (1, 1)])
def test_shares_of_all_cuts_add_up_to_one_at_most(rows, columns):
    """Every cut once, by the set of its pairs: the union bound behind `simultaneous`."""
    plain = columns is None
    shares = {}
    sides = [itertools.product([False, True], repeat=n) for n in (rows, columns or rows)]
    for S, T in itertools.product(*map(list, sides)):
        S, T = np.array(S), np.array(T)
        key = (
            frozenset((S.tobytes(), T.tobytes())) if plain else (S.tobytes(), T.tobytes())
        )  # (S, T) and (T, S) are one cut
        share = math.exp(-share_of(S, T, symmetric=plain))
        assert shares.setdefault(key, share) == pytest.approx(share)
    assert sum(shares.values()) <= 1 + 1e-9
    assert sum(shares.values()) > 0.5  # and little is given away


def test_what_rounding_takes_is_in_the_interval():
    """Weights just below a step of the fine grid are rounded down by nearly all of it."""
    graph = random_graph(6, 0, density=1.0, largest=1.0, weight_cap=1.0, hide_change=None)
    for how in MECHANISMS:
        release = drawn(graph, how, noise="laplace", epsilon=1.0)
        estimate = release.estimator.estimate(np.arange(6) < 3, np.arange(6) >= 3)
        grids = [release.noisy.distribution.unit]
        grids += [release.degrees.unit] if release.degrees is not None else []
        assert estimate.slack >= 9 * min(grids)
        assert estimate.slack < 100 * max(grids) + 1e-9


# Shrunk estimates.


def test_shrunk_estimates_follow_the_better_side():
    rng = np.random.default_rng(0)
    deviations = rng.uniform(5, 10, 300)
    truth = rng.normal(0, 100, 300)
    unbiased = truth + deviations * rng.normal(size=300)
    errors = {}
    for ratio in (0.0, 0.7, 30.0):
        synthetic = truth + ratio * deviations * rng.normal(size=300)
        found = shrunk_towards(synthetic, unbiased, deviations)
        both = [np.sqrt((((x - truth) / deviations) ** 2).mean()) for x in (synthetic, unbiased)]
        errors[ratio] = np.sqrt((((found - truth) / deviations) ** 2).mean()), *both
    assert errors[0.0][0] < 0.2  # where the unbiased answers have 1
    assert errors[0.7][0] < 0.95 * min(errors[0.7][1:])
    assert errors[30.0][0] < 1.05 * errors[30.0][2]


def test_a_mixed_list_keeps_what_contradicts_the_synthetic_graph():
    """Four fifths of the synthetic answers are right, the others far off."""
    rng = np.random.default_rng(1)
    deviations = rng.uniform(5, 10, 300)
    truth = rng.normal(0, 100, 300)
    far = np.arange(300) % 5 == 0
    unbiased = truth + deviations * rng.normal(size=300)
    synthetic = truth + np.where(far, 20, 0) * deviations * rng.normal(size=300)
    errors = (shrunk_towards(synthetic, unbiased, deviations) - truth) / deviations
    assert np.sqrt((errors[~far] ** 2).mean()) < 0.3  # where the unbiased answers have 1
    assert np.sqrt((errors[far] ** 2).mean()) < 1.3  # and the synthetic ones 20


def test_one_answer_is_shrunk_by_itself():
    for residual, kept in ((0.0, (0, 1)), (0.5, (0, 0.3)), (30.0, (0.95, 1))):
        found = shrunk_towards(np.array([100.0]), np.array([100.0 + residual]), np.array([1.0]))[0]
        assert 100 + kept[0] * residual <= found <= 100 + kept[1] * residual
    exact = shrunk_towards(np.array([7.0]), np.array([3.0]), np.array([0.0]))
    assert exact[0] == 3.0  # no pairs, no noise
    assert len(shrunk_towards(np.empty(0), np.empty(0), np.empty(0))) == 0


def test_shrunk_answers_are_labelled_and_keep_the_proven_interval():
    graph = random_graph(30, 4)
    release = release_graph(graph, epsilon=1.0, seed=0)
    queries = [CutQuery([i]) for i in range(30)]
    plain, shrunk = (release.answer_all(queries, estimate=e) for e in ("unbiased", "shrunk"))
    assert [a.interval for a in plain] == [a.interval for a in shrunk]
    assert {a.estimate for a in plain} == {"unbiased"}
    assert {a.estimate for a in shrunk} == {"shrunk"}
    assert all("estimate, no guarantee" in str(a) for a in shrunk)
    assert not any("estimate, no guarantee" in str(a) for a in plain)
    assert all(0 <= a.value <= 29 for a in shrunk)
    synthetic = [query.value(release.graph) for query in queries]
    moved = [abs(s.value - y) <= abs(p.value - y) + 1e-9
             for p, s, y in zip(plain, shrunk, synthetic, strict=True)]  # fmt: skip
    assert all(moved)
    alone = release.answer(queries[0], estimate="shrunk")
    assert alone.value == release.answer_all(queries[:1], estimate="shrunk")[0].value
    assert release.answer(queries[0]) == plain[0]


def test_shrunk_estimates_that_cannot_be():
    made = release_graph(random_graph(9, 0), epsilon=9.0, fit="none", seed=0)
    with pytest.raises(GraphError, match="no synthetic graph"):
        made.answer([0], estimate="shrunk")
    with pytest.raises(QueryError, match="unknown estimate 'best'; choose one of unbiased, shrunk"):
        made.answer([0], estimate="best")
    with pytest.raises(TypeError):
        made.answer([0], kind="shrunk")
