"""Noisy sums of weights in the cells between public groups."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.cells import CellTree
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.level_noise import Change, LevelNoise


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class NoisyCells:
    """The weight in each cell of some places of a table, each with independent noise.

    Attributes:
        cells: the public cells.
        places: which places were measured, ascending; the last one always is.
        sums: for each of them the released integers in steps of `unit`, shape (cells,).
        noise: what was added, one parameter for each of these places.
        unit: weight of a step; 1 for graphs without weights.
        changes: of each of these places the largest sums of |change| and of change^2, in steps,
            between neighbours; see `cell_changes`.
        weight_cap: public largest weight; 1 for graphs without weights, None without a cap.
        weighted: whether edges have weights.
        whole: whether sums are of whole numbers: of edges, or of weights that were rounded down.
        degree_bound: None, or D of bounded sums: those of the finest level are f_D of
            `graph.bounded_cuts`, each for itself, and others are sums of these.
    """

    cells: CellTree
    places: tuple[int, ...]
    sums: tuple[IntVector, ...]
    noise: LevelNoise
    unit: float
    changes: tuple[Change, ...]
    weight_cap: float | None
    weighted: bool
    whole: bool
    degree_bound: int | None = None

    @property
    def name(self) -> str:
        """See `Measurement.name`."""
        return "groups"

    def cost(self, *, delta: float = 0.0) -> Cost:
        """What all of it cost together, added up from the noise.

        Args:
            delta: for which the cost of Gaussian noise is stated, in (0, 1).
        """
        return self.noise.cost(delta=delta, changes=self.changes)

    @property
    def epsilon(self) -> Fraction:
        """What it cost, exactly.

        Raises:
            ParameterError: the noise is Gaussian; see `cost`.
        """
        exact = None if self.noise.distribution == "gaussian" else self.cost().pure
        if exact is None:
            raise ParameterError("Gaussian noise has no pure cost")
        return exact

    @property
    def variances(self) -> FloatVector:
        """Of one sum of each place, in squared steps, shape (depth,); infinite if not measured."""
        return place_variances(self.noise, self.places, self.cells.depth)


def place_variances(noise: LevelNoise, places: tuple[int, ...], depth: int) -> FloatVector:
    """Variances of one noise of each place, at most, in squared steps; infinite if there is none.

    Of the discrete Laplace distribution exactly 1/(2 sinh(rate/2)^2); of the discrete Gaussian its
    parameter, which its variance never passes.
    """
    found = [math.inf] * depth
    for place, parameter in zip(places, noise.parameters, strict=True):
        laplace = noise.distribution == "laplace"
        found[place] = 0.5 / math.sinh(parameter / 2) ** 2 if laplace else float(parameter)
    return np.array(found)
