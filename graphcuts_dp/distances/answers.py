"""Answer the average distances from all vertices of a public map to private locations.

`answer_distances` is the public function. `plan_distances` chooses the mechanism from public
numbers alone.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatVector
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE, percent
from graphcuts_dp.display import MOST_PICTURED, Card, Displayed, Tabled
from graphcuts_dp.distances.counts import NoisySums, histogram, per_query, tree_counts
from graphcuts_dp.distances.embeddings import embeddings_of, has_small_exact_embedding
from graphcuts_dp.distances.learner import L1Learner, best_learner
from graphcuts_dp.distances.locations import NEIGHBOURS, PUBLIC, Locations, checked_people
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.errors import AccuracyWarning, ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.frames import made_frame
from graphcuts_dp.ledger.charges import begin_charge
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.ledger.public_inputs import public_digest
from graphcuts_dp.options import check_probability
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.count_noise import COUNT_NOISES, count_noise
from graphcuts_dp.privacy.entropy import SEEDED_WARNING, Seed, entropy_source
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.results import bundle
from graphcuts_dp.results.packing import ResultParts, pack, unpack
from graphcuts_dp.schema.vertices import Label, labels_or_number
from graphcuts_dp.session.base import Answer
from graphcuts_dp.session.transcript import answer_to_dict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOISES = ("auto", *COUNT_NOISES)
_COUNTS = {"tree-counts": tree_counts, "histogram": histogram, "per-query": per_query}
MECHANISMS = ("auto", *_COUNTS, L1Learner.name)
_MOST_FOR_PER_QUERY = 8192  # vertices up to which "auto" tries noise on each answer
_MOST_COORDINATES = 64  # of the embedding, up to which "auto" tries the learner
_COLUMNS = ("vertex", "value", "low", "high")  # of tables of answers


@final
@dataclass(frozen=True, eq=False)
class DistancePlanRow:
    """A mechanism and its guaranteed error, in the units of the map's lengths.

    Attributes:
        mechanism: the name that `answer_distances` takes.
        noise: "laplace" or "gaussian".
        guaranteed: bound on the errors of all answers, with the plan's confidence. Proven.
        typical: the largest standard deviation of an answer; None if there is no formula.
        built: the mechanism with its noise, ready to run.
    """

    mechanism: str
    noise: str
    guaranteed: float
    typical: float | None
    built: NoisySums | L1Learner

    @property
    def name(self) -> str:
        """The mechanism and its noise, such as "tree-counts, laplace"."""
        return f"{self.mechanism}, {self.noise}"


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DistancePlan(Tabled):
    """Mechanisms for one map, number of people and budget, best first. Reads no data.

    Attributes:
        metric: the map.
        people: n.
        epsilon: of the budget.
        delta: of the budget.
        confidence: of the guaranteed errors, for all vertices at once.
        rows: by guaranteed error.

    Examples:
        >>> city = gc.distances.Metric.grid(3, 4)
        >>> plan = gc.distances.plan_distances(city, people=1000, epsilon=1.0)
        >>> len(plan.rows) > 0
        True
    """

    metric: Metric
    people: int
    epsilon: float
    delta: float
    confidence: float
    rows: tuple[DistancePlanRow, ...]

    @property
    def best(self) -> DistancePlanRow:
        """The row with the least guaranteed error."""
        return self.rows[0]

    @property
    def trivial(self) -> float:
        """The guaranteed error of the trivial answer, half the diameter for every vertex."""
        return self.metric.diameter / 2

    @property
    def vacuous(self) -> bool:
        """True if even the best mechanism guarantees no more than the trivial answer."""
        return self.best.guaranteed >= self.trivial

    @cached_property
    def reason(self) -> str:
        """The reason for the choice of the best mechanism, in a sentence."""
        best = self.best
        if self.vacuous and len({row.mechanism for row in self.rows}) == 1:
            return (
                f"{best.mechanism} guarantees no less error than the answer {self.trivial:.4g} for "
                "every vertex: try mechanism 'auto', raise epsilon, or ask more people"
            )
        if self.vacuous:
            return (
                f"nothing beats the answer {self.trivial:.4g} for every vertex: raise epsilon, "
                "or ask more people"
            )
        text = f"{best.name} guarantees {best.guaranteed:.4g} for all vertices at once"
        for other in self.rows:
            if other.mechanism != best.mechanism:
                times = other.guaranteed / best.guaranteed
                return f"{text}, {times:.2g} times less than {other.name}"
        return text

    @property
    def title(self) -> str:
        """The setting in words."""
        return (
            f"{self.metric.kind} of {len(self.metric):,} vertices, diameter "
            f"{self.metric.diameter:.4g}, {self.people:,} people, epsilon = {self.epsilon:g}, "
            f"delta = {self.delta:g}"
        )

    def _card(self) -> Card:
        """Return the card of all rows, and of the trivial answer."""
        rows = [
            (row.guaranteed, row.name, "-" if row.typical is None else f"{row.typical:.4g}")
            for row in self.rows
        ]
        rows.append((self.trivial, "half the diameter (no data)", "-"))
        return Card(
            title=self.title,
            columns=("mechanism", f"guaranteed ({percent(self.confidence)})", "typical"),
            rows=[(name, f"{error:.4g}", typical) for error, name, typical in sorted(rows)],
            notes=(f"Choice: {self.reason}",),
        )

    def __repr__(self) -> str:
        return f"DistancePlan({len(self.rows)} mechanisms, best={self.best.name!r})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, by the names of the attributes."""
        names = "people", "epsilon", "delta", "confidence", "trivial", "reason"
        row_names = "mechanism", "noise", "guaranteed", "typical"
        return {
            "map": self.metric.kind,
            "vertices": len(self.metric),
            "diameter": self.metric.diameter,
            **{name: getattr(self, name) for name in names},
            "rows": [{name: getattr(row, name) for name in row_names} for row in self.rows],
        }


@final
@dataclass(frozen=True, kw_only=True)
class DistanceAnswer(Answer):
    """The answer for one vertex, in the units of the map's lengths. It may be published.

    Of noisy counts the value is unbiased, so it may be below 0; of the learner and of sessions it
    is the middle of its interval. The intervals of all vertices, or of all guaranteed answers of a
    session, hold at once, so a vertex may be picked by its answer.

    Attributes:
        vertex: its label.

    Examples:
        >>> city = gc.distances.Metric.grid(3, 4)
        >>> answers = gc.distances.answer_distances(city, [0, 0, 5, 11], epsilon=1.0)
        >>> low, high = answers.answer(0).interval
        >>> low <= answers.answer(0).value <= high
        True
    """

    vertex: Label

    def __str__(self) -> str:
        low, high = self.interval
        mark = " [seeded: not private]" if self.seeded else ""
        if not self.guaranteed:
            return f"{self.vertex}: {self.value:.4g}, no guarantee: the session has run out{mark}"
        # A session counts its remaining queries; a release answers all vertices.
        answered = "vertices" if self.queries_left is None else "queries"
        scope = f"{percent(self.confidence)}, all {answered} at once"
        return f"{self.vertex}: {self.value:.4g} in [{low:.4g}, {high:.4g}] ({scope}){mark}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"vertex": self.vertex, **answer_to_dict(self)}


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DistanceAnswers(Displayed):
    """Private answers for all vertices of a map. All of it may be published.

    Attributes:
        metric: the public map.
        values: estimates of the average distances, shape (V,), in the order of the vertices.
        radii: half widths of the intervals, shape (V,).
        confidence: that all intervals hold the true values at once.
        guarantee: of differential privacy, for the people.
        plan: the mechanisms that were compared; its best one was run.

    Examples:
        >>> city = gc.distances.Metric.grid(3, 4)
        >>> answers = gc.distances.answer_distances(city, [0, 0, 5, 11], epsilon=1.0)
        >>> low, high = answers.answer(0).interval
        >>> low <= answers.answer(0).value <= high
        True
    """

    metric: Metric
    values: FloatVector
    radii: FloatVector
    confidence: float
    guarantee: PrivacyGuarantee
    plan: DistancePlan

    @property
    def best(self) -> DistanceAnswer:
        """The vertex with the least estimate: where to put a clinic."""
        return self._answer_of_row(int(np.argmin(self.values)))

    @cached_property
    def possible(self) -> BoolVector:
        """True for `candidates`, shape (V,): vertices that may be the best one."""
        return np.asarray(self.values - self.radii <= (self.values + self.radii).min())

    @property
    def candidates(self) -> tuple[Label, ...]:
        """The vertices that may be the best one: none has an interval wholly below theirs."""
        labels = self.metric.vertices.labels
        return tuple(labels[row] for row in np.flatnonzero(self.possible).tolist())

    def answer(self, vertex: Label) -> DistanceAnswer:
        """Return the answer of one vertex.

        Args:
            vertex: its label.

        Raises:
            QueryError: it is not on the map.
        """
        return self._answer_of_row(self.metric.row(vertex))

    def all(self) -> list[DistanceAnswer]:
        """Return the answers of all vertices, in their order."""
        return [self._answer_of_row(row) for row in range(len(self.values))]

    def _answer_of_row(self, row: int) -> DistanceAnswer:
        value, radius = float(self.values[row]), float(self.radii[row])
        return DistanceAnswer(
            vertex=self.metric.vertices.labels[row],
            value=value,
            interval=(value - radius, value + radius),
            confidence=self.confidence,
            seeded=not self.guarantee.is_private,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: guarantee, plan, answers."""
        best = self.plan.best
        return {
            "guarantee": self.guarantee.to_dict(),
            "mechanism": best.mechanism,
            "noise": best.noise,
            "noise_parameters": [str(p) for p in best.built.noise_parameters],
            "confidence": self.confidence,
            "plan": self.plan.to_dict(),
            "best": self.best.vertex,
            "answers": [
                {"vertex": vertex, "value": value, "interval": interval}
                for vertex, value, *interval in self._rows
            ],
        }

    @cached_property
    def _rows(self) -> list[tuple[Any, ...]]:
        """The answers as rows of `_COLUMNS`."""
        return [(answer.vertex, answer.value, *answer.interval) for answer in self.all()]

    def save(
        self, path: PathLike, *, force: bool = False, spreadsheet: bool = False
    ) -> tuple[str, str]:
        """Write the answers as CSV, and a receipt (`path`.json) beside it.

        Args:
            path: of the CSV file, with columns vertex, value, low, high; of a seeded run also
                mark, which says in every row that it is not private.
            force: replace files that are there.
            spreadsheet: put an apostrophe before labels that a spreadsheet would run as formulas.

        Returns:
            The paths of both files.

        Raises:
            FileFormatError: a file cannot be written, or is there.
        """
        fields = self.to_dict()
        del fields["guarantee"]
        parts = ResultParts(
            kind="distances", guarantee=self.guarantee, fields=fields, table=self._table
        )
        table_path, receipt_path = bundle.save(parts, path, force=force, spreadsheet=spreadsheet)
        return table_path, receipt_path

    @property
    def _table(self) -> dict[str, Any]:
        """The columns of the answers, by name."""
        return dict(zip(_COLUMNS, zip(*self._rows, strict=True), strict=True))

    def plot(self, *, unit: str = "") -> "Figure":
        """Draw the map, coloured by the answers; at points of a layout if it has no coordinates.

        Args:
            unit: of the lengths, for the legend.

        Returns:
            A figure of matplotlib.
        """
        # matplotlib is slow to import
        from graphcuts_dp.plotting.distance_map import distance_map_figure

        entries = self.metric.lengths.tocoo()
        is_drawn = entries.row < entries.col  # each edge once
        if self.metric.positions is not None:
            is_drawn[:] = False  # between points of a plane all pairs are edges: draw none
        best = self.best
        low, high = np.array([row[2:] for row in self._rows], dtype=np.float64).T
        radii = (high - low) / 2
        radius_texts = dict.fromkeys((f"{radii.min():,.2g}", f"{radii.max():,.2g}"))
        seeded = "" if self.guarantee.is_private else ", seeded: not private"
        return distance_map_figure(
            self.metric.coordinates,
            np.column_stack([entries.row[is_drawn], entries.col[is_drawn]]).astype(np.int64),
            entries.data[is_drawn],
            values=self.values,
            possible=self.possible,
            label=f"{best.vertex}  {best.value:,.4g} {unit}".rstrip(),
            error=f"simultaneous intervals ({percent(self.confidence)}): "
            + f"{' to '.join(radius_texts)} {unit}".rstrip()
            + " to both sides",
            title="How far all people are, on average"
            f" (epsilon = {self.guarantee.epsilon:g}{seeded})",
            unit=unit,
        )

    def to_frame(self, kind: Any = None) -> Any:
        """Return one row a vertex, as `Graph.to_frame`: vertex, value, low, high.

        Args:
            kind: library of the frame, such as `pandas`; the one that is installed if None.
        """
        return made_frame({name: list(column) for name, column in self._table.items()}, kind)

    def _picture(self) -> "Figure | None":
        return self.plot() if len(self.values) <= MOST_PICTURED else None

    def _card(self) -> Card:
        nearest = np.argsort(self.values, kind="stable").tolist()
        return Card(
            title="Average distances to all people",
            facts=(
                ("map", self.plan.title),
                ("choice", self.plan.reason),
                ("may be the best", f"{len(self.candidates)} of {len(nearest)} vertices"),
                *self.guarantee.facts,
            ),
            columns=("vertex", "distance", "low", "high"),
            rows=[self._rows[row] for row in nearest],
            warning=self.guarantee.warning,
            notes=(f"Nearest first; all intervals hold at once, {percent(self.confidence)}.",),
        )

    def __repr__(self) -> str:
        mark = "" if self.guarantee.is_private else f", {SEEDED_WARNING}"
        return (
            f"DistanceAnswers({len(self.values)} vertices, "
            f"epsilon={self.guarantee.epsilon:g}, mechanism={self.plan.best.mechanism!r}{mark})"
        )

    def __str__(self) -> str:
        return (
            f"{self.guarantee}\n{self.plan.title}\nchoice: {self.plan.reason}\nbest: {self.best}\n"
            f"vertices that may be the best: {len(self.candidates)}"
        )


@refuses_former_options(at_most="group_size")
def answer_distances(
    map_graph: Any,
    locations: Locations | PathLike | Mapping[Label, int] | Iterable[Label],
    *,
    epsilon: float,
    delta: float = 0.0,
    group_size: int = 1,
    store: PathLike | Store | None = None,
    mechanism: str = "auto",
    noise: str = "auto",
    confidence: float = DEFAULT_CONFIDENCE,
    seed: Seed | None = None,
) -> DistanceAnswers:
    """Release the average distance of every vertex of a public map to all people, privately.

    Guarantee: (epsilon, delta)-differential privacy for a change of one person's location. The map
    and the number of people are public. Everything after the noisy counts is post-processing.

    Args:
        map_graph: the public map: a `Metric`, `Graph` (weights are lengths), or graph of networkx
            or igraph.
        locations: a `Locations` on that map, labels (one a person), numbers of people by label, a
            table with the columns of `Locations.read`, or the path of a CSV file, see there.
        epsilon: privacy parameter, in [1e-6, 50].
        delta: in [0, 1); 0 for pure privacy.
        group_size: how many people together are one privacy unit.
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
        QueryError: locations that are not on the map, or no people.
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
    metric, source = Metric.of(map_graph), entropy_source(seed)
    private_locations = Locations.of(metric, locations)
    plan = plan_distances(
        metric,
        people=private_locations.people,
        epsilon=epsilon,
        delta=delta,
        group_size=group_size,
        confidence=confidence,
        mechanism=mechanism,
        noise=noise,
    )
    if plan.vacuous:
        warnings.warn(plan.reason, AccuracyWarning, stacklevel=3)
    built = plan.best.built
    cost, guarantee = guarantee_of_people(
        PrivacyUnit.person(group_size),
        built.budget_plan,
        epsilon=epsilon,
        delta=delta,
        seed=source.seed,
    )
    charge = begin_charge(
        store,
        private_locations.subject,
        kind="distances",
        parameters={"mechanism": built.name},
        cost=cost,
        guarantee=guarantee,
        inputs=_digest_of_inputs(metric, confidence),
        stacklevel=3,
    )
    if charge.measurement is None:
        values, radii = built.answer_all(private_locations, source, confidence=confidence)
        charge = charge.keep(pack(_kept_parts(values, radii, guarantee)), {})
    else:
        arrays = unpack(charge.measurement.content, charge.provenance).arrays()
        values, radii = arrays["values"], arrays["radii"]
    return DistanceAnswers(
        metric=metric,
        values=values,
        radii=radii + 1e-9 * metric.diameter,  # the rounding of floats
        confidence=confidence,
        guarantee=guarantee.released_as(charge.provenance),
        plan=plan,
    )


@refuses_former_options(at_most="group_size")
def plan_distances(
    map_graph: Any,
    *,
    people: int,
    epsilon: float,
    delta: float = 0.0,
    group_size: int = 1,
    confidence: float = DEFAULT_CONFIDENCE,
    mechanism: str = "auto",
    noise: str = "auto",
) -> DistancePlan:
    """Compare what mechanisms would guarantee for all vertices of a map. Reads no locations.

    Args:
        map_graph: the public map: a `Metric`, `Graph`, or graph of networkx or igraph.
        people: n, public, at least 1.
        epsilon: privacy parameter of one person's location, in [1e-6, 50].
        delta: in [0, 1); at 0 there is no Gaussian noise.
        group_size: how many people together are one privacy unit.
        confidence: of the guaranteed errors, in (0, 1).
        mechanism: one of `MECHANISMS`, or "auto" for all that may be the best: not "per-query" on
            large maps that are no trees, and not "learner" if its embedding is not exact, has many
            coordinates, or guarantees nothing. Mechanisms whose noise needs integers of more than
            64 bits are left out, too.
        noise: one of `NOISES`; "auto" for both distributions.

    Raises:
        ParameterError: a number out of range, an unknown name, Gaussian noise without delta, or a
            map of a single vertex.
        GraphError: a map that is not connected, or has lengths that are not positive.

    Examples:
        >>> city = gc.distances.Metric.grid(3, 4)
        >>> plan = gc.distances.plan_distances(city, people=1000, epsilon=1.0)
        >>> len(plan.rows) > 0
        True
    """
    metric = Metric.of(map_graph)
    checked_people(people)
    check_terms(metric, delta=delta, confidence=confidence)
    budget: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "privacy_unit": PrivacyUnit.person(group_size),
    }
    rows: list[DistancePlanRow] = []
    refusals: list[ParameterError] = []
    for name, distribution in _mechanisms_to_try(metric, mechanism, noise, delta):
        built: NoisySums | L1Learner
        try:
            if name == L1Learner.name:
                built = learner_for(
                    metric, people, None, distribution=distribution, confidence=confidence, **budget
                )
            else:
                epsilon_of_noise = epsilon_for_one_person(distribution, **budget)
                built = _COUNTS[name](
                    metric, people, distribution=distribution, epsilon=epsilon_of_noise, delta=delta
                )
            guaranteed = float(built.radii(confidence=confidence).max())
        except ParameterError as refusal:  # a number out of range, or noise beyond 64 bits
            refusals.append(refusal)
            continue
        if mechanism == "auto" and name == L1Learner.name and guaranteed >= metric.diameter / 2:
            continue  # its intervals are as long as the diameter: no better than no data
        rows.append(DistancePlanRow(name, distribution, guaranteed, built.typical, built))
    if not rows:
        raise refusals[0]
    return DistancePlan(
        metric=metric,
        people=people,
        epsilon=float(epsilon),
        delta=float(delta),
        confidence=confidence,
        rows=tuple(sorted(rows, key=lambda row: row.guaranteed)),
    )


def _mechanisms_to_try(
    metric: Metric, mechanism: str, noise: str, delta: float
) -> Iterator[tuple[str, str]]:
    """Yield names of mechanisms and noises for the options of `plan_distances`.

    Raises:
        ParameterError: an unknown name, or Gaussian noise without delta.
    """
    for option, value, known in (("mechanism", mechanism, MECHANISMS), ("noise", noise, NOISES)):
        if value not in known:
            raise ParameterError(f"unknown {option} {value!r}; choose one of {', '.join(known)}")
    if noise != "auto" and not count_noise(noise).pure and delta == 0:
        raise ParameterError("Gaussian noise needs a delta above 0, for example 1e-6")
    names = [mechanism]
    if mechanism == "auto":
        names = ["tree-counts", "histogram"]
        if metric.tree is not None or len(metric) <= _MOST_FOR_PER_QUERY:
            names.append("per-query")
        if has_small_exact_embedding(metric, most_coordinates=_MOST_COORDINATES):
            names.append(L1Learner.name)
    for name in names:
        for kind in COUNT_NOISES if noise == "auto" else (noise,):
            if count_noise(kind).pure or delta > 0:
                yield name, kind


def check_terms(metric: Metric, *, delta: float, confidence: float) -> None:
    """Refuse a map, a delta or a confidence for which nothing can be guaranteed.

    Raises:
        ParameterError: a number out of range, or a map of a single vertex.
    """
    check_probability("delta", delta, zero=True)
    check_probability("confidence", confidence)
    if 1 - confidence == 1:  # a confidence so small that floats round the failure probability
        raise ParameterError(f"confidence must be between 0 and 1, not {confidence}")
    if len(metric) < 2:
        raise ParameterError("a map with one vertex has no distances; give at least two")


def epsilon_for_one_person(
    distribution: str, *, privacy_unit: PrivacyUnit, epsilon: float | Fraction, delta: float
) -> float | Fraction:
    """Return the epsilon for one person, of whom the privacy unit has one or several.

    Args:
        distribution: "laplace" or "gaussian".
        privacy_unit: the people that change together.
        epsilon: of the privacy unit, in [1e-6, 50].
        delta: of the privacy unit.

    Raises:
        ParameterError: a number out of range, or too little remains for one person.
    """
    exact = exact_epsilon(epsilon)
    if count_noise(distribution).pure:
        return privacy_unit.per_change(exact)
    return privacy_unit.budget_per_change(epsilon=exact, delta=delta, zcdp=True)[0]


def learner_for(
    metric: Metric,
    people: int,
    queries: int | None,
    *,
    distribution: str,
    confidence: float,
    delta: float,
    **budget: Any,
) -> L1Learner:
    """Return the learner on the best embedding of a map.

    Args:
        metric: the map.
        people: n.
        queries: see `L1Learner`.
        distribution: "laplace" or "gaussian".
        confidence: of guaranteed intervals.
        delta: of the privacy unit.
        budget: epsilon and privacy unit, as for `epsilon_for_one_person`.

    Raises:
        ParameterError: a number out of range, or a map that is too large to embed.
    """
    return best_learner(
        embeddings_of(metric),
        people=people,
        queries=queries,
        epsilon=epsilon_for_one_person(distribution, delta=delta, **budget),
        delta=0.0 if count_noise(distribution).pure else delta,
        beta=1 - confidence,
    )


def guarantee_of_people(
    privacy_unit: PrivacyUnit, plan: BudgetPlan, *, epsilon: float, delta: float, seed: int | None
) -> tuple[Cost, PrivacyGuarantee]:
    """Return the cost of a mechanism for the privacy unit, and the guarantee.

    Args:
        privacy_unit: the people that change together.
        plan: the budget plan of the mechanism, for one person.
        epsilon: of the privacy unit.
        delta: of the privacy unit.
        seed: of the noise, or None; a seed voids the guarantee.

    Raises:
        BudgetError: it costs more than was asked for.
    """
    cost = privacy_unit.cost(plan.cost, epsilon=exact_epsilon(epsilon), delta=delta)
    guarantee_for_one = PrivacyGuarantee(
        epsilon=cost.epsilon,
        delta=cost.delta,
        neighbours=NEIGHBOURS,
        public=PUBLIC,
        seed=seed,
        budget_plan=plan.with_certain_runs(),
    )
    return cost, privacy_unit.guarantee(guarantee_for_one, cost)


def _digest_of_inputs(metric: Metric, confidence: float) -> str:
    """Return the digest of the map and the confidence: a use is resumed only with the same ones.

    The answers that a store keeps have intervals of one confidence. The digest leaves out the
    default confidence, since uses of earlier versions have the digest of their map alone.
    """
    lengths = metric.lengths
    vertices = labels_or_number(metric.vertices)
    inputs: list[Any] = [vertices, lengths.indptr, lengths.indices, lengths.data, metric.p]
    if confidence != DEFAULT_CONFIDENCE:
        inputs.append(confidence)
    return public_digest(*inputs)


def _kept_parts(
    values: FloatVector, radii: FloatVector, guarantee: PrivacyGuarantee
) -> ResultParts:
    """Return what a store keeps: the answers, without the public map."""
    arrays = {"values": values, "radii": radii}
    return ResultParts(kind="distances", guarantee=guarantee, fields={}, arrays=arrays)
