"""Measurements of counts: noisy sums over the private graph, with what they count and their cost.

A `CountMeasurement` holds released integers: each is a count plus integer noise. Its *map*, a
`MeasurementMap`, says what is counted: the total (`Total`), the degrees (`Degrees`), how many pairs
have a weight in each class (`Classes`), or the sums in the cells of a table between groups
(`CellSums`). These are linear maps of the weights of pairs. `NonlinearCounts` are others: released
with their errors, and used by no answer. A noisy number for each pair is a `NoisyMatrix` or
`KeptEdges` instead. `Measurements` is all that a release knows. The maps are in the same file,
since the parts, costs and files of a measurement are those of its map.

Weights are counted in whole *grid units*, each of which stands for a weight, the `unit`. A
measurement has *parts*, each an array of integers with noise of its own: rows and columns for
degrees, levels for a table. (The method `parts` is something else: the form in files, as plain
values and arrays.) Levels of a table are numbered by a *level index*: 0 is the grand total, i the
i-th level.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, final, get_args

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.estimate.base import Measurement
from graphcuts_dp.estimate.kept_edges import KeptEdges
from graphcuts_dp.estimate.looks import WITHOUT_INTERVALS, Look
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.count_distribution import Change
from graphcuts_dp.privacy.count_noise import COUNT_NOISES
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.laws import TwoSidedGeometric
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.queries.group_names import GroupNames
from graphcuts_dp.schema.cells import MOST_MARGIN_PRODUCTS, CellTree
from graphcuts_dp.schema.counting import COUNTED, Counting, counted_by
from graphcuts_dp.schema.group_tree import GroupTree
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.schema.vertices import Space, vertex_sets

_Arrays = dict[str, npt.NDArray[Any]]
Rounding = Literal["pairs", "none"]
K = TypeVar("K", bound="MeasurementMap")
MapClass = TypeVar("MapClass", bound="type[MeasurementMap]")

# All maps by the kind that files name; the decorator `registered` fills it.
MAPS: dict[str, type["MeasurementMap"]] = {}
# Kinds of the maps in files of versions before 0.2.0, by the name of the measurement.
_FORMER_KINDS = {
    "total": "total",
    "degrees": "degrees",
    "early degrees": "degrees",
    "weights": "weight classes",
    "groups": "cell sums",
    "found groups": "cell sums",
    "flows": "cell sums",
}
# Classes of weight begin at 2^-2, ..., 2^12 times a scale: the one that the noise of a pair would
# have if all of epsilon were spent on it.
LOWEST, _HIGHEST = -2, 12
_LARGEST_CLASS_START = 2**52  # grid units, for weights without a maximum: floats hold it exactly


class MeasurementMap(ABC):
    """The meaning of the integers of a measurement, and its form in files.

    Attributes:
        kind: its name in files, by which `MAPS` has it.
        note: how the integers are to be read, for receipts: a sentence without its full stop.
    """

    kind: ClassVar[str]
    note: ClassVar[str]

    @abstractmethod
    def sizes(self, lengths: Sequence[int]) -> list[int]:
        """Return how many integers each part must have, to check a file.

        Args:
            lengths: how many integers each part of the file has. A map without fixed sizes returns
                them.
        """

    def stored(self) -> tuple[dict[str, Any], _Arrays]:
        """Return plain values, which receipts show, and arrays, from which `restored` builds it."""
        return {}, {}

    @classmethod
    def restored(cls, fields: Mapping[str, Any], arrays: Mapping[str, IntVector]) -> Self:
        """Return the map that `stored` described.

        Args:
            fields: its plain values, perhaps among others.
            arrays: its arrays, perhaps among others.

        Raises:
            GraphError, LookupError, TypeError, ValueError: if fields or arrays are not such.
        """
        del fields, arrays
        return cls()


def registered(map_class: MapClass) -> MapClass:
    """Add a class to `MAPS`."""
    MAPS[map_class.kind] = map_class
    return map_class


@final
@registered
@dataclass(frozen=True)
class Total(MeasurementMap):
    """The sum of the whole matrix, in which each edge of an undirected graph counts twice."""

    kind = "total"
    note = "sum of the matrix = (released integer) * unit"

    def sizes(self, lengths: Sequence[int]) -> list[int]:
        """Return one part of one integer."""
        del lengths
        return [1]


@final
@registered
@dataclass(frozen=True)
class Degrees(MeasurementMap):
    """Row sums and column sums of the weights; of an undirected graph row sums alone."""

    kind = "degrees"
    note = "degree = (released integer) * unit"

    def sizes(self, lengths: Sequence[int]) -> list[int]:
        """Return one or two parts, of any size."""
        return list(lengths[:2])


@final
@registered
@dataclass(frozen=True)
class NonlinearCounts(MeasurementMap):
    """Counts that are no sums of weights, such as the number of vertices that have an edge.

    Attributes:
        counted: what is counted, in words.
        sensitivity: why the counts change by no more than the measurement says, in a sentence.

    Raises:
        ValueError: if one of both is missing.
    """

    kind = "nonlinear counts"
    note = "count = (released integer) * unit"

    counted: str
    sensitivity: str

    def __post_init__(self) -> None:
        if not self.counted or not self.sensitivity:
            raise ValueError("say what is counted, and why it changes by no more")

    def sizes(self, lengths: Sequence[int]) -> list[int]:
        """Return parts of any size."""
        return list(lengths)

    def stored(self) -> tuple[dict[str, Any], _Arrays]:
        """Return both sentences."""
        return {"counted": self.counted, "sensitivity": self.sensitivity}, {}

    @classmethod
    def restored(cls, fields: Mapping[str, Any], arrays: Mapping[str, IntVector]) -> Self:
        """Return the map that `stored` described."""
        del arrays
        return cls(str(fields["counted"]), str(fields["sensitivity"]))


@final
@registered
@dataclass(frozen=True)
class EdgeCounts(MeasurementMap):
    """Count the pairs that have a weight, and those of them whose weight is no whole number."""

    kind = "edge counts"
    note = "pairs with a weight; pairs whose weight is no whole number"

    def sizes(self, lengths: Sequence[int]) -> list[int]:
        """Return two parts of one integer."""
        del lengths
        return [1, 1]


@final
@registered
@dataclass(frozen=True, eq=False)
class Classes(MeasurementMap):
    """Numbers of pairs whose weight is in each public class; pairs without weight are in none.

    Attributes:
        lower: least weight of each class, in grid units, ascending from 1. A class ends where the
            next one begins; the last one ends at the maximum weight, if there is one.
        step: weight of a grid unit.
    """

    kind = "weight classes"
    note = "pairs whose weight is lower * step or more, but less than the next class"

    lower: IntVector
    step: float

    def __post_init__(self) -> None:
        if not len(self.lower) or self.lower[0] != 1 or (np.diff(self.lower) <= 0).any():
            raise ValueError("classes of weight are ascending")

    @property
    def starts(self) -> FloatVector:
        """Least weight of each class, shape (classes,)."""
        starts: FloatVector = self.lower * np.float64(self.step)
        return starts

    def sizes(self, lengths: Sequence[int]) -> list[int]:
        """Return one part with an integer for each class."""
        del lengths
        return [len(self.lower)]

    def stored(self) -> tuple[dict[str, Any], _Arrays]:
        """Return the grid unit, and the classes as an array."""
        return {"step": self.step}, {"lower": self.lower}

    @classmethod
    def restored(cls, fields: Mapping[str, Any], arrays: Mapping[str, IntVector]) -> Self:
        """Return the map that `stored` described."""
        return cls(arrays["lower"], float(fields["step"]))


@final
@registered
@dataclass(frozen=True, eq=False, kw_only=True)
class CellSums(MeasurementMap):
    """The weight in each cell of some levels of a table between public groups.

    Attributes:
        tree: the public cells.
        measured_levels: level indices, ascending, a part for each. The finest level always is
            measured and so comes last; several properties rely on that.
        codes: public group of each row and of each column at the finest level; one array twice for
            a symmetric matrix. None if the groups of vertices are not reported.
        max_weight: public largest weight; 1 for graphs without weights, None if there is none.
        weighted: whether edges have weights.
        integral: whether sums are of whole numbers: of edges, or of weights that were rounded down.
        max_degree: D of bounded sums, or None for plain ones. The sums of the finest level are f_D
            of `graph.bounded_cuts`, each by itself; those of other levels are sums of these.
        rounding: "pairs" for graphs: the weight of each pair was rounded down to grid units, and
            answers are about weights before rounding unless `integral`. "none" for rows: the table
            that answers are about is itself counted in grid units, so nothing is lost.
        counting: of rows: what cells count, see `Rows`; None for a graph.
        margins: whether the margins of the finest level are measured, too (`CellTree.margins`), as
            a part after those of the levels.

    Raises:
        ValueError: if there are more margins than `MOST_MARGIN_PRODUCTS` allows; or if the grand
            total is measured although there are several coarsest periods. Each
            of these is a table of its own (`CellTree.has_period_trees`) without a common total.
    """

    kind = "cell sums"
    note = (
        "sum = (released integer) * unit; cells in the order of rows, without those without pairs; "
        "estimates are least squares over the levels"
    )

    tree: CellTree
    measured_levels: tuple[int, ...]
    codes: tuple[IntVector, IntVector] | None = None
    max_weight: float | None
    weighted: bool
    integral: bool
    max_degree: int | None = None
    rounding: Rounding = "pairs"
    counting: Counting | None = None
    margins: bool = False

    def __post_init__(self) -> None:
        if self.tree.has_period_trees and 0 in self.measured_levels:
            raise ValueError("periods that stand for themselves have no common sum")
        if self.margins and self.tree.margin_products > MOST_MARGIN_PRODUCTS:
            raise ValueError("there are too many margins")

    @property
    def noise_indices(self) -> tuple[int, ...]:
        """Column of each part in a table of noises: its level index, and the depth for margins."""
        return (*self.measured_levels, self.tree.depth) if self.margins else self.measured_levels

    @property
    def ends(self) -> tuple[IntVector, IntVector]:
        """Groups (a, b) of each finest cell, shape (cells,) each; a <= b if undirected."""
        return self.tree.cells(self.measured_levels[-1])

    @property
    def counted(self) -> str:
        """Name of what the sums count: "edges", "weight", or of rows "rows", "amount", ..."""
        if self.counting is not None:
            return counted_by(self.counting)
        return "weight" if self.weighted else "edges"

    @property
    def pairs(self) -> IntVector:
        """Number of pairs of each finest cell, shape (cells,)."""
        return self.tree.pairs(self.measured_levels[-1])

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of the finest groups of the rows and of the columns."""
        return self.tree.shape(self.measured_levels[-1])

    @property
    def members(self) -> tuple[IntVector, IntVector]:
        """Group of each row and of each column.

        Raises:
            ValueError: if the measurement does not report them.
        """
        if self.codes is None:
            raise ValueError("the members of groups are not in the file")
        return self.codes

    def names(self, space: Space) -> GroupNames:
        """Return an object that reads "@Sales" as the vertices of a measured group of a matrix.

        Args:
            space: the vertex sets of the matrix.
        """
        (left, right), (row_codes, column_codes) = vertex_sets(space), self.members
        row_groups = Groups.of_codes(left, self.tree.rows, row_codes)
        if right is left:
            return GroupNames(row_groups, row_groups)
        return GroupNames(row_groups, Groups.of_codes(right, self.tree.columns, column_codes))

    def sizes(self, lengths: Sequence[int]) -> list[int]:
        """Return a part for each measured level, with an integer for each cell, and the margins."""
        del lengths
        sizes = [self.tree.size(level_index) for level_index in self.measured_levels]
        return [*sizes, self.tree.margins.total] if self.margins else sizes

    def stored(self) -> tuple[dict[str, Any], _Arrays]:
        """Return groups, levels and options, and the groups of the vertices as arrays.

        All fields but the tree and the codes are stored under their names, `integral` as "whole"; a
        new field is stored by itself. The tree is stored as its groups, periods and options.
        """
        fields = dict(vars(self))
        tree, codes = fields.pop("tree"), fields.pop("codes") or ()
        fields["whole"] = fields.pop("integral")
        if fields["counting"] is None:
            del fields["counting"]
        if not fields["margins"]:
            del fields["margins"]
        fields |= {
            "rows": tree.rows.to_dict(),
            "columns": None if tree.one_set else tree.columns.to_dict(),
            "periods": None if tree.periods is None else tree.periods.to_dict(),
            "measured_levels": list(self.measured_levels),
            "directed": tree.directed,
            "loops": tree.loops,
        }
        stored_codes = codes[:1] if tree.symmetric else codes
        return fields, {f"codes {side}": array for side, array in enumerate(stored_codes)}

    @classmethod
    def restored(cls, fields: Mapping[str, Any], arrays: Mapping[str, IntVector]) -> Self:
        """Return the map that `stored` described.

        Raises:
            GraphError, LookupError, TypeError, ValueError: if fields or arrays are not such.
        """
        rows, columns, periods = (
            None if fields[side] is None else GroupTree.from_dict(fields[side])
            for side in ("rows", "columns", "periods")
        )
        if rows is None:
            raise ValueError("there are no groups")
        directed, loops = bool(fields["directed"]), bool(fields["loops"])
        tree = CellTree(rows, columns, directed=directed, periods=periods, loops=loops)
        level_indices = tuple(int(level_index) for level_index in fields["measured_levels"])
        if not level_indices or level_indices[-1] != tree.depth - 1:
            raise ValueError("the finest level was not measured")
        # "codes 0" of the rows; and "codes 1" of the columns unless the matrix is symmetric.
        codes = [arrays[key] for key in sorted(arrays) if "codes " in key]
        for side_codes, side in zip(codes, (tree.rows, tree.columns), strict=False):
            sizes = side.sizes()  # of the finest groups
            if side_codes.min(initial=0) < 0 or side_codes.max(initial=0) >= len(sizes):
                raise ValueError("there are no such groups")
            if not np.array_equal(np.bincount(side_codes, minlength=len(sizes)), sizes):
                raise ValueError("the groups have other sizes")
        max_weight, max_degree = fields["max_weight"], fields["max_degree"]
        rounding = fields["rounding"]
        if rounding not in get_args(Rounding):
            raise ValueError("no such rounding")
        counting = fields.get("counting")
        if counting not in (None, *COUNTED):
            raise ValueError("no such counting")
        return cls(
            tree=tree,
            measured_levels=level_indices,
            codes=(codes[0], codes[-1]) if codes else None,  # one array twice if symmetric
            max_weight=None if max_weight is None else float(max_weight),
            weighted=bool(fields["weighted"]),
            integral=bool(fields["whole"]),
            max_degree=None if max_degree is None else int(max_degree),
            rounding=rounding,
            counting=counting,
            margins=bool(fields.get("margins", False)),
        )


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class CountMeasurement(Measurement, Generic[K]):
    """Whole numbers that may be published: counts, each plus integer noise of its own.

    Attributes:
        name: as `PrivacyGuarantee.spent` has it: "total", "degrees", "weights", "groups", "found
            groups" for groups that were made of noisy data, "second group sums" for sums that no
            decision reads, "flows"; or "early degrees", which were measured to choose how to spend
            the remaining budget, and were not refined.
        map: what is counted.
        steps: released integers, an array for each part of the map. Arrays of Python integers if
            one of them is 2^61 or larger: weights can have any size.
        unit: what an integer of 1 stands for: a weight, or one pair. Noise is a whole number of
            these, and symmetric about 0.
        noise: that was added, one parameter for each part.
        changes: for each part two numbers: the largest sum of |change| of its integers between
            neighbours, and the largest sum of change^2; in grid units and their squares.
        used_in_decision: whether a decision of the release has looked at these integers themselves.
            Then no interval is made of them, see `estimate.usable_sums`.
        look: of refined counts, the coarse copy; None if these are the only copy.
    """

    name: str
    map: K
    steps: tuple[IntVector, ...]
    unit: float
    noise: LevelNoise
    changes: tuple[Change, ...]
    used_in_decision: bool = False
    look: Look | None = None

    def __post_init__(self) -> None:
        for part in self.steps:
            part.flags.writeable = False

    def cost(self, *, delta: float = 0.0) -> Cost:
        """Return the cost of all parts together, added up from their noise.

        Args:
            delta: at which the cost of Gaussian noise is stated.
        """
        return self.noise.cost(delta=delta, changes=self.changes)

    @property
    def pure_cost(self) -> Fraction | None:
        """Exact epsilon of the cost, or None if the noise has no pure cost."""
        # The family of distributions, which knows the loss of a parameter and a change.
        distribution = self.noise.kind
        if not distribution.pure:
            return None
        parts = zip(self.noise.parameters, self.changes, strict=True)
        losses = (distribution.loss(parameter, change) for parameter, change in parts)
        return sum(losses, Fraction(0))

    @property
    def noise_name(self) -> str:
        """Name of the distribution of the noise."""
        return self.noise.distribution

    @property
    def rate(self) -> Fraction:
        """Rate of Laplace noise of the first part: P(k) is proportional to e^(-rate |k|).

        All parts of totals and degrees have one rate.

        Raises:
            ValueError: the noise is another one, whose parameter is no rate.
        """
        if self.noise_name != "laplace":
            raise ValueError(f"{self.noise_name} noise has no rate: read `noise`")
        return self.noise.parameters[0]

    @property
    def law(self) -> TwoSidedGeometric:
        """Law of the Laplace noise of each number of the first part, in the units of `values`.

        Estimators read it for totals, degrees and sums between groups; tables of flows, whose noise
        may be Gaussian, are read by `noise` instead.

        Raises:
            ValueError: the noise is another one, see `rate`.
        """
        return TwoSidedGeometric(float(self.rate), self.unit)

    @property
    def standard_errors(self) -> tuple[float, ...]:
        """Standard deviation of the noise of a number of each part, in the units of `values`.

        Of Gaussian noise an upper bound.
        """
        return tuple(math.sqrt(variance) * self.unit for variance in self.noise.variances.tolist())

    @cached_property
    def values(self) -> tuple[FloatVector, ...]:
        """Unbiased values of each part: the released integers times the unit."""
        return tuple(part.astype(np.float64) * self.unit for part in self.steps)

    @property
    def total(self) -> float:
        """Unbiased sum of all values of a part, the mean over the parts.

        Row sums and column sums have the same total, so both parts of degrees estimate it. For
        degrees of an undirected graph it is twice the weight of the edges.
        """
        return math.fsum(chain(*self.values)) / len(self.values)

    def parts(self) -> tuple[dict[str, Any], _Arrays]:
        """Return plain values for receipts, and arrays."""
        arrays = {f"steps {index}": _stored_integers(part) for index, part in enumerate(self.steps)}
        parameters = self.noise.parameters
        fields: dict[str, Any] = {
            "unit": self.unit,
            "noise": self.noise.distribution,
            "parameters": [[rational.numerator, rational.denominator] for rational in parameters],
            "changes": [list(change) for change in self.changes],
            "map": self.map.kind,
            "note": f"{self.map.note}, plus integer noise, symmetric about 0",
        }
        if self.used_in_decision:
            fields |= {"used_in_decision": True, "intervals": WITHOUT_INTERVALS}
        if self.look is not None:
            look_fields, look_arrays = self.look.parts()
            fields |= look_fields
            arrays |= {key: _stored_integers(array) for key, array in look_arrays.items()}
        map_fields, map_arrays = self.map.stored()
        return fields | map_fields, arrays | map_arrays

    @classmethod
    def from_parts(cls, name: str, fields: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        """Return the measurement that `parts` described.

        Args:
            name: of the measurement.
            fields: its plain values.
            arrays: its arrays, which may be lists.

        Raises:
            GraphError, LookupError, TypeError, ValueError, ArithmeticError: if fields or arrays are
                not such.
        """
        integers = {key: _read_integers(array) for key, array in arrays.items()}
        measured_map: Any = MAPS[map_kind(name, fields)].restored(fields, integers)
        part_count = sum(key.startswith("steps ") for key in integers)
        steps = tuple(integers[f"steps {index}"] for index in range(part_count))
        sizes = measured_map.sizes([len(part) for part in steps])
        parameters = tuple(Fraction(*rational) for rational in fields["parameters"])
        noise = LevelNoise(fields["noise"], parameters)
        changes = tuple((int(absolute), int(squared)) for absolute, squared in fields["changes"])
        if [part.shape for part in steps] != [(size,) for size in sizes] or not steps:
            raise ValueError("there are other sums")
        if not len(steps) == len(parameters) == len(changes) or min(parameters) <= 0:
            raise ValueError("no such noise")
        if noise.distribution not in COUNT_NOISES:
            raise ValueError("no such noise")
        return cls(
            name=name,
            map=measured_map,
            steps=steps,
            unit=float(fields["unit"]),
            noise=noise,
            changes=changes,
            used_in_decision=bool(fields.get("used_in_decision", False)),
            look=Look.from_parts(fields, integers, steps, noise),
        )


def _stored_integers(steps: IntVector) -> npt.NDArray[Any]:
    """Return integers as files hold them: 64-bit ones, or strings of digits for larger ones."""
    return np.array(steps.tolist(), dtype=np.str_) if steps.dtype == object else steps


def _read_integers(stored: Any) -> npt.NDArray[Any]:
    """Return the integers that `_stored_integers` gave; from an array, or a list."""
    array = np.asarray(stored)
    if array.dtype.kind != "U":
        return np.array(array, dtype=np.int64)
    return np.array([int(digits) for digits in array.tolist()], dtype=object)


@final
@dataclass(frozen=True, eq=False)
class Measurements:
    """All that a release knows of the private graph.

    Attributes:
        values: measurements in the order in which they were made; at most one of each name.
        guarantee: for all of them together.
    """

    values: tuple[Measurement, ...]
    guarantee: PrivacyGuarantee

    def named(self, name: str) -> Measurement:
        """Return the measurement of a name, as `BudgetPlan.names` and receipts have it.

        Raises:
            LookupError: if there is none.

        Examples:
            >>> club = gc.datasets.load("karate")
            >>> both = "degrees+randomized-response"
            >>> release = gc.release_graph(club, epsilon=4.0, mechanism=both)
            >>> [round(error, 2) for error in release.measurements.named("degrees").standard_errors]
            [1.51]
        """
        measured = {measurement.name: measurement for measurement in self.values}
        if name not in measured:
            raise LookupError(f"{name!r:.60} was not measured; there are {', '.join(measured)}")
        return measured[name]

    def find(self, kind: type[K]) -> CountMeasurement[K] | None:
        """Return the last measurement with a map of a class, or None if there is none."""
        return measured_by(kind, self.values)

    @property
    def matrix(self) -> NoisyMatrix | None:
        """The noisy matrix, or None if it was not measured."""
        matrices = (value for value in self.values if isinstance(value, NoisyMatrix))
        return next(matrices, None)

    @property
    def kept(self) -> KeptEdges | None:
        """The kept edges, or None if they were not measured."""
        kept_edges = (value for value in self.values if isinstance(value, KeptEdges))
        return next(kept_edges, None)


def read_measurement(
    name: str, fields: Mapping[str, Any], arrays: Mapping[str, Any], space: Space
) -> Measurement:
    """Return the measurement of any kind that its `parts` described.

    Args:
        name: of the measurement.
        fields: its plain values.
        arrays: its arrays.
        space: the public vertex sets.

    Raises:
        GraphCutsError, LookupError, TypeError, ValueError, ArithmeticError: if fields or arrays are
            not such.
    """
    if name == NoisyMatrix.name:
        return NoisyMatrix.from_parts(fields, arrays, space)
    if name == KeptEdges.name:
        return KeptEdges.from_parts(dict(fields), dict(arrays), space)
    return CountMeasurement.from_parts(name, fields, arrays)


def map_kind(name: str, fields: Mapping[str, Any]) -> str:
    """Return the kind of the map of measured counts, by which `MAPS` has it.

    Args:
        name: of the measurement, which names the kind in files of versions before 0.2.0.
        fields: its plain values.

    Raises:
        LookupError: if no kind is stored, and the name is none of these versions.
    """
    kind = fields["map"] if "map" in fields else _FORMER_KINDS[name]
    if kind not in list(MAPS):
        raise LookupError("no such kind of counts")
    return str(kind)


def measured_by(kind: type[K], measurements: Sequence[Measurement]) -> CountMeasurement[K] | None:
    """Return the last of some measurements that has a map of a class, or None if there is none."""
    for measurement in reversed(measurements):
        if isinstance(measurement, CountMeasurement) and isinstance(measurement.map, kind):
            return measurement
    return None


def weight_classes(scale: float, cap: int | None) -> IntVector:
    """Return where public classes of weight begin, in grid units: one for each power of two.

    They lie about the scale of the noise: finer weights drown in it.

    Args:
        scale: of the noise of all of epsilon, in grid units.
        cap: largest weight, in grid units; None if there is none. With 1, as in a graph without
            weights, there is one class.
    """
    if cap == 1:
        return np.ones(1, dtype=np.int64)
    octaves = np.arange(LOWEST, _HIGHEST + 1)
    starts = np.ceil(scale * 2.0**octaves)
    starts = starts[starts <= (_LARGEST_CLASS_START if cap is None else cap)]
    return np.unique(np.concatenate([[1], np.maximum(starts, 1)])).astype(np.int64)


def place_variances(noise: LevelNoise, level_indices: tuple[int, ...], depth: int) -> FloatVector:
    """Return a bound on the variance of one noise of each level, in squared grid units.

    See `CountDistribution.variance`.

    Args:
        noise: one parameter for each measured level.
        level_indices: the measured levels.
        depth: number of levels, the grand total included.

    Returns:
        Shape (depth,); infinite for levels that are not measured.
    """
    variances = np.full(depth, math.inf)
    variances[list(level_indices)] = noise.variances
    return variances
