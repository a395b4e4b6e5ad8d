"""The terms of a session: its method, its workload, its privacy, and its privacy unit.

Python, the command line and HTTP make a session from these public values. Sessions, the planner and
the audits read the table `METHODS`.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Self

from graphcuts_dp.display import up_to_digits
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.final_classes import final
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.constructions import BUILT_IN, CONSTRUCTIONS
from graphcuts_dp.learn.own_learner import OWN, OwnLearner
from graphcuts_dp.learn.sizes import CutSizes, size_of
from graphcuts_dp.learn.workload import SessionWorkload, Setting
from graphcuts_dp.options import PRIVACY, Checked, option
from graphcuts_dp.plug_ins import PlugInTable
from graphcuts_dp.privacy.default_unit import EDGE
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON, PrivacyGuarantee
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.session.base import CutMechanism
from graphcuts_dp.session.counts import BOUNDED_CUTS_ONLY
from graphcuts_dp.session.methods import (
    Auto,
    ByRule,
    FriezeKannan,
    Gaussian,
    Laplace,
    LearningMethod,
    MedianOfGraphs,
    Method,
    MirrorDescent,
    MultiplicativeWeights,
    RandomizedResponse,
)
from graphcuts_dp.session.online import OnlineMechanism

_OUR_METHODS: Mapping[str, Callable[..., Method]] = {
    **{name: partial(ByRule, rule=name) for name in CONSTRUCTIONS},
    **{
        method.name: method
        for method in (
            MultiplicativeWeights,
            FriezeKannan,
            MirrorDescent,
            MedianOfGraphs,
            Gaussian,
            Laplace,
            RandomizedResponse,
        )
    },
}
# The methods among which "auto" chooses: those of this package, and none of a plug-in.
_AUTO_METHODS = tuple(
    name for name in _OUR_METHODS if name not in CONSTRUCTIONS or name in BUILT_IN
)
LINEAR_METHODS = tuple(name for name in _AUTO_METHODS if _OUR_METHODS[name]().linear)
METHODS = PlugInTable(
    "graphcuts_dp.session_methods",
    "session method",
    _OUR_METHODS,
    lambda name, plug_in: _method_of_package(name, plug_in),  # which is defined below
    private=True,
)
# The names that `method=` takes, "auto" included; no plug-in is imported before it is used.
METHOD_NAMES = METHODS.beside({Auto.name: Auto})
_BISECTION_STEPS = 12  # on the logarithm of epsilon: two digits


@final
@dataclass(frozen=True, kw_only=True)
class SessionTerms(Checked):
    """The terms of a session: public values, from which its mechanism is made.

    Attributes:
        epsilon: privacy of the whole session, in [1e-6, 50].
        delta: in [0, 1); 0 for pure privacy, which "laplace" and "binary" have.
        method: the options of the mechanism.
        workload: public facts about the queries.
        privacy_unit: the difference between neighbouring data.
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
    def of(cls, *, own_learner: OwnLearner | None = None, **values: Any) -> Self:
        """Return the terms with these plain values; those that are None, or absent, have defaults.

        Args:
            own_learner: the user's own learner, if `method` names it.
            values: by the names of `to_dict`, and `expected_edges`.

        Raises:
            ParameterError: a value that is unknown, missing or out of range, or a user's own
                learner that is missing.
        """
        options = {name: value for name, value in values.items() if value is not None}
        method_name = options.pop("method", Auto.name)
        workload_names = {member.name for member in fields(SessionWorkload)} & options.keys()
        workload = SessionWorkload(**{name: options.pop(name) for name in workload_names})
        privacy_unit = PrivacyUnit.of(options.pop("privacy_unit", EDGE))
        privacy = {name: options.pop(name) for name in ("epsilon", "delta") if name in options}
        if not method_name.startswith(OWN):  # the options that are left are those of the method
            method = method_named(method_name, **options)
        elif own_learner is not None and own_learner.method == method_name:
            method = ByRule(rule=own_learner, **options)
        else:
            name = method_name.partition(": ")[2]
            raise ParameterError(
                f"the session learns by one of your own ({name}): open it in"
                " Python, with this learner as method="
            )
        return cls(method=method, workload=workload, privacy_unit=privacy_unit, **privacy)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values of the terms, which `of` reads.

        They leave out expected edges, and the object of a user's own learner (`rule`).
        """
        values = {
            "method": self.method.name,
            "epsilon": self.epsilon,
            "delta": self.delta,
            **vars(self.workload),
            **vars(self.method),
            "privacy_unit": self.privacy_unit.typed,
        }
        return {
            name: value
            for name, value in values.items()
            if value is not None and name not in ("expected_edges", "rule")
        }

    @property
    def method_text(self) -> str:
        """The method, and its calibration if it learns, in words."""
        if isinstance(self.method, LearningMethod):
            return f"method {self.method.name!r}, calibration {self.method.calibration!r}"
        return f"method {self.method.name!r}"

    def grid(self, graph: AnyGraph) -> Grid:
        """Return the grid of true answers for the privacy unit. Reads the schema only.

        Raises:
            ParameterError: see `Grid`.
        """
        bound = self.privacy_unit.max_degree
        return Grid.of(graph) if bound is None else Grid.of_vertices(graph, bound)

    def mechanism(self, universe: Universe, grid: Grid) -> CutMechanism[Any]:
        """Return the mechanism of a session; method "auto" has none. Reads nothing private.

        Raises:
            ParameterError: a number out of range, or a graph that does not fit.
        """
        workload, method = self.workload, self.method
        if workload.max_spectral_norm is not None and not (
            workload.linear and isinstance(method, MirrorDescent)
        ):
            raise ParameterError(
                "max_spectral_norm is for method 'mirror-descent' with linear=True"
            )
        if workload.linear and not method.linear:
            raise ParameterError(
                f"linear=True needs a method that answers every linear query: "
                f"{', '.join(LINEAR_METHODS)}; method 'binary' answers rank-one queries without it"
            )
        if method.needs_delta and not self.delta:
            raise ParameterError(
                f"method {method.name!r} needs delta, far below one part of the number of"
                " vertices, for example delta=1e-6; methods 'laplace' and 'binary' need none"
            )
        CutSizes.of(
            size_of(universe), disjoint=workload.disjoint, max_right_size=workload.max_right_size
        )
        is_vertex_unit = self.privacy_unit.max_degree is not None
        if (grid.bounded is not None) != is_vertex_unit:
            raise ParameterError(
                "bounded cuts are for privacy_unit='vertex', and the only ones for it"
            )
        return method.mechanism(self, universe, grid)

    def resolved(self, universe: Universe, grid: Grid) -> "SessionTerms":
        """Return the terms with method "auto" replaced by that of least guaranteed error.

        Raises:
            ParameterError: a number out of range.
        """
        if not isinstance(self.method, Auto):
            return self
        Setting(  # refuses numbers that no method takes
            n=size_of(universe),
            edges=self.workload.expected(size_of(universe)),
            workload=SessionWorkload(queries=self.workload.queries),
            epsilon=self.epsilon,
            delta=self.delta,
        )
        if self.workload.linear and grid.bounded is not None:
            raise ParameterError(BOUNDED_CUTS_ONLY)
        # The options that were typed with "auto"; a method has its own defaults for the others.
        options = {
            name: value for name, value in vars(self.method).items() if value != getattr(Auto, name)
        }
        errors: dict[SessionTerms, float] = {}
        refusal = ParameterError("there is no method")
        for name in LINEAR_METHODS if self.workload.linear else _AUTO_METHODS:
            workload = self.workload
            if name != MirrorDescent.name:
                workload = replace(workload, max_spectral_norm=None)
            try:
                terms = replace(self, method=method_named(name, **options), workload=workload)
                errors[terms] = terms.expected_error(universe, grid)
            except ParameterError as problem:  # it does not fit the graph, or needs delta
                refusal = problem
        if not errors:
            raise refusal
        return min(errors, key=errors.__getitem__)

    def guarantee(self, mechanism: CutMechanism[Any], seed: int | None) -> PrivacyGuarantee:
        """Return the guarantee of a session with the mechanism of these terms."""
        guarantee = self.privacy_unit.guarantee(mechanism.guarantee(seed), mechanism.cost)
        plan = mechanism.budget_plan.with_certain_runs()  # its cost is for the whole privacy unit
        return replace(guarantee, budget_plan=plan)

    def expected_error(self, universe: Universe, grid: Grid) -> float:
        """Return a bound on the error of all guaranteed answers, in weight.

        The mechanism's `expected_error`: if the method depends on the total weight, a session on a
        graph with another total weight has other intervals, see `Session.error_bound`.

        Raises:
            ParameterError: as `mechanism`.
        """
        mechanism, total_weight = self._mechanism_and_total(universe, grid)
        return mechanism.expected_error(total_weight)

    def void_reason(self, universe: Universe, grid: Grid) -> str | None:
        """Return why no bound on the error holds for the parameters; None if one does.

        Raises:
            ParameterError: as `mechanism`.
        """
        mechanism, total_weight = self._mechanism_and_total(universe, grid)
        return mechanism.expected_void_reason(total_weight)

    def warning(self, universe: Universe, grid: Grid) -> str | None:
        """Return a sentence if a session guarantees no better answers than those without the graph.

        For a cut, the answer without the graph is half of the largest weight of its pairs, and its
        error is at most that half, which is largest for the largest cut between disjoint sets. For
        other linear queries, with a largest coefficient of 1, it is the middle of their possible
        range, or 0, whose error is at most the total weight.

        If a user's parameters make the bound void, the sentence says so instead.

        Returns:
            None if the session guarantees better answers, or if weights have no maximum: they can
            be larger than any noise.
        """
        void = self.void_reason(universe, grid)
        if void is not None:
            return f"no bound holds for these values: {void}"
        if grid.cap is None:
            return None
        error_without, answer_without = self._without_the_graph(universe, grid, grid.cap)
        error = self.expected_error(universe, grid)
        if error < error_without:
            return None
        sentence = (
            f"worthless at this size: answers are guaranteed within {_rounded(error)}, but"
            f" {answer_without} is within {_rounded(error_without)}"
        )
        if self._learns_nothing(universe, grid):
            sentence += "; nothing is learnt, since the threshold is above every possible error"
        return f"{sentence}; {self._advice(universe, grid, error_without)}"

    def parameter_notes(self, universe: Universe, grid: Grid) -> list[str]:
        """Return sentences on the parameters of a method that learns; none for other methods.

        Raises:
            ParameterError: as `mechanism`.
        """
        mechanism, total_weight = self._mechanism_and_total(universe, grid)
        if not isinstance(mechanism, OnlineMechanism):
            return []
        chosen = mechanism.expected_parameters(total_weight).chosen
        text = ",".join(f"{name.replace('_', '-')}={value!r}" for name, value in chosen.items())
        noise_epsilon = mechanism.noise_cost(total_weight).epsilon
        return [
            f"Its parameters, for a total weight of {total_weight:,.6g}: {text}.",
            f"By its noise the tests and measured answers cost epsilon = {noise_epsilon:.3g}.",
        ]

    def _advice(self, universe: Universe, grid: Grid, error_without: float) -> str:
        """Return which method or epsilon guarantees less than the error without the graph."""

        def best(epsilon: float) -> tuple[float, SessionTerms]:
            """Return the least error of all methods at an epsilon, and the terms that have it."""
            auto = replace(self, epsilon=epsilon, method=Auto())
            try:
                terms = auto.resolved(universe, grid)
            except ParameterError:
                return math.inf, auto
            return terms.expected_error(universe, grid), terms

        least_error, terms = best(self.epsilon)
        if least_error < error_without:
            return f"{terms.method_text} guarantees {_rounded(least_error)}"
        if best(LARGEST_EPSILON)[0] >= error_without:
            return "no epsilon in range helps, fewer queries or more vertices may"
        low, high = math.log(self.epsilon), math.log(LARGEST_EPSILON)
        for _ in range(_BISECTION_STEPS):
            middle = (low + high) / 2
            is_enough = best(math.exp(middle))[0] < error_without
            low, high = (low, middle) if is_enough else (middle, high)
        enough = min(up_to_digits(math.exp(high), 2), LARGEST_EPSILON)
        return f"epsilon = {enough:g} with {best(enough)[1].method_text} would do"

    def _without_the_graph(self, universe: Universe, grid: Grid, cap: float) -> tuple[float, str]:
        """Return the largest error of the answer without the graph, and a text for that answer."""
        if self.workload.linear:
            middle, guess = grid.most(universe.size) / 2, self.workload.expected_edges
            if guess is not None and guess * cap < middle:
                return guess * cap, "to answer 0"
            return middle, "the middle of what a query can be"
        half = grid.most(universe.disjoint_norm_squared) / 2
        if grid.bounded is not None:  # the smaller of two sides has at most half of all vertices
            sides = universe.shape if universe.bipartite else (universe.shape[0] // 2,)
            half = min(half, min(sides) * grid.sensitivity * grid.unit / 2)
        return half, "half of all that a cut between disjoint sets can hold"

    def _learns_nothing(self, universe: Universe, grid: Grid) -> bool:
        """Return whether the method learns nothing, see `OnlineMechanism.learns_nothing`."""
        mechanism, total_weight = self._mechanism_and_total(universe, grid)
        return isinstance(mechanism, OnlineMechanism) and mechanism.learns_nothing(total_weight)

    def _mechanism_and_total(
        self, universe: Universe, grid: Grid
    ) -> tuple[CutMechanism[Any], float]:
        """Return the mechanism, and the total weight that is expected of the graph."""
        edges = self.workload.expected(size_of(universe))
        return self.mechanism(universe, grid), edges * grid.unit * grid.largest


def method_named(name: str, **options: Any) -> Method:
    """Return the method of a name, or `Auto`.

    Raises:
        ParameterError: an unknown name, or options that the method does not have.
    """
    if name != Auto.name and name not in METHODS:
        raise ParameterError(f"unknown method {name!r:.60}; choose one of {', '.join(METHODS)}")
    method = Auto if name == Auto.name else METHODS[name]
    option_names = {member.name for member in fields(method())}  # type: ignore[arg-type]
    # Options that the method does not have are ignored at their defaults, and refused otherwise.
    options = {
        option_name: value
        for option_name, value in options.items()
        if option_name in option_names or value != getattr(Auto, option_name, None)
    }
    for option_name in options.keys() - option_names:
        methods = [
            candidate for candidate in _AUTO_METHODS if hasattr(METHODS[candidate](), option_name)
        ]
        if not methods:
            raise ParameterError(f"unknown option {option_name!r:.60} of a session")
        raise ParameterError(
            f"{option_name} is for method{'s' * (len(methods) > 1)}"
            f" {', '.join(map(repr, methods))}; method {name!r} has none to choose"
        )
    return method(**options)


def _method_of_package(name: str, plug_in: object) -> Callable[..., Method]:
    """Return the entry of the table for the object of an entry point.

    Raises:
        ParameterError: it is no subclass of `Method` with this name.
    """
    if not isinstance(plug_in, type) or not issubclass(plug_in, Method) or plug_in.name != name:
        raise ParameterError("its entry point must be a subclass of `Method` with this name")
    return plug_in


def _rounded(error: float) -> str:
    """Return an error in words, to the nearest whole number, or two digits."""
    return f"{error:,.0f}" if error >= 10 else f"{error:.2g}"
