"""Figure `low-rank`: updates of Schatten mirror descent on low-rank matrices."""

from pathlib import Path

from graphcuts_dp.figures import make_figure

if __name__ == "__main__":
    make_figure("low-rank", Path(__file__).resolve().parents[1] / "figures")
