"""A third noise on counts is one class and one line of the registry; its intervals hold."""

import math
from fractions import Fraction

import numpy as np
import pytest

from graphcuts_dp import ParameterError
from graphcuts_dp.estimate.consistency import ErrorSpread
from graphcuts_dp.estimate.measurement import CountMeasurement, Degrees, place_variances
from graphcuts_dp.estimate.tails import Side, error_radii, ratio_bounds
from graphcuts_dp.plugins import Cost, IntegerNoise, SeededEntropy, ValueNoise
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.privacy.count_distribution import CountDistribution
from graphcuts_dp.privacy.count_noise import COUNT_NOISES, count_noise
from graphcuts_dp.privacy.laws import BoundedLaw
from graphcuts_dp.privacy.level_noise import LevelNoise, Spread, split_budget
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from graphcuts_dp.privacy.noise_sums import NoiseSum, NoiseTerm

RUNS = 4000
MOST = 0.05 * RUNS + 6.2 * math.sqrt(0.05 * 0.95 * RUNS)  # that miss; a false alarm: below 1e-9


class TwoLaplace(BoundedLaw):
    """The sum of two discrete Laplace noises: the least that a law can tell."""

    def __init__(self, rate, unit):
        self.rate, self.unit = rate, unit

    @property
    def variance(self):
        return self.unit**2 / math.sinh(self.rate / 2) ** 2

    @property
    def mgf_limit(self):
        return self.rate / self.unit * (1 - 1e-9)

    def log_mgf(self, s):
        return -2 * math.log1p(-((math.sinh(s * self.unit / 2) / math.sinh(self.rate / 2)) ** 2))


class TwiceLaplace(CountDistribution):
    """What the name of that noise means: adding a second one is post-processing."""

    name = "twice"
    budget_exponent = 2
    pure = True

    def parameter(self, budget, change):
        return budget / change[0]

    def loss(self, parameter, change):
        return parameter * change[0]

    def variance_factor(self, change):
        return float(change[0]) ** 2

    def draw(self, parameter, size, source):
        first, second = (sample_discrete_laplace(parameter, size, source) for _ in range(2))
        return first + second

    def variance(self, parameter):
        return self.law(parameter, 1.0).variance

    def law(self, parameter, unit):
        return TwoLaplace(float(parameter), unit)

    def radius(self, parameter, failure):
        return ValueNoise("laplace", parameter).radius(failure / 2) * 2

    def log_mgf(self, parameters, s):
        return -2 * np.log1p(
            -np.minimum((np.sinh(s / 2) / np.sinh(parameters / 2)) ** 2, 1 - 1e-12)
        )

    def mgf_limits(self, parameters):
        return parameters


@pytest.fixture
def twice(monkeypatch):
    monkeypatch.setitem(COUNT_NOISES, "twice", TwiceLaplace())
    return LevelNoise("twice", (Fraction(1, 4), Fraction(1, 7)))


RATES = np.array([[1.0, -2.0, 0.5], [1.0, 3.0, 0.0]])  # coefficients of three counts of each level


def drawn(noise, seed):
    source = SeededEntropy(seed)
    return [noise.draw(level, 3 * RUNS, source).reshape(RUNS, 3) for level in range(2)]


def test_a_third_noise_has_intervals_that_hold(twice):
    errors = sum(each @ w for each, w in zip(drawn(twice, 1), RATES, strict=True))
    squares, absolute = (RATES**2).sum(axis=1), np.abs(RATES).sum(axis=1)
    largest = np.abs(RATES).max(axis=1)
    spread = Spread(squares[None], largest[None], 1)
    deviation = twice.deviations(spread)[0]
    assert abs(errors.std() / deviation - 1) < 0.1
    assert place_variances(twice, (0, 2), 3)[[0, 2]].tolist() == twice.variances.tolist()
    radii = twice.radii(spread, failure=0.05)[0]
    combined = error_radii(
        twice, (0, 1), ErrorSpread(squares[None], largest[None], absolute[None]), failure=0.05
    )[0]
    for radius in (radii, combined):
        assert radius < 3.6 * deviation
        assert (np.abs(errors) > radius).sum() <= MOST


def test_ratios_with_a_third_noise_lie_in_their_bounds(twice):
    first, second = drawn(twice, 2)
    missed = 0
    told = tuple(np.eye(3)[:2])
    runs = 400
    for number in range(runs):
        noisy = 300.0 + first[number, 0], 700.0 + second[number, 1]
        zero = np.zeros(3)
        top = Side(noisy[0], (told[0], zero), 0.0)
        bottom = Side(noisy[1], (zero, told[1]), 0.0)
        bounds = ratio_bounds(twice, (0, 1), top, bottom, below=0.025, above=0.025)
        missed += not bounds.low <= 3 / 7 <= bounds.high
        assert bounds.low < noisy[0] / noisy[1] < bounds.high
    assert missed <= 0.05 * runs + 6.2 * math.sqrt(0.05 * 0.95 * runs)


def test_a_third_noise_is_split_stored_and_charged(twice):
    changes = ((2, 4), (6, 12))
    spread = Spread(np.array([[1.0, 4.0]]), np.ones((1, 2)), 1)
    noise = split_budget(spread, changes, distribution="twice", epsilon=1.0, delta=0.0)
    assert noise.cost(delta=0.0, changes=changes).pure == 1
    made = CountMeasurement(
        name="degrees",
        map=Degrees(),
        steps=(np.arange(4), np.arange(5)),
        unit=0.5,
        noise=twice,
        changes=changes,
    )
    again = CountMeasurement.from_parts("degrees", *made.parts())
    assert again.noise == twice
    assert again.epsilon == made.epsilon == made.cost().pure == Fraction(2, 4) + Fraction(6, 7)


def test_a_name_that_is_not_in_the_registry_is_refused():
    with pytest.raises(ParameterError, match="unknown noise 'twice'; choose one of laplace"):
        count_noise("twice")


class Two(IntegerNoise):
    """Additive noise that tells no more than the interface asks for."""

    def cost(self, sensitivity, *, delta=0.0):  # noqa: ARG002
        return Cost.of_pure(sensitivity * Fraction(1, 3))

    def law(self, unit):
        return TwoLaplace(1 / 3, unit)

    def draw_many(self, size, source):
        return TwiceLaplace().draw(Fraction(1, 3), size, source)


def test_noise_needs_a_variance_and_a_moment_generating_function_alone():
    noise = Two()
    samples = noise.draw_many(RUNS, SeededEntropy(3))
    assert abs(samples.std() / noise.deviation - 1) < 0.15
    assert (np.abs(samples) > noise.radius(0.05)).sum() <= MOST
    sums = samples.reshape(-1, 10) @ np.arange(1, 11)
    terms = [NoiseTerm(noise.law(1.0), float(c), 1) for c in range(1, 11)]
    radius = NoiseSum.of(terms).radius(-math.log(0.05))
    runs = len(sums)
    assert (np.abs(sums) > radius).sum() <= 0.05 * runs + 6.2 * math.sqrt(0.05 * 0.95 * runs)
    assert radius < 3.5 * sums.std()
    assert math.isinf(NoiseSum.of(terms).inverted_radius(3.0))
    assert isinstance(noise.draw(SeededEntropy(1)), int)


@pytest.mark.parametrize("name", COUNT_NOISES)
@pytest.mark.parametrize("change", [(1, 1), (7, 25)])
def test_a_parameter_loses_the_budget_that_it_is_for(name, change):
    kind, budget = count_noise(name), Fraction(3, 10)
    parameter = kind.parameter(budget, change)
    assert kind.loss(parameter, change) == budget
    cost = kind.cost(budget, delta=1e-6)
    assert (cost.pure == budget) is kind.pure
    assert cost.rho == pytest.approx(0.3 if not kind.pure else 0.3**2 / 2)
    assert kind.law(parameter, 0.5).variance == pytest.approx(kind.variance(parameter) / 4)


def test_what_an_epsilon_allows():
    assert count_noise("laplace").budget(Fraction(1), delta=0.0) == 1
    rho = count_noise("gaussian").budget(Fraction(1), delta=1e-6)
    assert float(rho) == zcdp_rho(epsilon=1.0, delta=1e-6)
    with pytest.raises(ParameterError, match="needs a delta"):
        count_noise("gaussian").budget(Fraction(1), delta=0.0)
