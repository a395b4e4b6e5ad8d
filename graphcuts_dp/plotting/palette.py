"""The colours of all pictures and pages, and how well they can be told apart.

Pictures of matplotlib, pages of the servers and pages of `Flows.to_html` take their colours from
here. Series are Okabe and Ito's colours, which people with each kind of colour blindness can tell
apart; where two series are in one picture they also differ in shape. The style sheets and scripts
of `server/page` and `page/web` cannot import: a test compares them with this file. Nothing here
needs matplotlib, which is slow to import.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

# Okabe and Ito's palette, in the order in which series get them.
SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREY = "#7F7F7F"

# Colours of pages and of pictures in them, by the part that has them. Text is "ink", "quiet",
# "accent", "bad" or "good", on "paper", "ground" or a "note". "between" and "within" are flows
# between groups and inside one; "impossible" is a cell that can hold no pair.
LIGHT = {
    "ink": "#1b2430",
    "quiet": "#4a5666",
    "line": "#c9d1db",
    "edge": "#75818f",
    "paper": "#ffffff",
    "ground": "#f3f5f8",
    "accent": "#006AA6",
    "accent-ink": "#ffffff",
    "bad": "#a3262a",
    "good": "#1d6b3f",
    "note": "#eaf1f9",
    "note-bad": "#fbecec",
    "note-good": "#e8f4ec",
    "focus": "#B86E00",
    "grid": "#e3e8ee",
    "between": SERIES[0],
    "within": SERIES[1],
    "impossible": "#e6e6e6",
}
DARK = {
    "ink": "#e6eaf0",
    "quiet": "#aeb8c5",
    "line": "#3a4452",
    "edge": "#8592a3",
    "paper": "#1a2029",
    "ground": "#11151b",
    "accent": "#7cc4ef",
    "accent-ink": "#0d1520",
    "bad": "#ff9d9d",
    "good": "#86d6a5",
    "note": "#1d2c40",
    "note-bad": "#3d2022",
    "note-good": "#193226",
    "focus": "#E69F00",
    "grid": "#2b3440",
    "between": SERIES[5],
    "within": SERIES[4],
    "impossible": "#39414c",
}
THEMES: Mapping[str, Mapping[str, str]] = {"light": LIGHT, "dark": DARK}

# Amounts, from nothing to the most. They begin with the paper, so that nothing looks like nothing.
AMOUNTS = {
    "light": ("#ffffff", "#cfe1f2", "#6aaed6", "#2070b4", "#08306b"),
    "dark": ("#1a2029", "#1c3c5e", "#2f6fa8", "#6aaed6", "#dcecf8"),
}

# What must be at least so much lighter than its ground, as WCAG 2.2 asks at level AA.
LEAST_TEXT_CONTRAST = 4.5
LEAST_SHAPE_CONTRAST = 3.0


def rgb(colour: str) -> tuple[float, float, float]:
    """Return red, green and blue of a colour "#rrggbb", each in [0, 1]."""
    red, green, blue = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return red, green, blue


def luminance(colour: Sequence[float]) -> float:
    """Return the relative luminance of red, green and blue in [0, 1], as WCAG 2.2 defines it."""
    weights = (0.2126, 0.7152, 0.0722)
    linear = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
              for part in colour)  # fmt: skip
    return sum(weight * part for weight, part in zip(weights, linear, strict=True))


def contrast(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the contrast of two colours, from 1 to 21, as WCAG 2.2 defines it."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def ink_on(colour: Sequence[float]) -> str:
    """Return black or white, whichever contrasts more: by at least sqrt(21) = 4.58."""
    return "#000000" if contrast((0, 0, 0), colour) >= contrast((1, 1, 1), colour) else "#ffffff"


def amount_colour(share: float, theme: str = "light") -> tuple[float, float, float]:
    """Return the colour of an amount, red, green and blue in [0, 1].

    Args:
        share: of the way from nothing to the most, in [0, 1].
        theme: "light" or "dark".
    """
    stops = [rgb(colour) for colour in AMOUNTS[theme]]
    pieces = list(pairwise(stops))
    index = min(int(share * len(pieces)), len(pieces) - 1)
    part = share * len(pieces) - index
    start, stop = pieces[index]
    red, green, blue = (a + part * (b - a) for a, b in zip(start, stop, strict=True))
    return red, green, blue
