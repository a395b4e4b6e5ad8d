"""One look for all figures: readable at column width, in grey, and for colour-blind readers."""

from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib as mpl

COLUMN, PAGE = 3.4, 7.0  # widths in inches of a figure in one column of a page, and in both

# Okabe and Ito's palette.
COLOURS = {
    "noisy": "#0072B2",
    "synthetic": "#D55E00",
    "density only": "#7F7F7F",
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
