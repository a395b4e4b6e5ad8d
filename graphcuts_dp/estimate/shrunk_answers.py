"""Estimates of cuts between the unbiased ones and those of the synthetic graph; see `shrinkage`."""

from collections.abc import Sequence
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.errors import GraphError
from graphcuts_dp.estimate.estimator import AnswerOptions, Estimates
from graphcuts_dp.estimate.least_squares import MatrixEstimator
from graphcuts_dp.estimate.shrinkage import Cut, Synthetic, shrunk_list
from graphcuts_dp.queries.linear import CutQuery, LinearQuery

NO_SYNTHETIC_GRAPH = "this release has no synthetic graph: it was made with fit='none'"


@final
class ShrunkEstimator:
    """Estimates cuts by shrinking unbiased estimates towards the values of the synthetic graph.

    The values have no guarantee; the intervals are those of the unbiased estimates, and proven.

    Args:
        unbiased: of the same release.
        synthetic: its synthetic graph; None if it was made without one.
    """

    def __init__(self, unbiased: MatrixEstimator, synthetic: Synthetic | None) -> None:
        self.unbiased, self.synthetic = unbiased, synthetic
        self.shape, self.space = unbiased.shape, unbiased.space

    def estimate(self, queries: Sequence[LinearQuery], options: AnswerOptions) -> Estimates:
        """Estimate a list of cuts together; see `Estimator.estimate`.

        Raises:
            QueryError: a cut that does not fit, or another query.
            GraphError: there is no synthetic graph.
        """
        estimates, synthetic = self.unbiased.estimate(queries, options), self.synthetic
        if synthetic is None:
            raise GraphError(NO_SYNTHETIC_GRAPH)
        cuts = [query for query in queries if isinstance(query, CutQuery)]
        masks, noisy = [cut.masks(self.space) for cut in cuts], self.unbiased.noisy

        def covariances(some: Sequence[Cut]) -> FloatMatrix:
            """Of the unbiased errors, without the noise that the synthetic graph repeats."""
            shares = np.sqrt(synthetic.apart(some))
            return np.asarray(self.unbiased.covariances(some) * np.outer(shares, shares))

        shrunk = shrunk_list(
            masks,
            synthetic.values(cuts),
            np.array([each.value for each in estimates.queries]),
            covariances,
            hollow=noisy.blocks.layout.hollow,
            symmetric=noisy.symmetric,
        )
        values = np.clip(shrunk, 0, [each.most for each in estimates.queries]).tolist()
        changed = [
            each._replace(value=value, kind="shrunk")
            for each, value in zip(estimates.queries, values, strict=True)
        ]
        return estimates._replace(queries=changed)
