"""Compute errors of tables over time, in units of one independent month's error.

    python -m scripts.updates          # the table of docs/updates.md
    python -m scripts.updates --write  # write it there

Errors are those of sixty months, from public numbers alone: standard deviations of the least
squares estimates from everything that is published in the end, as root mean squares over all
windows of a length.
"""

import argparse
import math
import sys
from functools import cache
from pathlib import Path

from graphcuts_dp.estimate.time_estimator import TimeEstimator
from graphcuts_dp.estimate.time_strategy import (
    CALENDAR_YEARS,
    INDEPENDENT,
    SQUARE_ROOT,
    TimeStrategy,
)
from graphcuts_dp.schema.periods import Periods

MONTHS, DELTA = 60, 1e-6
PAGE = Path(__file__).resolve().parents[1] / "docs" / "updates.md"
_BEGIN, _END = "<!-- errors: begin -->\n", "<!-- errors: end -->"
_HORIZON = Periods.of("2026-01..2030-12").labels
_CONTRIBUTIONS = 1024  # grid units of one change; errors are ratios, in which it cancels
_ROWS = (
    ("pure: independent months", INDEPENDENT, 0.0),
    ("pure: months and calendar years", CALENDAR_YEARS, 0.0),
    ("Gaussian: independent months", INDEPENDENT, DELTA),
    ("Gaussian: months and calendar years", CALENDAR_YEARS, DELTA),
    ("Gaussian: square root", SQUARE_ROOT, DELTA),
)


@cache
def _estimator(strategy: str, delta: float) -> TimeEstimator:
    chosen = TimeStrategy.choose(_HORIZON, strategy=strategy, delta=delta)
    noise = chosen.noise(chosen.budget_plan(epsilon=1.0, delta=delta), _CONTRIBUTIONS)
    return TimeEstimator(chosen, noise, MONTHS)


@cache
def error(strategy: str, delta: float, length: int, step: int = 1) -> float:
    """Return the root mean square error of windows, in units of one independent month's error.

    Args:
        strategy: name of the strategy, which decides what is published.
        delta: 0 for Laplace noise, else for Gaussian noise.
        length: months of a window.
        step: from the start of one window to that of the next; 12 for calendar years of 12.
    """
    month = _estimator(INDEPENDENT, delta).deviation(0, 1)
    estimator = _estimator(strategy, delta)
    starts = range(0, MONTHS - length + 1, step)
    squares = [estimator.deviation(start, start + length) ** 2 for start in starts]
    return math.sqrt(sum(squares) / len(squares)) / month


def first_gain(strategy: str, delta: float, factor: float = 1.0) -> int | None:
    """Return the shortest window with less than `factor` times the error of independent months."""
    lengths = range(1, MONTHS + 1)
    return next(
        (
            length
            for length in lengths
            if error(strategy, delta, length) < factor * error(INDEPENDENT, delta, length)
        ),
        None,
    )


def table() -> str:
    """Return the table of docs/updates.md, in Markdown."""
    heads = ("noise: published", "a month", "a calendar year", "any 12 months", "any 24", "all 60")
    lines = [
        f"| {' | '.join(heads)} | better from | half from |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, strategy, delta in _ROWS:
        windows = ((1, 1), (12, 12), (12, 1), (24, 1), (MONTHS, 1))
        errors = [f"{error(strategy, delta, length, step):.2f}" for length, step in windows]
        gains = [first_gain(strategy, delta, factor) for factor in (1.0, 0.5)]
        if strategy == INDEPENDENT:
            gains = [None, None]
        words = ["" if gain is None else f"{gain} months" for gain in gains]
        lines.append(f"| {' | '.join([name, *errors, *words])} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--write", action="store_true", help="write the table to docs/updates.md")
    if parser.parse_args().write:
        text = PAGE.read_text(encoding="utf-8")
        before, _, after_begin = text.partition(_BEGIN)
        _, _, after = after_begin.partition(_END)
        PAGE.write_text(f"{before}{_BEGIN}\n{table()}\n{_END}{after}", encoding="utf-8")
    else:
        sys.stdout.write(table())


if __name__ == "__main__":
    main()
