"""Figures whose texts are measured first, so that no two of them collide.

matplotlib draws a label at the given position, even over another label. `framed_figure` therefore
measures the title, the legend and the room that the caller asks for around its pictures, and makes
the figure large enough for all of them. `text_width` measures one text, `shortened` cuts one, and
`wrapped` breaks one into lines. All sizes are in points, 72 to the inch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

INCH = 72  # points
TITLE_SIZE, LEGEND_SIZE, AXIS_SIZE = 10.0, 8.0, 9.0  # of fonts
_EDGE = 6.0  # white margin around the figure
_LINE_HEIGHT = 1.25  # of a line of text, in font sizes: more than any font of matplotlib takes
_HANDLE = 34.0  # width of an entry of the legend without its text
_DOTS = 200  # to the inch, as figures are drawn: letters are fitted to dots, so widths depend on it
_RENDERER: Any = RendererAgg(1, 1, _DOTS)  # type: ignore[no-untyped-call]


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of a line of text in points, as matplotlib draws it.

    Args:
        text: without formulas between "$", see `plain_text`.
        size: of the font, in points.
        bold: whether it is drawn bold.
    """
    font = FontProperties(size=size, weight="bold" if bold else "normal")
    width, _, _ = _RENDERER.get_text_width_height_descent(text, font, ismath=False)
    return float(width) * INCH / _DOTS


def text_height(size: float) -> float:
    """Return the largest height of a line of text of this size, in points."""
    return _LINE_HEIGHT * size


def shortened(text: str, most: int) -> str:
    """Return a text of at most `most` characters: a longer one loses its middle.

    Names of places often begin alike and end differently, so both ends are kept.

    Args:
        text: any.
        most: at least 3.
    """
    if len(text) <= most:
        return text
    last = (most - 1) // 2
    return f"{text[: most - 1 - last]}\N{HORIZONTAL ELLIPSIS}{text[len(text) - last :]}"


def wrapped(text: str, size: float, width: float) -> str:
    """Return a text in lines of at most this width, broken between words where possible.

    Args:
        text: any.
        size: of the font, in points.
        width: in points.
    """
    lines, line = [], ""
    for word in text.split():
        longer = f"{line} {word}" if line else word
        if line and text_width(longer, size) > width:
            lines.append(line)
            longer = word
        while text_width(longer, size) > width and len(longer) > 1:  # a word without room
            fits = next(
                count for count in range(len(longer) - 1, 0, -1)
                if count == 1 or text_width(longer[:count], size) <= width
            )  # fmt: skip
            lines.append(longer[:fits])
            longer = longer[fits:]
        line = longer
    return "\n".join([*lines, line])


@final
@dataclass(frozen=True, kw_only=True)
class Boxes:
    """Equally large boxes for pictures in rows and columns, and the room around them, in points.

    Attributes:
        width: of one box.
        height: of one box.
        count: number of boxes; they are filled row by row.
        across: number of boxes in a row.
        left: room on the left of the first box, for names.
        right: room on the right of the last box.
        below: room below the lowest box.
        above: room above each row of boxes.
        between: room between boxes of a row.
        below_each: room below each row of boxes but the lowest.
        least_width: of the whole figure.
    """

    width: float
    height: float
    count: int = 1
    across: int = 1
    left: float = 0.0
    right: float = 0.0
    below: float = 0.0
    above: float = 0.0
    between: float = 0.0
    below_each: float = 0.0
    least_width: float = 0.0

    @property
    def row_count(self) -> int:
        """The number of rows of boxes."""
        return -(-self.count // self.across)

    @property
    def whole_width(self) -> float:
        """The width of the figure."""
        boxes = self.across * (self.width + self.between) - self.between
        return max(2 * _EDGE + self.left + boxes + self.right, self.least_width)

    @property
    def whole_height(self) -> float:
        """The height of all boxes with the room around them, without title and legend."""
        rows = self.row_count * (self.above + self.height + self.below_each) - self.below_each
        return rows + self.below


def framed_figure(
    title: str, boxes: Boxes, handles: Sequence[Artist]
) -> tuple[Figure, list[Axes], float]:
    """Return a figure with empty axes in its boxes, a title above and a legend below.

    Args:
        title: broken into lines that fit.
        boxes: where the pictures are.
        handles: entries of the legend, which have labels; broken into lines that fit.

    Returns:
        The figure; its axes, one for each box; the width of the figure in points. The title is that
        of the first axes, above the whole figure. Draw within `house_style`.
    """
    width = boxes.whole_width
    figure = Figure(figsize=(width / INCH, 1))
    figure.set_layout_engine("none")
    lines = wrapped(title, TITLE_SIZE, width - 2 * _EDGE)
    for handle in handles:
        label = wrapped(str(handle.get_label()), LEGEND_SIZE, width - 2 * _EDGE - _HANDLE)
        handle.set_label(label)
    widths = [_HANDLE + _widest(str(handle.get_label())) for handle in handles]
    half = -(-len(handles) // 2)  # entries of the first of two columns
    both_widths = max(widths[:half], default=0) + max(widths[half:], default=0)
    column_count = 2 if both_widths < width - 2 * _EDGE and len(handles) > 1 else 1
    heights = [
        text_height(LEGEND_SIZE) * (1.2 + str(handle.get_label()).count("\n")) for handle in handles
    ]
    legend_height = (
        max(sum(heights[:half]), sum(heights[half:])) if column_count == 2 else sum(heights)
    )
    above = _EDGE + text_height(TITLE_SIZE) * (1 + lines.count("\n")) + _EDGE / 2
    height = above + boxes.whole_height + legend_height + 2 * _EDGE
    figure.set_size_inches(width / INCH, height / INCH)
    axes = []
    for number in range(boxes.count):
        row, column = divmod(number, boxes.across)
        left = _EDGE + boxes.left + column * (boxes.width + boxes.between)
        top = above + boxes.above + row * (boxes.above + boxes.height + boxes.below_each)
        bottom = height - top - boxes.height
        box = (left / width, bottom / height, boxes.width / width, boxes.height / height)
        axes.append(figure.add_axes(box))
    first_left, first_top = _EDGE + boxes.left, above + boxes.above
    axes[0].set_title(
        lines,
        loc="left",
        fontsize=TITLE_SIZE,
        x=(_EDGE - first_left) / boxes.width,
        y=1 + (first_top - above + _EDGE / 2) / boxes.height,
        pad=0,
        va="bottom",
    )
    if handles:
        figure.legend(
            handles=list(handles),
            loc="lower left",
            bbox_to_anchor=(_EDGE / width, _EDGE / height),
            ncols=column_count,
            fontsize=LEGEND_SIZE,
            handlelength=1.6,
            borderpad=0,
            borderaxespad=0,
            labelspacing=0.3,
        )
    return figure, axes, width


def _widest(text: str) -> float:
    """Return the width of the widest line of a text of the legend."""
    return max(text_width(line, LEGEND_SIZE) for line in text.split("\n"))
