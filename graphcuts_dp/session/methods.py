"""Methods of sessions: objects of options, from which Python, the command line and HTTP are made.

A new method is a subclass of `Method` here, or the line of its update rule in
`learn.constructions`, and a mechanism in a file of its own. `terms.METHODS` is the table of names.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.final_classes import final
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.calibrations import CALIBRATIONS
from graphcuts_dp.learn.constructions import learner_of
from graphcuts_dp.learn.learners import Learner, MedianLearner
from graphcuts_dp.learn.norms import NORM_HELP
from graphcuts_dp.learn.own_learner import OwnLearner
from graphcuts_dp.learn.parameters import SessionParameters
from graphcuts_dp.learn.workload import SessionWorkload
from graphcuts_dp.options import Checked, option
from graphcuts_dp.privacy.composition import as_stored
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.session.base import CutMechanism
from graphcuts_dp.session.online import OnlineMechanism
from graphcuts_dp.session.plain import BinaryAnswers, PerQueryNoise
from graphcuts_dp.session.starts import GROUPS, STARTS, TOTAL

if TYPE_CHECKING:
    from graphcuts_dp.session.terms import SessionTerms


class Method(ABC, Checked):
    """Base of methods of sessions: the options of a mechanism.

    Attributes:
        name: of the method, as it is typed.
        linear: whether it answers every linear query, if the workload has linear=True.
        needs_delta: whether it needs delta > 0.
    """

    name: ClassVar[str]
    linear: ClassVar[bool] = False
    needs_delta: ClassVar[bool] = False

    @abstractmethod
    def mechanism(self, terms: "SessionTerms", universe: Universe, grid: Grid) -> CutMechanism[Any]:
        """Return the mechanism of a session with these terms. Reads nothing private.

        Args:
            terms: of the session.
            universe: the public vertex pairs.
            grid: the grid on which weights are counted.

        Raises:
            ParameterError: terms that do not fit the method.
        """


@dataclass(frozen=True, kw_only=True)
class _NoiseOnEach(Method):
    """Base of methods with independent noise on each answer."""

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
            # Refuses: the noise on pairs cannot be for all pairs of a vertex.
            pairs_of_vertex = max(universe.shape) - 1
            PrivacyUnit.of_pairs("vertex", pairs_of_vertex=pairs_of_vertex, epsilon=terms.epsilon)
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
    """Base of methods that correct a hypothesis by an update rule.

    They also have the parameters of the papers: `alpha`, `updates`, `threshold` and the scales of
    noise, see `SessionParameters`. A parameter that is set replaces the calibration's number. The
    cost is computed from the noise that is drawn, and noise that costs more than the session's
    epsilon and delta is refused. If the numbers do not fit together, no bound on the error holds,
    of which the session warns before it begins.

    Attributes:
        calibration: "tight", or "gru12", "jt12", "dr14" for the papers' constants and their printed
            update rules, which (for delta > 0) take epsilon of at most 1.
        value_share: for the tight calibration: share of the budget for noisy answers to the queries
            that correct, see `calibrations.Tight`.
        start: "total": the first hypothesis has the same weight on all pairs. "groups" measures
            noisy sums between the groups (of the finest level), and how near they are, with about a
            twentieth of the budget, and starts from these: answers about cuts that the groups
            explain are then near the truth from the start, and fewer corrections are needed. The
            forecast includes the cost of the sums, but no gain from them.
    """

    calibration: str = option(
        "tight",
        help="How methods that learn divide the budget: with the best proven bound (tight), or as "
        "a paper does.",
        choices=tuple(CALIBRATIONS),
    )
    value_share: float = option(
        0.0,
        help="Share of the budget for the noisy answers from which methods that learn are updated.",
        least=0,
        below=1,
    )
    start: str = option(
        TOTAL,
        help="First estimate of methods that learn: total (a noisy total weight, spread evenly "
        "over all pairs), or groups (noisy sums between the groups of --groups).",
        choices=tuple(STARTS),
    )

    def construction(self, universe: Universe) -> str | Learner:  # noqa: ARG002
        """Return the update rule, see `learner_of`."""
        return self.name

    @property
    def fixed_step(self) -> float | None:
        """The step of every update; None for that of the rule."""
        return None

    @property
    def needs_delta(self) -> bool:  # type: ignore[override]
        """See `Method`: it depends on the calibration."""
        return not CALIBRATIONS[self.calibration].pure

    def learner_options(self, workload: SessionWorkload, grid: Grid) -> dict[str, Any]:  # noqa: ARG002
        """Return the options of `learner_of`.

        Args:
            workload: the public facts about the queries.
            grid: the grid on which weights are counted.
        """
        rule = "tight" if self.calibration == "tight" else "as printed"
        return {"disjoint": workload.disjoint, "rule": rule, "step": self.fixed_step}

    def mechanism(self, terms: "SessionTerms", universe: Universe, grid: Grid) -> OnlineMechanism:
        """See `Method.mechanism`."""
        tight, workload = self.calibration == "tight", terms.workload
        if self.value_share and not tight:
            raise ParameterError("value_share is for calibration 'tight'")
        if self.start == GROUPS and (self.chosen or self.fixed_step is not None):
            raise ParameterError(
                "start='groups' has bounds for the calibration's numbers alone: leave out"
                f" {', '.join(self.chosen) or 'the step'}, or use start='total'"
            )
        # With any linear queries, one change raises some answers and lowers others.
        unit = terms.privacy_unit
        privacy_unit = unit.either_way if workload.linear else unit.monotone
        epsilon, delta = privacy_unit.budget_per_change(
            epsilon=terms.epsilon, delta=terms.delta, zcdp=tight
        )
        tight_options = {"value_share": self.value_share} if tight else {}
        learner_options = self.learner_options(workload, grid)
        return OnlineMechanism(
            learner=learner_of(self.construction(universe), universe, **learner_options),
            calibration=CALIBRATIONS[self.calibration](
                epsilon=epsilon,
                delta=delta,
                queries=workload.queries,
                beta=workload.beta,
                parameters=self.parameters,
                **tight_options,
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
    """Mirror descent: with a norm that fits the graph, from cuts or any linear queries.

    Attributes:
        norm: "l2", "lp", "2,p", "entropy" or "schatten"; a number in place of p fixes it, as in
            "2,1.25". None, or "auto": the norm of least guaranteed error. With "2,p" the noisy sum
            of root degrees is measured, from which the session chooses p.
        eta: step of every update (JT12 Alg. 2), for a norm that is named; None for that of the
            rule.

    Examples:
        >>> gc.MirrorDescent(norm="2,1.25").norm
        '2,1.25'
    """

    name = "mirror-descent"
    linear = True

    norm: str | None = option(None, help=f"Norm of mirror-descent: {NORM_HELP}.", commas=True)
    eta: float | None = option(
        None, help="Step eta of every update, if you name the norm.", above=0, most=1e15
    )

    @property
    def fixed_step(self) -> float | None:
        """See `LearningMethod.fixed_step`."""
        return self.eta

    def learner_options(self, workload: SessionWorkload, grid: Grid) -> dict[str, Any]:
        """See `LearningMethod.learner_options`; on a bounded grid no norm may be measured."""
        return super().learner_options(workload, grid) | {
            "norm": self.norm,
            "max_right_size": workload.max_right_size,
            "may_measure_degrees": grid.bounded is None,
            "linear": workload.linear,
            "max_spectral_norm": workload.max_spectral_norm,
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
        mechanism = super().mechanism(terms, universe, grid)
        return replace(mechanism, total_weight=float(universe.size))


@final
@dataclass(frozen=True, kw_only=True)
class ByRule(LearningMethod):
    """A method that learns by a rule that has no class of options here.

    Attributes:
        rule: a name of `learn.constructions`, or a rule of your own: an object as
            `learn.learners.Learner` describes it, with a `version`.
    """

    rule: str | Learner

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the rule, as a store has it."""
        return self.rule.method if isinstance(self.rule, OwnLearner) else str(self.rule)

    def construction(self, universe: Universe) -> str | Learner:  # noqa: ARG002
        """See `LearningMethod.construction`."""
        return self.rule


@final
@dataclass(frozen=True, kw_only=True)
class Auto(LearningMethod):
    """The method of least guaranteed error; options of methods that learn apply to these."""

    name = "auto"  # `SessionTerms.resolved` replaces it
