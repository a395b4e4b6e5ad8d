"""What a ledger is about: which private data, within which budget; finding and making one."""

import hashlib
import hmac
import json
import math
import os
import secrets
from collections.abc import Iterable, Sized
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp._version import __version__
from graphcuts_dp.errors import LedgerError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, DirectedGraph
from graphcuts_dp.graph.atomic import PathLike
from graphcuts_dp.graph.owned_rows import OwnedRows, PrivateData
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.graph.vertices import Arcs, VertexSet, labels_or_number, sets_in
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.records import Head
from graphcuts_dp.ledger.spending import Budget

_FORMAT = 4


@final
@dataclass(frozen=True)
class Store:
    """The file that records what was spent on one private data set, and the checks on it.

    Attributes:
        path: for example "mail.db". It is made if it is not there. It holds secrets: only its
            owner may read it.
        budget: the most that all uses of the data may cost together, for ever: epsilon, or a pair
            (epsilon, delta). It is fixed when the store is made; None accepts what was fixed.
        expect_head: what `store_status` gave as head at some time: a store that has forgotten
            anything since, such as an older copy, is refused. None looks for nothing.
        timeout: seconds to wait for other processes and threads.
    """

    path: PathLike
    budget: "float | tuple[float, float] | Budget | None" = None
    expect_head: str | None = None
    timeout: float = 30.0

    @classmethod
    def of(cls, given: "PathLike | Store") -> "Store":
        """A store from its path."""
        return given if isinstance(given, Store) else cls(given)

    @property
    def file(self) -> Path:
        """The file itself: SQLite puts its journal beside that, not beside a link to it.

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
        """Whether something is there."""
        return os.path.lexists(self.file)

    @property
    def cap(self) -> Budget | None:
        """The budget that was asked for.

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
        arrays: the rest, each with the form in which it is read: in one array, or in pieces, which
            are gone through once for each fingerprint.
        lengths: of the arrays, where they come in pieces.
    """

    schema: dict[str, Any]
    arrays: tuple[tuple[npt.NDArray[Any] | Iterable[npt.NDArray[Any]], str], ...] = field(
        repr=False
    )
    lengths: tuple[int, ...] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, data: "PrivateData | Subject") -> "Subject":
        """A graph, or rows with owners, as the subject of a ledger."""
        if isinstance(data, Subject):
            return data
        if isinstance(data, OwnedRows):
            return cls._of_rows(data)
        weights = data.weights.astype(np.float64, copy=False)
        arrays = (data.rows, "<i4"), (data.columns, "<i4"), (weights, "<f8")
        return cls(graph_schema(data), arrays)

    @classmethod
    def _of_rows(cls, rows: OwnedRows) -> "Subject":
        """All of the rows: graphs of them with different bounds are of one subject."""
        schema = {
            "kind": "rows with owners",
            "vertices": [labels_or_number(side) for side in sets_in(rows.space)],
            "counting": rows.counting,
            "unit": rows.unit,
            "owner_is_tail": rows.owner_is_tail,
            "weighted": rows.weighted,
            "directed": isinstance(rows.space, Arcs),
        }
        weights = np.zeros(0) if rows.weights is None else rows.weights
        arrays = (rows.owners, "<i4"), (rows.marks, "<u8"), (rows.pairs, "<i8"), (weights, "<f8")
        return cls(schema, arrays)

    def fingerprint(self, salt: bytes) -> bytes:
        """Keyed SHA-256 of all that the data are. Private: it tells whether a guess is right."""
        digest = hmac.new(salt, digestmod=hashlib.sha256)
        lengths = list(self.lengths or (len(cast(Sized, array)) for array, _ in self.arrays))
        digest.update(json.dumps([self.schema, lengths]).encode() + b"\0")
        for array, form in self.arrays:
            for piece in [array] if isinstance(array, np.ndarray) else array:
                digest.update(piece.astype(form, copy=False).tobytes())
        return digest.digest()


def graph_schema(graph: AnyGraph) -> dict[str, Any]:
    """What is public of a graph that a ledger is about. Reads no edge."""
    cap = graph.weight_cap
    schema: dict[str, Any] = {
        "kind": "graph",
        "vertices": [labels_or_number(side) for side in sets_in(graph.space)],
        "weighted": graph.weighted,
        "weight_cap": None if cap is None or math.isinf(cap) else cap,
    }
    if isinstance(graph, DirectedGraph):
        schema["directed"] = True
    return schema


def open_ledger(store: PathLike | Store, data: PrivateData | Subject | None = None) -> Ledger:
    """Open a ledger and check that it is about these data.

    Args:
        store: an existing one.
        data: the private data; None to read the record only.

    Raises:
        LedgerError: as `Ledger`; or the ledger is about other data, or these have changed.
        ParameterError: another budget than the one that was fixed, or no head.
    """
    place = Store.of(store)
    path, cap = place.file, place.cap
    expected = None if place.expect_head is None else Head.parse(place.expect_head)
    ledger = Ledger(path, timeout=place.timeout, expected=expected)
    try:
        _check_header(ledger, data)
        if cap not in (None, ledger_budget(ledger)):
            raise ParameterError(
                f"the budget of {path} was fixed when the store was made: "
                f"{ledger_budget(ledger) or 'no cap'}"
            )
    except BaseException:
        ledger.close()
        raise
    return ledger


def _check_header(ledger: Ledger, data: PrivateData | Subject | None) -> None:
    header, path = ledger.header, ledger.file.path
    if header.get("format") != _FORMAT:
        raise LedgerError(f"the store {path} was written by another version of this program")
    try:
        kind, _ = header["subject"]["kind"], ledger_budget(ledger)
        subject = None if data is None else Subject.of(data)
        same = subject is None or is_about(header, subject)
    except (LookupError, TypeError, ValueError):
        raise LedgerError(f"the store {path} was altered: its header is damaged") from None
    if subject is not None and not same:
        raise LedgerError(
            f"the graph is not the one that {path} is about, or it has changed; "
            "a ledger is for one graph, so make another store for this one"
            if kind == subject.schema["kind"] == "graph"
            else f"{path} is about other private data; make another store for these"
        )


def create_ledger(store: Store, data: PrivateData | Subject, *, protects: str) -> None:
    """Make a ledger about private data, unless somebody else has just made one at this path.

    The digest of the data is keyed by a salt that lies beside it, so both are as private as the
    store.

    Args:
        store: where.
        data: private.
        protects: whom all promises of this store protect, see `PrivacyGuarantee.protects`.

    Raises:
        LedgerError: the file cannot be written.
        ParameterError: a budget that is none.
    """
    salt, cap, subject = secrets.token_bytes(32), store.cap, Subject.of(data)
    header = {
        "format": _FORMAT,
        "made_by": f"graphcuts_dp {__version__}",
        "salt": salt.hex(),
        "data": subject.fingerprint(salt).hex(),
        "subject": subject.schema,
        "protects": protects,
        "budget": None if cap is None else asdict(cap),
    }
    Ledger.create(store.file, header)


def is_about(header: dict[str, Any], subject: Subject) -> bool:
    """Whether a ledger with this header is about these data."""
    salt = bytes.fromhex(header["salt"])
    return hmac.compare_digest(bytes.fromhex(header["data"]), subject.fingerprint(salt))


def ledger_budget(ledger: Ledger) -> Budget | None:
    """The cap on the sum of all uses, or None."""
    stored = ledger.header["budget"]
    return None if stored is None else Budget(**stored)


def ledger_universe(ledger: Ledger) -> Universe:
    """The public vertex pairs of the graph that a ledger is about."""
    subject = ledger.header["subject"]
    left, *right = (VertexSet(labels) for labels in subject["vertices"])
    return Universe(left, *right, directed=subject.get("directed", False))
