"""Shrunk estimates: the covariance of errors, kinds of cuts, and which side an estimate takes."""

import numpy as np
import pytest
from group_cases import cliques, directed, drawn, two_sided
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp import CutQuery, VertexSet, release_graph
from graphcuts_dp.estimate.misfit import MisfitVariances
from graphcuts_dp.estimate.shrinkage import Synthetic, shrunk_list, shrunk_towards

GRAPHS = {
    "plain": lambda: (random_graph(12, 0, density=0.4), None),
    "two sides": lambda: (random_graph((8, 9), 0, density=0.4), None),
    "arcs": lambda: (random_graph(9, 0, density=0.4, directed=True), None),
    "groups": cliques,
    "groups, arcs": directed,
    "groups, two sides": two_sided,
}


@pytest.mark.thorough(cases=7)
@pytest.mark.parametrize(
    "mechanism", ["randomized-response", "degrees+randomized-response", "auto"]
)
@pytest.mark.parametrize("kind", GRAPHS)
def test_covariances_are_those_of_the_laws_of_sums_of_cuts(kind, mechanism):
    """Estimates are linear in T: var(S, T1 | T2) = var(S, T1) + var(S, T2) + 2 cov."""
    graph, groups = GRAPHS[kind]()
    made = drawn(graph, groups, mechanism)
    estimator, rng = made.estimator, np.random.default_rng(2)
    # Groups that lie alike are weighed alike, so with groups an answer is linear only nearly.
    close = 1e-9 if groups is None else 1e-2
    rows, columns = graph.shape
    for _ in range(10):
        S, part = rng.random(rows) < 0.5, rng.integers(3, size=columns)
        first, second = part == 0, part == 1
        if made.noisy.symmetric:  # else pairs in S and T lie in both parts
            first, second = first & ~S, second & ~S
        cuts = [(S, first), (S, second)]
        found = estimator.covariances(cuts)
        a, b, both = (
            estimator.estimate_cut(S, T).noise.variance for T in (first, second, first | second)
        )
        np.testing.assert_allclose(found.diagonal(), [a, b], rtol=1e-9)
        np.testing.assert_allclose(found[0, 1], (both - a - b) / 2, rtol=0, atol=close * both)
    same = np.array([rng.random(rows) < 0.7, rng.random(rows) < 0.7])
    if made.noisy.symmetric:  # pairs within overlapping sets
        cuts = [(each, each) for each in same]
        variances = [estimator.estimate_cut(*cut).noise.variance for cut in cuts]
        np.testing.assert_allclose(
            estimator.covariances(cuts).diagonal(), variances, rtol=1e-9, atol=1e-9
        )


def deviations_of_errors(found, truth, deviations):
    return np.sqrt((((found - truth) / deviations) ** 2).mean())


def test_estimates_follow_the_better_side():
    """Estimates follow synthetic answers where these are good, else the unbiased ones."""
    rng = np.random.default_rng(0)
    deviations, truth = rng.uniform(5, 10, 300), rng.normal(0, 100, 300)
    unbiased = truth + deviations * rng.normal(size=300)
    noise, errors = np.diag(deviations**2), {}
    for ratio in (0.0, 0.7, 30.0):
        synthetic = truth + ratio * deviations * rng.normal(size=300)
        all_of = shrunk_towards(synthetic, unbiased, noise).values, synthetic, unbiased
        errors[ratio] = [deviations_of_errors(x, truth, deviations) for x in all_of]
    assert errors[0.0][0] < 0.2  # where the unbiased answers have 1
    assert errors[0.7][0] < 0.95 * min(errors[0.7][1:])
    assert errors[30.0][0] < 1.05 * errors[30.0][2]
    far = np.arange(300) % 5 == 0
    synthetic = truth + np.where(far, 20, 0) * deviations * rng.normal(size=300)
    found = shrunk_towards(synthetic, unbiased, noise).values
    for where, most in ((~far, 0.3), (far, 1.3)):  # and the synthetic ones 20
        assert deviations_of_errors(found[where], truth[where], deviations[where]) < most


def test_a_common_factor_is_corrected():
    """What lies between communities is a third of what degrees say: each answer shows little."""
    rng = np.random.default_rng(1)
    synthetic = rng.uniform(200, 400, 30)
    truth = 0.3 * synthetic
    unbiased = truth + 150 * rng.normal(size=30)
    found = shrunk_towards(synthetic, unbiased, 150.0**2 * np.eye(30)).values
    assert deviations_of_errors(found, truth, 150) < 0.25  # unbiased 1, synthetic 1.4


def test_common_noise_is_no_evidence():
    """Halves share nearly all their noise: together they are 2 deviations off, as one would be."""
    synthetic = np.full(30, 1000.0)
    unbiased = synthetic + 200 + 10 * np.random.default_rng(2).normal(size=30)
    common = np.full((30, 30), 100.0**2) + np.diag(np.full(30, 10.0**2))
    kept, believed = (
        (shrunk_towards(synthetic, unbiased, noise).values - synthetic).mean()
        for noise in (common, np.diag(common.diagonal()))
    )
    assert abs(kept) < 60
    assert believed > 120  # thirty independent answers would show that the truth lies there


def test_one_answer_moves_by_less_than_half_a_deviation():
    for residual, moved in ((0.0, 0.01), (0.4, 0.4), (2.0, 0.45), (30.0, 0.45)):
        found = shrunk_towards(np.array([100.0]), np.array([100.0 + residual]), np.eye(1)).values[0]
        assert max(100.0, 100 + residual - moved) - 1e-3 <= found <= 100 + residual
    exact = shrunk_towards(np.array([7.0]), np.array([3.0]), np.zeros((1, 1))).values
    assert exact[0] == 3.0  # no pairs, no noise
    assert len(shrunk_towards(np.empty(0), np.empty(0), np.empty((0, 0))).values) == 0


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize("synthetic", [2.0, 100.0])
@pytest.mark.parametrize("bias", [0.0, 0.5, 1.0, 2.0, 4.0, 20.0])
def test_one_answer_alone_is_a_tenth_worse_at_most(synthetic, bias):
    """Mean absolute errors over all noise, in deviations, whatever the synthetic graph is off by.

    Always moving by .45 deviations costs 9.96 %: the mean of |Z + .45| is .8773, that of |Z| .7979.
    """
    truth, points = synthetic + bias, np.linspace(-8, 8, 1601)
    chances = np.exp(-(points**2) / 2)
    chances /= chances.sum()
    fitted = np.array([synthetic])
    found = np.array(
        [shrunk_towards(fitted, np.array([truth + z]), np.eye(1)).values[0] for z in points]
    )
    assert chances @ np.abs(found - truth) <= 1.1 * (chances @ np.abs(points))


def test_a_mixed_list_is_divided_and_a_cut_that_is_named_twice_is_one():
    rng, n = np.random.default_rng(3), 60
    block = np.arange(n) // 15
    communities = [(block == a, block == b) for a in range(4) for b in range(a)]
    halves = [(S, ~S) for S in rng.random((10, n)) < 0.5]
    synthetic = {"communities": np.full(6, 300.0), "halves": np.full(10, 5000.0)}
    unbiased = {
        "communities": 100 + 50 * rng.normal(size=6),
        "halves": 5000 + 50 * rng.normal(size=10),
    }

    def covariances(cuts):
        return 50.0**2 * np.eye(len(cuts))

    def shrunk(cuts, *names):
        made, seen = (np.concatenate([of[name] for name in names]) for of in (synthetic, unbiased))
        found = shrunk_list(cuts, made, seen, covariances, hollow=True, symmetric=True)
        return found.values

    apart = np.concatenate([shrunk(communities, "communities"), shrunk(halves, "halves")])
    mixed = shrunk(communities + halves, "communities", "halves")
    np.testing.assert_array_equal(mixed, apart)
    assert np.abs(mixed[:6] - 100).mean() < 40
    assert np.abs(mixed[6:] - 5000).mean() < 10
    turned = [(T, S) for S, T in communities]
    twice = shrunk(communities + turned, "communities", "communities")
    np.testing.assert_array_equal(twice, np.tile(apart[:6], 2))


def test_parts_are_another_kind_than_random_sets_of_their_size():
    """Communities of 15 among random sets of 15: each list learns as if it were alone."""
    rng, n = np.random.default_rng(5), 60
    block = np.arange(n) // 15
    parts = [(block == a, block == b) for a in range(4) for b in range(a)]
    against = [(block == a, block != a) for a in range(4)]

    def random_sets(count):
        order = [rng.permutation(n) for _ in range(count)]
        return [tuple(np.isin(np.arange(n), some) for some in (o[:15], o[15:30])) for o in order]

    for known, others in (
        (parts, random_sets(12)),
        (against, [(S, ~S) for S, _ in random_sets(12)]),
    ):
        count = len(known), len(others)
        synthetic = np.concatenate([np.full(count[0], 300.0), np.full(count[1], 310.0)])
        unbiased = synthetic + 40 * rng.normal(size=sum(count))
        unbiased[: count[0]] -= 220

        def shrunk(where, cuts=known + others, synthetic=synthetic, unbiased=unbiased):
            return shrunk_list(
                cuts[where],
                synthetic[where],
                unbiased[where],
                lambda some: 40.0**2 * np.eye(len(some)),
                hollow=True,
                symmetric=True,
            ).values

        mixed = shrunk(slice(None))
        first, second = slice(count[0]), slice(count[0], None)
        np.testing.assert_array_equal(mixed[first], shrunk(first))
        np.testing.assert_array_equal(mixed[second], shrunk(second))
        assert np.abs(mixed[first] - 80).max() < 60
        assert np.abs(mixed[second] - 310).max() < 30


@pytest.mark.parametrize("shape", [(9, 9), (7, 12), (90, 90), (70, 100)])
def test_noise_that_is_not_repeated_is_what_the_projection_leaves(shape):
    rng, deviation = np.random.default_rng(6), 0.4
    symmetric = shape[0] == shape[1]
    codes = [np.arange(n) % 3 for n in shape]
    matrix = np.where(codes[0][:, None] == codes[1], 5.0, 1.0) + 0.1 * rng.random(shape)
    spaces = [VertexSet(n) for n in shape]
    if symmetric:
        matrix = (matrix + matrix.T) / 2
    space = spaces[0] if symmetric else tuple(spaces)
    cuts = [tuple(rng.random(n) < 0.4 for n in shape) for _ in range(6)]
    cuts += [(codes[0] == 0, codes[1] == 1), (codes[0] == 0, np.ones(shape[1], dtype=bool))]
    made = Synthetic(matrix, space, deviation, symmetric=symmetric)
    totals = matrix.sum(axis=1), matrix.sum(axis=0)
    left, sizes, right = np.linalg.svd(matrix - np.outer(*totals) / matrix.sum())
    seen = int((sizes > deviation * np.prod(shape) ** 0.25).sum())
    assert seen == 2  # three blocks are one direction more than degrees tell
    U, V = left[:, :seen], right[:seen].T
    for cut, found in zip(cuts, made.independent_shares(cuts), strict=True):
        s, t = (side - side.mean() for side in cut)
        whole = np.outer(s, t) + (np.outer(t, s) if symmetric else 0)
        rest = (np.eye(shape[0]) - U @ U.T) @ whole @ (np.eye(shape[1]) - V @ V.T)
        expected = (rest**2).sum() / (whole**2).sum() if np.abs(whole).max() > 1e-12 else 1.0
        assert found == pytest.approx(expected, abs=1e-3)
    assert made.independent_shares(cuts)[6] < 0.05  # between blocks
    noisier = Synthetic(matrix, space, 1e6 * deviation, symmetric=symmetric)
    np.testing.assert_array_equal(noisier.independent_shares(cuts), 1.0)  # nothing shows


def test_agreement_with_a_graph_that_follows_the_noise_is_no_evidence():
    """The fit sees two dense halves, so between them it says what the noisy entries say."""
    half = np.arange(60) < 30
    chances = np.where(half[:, None] == half, 0.9, 0.1)
    ends = np.nonzero(np.triu(np.random.default_rng(7).random((60, 60)) < chances, 1))
    graph = gc.Graph(*ends, vertices=60)
    made = release_graph(graph, epsilon=1.5, seed=1)
    across, random_half = gc.CutQuery(half), gc.CutQuery(np.arange(60) % 2 == 0)
    masks = [query.masks(made.space) for query in (across, random_half)]
    shares = made._synthetic.independent_shares(masks)
    assert shares[0] < 0.05
    assert shares[1] > 0.8
    own, moved = (made.answer(across, estimate=each).estimate for each in ("unbiased", "shrunk"))
    deviation = made.estimator.estimate_cut(*across.masks(made.space)).noise.deviation
    assert abs(own - moved) < 0.05 * deviation


def test_answers_are_labelled_and_keep_the_proven_interval():
    graph = random_graph(30, 4)
    release = release_graph(graph, epsilon=1.0, seed=0)
    queries = [CutQuery([i]) for i in range(30)]
    truth = np.array([query.value(graph) for query in queries])
    unbiased, shrunk = (release.answer_all(queries, estimate=e) for e in ("unbiased", "shrunk"))
    for own, moved in zip(unbiased, shrunk, strict=True):
        assert (own.kind, moved.kind) == ("unbiased", "shrunk")
        assert own.interval == moved.interval
        assert "estimate, no guarantee" not in str(own)
        assert "estimate, no guarantee" in str(moved)
        assert 0 <= moved.value <= 29
    own, moved = (np.array([one.estimate for one in each]) for each in (unbiased, shrunk))
    assert np.abs(moved - truth).mean() < np.abs(own - truth).mean()
    alone = release.answer(queries[0], estimate="shrunk")
    assert alone.estimate == release.answer_all(queries[:1], estimate="shrunk")[0].estimate


@pytest.mark.thorough
def test_unions_of_groups_go_by_the_better_side():
    """Their covariances hold nearly, and leave combinations whose noise seems to be none."""
    rng, code = np.random.default_rng(1), np.arange(48) // 6
    chances = np.where(code[:, None] == code, 0.2, 0.05)
    ends = np.nonzero(np.triu(rng.random((48, 48)) < chances, 1))
    graph = gc.Graph(*ends, vertices=48)
    groups = gc.Groups.of({vertex: f"g{code[vertex]}" for vertex in range(48)}, graph)
    unions = [(number >> code) & 1 == 1 for number in range(1, 255, 2)]
    asked = [gc.CutQuery(S) for S in unions]
    truth = np.array(gc.answer_all(asked, graph))
    errors = np.zeros(3)
    for seed in range(6):
        made = gc.release_graph(graph, epsilon=0.5, groups=groups, seed=seed)
        values = [
            np.array(gc.answer_all(asked, made.expected)),
            *(
                np.array([answer.estimate for answer in made.answer_all(asked, estimate=estimate)])
                for estimate in ("unbiased", "shrunk")
            ),
        ]
        errors += np.abs(np.array(values) - truth).mean(axis=1)
    synthetic, unbiased, shrunk = errors
    assert 2 * synthetic < unbiased
    assert shrunk < 1.25 * synthetic


def test_communities_that_exchanged_vertices_are_another_kind_than_halves():
    """Their list learns as if it were alone, though no two of its sets are disjoint."""
    rng, n = np.random.default_rng(8), 400
    block = np.arange(n) // 100
    parts = []
    for part in range(4):
        mask = block == part
        out, into = rng.choice(np.flatnonzero(mask), 5), rng.choice(np.flatnonzero(~mask), 5)
        mask[out], mask[into] = False, True
        parts.append((mask, ~mask))
    halves = [(S, ~S) for S in (rng.permutation(n) < 200 for _ in range(60))]
    cuts = parts + halves
    synthetic, noise = np.full(len(cuts), 2000.0), 300.0
    unbiased = synthetic + noise * rng.normal(size=len(cuts))
    unbiased[:4] = 900 + noise * np.array([0.5, -0.3, 0.2, -0.4])

    def shrunk(some, seen):
        return shrunk_list(
            some,
            np.full(len(some), 2000.0),
            seen,
            lambda each: noise**2 * np.eye(len(each)),
            hollow=True,
            symmetric=True,
        ).values

    np.testing.assert_array_equal(shrunk(cuts, unbiased)[:4], shrunk(parts, unbiased[:4]))


@pytest.mark.thorough
def test_typical_errors_of_a_kind_are_those_that_it_has():
    """Root mean squares over draws of the truth and of the noise, in lists that may be wrong."""
    rng, count = np.random.default_rng(9), 40
    # With a common bias the posterior to a power is too sure of the factor: half of the error.
    for bias, scatter, least in ((0.0, 0.0, 0.75), (0.0, 3.0, 0.75), (-0.4, 0.0, 0.4)):
        stated, measured = [], []
        for _ in range(60):
            synthetic = rng.uniform(800, 1200, count)
            truth = synthetic * (1 + bias) + (20 + 100 * scatter) * rng.normal(size=count)
            unbiased = truth + 100 * rng.normal(size=count)
            found = shrunk_towards(
                synthetic,
                unbiased,
                100.0**2 * np.eye(count),
                misfit=MisfitVariances(np.full(count, 20.0**2), np.zeros(count)),
            )
            stated.append(found.error_variances)
            measured.append((found.values - truth) ** 2)
        assert least < np.sqrt(np.mean(stated) / np.mean(measured)) < 1.35
