"""Charging a use that is no session, keeping what it measured, and taking up what was interrupted.

Order of such a use, and what a crash at each point leaves:
    1. BEGIN is committed                 before: nothing was spent, nothing is lost
    2. noise is drawn                     in between: the cost is spent, and there is no result
    3. FINISHED is committed, with what was measured
    4. the result is computed and shown   before: the store has what was measured, and the result
                                          follows from it

Nothing that was measured leaves the process before 3, and a second FINISHED of a use is refused. So
a use that was interrupted between 1 and 3 may be measured again under the same charge: what anybody
can see of the first run is when it stopped. See SECURITY.md, "Measuring again after a crash".

A use that also measures its result (`release.job.SecondMeasurement`) commits two measurements:
    3a. MEASURED is committed, with the first measurement, which may be shown from here on
    3b. the result is computed from it, and measured: noise is drawn
    3c. FINISHED is committed, with the second measurement
    4.  the result and the second measurement are shown
A crash before 3a is one before 3. After a crash between 3a and 3c the first measurement is never
drawn again: the result is computed from what is stored, and measured under the same charge. Nothing
of a second measurement leaves the process before 3c, and a second MEASURED or FINISHED is refused.
"""

import contextlib
import hashlib
import math
import shlex
import warnings
import weakref
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

from graphcuts_dp.errors import LedgerError, PrivacyWarning
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.rows import PrivateData
from graphcuts_dp.ledger.file import LARGEST_CONTENT
from graphcuts_dp.ledger.known_data import index_locked, register, uses_of_data
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.observed import observe
from graphcuts_dp.ledger.opening import (
    Store,
    Subject,
    create_ledger,
    join_data,
    open_ledger,
    peek_store_id,
    rows_read,
    size_of,
    store_id,
)
from graphcuts_dp.ledger.records import Kind
from graphcuts_dp.ledger.uses import (
    MADE_BY,
    Use,
    begin_use,
    check_budget,
    check_privacy_unit,
    time_now,
    uses_of,
)
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, warn_of_delta
from graphcuts_dp.privacy.provenance import Provenance

# Data that were used without a store in this process, by `id`; and whether that was told.
_USED_WITHOUT_STORE: dict[int, "weakref.ref[Any]"] = {}
_warned = False


@final
@dataclass(frozen=True)
class KeptMeasurement:
    """A measurement of a use, as its store keeps it.

    Attributes:
        content: the packed measurement, see `results.bundle.pack`.
        completion: how the result is made of it, plain values.
        complete: False if a second measurement is still to be made.
        later: the packed second measurement; None if absent.
    """

    content: bytes = field(repr=False)
    completion: Mapping[str, Any] = field(repr=False)
    complete: bool = True
    later: bytes | None = field(default=None, repr=False)


@final
@dataclass(frozen=True)
class Charge:
    """A use that was paid for.

    Attributes:
        provenance: of its result.
        store: that was charged; None if none was.
        use: its record; None without a store.
        measurement: what it has measured; None if that is still to be done.
    """

    provenance: Provenance
    store: Store | None = None
    use: Use | None = None
    measurement: KeptMeasurement | None = None

    @property
    def keeps(self) -> bool:
        """Return whether `keep` stores what was measured."""
        return self.store is not None and self.store.keep

    def keep(self, content: bytes, completion: Mapping[str, Any], *, last: bool = True) -> "Charge":
        """Store what was measured; only then may it be shown.

        Args:
            content: the packed measurement; of a store that does not keep it, its digest alone is
                recorded.
            completion: how the result is made of it, plain values.
            last: whether this finishes the use; if not, `keep_later` does.

        Returns:
            This charge, whose provenance names what was measured.

        Raises:
            LedgerError: it cannot be stored, or another process has finished this use meanwhile.
                What was measured here is then to be forgotten.
        """
        if self.store is None or self.use is None:
            return self
        digest = hashlib.sha256(content).hexdigest()
        body = {"measured": digest, "kept": self.store.keep, "completion": {**completion}}
        self._write(Kind.FINISHED if last else Kind.MEASURED, body, content)
        return replace(self, provenance=replace(self.provenance, measured=digest))

    def keep_later(self, content: bytes) -> None:
        """Store what was measured of the result, which finishes the use; only then show it.

        Args:
            content: the packed measurement, as in `keep`.

        Raises:
            LedgerError: as `keep`.
        """
        if self.store is not None and self.use is not None:
            digest = hashlib.sha256(content).hexdigest()
            self._write(Kind.FINISHED, {"later": digest, "kept": self.store.keep}, content)

    def _write(self, kind: Kind, body: dict[str, Any], content: bytes) -> None:
        """Write the record of a measurement, with its content, in one transaction.

        Raises:
            LedgerError: as `keep`.
        """
        if self.store is None or self.use is None:
            return
        number = self.use.number
        with closing(open_ledger(self.store, whole=False)) as ledger, ledger.locked():
            totals = ledger.totals(number)
            first = "later" not in body
            if totals.finished is not None or (first and totals.measured is not None):
                raise LedgerError(
                    f"another process has taken up use {number} of {self.store.path} and measured "
                    "it; what was measured here was thrown away"
                )
            with ledger.writing() as entries:
                if self.store.keep:
                    entries.content(content, packed=True)
                entries.add(kind, number, body)

    def record_files(self, digests: Mapping[str, str]) -> None:
        """Record which files hold the result. It is a note: a store that is busy goes without.

        Args:
            digests: SHA-256 of each file, in hexadecimal, by its name.
        """
        if self.store is None or self.use is None:
            return
        with (
            contextlib.suppress(LedgerError),
            closing(open_ledger(self.store, whole=False)) as ledger,
            ledger.locked(),
            ledger.writing() as entries,
        ):
            entries.add(Kind.SAVED, self.use.number, {"time": time_now(), "files": {**digests}})

    def advice(self, *, force: bool = False) -> str:
        """Return what `BegunCharge.advice` does; empty without a store."""
        if self.store is None or self.use is None:
            return ""
        cost = self.use.cost
        delta = f", delta = {cost.delta:g}" if cost.delta else ""
        spent_by = f"epsilon = {cost.epsilon:g}{delta} was spent (use {self.use.number})"
        if self.provenance.measured and not self.store.keep:
            return f"{spent_by}, and its result was not kept"
        words = ["graphcuts-dp", "resume", str(self.store.path), *["--force"] * force]
        return f"{spent_by}; resume with: {shlex.join(words)}"


def begin_charge(
    store: PathLike | Store | None,
    data: PrivateData | Subject,
    *,
    kind: str,
    parameters: dict[str, Any],
    cost: Cost,
    guarantee: PrivacyGuarantee,
    periods: tuple[str, ...] | None = None,
    inputs: str = "",
    content_bytes: int = 0,
    stacklevel: int = 1,
) -> Charge:
    """Charge a use that is no session: its whole cost is on the disk when this returns.

    Whatever happens afterwards, the cost stays spent. A store that is to `resume` is charged
    nothing: a use that it has charged already is taken up.

    Args:
        store: where; None charges nothing.
        data: private.
        kind: what the use is.
        parameters: public, plain values.
        cost: of all that it measures.
        guarantee: of the same.
        periods: labels of the declared periods that it reads: rows of others change nothing that
            it draws. None where it may read everything. They count for themselves where neighbours
            differ in one period, see `uses`, and else for every period.
        inputs: digest of public inputs, see `public_digest`.
        content_bytes: the largest size of what it measures, in bytes, from public sizes.
        stacklevel: of `warnings.warn`, as seen from the caller.

    Raises:
        BudgetError: the budget does not allow it.
        LedgerError: the store cannot be used, or has charged no such use that could be resumed, or
            is to keep more than it can.
        ParameterError: periods that are none, or options of the store that do not fit.

    Warns:
        PrivacyWarning: before anything is charged, when delta is too large.
    """
    count, of = size_of(data)
    warn_of_delta(cost.delta, count=count, of=of, stacklevel=stacklevel + 1)
    if store is None:
        if guarantee.is_private:
            warn_of_second_use(data, stacklevel=stacklevel + 1)
        provenance = Provenance(time=time_now(), made_by=MADE_BY)
        return Charge(provenance.of_rows(**rows_read(data)))
    chosen_store = Store.of(store)
    if chosen_store.keep and content_bytes > LARGEST_CONTENT:
        raise LedgerError(
            f"what is measured takes up to {content_bytes / 1e9:,.3g} GB, and a store keeps at "
            "most 1 GB of a use; nothing was spent: use Store(..., keep=False), or --no-keep"
        )
    column = "" if periods is None else str(Subject.of(data).schema.get("period") or "")
    described: dict[str, Any] = {
        "kind": kind,
        "parameters": parameters,
        "cost": cost,
        "guarantee": guarantee,
        "periods": periods,
        "column": column,
        "inputs": inputs,
    }
    with closing(_opened_to_charge(chosen_store, data, cost, guarantee)) as ledger:
        before = math.inf
        try:
            with ledger.locked():
                before = ledger.spending.uses
                if chosen_store.resume:
                    charge = _taken_up(ledger, chosen_store, described)
                else:
                    use = begin_use(
                        ledger, **described, rows_read=rows_read(data), store=chosen_store
                    )
                    if chosen_store.same_people:
                        join_data(ledger, data)
                    charge = Charge(_provenance(ledger, use), chosen_store, use)
        except LedgerError:
            _observe_if_charged(ledger, chosen_store, before, cost)
            raise
    observe(charge)
    return charge


def _observe_if_charged(ledger: Ledger, store: Store, before: float, cost: Cost) -> None:
    """Observe the charge of a use whose record is in the store although writing it failed.

    The last of the system calls of a transaction can fail when the record is on the disk already.
    Then the use is charged, and the error says so.

    Args:
        ledger: the ledger.
        store: the options of the store.
        before: how many uses there were before; infinite if that was not read.
        cost: of the use.
    """
    with contextlib.suppress(LedgerError), ledger.locked():
        for use in uses_of(ledger):
            if use.number > before and use.cost == cost:
                observe(Charge(_provenance(ledger, use), store, use))


def charge_of_use(ledger: Ledger, store: Store, use: Use) -> Charge:
    """Return the charge of a use that is on the record. Within `Ledger.locked`."""
    return Charge(provenance_of(ledger, use), store, use)


def warn_of_second_use(data: object, *, stacklevel: int) -> None:
    """Warn, once in a process, where the same object is used twice without a store.

    A graph that was made of what a function was given counts as that.
    """
    global _warned  # once in a process
    origin = getattr(data, "origin", None)
    data = data if origin is None else origin()
    known = _USED_WITHOUT_STORE.get(id(data))
    if known is None or known() is not data:
        with contextlib.suppress(TypeError):  # of an object without weak references
            _USED_WITHOUT_STORE[id(data)] = weakref.ref(data)
    elif not _warned:
        _warned = True
        warnings.warn(
            "epsilon is spent on the same data again without a store, and nobody adds it up: pass "
            "store='...db' to keep account (this is said once)",
            PrivacyWarning,
            stacklevel=stacklevel + 1,
        )


def open_to_charge(
    store: Store, data: PrivateData | Subject, cost: Cost, guarantee: PrivacyGuarantee
) -> Ledger:
    """Open the ledger of a store; make it if it is not there and allows a first use of this cost.

    All uses of a store have the privacy unit of the first one.

    Raises:
        BudgetError: it does not allow it.
        LedgerError: as `open_ledger`.
        ParameterError: likewise.
    """
    subject = Subject.of(data)
    if store.registered:
        check_known(subject, store)
    if not store.exists:
        check_budget(store.cap, [], cost)
        create_ledger(store, data, privacy_unit=guarantee.privacy_unit)
    ledger = open_ledger(store, data, whole=False)
    try:
        if store.registered:
            with index_locked():  # nobody charges another store meanwhile
                check_known(subject, store)
                register(subject, str(store.file), store_id(ledger))
    except BaseException:
        ledger.close()
        raise
    return ledger


def check_known(subject: Subject, store: Store | None) -> None:
    """Refuse data that this account has charged to another store, unless a reason is stated.

    Args:
        subject: the data.
        store: that is to be charged; None for none.

    Raises:
        LedgerError: they were, or the index of the account cannot be read.
    """
    if store is not None and (store.separate_budget or store.resume):
        return
    charged = [use for use in uses_of_data(subject) if use.store]
    identifier = None if store is None else peek_store_id(store.file)
    if not charged or identifier in {use.identifier for use in charged}:
        return
    path = charged[0].store
    advice = f": add --store {shlex.quote(path)}, so that what is spent adds up"
    if not Path(path).exists():
        advice = ", which is not there any more: bring it back"
    raise LedgerError(
        f"these data were charged to the store {path}{advice}, or say by --separate-budget REASON "
        "why they have a budget of their own; nothing was spent"
    )


def _opened_to_charge(
    store: Store, data: PrivateData | Subject, cost: Cost, guarantee: PrivacyGuarantee
) -> Ledger:
    if store.resume:  # a store that is not there has nothing to resume, and is not made
        return open_ledger(store, data)
    return open_to_charge(store, data, cost, guarantee)


def kept_by_use(ledger: Ledger, number: int) -> KeptMeasurement | None:
    """Return what a use has measured; None if nothing was kept. Within `Ledger.locked`.

    Raises:
        LedgerError: it has measured, but its store does not keep it; or the store was altered.
    """
    totals = ledger.totals(number)
    record = _first_record(ledger, number)
    if record is None:
        return None
    _, body = ledger.record(record)
    if not body.get("kept"):
        raise LedgerError(
            f"use {number} of {ledger.file.path} has measured, and the store does not keep what it "
            "measured: its result is in the files that were written then, or lost"
        )
    content, later = ledger.content(bytes.fromhex(body["measured"])), None
    if totals.measured is not None and totals.finished is not None:
        _, finished = ledger.record(totals.finished)
        later = ledger.content(bytes.fromhex(finished["later"]))
    complete = totals.finished is not None
    return KeptMeasurement(content, body["completion"], complete=complete, later=later)


def _first_record(ledger: Ledger, number: int) -> int | None:
    """Return the record of what a use has measured first; None if it has measured nothing."""
    totals = ledger.totals(number)
    return totals.finished if totals.measured is None else totals.measured


def provenance_of(ledger: Ledger, use: Use) -> Provenance:
    """Return the provenance of the result of a use. Within `Ledger.locked`."""
    provenance = _provenance(ledger, use)
    record = _first_record(ledger, use.number)
    if record is None:
        return provenance
    _, body = ledger.record(record)
    return replace(provenance, measured=str(body.get("measured", "")))


def _provenance(ledger: Ledger, use: Use) -> Provenance:
    provenance = Provenance(
        time=use.time,
        made_by=use.made_by,
        purpose=use.purpose,
        author=use.author,
        separate_budget=use.separate_budget,
        store=store_id(ledger),
        use=use.number,
    )
    return provenance.of_rows(use.named_columns, use.on_bad)


def _taken_up(ledger: Ledger, store: Store, described: Mapping[str, Any]) -> Charge:
    """Take up the last use that was begun by the same call.

    Raises:
        LedgerError: there is none, or its measurement was not kept.
    """
    check_privacy_unit(ledger, described["guarantee"])
    uses = [
        use
        for use in uses_of(ledger)
        if all(_same(getattr(use, name), value) for name, value in described.items())
        and (store.resume is True or use.number == store.resume)
    ]
    if not uses:
        raise LedgerError(
            f"{store.path} has charged no use with these options, so there is nothing to resume; "
            "nothing was spent"
        )
    unfinished = [use for use in uses if ledger.uses[use.number].finished is None]
    use = (unfinished or uses)[-1]
    if use in unfinished and not use.keeps_first:
        raise LedgerError(
            f"use {use.number} of {store.path} was begun by an earlier version, which may have "
            "handed out a result without a record of it; it is not measured again"
        )
    measurement = kept_by_use(ledger, use.number)
    if measurement is None or not measurement.complete:
        with ledger.writing() as entries:
            entries.add(Kind.RESUMED, use.number, {"time": time_now(), "made_by": MADE_BY})
    return Charge(provenance_of(ledger, use), store, use, measurement)


def _same(recorded: Any, value: Any) -> bool:
    """Return whether a value is the one that was recorded, in which tuples have become lists."""
    if isinstance(value, Mapping):
        return (
            isinstance(recorded, Mapping)
            and recorded.keys() == value.keys()
            and all(_same(recorded[key], part) for key, part in value.items())
        )
    if isinstance(value, list | tuple) and isinstance(recorded, list | tuple):
        return len(recorded) == len(value) and all(map(_same, recorded, value))
    return bool(recorded == value)


def file_digests(ledger: Ledger, number: int) -> dict[str, str]:
    """Return the SHA-256 of the files of the result of a use, by name. Within `Ledger.locked`."""
    digests: dict[str, str] = {}
    for record in ledger.uses[number].saved:
        _, body = ledger.record(record)
        digests |= {str(name): str(digest) for name, digest in body["files"].items()}
    return digests
