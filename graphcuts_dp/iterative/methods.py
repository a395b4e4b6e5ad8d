"""`release_iteratively`, and what its `construction` can name, each with its options.

To learn in rounds from what a distinguisher finds, to play the query release game, or what `lists`
has: a graph from a net, few answers at once, sensing.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, cast

from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.files import PathLike
from graphcuts_dp.final_classes import final
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.private_data import PrivateSource, private_data
from graphcuts_dp.iterative.construction import (
    Game,
    IterativeConstruction,
    job_of,
)
from graphcuts_dp.iterative.distinguisher import (
    MOST_VERTICES,
    Distinguisher,
    ExactCuts,
    Exponential,
)
from graphcuts_dp.iterative.lists import Answers, Net, Sensing
from graphcuts_dp.iterative.query_lists import CutList, QuestionList
from graphcuts_dp.iterative.rank_one import PowerRankOne, Released, ResponseRankOne
from graphcuts_dp.iterative.release import GRAPH, IterativeRelease
from graphcuts_dp.iterative.task import Task
from graphcuts_dp.iterative.tuning import (
    CALIBRATIONS,
    IterativeCalibration,
    IterativeParameters,
    PaperIterative,
    PracticalIterative,
    PureIterative,
    TightIterative,
)
from graphcuts_dp.learn.base import Rule
from graphcuts_dp.learn.constructions import CONSTRUCTIONS, learner_of
from graphcuts_dp.learn.learners import Learner, MedianLearner
from graphcuts_dp.learn.norms import NORM_HELP
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.options import chosen, option
from graphcuts_dp.plug_ins import PlugInTable
from graphcuts_dp.privacy.composition import as_stored
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.entropy import Seed
from graphcuts_dp.privacy.k_norm import NORMS
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.queries.graph_queries import Question
from graphcuts_dp.release.job import Job, execute
from graphcuts_dp.resources import Progress, silent

MEDIAN = "median"  # beside the table of constructions: its hypothesis is no matrix
LEARNT_BY = (*CONSTRUCTIONS, MEDIAN)
# The rules that have a step of each name.
_WITH_ETA, _WITH_STEP = ("multiplicative-weights", "mirror-descent"), ("frieze-kannan",)
_ANY = Fraction(1)  # the calibration chooses the budget


@refuses_former_options()
def release_iteratively(
    graph: PrivateSource,
    queries: Iterable[Question] | None = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    construction: "str | Learner | Learning | Game | Net | Sensing" = "multiplicative-weights",
    beta: float = DEFAULT_FAILURE,
    privacy_unit: str | PrivacyUnit = "edge",
    store: PathLike | Store | None = None,
    seed: Seed | None = None,
    progress: Progress | bool = silent,
) -> IterativeRelease:
    """Learn about a graph from noisy answers to queries that are chosen, or given as a list.

    As a synthetic graph it is worse than that of `release_graph` on all that was measured; it is
    for lists of `queries`, for proven errors on small graphs, and for comparison.

    Args:
        graph: the private graph, or rows with users, or a graph of networkx or igraph, a matrix, or
            a table, see `private_data`: at least two vertices (one on each side if bipartite), at
            most 8192 a side where a graph is learnt; weights need a public bound.
        queries: a public list of cuts, a `CutList` for very long ones; or of any linear queries (at
            most 2^24 coefficients together), and for the median of statistics, too.
        epsilon: privacy parameter for one `privacy_unit`, in [1e-6, 50]; all of it is spent.
        delta: in [0, 1). 0 is enough for "net", "answers", "k-norm" and "laplace", for the
            calibration "dr14", and for "practical" with the distinguishers "response-rank-one" or
            "released", which spend epsilon alone.
        construction: "multiplicative-weights", "frieze-kannan", "mirror-descent" (its hypothesis
            stays within the weights allowed), "median" (of all graphs without weights, on at most
            16 pairs: DR14 Theorem 5.10), each with the options of `Learning`, or an object of your
            own, see `Learner`; "game" (the query release game, see `Game`); "net" (one of all
            graphs on few vertices, see `Net`); "sensing" (linear queries on ratings, see
            `Sensing`); or answers to a few cuts at once and nothing else: "k-norm" (at most 6),
            "laplace", or "answers", the one of these that guarantees shorter intervals.
        beta: probability that the stated accuracy fails, in (0, 1).
        privacy_unit: what neighbouring data differ by: "edge", or an object such as
            `PrivacyUnit.user(max_contributions=20)`.
        store: path of the store, or a `Store`, that remembers what was spent on this graph: the
            release is charged to it, and refused if its budget does not allow it. None for a graph
            of which nothing else is ever released.
        seed: makes the run repeatable and voids the guarantee: an integer, or a SeedSequence or
            Generator of numpy; None for the system's entropy.
        progress: True shows a bar; a function is called with the fraction of the rounds done and a
            message.

    Raises:
        ParameterError: an option out of range, or options that do not fit together or the graph.
        GraphError: fewer than two vertices, or a graph of another kind than the construction takes.
        HypothesisError: too many graphs to list, for "net".
        QueryError: a query that does not fit the graph.
        BudgetError: the budget of the store does not allow the release, and nothing was spent; or a
            distinguisher of your own costs more than it was given, and nothing is released.
        LedgerError: the store cannot be used.

    Warns:
        AccuracyWarning: before anything is spent, where sensing guarantees less than is known.

    Guarantee: (epsilon, delta)-DP at edge level: see `IterativeConstruction`, `PlayerGame`, `Net`,
    `Answers` and `Sensing`; all else is computed from what these draw.
    Source: GRU12 Alg. 3; DR14 Alg. 7 and 8; Nik17 Alg. 1; JT12 section 4.2.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> cuts = [gc.CutQuery([0]), gc.CutQuery([33])]
        >>> made = gc.release_iteratively(club, cuts, epsilon=4.0, delta=1e-6)
        >>> low, high = made.answer(cuts[0]).interval  # both hold with the default confidence
        >>> few = gc.release_iteratively(club, cuts, epsilon=1.0, construction="answers")
        >>> few.answer([33]).interval == few.answer(cuts[1]).interval
        True
    """
    data = private_data(graph)
    task = Task(data, queries, epsilon=epsilon, delta=delta, beta=beta, privacy_unit=privacy_unit)
    job: Job[IterativeRelease] = construction_of(construction).job(task)
    return execute(job, data, store=store, seed=seed, progress=progress)


@final
@dataclass(frozen=True, kw_only=True)
class Learning(IterativeParameters):
    """Learn a synthetic graph in rounds, from noisy answers to queries that are found to be off.

    Attributes:
        rule: the construction: a name of `LEARNT_BY`, or an object of your own, see `Learner`.
        norm: of "mirror-descent": "l2" if omitted; "lp", "2,p", "entropy", "schatten" or "auto"
            (least bound on the number of updates); a number in place of p fixes it, as in "2,1.25".
            "2,p" measures the noisy sum of root degrees of a bipartite graph.
        distinguisher: "exponential" (over `queries`), "released" (likewise: noisy pairs answer all
            of them once, and prove the result), "exact-cuts" (all cuts, up to 22 vertices),
            "response-rank-one" or "power-rank-one" (no accuracy is proven; the latter for
            thousands of vertices), "power-rank-one-certified" (half of its budget proves at the
            end how far off the result is: see `rank_one`), or "auto": the first of these that
            fits; or an object of your own, see `Distinguisher`, whose costs are then yours to
            prove.
        calibration: "practical" (all rounds are used, the error is measured), "tight" (stops when
            the result is proven to be good), or a paper's: "gru12", "dr14", "nik17" (which is
            Nik17 Alg. 1 with a list and multiplicative weights).
        rounds: at most so many; None for the calibration's choice.
        alpha: see `IterativeParameters`, with `threshold` and `sigma`. What is set replaces the
            calibration's number; if the numbers do not fit together, no bound on the error holds,
            and the result says so.
        refits: corrections by old answers after each round.
        eta: of every update of "multiplicative-weights" (weights times exp(+-eta q)) and of
            "mirror-descent", if set.
        step: of every update of "frieze-kannan", in edges, if set.

    Raises:
        ParameterError: a value out of range.

    Guarantee: see `IterativeConstruction`.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> learning = gc.Learning(rule="frieze-kannan", rounds=5)
        >>> made = gc.release_iteratively(club, epsilon=4.0, delta=1e-6, construction=learning)
        >>> made.settings.construction
        'frieze-kannan'
    """

    rule: str | Learner = "multiplicative-weights"
    norm: str | None = option(
        None, help=f"Norm of mirror-descent, l2 if omitted: {NORM_HELP}.", commas=True
    )
    distinguisher: str | Distinguisher = option(  # a field
        "auto",
        help="How cuts are found: auto, exponential, released, exact-cuts, response-rank-one, "
        "power-rank-one or power-rank-one-certified.",
        parse=str,
    )
    calibration: str = option("practical", help="How the budget is divided.", choices=CALIBRATIONS)
    refits: int = option(
        12, help="Corrections by old answers after each round.", least=0, most=1000
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
        """All rounds.

        Args:
            task: what is asked for.
        """
        mechanism = self.mechanism(task)
        names = {
            "construction": mechanism.name,
            "distinguisher": mechanism.found_by,
            "calibration": self.calibration,
        }
        return job_of(mechanism, task, names, self.calibration, warning=mechanism.rounds_warning())

    def mechanism(self, task: Task) -> IterativeConstruction:
        """The mechanism of these options, whose cost is that of one change.

        Args:
            task: what is asked for.
        """
        task.check_size()
        finder = distinguisher_of(self.distinguisher, task)
        budget = self._budget(task, pure=finder.call is None)
        printed = isinstance(budget, PaperIterative)
        if isinstance(budget, PaperIterative):
            budget.check_distinguisher(finder)  # before anything is spent
        mechanism = IterativeConstruction(
            learner=_learner(
                self.rule,
                self.norm,
                "as printed" if printed else "tight",
                finder,
                task.grid,
                self._fixed_step(),
            ),
            distinguisher=finder,
            calibration=budget,
            grid=task.grid,
            refits=0 if printed else self.refits,
        )
        mechanism.check_rounds()
        return mechanism

    def _fixed_step(self) -> float | None:
        """Return the step that every update makes, by the name that its rule gives it.

        Raises:
            ParameterError: the rule has none of this name.
        """
        for name, rules in (("eta", _WITH_ETA), ("step", _WITH_STEP)):
            if getattr(self, name) is not None and self.rule not in rules:
                raise ParameterError(f"{name} is for {' and '.join(map(repr, rules))}")
        return self.step if self.eta is None else self.eta

    def _budget(self, task: Task, *, pure: bool) -> IterativeCalibration:
        privacy_unit = task.privacy_unit
        parameters = IterativeParameters(**self.chosen)
        terms: dict[str, Any] = {"beta": task.beta, "parameters": parameters}
        if self.calibration == "practical" and pure:  # costs epsilon alone
            each = as_stored(privacy_unit.per_change(task.epsilon))
            return PureIterative(universe=task.universe, epsilon=each, **terms)
        kind = {"practical": PracticalIterative, "tight": TightIterative}.get(self.calibration)
        zcdp = kind is not None
        epsilon, delta = privacy_unit.budget_per_change(
            epsilon=task.epsilon, delta=task.delta, zcdp=zcdp
        )
        if kind is not None:
            return kind(epsilon=epsilon, delta=delta, **terms)
        return PaperIterative(paper=self.calibration, epsilon=epsilon, delta=delta, **terms)


CONSTRUCTION: Mapping[str, Callable[[], Any]] = {
    **{name: partial(Learning, rule=name) for name in LEARNT_BY},
    "game": Game,
    "net": Net,
    "sensing": Sensing,
    "answers": Answers,
    **{name: partial(Answers, noise=name) for name in NORMS},
}
NAMES = tuple(CONSTRUCTION)  # of what `construction` can be


def construction_of(given: Any) -> Any:
    """The object of options that a string names, or a given one.

    Args:
        given: one of `NAMES`, perhaps with options, a learner, or an object with `job`.

    Raises:
        ParameterError: an unknown name, or an option that its construction does not take.
    """
    if isinstance(given, str):
        return chosen(given, CONSTRUCTION, "construction")
    return given if hasattr(given, "job") else Learning(rule=given)


def _learner(
    construction: str | Learner,
    norm: str | None,
    rule: Rule,
    finder: Distinguisher,
    grid: Grid,
    step: float | None,
) -> Learner:
    """The learner that suits the list, if there is one."""
    universe, listed = finder.universe, getattr(finder, "queries", None)
    other = listed if isinstance(listed, QuestionList) else None
    if construction == MEDIAN:
        if grid.weighted or listed is None or norm is not None:
            raise ParameterError(
                "the median learns graphs without weights from a list of queries, and has no norm"
            )
        return MedianLearner(universe)
    if other is not None and other.statistics:
        raise ParameterError(
            "statistics of whole graphs are for construction='median', on few vertices"
        )
    if other is not None:
        return learner_of(
            construction, universe, signed=other.signed, rule=rule, norm=norm, step=step
        )
    if norm is None and construction == "mirror-descent":
        norm = "l2"
    disjoint = listed.disjoint if listed is not None else finder.name == "exact-cuts"
    return learner_of(construction, universe, disjoint=disjoint, rule=rule, norm=norm, step=step)


def _released(task: Task) -> Distinguisher:
    if not isinstance(task.listed, CutList):
        raise ParameterError(
            "the distinguisher 'released' answers lists of cuts; for others take 'exponential'"
        )
    return Released(queries=task.listed, distribution=_response_noise(task), beta=task.beta)


def _response_noise(task: Task) -> NoiseDistribution:
    noise = "laplace" if task.grid.weighted else "binary"
    cap = task.grid.cap if task.grid.weighted else None
    return noise_distribution(noise, epsilon=1.0, max_weight=cap)


def _power(task: Task, certificate: float = 0.0) -> Distinguisher:
    return PowerRankOne(
        universe=task.universe,
        rho=1.0,
        delta=task.delta or 1e-6,
        grid=task.grid,
        certificate=certificate,
        beta=task.beta,
    )


_OUR_DISTINGUISHERS: Mapping[str, Callable[[Task], Distinguisher]] = {
    "exponential": lambda task: Exponential(
        queries=cast(CutList, task.listed), epsilon=_ANY, grid=task.grid
    ),
    "released": _released,
    "exact-cuts": lambda task: ExactCuts(universe=task.universe, epsilon=_ANY, grid=task.grid),
    "response-rank-one": lambda task: ResponseRankOne(
        universe=task.universe, distribution=_response_noise(task)
    ),
    "power-rank-one": _power,
    "power-rank-one-certified": lambda task: _power(task, 1.0),
}


def _distinguisher_of_package(_: str, plug_in: object) -> Callable[[Task], Distinguisher]:
    if not callable(plug_in):
        raise ParameterError("its entry point must be a function of a `Task`")
    return lambda task: distinguisher_of(cast(Distinguisher, plug_in(task)), task)


DISTINGUISHERS = PlugInTable(
    "graphcuts_dp.distinguishers",
    "distinguisher",
    _OUR_DISTINGUISHERS,
    _distinguisher_of_package,
    private=True,
)
_BUILT_IN = DISTINGUISHERS.built_in
LISTED = ("exponential", "released")  # those that search a public list
DISTINGUISHER_NAMES = ("auto", *DISTINGUISHERS)


def distinguisher_of(name: str | Distinguisher, task: Task) -> Distinguisher:
    """The distinguisher of a name, of "auto", or a given one.

    Args:
        name: one of `DISTINGUISHER_NAMES`, or an object that satisfies `Distinguisher`.
        task: what it is for.

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
