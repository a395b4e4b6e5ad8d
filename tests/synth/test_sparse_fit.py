"""The sparse model beside the dense matrix that it stands for.

Kept edges given noisy degrees: the best linear estimate, against one solved densely.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from noisy_numbers import counts_of

import graphcuts_dp as gc
from graphcuts_dp.estimate.cut_sets import sets_of_masks
from graphcuts_dp.estimate.measurement import weight_classes
from graphcuts_dp.estimate.sparse_model import SparseModel
from graphcuts_dp.privacy.distributions import LaplaceNoise
from graphcuts_dp.synth import residual_degrees, sparse_fit
from graphcuts_dp.synth.residual_degrees import corrections, posterior_residuals
from graphcuts_dp.synth.sampling import sample_edges, saturated_pairs
from graphcuts_dp.synth.weight_prior import WeightPrior

KINDS = {
    "plain": gc.Graph([], [], vertices=12).space,
    "directed": gc.DirectedGraph([], [], vertices=9).space,
    "bipartite": gc.BipartiteGraph([], [], left=7, right=10).space,
}


def model_on(space, cap=None, scale=4.0):
    rng = np.random.default_rng(1)
    symmetric = not isinstance(space, tuple)
    shape = (len(space),) * 2 if symmetric else tuple(map(len, space))
    codes = [rng.integers(0, 3, size) for size in shape]
    factors = []
    for each in codes:
        each[:3] = 0, 1, 2
        weight = rng.random(len(each)) + 0.1
        factors.append(weight / np.bincount(each, weight)[each])
    blocks = rng.random((3, 3)) * scale
    if symmetric:
        codes[1], factors[1], blocks = codes[0], factors[0], blocks + blocks.T
    rows, columns = np.array([0, 0, 2, 3]), np.array([1, 4, 3, 5])
    spreads = [rng.random(size) for size in shape]
    if symmetric:
        spreads[1] = spreads[0]
    return SparseModel(
        space=space,
        max_weight=cap,
        integral=False,
        rows=rows,
        columns=columns,
        weights=np.array([3.0, 1.5, 0.25, 7.0]) if cap is None else np.full(4, 0.5 * cap),
        spread=np.array([0.5, 0.1, 0.2, 0.0]),
        chances=np.array([1.0, 0.75, 0.5, 1.0]),
        row_codes=codes[0],
        column_codes=codes[1],
        row_factors=factors[0],
        column_factors=factors[1],
        blocks=blocks,
        row_spread=spreads[0],
        column_spread=spreads[1],
        left_mean=1.0,
        left_square=1.0,
        left_points=np.array([1.0]),
        left_shares=np.array([1.0]),
    )


def dense_of(model):
    matrix = np.outer(model.row_factors, model.column_factors)
    matrix *= model.blocks[np.ix_(model.row_codes, model.column_codes)]
    if model.layout.hollow:
        np.fill_diagonal(matrix, 0)
    kept = np.zeros(model.layout.shape)
    kept[model.rows, model.columns] = model.weights
    return matrix + kept + (kept.T if model.symmetric else 0)


@pytest.mark.parametrize("kind", KINDS)
def test_cuts_and_degrees_are_those_of_the_matrix(kind):
    model = model_on(KINDS[kind])
    dense, rng = dense_of(model), np.random.default_rng(2)
    for share in (0.1, 0.5, 0.9):
        for _ in range(30):
            S, T = (rng.random(size) < share for size in dense.shape)
            counted = np.outer(S, T)
            if model.symmetric:
                counted = np.triu(counted | counted.T)
            (value,), (chance,), (structure,) = model.expected(sets_of_masks(model, [(S, T)], [0]))
            assert value == pytest.approx(dense[counted].sum(), abs=1e-9)
            assert chance >= 0
            assert structure >= 0
    rows, columns = model.degrees()
    assert rows == pytest.approx(dense.sum(axis=1))
    assert columns == pytest.approx(dense.sum(axis=0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [1e-3, 0.2, 1.0])
def test_saturated_pairs_are_all_there_are(kind, limit):
    model = model_on(KINDS[kind])
    rest = dense_of(replace(model, weights=np.zeros(4)))
    wanted = set(
        zip(*np.nonzero((np.triu(rest) if model.symmetric else rest) > limit), strict=True)
    )
    assert set(zip(*saturated_pairs(model, limit), strict=True)) == wanted


# Each kind of graph is quick with one kind of weights, and each of these with one kind of graph.
WEIGHTS = [
    pytest.param(kind, *weights, marks=pytest.mark.slow if (number - index) % 3 else ())
    for number, kind in enumerate(KINDS)
    for index, weights in enumerate([(None, True), (1.0, True), (1.0, False)])
]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("kind", "cap", "weighted"), WEIGHTS)
def test_the_mean_of_many_graphs_is_the_model(kind, cap, weighted):
    """Each pair's mean over the runs, within 6 deviations: 2e-9 for each of 1000 pairs. Without
    weights there are edges as often as they weigh."""
    model = model_on(KINDS[kind], cap=cap, scale=4.0 if cap is None else 0.8)
    model = replace(model, integral=not weighted)
    dense, runs = dense_of(model), 1000
    rng = np.random.default_rng(3)
    total, squares = np.zeros_like(dense), np.zeros_like(dense)
    for _ in range(runs):
        ends, weights = sample_edges(model, rng, weighted=weighted)
        assert weighted or (weights == 1).all()
        matrix = np.zeros_like(dense)
        matrix[tuple(ends)] = weights
        assert len(set(zip(*ends, strict=True))) == len(weights)
        total += matrix
        squares += matrix**2
    if model.symmetric:
        assert not np.tril(total).any()
        dense = np.triu(dense)
    if cap is not None:
        # What falls on a kept pair besides is cut at the cap; it is left out here.
        kept = model.rows, model.columns
        total[kept], dense[kept] = 0, 0
    mean = total / runs
    deviation = np.sqrt(np.maximum(squares / runs - mean**2, 1 / runs) / runs)
    assert (np.abs(mean - dense) <= 6 * deviation + 1e-4).all()


def test_the_variance_by_chance_is_what_degrees_do_not_tell():
    """Poisson edges on every pair, and known degrees: what least squares leave of a cut."""
    n, rng = 60, np.random.default_rng(5)
    factors = rng.random(n) + 0.5
    factors /= factors.sum()
    nothing, codes = np.zeros(n), np.zeros(n, dtype=np.int64)
    none = np.zeros(0)
    model = replace(
        model_on(gc.Graph([], [], vertices=n).space),
        **{name: none.astype(np.int32) for name in ("rows", "columns")},
        **dict.fromkeys(("weights", "spread", "chances"), none),
        **dict.fromkeys(("row_codes", "column_codes"), codes),
        **dict.fromkeys(("row_factors", "column_factors"), factors),
        **dict.fromkeys(("row_spread", "column_spread"), nothing),
        blocks=np.array([[2000.0]]),
    )
    above = np.triu_indices(n, 1)
    weights = dense_of(model)[above]
    ends = (np.eye(n)[above[0]] + np.eye(n)[above[1]]) * np.sqrt(weights)[:, None]
    for size in (1, 10, 30):
        mask = np.arange(n) < size
        crossing = (mask[above[0]] != mask[above[1]]) * np.sqrt(weights)
        left = crossing - ends @ np.linalg.lstsq(ends, crossing, rcond=None)[0]
        expected = model.expected(sets_of_masks(model, [(mask, ~mask)], [0]))
        assert expected.by_chance[0] == pytest.approx(left @ left, rel=0.1, abs=3)


def test_kept_weights_within_a_group_are_lowered_as_between_groups():
    """The mean of a sum K of variance V and a sum M of variance U, each pair counted once."""
    rng = np.random.default_rng(4)
    rows, columns = np.triu_indices(20, 1)
    weights = rng.integers(20, 400, len(rows)).astype(float)
    graph = gc.Graph(rows, columns, weights, vertices=20, max_weight_change=1)
    groups = gc.Groups(graph.vertices, {"all": ["a"] * 10 + ["b"] * 10})
    made = gc.release_graph(graph, epsilon=4.0, mechanism="sparse", groups=groups, seed=1)
    model = replace(
        made._model,
        rows=rows.astype(np.int32),
        columns=columns.astype(np.int32),
        weights=weights * 2,
        spread=np.full(len(rows), 0.5),
        chances=np.ones(len(rows)),
    )
    fit = sparse_fit._SparseFit(made.measurements, made.space, None)
    lowered = fit._within_groups(model)
    sums = fit.cells.values
    for cell, (a, b) in enumerate(zip(*fit.groups.map.ends, strict=True)):
        first, second = model.row_codes[model.rows], model.column_codes[model.columns]
        inside = ((first == a) & (second == b)) | ((first == b) & (second == a))
        kept, variance = model.weights[inside].sum(), model.spread[inside].sum()
        noise = fit.cells.variances[cell]
        precise = kept - max(kept - max(sums[cell], 0), 0) * variance / (variance + noise)
        assert kept > sums[cell]
        assert lowered.weights[inside].sum() == pytest.approx(precise)


def test_posteriors_are_those_of_the_points():
    prior = WeightPrior(np.array([2.0, 5.0]), np.array([30.0, 10.0]), 1000.0)
    noisy = np.array([0.5, 3.0, 4.0, 9.0])
    found = prior.posterior(noisy, 1.3)
    points, masses = np.array([0.0, 2.0, 5.0]), np.array([960.0, 30.0, 10.0])
    shares = masses * np.exp(-np.abs(noisy[:, None] - points) / 1.3)
    shares /= shares.sum(axis=1, keepdims=True)
    assert found.mean == pytest.approx(shares @ points, rel=1e-3)
    assert found.variance == pytest.approx(shares @ points**2 - (shares @ points) ** 2, rel=2e-2)
    assert found.chance == pytest.approx(1 - shares[:, 0], rel=1e-3)
    far = prior.posterior(np.array([3.0, 500.0]), 1.0)  # far above all that was counted: as it is
    assert (far.mean[1], far.chance[1]) == (500, 1)
    assert prior.missed(-1e9, 1.0).max() == 0
    assert prior.missed(1e9, 1.0).min() == 1
    assert prior.left(1e9, 1.0).moment(1) == pytest.approx(110)


def test_residual_degrees_are_nearer_than_noisy_ones():
    rng = np.random.default_rng(6)
    true = rng.gamma(0.5, 20, 3000) * (rng.random(3000) < 0.7)
    noisy = true + rng.laplace(0, 8, 3000)
    mean, variance = posterior_residuals(noisy, np.zeros(3000), 8 * math.sqrt(2), np.zeros(3000))
    assert np.abs(mean - true).mean() < 0.75 * np.abs(noisy - true).mean()
    assert ((mean - true) ** 2).mean() < 1.3 * variance.mean()  # the law is fitted to them, too
    assert abs(mean.sum() - true.sum()) < 0.05 * true.sum()
    true = np.exp(rng.uniform(0, 14, 300))  # over a wide range they keep their values
    noisy = true + rng.laplace(0, 3, 300)
    mean, _ = posterior_residuals(noisy, np.zeros(300), 3 * math.sqrt(2), np.zeros(300))
    assert np.abs(mean - true).max() < 60
    assert np.abs(mean - true).mean() < 4


def test_few_edges_of_great_weight_are_seen_in_noisy_counts():
    """No class stands out by itself; together they do, and empty heavy classes get nothing."""
    lower = np.array([1, *(2**k for k in range(1, 16))])
    true = np.zeros(16, dtype=int)
    true[7:12] = 450, 650, 780, 650, 450
    noise = np.array([90, -60, 130, -200, 40, 10, -30, 70, -80, 20, 60, -40, 100, -120, 110, 60])
    counts = counts_of(lower, true + noise)
    prior = WeightPrior.of(counts, pairs=10.0**6, cap=None, integral=True)
    assert prior.edges == pytest.approx(counts.total)
    heavy = (prior.points >= lower[7]) & (prior.points < lower[12])
    assert prior.masses[heavy].sum() > 0.8 * prior.edges
    assert prior.masses[prior.points >= lower[14]].sum() < 0.02 * prior.edges
    nothing = counts_of(lower, noise)
    prior = WeightPrior.of(nothing, pairs=10.0**6, cap=None, integral=True)
    assert prior.masses[prior.points > 2].sum() == 0


@pytest.mark.parametrize("seed", range(6))
def test_noise_in_heavy_classes_makes_no_heavy_edges(seed):
    """A fifth of an edge that weighs 4000 would outweigh 50,000 of weight 1."""
    distribution = LaplaceNoise(Fraction(98, 100), None, 0)
    rng = np.random.default_rng(seed)
    lower = weight_classes(1 / float(distribution.rate), distribution.most_steps)
    true = np.zeros(len(lower), dtype=np.int64)
    true[0] = 50_000
    noise = rng.geometric(0.01, len(lower)) - rng.geometric(0.01, len(lower))
    counts = counts_of(lower, true + noise)
    prior = WeightPrior.of(counts, pairs=5e7, cap=None, integral=True)
    squares = float(prior.masses @ prior.points**2)
    assert squares < 1.1 * prior.edges


def made(seed, *, residual=40.0):
    """Kept edges with noise, residual degrees and noisy degrees of 60 vertices."""
    rng = np.random.default_rng(seed)
    n = 60
    ends = np.array([(i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < 0.12]).T
    spread = rng.uniform(0.5, 30, ends.shape[1])
    error = rng.normal(0, np.sqrt(spread))
    rest = rng.gamma(4, residual / 4, n)
    at = np.bincount(ends[0], error, minlength=n) + np.bincount(ends[1], error, minlength=n)
    noisy = rest + rng.normal(0, 3.0, n) - at  # noisy degree less kept weights that are too high
    return ends, spread, error, noisy, rest


def dense(ends, spread, left, noise):
    """By least squares of everything: the same as the best linear estimate."""
    n, kept = len(left), ends.shape[1]
    incidence = np.zeros((n, kept))
    incidence[ends[0], np.arange(kept)] = incidence[ends[1], np.arange(kept)] = 1
    own = incidence @ spread
    variance = max(left.var() - (own + noise).mean(), 0.0)
    matrix = incidence * spread @ incidence.T + (variance + noise) * np.eye(n)
    return spread * (incidence.T @ np.linalg.solve(matrix, left - left.mean()))


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_best_linear_estimate(seed, monkeypatch):
    ends, spread, _, left, _ = made(seed)
    left = left + 1000  # so that no residual degree comes near 0
    best = dense(ends, spread, left, 9.0)
    few = corrections((ends[0], ends[1]), spread, left, 9.0, np.zeros(60))
    assert np.abs(few - best).max() < 0.02 * np.abs(best).max()
    monkeypatch.setattr(residual_degrees, "_CG_TOLERANCE", 1e-9)
    monkeypatch.setattr(residual_degrees, "_CG_ROUNDS", 500)
    found = corrections((ends[0], ends[1]), spread, left, 9.0, np.zeros(60))
    np.testing.assert_allclose(found, best, rtol=1e-6, atol=1e-9)
    assert not len(corrections((ends[0][:0],) * 2, spread[:0], left, 9.0, np.zeros(60)))


@pytest.mark.parametrize("residual", [0.01, 5.0, 40.0])
def test_kept_weights_and_degrees_come_nearer_to_the_truth(residual):
    before, after, degrees = [], [], []
    for seed in range(10, 30):
        ends, spread, error, left, _ = made(seed, residual=residual)
        added = corrections((ends[0], ends[1]), spread, left, 9.0, np.zeros(60))
        before.append((error**2).sum())
        after.append(((error + added) ** 2).sum())
        sums = np.bincount(ends[0], error + added, minlength=60)
        sums += np.bincount(ends[1], error + added, minlength=60)
        degrees.append(np.abs(sums).mean())
    assert sum(after) < sum(before)
    if residual < 1:  # then degrees tell all of it: nothing but their own noise is left
        assert np.mean(degrees) < 3.0
        assert sum(after) < 0.9 * sum(before)


def test_residual_degrees_stay_above_zero():
    """Where kept edges weigh more than a degree, it is they that are too heavy."""
    ends = np.array([0, 0, 0]), np.array([1, 2, 3])
    left = np.array([-50.0, 20.0, 30.0, 10.0])
    added = corrections(ends, np.full(3, 25.0), left, 1.0, np.zeros(4))
    assert added.sum() < -30
