"""Speed and memory of hypotheses in few numbers, beside truth vectors and dense matrices.

Run `python -m scripts.bench.bench_idc [--quick]`. Medians of several.
"""

import tracemalloc

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.learn.blocks import BlockHypothesis
from graphcuts_dp.learn.cut_sum import CutSum
from graphcuts_dp.pairs.universe import Universe
from scripts.bench.harness import median_seconds, run

Masks = list[tuple[np.ndarray, np.ndarray]]


def random_sets(kind: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """S and T: the two sides of a cut, disjoint, or overlapping."""
    if kind == "two sides":
        S = rng.random(n) < 0.5
        return S, ~S
    if kind == "disjoint":
        part = rng.integers(0, 3, n)
        return part == 0, part == 1
    return rng.random(n) < 0.5, rng.random(n) < 0.5


def sum_of_cuts(n: int, cuts: Masks, rng: np.random.Generator) -> CutSum:
    """A hypothesis at some density after one update by each cut."""
    hypothesis = CutSum.constant(Universe(n), 0.1)
    for S, T in cuts:
        hypothesis = hypothesis.plus(gc.CutQuery(S, T), rng.normal() / n)
    return hypothesis


def with_truth_vectors(cuts: Masks, S: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Pairs shared by disjoint cuts, naively: the same counts without bits."""
    return np.array(
        [
            np.count_nonzero(S & A) * np.count_nonzero(T & B)
            + np.count_nonzero(S & B) * np.count_nonzero(T & A)
            for A, B in cuts
        ]
    )


def sums_of_cuts(n: int, updates: int, repeats: int) -> None:
    """Estimate one cut query at n, beside truth vectors."""
    rng = np.random.default_rng(0)
    for kind in ("two sides", "disjoint", "overlapping"):
        tracemalloc.start()
        cuts = [random_sets(kind, n, rng) for _ in range(updates)]
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        hypothesis = sum_of_cuts(n, cuts, rng)
        S, T = random_sets(kind, n, rng)
        query = gc.CutQuery(S, T)
        hypothesis.estimate(query)
        megabytes = (tracemalloc.get_traced_memory()[1] - before) / 2**20
        tracemalloc.stop()
        mine = median_seconds(lambda h=hypothesis, q=query: h.estimate(q), repeats)
        peer = median_seconds(
            lambda c=cuts, S=S, T=T: with_truth_vectors(c, S, T), max(3, repeats // 5)
        )
        target = "  targets <= 5 ms, <= 200 MB" if n == 100_000 else ""
        row = (
            f"n = {n}, {updates} updates, {kind:<12} {1e3 * mine:7.2f} ms, peak {megabytes:.0f} MB"
        )
        print(f"{row}  {peer / mine:5.1f} x faster than truth vectors{target}")


def against_dense(n: int, updates: int, repeats: int) -> None:
    """The same at a size that a dense matrix fits."""
    rng = np.random.default_rng(1)
    hypothesis = sum_of_cuts(n, [random_sets("disjoint", n, rng) for _ in range(updates)], rng)
    dense = DenseHypothesis(hypothesis.universe, hypothesis.dense())
    query = gc.CutQuery(*random_sets("disjoint", n, rng))
    mine = median_seconds(lambda: hypothesis.estimate(query), repeats)
    peer = median_seconds(lambda: dense.estimate(query), repeats)
    print(
        f"n = {n}, {updates} updates: {1e3 * mine:.2f} ms, dense {1e3 * peer:.2f} ms:"
        f" {peer / mine:.1f} x faster"
    )


def block_updates(n: int, repeats: int, *, dense: bool) -> None:
    """One multiplicative update of about 30 blocks."""
    rng = np.random.default_rng(2)
    universe = Universe(n)
    hypothesis = BlockHypothesis.constant(universe, 0.1)
    peer = DenseHypothesis.constant(universe, 0.1) if dense else None
    for bit in range(4):  # 16 blocks; the next cut makes 32 of them
        query = gc.CutQuery((np.arange(n) >> bit) % 2 == 1)
        hypothesis = hypothesis.tilted(query, 0.1)
    query = gc.CutQuery(rng.random(n) < 0.5)
    blocks = len(hypothesis.tilted(query, 0.1).weights)
    mine = median_seconds(lambda: hypothesis.tilted(query, 0.1), repeats)
    row = f"n = {n}, weights on {blocks} blocks, one update: {1e3 * mine:.2f} ms  target <= 10"
    if peer is not None:
        theirs = median_seconds(lambda: peer.tilted(query, 0.1), 3)
        row += f"  dense {1e3 * theirs:.0f} ms: {theirs / mine:.0f} x faster"
    print(row)


def main(quick: bool) -> None:
    """Print everything."""
    repeats = 7 if quick else 25
    sums_of_cuts(100_000, 500, repeats)
    if not quick:
        sums_of_cuts(1_000_000, 100, repeats)
    against_dense(2_000 if quick else 5_000, 100, repeats)
    block_updates(1_000 if quick else 3_000, repeats, dense=True)
    block_updates(10_000, repeats, dense=False)


if __name__ == "__main__":
    run(main, __doc__)
