"""Releases of the bundled graphs against epsilon: what the figure shows."""

import pytest

from graphcuts_dp.resources import silent
from scripts.figures.real_graphs import DEFAULT, TRIVIAL, _crossing, measure


def test_the_crossing_is_interpolated_in_logarithms():
    assert _crossing([1.0, 4.0], [4.0, 1.0], 2.0) == pytest.approx(2.0)
    assert _crossing([1.0, 2.0], [0.5, 0.4], 0.6) == 1.0
    assert _crossing([1.0, 2.0], [0.5, 0.4], 0.3) is None
    # Below, above, below again: from the last crossing on.
    assert _crossing([1.0, 2.0, 8.0], [0.1, 1.0, 0.25], 0.5) == pytest.approx(4.0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
def test_releases_of_real_graphs_become_useful():
    """Seeds are fixed. The exponent of epsilon is within 0.1 of -1: 305 vertices, three draws."""
    table = measure(quick=False, seed=0, progress=silent)
    assert all(finding.agrees for finding in table.findings)
    for graph in table.parameters["graphs"]:
        last = max(table.parameters["epsilons"][graph])
        rows = {row["series"]: row["y"] for row in table.where(panel="error", graph=graph, x=last)}
        assert rows[DEFAULT] < min(rows[name] for name in TRIVIAL)
