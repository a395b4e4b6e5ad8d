"""Learn in rounds: the options of a release by the iterative construction mechanism.

`Learning` makes an `IterativeConstruction` of a name or an object for each of its parts: the update
rule, the distinguisher and the calibration. `DISTINGUISHERS` is the table of distinguishers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, cast

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.final_classes import final
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative.construction import IterativeConstruction
from graphcuts_dp.iterative.distinguisher import (
    MOST_VERTICES,
    Distinguisher,
    ExactCuts,
    Exponential,
)
from graphcuts_dp.iterative.paper_tuning import PAPERS, PaperIterative
from graphcuts_dp.iterative.power_method import PowerRankOne
from graphcuts_dp.iterative.query_lists import CutList, QuestionList
from graphcuts_dp.iterative.rank_one import Released, ResponseRankOne
from graphcuts_dp.iterative.release import GRAPH, IterativeRelease
from graphcuts_dp.iterative.rounds import rounds_job
from graphcuts_dp.iterative.task import Task
from graphcuts_dp.iterative.tuning import (
    IterativeCalibration,
    IterativeParameters,
    PracticalIterative,
    PureIterative,
    TightIterative,
)
from graphcuts_dp.learn.base import Rule
from graphcuts_dp.learn.constructions import CONSTRUCTIONS, learner_of
from graphcuts_dp.learn.learners import Learner, MedianLearner
from graphcuts_dp.learn.norms import NORM_HELP
from graphcuts_dp.options import option
from graphcuts_dp.plug_ins import PlugInTable
from graphcuts_dp.privacy.composition import as_stored
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.release.job import Job

MEDIAN = "median"  # not in the table of constructions: its hypothesis is no matrix
RULES = (*CONSTRUCTIONS, MEDIAN)
CALIBRATIONS = ("practical", "tight", *PAPERS)
_RULES_WITH_ETA = ("multiplicative-weights", "mirror-descent")
_RULES_WITH_STEP = ("frieze-kannan",)
_ANY_EPSILON = Fraction(1)  # of a distinguisher before the calibration tunes it

_OUR_DISTINGUISHERS: Mapping[str, Callable[[Task], Distinguisher]] = {
    "exponential": lambda task: Exponential(
        queries=cast(CutList, task.listed), epsilon=_ANY_EPSILON, grid=task.grid
    ),
    "released": lambda task: _released(task),
    "exact-cuts": lambda task: ExactCuts(
        universe=task.universe, epsilon=_ANY_EPSILON, grid=task.grid
    ),
    "response-rank-one": lambda task: ResponseRankOne(
        universe=task.universe, distribution=_response_noise(task)
    ),
    "power-rank-one": lambda task: _power_method(task, certificate_rho=0.0),
    "power-rank-one-certified": lambda task: _power_method(task, certificate_rho=1.0),
}
DISTINGUISHERS = PlugInTable(
    "graphcuts_dp.distinguishers",
    "distinguisher",
    _OUR_DISTINGUISHERS,
    lambda _, plug_in: _distinguisher_of_package(plug_in),
    private=True,
)
DISTINGUISHER_NAMES = ("auto", *DISTINGUISHERS)
LISTED = ("exponential", "released")  # our distinguishers that search a public list
_BUILT_IN = DISTINGUISHERS.built_in


@final
@dataclass(frozen=True, kw_only=True)
class Learning(IterativeParameters):
    """Learn a synthetic graph in rounds, from noisy answers to queries with a large error.

    Attributes:
        rule: the construction: a name of `RULES`, or an object of your own, see `Learner`.
        norm: of "mirror-descent": "l2" if omitted; "lp", "2,p", "entropy", "schatten" or "auto"
            (least bound on the number of updates); a number in place of p fixes it, as in "2,1.25".
            "2,p" measures the noisy sum of root degrees of a bipartite graph.
        distinguisher: "exponential" (over `queries`), "released" (over `queries`: noisy pairs
            answer all of them once, and prove an error), "exact-cuts" (all cuts, up to 22
            vertices), "response-rank-one" or "power-rank-one" (no error is proven; the latter for
            thousands of vertices), "power-rank-one-certified" (half of its budget proves an error
            at the end: see `power_method`), or "auto": the first of these that fits; or an object
            of your own, see `Distinguisher`, whose costs you have to prove.
        calibration: "practical" (all rounds are used, the error is measured), "tight" (stops when
            the result is proven to be good), or a paper's: "gru12", "dr14", "nik17" (which is
            Nik17 Alg. 1 with a list and multiplicative weights).
        rounds: largest number of rounds; None for the calibration's choice.
        alpha: see `IterativeParameters`, also for `threshold` and `sigma`. Each of these that is
            set replaces the calibration's number; if the numbers do not fit together, no bound on
            the error holds, which the result states.
        refits: corrections by earlier answers after each round.
        eta: step of every update of "multiplicative-weights" (weights times exp(+-eta q)) and of
            "mirror-descent"; None for the calibration's.
        step: step of every update of "frieze-kannan", in edges; None for the calibration's.

    Raises:
        ParameterError: a value out of range.

    Guarantee: see `IterativeConstruction`.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> learning = gc.Learning(rule="frieze-kannan", rounds=5)
        >>> release = gc.release_iteratively(club, epsilon=4.0, delta=1e-6, construction=learning)
        >>> release.settings.construction
        'frieze-kannan'
    """

    rule: str | Learner = "multiplicative-weights"
    norm: str | None = option(
        None, help=f"Norm of mirror-descent, l2 if omitted: {NORM_HELP}.", commas=True
    )
    distinguisher: str | Distinguisher = option(
        "auto",
        help="How cuts are found: auto, exponential, released, exact-cuts, response-rank-one, "
        "power-rank-one or power-rank-one-certified.",
        parse=str,
    )
    calibration: str = option("practical", help="How the budget is divided.", choices=CALIBRATIONS)
    refits: int = option(
        12,
        help="Number of corrections by answers of earlier rounds that follow each round.",
        least=0,
        most=1000,
    )
    eta: float | None = option(
        None,
        help="Step eta of every update of multiplicative-weights and mirror-descent.",
        above=0,
        most=1e15,
    )
    step: float | None = option(
        None, help="Step of every update of frieze-kannan, in edges.", above=0, most=1e15
    )
    files: ClassVar[str] = GRAPH

    def job(self, task: Task) -> Job[IterativeRelease]:
        """Return the job of all rounds.

        Args:
            task: the private data's schema, the queries and the budget.
        """
        mechanism = self.mechanism(task)
        parameters = {
            "construction": mechanism.name,
            "distinguisher": mechanism.distinguisher_name,
            "calibration": self.calibration,
        }
        return rounds_job(
            mechanism, task, parameters, self.calibration, warning=mechanism.rounds_warning()
        )

    def mechanism(self, task: Task) -> IterativeConstruction:
        """Return the mechanism with these options, whose cost is that of one change.

        Args:
            task: the private data's schema, the queries and the budget.
        """
        task.check_size()
        distinguisher = distinguisher_of(self.distinguisher, task)
        calibration = self._calibration(task, charged_once=distinguisher.call is None)
        rule_constants: Rule = "tight"
        refits = self.refits
        if isinstance(calibration, PaperIterative):
            calibration.check_distinguisher(distinguisher)  # before anything is spent
            rule_constants, refits = "as printed", 0
        mechanism = IterativeConstruction(
            learner=_learner(
                self.rule, self.norm, rule_constants, distinguisher, task.grid, self._fixed_step()
            ),
            distinguisher=distinguisher,
            calibration=calibration,
            grid=task.grid,
            refits=refits,
        )
        mechanism.check_rounds()
        return mechanism

    def _fixed_step(self) -> float | None:
        """Return the step of every update, which is `eta` or `step` by the rule; None if unset.

        Raises:
            ParameterError: the rule has no step of this name.
        """
        for name, rules in (("eta", _RULES_WITH_ETA), ("step", _RULES_WITH_STEP)):
            if getattr(self, name) is not None and self.rule not in rules:
                raise ParameterError(f"{name} is for {' and '.join(map(repr, rules))}")
        return self.step if self.eta is None else self.eta

    def _calibration(self, task: Task, *, charged_once: bool) -> IterativeCalibration:
        """Return the calibration with the budget of one change."""
        privacy_unit = task.privacy_unit
        parameters = IterativeParameters(**self.chosen)
        options: dict[str, Any] = {"beta": task.beta, "parameters": parameters}
        if self.calibration == "practical" and charged_once:
            epsilon = as_stored(privacy_unit.per_change(task.epsilon))
            return PureIterative(universe=task.universe, epsilon=epsilon, **options)
        zcdp_calibrations = {"practical": PracticalIterative, "tight": TightIterative}
        zcdp_calibration = zcdp_calibrations.get(self.calibration)
        epsilon, delta = privacy_unit.budget_per_change(
            epsilon=task.epsilon, delta=task.delta, zcdp=zcdp_calibration is not None
        )
        if zcdp_calibration is not None:
            return zcdp_calibration(epsilon=epsilon, delta=delta, **options)
        return PaperIterative(paper=self.calibration, epsilon=epsilon, delta=delta, **options)


def distinguisher_of(name: str | Distinguisher, task: Task) -> Distinguisher:
    """Return the distinguisher of a name; a distinguisher is returned if it fits the task.

    Args:
        name: one of `DISTINGUISHER_NAMES`, or an object that satisfies `Distinguisher`.
        task: the private data's schema, the queries and the budget.

    Raises:
        ParameterError: an unknown name, a list of queries for one that takes none, or an object
            over other vertices.
    """
    if not isinstance(name, str):
        if not hasattr(name, "begin") or not hasattr(name, "universe"):
            raise ParameterError(
                "distinguisher is a name, or an object as `Distinguisher` describes it"
            )
        if name.universe != task.universe:
            raise ParameterError("the distinguisher is over other vertices than the graph's")
        return name
    if name == "auto":
        small = min(task.universe.shape) <= MOST_VERTICES
        name = "exact-cuts" if small else "response-rank-one"
        name = name if task.queries is None else "exponential"
    if name not in DISTINGUISHERS:
        raise ParameterError(
            f"unknown distinguisher {name!r}; choose one of {', '.join(DISTINGUISHER_NAMES)}"
        )
    if name in _BUILT_IN and (task.queries is not None) != (name in LISTED):
        raise ParameterError(
            f"the distinguishers {' and '.join(LISTED)} need queries, the public list to choose"
            " from, and the others take none"
        )
    return DISTINGUISHERS[name](task)


def _learner(
    construction: str | Learner,
    norm: str | None,
    rule_constants: Rule,
    distinguisher: Distinguisher,
    grid: Grid,
    step: float | None,
) -> Learner:
    """Return the learner of a construction for the queries that the distinguisher finds.

    Args:
        construction: see `Learning.rule`.
        norm: see `Learning`.
        rule_constants: those of the update rule, proven here or as a paper prints them.
        distinguisher: that finds the queries.
        grid: of the graph.
        step: of every update; None for the calibration's.

    Raises:
        ParameterError: options that do not fit the construction.
    """
    universe, listed = distinguisher.universe, getattr(distinguisher, "queries", None)
    questions = listed if isinstance(listed, QuestionList) else None
    if construction == MEDIAN:
        if grid.weighted or listed is None or norm is not None:
            raise ParameterError(
                "the median learns graphs without weights from a list of queries, and has no norm"
            )
        return MedianLearner(universe)
    if questions is not None and questions.statistics:
        raise ParameterError(
            "statistics of whole graphs are for construction='median', on few vertices"
        )
    if questions is not None:
        return learner_of(
            construction,
            universe,
            signed=questions.signed,
            rule=rule_constants,
            norm=norm,
            step=step,
        )
    if norm is None and construction == "mirror-descent":
        norm = "l2"
    disjoint = listed.disjoint if listed is not None else distinguisher.name == "exact-cuts"
    return learner_of(
        construction, universe, disjoint=disjoint, rule=rule_constants, norm=norm, step=step
    )


def _released(task: Task) -> Distinguisher:
    """Return the distinguisher "released" for a list of cuts."""
    if not isinstance(task.listed, CutList):
        raise ParameterError(
            "the distinguisher 'released' answers lists of cuts; for others take 'exponential'"
        )
    return Released(queries=task.listed, distribution=_response_noise(task), beta=task.beta)


def _response_noise(task: Task) -> NoiseDistribution:
    """Return the noise for one pair, with any budget: the calibration tunes it."""
    noise = "laplace" if task.grid.weighted else "binary"
    cap = task.grid.cap if task.grid.weighted else None
    return noise_distribution(noise, epsilon=1.0, max_weight=cap)


def _power_method(task: Task, *, certificate_rho: float) -> Distinguisher:
    """Return the power method, with any budget: the calibration tunes it."""
    return PowerRankOne(
        universe=task.universe,
        rho=1.0,
        delta=task.delta or 1e-6,
        grid=task.grid,
        certificate_rho=certificate_rho,
        beta=task.beta,
    )


def _distinguisher_of_package(plug_in: object) -> Callable[[Task], Distinguisher]:
    """Return the entry of the table for the object of an entry point.

    Raises:
        ParameterError: it is not callable.
    """
    if not callable(plug_in):
        raise ParameterError("its entry point must be a function of a `Task`")
    return lambda task: distinguisher_of(cast(Distinguisher, plug_in(task)), task)
