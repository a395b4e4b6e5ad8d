"""Open and create ledgers: which private data one is about, and which budget it has.

Read first: `Store`, the options of a caller; `Subject`, the private data by digests; `open_ledger`
and `create_ledger`. The other functions compare data with those that a store was created for,
identify stores, and look for stores in folders.
"""

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
from numbers import Integral
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

FORMAT = 10  # of new stores
_READABLE_FORMATS = (9, FORMAT)
_SQLITE = b"SQLite format 3\0"  # first bytes of a database
_APPLICATION_BYTES = slice(68, 72)  # of the first page: the number of the application
READING = ("kind", "weighted", "max_weight")  # parts of a schema that change digests of entries
_MOST_FILES = 10_000  # files of a folder that are searched
_LONGEST_TEXT = 500  # characters of a purpose or an author


@final
@dataclass(frozen=True)
class Budget:
    """The most that all uses of the private data may cost together, on each period that they read.

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
        """Return whether uses of these costs are within the budget together.

        Args:
            costs: in the order in which the uses were begun.

        Guarantee: all uses that this rule admits are (epsilon, delta)-DP together, also if each is
        chosen after seeing the others' answers and their queries interleave: see `admits`.
        """
        return admits(costs, epsilon=self.epsilon, delta=self.delta)

    def enlarged_for(self, costs: Sequence[Cost]) -> "Budget | None":
        """Return a slightly larger budget that allows uses of these costs; None if there is none.

        Its delta stays the same if that suffices; else it is the sum of the deltas of the costs, or
        twice that, since uses share half of it. Numbers are rounded up to 3 digits. The result is
        None if it would be above the largest possible budget.

        Args:
            costs: in the order in which the uses were begun.
        """
        sum_of_deltas = float(sum(Fraction(cost.delta) for cost in costs))
        sum_of_epsilons = float(sum(cost.exact_epsilon for cost in costs))
        for delta in (self.delta, _rounded_up(sum_of_deltas), _rounded_up(2 * sum_of_deltas)):
            if self.delta <= delta < 1:
                with suppress(ParameterError):  # this delta is too small
                    epsilon = _rounded_up(least_epsilon(costs, delta=delta))
                    enlarged = Budget(max(self.epsilon, epsilon), delta)
                    if enlarged.allows(costs):
                        return enlarged
        with suppress(ParameterError):  # out of range
            return Budget(
                max(self.epsilon, _rounded_up(sum_of_epsilons)),
                max(self.delta, _rounded_up(sum_of_deltas)),
            )
        return None

    def __str__(self) -> str:
        return f"epsilon = {self.epsilon:g}" + (f", delta = {self.delta:g}" if self.delta else "")


def _rounded_up(number: float) -> float:
    """Return the least number of 3 significant decimal digits that is not below a number."""
    if not number:
        return 0.0
    exact = Decimal(number)
    last_digit = Decimal(1).scaleb(exact.adjusted() - 2)
    return float(exact.quantize(last_digit, rounding=ROUND_CEILING))


@final
@dataclass(frozen=True)
class Store:
    """The file that records what was spent on one private data set, and the checks on it.

    Attributes:
        path: for example "mail.db". A missing store is created. It holds secrets: only the account
            that creates it may read it.
        budget: the most that all uses of the data may cost together, for ever: epsilon, or a pair
            (epsilon, delta); uses that read some periods only count on these periods. It is fixed
            when the store is created; None accepts what was fixed.
        expect_head: an earlier `store_status(...).head`: a store that lacks a record from before
            it, such as an older copy, is refused. None accepts any store.
        timeout: seconds to wait for other processes and threads.
        purpose: what the next uses are for, in a few words; it is kept with each of them, and in
            the receipts of their results. Empty if not stated.
        author: who begins these uses, for receipts; the store also keeps the name of the account.
        keep: whether what is measured is kept in the store, from which `resume` computes the result
            again, free of charge, after a crash, a full disk or a lost file.
        resume: True continues the last use that this store has charged for the same call on the
            same data, a number (from 1 on) the use of that number: it costs nothing more. What was
            measured comes from the store; if the use was interrupted before it was stored, it is
            measured again.
        same_people: True charges data to the store of other data about the same people, such as
            the same table with later or corrected rows. They share its budget from then on.
        separate_budget: why data that were charged to another store have a separate budget here; it
            is kept with each use, and in receipts. Empty refuses such data if they are known: the
            command line knows data that it has charged.
        registered: whether data are compared with those that this account has charged to other
            stores, and added to their list; the command line does so.
        command: words of the command line that begins the uses; empty outside of it.

    Raises:
        ParameterError: `purpose`, `author` or `separate_budget` is no printable text of at most 500
            characters, or `resume` is neither a truth value nor the number of a use.

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
        resume: object = self.resume
        is_number = isinstance(resume, Integral) and int(resume) >= 1
        if not isinstance(resume, bool) and not is_number:
            raise ParameterError("resume is True, or the number of a use, from 1 on")

    @classmethod
    def of(cls, store: "PathLike | Store") -> "Store":
        """Return a `Store` from a path, or the store itself.

        Args:
            store: a path, or a `Store`.
        """
        return store if isinstance(store, Store) else cls(store)

    @property
    def file(self) -> Path:
        """Return the path with links followed: SQLite puts its journal beside the file itself.

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
        """Return the budget that the caller passes; None if the caller passes none.

        Raises:
            ParameterError: it is no budget.
        """
        return None if self.budget is None else Budget.of(self.budget)


@final
@dataclass(frozen=True)
class Subject:
    """The private data that a ledger is about.

    Attributes:
        schema: public facts about the data, as plain values, see `data_schema`.
        identify: function of a salt that returns digests of the data, or of their name. Private:
            they show whether a guess of the data is right. It raises a `LedgerError` for rows in
            an engine without a name.
    """

    schema: dict[str, Any]
    identify: Callable[[bytes], Identity] = field(repr=False)

    @classmethod
    def of(cls, data: "PrivateData | Subject") -> "Subject":
        """Return a graph, or rows, as the subject of a ledger; a `Subject` itself.

        Raises:
            ParameterError: rows have a name that data cannot have.
        """
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
        """Return data that stay in an engine, which are known by the name that the caller chose.

        Args:
            schema: as the attribute.
            name: for example "trips-2026"; None if they have none, so that no store can be used.

        Raises:
            ParameterError: data cannot have this name.
        """
        if name is None:
            return cls(schema, _refuse_nameless)
        check_name(name)
        return cls(schema, partial(identity_of_name, name))


def _refuse_nameless(_: bytes) -> Identity:
    """Refuse rows in an engine without a name, as their `Subject.identify`.

    Raises:
        LedgerError: always.
    """
    raise LedgerError(
        "rows that stay in an engine are known to a store by a name: pass one with the rows, for "
        "example data_name='trips-2026', the same one each time"
    )


def data_schema(data: PrivateData) -> dict[str, Any]:
    """Return the public facts about private data, as plain values. Reads no row."""
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
    largest = data.max_weight
    finite = None if largest is None or math.isinf(largest) else largest
    return schema | {"kind": "graph", "max_weight": finite}


def size_of(data: PrivateData | Subject) -> tuple[int, str]:
    """Return the public number of people, or else of vertices, and the word for what is counted."""
    if not isinstance(data, Subject):
        return sum(map(len, sets_in(data.space))), "vertices"
    if "people" in data.schema:
        return data.schema["people"], "people"
    sides = data.schema["vertices"]
    return sum(side if isinstance(side, int) else len(side) for side in sides), "vertices"


def reading_of(data: PrivateData) -> dict[str, Any]:
    """Return the choices in reading data that a session must repeat when it is opened again."""
    schema = data_schema(data)
    names = "counting", "unit", "weighted", "max_weight"
    return {name: schema[name] for name in names if name in schema}


def rows_read(data: PrivateData | Subject) -> dict[str, Any]:
    """Return how the rows of a table were read, from public options alone; {} for a graph.

    Returns:
        `named_columns`, sorted pairs of a role and the column that the caller named for it; and
        `on_bad`, what happens to rows that cannot be used. The number of such rows is private, and
        not part of it.
    """
    if not isinstance(data, Rows):
        return {}
    columns = (*data.named_columns, ("periods", data.period_column))
    named_columns = tuple(sorted((role, name) for role, name in columns if name))
    return {"named_columns": named_columns, "on_bad": data.on_bad}


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
        data: the private data; None to read the ledger only.
        whole: False is enough to charge a use, or to finish it, see `Ledger`.
        read_only: True writes no file at all, not even the lock.

    Raises:
        LedgerError: as `Ledger`; or the ledger is about other data, or these have changed.
        ParameterError: the budget is another one than was fixed, or `expect_head` is no head.
    """
    chosen_store = Store.of(store)
    path, budget = chosen_store.file, chosen_store.cap
    expected = None if chosen_store.expect_head is None else Head.parse(chosen_store.expect_head)
    ledger = Ledger(
        path, timeout=chosen_store.timeout, expected=expected, whole=whole, read_only=read_only
    )
    try:
        _check_header(ledger, data, same_people=chosen_store.same_people)
        if budget not in (None, ledger_budget(ledger)):
            raise ParameterError(
                f"the budget of {path} was fixed when the store was made: "
                f"{ledger_budget(ledger) or 'no limit'}"
            )
    except BaseException:
        ledger.close()
        raise
    return ledger


def _check_header(ledger: Ledger, data: PrivateData | Subject | None, *, same_people: bool) -> None:
    """Check that a ledger is about these data, and that they are read as it needs them.

    Args:
        ledger: the ledger.
        data: the private data; None to check the header alone.
        same_people: whether they may be other data about the same people.

    Raises:
        LedgerError: the format is another one, the header is damaged, or the data do not fit.
    """
    header, path = ledger.header, ledger.file.path
    check_format(ledger)
    subject = None if data is None else Subject.of(data)
    try:
        schema, _ = dict(header["subject"]), ledger_budget(ledger)
        if subject is None:
            return
        identity = subject.identify(bytes.fromhex(header["salt"]))
        is_joined = same_people or _was_joined(ledger, identity)
        difference = _difference(schema, subject.schema, other_vertices=is_joined)
        is_known = is_joined or _share_digest(header, identity)
        # If the data are read in another way, their digests may differ.
        if not difference and not is_joined:
            is_known &= digests_agree(header["data"], schema, identity, subject.schema)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise LedgerError(f"the store {path} was altered: its header is damaged") from None
    if not is_known:
        raise LedgerError(
            f"{path} {_unknown_data(header['data'], identity)}; what is spent elsewhere on the "
            "same people adds to what is spent here"
        )
    if difference:
        raise _read_differently(path, difference)


def _was_joined(ledger: Ledger, identity: Identity) -> bool:
    """Return whether a store has charged these data before as data about the same people."""
    with ledger.locked():
        joined = [ledger.record(record)[1]["data"] for record in ledger.joined]
    return any(not set(identity.values()).isdisjoint(data.values()) for data in joined)


def _difference(before: dict[str, Any], schema: dict[str, Any], *, other_vertices: bool) -> str:
    """Return how a store's data were read before; "" if they may be read as they are now.

    - Recorded queries are about the vertex set of the store.
    - Costs add up for the same neighbours only. Neighbours are others for arcs than for edges, and
      if they differ in a weight by 1 than if they differ by any amount. Maxima of weights may
      differ: under each of them neighbours may differ in all of a weight.
    - Rows that are known by a name must have the same columns of users and of endpoints each time,
      so that the privacy units of two uses are the same.

    Args:
        before: schema of the data that the store was created for.
        schema: schema of the data that are used now.
        other_vertices: whether these may have other vertices, as data about the same people may.
    """
    if before["vertices"] != schema["vertices"] and not other_vertices:
        return "on another vertex set"
    if before.get("directed") != schema.get("directed"):
        return "as directed edges" if before["directed"] else "as undirected edges"
    for name, role in (("user", "users"), ("endpoints", "endpoints")):  # absent for graphs
        columns = before.get(name), schema.get(name)
        if all(columns) and columns[0] != columns[1]:
            return f"with {role} from other columns"
    is_graph = before["kind"] == schema["kind"] == "graph"
    if is_graph and _is_change_by_one(before) != _is_change_by_one(schema):
        if _is_change_by_one(before):
            return "with max_weight_change=1"
        largest = before["max_weight"]
        return f"with max_weight={largest:g}" if before["weighted"] else "without weights"
    return ""


def _is_change_by_one(schema: dict[str, Any]) -> bool:
    """Return whether neighbours differ by a change of one weight by 1."""
    return bool(schema["weighted"]) and schema["max_weight"] is None


def _share_digest(header: dict[str, Any], identity: Identity) -> bool:
    """Return whether data share a digest with those of a store."""
    return not set(identity.values()).isdisjoint(header["data"].values())


def _unknown_data(stored: Identity, identity: Identity) -> str:
    """Return why data are not those of a store, and what to do, for a message.

    Args:
        stored: digests of the data of the store.
        identity: digests of the data under the same salt.
    """
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


def _read_differently(path: Path, difference: str) -> LedgerError:
    """Return the error that a store's data were read in another way, see `_difference`."""
    return LedgerError(
        f"{path} is about these data, but read {difference}: read them so, and both uses "
        "share its budget"
    )


def check_format(ledger: Ledger) -> int:
    """Return the format of a store that this version can read.

    Raises:
        LedgerError: this version cannot read it.
    """
    version = ledger.header.get("format")
    if version not in _READABLE_FORMATS:
        raise LedgerError(
            f"the store {ledger.file.path} was written by another version of this program: use "
            "that version"
        )
    return int(version)


def check_reading(ledger: Ledger, schema: dict[str, Any], *, same_people: bool) -> None:
    """Check that data are read like those that a ledger was created for.

    Args:
        ledger: the ledger.
        schema: public facts about the data, see `data_schema`.
        same_people: whether they are other data about the same people.

    Raises:
        LedgerError: they are read in another way.
    """
    difference = _difference(ledger.header["subject"], schema, other_vertices=same_people)
    if difference:
        raise _read_differently(ledger.file.path, difference)


def create_ledger(store: Store, data: PrivateData | Subject, *, privacy_unit: str) -> None:
    """Create a ledger about private data, unless another process has just created one there.

    The digests of the data are keyed by a salt that is stored with them, so both are as private as
    the store.

    Args:
        store: its path and budget.
        data: private.
        privacy_unit: of all guarantees of this store, see
            `PrivacyGuarantee.privacy_unit`.

    Raises:
        LedgerError: the file cannot be written.
        ParameterError: the budget is no budget.

    Warns:
        PrivacyWarning: the delta of the budget is too large.
    """
    salt, budget, subject = secrets.token_bytes(32), store.cap, Subject.of(data)
    if budget is not None:
        count, noun = size_of(subject)
        warn_of_delta(budget.delta, count=count, of=noun, stacklevel=3)
    header = {
        "format": FORMAT,
        "made_by": f"graphcuts_dp {__version__}",
        "salt": salt.hex(),
        "data": subject.identify(salt),
        "subject": subject.schema,
        "privacy_unit": privacy_unit,
        "budget": None if budget is None else asdict(budget),
    }
    Ledger.create(store.file, header)


def digests_agree(
    digests: Identity, before: dict[str, Any], other: Identity, schema: dict[str, Any]
) -> bool:
    """Return whether all digests are equal that two ways of reading data have in common.

    A single equal digest does not suffice: different data may have the same pairs, for example.

    Args:
        digests: of the data that were read first.
        before: schema of these data, of which only `READING` counts.
        other: digests of the data that were read later.
        schema: schema of these data.
    """
    names = [
        f"{rows}{suffix}" for rows in ("rows", "weighed rows") for suffix in ("", WITHOUT_USERS)
    ]
    if all(before.get(name) == schema.get(name) for name in READING):
        names.append(ENTRIES)
    return all(digests[name] == other[name] for name in names if name in digests and name in other)


def join_data(ledger: Ledger, data: PrivateData | Subject) -> None:
    """Record that data are about the people of a store.

    Privacy: each call adds a record, also for data that the store knows already. The head of a
    ledger is shown and holds the number of its records, which must not depend on private rows.

    Raises:
        LedgerError: the store cannot be written, or data in an engine have no name.
    """
    identity = Subject.of(data).identify(bytes.fromhex(ledger.header["salt"]))
    with ledger.locked(), ledger.writing() as entries:
        entries.add(Kind.JOINED, 0, {"data": identity})


def ledger_budget(ledger: Ledger) -> Budget | None:
    """Return the budget of a store; None if it has none."""
    stored = ledger.header["budget"]
    return None if stored is None else Budget(**stored)


def store_id(ledger: Ledger) -> str:
    """Return the public identifier of a store: 32 hexadecimal digits, the same in all its copies.

    It is a digest of the header, and reveals nothing of it, since the header holds a salt of 32
    random bytes that only the store has.
    """
    return _id_of(ledger.file.header)


def _id_of(header: bytes) -> str:
    """Return the identifier of the store that has this header, see `store_id`."""
    return hashlib.sha256(b"store " + header).hexdigest()[:32]


def peek_store_id(path: Path) -> str | None:
    """Return the identifier of the store in a file without locking it; None if it cannot be read.

    It cannot be read if the file is no store, while another process writes to it, or after a
    process was killed within a transaction.
    """
    if not _is_store(path):
        return None
    try:
        return _id_of(_peek_header(path))
    except (sqlite3.Error, TypeError):
        return None


def _is_store(path: Path) -> bool:
    """Return whether a file begins like a store."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as handle:
            start = handle.read(_APPLICATION_BYTES.stop)
    except OSError:
        return False
    application = start[_APPLICATION_BYTES]
    return start.startswith(_SQLITE) and application == APPLICATION.to_bytes(4, "big")


def _peek_header(path: Path) -> bytes:
    """Return the header of a store without locking it.

    Raises:
        sqlite3.Error, TypeError: the file is no store, or cannot be read now.
    """
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=1.0)) as connection:
        (text,) = connection.execute("SELECT header FROM ledger").fetchone()
        return bytes(text)


def check_vertices(ledger: Ledger, subject: Subject) -> None:
    """Check that data have the vertices that a store was created for.

    The recorded queries of sessions are about these vertices. Other uses of data about the same
    people may have more vertices.

    Raises:
        LedgerError: they have others.
    """
    if ledger.header["subject"]["vertices"] != subject.schema["vertices"]:
        raise LedgerError(
            f"sessions in {ledger.file.path} are about the vertices that it was made for, and "
            "these data have others: release their cuts or flows, which share the budget"
        )


def ledger_universe(ledger: Ledger) -> Universe:
    """Return the universe of public vertex pairs of the graph that a ledger is about."""
    subject = ledger.header["subject"]
    left, *right = (VertexSet(labels) for labels in subject["vertices"])
    return Universe(left, *right, directed=subject.get("directed", False))


def stores_beside(folders: Iterable[Path], data: PrivateData | Subject) -> Iterator[Path]:
    """Yield the stores about these data among the files of some folders.

    Files that cannot be read are left out: this is a reminder, not a lock. Rows in an engine
    without a name are in no store.

    Args:
        folders: folders whose files are searched, without the folders in them.
        data: private; only which stores are about them is revealed.
    """
    subject = Subject.of(data)
    for folder in folders:
        with contextlib.suppress(OSError):
            for number, path in enumerate(sorted(folder.iterdir())):
                if number >= _MOST_FILES:
                    break
                if _is_store(path) and _is_store_of(path, subject):
                    yield path


def _is_store_of(path: Path, subject: Subject) -> bool:
    """Return whether the store in a file can be read and is about these data."""
    try:
        header = json.loads(_peek_header(path))
        if header["format"] not in _READABLE_FORMATS:
            return False
        return _share_digest(header, subject.identify(bytes.fromhex(header["salt"])))
    except (sqlite3.Error, ValueError, LookupError, TypeError, LedgerError):
        return False
