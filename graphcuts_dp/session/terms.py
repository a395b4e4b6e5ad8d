"""What a session is agreed on: its method, its workload, its privacy, and its privacy unit.

Each is an object of options: Python, the command line and HTTP are made from them. Sessions, the
planner and the audits read the table `METHODS`: a new method is an object here, or the line of its
update rule in `learn.constructions`, and a mechanism in a file of its own. The file is long, since
every option of a session is described here and nowhere else.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, ClassVar, Self, cast

from graphcuts_dp.display import up_to_digits
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.final_classes import final
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.calibrations import CALIBRATIONS
from graphcuts_dp.learn.constructions import BUILT_IN, CONSTRUCTIONS, learner_of
from graphcuts_dp.learn.learners import OWN, Learner, MedianLearner, OwnLearner
from graphcuts_dp.learn.norms import NORM_HELP
from graphcuts_dp.learn.parameters import SessionParameters
from graphcuts_dp.learn.sizes import CutSizes, size_of
from graphcuts_dp.learn.workload import SessionWorkload, Setting
from graphcuts_dp.options import PRIVACY, Checked, option
from graphcuts_dp.plug_ins import PlugInTable
from graphcuts_dp.privacy.composition import as_stored
from graphcuts_dp.privacy.default_unit import EDGE
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON, PrivacyGuarantee
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.session.base import CutMechanism
from graphcuts_dp.session.online import GROUPS, STARTS, TOTAL, OnlineMechanism
from graphcuts_dp.session.plain import BinaryAnswers, PerQueryNoise
from graphcuts_dp.session.queries import BOUNDED

_STEPS = 12  # of a bisection on the logarithm of epsilon: two digits


class Method(ABC, Checked):
    """How a session answers.

    Attributes:
        name: as it is typed.
        linear: whether it answers every linear query, where that was announced.
        needs_delta: whether it is for delta > 0.
    """

    name: ClassVar[str]
    linear: ClassVar[bool] = False
    needs_delta: ClassVar[bool] = False

    @abstractmethod
    def mechanism(self, terms: "SessionTerms", universe: Universe, grid: Grid) -> CutMechanism[Any]:
        """The mechanism that a session of these terms runs. Reads nothing private.

        Args:
            terms: the agreement of the session.
            universe: the public vertex pairs.
            grid: how weights are counted.

        Raises:
            ParameterError: terms that do not suit it.
        """


@dataclass(frozen=True, kw_only=True)
class _NoiseOnEach(Method):
    linear = True

    def mechanism(self, terms: "SessionTerms", universe: Universe, grid: Grid) -> PerQueryNoise:
        """See `Method.mechanism`."""
        return PerQueryNoise(
            distribution=cast(Any, self.name),
            universe=universe,
            grid=grid,
            epsilon=terms.epsilon,
            queries=terms.workload.queries,
            delta=terms.delta if self.needs_delta else 0.0,
            beta=terms.workload.beta,
            steps=terms.privacy_unit.group_size,
        )


@final
@dataclass(frozen=True, kw_only=True)
class Gaussian(_NoiseOnEach):
    """Discrete Gaussian noise on each answer."""

    name = "gaussian"
    needs_delta = True


@final
@dataclass(frozen=True, kw_only=True)
class Laplace(_NoiseOnEach):
    """Discrete Laplace noise on each answer: pure differential privacy."""

    name = "laplace"


@final
@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(Method):
    """Binary randomised response of all pairs, once: pure differential privacy."""

    name = "binary"

    def mechanism(self, terms: "SessionTerms", universe: Universe, grid: Grid) -> BinaryAnswers:
        """See `Method.mechanism`."""
        if grid.bounded is not None:
            most = max(universe.shape) - 1
            PrivacyUnit.of_pairs("vertex", pairs_of_vertex=most, epsilon=terms.epsilon)
        return BinaryAnswers(
            universe=universe,
            grid=grid,
            epsilon=as_stored(terms.privacy_unit.per_change(terms.epsilon)),
            steps=terms.privacy_unit.group_size,
            queries=terms.workload.queries,
            beta=terms.workload.beta,
            disjoint=terms.workload.disjoint,
        )


@dataclass(frozen=True, kw_only=True)
class LearningMethod(SessionParameters, Method):
    """A method that corrects a hypothesis by an update rule.

    It has the parameters of the papers, too: `alpha`, `updates`, `threshold` and the scales of
    noise, see `SessionParameters`. What is set replaces the calibration's number. The cost is
    computed from the noise that is drawn, and noise that costs more than the session's epsilon and
    delta is refused. If the numbers do not fit together, no bound on the error holds, and the
    session says so before it begins.

    Attributes:
        calibration: "tight", or "gru12", "jt12", "dr14" for the papers' constants and their printed
            update rules, which (for delta > 0) take epsilon of at most 1.
        value_share: of the tight calibration: part of the budget for noisy answers to the queries
            that correct, see `calibrations.Tight`.
        start: "total": the first hypothesis has the same weight on all pairs. "groups" measures
            noisy sums between the groups (of the finest level) with a twentieth of the budget, and
            starts from these: answers about cuts that the groups explain are then near the truth
            from the first on, and fewer corrections are needed. The forecast counts the price, and
            nothing for what the groups may say.
    """

    calibration: str = option(
        "tight",
        help="How methods that learn share the budget: as proven best (tight), or as a paper does.",
        choices=tuple(CALIBRATIONS),
    )
    value_share: float = option(
        0.0,
        help="Share of the budget for the noisy answers by which methods that learn are corrected.",
        least=0,
        below=1,
    )
    start: str = option(
        TOTAL,
        help="First estimate of methods that learn: total (a noisy total weight, the same for all"
        " pairs), or groups (noisy sums between those of --groups).",
        choices=tuple(STARTS),
    )

    def construction(self, universe: Universe) -> str | Learner:  # noqa: ARG002
        """The update rule, see `learner_of`."""
        return self.name

    @property
    def fixed_step(self) -> float | None:
        """Return the step of every update; None for that of the rule."""
        return None

    @property
    def needs_delta(self) -> bool:  # type: ignore[override]
        """See `Method`: the calibration decides."""
        return not CALIBRATIONS[self.calibration].pure

    def announced(self, work: SessionWorkload, grid: Grid) -> dict[str, Any]:  # noqa: ARG002
        """What the update rule is told, for `learner_of`.

        Args:
            work: what was announced of the queries.
            grid: how weights are counted.
        """
        rule = "tight" if self.calibration == "tight" else "as printed"
        return {"disjoint": work.disjoint, "rule": rule, "step": self.fixed_step}

    def mechanism(self, terms: "SessionTerms", universe: Universe, grid: Grid) -> OnlineMechanism:
        """See `Method.mechanism`."""
        tight, work = self.calibration == "tight", terms.workload
        if self.value_share and not tight:
            raise ParameterError("value_share is for calibration 'tight'")
        if self.start == GROUPS and (self.chosen or self.fixed_step is not None):
            raise ParameterError(
                "start='groups' has bounds for the calibration's numbers alone: leave out"
                f" {', '.join(self.chosen) or 'the step'}, or use start='total'"
            )
        privacy_unit = terms.privacy_unit.either_way if work.linear else terms.privacy_unit.monotone
        epsilon, delta = privacy_unit.budget_per_change(
            epsilon=terms.epsilon, delta=terms.delta, zcdp=tight
        )
        share = {"value_share": self.value_share} if tight else {}
        return OnlineMechanism(
            learner=learner_of(self.construction(universe), universe, **self.announced(work, grid)),
            calibration=CALIBRATIONS[self.calibration](
                epsilon=epsilon,
                delta=delta,
                queries=work.queries,
                beta=work.beta,
                parameters=self.parameters,
                **share,
            ),
            grid=grid,
            steps=privacy_unit.group_size,
            begins=self.start,
        )


@final
@dataclass(frozen=True, kw_only=True)
class MultiplicativeWeights(LearningMethod):
    """A weight for every pair, multiplied: for up to 8192 vertices a side.

    Attributes:
        eta: factor of every update, which multiplies weights by exp(+-eta q); None for 4 alpha/m,
            or alpha/(2m) with the calibration of a paper, where m is the total weight.

    Examples:
        >>> gc.MultiplicativeWeights(calibration="dr14").calibration
        'dr14'
        >>> gc.MultiplicativeWeights(calibration="gru12", sigma=40.0, updates=20, eta=0.1).sigma
        40.0
    """

    name = "multiplicative-weights"

    eta: float | None = option(
        None, help="Factor eta in the exponent of every update.", above=0, most=100
    )

    @property
    def fixed_step(self) -> float | None:
        """See `LearningMethod.fixed_step`."""
        return self.eta


@final
@dataclass(frozen=True, kw_only=True)
class FriezeKannan(LearningMethod):
    """Sums of cuts: for graphs of any size.

    Attributes:
        step: e of every update, which adds e/||q||^2 times the query (e/X with the calibration of
            a paper), in edges; None for alpha.

    Examples:
        >>> gc.FriezeKannan(start="total").calibration
        'tight'
    """

    name = "frieze-kannan"

    step: float | None = option(
        None, help="Step of every update, in edges; alpha if omitted.", above=0, most=1e15
    )

    @property
    def fixed_step(self) -> float | None:
        """See `LearningMethod.fixed_step`."""
        return self.step


@final
@dataclass(frozen=True, kw_only=True)
class MirrorDescent(LearningMethod):
    """Mirror descent: its norm suits it to the graph, and it learns from any linear queries.

    Attributes:
        norm: "auto" (least guaranteed error) if None, "l2", "lp", "2,p", "entropy" or "schatten"; a
            number in place of p fixes it, as in "2,1.25". With "2,p" the noisy sum of root degrees
            is measured; the session chooses the rest from it.
        eta: of every update (JT12 Alg. 2), for a norm that is named; None for that of the rule.

    Examples:
        >>> gc.MirrorDescent(norm="2,1.25").norm
        '2,1.25'
    """

    name = "mirror-descent"
    linear = True

    norm: str | None = option(None, help=f"Norm of mirror-descent: {NORM_HELP}.", commas=True)
    eta: float | None = option(
        None, help="Step eta of every update, for a norm that is named.", above=0, most=1e15
    )

    @property
    def fixed_step(self) -> float | None:
        """See `LearningMethod.fixed_step`."""
        return self.eta

    def announced(self, work: SessionWorkload, grid: Grid) -> dict[str, Any]:
        """See `LearningMethod.announced`; a bounded grid allows no norm that has a price."""
        return super().announced(work, grid) | {
            "norm": self.norm,
            "max_right_size": work.max_right_size,
            "may_measure_degrees": grid.bounded is None,
            "linear": work.linear,
            "max_spectral_norm": work.max_spectral_norm,
        }


@final
@dataclass(frozen=True, kw_only=True)
class MedianOfGraphs(LearningMethod):
    """The median of all graphs that the answers still allow: for up to 16 pairs."""

    name = "median"

    def construction(self, universe: Universe) -> Learner:
        """See `LearningMethod.construction`."""
        return MedianLearner(universe)

    def mechanism(self, terms: "SessionTerms", universe: Universe, grid: Grid) -> OnlineMechanism:
        """See `Method.mechanism`; it needs no total weight."""
        if grid.weighted or grid.bounded is not None:
            raise ParameterError(
                "the median lists graphs without weights, and has no bounded cuts: use another"
                " method"
            )
        made = super().mechanism(terms, universe, grid)
        return replace(made, total_weight=float(universe.size))


@final
@dataclass(frozen=True, kw_only=True)
class ByRule(LearningMethod):
    """A method that learns by another rule.

    Attributes:
        rule: a name of `learn.constructions`, or a rule of one's own: an object as
            `learn.learners.Learner` describes it, with a `version`.
    """

    rule: str | Learner

    @property
    def name(self) -> str:  # type: ignore[override]
        """What a store keeps of it."""
        return self.rule.method if isinstance(self.rule, OwnLearner) else str(self.rule)

    def construction(self, universe: Universe) -> str | Learner:  # noqa: ARG002
        """See `LearningMethod.construction`."""
        return self.rule


@final
@dataclass(frozen=True, kw_only=True)
class Auto(LearningMethod):
    """The method of least guaranteed error, given what is said here of those that learn."""

    name = "auto"  # `SessionTerms.resolved` replaces it


# What `method=` can name.
_CLASSES = (
    MultiplicativeWeights,
    FriezeKannan,
    MirrorDescent,
    MedianOfGraphs,
    Gaussian,
    Laplace,
    RandomizedResponse,
)
_OUR_METHODS: Mapping[str, Callable[..., Method]] = {
    **{name: partial(ByRule, rule=name) for name in CONSTRUCTIONS},
    **{each.name: each for each in _CLASSES},
}
# Of these "auto" chooses, and a list of those that have an option: no method of a plug-in.
_BUILT_IN = tuple(name for name in _OUR_METHODS if name not in CONSTRUCTIONS or name in BUILT_IN)
LINEAR_METHODS = tuple(name for name in _BUILT_IN if _OUR_METHODS[name]().linear)


def _method_of_package(name: str, plug_in: object) -> Callable[..., Method]:
    if not isinstance(plug_in, type) or not issubclass(plug_in, Method) or plug_in.name != name:
        raise ParameterError("its entry point must be a subclass of `Method` with this name")
    return plug_in


METHODS = PlugInTable(
    "graphcuts_dp.session_methods", "session method", _OUR_METHODS, _method_of_package, private=True
)
# What `method=` can name, "auto" among it; no plug-in is imported before it is used.
METHOD_NAMES = METHODS.beside({Auto.name: Auto})


def method_named(name: str, **options: Any) -> Method:
    """The method of a name, or `Auto`.

    Raises:
        ParameterError: an unknown name, or options that the method does not have.
    """
    if name != Auto.name and name not in METHODS:
        raise ParameterError(f"unknown method {name!r:.60}; choose one of {', '.join(METHODS)}")
    kind = Auto if name == Auto.name else METHODS[name]
    known = {each.name for each in fields(kind())}  # type: ignore[arg-type]
    options = {
        each: value
        for each, value in options.items()
        if each in known or value != getattr(Auto, each, None)
    }
    for option_name in options.keys() - known:
        takers = [other for other in _BUILT_IN if hasattr(METHODS[other](), option_name)]
        if not takers:
            raise ParameterError(f"unknown option {option_name!r:.60} of a session")
        raise ParameterError(
            f"{option_name} is for method{'s' * (len(takers) > 1)} {', '.join(map(repr, takers))};"
            f" method {name!r} has none to choose"
        )
    return kind(**options)


@final
@dataclass(frozen=True, kw_only=True)
class SessionTerms(Checked):
    """The agreement of a session: public numbers, from which its mechanism is made.

    Attributes:
        epsilon: privacy of the whole session, in [1e-6, 50].
        delta: in [0, 1); 0 for pure privacy, which "laplace" and "binary" have.
        method: how it answers.
        workload: what will be asked.
        privacy_unit: what neighbouring data differ by.
    """

    epsilon: float
    delta: float = option(
        0.0,
        help="Second privacy parameter; 0 is pure differential privacy.",
        least=0,
        below=1,
        group=PRIVACY,
    )
    method: Method = field(default_factory=Auto)
    workload: SessionWorkload
    privacy_unit: PrivacyUnit = EDGE

    @classmethod
    def of(cls, *, own: OwnLearner | None = None, **given: Any) -> Self:
        """SessionTerms from plain values by name; what is None, or left out, has its default.

        Args:
            own: a rule of one's own, where `method` names one.
            given: as `to_dict` names them, and `expected_edges`.

        Raises:
            ParameterError: a value that is unknown, missing or out of range, or a rule of one's own
                that was not given.
        """
        left = {name: value for name, value in given.items() if value is not None}
        name = left.pop("method", Auto.name)
        work = {each.name for each in fields(SessionWorkload)} & left.keys()
        workload = SessionWorkload(**{each: left.pop(each) for each in work})
        privacy_unit = PrivacyUnit.of(left.pop("privacy_unit", EDGE))
        terms = {each: left.pop(each) for each in ("epsilon", "delta") if each in left}
        if not name.startswith(OWN):
            found = method_named(name, **left)
        elif own is not None and own.method == name:
            found = ByRule(rule=own, **left)
        else:
            raise ParameterError(
                f"the session learns by one of your own ({name.partition(': ')[2]}): open it in"
                " Python, with this learner as method="
            )
        return cls(method=found, workload=workload, privacy_unit=privacy_unit, **terms)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, of which `of` makes the terms again; but for the guess of edges."""
        values = {
            "method": self.method.name,
            "epsilon": self.epsilon,
            "delta": self.delta,
            **vars(self.workload),
            **vars(self.method),
            "privacy_unit": self.privacy_unit.typed,
            "expected_edges": None,
            "rule": None,
        }
        return {name: value for name, value in values.items() if value is not None}

    def grid(self, graph: AnyGraph) -> Grid:
        """Return how true answers are counted, for the privacy unit. Reads the schema only.

        Raises:
            ParameterError: see `Grid`.
        """
        bound = self.privacy_unit.max_degree
        return Grid.of(graph) if bound is None else Grid.of_vertices(graph, bound)

    def mechanism(self, universe: Universe, grid: Grid) -> CutMechanism[Any]:
        """The mechanism that a session runs. Reads nothing private. Not of method "auto".

        Raises:
            ParameterError: a number out of range, or a graph that does not suit.
        """
        work, method = self.workload, self.method
        if work.max_spectral_norm is not None and not (
            work.linear and isinstance(method, MirrorDescent)
        ):
            raise ParameterError(
                "max_spectral_norm is for method 'mirror-descent' with linear=True"
            )
        if work.linear and not method.linear:
            raise ParameterError(
                f"linear=True needs a method that answers every linear query: "
                f"{', '.join(LINEAR_METHODS)}; method 'binary' answers rank-one queries without it"
            )
        if method.needs_delta and not self.delta:
            raise ParameterError(
                f"method {method.name!r} needs delta, far below one part of the number of"
                " vertices, for example delta=1e-6; methods 'laplace' and 'binary' need none"
            )
        CutSizes.of(size_of(universe), disjoint=work.disjoint, max_right_size=work.max_right_size)
        if (grid.bounded is None) is (self.privacy_unit.max_degree is not None):
            raise ParameterError(
                "bounded cuts are for privacy_unit='vertex', and the only ones for it"
            )
        return method.mechanism(self, universe, grid)

    def resolved(self, universe: Universe, grid: Grid) -> "SessionTerms":
        """With method "auto" replaced by the one of least guaranteed error.

        Raises:
            ParameterError: a number out of range.
        """
        if not isinstance(self.method, Auto):
            return self
        Setting(
            n=size_of(universe),
            edges=self.workload.expected(size_of(universe)),
            workload=SessionWorkload(queries=self.workload.queries),
            epsilon=self.epsilon,
            delta=self.delta,
        )
        if self.workload.linear and grid.bounded is not None:
            raise ParameterError(BOUNDED)
        said = {
            name: value for name, value in vars(self.method).items() if value != getattr(Auto, name)
        }
        errors: dict[SessionTerms, float] = {}
        refusal = ParameterError("there is no method")
        for name in LINEAR_METHODS if self.workload.linear else _BUILT_IN:
            work = self.workload
            if name != MirrorDescent.name:
                work = replace(work, max_spectral_norm=None)
            try:
                chosen = replace(self, method=method_named(name, **said), workload=work)
                errors[chosen] = chosen.expected_error(universe, grid)
            except ParameterError as problem:  # it does not suit the graph, or needs delta
                refusal = problem
        if not errors:
            raise refusal
        return min(errors, key=errors.__getitem__)

    def expected_error(self, universe: Universe, grid: Grid) -> float:
        """Return how far off any guaranteed answer may be, in weight.

        The mechanism's own `expected_error`: where the method goes by the total weight, a session
        on a graph of another one has other intervals. `Session.error_bound` tells what holds.

        Raises:
            ParameterError: as `mechanism`.
        """
        mechanism, total_weight = self._on_expected_edges(universe, grid)
        return mechanism.expected_error(total_weight)

    def void_reason(self, universe: Universe, grid: Grid) -> str | None:
        """Return why no bound on the error holds for the parameters; None if one does.

        Raises:
            ParameterError: as `mechanism`.
        """
        mechanism, total_weight = self._on_expected_edges(universe, grid)
        return mechanism.expected_void_reason(total_weight)

    def parameter_notes(self, universe: Universe, grid: Grid) -> list[str]:
        """Return sentences on the parameters of a method that learns; none for other methods.

        Raises:
            ParameterError: as `mechanism`.
        """
        mechanism, total_weight = self._on_expected_edges(universe, grid)
        if not isinstance(mechanism, OnlineMechanism):
            return []
        chosen = mechanism.expected_parameters(total_weight).chosen
        text = ",".join(f"{name.replace('_', '-')}={value!r}" for name, value in chosen.items())
        noise_epsilon = mechanism.noise_cost(total_weight).epsilon
        return [
            f"Its parameters, for a total weight of {total_weight:,.6g}: {text}.",
            f"By its noise the tests and measured answers cost epsilon = {noise_epsilon:.3g}.",
        ]

    def _tests_in_vain(self, universe: Universe, grid: Grid) -> bool:
        mechanism, total_weight = self._on_expected_edges(universe, grid)
        return isinstance(mechanism, OnlineMechanism) and mechanism.tests_in_vain(total_weight)

    def _on_expected_edges(self, universe: Universe, grid: Grid) -> tuple[CutMechanism[Any], float]:
        """Return the mechanism, and the expected total weight of the graph."""
        edges = self.workload.expected(size_of(universe))
        return self.mechanism(universe, grid), edges * grid.unit * grid.largest

    def guarantee(self, made: CutMechanism[Any], seed: int | None) -> PrivacyGuarantee:
        """What a session with the mechanism of these terms guarantees."""
        guarantee = self.privacy_unit.guarantee(made.guarantee(seed), made.cost)
        plan = made.budget_plan.with_certain_runs()  # its cost is for the whole privacy unit
        return replace(guarantee, budget_plan=plan)

    def warning(self, universe: Universe, grid: Grid) -> str | None:
        """A sentence when a session guarantees no more than is known without the graph.

        Half of what the pairs of a cut can weigh has an error of at most that half, which is
        largest for the largest cut between disjoint sets. Of other linear queries, with a largest
        coefficient of 1, it is the middle of what they can be, or 0, which is off by no more than
        the total weight.

        Where a user's parameters make the bound void, it says so first.

        Returns:
            None when the session guarantees more, or weights have no cap: they can be larger than
            any noise.
        """
        void = self.void_reason(universe, grid)
        if void is not None:
            return f"no bound holds for these values: {void}"
        if grid.cap is None:
            return None
        trivial, known = self._without_the_graph(universe, grid, grid.cap)
        error = self.expected_error(universe, grid)
        if error < trivial:
            return None

        def best(epsilon: float) -> tuple[float, SessionTerms]:
            """Of all methods, as they are here."""
            plain = replace(self, epsilon=epsilon, method=Auto())
            try:
                found = plain.resolved(universe, grid)
            except ParameterError:
                return math.inf, plain
            return found.expected_error(universe, grid), found

        start = (
            f"worthless at this size: answers are guaranteed within {_shown(error)}, but"
            f" {known} is within {_shown(trivial)}"
        )
        if self._tests_in_vain(universe, grid):
            start += "; nothing is learnt, since the threshold is above every possible error"
        other, found = best(self.epsilon)
        if other < trivial:
            return f"{start}; {found.method_text} guarantees {_shown(other)}"
        low, high = math.log(self.epsilon), math.log(LARGEST_EPSILON)
        if best(LARGEST_EPSILON)[0] >= trivial:
            return f"{start}; no epsilon in range helps, fewer queries or more vertices may"
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if best(math.exp(middle))[0] < trivial else (middle, high)
        enough = min(up_to_digits(math.exp(high), 2), LARGEST_EPSILON)
        return f"{start}; epsilon = {enough:g} with {best(enough)[1].method_text} would do"

    def _without_the_graph(self, universe: Universe, grid: Grid, cap: float) -> tuple[float, str]:
        """How far off what is known without the graph can be, and what that is."""
        if self.workload.linear:
            middle, guess = grid.most(universe.size) / 2, self.workload.expected_edges
            if guess is not None and guess * cap < middle:
                return guess * cap, "to answer 0"
            return middle, "the middle of what a query can be"
        trivial = grid.most(universe.disjoint_norm_squared) / 2
        if grid.bounded is not None:  # the smaller of two sides has at most half of all vertices
            sides = universe.shape if universe.bipartite else (universe.shape[0] // 2,)
            trivial = min(trivial, min(sides) * grid.sensitivity * grid.unit / 2)
        return trivial, "half of all that a cut between disjoint sets can hold"

    @property
    def method_text(self) -> str:
        """The method, and its calibration if it learns."""
        if isinstance(self.method, LearningMethod):
            return f"method {self.method.name!r}, calibration {self.method.calibration!r}"
        return f"method {self.method.name!r}"


def _shown(error: float) -> str:
    return f"{error:,.0f}" if error >= 10 else f"{error:.2g}"
