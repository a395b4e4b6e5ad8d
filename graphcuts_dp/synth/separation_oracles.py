"""Oracles that find cuts on which a matrix is large.

A separation oracle gets a residual matrix M = x - z and returns cuts (S, T), masks of rows and of
columns. M(S,T) is the sum of M over these rows and columns. The cuts have nearly the largest
|M(S,T)| (the cut norm), or nearly the largest |M(S,T)|/sqrt(|S||T|) (the normalised cut norm). Fits
add these cuts to a linear program, or play against them.

The *low-rank method* (`cutnorm.low_rank`) solves the semidefinite relaxation of the cut norm by
unit vectors for rows and columns, which it improves by alternation. A random hyperplane rounds them
to a cut.
"""

import math
from typing import final

from graphcuts_dp.arrays import BoolVector, RealMatrix
from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.cutnorm.low_rank import LowRankSolver
from graphcuts_dp.cutnorm.spectral import prefix_cuts
from graphcuts_dp.resources import NEVER, Deadline

ORACLES = ("cut-norm", "spectral")  # names, see `oracle_named`
Cut = tuple[BoolVector, BoolVector]

_HYPERPLANES = 128  # random hyperplanes by which a call rounds the vectors
_FIRST_ALTERNATIONS = 30  # of the low-rank method in its first call
_ALTERNATIONS = 8  # of the low-rank method in each later call, which starts near the solution
_PREFIX_CUTS = 12  # most cuts that a spectral oracle returns
_PAIRS = 3  # pairs of singular vectors whose prefixes are tried by `separate`
_SEARCH_PAIRS = 12  # ... and by `search`


@final
class CutNormOracle:
    """Oracle for cuts with nearly the largest |M(S,T)|, by the low-rank method.

    Each call starts from the vectors of the call before.

    Source: GRU12 Lemma 6.2; Alon, Naor 2006.

    Args:
        shape: of the matrices to come.
        deadline: after it `search` takes its shortest form.
        cuts: most cuts that a call returns.
    """

    objective = "cut norm"

    def __init__(self, shape: tuple[int, int], deadline: Deadline = NEVER, cuts: int = 12) -> None:
        self._deadline = deadline
        self._solver = LowRankSolver(shape, rank=min(32, max(shape) + 1), seed=0)
        self._cuts = cuts
        self._alternations = _FIRST_ALTERNATIONS

    def weight(self, S: BoolVector, T: BoolVector) -> float:  # noqa: ARG002
        """Return the factor of |M(S,T)| in the norm: 1."""
        return 1.0

    def separate(self, residual: RealMatrix) -> list[Cut]:
        """Return distinct cuts, the best first, from random hyperplanes.

        Each cut is improved by alternation: the best rows for its columns, and so on.
        """
        self._solver.step(residual, self._alternations)
        self._alternations = _ALTERNATIONS
        batch = self._solver.round_batch(residual, _HYPERPLANES, self._cuts)
        return list(zip(batch.S, batch.T, strict=True))

    def search(self, residual: RealMatrix) -> list[Cut]:
        """Return the cut of a whole cut-norm search, which is exact for small matrices.

        It takes longer than `separate`, and is called before a run ends.
        """
        certificate = cut_norm(residual, time_limit=self._deadline.seconds_left)
        return [(certificate.S, certificate.T)]


@final
class SpectralOracle:
    """Oracle for cuts with nearly the largest |M(S,T)|/sqrt(|S||T|).

    It takes prefixes of singular vectors: the sets of the k largest entries, for some k.

    Source: GRU12 section 6.2; Nikiforov 2009.
    """

    objective = "normalised cut norm"

    def weight(self, S: BoolVector, T: BoolVector) -> float:
        """Return the factor of |M(S,T)| in the norm: 1/sqrt(|S||T|)."""
        return 1.0 / math.sqrt(max(1, int(S.sum()) * int(T.sum())))

    def separate(self, residual: RealMatrix, pairs: int = _PAIRS) -> list[Cut]:
        """Return the best prefix cuts of several pairs of singular vectors."""
        batch = prefix_cuts(residual, _PREFIX_CUTS, pairs=pairs)
        return list(zip(batch.S, batch.T, strict=True))

    def search(self, residual: RealMatrix) -> list[Cut]:
        """Return prefix cuts of more pairs of singular vectors; called before a run ends."""
        return self.separate(residual, pairs=min(_SEARCH_PAIRS, *residual.shape))


Oracle = CutNormOracle | SpectralOracle


def oracle_named(name: str, shape: tuple[int, int], deadline: Deadline) -> Oracle:
    """Return the oracle of a name, which must be one of `ORACLES`.

    Args:
        name: "cut-norm" or "spectral".
        shape: of the matrices to come.
        deadline: of the whole run.
    """
    return CutNormOracle(shape, deadline) if name == "cut-norm" else SpectralOracle()
