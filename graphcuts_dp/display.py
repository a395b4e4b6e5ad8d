"""Show the objects of users in notebooks: as one small table, often with a picture.

A card shows only what `repr` may show, so of a private graph its public schema. All text is
escaped: labels come from files, and a notebook must not run code in them.
"""

import decimal
import math
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_ROWS = 20  # of a table; further rows are counted
_MAX_CHARACTERS = 400  # of one cell
_DOTS_PER_INCH = 80  # of a picture
MOST_PICTURED = 1000  # items of a picture; for more there is only a table
_CELL = 'style="text-align:left; vertical-align:top; max-width:48em; white-space:normal"'


@final
@dataclass(frozen=True, kw_only=True)
class Card:
    """Title, facts and table of an object.

    Attributes:
        title: kind of the object, and what distinguishes it.
        facts: names and values, in order.
        columns: headers of the table below the facts; empty if there is no table.
        rows: all rows of the table, or its first ones.
        size: number of rows of the whole table; None if `rows` are all.
        warning: sentence in bold at the top; "" if there is none.
        notes: sentences at the end.
    """

    title: str
    facts: Sequence[tuple[str, object]] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()
    size: int | None = None
    warning: str = ""
    notes: Sequence[str] = ()


class Displayed:
    """Base of objects that notebooks show as a table; prompts complete their public names.

    If `_picture` returns a figure, it is below the table.
    """

    __slots__ = ()

    def _card(self) -> Card:
        raise NotImplementedError

    def _picture(self) -> "Figure | None":
        return None

    def _repr_html_(self) -> str:
        return html_of(self._card(), self._picture())

    def __dir__(self) -> Iterable[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]


class Tabled(Displayed):
    """Base of objects that also print themselves as this table, in plain text."""

    __slots__ = ()

    def __str__(self) -> str:
        return text_of(self._card())


def text_of(card: Card) -> str:
    """Write a card as plain text; the first column of its table is text, the others are numbers."""
    lines = [card.title, *(f"{name}: {value}" for name, value in card.facts)]
    table = [[cell_text(cell) for cell in row] for row in (card.columns, *card.rows) if row]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for name, *cells in table:
        numbers = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        lines.append("  ".join([name.ljust(widths[0]), *numbers]).rstrip())
    return "\n".join([*lines, *card.notes])


def html_of(card: Card, figure: "Figure | None" = None) -> str:
    """Write a card as HTML, with every text escaped and the picture below."""
    parts = ["<div>", f"<p><b>{_text(card.title)}</b></p>"]
    if card.warning:
        # The colour is that of a border: as text it would be too dark on a dark page.
        style = "border-left:4px solid #b00020;padding-left:.5em"
        parts.append(f'<p style="{style}"><b>{_text(card.warning)}</b></p>')
    if card.facts:
        lines = (
            f"<tr><th {_CELL}>{_text(name)}</th><td {_CELL}>{_text(value)}</td></tr>"
            for name, value in card.facts
        )
        parts += ["<table>", *lines, "</table>"]
    if card.columns:
        heads = "".join(f"<th>{_text(name)}</th>" for name in card.columns)
        shown = card.rows[:_MAX_ROWS]
        lines = (
            "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in shown
        )
        parts += [f"<table><thead><tr>{heads}</tr></thead><tbody>", *lines, "</tbody></table>"]
        left = (len(card.rows) if card.size is None else card.size) - len(shown)
        if left > 0:
            parts.append(f"<p>and {left:,} more rows</p>")
    parts += [f"<p>{_text(note)}</p>" for note in card.notes]
    if figure is not None:
        image = BytesIO()
        figure.savefig(image, format="png", dpi=_DOTS_PER_INCH, metadata={"Software": None})
        data = b64encode(image.getvalue()).decode()
        about = f'alt="{_text(card.title)}" style="max-width:100%"'
        parts.append(f'<p><img {about} src="data:image/png;base64,{data}" /></p>')
    return "\n".join([*parts, "</div>"])


def joined(*sentences: str) -> str:
    """Return those sentences that are not empty, with semicolons between them."""
    return "; ".join(filter(None, sentences))


def size_text(shape: Iterable[int]) -> str:
    """Write a shape: "34" for one vertex set, "18 x 14" for two."""
    return " x ".join(f"{n:,}" for n in shape)


def short(value: float) -> str:
    """Write a number for people: whole from 100 on, with three digits below."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def up_to_digits(number: float | Fraction, digits: int) -> float:
    """Return a number of so many significant digits, rounded up: never below the exact one.

    For numbers that a user types or relies on, such as an epsilon that is enough. The float that is
    returned prints with so many digits, and is itself not below `number`.

    Args:
        number: finite.
        digits: >= 1.

    Examples:
        >>> up_to_digits(0.1234, 2), up_to_digits(0.1, 2), up_to_digits(129, 2)
        (0.13, 0.1, 130.0)
    """
    exact = Fraction(number)
    nearest = float(f"{float(number):.{digits}g}")
    if Fraction(nearest) >= exact:
        return nearest
    with decimal.localcontext(decimal.Context(prec=digits, rounding=decimal.ROUND_CEILING)):
        rounded = Decimal(exact.numerator) / Decimal(exact.denominator)
        # The float of a decimal may lie below it, and then below the exact number.
        return float(rounded if Fraction(float(rounded)) >= exact else rounded.next_plus())


def down_to_digits(number: float | Fraction, digits: int) -> float:
    """Return a number of so many significant digits, rounded down; see `up_to_digits`."""
    return 0.0 - up_to_digits(-number, digits)


def short_bound(value: float) -> str:
    """Write a bound on an error for people like `short`, rounded up to what holds."""
    if not math.isfinite(value):
        return short(value)
    return f"{math.ceil(value):,}" if abs(value) >= 100 else f"{up_to_digits(value, 3):.3g}"


def short_interval(interval: tuple[float, float]) -> str:
    """Write an interval for people like `short`; each end is rounded outwards."""
    low, high = interval
    if not math.isfinite(low):
        below = short(low)
    elif abs(low) >= 100:
        below = f"{math.floor(low):,}"
    else:
        below = f"{down_to_digits(low, 3):.3g}"
    return f"[{below}, {short_bound(high)}]"


def cell_text(value: object, digits: int = 5) -> str:
    """Write a float with `digits` digits, at least all before the point; `str` of anything else."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if 10**digits <= abs(value) < 1e15 else f"{value:,.{digits}g}"


def _text(value: object) -> str:
    text = cell_text(value)
    return escape(text if len(text) <= _MAX_CHARACTERS else text[:_MAX_CHARACTERS] + " ...")


def printable(text: str) -> str:
    """Return the text with unprintable characters, such as odd bytes of file names, escaped."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
