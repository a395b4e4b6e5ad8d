"""The way in: a public map and private locations in, answers of all vertices out."""

import csv
import io
import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, final

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.display import Card, Displayed
from graphcuts_dp.distances.locations import HIDDEN, PUBLIC, Locations
from graphcuts_dp.distances.metric import Metric, as_metric
from graphcuts_dp.distances.plan import DistancePlan, plan_distances
from graphcuts_dp.errors import AccuracyWarning, ParameterError, QueryError
from graphcuts_dp.files import PathLike
from graphcuts_dp.ledger.identity import identity_of_counts
from graphcuts_dp.ledger.opening import Store, Subject
from graphcuts_dp.ledger.uses import charged
from graphcuts_dp.pairs.vertices import Label, labels_or_number
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, Protect, exact_epsilon
from graphcuts_dp.privacy.noise import SEEDED_WARNING, entropy_source
from graphcuts_dp.results import bundle
from graphcuts_dp.tables.frames import made_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@final
@dataclass(frozen=True, kw_only=True)
class DistanceAnswer:
    """The answer for one vertex, in the units of the map's lengths. It may be published.

    Attributes:
        vertex: label.
        value: estimate of the average distance to all people; of noisy counts it is unbiased, so
            it may be below 0; of the learner and of sessions it is the middle of its interval.
        interval: (low, high); the intervals of all vertices, or of all guaranteed answers of a
            session, hold their true values at once with probability `confidence`, so a vertex may
            be picked by its answer.
        confidence: in (0, 1).
        guaranteed: false where a session has run out: the interval is what is possible at all.
        corrected: whether an answer of a session bought anything.
        queries_left: how many more answers a session promises; None where all are answered.
        seeded: whether the noise came from a seed, so that the answer is not private.
    """

    vertex: Label
    value: float
    interval: tuple[float, float]
    confidence: float
    guaranteed: bool = True
    corrected: bool = False
    queries_left: int | None = None
    seeded: bool = False

    def __str__(self) -> str:
        low, high = self.interval
        mark = " [seeded: not private]" if self.seeded else ""
        if not self.guaranteed:
            return f"{self.vertex}: {self.value:.4g}, no guarantee: the session has run out{mark}"
        which = "vertices" if self.queries_left is None else "queries"
        scope = f"{self.confidence:.0%}, all {which} at once"
        return f"{self.vertex}: {self.value:.4g} in [{low:.4g}, {high:.4g}] ({scope}){mark}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**vars(self), "interval": list(self.interval)}


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DistanceAnswers(Displayed):
    """Private answers for all vertices of a map. All of it may be published.

    Attributes:
        metric: the public map.
        values: estimates of the average distances, shape (V,), in the order of the vertices.
        radii: half widths of the intervals, shape (V,).
        confidence: that all intervals hold the true values at once.
        guarantee: what is promised to the people.
        plan: the mechanisms that were compared; its best one was run.
    """

    metric: Metric
    values: FloatVector
    radii: FloatVector
    confidence: float
    guarantee: PrivacyGuarantee
    plan: DistancePlan

    @property
    def mechanism(self) -> str:
        """The mechanism that was run."""
        return self.plan.best.mechanism

    @property
    def noise(self) -> str:
        """The distribution of its noise."""
        return self.plan.best.noise

    @property
    def best(self) -> DistanceAnswer:
        """The vertex with the least estimate: where to put a clinic."""
        return self._at(int(np.argmin(self.values)))

    @property
    def candidates(self) -> tuple[Label, ...]:
        """The vertices whose intervals leave it open whether they are the best one."""
        open_rows = self.values - self.radii <= (self.values + self.radii).min()
        labels = self.metric.vertices.labels
        return tuple(labels[row] for row in np.flatnonzero(open_rows).tolist())

    def answer(self, vertex: Label) -> DistanceAnswer:
        """The answer of one vertex.

        Raises:
            QueryError: it is not on the map.
        """
        return self._at(self.metric.row(vertex))

    def all(self) -> list[DistanceAnswer]:
        """The answers of all vertices, in their order."""
        return [self._at(row) for row in range(len(self.values))]

    def _at(self, row: int) -> DistanceAnswer:
        value, radius = float(self.values[row]), float(self.radii[row])
        return DistanceAnswer(
            vertex=self.metric.vertices.labels[row],
            value=value,
            interval=(value - radius, value + radius),
            confidence=self.confidence,
            seeded=not self.guarantee.is_private,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: guarantee, plan, answers."""
        return {
            "guarantee": self.guarantee.to_dict(),
            "mechanism": self.mechanism,
            "noise": self.noise,
            "noise_parameters": [str(p) for p in self.plan.best.built.noise_parameters],
            "confidence": self.confidence,
            "plan": self.plan.to_dict(),
            "best": self.best.vertex,
            "answers": [
                {"vertex": a.vertex, "value": a.value, "interval": list(a.interval)}
                for a in self.all()
            ],
        }

    def save(self, path: PathLike, *, force: bool = False) -> tuple[str, str]:
        """Write the answers as CSV, and a receipt (`path`.json) beside it.

        Args:
            path: of the CSV file, with columns vertex, value, low, high; of a seeded run also
                mark, which says in every row that it is not private.
            force: replace files that are there.

        Returns:
            The paths of both files.

        Raises:
            FileFormatError: a file cannot be written, or is there.
        """
        fields = self.to_dict()
        del fields["guarantee"]
        names = bundle.save(
            "distances", path, self.guarantee, fields, table=self._write, force=force
        )
        return names[0], names[1]

    def _write(self, handle: BinaryIO) -> None:
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        # A column, since a comment would be taken for the heads of the columns.
        head, mark = ((), ()) if self.guarantee.is_private else (("mark",), (SEEDED_WARNING,))
        table.writerow(("vertex", "value", "low", "high", *head))
        table.writerows((a.vertex, a.value, *a.interval, *mark) for a in self.all())
        handle.write(text.getvalue().encode())

    def plot(self, *, unit: str = "") -> "Figure":
        """Draw the map, coloured by the answers; at points of a layout if it has no coordinates.

        Args:
            unit: of the lengths, for the legend.

        Returns:
            A figure of matplotlib.
        """
        from graphcuts_dp.plotting import distance_map  # matplotlib is slow to import

        metric = self.metric
        entries = metric.lengths.tocoo()
        once = (entries.row < entries.col) & (metric.positions is None)  # else all pairs are edges
        edges = np.column_stack([entries.row[once], entries.col[once]]).astype(np.int64)
        points = metric.coordinates
        if points is None:
            points = distance_map.layout(edges, entries.data[once], len(metric))
        best = self.best
        possible = set(self.candidates)
        drawing = distance_map.DistanceMap(
            points=points,
            edges=edges,
            values=self.values,
            possible=np.array([label in possible for label in metric.vertices.labels]),
            best=metric.row(best.vertex),
            label=f"{best.vertex}  {best.value:,.4g}{f' {unit}' if unit else ''}",
            title=f"How far all people are, on average (epsilon = {self.guarantee.epsilon:g}"
            f"{'' if self.guarantee.is_private else ', seeded: not private'})",
            unit=unit,
        )
        return distance_map.distance_map_figure(drawing)

    def to_frame(self, kind: Any = None) -> Any:
        """One row a vertex, as `Graph.to_frame`: vertex, value, low, high."""
        rows = [(answer.vertex, answer.value, *answer.interval) for answer in self.all()]
        names = ("vertex", "value", "low", "high")
        return made_frame({name: [row[i] for row in rows] for i, name in enumerate(names)}, kind)

    def _card(self) -> Card:
        order = np.argsort(self.values, kind="stable").tolist()
        shown = [self._at(row) for row in order[:20]]
        return Card(
            title="Average distances to all people",
            facts=(
                ("map", self.plan.title),
                ("choice", self.plan.reason),
                ("may be the best", f"{len(self.candidates)} of {len(order)} vertices"),
                *self.guarantee.facts,
            ),
            columns=("vertex", "distance", "low", "high"),
            rows=[(a.vertex, a.value, *a.interval) for a in shown],
            size=len(order),
            warning=self.guarantee.warning,
            notes=(f"Nearest first; all intervals hold at once, {self.confidence:.0%}.",),
        )

    def __repr__(self) -> str:
        mark = "" if self.guarantee.is_private else f", {SEEDED_WARNING}"
        return (
            f"DistanceAnswers({len(self.values)} vertices, "
            f"epsilon={self.guarantee.epsilon:g}, mechanism={self.mechanism!r}{mark})"
        )

    def __str__(self) -> str:
        return (
            f"{self.guarantee}\n{self.plan.title}\nchoice: {self.plan.reason}\nbest: {self.best}\n"
            f"vertices that may be the best: {len(self.candidates)}"
        )


def answer_distances(
    map_graph: Any,
    locations: Locations | PathLike | Mapping[Label, int] | Iterable[Label],
    *,
    epsilon: float,
    delta: float = 0.0,
    at_most: int = 1,
    store: PathLike | Store | None = None,
    mechanism: str = "auto",
    noise: str = "auto",
    confidence: float = 0.95,
    seed: int | None = None,
) -> DistanceAnswers:
    """Release the average distance of every vertex of a public map to all people, privately.

    Guarantee: (epsilon, delta)-differential privacy for a change of one person's location. The map
    and the number of people are public. Everything after the noisy counts is post-processing.

    Args:
        map_graph: the public map: a `Metric`, `Graph` (weights are lengths), or graph of networkx
            or igraph.
        locations: a `Locations` on that map, labels (one a person), numbers of people by label, or
            the path of a CSV file, see `Locations.read`.
        epsilon: privacy parameter, in [1e-6, 50].
        delta: in [0, 1); 0 for pure privacy.
        at_most: how many people are protected together.
        store: path of the store, or a `Store`, that remembers what was spent on these locations;
            None for locations of which nothing else is ever released.
        mechanism: "auto" (the least guaranteed error), "tree-counts", "histogram", "per-query"
            or "learner" (HR12's, on an l1 embedding of the map).
        noise: "auto", "laplace" or "gaussian" (which needs a delta).
        confidence: that the intervals of all vertices hold at once.
        seed: for tests and figures only: what comes out is then not private.

    Raises:
        ParameterError: a number out of range, or an unknown name.
        GraphError: a map that is not connected, or has lengths that are not positive.
        QueryError: locations that are not on the map, or none.
        FileFormatError: a file of locations that cannot be read.
        BudgetError: the budget of the store does not allow it, or the mechanism as built costs
            more than was asked for. Nothing was spent.
        LedgerError: the store cannot be used.

    Warns:
        AccuracyWarning: half the diameter for every vertex guarantees as much.

    Examples:
        >>> street = gc.distances.Metric.path(100)
        >>> homes = gc.distances.Locations.from_labels(street, [10, 40, 70] * 100)
        >>> best = gc.distances.answer_distances(street, homes, epsilon=1.0).best.vertex  # near 40
    """
    metric = as_metric(map_graph)
    source = entropy_source(seed)
    placed = placed_on(metric, locations)
    plan = plan_distances(
        metric,
        people=placed.people,
        epsilon=epsilon,
        delta=delta,
        at_most=at_most,
        confidence=confidence,
        mechanism=mechanism,
        noise=noise,
    )
    if plan.vacuous:
        warnings.warn(plan.reason, AccuracyWarning, stacklevel=2)
    built = plan.best.built
    protection = Protect.of_people(at_most)
    cost = protection.cost(built.cost, epsilon=exact_epsilon(epsilon), delta=delta)
    guarantee = PrivacyGuarantee(
        epsilon=cost.epsilon,
        delta=cost.delta,
        neighbours=HIDDEN,
        public=PUBLIC,
        seed=source.seed,
    )
    guarantee = protection.promise(guarantee, cost)
    with charged(
        store,
        locations_subject(placed),
        kind="distances",
        parameters={"mechanism": built.name},
        cost=cost,
        guarantee=guarantee,
    ):
        answered = built.answered(placed, source, confidence=confidence)
    return DistanceAnswers(
        metric=metric,
        values=answered.values,
        radii=answered.radii + 1e-9 * metric.diameter,  # the rounding of floats
        confidence=confidence,
        guarantee=guarantee,
        plan=plan,
    )


def locations_subject(placed: Locations) -> Subject:
    """Locations as the subject of a ledger: where people are is private, how many is not."""
    schema = {
        "kind": "locations",
        "vertices": [labels_or_number(placed.metric.vertices)],
        "people": placed.people,
    }
    return Subject(schema, partial(identity_of_counts, placed.counts))


def placed_on(metric: Metric, locations: Any) -> Locations:
    """Locations on a map, from whatever users have.

    Raises:
        QueryError: locations on another map, or that are not on this one.
        ParameterError: something that holds no locations.
        FileFormatError: a file that cannot be read.
    """
    if isinstance(locations, Locations):
        if locations.metric is not metric and locations.metric.vertices != metric.vertices:
            raise QueryError("these locations are on another map; make them from this one")
        return Locations(metric, locations.counts)
    if isinstance(locations, str | os.PathLike):
        return Locations.read(metric, locations)
    if isinstance(locations, Mapping):
        return Locations.from_counts(metric, locations)
    if isinstance(locations, Iterable):
        return Locations.from_labels(metric, locations)
    raise ParameterError("locations are a Locations, labels, numbers by label, or a CSV file")
