"""What a measurement is: noisy sums over the private graph, and their exact cost.

A measurement counts weights of pairs in whole steps of a grid. What it counts is its linear map:
the total, the degrees, how many edges weigh how much, or the sums in the cells between groups.
Other counts of a graph, which are linear in no weights, are `NonlinearCounts`: released with their
errors, and used by no answer. Noisy entries, and kept edges, have a value for each pair; see
`noisy_matrix` and `sparse_model`.

Last, by how much the cells of a table can change between neighbours, for a privacy unit.
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
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.base import Measurement
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.estimate.sparse_model import KeptEdges
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.count_noise import COUNT_NOISES, Change
from graphcuts_dp.privacy.default_unit import EDGE
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.laws import TwoSidedGeometric
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.queries.group_names import GroupNames
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.counting import COUNTED, Counting, Reach, counted_by
from graphcuts_dp.schema.group_tree import GroupTree
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.schema.vertices import Space, vertex_sets

_Arrays = dict[str, npt.NDArray[Any]]
Rounding = Literal["pairs", "none"]


class MeasurementMap(ABC):
    """What the integers of a measurement count, and how files hold that.

    Attributes:
        kind: its name in files, by which `MAPS` has it.
        note: how the integers are read, a sentence of receipts without its full stop.
    """

    kind: ClassVar[str]
    note: ClassVar[str]

    @abstractmethod
    def sizes(self, lengths: Sequence[int]) -> list[int]:
        """Return how many integers each part has, as far as the map tells.

        Args:
            lengths: how many integers each part of a file has.
        """

    def stored(self) -> tuple[dict[str, Any], _Arrays]:
        """Return plain values for receipts, and arrays, from which `restored` makes the map."""
        return {}, {}

    @classmethod
    def restored(cls, fields: Mapping[str, Any], arrays: Mapping[str, IntVector]) -> Self:
        """Return the map of what `stored` gave; others' fields and arrays may be among them.

        Raises:
            GraphError, LookupError, TypeError, ValueError: it is something else.
        """
        del fields, arrays
        return cls()


@final
@dataclass(frozen=True)
class Total(MeasurementMap):
    """The sum of the whole matrix: each edge of an undirected graph twice."""

    kind = "total"
    note = "sum of the matrix = (released integer) * unit"

    def sizes(self, lengths: Sequence[int]) -> list[int]:
        """See `MeasurementMap.sizes`."""
        del lengths
        return [1]


@final
@dataclass(frozen=True)
class Degrees(MeasurementMap):
    """Row sums and column sums of the weights; of an undirected graph the former alone."""

    kind = "degrees"
    note = "degree = (released integer) * unit"

    def sizes(self, lengths: Sequence[int]) -> list[int]:
        """See `MeasurementMap.sizes`: one or two parts, of any size."""
        return list(lengths[:2])


@final
@dataclass(frozen=True)
class NonlinearCounts(MeasurementMap):
    """Counts that are no sums of weights, such as how many vertices have an edge.

    Attributes:
        counted: what is counted, in words.
        sensitivity: why the counts change by no more than the measurement says, in a sentence.

    Raises:
        ValueError: one of both is missing.
    """

    kind = "nonlinear counts"
    note = "count = (released integer) * unit"

    counted: str
    sensitivity: str

    def __post_init__(self) -> None:
        if not self.counted or not self.sensitivity:
            raise ValueError("say what is counted, and why it changes by no more")

    def sizes(self, lengths: Sequence[int]) -> list[int]:
        """See `MeasurementMap.sizes`: parts of any size."""
        return list(lengths)

    def stored(self) -> tuple[dict[str, Any], _Arrays]:
        """See `MeasurementMap.stored`."""
        return {"counted": self.counted, "sensitivity": self.sensitivity}, {}

    @classmethod
    def restored(cls, fields: Mapping[str, Any], arrays: Mapping[str, IntVector]) -> Self:
        """See `MeasurementMap.restored`."""
        del arrays
        return cls(str(fields["counted"]), str(fields["sensitivity"]))


@final
@dataclass(frozen=True, eq=False)
class Classes(MeasurementMap):
    """How many pairs have a weight in each public class; pairs without weight are in none.

    Attributes:
        lower: least whole number of steps of each class, ascending from 1; a class ends where the
            next begins, and the last one has no end but the cap.
        step: weight of a step.
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
        """See `MeasurementMap.sizes`."""
        del lengths
        return [len(self.lower)]

    def stored(self) -> tuple[dict[str, Any], _Arrays]:
        """See `MeasurementMap.stored`."""
        return {"step": self.step}, {"lower": self.lower}

    @classmethod
    def restored(cls, fields: Mapping[str, Any], arrays: Mapping[str, IntVector]) -> Self:
        """See `MeasurementMap.restored`."""
        return cls(arrays["lower"], float(fields["step"]))


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class CellSums(MeasurementMap):
    """The weight in each cell of some places of a table between public groups.

    Attributes:
        tree: the public cells.
        places: which places are measured, ascending; the last one always is.
        codes: public code of the group of each row and of each column, for the finest level; one
            array twice for a symmetric matrix. None where it is not reported.
        max_weight: public largest weight; 1 for graphs without weights, None without one.
        weighted: whether edges have weights.
        whole: whether sums are of whole numbers: of edges, or of weights that were rounded down.
        max_degree: None, or D of bounded sums: those of the finest level are f_D of
            `graph.bounded_cuts`, each for itself, and others are sums of these.
        rounding: of sums that are not whole: "pairs" if the weight of each pair was rounded down to
            steps, "none" if the table that is guaranteed is itself counted in steps.
        counting: of rows: what cells count, see `Rows`; None for a graph.
    """

    kind = "cell sums"
    note = (
        "sum = (released integer) * unit; cells in the order of rows, without those without pairs; "
        "estimates are least squares over the levels"
    )

    tree: CellTree
    places: tuple[int, ...]
    codes: tuple[IntVector, IntVector] | None = None
    max_weight: float | None
    weighted: bool
    whole: bool
    max_degree: int | None = None
    rounding: Rounding = "pairs"
    counting: Counting | None = None

    def __post_init__(self) -> None:
        if self.tree.has_period_trees and 0 in self.places:
            raise ValueError("periods that stand for themselves have no common sum")

    @property
    def ends(self) -> tuple[IntVector, IntVector]:
        """Codes (a, b) of each finest cell, shape (cells,) each; a <= b if pairs are unordered."""
        return self.tree.cells(self.places[-1])

    @property
    def counted(self) -> str:
        """What the sums are of, in a word: "edges", "weight", or of rows "rows", "amount", ..."""
        if self.counting is not None:
            return counted_by(self.counting)
        return "weight" if self.weighted else "edges"

    @property
    def pairs(self) -> IntVector:
        """How many pairs each finest cell holds, shape (cells,)."""
        return self.tree.pairs(self.places[-1])

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of the finest groups of the rows and of the columns."""
        return self.tree.shape(self.places[-1])

    @property
    def members(self) -> tuple[IntVector, IntVector]:
        """The codes, of a measurement that reports them."""
        if self.codes is None:
            raise ValueError("the members of groups are not in the file")
        return self.codes

    def names(self, space: Space) -> GroupNames:
        """What reads "@Sales" as the vertices of a measured group of a matrix."""
        (left, right), (rows, columns) = vertex_sets(space), self.members
        first = Groups.of_codes(left, self.tree.rows, rows)
        second = first if right is left else Groups.of_codes(right, self.tree.columns, columns)
        return GroupNames(first, second)

    def sizes(self, lengths: Sequence[int]) -> list[int]:
        """See `MeasurementMap.sizes`."""
        del lengths
        return [self.tree.size(place) for place in self.places]

    def stored(self) -> tuple[dict[str, Any], _Arrays]:
        """See `MeasurementMap.stored`."""
        fields = dict(vars(self))
        tree, codes = fields.pop("tree"), fields.pop("codes") or ()
        if fields["counting"] is None:
            del fields["counting"]
        fields |= {
            "rows": tree.rows.to_dict(),
            "columns": None if tree.one_set else tree.columns.to_dict(),
            "periods": None if tree.periods is None else tree.periods.to_dict(),
            "measured_levels": list(self.places),
            "directed": tree.directed,
            "loops": tree.loops,
        }
        sides = enumerate(codes[:1] if tree.symmetric else codes)
        return fields, {f"codes {side}": each for side, each in sides}

    @classmethod
    def restored(cls, fields: Mapping[str, Any], arrays: Mapping[str, IntVector]) -> Self:
        """See `MeasurementMap.restored`."""
        rows, columns, periods = (
            None if fields[side] is None else GroupTree.from_dict(fields[side])
            for side in ("rows", "columns", "periods")
        )
        if rows is None:
            raise ValueError("there are no groups")
        directed, loops = bool(fields["directed"]), bool(fields["loops"])
        tree = CellTree(rows, columns, directed=directed, periods=periods, loops=loops)
        places = tuple(int(place) for place in fields["measured_levels"])
        if not places or places[-1] != tree.depth - 1:
            raise ValueError("the finest level was not measured")
        codes = [arrays[key] for key in sorted(arrays) if "codes " in key]
        for own, side in zip(codes, (tree.rows, tree.columns), strict=False):
            if not np.array_equal(np.bincount(own, minlength=len(side.sizes())), side.sizes()):
                raise ValueError("the groups have other sizes")
        cap, bound = fields["max_weight"], fields["max_degree"]
        rounding = fields["rounding"]
        if rounding not in get_args(Rounding):
            raise ValueError("no such rounding")
        counting = fields.get("counting")
        if counting not in (None, *COUNTED):
            raise ValueError("no such counting")
        return cls(
            tree=tree,
            places=places,
            codes=(codes[0], codes[-1]) if codes else None,
            max_weight=None if cap is None else float(cap),
            weighted=bool(fields["weighted"]),
            whole=bool(fields["whole"]),
            max_degree=None if bound is None else int(bound),
            rounding=rounding,
            counting=counting,
        )


# What a measurement can count, by the name in its files.
MAPS: Mapping[str, type[MeasurementMap]] = {
    each.kind: each for each in (Total, Degrees, Classes, CellSums, NonlinearCounts)
}
# Of measurements in files that name no map, by their own names: those of versions before 0.2.0.
_MAPS_BEFORE: Mapping[str, type[MeasurementMap]] = {
    "total": Total,
    "degrees": Degrees,
    "early degrees": Degrees,
    "weights": Classes,
    "groups": CellSums,
    "found groups": CellSums,
    "flows": CellSums,
}
K = TypeVar("K", bound=MeasurementMap)


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class CountMeasurement(Measurement, Generic[K]):
    """Whole numbers that may be published: each is a count plus integer noise of its own.

    Attributes:
        name: as `PrivacyGuarantee.spent` has it: "total", "degrees" ("early degrees" were measured
            to choose how to spend the rest, and were not refined), "weights", "groups", "found
            groups" for groups that were made of noisy data, "flows".
        map: what is counted.
        steps: released integers, an array for each part of the map: rows and columns, or places of
            a table. Python's, where one of an array is 2^61 or larger: weights have any size.
        unit: what one of them stands for: a weight, or one pair. The noise is a whole number of
            these, each sign alike.
        noise: what was added, one parameter for each part.
        changes: of each part the largest sums of |change| and of change^2, in steps, between
            neighbours.
    """

    name: str
    map: K
    steps: tuple[IntVector, ...]
    unit: float
    noise: LevelNoise
    changes: tuple[Change, ...]

    def __post_init__(self) -> None:
        for each in self.steps:
            each.flags.writeable = False

    def cost(self, *, delta: float = 0.0) -> Cost:
        """What all of it cost together, added up from the noise; `delta` is of Gaussian noise."""
        return self.noise.cost(delta=delta, changes=self.changes)

    @property
    def pure_cost(self) -> Fraction | None:
        """See `Measurement.pure_cost`."""
        if not self.noise.kind.pure:
            return None
        parts = zip(self.noise.parameters, self.changes, strict=True)
        return sum((self.noise.kind.loss(*part) for part in parts), Fraction(0))

    @property
    def noise_name(self) -> str:
        """See `Measurement.noise_name`."""
        return self.noise.distribution

    @property
    def rate(self) -> Fraction:
        """The noise k of the first part has probability proportional to e^(-rate |k|)."""
        return self.noise.parameters[0]

    @property
    def law(self) -> TwoSidedGeometric:
        """Of the noise of each number of the first part, in units."""
        return TwoSidedGeometric(float(self.rate), self.unit)

    @property
    def standard_errors(self) -> tuple[float, ...]:
        """Standard deviation of the noise of a number of each part, in the units of `values`.

        Of Gaussian noise an upper bound.
        """
        return tuple(math.sqrt(each) * self.unit for each in self.noise.variances.tolist())

    @cached_property
    def values(self) -> tuple[FloatVector, ...]:
        """Unbiased: the released integers times the unit."""
        return tuple(each.astype(np.float64) * self.unit for each in self.steps)

    @property
    def total(self) -> float:
        """Unbiased sum of all, the mean of the parts: twice the edges for degrees of a `Graph`."""
        return math.fsum(chain(*self.values)) / len(self.values)

    def parts(self) -> tuple[dict[str, Any], _Arrays]:
        """Plain values for receipts, and arrays."""
        arrays = {f"steps {place}": _stored(each) for place, each in enumerate(self.steps)}
        fields: dict[str, Any] = {
            "unit": self.unit,
            "noise": self.noise.distribution,
            "parameters": [[each.numerator, each.denominator] for each in self.noise.parameters],
            "changes": [list(change) for change in self.changes],
            "map": self.map.kind,
            "note": f"{self.map.note}, plus integer noise, symmetric about 0",
        }
        more, more_arrays = self.map.stored()
        return fields | more, arrays | more_arrays

    @classmethod
    def from_parts(cls, name: str, fields: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        """Read what `parts` gave; arrays may be lists.

        Raises:
            GraphError, LookupError, TypeError, ValueError, ArithmeticError: it is something else.
        """
        known = {key: _integers(each) for key, each in arrays.items()}
        kind = MAPS[fields["map"]] if "map" in fields else _MAPS_BEFORE[name]
        made: Any = kind.restored(fields, known)
        count = sum(key.startswith("steps ") for key in known)
        steps = tuple(known[f"steps {place}"] for place in range(count))
        sizes = made.sizes([len(each) for each in steps])
        noise = LevelNoise(fields["noise"], tuple(Fraction(*each) for each in fields["parameters"]))
        changes = tuple((int(most), int(squared)) for most, squared in fields["changes"])
        if [each.shape for each in steps] != [(size,) for size in sizes] or not steps:
            raise ValueError("there are other sums")
        if not len(steps) == len(noise.parameters) == len(changes) or min(noise.parameters) <= 0:
            raise ValueError("no such noise")
        if noise.distribution not in COUNT_NOISES:
            raise ValueError("no such noise")
        unit = float(fields["unit"])
        return cls(name=name, map=made, steps=steps, unit=unit, noise=noise, changes=changes)


def _stored(steps: IntVector) -> npt.NDArray[Any]:
    """Integers as files hold them: in 64 bits, or else in digits."""
    return np.array(steps.tolist(), dtype=np.str_) if steps.dtype == object else steps


def _integers(stored: Any) -> npt.NDArray[Any]:
    """What `_stored` gave; an array, or a list."""
    found = np.array(stored)
    if found.dtype.kind != "U":
        return np.array(stored, dtype=np.int64)
    return np.array([int(each) for each in found.tolist()], dtype=object)


@final
@dataclass(frozen=True, eq=False)
class Measurements:
    """All that a release knows of the private graph.

    Attributes:
        values: in the order in which they were measured; at most one of each name.
        guarantee: for all of them together.
    """

    values: tuple[Measurement, ...]
    guarantee: PrivacyGuarantee

    def named(self, name: str) -> Measurement:
        """Return the measurement of a name, as `BudgetPlan.names` and receipts have it.

        Raises:
            LookupError: none has it.

        Examples:
            >>> club = gc.datasets.load("karate")
            >>> both = "degrees+randomized-response"
            >>> release = gc.release_graph(club, epsilon=4.0, mechanism=both)
            >>> [round(error, 2) for error in release.measurements.named("degrees").standard_errors]
            [1.51]
        """
        measured = {value.name: value for value in self.values}
        if name not in measured:
            raise LookupError(f"{name!r:.60} was not measured; there are {', '.join(measured)}")
        return measured[name]

    def find(self, kind: type[K]) -> CountMeasurement[K] | None:
        """The last measurement with a map of a kind, or None if none was measured."""
        return measured_by(kind, self.values)

    @property
    def matrix(self) -> NoisyMatrix | None:
        """The noisy entries, if they were measured."""
        return next((each for each in self.values if isinstance(each, NoisyMatrix)), None)

    @property
    def kept(self) -> KeptEdges | None:
        """The kept edges, if they were measured."""
        return next((each for each in self.values if isinstance(each, KeptEdges)), None)


def read_measurement(
    name: str, fields: Mapping[str, Any], arrays: Mapping[str, Any], space: Space
) -> Measurement:
    """Read a measurement of any kind from what its `parts` gave.

    Raises:
        GraphCutsError, LookupError, TypeError, ValueError, ArithmeticError: it is something else.
    """
    if name == NoisyMatrix.name:
        return NoisyMatrix.from_parts(fields, arrays, space)
    if name == KeptEdges.name:
        return KeptEdges.from_parts(dict(fields), dict(arrays), space)
    return CountMeasurement.from_parts(name, fields, arrays)


def measured_by(kind: type[K], bought: Sequence[Measurement]) -> CountMeasurement[K] | None:
    """The last of some measurements that has a map of a kind, or None."""
    found = (each for each in reversed(bought) if isinstance(each, CountMeasurement))
    return next((each for each in found if isinstance(each.map, kind)), None)


LOWEST, _HIGHEST = -2, 12  # powers of two, in scales of the noise of all of epsilon


def weight_classes(scale: float, cap: int | None) -> IntVector:
    """Where public classes of weight begin, in steps: one an octave about the scale of the noise.

    Args:
        scale: of the noise of all of epsilon, in steps: finer weights drown in it.
        cap: largest weight, in steps; None without one. A graph without weights has one class.
    """
    if cap == 1:
        return np.ones(1, dtype=np.int64)
    octaves = np.arange(LOWEST, _HIGHEST + 1)
    starts = np.ceil(scale * 2.0**octaves)
    starts = starts[starts <= (2**52 if cap is None else cap)]
    return np.unique(np.concatenate([[1], np.maximum(starts, 1)])).astype(np.int64)


def place_variances(noise: LevelNoise, places: tuple[int, ...], depth: int) -> FloatVector:
    """Variances of one noise of each place, at most, in squared steps; infinite if there is none.

    See `CountDistribution.variance`.
    """
    variances = np.full(depth, math.inf)
    variances[list(places)] = noise.variances
    return variances


def bounded_changes(cells: CellTree, *, bound: int, largest: int | None = 1) -> tuple[Change, ...]:
    """How much the sums of the cells of each place can change together, when a vertex changes.

    The sums of the finest level are bounded ones, those of other places sums of these.

    Args:
        cells: the public cells.
        bound: D, in steps of a grid.
        largest: how many steps one pair can weigh; None without a cap.

    Returns:
        For each place (0: everything) the largest sum of |change| and the largest sum of change^2
        over its cells, in steps and squared steps, for any two graphs that differ in the edges at
        one vertex.

    Raises:
        ParameterError: cells of several periods, or with pairs of a vertex and itself: bounded
            sums are of one graph without them.

    Proof. Let v be in group A of the finest level. An edge at v lies in a cell (A, B), or (B, A),
    and all other cells are those of G - v. In a cell the sums of G and of G' lie both between that
    of G - v, and that plus min(D, d), where d is what v can have there at most: the cap times the
    number of vertices that it can be joined to, |B|, or |A| - 1 for B = A (theorem in
    `graph.bounded_cuts`). Of a directed graph (A, B) and (B, A) are two cells, with |B| arcs each,
    and (A, A) has 2 (|A| - 1); of a bipartite graph, v of a left group A has |B| in (A, B), and v
    of a right group B has |A|. A cell of another place changes by the sum over its parts, at most.
    Of all groups A the largest sums count. None of it is too much: a vertex that gets all edges, or
    loses them, changes all these sums at once and in one direction.
    """
    if cells.periods is not None or cells.loops:
        raise ParameterError(
            "privacy_unit='vertex' is for one graph, without periods and without edges from a "
            "vertex to itself: leave periods out, or take privacy_unit='user:max-contributions=...'"
        )
    found: list[Change] = []
    groups, numbers, change = _incidences(cells, bound, largest)
    for place in range(cells.depth - 1, -1, -1):
        size = cells.size(place)
        keys, rows = np.unique(groups * size + numbers, return_inverse=True)
        change = np.bincount(rows, weights=change).astype(np.int64)  # exact: far below 2^53
        groups, numbers = np.divmod(keys, size)
        linear = np.bincount(groups, weights=change).astype(np.int64)
        squared = linear.astype(object) * 0  # squares may not fit into 64 bits
        np.add.at(squared, groups, change.astype(object) ** 2)
        found.insert(0, (int(linear.max()), int(squared.max())))
        numbers = cells.parents(place)[numbers]
    return tuple(found)


def _incidences(
    cells: CellTree, bound: int, largest: int | None
) -> tuple[IntVector, IntVector, IntVector]:
    """Groups of the finest level, the cells that their vertices touch, and by how much each."""
    place = cells.depth - 1
    a, b = cells.cells(place)
    left, right = (side.sizes(side.levels[-1]) for side in (cells.rows, cells.columns))
    inside = (a == b) if cells.one_set else np.zeros(len(a), dtype=np.bool_)
    met = np.where(inside, (2 if cells.directed else 1) * (right[b] - 1), right[b])
    numbers = np.arange(len(a))
    offset = 0 if cells.one_set else len(left)
    return (
        np.concatenate([a, b[~inside] + offset]),
        np.concatenate([numbers, numbers[~inside]]),
        np.concatenate([_capped(met, bound, largest), _capped(left[a[~inside]], bound, largest)]),
    )


def _capped(met: IntVector, bound: int, largest: int | None) -> IntVector:
    """What a vertex can change a cell by, if it can be joined to so many vertices there."""
    if largest is None:
        return np.where(met > 0, bound, 0)
    fewest = -(-bound // largest)  # so many reach the bound
    return np.where(met < fewest, met * largest, bound)


def counts_in_parts(counting: str, privacy_unit: PrivacyUnit) -> bool:
    """Whether a row can count for a part of one, as weights do, and rows that are scaled down."""
    return counting == "weight" or (privacy_unit.kind == "user" and counting != "edges")


def cell_changes(
    cells: CellTree,
    privacy_unit: PrivacyUnit = EDGE,
    *,
    sensitivity: int | None = None,
    capped: bool = True,
    largest: int = 1,
    reach: Reach | None = None,
) -> tuple[Change, ...]:
    """The largest changes of the cells of each place between neighbours. From public numbers.

    One step changes one pair in one period, which lies in exactly one cell of each place, by s, the
    sensitivity. Of k steps, all periods together, the cells of a place change by k s together;
    squared, by most where as many as possible fall into one cell. Where weights are bounded, a cell
    of p pairs changes by p s at most, p counting a pair once for each period that the cell holds:
    the sum of squares is convex, so it is largest where the largest cells are full, one after the
    other, and all others do not change. The same holds of the rows of a user who changes a pair
    by one at most. If all of them begin at one vertex v, of group g, they lie in the cells of g,
    and in that of g and h there are as many of their pairs as h has vertices, but for v itself
    (unless it can be joined to itself), in each period. Of all v, the one of the smallest group
    leaves the largest groups whole, so that none has more room in the j largest cells, for any j.
    All edges of a vertex change bounded sums by what `bounded_changes` says.

    Args:
        cells: the public cells.
        privacy_unit: what neighbouring data differ by.
        sensitivity: s: by how many steps of the grid one pair changes, `Grid.sensitivity`; of a
            vertex D in steps. None for steps of one edge.
        capped: whether a pair changes by no more than that, however many steps change it: true for
            graphs without weights, and with a cap.
        largest: of a vertex: how many steps a pair can weigh, where there is a cap.
        reach: of rows: whether they change a pair once, and of a user, which cells its rows can
            touch: other pairs may lie anywhere. A user who is replaced by another is two users,
            one whose rows go and one whose rows come: the sum of |change| is at most twice as
            large, and that of change^2, too, since (x - y)^2 <= x^2 + y^2 for x, y >= 0.

    Returns:
        For each place (0: everything) the pair (sum of |change|, sum of change^2).
    """
    if privacy_unit.max_degree is not None:
        bound = privacy_unit.max_degree if sensitivity is None else sensitivity
        return bounded_changes(cells, bound=bound, largest=largest if capped else None)
    s, k = sensitivity or 1, privacy_unit.group_size
    bounded = capped if reach is None else reach.once
    if k == 1 or not bounded:
        return ((k * s, (k * s) ** 2),) * cells.depth
    tail = privacy_unit.kind == "user" and reach is not None and reach.tail
    rooms = (_room_of_one(cells, p) if tail else cells.pairs(p) for p in range(cells.depth))
    return tuple((k * s, largest_squares(room, k) * s**2) for room in rooms)


def _room_of_one(cells: CellTree, place: int) -> IntVector:
    """How many pairs of one vertex of the rows there are in each of its cells, at most."""
    tree = cells.columns
    sizes = np.sort(tree.sizes(cells.names(place)[1]) if place else np.array([tree.n]))
    if cells.one_set and not cells.loops:
        sizes[0] -= 1
    found: IntVector = np.outer(cells.lengths(place), sizes).ravel()
    return found


def largest_squares(room: IntVector, total: int) -> int:
    """The most that x_1^2 + x_2^2 + ... can be for whole 0 <= x_i <= room_i of this sum, or less.

    Args:
        room: whole numbers >= 0.
        total: >= 0.
    """
    left, found = total, 0
    for most in np.sort(room)[::-1].tolist():
        taken = min(left, int(most))
        found += taken**2
        left -= taken
        if not left:
            break
    return found
