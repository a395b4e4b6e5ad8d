"""Private least cuts: their law, compared with brute force; guarantees, charges and refusals."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

import graphcuts_dp as gc
from graphcuts_dp import BudgetError, GraphError, ParameterError, QueryError, cut_job, least_cut
from graphcuts_dp.cuts import least
from graphcuts_dp.cuts.least import grid_of_cuts
from graphcuts_dp.cuts.network import MOST_VERTEX_WEIGHT
from graphcuts_dp.display import up_to_digits
from graphcuts_dp.learn.least_cut_error import WEIGHT_SHARE, CutRates, least_cut_excess
from graphcuts_dp.plugins import SeededEntropy
from tests.audits.cuts import FREE, cut_law, pairs_of_four, several_law
from tests.audits.rows_in_memory import rows_in_memory

CLUB = gc.datasets.load("karate")
KINDS = {False: gc.Graph, True: gc.DirectedGraph}


def graph_of_four(weights: Sequence[float], *, directed: bool) -> gc.Graph | gc.DirectedGraph:
    """Return a graph of four vertices, the first and the last of which are terminals."""
    edges = np.array(pairs_of_four(directed=directed))
    return KINDS[directed](
        edges[:, 0],
        edges[:, 1],
        np.array(weights, dtype=float),
        vertices=4,
        max_weight_change=1,
    )


def noisy_codes(graph, *terminals, epsilon=1.0, seed=0, **options):
    """Return the parts of the noisy cut, even if a trivial cut is lighter."""
    job = cut_job(graph, *terminals, epsilon=epsilon, **options)
    return job.measure(graph, SeededEntropy(seed)).codes


@pytest.fixture
def noise(monkeypatch):
    """Return a queue of arrays that are used in place of noise."""
    queue = []

    def next_of_queue(rate, size, source):
        assert rate > 0
        del source
        return np.resize(queue.pop(0), size)

    monkeypatch.setattr(least, "sample_discrete_laplace", next_of_queue)
    return queue


@pytest.mark.thorough
@pytest.mark.parametrize("graphs", [4, pytest.param(12, marks=pytest.mark.slow)])
@pytest.mark.parametrize("directed", KINDS)
def test_the_audited_cut_is_the_one_of_the_mechanism(directed, graphs, noise):
    """On graphs of four vertices, for all noise that makes a difference, in grid units."""
    generator, count = np.random.default_rng(2), len(pairs_of_four(directed=directed))
    for weights in generator.integers(0, 3, (graphs, count)):
        graph = graph_of_four(weights, directed=directed)
        units = round(1 / grid_of_cuts(graph, Fraction(1)).unit)
        job = cut_job(graph, 0, 3, epsilon=1.0)
        for u, v in itertools.product(range(-5, 6), repeat=2):
            noise.append(units * np.array([0, u, v, 0]))
            codes = job.measure(graph, SeededEntropy(0)).codes
            keys = []
            for first, second in FREE:
                S = (1, first, second, 0)
                cost = sum(
                    weight
                    for (a, b), weight in zip(
                        pairs_of_four(directed=directed), weights, strict=True
                    )
                    if (S[a] > S[b] if directed else S[a] != S[b])
                )
                # The least noisy cost; of equal ones the smaller set.
                keys.append((cost - u * first - v * second, first + second))
            expected = FREE[keys.index(min(keys))]
            assert tuple(1 - codes[1:3]) == expected


def test_a_graph_without_weights_is_cut_like_one_with_all_weights_1(noise):
    for u, v in itertools.product(range(-3, 4), repeat=2):
        noise += [np.array([0, u, v, 0]), 2**12 * np.array([0, u, v, 0])]
        edges = [0, 0, 1], [1, 2, 3]
        plain = noisy_codes(gc.Graph(*edges, vertices=4), 0, 3)
        weighted = noisy_codes(gc.Graph(*edges, np.ones(3), vertices=4, max_weight_change=1), 0, 3)
        np.testing.assert_array_equal(plain, weighted)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_law_is_the_one_that_is_audited(epsilon):
    """On 40,000 graphs of four vertices with common terminals, by a chi-squared test."""
    weights, copies = (1, 0, 1, 1, 0), 40_000
    copy = np.arange(copies)[:, None]
    edges = [
        np.where(side % 3 == 0, side // 3, side + 1 + 2 * copy).ravel()
        for side in np.array([p for p, w in zip(pairs_of_four(directed=False), weights, strict=True)
                              if w]).T
    ]  # fmt: skip
    graph = gc.Graph(*edges, vertices=2 + 2 * copies)
    codes = 1 - noisy_codes(graph, 0, 1, epsilon=epsilon, seed=4)[2:].reshape(copies, 2)
    counts = np.bincount(codes @ [1, 2], minlength=4)
    expected = copies * cut_law(weights, float(CutRates.of(Fraction(epsilon), 1).cut))
    assert (
        (counts - expected) ** 2 / expected
    ).sum() < 31  # p = 8e-7 with three degrees of freedom


def test_the_law_of_several_terminals_is_the_one_that_is_audited():
    """By a chi-squared test of the 16 ways to assign two vertices to four terminals."""
    of_u, of_v, copies = (0, 1, 1, 0), (1, 0, 0, 1), 40_000
    first = 4 + 2 * np.arange(copies)
    edges = [(np.full(copies, t), first) for t in np.flatnonzero(of_u)]
    edges += [(np.full(copies, t), first + 1) for t in np.flatnonzero(of_v)]
    edges += [(first, first + 1)]
    rows, columns = (np.concatenate(side) for side in zip(*edges, strict=True))
    codes = noisy_codes(
        gc.Graph(rows, columns, vertices=4 + 2 * copies), 0, 1, 2, 3, epsilon=2.0, seed=6
    )
    counts = np.bincount(codes[4:].reshape(copies, 2) @ [4, 1], minlength=16)
    rate = float(CutRates.of(Fraction(2), 1, 2).cut)
    expected = copies * several_law(of_u, of_v, 1, rate).ravel()
    assert ((counts - expected) ** 2 / expected).sum() < 59  # p = 4e-7 with 15 degrees of freedom


def test_each_halving_cuts_the_parts_of_the_last_one(noise):
    """A path of 9 vertices with five terminals, without noise, and with noise above all weights."""
    graph = gc.Graph(range(8), range(1, 9), vertices=9)
    no_noise = np.zeros(9, dtype=np.int64)
    noise += [no_noise, no_noise, no_noise]
    assert noisy_codes(graph, 0, 2, 4, 6, 8).tolist() == [0, 1, 1, 2, 2, 3, 3, 4, 4]
    large_noise = np.array([0, 9, 0, 9, 0, 9, 0, 9, 0])
    noise += [large_noise, large_noise, large_noise]
    assert noisy_codes(graph, 0, 2, 4, 6, 8).tolist() == [0, 0, 1, 0, 2, 0, 3, 0, 4]
    assert noise == []


@pytest.mark.parametrize("count", range(2, 10))
def test_every_terminal_is_in_its_own_part(count):
    generator = np.random.default_rng(count)
    edges = np.unique(np.sort(generator.integers(0, 60, (300, 2)), axis=1), axis=0)
    edges = edges[edges[:, 0] < edges[:, 1]]
    graph = gc.Graph(edges[:, 0], edges[:, 1], vertices=60)
    terminals = generator.permutation(60)[: 2 * count].reshape(count, 2).tolist()
    partition = least_cut(graph, *terminals, epsilon=1.0)
    assert set(partition.codes.tolist()) <= set(range(count))
    for part, part_terminals in enumerate(terminals):
        assert set(part_terminals) <= set(partition.parts[part])
        assert partition.part_of(part_terminals[0]) == partition.names[part]


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize(
    ("weighted", "options", "change"),
    [
        (False, {}, 1.0),
        (True, {"max_weight_change": 1}, 1.0),
        (True, {"max_weight": 5.0}, 5.0),
        (True, {"max_weight": 0.3}, 0.3),
    ],
)
@pytest.mark.parametrize(("privacy_unit", "k"), [("edge", 1), (gc.PrivacyUnit.edge(7), 7)])
def test_the_rate_is_epsilon_over_twice_the_sensitivity_in_each_halving(
    weighted, options, change, privacy_unit, k, monkeypatch
):
    rates = []
    sample = least.sample_discrete_laplace

    def recorded_sample(rate, size, source):
        rates.append(rate)
        return sample(rate, size, source)

    monkeypatch.setattr(least, "sample_discrete_laplace", recorded_sample)
    graph = gc.Graph([0, 1], [1, 2], *[np.full(2, 0.2)] * weighted, vertices=6, **options)
    for terminals, halvings in (((0, 2), 1), ((0, 2, 4), 2), ((0, 1, 2, 3, 4), 3)):
        rates.clear()
        partition = least_cut(graph, *terminals, epsilon=1.5, privacy_unit=privacy_unit)
        grid = grid_of_cuts(graph, Fraction(3, 2) / k / halvings)
        assert grid.sensitivity * grid.unit >= change > (grid.sensitivity - 1) * grid.unit
        (rate,) = set(rates)
        assert len(rates) == halvings
        assert rate == CutRates.of(Fraction(3, 2) / k, grid.sensitivity, halvings).cut
        if halvings == 1:
            assert rate == (1 - WEIGHT_SHARE) * Fraction(3, 2) / (2 * k * grid.sensitivity)
        assert partition.guarantee.epsilon == pytest.approx(1.5, rel=1e-5)
        assert partition.guarantee.epsilon <= 1.5


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1, 3), Fraction(3), Fraction(50)])
@pytest.mark.parametrize("change", [1, 1280])
def test_all_noise_loses_no_more_than_epsilon_and_hardly_less(epsilon, change):
    """A pair that a halving separates costs once; a pair that is never separated costs in each.

    The three bounds of `CutRates.loss`, computed again, and each rate is as large as it can be.
    """
    x = WEIGHT_SHARE * epsilon
    last = (epsilon - x) / (2 * change)
    for halvings in range(1, 12):
        rates = CutRates.of(epsilon, change, halvings)
        assert 0 < rates.cut <= last
        last = rates.cut
        a, f, b = (rate * change for rate in (rates.cut, rates.terminal, rates.between))
        assert rates.across * change == x
        separated = 2 * float(a) + float(x)
        never_separated = halvings * math.log1p(2 * math.expm1(float(a)))
        separated_last = (halvings - 1) / halvings * never_separated + float(x)
        lost = rates.loss(change, halvings)
        assert f > 0
        assert float(epsilon) == pytest.approx(
            max(separated, never_separated, separated_last), rel=1e-12
        )
        of_free_pair = replace(rates, terminal=Fraction(0), between=Fraction(0))
        assert float(of_free_pair.loss(change, halvings)) == pytest.approx(
            float(epsilon), rel=1e-12
        )
        assert f + max(a + x, halvings * a, (halvings - 1) * a + x) == b == lost == epsilon
        for name in ("cut", "terminal", "between"):
            larger_rates = replace(rates, **{name: getattr(rates, name) * Fraction(1001, 1000)})
            assert larger_rates.loss(change, halvings) > epsilon


def test_grids_get_coarser_where_there_is_more_noise():
    sizes = {}
    for n, epsilon in ((100, 1), (10**6, 1), (10**6, Fraction(1, 100)), (10**9, Fraction(1, 1000))):
        grid = grid_of_cuts(
            gc.Graph([], [], [], vertices=n, max_weight_change=1), Fraction(epsilon)
        )
        sizes[n, epsilon] = grid.sensitivity
        assert grid.unit * grid.sensitivity == 1
    assert list(sizes.values()) == [2**12, 2**8, 2**3, 2**3]


def test_weights_above_the_largest_countable_one_are_clipped_with_a_note(noise, monkeypatch):
    networks = []
    monkeypatch.setattr(
        least, "least_side", lambda net, *given: networks.append(net) or given[1] == 1
    )
    noise.append(np.zeros(4, dtype=np.int64))
    graph = gc.Graph([0, 1], [1, 2], [2.0**40, 1.0], vertices=4, max_weight_change=1)
    note = least_cut(graph, 0, 2, epsilon=1.0).notes[-1]
    assert "weights above 1.374e+11 count as that" in note  # 2^51/4 steps of 2^-12
    (network,) = networks
    assert network.data.tolist() == [MOST_VERTEX_WEIGHT // 4, MOST_VERTEX_WEIGHT // 4, 2**12, 2**12]
    noise.append(np.zeros(4, dtype=np.int64))
    capped = gc.Graph([0, 1], [1, 2], [1e300, 1.0], vertices=4, max_weight=1e300)
    assert not any("count as that" in note for note in least_cut(capped, 0, 2, epsilon=1.0).notes)


def test_a_store_is_charged_once_and_refuses_before_noise(tmp_path, monkeypatch):
    path = tmp_path / "s.db"
    store = gc.Store(path, budget=(1.5, 0.0))
    gc.least_cut(CLUB, 0, 33, 5, epsilon=1.0, store=store)
    (use,) = gc.store_status(path).uses
    assert (use.use.kind, use.use.guarantee.epsilon) == ("cut", 1.0)
    assert use.use.parameters == {"terminals": 3, "terminal_vertices": 3}
    monkeypatch.setattr(least, "sample_discrete_laplace", None)
    with pytest.raises(BudgetError, match="nothing was spent"):
        gc.least_cut(CLUB, 0, 33, epsilon=1.0, store=store)


def test_a_cut_of_rows_has_the_user_as_its_privacy_unit(noise):
    marks = np.arange(2, dtype=np.uint64)
    edges = np.array([0, 1, 2, 0]), np.array([1, 2, 3, 2])
    rows = rows_in_memory(gc.VertexSet(5), np.array([0, 0, 1, 1]), marks, edges)
    noise.append(np.zeros(5, dtype=np.int64))
    unit = gc.PrivacyUnit.user(max_contributions=2)
    partition = gc.least_cut(rows, 0, 3, epsilon=1.0, privacy_unit=unit)
    assert partition.guarantee.privacy_unit == "1 user"
    assert (partition.codes[0], partition.codes[3]) == (0, 1)


def test_terminals_may_be_integers_of_numpy():
    job = cut_job(CLUB, np.int64(0), np.array([33, 5]), epsilon=1.0)
    assert [rows.tolist() for rows in job.terminal_rows] == [[0], [5, 33]]


WEIGHTED = gc.Graph([0], [1], [2.0], vertices=4)
SIDES = gc.BipartiteGraph([0], [1], left=3, right=3)
ARCS = gc.DirectedGraph([0], [1], vertices=4)
REFUSED = {
    "one terminal": (CLUB, (0,), {}, ParameterError, "name two or more vertices"),
    "an empty one": (CLUB, (0, []), {}, ParameterError, "not empty"),
    "one in two": (CLUB, (0, [1, 0]), {}, QueryError, "in two terminals"),
    "no vertex": (CLUB, (0, 34), {}, QueryError, "unknown vertex 34"),
    "a name": (CLUB, (0, "ann"), {}, QueryError, "unknown vertex 'ann'"),
    "no label": (CLUB, (0, None), {}, QueryError, "unknown vertex None"),
    "a fraction": (CLUB, (0, 1.5), {}, QueryError, "unknown vertex 1.5"),
    "epsilon": (CLUB, (0, 1), {"epsilon": 0}, ParameterError, "epsilon"),
    "a vertex": (CLUB, (0, 1), {"privacy_unit": "vertex:3"}, ParameterError,
                 "not possible here"),
    "a user": (CLUB, (0, 1), {"privacy_unit": "user:3"}, ParameterError, "needs rows"),
    "two sides": (SIDES, (0, 1), {}, ParameterError, "read the graph as undirected"),
    "three of arcs": (ARCS, (0, 1, 2), {}, ParameterError, "name two"),
    "weights": (WEIGHTED, (0, 1), {}, ParameterError, "without a public bound"),
    "no graph": ("mail.csv", (0, 1), {}, GraphError, "private data are a graph"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_bad_terminals_graphs_and_options_are_refused_on_one_line(name):
    graph, terminals, options, error, message = REFUSED[name]
    with pytest.raises(error, match=message) as refusal:
        least_cut(graph, *terminals, **{"epsilon": 1.0, **options})
    assert "\n" not in str(refusal.value)


def min_cut(graph: gc.Graph, s: int, t: int) -> float:
    """Return the least weight of all sets with s and without t."""
    return min(
        gc.CutQuery(S).value(graph)
        for in_S in itertools.product([False, True], repeat=graph.n - 2)
        for S in [np.insert(np.insert(np.array(in_S), s, True), t, False)]
    )


@pytest.mark.thorough
@pytest.mark.parametrize("runs", [60, pytest.param(200, marks=pytest.mark.slow)])
def test_the_bound_on_the_excess_holds_and_its_mean_is_below_n_by_epsilon(runs):
    """A bound of 95 % fails more often than is allowed with probability below 10^-7."""
    generator = np.random.default_rng(9)
    edges = np.array([p for p in itertools.combinations(range(9), 2) if generator.random() < 0.4])
    graph = gc.Graph(edges[:, 0], edges[:, 1], vertices=9)
    best = min_cut(graph, 0, 8)
    for epsilon in (0.5, 2.0):
        excess, failures = [], 0
        for seed in range(runs):
            partition = least_cut(graph, 0, 8, epsilon=epsilon, seed=seed)
            excess.append(gc.CutQuery(partition.codes == 0).value(graph) - best)
            failures += excess[-1] > partition.shortfall
        assert failures <= scipy.stats.binom.isf(1e-7, runs, 0.05)
        assert np.mean(excess) <= CutRates.of(Fraction(epsilon), 1).mean_excess(9, 2)
        # The theorem is about the noisy cut alone.
        codes = [noisy_codes(graph, 0, 8, seed=seed, epsilon=epsilon) for seed in range(runs)]
        noisy = [gc.CutQuery(parts == 0).value(graph) - best for parts in codes]
        assert np.mean(noisy) <= 9 / (epsilon * (1 - float(WEIGHT_SHARE)))


@pytest.mark.parametrize("rate", [0.01, 0.5, 4.0])
def test_the_bound_on_the_excess_is_above_sums_of_noise(rate):
    """Of 2,000 sums, 55 or more lie in a tail of 1 % with a chance below 1e-7."""
    generator, n, r = np.random.default_rng(3), 50, math.exp(-rate)
    noise = np.diff(generator.geometric(1 - r, (2, 2000, n)), axis=0)[0]
    sums = np.maximum(noise, 0).sum(axis=1)
    bound = least_cut_excess(n, rate, unit=0.5, beta=0.01)
    assert (0.5 * sums > bound).sum() < 55
    assert n / (4 * math.sinh(rate)) < bound < 0.5 * n / rate + 4 * math.sqrt(n) / rate + 3
    assert least_cut_excess(n, rate, beta=0.01) == pytest.approx(2 * bound)


def test_notes_before_the_noise_state_the_errors_of_the_cut():
    job = cut_job(CLUB, 0, 33, epsilon=1.0)
    (note,) = job.notes
    (_, least_error), (_, trivial_error) = job.errors()
    assert note.startswith("With probability 95% the cut weighs at most ")
    assert f"{up_to_digits(least_error, 4):,.4g} more than the least" in note
    assert f"at most {trivial_error:.4g} more than any that only cuts off terminals" in note
    (note_of_several,) = cut_job(CLUB, 0, 33, 5, epsilon=1.0).notes
    assert "more than the least cuts of its halvings, added up" in note_of_several
    reported = []
    gc.least_cut(CLUB, 0, 33, 5, epsilon=1.0, progress=lambda *step: reported.append(step))
    assert reported == [(0.0, "cutting"), (0.5, "cutting"), (1.0, "done")]
