"""Certificates of releases: of the very weights that are released, in either precision."""

import math

import numpy as np
import pytest
from helpers import random_graph

from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.release.synthesis import release_graph
from graphcuts_dp.synth import finishing
from graphcuts_dp.synth.finishing import certify, weights_of


def test_weights_are_rounded_and_stay_in_the_box():
    found = weights_of(np.array([[0.12344, 0.12346, 0.3]], dtype=np.float32), 0.12345)
    assert found.tolist() == [[0.1234, 0.12345, 0.12345]]
    assert weights_of(np.array([[7.00004]]), math.inf).tolist() == [[7.0]]
    assert weights_of(np.array([[1, 0]], dtype=np.uint8), 1.0).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("noise", ["binary", "laplace"])
def test_a_narrow_certificate_holds_for_the_exact_difference(noise, symmetric, monkeypatch):
    """At n = 14 enumeration gives the norm itself; float32 alone would miss it by rounding."""
    widened = 0
    for seed in range(10):
        graph = random_graph(14 if symmetric else (14, 11), seed, density=0.4)
        made = release_graph(graph, epsilon=3.0, noise=noise, fit="first-order", seed=seed)
        exact = cut_norm(made.graph.dense() - made.noisy.estimate(), method="exact")
        assert math.isclose(made.certificate.lower, exact.lower, rel_tol=1e-12)
        with monkeypatch.context() as patch:
            patch.setattr(finishing, "_LARGEST_WIDE", 0)
            narrow = certify(made.graph.dense(), made.noisy, 1.0)
        assert narrow.lower <= exact.lower
        assert exact.upper <= narrow.upper
        assert narrow.upper - narrow.lower <= 1e-5 * exact.upper
        widened += narrow.lower < narrow.upper
    assert widened == 10
