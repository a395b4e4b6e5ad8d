"""Audits of releases for lists of queries: calibrations term by term, whole runs, and the game.

And of answers to a few queries at once, and of a release that is turned into a distinguisher.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, ClassVar, cast, final

import numpy as np
import scipy

import graphcuts_dp as gc
from graphcuts_dp.arrays import FloatMatrix, IntMatrix
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative.answers import Answers
from graphcuts_dp.iterative.construction import IterativeConstruction
from graphcuts_dp.iterative.distinguisher import Exponential
from graphcuts_dp.iterative.game import PLAYERS, GameTuning, PlayerGame
from graphcuts_dp.iterative.learning import CALIBRATIONS
from graphcuts_dp.iterative.query_lists import QuestionList
from graphcuts_dp.iterative.rank_one import Released, ResponseRankOne
from graphcuts_dp.iterative.tuning import (
    IterativeCalibration,
    IterativeParameters,
    IterativeTuning,
    PracticalIterative,
    PureIterative,
)
from graphcuts_dp.learn.bounds import UpdateBound
from graphcuts_dp.learn.constructions import CONSTRUCTIONS
from graphcuts_dp.learn.learners import (
    FriezeKannanLearner,
    MirrorDescentLearner,
    MultiplicativeWeightsLearner,
)
from graphcuts_dp.plugins import (
    Cost,
    Distinguisher,
    EntropySource,
    Learner,
    Task,
    Universe,
    ValueNoise,
)
from graphcuts_dp.privacy.k_norm import NORMS, KNormNoise
from graphcuts_dp.queries.graph_queries import GraphQuery, Question
from tests.audits.base import Variants, audited_laws, audited_runs
from tests.audits.bought import ALL_EDGES
from tests.audits.graphs import EMPTY, FIRST_PAIR, one_more
from tests.audits.losses import DistributionPair, half_way, normal_pair, softmax
from tests.audits.selection import PAIRS as HEAVY_OR_NOT
from tests.audits.selection import QUERIES as CUTS
from tests.audits.selection import UNIVERSE

_DELTA, _ROUNDS = 1e-6, 4


# Whole runs.

_QUERIES = gc.CutList(UNIVERSE, [gc.CutQuery([0], [1]), gc.CutQuery([2], [3])])  # one has the edge
_PAIRS = (FIRST_PAIR, one_more("among others", [1, 2, 0], [2, 3, 1]))
_LEARNERS: dict[str, Learner] = {
    "multiplicative-weights": MultiplicativeWeightsLearner(UNIVERSE),
    "frieze-kannan": FriezeKannanLearner(UNIVERSE),
    "mirror-descent": MirrorDescentLearner(UNIVERSE),
}


@final
@dataclass(frozen=True, kw_only=True)
class TwoRounds(IterativeCalibration):
    """A tuning of two rounds, and its price: a third of epsilon for the total, the rest for them.

    Attributes:
        epsilon: of everything.
        total: factor of the rate of the total's noise; 1 keeps the guarantee.
        factor: likewise of all others.
        rounds: that are made and paid for.
    """

    epsilon: Fraction
    delta: float = 0.0
    total: int = 1
    factor: int = 1
    rounds: int = 2
    _pure: ClassVar[bool] = True

    @property
    def cost(self) -> Cost:
        """Pure epsilon, whatever happens."""
        return Cost.of_pure(self.epsilon)

    def split_budget(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, "TwoRounds"]:
        """See `IterativeCalibration.split_budget`."""
        noise = ValueNoise("laplace", self.total * self.epsilon / 3 / sensitivity)
        return noise, 1, Cost.of_pure(self.epsilon / 3), self

    def tune(
        self,
        update_bound: UpdateBound,  # noqa: ARG002
        distinguisher: Distinguisher,
        *,
        unit_weight: float,  # noqa: ARG002
        sensitivity: int,
    ) -> IterativeTuning:
        """See `IterativeCalibration.tune`."""
        each = self.factor * self.epsilon / 6
        return IterativeTuning(
            rounds=self.rounds,
            alpha=4.0,
            threshold=None,
            distinguisher=distinguisher.with_epsilon(each * self.rounds, rounds=self.rounds),
            noise=ValueNoise("laplace", each / sensitivity),
            value_error=0.1,
            error=None,
        )


@audited_runs(
    "iterative: {}",
    CONSTRUCTIONS,
    pairs=_PAIRS,
    incorrect_variants={
        "an eighth of the noise": {"factor": 8, "total": 8},
        "m used raw": {"total": 150},
    },
    runs=3000,
    prepared=True,
    slow=True,
)
def _run(
    construction: str, epsilon: float, source: EntropySource, **mistakes: Any
) -> Callable[[gc.Graph], list[float]]:
    """The total, and what was found and measured."""
    made = IterativeConstruction(
        learner=_LEARNERS[construction],
        distinguisher=Exponential(queries=_QUERIES, epsilon=Fraction(1)),
        calibration=TwoRounds(epsilon=Fraction(epsilon), **mistakes),
        grid=Grid(),
    )

    def run(graph: gc.Graph) -> list[float]:
        outcome = made.run(graph, source)
        cuts = [(m, cast(gc.CutQuery, m.query)) for m in outcome.transcript]
        edge = [m.value for m, query in cuts if UNIVERSE.masks(query)[0][0]]
        total = outcome.total_weight
        return [total, sum(edge) + total, float(len(edge)), max(edge, default=-50)]

    return run


@audited_runs(
    "iterative: paid once",
    pairs=_PAIRS[:1],
    incorrect_variants={"a twelfth of the noise": {"factor": 12}},
    prepared=True,
)
def _paid_once(
    epsilon: float, source: EntropySource, factor: int = 1
) -> Callable[[gc.Graph], list[float]]:
    """With a distinguisher that buys a noisy matrix at the start; see `_run`.

    That the parts add up to epsilon exactly is in tests/privacy.
    """
    made = IterativeConstruction(
        learner=_LEARNERS["frieze-kannan"],
        distinguisher=ResponseRankOne(
            universe=UNIVERSE, distribution=noise_distribution("binary", epsilon=1.0)
        ),
        calibration=PureIterative(
            universe=UNIVERSE, epsilon=factor * epsilon, parameters=IterativeParameters(rounds=2)
        ),
        grid=Grid(),
        refits=4,
    )

    def run(graph: gc.Graph) -> list[float]:
        outcome = made.run(graph, source)
        masks = [UNIVERSE.masks(cast(gc.CutQuery, m.query)) for m in outcome.transcript]
        edge = np.array([bool(S[0] & T[1] | S[1] & T[0]) for S, T in masks])
        total, values = outcome.total_weight, np.array([m.value for m in outcome.transcript])
        of_edge, shown = float(values @ edge), float(outcome.hypothesis.dense()[0, 1])
        return [total, of_edge, of_edge + total, float(edge.sum()), shown]

    return run


# The calibrations that users choose from.

_VERTICES = 1024  # enough weight that even the papers' tolerances leave rounds
LOOSE = (
    "The paper's composition claims more than the exact loss of all its answers together, which is "
    "what the audit computes."
)


@lru_cache(maxsize=16)  # a search of some tenths of a second
def tuned(
    construction: str, calibration: str, epsilon: float, privacy_unit: gc.PrivacyUnit | None = None
) -> tuple[IterativeTuning, Claim]:
    """The tuning of a release as users make it, and what is guaranteed for all changes together."""
    delta, privacy_unit = 0.0 if calibration == "dr14" else _DELTA, privacy_unit or gc.PrivacyUnit()
    graph, cuts = gc.Graph([], [], vertices=_VERTICES), [gc.CutQuery([k]) for k in range(8)]
    task = Task(graph, cuts, epsilon=epsilon, delta=delta, privacy_unit=privacy_unit)
    made = gc.Learning(rule=construction, calibration=calibration).mechanism(task)
    bound = made._update_bound(_VERTICES * (_VERTICES - 1) / 4, 0.0, made.learner)
    tuning = made.calibration.tune(bound, made.distinguisher, unit_weight=1.0, sensitivity=1)
    if calibration in ("practical", "tight"):
        cost = privacy_unit.cost(made.cost, epsilon=epsilon, delta=delta)
        return tuning, Claim(cost.rho or 0.0, kind="rho")
    return tuning, Claim(epsilon, delta)


def rounds_of(
    tuning: IterativeTuning, claim: Claim, *, factor: float = 1, more: int = 1, steps: int = 1
) -> Iterator[DistributionPair]:
    """All choices and all answers of queries that what changes is in.

    Args:
        tuning: of a release.
        claim: what is guaranteed.
        factor: of the rates of all noise; 1 keeps the guarantee.
        more: rounds that are made, for one that is paid for.
        steps: how many pairs change, all of them in every cut.
    """
    of, noise, copies = tuning.distinguisher, tuning.noise, tuning.rounds * more
    if not isinstance(of, Exponential) or noise is None:
        raise TypeError("the distribution of another distinguisher is not known here")
    rate = float(of.scoring.rate(of.epsilon)) * of.scoring.sensitivity * factor
    if noise.distribution == "gaussian":
        value = normal_pair(float(noise.parameter) / factor**2, steps)
    else:
        r = float(noise.parameter) * factor
        above = [math.exp(-r * steps) / (1 + math.exp(-r)), 1 / (1 + math.exp(-r))]  # steps, or 0
        bits = [np.array([p, 1 - p]) for p in above]
        value = DistributionPair("", bits[0], bits[1])
        if claim.delta > 0:
            counts = [scipy.stats.binom.pmf(np.arange(copies + 1), copies, p) for p in above]
            yield DistributionPair(f"{copies} answers", counts[0], counts[1])
            return
    # A cut far below in one direction, or two directions half way: the extremes of a choice.
    for lead, weight in itertools.product((0.0, 3.0), (0.5, 0.0)):
        change = steps * (np.array([1, -1]) if weight else np.array([1, 0]))
        start = np.array([0.0, lead / rate]) - weight * change
        laws = softmax(start, rate), softmax(start + change, rate)
        values = (replace(value, copies=copies),)
        yield DistributionPair(f"lead {lead}", laws[0], laws[1], copies, values)


def _calibrated_variants(calibration: str) -> Variants:
    """Half the noise shows only where composition is sharp."""
    far = 12 if calibration in ("gru12", "nik17") else 2
    less = "half the noise" if far == 2 else "a twelfth of the noise"
    return {less: {"factor": far}, "continue after the cap": {"more": far**2}}


@audited_laws(
    "iterative: {} calibration",
    CALIBRATIONS,
    incorrect_variants=_calibrated_variants,
    claim=lambda *terms: tuned("multiplicative-weights", *terms)[1],
    why_below_half=lambda calibration: LOOSE if calibration in ("gru12", "nik17") else "",
)
def _calibrated(calibration: str, epsilon: float, **mistakes: Any) -> Iterator[DistributionPair]:
    return rounds_of(*tuned("multiplicative-weights", calibration, epsilon), **mistakes)


# Parameters of a user's own.

_CHOSEN = {"tight": 30.0, "gru12": 40.0, "dr14": 200.0}  # sigma at epsilon = 1, times 1/epsilon


@lru_cache(maxsize=8)
def _with_chosen_noise(calibration: str, epsilon: float) -> tuple[IterativeTuning, Claim]:
    """The tuning of a release of four rounds whose sigma a user has set, and its claim."""
    delta, listed = 0.0 if calibration == "dr14" else _DELTA, [gc.CutQuery([k]) for k in range(8)]
    graph = gc.Graph([], [], vertices=_VERTICES)
    task = Task(graph, listed, epsilon=epsilon, delta=delta)
    sigma = _CHOSEN[calibration] / epsilon
    learning = gc.Learning(
        calibration=calibration, rounds=_ROUNDS, sigma=sigma, threshold=5 * sigma, alpha=sigma
    )
    mechanism = learning.mechanism(task)
    bound = mechanism._update_bound(_VERTICES * (_VERTICES - 1) / 4, 0.0, mechanism.learner)
    tuning = mechanism.calibration.tune(
        bound, mechanism.distinguisher, unit_weight=1.0, sensitivity=1
    )
    if calibration == "tight":
        return tuning, Claim(mechanism.cost.rho or 0.0, kind="rho")
    return tuning, Claim(epsilon, delta)


@audited_laws(
    "iterative: chosen sigma, {}",
    _CHOSEN,
    incorrect_variants=_calibrated_variants,
    claim=lambda *terms: _with_chosen_noise(*terms)[1],
    why_below_half=lambda calibration: LOOSE if calibration == "gru12" else "",
)
def _with_chosen_sigma(
    calibration: str, epsilon: float, **mistakes: Any
) -> Iterator[DistributionPair]:
    """All choices and answers of rounds whose noise a user has set."""
    return rounds_of(*_with_chosen_noise(calibration, epsilon), **mistakes)


# Lists of any linear queries, and of statistics (the median).

_CAP = 3.0
_LARGEST = 2.5  # the largest coefficient
_LINEAR = QuestionList(
    Universe(2, 3),
    [
        gc.Query.matrix(np.array([[0.0, 0.3, -0.7], [_LARGEST, 0.01, 0.0]])),
        gc.Query.matrix(np.array([[0.1, 0.0, 0.2], [-_LARGEST, 0.5, 0.0]])),
    ],
)
_RATINGS = one_more(
    "the largest coefficient", [1], [0], [_CAP], kind=gc.BipartiteGraph, max_weight=_CAP
)
_STATISTICS = QuestionList(Universe(5), [GraphQuery("triangles"), gc.CutQuery([3], [4])])


def _list_tuning(listed: QuestionList, grid: Grid, epsilon: float) -> tuple[IterativeTuning, Claim]:
    """The rounds of a release, and what they are guaranteed to cost."""
    budget = PracticalIterative(
        epsilon=epsilon, delta=_DELTA, parameters=IterativeParameters(rounds=_ROUNDS)
    )
    _, _, _, rest = budget.split_budget(grid.sensitivity)
    finder = Exponential(queries=listed, epsilon=Fraction(1), grid=grid)
    unit = grid.unit * grid.sensitivity
    tuning = rest.tune(
        lambda alpha: 1 / alpha**2, finder, unit_weight=unit, sensitivity=grid.sensitivity
    )
    return tuning, Claim(rest.cost.rho or 0.0, kind="rho")


_LISTS: dict[str, tuple[QuestionList, Neighbours, str, float]] = {
    "other queries": (_LINEAR, _RATINGS, "coefficients not divided by the largest", _LARGEST),
    "median": (_STATISTICS, ALL_EDGES[0], "triangles with the noise of cuts", 3.0),
}


def _list_claim(name: str, epsilon: float) -> Claim:
    listed, pair, *_ = _LISTS[name]
    return _list_tuning(listed, Grid.of(pair.first), epsilon)[1]


@audited_laws(
    "iterative: {}",
    _LISTS,
    incorrect_variants=lambda name: {
        "half the noise": {"choices": 2, "answers": 2},
        "choices taken for monotone": {"choices": 2},
        _LISTS[name][2]: {"answers": _LISTS[name][3]},
    },
    claim=_list_claim,
)
def _list_rounds(
    name: str, epsilon: float, choices: float = 1, answers: float = 1
) -> Iterator[DistributionPair]:
    """All choices and all answers, from the list's own scores and counts on both neighbours.

    Args:
        name: of the list.
        epsilon: of the release.
        choices: factor of the rate of the choices; 1 keeps the guarantee.
        answers: factor of what an answer moves by; likewise.
    """
    listed, pair, *_ = _LISTS[name]
    grid = Grid.of(pair.first)
    tuning, _ = _list_tuning(listed, grid, epsilon)
    finder, noise = tuning.distinguisher, tuning.noise
    if not isinstance(finder, Exponential) or noise is None:
        raise TypeError("a list is searched by the exponential mechanism")
    scoring, rate = finder.scoring, float(finder.scoring.rate(finder.epsilon)) * choices
    first, second = (listed.true_scores(graph, scoring) for graph in (pair.first, pair.second))
    change = max(_change(listed, each, pair, grid) for each in listed) * answers
    measured = replace(normal_pair(float(noise.parameter), change), copies=_ROUNDS)
    yield half_way(pair.name, second - first, rate, copies=_ROUNDS, independent=(measured,))


def _change(listed: QuestionList, own: Question, pair: Neighbours, grid: Grid) -> int:
    counts = [listed.true_count(own, graph, grid) for graph in (pair.first, pair.second)]
    return abs(counts[1] - counts[0])


# The query release game.

# Both have the pair that changes, so all four signed cuts move.
_BOTH = gc.CutList(UNIVERSE, [gc.CutQuery([2], [3]), gc.CutQuery([2], [0, 1, 3])])
_OF_SUMS = ((2 * _ROUNDS - 1) * _ROUNDS / 6) ** 0.5  # deviation of sums of gains over one gain's
_TOTAL, _OFF = 3.0, 1.5  # public stand-ins for what is bought
_HIDE = 0.95  # of a list of two cuts: scores are cut from the third round on


def game_of(
    player: str, epsilon: float, hide: float | None = None
) -> tuple[PlayerGame, GameTuning, Claim]:
    """A game of four rounds, its tuning, and what all but the total is guaranteed to cost."""
    game = PlayerGame(
        queries=_BOTH,
        grid=Grid(),
        calibration=PracticalIterative(epsilon=epsilon, delta=_DELTA),
        game=gc.Game(player=player, rounds=_ROUNDS, hide_queries=hide),
    )
    *_, rest = game.calibration.split_budget(game.grid.sensitivity)
    return game, game.tune(_TOTAL, _OFF, rest), Claim(rest.cost.rho or 0.0, kind="rho")


def paths(
    game: PlayerGame, tuning: GameTuning, graph: gc.Graph, factor: float = 1.0
) -> Iterator[tuple[float, FloatMatrix]]:
    """The chance of every sequence of draws, from the game's own scores, and its plays' sum."""
    true = game.queries.counts(graph, game.grid) * game.scoring.substeps
    rate = float(tuning.rate) * factor
    for drawn in itertools.product(range(2 * len(game.queries)), repeat=tuning.rounds):
        data, chance = game.data_player(_TOTAL, tuning.rounds), 1.0
        plays = np.zeros(game.queries.universe.shape)
        for number, index in enumerate(drawn):
            chance *= softmax(game.scores(true, plays, number, tuning.score_limit), rate)[index]
            plays += data([game.signed_cut(index)])
        yield chance, plays


def _game_laws(
    hide: float | None, player: str, epsilon: float, draws: float = 1.0, test: float = 1.0
) -> Iterator[DistributionPair]:
    """All draws of a game, and beside them the test: its choice at its worst, and its answer.

    Args:
        hide: what a game that hides its list has in place of a test.
        player: who has no regret.
        epsilon: of the game.
        draws: factor of the rate of the draws; 1 keeps the guarantee.
        test: likewise of the test.
    """
    game, tuning, _ = game_of(player, epsilon, hide)
    finder, noise = tuning.test_distinguisher, tuning.test_noise
    if (finder is None or noise is None) != (hide is not None and tuning.score_limit is not None):
        raise TypeError("a game hides its list and cuts its scores, or has a test")
    test_draws: tuple[DistributionPair, ...] = ()
    if finder is not None and noise is not None:
        rate = float(finder.scoring.rate(finder.epsilon)) * finder.scoring.sensitivity * test
        choice = half_way("", np.ones(1), rate)
        test_draws = (choice, normal_pair(float(noise.parameter) / test**2, 1.0))
    for pair in HEAVY_OR_NOT:

        def law(graph: gc.Graph) -> list[float]:
            return [chance for chance, _ in paths(game, tuning, graph, draws)]

        yield DistributionPair.of(pair, law, independent=test_draws)


# Each player, and queries hidden or not, are in a quick audit.
for _hide, _name in (
    (None, "iterative: player {}"),
    (_HIDE, "iterative: player {}, queries hidden"),
):
    audited_laws(
        _name,
        PLAYERS[1:],
        incorrect_variants={
            "half the noise": {"draws": 2.0, "test": 2.0},
            "sums scored as one round": {"draws": _OF_SUMS},
        },
        claim=lambda player, epsilon, hide=_hide: game_of(player, epsilon, hide)[2],
        covers="player: {}",
        slow=lambda player, hide=_hide: (player == "query") is (hide is None),
    )(partial(_game_laws, _hide))


# A release as a distinguisher.


@audited_runs(
    "distinguisher: released",
    pairs=HEAVY_OR_NOT,
    incorrect_variants={
        "a third of the noise": {"factor": 3},
        "released in each round, paid once": {"releases": 3},
    },
    runs=12_000,
)
def _released(
    epsilon: float, graph: gc.Graph, source: EntropySource, factor: int = 1, releases: int = 1
) -> list[float]:
    """What a release answers: the edge, the larger cut, and both together."""
    of = Released(queries=CUTS, distribution=noise_distribution("binary", epsilon=factor * epsilon))
    answers = np.mean([of.answers(graph, source) for _ in range(releases)], axis=0)
    return [float(answers[0]), float(answers.sum())]


# A few answers at once, of which one pair changes all.

_FEW = [gc.CutQuery([0]), gc.CutQuery([0, 2]), gc.CutQuery([0], [1])]  # (0, 1) is in all of them


@audited_runs(
    "answers: {}",
    NORMS,
    pairs=(FIRST_PAIR, one_more("among others", [2, 0, 0], [3, 2, 1])),
    incorrect_variants={
        "a third of the noise": {"factor": 3},
        "the noise of one answer for each": {"columns": np.eye(3, dtype=np.int64)},
    },
    runs=12_000,
    prepared=True,
)
def _answers(
    norm: str,
    epsilon: float,
    source: EntropySource,
    factor: int = 1,
    columns: IntMatrix | None = None,
) -> Callable[[gc.Graph], list[float]]:
    """All answers, their sum and the least of them.

    Args:
        norm: of the noise.
        epsilon: that is guaranteed.
        source: of the noise.
        factor: of the rate; 1 keeps the guarantee.
        columns: that the noise is made for; None for those of the cuts.
    """
    task = Task(EMPTY, _FEW, epsilon=epsilon)
    listed = gc.CutList(task.universe, _FEW)
    made = Answers(noise=norm).laws(task, listed)[norm]
    rate = made.noise.rate * factor
    noise = replace(made.noise, rate=rate)
    if columns is not None:
        noise = KNormNoise.of_columns(columns, rate, norm=norm)
    law = replace(made, noise=noise)

    def run(graph: gc.Graph) -> list[float]:
        values = law.measure(listed, graph, source)
        return [*values, sum(values), min(values), max(values)]

    return run
