"""Sparse releases whole: budget, answers, files, options, and how right they are."""

import hashlib
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import partial

import duckdb
import numpy as np
import polars as pl
import pytest

import graphcuts_dp as gc
from graphcuts_dp import GraphError, ParameterError, QueryError
from graphcuts_dp.estimate.kept_edges import KeptEdges
from graphcuts_dp.estimate.measurement import CellSums, Degrees, weight_classes
from graphcuts_dp.measure.statistics import measure_weight_counts
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy.distributions import LaplaceNoise
from graphcuts_dp.release import graphs
from graphcuts_dp.release.graphs import takes_sparse
from graphcuts_dp.synth.budget_plans import COUNTS_SHARE

N = 900


def made(kind="plain", mean=25.0, degree=24, seed=0, inside=0.75, cap=None):
    """Three groups, most weight inside; weights lognormal, or none with mean=0."""
    rng = np.random.default_rng(seed)
    m = N * degree // 2
    codes = rng.integers(0, 3, N)
    activity = rng.lognormal(0, 0.5, N)
    rows = rng.choice(N, m, p=activity / activity.sum())
    columns = np.empty(m, dtype=int)
    for group in range(3):
        members = codes == group
        share = activity * members
        of = codes[rows] == group
        columns[of] = rng.choice(N, of.sum(), p=share / share.sum())
    stray = rng.random(m) > inside
    columns[stray] = rng.choice(N, stray.sum(), p=activity / activity.sum())
    weights, options = None, {}
    if mean:
        weights = np.maximum(1, np.rint(rng.lognormal(np.log(mean) - 0.5, 1, m)))
        options = {"max_weight_change": 1} if cap is None else {"max_weight": cap}
        weights = weights if cap is None else np.minimum(weights, cap)
    if kind == "bipartite":
        return gc.BipartiteGraph(rows, columns, weights, left=N, right=N, **options), codes
    graphs = {"plain": gc.Graph, "directed": gc.DirectedGraph}
    return graphs[kind](rows, columns, weights, vertices=N, **options), codes


def teams(graph, codes):
    levels = {"team": codes.tolist()}
    if isinstance(graph, gc.BipartiteGraph):
        return gc.Groups(graph.left, levels), gc.Groups(graph.right, levels)
    return gc.Groups(graph.vertices, levels)


GRAPH, CODES = made()
GROUPS = teams(GRAPH, CODES)


def released(graph=GRAPH, **options):
    return gc.release_graph(graph, **{"epsilon": 1.0, "mechanism": "sparse", "seed": 1} | options)


@pytest.fixture(scope="module")
def with_groups():
    return released(groups=GROUPS)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("kind", "epsilon"), [("plain", 3.0), ("directed", 0.1), ("bipartite", 0.3)]
)
def test_no_more_is_spent_than_epsilon_and_progress_is_told(kind, epsilon):
    told = []
    graph, _ = made(kind)
    release = released(graph, epsilon=epsilon, progress=lambda done, _: told.append(done))
    spent = sum(value.epsilon for value in release.measurements.values)
    assert Fraction(epsilon) * Fraction(4, 5) <= spent <= Fraction(epsilon)
    assert release.guarantee.epsilon <= epsilon
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert len(told) >= 5


def test_what_is_measured_is_told(with_groups):
    names = [value.name for value in with_groups.measurements.values]
    assert names == ["weights", "kept edges", "groups", "degrees"]
    assert [name for name, _ in with_groups.guarantee.spent] == names
    assert sum(value.epsilon for value in with_groups.measurements.values) == 1
    assert (with_groups.guarantee.epsilon, with_groups.guarantee.delta) == (1, 0)
    assert "groups" in str(with_groups.guarantee)
    assert with_groups.fit.method == "sparse"


def test_classes_of_weight_cost_what_they_say():
    """L1 sensitivity over all changes of one weight by 1, by brute force."""
    distribution = LaplaceNoise(Fraction(1), None, -3)
    lower = weight_classes(1 / float(distribution.rate), distribution.most_steps)

    def place(weight):
        return int(np.searchsorted(lower, int(weight * 8), side="right"))

    moved = [
        2 * (place(w) != place(w + c)) - ((place(w) == 0) != (place(w + c) == 0))
        for w in np.arange(0, 60, 0.125)
        for c in (0.125, 0.5, 1.0)
    ]
    assert max(moved) == 2
    graph = gc.Graph([0, 1], [1, 2], [3.5, 40], vertices=5, max_weight_change=1)
    ninth = {"epsilon": Fraction(1, 9), "source": SeededEntropy(1)}
    counts = measure_weight_counts(graph, distribution, **ninth)
    assert counts.rate * max(moved) == counts.epsilon == Fraction(1, 9)
    simple = gc.Graph([0, 1], [1, 2], vertices=5)
    counts = measure_weight_counts(simple, LaplaceNoise(Fraction(1), 1.0), **ninth)
    assert len(counts.steps[0]) == 1
    assert counts.rate == counts.epsilon == Fraction(1, 9)


def cuts(rng, count, space=GRAPH.space):
    sides = (space, space) if not isinstance(space, tuple) else space
    for number in range(count):
        share = (0.5, 0.1, 0.9)[number % 3]
        yield gc.CutQuery(*(rng.random(len(side)) < share for side in sides))


def test_unions_of_groups_and_vertices_are_measured(with_groups):
    queries = [
        gc.CutQuery(CODES == 0),
        gc.CutQuery(CODES == 0, CODES == 1),
        gc.CutQuery(CODES != 2, CODES != 2),
        gc.CutQuery(CODES < 9, CODES < 9),
        gc.CutQuery([5]),
        gc.CutQuery(np.arange(N) != 5),
        gc.CutQuery([5], CODES < 9),
    ]
    noise = {value.name: value for value in with_groups.measurements.values}
    widest = 20 / float(min(each.epsilon for each in noise.values()))
    for query in queries:
        found, true = with_groups.answer(query), query.value(GRAPH)
        assert found.kind == "unbiased"
        assert 0 < found.typical_error < widest
        # Intervals of a fixed seed; each misses with 1e-9.
        low, high = with_groups.answer(query, confidence=1 - 1e-9).interval
        assert low <= true <= high
        assert abs(found.value - true) < widest
        model = with_groups.answer(query, estimate="model")
        assert model.kind == "model"
        assert model.typical_error > 0
        assert model.interval == found.interval


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("kind", ["plain", "directed", "bipartite"])
def test_bounds_hold_for_all_cuts_that_were_not_measured(kind):
    graph, codes = made(kind)
    release = released(graph, groups=teams(graph, codes))
    rng = np.random.default_rng(3)
    queries = list(cuts(rng, 30, graph.space))
    queries += [gc.CutQuery(codes != 1, (codes != 1) | (rng.random(N) < 0.5)) for _ in range(5)]
    lower = 0
    for query, found in zip(queries, release.answer_all(queries, confidence=1 - 1e-9), strict=True):
        assert found.kind == "model"
        low, high = found.interval
        assert low <= query.value(graph) <= high
        lower += low > 0
        assert "typical error" in str(found)
        assert "no guarantee" in str(found)
    assert lower >= 5  # cells within a cut are a lower bound
    for query in (gc.CutQuery([], []), gc.CutQuery([1], [])):
        assert release.answer(query).value == 0
    if kind != "plain":  # rows and all columns are sums of degrees
        few, everything = np.arange(N) < 40, np.ones(N, dtype=bool)
        for query in (gc.CutQuery(few, everything), gc.CutQuery(everything, few)):
            found = release.answer(query, confidence=1 - 1e-9)
            assert found.kind == "unbiased"
            assert found.interval[0] <= query.value(graph) <= found.interval[1]


def test_typical_errors_are_typical(with_groups):
    """Half of 300 cuts err by less than the typical error, and hardly any by five times it."""
    queries = list(cuts(np.random.default_rng(8), 300))
    answers = with_groups.answer_all(queries)
    errors = np.abs([q.value(GRAPH) - a.value for q, a in zip(queries, answers, strict=True)])
    ratios = errors / [a.typical_error for a in answers]
    assert np.median(ratios) < 1
    assert (ratios > 5).mean() < 0.02
    assert np.median(ratios) > 0.1


def test_it_is_nearer_to_the_truth_than_degrees_alone(with_groups):
    degrees = with_groups.degrees.values[0]
    independent = np.outer(degrees, degrees) / degrees.sum()
    dense, rng = GRAPH.dense(), np.random.default_rng(9)
    ours, theirs = [], []
    for _ in range(40):
        few = rng.permutation(N)[:80]
        S, T = few[:40], few[40:]
        true = dense[np.ix_(S, T)].sum()
        ours.append(abs(with_groups.answer(S.tolist(), T.tolist()).value - true))
        theirs.append(abs(independent[np.ix_(S, T)].sum() - true))
    assert np.mean(ours) < 0.6 * np.mean(theirs)


def test_the_synthetic_graph_is_like_the_graph(with_groups):
    graph = with_groups.graph
    assert "not private" in graph.note
    assert graph.weights.sum() == pytest.approx(GRAPH.weights.sum(), rel=0.02)
    assert len(graph.rows) == pytest.approx(len(GRAPH.rows), rel=0.15)
    for group in range(3):
        query = gc.CutQuery(group == CODES, group == CODES)
        assert query.value(graph) == pytest.approx(query.value(GRAPH), rel=0.05)
    errors = [
        abs(with_groups.answer(q, estimate="model").value - q.value(graph))
        for q in cuts(np.random.default_rng(4), 30)
    ]
    assert np.mean(errors) < 0.02 * GRAPH.weights.sum()


def test_weights_that_drown_leave_degrees_alone():
    graph, codes = made(mean=0)
    release = released(graph, groups=teams(graph, codes))
    assert release.measurements.kept is None
    degrees = release.measurements.find(Degrees)
    assert degrees.epsilon > Fraction(9, 10)
    assert not release.graph.weighted
    assert len(release.graph.rows) == pytest.approx(len(graph.rows), rel=0.05)


def test_large_epsilon_keeps_edges_of_graphs_without_weights():
    graph, _ = made(mean=0)
    release = released(graph, epsilon=14.0)
    kept = release.measurements.kept
    assert kept is not None
    found = graph.dense()[kept.rows, kept.columns].sum()
    assert found > 0.5 * len(graph.rows)


@pytest.mark.thorough
def test_communities_are_found_and_measured():
    graph, codes = made(mean=60, degree=40, inside=0.9)
    release = released(graph, epsilon=2.0)
    groups = release.measurements.find(CellSums)
    assert groups is not None
    assert groups.name == "found groups"
    table = np.array(
        [np.bincount(groups.map.members[0][codes == c], minlength=3) for c in range(3)]
    )
    assert table.max(axis=1).sum() > 0.9 * N
    assert "the groups" not in release.guarantee.public


def test_a_cap_is_kept():
    graph, _ = made(cap=5.0)
    release = released(graph, epsilon=20.0)
    assert release.graph.max_weight == 5
    assert release.graph.weights.max() <= 5
    kept = release.measurements.kept
    assert kept.distribution.max_weight == 5
    assert kept.distribution.sensitivity_steps * kept.distribution.rate == kept.epsilon


def test_what_a_sparse_release_has_not(with_groups):
    with pytest.raises(GraphError, match="no noisy matrix"):
        _ = with_groups.noisy
    assert with_groups.certificate is None
    with pytest.raises(QueryError, match="confidence"):
        with_groups.answer([1], confidence=2)
    with pytest.raises(QueryError, match="estimate"):
        with_groups.answer([1], estimate="best")
    # The heavier of both totals bounds every cut, in matrix form.
    assert with_groups.worst_cut_error_bound() >= 2 * GRAPH.weights.sum()


@pytest.mark.parametrize(
    ("graph", "options", "match"),
    [
        (GRAPH, {"fit": "first-order"}, "fit is not for"),
        (GRAPH, {"fit": gc.FitOptions(oracle="spectral")}, "oracle is not for"),
        (GRAPH, {"noise": "binary-ish"}, "unknown noise"),
        (GRAPH, {"epsilon": 1e-5}, "divides epsilon"),
        (gc.Graph([0], [1], [2.0], vertices=5), {}, "public bound"),
    ],
)
def test_options_that_do_not_fit_are_refused(graph, options, match):
    with pytest.raises(ParameterError, match=match):
        released(graph, **options)


def test_auto_takes_it_where_the_matrix_does_not_fit(monkeypatch):
    def taken(n, cap, *, mechanism="auto", fit="auto"):
        how, fitting = gc.Mechanism(mechanism), gc.FitOptions(fit)
        return takes_sparse((n, n), how, fitting, noise="binary", max_weight=cap)

    assert not taken(500, 1.0)
    assert taken(3000, None)
    monkeypatch.setattr(graphs, "memory_limit", lambda: 5 * 10**6)
    assert taken(N, 1.0)
    assert not taken(N, 1.0, fit="first-order")
    assert not taken(N, 1.0, mechanism="randomized-response")
    graph, _ = made(mean=0)
    assert gc.release_graph(graph, epsilon=1.0, seed=1).fit.method == "sparse"


def test_a_store_is_charged(tmp_path):
    store = tmp_path / "mail.db"
    released(store=gc.Store(store, budget=1.5))
    with pytest.raises(gc.errors.BudgetError):
        released(store=store)


@pytest.mark.thorough
def test_shares_follow_the_weights():
    def shares_of(mean, degree=24):
        graph, codes = made(mean=mean, degree=degree)
        release = released(graph, groups=teams(graph, codes), mechanism="sparse", fit="none")
        plan = release.budget_plan
        amounts = {name: amount / plan.amount for name, amount in plan.amounts.items()}
        assert amounts["weights"] == COUNTS_SHARE
        assert sum(amounts.values()) == 1
        return amounts

    light, middle, heavy = (shares_of(mean) for mean in (0, 25, 200))
    assert "kept edges" not in light
    assert light["groups"] == (1 - COUNTS_SHARE) / 20
    for shares in (middle, heavy):
        left = 1 - COUNTS_SHARE
        assert Fraction(3, 5) <= shares["kept edges"] / left <= Fraction(4, 5)
        assert shares["groups"] == (left - shares["kept edges"]) / 3


@pytest.mark.thorough
@pytest.mark.parametrize(("share", "mean"), [(0.01, 60), (0.4, 60), (0.95, 60), (0.4, 0)])
def test_the_share_of_degrees_can_be_chosen(share, mean):
    graph, codes = made(mean=mean)
    for options in ({"groups": teams(graph, codes)}, {}):
        release = released(
            graph, mechanism=gc.Mechanism("sparse", degree_share=share), fit="none", **options
        )
        parts = dict(release.guarantee.spent)
        assert sum(value.epsilon for value in release.measurements.values) <= 1
        assert ("kept edges" in parts) == (mean > 0 and share < 0.9)
        if options or "found groups" in parts:
            assert parts["degrees"] == pytest.approx(share)
        else:  # what groups would have cost, and without weights all of it
            assert parts["degrees"] >= (share if "kept edges" in parts else 0.98) - 1e-9


def test_few_vertices_are_no_trouble():
    for n in (2, 3, 5):
        release = released(gc.Graph([0], [1], [9.0], vertices=n, max_weight_change=1))
        assert release.graph.n == n
        assert np.isfinite(release.answer([0]).value)
    release = released(gc.BipartiteGraph([], [], left=1, right=1))
    assert release.shape == (1, 1)


def digest_of(release):
    """SHA-256 of all integers that were measured, noise included."""
    found = hashlib.sha256()
    for value in release.measurements.values:
        kept = isinstance(value, KeptEdges)
        arrays = (value.rows, value.columns, value.steps) if kept else value.steps
        for array in arrays:
            found.update(np.asarray(array, dtype=np.int64).tobytes())
    return found.hexdigest()


def trips(count, users):
    """Rows (who, from, to, paid): some repeated, some turned, some loops."""
    rng = np.random.default_rng(6)
    ends = (np.floor(N * rng.random(count) ** 4).astype(int) for _ in range(2))
    columns = rng.integers(0, users, count), *ends, rng.integers(1, 60, count)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def bounded_pairs(rows, most):
    """What each pair has, when users above a bound are scaled down to it, rounded down."""
    own, totals, found = Counter(), Counter(), Counter()
    for who, first, second, paid in rows:
        if first != second:
            own[who, min(first, second), max(first, second)] += paid
            totals[who] += paid
    for (who, *pair), had in own.items():
        found[tuple(pair)] += had if totals[who] <= most else had * most // totals[who]
    assert min(totals.values()) <= most < max(totals.values())
    return found


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("privacy_unit", "epsilon"),
    [(gc.PrivacyUnit.row(), 1.0), (gc.PrivacyUnit.user(max_contributions=200), 50.0)],
)
def test_rows_in_an_engine_have_the_statistics_of_the_graph(privacy_unit, epsilon):
    rows = trips(40_000, 5_000)
    pairs, how = Counter(tuple(sorted(row[1:3])) for row in rows), {"counting": "rows"}
    columns = gc.Columns(source="from", target="to")
    if privacy_unit.kind == "user":
        pairs, how = bounded_pairs(rows, 200), {"counting": "weight"}
        columns = replace(columns, user="who", weight="paid")
    first, second = zip(*pairs, strict=True)
    graph = gc.Graph(first, second, list(pairs.values()), vertices=N, max_weight_change=1)
    release = partial(released, groups=gc.Groups(graph.vertices, {"team": CODES.tolist()}))
    expected = release(graph, epsilon=float(privacy_unit.per_change(epsilon)))
    assert expected.measurements.find(Degrees) is not None
    frame = pl.DataFrame(rows, schema=["who", "from", "to", "paid"], orient="row")
    database = duckdb.connect()
    for table in (frame, frame.lazy(), database.from_arrow(frame.to_arrow())):
        data = gc.Rows.of(table, columns=columns, vertices=N, **how)
        found = release(data, epsilon=epsilon, privacy_unit=privacy_unit)
        assert digest_of(found) == digest_of(expected)
        assert found.graph == expected.graph
