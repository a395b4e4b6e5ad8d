"""Charge a use that is no session, keep what it measured, and resume one that was interrupted.

The steps of such a use, and what a crash between them leaves:
    1. BEGIN is committed                 before 1: nothing was spent, nothing is lost
    2. noise is drawn                     between 1 and 3: the cost is spent, there is no result
    3. FINISHED is committed, with what was measured
    4. the result is computed and shown   after 3: the store has what was measured, and the result
                                          follows from it

Nothing that was measured leaves the process before 3, and a second FINISHED of a use is refused. So
a use that was interrupted between 1 and 3 may be measured again under the same charge: what anybody
can see of the first run is when it stopped. See SECURITY.md, "Measuring again after a crash".

A use that also measures its result (`release.job.SecondMeasurement`) commits two measurements:
    3a. MEASURED is committed, with the first measurement, which may be shown from here on
    3b. the result is computed from it, and measured: noise is drawn
    3c. FINISHED is committed, with the second measurement
    4.  the result and the second measurement are shown
A crash before 3a leaves what one before 3 leaves. After a crash between 3a and 3c the first
measurement is never drawn again: the result is computed from what is stored, and measured under the
same charge. Nothing of a second measurement leaves the process before 3c, and a second MEASURED or
FINISHED is refused.
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

# Data that were used without a store in this process, by `id`.
_USED_WITHOUT_STORE: dict[int, "weakref.ref[Any]"] = {}
_warned = False  # whether this process has warned of a second use without a store


@final
@dataclass(frozen=True)
class KeptMeasurement:
    """A measurement of a use, as its store keeps it.

    Attributes:
        content: the packed measurement, the first one if the use has two; see
            `results.packing.pack`.
        completion: plain values by which the result is computed from it.
        complete: whether the use is finished; False if its second measurement is missing.
        later: the packed second measurement; None if absent.
    """

    content: bytes = field(repr=False)
    completion: Mapping[str, Any] = field(repr=False)
    complete: bool = True
    later: bytes | None = field(default=None, repr=False)


@final
@dataclass(frozen=True)
class Charge:
    """A use that may draw noise: its cost is charged to a store, or there is no store.

    Attributes:
        provenance: of its result.
        store: the store that was charged; None without one.
        use: the record of the use; None without a store.
        measurement: what the store has kept of an earlier run; None if nothing was measured yet.
    """

    provenance: Provenance
    store: Store | None = None
    use: Use | None = None
    measurement: KeptMeasurement | None = None

    @property
    def keeps(self) -> bool:
        """Return whether `keep` stores the measurement itself, not only its digest."""
        return self.store is not None and self.store.keep

    def keep(self, content: bytes, completion: Mapping[str, Any], *, last: bool = True) -> "Charge":
        """Store what was measured; only then may it be shown.

        Args:
            content: the packed measurement. A store with `keep=False` records its digest alone.
            completion: plain values by which the result is computed from it.
            last: whether this finishes the use; if not, `keep_later` does.

        Returns:
            This charge, whose provenance has the digest of the measurement.

        Raises:
            LedgerError: it cannot be stored, or another process has finished this use meanwhile.
                The caller then must not use this measurement.
        """
        if self.store is None or self.use is None:
            return self
        digest = hashlib.sha256(content).hexdigest()
        body = {"measured": digest, "kept": self.store.keep, "completion": {**completion}}
        self._write(Kind.FINISHED if last else Kind.MEASURED, body, content)
        return replace(self, provenance=replace(self.provenance, measured=digest))

    def keep_later(self, content: bytes) -> None:
        """Store the second measurement, which finishes the use; only then may it be shown.

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

        Args:
            kind: FINISHED, or MEASURED for the first of two measurements.
            body: of the record; that of a second measurement has the key "later".
            content: the packed measurement.

        Raises:
            LedgerError: as `keep`.
        """
        if self.store is None or self.use is None:
            return
        number = self.use.number
        with closing(open_ledger(self.store, whole=False)) as ledger, ledger.locked():
            totals = ledger.totals(number)
            is_first = "later" not in body
            if totals.finished is not None or (is_first and totals.measured is not None):
                raise LedgerError(
                    f"another process has taken up use {number} of {self.store.path} and measured "
                    "it; what was measured here was thrown away"
                )
            with ledger.writing() as entries:
                if self.store.keep:
                    entries.add_content(content, packed=True)
                entries.add(kind, number, body)

    def record_files(self, digests: Mapping[str, str]) -> None:
        """Record which files hold the result, see `record_files_of_use`.

        Args:
            digests: SHA-256 of each file, in hexadecimal, by its name.
        """
        if self.store is not None and self.use is not None:
            record_files_of_use(self.store, self.use, digests)

    def advice(self, *, force: bool = False) -> str:
        """Return what was spent and how to get the result; empty without a store.

        See `observed.BegunCharge.advice`.
        """
        if self.store is None or self.use is None:
            return ""
        cost = self.use.cost
        delta = f", delta = {cost.delta:g}" if cost.delta else ""
        spent_text = f"epsilon = {cost.epsilon:g}{delta} was spent (use {self.use.number})"
        if self.provenance.measured and not self.store.keep:
            return f"{spent_text}, and its result was not kept"
        words = ["graphcuts-dp", "resume", str(self.store.path), *["--force"] * force]
        return f"{spent_text}; resume with: {shlex.join(words)}"


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

    Whatever happens afterwards, the cost stays spent. A store with `resume` is charged nothing: it
    returns the charge of an earlier use by the same call.

    Args:
        store: the store to charge; None charges nothing.
        data: private.
        kind: of the use, as `Use.kind`.
        parameters: of the mechanism, public, plain values.
        cost: of all that the use measures.
        guarantee: for all that the use measures.
        periods: labels of the declared periods that it reads: rows of other periods change nothing
            that it draws. None if it may read everything. The cost counts for these periods alone
            if neighbours differ in one period, see `uses`, and otherwise for every period.
        inputs: digest of public inputs, see `public_digest`.
        content_bytes: the largest size of what it measures, in bytes, from public sizes.
        stacklevel: of `warnings.warn`, as seen from the caller.

    Raises:
        BudgetError: the budget does not allow the use.
        LedgerError: the store cannot be used, has charged no such use that could be resumed, or
            cannot keep as much as the use measures.
        ParameterError: the tuple of periods or a label in it is empty, or options of the store do
            not fit.

    Warns:
        PrivacyWarning: before anything is charged, when delta is too large.
    """
    count, noun = size_of(data)
    warn_of_delta(cost.delta, count=count, of=noun, stacklevel=stacklevel + 1)
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
    period_column = "" if periods is None else str(Subject.of(data).schema.get("period") or "")
    # Fields of `Use` that this call determines; the same call resumes the use.
    call: dict[str, Any] = {
        "kind": kind,
        "parameters": parameters,
        "cost": cost,
        "guarantee": guarantee,
        "periods": periods,
        "column": period_column,
        "inputs": inputs,
    }
    if chosen_store.resume:  # a missing store has nothing to resume, and is not created
        opened = open_ledger(chosen_store, data)
    else:
        opened = open_to_charge(chosen_store, data, cost, guarantee)
    with closing(opened) as ledger:
        uses_before = math.inf  # until it is read: an error then leaves no charge to observe
        try:
            with ledger.locked():
                uses_before = ledger.spending.uses
                if chosen_store.resume:
                    charge = _resumed_charge(ledger, chosen_store, call)
                else:
                    use = begin_use(ledger, **call, rows_read=rows_read(data), store=chosen_store)
                    if chosen_store.same_people:
                        join_data(ledger, data)
                    charge = Charge(_unmeasured_provenance(ledger, use), chosen_store, use)
        except LedgerError:
            _observe_if_charged(ledger, chosen_store, uses_before, cost)
            raise
        observe(charge)
    return charge


def _resumed_charge(ledger: Ledger, store: Store, call: Mapping[str, Any]) -> Charge:
    """Return the charge of the last use that was begun by the same call.

    Among such uses an unfinished one comes first. Within `Ledger.locked`.

    Args:
        ledger: of the store.
        store: its options; `Store.resume` may name one use.
        call: fields of `Use` that the call determines, by name.

    Raises:
        BudgetError: the privacy unit is another than that of the store.
        LedgerError: there is no such use, or its measurement was not kept.
    """
    check_privacy_unit(ledger, call["guarantee"])
    uses = [
        use
        for use in uses_of(ledger)
        if all(_equals_recorded(getattr(use, name), value) for name, value in call.items())
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


def _equals_recorded(recorded: Any, value: Any) -> bool:
    """Return whether a value equals a recorded one, in which tuples may have become lists."""
    if isinstance(value, Mapping):
        return (
            isinstance(recorded, Mapping)
            and recorded.keys() == value.keys()
            and all(_equals_recorded(recorded[key], part) for key, part in value.items())
        )
    if isinstance(value, list | tuple) and isinstance(recorded, list | tuple):
        return len(recorded) == len(value) and all(map(_equals_recorded, recorded, value))
    return bool(recorded == value)


def _unmeasured_provenance(ledger: Ledger, use: Use) -> Provenance:
    """Return the provenance of a use without the digest of what it has measured."""
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


def _observe_if_charged(ledger: Ledger, store: Store, uses_before: float, cost: Cost) -> None:
    """Observe the charge of a use whose record is in the store although writing it failed.

    The last system call of a transaction can fail when the record is on the disk already. Then the
    use is charged, and the error says so. It is found by its number and its cost, since another
    process may have begun a use in between.

    Args:
        ledger: of the store.
        store: the options of the store.
        uses_before: number of uses before this one; infinite if that was not read.
        cost: of the use.
    """
    with contextlib.suppress(LedgerError), ledger.locked():
        for use in uses_of(ledger):
            if use.number > uses_before and use.cost == cost:
                observe(Charge(_unmeasured_provenance(ledger, use), store, use))


def record_files_of_use(store: Store, use: Use, digests: Mapping[str, str]) -> None:
    """Record which files hold the result of a use; nothing is recorded if the store is busy.

    Args:
        store: that was charged.
        use: its record.
        digests: SHA-256 of each file, in hexadecimal, by its name.
    """
    with (
        contextlib.suppress(LedgerError),
        closing(open_ledger(store, whole=False)) as ledger,
        ledger.locked(),
        ledger.writing() as entries,
    ):
        entries.add(Kind.SAVED, use.number, {"time": time_now(), "files": {**digests}})


def charge_of_use(ledger: Ledger, store: Store, use: Use) -> Charge:
    """Return the charge of a recorded use, without what it measured. Within `Ledger.locked`."""
    return Charge(provenance_of(ledger, use), store, use)


def warn_of_second_use(data: object, *, stacklevel: int) -> None:
    """Warn, once in a process, if the same object is used twice without a store.

    A graph that a function of this package has built from a caller's object counts as that object.

    Args:
        data: private.
        stacklevel: of `warnings.warn`, as seen from the caller.
    """
    global _warned
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
    """Open the ledger of a store; create it if it is missing and its budget allows this cost.

    Args:
        store: the store to charge.
        data: private.
        cost: of the use that is about to begin.
        guarantee: of that use; a new store takes its privacy unit for all uses.

    Raises:
        BudgetError: a new store's budget does not allow this cost.
        LedgerError: as `open_ledger`, or as `check_known` for a store that is `registered`.
        ParameterError: as `open_ledger`.
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
                identifier = store_id(ledger)
                check_known(subject, store, identifier)
                register(subject, str(store.file), identifier)
    except BaseException:
        ledger.close()
        raise
    return ledger


def check_known(subject: Subject, store: Store | None, identifier: str | None = None) -> None:
    """Refuse data that this account has charged to another store, unless a reason is stated.

    Args:
        subject: the data.
        store: the store to charge; None if no store is charged.
        identifier: of that store, see `opening.store_id`; None to look it up in the file.

    Raises:
        LedgerError: the data were charged to another store, or the index of the account cannot be
            read.
    """
    if store is not None and (store.separate_budget or store.resume):
        return
    charged = [use for use in uses_of_data(subject) if use.store]
    if identifier is None and store is not None:
        identifier = peek_store_id(store.file)
    if not charged or identifier in {use.identifier for use in charged}:
        return
    store_path = str(store.file) if store is not None and store.exists else ""
    if identifier is None and store_path in {use.store for use in charged}:
        # The store is busy, or a killed process left it within a transaction: opening it raises a
        # better error.
        return
    path = charged[0].store
    advice = f": add --store {shlex.quote(path)}, so that what is spent adds up"
    if not Path(path).exists():
        advice = ", which is not there any more: bring it back"
    raise LedgerError(
        f"these data were charged to the store {path}{advice}, or say by --separate-budget REASON "
        "why they have a budget of their own; nothing was spent"
    )


def kept_by_use(ledger: Ledger, number: int) -> KeptMeasurement | None:
    """Return what a use has measured; None if it has measured nothing. Within `Ledger.locked`.

    Raises:
        LedgerError: it has measured, but its store has not kept it; or the store was altered.
    """
    totals = ledger.totals(number)
    record = _first_measurement(ledger, number)
    if record is None:
        return None
    _, body = ledger.record(record)
    if not body.get("kept"):
        raise LedgerError(
            f"use {number} of {ledger.file.path} has measured, and the store does not keep what it "
            "measured: its result is in the files that were written then, or lost"
        )
    content = ledger.content(bytes.fromhex(body["measured"]))
    later = None
    if totals.measured is not None and totals.finished is not None:
        _, finished = ledger.record(totals.finished)
        later = ledger.content(bytes.fromhex(finished["later"]))
    complete = totals.finished is not None
    return KeptMeasurement(content, body["completion"], complete=complete, later=later)


def _first_measurement(ledger: Ledger, number: int) -> int | None:
    """Return the number of the record of a use's first measurement; None if it measured nothing."""
    totals = ledger.totals(number)
    return totals.finished if totals.measured is None else totals.measured


def provenance_of(ledger: Ledger, use: Use) -> Provenance:
    """Return the provenance of the result of a use. Within `Ledger.locked`."""
    provenance = _unmeasured_provenance(ledger, use)
    record = _first_measurement(ledger, use.number)
    if record is None:
        return provenance
    _, body = ledger.record(record)
    return replace(provenance, measured=str(body.get("measured", "")))


def file_digests(ledger: Ledger, number: int) -> dict[str, str]:
    """Return the SHA-256 of the files of the result of a use, by name. Within `Ledger.locked`."""
    digests: dict[str, str] = {}
    for record in ledger.uses[number].saved:
        _, body = ledger.record(record)
        digests |= {str(name): str(digest) for name, digest in body["files"].items()}
    return digests
