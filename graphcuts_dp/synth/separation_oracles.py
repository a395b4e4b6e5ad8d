"""Oracles that find cuts on which a matrix is large.

A separation oracle gets a residual matrix M = x - z and returns cuts (S, T), masks of rows and of
columns. M(S,T) is the sum of M over these rows and columns. The cuts have nearly the largest
|M(S,T)| (the cut norm), or nearly the largest |M(S,T)|/sqrt(|S||T|) (the normalised cut norm). Fits
add these cuts to a linear program, or play against them.

The *semidefinite relaxation* of the cut norm has a unit vector for each row and each column, and
random hyperplanes round the vectors to cuts. The *low-rank method* (`cutnorm.low_rank`) improves
vectors with few entries by alternation; SCS solves the relaxation as it is written
(`cutnorm.relaxation`), as a reference.
"""

import math
from abc import ABC, abstractmethod
from typing import final

from graphcuts_dp.arrays import BoolVector, RealMatrix
from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.cutnorm.low_rank import LowRankSolver
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.cutnorm.relaxation import round_solution, solve_relaxation
from graphcuts_dp.cutnorm.spectral import prefix_cuts
from graphcuts_dp.errors import SolverError
from graphcuts_dp.resources import NEVER, Deadline

DEFAULT_ORACLE = "low-rank"
ORACLES = (DEFAULT_ORACLE, "sdp", "spectral")  # names, see `oracle_named`
Cut = tuple[BoolVector, BoolVector]

_HYPERPLANES = 128  # random hyperplanes by which a call rounds the vectors
_FIRST_ALTERNATIONS = 30  # of the low-rank method in its first call
_ALTERNATIONS = 8  # of the low-rank method in each later call, which starts near the solution
_PREFIX_CUTS = 12  # most cuts that a spectral oracle returns
_PAIRS = 3  # pairs of singular vectors whose prefixes are tried by `separate`
_SEARCH_PAIRS = 12  # ... and by `search`


class CutNormOracle(ABC):
    """Oracle for cuts with nearly the largest |M(S,T)|.

    Source: GRU12 Lemma 6.2; Alon, Naor 2006.

    Args:
        deadline: after it `search` takes its shortest form.
    """

    objective = "cut norm"

    def __init__(self, deadline: Deadline = NEVER) -> None:
        self.deadline = deadline

    def weight(self, S: BoolVector, T: BoolVector) -> float:  # noqa: ARG002
        """Return the factor of |M(S,T)| in the norm: 1."""
        return 1.0

    @abstractmethod
    def separate(self, residual: RealMatrix) -> list[Cut]:
        """Return distinct cuts, the best first."""

    def search(self, residual: RealMatrix) -> list[Cut]:
        """Return the cut of a whole cut-norm search, which is exact for small matrices.

        It takes longer than the low-rank `separate`, and is called before a run ends.
        """
        certificate = cut_norm(residual, time_limit=self.deadline.seconds_left)
        return [(certificate.S, certificate.T)]


@final
class LowRankOracle(CutNormOracle):
    """Oracle of the cut norm by the low-rank method; each call starts from the last one's vectors.

    Args:
        shape: of the matrices to come.
        deadline: after it `search` takes its shortest form.
        cuts: most cuts that a call returns.
    """

    def __init__(self, shape: tuple[int, int], deadline: Deadline = NEVER, cuts: int = 12) -> None:
        super().__init__(deadline)
        self._solver = LowRankSolver(shape, rank=min(32, max(shape) + 1), seed=0)
        self._cuts = cuts
        self._alternations = _FIRST_ALTERNATIONS

    def separate(self, residual: RealMatrix) -> list[Cut]:
        """Return distinct cuts, the best first, from random hyperplanes.

        Each cut is improved by alternation: the best rows for its columns, and so on.
        """
        self._solver.step(residual, self._alternations)
        self._alternations = _ALTERNATIONS
        batch = self._solver.round_batch(residual, _HYPERPLANES, self._cuts)
        return list(zip(batch.S, batch.T, strict=True))


@final
class SemidefiniteOracle(CutNormOracle):
    """Oracle of the cut norm by the semidefinite relaxation as it is written, solved by SCS.

    This is the oracle of the paper, and the reference for `LowRankOracle`. Each call takes seconds
    to minutes; matrices have at most 260 rows and columns together.
    """

    def separate(self, residual: RealMatrix) -> list[Cut]:
        """Return distinct cuts, the best first, by Krivine's rounding of the solution.

        Each cut is improved by alternation. If SCS has no solution when the time is up, the cut of
        `search` takes their place.
        """
        operand = Operand.from_matrix(residual)
        try:
            gram, _, _ = solve_relaxation(operand, bordered=True, deadline=self.deadline)
        except SolverError:
            return self.search(residual)
        batch = round_solution(operand, gram, bordered=True, seed=0)
        return list(zip(batch.S, batch.T, strict=True))


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
        name: "low-rank", "sdp" or "spectral".
        shape: of the matrices to come.
        deadline: of the whole run.
    """
    if name == "sdp":
        return SemidefiniteOracle(deadline)
    return LowRankOracle(shape, deadline) if name == DEFAULT_ORACLE else SpectralOracle()
