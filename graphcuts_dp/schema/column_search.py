"""Find the columns of a table that hold endpoints, weights, users and periods.

Five *roles* can be read: the source and the target of an edge, its weight, the user who made the
row, and its period. The caller's options (`Columns`), the head of the file and its header decide
which column has which role; no row does. `find_columns` decides with a header and
`number_columns` without one; both return `ColumnPositions`.

With a header, the endpoints are the columns with known names, in any order; else the only two
columns that can be endpoints. A weight is recognised by its name, never by its position. If a
column could be a weight, or the endpoints are not clear, the error names the options that decide.

A first line that is taken for a header may be a private row. So no message quotes a name of the
file that is neither known here nor typed by the caller, unless so many are known that the line is
certain to name columns (`is_public_header`).

Terms used here:

- *position*: the number of a column, from 0. Messages count columns from 1.
- *normalised name*: a name of the header in small letters, without blanks and signs. Known names
  are compared in this form.
- *known name*: a word of two lists. `schema.header_words` has words of endpoints. Words that belong
  together, such as "from" and "to", make a *pair*; `side_of` says whether a word by itself means
  the source or the target. `schema.column_names` has names of weights (`WEIGHTS`), of columns that
  are neither weights nor endpoints (`NO_WEIGHTS`), and all of both (`NO_ENDPOINTS`). Names of
  dates are no weights either (`names_no_weight`).
- *announced header*: the caller has said that there is a header, by `header=True` or by naming a
  column. Else the ending of the file's name has decided, and the first line may be a row.

Two options of the readers have three values:

- `weighted`, an option of the caller. False: no weight is read. None and True: weights are read
  where the options, a known name or the head show a column of them.
- `declared`, what a comment of one of our own files, or of KONECT's, says. True: there are weights.
  False: there are none. None: no comment says anything.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.schema.bad_rows import left_out
from graphcuts_dp.schema.column_names import (
    NO_ENDPOINTS,
    WEIGHTS,
    is_public_header,
    known_name,
    names_no_weight,
    normalised_names,
    shows_header,
)
from graphcuts_dp.schema.columns import TAIL, Column, Columns, parse_number
from graphcuts_dp.schema.header_words import (
    endpoint_pairs,
    side_of,
)
from graphcuts_dp.schema.text_format import TextFormat

_SHOWN_COLUMNS = 6  # that a sentence names
_WORD = re.compile(r"[\w-]+")  # a name that needs no quotes when it is typed
_NO_HEADER = (
    "the first line does not name the columns in known words: pass header=False if the file has no "
    "header; else header=True, or name its endpoints by source= and target="
)


@dataclass(frozen=True, slots=True)
class ColumnPositions:
    """The positions of the columns that are read, counted from 0.

    Attributes:
        width: number of columns of the table.
        source: position of the column of sources.
        target: position of the column of targets.
        weight: position of the column of weights. None if absent.
        names: of each column with a header: its name if it may be quoted, because it is known here
            or the caller typed it; else "". Empty without a header.
        user: position of the column of users, which may be that of an endpoint. None if absent.
        period: position of the column of periods. None if absent.
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
        """The position of each column to read, by its role, in the order of the attributes.

        If users stand in the column of an endpoint, there is no role "user", as the column is read
        already. So a column is twice in the result only if the caller gives it two roles, which
        `_checked` refuses.
        """
        positions = {"source": self.source, "target": self.target, "weight": self.weight}
        if self.user not in (self.source, self.target):
            positions["user"] = self.user
        positions["period"] = self.period
        return {role: position for role, position in positions.items() if position is not None}

    def reading(self, *, skip: bool, text: bool) -> str:
        """Return sentences for the user: what is read and ignored, and which rows are left out.

        Args:
            skip: whether bad rows are left out.
            text: whether rows are lines of text.
        """
        sentences = [str(self), left_out(self.used, text=text) if skip else ""]
        return " ".join(filter(None, sentences))

    @property
    def ignoring(self) -> str:
        """The columns that are read and those that are ignored; empty if none is ignored."""
        return str(self) if self.width > len(set(self.used.values())) else ""

    def __str__(self) -> str:
        """Return which columns are read and ignored; empty if there was nothing to choose."""
        if self.width == 2 and not self.names:
            return ""
        phrases = [f"Read as the endpoints of an edge: {self._listed([self.source, self.target])}"]
        optional = (("weight", self.weight), ("user", self.user), ("period", self.period))
        for role, position in optional:
            if position is not None:
                phrases.append(f"as its {role}: {self._listed([position])}")
        used = self.used.values()
        ignored = [position for position in range(self.width) if position not in used]
        if ignored:
            phrases.append(f"ignored: {self._listed(ignored)}")
        return "; ".join(phrases) + "."

    def direction(self) -> str:
        """Return the direction of edges in public names: "trips go from ORIGIN to DEST"."""
        names = []
        for position in (self.source, self.target):
            needs_no_quotes = bool(self.names) and _WORD.fullmatch(self.names[position])
            names.append(self.names[position] if needs_no_quotes else self._name(position))
        return f"trips go from {names[0]} to {names[1]}"

    def _listed(self, positions: Sequence[int]) -> str:
        names = [self._name(position) for position in positions[:_SHOWN_COLUMNS]]
        return ", ".join(names) + (", ..." if len(positions) > _SHOWN_COLUMNS else "")

    def _name(self, position: int) -> str:
        name = self.names[position] if self.names else ""
        return f"{name!r:.60}" if name else f"column {position + 1}"


def has_header(header: bool | None, picked: Iterable[Column | None], form: TextFormat) -> bool:
    """Decide whether the first line names the columns: by the options, else by the file's ending.

    Args:
        header: what the caller says; None if nothing.
        picked: the columns that the caller picks; None for those that are left open.
        form: how files with this ending are written.

    Raises:
        FileFormatError: columns are picked by number in a file that usually has a header, so that
            the caller must say.
    """
    if header is not None:
        return header
    columns = [column for column in picked if column is not None]
    if any(isinstance(column, str) for column in columns):
        return True  # only a header has names
    if form.has_header and columns:
        raise FileFormatError(
            "columns by number: pass header=True if the first line names the columns, else "
            "header=False"
        )
    return form.has_header


def find_columns(
    header: Sequence[str],
    options: Columns,
    *,
    weighted: bool | None,
    declared: bool | None,
) -> ColumnPositions:
    """Find the columns to read in a table whose columns have names.

    Args:
        header: the names.
        options: what the caller says.
        weighted: False reads no weight. None and True are the same here: a column of weights is
            read if the options or its name show one.
        declared: what the head of the file says, see the module. False: no weight is looked for.
            True and None are the same here: a name must show the column.

    Raises:
        FileFormatError: no such column, or the caller must say which one.
    """
    _check_options(options, weighted)
    names = normalised_names(header)
    weight = None if options.weight is None else position_in_header(options.weight, header)
    user = None  # also if the source is the user: `_checked` sets it then
    if options.user is not None and (options.user != TAIL or TAIL in header):
        user = position_in_header(options.user, header)
    period = None if options.period is None else position_in_header(options.period, header)
    if options.source is not None and options.target is not None:
        source = position_in_header(options.source, header)
        target = position_in_header(options.target, header)
    else:
        source, target = _endpoints(header, names, (weight, period), user, options)
    if weight is None and weighted is not False and declared is not False:
        other_roles = (source, target, user, period)
        weight = _named_weight(names, other_roles)
        # A column with an unknown name may hold weights, which would be lost: ask the caller. But
        # one who has picked the endpoints has looked at the columns, and picked no weight.
        if weight is None and options.source is None:
            _check_no_weight(names, other_roles)
    positions = ColumnPositions(len(header), source, target, weight, (), user, period)
    return replace(_checked(positions, options), names=_quotable_names(header, names, options))


def number_columns(
    options: Columns, width: int, line: int, *, weighted: bool | None, declared: bool | None
) -> ColumnPositions:
    """Find the columns to read in a file without a header.

    They are where the caller says; else the first two columns are the endpoints.

    Privacy: `width` and `line` are taken from a private row. They decide whether the file is
    refused. Positions do not depend on them. `width` is also stored in the result, and
    `ColumnPositions.__str__` lists the columns up to it that are ignored. With bad rows left out,
    `width` is 0, and nothing depends on a row.

    Args:
        options: what the caller says.
        width: how many cells the first row has; 0 if no row may be looked at, or there is none.
        line: the number of that row.
        weighted: False reads no weight.
        declared: whether the head of the file says that the third column holds weights; None if
            nothing does.

    Raises:
        FileFormatError: no such column, or the caller must say which one.
    """
    _check_options(options, weighted)
    source, target, weight, user, period = (
        None if column is None else position_without_header(column) for column in options.named
    )
    endpoints = (0, 1) if source is None or target is None else (source, target)
    if weight is None and declared and weighted is not False:
        weight = 2
    positions = _checked(ColumnPositions(width, *endpoints, weight, (), user, period), options)
    needed_width = 1 + max(positions.used.values())
    # Nobody has said whether there are weights: not the caller, and not the head of the file.
    weights_are_open = weight is None and declared is None and weighted is not False
    if not width:  # no row may be looked at (`options.skip`), or the file has no row
        if options.skip and weights_are_open:
            # No row may show whether there is a third column, which may hold weights.
            raise FileFormatError(
                "on_bad='skip' of rows without names of columns: pass weight= or weighted=False"
            )
        return replace(positions, width=needed_width)
    if width < needed_width:
        raise FileFormatError(
            f"line {line}: column {needed_width} is needed, and there are {width}; pass delimiter= "
            "if another character separates them, or weighted=False if there are no weights"
        )
    if source is None and user in (0, 1) and width > 2:
        # The endpoints would be the first two columns, but one of these is that of the users.
        raise FileFormatError(f"line {line}: columns without names: pass source= and target=, too")
    # `weights_are_open` below means that no column is read as the weight. So a column without
    # another role may hold weights, which would be lost. A caller who picks the endpoints knows.
    has_unused_columns = width > len({*endpoints, user, period} - {None})
    if has_unused_columns and source is None and weights_are_open:
        subject = "the third column has" if width == 3 else "further columns have"
        raise FileFormatError(
            f"line {line}: {subject} no name; pass weight= with its number if it is a weight, else "
            "weighted=False"
        )
    return positions


def _check_options(options: Columns, weighted: bool | None) -> None:
    """Refuse one endpoint without the other, and a weight that shall not be read."""
    if (options.source is None) != (options.target is None):
        raise FileFormatError("pass source= and target= together")
    if options.weight is not None and weighted is False:
        raise FileFormatError("pass weight= or weighted=False, not both")


def _checked(positions: ColumnPositions, options: Columns) -> ColumnPositions:
    """Return positions that are distinct, with the source as the user if the caller says "tail".

    The user's column may be that of an endpoint; `used` then has it once.
    """
    if len(set(positions.used.values())) != len(positions.used):
        raise FileFormatError(
            "source=, target=, weight= and period= name different columns, and so does user=, "
            "unless it is that of an end"
        )
    # If a header has a column with the name "tail", `find_columns` has set `user` to it already.
    user_is_source = options.user == TAIL and positions.user is None
    return replace(positions, user=positions.source) if user_is_source else positions


def check_names(header: Sequence[str], columns: ColumnPositions | None = None) -> None:
    """Refuse a header that nobody announced and that may be a row: the row would be lost.

    Callers call it twice: before the columns are found, so that a file without a header gets this
    message and not that of columns that are not found; and with the columns.

    Args:
        header: cells of the first line.
        columns: the columns that are read; None if they are not known.

    Raises:
        FileFormatError: no name is a known one that shows a header; or the name of an endpoint or a
            weight is a number. Known words that may be labels of vertices, such as "home", show no
            header.
    """
    if columns is not None:
        positions = (columns.source, columns.target, columns.weight)
        _check_no_number([header[position] for position in positions if position is not None])
    names = normalised_names(header)
    if not any(map(shows_header, names)):
        raise FileFormatError(_NO_HEADER)


def _check_no_number(cells: Sequence[str]) -> None:
    """Refuse a header with a number among some of its cells."""
    if any(parse_number(cell) is not None for cell in cells):
        raise FileFormatError(_NO_HEADER)


def check_no_names(first_row: Sequence[str]) -> None:
    """Refuse a first row that looks like a header where nobody has said whether there is one.

    Raises:
        FileFormatError: two of its cells are a pair of known names, such as "from" and "to".
    """
    if endpoint_pairs(normalised_names(first_row), range(len(first_row))):
        raise FileFormatError(
            "the first line looks like names of columns: pass header=True if it is, else "
            "header=False"
        )


def _endpoints(
    header: Sequence[str],
    names: Sequence[str],
    other_roles: Sequence[int | None],
    user: int | None,
    options: Columns,
) -> tuple[int, int]:
    """Return the positions of source and target, by their names or as the only two candidates.

    Args:
        header: the names of the columns.
        names: the same, normalised.
        other_roles: columns to which the caller gives another role, so that they are no endpoints.
        user: column of the users, who may be an endpoint. None if absent.
        options: what the caller says.

    Raises:
        FileFormatError: they are not clear, or known names contradict the order of the columns.
    """
    # First try: known pairs of names, such as "from" and "to", among columns without another role.
    # The user's column stays a candidate, since a user may be an endpoint.
    candidates = [position for position in range(len(names)) if position not in other_roles]
    pairs = endpoint_pairs(names, candidates)
    if len(pairs) == 1:
        return pairs[0]
    if pairs:
        raise FileFormatError(
            "cannot tell which columns are the endpoints of an edge, as several pairs have known "
            f"names; pass {_typed_options(header, names, pairs)}"
        )
    # Second try: the only two columns that are left. Leave out those without a name and those with
    # the known name of something else; then, if more than two are left, that of the users.
    if len(names) > 2:
        candidates = [
            position
            for position in candidates
            if names[position] and names[position] not in NO_ENDPOINTS
        ]
    else:  # a table needs two endpoints, whatever their names; `_checked` refuses double roles
        candidates = [*range(len(names))]
    if len(candidates) > 2:  # the user of a row may be one of its endpoints, or neither
        candidates = [position for position in candidates if position != user]
    if len(candidates) != 2:
        raise FileFormatError(
            "cannot tell which columns are the endpoints of an edge; pass source= and target="
        )
    source, target = candidates
    # Each side is "source", "target", "either" or, of an unknown name, None.
    source_side, target_side = side_of(names[source]), side_of(names[target])
    if source_side == "target" or target_side == "source":
        header_is_announced = options.header is not None or any(
            isinstance(column, str) for column in options.named
        )
        # If nobody has announced the header, this line may be a row. If it has a number, it
        # probably is, and the message about a missing header helps more than the one below.
        if not header_is_announced:
            _check_no_number([header[position] for position in candidates])
        # Offer the other order, unless a name contradicts that, too: ("to", "target") fits neither.
        can_be_swapped = source_side != "source" and target_side != "target"
        pair = (target, source) if can_be_swapped else (source, target)
        raise FileFormatError(
            "known names of columns contradict their order as endpoints of an edge; pass "
            f"{_typed_options(header, names, [pair])}, or the other way round"
        )
    return source, target


def _typed_options(
    header: Sequence[str], names: Sequence[str], pairs: Sequence[tuple[int, int]]
) -> str:
    """Return the options that pick pairs of endpoints, as a caller types them.

    Columns are named if their name may be quoted, is a single word and occurs once; else they are
    numbered. A column picked by name shows that there is a header, see `has_header`. A pair of two
    numbers does not, so the caller of a text file must pass `header=True`, too.

    Args:
        header: the names of the columns.
        names: the same, normalised.
        pairs: positions of source and target.
    """
    choices = []
    needs_header_option = False
    for pair in pairs:
        columns: list[Column] = []
        for position in pair:
            name = known_name(header[position], names[position])
            is_clear = (
                name == header[position] and _WORD.fullmatch(name) and header.count(name) == 1
            )
            columns.append(name if is_clear else position)
        if not any(isinstance(column, str) for column in columns):
            needs_header_option = True
        choices.append(f"source={columns[0]!r} and target={columns[1]!r}")
    advice = "; of a text file also header=True" if needs_header_option else ""
    return ", or ".join(choices) + advice


def _named_weight(names: Sequence[str], other_roles: Sequence[int | None]) -> int | None:
    """Return the position of the column of weights that a known name shows; None if there is none.

    Known names are tried in the order of `WEIGHTS`. A name that occurs twice, or whose column has
    another role, is passed over.
    """
    for name in WEIGHTS:
        if names.count(name) == 1 and names.index(name) not in other_roles:
            return names.index(name)
    return None


def _check_no_weight(names: Sequence[str], other_roles: Sequence[int | None]) -> None:
    """Refuse a table with a column that could be a weight.

    Raises:
        FileFormatError: a column without another role has a name that `names_no_weight` does not
            know.
    """
    unclear = [
        str(position + 1)
        for position, name in enumerate(names)
        if position not in other_roles and name and not names_no_weight(name)
    ]
    if unclear:
        columns = ", ".join(unclear[:_SHOWN_COLUMNS])
        columns += ", ..." if len(unclear) > _SHOWN_COLUMNS else ""
        subject = f"column {columns}" if len(unclear) == 1 else f"one of the columns {columns}"
        raise FileFormatError(
            f"cannot tell whether {subject} is a weight; pass weight= if so, else weighted=False"
        )


def find_weight_attribute(
    names: Sequence[str], numeric: Sequence[bool], options: Columns, *, weighted: bool | None
) -> int | None:
    """Return the index of the edge attribute that holds the weights, None if there are none.

    It is chosen as a column is, among the attributes that the file declares to be numbers. One
    called "weight" needs no such declaration.

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
    # Normalised names. "" stands for attributes that are no weights; `WEIGHTS[0]` is "weight".
    candidates = [
        name if is_number or name == WEIGHTS[0] else ""
        for name, is_number in zip(normalised_names(names), numeric, strict=True)
    ]
    index = _named_weight(candidates, ())
    unclear = [names[i] for i, name in enumerate(candidates) if name and not names_no_weight(name)]
    if index is None and unclear:
        raise FileFormatError(
            f"cannot tell which edge attribute is a weight ({shown_names(unclear)}); pass weight= "
            "with its name if one is, else weighted=False"
        )
    return index


def shown_names(names: Sequence[str]) -> str:
    """Return a few public names as a message lists them."""
    shown = ", ".join(f"{name!r:.60}" for name in names[:_SHOWN_COLUMNS]) or "none"
    return shown + (", ..." if len(names) > _SHOWN_COLUMNS else "")


def _quotable_names(
    header: Sequence[str], names: Sequence[str], options: Columns
) -> tuple[str, ...]:
    """Return the names that a message may quote: known here or typed by the caller; else "".

    All of them, if the line certainly names columns.
    """
    is_public = is_public_header(header)
    return tuple(
        header_name
        if header_name in options.named
        else known_name(header_name, name) or (header_name if is_public else "")
        for header_name, name in zip(header, names, strict=True)
    )


def position_in_header(column: Column, header: Sequence[str]) -> int:
    """Return the position of a column that the caller picks by its name or its position.

    Raises:
        FileFormatError: there is no such column, or several have this name.
    """
    if isinstance(column, str):
        if header.count(column) != 1:
            raise FileFormatError(f"the header does not have exactly one column {column!r:.60}")
        return header.index(column)
    position = position_without_header(column)
    if position >= len(header):
        raise FileFormatError(f"there is no such column; the header has {len(header)} of them")
    return position


def position_without_header(column: Column) -> int:
    """Return the position of a column that the caller picks by its position, checked.

    In a file without a header this is the only way; with a header it is one of two.

    Raises:
        FileFormatError: it is a name, or not a whole number from 0.
    """
    if isinstance(column, str):
        raise FileFormatError("a column by name needs a header; pass header=True")
    if isinstance(column, bool) or not isinstance(column, int) or column < 0:
        raise FileFormatError("there is no such column: positions are whole numbers from 0")
    return column
