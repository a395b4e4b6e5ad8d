"""Errors of distance answers against the number of people: what the figure shows."""

import numpy as np
import pytest

from graphcuts_dp.resources import silent
from scripts.figures import distances
from scripts.figures.distances import (
    BOUNDS,
    LEARNERS,
    METHODS,
    TRIVIAL,
    measure,
)


def test_the_default_meets_its_target_and_beats_the_baselines(quick_table):
    """Seeds are fixed; the default's errors at n = 10^4 are about 0.001 of a target of 0.004."""
    table = quick_table("distances").table
    assert all(finding.agrees for finding in table.findings)
    target, others, *_ = table.findings
    assert target.measured <= 0.004
    assert others.measured > 1
    for row in table.where(part="measured"):
        assert 0 < row["largest error"] <= row["promised"] or row["wrong"]
    for name in (*BOUNDS, TRIVIAL, "tree counts"):
        promised = [row["promised"] for row in table.where(part="guaranteed", method=name)]
        assert (np.diff(promised) <= 0).all()
    assert {row["method"] for row in table.where(part="measured")} == {*METHODS, *LEARNERS}


@pytest.mark.slow
def test_the_seed_decides(quick_table, monkeypatch):
    monkeypatch.setattr(distances, "_QUICK_REPETITIONS", 1)
    again = measure(quick=True, seed=0, progress=silent)
    whole = quick_table("distances").table
    assert again.where() == [row for row in whole.where() if not row["repetition"]]


@pytest.mark.slow
def test_at_full_size():
    """The default's error falls as 1/n, HR12's promises as n^(-2/3) and n^(-4/5)."""
    found = measure(quick=False, seed=0, progress=silent).findings
    exponents = [finding for finding in found if "~" in finding.statement]
    assert len(exponents) == 3
    assert all(finding.tolerance <= 0.2 for finding in exponents)
    assert all(finding.agrees for finding in found)
