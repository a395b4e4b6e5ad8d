"""Which columns of a text edge list are ends and weight, and whether the first row names them.

A column is a weight if its name is one of `WEIGHTS`, or if the caller says so; never by its place.
Where a column could be a weight, or more than two could be ends, the error names the options.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.dialect import TextFormat
from graphcuts_dp.graph.schema import is_integer_literal, parse_number

Column = str | int

_ENDS = (
    *(("source", "target"), ("from", "to"), ("src", "dst"), ("origin", "destination")),
    *(("sourceid", "targetid"), ("fromid", "toid"), ("srcid", "dstid"), ("start", "end")),
    *(("startid", "endid"), ("fromnodeid", "tonodeid"), ("fromnode", "tonode")),
    *(("node1", "node2"), ("id1", "id2"), ("person1", "person2"), ("user1", "user2")),
    *(("sender", "receiver"), ("sender", "recipient"), ("caller", "callee"), ("ego", "alter")),
    *(("follower", "followee"), ("left", "right"), ("user", "item"), ("userid", "itemid")),
    *(("userid", "movieid"), ("u", "v")),
)
_SHORT = ("u", "v")  # vertices are called so, too: no sign of a header
WEIGHTS = (
    *("weight", "weights", "w", "count", "counts", "value", "amount", "frequency", "strength"),
    *("length", "distance"),
)
_NO_WEIGHTS = (
    *("type", "id", "edgeid", "index", "label", "timeset", "interval", "kind", "directed"),
    *("time", "timestamp", "ts", "date", "datetime", "unixts", "when", "created", "createdat"),
    *("relation", "relationship", "relationtype", "starttime", "endtime"),
)
_NEO4J_TYPES = (
    *("int", "long", "float", "double", "boolean", "byte", "short", "char", "string", "point"),
    *("date", "localtime", "time", "localdatetime", "datetime", "duration"),
)
_SHOWN, _LONGEST = 6, 40  # names of a header that a message quotes, and characters of each


@dataclass(frozen=True, slots=True)
class TextOptions:
    """What the caller says about a text file; see `read_graph`, and of the owner `read_owned`."""

    header: bool | None = None
    source: Column | None = None
    target: Column | None = None
    weight: Column | None = None
    delimiter: str | None = None
    encoding: str | None = None
    owner: Column | None = None

    @property
    def of_columns(self) -> bool:
        """Whether something is said that only edge lists have."""
        parts = (self.header, self.source, self.target, self.weight, self.delimiter)
        return any(part is not None for part in parts)


@dataclass(frozen=True, slots=True)
class ColumnPlaces:
    """How many columns there are, where source, target, weight and owner stand, names if any."""

    width: int
    source: int
    target: int
    weight: int | None
    names: tuple[str, ...] = ()
    owner: int | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the ends come first, and then at most one column."""
        return (self.source, self.target) == (0, 1) and (
            (self.width, self.weight) in ((2, None), (3, None), (3, 2))
        )

    def __str__(self) -> str:
        """What was read and ignored; empty where there was nothing to choose."""
        if self.width == 2 and not self.names:
            return ""
        used = (self.source, self.target, self.weight, self.owner)
        others = [place for place in range(self.width) if place not in used]
        text = f"Read as the ends of an edge: {self._told([self.source, self.target])}"
        if self.weight is not None:
            text += f"; as its weight: {self._told([self.weight])}"
        if self.owner is not None:
            text += f"; as its owner: {self._told([self.owner])}"
        return text + (f"; ignored: {self._told(others)}." if others else ".")

    def _told(self, places: Sequence[int]) -> str:
        shown = [self._name(place) for place in places[:_SHOWN]]
        return ", ".join(shown) + (", ..." if len(places) > _SHOWN else "")

    def _name(self, place: int) -> str:
        name = self.names[place] if self.names else ""
        return f"{name[:_LONGEST]!r}" if name else f"column {place + 1}"


def has_header(
    first: Sequence[str], second: Sequence[str], form: TextFormat, options: TextOptions
) -> bool:
    """Whether the first row names the columns, as it must where the caller names one.

    It is an edge if an id in it is an integer, or a further column is a number. It is a header if
    it has two well-known names that belong together, or if a further column holds a number or a
    time in the second row and not in this one. Other rows of a .csv or .tsv file, and rows of names
    above rows of integers, are for the caller to decide; else lists without quotes have no header.

    Raises:
        FileFormatError: the caller must say.
    """
    if options.header is not None or form.konect:
        return bool(options.header)
    said = (options.source, options.target, options.weight, options.owner)
    if any(isinstance(column, str) for column in said):
        return True  # names can only stand there
    if any(map(_starts_with_digit, first[2:])) or any(map(is_integer_literal, first[:2])):
        return False
    known = _known_ends(_plain(first))
    if known is not None and _plain(first)[known[0]] not in _SHORT:
        return True
    if any(map(_starts_with_digit, second[2 : len(first)])):
        return True
    integers = second[:2] and all(map(is_integer_literal, second[:2]))
    if form.delimiter in (None, " ") and not integers:
        return False
    raise FileFormatError(
        "cannot tell whether the first row is a header or an edge; pass header=True or header=False"
    )


def find_columns(
    first: Sequence[str],
    named: bool,
    options: TextOptions,
    *,
    weighted: bool | None,
    declared: bool | None,
) -> ColumnPlaces:
    """Where the ends and the weight stand.

    Args:
        first: cells of the first row.
        named: whether they are names.
        options: what the caller says.
        weighted: False reads no weight.
        declared: whether the head of the file says that there are weights: without names, they
            stand in the third column of our own lists and of KONECT's. None if it says nothing.

    Raises:
        FileFormatError: no such column, or the caller must say which one.
    """
    if (options.source is None) != (options.target is None):
        raise FileFormatError("pass source= and target= together")
    if options.weight is not None and weighted is False:
        raise FileFormatError("pass weight= or weighted=False, not both")
    names = _plain(first) if named else []
    given = None if options.weight is None else position_of(options.weight, first, named)
    owner = None if options.owner is None else position_of(options.owner, first, named)
    if options.source is not None and options.target is not None:
        ends = position_of(options.source, first, named), position_of(options.target, first, named)
    else:
        if not named and owner in (0, 1) and len(first) > 2:
            raise FileFormatError("columns without names: pass source= and target=, too")
        ends = _ends(first, names, given, owner) if named else (0, 1)
    picked = [*ends] if given is None else [*ends, given]
    if len(set(picked)) != len(picked):
        raise FileFormatError("source=, target= and weight= name different columns")
    if given is not None or weighted is False or declared is False:
        weight = given
    elif declared and not named:
        weight = 2 if len(first) > 2 else None
    else:
        weight = _named_weight(names, (*ends, owner))
        if weight is None and options.source is None:
            _check_no_weight(first, names, ends, owner)
    shown = tuple(first) if named else ()
    return ColumnPlaces(len(first), ends[0], ends[1], weight, shown, owner)


def _plain(names: Sequence[str]) -> list[str]:
    """Names without case, blanks, signs, what stands in brackets, and Neo4j's types."""
    return [re.sub(r"\(.*?\)|[\W_]", "", _without_type(name)).casefold() for name in names]


def _without_type(name: str) -> str:
    """`weight` for `weight:float`, and `:START_ID` for `person:START_ID`, as Neo4j has them."""
    start, mark, kind = name.partition(":")
    if not mark:
        return name
    kind = re.sub(r"\(.*?\)|\[\]", "", kind).strip()
    if kind.upper() in ("START_ID", "END_ID", "TYPE"):
        return f":{kind}"
    return start if start and kind.casefold() in _NEO4J_TYPES else name


def _starts_with_digit(cell: str) -> bool:
    """Whether a cell holds a number or a time: names of columns do not look so."""
    return parse_number(cell) is not None or cell[:1].isdigit()


def _known_ends(names: Sequence[str]) -> tuple[int, int] | None:
    """Positions of two well-known names that belong together."""
    for source, target in _ENDS:
        if names.count(source) == 1 and names.count(target) == 1:
            return names.index(source), names.index(target)
    return None


def _ends(
    first: Sequence[str], names: list[str], weight: int | None, owner: int | None
) -> tuple[int, int]:
    known = _known_ends(names)
    if known is not None:
        return known
    others = (*WEIGHTS, *_NO_WEIGHTS)
    places = [
        place for place, name in enumerate(names) if name and name not in others and place != weight
    ]
    if len(names) == 2:
        places = [0, 1]
    if len(places) > 2:  # the owner of a row may be one of its ends, or neither
        places = [place for place in places if place != owner]
    if len(places) != 2:
        raise FileFormatError(
            f"cannot tell which columns are the ends of an edge: {_quoted(first)}; "
            "pass source= and target="
        )
    return places[0], places[1]


def _named_weight(names: list[str], taken: tuple[int | None, ...]) -> int | None:
    for name in WEIGHTS:
        if names.count(name) == 1 and names.index(name) not in taken:
            return names.index(name)
    return None


def _check_no_weight(
    first: Sequence[str], names: list[str], ends: tuple[int, ...], owner: int | None
) -> None:
    """Refuse a column that could be a weight."""
    if not names and len({*range(2, len(first))} - {owner}):
        what = "the third column has" if len(first) == 3 else "the columns after the second have"
        raise FileFormatError(
            f"{what} no name; pass weight= if one is a weight, else weighted=False"
        )
    unclear = [
        first[place]
        for place, name in enumerate(names)
        if place not in (*ends, owner) and name and name not in _NO_WEIGHTS
    ]
    if unclear:
        raise FileFormatError(
            f"cannot tell whether a column is a weight: {_quoted(unclear)}; "
            "pass weight= if one is, else weighted=False"
        )


def position_of(column: Column, first: Sequence[str], named: bool) -> int:
    """Place of a column that the caller names, or gives by its place.

    Raises:
        FileFormatError: there is no such column, or not exactly one.
    """
    if isinstance(column, str):
        if not named:
            raise FileFormatError("a column by name needs a header; pass header=True")
        if first.count(column) != 1:
            raise FileFormatError(f"the header does not have exactly one column {column!r:.60}")
        return first.index(column)
    if isinstance(column, bool) or not isinstance(column, int) or not 0 <= column < len(first):
        raise FileFormatError(f"there is no such column; the first row has {len(first)} of them")
    return column


def _quoted(names: Sequence[str]) -> str:
    shown = [f"{name[:_LONGEST]!r}" for name in names[:_SHOWN]]
    return ", ".join(shown) + (", ..." if len(names) > _SHOWN else "")
