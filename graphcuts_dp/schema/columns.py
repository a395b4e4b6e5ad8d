"""The options by which a caller describes the columns of a table, and single cells as numbers.

Five *roles* can be read: the source and the target of an edge, its weight, the user who made the
row, and its period. `Columns` says which column has which role, and how cells are written;
`column_search` finds the columns that it leaves open.
"""

import re
from dataclasses import dataclass, replace

from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.options import INPUT, check, option
from graphcuts_dp.schema.bad_rows import OnBad
from graphcuts_dp.schema.dates import check_date_format
from graphcuts_dp.schema.time_zones import zone_of

Column = str | int  # a column by its name, or by its position from 0
TAIL = "tail"  # as a user: the user is the source, unless a header has a column of this name
INTEGER = re.compile(r"(?:0|-?[1-9][0-9]*)\Z", re.ASCII)  # an integer as Python prints it

_DELIMITERS = {"tab": "\t", "\\t": "\t", "blank": " ", "comma": ","}  # by their typed names


def column_of(text: str) -> Column:
    """Return a column as it is typed on the command line: a name, or a number counted from 1.

    Numbers become positions from 0.
    """
    is_number = text.isascii() and text.isdigit() and len(text) < 10
    return int(text) - 1 if is_number else text


def decimal_of(text: str) -> str:
    """Return a decimal sign as it is typed on the command line: itself, or its name."""
    return {"point": ".", "comma": ","}.get(text, text)


def delimiter_of(text: str) -> str:
    """Return a delimiter as it is typed on the command line: itself, or its name."""
    return _DELIMITERS.get(text, text)


# `option` is a field with its help text and its limits, from which the command line and the HTTP
# interface are made, and which `check` applies; see `graphcuts_dp.options`. Help lists the options
# of a `group` together, and forms show those that are `usual` at once. Names of options of version
# 0.1 are refused with the new name.
@refuses_former_options()
@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Options for the columns of an edge list or a table.

    A column is picked by its name in the header, or by its position from 0.

    Attributes:
        source: column of the endpoints from which edges go. Pick both endpoints or none. None: in a
            file with a header, columns with known names are source and target, in any order (source
            and target, from and to, Quelle and Ziel, ...: see `schema.header_words`). If there are
            none, and only two columns can be endpoints, the first of these is the source. This is
            refused if a known name contradicts it, such as "to" in the first one. Without a header
            the first column is the source.
        target: column of the endpoints to which edges go. None: as for `source`, with the second
            column.
        weight: column of weights. None: a column with a known name (weight, count, amount, length,
            ...: see `schema.column_names`). Without a header it is the third column if the head of
            one of our own files, or of one of KONECT's, declares weights. No other column is ever
            taken for one. Files of graphs have edge attributes instead of columns, and here is the
            name of one. None: of a GraphML file, an attribute with a known name; of a .gml file
            and a graph of networkx or igraph, the attribute "weight" (in .gml files also "value").
        user: column that names the user of each row, for `Rows`. "tail": the user is the source,
            unless the header has a column of this name. None: rows have no users.
        period: column that tells the period of each row, such as its month, for `Rows`. None: rows
            have no periods.
        header: of text edge lists, whether the first line names the columns. None: it does if a
            column is picked by name; else `.csv` and `.tsv` files have a header, and others have
            none. It must be passed for `.csv` and `.tsv` files if columns are picked by position.
            No row ever decides.
        delimiter: of text edge lists, what stands between columns, such as ";"; " " for any blanks.
            None: a first line `sep=;` decides. Else `.csv` and `.tsv` files have the comma,
            semicolon, tab or bar that the header shows, and without a header the comma or the tab.
            Other files have a comma on lines that hold one, and blanks on those that hold none.
        decimal: of text edge lists, what stands before decimals in weights, "." or ",". There is no
            sign for thousands: with ",", neither 1.234,5 nor 1.234 is a number.
        on_bad: of edge lists and tables, what happens to rows that cannot be used, such as rows
            without an endpoint, with an endpoint that is no vertex, or with a weight that is no
            number. "refuse": they are refused, all kinds at once. "skip": they are left out, and
            how many is private. The test of a row looks at that row and at public things alone, so
            that every guarantee holds as it is; see `schema.bad_rows`.
        encoding: of text edge lists, GML and Pajek, a name that Python knows. None: what the
            byte-order mark at the start says (UTF-8, UTF-16, UTF-32), else UTF-8.
        time_zone: the public time zone, such as "Europe/Berlin", in which timestamps with a zone
            fall into periods. None: that of the stored type of the column; text then holds times
            without a zone. A timestamp of the other kind is a bad row.
        date_format: of text, how dates are written, such as "%d.%m.%Y", with the signs %d %m %Y %y
            %H %M %S %f %z. None: as 2026-01-31. Never guessed.
        one_based: of text edge lists, whether ids are the integers 1, 2, ..., which become 0, 1,
            .... A count n of vertices then means ids 1..n, and labels that are passed are those
            after the shift. Never guessed.

    Examples:
        >>> columns = gc.Columns(source="caller", target="callee", weight="minutes")
        >>> calls = {"caller": ["a", "b"], "callee": ["b", "c"], "minutes": [3.0, 1.0]}
        >>> import pandas
        >>> gc.Graph.of(pandas.DataFrame(calls), columns=columns, max_weight=10.0).labels
        ('a', 'b', 'c')
    """

    source: Column | None = option(
        None,
        help="Column of source vertices: a name, or a number from 1.",
        group=INPUT,
        usual=True,
        metavar="COLUMN",
        parse=column_of,
    )
    target: Column | None = option(
        None,
        help="Column of target vertices.",
        group=INPUT,
        usual=True,
        metavar="COLUMN",
        parse=column_of,
    )
    weight: Column | None = option(
        None,
        help="Column of weights.",
        group=INPUT,
        usual=True,
        metavar="COLUMN",
        parse=column_of,
    )
    user: Column | None = option(
        None,
        help="Column that names the user of each row, for --privacy-unit user; write tail if the "
        "user is the source vertex.",
        group=INPUT,
        usual=True,
        metavar="COLUMN",
        parse=column_of,
    )
    period: Column | None = option(
        None,
        help="Column of the date or period of each row.",
        group=INPUT,
        usual=True,
        metavar="COLUMN",
        parse=column_of,
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
        """Return whether bad rows are left out."""
        return self.on_bad == "skip"

    @property
    def is_for_tables(self) -> bool:
        """Return whether an option is set that files of whole graphs, such as GML, do not have.

        Their readers refuse such options. Two are left out of the test: `user`, which they refuse
        with a message of its own, and `encoding`, which GML and Pajek files have.
        """
        return replace(self, user=None, encoding=None) != Columns()

    @property
    def named(self) -> tuple[Column | None, ...]:
        """The picked columns of source, target, weight, user and period; None for those left open.

        "tail" picks no column. `column_search.number_columns` relies on this order.
        """
        user = None if self.user == TAIL else self.user
        return self.source, self.target, self.weight, user, self.period


def is_integer_literal(token: str) -> bool:
    """Return whether a token is an integer as Python prints it: without leading zero or plus."""
    return INTEGER.match(token) is not None


def parse_number(text: str, decimal: str = ".") -> float | None:
    """Return the number that a text writes, as 1.5, 1e5 or " 2 "; None if it writes none.

    NaN and infinities are numbers here; later steps refuse them as weights.

    Args:
        text: one cell.
        decimal: the sign before decimals, "." or ","; the other one makes the text no number.
    """
    if "_" in text or not text.isascii():  # `float` accepts 1_000 and digits of other scripts
        return None
    if decimal == ",":
        if "." in text:
            return None
        text = text.replace(",", ".")
    try:
        return float(text)
    except ValueError:
        return None
