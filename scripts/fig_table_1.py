"""Figure `table-1`: GRU12's Table 1 with its constants solved."""

from pathlib import Path

from graphcuts_dp.figures import make_figure

if __name__ == "__main__":
    make_figure("table-1", Path(__file__).resolve().parents[1] / "figures")
