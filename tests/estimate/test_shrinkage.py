"""Shrunk estimates: the covariance of errors, kinds of cuts, and which side an estimate takes.

An estimate is compared with the unbiased answer and with the synthetic value, the weight of the cut
in the synthetic graph; see `graphcuts_dp.estimate.shrinkage`.
"""

import numpy as np
import pytest
from group_cases import cliques, directed, drawn, two_sided
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp.estimate.misfit import MisfitVariances
from graphcuts_dp.estimate.shrinkage import Synthetic, shrunk_list, shrunk_towards

GRAPHS = {
    "undirected": lambda: (random_graph(12, 0, density=0.4), None),
    "bipartite": lambda: (random_graph((8, 9), 0, density=0.4), None),
    "directed": lambda: (random_graph(9, 0, density=0.4, directed=True), None),
    "groups": cliques,
    "groups, directed": directed,
    "groups, bipartite": two_sided,
}


def root_mean_square(errors):
    return np.sqrt((errors**2).mean())


def shrunk_values(cuts, synthetic, unbiased, deviation):
    """Shrink answers about an undirected graph whose errors are independent, in one list."""
    return shrunk_list(
        cuts,
        synthetic,
        unbiased,
        lambda kind: deviation**2 * np.eye(len(kind)),
        hollow=True,
        symmetric=True,
    ).values


def pairs_of_parts(labels):
    """Return the cuts (S, T) between any two parts of a partition."""
    parts = np.unique(labels)
    return [(labels == first, labels == second) for first in parts for second in parts[:first]]


def graph_with_blocks(labels, *, inside, between, seed):
    """Draw a graph whose edges are likelier within the blocks of these labels than between."""
    probabilities = np.where(labels[:, None] == labels, inside, between)
    n = len(labels)
    is_edge = np.random.default_rng(seed).random((n, n)) < probabilities
    return gc.Graph(*np.nonzero(np.triu(is_edge, 1)), vertices=n)


@pytest.mark.thorough(cases=7)
@pytest.mark.parametrize(
    "mechanism", ["randomized-response", "degrees+randomized-response", "auto"]
)
@pytest.mark.parametrize("kind", GRAPHS)
def test_covariances_are_those_of_the_variances_of_sums_of_cuts(kind, mechanism):
    """Answers are linear in T: var(S, T1 | T2) = var(S, T1) + var(S, T2) + 2 cov for disjoint T."""
    graph, groups = GRAPHS[kind]()
    release = drawn(graph, groups, mechanism)
    estimator, symmetric = release.estimator, release.noisy.symmetric
    rng, (rows, columns) = np.random.default_rng(2), graph.shape
    # With groups answers are linear only nearly: groups of one pattern get the same weights.
    tolerance = 1e-9 if groups is None else 1e-2

    for _ in range(10):
        S, labels = rng.random(rows) < 0.5, rng.integers(3, size=columns)
        first, second = labels == 0, labels == 1
        if symmetric:  # a pair within S would be counted in both cuts
            first, second = first & ~S, second & ~S
        covariances = estimator.covariances([(S, first), (S, second)])
        first_variance, second_variance, variance_of_sum = (
            estimator.estimate_cut(S, T).noise.variance for T in (first, second, first | second)
        )
        np.testing.assert_allclose(
            covariances.diagonal(), [first_variance, second_variance], rtol=1e-9
        )
        np.testing.assert_allclose(
            covariances[0, 1],
            (variance_of_sum - first_variance - second_variance) / 2,
            rtol=0,
            atol=tolerance * variance_of_sum,
        )


@pytest.mark.parametrize(
    "mechanism", ["randomized-response", "degrees+randomized-response", "auto"]
)
@pytest.mark.parametrize("kind", ["undirected", "groups"])
def test_covariances_hold_for_pairs_within_overlapping_sets(kind, mechanism):
    graph, groups = GRAPHS[kind]()
    release = drawn(graph, groups, mechanism)
    rng = np.random.default_rng(2)
    cuts = [(S, S) for S in rng.random((2, graph.n)) < 0.7]
    variances = [release.estimator.estimate_cut(*cut).noise.variance for cut in cuts]
    covariances = release.estimator.covariances(cuts)
    np.testing.assert_allclose(covariances.diagonal(), variances, rtol=1e-9, atol=1e-9)


@pytest.mark.thorough
def test_estimates_follow_synthetic_values_where_these_are_good_and_unbiased_ones_elsewhere():
    rng = np.random.default_rng(0)
    deviations, truth = rng.uniform(5, 10, 300), rng.normal(0, 100, 300)
    unbiased = truth + deviations * rng.normal(size=300)

    def relative_errors(synthetic):
        """Return errors of shrunk, synthetic and unbiased values, in standard deviations."""
        shrunk = shrunk_towards(synthetic, unbiased, np.diag(deviations**2)).values
        return [(values - truth) / deviations for values in (shrunk, synthetic, unbiased)]

    errors_by_ratio = {}
    for ratio in (0.0, 0.7, 30.0):  # of the deviations of synthetic and unbiased values
        synthetic = truth + ratio * deviations * rng.normal(size=300)
        errors_by_ratio[ratio] = [root_mean_square(errors) for errors in relative_errors(synthetic)]
    shrunk, _, _ = errors_by_ratio[0.0]
    assert shrunk < 0.2  # the unbiased answers have 1
    shrunk, of_synthetic, of_unbiased = errors_by_ratio[0.7]
    assert shrunk < 0.95 * min(of_synthetic, of_unbiased)
    shrunk, _, of_unbiased = errors_by_ratio[30.0]
    assert shrunk < 1.05 * of_unbiased

    # Exact synthetic values for four of five cuts, and errors of 20 deviations for the others.
    is_wrong = np.arange(300) % 5 == 0
    partly_wrong = truth + np.where(is_wrong, 20, 0) * deviations * rng.normal(size=300)
    errors, _, _ = relative_errors(partly_wrong)
    assert root_mean_square(errors[~is_wrong]) < 0.3
    assert root_mean_square(errors[is_wrong]) < 1.3


def test_a_factor_common_to_all_synthetic_values_is_corrected():
    """Each answer alone is too noisy to show it: the deviation is half of the difference."""
    rng, deviation = np.random.default_rng(1), 150.0
    synthetic = rng.uniform(200, 400, 30)
    truth = 0.3 * synthetic
    unbiased = truth + deviation * rng.normal(size=30)
    shrunk = shrunk_towards(synthetic, unbiased, deviation**2 * np.eye(30)).values
    # The unbiased answers have 1 deviation, the synthetic values 1.4.
    assert root_mean_square(shrunk - truth) < 0.25 * deviation


def test_noise_common_to_all_answers_is_no_evidence_against_the_synthetic_values():
    """Thirty answers that share nearly all their noise say as little as one of them."""
    common_deviation, other_deviation = 100.0, 10.0
    synthetic = np.full(30, 1000.0)
    rng = np.random.default_rng(2)
    unbiased = synthetic + 2 * common_deviation + other_deviation * rng.normal(size=30)
    common = np.full((30, 30), common_deviation**2) + other_deviation**2 * np.eye(30)
    independent = np.diag(common.diagonal())

    def mean_move(covariance):
        return (shrunk_towards(synthetic, unbiased, covariance).values - synthetic).mean()

    assert abs(mean_move(common)) < 60
    assert mean_move(independent) > 120  # as many independent answers would show an error


@pytest.mark.parametrize(
    ("difference", "largest_move"),
    [
        pytest.param(0.0, 0.01, id="equal values"),
        pytest.param(0.4, 0.4, id="all the way"),
        pytest.param(2.0, 0.45, id="2 deviations"),
        pytest.param(30.0, 0.45, id="30 deviations"),
    ],
)
def test_a_single_answer_moves_by_less_than_half_a_deviation(difference, largest_move):
    synthetic, unbiased = 100.0, 100.0 + difference
    (shrunk,) = shrunk_towards(np.array([synthetic]), np.array([unbiased]), np.eye(1)).values
    assert max(synthetic, unbiased - largest_move) - 1e-3 <= shrunk <= unbiased


def test_an_answer_without_noise_stays_as_it_is():
    shrunk = shrunk_towards(np.array([7.0]), np.array([3.0]), np.zeros((1, 1))).values
    assert shrunk[0] == 3.0


def test_an_empty_list_has_no_estimates():
    assert len(shrunk_towards(np.empty(0), np.empty(0), np.empty((0, 0))).values) == 0


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("synthetic", [2.0, 100.0])
@pytest.mark.parametrize("bias", [0.0, 0.5, 1.0, 2.0, 4.0, 20.0])
def test_the_mean_absolute_error_of_a_single_answer_grows_by_a_tenth_at_most(synthetic, bias):
    """Over normal noise of deviation 1, whatever the error of the synthetic value.

    A move by .45 deviations costs 9.96 %: the mean of |Z + .45| is .8773, that of |Z| .7979.
    """
    truth = synthetic + bias
    noise = np.linspace(-8, 8, 1601)
    probabilities = np.exp(-(noise**2) / 2)
    probabilities /= probabilities.sum()
    shrunk = np.array(
        [
            shrunk_towards(np.array([synthetic]), np.array([truth + z]), np.eye(1)).values[0]
            for z in noise
        ]
    )
    assert probabilities @ np.abs(shrunk - truth) <= 1.1 * (probabilities @ np.abs(noise))


def test_each_kind_of_a_mixed_list_is_shrunk_as_if_it_were_alone():
    """Cuts between communities, whose synthetic values are wrong, among random halves."""
    rng, n, deviation = np.random.default_rng(3), 60, 50.0
    between = pairs_of_parts(np.arange(n) // 15)
    halves = [(S, ~S) for S in rng.random((10, n)) < 0.5]
    between_synthetic, halves_synthetic = np.full(6, 300.0), np.full(10, 5000.0)
    between_unbiased = 100 + deviation * rng.normal(size=6)
    halves_unbiased = 5000 + deviation * rng.normal(size=10)

    mixed = shrunk_values(
        between + halves,
        np.concatenate([between_synthetic, halves_synthetic]),
        np.concatenate([between_unbiased, halves_unbiased]),
        deviation,
    )

    between_alone = shrunk_values(between, between_synthetic, between_unbiased, deviation)
    halves_alone = shrunk_values(halves, halves_synthetic, halves_unbiased, deviation)
    np.testing.assert_array_equal(mixed, np.concatenate([between_alone, halves_alone]))
    assert np.abs(mixed[:6] - 100).mean() < 40
    assert np.abs(mixed[6:] - 5000).mean() < 10


def test_a_cut_that_occurs_twice_is_shrunk_once():
    """Also if its sets change places; counted twice, its answer would seem to be more precise."""
    rng, deviation = np.random.default_rng(3), 50.0
    cuts = pairs_of_parts(np.arange(60) // 15)
    swapped = [(T, S) for S, T in cuts]
    synthetic, unbiased = np.full(6, 300.0), 100 + deviation * rng.normal(size=6)
    once = shrunk_values(cuts, synthetic, unbiased, deviation)
    twice = shrunk_values(cuts + swapped, np.tile(synthetic, 2), np.tile(unbiased, 2), deviation)
    np.testing.assert_array_equal(twice, np.tile(once, 2))


def cuts_between_communities(rng, labels):
    """Return all cuts between two communities, and twelve between random sets of their size."""
    n = len(labels)
    orders = [rng.permutation(n) for _ in range(12)]
    random_sets = [
        tuple(np.isin(np.arange(n), subset) for subset in (order[:15], order[15:30]))
        for order in orders
    ]
    return pairs_of_parts(labels), random_sets


def cuts_of_communities(rng, labels):
    """Return the cut of each community, and those of twelve random sets of their size."""
    n = len(labels)
    random_sets = [np.isin(np.arange(n), rng.permutation(n)[:15]) for _ in range(12)]
    communities = [labels == community for community in range(4)]
    return [(S, ~S) for S in communities], [(S, ~S) for S in random_sets]


@pytest.mark.parametrize("cuts_of", [cuts_between_communities, cuts_of_communities])
def test_parts_of_a_partition_are_another_kind_than_random_sets_of_their_size(cuts_of):
    """Each list is shrunk as if it were alone."""
    rng, deviation = np.random.default_rng(5), 40.0
    parts, random_sets = cuts_of(rng, np.arange(60) // 15)
    synthetic = np.repeat([300.0, 310.0], [len(parts), len(random_sets)])
    truth = np.repeat([80.0, 310.0], [len(parts), len(random_sets)])
    unbiased = truth + deviation * rng.normal(size=len(truth))
    of_parts, of_random = slice(len(parts)), slice(len(parts), None)

    mixed = shrunk_values(parts + random_sets, synthetic, unbiased, deviation)

    for cuts, where in ((parts, of_parts), (random_sets, of_random)):
        alone = shrunk_values(cuts, synthetic[where], unbiased[where], deviation)
        np.testing.assert_array_equal(mixed[where], alone)
    assert np.abs(mixed - truth)[of_parts].max() < 60
    assert np.abs(mixed - truth)[of_random].max() < 30


@pytest.mark.parametrize("shape", [(9, 9), (7, 12), (90, 90), (70, 100)], ids=str)
def test_the_independent_share_of_noise_is_what_the_projection_leaves(shape):
    """Computed here by the definition in `Synthetic`, of a matrix of three blocks a side."""
    rng, deviation = np.random.default_rng(6), 0.4
    symmetric = shape[0] == shape[1]
    row_blocks, column_blocks = (np.arange(n) % 3 for n in shape)
    matrix = np.where(row_blocks[:, None] == column_blocks, 5.0, 1.0) + 0.1 * rng.random(shape)
    if symmetric:
        matrix = (matrix + matrix.T) / 2
    spaces = tuple(gc.VertexSet(n) for n in shape)
    cuts = [tuple(rng.random(n) < 0.4 for n in shape) for _ in range(6)]
    between_blocks = row_blocks == 0, column_blocks == 1
    against_all = row_blocks == 0, np.ones(shape[1], dtype=bool)
    synthetic = Synthetic(
        matrix, spaces[0] if symmetric else spaces, deviation, symmetric=symmetric
    )

    shares = synthetic.independent_shares([*cuts, between_blocks, against_all])

    by_degrees = np.outer(matrix.sum(axis=1), matrix.sum(axis=0)) / matrix.sum()
    left, sizes, right = np.linalg.svd(matrix - by_degrees)
    detected = int((sizes > deviation * np.prod(shape) ** 0.25).sum())
    assert detected == 2  # three blocks are one direction more than degrees explain
    U, V = left[:, :detected], right[:detected].T
    for (S, T), share in zip([*cuts, between_blocks, against_all], shares, strict=True):
        s, t = S - S.mean(), T - T.mean()
        noise = np.outer(s, t) + (np.outer(t, s) if symmetric else 0)
        independent = (np.eye(shape[0]) - U @ U.T) @ noise @ (np.eye(shape[1]) - V @ V.T)
        explained_by_degrees = np.abs(noise).max() <= 1e-12
        expected = 1.0 if explained_by_degrees else (independent**2).sum() / (noise**2).sum()
        assert share == pytest.approx(expected, abs=1e-3)
    assert shares[len(cuts)] < 0.05  # between blocks


@pytest.mark.parametrize("shape", [(9, 9), (7, 12)], ids=str)
def test_all_noise_is_independent_of_a_graph_that_shows_no_direction(shape):
    symmetric = shape[0] == shape[1]
    row_blocks, column_blocks = (np.arange(n) % 3 for n in shape)
    matrix = np.where(row_blocks[:, None] == column_blocks, 5.0, 1.0)
    spaces = tuple(gc.VertexSet(n) for n in shape)
    space = spaces[0] if symmetric else spaces
    rng = np.random.default_rng(6)
    cuts = [tuple(rng.random(n) < 0.4 for n in shape) for _ in range(6)]
    cuts.append((row_blocks == 0, column_blocks == 1))
    hidden_by_noise = Synthetic(matrix, space, 4e5, symmetric=symmetric)
    np.testing.assert_array_equal(hidden_by_noise.independent_shares(cuts), 1.0)


def test_agreement_with_a_graph_that_repeats_the_noise_is_no_evidence():
    """The fit detects two dense halves, so between them it repeats the noisy entries."""
    is_first_half = np.arange(60) < 30
    graph = graph_with_blocks(is_first_half.astype(int), inside=0.9, between=0.1, seed=7)
    release = gc.release_graph(graph, epsilon=1.5, seed=1)
    across, random_half = gc.CutQuery(is_first_half), gc.CutQuery(np.arange(60) % 2 == 0)

    masks = [query.masks(release.space) for query in (across, random_half)]
    share_across, share_of_random_half = release._synthetic.independent_shares(masks)
    assert share_across < 0.05
    assert share_of_random_half > 0.8

    unbiased, shrunk = (
        release.answer(across, estimate=kind).estimate for kind in ("unbiased", "shrunk")
    )
    deviation = release.estimator.estimate_cut(*across.masks(release.space)).noise.deviation
    assert abs(unbiased - shrunk) < 0.05 * deviation


@pytest.fixture(scope="module")
def graph_and_release():
    graph = random_graph(30, 4)
    return graph, gc.release_graph(graph, epsilon=1.0, seed=0)


def test_shrunk_answers_are_labelled_as_estimates_and_keep_the_proven_interval(graph_and_release):
    _, release = graph_and_release
    queries = [gc.CutQuery([vertex]) for vertex in range(30)]
    unbiased_answers = release.answer_all(queries, estimate="unbiased")
    shrunk_answers = release.answer_all(queries, estimate="shrunk")
    for unbiased, shrunk in zip(unbiased_answers, shrunk_answers, strict=True):
        assert (unbiased.kind, shrunk.kind) == ("unbiased", "shrunk")
        assert unbiased.interval == shrunk.interval
        assert "estimate, no guarantee" not in str(unbiased)
        assert "estimate, no guarantee" in str(shrunk)
        assert 0 <= shrunk.value <= 29


def test_shrunk_answers_about_degrees_are_nearer_to_the_truth(graph_and_release):
    graph, release = graph_and_release
    queries = [gc.CutQuery([vertex]) for vertex in range(30)]
    truth = np.array(gc.answer_all(queries, graph))
    unbiased_error, shrunk_error = (
        np.abs(
            [answer.estimate for answer in release.answer_all(queries, estimate=kind)] - truth
        ).mean()
        for kind in ("unbiased", "shrunk")
    )
    assert shrunk_error < unbiased_error


def test_an_answer_alone_is_that_of_a_list_of_one(graph_and_release):
    _, release = graph_and_release
    alone = release.answer(gc.CutQuery([0]), estimate="shrunk")
    (in_list,) = release.answer_all([gc.CutQuery([0])], estimate="shrunk")
    assert alone.estimate == in_list.estimate


@pytest.mark.thorough
def test_answers_about_unions_of_groups_follow_the_better_side():
    """Their covariances are approximate: some combinations seem to have no noise at all."""
    labels = np.arange(48) // 6
    graph = graph_with_blocks(labels, inside=0.2, between=0.05, seed=1)
    groups = gc.Groups.of({vertex: f"g{labels[vertex]}" for vertex in range(48)}, graph)
    # All unions of the eight groups that contain the first one, written as binary numbers.
    unions = [(number >> labels) & 1 == 1 for number in range(1, 255, 2)]
    queries = [gc.CutQuery(union) for union in unions]
    truth = np.array(gc.answer_all(queries, graph))
    errors = {"synthetic": 0.0, "unbiased": 0.0, "shrunk": 0.0}

    for seed in range(6):
        release = gc.release_graph(graph, epsilon=0.5, groups=groups, seed=seed)
        synthetic = np.array(gc.answer_all(queries, release.expected))
        errors["synthetic"] += np.abs(synthetic - truth).mean()
        for kind in ("unbiased", "shrunk"):
            answers = release.answer_all(queries, estimate=kind)
            estimates = np.array([answer.estimate for answer in answers])
            errors[kind] += np.abs(estimates - truth).mean()

    assert 2 * errors["synthetic"] < errors["unbiased"]
    assert errors["shrunk"] < 1.25 * errors["synthetic"]


def test_communities_that_exchanged_vertices_are_another_kind_than_halves():
    """They are shrunk as if they were alone, though no two of them are disjoint."""
    rng, n, deviation = np.random.default_rng(8), 400, 300.0
    labels = np.arange(n) // 100
    communities = []
    for label in range(4):
        members = labels == label
        leaving = rng.choice(np.flatnonzero(members), 5)
        joining = rng.choice(np.flatnonzero(~members), 5)
        members[leaving], members[joining] = False, True
        communities.append((members, ~members))
    halves = [(S, ~S) for S in (rng.permutation(n) < 200 for _ in range(60))]
    cuts = communities + halves
    synthetic = np.full(len(cuts), 2000.0)
    unbiased = synthetic + deviation * rng.normal(size=len(cuts))
    unbiased[:4] = 900 + deviation * np.array([0.5, -0.3, 0.2, -0.4])

    mixed = shrunk_values(cuts, synthetic, unbiased, deviation)

    alone = shrunk_values(communities, synthetic[:4], unbiased[:4], deviation)
    np.testing.assert_array_equal(mixed[:4], alone)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("bias", "deviation_of_truth", "smallest_ratio"),
    [
        pytest.param(0.0, 20.0, 0.75, id="good synthetic values"),
        pytest.param(0.0, 320.0, 0.75, id="scattered truth"),
        # The posterior to a power is too sure of the common factor: it states half of the error.
        pytest.param(-0.4, 20.0, 0.4, id="common bias"),
    ],
)
def test_stated_errors_of_a_kind_are_those_that_it_has(bias, deviation_of_truth, smallest_ratio):
    """Root mean squares over draws of the truth and of the noise."""
    rng, count, deviation = np.random.default_rng(9), 40, 100.0
    misfit = MisfitVariances(np.full(count, 20.0**2), np.zeros(count))
    stated_variances, squared_errors = [], []
    for _ in range(60):
        synthetic = rng.uniform(800, 1200, count)
        truth = synthetic * (1 + bias) + deviation_of_truth * rng.normal(size=count)
        unbiased = truth + deviation * rng.normal(size=count)
        shrunk = shrunk_towards(synthetic, unbiased, deviation**2 * np.eye(count), misfit=misfit)
        stated_variances.append(shrunk.error_variances)
        squared_errors.append((shrunk.values - truth) ** 2)
    ratio = np.sqrt(np.mean(stated_variances) / np.mean(squared_errors))
    assert smallest_ratio < ratio < 1.35
