"""Figure `density`: cut errors against density and against size."""

from pathlib import Path

from graphcuts_dp.figures import make_figure

if __name__ == "__main__":
    make_figure("density", Path(__file__).resolve().parents[1] / "figures")
