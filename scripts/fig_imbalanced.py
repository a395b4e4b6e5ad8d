"""Figure `imbalanced`: errors on JT12's imbalanced bipartite graphs."""

from pathlib import Path

from graphcuts_dp.figures import make_figure

if __name__ == "__main__":
    make_figure("imbalanced", Path(__file__).resolve().parents[1] / "figures")
