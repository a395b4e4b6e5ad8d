"""K-norm noise: its distribution, its norm, its privacy by enumeration, its radius."""

import itertools
from collections import Counter
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from p_values import chi_square

from graphcuts_dp import ParameterError
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.privacy.count_noise import discrete_laplace_radius
from graphcuts_dp.privacy.k_norm import NORMS, KNormNoise, k_norm_radius
from graphcuts_dp.privacy.level_noise import LevelNoise, Spread, split_budget

COLUMNS = {
    "all of two": [[1, 0], [0, 1], [1, 1]],
    "always together": [[1, 1]],
    "one in the other": [[1, 0], [1, 1]],
    "disjoint": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "all of three": list(itertools.product((0, 1), repeat=3)),
    "a few of four": [[1, 1, 0, 0], [0, 1, 1, 1], [1, 0, 0, 1], [1, 1, 1, 1]],
}


def noise_of(name, rate=Fraction(1), norm="k-norm"):
    return KNormNoise.of_columns(np.array(COLUMNS[name]), rate, norm=norm)


def norm_of(noise, vectors):
    return noise.scaled_norm(np.array(vectors)) / (noise.weight * 4096)


def true_norm(columns, z):
    """The least sum of moduli with which the columns and unit vectors make z."""
    columns = np.concatenate([np.array(columns, dtype=float), np.eye(len(z))])
    both = np.concatenate([columns, -columns]).T
    return scipy.optimize.linprog(np.ones(both.shape[1]), A_eq=both, b_eq=z).fun


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", COLUMNS)
def test_no_column_is_longer_than_one_and_it_is_a_norm(name, norm):
    noise = noise_of(name, norm=norm)
    assert norm_of(noise, COLUMNS[name]).max() <= 1
    rng = np.random.default_rng(1)
    first, second = rng.integers(-50, 50, size=(2, 200, noise.counts))
    a, b, both = (noise.scaled_norm(z) for z in (first, second, first + second))
    assert (both <= a + b).all()
    assert (noise.scaled_norm(3 * first) == 3 * a).all()
    assert (a[first.any(axis=1)] > 0).all()
    if norm == "k-norm":
        assert (np.abs(first).max(axis=1) <= a / (noise.weight * 4096)).all()
        assert (norm_of(noise, np.eye(noise.counts, dtype=int)) == 1).all()
    assert (np.abs(first).sum(axis=1) <= a / 4096).all()


@pytest.mark.parametrize("name", ["all of two", "all of three", "a few of four"])
def test_the_norm_is_that_of_the_body_but_for_a_thousandth(name):
    noise = noise_of(name)
    for z in np.random.default_rng(2).integers(-30, 30, size=(20, noise.counts)):
        ours = float(norm_of(noise, [z])[0])
        assert ours <= true_norm(COLUMNS[name], z) * (1 + 1e-9)
        assert ours >= true_norm(COLUMNS[name], z) * 0.996


def listed(noise, reach):
    """All vectors within reach, and their probabilities."""
    z = np.array(list(itertools.product(range(-reach, reach + 1), repeat=noise.counts)))
    weights = np.exp(-float(noise.rate) * noise.scaled_norm(z) / (noise.weight * 4096))
    return z, weights / weights.sum()


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("name", "norm"),
    [("all of two", "k-norm"), ("always together", "k-norm"), ("all of two", "laplace"),
     ("all of three", "k-norm"), ("disjoint", "k-norm")],
)  # fmt: skip
def test_draws_have_the_stated_probabilities(name, norm):
    """Chi-square at 1e-7, were the seed drawn at random; noise that is too wide is noticed."""
    noise, runs = noise_of(name, Fraction(3, 2), norm), 4000
    source = SeededEntropy(3)
    drawn = Counter(tuple(int(x) for x in noise.draw(source)) for _ in range(runs))
    z, chances = listed(noise, 12)
    counts = np.array([drawn[tuple(v)] for v in z.tolist()])
    for rate, fits in ((1.0, True), (0.8, False)):
        other = chances**rate / (chances**rate).sum()
        assert (chi_square(counts, other, least=8) > 1e-7) is fits


@pytest.mark.parametrize("name", COLUMNS)
def test_shifts_by_a_column_cost_epsilon_and_no_more(name):
    """Probabilities of every outcome on neighbours, by the norm alone: normalisers are equal."""
    noise = noise_of(name)
    z = np.random.default_rng(4).integers(-40, 40, size=(3000, noise.counts))
    z = np.concatenate([z, np.array(COLUMNS[name]) * 7, np.array(COLUMNS[name]) * -7])
    worst = 0.0
    for column in np.array(COLUMNS[name]):
        moved = np.abs(noise.scaled_norm(z + column) - noise.scaled_norm(z))
        worst = max(worst, moved.max() / (noise.weight * 4096))
    assert 0.99 < worst <= 1
    twice = [1] * noise.counts  # a twin: each answer with its own noise, paid once
    single = KNormNoise.of_columns(np.eye(noise.counts, dtype=int), Fraction(1), norm="laplace")
    if noise.weight > 1:
        assert norm_of(single, [twice])[0] > 1


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize("name", ["all of two", "all of three"])
@pytest.mark.parametrize("rate", [Fraction(1, 20), Fraction(1), Fraction(4)])
@pytest.mark.parametrize("norm", NORMS)
def test_the_radius_holds(name, rate, norm):
    """In 400 draws; more failures have probability 1e-6 if each fails with probability 0.1."""
    noise = noise_of(name, rate, norm)
    radius, source = noise.radius(0.1), SeededEntropy(5)
    wrong = sum(np.abs(noise.draw(source)).max() > radius for _ in range(400))
    assert wrong <= scipy.stats.binom.isf(1e-6, 400, 0.1)
    assert noise.radius(0.01) >= radius
    if (name, rate, norm) == ("all of two", Fraction(1), "k-norm"):
        z, chances = listed(noise, 40)
        tail = [chances[np.abs(z).max(axis=1) > r].sum() for r in (radius - 1, radius)]
        assert tail[1] <= 0.1 < tail[0]
        assert k_norm_radius(2, 1.0, 0.1) >= radius


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("failure", [0.3, 1e-6])
@pytest.mark.parametrize("rate", [0.02, 1.0, 3.0])
def test_one_radius_holds_for_any_columns(rate, failure):
    """Every set of columns of two and three counts, and some of more: none states more."""
    rng = np.random.default_rng(8)
    for k in range(1, 7):
        full = np.array(list(itertools.product((0, 1), repeat=k)))[1:]
        most = k_norm_radius(k, rate, failure)
        single = discrete_laplace_radius(rate / k, failure=failure / k)
        sets = range(1, 1 << len(full)) if k == 2 else rng.integers(1, 1 << min(62, len(full)), 4)
        for chosen in [*sets, (1 << min(62, len(full))) - 1]:
            columns = full[[bool(chosen >> place & 1) for place in range(min(62, len(full)))]
                           + [True] * max(0, len(full) - 62)]  # fmt: skip
            exact = Fraction(rate)
            assert KNormNoise.of_columns(columns, exact).radius(failure) <= max(most, single)
            laplace = KNormNoise.of_columns(columns, exact, norm="laplace")
            assert laplace.radius(failure) <= single
            if k > 1:
                assert KNormNoise.of_columns(columns, exact).radius(failure) <= most


@pytest.mark.parametrize("name", ["all of two", "one in the other", "disjoint", "all of three"])
def test_the_radius_of_any_columns_is_a_tail(name):
    """Against all vectors that matter, added up: the chance beyond it is at most as stated."""
    noise = noise_of(name)
    z, chances = listed(noise, 25)
    for failure in (0.3, 0.05, 1e-3):
        radius = k_norm_radius(noise.counts, 1.0, failure)
        assert chances[np.abs(z).max(axis=1) > radius].sum() <= failure


ONE, UNITS = Fraction(1), [[4096, 0], [0, 4096]]
REFUSED = [
    (KNormNoise, ([[4096, 0], [0, 2048]], 2, ONE), "unit vector"),
    (KNormNoise, ([[4096, 0]], 2, ONE), "unit vector"),
    (KNormNoise, ([[8192, 0], [0, 4096]], 2, ONE), "unit vector"),
    (KNormNoise, (UNITS, 0, ONE), "weight"),
    (KNormNoise, (UNITS, 1, Fraction(0)), "weight"),
    (KNormNoise.of_columns, ([[1] * 7], ONE), "at most 6"),
    (partial(KNormNoise.of_columns, norm="l2"), ([[1, 1]], ONE), "unknown noise"),
]


@pytest.mark.parametrize(("make", "given", "words"), REFUSED)
def test_what_is_no_norm_is_refused(make, given, words):
    with pytest.raises(ParameterError, match=words):
        make(np.array(given[0]), *given[1:])


def test_costs_and_weights():
    assert noise_of("all of two", Fraction(1, 7)).cost(3).pure == Fraction(3, 7)
    seven = KNormNoise.of_columns(np.ones((1, 7), dtype=int), ONE, norm="laplace")
    assert seven.weight == 7


def test_huge_noise_is_exact_too():
    noise = noise_of("all of three", Fraction(1, 10**15))
    drawn = noise.draw(SeededEntropy(1))
    assert np.abs(drawn).max() > 10**13
    assert int(noise.scaled_norm(drawn[None, :].astype(object))[0]) > 0


def test_radii_are_near_those_of_one_discrete_laplace():
    noise = LevelNoise("laplace", (Fraction(1, 10),))
    spread = Spread(np.array([[4.0], [0.0]]), np.array([[2.0], [0.0]]), 1)
    wide, none = noise.radii(spread, failure=1e-3)
    exact = 2 * discrete_laplace_radius(0.1, failure=1e-3)
    assert exact <= wide <= 1.6 * exact
    assert none == 0
    gaussian = LevelNoise("gaussian", (Fraction(100),)).radii(spread, failure=1e-3)
    assert gaussian[0] == pytest.approx(20 * np.sqrt(2 * np.log(2000)))


def test_radii_hold_when_one_answer_has_many_unequal_coefficients():
    """Against the exact distribution, summed by convolution: the bound may not be passed."""
    weights, rate = [3, 1, 2, 1], 0.5
    support = np.arange(-120, 121)
    mass = np.ones(1)
    for weight in weights:
        distribution = np.exp(-rate * np.abs(support))
        spaced = np.zeros(240 * weight + 1)
        spaced[::weight] = distribution / distribution.sum()
        mass = np.convolve(mass, spaced)
    places = np.arange(len(mass)) - len(mass) // 2
    spread = Spread(np.array([[float(sum(w * w for w in weights))]]), np.array([[3.0]]), 1)
    for failure in (1e-2, 1e-4, 1e-6):
        radius = LevelNoise("laplace", (Fraction(1, 2),)).radii(spread, failure=failure)[0]
        assert mass[np.abs(places) > radius].sum() <= failure
        assert mass[np.abs(places) > 0.5 * radius].sum() > failure


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
@pytest.mark.parametrize("smallest", [1.0, 1e-3, 1e-30])
def test_shares_of_levels_add_up_to_the_budget_exactly_however_small_some_are(
    distribution, smallest
):
    squares = np.geomspace(smallest, 1.0, 40)[None, :]
    changes = [(2, 2)] * 40
    noise = split_budget(
        Spread(squares, squares, 1), changes, distribution=distribution, epsilon=0.7, delta=1e-6
    )
    if distribution == "laplace":
        assert noise.cost(delta=0, changes=changes).pure == Fraction(0.7)
    else:
        rho = sum(Fraction(2) / (2 * variance) for variance in noise.parameters)
        assert rho == Fraction(zcdp_rho(epsilon=0.7, delta=1e-6))


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
def test_the_noise_of_a_level_is_of_its_own_size_and_independent_in_each_count(distribution):
    """Sums of 20 independent numbers have 20 times the variance, of 20 equal ones 400 times.

    Of 400 such sums the empirical variance is off by 40 % with probability below 1e-6 (the fourth
    moment is at most 3.15 times the squared variance); the seed is fixed.
    """
    parameters = (
        (Fraction(1, 4), Fraction(1, 40))
        if distribution == "laplace"
        else (Fraction(9), Fraction(900))
    )
    noise, source = LevelNoise(distribution, parameters), SeededEntropy(3)
    for level, deviation in enumerate(noise.deviations(Spread(np.eye(2), np.eye(2), 2))):
        draws = noise.draw(level, 8000, source)
        assert np.var(draws) == pytest.approx(deviation**2, rel=0.4)
        assert np.var(draws.reshape(400, 20).sum(axis=1)) == pytest.approx(
            20 * deviation**2, rel=0.4
        )


def test_a_radius_for_a_tiny_failure_probability_is_not_zero():
    """Below the rounding error of sums of probabilities, the proven bound takes their place."""
    noise = KNormNoise.of_columns(np.array([[1, 0], [0, 1], [1, 1]]).T, Fraction(2), norm="k-norm")
    radii = [noise.radius(failure) for failure in (1e-3, 1e-6, 1e-9, 1e-12, 1e-13, 1e-15)]
    assert radii == sorted(radii)
    assert radii[0] > 0
    assert radii[-1] <= k_norm_radius(noise.counts, 2.0, 1e-15)
