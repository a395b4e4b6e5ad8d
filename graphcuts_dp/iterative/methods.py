"""`release_iteratively`, and the table of the constructions that it knows by name.

Each construction is an object of options with a method `job`: `Learning` learns in rounds, `Game`
plays the query release game, `Net` chooses a graph of a net, `Answers` answers a few cuts at once,
and `Sensing` answers linear queries on ratings.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.files import PathLike
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.graph.private_data import PrivateSource, private_data
from graphcuts_dp.iterative.answers import Answers
from graphcuts_dp.iterative.game import Game
from graphcuts_dp.iterative.learning import RULES, Learning
from graphcuts_dp.iterative.net import Net
from graphcuts_dp.iterative.release import IterativeRelease
from graphcuts_dp.iterative.sensing import Sensing
from graphcuts_dp.iterative.task import Task
from graphcuts_dp.learn.learners import Learner
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.options import chosen
from graphcuts_dp.privacy.entropy import Seed
from graphcuts_dp.privacy.k_norm import NORMS
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.queries.graph_queries import Question
from graphcuts_dp.release.job import Job, execute
from graphcuts_dp.resources import Progress, silent

# The names that `construction=` takes, and the options that each stands for.
CONSTRUCTION: Mapping[str, Callable[[], Any]] = {
    **{name: partial(Learning, rule=name) for name in RULES},
    "game": Game,
    "net": Net,
    "sensing": Sensing,
    "answers": Answers,
    **{name: partial(Answers, noise=name) for name in NORMS},
}


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
    """Learn a synthetic graph from noisy answers to queries that a mechanism chooses.

    In all measurements the synthetic graph was less accurate than that of `release_graph`. This
    function is for lists of `queries`, for proven errors on small graphs, and for comparison.

    Args:
        graph: the private graph, or rows with users, or a graph of networkx or igraph, a matrix, or
            a table, see `private_data`: at least two vertices (one on each side if bipartite);
            at most 8192 on each side if a graph is learned; weights need a public bound.
        queries: a public list of cuts, a `CutList` for very long ones; or of any linear queries (at
            most 2^24 coefficients together), and for the median also of statistics; None if the
            distinguisher searches all cuts.
        epsilon: privacy parameter for one `privacy_unit`, in [1e-6, 50]; all of it is spent.
        delta: in [0, 1). It may be 0 for "net", "answers", "k-norm" and "laplace", for the
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
        privacy_unit: the difference between neighbouring data: "edge", or an object such as
            `PrivacyUnit.user(max_contributions=20)`.
        store: path of the store, or a `Store`, that records what was spent on this graph: the
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
            distinguisher of your own costs more than its budget, and nothing is released.
        LedgerError: the store cannot be used.

    Warns:
        AccuracyWarning: before anything is spent, if sensing guarantees no better answers than
            those without data, or if the budget allows rounds on graphs of many edges alone.

    Guarantee: (epsilon, delta)-DP at edge level: see `IterativeConstruction`, `PlayerGame`, `Net`,
    `Answers` and `Sensing`; all else is computed from what these draw.
    Source: GRU12 Alg. 3; DR14 Alg. 7 and 8; Nik17 Alg. 1; JT12 section 4.2.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> cuts = [gc.CutQuery([0]), gc.CutQuery([33])]
        >>> release = gc.release_iteratively(club, cuts, epsilon=4.0, delta=1e-6)
        >>> low, high = release.answer(cuts[0]).interval  # both hold with the default confidence
        >>> few = gc.release_iteratively(club, cuts, epsilon=1.0, construction="answers")
        >>> few.answer([33]).interval == few.answer(cuts[1]).interval
        True
    """
    data = private_data(graph)
    task = Task(data, queries, epsilon=epsilon, delta=delta, beta=beta, privacy_unit=privacy_unit)
    job: Job[IterativeRelease] = construction_of(construction).job(task)
    return execute(job, data, store=store, seed=seed, progress=progress)


def construction_of(construction: Any) -> Any:
    """Return the object of options for a construction.

    Args:
        construction: a name of `CONSTRUCTION`, perhaps with options, such as "net:edges=5"; an
            object of options, known by its method `job`, which is returned; or else a learner.

    Raises:
        ParameterError: an unknown name, or an option that its construction does not take.
    """
    if isinstance(construction, str):
        return chosen(construction, CONSTRUCTION, "construction")
    return construction if hasattr(construction, "job") else Learning(rule=construction)
