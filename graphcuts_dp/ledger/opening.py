"""Open and make ledgers: which private data one is about, and within which budget."""

import contextlib
import hashlib
import json
import math
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from graphcuts_dp._version import __version__
from graphcuts_dp.arrays import plain_number
from graphcuts_dp.errors import LedgerError, ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.final_classes import final
from graphcuts_dp.graph.rows import PrivateData, Rows
from graphcuts_dp.ledger.file import APPLICATION
from graphcuts_dp.ledger.identity import (
    ENTRIES,
    NAME,
    WITHOUT_USERS,
    Identity,
    check_name,
    identity_of_edges,
    identity_of_name,
    identity_of_rows,
)
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.records import Head, Kind
from graphcuts_dp.options import PRIVACY, option
from graphcuts_dp.privacy.composition import Cost, as_stored
from graphcuts_dp.privacy.filters import admits, least_epsilon
from graphcuts_dp.privacy.guarantee import exact_epsilon, warn_of_delta
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.schema.vertices import Arcs, VertexSet, labels_or_number, sets_in

FORMAT = 10
_READABLE = (9, FORMAT)
_SQLITE = b"SQLite format 3\0"
_PLACE = slice(68, 72)  # of the application's number in the first page
READING = ("kind", "weighted", "max_weight")  # parts of a schema that change digests of entries
_MOST_FILES = 10_000
_LONGEST_TEXT = 500  # characters of a purpose or an author


@final
@dataclass(frozen=True)
class Budget:
    """The most that all uses of a graph may cost together: of those that read periods, on each.

    Raises:
        ParameterError: a number out of range.
    """

    epsilon: float = option(help="Largest epsilon of all uses together.", group=PRIVACY)
    delta: float = option(0.0, help="Largest delta of all uses together.", group=PRIVACY)

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if isinstance(self.delta, bool) or not isinstance(self.delta, int | float):
            raise ParameterError("a budget is epsilon, or a pair (epsilon, delta)")
        if not 0 <= self.delta < 1:
            raise ParameterError(f"delta must be at least 0 and below 1, not {self.delta}")

    @classmethod
    def of(cls, budget: "float | tuple[float, float] | Budget") -> "Budget":
        """Return a budget from a number or a pair.

        Raises:
            ParameterError: neither.
        """
        if isinstance(budget, Budget):
            return budget
        numbers = budget if isinstance(budget, tuple) else (budget,)
        if len(numbers) not in (1, 2):
            raise ParameterError("a budget is epsilon, or a pair (epsilon, delta)")
        return cls(*(as_stored(plain_number(number)) for number in numbers))

    def allows(self, costs: Sequence[Cost]) -> bool:
        """Return whether uses of these costs, each chosen after seeing the others' answers, fit in.

        Args:
            costs: in the order in which the uses were begun.

        Guarantee: all uses that this rule admits are (epsilon, delta)-DP together, also when
        their parameters are chosen adaptively and their queries interleave: see `admits`.
        """
        return admits(costs, epsilon=self.epsilon, delta=self.delta)

    def enlarged_for(self, costs: Sequence[Cost]) -> "Budget | None":
        """Return a budget that includes this one and allows uses of these costs, hardly larger.

        None if it would be above the largest budget.

        Its delta stays as it is where that suffices; else it is the sum of those of the costs, or
        twice that, since uses share half of it. Numbers are rounded up to 3 digits.

        Args:
            costs: in the order in which the uses were begun.
        """
        stated = float(sum(Fraction(cost.delta) for cost in costs))
        plain = _rounded_up(float(sum(cost.exact_epsilon for cost in costs)))
        for delta in (self.delta, _rounded_up(stated), _rounded_up(2 * stated)):
            if self.delta <= delta < 1:
                with suppress(ParameterError):  # this delta is too small
                    epsilon = _rounded_up(least_epsilon(costs, delta=delta))
                    enlarged = Budget(max(self.epsilon, epsilon), delta)
                    if enlarged.allows(costs):
                        return enlarged
        with suppress(ParameterError):  # out of range
            return Budget(max(self.epsilon, plain), max(self.delta, _rounded_up(stated)))
        return None

    def __str__(self) -> str:
        return f"epsilon = {self.epsilon:g}" + (f", delta = {self.delta:g}" if self.delta else "")


def _rounded_up(number: float) -> float:
    """Return the least number of 3 decimal digits that is not below a number."""
    if not number:
        return 0.0
    shown = Decimal(number)
    digit = shown.adjusted() - 2
    return float(shown.quantize(Decimal(1).scaleb(digit), rounding=ROUND_CEILING))


@final
@dataclass(frozen=True)
class Store:
    """The file that records what was spent on one private data set, and the checks on it.

    Attributes:
        path: for example "mail.db". It is made if it is not there. It holds secrets: only its
            user may read it.
        budget: the most that all uses of the data may cost together, for ever: epsilon, or a pair
            (epsilon, delta); of uses that read some periods only, on each period. It is fixed when
            the store is made; None accepts what was fixed.
        expect_head: what `store_status` gave as head at some time: a store that has forgotten
            anything since, such as an older copy, is refused. None looks for nothing.
        timeout: seconds to wait for other processes and threads.
        purpose: what the next uses are for, in a few words; it is kept with each of them, and in
            the receipts of their results. Empty if not stated.
        author: who begins these uses, for receipts; the store also keeps the name of the account.
        keep: whether what is measured is kept in the store, from which `resume` makes the result
            again, free of charge, after a crash, a full disk or a lost file.
        resume: True takes over the last use that this store has charged for the same call on the
            same data, a number the use of that number: it costs nothing more. What was measured
            comes from the store; if the use was interrupted before it was stored, it is measured
            again.
        same_people: True charges data to the store of other data about the same people, such as
            the same table with later or corrected rows. They share its budget from then on.
        separate_budget: why data that were charged to another store have a budget of their own
            here; it is kept with each use, and in receipts. Empty refuses such data, where they
            are known: the command line knows data that it has charged.
        registered: whether data are compared with those that this account has charged to other
            stores, and noted among them; the command line does.
        command: words of the command line that begins the uses; empty outside of it.

    Raises:
        ParameterError: a purpose, an author or a reason that is no text of at most 500 characters.

    Examples:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "club.db"
        >>> club = gc.datasets.load("karate")
        >>> store = gc.Store(path, budget=2.0, purpose="monthly report")
        >>> first = gc.release_graph(club, epsilon=1.0, store=store)
        >>> again = gc.release_graph(club, epsilon=1.0, store=gc.Store(path, resume=True))
        >>> again.answer([0]).value == first.answer([0]).value, gc.store_status(path).epsilon
        (True, 1.0)
    """

    path: PathLike
    budget: "float | tuple[float, float] | Budget | None" = None
    expect_head: str | None = None
    timeout: float = 30.0
    purpose: str = ""
    author: str = ""
    keep: bool = True
    resume: bool | int = False
    same_people: bool = False
    separate_budget: str = ""
    registered: bool = field(default=False, repr=False)
    command: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        for name in ("purpose", "author", "separate_budget"):
            text = getattr(self, name)
            if not (isinstance(text, str) and text.isprintable() and len(text) <= _LONGEST_TEXT):
                raise ParameterError(
                    f"{name} is a printable text of at most {_LONGEST_TEXT} characters"
                )

    @classmethod
    def of(cls, store: "PathLike | Store") -> "Store":
        """Return a store from its path.

        Args:
            store: a path, or a `Store`.
        """
        return store if isinstance(store, Store) else cls(store)

    @property
    def file(self) -> Path:
        """Return the file itself: SQLite puts its journal beside that, not beside a link to it.

        Raises:
            LedgerError: no file can have this name.
        """
        try:
            path = Path(os.path.realpath(self.path))
            path.lstat()
        except FileNotFoundError:
            return path
        except (OSError, ValueError, TypeError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else "not a valid file name"
            raise LedgerError(f"the store cannot have this name: {reason}") from None
        return path

    @property
    def exists(self) -> bool:
        """Return whether something is at the path."""
        return os.path.lexists(self.file)

    @property
    def cap(self) -> Budget | None:
        """Return the budget that was asked for, or None.

        Raises:
            ParameterError: it is none.
        """
        return None if self.budget is None else Budget.of(self.budget)


@final
@dataclass(frozen=True)
class Subject:
    """The private data that a ledger is about.

    Attributes:
        schema: what is public about it, as plain values.
        identify: digests of the data, or of the name that they go by, under a salt. Private: they
            tell whether a guess is right. It raises a LedgerError where data have neither.
    """

    schema: dict[str, Any]
    identify: Callable[[bytes], Identity] = field(repr=False)

    @classmethod
    def of(cls, data: "PrivateData | Subject") -> "Subject":
        """Return a graph, or rows, as the subject of a ledger."""
        if isinstance(data, Subject):
            return data
        if isinstance(data, Rows):
            schema = data_schema(data)
            if data.row_arrays is None:
                return cls.named(schema, data.data_name)
            return cls(schema, partial(identity_of_rows, data))
        return cls(data_schema(data), partial(identity_of_edges, data))

    @classmethod
    def named(cls, schema: dict[str, Any], name: str | None) -> "Subject":
        """Return data that stay in an engine: they are known by the name of their user, if any.

        Args:
            schema: as the attribute.
            name: for example "trips-2026"; None where no store is to know them.

        Raises:
            ParameterError: no name that data can have.
        """
        if name is None:
            return cls(schema, _nameless)
        check_name(name)
        return cls(schema, partial(identity_of_name, name))


def _nameless(_: bytes) -> Identity:
    raise LedgerError(
        "rows that stay in an engine are known to a store by a name: pass one with the rows, for "
        "example data_name='trips-2026', the same one each time"
    )


def data_schema(data: PrivateData) -> dict[str, Any]:
    """Return what is public of private data that a ledger is about. Reads no row."""
    schema: dict[str, Any] = {
        "vertices": [labels_or_number(side) for side in sets_in(data.space)],
        "weighted": data.weighted,
        "directed": isinstance(data.space, Arcs),
    }
    if isinstance(data, Rows):
        return schema | {
            "kind": "rows",
            "counting": data.counting,
            "unit": data.weight_unit,
            "period": data.period_column,
            "user": data.user_column,
            "endpoints": list(data.endpoint_columns),
        }
    cap = data.max_weight
    finite = None if cap is None or math.isinf(cap) else cap
    return schema | {"kind": "graph", "max_weight": finite}


def size_of(data: PrivateData | Subject) -> tuple[int, str]:
    """Return how many people, or vertices, there are in public, and which of both is counted."""
    if not isinstance(data, Subject):
        return sum(map(len, sets_in(data.space))), "vertices"
    if "people" in data.schema:
        return data.schema["people"], "people"
    sides = data.schema["vertices"]
    return sum(side if isinstance(side, int) else len(side) for side in sides), "vertices"


def reading_of(data: PrivateData) -> dict[str, Any]:
    """Return how data were read that can be read in several ways: sessions go on with the same."""
    schema = data_schema(data)
    names = "counting", "unit", "weighted", "max_weight"
    return {name: schema[name] for name in names if name in schema}


def rows_read(data: "PrivateData | Subject") -> dict[str, Any]:
    """Return how the rows of a table were read, from its options alone; {} if it is no table.

    Returns:
        `named_columns`, pairs of a role and the column that the caller named for it, in order; and
        `on_bad`, what happened to rows that could not be used. How many there were is private, and
        never part of it.
    """
    if not isinstance(data, Rows):
        return {}
    columns = (*data.named_columns, ("periods", data.period_column))
    named = tuple(sorted((role, name) for role, name in columns if name))
    return {"named_columns": named, "on_bad": data.on_bad}


def open_ledger(
    store: PathLike | Store,
    data: PrivateData | Subject | None = None,
    *,
    whole: bool = True,
    read_only: bool = False,
) -> Ledger:
    """Open a ledger and check that it is about these data.

    Args:
        store: an existing one.
        data: the private data; None to read the record only.
        whole: False is enough to charge a use, or to finish it, see `Ledger`.
        read_only: True writes no file at all, not even the lock.

    Raises:
        LedgerError: as `Ledger`; or the ledger is about other data, or these have changed.
        ParameterError: another budget than the one that was fixed, or no head.
    """
    chosen_store = Store.of(store)
    path, cap = chosen_store.file, chosen_store.cap
    expected = None if chosen_store.expect_head is None else Head.parse(chosen_store.expect_head)
    ledger = Ledger(
        path, timeout=chosen_store.timeout, expected=expected, whole=whole, read_only=read_only
    )
    try:
        _check_header(ledger, data, same_people=chosen_store.same_people)
        if cap not in (None, ledger_budget(ledger)):
            raise ParameterError(
                f"the budget of {path} was fixed when the store was made: "
                f"{ledger_budget(ledger) or 'no cap'}"
            )
    except BaseException:
        ledger.close()
        raise
    return ledger


def check_format(ledger: Ledger) -> int:
    """Return the format of a store that this version can read.

    Raises:
        LedgerError: it cannot.
    """
    version = ledger.header.get("format")
    if version not in _READABLE:
        raise LedgerError(
            f"the store {ledger.file.path} was written by another version of this program: use "
            "that version"
        )
    return int(version)


def _check_header(ledger: Ledger, data: PrivateData | Subject | None, *, same_people: bool) -> None:
    header, path = ledger.header, ledger.file.path
    check_format(ledger)
    subject = None if data is None else Subject.of(data)
    try:
        schema, _ = dict(header["subject"]), ledger_budget(ledger)
        identity = None if subject is None else subject.identify(bytes.fromhex(header["salt"]))
        joined = identity is not None and (same_people or _was_joined(ledger, identity))
        known = identity is None or joined or _in_common(header, identity)
        other = ""
        if subject is not None:
            other = _read_otherwise(schema, subject.schema, other_vertices=joined)
        if identity is not None and subject is not None and not other:
            unchanged = digests_agree(header["data"], schema, identity, subject.schema)
            known = joined or (known and unchanged)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise LedgerError(f"the store {path} was altered: its header is damaged") from None
    if identity is not None and not known:
        raise LedgerError(
            f"{path} {_not_known(header['data'], identity)}; what is spent elsewhere on the same "
            "people adds to what is spent here"
        )
    if other:
        raise _otherwise(path, other)


def check_reading(ledger: Ledger, schema: dict[str, Any], *, same_people: bool) -> None:
    """Refuse data that are read in another way than those that a ledger was made for.

    Args:
        ledger: the ledger.
        schema: what is public about the data, see `data_schema`.
        same_people: whether they are other data about the same people.

    Raises:
        LedgerError: they are.
    """
    other = _read_otherwise(ledger.header["subject"], schema, other_vertices=same_people)
    if other:
        raise _otherwise(ledger.file.path, other)


def _otherwise(path: Path, other: str) -> LedgerError:
    return LedgerError(
        f"{path} is about these data, but read {other}: read them so, and both uses "
        "share its budget"
    )


def create_ledger(store: Store, data: PrivateData | Subject, *, privacy_unit: str) -> None:
    """Make a ledger about private data, unless somebody else has just made one at this path.

    The digests of the data are keyed by a salt that lies beside them, so all are as private as the
    store.

    Args:
        store: where.
        data: private.
        privacy_unit: of all guarantees of this store, see
            `PrivacyGuarantee.privacy_unit`.

    Raises:
        LedgerError: the file cannot be written.
        ParameterError: a budget that is none.

    Warns:
        PrivacyWarning: its delta is too large.
    """
    salt, cap, subject = secrets.token_bytes(32), store.cap, Subject.of(data)
    if cap is not None:
        count, of = size_of(subject)
        warn_of_delta(cap.delta, count=count, of=of, stacklevel=3)
    header = {
        "format": FORMAT,
        "made_by": f"graphcuts_dp {__version__}",
        "salt": salt.hex(),
        "data": subject.identify(salt),
        "subject": subject.schema,
        "privacy_unit": privacy_unit,
        "budget": None if cap is None else asdict(cap),
    }
    Ledger.create(store.file, header)


def _in_common(header: dict[str, Any], identity: Identity) -> bool:
    return not set(identity.values()).isdisjoint(header["data"].values())


def _not_known(stored: Identity, identity: Identity) -> str:
    """Return what a store says of data that are not its own, and what to do."""
    if NAME in stored and NAME in identity:
        return "is about data of another name: pass the name that it was made for, as data_name="
    if NAME in stored:
        return (
            "knows its data by a name, not by digests of rows: pass the name that it was made for, "
            "as data_name="
        )
    if NAME in identity:
        return (
            "knows its data by digests of rows, not by a name: read the rows that it was made for "
            "into memory, without data_name="
        )
    return (
        "is about other private data, or these have changed: use the rows that it was made for, "
        "in any order; if rows were appended or corrected, name the store by --same-people-as "
        "(same_people=True) in place of --store; a further month is a table of its own, by flows "
        "--periods of that month and --same-people-as, since flows-over-time continues only the "
        "series that it has begun"
    )


def digests_agree(
    digests: Identity, before: dict[str, Any], other: Identity, schema: dict[str, Any]
) -> bool:
    """Return whether all digests that follow from two readings of data are the same.

    Data may have a digest in common, such as that of their pairs, and yet be other data.

    Args:
        digests: of one reading.
        before: its schema; `READING` of it count.
        other: digests of the other one.
        schema: its schema.
    """
    kinds = product(("rows", "weighed rows"), ("", WITHOUT_USERS))
    names = [f"{rows}{whose}" for rows, whose in kinds]
    if all(before.get(name) == schema.get(name) for name in READING):
        names.append(ENTRIES)
    return all(digests[name] == other[name] for name in names if name in digests and name in other)


def _was_joined(ledger: Ledger, identity: Identity) -> bool:
    """Return whether data were charged before as data about the same people."""
    with ledger.locked():
        joined = [ledger.record(record)[1]["data"] for record in ledger.joined]
    return any(not set(identity.values()).isdisjoint(data.values()) for data in joined)


def join_data(ledger: Ledger, data: PrivateData | Subject) -> None:
    """Record that data are about the people of a store.

    Privacy: each call adds a record, also for data that the store knows already. The head of a
    ledger is shown and holds the number of its records, which must not depend on private rows.
    """
    identity = Subject.of(data).identify(bytes.fromhex(ledger.header["salt"]))
    with ledger.locked(), ledger.writing() as entries:
        entries.add(Kind.JOINED, 0, {"data": identity})


def _read_otherwise(before: dict[str, Any], schema: dict[str, Any], *, other_vertices: bool) -> str:
    """Return how a store's data were read, where that changes what its record or guarantees mean.

    Recorded queries are about its vertex set. Whether a pair is one arc or two, and whether all of
    its weight is hidden or a change by one, makes different neighbours, whose costs do not add up.
    Caps on weights do not: under each of them a pair may have any weight. Rows that are known by a
    name have the same users and endpoints each time: the privacy units of two uses must be
    the same.

    Args:
        before: schema of the data that the store was made for.
        schema: of the data that are used now.
        other_vertices: whether they may have other vertices: those of data about the same people.
    """
    if before["vertices"] != schema["vertices"] and not other_vertices:
        return "on another vertex set"
    if before.get("directed") != schema.get("directed"):
        return "as directed edges" if before["directed"] else "as undirected edges"
    for name, role in (("user", "users"), ("endpoints", "endpoints")):  # of rows with a name
        columns = before.get(name), schema.get(name)
        if all(columns) and columns[0] != columns[1]:
            return f"with {role} from other columns"
    if before["kind"] == schema["kind"] == "graph" and _by_one(before) != _by_one(schema):
        if _by_one(before):
            return "with max_weight_change=1"
        cap = before["max_weight"]
        return f"with max_weight={cap:g}" if before["weighted"] else "without weights"
    return ""


def _by_one(schema: dict[str, Any]) -> bool:
    return bool(schema["weighted"]) and schema["max_weight"] is None


def ledger_budget(ledger: Ledger) -> Budget | None:
    """Return the budget for all uses together, or None."""
    stored = ledger.header["budget"]
    return None if stored is None else Budget(**stored)


def store_id(ledger: Ledger) -> str:
    """Return the public identifier of a store: 32 hexadecimal digits, the same in all its copies.

    It is a digest of the header. It tells nothing of that, since the header holds a salt of 32
    random bytes that is known to the store alone.
    """
    return _id_of(ledger.file.header)


def peek_store_id(path: Path) -> str | None:
    """Return the identifier of the store in a file; None if there is none that can be read."""
    if not _is_store(path):
        return None
    try:
        return _id_of(_peek_header(path))
    except (sqlite3.Error, TypeError):
        return None


def _id_of(header: bytes) -> str:
    return hashlib.sha256(b"store " + header).hexdigest()[:32]


def _peek_header(path: Path) -> bytes:
    """Return the header of a store without locking it.

    Raises:
        sqlite3.Error, TypeError: the file is no store.
    """
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=1.0)) as connection:
        (text,) = connection.execute("SELECT header FROM ledger").fetchone()
        return bytes(text)


def check_vertices(ledger: Ledger, subject: Subject) -> None:
    """Refuse data whose vertices are others than those that a store was made for.

    The recorded queries of sessions are about these. Other uses of data about the same people may
    have more vertices.

    Raises:
        LedgerError: they are others.
    """
    if ledger.header["subject"]["vertices"] != subject.schema["vertices"]:
        raise LedgerError(
            f"sessions in {ledger.file.path} are about the vertices that it was made for, and "
            "these data have others: release their cuts or flows, which share the budget"
        )


def ledger_universe(ledger: Ledger) -> Universe:
    """Return the public vertex pairs of the graph that a ledger is about."""
    subject = ledger.header["subject"]
    left, *right = (VertexSet(labels) for labels in subject["vertices"])
    return Universe(left, *right, directed=subject.get("directed", False))


def stores_beside(folders: Iterable[Path], data: PrivateData | Subject) -> Iterator[Path]:
    """Find stores among the files of some folders that are about these data.

    Files that cannot be read are passed over: this is a reminder, not a lock. Data without digests
    and without a name have none.

    Args:
        folders: they are not searched further down.
        data: private; only whether a store is about them is told.
    """
    subject = Subject.of(data)
    for folder in folders:
        with contextlib.suppress(OSError):
            for number, path in enumerate(sorted(folder.iterdir())):
                if number >= _MOST_FILES:
                    break
                if _is_store(path) and _concerns(path, subject):
                    yield path


def _is_store(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as handle:
            start = handle.read(_PLACE.stop)
    except OSError:
        return False
    return start.startswith(_SQLITE) and start[_PLACE] == APPLICATION.to_bytes(4, "big")


def _concerns(path: Path, subject: Subject) -> bool:
    try:
        header = json.loads(_peek_header(path))
        if header["format"] not in _READABLE:
            return False
        return _in_common(header, subject.identify(bytes.fromhex(header["salt"])))
    except (sqlite3.Error, ValueError, LookupError, TypeError, LedgerError):
        return False
