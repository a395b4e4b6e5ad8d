"""A time limit is for all of a release after the noise: fit, certificates, mixtures.

No test reads the clock. The fixture `work` counts pieces of work and lets each take one second.
"""

import json
import time

import pytest
from noisy_cases import planted, problem, spectral_structure

from graphcuts_dp import FitOptions, release_graph
from graphcuts_dp.cutnorm import low_rank
from graphcuts_dp.cutnorm.low_rank import LowRankSolver
from graphcuts_dp.resources import Deadline
from graphcuts_dp.results.bundle import receipt_path
from graphcuts_dp.synth import (
    cutting_plane,
    finishing,
    first_order,
    fit_weights,
    maximum_entropy,
    mixture,
)
from graphcuts_dp.synth.message_passing import sharpened_structure
from graphcuts_dp.synth.structure import View

GRAPH, _ = planted((20, 20), 0.9, 0.05)
NO_TIME = 1e-9  # seconds: over from the beginning
# Pieces of work, between which the clock is read: module or class, and name.
PIECES = [
    (mixture, "_best_mixture"),
    (maximum_entropy._Dual, "__call__"),
    (first_order.FirstOrder, "round"),
    (cutting_plane.CuttingPlane, "round"),
    (LowRankSolver, "step"),
    (low_rank, "tabu_search"),
    (low_rank, "recombine"),
    (fit_weights, "cut_norm"),
]


@pytest.fixture
def no_bound_holds(monkeypatch):
    """Let releases try mixtures: no fit is proven to be within its bound."""
    monkeypatch.setattr(finishing, "noise_cut_bound", lambda *_, **__: 1e-3)


@pytest.fixture
def work(monkeypatch):
    """Return a list to which the name of each finished piece of work is added."""
    finished = []
    monkeypatch.setattr(time, "monotonic", lambda: float(len(finished)))
    for owner, name in PIECES:
        original_piece = getattr(owner, name)

        def counted(*arguments, original=original_piece, name=name, **options):
            finished.append(name)
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, counted)
    return finished


def released(work, time_limit, fit="auto"):
    """Return a release and the number of pieces of work that it took."""
    before = len(work)
    options = FitOptions(fit, time_limit=time_limit)
    return release_graph(GRAPH, epsilon=2.0, seed=0, fit=options), len(work) - before


@pytest.mark.thorough
@pytest.mark.parametrize("fit", ["maximum-entropy", "first-order", "cutting-plane"])
@pytest.mark.parametrize("with_mixture", [False, True])
def test_a_release_takes_at_most_its_shortest_form_and_one_and_a_half_limits(
    fit, with_mixture, work, request
):
    if with_mixture:
        request.getfixturevalue("no_bound_holds")
    _, shortest = released(work, NO_TIME, fit=fit)
    release, longest = released(work, None, fit=fit)
    assert release.fit.stopped != "time"
    assert shortest < longest / 2
    for time_limit in (5, 20, 60):
        _, pieces = released(work, time_limit, fit=fit)
        assert pieces <= shortest + 1.5 * time_limit


@pytest.mark.usefixtures("no_bound_holds")
def test_when_the_time_is_over_the_certificate_is_the_shortest_and_no_mixture_is_begun(work):
    release, _ = released(work, 1.0)
    assert release.fit.mixed == 0
    assert release.fit.stopped == "time"
    assert work.count("_best_mixture") == 1
    # One norm for the certificate and one for what rounding moved; none for a first-order fit.
    assert work.count("cut_norm") == work.count("step") == 2
    assert not {"tabu_search", "recombine"} & set(work)
    difference = release.graph.dense() - release.noisy.estimate()
    assert release.certificate.verify(difference) == pytest.approx(release.certificate.lower)


@pytest.mark.thorough
@pytest.mark.usefixtures("no_bound_holds")
def test_a_fit_that_had_no_time_for_its_mixture_is_stopped_by_time(work):
    """Its bound is not proven then, and the receipt must say so."""
    _, unlimited = released(work, None)
    early, _ = released(work, unlimited // 20)
    late, _ = released(work, unlimited - 5)
    assert early.fit.stopped == late.fit.stopped == "time"
    assert early.fit.mixed == 0
    in_time, _ = released(work, 2 * unlimited)
    assert (in_time.fit.mixed, in_time.fit.stopped) == (1.0, "settled")


def test_structure_without_time_is_that_of_the_spectrum(work):
    """A mixture with too few components would hide what the spectrum shows."""
    view = View(problem(GRAPH, epsilon=2.0).blocks)
    of_spectrum = spectral_structure(view).sizes.tolist()
    without_time = sharpened_structure(view, Deadline(0.0)).sizes.tolist()
    assert work == ["_best_mixture"]
    assert without_time == of_spectrum != []
    assert sharpened_structure(view).sizes.tolist() != of_spectrum


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("time_limit", [None, NO_TIME])
def test_receipts_say_what_a_limit_is_for(time_limit, tmp_path):
    release = release_graph(GRAPH, epsilon=2.0, seed=0, fit=FitOptions(time_limit=time_limit))
    release.save(tmp_path / "g.csv")
    receipt = json.loads(receipt_path(tmp_path / "g.csv").read_text())
    assert receipt["fit"]["time_limit"] == time_limit
    assert ("not counted: reading" in json.dumps(receipt)) == (time_limit is not None)
