"""Single statements of Nik17 computed from the lecture's text alone."""

import itertools
import math

import numpy as np
import pytest
import scipy


def loss(scale, moved, count):
    """The largest privacy loss of so many answers with Laplace noise that all move by a number."""
    outputs = np.linspace(-10 * scale, 10 * scale, 2001)
    here, there = (scipy.stats.laplace.logpdf(outputs, at, scale) for at in (0, moved))
    return count * float(np.abs(here - there).max())


def test_erratum_laplace_noise_for_m_queries_has_a_scale_of_m():
    """Lap(1/(epsilon n)) each: m answers that all move by 1/n lose m epsilon."""
    m, n, epsilon = 20, 50, 0.3
    assert loss(1 / (epsilon * n), 1 / n, m) == pytest.approx(m * epsilon)
    assert loss(m / (epsilon * n), 1 / n, m) == pytest.approx(epsilon)
    # All m answers are within alpha with probability 1/2 where n is m ln(m)/(alpha epsilon).
    for count in (10**2, 10**6):
        for size, within in ((1.0, False), (2 * math.log(count), True)):  # n alpha epsilon/m
            assert ((1 - math.exp(-size)) ** count > 0.5) is within


def test_erratum_small_databases_have_log_m_records_not_log_x():
    """Of four elements, ln 4 records are one or two: an indicator's answer 1/4 is missed by .25."""
    near = [
        abs(count / size - 1 / 4)
        for size in range(1, math.ceil(math.log(4)) + 1)
        for count in range(size + 1)
    ]
    assert min(near) == 1 / 4
    # Half of ln(2m)/alpha^2 records do, whatever |X| is: Hoeffding with a union over m queries.
    for m, alpha in ((1, 0.1), (1000, 0.05)):
        records = math.ceil(math.log(2 * m) / (2 * alpha**2)) + 1
        assert 2 * m * math.exp(-2 * records * alpha**2) < 1


def test_erratum_algorithm_1_must_answer_with_epsilon_0():
    """L answers with Lap(1/(epsilon n)) lose L epsilon; with epsilon_0, L epsilon_0."""
    L, n, epsilon = 100, 30, 1.0
    each = epsilon / (4 * math.sqrt(L * math.log(1e6)))
    assert loss(1 / (epsilon * n), 1 / n, L) == pytest.approx(L * epsilon)
    assert loss(1 / (each * n), 1 / n, L) < epsilon


def test_erratum_section_1_2_needs_the_logarithm_of_m_l():
    """For two queries and a small alpha there are many rounds: their L noises are not all small."""
    m, log_x, alpha, C = 2, math.log(1e6), 1e-3, 10
    L = 4 * log_x / alpha**2
    for n_alpha_epsilon, within in ((C * math.log(m), False), (C * math.log(m * L), True)):
        assert ((1 - math.exp(-n_alpha_epsilon)) ** L > 0.99) is within


def test_erratum_section_1_2_rescaling_costs_a_factor_of_sixteen():
    def records(alpha):
        return math.log(50) * math.sqrt(math.log(1e6) * math.log(1e6)) / alpha**2

    assert records(0.1 / 4) / records(0.1) == pytest.approx(16)


def test_theorem_2_each_update_lowers_the_divergence():
    rng = np.random.default_rng(0)
    checked = 0
    for alpha, _ in itertools.product((0.1, 0.3, 0.6), range(60)):
        truth, p = rng.dirichlet(np.full(5, 0.2)), rng.dirichlet(np.ones(5))
        q = rng.random(5)
        if abs(q @ (truth - p)) <= alpha:
            continue
        value = q @ truth + rng.uniform(-alpha, alpha)
        moved = p * np.exp(-(q if value < q @ p else 1 - q) * alpha / 2)
        moved /= moved.sum()
        drop = float((truth * np.log(moved / p)).sum())
        assert drop >= alpha**2 / 4
        checked += 1
    assert checked > 20
