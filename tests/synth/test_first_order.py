"""The first-order fit works on blocks of rows: how they are cut must not matter."""

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


def made(*, symmetric, noise="binary", cap=1.0):
    """Noisy entries of a graph at random."""
    graph = random_graph(90 if symmetric else (90, 45))
    return replace(problem(graph, noise=noise), cap=cap)


def cut_again(given):
    """The same noisy matrix in blocks as they are cut now."""
    whole = given.blocks
    steps = whole.gather(RowBlock.steps, width=given.shape[1], dtype=np.int64)
    ends = [whole.layout.pairs_before(stop) for _, stop in whole.layout.bounds()[:-1]]
    pairs = np.split(whole.layout.fold(steps, 0), ends)
    made = Blocks.from_pairs(whole.distribution, whole.layout, pairs.__getitem__)
    return FitProblem(made, given.cap)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of eight rows, worked on in pieces of three."""
    monkeypatch.setattr(layout_module, "_SMALL", 0)
    monkeypatch.setattr(layout_module, "_BLOCK_ENTRIES", 1)
    monkeypatch.setattr(module, "_CHUNK_ENTRIES", 300)


# Each two of these choices stand together in a quick case.
SHAPES = [
    pytest.param(*case, marks=pytest.mark.slow if sum(indices) % 2 else ())
    for indices, case in zip(
        itertools.product(range(2), repeat=3),
        itertools.product([True, False], [1.0, math.inf], ["binary", "laplace"]),
        strict=True,
    )
]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("symmetric", "cap", "noise"), SHAPES)
def test_any_cut_into_blocks_gives_the_same_fit_up_to_rounding(symmetric, cap, noise, monkeypatch):
    """Float32 sums in another order; steps spread that to 1e-3 of the value at most."""
    given = made(symmetric=symmetric, noise=noise, cap=cap)
    fits = []
    for entries in (1, 2000, 1 << 20):
        monkeypatch.setattr(layout_module, "_SMALL", 0)
        monkeypatch.setattr(layout_module, "_LEAST_BLOCKS", 1)
        monkeypatch.setattr(layout_module, "_BLOCK_ENTRIES", entries)
        monkeypatch.setattr(module, "_CHUNK_ENTRIES", entries)
        fits.append(first_order(cut_again(given), max_rounds=40))
    for other in fits[1:]:
        assert math.isclose(fits[0].value, other.value, rel_tol=1e-3)
        assert math.isclose(fits[0].lower, other.lower, rel_tol=1e-2, abs_tol=1e-3 * other.value)


@pytest.mark.thorough(cases=1)
@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("symmetric", [True, False])
def test_value_and_bound_are_those_of_the_dense_formulas(symmetric):
    """The value against a solver on the dense residual, the bound against all points of the box."""
    given = made(symmetric=symmetric)
    z = given.noisy
    found = first_order(given, max_rounds=60)
    rivals = [found.matrix.astype(float), degree_matched_start(given), np.clip(z, 0, 1)]
    values = []
    for x in rivals:
        solver = LowRankSolver(z.shape, dtype=np.float64, seed=1)
        values.append(solver.step(x - z, 300))
    assert math.isclose(found.value, values[0], rel_tol=2e-3)
    assert values[0] < values[1] < values[2]
    assert 0 < found.lower <= values[0] * (1 + 1e-3)


@pytest.mark.thorough(cases=1)
@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("symmetric", [True, False])
def test_the_running_sum_is_the_average_of_the_directions(symmetric, monkeypatch):
    """Over 60 steps the weights change twice and the scale is taken back to one."""
    monkeypatch.setattr(module, "_LARGEST_SCALE", 40.0)
    run = module.FirstOrder(made(symmetric=symmetric))
    average = np.zeros(run.problem.shape)
    for step in range(1, 61):
        run.round()
        P, Q = run.solver.subgradient_factors()
        direction = (P @ Q.T).astype(np.float64)
        if symmetric:
            direction = (direction + direction.T) / 2
            np.fill_diagonal(direction, 0)
        weight = max(1 / step, 0.03)
        average = (1 - weight) * average + weight * direction
    row_arrays = run.blocks.gather(
        lambda block: block.workspace["direction sum"], width=run.problem.shape[1], dtype=np.float64
    )
    assert run.scale < 40
    assert np.allclose(row_arrays / run.scale, average, atol=1e-6)
    assert run.lower >= run.problem.dual_value(-average) - 1e-3 * run.best
