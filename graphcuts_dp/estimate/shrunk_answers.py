"""An estimator of cuts that shrinks unbiased answers towards the synthetic graph.

It replaces the values of `MatrixEstimator` by those of `shrinkage.shrunk_list`. The intervals stay
those of the unbiased answers, and are proven.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.errors import GraphError
from graphcuts_dp.estimate.estimator import AnswerOptions, CutMasks, Estimates
from graphcuts_dp.estimate.least_squares import MatrixEstimator
from graphcuts_dp.estimate.misfit import MatrixMisfit, Misfit
from graphcuts_dp.estimate.shrinkage import Synthetic, shrunk_list
from graphcuts_dp.queries.linear import CutQuery, LinearQuery
from graphcuts_dp.schema.vertices import Space

NO_SYNTHETIC_GRAPH = "this release has no synthetic graph: it was made with fit='none'"


@final
class ShrunkEstimator:
    """Estimates cuts by shrinking unbiased estimates towards the values of the synthetic graph.

    The values have no guarantee; the intervals are those of the unbiased estimates, and proven.

    Args:
        unbiased: estimator of the same release.
        synthetic: its synthetic graph; None if it was made without one.
    """

    def __init__(self, unbiased: MatrixEstimator, synthetic: Synthetic | None) -> None:
        self.unbiased: MatrixEstimator = unbiased
        self.synthetic: Synthetic | None = synthetic
        self.shape: tuple[int, int] = unbiased.shape
        self.space: Space = unbiased.space

    def estimate(self, queries: Sequence[LinearQuery], options: AnswerOptions) -> Estimates:
        """Estimate a list of cuts together; see `Estimator.estimate`.

        Args:
            queries: cuts. `MatrixEstimator.estimate` raises `QueryError` for a list with other
                queries, since `options.estimate` is not "unbiased"; the code relies on that.
            options: with an `estimate` other than "unbiased".

        Raises:
            QueryError: if a query does not fit the vertex sets, or is no cut.
            GraphError: if there is no synthetic graph.
        """
        # Errors in the queries are raised first, whether or not there is a synthetic graph.
        estimates, synthetic = self.unbiased.estimate(queries, options), self.synthetic
        if synthetic is None:
            raise GraphError(NO_SYNTHETIC_GRAPH)
        cuts = [query for query in queries if isinstance(query, CutQuery)]
        noisy = self.unbiased.noisy

        def covariances(cuts_of_kind: Sequence[CutMasks]) -> FloatMatrix:
            """Return the covariance of the noise that the synthetic graph does not repeat.

            Variances are multiplied by the independent shares, so deviations by their roots.
            """
            deviation_shares = np.sqrt(synthetic.independent_shares(cuts_of_kind))
            return np.asarray(
                self.unbiased.covariances(cuts_of_kind)
                * np.outer(deviation_shares, deviation_shares)
            )

        masks = [cut.masks(self.space) for cut in cuts]
        shrunk = shrunk_list(
            masks,
            synthetic.values(cuts),
            np.array([estimate.value for estimate in estimates.queries]),
            covariances,
            hollow=noisy.blocks.layout.hollow,
            symmetric=noisy.symmetric,
            misfit=self._misfit,
        )
        most = [estimate.most for estimate in estimates.queries]
        values = np.clip(shrunk.values, 0, most).tolist()
        # The noise that the synthetic graph repeats stays in the estimate, however it is moved.
        repeated = 1 - synthetic.independent_shares(masks) if masks else np.zeros(0)
        noise = np.array([estimate.typical or 0.0 for estimate in estimates.queries]) ** 2
        typical = np.sqrt(shrunk.error_variances + repeated * noise).tolist()
        shrunk_estimates = [
            estimate._replace(value=value, kind="shrunk", typical=error)
            for estimate, value, error in zip(estimates.queries, values, typical, strict=True)
        ]
        return estimates._replace(queries=shrunk_estimates)

    @cached_property
    def _misfit(self) -> Misfit | None:
        """Return the typical error of the synthetic graph, from public numbers."""
        if self.synthetic is None:
            return None
        noisy, (row_count, column_count) = self.unbiased.noisy, self.shape
        hollow = noisy.blocks.layout.hollow
        # The first vertex against all others; of two sides, all of the other side.
        first_row, first_column = np.arange(row_count) == 0, np.arange(column_count) == 0
        row_cut = first_row, ~first_row if hollow else np.ones(column_count, dtype=np.bool_)
        column_cut = ~first_column if hollow else np.ones(row_count, dtype=np.bool_), first_column
        row_noise, column_noise = (
            self.unbiased.estimate_cut(*cut).noise.variance for cut in (row_cut, column_cut)
        )
        return MatrixMisfit(
            self.synthetic.matrix,
            cap=noisy.distribution.max_weight,
            degree_noise=(row_noise, column_noise),
            symmetric=noisy.symmetric,
            hollow=hollow,
        )
