"""The Alon-Naor semidefinite relaxation as it is written, solved by SCS, and Krivine's rounding.

This is the reference for small matrices; `low_rank` solves the same relaxation faster.

**Relaxation.** Maximise <B, X_12> over positive semidefinite X = [[X_11, X_12], [X_12^T, X_22]]
with unit diagonal. For the infinity-to-one norm B is A; for the cut norm it is the bordered matrix
A', which has one more row and column that make all rows and columns sum to zero. SCS returns a
nearly feasible X, so its value proves nothing. Weak duality does: its dual variables are weights
d_U, d_V, and the scaling theorem of `certificate` holds for any positive weights, however
inaccurate the solver.

**Krivine's rounding.** With c = ln(1 + sqrt 2) and the Gram matrix G of the solution, the matrix
with sinh(c G) within each side and sin(c G) across is again a Gram matrix of unit vectors, whose
random hyperplanes give E[x_i y_j] = (2 c / pi) <u_i, v_j>. So random signs reach, on average, the
value of the relaxation over pi / (2 c) = 1.7822, and ||B||_{inf->1} is at least that.

Source: AN06 (relaxation, section 5.1 for Krivine's argument); Krivine 1979.
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
_HYPERPLANES = 256
_CUTS = 8  # that are returned


def solve_relaxation(
    operand: Operand, *, bordered: bool, deadline: Deadline = NEVER
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Solve the semidefinite program.

    Args:
        operand: the matrix, dense or sparse, n1 + n2 <= 260.
        bordered: cut norm (True, B = A') or infinity-to-one norm (False, B = A).
        deadline: when to stop.

    Returns:
        (X, d_U, d_V): the primal matrix, shape (N, N) for the N rows and columns of B, rows first;
        and the dual variables of its diagonal, by rows and columns.

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
    scale = float(np.abs(B).max()) or 1.0
    n1, n2 = B.shape
    X = cp.Variable((n1 + n2, n1 + n2), PSD=True)
    unit_diagonal = cp.diag(X) == 1
    objective = cp.Maximize(cp.sum(cp.multiply(B / scale, X[:n1, n1:])))
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
    return np.asarray(X.value, dtype=np.float64), dual[:n1], dual[n1:]


def round_solution(operand: Operand, X: FloatArray, *, bordered: bool, seed: int) -> CutBatch:
    """Round X by Krivine's method with many hyperplanes, and improve every cut by alternation.

    Args:
        operand: the matrix.
        X: Gram matrix of the relaxation, rows first, shape (N, N).
        bordered: cut norm (True) or infinity-to-one norm (False).
        seed: seed of the hyperplanes.

    Returns:
        Up to 8 distinct cuts, the best first.
    """
    rng = np.random.default_rng([seed, 5])
    n1 = operand.shape[0] + int(bordered)
    gram = np.clip((X + X.T) / 2.0, -1.0, 1.0)
    rounded_gram = np.sinh(_KRIVINE_CONSTANT * gram)
    rounded_gram[:n1, n1:] = np.sin(_KRIVINE_CONSTANT * gram[:n1, n1:])
    rounded_gram[n1:, :n1] = rounded_gram[:n1, n1:].T
    eigenvalues, eigenvectors = np.linalg.eigh(rounded_gram)
    vectors = eigenvectors * np.sqrt(np.maximum(eigenvalues, 0.0))  # a unit vector in each row
    signs = vectors @ rng.standard_normal((vectors.shape[1], _HYPERPLANES)) >= 0
    column_signs = signs[n1:]
    T = column_signs[1:] != column_signs[0] if bordered else column_signs
    return best_cuts(improve(operand, T, bordered=bordered), _CUTS)
