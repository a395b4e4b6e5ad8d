"""The Alon-Naor relaxation as it is written, solved by SCS: the reference for small matrices.

Primal: maximise <B, X_12> over positive semidefinite X = [[X_11, X_12], [X_12^T, X_22]] with unit
diagonal, B = A' for the cut norm. SCS returns a nearly feasible X, so its value proves nothing.
What is proven is weak duality: its dual variables are weights d_U, d_V, and the scaling theorem of
`upper_bound` holds for any positive ones, however inaccurate the solver.

Krivine's rounding: with c = ln(1 + sqrt 2) and the Gram matrix G of the solution, the matrix with
sinh(c G) within each side and sin(c G) across is again a Gram matrix of unit vectors, whose random
hyperplanes give E[x_i y_j] = (2 c / pi) <u_i, v_j>: so SDP / 1.7822 <= ||B|| in expectation.

Source: AN06 (relaxation, section 5.1 for Krivine's argument); Krivine 1979.
"""

import importlib
import math
import warnings
from typing import Any

import numpy as np

from graphcuts_dp.arrays import FloatArray
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.cutnorm.rounding import CutBatch, best_cuts, improve
from graphcuts_dp.cutnorm.upper_bound import UpperBound, scaling_bound
from graphcuts_dp.errors import MatrixError, SolverError

MAX_SIZE = 260
KRIVINE_CONSTANT = math.log(1.0 + math.sqrt(2.0))


def bordered_matrix(dense: FloatArray) -> FloatArray:
    """A' written out, border first: [[1^T A 1, -1^T A], [-A 1, A]].

    Args:
        dense: A, shape (n1, n2).
    """
    rows = np.concatenate((-dense.sum(axis=0, keepdims=True), dense))
    return np.concatenate((-rows.sum(axis=1, keepdims=True), rows), axis=1)


def solve_relaxation(
    operand: Operand, *, bordered: bool, accuracy: float = 1e-6, time_limit: float | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Solve the semidefinite program.

    Args:
        operand: the matrix, dense or sparse, n1 + n2 <= 260.
        bordered: cut norm (True, B = A') or infinity-to-one norm (False, B = A).
        accuracy: SCS's relative and absolute tolerance.
        time_limit: seconds, or None.

    Returns:
        (X, d_U, d_V): the primal matrix, shape (N, N), and the dual variables of its diagonal.

    Raises:
        MatrixError: too large, or an operator.
        SolverError: SCS returned nothing usable.
    """
    if operand.kind == "operator":
        raise MatrixError('the "sdp" method needs the entries; use method="low-rank"')
    if sum(operand.shape) > MAX_SIZE:
        raise MatrixError(
            f"the sdp method takes n1 + n2 <= {MAX_SIZE}, not {sum(operand.shape)}; "
            'use method="low-rank"'
        )
    cp: Any = importlib.import_module("cvxpy")  # here, for it takes a second

    dense = operand.data.toarray() if operand.kind == "sparse" else operand.data
    dense = np.asarray(dense, dtype=np.float64)
    B = bordered_matrix(dense) if bordered else dense
    scale = float(np.abs(B).max()) or 1.0
    n1, n2 = B.shape
    X = cp.Variable((n1 + n2, n1 + n2), PSD=True)
    diagonal = cp.diag(X) == 1
    objective = cp.Maximize(cp.sum(cp.multiply(B / scale, X[:n1, n1:])))
    problem = cp.Problem(objective, [diagonal])
    options: dict[str, float] = {"eps_abs": accuracy, "eps_rel": accuracy, "max_iters": 20_000}
    if time_limit is not None:
        options["time_limit_secs"] = max(time_limit, 0.01)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "solution may be inaccurate": never relied upon
            problem.solve(solver=cp.SCS, **options)
    except cp.error.SolverError as error:
        raise SolverError('SCS failed on this matrix; use method="low-rank"') from error
    if X.value is None or diagonal.dual_value is None:
        raise SolverError('SCS gave no solution in time; use method="low-rank"')
    dual = np.abs(np.asarray(diagonal.dual_value, dtype=np.float64)) * scale
    return np.asarray(X.value, dtype=np.float64), dual[:n1], dual[n1:]


def sdp_cuts(
    operand: Operand, X: FloatArray, *, bordered: bool, seed: int, hyperplanes: int = 256
) -> CutBatch:
    """Krivine's rounding of X by many hyperplanes, each cut improved by alternation.

    Args:
        operand: the matrix.
        X: Gram matrix of the relaxation, rows first.
        bordered: cut norm (True) or infinity-to-one norm (False).
        seed: of the hyperplanes.
        hyperplanes: how many.
    """
    rng = np.random.default_rng([seed, 5])
    n1 = operand.shape[0] + int(bordered)
    gram = np.clip((X + X.T) / 2.0, -1.0, 1.0)
    c = KRIVINE_CONSTANT
    krivine = np.sinh(c * gram)
    krivine[:n1, n1:] = np.sin(c * gram[:n1, n1:])
    krivine[n1:, :n1] = krivine[:n1, n1:].T
    values, vectors = np.linalg.eigh(krivine)
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    signs = factor @ rng.standard_normal((factor.shape[1], hyperplanes)) >= 0
    side = signs[n1:]
    T = side[1:] != side[0] if bordered else side
    return best_cuts(improve(operand, T, bordered=bordered), 8)


def sdp_bound(operand: Operand, d_U: FloatArray, d_V: FloatArray, *, bordered: bool) -> UpperBound:
    """The proven bound from the solver's dual variables, see `scaling_bound`."""
    return scaling_bound(operand, d_U, d_V, bordered=bordered)
