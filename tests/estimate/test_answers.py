"""Answers to cuts from all that was measured: values, laws, intervals, lists."""

import functools
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from group_cases import cliques, coefficients, directed, drawn, observations, two_sided
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp import CutQuery, GraphError, Groups, QueryError, release_graph
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE, DEFAULT_PERCENT
from graphcuts_dp.estimate import pair_types
from graphcuts_dp.estimate.estimator import Sizes, log_cuts
from graphcuts_dp.estimate.measurement import CellSums, Total
from graphcuts_dp.estimate.pair_types import best_combination
from graphcuts_dp.estimate.usable_sums import UsableMeasurements
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy.distributions import BinaryResponse, LaplaceNoise
from graphcuts_dp.schema.layout import Layout

MECHANISMS = ["randomized-response", "degrees+randomized-response", "auto"]
NOISES = ["binary", "laplace", "discrete-laplace", "staircase"]
ALARM = 1e-6
HALF = -math.log1p(-0.5)  # log failures of a confidence of one half


def plain(shape, cap=None, seed=0, density=0.4):
    """A graph without groups; weights are whole where the cap is."""
    whole = cap is not None and cap > 1
    options = {} if cap is None else {"largest": cap, "max_weight": cap, "whole": whole}
    arcs = shape == "arcs"
    made = random_graph(6 if arcs else shape, seed, density=density, directed=arcs,
                        **options | {"max_weight_change": None})  # fmt: skip
    return made, None


KINDS = [("binary", None), ("laplace", 1.0), ("discrete-laplace", 3.0), ("laplace", 0.3)]
CASES = {
    f"{shape}, {noise} {cap}": (functools.partial(plain, shape, cap), noise)
    for shape in (9, (5, 6), "arcs")
    for noise, cap in KINDS
} | {
    "groups": (cliques, "binary"),
    "groups, weights": (lambda: cliques(cap=3.0), "discrete-laplace"),
    "groups, fine weights": (lambda: cliques(cap=0.3), "laplace"),
    "groups, arcs": (directed, "binary"),
    "groups, arcs with weights": (lambda: directed(cap=2.0), "laplace"),
    "groups, two sides": (two_sided, "binary"),
    "groups, two sides, weights": (lambda: two_sided(cap=2.0), "laplace"),
}


def share_of(S, T, *, symmetric):
    layout = Layout((len(S), len(T)), symmetric=symmetric)
    return log_cuts(Sizes.of(S, T, one_set=symmetric), layout)


def cuts_of(release, count):
    """Random cuts; where there are groups, such that split each, so that it stands for itself."""
    rng = np.random.default_rng(4)
    measured = release.measurements.find(CellSums)
    while count:
        S, T = (rng.random(size) < 0.5 for size in release.noisy.shape)
        if measured is not None:
            one_set = measured.map.tree.symmetric
            codes = (S + 2 * T, S + 2 * T) if one_set else (S, T)
            sides = zip(measured.map.members, codes, strict=True)
            if any(len(set(code[own == g])) == 1 for own, code in sides for g in set(own)):
                continue
        count -= 1
        yield S, T


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("how", MECHANISMS)
@pytest.mark.parametrize("epsilon", [1.0, 30.0])
def test_the_value_is_the_best_of_all_unbiased_ones(case, how, epsilon):
    make, noise = CASES[case]
    assert_best(drawn(*make(), how, noise=noise, epsilon=epsilon))


@pytest.mark.parametrize("case", [f"{shape}, {KINDS[2][0]} 3.0" for shape in (9, (5, 6), "arcs")])
def test_a_total_that_no_decision_has_looked_at_is_used(case):
    """As in releases of many vertices, where decisions look at a coarser copy of the total."""
    make, noise = CASES[case]
    release = drawn(*make(), "auto", noise=noise, epsilon=1.0)
    total = release.measurements.find(Total)
    assert total.used_in_decision
    values = [
        replace(part, used_in_decision=False) if part is total else part
        for part in release.measurements.values
    ]
    unseen = replace(release.measurements, values=tuple(values))
    assert UsableMeasurements.of(unseen).for_values.total is not None
    assert_best(replace(release, measurements=unseen))


def assert_best(release):
    """Compare answers and their variances with least squares on all that answers may use."""
    pairs, patterns, values, variances = observations(release)
    inverse = np.linalg.inv(patterns.T @ (patterns / variances[:, None]))
    best = inverse @ (patterns.T @ (values / variances))
    symmetric = release.noisy.symmetric
    for S, T in cuts_of(release, 8):
        wanted = coefficients(pairs, S, T, symmetric=symmetric)
        assert release.answer(S, T).estimate == pytest.approx(wanted @ best, rel=1e-6, abs=1e-5)
        variance = release.estimator.estimate_cut(S, T).noise.variance
        assert variance == pytest.approx(wanted @ inverse @ wanted, rel=1e-6, abs=1e-12)
    others = ~S if symmetric or release.noisy.directed else np.ones_like(T)
    assert release.answer(S) == release.answer(CutQuery(S, others))


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


@pytest.mark.parametrize("most", [1, 2, 12])
def test_classes_that_are_put_together_lose_precision_and_nothing_else(most, monkeypatch):
    """The value stays a linear unbiased estimate: with noise taken away it is the truth."""
    graph, groups = cliques((3, 4, 2, 5))
    release = drawn(graph, groups, "degrees+randomized-response")
    pairs, patterns, _, variances = observations(release)
    inverse = np.linalg.inv(patterns.T @ (patterns / variances[:, None]))
    monkeypatch.setattr(pair_types, "_MOST_SPLIT_GROUPS", most)
    rng = np.random.default_rng(7)
    for _ in range(10):
        S, T = rng.random((2, graph.n)) < 0.5
        wanted = coefficients(pairs, S, T, symmetric=True)
        best = wanted @ inverse @ wanted
        variance = release.estimator.estimate_cut(S, T).noise.variance
        alone = wanted @ wanted * release.noisy.distribution.standard_deviation**2
        assert best * (1 - 1e-9) <= variance <= alone * (1 + 1e-9)


def test_unions_of_groups_are_answered_from_the_measured_sums():
    """Eight groups of forty: the noise of a sum is far below that of 1,600 entries."""
    graph, groups = cliques((40,) * 8)
    release = drawn(graph, groups, "auto", epsilon=1.0)
    names = [each.name for each in release.measurements.values]
    assert names.count("groups") == 1  # the first look is refined, and is a part of the second
    variance = release.measurements.find(CellSums).law.variance
    first, second = (groups.members(label) for label in ("c0", "c5"))
    one = release.estimator.estimate_cut(first, second).noise.deviation
    raw = release.noisy.distribution.standard_deviation * 40
    assert one <= math.sqrt(variance) < 0.4 * raw
    union = first | groups.members("c1") | groups.members("c2")
    rest = release.estimator.estimate_cut(union, ~union).noise.deviation
    assert rest <= math.sqrt(3 * 5 * variance)
    low, high = release.answer(union).interval
    assert low <= CutQuery(union, ~union).value(graph) <= high
    assert high - low < 1.1 * 2 * 1.96 * math.sqrt(3 * 5 * variance)


# Intervals. Counts of misses beyond the binomial quantile have probability below 1e-6.


@pytest.fixture
def each_radius_once(monkeypatch):
    """A radius depends on nothing but the distribution, the pairs and the confidence."""
    for distribution in (BinaryResponse, LaplaceNoise):
        monkeypatch.setattr(distribution, "radius", functools.cache(distribution.radius))


@pytest.mark.usefixtures("each_radius_once")
@pytest.mark.parametrize("runs", [50, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("case", "how"),
    [
        *itertools.product(
            ("9, binary None", "(5, 6), laplace 1.0", "arcs, discrete-laplace 3.0"),
            ("degrees+randomized-response", "auto"),
        ),
        ("groups", "auto"),
        ("groups, two sides", "auto"),
        (
            "groups, fine weights",
            "randomized-response",
        ),  # parts that differ have a table of noise each
    ],
)
def test_intervals_hold_as_often_as_they_say(case, how, runs):
    """Single cuts, those of a list together with `joint`, and all cuts at once with `simultaneous`;
    values are unbiased, and err as they claim, which depends on what a release buys."""
    make, noise = CASES[case]
    source = SeededEntropy(11)
    densities = (0.1, 0.9) if how == "auto" else (0.4,)  # what auto buys depends on the total
    graphs = [make()] if "groups" in case else [make(density=density) for density in densities]
    for graph, groups in graphs:
        halves = [np.arange(size) % 2 == 0 for size in graph.shape]
        queries = [CutQuery([0]), CutQuery(*halves), CutQuery([0, 1, 2, 3], [0, 4])]
        # One interval for each of many cuts would be short for all of them in nearly every run.
        several = [*queries, *(CutQuery([vertex]) for vertex in range(1, 5))]
        truths = np.array([query.value(graph) for query in several])
        truth = truths[: len(queries)]
        masks = [query.masks(graph.space) for query in queries]
        misses, together, errors = np.zeros(len(queries)), np.zeros(2), []
        for _ in range(runs):
            release = drawn(graph, groups, how, noise=noise, source=source)
            found = release.answer_all(queries, confidence=0.8)
            low, high = np.array([answer.interval for answer in found]).T
            misses += (truth < low) | (truth > high)
            for place, (way, asked) in enumerate((("joint", queries), ("simultaneous", several))):
                every = release.answer_all(asked, confidence=0.5, **{way: True})
                low, high = np.array([answer.interval for answer in every]).T
                values = truths[: len(asked)]
                together[place] += ((values < low) | (values > high)).any()
            estimates = [release.estimator.estimate_cut(*each) for each in masks]
            claimed = np.array([each.noise.deviation for each in estimates])
            errors.append(([answer.estimate for answer in found] - truth) / claimed)
        assert misses.max() <= scipy.stats.binom.isf(ALARM, runs, 0.2)
        assert together.max() <= scipy.stats.binom.isf(ALARM, runs, 0.5)
        means, spreads = np.mean(errors, axis=0), np.std(errors, axis=0)
        assert (np.abs(means) <= 5.5 * spreads / math.sqrt(runs)).all()
        # With a kurtosis up to 6: a deviation of 100 runs is within 0.6, but for a chance of 1e-6.
        assert np.allclose(spreads, 1, rtol=6 / math.sqrt(runs))


RUNS = pytest.mark.parametrize("runs", [200, pytest.param(500, marks=pytest.mark.slow)])


@pytest.mark.thorough(cases=1)
@RUNS
@pytest.mark.usefixtures("each_radius_once")
@pytest.mark.parametrize("noise", NOISES)
def test_an_interval_is_of_one_public_width_and_not_too_wide(noise, runs):
    graph, source, query = random_graph(8, 4), SeededEntropy(5), CutQuery([0, 1, 2], [2, 3, 4, 5])
    truth, levels = query.value(graph), {0.5: 3.0, 0.95: 1.9}
    misses, widths, errors = dict.fromkeys(levels, 0), {level: set() for level in levels}, []
    for _ in range(runs):
        made = drawn(graph, None, "randomized-response", noise=noise, source=source, epsilon=1.0)
        for confidence in levels:
            answer = made.answer(query, confidence=confidence)
            low, high = answer.interval
            misses[confidence] += not low <= truth <= high
            if 0 < low < high:  # not cut to what is possible
                widths[confidence].add(round(2 * (answer.estimate - low), 6))
        errors.append(answer.estimate - truth)
    for confidence, most in levels.items():
        assert misses[confidence] <= scipy.stats.binom.isf(ALARM, runs, 1 - confidence)
        (width,) = widths[confidence]  # it depends on sizes alone
        # Not vacuous: so many times the central part of the errors actually seen, at most.
        assert width / 2 <= most * np.quantile(np.abs(errors), confidence)


@pytest.mark.thorough(cases=1)
@RUNS
@pytest.mark.parametrize("noise", NOISES)
def test_simultaneous_intervals_hold_for_all_cuts_at_once(noise, runs):
    """n = 4: all 256 pairs of sets in every run, the truth and the radius by brute force."""
    graph, source = random_graph(4, 6), SeededEntropy(7)
    i, j = np.triu_indices(4, 1)
    sets = [np.array(bits, dtype=bool) for bits in itertools.product([0, 1], repeat=4)]
    both = list(itertools.product(sets, sets))
    forms = np.array([(S[i] & T[j]) | (S[j] & T[i]) for S, T in both], dtype=float)
    first = drawn(graph, None, "randomized-response", noise=noise, epsilon=1.0).estimator
    shares = [HALF + share_of(S, T, symmetric=True) for S, T in both]
    radii = [first.estimate_cut(*cut).radius(log) for cut, log in zip(both, shares, strict=True)]
    assert first.estimate_cut(*both[60]).radius(HALF) < radii[60]
    misses, truth = 0, forms @ graph.dense()[i, j]
    for _ in range(runs):
        release = drawn(graph, None, "randomized-response", noise=noise, source=source, epsilon=1.0)
        errors = np.abs(forms @ release.noisy.estimate()[i, j] - truth)
        misses += bool((errors > np.array(radii) + 1e-9).any())
    assert misses <= scipy.stats.binom.isf(ALARM, runs, 0.5)


@pytest.mark.parametrize(("rows", "columns"), [(3, None), (4, None), (2, 3), (1, 1)])
def test_shares_of_all_cuts_add_up_to_one_at_most(rows, columns):
    """Every cut once, by the set of its pairs: the union bound behind `simultaneous`."""
    symmetric, shares = columns is None, {}
    sides = [itertools.product([False, True], repeat=n) for n in (rows, columns or rows)]
    for S, T in itertools.product(*map(list, sides)):
        share = math.exp(-share_of(np.array(S), np.array(T), symmetric=symmetric))
        key = frozenset((S, T)) if symmetric else (S, T)  # (S, T) and (T, S) are one cut
        assert shares.setdefault(key, share) == pytest.approx(share)
    assert sum(shares.values()) <= 1 + 1e-9
    assert sum(shares.values()) > 0.5  # and little is given away


def test_what_rounding_takes_is_in_the_interval():
    """Weights just below a step of the fine grid are rounded down by nearly all of it."""
    graph = random_graph(6, 0, density=1.0, largest=1.0, max_weight=1.0, max_weight_change=None)
    for how in MECHANISMS:
        release = drawn(graph, None, how, noise="laplace", epsilon=1.0)
        estimate = release.estimator.estimate_cut(np.arange(6) < 3, np.arange(6) >= 3)
        grids = [release.noisy.distribution.unit]
        grids += [release.degrees.unit] if release.degrees is not None else []
        assert estimate.slack >= 9 * min(grids)
        assert estimate.slack < 100 * max(grids) + 1e-9


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("bipartite", [False, True])
@pytest.mark.parametrize(("noise", "cap"), [("binary", 1.0), ("laplace", None), ("laplace", 0.3),
                                            ("discrete-laplace", 4.0)])  # fmt: skip
def test_intervals_lie_where_a_cut_can_and_values_stay_unbiased(noise, cap, bipartite):
    weights = None if noise == "binary" else [cap or 7.0]
    sides = {"left": 3, "right": 3} if bipartite else {"vertices": 6}
    graph = (gc.BipartiteGraph if bipartite else gc.Graph)(
        [0], [1], weights, max_weight=cap if weights else None, max_weight_change=1, **sides
    )
    outside = 0
    sets = itertools.product([[0], [1, 2], [0, 1, 2]], [[1], [0, 2], [0, 1, 2]], range(4))
    for S, T, seed in sets:
        made = drawn(
            graph, None, "randomized-response", noise=noise, epsilon=0.5, source=SeededEntropy(seed)
        )
        pairs = {(i, j) if bipartite else tuple(sorted((i, j)))
                 for i, j in itertools.product(S, T) if bipartite or i != j}  # fmt: skip
        most = np.inf if cap is None else cap * len(pairs) * (1 + 1e-15)
        for simultaneous in (False, True):
            answer = made.answer(S, T, simultaneous=simultaneous)
            assert 0 <= answer.interval[0] <= answer.interval[1] <= most
            outside += not 0 <= answer.estimate <= most
    assert outside > 0  # an estimate that was cut, too, would be biased


# Lists.


def test_answers_by_label_and_what_they_say_of_themselves():
    made = release_graph(gc.Graph([0, 1], [1, 2], vertices=list("abc")), epsilon=20.0, seed=0,
                         fit="none")  # fmt: skip
    queries = [CutQuery(["a"], ["b", "c"]), CutQuery(["b"])]
    both = made.answer_all(queries, confidence=0.9)
    assert both[0].estimate == made.answer(["a"], ["b", "c"]).estimate
    assert both[1] == made.answer(["b"], confidence=0.9)
    assert (made.answer([]).value, made.answer([]).interval) == (0, (0, 0))  # no pairs, no doubt
    assert both[0].seeded
    assert "[seeded: not private]" in str(both[0])
    assert "(90%, this cut)" in str(both[0])
    assert "all cuts at once" in str(made.answer(["a"], simultaneous=True))
    private = release_graph(random_graph(6, 0), epsilon=20.0, fit="none").answer([0])
    assert not private.seeded
    assert "not private" not in str(private)
    for estimate, value in ((4.07, 4.0), (3.52, 3.52), (-1, 3.0)):  # what is read is possible
        answer = replace(private, estimate=estimate, interval=(3.0, 4.0))
        assert str(answer).startswith(f"{value:.1f} in [3.0, 4.0]")
        assert (answer.value, answer.estimate) == (value, estimate)


CUT = CutQuery([0])
NOT_ASKED = [
    *((([0],), {"confidence": c}, "confidence") for c in (0, 1, 1.5, "0.9", math.nan, None)),
    ((5,), {}, "a list of labels, not 5"),
    (([6],), {}, "unknown vertex"),
    ((np.ones(5, dtype=bool),), {}, "length 6"),
    ((CUT, [1]), {}, "not both"),
    (([0],), {"estimate": "best"}, "unknown estimate 'best'; choose one of unbiased, shrunk"),
    (([0],), {"estimate": "shrunk"}, "no synthetic graph"),
]


@pytest.mark.parametrize(("asked", "options", "told"), NOT_ASKED)
def test_what_cannot_be_asked_is_refused_in_words(asked, options, told):
    made = release_graph(random_graph(6, 0), epsilon=9.0, fit="none", seed=0)
    with pytest.raises((QueryError, GraphError), match=told):
        made.answer(*asked, **options)
    with pytest.raises(QueryError, match="is no query"):
        made.answer_all([5])
    with pytest.raises(QueryError, match="not both"):
        made.answer_all([CUT], joint=True, simultaneous=True)


def test_joint_intervals_count_different_cuts():
    release = release_graph(random_graph(12, 1), epsilon=3.0, fit="none", seed=1)
    S, T = np.arange(12) < 4, np.arange(12) > 7
    once = release.answer(CutQuery(S, T))
    same = release.answer_all([CutQuery(S, T), CutQuery(T, S), CutQuery(S, T)], joint=True)
    assert [answer.together for answer in same] == [1, 1, 1]
    assert same[0].interval == pytest.approx(once.interval)
    three = release.answer_all([CutQuery(S, T), CutQuery(S), CutQuery(T)], joint=True)
    assert [answer.together for answer in three] == [3, 3, 3]
    assert f"{DEFAULT_PERCENT}, 3 cuts at once" in str(three[0])
    assert (
        three[0].interval
        == release.answer(CutQuery(S, T), confidence=1 - (1 - DEFAULT_CONFIDENCE) / 3).interval
    )
    one_set = release.answer_all([CutQuery(S, T), CutQuery(S, ~S)], joint=True)
    assert [answer.together for answer in one_set] == [2, 2]
    assert release.answer_all([], joint=True) == []
    one_way = release_graph(random_graph((5, 5), 1), epsilon=3.0, fit="none", seed=1).answer_all(
        [CutQuery(S[:5], T[-5:]), CutQuery(T[-5:], S[:5])], joint=True
    )
    assert one_way[0].together == 2


@pytest.mark.parametrize(("most", "shape"), [(None, (3, 3)), (2, (2, 2))])
def test_of_nested_levels_the_finest_that_is_not_too_fine_is_measured(most, shape, monkeypatch):
    graph, groups = cliques((4, 3, 5))
    codes = groups.codes().tolist()
    nested = Groups(graph.vertices, {"half": [code // 2 for code in codes], "club": codes})
    if most is not None:
        monkeypatch.setattr("graphcuts_dp.synth.budget_plans.MOST_GROUPS", most)
    found = gc.release_graph(graph, epsilon=1.0, groups=nested, seed=1, fit="none")
    assert found.measurements.find(CellSums).map.shape == shape
