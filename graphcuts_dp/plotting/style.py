"""The common style of all figures, and writing them to files.

Figures are as wide as one column or both columns of a page, readable in grey and by the
colour-blind; their colours are those of `palette`. `drawing` opens a figure with one picture,
`house_style` sets the style for figures with several. `write_figure` writes a PNG, a PDF or an SVG.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from graphcuts_dp.files import PathLike, atomic_write, check_picture
from graphcuts_dp.plotting.palette import AMOUNTS, GREY, LIGHT, SERIES

# Widths of figures in inches: in one column of a page, and across both.
COLUMN = 3.4
PAGE = 7.0

# Colours by what they stand for. "noisy" are released answers,
# "synthetic" those of a released synthetic graph, "truth" exact ones. The three in grey are what
# releases are compared with, and must beat: a graph that only has the true degrees, a graph without
# edges ("empty graph", for synthetic graphs), and the answer 0 to every query ("all zero", for
# lists of answers).
COLOURS = {
    "noisy": SERIES[0],
    "synthetic": SERIES[1],
    "true degrees alone": GREY,
    "empty graph": GREY,
    "all zero": GREY,
    "truth": "#000000",
}
INK, GRID, FRAME = LIGHT["ink"], LIGHT["line"], LIGHT["edge"]  # texts, thin lines, frames
# From nothing to the most: begins with plain white, unlike matplotlib's "Blues".
AMOUNT_COLOURS = LinearSegmentedColormap.from_list("amounts", list(AMOUNTS["light"]))


@contextmanager
def house_style() -> Iterator[None]:
    """Set the style for all figures that are made within this context."""
    with mpl.rc_context(
        {
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 10,
            "axes.titlelocation": "left",
            "legend.frameon": False,
            "figure.constrained_layout.use": True,
            "figure.dpi": 200,  # a figure keeps it, so it holds after this context has ended
        }
    ):
        yield


@contextmanager
def drawing(width: float, height: float) -> Iterator[tuple[Figure, Axes]]:
    """Yield a figure with one picture, to be drawn within this context.

    Args:
        width: in inches.
        height: in inches.
    """
    with house_style():
        figure = Figure(figsize=(width, height))
        yield figure, figure.subplots()


def plain_text(text: str) -> str:
    """Return a text in which matplotlib sees no formula: "$" would begin one."""
    return text.replace("$", r"\$")


def write_figure(figure: Figure, path: PathLike, *, force: bool = False) -> None:
    """Write a figure to one file, whole or not at all; the same figure gives the same bytes.

    `atomic_write` writes to a new file beside it, and renames that at the end.

    Args:
        figure: the figure.
        path: the file; its name ends in .png, .pdf or .svg.
        force: replace a file that exists.

    Raises:
        FileFormatError: the file cannot be written, exists, or has another ending.
    """
    check_picture(path)
    ending = Path(path).suffix.lower()
    # Dates and random names of parts are left out.
    metadata = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}, ".png": {"Software": None}}
    with atomic_write(path, force=force) as handle, mpl.rc_context({"svg.hashsalt": "graphcuts"}):
        figure.savefig(handle, format=ending[1:], metadata=metadata[ending])
