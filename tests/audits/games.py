"""Audits of the query release game and of a release that is turned into a distinguisher."""

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np

from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.evaluation.audit import Claim
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.offline.construction import PLAYERS, Game, GameTuning, PlayerGame
from graphcuts_dp.offline.query_lists import CutList
from graphcuts_dp.offline.rank_one import Released
from graphcuts_dp.offline.tuning import PracticalOffline
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.privacy.noise import EntropySource
from tests.audits.base import Audit, Entry, Enumerated, Run, Sampled
from tests.audits.distances import normal_distribution
from tests.audits.losses import DistributionPair
from tests.audits.selection import PAIRS, QUERIES, UNIVERSE, softmax

_ROUNDS, _DELTA = 4, 1e-6
# Both have the pair that changes, so all four signed cuts move.
_BOTH = CutList(UNIVERSE, [CutQuery([2], [3]), CutQuery([2], [0, 1, 3])])
_OF_SUMS = ((2 * _ROUNDS - 1) * _ROUNDS / 6) ** 0.5  # deviation of sums of gains over one gain's
_TOTAL, _OFF = 3.0, 1.5  # public stand-ins for what is bought
_HIDE = 0.95  # of a list of two cuts: scores are cut from the third round on


def _game(
    player: str, epsilon: float, hide: float | None = None
) -> tuple[PlayerGame, GameTuning, Claim]:
    """A game of four rounds, its tuning, and what all but the total is promised to cost."""
    game = PlayerGame(
        queries=_BOTH,
        grid=Grid(),
        calibration=PracticalOffline(epsilon=epsilon, delta=_DELTA),
        game=Game(player=player, rounds=_ROUNDS, hide_queries=hide),
    )
    *_, rest = game.calibration.with_total(game.grid.sensitivity)
    return game, game.tune(_TOTAL, _OFF, rest), Claim(rest.cost.rho or 0.0, kind="rho")


def _paths(game: PlayerGame, tuning: GameTuning, graph: Graph, factor: float) -> list[float]:
    """The chance of every sequence of draws, from the game's own scores and plays."""
    true = game.queries.counts(graph, game.grid) * game.scoring.substeps
    rate, found = float(tuning.rate) * factor, []
    for drawn in itertools.product(range(2 * len(game.queries)), repeat=tuning.rounds):
        data, chance = game.data_player(_TOTAL, tuning.rounds), 1.0
        plays = np.zeros(UNIVERSE.shape)
        for number, index in enumerate(drawn):
            chance *= softmax(game.scores(true, plays, number, tuning.reach), rate)[index]
            plays += data([game.signed(index)])
        found.append(chance)
    return found


def _game_distributions(
    player: str, epsilon: float, draws: float, test: float
) -> Iterator[DistributionPair]:
    """All draws of a game, and beside them the test: its choice at its worst, and its answer.

    Args:
        player: who has no regret.
        epsilon: of the game.
        draws: factor of the rate of the draws; 1 keeps the promise.
        test: likewise of the test.
    """
    game, tuning, _ = _game(player, epsilon)
    finder, noise = tuning.finder, tuning.noise
    if finder is None or noise is None:
        raise TypeError("a game that hides no list has a test")
    rate = float(finder.scoring.rate(finder.epsilon)) * finder.scoring.sensitivity * test
    both = np.array([1.0, -1.0])
    choice = DistributionPair("", softmax(-both / 2, rate), softmax(both / 2, rate))
    answer = normal_distribution(float(noise.parameter) / test**2, 1.0)
    for pair in PAIRS:
        first, second = (
            np.array(_paths(game, tuning, graph, draws)) for graph in (pair.first, pair.second)
        )
        yield DistributionPair(pair.name, first, second, beside=(choice, answer))


def _hidden_distributions(player: str, epsilon: float, draws: float) -> Iterator[DistributionPair]:
    """All draws of a game that hides its list, which has no test.

    Args:
        player: who has no regret.
        epsilon: of the game.
        draws: as for `_game_distributions`.
    """
    game, tuning, _ = _game(player, epsilon, _HIDE)
    if tuning.reach is None or tuning.finder is not None:
        raise TypeError("a game that hides its list cuts its scores, and has no test")
    for pair in PAIRS:
        first, second = (
            np.array(_paths(game, tuning, graph, draws)) for graph in (pair.first, pair.second)
        )
        yield DistributionPair(pair.name, first, second)


def _one_round(player: str, epsilon: float) -> Iterator[DistributionPair]:
    """A game whose every draw has the noise of a gain of one round."""
    yield from _game_distributions(player, epsilon, _OF_SUMS, 1.0)


def _game_audit(player: str, epsilon: float) -> Audit:
    return Enumerated(
        claim=_game(player, epsilon)[2],
        distributions=partial(_game_distributions, player, epsilon, 1.0, 1.0),
        twins={
            "half the noise": partial(_game_distributions, player, epsilon, 2.0, 2.0),
            "sums scored as one round": partial(_one_round, player, epsilon),
        },
    )


def _hidden_audit(player: str, epsilon: float) -> Audit:
    return Enumerated(
        claim=_game(player, epsilon, _HIDE)[2],
        distributions=partial(_hidden_distributions, player, epsilon, 1.0),
        twins={
            "half the noise": partial(_hidden_distributions, player, epsilon, 2.0),
            "sums scored as one round": partial(_hidden_distributions, player, epsilon, _OF_SUMS),
        },
    )


def _answers(epsilon: float, releases: int, source: EntropySource) -> Run[Graph]:
    """What a release answers: the edge, the larger cut, and both together."""
    of = Released(queries=QUERIES, distribution=noise_distribution("binary", epsilon=epsilon))

    def run(graph: Graph) -> list[float]:
        answers = np.mean([of.answers(graph, source) for _ in range(releases)], axis=0)
        return [float(answers[0]), float(answers.sum())]

    return run


def _released_audit(epsilon: float) -> Audit:
    return Sampled(
        claim=Claim(epsilon),
        pairs=PAIRS,
        start=partial(_answers, epsilon, 1),
        twins={
            "a third of the noise": partial(_answers, 3 * epsilon, 1),
            "released in each round, paid once": partial(_answers, epsilon, 3),
        },
        runs=12_000,
    )


ENTRIES = (
    Entry("distinguisher: released", _released_audit, ("distinguisher: released",)),
    *(
        Entry(f"iterative: player {player}", partial(_game_audit, player), (f"player: {player}",))
        for player in PLAYERS[1:]
    ),
    *(
        Entry(f"iterative: player {player}, queries hidden", partial(_hidden_audit, player))
        for player in PLAYERS[1:]
    ),
)
