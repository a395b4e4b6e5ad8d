"""Partitions of a release: what was found, what it is worth in the true graph, and how good it is.

A partition is found in what was released, so it costs no privacy; and it is found after looking at
the noise, so an interval for one partition that was named before would be false. Intervals here
hold for all partitions at once, with the given confidence together with the bound on the optimum:
a tenth of the failure probability is for the total weight, three tenths each for `Release.answer`,
for all cuts in two and for all partitions (`PartitionNoise`).

With z the noisy matrix, x the synthetic weights and A the truth, a bound on the best partition of z
or of x by a relaxation is one of A's best: up to those radii for z, and the certificate of the
release, ||x - z||_C, besides for x: that much a cut of x differs from that of z, and what is
between the parts of any partition by twice that, since a cut in two that takes each part to either
side at random holds half of it on average.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatMatrix, IntVector
from graphcuts_dp.display import Card, Displayed, short
from graphcuts_dp.errors import FileFormatError, GraphError
from graphcuts_dp.estimate.answers import ROUNDING
from graphcuts_dp.estimate.partition_noise import PartitionNoise
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.vertices import ALL, Label, VertexSet
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, promise_text
from graphcuts_dp.privacy.noise import SEEDED_WARNING
from graphcuts_dp.results import bundle
from graphcuts_dp.results.bundle import space_fields
from graphcuts_dp.synth.partitions import (
    KINDS,
    MOST_PROVEN,
    FoundParts,
    Partitioning,
    check_kind,
    laplacian_values,
    least_between,
    least_cost,
    levels,
    mean_weight,
    members_of,
    merged,
    relaxed,
    tree_cost,
    worth,
)
from graphcuts_dp.tables.frames import made_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from graphcuts_dp.results.release import Release

KIND = "partition"  # of `bundle`
_FOR_TOTAL, _FOR_EACH = 0.1, 0.3  # of a failure probability
_MOST_BINS = 220  # of the picture
_MOST_SPARSE = 50_000  # vertices
Interval = tuple[float, float]


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Partition(Displayed):
    """A partition of the vertices of a release, and what is proven of it.

    Attributes:
        kind: one of "max-cut", "sparsest", "balanced", "clusters", "hierarchy".
        options: that it was asked for with, the resolution filled in.
        vertices: public vertex set.
        codes: part of each vertex, the largest part first, shape (n,).
        value: of the partition in the release: `measure` of the synthetic weights that it was found
            in. Nearly always better than the truth, since it was chosen for it.
        interval: holds its value in the true graph with the confidence of `options`, although it
            was chosen after looking.
        optimum: holds the value of the best such partition of the true graph, together with
            `interval`.
        guarantee: of the release; a partition costs nothing more.
        picture: mean weights of the release between bins of vertices, ordered by part.
        bins: part of each bin, and how many vertices it has, shape (2, bins).
        tree: of a hierarchy, its merges as those of `scipy.cluster.hierarchy`; None of others.
    """

    kind: str
    options: Partitioning
    vertices: VertexSet
    codes: IntVector
    value: float
    interval: Interval
    optimum: Interval
    guarantee: PrivacyGuarantee
    picture: FloatMatrix
    bins: IntVector
    tree: FloatMatrix | None = None

    @property
    def measure(self) -> str:
        """What the value is, in words."""
        return KINDS[self.kind].measure

    @cached_property
    def parts(self) -> tuple[tuple[Label, ...], ...]:
        """The vertices of each part, the largest part first."""
        labels = self.vertices.labels
        return tuple(tuple(labels[i] for i in each.tolist()) for each in members_of(self.codes))

    @property
    def shortfall(self) -> float:
        """By how much it is worse than the best of the true graph, at most; proven."""
        if KINDS[self.kind].largest:
            return max(0.0, self.optimum[1] - self.interval[0])
        return max(0.0, self.interval[1] - self.optimum[0])

    @property
    def says_nothing(self) -> bool:
        """Whether the interval is all that such a partition can be worth: noise hides it."""
        low, high = self.interval
        return low <= 0 and high >= self.optimum[1] and high > 2 * abs(self.value)

    def to_frame(self, kind: Any = None) -> Any:
        """One row a vertex: vertex, part (from 1 on). Of a kind as for `Graph.to_frame`."""
        return made_frame(
            {"vertex": list(self.vertices.labels), "part": (self.codes + 1).tolist()}, kind
        )

    def plot(
        self,
        positions: Mapping[Label, tuple[float, float]] | None = None,
        *,
        title: str | None = None,
    ) -> "Figure":
        """Draw the weights of the release with vertices ordered by part, or the vertices on a map.

        Args:
            positions: where each vertex is, (longitude, latitude) or any plane; None for the
                matrix. Vertices without a place are left out.
            title: above the picture; None for the value with its interval and the guarantee.

        Returns:
            A figure of matplotlib: `figure.savefig("parts.png")`.

        Raises:
            GraphError: no vertex has a position.
        """
        from graphcuts_dp.plotting.partition_plot import map_figure, matrix_figure  # slow

        told = f"{self._words()} ({promise_text(self.guarantee)})" if title is None else title
        if positions is None:
            return matrix_figure(self.picture, self.bins[0], self.bins[1], title=told)
        return map_figure(positions, self.vertices.labels, self.codes, title=told)

    def save(self, path: PathLike, *, force: bool = False) -> tuple[str, ...]:
        """Write the partition: a table of vertices and parts, a receipt and arrays beside it.

        Args:
            path: where; ends in .csv. The receipt is `path` + ".json".
            force: replace files that are there.

        Returns:
            The paths written, the receipt last.

        Raises:
            FileFormatError: another ending, missing folder, files that are there, a full disk.
        """
        arrays = {
            "codes": self.codes,
            "picture": self.picture,
            "bins": self.bins,
        }
        arrays |= {} if self.tree is None else {"tree": self.tree}
        fields = {
            "partition": self.kind,
            "parts": len(self.parts),
            **space_fields(self.vertices),
            "options": asdict(self.options),
            "measure": self.measure,
            "interval": self.interval,
            "optimum": self.optimum,
            "value": self.value,
        }
        table = bundle.table_of_parts(self.guarantee, self.vertices, (self.codes + 1).tolist())
        return bundle.save(KIND, path, self.guarantee, fields, arrays, table=table, force=force)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read back what `save` wrote.

        Args:
            path: the same path as for `save`.

        Raises:
            FileFormatError: a file is missing, damaged, or not the one that the receipt names.
        """
        with bundle.opened(path, KIND) as saved:
            fields, arrays = saved.fields, saved.arrays()
            vertices = saved.space
            if not isinstance(vertices, VertexSet) or arrays["codes"].shape != (len(vertices),):
                raise FileFormatError("the parts are of other vertices")
            if fields["partition"] not in KINDS:
                raise FileFormatError("there is no such kind of partition")
            return cls(
                kind=fields["partition"],
                options=Partitioning(**fields["options"]),
                vertices=vertices,
                codes=arrays["codes"],
                value=float(fields["value"]),
                interval=_pair(fields["interval"]),
                optimum=_pair(fields["optimum"]),
                guarantee=saved.guarantee,
                picture=arrays["picture"],
                bins=arrays["bins"],
                tree=arrays.get("tree"),
            )

    def _words(self) -> str:
        low, high = (short(end) for end in self.interval)
        return f"{self.kind}: {short(self.value)} in [{low}, {high}]"

    def _picture(self) -> "Figure":
        return self.plot()

    def __str__(self) -> str:
        least, most = (short(end) for end in self.optimum)
        mark = "" if self.guarantee.is_private else f" [{SEEDED_WARNING}]"
        return (
            f"{self._words()} ({self.options.confidence:.0%}, chosen after looking); "
            f"the best of the true graph in [{least}, {most}]{mark}"
        )

    def __repr__(self) -> str:
        mark = "" if self.guarantee.is_private else f", {SEEDED_WARNING}"
        size = f"{len(self.parts):,} parts of {len(self.codes):,} vertices"
        return f"Partition({self.kind!r}, {size}{mark})"

    def _card(self) -> Card:
        note = "The interval holds although the partition was chosen after looking at the release."
        hidden = "Noise hides it: the interval holds nearly all that it could be worth."
        return Card(
            title=f"Partition: {self.kind}",
            facts=(
                ("value in the release", self.value),
                ("which is", self.measure),
                ("in the true graph", _ends(self.interval)),
                ("the best of the true graph", _ends(self.optimum)),
                ("confidence", f"{self.options.confidence:.0%}, of both together"),
                *self.guarantee.facts,
            ),
            columns=("part", "vertices", "some of them"),
            rows=[
                (place, len(part), ", ".join(map(str, part[:8])))
                for place, part in enumerate(self.parts[:20], 1)
            ],
            size=len(self.parts),
            warning=self.guarantee.warning,
            notes=(note, hidden) if self.says_nothing else (note,),
        )


def _pair(stored: Sequence[float]) -> Interval:
    low, high = stored
    return float(low), float(high)


def _ends(interval: Interval) -> str:
    return f"between {short(interval[0])} and {short(interval[1])}"


def partition_of(release: "Release", kind: str, wanted: Partitioning) -> Partition:
    """See `Release.partition`."""
    known, space = check_kind(kind, wanted), release.space
    if not isinstance(space, VertexSet):
        raise GraphError(
            "partitions are of undirected graphs with one set of vertices; this release has "
            "two sides or directions"
        )
    facts = _Known.of(release, wanted.confidence)
    if kind == "clusters" and wanted.resolution is None:
        given = asdict(wanted) | {"resolution": mean_weight(facts.weights)}
        wanted = Partitioning(**given)
    found = known.search(facts.weights, wanted)
    codes = _largest_first(found.codes)
    value = worth(kind, facts.weights, FoundParts(codes, found.tree), wanted)
    interval, optimum = _PROVEN[kind](facts, codes, found.tree, wanted)
    order = np.lexsort((-np.asarray(facts.weights.sum(axis=1)), codes))
    if found.tree is not None:
        leaves = np.concatenate(merged(found.tree)[-1])
        order = leaves[np.argsort(codes[leaves], kind="stable")]
    picture, bins = _picture(facts.weights, codes, order)
    return Partition(
        kind=kind,
        options=wanted,
        vertices=space,
        codes=codes,
        value=value,
        interval=interval,
        optimum=optimum,
        guarantee=release.guarantee,
        picture=picture,
        bins=bins,
        tree=found.tree,
    )


def _largest_first(codes: IntVector) -> IntVector:
    sizes = np.bincount(codes)
    places = np.empty(len(sizes), dtype=np.int64)
    places[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    found: IntVector = places[codes]
    return found


def _picture(weights: Any, codes: IntVector, order: IntVector) -> tuple[FloatMatrix, IntVector]:
    """Mean weights between bins of vertices of one part each; of any part if there are many."""
    n, sizes = len(codes), np.bincount(codes)
    counts = np.maximum(np.minimum(sizes, sizes * _MOST_BINS // n), 1)
    pieces = [np.array_split(np.arange(size), count)
              for size, count in zip(sizes, counts, strict=True)]  # fmt: skip
    lengths = np.array([len(piece) for part in pieces for piece in part])
    if len(lengths) > 2 * _MOST_BINS:
        lengths = np.bincount(np.arange(n) * _MOST_BINS // n)
    member = np.empty(n, dtype=np.int64)
    member[order] = np.repeat(np.arange(len(lengths)), lengths)
    bins = sp.csr_array((np.ones(n), (np.arange(n), member)), shape=(n, len(lengths)))
    sums = bins.T @ (weights @ bins)
    sums = sums.toarray() if sp.issparse(sums) else np.asarray(sums)
    pairs = np.outer(lengths, lengths) - np.diag(lengths)
    first = np.cumsum(lengths) - lengths
    return sums / np.maximum(pairs, 1), np.stack([codes[order][first], lengths])


Told = tuple[Interval, Interval]  # of the value, and of the optimum


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class _Known:
    """What is known of a release: weights, and how far sums of them can be off.

    Attributes:
        release: the release.
        failure: probability with which anything that is told may be wrong.
        weights: that partitions are found in: synthetic ones, or the noisy matrix without a fit.
        noisy: the noisy matrix, None of a sparse release.
        noise: of its sums, likewise.
        total: holds the total weight of the true graph.
        distance: no cut in two of the weights differs by more from that of the noisy matrix.
    """

    release: "Release"
    failure: float
    weights: Any
    noisy: FloatMatrix | None
    noise: PartitionNoise | None
    total: Interval
    distance: float

    @classmethod
    def of(cls, release: "Release", confidence: float) -> Self:
        """Of a release."""
        failure, distance = 1 - confidence, 0.0
        noisy = noise = None
        if release.estimator.noise_name is None:
            if release.shape[0] > _MOST_SPARSE:
                raise GraphError(
                    f"partitions are found of up to {_MOST_SPARSE:,} vertices; work on "
                    "release.graph for more"
                )
            weights: Any = _adjacency(release.graph).astype(np.float64)
        else:
            noisy = np.asarray(release.noisy.estimate())
            log_failures = -math.log(failure * _FOR_EACH)
            noise = PartitionNoise(release.noisy.distribution, log_failures)
            weights = noisy
            if release.has_graph and release.certificate is not None:
                weights = _adjacency(release.expected).toarray().astype(np.float64)
                rounding = 0.0 if release.fit is None else release.fit.rounding or 0.0
                distance = release.certificate.upper + rounding
        total = release.answer(ALL, ALL, confidence=1 - failure * _FOR_TOTAL).interval
        return cls(
            release=release,
            failure=failure,
            weights=weights,
            noisy=noisy,
            noise=noise,
            total=total,
            distance=distance,
        )

    @cached_property
    def lost(self) -> Interval:
        """By how much the true total may lie below that of the noisy matrix, and above."""
        if self.noisy is None:
            return -math.inf, math.inf
        slack = ROUNDING * float(np.abs(self.noisy).sum())
        own = float(self.noisy.sum()) / 2
        return self.total[0] - own - slack, self.total[1] - own + slack

    def matrices(self) -> list[tuple[FloatMatrix, float]]:
        """Dense weights that bounds are computed of, each with its distance from the noisy ones."""
        if self.noisy is None or len(self.noisy) > MOST_PROVEN:
            return []
        return [(self.noisy, 0.0), *([(self.weights, self.distance)] if self.distance else [])]

    def between(self, codes: IntVector) -> Interval:
        """The true weight between parts, for a partition that was chosen after looking."""
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
        """The true weight within parts, likewise."""
        if self.noisy is None or self.noise is None:
            between = self.between(codes)
            low, high = self.total[0] - between[1], self.total[1] - between[0]
        else:
            sums = [self.noisy[np.ix_(each, each)].sum() / 2 for each in members_of(codes)]
            radius = self.noise.within(np.bincount(codes).tolist())
            radius += ROUNDING * float(np.abs(self.noisy).sum())
            low, high = math.fsum(sums) - radius, math.fsum(sums) + radius
        return max(low, 0.0), min(high, self.total[1])


def _adjacency(graph: AnyGraph) -> sp.csr_array:
    if not isinstance(graph, Graph):
        raise GraphError("the graph of this release has two sides or directions")
    return graph.adjacency


def _max_cut(facts: _Known, codes: IntVector, tree: object, wanted: Partitioning) -> Told:
    del tree, wanted
    m, n = facts.weights, len(codes)
    interval, most = facts.between(codes), facts.total[1]
    if facts.noise is not None:  # of signs s, a cut is (sum of weights)/4 - s'Ws/4
        bound = (float(m.sum()) + relaxed(-m)) / 4 + ROUNDING * float(np.abs(m).sum())
        most = min(most, bound + facts.distance + facts.noise.worst(n))
    return interval, (interval[0], max(most, interval[0]))


def _sparsest(facts: _Known, codes: IntVector, tree: object, wanted: Partitioning) -> Told:
    del tree
    n = len(codes)
    size = int((codes == 0).sum())
    pairs = size * (n - size)
    low, high = facts.between(codes)
    least, sides = 0.0, np.arange(wanted.smallest, n // 2 + 1)
    if facts.noise is not None and facts.matrices():
        radii = np.array([facts.noise.across(int(side), n) for side in sides])
        for matrix, distance in facts.matrices():
            each = laplacian_values(matrix)[0] / n - (radii + distance) / (sides * (n - sides))
            least = max(least, float(each.min()))
    return (low / pairs, high / pairs), (min(least, high / pairs), high / pairs)


def _balanced(facts: _Known, codes: IntVector, tree: object, wanted: Partitioning) -> Told:
    del tree, wanted
    sizes, least, interval = np.bincount(codes), 0.0, facts.between(codes)
    two = len(sizes) == 2
    if facts.noise is not None:
        lost = facts.lost[0] - facts.noise.within(sizes.tolist())
        if two:
            lost = max(lost, -facts.noise.across(int(sizes[0]), len(codes)))
        for matrix, distance in facts.matrices():
            bound = least_between(matrix, sizes) - distance * (1 if two else 2)
            least = max(least, bound + lost)
    return interval, (min(least, interval[1]), interval[1])


def _clusters(facts: _Known, codes: IntVector, tree: object, wanted: Partitioning) -> Told:
    del tree
    m, n, sizes = facts.weights, len(codes), np.bincount(codes)
    resolution = wanted.resolution or 0.0
    price = resolution * float((sizes * (sizes - 1)).sum()) / 2
    low, high = facts.within(codes)
    most = facts.total[1]
    if facts.noise is not None:
        shifted = m - resolution
        np.fill_diagonal(shifted, 0)
        shifted += _raised(shifted, codes)
        slack = ROUNDING * float(np.abs(shifted).sum()) + facts.total[1] - float(m.sum()) / 2
        bound = relaxed(shifted) / 2 + slack
        most = min(most, bound + 2 * (facts.distance + facts.noise.worst(n)))
    interval = low - price, high - price
    least = max(interval[0], 0.0)  # of parts of one vertex each
    return interval, (least, max(most, least))


def _raised(weights: FloatMatrix, codes: IntVector) -> FloatMatrix:
    """What brings the mean weight between two parts up to 0.

    Parts are told by matrices M of no entries below 0, so that weights may be raised at will in a
    bound on the largest <W, M>; the relaxation would make gains of pairs that are better apart.
    """
    members = sp.csr_array((np.ones(len(codes)), (np.arange(len(codes)), codes)))
    sizes = np.bincount(codes)
    means = (members.T @ (members.T @ weights).T) / np.outer(sizes, sizes)
    np.fill_diagonal(means, 0)
    raised: FloatMatrix = np.maximum(-means, 0)[codes][:, codes]
    return raised


def _hierarchy(facts: _Known, codes: IntVector, tree: Any, wanted: Partitioning) -> Told:
    """The cost is the sum over n levels of the weight between the clusters of a level."""
    del wanted
    n = len(codes)
    low, high = 2 * facts.total[0], n * facts.total[1]  # a pair costs 2 to n
    least = low
    if facts.noisy is not None and facts.noise is not None:
        cost = tree_cost(facts.noisy, tree)
        radius = ROUNDING * n * float(np.abs(facts.noisy).sum())
        radius += math.fsum(count * facts.noise.within(sizes) for count, sizes in levels(tree))
        low = max(low, cost + n * facts.lost[0] - radius)
        high = min(high, cost + n * facts.lost[1] + radius)
        across = 2 * facts.noise.worst(n)
        for matrix, distance in facts.matrices():
            bound = least_cost(matrix, max(facts.total[0], 0.0), across + 2 * distance)
            least = max(least, bound)
    return (low, high), (min(least, high), high)


_PROVEN: Mapping[str, Callable[[_Known, IntVector, Any, Partitioning], Told]] = {
    "max-cut": _max_cut,
    "sparsest": _sparsest,
    "balanced": _balanced,
    "clusters": _clusters,
    "hierarchy": _hierarchy,
}
