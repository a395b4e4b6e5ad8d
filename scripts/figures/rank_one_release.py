"""Compare whole releases by iterative construction with rank-one distinguishers with others.

Two planted blocks, "strong" (edge probabilities 0.7 and 0.3) or "sparse" (20 edges a vertex). All
have epsilon = 1; those with the power method delta = 1e-6, too. The calibration "practical" chooses
the rounds, which the column tells. Errors are those of the released weights: ||x - A||_C (matrix
form: edges inside both sets count twice) from both sides by a certificate, the cut between the
blocks, and the mean over random halves.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.iterative.learning import Learning
from graphcuts_dp.iterative.methods import release_iteratively
from graphcuts_dp.release.graphs import release_graph
from graphcuts_dp.resources import Progress
from scripts.benchmark.baselines import density_only
from scripts.figures.base import Table, above
from scripts.figures.random_graphs import planted_partition

EPSILON, DELTA = 1.0, 1e-6
COLUMNS = ("case", "n", "method", "rounds", "lower", "upper", "between blocks", "random halves")
_HALVES = 100
_CERTIFIED = 0.05  # tolerance of certificates
_DISTINGUISHERS = ("response-rank-one", "power-rank-one")
_CONSTRUCTIONS = ("multiplicative-weights", "frieze-kannan")

# From a graph and a seed to the released weights, and the number of rounds of iterative ones.
Method = Callable[[Graph, int], tuple[FloatMatrix, int | None]]


def _iterative(
    graph: Graph, seed: int, *, construction: str, distinguisher: str
) -> tuple[FloatMatrix, int]:
    learning = Learning(rule=construction, distinguisher=distinguisher)
    release = release_iteratively(
        graph, epsilon=EPSILON, delta=DELTA, construction=learning, seed=seed
    )
    return release.graph.dense(), release.settings.rounds


METHODS: dict[str, Method] = {
    "all zero": lambda graph, _: (np.zeros((graph.n, graph.n)), None),
    "density only": lambda graph, seed: (
        density_only(graph, epsilon=EPSILON, seed=seed).matrix,
        None,
    ),
    "default release": lambda graph, seed: (
        release_graph(graph, epsilon=EPSILON, seed=seed).expected.dense(),
        None,
    ),
} | {
    f"{construction}, {distinguisher}": partial(
        _iterative, construction=construction, distinguisher=distinguisher
    )
    for distinguisher in _DISTINGUISHERS
    for construction in _CONSTRUCTIONS
}


def measure(*, quick: bool, seed: int, progress: Progress) -> Table:
    """One row for each case, size and method, means over repetitions; see `Experiment`."""
    sizes, repetitions = ((40,), 1) if quick else ((200, 500, 1000, 2000), 2)
    cases = [(case, n) for n in sizes for case in ("strong", "sparse")]
    rows: list[tuple[Any, ...]] = []
    wins = 0
    for case_index, (case, n) in enumerate(cases):
        progress(case_index / len(cases), f"{case}, n = {n}")
        p_in, p_out = (0.7, 0.3) if case == "strong" else (36 / n, 4 / n)
        graph = planted_partition(n, 2, p_in, p_out, seed=seed + case_index)
        upper: dict[bool, list[float]] = {True: [], False: []}
        for name, method in METHODS.items():
            runs = []
            for k in range(repetitions):
                matrix, rounds = method(graph, seed + k)
                runs.append(errors(matrix, graph, seed))
            mean = np.mean(runs, axis=0).tolist()
            rows.append((case, n, name, rounds, *mean))
            upper[rounds is not None].append(mean[1])
        wins += min(upper[True]) < min(upper[False])
    parameters = {"epsilon": EPSILON, "delta": DELTA, "repetitions": repetitions}
    statement = (
        "GRU12 section 7: rank-one distinguishers improve on other releases"
        " (part of the cases where their certified worst cut is least)"
    )
    findings = [above(statement, wins / len(cases), 1 / 2)]
    return Table(columns=COLUMNS, rows=rows, parameters=parameters, findings=findings)


def errors(matrix: FloatMatrix, graph: Graph, seed: int) -> tuple[float, float, float, float]:
    """Return (worst cut from below and above, between the two blocks, mean of random halves)."""
    off = matrix - graph.dense()
    certificate = cut_norm(off, tolerance=_CERTIFIED, seed=seed)
    block = np.arange(graph.n) < graph.n // 2
    rng = np.random.default_rng([seed, 1])
    halves = rng.random((_HALVES, graph.n)) < 0.5
    values = np.abs(np.einsum("ci,ij,cj->c", halves, off, ~halves, optimize=True))
    between = abs(float(off[np.ix_(block, ~block)].sum()))
    return certificate.lower, certificate.upper, between, float(values.mean())
