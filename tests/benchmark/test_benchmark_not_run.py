"""Bounds of methods that are not run, beside their formulas worked out apart."""

import math

import pytest

from scripts.benchmark.contenders.johnson_lindenstrauss import projection_noise
from scripts.benchmark.not_run import DELTA, NOT_RUN, bound_shares

RELEASE, SPARSIFIER, CLUSTERING = NOT_RUN


def test_bounds_are_those_of_the_theorems():
    n, edges = 400, 10_000
    released = math.exp(0.5 * math.log(edges * n / 2)) * (math.log(n) + 6 * math.log(10)) ** 2
    assert RELEASE.bound(n, edges, 2.0) == pytest.approx(released)
    weight = projection_noise(epsilon=2.0, delta=DELTA, rows=n).weight
    assert SPARSIFIER.bound(n, edges, 2.0) == pytest.approx(float(weight) * 100)
    assert CLUSTERING.bound(16, 30, 2.0) == pytest.approx(128)
    (share,) = bound_shares(CLUSTERING, [(16, 32)], 1.0)
    assert share == pytest.approx(4)


def test_the_number_of_rows_of_a_projection_does_not_change_the_order_of_its_error():
    """w grows as the root of the rows, and the error of all cuts falls as that."""

    def error(rows):
        return float(projection_noise(epsilon=1.0, delta=DELTA, rows=rows).weight) / math.sqrt(rows)

    assert error(256) == pytest.approx(error(4_096), rel=0.1)


@pytest.mark.parametrize("exponent", [x / 4 for x in range(4, 25)])
def test_the_release_of_cuts_is_above_m_up_to_a_million_vertices(exponent):
    """The share falls with m, so that the complete graph has the least."""
    n = round(10**exponent)
    (share,) = bound_shares(RELEASE, [(n, n * (n - 1) // 2)], 1.0)
    assert share > 1


def test_names_and_reasons_are_there():
    assert len({method.name for method in NOT_RUN}) == 3
    for method in NOT_RUN:
        assert method.name[-4:].isdigit()
        assert method.reason.endswith(".")
