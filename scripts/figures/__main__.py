"""Redraw everything in figures/ and the table in its README: `python -m scripts.figures`."""

from pathlib import Path

from scripts.figures import cut_norm_certificates, demos, guides
from scripts.figures.registry import figure_names, make_figure, write_index

FOLDER = Path(__file__).resolve().parents[2] / "figures"

if __name__ == "__main__":
    cut_norm_certificates.main()  # first: it measures times
    for draw in (*demos.DRAWN.values(), *guides.DRAWN.values()):
        draw()
    for name in figure_names():
        make_figure(name, FOLDER)
    write_index(FOLDER)
