"""Our samplers beside OpenDP's, an implementation that shares no code with them.

OpenDP is in the extra `dev`; without it these tests are skipped, and say so. Both draw from
the operating system, so no seed can be fixed: each comparison is a chi-square test at a level of
1e-9 that values tell nothing of who drew them, and there are fewer than 20.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from p_values import dependence

import graphcuts_dp as gc
from graphcuts_dp.plugins import Cost
from graphcuts_dp.privacy.composition import compose, zcdp_epsilon
from graphcuts_dp.privacy.entropy import SystemEntropy
from graphcuts_dp.privacy.noise import (
    sample_discrete_gaussian,
    sample_discrete_laplace,
    sample_flips,
)

dp = pytest.importorskip("opendp.prelude", reason="OpenDP is not installed: pip install '.[dev]'")

pytestmark = pytest.mark.slow
SIZE = 100_000
LEVEL = 1e-9


def ours(name, scale):
    if name == "flips":
        return sample_flips(Fraction(scale), SIZE, SystemEntropy()).astype(int)
    if name == "laplace":
        return sample_discrete_laplace(1 / Fraction(scale), SIZE, SystemEntropy())
    return sample_discrete_gaussian(Fraction(scale) ** 2, SIZE, SystemEntropy())


def theirs(name, scale):
    """Noise of OpenDP on zeros."""
    dp.enable_features("contrib")
    if name == "flips":
        flip = dp.m.make_randomized_response_bool(prob=float(1 / (1 + np.exp(-scale))))
        return np.array([flip(False) for _ in range(SIZE // 4)]).astype(int)
    space = dp.vector_domain(dp.atom_domain(T=int), SIZE)
    if name == "laplace":
        return np.array(dp.m.make_laplace(space, dp.l1_distance(T=int), scale=scale)([0] * SIZE))
    return np.array(dp.m.make_gaussian(space, dp.l2_distance(T=float), scale=scale)([0] * SIZE))


def difference(name, scale, other):
    """p-value of the hypothesis that ours of a scale and theirs of another have one law."""
    drawn = ours(name, scale), theirs(name, other)
    return dependence(np.repeat([0, 1], [*map(len, drawn)]), np.concatenate(drawn), 40)


CASES = [
    *(("laplace", scale) for scale in (0.5, 1.0, 10.0, 300.0)),
    *(("gaussian", scale) for scale in (2.0, 40.0)),
    *(("flips", epsilon) for epsilon in (0.1, 1.0, 3.0)),
]


@pytest.mark.parametrize(("name", "scale"), CASES)
def test_ours_have_their_law(name, scale):
    assert difference(name, scale, scale) > LEVEL


@pytest.mark.parametrize(("name", "scale"), [("laplace", 10.0), ("gaussian", 40.0)])
def test_twins_of_another_scale_are_rejected(name, scale):
    """Ten per cent is seen with overwhelming probability."""
    assert difference(name, 1.1 * scale, scale) < LEVEL


def test_a_job_is_a_measurement_of_opendp():
    club = gc.datasets.load("karate")
    measurement = gc.cuts.cut_job(club, 0, 33, epsilon=2.0).to_opendp()
    assert [measurement.map(steps) for steps in (0, 1, 3)] == [0.0, 2.0, 6.0]
    assert sorted(sum(measurement(club).parts, ())) == list(range(34))
    assert dp.c.make_composition([measurement, measurement]).map(1) == 4.0
    with pytest.raises(dp.OpenDPException, match="job is for other data"):
        measurement(gc.datasets.load("lesmis"))


def test_a_job_with_gaussian_noise_is_told_in_zero_concentrated_privacy():
    club = gc.datasets.load("karate")
    groups = gc.Groups(gc.VertexSet(club.labels), {"half": [v % 2 for v in range(34)]})
    workload = gc.FlowWorkload(noise="gaussian")
    job = gc.release.flows_job(club, groups, epsilon=1.0, delta=1e-6, workload=workload)
    measurement = job.to_opendp()
    assert str(measurement.output_measure) == str(dp.zero_concentrated_divergence())
    assert measurement.map(1) == job.cost.rho
    assert measurement.map(3) == pytest.approx(9 * job.cost.rho)
    guarantee = measurement(club).guarantee
    assert guarantee.budget_plan.ran is not None
    assert replace(guarantee, budget_plan=None) == job.guarantee


@pytest.mark.parametrize("delta", [1e-4, 1e-6, 1e-10])
@pytest.mark.parametrize("rho", [0.01, 0.3, 2.0])
def test_concentrated_privacy_is_converted_alike(rho, delta):
    dp.enable_features("contrib", "honest-but-curious")
    one = dp.m.make_user_measurement(
        dp.atom_domain(T=int),
        dp.absolute_distance(T=int),
        dp.zero_concentrated_divergence(),
        lambda x: x,
        lambda _: rho,
    )
    theirs = dp.c.make_zCDP_to_approxDP(one).map(1).epsilon(delta)
    assert theirs == pytest.approx(zcdp_epsilon(rho, delta=delta), rel=1e-6)


@pytest.mark.parametrize("epsilons", [(0.5,), (0.1, 0.2, 0.3), (0.05,) * 20])
def test_compositions_cost_alike(epsilons):
    """Of jobs: pure ones as sums of epsilon, and in zero-concentrated privacy as sums of rho."""
    club = gc.datasets.load("karate")
    jobs = [gc.release.graph_job(club, epsilon=epsilon, fitted=False) for epsilon in epsilons]
    together = dp.c.make_composition([job.to_opendp() for job in jobs])
    ours = compose([job.cost for job in jobs], delta=0.0)
    assert together.map(1) == pytest.approx(ours.epsilon, rel=1e-6)
    assert len(together(club)) == len(jobs)

    groups = gc.Groups(gc.VertexSet(club.labels), {"half": [v % 2 for v in range(34)]})
    workload = gc.FlowWorkload(noise="gaussian")
    smooth = [
        gc.release.flows_job(club, groups, epsilon=epsilon, delta=1e-6, workload=workload)
        for epsilon in epsilons
    ]
    mixed = dp.c.make_zCDP_to_approxDP(dp.c.make_composition([job.to_opendp() for job in smooth]))
    costs = [Cost.of_rho(job.cost.rho, delta=1e-6) for job in smooth]
    rho = sum(cost.rho for cost in costs)
    assert mixed.map(1).epsilon(1e-6) == pytest.approx(zcdp_epsilon(rho, delta=1e-6), rel=1e-6)
    assert compose(costs, delta=1e-6).epsilon <= zcdp_epsilon(rho, delta=1e-6) * (1 + 1e-9)
