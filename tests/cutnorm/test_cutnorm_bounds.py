"""Every method against exact values of small matrices; certificates that hold when damaged.

Branch and bound against enumeration, and its bounds when it is stopped.
"""

import itertools
import math
from dataclasses import replace
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from cutnorm_matrices import small_matrices
from scipy.sparse.linalg import ArpackError, aslinearoperator

from graphcuts_dp import CutNormCertificate, KindError, MatrixError, cut_norm
from graphcuts_dp.cutnorm import operand as operand_module
from graphcuts_dp.cutnorm import singular_values
from graphcuts_dp.cutnorm.certificate import UpperBound, scaling_bound, smallest_bound
from graphcuts_dp.cutnorm.exact import enumerate_cuts, solve_program
from graphcuts_dp.cutnorm.low_rank import LowRankSolver
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.cutnorm.singular_values import (
    ScaledMatrix,
    chebyshev_norm_bound,
    cholesky_norm_bound,
)
from scripts.figures.nikiforov import harmonic_factor

ROUNDING = 1e-12
NORMS = {norm: partial(cut_norm, norm=norm) for norm in ("cut", "infinity-to-one")}


def brute_force(matrix: np.ndarray[Any, Any], norm: str) -> float:
    """The definition, word for word."""
    signs = (-1, 1) if norm == "infinity-to-one" else (0, 1)
    best = 0.0
    for x in itertools.product(signs, repeat=matrix.shape[0]):
        for y in itertools.product(signs, repeat=matrix.shape[1]):
            value = abs(float(np.array(x) @ matrix.astype(float) @ np.array(y)))
            if norm == "normalised":
                value = value / math.sqrt(sum(x) * sum(y)) if sum(x) and sum(y) else 0.0
            best = max(best, value)
    return best


def sandwich_violations(certificate: CutNormCertificate, exact: CutNormCertificate) -> list[str]:
    """What is wrong with a certificate, given the exact one; empty if nothing is."""
    wrong = []
    if certificate.lower > exact.upper:
        wrong.append("lower bound above the norm")
    if certificate.upper < exact.lower:
        wrong.append("upper bound below the norm")
    if certificate.is_exact and abs(certificate.lower - exact.lower) > ROUNDING * exact.lower:
        wrong.append("claims to be exact and is not")
    if certificate.lower > certificate.upper:
        wrong.append("bounds cross")
    return wrong


def check_methods(matrix: np.ndarray[Any, Any], methods: tuple[str, ...]) -> None:
    for norm, function in NORMS.items():
        exact = function(matrix, method="exact")
        assert exact.is_exact
        assert exact.stopped == "exact"
        assert exact.verify(matrix) == exact.lower
        for method in methods:
            if method == "spectral" and norm != "cut":
                continue
            certificate = function(matrix, method=method)
            assert not sandwich_violations(certificate, exact), (matrix, certificate, exact)
            assert certificate.verify(matrix) == certificate.lower
    exact = cut_norm(matrix, norm="normalised", method="exact")
    certificate = cut_norm(matrix, norm="normalised", method="spectral")
    assert not sandwich_violations(certificate, exact), (matrix, certificate, exact)


def test_exact_is_the_definition_and_of_integers_exactly() -> None:
    for matrix in small_matrices(150, seed=1, largest=4):
        for norm in (*NORMS, "normalised"):
            exact = cut_norm(matrix, norm=norm, method="exact")
            truth = brute_force(matrix, norm)
            assert exact.lower <= truth * (1 + ROUNDING)
            assert exact.upper >= truth * (1 - ROUNDING)
            assert exact.is_exact or truth == 0.0
            if matrix.dtype.kind in "ib" and norm == "cut":
                assert exact.lower == exact.upper == round(exact.lower)


@pytest.mark.thorough
def test_bounds_hold_on_small_matrices() -> None:
    for matrix in small_matrices(200):  # every shape with the kinds that it comes with
        check_methods(matrix, ("low-rank", "spectral"))


@pytest.mark.slow
def test_bounds_hold_on_ten_thousand_small_matrices() -> None:
    for matrix in small_matrices(10_000, seed=3):
        check_methods(matrix, ("low-rank", "spectral"))


@pytest.mark.thorough
def test_sdp_bounds_hold() -> None:
    for matrix in small_matrices(8, seed=4):  # every kind
        check_methods(matrix, ("sdp",))


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("bordered", [True, False])
@pytest.mark.parametrize("damage", ["random", "zeros", "huge", "nan", "negative", "one huge"])
def test_damaged_weights_still_bound(damage: str, bordered: bool) -> None:
    rng = np.random.default_rng(8)
    function = NORMS["cut" if bordered else "infinity-to-one"]
    for matrix in small_matrices(40, seed=6):
        operand = Operand.from_matrix(matrix)
        sizes = [size + bordered for size in operand.shape]
        weights = [rng.exponential(size=size) ** 4 for size in sizes]
        if damage == "zeros":
            weights = [weight * (rng.random(weight.size) < 0.5) for weight in weights]
        elif damage == "huge":
            weights = [weight * 1e300 for weight in weights]
        elif damage == "nan":
            weights[0][:1] = np.nan
        elif damage == "negative":
            weights = [-weight for weight in weights]
        elif damage == "one huge":
            weights[1][-1] = 1e12
        exact = function(matrix, method="exact").lower
        for limit in (3500, 0):  # both proofs
            bound = scaling_bound(operand, *weights, bordered=bordered, cholesky_limit=limit)
            assert bound.value >= exact, (damage, limit, matrix)


def test_damaged_vectors_still_bound() -> None:
    rng = np.random.default_rng(9)
    for matrix in small_matrices(40, seed=10):
        matrix = matrix.astype(float)
        solver = LowRankSolver(matrix.shape, 3, seed=1)
        solver.step(matrix, 5)
        solver.U += rng.standard_normal(solver.U.shape)
        solver.V *= rng.exponential(size=(solver.V.shape[0], 1)) ** 3
        exact = cut_norm(matrix, method="exact")
        assert solver.upper_bound(matrix).value >= exact.lower


def test_a_broken_upper_bound_is_caught() -> None:
    """The suite's check must fail on sigma_1 from below, as Lanczos or a loose solver gives it."""
    caught = 0
    for matrix in small_matrices(80, seed=11):
        exact = cut_norm(matrix, method="exact")
        good = cut_norm(matrix, method="low-rank")
        broken = replace(good, lower=0.97 * good.lower, upper=0.97 * good.upper)
        caught += "upper bound below the norm" in sandwich_violations(broken, exact)
    assert caught > 40


def test_sigma_is_bounded_from_above_and_closely() -> None:
    rng = np.random.default_rng(12)
    for shape in ((40, 60), (90, 50), (200, 200), (700, 600)):
        matrix = rng.standard_normal(shape)
        d = [rng.exponential(size=size + 1) + 0.1 for size in shape]
        scaled = ScaledMatrix(Operand.from_matrix(matrix), *d, bordered=True)
        full = np.vstack((-matrix.sum(axis=0), matrix))
        full = np.column_stack((-full.sum(axis=1), full))
        truth = np.linalg.norm(full / np.sqrt(np.outer(*d)), 2)
        written, error = scaled.dense()
        assert np.linalg.norm(written, 2) == pytest.approx(truth, rel=1e-12)
        assert 0 < error < 1e-9 * truth
        random = chebyshev_norm_bound(scaled, np.random.default_rng(0))
        assert truth <= random <= 1.01 * truth
        vector = rng.standard_normal((full.shape[1], 2))
        product = scaled.apply(vector)
        assert np.allclose(product, full / np.sqrt(np.outer(*d)) @ vector)


@pytest.mark.parametrize("bordered", [True, False])
@pytest.mark.parametrize("shape", [(37, 37), (60, 41), (41, 60)])
def test_both_products_of_one_reading_are_as_exact_as_stated(
    shape: tuple[int, int], bordered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against products of extended precision, for float32 that is widened five rows at a time."""
    monkeypatch.setattr(operand_module, "_BLOCK_ENTRIES", 5 * shape[1])
    monkeypatch.setattr(operand_module, "_COPY_ENTRIES", 0)
    rng = np.random.default_rng(8)
    matrix = rng.standard_normal(shape).astype(np.float32)
    d = [rng.exponential(size=size + bordered) + 0.01 for size in shape]
    scaled = ScaledMatrix(Operand.from_matrix(matrix), *d, bordered=bordered)
    exact = matrix.astype(np.longdouble)
    if bordered:
        exact = np.vstack((-exact.sum(axis=0), exact))
        exact = np.column_stack((-exact.sum(axis=1), exact))
    exact = scaled.left.astype(np.longdouble)[:, None] * exact * scaled.right
    error, majorant = scaled.product_error(), scaled.majorant_norm()
    for transpose in (False, True):
        M = exact.T if transpose else exact
        block = rng.standard_normal((M.shape[1], 4))
        image, middle = scaled.normal_product(block, transpose=transpose)
        size = np.linalg.norm(block)
        assert np.linalg.norm((middle - M @ block).astype(float)) <= error * size
        allowed = error * (majorant + error) * size + error * np.linalg.norm(middle)
        assert np.linalg.norm((image - M.T @ (M @ block)).astype(float)) <= allowed


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("degree", "excess"), [(12, 0.06), (24, 0.02), (64, 0.005)])
def test_short_proofs_are_proofs_too(degree: int, excess: float) -> None:
    """For one large singular value, many equal ones, a gap, hidden directions, and noise."""
    rng = np.random.default_rng(5)
    n = 300
    left, right = (np.linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(2))
    spectra = [
        np.ones(n),
        np.r_[1.0, np.full(n - 1, 0.2)],
        np.r_[1.0, np.full(n - 1, 0.999)],
        np.r_[np.ones(150), np.zeros(150)],
        np.linspace(1.0, 0.0, n),
        np.r_[1.0, np.zeros(n - 1)],
    ]
    matrices = [(left * spectrum) @ right.T for spectrum in spectra]
    matrices.append(np.diag(spectra[2]))  # the random block alone sees its first direction
    matrices.append(rng.standard_normal((n, n)))
    for matrix in matrices:
        for narrow in (False, True):
            shown = matrix.astype(np.float32) if narrow else matrix
            ones = np.ones(n)
            scaled = ScaledMatrix(Operand.from_matrix(shown), ones, ones, bordered=False)
            truth = np.linalg.norm(shown.astype(float), 2)
            bound = chebyshev_norm_bound(scaled, np.random.default_rng(1), degree=degree)
            assert truth <= bound <= (1 + excess) * truth


def test_sigma_is_bounded_where_no_eigenvalue_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.random.default_rng(4).standard_normal((200, 180))
    scaled = ScaledMatrix(Operand.from_matrix(matrix), np.ones(200), np.ones(180), bordered=False)

    def gives_up(*_: Any, **__: Any) -> Any:
        raise ArpackError(-9)

    monkeypatch.setattr(singular_values, "eigsh", gives_up)
    bound, sigma = cholesky_norm_bound(scaled), np.linalg.norm(matrix, 2)
    assert sigma <= bound <= 10 * sigma


@pytest.mark.thorough
def test_krivine_sandwich() -> None:
    """SDP / 1.7822 <= the norm <= SDP, for the value of the relaxation."""
    for matrix in small_matrices(60, seed=13):
        exact = cut_norm(matrix, method="exact").lower
        operand = Operand.from_matrix(matrix)
        solver = LowRankSolver(operand.shape, seed=2)
        value = solver.step(operand, 300)
        assert value / 1.7822 <= exact * (1 + 1e-6)
        assert value >= exact * (1 - 1e-3)


def test_normalised_bounds_obey_nikiforov() -> None:
    for matrix in small_matrices(60, seed=14):
        exact = cut_norm(matrix, norm="normalised", method="exact")
        sigma = np.linalg.norm(matrix.astype(float), 2)
        factor = 2 * math.sqrt(math.prod(harmonic_factor(size) for size in matrix.shape))
        assert exact.lower <= sigma * (1 + ROUNDING)
        assert sigma <= factor * exact.lower * (1 + ROUNDING)
        found = cut_norm(matrix, norm="normalised", method="spectral")
        assert sigma <= factor * found.lower * (1 + ROUNDING)


def test_dense_sparse_and_operator_agree() -> None:
    rng = np.random.default_rng(15)
    matrix = rng.standard_normal((60, 45)) * (rng.random((60, 45)) < 0.3)
    dense = cut_norm(matrix, method="low-rank")
    for form in (sp.csr_array(matrix), sp.coo_matrix(matrix), aslinearoperator(matrix)):
        other = cut_norm(form, method="low-rank")
        assert other.lower == pytest.approx(dense.lower, rel=0.03)
        assert other.upper >= dense.lower
        assert other.lower <= dense.upper
    assert "operator" in other.upper_proof
    assert 0 < other.failure_probability <= 1e-12
    assert dense.failure_probability == 0
    assert cut_norm(matrix.astype(np.float32), method="low-rank").upper == pytest.approx(
        dense.upper, rel=0.01
    )


def test_integers_in_every_sparse_format() -> None:
    matrix = np.arange(-6, 6).reshape(3, 4)
    for form in (sp.lil_array, sp.dok_array, sp.dia_array, sp.coo_array, sp.csc_array):
        assert cut_norm(form(matrix)).lower == cut_norm(matrix).lower == 20
    too_large = sp.lil_array((2, 2), dtype=np.int64)
    too_large[0, 1] = 2**53 + 1
    with pytest.raises(MatrixError, match="do not fit"):
        cut_norm(too_large)


def sparse_signs(n, density, seed):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.choice([-1.0, 1.0], (n, n)) * (rng.random((n, n)) < density), 1)
    return upper + upper.T


@pytest.mark.thorough(cases=9)
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


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("form", "n", "norm"), [(np.asarray, 60, "cut"), (sp.csr_array, 60, "cut"),
                                                 (np.asarray, 40, "infinity-to-one")])  # fmt: skip
def test_large_sparse_matrices_are_solved_exactly(form, n, norm):
    matrix = sparse_signs(n, 0.07, 0)
    certificate = cut_norm(form(matrix), norm=norm, method="exact")
    assert certificate.is_exact
    assert certificate.stopped == "exact"
    S, T = (
        1.0 * side if norm == "cut" else 2.0 * side - 1 for side in (certificate.S, certificate.T)
    )
    assert abs(S @ matrix @ T) == certificate.lower
    quick = cut_norm(form(matrix), norm=norm, method="low-rank")
    assert quick.lower <= certificate.lower
    assert certificate.upper <= quick.upper


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("n", [28, 40])
def test_stopped_early_both_bounds_still_hold(n):
    matrix = sparse_signs(n, 1.0, 2)
    certificate = cut_norm(matrix, method="exact", time_limit=0.2)
    reference = cut_norm(matrix, method="low-rank")
    assert certificate.stopped == "time"
    assert certificate.lower <= reference.upper
    assert certificate.upper >= reference.lower
    assert certificate.ratio < 1.4
    nothing = cut_norm(np.zeros((40, 40)), method="exact")  # above the limit of enumeration
    assert nothing.lower == nothing.upper == 0


def test_the_smallest_of_randomised_bounds_fails_where_one_of_them_does():
    certain = UpperBound(3.0, "deterministic: a sum")
    first = UpperBound(2.0, "one", failure_probability=1e-12, sigma=1.0)
    second = UpperBound(1.0, "other", failure_probability=1e-12, sigma=2.0)
    assert smallest_bound(certain, first) == first
    found = smallest_bound(first, certain, second)
    assert (found.value, found.proof, found.sigma) == (1.0, "other", 2.0)
    assert found.failure_probability == 2e-12
    assert smallest_bound(UpperBound(0.5, "deterministic: a sum"), first, second) == UpperBound(
        0.5, "deterministic: a sum"
    )


@pytest.mark.parametrize("graphs", [(nx.path_graph(3),), (nx.path_graph(3), nx.path_graph(3))])
def test_graphs_of_other_libraries_are_refused_with_the_way_to_convert_them(graphs):
    with pytest.raises(KindError, match=r"gc\.Graph\.of"):
        cut_norm(*graphs)
