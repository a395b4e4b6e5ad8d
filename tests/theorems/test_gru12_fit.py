"""GRU12 Lemma 6.2 with its constants: a fit to the noisy matrix is near the true one.

A lies in the box, so a fit of gap g has ||x - z|| <= ||A - z||/(1-g), and by the triangle
inequality ||x - A|| <= (1 + 1/(1-g)) ||A - z||. Here the norms are exact, the constants as
reported, and the only slack is rounding.
"""

import math

import numpy as np
import pytest
from helpers import covering, random_graph
from noisy_cases import matrix_problem
from norm_reference import (
    KRIVINE,
    NOISES,
    exact_cut_norm,
    exact_normalised_norm,
    instances,
    spectral_norm,
    truth_and_noisy,
)

import graphcuts_dp as gc
from graphcuts_dp.cutnorm.low_rank import LowRankSolver
from graphcuts_dp.resources import Deadline
from graphcuts_dp.synth.cutting_plane import CuttingPlane, cutting_plane
from graphcuts_dp.synth.first_order import first_order
from graphcuts_dp.synth.methods import spectral
from graphcuts_dp.synth.separation_oracles import LowRankOracle, SemidefiniteOracle

SEEDS = range(24)  # every combination of density, noise level and kind of graph that there is
ROUNDING = 1 + 1e-7
SINGLE = 1 + 1e-3  # float32


def test_the_brute_force_norm_agrees_with_plain_enumeration():
    rng = np.random.default_rng(0)
    for shape in ((4, 4), (3, 5)):
        matrix = rng.normal(size=shape)
        best = 0.0
        for s in range(1, 1 << shape[0]):
            for t in range(1, 1 << shape[1]):
                S = [i for i in range(shape[0]) if s >> i & 1]
                T = [j for j in range(shape[1]) if t >> j & 1]
                value = abs(matrix[np.ix_(S, T)].sum()) / math.sqrt(len(S) * len(T))
                best = max(best, value)
        assert exact_normalised_norm(matrix) == pytest.approx(best)


# name: (fit, norm, what its value may exceed the norm by, rounding)
FITS = {
    "cutting-plane": (cutting_plane, exact_cut_norm, 1.0, ROUNDING),
    "first-order": (first_order, exact_cut_norm, KRIVINE, SINGLE),
    "spectral": (spectral, spectral_norm, 1.0, ROUNDING),
}


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("sizes", [(5, 12), pytest.param((7, 9), marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "noise"), covering(FITS, NOISES, together=1))
def test_a_fit_is_near_the_truth(name, noise, sizes):
    """In its norm, with Krivine's constant where it minimises a relaxation."""
    fit, norm, constant, rounding = FITS[name]
    for A, z, symmetric in instances(noise, sizes, SEEDS):
        found = fit(matrix_problem(z, symmetric))
        x, g = found.matrix.astype(float), found.gap
        noise_norm, value = norm(A - z), norm(x - z)
        assert value <= found.value * rounding
        assert found.value <= constant * value * rounding
        assert value <= constant / (1 - g) * noise_norm * rounding
        assert norm(x - A) <= (1 + constant / (1 - g)) * noise_norm * rounding
        assert found.lower <= constant * noise_norm * rounding
        assert found.lower <= found.value * rounding
        if name == "cutting-plane":
            assert g <= found.tolerance + 1e-12
        if name == "first-order":  # no point of the box is below `lower`; the truth is one
            assert found.lower <= relaxation(A - z) * rounding


@pytest.mark.thorough
@pytest.mark.parametrize("noise", NOISES)
def test_cutting_plane_in_the_normalised_cut_norm(noise):
    """The oracle is a heuristic here, so the gap is restated with the exact norm of x - z."""
    exact = 0
    for A, z, symmetric in instances(noise, (4, 6, 8), SEEDS):
        found = cutting_plane(matrix_problem(z, symmetric), oracle="spectral")
        x = found.matrix
        noise_norm, value = exact_normalised_norm(A - z), exact_normalised_norm(x - z)
        assert found.lower <= noise_norm * ROUNDING
        assert found.lower <= value * ROUNDING
        assert found.value <= value * ROUNDING
        exact += found.value >= value / ROUNDING
        g = max(found.gap, 1 - found.lower / value if value > 0 else 0.0)
        assert value <= noise_norm / (1 - g) * ROUNDING
        assert exact_normalised_norm(x - A) <= (1 + 1 / (1 - g)) * noise_norm * ROUNDING
    assert exact >= 0.9 * len(SEEDS)  # the oracle nearly always finds the largest cut


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("noise", NOISES)
def test_all_oracles_of_the_cut_norm_give_fits_within_their_gap(noise):
    """No oracle's bound is above another one's value, and values are those of brute force."""
    for _, z, symmetric in instances(noise, (4, 7), SEEDS[:2]):
        problem = matrix_problem(z, symmetric)
        fits = [cutting_plane(problem, oracle=oracle) for oracle in ("low-rank", "sdp")]
        for fit in fits:
            exact = exact_cut_norm(fit.matrix.astype(float) - z)
            assert fit.value == pytest.approx(exact, rel=1e-6, abs=1e-9)
            assert all(fit.lower <= other.value * ROUNDING for other in fits)
            assert fit.gap <= fit.tolerance


@pytest.mark.parametrize("symmetric", [True, False])
def test_the_semidefinite_oracle_finds_cuts_as_large_as_enumeration(symmetric):
    ratios = []
    for seed in range(6):
        matrix = np.random.default_rng(seed).normal(size=(9, 9))
        if symmetric:
            matrix += matrix.T
        cuts = SemidefiniteOracle().separate(matrix)
        values = [abs(matrix[np.ix_(S, T)].sum()) for S, T in cuts]
        assert values == pytest.approx(sorted(values, reverse=True))
        ratios.append(values[0] / exact_cut_norm(matrix))
    assert max(ratios) <= 1 + 1e-9
    assert min(ratios) > 0.95


def test_the_semidefinite_oracle_without_time_still_gives_a_cut():
    matrix = np.random.default_rng(0).normal(size=(9, 9))
    S, T = SemidefiniteOracle(Deadline.after(0.0)).separate(matrix)[0]
    assert abs(matrix[np.ix_(S, T)].sum()) > 0.5 * exact_cut_norm(matrix)


def relaxation(matrix):
    """SDP/4 of a matrix by many alternations in float64, from two starts."""
    values = []
    for seed in (0, 1):
        solver = LowRankSolver(matrix.shape, dtype=np.float64, seed=seed)
        values.append(solver.step(matrix, 400))
    return max(values)


@pytest.mark.thorough
def test_the_relaxation_is_within_krivines_constant():
    rng = np.random.default_rng(3)
    ratios = []
    for n in (3, 5, 8, 11):
        for _ in range(10):
            matrix = rng.choice([-1.0, 0.0, 1.0], size=(n, n))
            exact = exact_cut_norm(matrix)
            if exact > 0:
                ratios.append(relaxation(matrix) / exact)
    assert min(ratios) >= 1 - 1e-6
    assert max(ratios) <= KRIVINE


def test_a_fit_with_too_small_a_gap_would_be_seen():
    """A twin: the clipped noisy matrix as a fit that claims gap 0 breaks the first inequality."""
    broken = 0
    for A, z, symmetric in instances("binary", (12,), SEEDS):
        x = matrix_problem(z, symmetric).project(z.copy())
        broken += exact_cut_norm(x - z) > exact_cut_norm(A - z) * ROUNDING
    assert broken > len(SEEDS) // 3


# n = 60: certificates in place of enumeration.


def check_larger(noise, seed):
    graph = random_graph(60, seed, density=(0.05, 0.3, 0.7)[seed % 3])
    A, z = truth_and_noisy(graph, noise, seed)
    problem = matrix_problem(z, True)
    found = cutting_plane(problem)
    certificate = gc.cut_norm(found.matrix - z)
    assert found.lower <= found.value <= certificate.upper * ROUNDING
    # Within the stated gap, up to what the certificate leaves open.
    assert certificate.lower <= found.lower / (1 - found.gap) * 1.001
    rivals = {
        "truth": A,
        "clipped": problem.project(z.copy()),
        "first-order": first_order(problem, tolerance=0.01, max_rounds=1500).matrix,
        "spectral": spectral(problem).matrix,
    }
    for name, rival in rivals.items():
        assert found.lower <= gc.cut_norm(rival - z).upper * ROUNDING, name
    noise_upper = gc.cut_norm(A - z).upper
    error = gc.cut_norm(found.matrix - A).lower
    assert error <= (1 + 1 / (1 - found.gap)) * noise_upper * ROUNDING


class ForgetfulOracle:
    """Finds large cuts once, and later only a single pair: heuristics may miss what they knew."""

    objective = "cut norm"

    def __init__(self, shape):
        self.sound = LowRankOracle(shape)
        self.calls = 0

    def weight(self, S, T):
        return self.sound.weight(S, T)

    def separate(self, residual):
        self.calls += 1
        if self.calls == 1:
            return self.sound.separate(residual)
        mask = np.arange(len(residual)) == self.calls
        return [(mask, np.roll(mask, 1))]

    search = separate


@pytest.mark.parametrize("seed", range(4))
def test_the_value_counts_cuts_that_the_oracle_overlooks(seed):
    """Else the value falls under the proven lower bound, and a gap of 0 is claimed."""
    _, z = truth_and_noisy(random_graph(30, 0), "binary", seed)
    oracle = ForgetfulOracle(z.shape)
    run = CuttingPlane(matrix_problem(z, True), oracle=oracle)
    for _ in range(6):
        run.round()
        assert run.lower <= run.best * ROUNDING
    run.confirm()
    assert run.lower <= run.best * ROUNDING
    assert oracle.calls == 8


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_no_other_point_is_below_the_reported_bound(seed):
    check_larger(NOISES[seed % 3], seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 23))
def test_no_other_point_is_below_the_reported_bound_more_seeds(seed):
    check_larger(NOISES[seed % 3], seed)
