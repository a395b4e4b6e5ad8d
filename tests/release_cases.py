"""Releases that are measured and not fitted, for tests of what is measured."""

from fractions import Fraction

import graphcuts_dp as gc
from graphcuts_dp.estimate.measurement import Measurements
from graphcuts_dp.graph.rows import PrivateData
from graphcuts_dp.privacy.entropy import EntropySource, SeededEntropy
from graphcuts_dp.release.graphs import MatrixJob, SparseJob, graph_job


def job_of(
    graph: PrivateData,
    how: str = "auto",
    *,
    epsilon: float | Fraction = 1.0,
    noise: str | None = None,
    share: float | None = None,
    groups: gc.Groups | tuple[gc.Groups, gc.Groups] | None = None,
) -> MatrixJob | SparseJob:
    """The job of a release by a mechanism; degrees have a share of epsilon, if it is given."""
    return graph_job(
        graph,
        epsilon=epsilon,
        noise=noise,
        mechanism=gc.Mechanism(how, degree_share=share),
        groups=groups,
        fitted=False,
    )


def measured(
    graph: PrivateData,
    how: str = "auto",
    *,
    epsilon: float | Fraction = 1.0,
    noise: str | None = None,
    share: float | None = None,
    groups: gc.Groups | tuple[gc.Groups, gc.Groups] | None = None,
    source: EntropySource | None = None,
) -> Measurements:
    """What a release by that job measures."""
    job = job_of(graph, how, epsilon=epsilon, noise=noise, share=share, groups=groups)
    return job.measure(job.bounded(graph), source or SeededEntropy(0))
