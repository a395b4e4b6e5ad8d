"""Iterative releases by the query release game: its options, its run, and what is released."""

from collections.abc import Iterable
from typing import cast

import numpy as np

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.owned_rows import PrivateData
from graphcuts_dp.learn.bit_sets import DenseHypothesis
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.ledger.uses import charged
from graphcuts_dp.offline.cut_list import CutList
from graphcuts_dp.offline.outcome import as_list, pair_promise, synthetic_graph, universe_of
from graphcuts_dp.offline.player_game import GameOutcome, Player, PlayerGame
from graphcuts_dp.offline.release import Accuracy, IterativeRelease, Settings
from graphcuts_dp.offline.tuning import PracticalOffline
from graphcuts_dp.pairs.graph_queries import Question
from graphcuts_dp.privacy.composition import as_stored, check_paid, compose
from graphcuts_dp.privacy.entropy import SEEDED_WARNING, entropy_source
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.protection import Protection
from graphcuts_dp.progress import Progress
from graphcuts_dp.synth.certify import weights_of


def release_by_game(
    game: PlayerGame,
    private: PrivateData,
    graph: AnyGraph,
    protection: Protection,
    *,
    epsilon: float,
    delta: float,
    store: PathLike | Store | None,
    seed: int | None,
    progress: Progress,
) -> IterativeRelease:
    """The release of `release_iteratively` with `player` "query" or "both"; see there.

    Guarantee: (epsilon, delta)-DP for whom the protection names: see `PlayerGame`.
    """
    source = entropy_source(seed)
    cost = protection.cost(game.cost, epsilon=as_stored(epsilon), delta=delta)
    guarantee = protection.promise(_guarantee(game, seed), cost)
    with charged(
        store,
        private,
        kind="release-iteratively",
        parameters={"construction": f"game, player {game.player}"},
        cost=cost,
        guarantee=guarantee,
    ):
        outcome = game.run(graph, source, progress=progress)
        _, bought, rest = game.bought()
        check_paid(outcome.tuning.cost, rest.cost)
        check_paid(compose([bought, outcome.tuning.cost], delta=delta), game.cost)
        return _released(graph, game, outcome, guarantee)


def game_of(
    graph: AnyGraph,
    protection: Protection,
    *,
    player: str,
    epsilon: float,
    delta: float,
    queries: Iterable[Question] | None,
    rounds: int | None = None,
    draws: int = 1,
    hide: float | None = None,
    beta: float = 0.05,
) -> PlayerGame:
    """The game of these options. Reads the graph's schema only.

    Its cost is that of one step of the protection.

    Raises:
        ParameterError: no list of queries, or a number out of range.
    """
    universe = universe_of(graph)
    if queries is None:
        raise ParameterError("a query player that learns needs queries, a public list of cuts")
    if isinstance(draws, bool) or not 1 <= draws <= 1000:
        raise ParameterError("queries_per_round must be a whole number from 1 to 1000")
    listed = as_list(universe, queries)
    if not isinstance(listed, CutList):
        raise ParameterError("a query player that learns has a list of cuts, and no other queries")
    epsilon, delta = protection.step_budget(epsilon=epsilon, delta=delta, zcdp=True)
    return PlayerGame(
        queries=listed,
        grid=Grid.of(graph),
        budget=PracticalOffline(epsilon=epsilon, delta=delta, beta=beta / 4),
        player=cast(Player, player),
        rounds=rounds,
        draws=draws,
        hide=hide,
        beta=beta,
    )


def _guarantee(game: PlayerGame, seed: int | None) -> PrivacyGuarantee:
    _, bought, _ = game.bought()
    parts = ("total weight", bought.epsilon), ("rounds", game.cost.epsilon - bought.epsilon)
    public = ", the number of queries" if game.hide is not None else ""
    return pair_promise(game.universe, game.grid, game.cost, seed=seed, parts=parts, public=public)


def _released(
    graph: AnyGraph, game: PlayerGame, outcome: GameOutcome, guarantee: PrivacyGuarantee
) -> IterativeRelease:
    """What is made of an outcome. Reads the graph's schema only."""
    grid, hidden = game.grid, game.hide is not None
    cap = grid.cap or 1.0
    matrix = outcome.average * game.unit
    weights = weights_of(np.clip(matrix, 0, cap), cap)
    note = "" if guarantee.is_private else SEEDED_WARNING
    error = graph_error = None
    if outcome.error is not None:
        error = outcome.error * game.unit + grid.rounding(game.universe.size)
        graph_error = error + float(np.abs(game.queries.on_matrix(weights - matrix)).max())
    tuning = outcome.tuning
    return IterativeRelease(
        graph=synthetic_graph(graph, weights, cap, note),
        hypothesis=DenseHypothesis(game.universe, matrix),
        guarantee=guarantee,
        accuracy=Accuracy(
            error=error,
            confidence=1 - game.beta,
            queries="none" if error is None else "listed",
            graph_error=graph_error,
        ),
        settings=Settings(
            construction="query release game",
            distinguisher=f"player: {game.player}",
            calibration="practical" if not hidden else f"practical, queries hidden: {game.hide:g}",
            rounds=tuning.rounds,
            used=tuning.rounds,
            stopped="rounds",
            total=outcome.total_weight * game.unit,
        ),
        transcript=() if outcome.tested is None else (outcome.tested,),
        cap=cap,
        listed=None if hidden else game.queries,
    )
