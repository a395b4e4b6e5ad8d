"""Tails of Laplace noise and errors of cuts by size: GRU12, Theorem 6.5 and section 6.2."""

from pathlib import Path

from graphcuts_dp.figures import make_figure

if __name__ == "__main__":
    make_figure("laplace-tail", Path(__file__).resolve().parents[1] / "figures")
