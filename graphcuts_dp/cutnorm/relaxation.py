"""The Alon-Naor semidefinite relaxation as it is written, solved by SCS, and Krivine's rounding.

This is the reference for small matrices; `low_rank` solves the same relaxation faster.

**Matrices.** A is the user's matrix, shape (n1, n2). For the infinity-to-one norm, the largest
x^T A y over signs x, y, B is A. For the cut norm B is the *bordered matrix* A': A with one more row
and column, the *border*, which come first and make all rows and columns sum to zero. Its
infinity-to-one norm is four times the cut norm of A, and signs x, y of its rows and columns mean
the sets S = {i: x_i != x_0} and T = {j: y_j != y_0}. `bordered` is True for the cut norm.

**Relaxation.** Unit vectors u_i, v_j take the place of the signs of B's rows and columns. Their
inner products are a Gram matrix X = [[X_11, X_12], [X_12^T, X_22]], rows of B first: positive
semidefinite with unit diagonal. Maximise <B, X_12> = sum_ij b_ij <u_i, v_j>.

SCS returns a nearly feasible X, so its value proves nothing. The dual variables d_U, d_V of the
diagonal do. They are used as weights of the rows and columns of B in the scaling theorem of
`certificate`, ||B||_{inf->1} <= sigma_1(D_U^{-1/2} B D_V^{-1/2}) sqrt(sum d_U) sqrt(sum d_V). It
holds for any positive weights, however inaccurate the solver; optimal ones give the value of the
relaxation.

**Krivine's rounding.** Signs of the u_i, v_j on the sides of a random hyperplane have
E[x_i y_j] = (2/pi) arcsin <u_i, v_j> (Grothendieck's identity). To remove the arcsin, replace the
vectors. With c = ln(1 + sqrt 2), replace X_12 by sin(c X_12), and X_11, X_22 by sinh(c X_11),
sinh(c X_22), entry by entry. That is a Gram matrix again: sinh has only positive Taylor
coefficients, and sin has the same ones up to signs, which the vectors of one side can carry. Its
diagonal is sinh(c) = 1. So hyperplanes of the new vectors give E[x_i y_j] = (2 c / pi) <u_i, v_j>
with the old ones, and random signs reach, on average, the value of the relaxation over
pi / (2 c) = 1.7822. So ||B||_{inf->1} is at least that.

Source: AN06 (Alon, Naor 2006: relaxation; section 5.1 for Krivine's argument); Krivine 1979.
"""

import importlib
import math
import warnings
from typing import Any

import numpy as np

from graphcuts_dp.arrays import FloatArray
from graphcuts_dp.cutnorm.cut_search import CutBatch, best_cuts, improve
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.errors import MatrixError, SolverError
from graphcuts_dp.resources import NEVER, Deadline

MAX_SIZE = 260  # rows and columns together, up to which SCS takes minutes
_KRIVINE_CONSTANT = math.log(1.0 + math.sqrt(2.0))  # c
_ACCURACY = 1e-6  # SCS's relative and absolute tolerance
_MAX_ITERATIONS = 20_000
_HYPERPLANES = 256  # random hyperplanes of the rounding, one cut each
_CUTS = 8  # cuts to return, at most


def solve_relaxation(
    operand: Operand, *, bordered: bool, deadline: Deadline = NEVER
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Solve the semidefinite program.

    Args:
        operand: the matrix, dense or sparse, n1 + n2 <= 260.
        bordered: cut norm (True, B = A') or infinity-to-one norm (False, B = A).
        deadline: when to stop.

    Returns:
        (X, d_U, d_V): the Gram matrix X, shape (N, N) for the N = n1 + n2 rows and columns of B (or
        n1 + n2 + 2 if bordered), rows first; and the absolute dual variables of its diagonal, one
        for each row of B and one for each column of B. All are approximate.

    Raises:
        MatrixError: too large, or an operator.
        SolverError: SCS returned nothing usable.
    """
    operand.require_entries("sdp")
    if sum(operand.shape) > MAX_SIZE:
        raise MatrixError(
            f"the sdp method takes n1 + n2 <= {MAX_SIZE}, not {sum(operand.shape)}; "
            'use method="low-rank"'
        )
    cp: Any = importlib.import_module("cvxpy")  # here, since the import takes a second
    B = operand.dense()
    if bordered:  # border first: [[1^T A 1, -1^T A], [-A 1, A]]
        rows = np.concatenate((-B.sum(axis=0, keepdims=True), B))
        B = np.concatenate((-rows.sum(axis=1, keepdims=True), rows), axis=1)
    # SCS's absolute tolerance suits entries of up to 1. Dual variables grow with B, so they are
    # multiplied by `scale` again below; X does not.
    scale = float(np.abs(B).max()) or 1.0
    row_count = B.shape[0]  # of B: one more than n1 if bordered
    size = sum(B.shape)  # N
    X = cp.Variable((size, size), PSD=True)
    unit_diagonal = cp.diag(X) == 1
    objective = cp.Maximize(cp.sum(cp.multiply(B / scale, X[:row_count, row_count:])))
    problem = cp.Problem(objective, [unit_diagonal])
    options: dict[str, float] = {
        "eps_abs": _ACCURACY,
        "eps_rel": _ACCURACY,
        "max_iters": _MAX_ITERATIONS,
    }
    seconds = deadline.seconds_left
    if seconds is not None:
        options["time_limit_secs"] = max(seconds, 0.01)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "solution may be inaccurate": never relied upon
            problem.solve(solver=cp.SCS, **options)
    except cp.error.SolverError as error:
        raise SolverError('SCS failed on this matrix; use method="low-rank"') from error
    if X.value is None or unit_diagonal.dual_value is None:
        raise SolverError('SCS gave no solution in time; use method="low-rank"')
    dual = np.abs(np.asarray(unit_diagonal.dual_value, dtype=np.float64)) * scale
    return np.asarray(X.value, dtype=np.float64), dual[:row_count], dual[row_count:]


def round_solution(operand: Operand, X: FloatArray, *, bordered: bool, seed: int) -> CutBatch:
    """Round X by Krivine's method with many hyperplanes, and improve every cut by alternation.

    Args:
        operand: the matrix.
        X: Gram matrix of the relaxation, rows of B first, shape (N, N); may be inaccurate.
        bordered: cut norm (True) or infinity-to-one norm (False).
        seed: seed of the hyperplanes.

    Returns:
        Up to 8 distinct cuts, the best first.
    """
    # 5 is the stream of this function; other modules use other numbers. It must not change.
    rng = np.random.default_rng([seed, 5])
    row_count = operand.shape[0] + int(bordered)  # rows of B
    gram = np.clip((X + X.T) / 2.0, -1.0, 1.0)
    krivine_gram = np.sinh(_KRIVINE_CONSTANT * gram)
    krivine_gram[:row_count, row_count:] = np.sin(_KRIVINE_CONSTANT * gram[:row_count, row_count:])
    krivine_gram[row_count:, :row_count] = krivine_gram[:row_count, row_count:].T
    # vectors @ vectors.T is krivine_gram, so row i of `vectors` is the new vector of row or column
    # i of B: nearly a unit vector. Eigenvalues are negative only by inaccuracy.
    eigenvalues, eigenvectors = np.linalg.eigh(krivine_gram)
    vectors = eigenvectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    signs = vectors @ rng.standard_normal((vectors.shape[1], _HYPERPLANES)) >= 0
    # Signs of the rows are not needed: `improve` begins with the best S for each T.
    column_signs = signs[row_count:]
    T = column_signs[1:] != column_signs[0] if bordered else column_signs  # (n2, hyperplanes)
    return best_cuts(improve(operand, T, bordered=bordered), _CUTS)
