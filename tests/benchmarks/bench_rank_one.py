"""Rank-one distinguishers: what one call finds, and what whole releases with them are worth.

Run `python tests/benchmarks/bench_rank_one.py [--quick] [--calls] [--releases]`. Tables in
markdown, for the readme. Not private: everything is compared with the truth. Minutes.
"""

import sys
import time

from graphcuts_dp.evaluation.experiments import rank_one, rank_one_release


def cell(value) -> str:
    """Three digits, or all whole ones."""
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def show(name: str, experiment, quick: bool) -> None:
    """Print a table and its findings."""
    started = time.perf_counter()
    table = experiment(quick=quick, seed=1, progress=lambda part, message: print(
        f"{part:.0%} {message}", file=sys.stderr, flush=True))  # fmt: skip
    print(f"\n### {name}: epsilon = 1, {table.parameters}")
    print("| " + " | ".join(table.columns) + " |")
    print("|" + "---|" * len(table.columns))
    for row in table.rows:
        print("| " + " | ".join(map(cell, row)) + " |")
    for finding in table.findings:
        print(finding)
    print(f"({time.perf_counter() - started:.0f} s)", flush=True)


def main(options: list[str]) -> None:
    """Print both tables, or the one asked for."""
    quick = "--quick" in options
    if "--releases" not in options:
        show("one call", rank_one.measure, quick)
    if "--calls" not in options:
        show("whole releases", rank_one_release.measure, quick)


if __name__ == "__main__":
    main(sys.argv[1:])
