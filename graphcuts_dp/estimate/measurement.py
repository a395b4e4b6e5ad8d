"""What a measurement is: a noisy value that was bought of the private graph, and its exact cost.

Those that count on the grid of the weights: the total, the degrees, how many edges weigh how much,
and sums in the cells between public groups. Noisy entries and kept edges are in `noisy_matrix`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol, Self, TypeVar, final

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.pairs.groups import CellTree, GroupNames, Groups, GroupTree
from graphcuts_dp.pairs.vertices import Space, vertex_sets
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.distributions import TwoSidedGeometric
from graphcuts_dp.privacy.guarantee import EDGE, PrivacyGuarantee, Protect
from graphcuts_dp.privacy.level_noise import Change, LevelNoise


class Measurement(Protocol):
    """A frozen value that may be published: it depends on the private graph through noise alone."""

    @property
    def name(self) -> str:
        """As the parts of a guarantee name it: "total", "degrees", "entries" and the like."""

    @property
    def epsilon(self) -> Fraction:
        """What it cost, exactly, for neighbours that differ in one pair."""


M = TypeVar("M")


@final
@dataclass(frozen=True, eq=False)
class Measurements:
    """All that a release knows of the private graph.

    Attributes:
        values: in the order in which they were bought; at most one of each name.
        guarantee: for all of them together.
    """

    values: tuple[Measurement, ...]
    guarantee: PrivacyGuarantee

    def protected(self, protection: Protect, *, epsilon: float | Fraction) -> Self:
        """The same values, with the guarantee for whom they shall protect.

        Args:
            protection: whom; a step of it is what the measurements' own costs are for.
            epsilon: that was asked for, for all steps together.

        Raises:
            BudgetError: they cost more.
        """
        if protection == EDGE:
            return self
        spent = Cost.of_pure(sum((value.epsilon for value in self.values), Fraction(0)))
        cost = protection.cost(spent, epsilon=epsilon)
        return replace(self, guarantee=protection.promise(self.guarantee, cost))

    def find(self, kind: type[M]) -> M | None:
        """The last measurement of a kind, or None if none was bought."""
        return next(iter(self.all_of(kind)[::-1]), None)

    def all_of(self, kind: type[M]) -> tuple[M, ...]:
        """All measurements of a kind, in the order in which they were bought."""
        return tuple(value for value in self.values if isinstance(value, kind))


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return [value.numerator, value.denominator]
    return value.tolist() if isinstance(value, np.ndarray) else value


_READERS: dict[Any, Callable[[Any], Any]] = {
    float: float,
    bool: bool,
    Fraction: lambda pair: Fraction(*pair),
    IntVector: lambda numbers: np.array(numbers, dtype=np.int64),
}


class GridNoise:
    """What whole steps of a grid share that have discrete Laplace noise of one rate.

    A subclass is a dataclass of such fields as `_READERS` reads, these three among them.

    Attributes:
        unit: weight of a step.
        rate: the noise k has probability proportional to e^(-rate |k|).
        epsilon: what all of them cost together, exactly.
        note: for whoever reads a receipt.
    """

    unit: float
    rate: Fraction
    epsilon: Fraction
    note: ClassVar[str] = ""

    @property
    def law(self) -> TwoSidedGeometric:
        """Of the noise of each, in weight."""
        return TwoSidedGeometric(float(self.rate), self.unit)

    @property
    def variance(self) -> float:
        """Of the noise of one, in units of weight."""
        return self.law.variance

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise of one."""
        return math.sqrt(self.variance)

    def to_dict(self) -> dict[str, Any]:
        """For receipts: plain values."""
        found = {name: _plain(value) for name, value in vars(self).items()}
        return found | ({"note": self.note} if self.note else {})

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Raises:
            KeyError, TypeError, ValueError, ArithmeticError: it is something else.
        """
        fields = cls.__annotations__.items()
        return cls(**{name: _READERS[kind](stored[name]) for name, kind in fields})


@final
@dataclass(frozen=True)
class NoisyTotal(GridNoise):
    """The sum of the whole matrix (each edge of an undirected graph twice), with noise.

    Attributes:
        value: unbiased; may be negative.
        unit: the noise is a whole number of these, each sign alike: a step of the grid, twice that
            for an undirected graph.
        rate: the noise k units has probability proportional to e^(-rate |k|).
        epsilon: what it cost, exactly.
    """

    value: float
    unit: float
    rate: Fraction
    epsilon: Fraction

    name = "total"


@final
@dataclass(frozen=True, eq=False)
class NoisyDegrees(GridNoise):
    """All degrees (row and column sums of the weights), each with discrete Laplace noise.

    Attributes:
        rows: released integers, in steps of `unit`, shape (n,) or (n_left,).
        columns: shape (n_right,); for an adjacency matrix the same object as `rows`.
        unit: weight of a step; 1 for graphs without weights.
        rate: the noise k has probability proportional to e^(-rate |k|).
        epsilon: what all of them cost together, exactly.
        early: whether they were bought to choose how to spend the rest; there may be later ones.
    """

    rows: IntVector
    columns: IntVector
    unit: float
    rate: Fraction
    epsilon: Fraction
    early: bool = False

    note = "degree = (released integer) * unit, plus two-sided geometric noise"

    @property
    def name(self) -> str:
        """See `Measurement.name`."""
        return "early degrees" if self.early else "degrees"

    @property
    def symmetric(self) -> bool:
        """Whether rows and columns are the same vertices."""
        return self.columns is self.rows

    @property
    def total(self) -> float:
        """Unbiased estimate of the sum of all row sums; twice the edges of an adjacency matrix."""
        return float(self.rows.sum() + self.columns.sum()) / 2 * self.unit

    def to_dict(self) -> dict[str, Any]:
        """For receipts: plain values; "columns" is None where they are the rows."""
        found = super().to_dict()
        del found["early"]
        return found | ({"columns": None} if self.symmetric else {})

    @classmethod
    def from_dict(cls, stored: dict[str, Any], *, early: bool = False) -> Self:
        """Read what `to_dict` wrote; see `GridNoise.from_dict`."""
        columns = stored["rows"] if stored["columns"] is None else stored["columns"]
        found = super().from_dict({**stored, "columns": columns, "early": early})
        return found if stored["columns"] is not None else replace(found, columns=found.rows)


_CLASSES_AN_OCTAVE = 1
LOWEST, _HIGHEST = -2, 12  # powers of two, in scales of the noise of all of epsilon


@final
@dataclass(frozen=True, eq=False)
class NoisyWeightCounts(GridNoise):
    """How many pairs have a weight in each public class; pairs without weight are in none.

    Attributes:
        lower: least whole number of steps of each class, ascending from 1; a class ends where the
            next begins, and the last one has no end but the cap.
        counts: released integers, shape (classes,); unbiased, may be negative.
        unit: weight of a step.
        rate: the noise k has probability proportional to e^(-rate |k|).
        epsilon: what all of them cost together, exactly.
    """

    lower: IntVector
    counts: IntVector
    unit: float
    rate: Fraction
    epsilon: Fraction

    name = "weights"
    note = (
        "pairs whose weight is lower * unit or more, but less than the next class, "
        "plus two-sided geometric noise"
    )

    def __post_init__(self) -> None:
        lower = self.lower
        if lower.shape != self.counts.shape or lower.ndim != 1 or not len(lower):
            raise ValueError("there is one count for each class")
        if lower[0] != 1 or (np.diff(lower) <= 0).any():
            raise ValueError("classes of weight are ascending")

    @property
    def law(self) -> TwoSidedGeometric:
        """Of the noise of each count."""
        return TwoSidedGeometric(float(self.rate), 1.0)

    @property
    def edges(self) -> float:
        """Unbiased number of pairs with weight."""
        return float(self.counts.sum())

    @property
    def starts(self) -> FloatVector:
        """Least weight of each class, shape (classes,)."""
        starts: FloatVector = self.lower * np.float64(self.unit)
        return starts


def weight_classes(scale: float, cap: int | None) -> IntVector:
    """Where public classes of weight begin, in steps: one an octave about the scale of the noise.

    Args:
        scale: of the noise of all of epsilon, in steps: finer weights drown in it.
        cap: largest weight, in steps; None without one. A graph without weights has one class.
    """
    if cap == 1:
        return np.ones(1, dtype=np.int64)
    octaves = np.arange(LOWEST * _CLASSES_AN_OCTAVE, _HIGHEST * _CLASSES_AN_OCTAVE + 1)
    starts = np.ceil(scale * 2.0 ** (octaves / _CLASSES_AN_OCTAVE))
    starts = starts[starts <= (2**52 if cap is None else cap)]
    return np.unique(np.concatenate([[1], np.maximum(starts, 1)])).astype(np.int64)


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

    name = "groups"

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


Stage = Literal["groups", "groups again", "found groups"]


@final
@dataclass(frozen=True, eq=False)
class NoisyGroups:
    """The weight between every two groups of one level, each with discrete Laplace noise.

    Attributes:
        name: "groups", "groups again" for a second look at the same cells, or "found groups" for
            groups that were made of noisy data.
        rows: public code of the group of each row, shape (n,) or (n_left,).
        columns: shape (n_right,); for a symmetric matrix the same object as `rows`.
        measured: the noisy sums; one level, discrete Laplace noise.
    """

    name: Stage
    rows: IntVector
    columns: IntVector
    measured: NoisyCells

    @property
    def epsilon(self) -> Fraction:
        """What all of them cost together, exactly: one pair lies in one cell."""
        return self.measured.epsilon

    @property
    def symmetric(self) -> bool:
        """Whether pairs have no direction: rows and columns are then one object."""
        return self.columns is self.rows

    @property
    def unit(self) -> float:
        """Weight of a step of the noise."""
        return self.measured.unit

    @property
    def law(self) -> TwoSidedGeometric:
        """Of the noise of each sum, in weight."""
        return TwoSidedGeometric(float(self.measured.noise.parameters[0]), self.unit)

    @property
    def place(self) -> int:
        """Of the measured level among the cells."""
        return self.measured.places[0]

    @cached_property
    def ends(self) -> tuple[IntVector, IntVector]:
        """Codes (a, b) of each cell, shape (cells,) each; a <= b for an adjacency matrix."""
        return self.measured.cells.cells(self.place)

    @cached_property
    def pairs(self) -> IntVector:
        """How many pairs each cell holds, shape (cells,)."""
        return self.measured.cells.pairs(self.place)

    @cached_property
    def values(self) -> FloatVector:
        """Unbiased weight of each cell, each pair counted once, shape (cells,)."""
        values: FloatVector = self.measured.sums[0] * np.float64(self.unit)
        return values

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of groups of the rows and of the columns."""
        return self.measured.cells.shape(self.place)

    @property
    def total(self) -> float:
        """Unbiased weight of all pairs, each once."""
        return math.fsum(self.values)

    def names(self, space: Space) -> GroupNames:
        """What reads "@Sales" as the vertices of a measured group.

        Args:
            space: of the matrix.
        """
        cells, (left, right) = self.measured.cells, vertex_sets(space)
        first = Groups.of_codes(left, cells.rows, self.rows)
        second = first if right is left else Groups.of_codes(right, cells.columns, self.columns)
        return GroupNames(first, second)

    def to_dict(self) -> dict[str, Any]:
        """For receipts: plain values."""
        measured, cells = self.measured, self.measured.cells
        rate = measured.noise.parameters[0]
        return {
            "rows": {**cells.rows.to_dict(), "groups": self.rows.tolist()},
            "columns": None
            if self.symmetric
            else {**cells.columns.to_dict(), "groups": self.columns.tolist()},
            "directed": cells.directed,
            "level": self.place,
            "sums": measured.sums[0].tolist(),
            "unit": measured.unit,
            "sensitivity": measured.changes[0][0],
            "weight_cap": measured.weight_cap,
            "weighted": measured.weighted,
            "whole": measured.whole,
            "rate": [rate.numerator, rate.denominator],
            "note": "weight between two groups = (released integer) * unit, plus two-sided "
            "geometric noise; cells in the order of rows, those without pairs left out",
        }

    @classmethod
    def from_dict(cls, name: Stage, stored: dict[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Raises:
            GraphError, KeyError, TypeError, ValueError, ArithmeticError: it is something else.
        """
        rows = np.array(stored["rows"]["groups"], dtype=np.int64)
        columns, other = rows, None
        if stored["columns"] is not None:
            columns = np.array(stored["columns"]["groups"], dtype=np.int64)
            other = GroupTree.from_dict(stored["columns"])
        directed = bool(stored["directed"])
        cells = CellTree(
            GroupTree.from_dict(stored["rows"]), None if directed else other, directed=directed
        )
        place = int(stored["level"])
        sums = np.array(stored["sums"], dtype=np.int64)
        rate = Fraction(*stored["rate"])
        sizes = [cells.rows.sizes(), cells.columns.sizes()]
        counted = [
            np.bincount(codes, minlength=len(own))
            for codes, own in zip((rows, columns), sizes, strict=True)
        ]
        if not all(map(np.array_equal, counted, sizes)) or place != cells.depth - 1:
            raise ValueError("the groups have other sizes")
        if sums.shape != (cells.size(place),) or rate <= 0:
            raise ValueError("there are other cells")
        cap = stored["weight_cap"]
        sensitivity = int(stored["sensitivity"])
        measured = NoisyCells(
            cells=cells,
            places=(place,),
            sums=(sums,),
            noise=LevelNoise("laplace", (rate,)),
            unit=float(stored["unit"]),
            changes=((sensitivity, sensitivity**2),),
            weight_cap=None if cap is None else float(cap),
            weighted=bool(stored["weighted"]),
            whole=bool(stored["whole"]),
        )
        return cls(name, rows, columns, measured)


def check_members(measured: Sequence[NoisyGroups], shape: tuple[int, int]) -> None:
    """Check that groups which were read are of the vertices of a matrix, and all the same.

    Raises:
        ValueError: they are not.
    """
    for each in measured:
        if (len(each.rows), len(each.columns)) != shape:
            raise ValueError("the groups are of other vertices")
        same = measured[0].measured.cells == each.measured.cells
        if not same or not np.array_equal(measured[0].rows, each.rows):
            raise ValueError("two measurements are of different groups")
        if not np.array_equal(measured[0].columns, each.columns):
            raise ValueError("two measurements are of different groups")
