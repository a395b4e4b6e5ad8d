"""A time limit is for the whole of a release after the noise: fit, certificates, mixtures.

No clock is looked at: time is what counted pieces of work say that they took, one second each, or
it is over from the beginning.
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

GRAPH = planted((20, 20), 0.9, 0.05)[0]
OVER = 1e-9
# Pieces of work between which the clock is looked at.
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
    """Mixtures are tried because the fit is not proven to be within its bound."""
    monkeypatch.setattr(finishing, "noise_cut_bound", lambda *_, **__: 1e-3)


@pytest.fixture
def done(monkeypatch):
    """Names of the pieces that were done; each takes a second."""
    names = []
    monkeypatch.setattr(time, "monotonic", lambda: float(len(names)))
    for place, name in PIECES:
        real = getattr(place, name)

        def counted(*given, real=real, name=name, **named):
            names.append(name)
            return real(*given, **named)

        monkeypatch.setattr(place, name, counted)
    return names


def released(done, limit, fit="auto"):
    """A release and how many pieces of work it took."""
    before = len(done)
    made = release_graph(GRAPH, epsilon=2.0, seed=0, fit=FitOptions(fit, time_limit=limit))
    return made, len(done) - before


@pytest.mark.thorough
@pytest.mark.parametrize("fit", ["maximum-entropy", "first-order", "cutting-plane"])
@pytest.mark.parametrize("within", [True, False])
def test_a_release_takes_its_limit_and_its_shortest_form_and_half_as_much_at_most(
    fit, within, done, request
):
    if not within:
        request.getfixturevalue("no_bound_holds")
    _, shortest = released(done, OVER, fit=fit)
    made, longest = released(done, None, fit=fit)
    assert made.fit.stopped != "time"
    assert shortest < longest / 2
    for limit in (5, 20, 60):
        _, taken = released(done, limit, fit=fit)
        assert taken <= shortest + 1.5 * limit


@pytest.mark.usefixtures("no_bound_holds")
def test_when_the_time_is_over_the_certificate_is_the_shortest_and_no_mixture_is_begun(done):
    made, _ = released(done, 1.0)
    assert made.fit.mixed == 0
    assert made.fit.stopped == "time"
    assert done.count("_best_mixture") == 1
    # Of the certificate, and of what rounding moved; there is no first-order fit.
    assert done.count("cut_norm") == done.count("step") == 2
    assert not {"tabu_search", "recombine"} & set(done)
    difference = made.graph.dense() - made.noisy.estimate()
    assert made.certificate.verify(difference) == pytest.approx(made.certificate.lower)


@pytest.mark.thorough
@pytest.mark.usefixtures("no_bound_holds")
def test_a_settled_fit_whose_mixture_has_no_time_is_stopped_by_time(done):
    """The bound that a mixture is to keep is then not proven, and the receipt must tell."""
    _, whole = released(done, None)
    early, late = (released(done, limit)[0].fit for limit in (whole // 20, whole - 5))
    assert early.stopped == late.stopped == "time"
    assert early.mixed == 0
    made, _ = released(done, 2 * whole)
    assert (made.fit.mixed, made.fit.stopped) == (1.0, "settled")


def test_structure_without_time_is_that_of_the_spectrum(done):
    """A mixture with too few components would hide what the spectrum shows."""
    view = View(problem(GRAPH, epsilon=2.0).blocks)
    plain = spectral_structure(view)
    hurried = sharpened_structure(view, Deadline(0.0))
    assert done == ["_best_mixture"]
    assert len(hurried.sizes) > 0
    assert hurried.sizes.tolist() == plain.sizes.tolist()
    assert sharpened_structure(view).sizes.tolist() != plain.sizes.tolist()


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("limit", [None, OVER])
def test_receipts_say_what_a_limit_bounds(limit, tmp_path):
    made = release_graph(GRAPH, epsilon=2.0, seed=0, fit=FitOptions(time_limit=limit))
    made.save(tmp_path / "g.csv")
    stored = json.loads(receipt_path(tmp_path / "g.csv").read_text())
    assert stored["fit"]["time_limit"] == limit
    assert ("not counted: reading" in json.dumps(stored)) == (limit is not None)
