"""Compare rank-one distinguishers: the result of one call, and whole releases with them.

Run `python -m scripts.bench.bench_rank_one [--quick] [--calls] [--releases]`. Tables in
markdown, for the readme. Not private: everything is compared with the truth. Minutes.
"""

import sys
import time

from scripts.benchmark.page import markdown
from scripts.figures import rank_one, rank_one_release


def cell(value) -> str:
    """Write three digits, or all whole ones."""
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def verdict_on_calls(rows: list[dict]) -> str:
    """Say who finds the largest cut, if it has at least a third of the best known one."""
    best = max(rows, key=lambda row: row["part of best"])
    if best["part of best"] < 1 / 3:
        return "all lose: no cut of a third of the best known one is found"
    return f"{best['method']} finds most: {best['part of best']:.0%} of the best known cut"


def verdict_on_releases(rows: list[dict]) -> str:
    """Say who has the least worst cut, and the least error between the blocks."""
    trivial = next(row for row in rows if row["method"] == "density only")
    verdicts = []
    for column, name in (("upper", "worst cut"), ("between blocks", "between blocks")):
        best = min(rows, key=lambda row: row[column])
        gain = 1 - best[column] / trivial[column]
        rounds = f", {best['rounds']} rounds" if best["rounds"] else ""
        verdicts.append(f"least {name}: {best['method']}{rounds} ({gain:.0%} below density only)")
    return "; ".join(verdicts)


def show(name: str, experiment, verdict, quick: bool) -> None:
    """Print a table, who wins in each case, and the findings."""
    started = time.perf_counter()
    table = experiment(quick=quick, seed=1, progress=lambda part, message: print(
        f"{part:.0%} {message}", file=sys.stderr, flush=True))  # fmt: skip
    print(f"\n### {name}: epsilon = 1, {table.parameters}")
    print(markdown(table.columns, [list(map(cell, row)) for row in table.rows]), end="")
    for case, n in dict.fromkeys((row[0], row[1]) for row in table.rows):
        print(f"- {case}, n = {n}: {verdict(table.where(case=case, n=n))}")
    for finding in table.findings:
        print(finding)
    print(f"({time.perf_counter() - started:.0f} s)", flush=True)


def main(options: list[str]) -> None:
    """Print both tables, or the one asked for."""
    quick = "--quick" in options
    if "--releases" not in options:
        show("one call", rank_one.measure, verdict_on_calls, quick)
    if "--calls" not in options:
        show("whole releases", rank_one_release.measure, verdict_on_releases, quick)


if __name__ == "__main__":
    main(sys.argv[1:])
