"""Data players of the query release game: a best response, and one without regret."""

from collections.abc import Sequence
from typing import Protocol, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.graph.queries import CutQuery
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.idc.base import Sign

Signed = tuple[CutQuery, Sign]


class DataPlayer(Protocol):
    """Plays matrices of weights in units; reads draws alone, which are public."""

    def play(self, draws: Sequence[Signed]) -> FloatMatrix:
        """The play of a round, a new matrix over the universe.

        Args:
            draws: signed cuts of this round. A player who has no regret plays before it looks.
        """
        ...


@final
class BestResponder:
    """Plays what the draws of this round gain least against.

    Of the matrices with entries in [0, 1] and a given total it is one with the largest
    sum of s q(x): 1 on the pairs that most draws count with +, until the total is reached; pairs
    that are equally good, where not all of them fit, get equal parts.

    Args:
        universe: the public vertex pairs.
        total: in (0, X].
    """

    def __init__(self, universe: Universe, total: float) -> None:
        self._universe = universe
        self._total = total

    def play(self, draws: Sequence[Signed]) -> FloatMatrix:
        """See `DataPlayer.play`."""
        universe = self._universe
        worth = sum_of(universe, draws)[universe.pairs()]
        levels, counts = np.unique(-worth, return_counts=True)
        room = np.clip(self._total - np.concatenate([[0], np.cumsum(counts)[:-1]]), 0, counts)
        weights = (room / counts)[np.searchsorted(levels, -worth)]
        matrix = np.zeros(universe.shape)
        matrix[universe.pairs()] = weights
        return matrix + matrix.T if universe.symmetric else matrix


@final
class WeightsPlayer:
    """Multiplicative weights over pairs: h ~ exp(rate * sum of the draws' mean coefficients).

    Guarantee, for mean coefficients in [-1, 1] and a comparator of the same total whose relative
    entropy to the uniform matrix is K: its regret in T rounds is at most
    total (K/rate + rate T/2), the usual proof with Hoeffding's lemma.

    Args:
        universe: the public vertex pairs.
        total: > 0.
        rate: > 0.
    """

    def __init__(self, universe: Universe, total: float, rate: float) -> None:
        self._universe = universe
        self._total = total
        self._rate = rate
        self._exponents = np.zeros(universe.shape)

    def play(self, draws: Sequence[Signed]) -> FloatMatrix:
        """See `DataPlayer.play`: the draws move the next play, not this one."""
        universe = self._universe
        weights = np.exp(self._exponents - self._exponents.max())
        universe.clear_diagonal(weights)
        played: FloatMatrix = weights * (self._total / universe.total(weights))
        self._exponents += self._rate / len(draws) * sum_of(universe, draws)
        return played


def sum_of(universe: Universe, draws: Sequence[Signed]) -> FloatMatrix:
    """The sum of the draws' signed coefficients, a matrix over the universe."""
    found = np.zeros(universe.shape)
    for query, sign in draws:
        found += sign * universe.coefficients(query)
    return found
