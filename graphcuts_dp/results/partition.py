"""Partitions of the vertices that were put out: parts, files, pictures; and those of a release.

A partition of a release is found in what was released, so it costs no privacy; and it is found
after looking at the noise, so an interval for one partition that was named before would be false.
Intervals here hold for all partitions at once, with the given confidence together with the bound on
the optimum: a tenth of the failure probability is for the total weight, three tenths each for
`Release.answer`, for all cuts in two and for all partitions (`PartitionNoise`).

With z the noisy matrix and A the truth, a bound on the best partition of z by a relaxation is one
of A's best up to those radii. What is between the parts of any partition is off by at most twice
the radius of all cuts in two, since a cut in two that takes each part to either side at random
holds half of it on average. (The certificate of a release moves the bounds of its synthetic graph
to A likewise; on all graphs that were tried they are weaker.)
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
from scipy.cluster.hierarchy import leaves_list

from graphcuts_dp.arrays import FloatMatrix, IntVector
from graphcuts_dp.display import Card, Displayed, short
from graphcuts_dp.errors import FileFormatError, GraphError, QueryError
from graphcuts_dp.estimate.answers import ROUNDING
from graphcuts_dp.estimate.partition_noise import PartitionNoise
from graphcuts_dp.files import PathLike
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.vertices import ALL, Arcs, Label, VertexSet
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, promise_text
from graphcuts_dp.privacy.noise import SEEDED_WARNING
from graphcuts_dp.results import bundle
from graphcuts_dp.synth.partitions import (
    KINDS,
    MOST_PROVEN,
    FoundParts,
    Partitioning,
    block_sums,
    check_kind,
    dense,
    laplacian_values,
    least_between,
    least_cost,
    levels,
    mean_weight,
    relaxed,
    tree_cost,
    worth,
)
from graphcuts_dp.tables.frames import made_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from graphcuts_dp.results.release import Release

KIND = "partition"  # of `bundle`
HIDDEN = "Noise hides it: the interval holds nearly all that it could be worth."
_FOR_TOTAL, _FOR_EACH = 0.1, 0.3  # of a failure probability
_MOST_BINS = 220  # of the picture
_MOST_SPARSE = 50_000  # vertices
_MOST_SHOWN = 20  # parts
Interval = tuple[float, float]


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Partition(Displayed):
    """A partition of public vertices: a private least cut, or one that was found in a release.

    Of a least cut the parts are all that was put out; what it weighs is not known from them. To ask
    for that is one noisy cut more: `gc.release_flows(graph, cut.groups, epsilon=0.5)`, whose
    `total` and cells have intervals, or `ask(*cut.parts)` of a session.

    Attributes:
        kind: "least-cut", or "max-cut", "sparsest", "balanced", "clusters", "hierarchy".
        space: the public vertices, or `Arcs` of a directed graph.
        names: of the parts: the first terminal of each; of a release 1, 2, ..., the largest first.
        codes: the number of the part of each vertex, from 0 on, shape (n,).
        guarantee: the promise of differential privacy; a partition of a release has that of it.
        shortfall: by how much it is worse than the best of the true graph, at most; of a cut of
            more than two parts than the least cuts at each step of halving, added up.
        confidence: that shortfall, interval and optimum are right, together.
        options: that it was asked for with, the resolution filled in; None of a least cut.
        value: in the release: `measure` of the synthetic weights that it was found in. Nearly
            always better than the truth, since it was chosen for it. None of a least cut.
        interval: holds its value in the true graph, although it was chosen after looking; likewise.
        optimum: holds the value of the best such partition of the true graph; likewise.
        notes: what else there is to say of it, in sentences.
        picture: weights of the release between bins of vertices, ordered by part; small parts have
            one bin together. None of a least cut.
        bins: how many bins each part has; likewise.
        tree: of a hierarchy, its merges as those of `scipy.cluster.hierarchy`; None of others.
    """

    kind: str
    space: VertexSet | Arcs
    names: tuple[Label, ...]
    codes: IntVector
    guarantee: PrivacyGuarantee
    shortfall: float
    confidence: float = 0.95
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
        """What the value is, in words."""
        return KINDS[self.kind].measure if self.kind in KINDS else "weight between parts"

    @property
    def says_nothing(self) -> bool:
        """Whether the interval is all that such a partition can be worth: noise hides it."""
        return HIDDEN in self.notes

    @property
    def vertices(self) -> VertexSet:
        """The public vertex set."""
        return self.space.vertices if isinstance(self.space, Arcs) else self.space

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many vertices each part has."""
        return tuple(np.bincount(self.codes, minlength=len(self.names)).tolist())

    @cached_property
    def parts(self) -> tuple[tuple[Label, ...], ...]:
        """The vertices of each part, in the order of `names`; of two, S and T."""
        labels, ends = self.vertices.labels, np.cumsum(self.sizes)[:-1]
        members = np.split(np.argsort(self.codes, kind="stable"), ends)
        return tuple(tuple(labels[row] for row in rows.tolist()) for rows in members)

    @property
    def part_names(self) -> list[Label]:
        """The name of the part of each vertex, in the order of the vertices."""
        return [self.names[code] for code in self.codes.tolist()]

    def part_of(self, vertex: Label) -> Label:
        """The name of the part that a vertex is in.

        Raises:
            QueryError: an unknown vertex.
        """
        row = self.vertices.find(vertex)
        if row is None:
            raise QueryError(f"unknown vertex {vertex!r:.60}; it is not in the public vertex set")
        return self.names[int(self.codes[row])]

    @cached_property
    def groups(self) -> Groups:
        """The parts as public groups, by which `release_flows` tells what passes between them."""
        return Groups(self.vertices, {"part": self.part_names})

    def to_frame(self, kind: Any = None) -> Any:
        """One row a vertex: vertex and part. Of a kind as for `Graph.to_frame`."""
        return made_frame({"vertex": list(self.vertices.labels), "part": self.part_names}, kind)

    def plot(
        self,
        positions: Mapping[Label, tuple[float, float]] | None = None,
        *,
        title: str | None = None,
    ) -> "Figure":
        """Draw the weights of the release with vertices ordered by part, or the vertices on a map.

        Args:
            positions: where each vertex is, (longitude, latitude) or any plane; each part has a
                colour and shape of its own, and vertices without a place are left out. None for the
                weights, which are not known of a least cut.
            title: above the picture; None for what it is and the guarantee.

        Returns:
            A figure of matplotlib: `figure.savefig("parts.png")`.

        Raises:
            GraphError: no vertex has a position, or a least cut without positions.
        """
        from graphcuts_dp.plotting import partition_plot as drawn  # slow: matplotlib

        title = f"{self._words} ({promise_text(self.guarantee)})" if title is None else title
        if positions is None and self.picture is not None and self.bins is not None:
            return drawn.blocks_figure(self.picture, self.bins, title=title)
        return drawn.map_figure(positions or {}, self.vertices.labels, self.codes, title=title)

    def save(self, path: PathLike, *, force: bool = False) -> tuple[str, ...]:
        """Write a table with the columns vertex and part, a receipt and arrays beside it.

        The table is one of public groups, too: `graphcuts-dp flows` takes it.

        Args:
            path: of the table, ending in .csv; of a seeded run it also has a column `mark`, which
                says in every row that it is not private. The receipt is `path` + ".json".
            force: replace files that are there.

        Returns:
            The paths written, the receipt last.

        Raises:
            FileFormatError: another ending, a missing folder, files that are there, a full disk.
        """
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        arrays = {name: each for name, each in own.items() if isinstance(each, np.ndarray)}
        told = {name: own[name] for name in own.keys() - arrays.keys() - {"space", "guarantee"}}
        told["options"] = None if self.options is None else asdict(self.options)
        shown = {"partition": told, "measure": self.measure, **bundle.space_fields(self.space)}
        table = bundle.table_of_parts(self.guarantee, self.vertices, self.part_names)
        return bundle.save(KIND, path, self.guarantee, shown, arrays, table=table, force=force)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read back what `save` wrote.

        Args:
            path: the same path as for `save`.

        Raises:
            FileFormatError: a file is missing, damaged, or not the one that the receipt names.
        """
        with bundle.opened(path, KIND) as saved:
            told = {
                name: tuple(each) if isinstance(each, list) else each
                for name, each in saved.fields["partition"].items()
            }
            told["options"] = told["options"] and Partitioning(**told["options"])
            arrays = saved.arrays()
            del arrays["header"]
            space: Any = saved.space
            made = cls(space=space, guarantee=saved.guarantee, **told, **arrays)
            if made.codes.shape != (len(made.vertices),):
                raise FileFormatError("the parts are of other vertices")
            return made

    @property
    def _words(self) -> str:
        if self.value is None or self.interval is None:
            return f"{self.kind} of {', '.join(map(str, self.names))}"
        return f"{self.kind}: {short(self.value)} in {_ends(self.interval)}"

    def _picture(self) -> "Figure | None":
        return None if self.picture is None else self.plot()

    def __str__(self) -> str:
        mark = "" if self.guarantee.is_private else f" [{SEEDED_WARNING}]"
        told = f"at most {short(self.shortfall)} above the least"
        if self.optimum is not None:
            told = f"chosen after looking; the best of the true graph in {_ends(self.optimum)}"
        return f"{self._words} ({self.confidence:.0%}); {told}{mark}"

    def __repr__(self) -> str:
        mark = "" if self.guarantee.is_private else f", {SEEDED_WARNING}"
        size = f"{len(self.names):,} parts of {len(self.codes):,} vertices"
        return f"Partition({self.kind!r}, {size}{mark})"

    def _card(self) -> Card:
        facts: list[tuple[str, object]] = []
        if self.interval is not None and self.optimum is not None:
            facts = [
                ("value in the release", self.value),
                ("which is", self.measure),
                ("in the true graph", _ends(self.interval)),
                ("the best of the true graph", _ends(self.optimum)),
            ]
        facts += [
            ("worse than the best, at most", self.shortfall),
            ("confidence", f"{self.confidence:.0%}"),
            *self.guarantee.facts,
        ]
        rows: list[Sequence[object]] = [
            (name, len(part), ", ".join(map(str, part[:10])) + (", ..." if part[10:] else ""))
            for name, part in zip(self.names[:_MOST_SHOWN], self.parts, strict=False)
        ]
        return Card(
            title=f"Partition: {self.kind}",
            facts=facts,
            columns=("part", "vertices", "which"),
            rows=rows,
            size=len(self.names),
            warning=self.guarantee.warning,
            notes=self.notes,
        )


def _ends(interval: Interval) -> str:
    return f"[{short(interval[0])}, {short(interval[1])}]"


def partition_of(release: "Release", kind: str, wanted: Partitioning) -> Partition:
    """See `Release.partition`."""
    known, space = check_kind(kind, wanted), release.space
    if not isinstance(space, VertexSet):
        raise GraphError(
            "partitions are of undirected graphs with one set of vertices; this release has "
            "two sides or directions"
        )
    truth = _Truth(release, 1 - wanted.confidence)
    weights = truth.searched
    if kind == "clusters" and wanted.resolution is None:
        wanted = replace(wanted, resolution=mean_weight(weights))
    codes, tree = known.search(weights, wanted)
    codes = np.argsort(np.argsort(-np.bincount(codes), kind="stable"))[codes]  # the largest first
    value = worth(kind, weights, FoundParts(codes, tree), wanted)
    low, high = _interval(truth, kind, FoundParts(codes, tree), wanted)
    least, most = _optimum(truth, kind, codes, wanted, (low, high))
    notes = ["The interval holds although the partition was chosen after looking at the release."]
    if low <= 0 and high >= most and high > 2 * abs(value):
        notes.append(HIDDEN)
    picture, bins = _picture(weights, codes, tree)
    return Partition(
        kind=kind,
        space=space,
        names=tuple(range(1, int(codes.max()) + 2)),
        codes=codes,
        guarantee=release.guarantee,
        shortfall=max(0.0, most - low if known.largest else high - least),
        confidence=wanted.confidence,
        options=wanted,
        value=value,
        interval=(low, high),
        optimum=(least, most),
        notes=tuple(notes),
        picture=picture,
        bins=bins,
        tree=tree,
    )


def _picture(
    weights: Any, codes: IntVector, tree: FloatMatrix | None
) -> tuple[FloatMatrix, IntVector]:
    """Weights between bins of vertices of one part each; the heaviest vertices of a part first."""
    codes = np.minimum(codes, _MOST_BINS)  # small parts have one bin together
    ranks = np.argsort(-np.asarray(weights.sum(axis=1))) if tree is None else leaves_list(tree)
    order = ranks[np.argsort(codes[ranks], kind="stable")]
    sizes = np.bincount(codes)
    bins = np.minimum(np.maximum(sizes * _MOST_BINS // len(codes), 1), sizes)
    first, ordered = np.cumsum(sizes) - sizes, codes[order]
    within = (np.arange(len(codes)) - first[ordered]) * bins[ordered] // sizes[ordered]
    place = np.empty(len(codes), dtype=np.int64)
    place[order] = (np.cumsum(bins) - bins)[ordered] + within
    return dense(block_sums(weights, place)), bins


@final
@dataclass(frozen=True, eq=False)
class _Truth:
    """What a release tells of the true graph, for all partitions at once.

    Attributes:
        release: the release.
        failure: probability with which anything that is told may be wrong.
    """

    release: "Release"
    failure: float

    @cached_property
    def noisy(self) -> FloatMatrix | None:
        """The noisy matrix, None of a sparse release."""
        sparse = self.release.estimator.noise_name is None
        return None if sparse else np.asarray(self.release.noisy.estimate())

    @cached_property
    def searched(self) -> Any:
        """The weights that partitions are found in: synthetic ones, or the noisy matrix."""
        if self.noisy is None:
            if self.release.shape[0] > _MOST_SPARSE:
                raise GraphError(
                    f"partitions are found of up to {_MOST_SPARSE:,} vertices; work on "
                    "release.graph for more"
                )
            return self.release.graph.adjacency.astype(np.float64)
        if not self.release.has_graph:
            return self.noisy
        return self.release.expected.adjacency.toarray().astype(np.float64)

    @cached_property
    def noise(self) -> PartitionNoise:
        """Of sums of the noisy matrix."""
        log_failures = -math.log(self.failure * _FOR_EACH)
        return PartitionNoise(self.release.noisy.distribution, log_failures)

    @cached_property
    def total(self) -> Interval:
        """Holds the total weight."""
        confidence = 1 - self.failure * _FOR_TOTAL
        return self.release.answer(ALL, ALL, confidence=confidence).interval

    def moved(self, noisy: FloatMatrix) -> tuple[float, float]:
        """By how much the true total may lie below that of the noisy matrix, and above."""
        own, slack = float(noisy.sum()) / 2, ROUNDING * float(np.abs(noisy).sum())
        return self.total[0] - own - slack, self.total[1] - own + slack

    def between(self, codes: IntVector) -> Interval:
        """The weight between parts, for a partition that was chosen after looking."""
        count = int(codes.max()) + 1
        if count > 2 and self.noisy is not None:
            within = self.within(codes)
            low, high = self.total[0] - within[1], self.total[1] - within[0]
        else:
            asked = [CutQuery(codes == code) for code in range(count if count > 2 else 1)]
            confidence = 1 - self.failure * _FOR_EACH
            found = self.release.answer_all(asked, confidence=confidence, simultaneous=True)
            half = 0.5 if count > 2 else 1.0  # each pair leaves two parts
            low, high = (half * math.fsum(each.interval[end] for each in found) for end in (0, 1))
        return max(low, 0.0), min(high, self.total[1])

    def within(self, codes: IntVector) -> Interval:
        """The weight within parts, likewise."""
        if self.noisy is None:
            between = self.between(codes)
            low, high = self.total[0] - between[1], self.total[1] - between[0]
        else:
            own = float(block_sums(self.noisy, codes).trace()) / 2
            radius = self.noise.within(np.bincount(codes).tolist())
            radius += ROUNDING * float(np.abs(self.noisy).sum())
            low, high = own - radius, own + radius
        return max(low, 0.0), min(high, self.total[1])

    def cost(self, tree: FloatMatrix) -> Interval:
        """A tree's: the sum over n levels of the weight between the clusters of a level."""
        n = len(tree) + 1
        low, high = 2 * self.total[0], n * self.total[1]  # a pair costs 2 to n
        if self.noisy is not None:
            own, moved = tree_cost(self.noisy, tree), self.moved(self.noisy)
            radius = ROUNDING * n * float(np.abs(self.noisy).sum())
            radius += math.fsum(
                count * self.noise.within(sizes.tolist()) for count, sizes in levels(tree)
            )
            low = max(low, own + n * moved[0] - radius)
            high = min(high, own + n * moved[1] + radius)
        return low, high


def _interval(truth: _Truth, kind: str, found: FoundParts, wanted: Partitioning) -> Interval:
    """Holds the value of a partition in the true graph."""
    if found.tree is not None:
        return truth.cost(found.tree)
    sizes = np.bincount(found.codes)
    if kind == "clusters":
        price = (wanted.resolution or 0.0) * float((sizes * (sizes - 1)).sum()) / 2
        low, high = truth.within(found.codes)
        return low - price, high - price
    low, high = truth.between(found.codes)
    pairs = float(sizes[0] * sizes[1]) if kind == "sparsest" else 1.0
    return low / pairs, high / pairs


def _optimum(
    truth: _Truth, kind: str, codes: IntVector, wanted: Partitioning, interval: Interval
) -> Interval:
    """Holds the value of the best partition of the true graph."""
    low, high = interval
    proven = truth.noisy is not None and (KINDS[kind].largest or len(codes) <= MOST_PROVEN)
    bound = _BOUNDS[kind](truth, truth.noisy, codes, wanted) if proven else None
    if KINDS[kind].largest:
        most = truth.total[1] if bound is None else min(bound, truth.total[1])
        least = max(low, 0.0) if kind == "clusters" else low  # of parts of one vertex each
        return least, max(most, least)
    least = 2 * truth.total[0] if kind == "hierarchy" else 0.0
    return min(max(least, bound or 0.0), high), high


def _most_across(truth: _Truth, z: FloatMatrix, codes: IntVector, wanted: Partitioning) -> float:
    """Of signs s, a cut is (sum of weights)/4 - s'Ws/4."""
    del wanted
    slack = ROUNDING * float(np.abs(z).sum())
    return (float(z.sum()) + relaxed(-z)) / 4 + slack + truth.noise.worst(len(codes))


def _least_density(truth: _Truth, z: FloatMatrix, codes: IntVector, wanted: Partitioning) -> float:
    n = len(codes)
    sides = np.arange(wanted.smallest, n // 2 + 1)
    radii = np.array([truth.noise.across(int(side), n) for side in sides])
    return float((laplacian_values(z)[0] / n - radii / (sides * (n - sides))).min())


def _least_between(truth: _Truth, z: FloatMatrix, codes: IntVector, wanted: Partitioning) -> float:
    del wanted
    sizes = np.bincount(codes)
    lost = truth.moved(z)[0] - truth.noise.within(sizes.tolist())
    if len(sizes) == 2:
        lost = max(lost, -truth.noise.across(int(sizes[0]), len(codes)))
    return least_between(z, sizes) + lost


def _most_gain(truth: _Truth, z: FloatMatrix, codes: IntVector, wanted: Partitioning) -> float:
    """Parts are matrices M without entries below 0: weights may be raised in a bound on <W, M>.

    The mean weight between any two parts is, to 0, where it is below: the relaxation would make
    gains of pairs that are better apart.
    """
    shifted = z - (wanted.resolution or 0.0)
    np.fill_diagonal(shifted, 0)
    sizes = np.bincount(codes)
    raised = np.maximum(-block_sums(shifted, codes) / np.outer(sizes, sizes), 0)
    np.fill_diagonal(raised, 0)
    shifted += raised[codes][:, codes]
    slack = ROUNDING * float(np.abs(shifted).sum()) + truth.moved(z)[1]
    return relaxed(shifted) / 2 + slack + 2 * truth.noise.worst(len(codes))


def _least_cost(truth: _Truth, z: FloatMatrix, codes: IntVector, wanted: Partitioning) -> float:
    del wanted
    return least_cost(z, max(truth.total[0], 0.0), 2 * truth.noise.worst(len(codes)))


_BOUNDS: Mapping[str, Callable[..., float]] = {
    "max-cut": _most_across,
    "sparsest": _least_density,
    "balanced": _least_between,
    "clusters": _most_gain,
    "hierarchy": _least_cost,
}
