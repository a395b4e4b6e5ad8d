"""HR12: its theorems with measured errors, embeddings, mistake bounds, and errata.

A bound that fails with probability at most beta fails f times in R independent runs with
probability at most P(Binomial(R, beta) >= f): the tests demand that this is above 1e-6.
"""

import math
from dataclasses import replace
from functools import cache

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from graphcuts_dp import ParameterError
from graphcuts_dp.distances.coordinate import Line, PiecewiseLinear, Profile
from graphcuts_dp.distances.embeddings import (
    L1Embedding,
    bourgain_embedding,
    bourgain_repetitions,
    exact_embedding,
    projection_embedding,
)
from graphcuts_dp.distances.learner import L1Learner, are_guaranteed
from graphcuts_dp.distances.locations import Locations, all_distances
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.distances.session import InteractiveDistances
from graphcuts_dp.plugins import SeededEntropy
from scripts.figures.distance_bounds import (
    bourgain_contraction,
    decomposable_mistakes,
    decomposable_tolerance,
    embedded_range,
    hr12_interactive_error,
    hr12_offline_error,
    learner_mistakes,
    mistake_bound_error,
    projection_dimensions,
)

# Theorems 1, 2, 7, 10 and 11: measured errors within the computed bounds; three errata


RUNS, BETA = 16, 0.2
MAPS = {
    "path": Metric.path(60),
    "grid": Metric.grid(7, 9),
    "tree": Metric.of(nx.balanced_tree(2, 3)),
}


def placed(metric, count, seed):
    rng = np.random.default_rng(seed)
    return Locations(metric, rng.multinomial(count, rng.dirichlet(np.full(len(metric), 0.2))))


@cache
def offline_runs(kind, delta=0.0):
    """The learner of all vertices; of each run whether it is guaranteed, and its largest error."""
    made, found = plan(exact_embedding(MAPS[kind]), delta=delta), []
    for run in range(RUNS):
        here = placed(MAPS[kind], 10**6, run)
        learnt = made.learn(here, SeededEntropy(run))
        off = np.abs(made.values(learnt) - all_distances(here)).max()
        found.append((are_guaranteed(learnt), off))
    return made, found


def possible(failures):
    return binom.sf(failures - 1, RUNS, BETA) > 1e-6


def plan(embedding, **numbers):
    fixed = {"people": 10**6, "queries": None, "epsilon": 1.0, "delta": 0.0, "beta": BETA}
    return L1Learner(embedding=embedding, **(fixed | numbers))


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("kind", MAPS)
def test_theorem_2_offline_errors(kind, delta):
    made, runs = offline_runs(kind, delta)
    assert made.error < 0.6 * MAPS[kind].diameter  # the bound says something
    assert possible(sum(not sure or off > made.error for sure, off in runs))
    assert min(off for _, off in runs) > 0


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("kind", MAPS)
def test_theorem_1_interactive_errors_and_intervals(kind, delta):
    """Half of the queries follow the answers: those with the least one so far, asked again."""
    metric = MAPS[kind]
    mechanism = InteractiveDistances(plan(exact_embedding(metric), delta=delta, queries=12))
    failures, off = 0, []
    for run in range(RUNS):
        rng = np.random.default_rng(run)
        here = placed(metric, 10**6, run)
        truth, source = all_distances(here), SeededEntropy(run)
        state, found, wrong = mechanism.start(here, source), {}, False
        for step in range(12):
            fresh = not found or step % 2
            row = int(rng.integers(len(metric))) if fresh else min(found, key=found.get)
            state, answer = mechanism.step(state, row, None, source)
            found[row] = mechanism.learner.values(state.coordinates)[row]
            low, high = answer.interval
            off.append(abs(found[row] - truth[row]))
            wrong |= not (answer.guaranteed and low <= truth[row] <= high)
            wrong |= off[-1] > mechanism.learner.error
        failures += wrong
    assert possible(failures)
    assert max(off) > 0


def test_a_twin_that_guarantees_a_tenth_of_the_error_is_caught():
    made, runs = offline_runs("path")
    assert not possible(sum(off > made.error / 10 for _, off in runs))


def embedded_runs(embedding, truth_of, metric):
    """Theorem 7's range for every vertex, and the intervals, over runs."""
    made = plan(embedding, people=10**7, delta=1e-6)
    failures, says = 0, 0
    for run in range(RUNS):
        here = placed(metric, 10**7, run)
        truth = truth_of(here)
        learnt = made.learn(here, SeededEntropy(run))
        wrong, values, ranges = not are_guaranteed(learnt), made.values(learnt), made.ranges(learnt)
        for row in range(len(metric)):
            low, high = embedded_range(
                truth[row],
                expansion=embedding.expansion,
                contraction=embedding.contraction,
                error=made.error,
            )
            wrong |= not low <= values[row] <= high
            wrong |= not ranges[0][row] <= truth[row] <= ranges[1][row]
            says += ranges[0][row] > 0
        failures += wrong
    assert possible(failures)
    return says / RUNS / len(metric)


@pytest.mark.thorough
def test_theorem_10_straight_line_distances():
    places = np.random.default_rng(3).uniform(size=(8, 2))
    metric = Metric.path(8)  # labels only
    embedding = projection_embedding(places, dimensions=4, public_seed=1)
    true = np.sqrt(((places[:, None] - places) ** 2).sum(axis=2))
    assert embedded_runs(embedding, lambda here: true @ here.counts / here.people, metric) > 0.5


@pytest.mark.thorough
def test_theorems_7_and_11_any_metric():
    graph = nx.cycle_graph(9)
    nx.set_edge_attributes(graph, {edge: 1 + edge[0] % 3 for edge in graph.edges}, "weight")
    metric = Metric.of(graph)
    embedding = bourgain_embedding(metric, public_seed=2, repetitions=3)
    assert 1 < embedding.contraction < 10
    assert embedded_runs(embedding, all_distances, metric) > 0.5


def test_erratum_the_derivative_has_sensitivity_two_over_n():
    """Moving one person changes the derivative of the average by up to 2/n; 1/n is printed."""
    n, width = 10, 30
    rng = np.random.default_rng(2)
    slopes, values = [], []
    for _ in range(300):
        places = rng.integers(0, width + 1, n)
        moved = places.copy()
        moved[0] = rng.integers(0, width + 1)
        both = [Profile(np.arange(width + 1), np.bincount(p, minlength=width + 1))
                for p in (places, moved)]  # fmt: skip
        for at in range(width + 1):
            slopes.append(abs(2 * both[0].count(at) - 2 * both[1].count(at)) / n)
            values.append(abs(both[0].value(at) - both[1].value(at)) / n)
    assert max(slopes) == 2 / n > 1 / n
    assert 0.9 * width / n < max(values) <= width / n


def test_theorems_1_and_2_exponents():
    """n^-4/5 and l^9/5, or n^-2/3 and l^7/3; the sensitivity 2 costs 2^(4/5) or 2^(2/3)."""
    fixed = {"queries": 1000, "epsilon": 1.0, "beta": 0.05}
    for delta, of_n, of_l in ((1e-6, 4 / 5, 9 / 5), (0.0, 2 / 3, 7 / 3)):
        one = hr12_interactive_error(people=10**6, dimensions=4, delta=delta, **fixed)
        more = hr12_interactive_error(people=10**7, dimensions=4, delta=delta, **fixed)
        wide = hr12_interactive_error(people=10**6, dimensions=8, delta=delta, **fixed)
        assert math.log10(one / more) == pytest.approx(of_n)
        assert math.log2(wide / one) == pytest.approx(of_l)
        printed = mistake_bound_error(
            tolerance=1 / 16, functions=8, mistakes=3 * 2**0.5 * 8, sensitivity=1,
            people=10**6, delta=delta, **fixed,
        )  # fmt: skip
        assert one / printed == pytest.approx(2**of_n)
        offline = hr12_offline_error(
            people=10**9, dimensions=4, epsilon=1.0, delta=delta, beta=0.05
        )
        online = hr12_interactive_error(
            people=10**9, dimensions=4, delta=delta, **(fixed | {"queries": 2 * 16 / offline})
        )
        assert offline == pytest.approx(2 * online)


@pytest.mark.parametrize(("delta", "of_n", "of_l"), [(1e-6, 4 / 5, 7 / 5), (0.0, 2 / 3, 5 / 3)])
def test_our_guarantees_have_the_papers_power_of_n_and_a_smaller_one_of_l(delta, of_n, of_l):
    def error(people, dimensions):
        points = np.repeat(np.arange(2**20)[:: 2**8, None], dimensions, axis=1)
        embedding = L1Embedding(
            points=points, unit=2.0**-20, reach=float(dimensions), diameter=float(dimensions)
        )
        return plan(embedding, people=people, delta=delta, queries=1000).error

    slope = math.log10(error(10**8, 1) / error(10**9, 1))
    assert slope == pytest.approx(of_n, abs=0.04)
    assert math.log2(error(10**9, 8) / error(10**9, 4)) == pytest.approx(of_l, abs=0.12)
    paper = hr12_interactive_error(
        people=10**9, dimensions=4, queries=1000, epsilon=1.0, delta=delta, beta=BETA
    )
    assert error(10**9, 4) < paper / 20


def test_the_error_never_passes_the_largest_distance():
    metric = MAPS["tree"]
    made = plan(exact_embedding(metric), people=3)
    assert made.error == metric.diameter
    assert replace(made, people=10**8).error < metric.diameter / 5


# Section 4: expansion and contraction on random metrics, and two errata


def random_metric(size, seed):
    graph = nx.gnp_random_graph(size, 3 / size, seed=seed)
    graph.add_edges_from(nx.path_graph(size).edges)
    rng = np.random.default_rng(seed)
    for edge in graph.edges:
        graph.edges[edge]["weight"] = int(rng.integers(1, 30))
    return Metric.of(graph)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 14), st.integers(0, 10**6), st.integers(3, 12))
def test_theorem_11_expansion_holds_with_certainty(size, seed, repetitions):
    """No pair ever grows: HR12's worry that the expansion may fail is needless."""
    metric = random_metric(size, seed)
    try:
        embedding = bourgain_embedding(metric, public_seed=seed, repetitions=repetitions)
    except ParameterError:
        return  # an unlucky seed: two vertices at one point
    for row in range(size):
        assert (embedding.distances_from(row) <= metric.matrix[row] * (1 + 1e-12)).all()
    assert embedding.expansion <= 1 + 1e-11
    assert embedding.reach <= metric.diameter * (1 + 1e-11)


@pytest.mark.parametrize("queries", [None, [0, 5], [3], range(0, 20, 3)])
def test_theorem_11_contraction_with_the_papers_repetitions(queries):
    """Fails by chance with probability 1/20 for a random seed; the seed is fixed."""
    metric = random_metric(20, 4)
    embedding = bourgain_embedding(metric, queries, public_seed=5)
    rows = range(20) if queries is None else queries
    count = len(list(rows))
    assert embedding.points.shape[1] <= bourgain_repetitions(count, 20) * (
        bourgain_contraction(count) / 64
    )
    assert embedding.contraction <= bourgain_contraction(count)
    for row in rows:
        found = embedding.distances_from(row)
        assert (metric.matrix[row] <= embedding.contraction * found * (1 + 1e-12)).all()


def test_figure_3_has_one_level_too_few():
    """k = 2 and log k = 1 level: every set is the set of both query points; they collapse."""
    metric = Metric.path(2)
    levels = int(math.log2(2))
    assert levels == 1
    printed = [metric.matrix[:, [0, 1]].min(axis=1) for _ in range(levels)]
    assert (printed[0][0], printed[0][1]) == (0, 0)
    assert metric.matrix[0, 1] == 1  # contraction 1/0
    corrected = bourgain_embedding(metric, public_seed=1)
    assert corrected.contraction <= bourgain_contraction(2)


def test_erratum_the_cap_breaks_separability_and_is_needless():
    """min(1, |x - y|_1) is no sum of functions of one coordinate each; |x - y|_1 is one.

    A function of two coordinates is such a sum just if its mixed differences are 0.
    """
    x = np.zeros(2)

    def mixed(distance):
        a, b = (0.2, 0.9), (0.1, 0.7)
        return (
            distance((a[1], b[1])) - distance((a[0], b[1]))
            - distance((a[1], b[0])) + distance((a[0], b[0]))
        )  # fmt: skip

    assert mixed(lambda y: np.abs(x - y).sum()) == pytest.approx(0, abs=1e-15)
    assert abs(mixed(lambda y: min(1.0, np.abs(x - y).sum()))) > 0.3
    # Needless: with the diameter scaled to 1 no embedded distance passes 1.
    metric = random_metric(12, 1)
    embedding = bourgain_embedding(metric, public_seed=1, repetitions=10)
    assert embedding.reach / metric.diameter <= 1 + 1e-11


def test_erratum_theorem_7_lacks_one_over_n():
    """Exact answers on an exact embedding (C = 1) break the printed bound, which has sums."""
    rng = np.random.default_rng(1)
    distances = rng.uniform(0.2, 1, 50)  # from the query to n = 50 people
    answer, alpha = distances.mean(), 0.1
    low, high = embedded_range(distances.mean(), expansion=1, contraction=1, error=alpha)
    assert low <= answer <= high
    printed_low = distances.sum() / 1 - alpha
    assert answer < printed_low


def test_lemma_9_projections_keep_distances():
    """The measured factor is within (1 + a)/(1 - a), but for a part `failure` of all seeds."""
    places = np.random.default_rng(2).uniform(size=(25, 3))
    true = np.sqrt(((places[:, None] - places) ** 2).sum(axis=2))
    distortion, failure, runs = 0.3, 0.1, 40
    dimensions = projection_dimensions(25, distortion=distortion, failure=failure)
    failures = 0
    for seed in range(runs):
        embedding = projection_embedding(places, dimensions=dimensions, public_seed=seed)
        found = np.array([embedding.distances_from(row) for row in range(25)])
        assert (found <= true * embedding.expansion * (1 + 1e-12)).all()
        assert (true <= found * embedding.contraction * (1 + 1e-12)).all()
        assert embedding.expansion <= 1 + 1e-6
        failures += embedding.contraction > (1 + distortion) / (1 - distortion)
    assert binom.sf(failures - 1, runs, failure) > 1e-6
    few = projection_embedding(places, dimensions=5, public_seed=1)
    assert few.contraction > (1 + distortion) / (1 - distortion)


@pytest.mark.parametrize("size", [2, 9, 30])
def test_fewer_repetitions_do_well_where_measured(size):
    metric = random_metric(size, 8)
    embedding = bourgain_embedding(metric, public_seed=3, repetitions=40)
    assert 1 <= embedding.contraction <= 12


# Lemmas 4, 5 and 6: mistake bounds against adversaries, and the tolerance of Lemma 6


POINTS = np.linspace(0, 1, 1001)


def average_distance(places):
    """Average distance to some places, with a subgradient, on the grid."""
    values = np.abs(POINTS[:, None] - places).mean(axis=1)
    slopes = 2 * (POINTS[:, None] >= places).mean(axis=1) - 1
    return values, slopes


def functions():
    """1-Lipschitz convex functions [0, 1] -> [0, 1]: a parabola is the hardest."""
    rng = np.random.default_rng(1)
    yield POINTS**2 / 2, POINTS
    yield (POINTS - 0.5) ** 2, 2 * POINTS - 1
    for _ in range(6):
        yield average_distance(rng.beta(*rng.uniform(0.2, 3, 2), rng.integers(1, 300)))


def play(values, slopes, alpha, noise, pick, rng):
    """Mistakes that an adversary can force, with values and slopes off by up to `noise`."""
    found, count = np.zeros_like(POINTS), 0
    while True:
        gaps = values - found
        assert gaps.min() >= -2 * noise - 1e-12  # never above by more than a line may be off
        wrong = np.flatnonzero(np.abs(gaps) > alpha)
        if not len(wrong):
            return count
        at = pick(wrong, gaps, rng)
        off = noise * (rng.choice([-1, 1], 2) if noise else np.zeros(2))
        line = Line(float(POINTS[at]), float(values[at] + off[0]), float(slopes[at] + off[1]))
        found = np.maximum(found, PiecewiseLinear((line,))(POINTS))
        count += 1
        assert count <= 1000


PICKS = {
    "smallest mistake": lambda wrong, gaps, _: wrong[np.argmin(gaps[wrong])],
    "leftmost": lambda wrong, gaps, _: wrong[0],  # noqa: ARG005
    "any": lambda wrong, _, rng: rng.choice(wrong),
}


@pytest.mark.parametrize("pick", PICKS)
@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.1])
def test_lemmas_4_and_5_mistake_bounds(alpha, pick):
    rng = np.random.default_rng(2)
    most = 0
    for values, slopes in functions():
        exact = play(values, slopes, alpha, 0, PICKS[pick], rng)
        assert exact <= learner_mistakes(alpha) < 3 / math.sqrt(alpha)
        noisy = play(values, slopes, alpha, alpha / 4, PICKS[pick], rng)
        assert noisy <= learner_mistakes(alpha, line_error=alpha / 2) < 3 / math.sqrt(alpha / 2)
        most = max(most, exact)
    assert most >= 0.2 / math.sqrt(alpha)  # the bound is of the right order


def test_a_tolerance_above_half_breaks_the_learner():
    """Lines that are off by more than alpha lie above: then mistakes never end."""
    values, slopes = next(functions())
    rng = np.random.default_rng(3)
    with pytest.raises(AssertionError):
        play(values, slopes, 0.01, 0.02, PICKS["any"], rng)


def sums(dimensions, rng):
    return [average_distance(rng.beta(0.6, 0.6, 80)) for _ in range(dimensions)]


@pytest.mark.parametrize("dimensions", [1, 2, 5])
def test_lemma_6_mistake_bound_with_tangents_in_all_coordinates(dimensions):
    """Errors of alpha_1/4 = alpha/(4 l) in every number do."""
    rng = np.random.default_rng(4)
    alpha = 0.05 * dimensions
    noise = decomposable_tolerance(alpha, dimensions)
    parts = sums(dimensions, rng)
    hypothesis, mistakes = [PiecewiseLinear()] * dimensions, 0
    queries = rng.integers(0, len(POINTS), (600, dimensions))
    for query in queries:
        truth = sum(values[at] for (values, _), at in zip(parts, query, strict=True))
        gap = truth - sum(part(x) for part, x in zip(hypothesis, POINTS[query], strict=True))
        assert gap >= -alpha / 2 - 1e-12
        if gap > alpha:
            lines = [
                Line(
                    float(POINTS[at]),
                    float(values[at] + noise * rng.choice([-1, 1])),
                    float(slopes[at] + noise * rng.choice([-1, 1])),
                )
                for (values, slopes), at in zip(parts, query, strict=True)
            ]
            pairs = zip(hypothesis, lines, strict=True)
            hypothesis, mistakes = [part.with_line(line) for part, line in pairs], mistakes + 1
    assert 1 <= mistakes <= decomposable_mistakes(alpha, dimensions)


def exponent(tolerance, delta):
    """By which power of l the error of Lemma 3 grows, given c as a function of l."""

    def error(dimensions):
        return mistake_bound_error(
            tolerance=tolerance(dimensions),
            functions=2 * dimensions,
            mistakes=dimensions**1.5,
            sensitivity=2,
            people=1e9,
            queries=1e3,
            epsilon=1,
            delta=delta,
            beta=0.05,
        )

    return math.log(error(8) / error(4)) / math.log(2)


@pytest.mark.parametrize(("delta", "printed"), [(1e-6, 9 / 5), (0.0, 7 / 3)])
def test_the_tolerance_of_lemma_6_gives_the_powers_of_theorem_1(delta, printed):
    """c alpha = alpha/(4 l) = alpha_1/4 gives Theorem 1's powers of l; another l does not."""
    alpha, dimensions = 0.6, 3
    share = alpha / dimensions
    assert decomposable_tolerance(alpha, dimensions) == pytest.approx(share / 4)
    assert decomposable_tolerance(alpha, dimensions) != pytest.approx(share / (4 * dimensions))
    assert exponent(lambda size: 1 / (4 * size), delta) == pytest.approx(printed)
    assert exponent(lambda size: 1 / (4 * size**2), delta) > printed + 0.5
