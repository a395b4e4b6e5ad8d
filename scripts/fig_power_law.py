"""Figure `power-law`: errors on bipartite graphs whose left degrees follow a power law."""

from pathlib import Path

from graphcuts_dp.figures import make_figure

if __name__ == "__main__":
    make_figure("power-law", Path(__file__).resolve().parents[1] / "figures")
