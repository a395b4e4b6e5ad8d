"""Compare sessions that learn from linear queries on ratings of low rank.

Run `python -m scripts.bench.bench_linear_sessions [--quick]`. Users and items are of few kinds,
each kind of users has rated each kind of items with chance 1/2; in every third case a twentieth of
all pairs is flipped, which makes the rank full. A million adaptive answers are guaranteed, at
epsilon = 1 and delta = 1e-6. Queries have random signs, of whose largest singular value the
sessions are told; one in four of them has the signs of the ratings on a random tenth of all pairs.
Exits with 1 if `auto` guarantees more than 5 % above the best of the norms.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.queries.linear import MatrixQuery
from scripts.bench.harness import Outcome, Table, compared_norms, run, session_errors

QUERIES, ASKED = 10**6, 8
METHODS = ("l2", "entropy", "schatten", "auto", "gaussian")


def ratings(side: int, kinds: int, errors: float, seed: int) -> gc.BipartiteGraph:
    """Draw tastes of a few kinds, with some errors."""
    random = np.random.default_rng(seed)
    users, items = random.integers(kinds, size=(2, side))
    taste = random.random((kinds, kinds)) < 0.5
    likes = taste[users][:, items] ^ (random.random((side, side)) < errors)
    return gc.BipartiteGraph(*np.nonzero(likes), left=side, right=side)


def asked_of(graph: gc.BipartiteGraph, seed: int) -> tuple[list[MatrixQuery], float]:
    """Return queries, and a bound on their largest singular values, from public numbers."""
    random, truth = np.random.default_rng(seed), np.where(graph.dense() > 0, 1.0, -1.0)
    queries = []
    for number in range(ASKED):
        signs = random.choice([-1.0, 1.0], size=truth.shape)
        if number % 4 == 3:
            signs = np.where(random.random(truth.shape) < 0.1, truth, signs)
        queries.append(gc.Query.matrix(signs))
    return queries, max(float(np.linalg.norm(query.C, 2)) for query in queries) * 1.01


def session(graph: gc.BipartiteGraph, name: str, seed: int) -> Outcome:
    """Run one session by a norm of mirror descent, or with Gaussian noise."""
    queries, spectral = asked_of(graph, seed)
    options = {"method": name}
    if name != "gaussian":
        options = {"method": "mirror-descent", "norm": name, "max_spectral_norm": spectral}
    return session_errors(graph, queries, queries=QUERIES, linear=True, seed=1, **options)


def cases(quick: bool) -> Iterator[tuple[Sequence[Any], Callable[[str], Outcome]]]:
    """Yield the first cells of a line, and a function that runs a session of a name."""
    kinds_of = ((2, 0.0), (5, 0.0), (5, 0.05))
    for side in (200,) if quick else (200, 500, 1000):
        for kinds, errors in kinds_of if side < 1000 else kinds_of[:1]:
            graph = ratings(side, kinds, errors, seed=side + kinds)
            yield (side, kinds, errors, len(graph.rows)), partial(session, graph, seed=kinds)


def main(quick: bool) -> int:
    """Print the table; whether `auto` is worse than it may be."""
    table = Table(
        "side:>5, kinds:>6 errors:>7.2f ratings:>9, __method:<12 takes:<15 "
        "guaranteed:>11,.0f largest:>9,.0f median:>8,.0f s:>7.1f"
    )
    return compared_norms(table, cases(quick), METHODS, METHODS[:3], "median")


if __name__ == "__main__":
    run(main, __doc__)
