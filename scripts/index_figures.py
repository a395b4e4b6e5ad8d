"""Rewrites the table in figures/README.md from the figures that lie there."""

from pathlib import Path

from graphcuts_dp.figures import write_index

if __name__ == "__main__":
    write_index(Path(__file__).resolve().parents[1] / "figures")
