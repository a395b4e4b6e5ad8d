"""How a budget is split: exact parts, what each may read, and what becomes of their results."""

import math
from fractions import Fraction
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import random_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from noisy_numbers import degrees_of, total_of
from release_cases import job_of, measured

from graphcuts_dp import BipartiteGraph, Graph, Mechanism, ParameterError, Release, release_graph
from graphcuts_dp.estimate.measurement import Degrees, Measurements
from graphcuts_dp.measure.entries import distribution_for, randomized_response
from graphcuts_dp.measure.statistics import Refinable, measure_degrees, measure_total
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy import noise as samplers
from graphcuts_dp.privacy.guarantee import SMALLEST_EPSILON
from graphcuts_dp.release import measuring as mechanism
from graphcuts_dp.synth.budget_plans import (
    EARLY_SHARE,
    SECOND_LOOK_SHARE,
    TOTAL_SHARE,
    UNCERTAIN_SHARE,
    UNDETECTABLE_SHARE,
    MatrixShares,
    degree_share,
    matrix_plan,
)
from graphcuts_dp.synth.decisions import DegreeChoice, MatrixDecisions, spread

UNDECIDED, NOTHING = DegreeChoice.UNDECIDED, DegreeChoice.ENTRIES_SHOW_NOTHING
BESIDE = DegreeChoice.BESIDE_ENTRIES
SHAPES = [30, (5, 9)]  # a graph of 30 vertices, or a bipartite one


def graph_of(shape=30, **options):
    return random_graph(shape, **{"max_weight_change": None} | options)


def drawn(graph, how, *, epsilon=1.0, noise="binary", share=None, seed=0, tested=True):
    options = {"epsilon": epsilon, "noise": noise, "share": share, "tested": tested}
    return Release(measurements=measured(graph, how, source=SeededEntropy(seed), **options))


@pytest.fixture
def spent(monkeypatch):
    """What each part is really given, as exact fractions."""
    parts = {}

    def watch(name, of):
        plain = getattr(mechanism, name)

        def watched(*arguments, **options):
            key = "early" if options.get("name") == "early degrees" else name
            assert key not in parts
            parts[key] = of(*arguments, **options)
            return plain(*arguments, **options)

        monkeypatch.setattr(mechanism, name, watched)

    watch("measure_refinable_total", lambda *_, epsilon, **__: epsilon)
    watch("measure_refinable_degrees", lambda *_, epsilon, **__: epsilon)
    plain = Refinable.refined

    def refined(self, epsilon, *arguments, **options):
        """The finer copy of degrees, or of the total, costs what both cost together."""
        if self.measurement.name == "total":
            assert epsilon > parts["measure_refinable_total"]
            parts["measure_refinable_total"] = epsilon
        else:
            assert epsilon > max(
                parts.pop(name, 0) for name in ("early", "measure_refinable_degrees")
            )
            parts["measure_refinable_degrees"] = epsilon
        return plain(self, epsilon, *arguments, **options)

    monkeypatch.setattr(Refinable, "refined", refined)
    watch("randomized_response", lambda _, distribution, *__: distribution.epsilon)
    return parts


# Privacy, exactly.


@pytest.mark.parametrize(
    ("epsilon", "share"),
    [(1.0, None), (0.1, 0.1), (3, 1 / 3), (1e-3, 0.9), (47.123, None), (1.0, 0.9)],
)
@pytest.mark.parametrize("how", ["auto", "degrees+randomized-response"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_parts_add_up_to_epsilon_exactly(shape, how, epsilon, share, spent):
    data = drawn(graph_of(shape), how, epsilon=epsilon, share=share)
    assert sum(spent.values()) == Fraction(epsilon)
    assert all(isinstance(part, Fraction) and part > 0 for part in spent.values())
    assert data.guarantee.epsilon == epsilon
    names = {
        "measure_refinable_total": "total",
        "early": "early degrees",
        "randomized_response": "entries",
    }
    parts = [(names.get(name, "degrees"), float(part)) for name, part in spent.items()]
    assert list(data.guarantee.spent) == (parts if parts[1:] else [])
    assert ("measure_refinable_total" in spent) == (data.total is not None)
    assert ("measure_refinable_total" not in spent) or how == "auto"
    assert ("degrees" in dict(parts) or "early degrees" in dict(parts)) == bool(data.degrees)
    if share is not None and "degrees" in dict(parts):
        left = Fraction(epsilon) - spent.get("measure_refinable_total", 0)
        assert dict(parts)["degrees"] / float(left) == pytest.approx(share, abs=1e-6)


@pytest.mark.parametrize("noise", ["binary", "laplace", "discrete-laplace"])
@pytest.mark.parametrize("shape", SHAPES)
def test_response_alone_is_randomised_response_to_the_last_bit(shape, noise):
    graph = graph_of(shape)
    data = drawn(graph, "randomized-response", noise=noise, seed=7)
    plain = randomized_response(graph, distribution_for(graph, noise, 1.0), SeededEntropy(7))
    assert np.array_equal(data.noisy.steps, plain.steps)
    assert data.noisy.distribution == plain.distribution
    assert (data.degrees, data.total, data.guarantee.spent) == (None, None, ())


@pytest.fixture
def no_noise(monkeypatch):
    def nothing(_, size, __):
        return np.zeros(size, np.int64)

    monkeypatch.setattr(samplers, "sample_geometric", nothing)  # of which Laplace noise is made


@st.composite
def neighbours(draw):
    """A graph with weights within a cap, and the same with another weight for one pair."""
    cap = draw(st.sampled_from([0.3, 1.0, 2.0, 7.0]))
    weight = st.floats(0, cap)
    weights = draw(st.lists(weight, min_size=6, max_size=6))  # four vertices, or two and three
    other = list(weights)
    other[draw(st.integers(0, 5))] = draw(weight)
    noise = draw(st.sampled_from(["laplace"] if cap == 0.3 else ["laplace", "discrete-laplace"]))
    made = draw(st.sampled_from([
        partial(Graph, *np.triu_indices(4, 1), vertices=4),
        partial(BipartiteGraph, *np.indices((2, 3)).reshape(2, -1), left=2, right=3),
    ]))  # fmt: skip
    return *(made(values, max_weight=cap) for values in (weights, other)), noise


@pytest.mark.thorough
@pytest.mark.usefixtures("no_noise")
def test_the_exact_loss_of_degrees_and_total_is_within_epsilon():
    """Noise e^(-rate |k|) on integers loses rate times their L1 distance: never above epsilon, and
    equal to it for the largest change of one weight."""
    worst = set()

    @settings(max_examples=150, deadline=None)
    @given(neighbours(), st.fractions(Fraction(1, 100), 20))
    def check(case, epsilon):
        first, second, noise = case
        distribution = distribution_for(first, noise, 1.0)
        one, two = (
            measure_degrees(graph, distribution, epsilon=epsilon, source=SeededEntropy(0))
            for graph in (first, second)
        )
        distance = sum(int(np.abs(a - b).sum()) for a, b in zip(one.steps, two.steps, strict=True))
        assert one.rate == two.rate
        assert one.rate * distance <= epsilon
        totals = [
            measure_total(graph, distribution, epsilon=epsilon, source=SeededEntropy(0))
            for graph in (first, second)
        ]
        scale = math.sqrt(totals[0].law.variance)
        assert totals[0].law == totals[1].law
        unit = one.unit * (2 if len(one.steps) == 1 else 1)
        rate = 2 * math.asinh(unit / (math.sqrt(2) * scale))
        change = abs(totals[0].total - totals[1].total) / unit
        assert rate * change <= float(epsilon) * (1 + 1e-6)
        worst.add(one.rate * distance / epsilon)

    check()
    assert max(worst) <= 1
    edge = [Graph(*ends, vertices=4) for ends in (([], []), ([1], [2]))]
    distribution = distribution_for(edge[0], "binary", 1.0)
    one, two = (measure_degrees(g, distribution, epsilon=Fraction(1), source=None) for g in edge)
    assert one.rate * int(np.abs(one.steps[0] - two.steps[0]).sum()) == 1


@pytest.mark.usefixtures("no_noise")
@pytest.mark.parametrize("shape", SHAPES)
def test_without_noise_degrees_and_total_are_right(shape):
    for cap in (None, 2.5):
        graph = graph_of(shape, largest=cap, max_weight=cap)
        distribution = distribution_for(graph, "laplace", 1.0)
        noisy = measure_degrees(graph, distribution, epsilon=Fraction(1), source=None)
        total = measure_total(graph, distribution, epsilon=Fraction(1), source=None)
        dense = graph.dense()
        off = noisy.unit * max(dense.shape)  # rounded down, by less than a step each
        assert np.abs(noisy.values[0] - dense.sum(axis=1)).max() <= off
        assert np.abs(noisy.values[-1] - dense.sum(axis=0)).max() <= off
        assert (noisy.values[0] <= dense.sum(axis=1) + 1e-9).all()
        assert noisy.total == pytest.approx(dense.sum(), abs=off * max(dense.shape))
        assert total.total == pytest.approx(dense.sum(), abs=off * max(dense.shape))
        assert (len(noisy.steps) == 1) == (shape == 30)


@pytest.mark.parametrize("share", [None, 0.4])
def test_the_choice_depends_on_the_noisy_total_alone(share):
    graph = graph_of((200, 300), density=0.01)
    totals = map(float, range(-1000, 60_000, 1000))
    exact = None if share is None else Fraction(str(share))
    shares = MatrixShares(graph.shape, None, "binary", Mechanism(degree_share=share))
    decisions = MatrixDecisions(shares, Fraction(1))
    chosen = {decisions.choice_from_total(total, Fraction(1)) for total in totals}
    assert chosen >= {UNDECIDED, BESIDE, NOTHING}
    assert shares.beside_entries == (degree_share(300) if share is None else exact)


@pytest.mark.parametrize("shape", SHAPES)
def test_with_the_parts_replaced_nothing_of_the_graph_is_read(shape, monkeypatch):
    """Equal noisy parts, none dearer than its amount, equal results: an empty and a full graph."""
    empty, full = (graph_of(shape, density=density) for density in (0.0, 1.0))
    noisy = drawn(graph_of(shape), "randomized-response", epsilon=0.2).noisy
    degrees = drawn(graph_of(shape), "degrees+randomized-response", epsilon=0.1).degrees
    row_arrays = SimpleNamespace(measurement=degrees, refined=lambda *_, **__: row_arrays)
    for value in (-1e6, 0.0, 50.0, 300.0, 1e6):
        total = SimpleNamespace(measurement=total_of(value, 2.0, Fraction(1, 50)))
        read = []
        monkeypatch.setattr(
            mechanism, "measure_refinable_total", lambda *_, total=total, **__: total
        )
        monkeypatch.setattr(mechanism, "measure_refinable_degrees", lambda *_, **__: row_arrays)
        monkeypatch.setattr(mechanism, "randomized_response", lambda *_: noisy)
        for graph in (empty, full):
            data = drawn(graph, "auto")
            counts = [
                each and (each.steps[0].tolist(), each.used_in_decision)
                for each in (data.degrees, data.total)
            ]
            read.append((data.guarantee, counts))
        assert read[0] == read[1]


def test_the_stated_epsilon_is_never_below_the_exact_one():
    for epsilon in (Fraction(1, 3), Fraction(2, 7), Fraction(10, 9)):
        for how in ("randomized-response", "auto"):
            data = drawn(graph_of(), how, epsilon=epsilon)
            assert sum(part.epsilon for part in data.measurements.values) == epsilon
            assert epsilon <= Fraction(data.guarantee.epsilon) < epsilon * (1 + Fraction(1, 2**50))


def test_nothing_is_drawn_before_all_parts_are_accepted(monkeypatch):
    """The cap is possible with the whole of epsilon, and not with the part for the entries."""
    cap = 2.0**31
    graph = Graph([0], [1], [1.0], vertices=4, max_weight=cap)
    epsilon = 1.05 * cap / 2**44
    whole = distribution_for(graph, "discrete-laplace", epsilon)
    assert whole.max_weight == cap

    def never(*_, **__):
        raise AssertionError("noise was drawn")

    for part in ("measure_refinable_total", "measure_refinable_degrees", "randomized_response"):
        monkeypatch.setattr(mechanism, part, never)
    with pytest.raises(ParameterError, match="too large for this epsilon"):
        release_graph(graph, epsilon=epsilon, noise="discrete-laplace")


# Shares and options.


def test_the_share_of_degrees():
    """Ten thousandfold as many vertices, and the share that the two errors balance at."""
    for n in (16, 1000, 10**4, 10**6):
        share = degree_share(n)
        assert float(share / (1 - share)) == pytest.approx(2 * n**-0.25, rel=0.01)
    shares = MatrixShares((400, 400), 1.0, "binary", Mechanism(degree_share=1 / 3))
    assert shares.undetectable == shares.beside_entries == Fraction(1, 3)  # what users set


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"mechanism": "all"}, "unknown mechanism"),
        ({"mechanism": "randomized-response", "degree_share": 0.5}, "leave degree_share out"),
        ({"degree_share": 0.0}, "above 0 and below 1"),
        ({"degree_share": 1}, "above 0 and below 1"),
        (
            {"mechanism": "degrees+randomized-response", "degree_share": math.nan},
            "above 0 and below 1",
        ),
        ({"degree_share": True}, "degree_share must be a number"),
        ({"degree_share": "0.2"}, "degree_share must be a number"),
        ({"mechanism": "sparse", "degree_share": 0.96}, "between 0.01 and 0.95"),
        ({"mechanism": "sparse", "degree_share": 0.001}, "between 0.01 and 0.95"),
    ],
)
def test_choices_that_make_no_sense_are_refused(options, match):
    with pytest.raises(ParameterError, match=match) as caught:
        Mechanism(**options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("epsilon", "share"), [(1.0, 1e-9), (1.0, 1 - 1e-9), (1e-6, None)])
def test_budgets_too_small_to_split(epsilon, share, spent):
    """Refused when asked for, left whole otherwise; in both cases before anything is drawn."""
    graph = graph_of()
    with pytest.raises(ParameterError, match="mechanism='randomized-response'"):
        drawn(graph, "degrees+randomized-response", epsilon=epsilon, share=share)
    assert not spent
    data = drawn(graph, "auto", epsilon=epsilon, share=share)
    assert spent == {"randomized_response": Fraction(epsilon)}
    assert data.guarantee.spent == ()


@pytest.mark.parametrize("how", ["auto", "degrees+randomized-response", "randomized-response"])
def test_the_least_distribution_is_the_one_that_is_used_when_everything_is_bought(how, spent):
    share = None if how == "randomized-response" else 0.25
    told = job_of(graph_of(), how, share=share).least_distribution.epsilon
    whole = 1 - TOTAL_SHARE if how == "auto" else 1
    assert told == whole * (1 if share is None else Fraction(3, 4))
    drawn(graph_of(), how, share=share)
    assert told <= spent["randomized_response"]
    assert (told == spent["randomized_response"]) or how == "auto"


def test_no_part_is_below_the_least_epsilon(spent):
    least = min(TOTAL_SHARE, (1 - TOTAL_SHARE) * EARLY_SHARE)
    assert least < (1 - TOTAL_SHARE) * (1 - EARLY_SHARE) * (1 - UNDETECTABLE_SHARE)
    data = drawn(graph_of(), "auto", epsilon=SMALLEST_EPSILON / float(least) * 1.001)
    assert data.total is not None
    assert min(spent.values()) >= SMALLEST_EPSILON


def test_weights_without_a_cap_have_no_degrees():
    graph = Graph([0], [1], [3.0], vertices=4, max_weight_change=1)
    spent = dict(drawn(graph, "auto", noise="laplace").guarantee.spent)
    assert set(spent) == {"edges", "weights", "entries"}
    with pytest.raises(ParameterError, match="'maximum-entropy' only"):
        drawn(graph, "degrees+randomized-response", noise="laplace")
    distribution = distribution_for(graph, "laplace", 1.0)
    shares = MatrixShares(graph.shape, None, "laplace", Mechanism("degrees+randomized-response"))
    with pytest.raises(ParameterError, match="public maximum weight"):
        matrix_plan(shares, distribution, epsilon=Fraction(1))


def test_caps_that_sums_of_weights_could_overflow():
    graph = Graph([0], [1], [1.0], vertices=4, max_weight=2.0**32)
    with pytest.raises(ParameterError, match="too large for sums"):
        drawn(graph, "degrees+randomized-response", noise="discrete-laplace")
    largest = 2.0**31
    full = Graph(*np.triu_indices(50, 1), np.full(1225, largest), vertices=50, max_weight=largest)
    distribution = distribution_for(full, "discrete-laplace", 1.0)
    noisy = measure_degrees(full, distribution, epsilon=Fraction(1), source=SeededEntropy(0))
    # Noise of scale 2^32: 30 of them have probability e^-30 a vertex.
    assert np.abs(noisy.steps[0] - 49 * 2**31).max() < 30 * 2**32


# What early degrees are for.


def noisy_normal(spread_of_truth, n=400, seed=0, scale=12.0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(60, spread_of_truth, n)
    return degrees_of(np.round(truth + rng.laplace(0, scale, n)))


@pytest.mark.parametrize("truth", [10.0, 20.0, 60.0])
def test_the_spread_of_degrees_is_found_below_their_noise(truth):
    """400 degrees, noise of deviation 17: the error of an estimated deviation is about a tenth of
    both; nine tenths are allowed at 10, a half above, in each of 20 runs."""
    found = [
        spread(noisy_normal(truth, seed=seed).steps[0], noisy_normal(truth)) for seed in range(20)
    ]
    assert max(abs(f - truth) for f in found) < (9 if truth == 10 else truth / 2)
    assert np.mean(found) == pytest.approx(truth, rel=0.2)


def test_a_few_large_degrees_are_a_spread_and_equal_ones_none():
    """One in twenty of 300 more: a deviation of 65, where the rest have none."""
    hubs = noisy_normal(1.0)
    assert 45 < spread(hubs.steps[0] + 300 * (np.arange(400) % 20 == 0), hubs) < 85
    same = degrees_of(np.full(50, 7))
    assert spread(same.steps[0], same) < 1.0


def test_early_degrees_of_few_equal_vertices_are_not_taken_for_uneven():
    """The estimated spread passes the noise of the entries' row sums in some of 60 draws, but two
    standard errors of what noise alone gives in at most 3."""
    decisions = MatrixDecisions(MatrixShares((100, 100), 1.0, "binary"), Fraction(1))
    total = 100 * 30.0
    noise = decisions.shares.deviation(Fraction(1)) * 10
    draws = [noisy_normal(0.01, n=100, seed=seed, scale=25.0) for seed in range(60)]
    draws = [degrees_of(each.steps[0], Fraction(1, 25)) for each in draws]
    assert decisions._signal(total) > 1.9 * decisions.shares.detection_threshold(Fraction(1))
    assert sum(spread(each.steps[0], each) > noise for each in draws) > 6
    chosen = [decisions.choice_from_degrees(each, total, Fraction(1)) for each in draws]
    assert sum(choice in (BESIDE, NOTHING) for choice in chosen) <= 3
    assert chosen.count(UNDECIDED) > 6
    last = [decisions.choice_from_degrees(each, total, Fraction(1), last=True) for each in draws]
    none = DegreeChoice.NONE
    assert last == [none if choice is UNDECIDED else choice for choice in chosen]


def test_degrees_get_most_where_entries_can_show_nothing():
    """Signals of 0 to 4.7 times the noise's edge: blocks may show from 1.6 on."""
    shares, whole = MatrixShares((400, 400), 1.0, "binary"), Fraction(1)
    decisions = MatrixDecisions(shares, whole)
    # Nearly full graphs, as full as these are empty, but for what missing neighbours count.
    for degree in (-9, 0, 5, 15, 28, 370):
        assert decisions.choice_from_total(400.0 * degree, whole) is NOTHING
    assert decisions.choice_from_total(400 * 45.0, whole) is UNDECIDED
    assert decisions.choice_from_total(400 * 90.0, whole) is BESIDE
    assert shares.beside_entries == degree_share(400) < UNDETECTABLE_SHARE == shares.undetectable


def test_even_degrees_leave_all_to_the_entries_and_uneven_ones_do_not():
    decisions = MatrixDecisions(MatrixShares((400, 400), 1.0, "binary"), Fraction(1))
    for degree, uneven in ((45.0, NOTHING), (60.0, BESIDE)):
        for spread_of, choice in ((3.0, DegreeChoice.NONE), (60.0, uneven)):
            early = noisy_normal(spread_of)
            assert decisions.choice_from_degrees(early, 400 * degree, Fraction(1)) is choice


def test_early_degrees_that_err_by_more_than_the_mean_are_not_bought():
    """At .5 they err by 71: in a graph of 242 vertices a mean degree of 65 would pass for even."""
    decisions = MatrixDecisions(MatrixShares((242, 242), 1.0, "binary"), Fraction(1))
    assert decisions._signal(242 * 65.0) > 1.6 * decisions.shares.detection_threshold(
        Fraction(1, 2)
    )
    assert decisions.choice_from_total(242 * 65.0, Fraction(1, 2)) is NOTHING
    assert decisions.choice_from_total(242 * 80.0, Fraction(1, 2)) is UNDECIDED


@pytest.mark.parametrize(
    ("uneven", "share"), [(False, UNDETECTABLE_SHARE), (True, UNCERTAIN_SHARE)]
)
def test_where_the_total_shows_nothing_uneven_degrees_are_refined(uneven, share, spent):
    """Noise of deviation 9.6 on 400 degrees: all about 30, or 40 of 200 and 360 of 20.

    The first differ by 5 and are then known up to 4.7, below 1.1 times the root of 30; the others
    differ by 54, so that 9.5 are left, above 1.1 times the root of 38. An early look, which errs by
    71, tells both apart.
    """
    random = np.random.default_rng(0)
    chance = np.full((400, 400), 0.075)
    if uneven:
        chance[40:, 40:], chance[:40], chance[:, :40] = 0.0, 0.5, 0.5
    ends = np.nonzero(np.triu(random.random((400, 400)) < chance, 1))
    graph = Graph(*ends, vertices=400)
    data = drawn(graph, "auto", epsilon=0.5, tested=False)
    assert sum(spent.values()) == Fraction(1, 2)
    parts = {value.name: value.epsilon for value in data.measurements.values}
    assert parts["degrees"] == share * (1 - TOTAL_SHARE) / 2
    told = job_of(graph, epsilon=0.5, tested=False).least_distribution.epsilon
    assert told <= parts["entries"]


def test_refined_degrees_are_charged_with_the_early_ones():
    """A tenth of 400 vertices know half of all, so early degrees of any draw are uneven."""
    random = np.random.default_rng(0)
    chance = np.full((400, 400), 0.05)
    chance[:40], chance[:, :40] = 0.5, 0.5
    ends = np.nonzero(np.triu(random.random((400, 400)) < chance, 1))
    data = drawn(Graph(*ends, vertices=400), "auto", epsilon=1.0, tested=False)
    parts = {value.name: value.epsilon for value in data.measurements.values}
    assert set(parts) == {"total", "degrees", "entries"}
    assert parts["degrees"] == (1 - TOTAL_SHARE) * UNDETECTABLE_SHARE
    assert sum(parts.values()) == 1


def test_doubtful_early_degrees_are_refined_before_they_choose(spent):
    """Of 300 vertices with 58 neighbours, degrees differ by 20: early ones err by 36."""
    random = np.random.default_rng(0)
    ends = np.exp(random.normal(0, 0.35, 300))
    chance = np.outer(ends, ends) * 58 / ends.sum() / ends.mean()
    graph = Graph(*np.nonzero(np.triu(random.random((300, 300)) < chance, 1)), vertices=300)
    left, found = 1 - TOTAL_SHARE, set()
    for seed in range(12):
        spent.clear()
        data = drawn(graph, "auto", seed=seed, tested=False)
        found.add((data.guarantee.spent[1][0], data.degrees.epsilon / left))
        assert sum(spent.values()) == 1
    assert found <= {("early degrees", SECOND_LOOK_SHARE), ("degrees", degree_share(300))}
    assert ("degrees", degree_share(300)) in found


def test_early_degrees_are_bought_kept_and_charged():
    """The total is drawn with a deviation of 70 for 20,000: the choice is the same for any draw."""
    random = np.random.default_rng(0)
    ends = np.nonzero(np.triu(random.random((400, 400)) < 0.113, 1))
    data = drawn(Graph(*ends, vertices=400), "auto", epsilon=1.0, tested=False)
    assert [name for name, _ in data.guarantee.spent] == ["total", "early degrees", "entries"]
    assert data.degrees.epsilon == (1 - TOTAL_SHARE) * EARLY_SHARE
    assert sum(part.epsilon for part in data.measurements.values) == 1
    later = drawn(Graph(*ends, vertices=400), "degrees+randomized-response").degrees
    both = Measurements((data.degrees, later, data.noisy), data.guarantee)
    assert both.find(Degrees) is later
