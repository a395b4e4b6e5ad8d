"""Compare sessions that start from noisy sums between groups with starts from the total weight.

Run `python -m scripts.bench.bench_group_starts [--quick]`. The graphs are those of
bench_groups.py on which nothing was tuned, at epsilon = 1 and delta = 1e-6, for 1,000 guaranteed
answers. The queries are 24 cuts between two unions of groups and 24 halves of all vertices; every
second half consists of whole groups. Each entry is the error that the session guarantees and, in
brackets, the mean and the largest error of its answers, all three as medians over seeds. "chance"
has the groups of other vertices, which carry no information. The exit status is 1 if a session
with such groups guarantees an error more than 5 % larger than without groups.
"""

import statistics
from typing import Any

import numpy as np

import graphcuts_dp as gc
from scripts.bench.bench_groups import GRAPHS
from scripts.bench.harness import run, session_errors

EPSILON, DELTA, QUERIES, ASKED = 1.0, 1e-6, 1000, 24
METHODS = ("frieze-kannan", "multiplicative-weights")
ALLOWED = 1.05  # ratio of guaranteed errors, with groups drawn by chance over without groups


def cuts(labels: Any) -> list[gc.CutQuery]:
    """Return unions of groups against others, and halves: at random, or of whole groups."""
    random, k = np.random.default_rng(0), labels.max() + 1
    queries = []
    for number in range(ASKED):
        sides = random.integers(0, 3, k)
        queries.append(gc.CutQuery(np.isin(labels, *np.nonzero(sides == 1)), sides[labels] == 2))
        half = random.random(k)[labels] < 0.5 if number % 2 else random.random(len(labels)) < 0.5
        queries.append(gc.CutQuery(half))
    return queries


def main(quick: bool) -> int:
    """Print the table; return 1 if groups without information cost more than is allowed."""
    seeds, worst = (1, 0.0) if quick else (5, 0.0)
    chosen = list(GRAPHS["validation"].items())[: 1 if quick else None]
    print(f"epsilon = {EPSILON:g}, delta = {DELTA:g}, {QUERIES:,} answers, {seeds} seeds")
    for name, make in chosen:
        graph, labels = make()
        queries = cuts(labels)
        chance = np.random.default_rng(5).permutation(labels)
        print(f"{name} (n {graph.n}, m {len(graph.rows):,})")
        for method in METHODS:
            outcomes: dict[str, list[float]] = {}
            for kind, group_labels in (("total", None), ("groups", labels), ("chance", chance)):
                options: dict[str, Any] = {"method": method}
                if group_labels is not None:
                    groups = gc.Groups(graph.vertices, {"g": group_labels.tolist()})
                    options |= {"start": "groups", "groups": groups}
                runs = [
                    session_errors(graph, queries, queries=QUERIES, seed=seed, **options)
                    for seed in range(seeds)
                ]
                outcomes[kind] = [
                    statistics.median(getattr(run, name) for run in runs)
                    for name in ("guaranteed", "mean", "largest")
                ]
            worst = max(worst, outcomes["chance"][0] / outcomes["total"][0])
            shown = "; ".join(
                f"{kind} {bound:,.0f} ({mean:,.0f}, {largest:,.0f})"
                for kind, (bound, mean, largest) in outcomes.items()
            )
            print(f"  {method}: {shown}", flush=True)
    print(f"groups made by chance: at most {worst:.3f} times the guaranteed error without")
    return int(worst > ALLOWED)


if __name__ == "__main__":
    run(main, __doc__)
