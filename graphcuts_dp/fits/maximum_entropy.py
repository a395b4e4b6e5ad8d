"""Fit for cuts of every kind: maximum entropy around the noisy bits."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from graphcuts_dp.deadline import Deadline
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.fits.base import Fit, FitProblem
from graphcuts_dp.fits.credible_sums import credible_sums
from graphcuts_dp.fits.log_odds import OutOfTimeError, solve, synthetic_rows
from graphcuts_dp.measurements.blocks import mirror_upper
from graphcuts_dp.parallel import one_blas_thread
from graphcuts_dp.progress import Progress, silent

_STRUCTURE = 0.3  # of the progress


@final
@dataclass(frozen=True)
class MaximumEntropy:
    """The matrix of largest entropy, relative to the noisy bits' own odds, with credible sums.

    The fits that only minimise a norm of x - z spend the freedom that is left on cuts between
    communities, and make those 4 to 25 times worse than in z. Here x gives every noisy entry the
    weight of the evidence that it is, and is held to the sums that the noisy data show well:

    1. Structure: directions of z beyond its noise, denoised, with sizes such that inner products
       along the true directions are unbiased, and soft blocks of vertices
       (`sharpened_structure`; `sharpened_two_sided` for bipartite and directed graphs).
    2. Degrees and sums over pairs of blocks (`credible_sums`).
    3. x = cap sigmoid(evidence + a_i + b_j + s q_i^T Theta r_j) with those sums (`solve`).

    Guarantee: x lies in the box. It minimises no norm of x - z, so the worst error is bounded
    through the certificate of x - z: ||x - A||_C <= ||x - z||_C + ||z - A||_C. A release compares
    that certificate with `noise_cut_bound` and mixes x with the first-order fit where it is
    larger, so ||x - A||_C is at most twice that bound.

    With s the deviation of the noise if all of epsilon were spent on entries, blocks were mostly
    told apart when (p_in - p_out) |block| was above about 1.5 s sqrt(n); at 1.4 some of them were
    merged in half of the releases, and below once that no method sees them: cuts between them then
    come out as if the graph had its degrees only. `Fit.near_noise` tells.

    Source: GRU12 section 6 (post-processing of z); Jaynes 1957 (maximum entropy).

    Attributes:
        time_limit: seconds after which the point reached is returned; None for no limit.
    """

    time_limit: float | None = None
    uses_degrees: ClassVar[bool] = True  # its sums are held to them
    needs_cap: ClassVar[bool] = True  # odds are those of weights between 0 and a cap

    @property
    def tolerance(self) -> None:
        """None: there is no gap to close."""
        return

    def __call__(self, problem: FitProblem, *, progress: Progress = silent) -> Fit:
        """Run the steps above; same input, same output, unless the time limit strikes."""
        blocks, cap = problem.blocks, problem.cap
        if blocks.distribution is None or math.isinf(cap):
            raise ParameterError(
                "fit 'maximum-entropy' needs the noise's distribution and a public weight cap: "
                "give weight_cap, or choose fit='first-order'"
            )
        deadline = Deadline.after(self.time_limit)
        progress(0.0, "looking for structure")
        with one_blas_thread():
            sums = credible_sums(problem, blocks.distribution, deadline)

        def report(done: float, message: str) -> None:
            progress(_STRUCTURE + (1 - _STRUCTURE) * done, message)
            if deadline.passed():
                raise OutOfTimeError

        solution = solve(blocks, sums, cap, report=report)
        x = blocks.gather(
            synthetic_rows, solution.factors, cap, width=problem.shape[1], dtype=np.float32
        )
        if problem.symmetric:
            mirror_upper(x, blocks.layout)
        return Fit(
            matrix=x,
            method="maximum-entropy",
            objective="relative entropy",
            value=None,
            lower=None,
            rounds=solution.rounds,
            stopped=solution.stopped,
            near_noise=sums.near_noise,
            directions=sums.directions,
        )
