"""Singular values beside normalised cut norms: Nikiforov 2009, GRU12 section 6.2."""

from pathlib import Path

from graphcuts_dp.figures import make_figure

if __name__ == "__main__":
    make_figure("nikiforov", Path(__file__).resolve().parents[1] / "figures")
