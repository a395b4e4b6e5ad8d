"""Releases that are measured and not fitted, for tests of what is measured."""

from dataclasses import replace
from fractions import Fraction

import graphcuts_dp as gc
from graphcuts_dp import graph_job
from graphcuts_dp.estimate.measurement import Measurements
from graphcuts_dp.graph.rows import PrivateData
from graphcuts_dp.plugins import EntropySource, SeededEntropy
from graphcuts_dp.release.graph_jobs import MatrixJob, SparseJob
from graphcuts_dp.synth.budget_plans import matrix_plan


def job_of(
    graph: PrivateData,
    how: str = "auto",
    *,
    epsilon: float | Fraction = 1.0,
    noise: str | None = None,
    share: float | None = None,
    groups: gc.Groups | tuple[gc.Groups, gc.Groups] | None = None,
    tested: bool = True,
) -> MatrixJob | SparseJob:
    """The job of a release by a mechanism; degrees have a share of epsilon, if it is given.

    With `tested` False, looks at degrees choose their share, as they do where the test is not made.
    """
    job = graph_job(
        graph,
        epsilon=epsilon,
        noise=noise,
        mechanism=gc.Mechanism(how, degree_share=share),
        groups=groups,
        fitted=False,
    )
    if tested or not isinstance(job, MatrixJob):
        return job
    shares, old = replace(job.shares, tested=None), job.budget_plan
    plan = matrix_plan(shares, job.distribution, epsilon=old.amount, groups=job.groups)
    plan = replace(plan, group_size=old.group_size, delta=old.delta)
    return replace(job, shares=shares, budget_plan=plan)


def measured(
    graph: PrivateData,
    how: str = "auto",
    *,
    epsilon: float | Fraction = 1.0,
    noise: str | None = None,
    share: float | None = None,
    groups: gc.Groups | tuple[gc.Groups, gc.Groups] | None = None,
    source: EntropySource | None = None,
    tested: bool = True,
) -> Measurements:
    """What a release by that job measures."""
    job = job_of(
        graph, how, epsilon=epsilon, noise=noise, share=share, groups=groups, tested=tested
    )
    return job.measure(job.bounded(graph), source or SeededEntropy(0))
