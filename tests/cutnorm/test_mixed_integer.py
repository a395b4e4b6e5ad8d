"""Branch and bound against enumeration, and its bounds when it is stopped."""

import numpy as np
import pytest
import scipy.sparse as sp

from graphcuts_dp.cutnorm import cut_norm
from graphcuts_dp.cutnorm.cut_norm import (
    MAX_ENTRIES,
    enumerate_cuts,
    infinity_to_one_norm,
    solve_program,
)
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.errors import MatrixError


def sparse_signs(n, density, seed):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.choice([-1.0, 1.0], (n, n)) * (rng.random((n, n)) < density), 1)
    return upper + upper.T


@pytest.mark.parametrize("bordered", [True, False])
@pytest.mark.parametrize("seed", range(25))
def test_agrees_with_enumeration(seed, bordered):
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 9, size=2)
    matrix = rng.integers(-2, 3, size=shape) if seed % 2 else rng.normal(size=shape)
    operand = Operand.from_matrix(matrix)
    exact = enumerate_cuts(operand, bordered=bordered)
    found = solve_program(operand, bordered=bordered)
    assert found.finished
    assert found.upper == pytest.approx(exact.upper, rel=1e-5, abs=1e-5)
    assert found.upper >= exact.upper * (1 - 1e-12)
    x, y = (found.S, found.T) if bordered else (2.0 * found.S - 1, 2.0 * found.T - 1)
    value = abs(float(x @ operand.data @ y))
    assert value == pytest.approx(exact.upper, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_large_sparse_matrices_are_solved_exactly(form):
    matrix = sparse_signs(60, 0.06, 0)
    certificate = cut_norm(form(matrix), method="exact")
    assert certificate.is_exact
    assert certificate.stopped == "exact"
    assert abs(matrix[np.ix_(certificate.S, certificate.T)].sum()) == certificate.lower
    quick = cut_norm(form(matrix), method="low-rank")
    assert quick.lower <= certificate.lower
    assert certificate.upper <= quick.upper


def test_infinity_to_one_norm_of_a_large_sparse_matrix():
    matrix = sparse_signs(40, 0.08, 1)
    certificate = infinity_to_one_norm(matrix, method="exact")
    x, y = 2.0 * certificate.S - 1, 2.0 * certificate.T - 1
    assert certificate.is_exact
    assert abs(x @ matrix @ y) == certificate.lower
    assert certificate.upper <= infinity_to_one_norm(matrix, method="low-rank").upper


@pytest.mark.parametrize("n", [28, 40])
def test_stopped_early_both_bounds_still_hold(n):
    matrix = sparse_signs(n, 1.0, 2)
    certificate = cut_norm(matrix, method="exact", time_limit=0.2)
    reference = cut_norm(matrix, method="low-rank")
    assert certificate.stopped == "time"
    assert certificate.lower <= reference.upper
    assert certificate.upper >= reference.lower
    assert certificate.ratio < 1.4


def test_a_zero_matrix_above_the_limit_of_enumeration():
    certificate = cut_norm(np.zeros((40, 40)), method="exact")
    assert (certificate.lower, certificate.upper) == (0.0, 0.0)


def test_too_many_entries_are_refused():
    side = int(MAX_ENTRIES**0.5) + 1
    with pytest.raises(MatrixError, match="low-rank"):
        cut_norm(np.ones((side, side)), method="exact")
