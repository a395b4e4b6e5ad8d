"""Which columns of a table are endpoints and weight, and whether its first line names them.

The caller, the format and the header decide, never a row. A column is a weight if its name is one
of `WEIGHTS`, or if the caller or the head of the file says so; never by its place. Endpoints have
the names of `header_words`, in any order, or are the only two columns that could be endpoints, if
no known name contradicts their order. Where a column could be a weight, or the endpoints are not
clear, the error names the options. No message quotes a name of the file that is not known here: if
a header is missing, it would be a row.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.options import INPUT, check, option
from graphcuts_dp.schema.bad_rows import OnBad, left_out
from graphcuts_dp.schema.dates import check_date_format
from graphcuts_dp.schema.file_bytes import TextFormat
from graphcuts_dp.schema.header_words import (
    endpoint_pairs,
    is_header_word,
    meanings_of,
    side_of,
)
from graphcuts_dp.schema.time_zones import zone_of

Column = str | int
INTEGER = re.compile(r"(?:0|-?[1-9][0-9]*)\Z", re.ASCII)  # how Python prints one
TAIL = "tail"  # of a user: the source, unless a header has a column of this name

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
_NO_ENDPOINTS = {*WEIGHTS, *_NO_WEIGHTS}
_SHOWN = 6  # columns that a sentence names
_MOST_SHOWN = 60  # characters of a name in a sentence
_PLAIN_NAME = re.compile(r"[^\W_](?:[\w .-]*[^\W_])?")  # which differs little from its known word
_WORD = re.compile(r"[\w-]+")  # needs no quotes when it is typed
_NO_HEADER = (
    "the first line does not name the columns in known words: pass header=False if the file has no "
    "header; else header=True, or name its endpoints by source= and target="
)
_DELIMITERS = {"tab": "\t", "\\t": "\t", "blank": " ", "comma": ","}  # as they are typed


def column_of(text: str) -> Column:
    """Return a column as it is typed: a name, or a number from 1, which is a place from 0."""
    return int(text) - 1 if text.isascii() and text.isdigit() and len(text) < 10 else text


def decimal_of(text: str) -> str:
    """Return the mark before decimals that is typed: itself, or its name."""
    return {"point": ".", "comma": ","}.get(text, text)


def delimiter_of(text: str) -> str:
    """Return the separator of columns that is typed: itself, or its name."""
    return _DELIMITERS.get(text, text)


# What is alike in all options that name a column.
_COLUMN: Any = {"group": INPUT, "usual": True, "metavar": "COLUMN", "parse": column_of}


@refuses_former_options()
@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """How to read the columns of an edge list or a table; None leaves it to the file's name.

    Attributes:
        source: column of the endpoints that edges go from, by its name or its place from 0. Without
            it the known names of the header (source and target, from and to, Quelle and Ziel, ...:
            `schema.header_words`), in any order, or the only two that could be endpoints, unless a
            known name contradicts their order; without a header the first two columns.
        target: column of the endpoints that edges go to, likewise.
        weight: likewise, of the weights. Without it, a column of a known name (weight, count,
            amount, length, ...: `columns.WEIGHTS`), or the third one where a comment above the rows
            of one of our own or of KONECT's files declares weights; no other is ever taken for one.
            Of a GraphML file, the name of the edge attribute, chosen likewise if omitted. Of a .gml
            file and a graph of networkx or igraph, the edge attribute; "weight" if omitted (in
            .gml files also "value").
        user: the column that names the user of each row, for `Rows`; or "tail": the user is
            the source (unless the header has a column of this name).
        period: the column that tells the period of each row, such as its month, for rows.
        header: of text edge lists: whether the first line names the columns. None: it does if a
            column is given by name; else `.csv` and `.tsv` files have a header (you must say so or
            not if columns are given by place) and others have none. No row ever decides.
        delimiter: of text edge lists: what stands between columns, such as ";"; " " for any blanks.
            None: a first line `sep=;` decides; else in `.csv` and `.tsv` files the comma,
            semicolon, tab or bar that the header has, without a header the comma or the tab; in
            others a comma in rows that hold one, and blanks in those that hold none.
        decimal: of text edge lists: what stands before decimals in weights, "." or ",". A sign for
            thousands is in no number: with ",", 1.234,5 and 1.234 are none.
        on_bad: of edge lists and tables: what rows do that cannot be used, such as rows without an
            end, with an end that is no vertex, or with a weight that is no number. "refuse": they
            are refused, all kinds at once. "skip": they are left out, and how many is private. The
            test of a row looks at that row and at public things alone, so that every guarantee
            holds as it is; see `schema.bad_rows`.
        encoding: of text edge lists, GML and Pajek: a name that Python knows. None: what the mark
            at the start says (UTF-8, UTF-16, UTF-32), else UTF-8.
        time_zone: the public time zone, such as "Europe/Berlin", in which timestamps with a zone
            fall into periods. None: that of the stored type of the column; text then holds times
            without a zone. A timestamp of the other kind is a bad row.
        date_format: of text: how dates are written, such as "%d.%m.%Y", with the signs %d %m %Y %y
            %H %M %S %f %z. None: as 2026-01-31. Never guessed.
        one_based: of text edge lists: ids are the integers 1, 2, ... and become 0, 1, ...; a count
            n of vertices then means ids 1..n, and given labels are those after the shift. Never
            guessed.
    """

    source: Column | None = option(
        None, help="Column of source vertices: a name, or a number from 1.", **_COLUMN
    )
    target: Column | None = option(None, help="Column of target vertices.", **_COLUMN)
    weight: Column | None = option(None, help="Column of weights.", **_COLUMN)
    user: Column | None = option(
        None,
        help="Column that names the user of each row, for --privacy-unit user; tail if the user "
        "is the source vertex.",
        **_COLUMN,
    )
    period: Column | None = option(
        None, help="Column of the date or period of each row.", **_COLUMN
    )
    header: bool | None = option(
        None, group=INPUT, help="Whether the first line of a text file names the columns."
    )
    delimiter: str | None = option(
        None,
        group=INPUT,
        help="What separates the columns of a text file: a character, or tab, blank, comma.",
        parse=delimiter_of,
    )
    decimal: str = option(
        ".",
        group=INPUT,
        help="Decimal sign of weights in a text file: point or comma.",
        choices=(".", ","),
        parse=decimal_of,
    )
    on_bad: OnBad = option(
        "refuse",
        group=INPUT,
        usual=True,
        help="Whether rows that cannot be used stop the reading, or are left out.",
    )
    encoding: str | None = option(
        None, group=INPUT, help="Encoding of a text file, such as cp1252; UTF-8 if omitted."
    )
    one_based: bool = option(
        False, help="Vertices are numbered from 1, not from 0, as in files of KONECT.", group=INPUT
    )
    time_zone: str | None = option(
        None, group=INPUT, help="Time zone in which times fall into periods, such as Europe/Berlin."
    )
    date_format: str | None = option(
        None, group=INPUT, help="How dates are written in text, such as %d.%m.%Y."
    )

    def __post_init__(self) -> None:
        check(self)
        if self.time_zone is not None:
            zone_of(self.time_zone)
        if self.date_format is not None:
            check_date_format(self.date_format, zoned=self.time_zone is not None)

    @property
    def skip(self) -> bool:
        """Whether bad rows are left out."""
        return self.on_bad == "skip"

    @property
    def is_for_tables(self) -> bool:
        """Whether an option is set that only edge lists and tables have."""
        return replace(self, user=None, encoding=None) != Columns()

    @property
    def named(self) -> tuple[Column | None, ...]:
        """The columns that the caller names or numbers; None for those that are left open."""
        user = None if self.user == TAIL else self.user
        return self.source, self.target, self.weight, user, self.period


@dataclass(frozen=True, slots=True)
class ColumnPlaces:
    """Hold how many columns there are, and the places of source, target, weight, user and period.

    Attributes:
        names: of columns with a header: those that are known or that the caller typed, others
            empty; none without a header.
    """

    width: int
    source: int
    target: int
    weight: int | None
    names: tuple[str, ...] = ()
    user: int | None = None
    period: int | None = None

    @property
    def used(self) -> dict[str, int]:
        """Return the places of the columns to read; a user who is an endpoint adds none."""
        places = {"source": self.source, "target": self.target, "weight": self.weight}
        if self.user not in (self.source, self.target):
            places["user"] = self.user
        places["period"] = self.period
        return {role: place for role, place in places.items() if place is not None}

    def reading(self, *, skip: bool, text: bool) -> str:
        """Return what is read and ignored, and which rows are left out, as sentences.

        Args:
            skip: whether bad rows are left out.
            text: whether rows are lines of text.
        """
        sentences = [str(self), left_out(self.used, text=text) if skip else ""]
        return " ".join(filter(None, sentences))

    def __str__(self) -> str:
        """Return what is read and ignored; empty if there was nothing to choose."""
        if self.width == 2 and not self.names:
            return ""
        used = self.used.values()
        others = [place for place in range(self.width) if place not in used]
        roles = [f"Read as the endpoints of an edge: {self._listed([self.source, self.target])}"]
        for role, place in (
            ("weight", self.weight),
            ("user", self.user),
            ("period", self.period),
        ):
            if place is not None:
                roles.append(f"as its {role}: {self._listed([place])}")
        if others:
            roles.append(f"ignored: {self._listed(others)}")
        return "; ".join(roles) + "."

    def direction(self) -> str:
        """Return the direction of edges in public names: "trips go from ORIGIN to DEST"."""
        names = [
            self.names[place]
            if self.names and _WORD.fullmatch(self.names[place])
            else self._name(place)
            for place in (self.source, self.target)
        ]
        return f"trips go from {names[0]} to {names[1]}"

    def _listed(self, places: Sequence[int]) -> str:
        names = [self._name(place) for place in places[:_SHOWN]]
        return ", ".join(names) + (", ..." if len(places) > _SHOWN else "")

    def _name(self, place: int) -> str:
        name = self.names[place] if self.names else ""
        return f"{name!r:.60}" if name else f"column {place + 1}"


def is_integer_literal(token: str) -> bool:
    """Return whether Python prints an integer so: no leading zero, plus sign or blank."""
    return INTEGER.match(token) is not None


def parse_number(text: str, decimal: str = ".") -> float | None:
    """Return a decimal number, or None. NaN and infinities are numbers here; `build` refuses them.

    Args:
        text: what is read.
        decimal: "." or ",", which then alone may stand in it.
    """
    if "_" in text or not text.isascii():
        return None
    if decimal == ",":
        text = "_" if "." in text else text.replace(",", ".")
    try:
        return float(text)
    except ValueError:
        return None


def has_header(header: bool | None, picked: Iterable[Column | None], form: TextFormat) -> bool:
    """Decide whether the first line names the columns: by the options, else the file's ending.

    Raises:
        FileFormatError: columns by number leave it open, and the caller must say.
    """
    if header is not None:
        return header
    given = [column for column in picked if column is not None]
    if any(isinstance(column, str) for column in given):
        return True  # names can only stand there
    if form.has_header and given:
        raise FileFormatError(
            "columns by number: pass header=True if the first line names the columns, else "
            "header=False"
        )
    return form.has_header


def find_columns(
    first: Sequence[str],
    options: Columns,
    *,
    weighted: bool | None,
    declared: bool | None,
) -> ColumnPlaces:
    """Find the endpoints and the weight in a table whose columns have names.

    Args:
        first: the names.
        options: what the caller says.
        weighted: False reads no weight.
        declared: whether the head of the file says that there are weights; None if nothing does.

    Raises:
        FileFormatError: no such column, or the caller must say which one.
    """
    _check_options(options, weighted)
    names = _plain(first)
    given = None if options.weight is None else position_of(options.weight, first)
    user = None
    if options.user is not None and (options.user != TAIL or TAIL in first):
        user = position_of(options.user, first)
    period = None if options.period is None else position_of(options.period, first)
    if options.source is not None and options.target is not None:
        endpoints = position_of(options.source, first), position_of(options.target, first)
    else:
        endpoints = _endpoints(first, names, (given, period), user, options)
    weight, taken = given, (*endpoints, user, period)
    if given is None and weighted is not False and declared is not False:
        weight = _named_weight(names, taken)
        if weight is None and options.source is None:
            _check_no_weight(names, taken)
    places = ColumnPlaces(len(first), *endpoints, weight, (), user, period)
    return replace(_checked(places, options), names=_shown(first, names, options))


def number_columns(
    options: Columns, width: int, line: int, *, weighted: bool | None, declared: bool | None
) -> ColumnPlaces:
    """Find them in a file without a header: where the caller says, else the endpoints come first.

    Args:
        options: what the caller says.
        width: how many cells the first row has, which can lead to a refusal, and to nothing else;
            0 if there is no row.
        line: the number of that row.
        weighted: False reads no weight.
        declared: whether the head of the file says that the third column holds weights.

    Raises:
        FileFormatError: no such column, or the caller must say which one.
    """
    _check_options(options, weighted)
    source, target, weight, user, period = (
        None if column is None else place_of(column) for column in options.named
    )
    endpoints = (0, 1) if source is None or target is None else (source, target)
    if weight is None and declared and weighted is not False:
        weight = 2
    places = _checked(ColumnPlaces(width, *endpoints, weight, (), user, period), options)
    needed = 1 + max(places.used.values())
    if not width:
        if options.skip and (weight, declared) == (None, None) and weighted is not False:
            raise FileFormatError(
                "on_bad='skip' of rows without names of columns: pass weight= or weighted=False"
            )
        return replace(places, width=needed)
    if width < needed:
        raise FileFormatError(
            f"line {line}: column {needed} is needed, and there are {width}; pass delimiter= if "
            "another character separates them, or weighted=False if there are no weights"
        )
    others = width > len({*endpoints, user, period} - {None})
    if source is None and user in (0, 1) and width > 2:
        raise FileFormatError(f"line {line}: columns without names: pass source= and target=, too")
    if others and source is None and (weight, declared) == (None, None) and weighted is not False:
        what = "the third column has" if width == 3 else "further columns have"
        raise FileFormatError(
            f"line {line}: {what} no name; pass weight= with its number if it is a weight, else "
            "weighted=False"
        )
    return places


def check_names(header: Sequence[str], columns: ColumnPlaces | None = None) -> None:
    """Refuse a header that nobody has announced and that may be a row: then a row would be lost.

    Args:
        header: cells of the first line.
        columns: which of them are read, when that is known.

    Raises:
        FileFormatError: no name is known, or one of those that are read is a number.
    """
    used = () if columns is None else (columns.source, columns.target, columns.weight)
    _check_no_number([header[place] for place in used if place is not None])
    if not any(name in _NO_ENDPOINTS or is_header_word(name) for name in _plain(header)):
        raise FileFormatError(_NO_HEADER)


def _check_no_number(cells: Sequence[str]) -> None:
    if any(parse_number(cell) is not None for cell in cells):
        raise FileFormatError(_NO_HEADER)


def check_no_names(first: Sequence[str]) -> None:
    """Refuse a first row that looks like a header where nobody has said whether there is one.

    Raises:
        FileFormatError: it has two names that belong together.
    """
    if endpoint_pairs(_plain(first), range(len(first))):
        raise FileFormatError(
            "the first line looks like names of columns: pass header=True if it is, else "
            "header=False"
        )


def _check_options(options: Columns, weighted: bool | None) -> None:
    if (options.source is None) != (options.target is None):
        raise FileFormatError("pass source= and target= together")
    if options.weight is not None and weighted is False:
        raise FileFormatError("pass weight= or weighted=False, not both")


def _checked(places: ColumnPlaces, options: Columns) -> ColumnPlaces:
    """Return the places, with a user who is the source if the caller says so."""
    if len(set(places.used.values())) != len(places.used):
        raise FileFormatError(
            "source=, target=, weight= and period= name different columns, and so does user=, "
            "unless it is that of an end"
        )
    tail = options.user == TAIL and places.user is None
    return replace(places, user=places.source) if tail else places


def _shown(first: Sequence[str], names: Sequence[str], options: Columns) -> tuple[str, ...]:
    """Return the names that a message may quote: known here or typed by the caller; else empty."""
    return tuple(
        name if name in options.named else _known_name(name, plain)
        for name, plain in zip(first, names, strict=True)
    )


def _known_name(name: str, plain: str) -> str:
    """Return a known name as the header writes it, if only case and separators differ."""
    if plain not in _NO_ENDPOINTS and not meanings_of(plain):
        return ""
    alike = len(name) <= _MOST_SHOWN and _PLAIN_NAME.fullmatch(name) is not None
    return name if alike and re.sub(r"[\W_]", "", name).casefold() == plain else plain


def _plain(names: Sequence[str]) -> list[str]:
    """Return names without case, blanks, signs, what stands in brackets, and Neo4j's types."""
    # Each once: a line may hold millions of cells.
    plain = {
        name: re.sub(r"\(.*?\)|[\W_]", "", _without_type(name)).casefold() for name in {*names}
    }
    return [plain[name] for name in names]


def _without_type(name: str) -> str:
    """Return `weight` for `weight:float`, and `:START_ID` for `person:START_ID`, as in Neo4j."""
    start, mark, kind = name.partition(":")
    if not mark:
        return name
    kind = re.sub(r"\(.*?\)|\[\]", "", kind).strip()
    if kind.upper() in ("START_ID", "END_ID", "TYPE"):
        return f":{kind}"
    return start if start and kind.casefold() in _NEO4J_TYPES else name


def _endpoints(
    first: Sequence[str],
    names: Sequence[str],
    others: Sequence[int | None],
    user: int | None,
    options: Columns,
) -> tuple[int, int]:
    """Return the places of source and target, by their names or as the only two candidates.

    Args:
        first: the header.
        names: the same, normalised.
        others: columns that the caller gives another role, so that they are no endpoints.
        user: column of the users, who may be an endpoint.
        options: what the caller says; of a header that nobody announced, a number is no name.

    Raises:
        FileFormatError: they are not clear, or known names contradict the order of the columns.
    """
    candidates = [place for place in range(len(names)) if place not in others]
    pairs = endpoint_pairs(names, candidates)
    if len(pairs) == 1:
        return pairs[0]
    if pairs:
        raise FileFormatError(
            "cannot tell which columns are the endpoints of an edge, as several pairs have known "
            f"names; pass {_typed(first, names, pairs)}"
        )
    if len(names) > 2:
        candidates = [
            place for place in candidates if names[place] and names[place] not in _NO_ENDPOINTS
        ]
    else:
        candidates = [*range(len(names))]
    if len(candidates) > 2:  # the user of a row may be one of its endpoints, or neither
        candidates = [place for place in candidates if place != user]
    if len(candidates) != 2:
        raise FileFormatError(
            "cannot tell which columns are the endpoints of an edge; pass source= and target="
        )
    source, target = candidates
    sides = side_of(names[source]), side_of(names[target])
    if sides[0] == "target" or sides[1] == "source":
        if options.header is None and not any(isinstance(x, str) for x in options.named):
            _check_no_number([first[place] for place in candidates])
        turned = sides[0] in ("target", "either", None) and sides[1] in ("source", "either", None)
        pair = (target, source) if turned else (source, target)
        raise FileFormatError(
            "known names of columns contradict their order as endpoints of an edge; pass "
            f"{_typed(first, names, [pair])}, or the other way round"
        )
    return source, target


def _typed(first: Sequence[str], names: Sequence[str], pairs: Sequence[tuple[int, int]]) -> str:
    """Return the options that name pairs of endpoints; columns of unknown names by their places."""
    choices = []
    by_place = False
    for pair in pairs:
        columns: list[Column] = []
        for place in pair:
            name = _known_name(first[place], names[place])
            clear = name == first[place] and _WORD.fullmatch(name) and first.count(name) == 1
            columns.append(name if clear else place)
        by_place |= not any(isinstance(column, str) for column in columns)
        choices.append(f"source={columns[0]!r} and target={columns[1]!r}")
    return ", or ".join(choices) + ("; of a text file also header=True" if by_place else "")


def _named_weight(names: list[str], taken: tuple[int | None, ...]) -> int | None:
    for name in WEIGHTS:
        if names.count(name) == 1 and names.index(name) not in taken:
            return names.index(name)
    return None


def _check_no_weight(names: list[str], taken: tuple[int | None, ...]) -> None:
    """Refuse a column that could be a weight."""
    unclear = [
        str(place + 1)
        for place, name in enumerate(names)
        if place not in taken and name and name not in _NO_WEIGHTS
    ]
    if unclear:
        columns = ", ".join(unclear[:_SHOWN]) + (", ..." if len(unclear) > _SHOWN else "")
        which = f"column {columns}" if len(unclear) == 1 else f"one of the columns {columns}"
        raise FileFormatError(
            f"cannot tell whether {which} is a weight; pass weight= if so, else weighted=False"
        )


def find_weight_attribute(
    names: Sequence[str], numeric: Sequence[bool], options: Columns, *, weighted: bool | None
) -> int | None:
    """Return the place of the edge attribute that holds the weights, None if there are none.

    It is chosen as a column is, from what the file declares; one called "weight" needs no type.

    Args:
        names: of the declared attributes of edges.
        numeric: whether each is declared to be a number.
        options: what the caller says.
        weighted: False reads no weight.

    Raises:
        FileFormatError: no such attribute, or the caller must say which one.
    """
    _check_options(options, weighted)
    if options.weight is not None:
        if not isinstance(options.weight, str) or names.count(options.weight) != 1:
            raise FileFormatError(
                f"there is not exactly one edge attribute {options.weight!r:.60}; pass weight= "
                f"with one of the names: {shown_names(names)}"
            )
        return names.index(options.weight)
    if weighted is False:
        return None
    plain = [
        name if number or name == WEIGHTS[0] else ""
        for name, number in zip(_plain(names), numeric, strict=True)
    ]
    place = _named_weight(plain, ())
    unclear = [names[i] for i, name in enumerate(plain) if name and name not in _NO_WEIGHTS]
    if place is None and unclear:
        raise FileFormatError(
            f"cannot tell which edge attribute is a weight ({shown_names(unclear)}); pass weight= "
            "with its name if one is, else weighted=False"
        )
    return place


def shown_names(names: Sequence[str]) -> str:
    """Return a few public names as a message lists them."""
    shown = ", ".join(f"{name!r:.60}" for name in names[:_SHOWN]) or "none"
    return shown + (", ..." if len(names) > _SHOWN else "")


def position_of(column: Column, first: Sequence[str]) -> int:
    """Return the place of a column that the caller names, or gives by its place.

    Raises:
        FileFormatError: there is no such column, or not exactly one.
    """
    if isinstance(column, str):
        if first.count(column) != 1:
            raise FileFormatError(f"the header does not have exactly one column {column!r:.60}")
        return first.index(column)
    place = place_of(column)
    if place >= len(first):
        raise FileFormatError(f"there is no such column; the header has {len(first)} of them")
    return place


def place_of(column: Column) -> int:
    """Return the place of a column of a file without a header.

    Raises:
        FileFormatError: not a whole number from 0.
    """
    if isinstance(column, str):
        raise FileFormatError("a column by name needs a header; pass header=True")
    if isinstance(column, bool) or not isinstance(column, int) or column < 0:
        raise FileFormatError("there is no such column: places are whole numbers from 0")
    return column
