"""One look for all figures: at column width, in grey, for the colour-blind; and their files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphcuts_dp.files import PathLike, atomic_write

COLUMN, PAGE = 3.4, 7.0  # widths in inches of a figure in one column of a page, and in both

# Okabe and Ito's palette.
COLOURS = {
    "noisy": "#0072B2",
    "synthetic": "#D55E00",
    "true degrees alone": "#7F7F7F",
    "empty graph": "#7F7F7F",
    "all zero": "#7F7F7F",
    "truth": "#000000",
}


@contextmanager
def house_style() -> Iterator[None]:
    """Draw within this context."""
    with mpl.rc_context(
        {
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 10,
            "axes.titlelocation": "left",
            "legend.frameon": False,
            "figure.constrained_layout.use": True,
            "figure.dpi": 200,  # kept by the figure, so that it also holds when it is saved
        }
    ):
        yield


@contextmanager
def drawing(width: float, height: float) -> Iterator[tuple[Figure, Axes]]:
    """A figure of so many inches with one picture, drawn within this context."""
    with house_style():
        figure = Figure(figsize=(width, height))
        yield figure, figure.subplots()


def write_figure(figure: Figure, path: PathLike, *, force: bool = False) -> None:
    """Write a figure to one file, whole or not at all; the same figure gives the same bytes.

    Args:
        figure: what to draw.
        path: where; a PDF if it ends in .pdf, else a PNG.
        force: replace a file that is there.

    Raises:
        FileFormatError: the file cannot be written, or is there.
    """
    pdf = Path(path).suffix.lower() == ".pdf"
    about = {"CreationDate": None} if pdf else {"Software": None}
    with atomic_write(path, force=force) as handle:
        figure.savefig(handle, format="pdf" if pdf else "png", metadata=about)
