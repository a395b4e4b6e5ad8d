"""Figure `queries`: errors against the number of queries, guaranteed and measured."""

from pathlib import Path

from graphcuts_dp.figures import make_figure

if __name__ == "__main__":
    make_figure("queries", Path(__file__).resolve().parents[1] / "figures")
