"""sigma_1 beside the normalised cut norm: what the figure shows, in full."""

import numpy as np
import pytest

from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.cutnorm.spectral import exact_normalised
from graphcuts_dp.resources import silent
from scripts.figures.nikiforov import FAMILIES, WORST, harmonic_factor, measure


@pytest.mark.parametrize("n", [2, 5, 8, 12])
def test_the_worst_matrix_has_normalised_cut_norm_one(n):
    matrix = FAMILIES[WORST](n, 1)
    assert exact_normalised(Operand(matrix))[2] == pytest.approx(1.0)
    assert np.linalg.norm(matrix, 2) == pytest.approx(2 * harmonic_factor(n // 2))


def test_families_are_matrices_of_any_size():
    for make in FAMILIES.values():
        for n in (4, 7):
            assert make(n, 2).shape == (n, n)
            assert (make(n, 2) == make(n, 2)).all()


@pytest.mark.slow
def test_the_logarithm_is_there_on_the_worst_matrices_and_not_on_noise():
    """Tolerances: slope in ln n within 0.02 of 1/2 (deterministic up to the order of rows), within
    0.1 of 0 on random signs (fixed seed; three seeds gave 0.044 to 0.053)."""
    table = measure(quick=False, seed=0, progress=silent)
    assert len(table.findings) == 5
    assert all(finding.agrees for finding in table.findings)
    for row in table.where(panel="rounding"):
        assert row["y"] <= 1 + 1e-9
        assert row["y"] >= 0.85  # three seeds gave 0.87 to 0.91; proven is 1/(2 H_n)
