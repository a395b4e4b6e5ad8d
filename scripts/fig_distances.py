"""Figure `distances`: errors of distance answers on a path against the number of people."""

from pathlib import Path

from graphcuts_dp.figures import make_figure

if __name__ == "__main__":
    make_figure("distances", Path(__file__).resolve().parents[1] / "figures")
