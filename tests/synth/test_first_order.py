"""The first-order fit works on blocks of rows: how rows are divided into blocks must not matter."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from helpers import random_graph
from noisy_cases import problem

from graphcuts_dp.cutnorm.low_rank import LowRankSolver
from graphcuts_dp.estimate.blocks import Blocks, RowBlock
from graphcuts_dp.plugins import FitProblem
from graphcuts_dp.schema import layout as layout_module
from graphcuts_dp.synth import first_order as module
from graphcuts_dp.synth.degree_matching import degree_matched_start
from graphcuts_dp.synth.first_order import first_order


def random_problem(*, symmetric, noise="binary", max_weight=1.0):
    """Return the problem of fitting noisy entries of a random graph."""
    graph = random_graph(90 if symmetric else (90, 45))
    return replace(problem(graph, noise=noise), cap=max_weight)


def divided_again(fit_problem):
    """Return the problem of the same noisy matrix, divided into blocks by today's constants."""
    blocks = fit_problem.blocks
    steps = blocks.gather(RowBlock.steps, width=fit_problem.shape[1], dtype=np.int64)
    block_ends = [blocks.layout.pairs_before(stop) for _, stop in blocks.layout.bounds()[:-1]]
    pairs_of_blocks = np.split(blocks.layout.fold(steps, 0), block_ends)
    new_blocks = Blocks.from_pairs(blocks.distribution, blocks.layout, pairs_of_blocks.__getitem__)
    return FitProblem(new_blocks, fit_problem.cap)


@pytest.fixture
def small_blocks(monkeypatch):
    """Divide matrices into blocks of eight rows, and these into chunks of three."""
    monkeypatch.setattr(layout_module, "_SMALL", 0)
    monkeypatch.setattr(layout_module, "_BLOCK_ENTRIES", 1)
    monkeypatch.setattr(module, "_CHUNK_ENTRIES", 300)


# Every two of these values occur together in a quick case.
PROBLEMS = [
    pytest.param(*values, marks=pytest.mark.slow if sum(indices) % 2 else ())
    for indices, values in zip(
        itertools.product(range(2), repeat=3),
        itertools.product([True, False], [1.0, math.inf], ["binary", "laplace"]),
        strict=True,
    )
]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("symmetric", "max_weight", "noise"), PROBLEMS)
def test_any_division_into_blocks_gives_the_same_fit_up_to_rounding(
    symmetric, max_weight, noise, monkeypatch
):
    """Sums of float32 in another order differ; rounds spread that to 1e-3 of the value at most."""
    fit_problem = random_problem(symmetric=symmetric, noise=noise, max_weight=max_weight)
    fits = []
    for entries in (1, 2000, 1 << 20):
        monkeypatch.setattr(layout_module, "_SMALL", 0)
        monkeypatch.setattr(layout_module, "_LEAST_BLOCKS", 1)
        monkeypatch.setattr(layout_module, "_BLOCK_ENTRIES", entries)
        monkeypatch.setattr(module, "_CHUNK_ENTRIES", entries)
        fits.append(first_order(divided_again(fit_problem), max_rounds=40))
    for fit in fits[1:]:
        assert math.isclose(fits[0].value, fit.value, rel_tol=1e-3)
        assert math.isclose(fits[0].lower, fit.lower, rel_tol=1e-2, abs_tol=1e-3 * fit.value)


@pytest.mark.thorough(cases=1)
@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("symmetric", [True, False])
def test_the_value_is_that_of_a_solver_on_the_dense_residual(symmetric):
    """And it is smaller than those of two simpler matrices."""
    fit_problem = random_problem(symmetric=symmetric)
    noisy = fit_problem.noisy
    fit = first_order(fit_problem, max_rounds=60)
    matrices = [fit.matrix.astype(float), degree_matched_start(fit_problem), np.clip(noisy, 0, 1)]
    value_of_fit, value_of_start, value_of_clipped = (
        LowRankSolver(noisy.shape, dtype=np.float64, seed=1).step(matrix - noisy, 300)
        for matrix in matrices
    )
    assert math.isclose(fit.value, value_of_fit, rel_tol=2e-3)
    assert value_of_fit < value_of_start < value_of_clipped
    assert 0 < fit.lower <= value_of_fit * (1 + 1e-3)


@pytest.mark.thorough(cases=1)
@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("symmetric", [True, False])
def test_the_running_sum_is_the_average_of_the_directions(symmetric, monkeypatch):
    """The bound is that of the average direction.

    Within 60 rounds the weight stops to fall as 1/round, and the scale is reset to one.
    """
    monkeypatch.setattr(module, "_LARGEST_SCALE", 40.0)
    run = module.FirstOrder(random_problem(symmetric=symmetric))
    average = np.zeros(run.problem.shape)
    for round_number in range(1, 61):
        run.round()
        P, Q = run.solver.subgradient_factors()
        direction = (P @ Q.T).astype(np.float64)
        if symmetric:
            direction = (direction + direction.T) / 2
            np.fill_diagonal(direction, 0)
        weight = max(1 / round_number, 0.03)
        average = (1 - weight) * average + weight * direction
    direction_sum = run.blocks.gather(
        lambda block: block.workspace["direction sum"], width=run.problem.shape[1], dtype=np.float64
    )
    assert run.scale < 40
    assert np.allclose(direction_sum / run.scale, average, atol=1e-6)
    assert run.lower >= run.problem.dual_value(-average) - 1e-3 * run.best
