"""Partitions of public vertices as results: parts, files and pictures; and those of a release.

A partition of a release is computed from the release, so it costs no privacy. It is chosen after
looking at the noise, so an interval for a partition that was named beforehand would be wrong.
Intervals here hold for all partitions at once. The interval and the bound on the optimum hold
together with the given confidence: a tenth of the failure probability is for the total weight,
three tenths each for `Release.answer`, for all cuts in two and for all partitions
(`PartitionNoise`).

Let z be the noisy matrix and A the truth. A relaxation bounds the best partition of z, and with the
radii of the noise that of A. The error of the weight between the parts of any partition is at most
twice the radius of all cuts in two: if each part is put on one of two sides at random, the cut
between the sides has half of that weight on average. (The certificate of a release could move the
bounds of its synthetic graph to A in the same way; on 13 graphs these bounds were weaker or empty.)
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
from scipy.cluster.hierarchy import is_valid_linkage, leaves_list

from graphcuts_dp.arrays import FloatMatrix, IntVector
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE, percent
from graphcuts_dp.display import Card, Displayed, short, short_bound, short_interval
from graphcuts_dp.errors import FileFormatError, GraphError
from graphcuts_dp.estimate.estimator import ROUNDING
from graphcuts_dp.estimate.partition_noise import FOR_EACH, FOR_TOTAL, PartitionNoise
from graphcuts_dp.files import PathLike
from graphcuts_dp.frames import made_frame
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, guarantee_text
from graphcuts_dp.queries.linear import CutQuery
from graphcuts_dp.results import bundle
from graphcuts_dp.results.packing import ResultParts, SavedParts
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.schema.vertices import ALL, Arcs, Label, VertexSet
from graphcuts_dp.synth import partitions as search
from graphcuts_dp.synth.partitions import KINDS, FoundParts, Partitioning

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from graphcuts_dp.results.release import Release

KIND = "partition"  # of `bundle`
HIDDEN = "Noise hides it: the interval holds nearly all values that it could have."
_MOST_BINS = 220  # of a picture
_MOST_NAMED = 60  # parts with names in a picture: those with at least 1/60 of the vertices
_MOST_SPARSE_VERTICES = 50_000  # of a sparse release that is partitioned
_MOST_SHOWN = 20  # parts in a notebook
Interval = tuple[float, float]


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Partition(Displayed):
    """A partition of public vertices: a private least cut, or one of a release.

    The noisy weight by which a least cut was chosen is released too. One more noisy cut gives a
    narrower interval: `gc.release_flows(graph, cut.groups, epsilon=0.5)`, whose `total` and
    cells have intervals, or `ask(*cut.parts)` of a session.

    Attributes:
        kind: "least-cut", or "max-cut", "sparsest", "balanced", "clusters", "hierarchy".
        space: the public vertices, or `Arcs` of a directed graph.
        names: of the parts: the first terminal of each; of a release 1, 2, ..., the largest first.
        codes: index of the part of each vertex, shape (n,).
        guarantee: of differential privacy; for a partition of a release that of the release.
        shortfall: bound on how much worse it is than the best partition of the true graph.
        confidence: of shortfall, interval and optimum together, in (0, 1).
        options: of the search, with the resolution; None for a least cut.
        value: in the release: `measure` of the synthetic weights in which it was searched. It is
            nearly always better than in the truth, since the partition was chosen for it; so it is
            no estimate, and may lie outside of `interval`. For a least cut its noisy weight, moved
            into the interval if noise made it impossible; None for one of version 0.1.
        interval: holds its value in the true graph, although it was chosen after looking at the
            release; or None.
        optimum: holds the value of the best such partition of the true graph; or None.
        notes: further remarks, in sentences.
        picture: weights of the release between bins of vertices, ordered by part. None for a least
            cut.
        bins: number of bins of each part, the smallest parts together; None for a least cut.
        tree: merges of a hierarchy, as in `scipy.cluster.hierarchy`; None for other kinds.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> parts = gc.least_cut(club, 0, 33, epsilon=2.0)
        >>> parts.part_of(0) != parts.part_of(33)
        True
    """

    kind: str
    space: VertexSet | Arcs
    names: tuple[Label, ...]
    codes: IntVector
    guarantee: PrivacyGuarantee
    shortfall: float
    confidence: float = DEFAULT_CONFIDENCE
    options: Partitioning | None = None
    value: float | None = None
    interval: Interval | None = None
    optimum: Interval | None = None
    notes: tuple[str, ...] = ()
    picture: FloatMatrix | None = None
    bins: IntVector | None = None
    tree: FloatMatrix | None = None

    @property
    def measure(self) -> str:
        """Name of the value, in words."""
        return KINDS[self.kind].measure if self.kind in KINDS else "weight between parts"

    @property
    def is_uninformative(self) -> bool:
        """True if the interval holds nearly all values that such a partition could have."""
        return HIDDEN in self.notes

    @property
    def vertices(self) -> VertexSet:
        """The public vertex set."""
        return self.space.vertices if isinstance(self.space, Arcs) else self.space

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of vertices of each part."""
        return tuple(np.bincount(self.codes, minlength=len(self.names)).tolist())

    @cached_property
    def parts(self) -> tuple[tuple[Label, ...], ...]:
        """The vertices of each part, in the order of `names`; of two parts, S and T."""
        labels, starts = self.vertices.labels, np.cumsum(self.sizes)[:-1]
        members = np.split(np.argsort(self.codes, kind="stable"), starts)
        return tuple(tuple(labels[row] for row in rows.tolist()) for rows in members)

    @property
    def part_names(self) -> list[Label]:
        """The name of the part of each vertex, in the order of the vertices."""
        return [self.names[code] for code in self.codes.tolist()]

    @property
    def _columns(self) -> dict[str, list[Label]]:
        """Columns of the table: each vertex with its part."""
        return {"vertex": list(self.vertices.labels), "part": self.part_names}

    def part_of(self, vertex: Label) -> Label:
        """Return the name of the part that a vertex is in.

        Args:
            vertex: its label.

        Raises:
            QueryError: an unknown vertex.
        """
        return self.groups.group_of(vertex)

    @cached_property
    def groups(self) -> Groups:
        """The parts as public groups, for example for `release_flows`."""
        return Groups(self.vertices, {"part": self.part_names})

    def to_frame(self, kind: Any = None) -> Any:
        """Return one row a vertex, vertex and part, as a frame like that of `Graph.to_frame`.

        Args:
            kind: library of the frame, such as `pandas`; the one that is installed if None.
        """
        return made_frame(self._columns, kind)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by names of attributes, without vertices, guarantee and arrays."""
        values = {member.name: getattr(self, member.name) for member in fields(self)}
        left_out = np.ndarray | VertexSet | Arcs | PrivacyGuarantee
        plain = {name: value for name, value in values.items() if not isinstance(value, left_out)}
        return plain | {"options": self.options and asdict(self.options)}

    def plot(
        self,
        positions: Mapping[Label, tuple[float, float]] | None = None,
        *,
        title: str | None = None,
    ) -> "Figure":
        """Draw the weights of the release with vertices ordered by part, or the vertices on a map.

        Args:
            positions: place of each vertex, (longitude, latitude) or on any plane; each part has
                its own colour and shape, and vertices without a place are left out. None for the
                weights, which a least cut does not have.
            title: above the picture; None for a description with the guarantee.

        Returns:
            A figure of matplotlib: `figure.savefig("parts.png")`.

        Raises:
            GraphError: no vertex has a position, or a least cut without positions.
        """
        from graphcuts_dp.plotting import partition_plot  # slow: matplotlib

        title = f"{self._words} ({guarantee_text(self.guarantee)})" if title is None else title
        if positions is None and self.picture is not None and self.bins is not None:
            # Otherwise the last bins are those of several small parts.
            last_is_part = len(self.bins) == len(self.names)
            unit = self.guarantee.counted
            return partition_plot.blocks_figure(
                self.picture, self.bins, title=title, unit=unit, last_is_part=last_is_part
            )
        return partition_plot.map_figure(
            positions or {}, self.vertices.labels, self.codes, title=title
        )

    def save(
        self, path: PathLike, *, force: bool = False, spreadsheet: bool = False
    ) -> tuple[str, ...]:
        """Write a table with the columns vertex and part, a receipt and arrays beside it.

        The table is one of public groups, too: `graphcuts-dp flows` takes it.

        Args:
            path: of the table, ending in .csv; of a seeded run it also has a column `mark`, which
                says in every row that it is not private. The receipt is `path` + ".json".
            force: replace files that are there.
            spreadsheet: put an apostrophe before labels that a spreadsheet would run as formulas.

        Returns:
            The paths written, the receipt last.

        Raises:
            FileFormatError: another ending, a missing folder, files that are there, a full disk.
        """
        return bundle.save(self.to_parts(), path, force=force, spreadsheet=spreadsheet)

    def to_parts(self) -> ResultParts:
        """Return what `save` writes."""
        arrays = {
            name: array for name, array in vars(self).items() if isinstance(array, np.ndarray)
        }
        fields = {"partition": self.to_dict(), "measure": self.measure}
        fields |= bundle.space_fields(self.space)
        return ResultParts(
            kind=KIND,
            guarantee=self.guarantee,
            fields=fields,
            arrays=arrays,
            table=self._columns,
        )

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read back what `save` wrote.

        Args:
            path: the same path as for `save`.

        Raises:
            FileFormatError: a file is missing, damaged, or not the one that the receipt names.
        """
        with bundle.opened(path, KIND) as saved:
            return cls.from_saved(saved)

    @classmethod
    def from_saved(cls, saved: SavedParts) -> Self:
        """Return the partition that `to_parts` described.

        Args:
            saved: the parts of a saved result, as `gc.load` reads them.

        Raises:
            GraphCutsError, LookupError, TypeError, ValueError, ArithmeticError: the parts are not
                those of a partition.
        """
        stored: dict[str, Any] = saved.fields["partition"] | saved.arrays()
        for name in ("names", "interval", "optimum", "notes"):
            stored[name] = stored[name] and tuple(stored[name])
        stored["options"] = stored["options"] and Partitioning(**stored["options"])
        stored |= {"space": bundle.space_from(saved.fields), "guarantee": saved.guarantee}
        partition = cls(**stored)
        partition._check_arrays()
        _ = partition.groups  # refused unless each vertex has a part
        return partition

    def _check_arrays(self) -> None:
        """Check that the arrays of a saved partition belong together.

        Raises:
            FileFormatError, ValueError: they do not.
        """
        if self.codes.min() < 0 or self.codes.max() >= len(self.names):
            raise FileFormatError("a saved partition has vertices in parts that are not named")
        if len(self.codes) != len(self.vertices):
            raise ValueError("parts of other vertices")
        if self.tree is not None and not is_valid_linkage(self.tree):
            raise ValueError("no tree of merges")
        if (self.picture is None) != (self.bins is None):
            raise ValueError("a picture goes with its bins")
        if self.picture is not None and self.bins is not None:
            bins = self.bins
            if not np.isfinite(self.picture).all() or bins.min(initial=0) < 0:
                raise ValueError("a picture of something else than weights")
            if len(bins) > len(self.names) or sum(bins.tolist()) != len(self.picture):
                raise ValueError("a picture of other bins")

    @property
    def _words(self) -> str:
        """A description for titles: the kind, and the value or the names of the parts."""
        if self.value is None or self.interval is None or self.kind not in KINDS:
            return f"{self.kind} of {', '.join(map(str, self.names))}"
        return f"{self.kind}: {short(self.value)} in {short_interval(self.interval)}"

    def _picture(self) -> "Figure | None":
        return None if self.picture is None else self.plot()

    def __str__(self) -> str:
        mark = "" if self.guarantee.is_private else f" [{SEEDED_WARNING}]"
        description = f"at most {short_bound(self.shortfall)} above the least"
        if self.interval is not None and self.kind not in KINDS:
            description = f"weighs {short_interval(self.interval)}, {description}"
        elif self.optimum is not None:
            best = short_interval(self.optimum)
            description = f"chosen after looking; the best of the true graph in {best}"
        return f"{self._words} ({percent(self.confidence)}); {description}{mark}"

    def __repr__(self) -> str:
        mark = "" if self.guarantee.is_private else f", {SEEDED_WARNING}"
        size = f"{len(self.names):,} parts of {len(self.codes):,} vertices"
        return f"Partition({self.kind!r}, {size}{mark})"

    def _card(self) -> Card:
        facts = [
            ("value in the release" if self.kind in KINDS else "noisy weight", self.value),
            ("in the true graph", self.interval and short_interval(self.interval)),
            ("the best of the true graph", self.optimum and short_interval(self.optimum)),
            ("worse than the best, at most", self.shortfall),
            ("confidence", percent(self.confidence)),
            ("value", self.measure),
        ]
        rows: list[Sequence[object]] = [
            (name, len(part), ", ".join(map(str, part[:10])) + (", ..." if part[10:] else ""))
            for name, part in zip(self.names[:_MOST_SHOWN], self.parts, strict=False)
        ]
        return Card(
            title=f"Partition: {self.kind}",
            facts=(*(fact for fact in facts if fact[1] is not None), *self.guarantee.facts),
            columns=("part", "vertices", "which"),
            rows=rows,
            size=len(self.names),
            warning=self.guarantee.warning,
            notes=self.notes,
        )


def partition_of(release: "Release", kind: str, options: Partitioning) -> Partition:
    """Find a partition in a release, see `Release.partition`."""
    search.check_kind(kind, options)
    if not isinstance(release.space, VertexSet):
        raise GraphError(
            "partitions are of undirected graphs with one set of vertices; this release has "
            "two sides or directions"
        )
    weights = _searched_weights(release)
    if kind == "clusters" and options.resolution is None:
        options = replace(options, resolution=search.mean_weight(weights))
    codes, tree = KINDS[kind].search(weights, options)
    largest_first = np.argsort(-np.bincount(codes), kind="stable")
    codes = np.argsort(largest_first)[codes]  # the inverse permutation has each part's rank
    parts = FoundParts(codes, tree)
    value = search.worth(kind, weights, parts, options)
    proof = _Proof(release, kind, options, parts)
    low, high = interval = proof.interval()
    least, most = optimum = proof.optimum(interval)
    notes = ["The interval holds although the partition was chosen after looking at the release."]
    if low <= 0 and high >= most and high > 2 * abs(value):
        notes.append(HIDDEN)
    picture, bins = _picture(weights, codes, tree)
    return Partition(
        kind=kind,
        space=release.space,
        names=tuple(range(1, int(codes.max()) + 2)),
        codes=codes,
        guarantee=release.guarantee,
        shortfall=max(0.0, most - low if KINDS[kind].largest else high - least),
        confidence=options.confidence,
        options=options,
        value=value,
        interval=interval,
        optimum=optimum,
        notes=tuple(notes),
        picture=picture,
        bins=bins,
        tree=tree,
    )


def _searched_weights(release: Any) -> Any:
    """Return the weights in which partitions are searched: synthetic ones, or the noisy matrix.

    Raises:
        GraphError: a sparse release has too many vertices.
    """
    if release.measurements.matrix is not None:
        if release.has_graph:
            return release.expected.adjacency.toarray().astype(np.float64)
        return np.asarray(release.noisy.estimate())
    if release.shape[0] > _MOST_SPARSE_VERTICES:
        raise GraphError(
            f"partitions are found of up to {_MOST_SPARSE_VERTICES:,} vertices; work on "
            "release.graph for more"
        )
    return release.graph.adjacency.astype(np.float64)


def _picture(
    weights: Any, codes: IntVector, tree: FloatMatrix | None
) -> tuple[FloatMatrix, IntVector]:
    """Return the weights between bins of vertices, and the number of bins of each part.

    Vertices are in the order of their parts; within a part the heaviest come first, or the leaves
    in the order of the tree. The parts that are too small to be named count as one.
    """
    n, sizes = len(codes), np.bincount(codes)
    named_count = np.count_nonzero(sizes * _MOST_NAMED >= n)
    shown_codes = np.minimum(codes, named_count)
    vertices = np.argsort(-np.asarray(weights.sum(axis=1))) if tree is None else leaves_list(tree)
    vertices = vertices[np.argsort(shown_codes[vertices], kind="stable")]
    bin_count, bin_of_vertex = min(n, _MOST_BINS), np.empty(n, dtype=np.int64)
    bin_of_vertex[vertices] = np.arange(n) * bin_count // n
    stops = np.cumsum(np.bincount(shown_codes)) * bin_count // n
    return search.dense(search.block_sums(weights, bin_of_vertex)), np.diff(stops, prepend=0)


@final
class _Proof:
    """Bounds from a release on the true value of a partition, and on the best one of its kind.

    All bounds hold for all partitions at once. A sparse release has no noisy matrix z, and fewer
    bounds.

    Args:
        release: of a graph with one vertex set.
        kind: of the partition.
        partitioning: options of the search.
        parts: the partition.

    Attributes:
        failure: probability of each of three kinds of statements, see the docstring of this module.
        total: holds the total weight.
        z: the noisy matrix.
        noisy_total: total weight of z.
        slack: bound on the error of floats in a sum over z.
        noise: of sums of z.
    """

    def __init__(
        self, release: "Release", kind: str, partitioning: Partitioning, parts: FoundParts
    ) -> None:
        self.release, self.kind, self.partitioning = release, kind, partitioning
        self.codes, self.tree = parts
        self.sizes: list[int] = np.bincount(self.codes).tolist()
        self.failure = (1 - partitioning.confidence) * FOR_EACH
        confidence = 1 - (1 - partitioning.confidence) * FOR_TOTAL
        self.total = release.answer(ALL, ALL, confidence=confidence).interval
        self.sparse = release.measurements.matrix is None
        if not self.sparse:
            self.z: FloatMatrix = np.asarray(release.noisy.estimate())
            self.noisy_total = float(self.z.sum()) / 2
            self.slack = ROUNDING * float(np.abs(self.z).sum())
            self.noise = PartitionNoise(release.noisy.distribution, -math.log(self.failure))

    def interval(self) -> Interval:
        """Return an interval that holds the value of the partition."""
        if self.kind != "clusters":
            low, high = self._between()
            pairs = self.sizes[0] * self.sizes[1] if self.kind == "sparsest" else 1
            return low / pairs, high / pairs
        if self.sparse:
            between = self._between()
            low, high = self.total[0] - between[1], self.total[1] - between[0]
        else:
            low, high = self._within()
        pairs_within = sum(size * (size - 1) for size in self.sizes) / 2
        cost = (self.partitioning.resolution or 0.0) * pairs_within
        return max(low, 0.0) - cost, min(high, self.total[1]) - cost

    def _between(self) -> Interval:
        """Return an interval of the weight between parts.

        A tree of n vertices has n levels, see `partitions.levels`; their weights are added up.
        """
        least, level_count = (0.0, 1) if self.tree is None else (2 * self.total[0], len(self.codes))
        low, high = 0.0, math.inf
        if not self.sparse and (self.tree is not None or len(self.sizes) > 2):
            weight_within = self._within()
            low = level_count * self.total[0] - weight_within[1]
            high = level_count * self.total[1] - weight_within[0]
        elif self.tree is None:
            # The cuts of single parts count each pair between parts twice.
            answers = self.release.answer_all(
                [CutQuery(self.codes == code) for code in range(len(self.sizes))],
                confidence=1 - self.failure,
                simultaneous=True,
            )
            lows, highs = zip(*(answer.interval for answer in answers), strict=True)
            low, high = math.fsum(lows) / 2, math.fsum(highs) / 2
        return max(low, least), min(high, level_count * self.total[1])

    def _within(self) -> Interval:
        """Return an interval of the weight within parts; of a tree as `_between`."""
        levels = [(1, self.sizes)] if self.tree is None else list(search.levels(self.tree))
        if self.tree is None:
            inner_weight = float(search.block_sums(self.z, self.codes).trace()) / 2
        else:  # a pair is in clusters of all levels below its common branch
            inner_weight = len(self.codes) * self.noisy_total - search.tree_cost(self.z, self.tree)
        radius = math.fsum(count * (self.slack + self.noise.within(size)) for count, size in levels)
        return inner_weight - radius, inner_weight + radius

    def optimum(self, interval: Interval) -> Interval:
        """Return an interval of the value of the best partition, from the interval of this one."""
        low, high = interval
        if KINDS[self.kind].largest:
            return max(low, 0.0), max(min(self._bound(), self.total[1]), low, 0.0)
        least = 2 * self.total[0] if self.kind == "hierarchy" else 0.0
        return min(max(least, self._bound()), high), high

    def _bound(self) -> float:
        """Return a bound on the best partition's value, by a relaxation of z.

        It is an upper bound if the largest value is the best, else a lower one; infinite if there
        is none.
        """
        n, largest = len(self.codes), KINDS[self.kind].largest
        if self.sparse or (n > search.MOST_PROVEN and not largest):
            return math.inf if largest else -math.inf
        z, noise, total = self.z, self.noise, self.noisy_total
        if self.kind == "max-cut":  # of signs s, a cut is (sum of weights)/4 - s'Ws/4
            return total / 2 + search.relaxed(-z) / 4 + self.slack + noise.worst(n)
        if self.kind == "clusters":
            gain = search.most_gain(z - (self.partitioning.resolution or 0.0), self.codes)
            return gain + self.total[1] - total + self.slack + 2 * noise.worst(n)
        if self.kind == "sparsest":
            sizes = np.arange(self.partitioning.smallest, n // 2 + 1)  # of the smaller side
            radii = np.array([noise.across(int(size), n) for size in sizes])
            least = search.laplacian_values(z)[0] / n - radii / (sizes * (n - sizes))
            return float(least.min())
        if self.kind == "hierarchy":
            return search.least_cost(z, max(self.total[0], 0.0), 2 * noise.worst(n))
        # Least difference of the weight between parts of A from that of z.
        least_difference = self.total[0] - total - self.slack - noise.within(self.sizes)
        if len(self.sizes) == 2:
            least_difference = max(least_difference, -noise.across(self.sizes[0], n))
        return search.least_between(z, np.array(self.sizes)) + least_difference
