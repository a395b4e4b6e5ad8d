"""Figure `updates`: updates used beside B(alpha), for every construction."""

from pathlib import Path

from graphcuts_dp.figures import make_figure

if __name__ == "__main__":
    make_figure("updates", Path(__file__).resolve().parents[1] / "figures")
