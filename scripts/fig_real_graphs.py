"""Releases of the bundled real graphs against epsilon: GRU12 section 6, Lemma 6.2."""

from pathlib import Path

from graphcuts_dp.figures import make_figure

if __name__ == "__main__":
    make_figure("real-graphs", Path(__file__).resolve().parents[1] / "figures")
