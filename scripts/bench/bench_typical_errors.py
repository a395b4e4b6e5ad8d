"""Compare stated typical errors with measured ones, by kind of cut, and price mixed lists.

Run `python -m scripts.bench.bench_typical_errors [--quick] [--part tuning] [--epsilon .5]`. On the
graphs without weights and with one vertex set of baseline_graphs.py that no constant was chosen on
(those named "validation"; with --part tuning, the others), a few seeds each. First, of unbiased and
shrunk answers, and of those of a sparse release: the root mean square of `typical_error` over that
of the errors, each kind of cuts asked as a list of its own. Kinds: random halves; communities that
Louvain's method finds in the private graph, against the rest, with each other, and inside; the same
with 5 % of their vertices exchanged; single vertices; and random sets of n/10 and of sqrt(n)
vertices against the rest. "neighbours" are the closed neighbourhoods of vertices, which are chosen
by looking at the private graph: they do not count in the share of ratios between .7 and 1.5.

Then shrunk answers for communities with exchanged vertices beside 60 random halves: the root mean
square of their errors over that of the list alone.
"""

import math
import warnings
from collections import defaultdict
from typing import Any

import numpy as np

import graphcuts_dp as gc
from scripts.bench.baseline_graphs import MADE, Entry
from scripts.bench.bench_answers import communities
from scripts.bench.harness import Table, run

CUTS, HALVES, SEEDS = 40, 60, 2
LOW, HIGH = 0.7, 1.5  # of a ratio that is in range
KINDS = ("halves", "com-rest", "com-com", "inside", "exchanged", "vertices", "tenths", "root n")
NEIGHBOURS = "neighbours"
_TABLES = {
    "unbiased": "unbiased answers, typical errors stated over measured",
    "shrunk": "shrunk answers, typical errors stated over measured",
    "sparse": "sparse release, typical errors stated over measured",
}
_FORM = "graph:<34 " + " ".join(f"{kind.replace(' ', '_')}:>11.2f" for kind in (*KINDS, NEIGHBOURS))


def kinds_of(graph: Any) -> dict[str, list[gc.CutQuery]]:
    """Return cuts that are chosen before any noise."""
    rng, n = np.random.default_rng(0), graph.n

    def subset(size: int) -> Any:
        return np.isin(np.arange(n), rng.choice(n, size, replace=False))

    def exchanged(mask: Any) -> Any:
        result, count = mask.copy(), max(1, round(0.05 * mask.sum()))
        result[rng.choice(np.flatnonzero(mask), count, replace=False)] = False
        result[rng.choice(np.flatnonzero(~mask), count, replace=False)] = True
        return result

    parts, _ = communities(graph)
    vertices = rng.choice(n, CUTS, replace=False)
    near = (graph.dense() > 0) | np.eye(n, dtype=bool)
    against = {
        "halves": [subset(n // 2) for _ in range(CUTS)],
        "com-rest": parts,
        "exchanged": [exchanged(mask) for mask in parts],
        "vertices": [np.arange(n) == vertex for vertex in vertices],
        "tenths": [subset(n // 10) for _ in range(CUTS)],
        "root n": [subset(math.isqrt(n)) for _ in range(CUTS)],
        NEIGHBOURS: [near[vertex] for vertex in vertices],
    }
    kinds = {name: [gc.CutQuery(S, ~S) for S in masks] for name, masks in against.items()}
    kinds["inside"] = [gc.CutQuery(S, S) for S in parts]
    kinds["com-com"] = [gc.CutQuery(S, T) for i, S in enumerate(parts) for T in parts[:i]]
    return {name: cuts for name, cuts in kinds.items() if cuts}


def _squares(answers: Any, truth: Any) -> tuple[list[float], list[float]]:
    """Return squared typical errors, and squared errors."""
    values = np.array([one.estimate for one in answers])
    stated = np.array([one.typical_error for one in answers])
    return list(stated**2), list((values - truth) ** 2)


def ratios(entry: Entry, epsilon: float, seeds: int) -> tuple[dict[str, dict[str, float]], float]:
    """Return stated over measured errors by release and kind, and what 60 halves in a list cost."""
    graph = entry.make()
    kinds = kinds_of(graph)
    truth = {name: np.array(gc.answer_all(cuts, graph)) for name, cuts in kinds.items()}
    rng = np.random.default_rng(1)
    halves = [rng.permutation(graph.n) < graph.n // 2 for _ in range(HALVES)]
    all_cuts = kinds["exchanged"] + [gc.CutQuery(mask, ~mask) for mask in halves]
    squares: Any = defaultdict(lambda: ([], []))
    alone_squares, mixed = [], []
    for seed in range(seeds):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dense = gc.release_graph(graph, epsilon=epsilon, seed=seed)
            sparse = gc.release_graph(graph, epsilon=epsilon, seed=seed, mechanism="sparse")
        for kind, cuts in kinds.items():
            for name, answers in (
                ("unbiased", dense.answer_all(cuts)),
                ("shrunk", dense.answer_all(cuts, estimate="shrunk")),
                ("sparse", sparse.answer_all(cuts)),
            ):
                stated, measured = _squares(answers, truth[kind])
                squares[name, kind][0].extend(stated)
                squares[name, kind][1].extend(measured)
        communities_alone = dense.answer_all(kinds["exchanged"], estimate="shrunk")
        alone_squares += _squares(communities_alone, truth["exchanged"])[1]
        among = dense.answer_all(all_cuts, estimate="shrunk")[: len(kinds["exchanged"])]
        mixed += _squares(among, truth["exchanged"])[1]
    ratio_of: dict[str, dict[str, float]] = {name: {} for name in _TABLES}
    for (name, kind), (stated, measured) in squares.items():
        ratio_of[name][kind] = math.sqrt(np.mean(stated) / max(np.mean(measured), 1e-12))
    return ratio_of, math.sqrt(np.mean(mixed) / max(np.mean(alone_squares), 1e-12))


def main(quick: bool, part: str, epsilon: float) -> None:
    """Print the tables."""
    entries = [
        entry
        for entry in MADE
        if entry.part == part and not any(word in entry.name for word in ("sides", "weight", "cou"))
    ]
    entries = entries[:2] if quick else entries
    rows = {entry.name: ratios(entry, epsilon, 1 if quick else SEEDS) for entry in entries}
    for name, title in _TABLES.items():
        table = Table(_FORM, f"epsilon = {epsilon:g}: {title}")
        for graph, (ratio_of, _) in rows.items():
            table.row(graph, *(ratio_of[name].get(kind) for kind in (*KINDS, NEIGHBOURS)))
        columns = {
            kind: np.array(
                [ratio_of[name][kind] for ratio_of, _ in rows.values() if kind in ratio_of[name]]
            )
            for kind in (*KINDS, NEIGHBOURS)
        }
        table.row("mean", *(np.exp(np.log(column).mean()) for column in columns.values()))
        table.row("least", *(column.min() for column in columns.values()))
        table.row("largest", *(column.max() for column in columns.values()))
        counted = np.concatenate([columns[kind] for kind in KINDS])
        inside = np.mean((counted >= LOW) & (counted <= HIGH))
        print(
            f"{name}: {100 * inside:.0f} % of {len(counted)} ratios from {LOW:g} to {HIGH:g}, "
            f"{100 * np.mean(counted < 0.5):.0f} % below .5, least {counted.min():.2f}, "
            f"largest {counted.max():.2f}\n"
        )
    costs = Table(
        "graph:<34 beside_halves:>15.2f", "errors of exchanged communities in mixed lists"
    )
    for graph, (_, cost) in rows.items():
        costs.row(graph, cost)
    costs.row("largest", max(cost for _, cost in rows.values()))


if __name__ == "__main__":
    run(main, __doc__, part="validation", epsilon=1.0)
