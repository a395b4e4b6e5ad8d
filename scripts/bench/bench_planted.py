"""Measure planted blocks whose signal is near the noise: sums between them in synthetic graphs.

Run `python -m scripts.bench.bench_planted [--quick]`. Signal: (p_in - p_out) |block| of the
smallest block over s sqrt(n), where s is the deviation of an entry if all of epsilon were spent on
entries. Columns: mean error of the sums between two blocks in the synthetic graph, over that in the
noisy matrix of the same releases, all graphs and releases together; the same of the release for
which it is largest; the share of releases that warn that communities may be merged; how many have a
sum outside of its 95 % interval (`answer_all` with joint=True, and with simultaneous=True); and how
many of these do not warn. Each release is of a graph of its own. Thresholds were tuned on the
graphs called "tuning" alone.
"""

import itertools
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.estimate.noises import noise_distribution
from scripts.bench.harness import Table, run

SEEDS, QUICK_SEEDS = 50, 3


@dataclass(frozen=True)
class Kind:
    """Blocks of these sizes; of a bipartite graph those of the left and of the right."""

    sizes: tuple[int, ...]
    inside: float
    between: float
    tuning: bool = False
    epsilon: float = 1.0
    right: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """For the table."""
        even = len(set(self.sizes)) == 1
        blocks = f"{len(self.sizes)} blocks" if even else "/".join(map(str, self.sizes))
        sides = f" x {sum(self.right)}" if self.right else ""
        densities = f"{self.inside:g}/{self.between:g}"
        return f"{sum(self.sizes)}{sides}, {blocks}, {densities}, {self.epsilon:g}"

    @property
    def signal(self) -> float:
        """Return the signal of the smallest block."""
        noise = noise_distribution("binary", epsilon=self.epsilon, max_weight=1.0)
        left, right = self.sizes, self.right or self.sizes
        edge = noise.standard_deviation * (sum(left) ** 0.5 + sum(right) ** 0.5) / 2
        return (self.inside - self.between) * (min(left) * min(right)) ** 0.5 / edge

    def drawn(self, seed: int) -> tuple[Any, list[gc.CutQuery]]:
        """Draw a graph, and return it with the cuts between two of its blocks."""
        left, right = indicators(self.sizes), indicators(self.right or self.sizes)
        chances = np.where(left @ right.T > 0, self.inside, self.between)
        is_edge = np.random.default_rng(seed).random(chances.shape) < chances
        graph: Any
        if self.right:
            graph = gc.BipartiteGraph(*np.nonzero(is_edge), left=len(left), right=len(right))
            pairs = itertools.permutations(range(len(self.sizes)), 2)
        else:
            graph = gc.Graph(*np.nonzero(np.triu(is_edge, 1)), vertices=len(left))
            pairs = itertools.combinations(range(len(self.sizes)), 2)
        return graph, [gc.CutQuery(left[:, i] > 0, right[:, j] > 0) for i, j in pairs]


def indicators(sizes: tuple[int, ...]) -> Any:
    """Return 0/1 columns of consecutive blocks."""
    return np.repeat(np.eye(len(sizes)), sizes, axis=0)


KINDS = (
    Kind((75,) * 4, 0.4, 0.04, tuning=True),
    Kind((100,) * 4, 0.3, 0.03, tuning=True),
    Kind((125,) * 4, 0.3, 0.03, tuning=True),
    Kind((100,) * 6, 0.4, 0.04, tuning=True),
    Kind((100,) * 4, 0.4, 0.04, tuning=True),
    Kind((100,) * 4, 0.5, 0.05, tuning=True),
    Kind((120,) * 3, 0.3, 0.05),
    Kind((160, 130, 110, 100), 0.4, 0.05),
    Kind((90,) * 7, 0.5, 0.05),
    Kind((140,) * 5, 0.35, 0.02),
    Kind((60,) * 5, 0.4, 0.05, epsilon=1.5),
    Kind((150, 150, 100), 0.5, 0.1),
    Kind((100,) * 5, 0.6, 0.06),
    Kind((75,) * 4, 0.4, 0.04, right=(75,) * 4),
    Kind((60,) * 4, 0.4, 0.04, right=(100,) * 4),
    Kind((70, 60, 50), 0.35, 0.05, right=(180, 140, 130)),
    Kind((50,) * 4, 0.5, 0.05, right=(125,) * 4),
)


def measured(kind: Kind, seeds: range) -> list[dict[str, Any]]:
    """Return a line for each release."""
    results = []
    for seed in seeds:
        graph, queries = kind.drawn(seed)
        truth = gc.answer_all(queries, graph)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gc.errors.AccuracyWarning)
            release = gc.release_graph(graph, epsilon=kind.epsilon, seed=seed)
        synthetic = gc.answer_all(queries, release.expected)
        space = release.noisy.space
        noisy = np.array([release.noisy.cut_value(*query.masks(space)) for query in queries])
        outside = {}
        for key, option in (("joint", "joint"), ("all", "simultaneous")):
            answers = release.answer_all(queries, **{option: True})
            low, high = np.array([answer.interval for answer in answers]).T
            outside[key] = bool(((synthetic < low) | (synthetic > high)).any())
        results.append({
            "made": float(np.abs(synthetic - truth).mean()),
            "noisy": float(np.abs(noisy - truth).mean()),
            "warned": release.fit.warning is not None,
            **outside,
        })  # fmt: skip
    return results


def columns(kind: Kind, results: list[dict[str, Any]]) -> tuple[Any, ...]:
    """Return the columns of a line of the table."""
    noisy = np.mean([one["noisy"] for one in results])
    synthetic = np.array([one["made"] for one in results]) / noisy
    outside = []
    for key in ("joint", "all"):
        those = [one for one in results if one[key]]
        outside += [len(those), sum(not one["warned"] for one in those)]
    warned = np.mean([one["warned"] for one in results])
    return kind.signal, synthetic.mean(), np.median(synthetic), synthetic.max(), warned, *outside


def main(quick: bool) -> None:
    """Print the table; --quick takes few releases of each kind."""
    table = Table(
        "n,_blocks,_densities,_epsilon:<40 :<8 signal:>6.2f mean:>7.2f median:>8.2f largest:>8.2f "
        "warned:>8.2f joint:>6 :>4 all:>6 :>4"
    )
    for kind in sorted(KINDS, key=lambda kind: kind.signal):
        results = measured(kind, range(QUICK_SEEDS if quick else SEEDS))
        table.row(kind.name, "tuning" if kind.tuning else "", *columns(kind, results))


if __name__ == "__main__":
    run(main, __doc__)
