"""Store a series: one use of the private data that publishes something with each period.

Its periods are a horizon that is fixed when it begins, and its whole cost is charged then, for all
periods of the horizon together. With each period it publishes a content, and replaces a state that
later periods need (`measure.updates`).

The steps of a period, and what a crash between them leaves:
    1. BEGIN is committed, by the first period  before 1: nothing was spent, nothing is lost
    2. rows are read, noise is drawn            between 1 and 3: the same command does it again
    3. PERIOD is committed, with the content and the next state, in one transaction
    4. the content is shown                     after 3: the same command shows it again

Nothing of a period leaves the process before 3. So a period that was interrupted is measured again
under the same charge (SECURITY.md, "Measuring again after a crash"), from the state before it. Once
it is on the record, it is never measured again: the same command returns the recorded content.
Periods are published in their order. Rows of a period that arrive after it was published do not
count: this is a public rule, and later periods do not read them.

The state has a secret part: true sums, and what users have used up of a bound. It is in the table
of states, which only the account may read, and is overwritten with zeros by the next one
(`secure_delete`). The last period of the horizon, or `end_series`, erases it.

The tables that a series reads, one after the other, are about the same people: each shares the
budget of the store, as with `Store.same_people`.
"""

import contextlib
import hashlib
import shlex
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, final

from graphcuts_dp.errors import LedgerError, ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.rows import PrivateData
from graphcuts_dp.ledger.charges import charge_of_use, open_to_charge, record_files_of_use
from graphcuts_dp.ledger.file import LARGEST_CONTENT
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.observed import observe
from graphcuts_dp.ledger.opening import Store, join_data, open_ledger, rows_read, size_of
from graphcuts_dp.ledger.plain_values import check_intact
from graphcuts_dp.ledger.records import Kind, StoredState, encode
from graphcuts_dp.ledger.uses import Use, begin_use, time_now, uses_of
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, warn_of_delta
from graphcuts_dp.privacy.provenance import Provenance

FLOWS_OVER_TIME = "flows over time"  # kind of the use
# Names of parameters that are digests: messages do not show their values.
_DIGESTS = ("vertices", "groups", "published sums")


@final
@dataclass(frozen=True, kw_only=True)
class SeriesTerms:
    """Public terms of a series, which stay the same in all of its periods.

    Attributes:
        name: of the series, unique in a store.
        parameters: plain values by name. If one has changed, the error names it.
        cost: of all periods together.
        guarantee: for all periods together.
        periods: labels of the horizon.
        column: name of the column with the period of a row.
    """

    name: str
    parameters: Mapping[str, Any]
    cost: Cost
    guarantee: PrivacyGuarantee
    periods: tuple[str, ...]
    column: str = ""


@final
@dataclass(frozen=True)
class SeriesRecord:
    """Record of a series in its store. The state is private.

    Attributes:
        provenance: of what it publishes, without the digest of a content.
        use: its record.
        contents: packed contents of the periods that are published, in order.
        state: state that the next period continues from; None before the first period.
        ended: whether `end_series` has ended it.
    """

    provenance: Provenance
    use: Use
    contents: tuple[bytes, ...] = field(repr=False)
    state: StoredState | None = field(repr=False)
    ended: bool = False


@final
@dataclass(frozen=True)
class PeriodCharge:
    """Charge of a series, as an `observed.BegunCharge`."""

    store: Store
    use: Use

    def advice(self, *, force: bool = False) -> str:
        """Return what was spent and how to get the result, see `observed.BegunCharge.advice`."""
        del force  # the command that continues a series never replaces files
        return (
            f"the series {self.use.name!r} was begun (use {self.use.number} of "
            f"{shlex.quote(str(self.store.path))}); the same command again costs nothing more"
        )

    def record_files(self, digests: Mapping[str, str]) -> None:
        """Record which files hold the result, see `charges.record_files_of_use`."""
        record_files_of_use(self.store, self.use, digests)


def find_series(
    store: PathLike | Store, terms: SeriesTerms, *, read_only: bool = False
) -> SeriesRecord | None:
    """Return the record of a series; None if it has not begun. Reads no private data.

    Args:
        store: of the series.
        terms: name of the series, and the terms that it must have begun with.
        read_only: as for `open_ledger`.

    Raises:
        LedgerError: the store cannot be used.
        ParameterError: the series was begun with other terms.
    """
    chosen_store = Store.of(store)
    if not chosen_store.exists:
        return None
    with closing(open_ledger(chosen_store, read_only=read_only)) as ledger, ledger.locked():
        return _record(ledger, chosen_store, terms)


def _record(ledger: Ledger, store: Store, terms: SeriesTerms) -> SeriesRecord | None:
    """Return the record of a series; None if it has not begun. Within `Ledger.locked`.

    Raises:
        LedgerError: a record of it was altered.
        ParameterError: it was begun with other terms.
    """
    use = _use_of(ledger, terms.name)
    if use is None:
        return None
    _check_terms(use, terms)
    totals = ledger.totals(use.number)
    with check_intact(f"the store {store.path} was altered: a record of a series is damaged"):
        digests = [ledger.record(record)[1]["measured"] for record in totals.published]
        contents = tuple(ledger.content(bytes.fromhex(digest)) for digest in digests)
    provenance = charge_of_use(ledger, store, use).provenance
    state = ledger.state(use.number)
    return SeriesRecord(provenance, use, contents, state, totals.ended is not None)


def _use_of(ledger: Ledger, name: str) -> Use | None:
    """Return the use of the series with a name; None if it has not begun."""
    uses = (use for use in uses_of(ledger) if use.kind == FLOWS_OVER_TIME and use.name == name)
    return next(uses, None)


def _check_terms(use: Use, terms: SeriesTerms) -> None:
    """Check that a series was begun with these terms.

    Raises:
        ParameterError: one has changed; the message names it.
    """
    stored = {
        **use.parameters,
        "periods": list(use.periods or ()),
        "privacy unit": use.guarantee.privacy_unit,
        "period column": use.column,
    }
    requested = {
        "periods": list(terms.periods),
        **terms.parameters,
        "privacy unit": terms.guarantee.privacy_unit,
        "period column": terms.column,
    }
    for name, value in requested.items():
        if stored.get(name) == value:
            continue
        is_shown = name not in ("periods", *_DIGESTS)
        values = f": {stored.get(name)}, and now it is {value}" if is_shown else ""
        raise ParameterError(
            f"the series {terms.name!r} was begun with other {name}{values}; keep what it was "
            "begun with, or begin another one: name it by series="
        )


def begin_series(store: PathLike | Store, data: PrivateData, terms: SeriesTerms) -> SeriesRecord:
    """Charge a series to a store unless it has begun, and return its record.

    Its cost is on the disk when this returns.

    Args:
        store: the store to charge, which is created if it is missing.
        data: private, the rows for the next period.
        terms: of the series.

    Raises:
        BudgetError: the budget does not allow it.
        LedgerError: the store cannot be used.
        ParameterError: the series was begun with other terms, or the store has `keep=False`.

    Warns:
        PrivacyWarning: before anything is charged, when delta is too large.
    """
    count, noun = size_of(data)
    warn_of_delta(terms.cost.delta, count=count, of=noun, stacklevel=3)
    # A series continues without `resume`: the same command finds it by its name.
    chosen_store = replace(Store.of(store), same_people=True, resume=False)
    if not chosen_store.keep:
        raise ParameterError(
            "keep=False is not for a table over time: later periods need the store"
        )
    with closing(open_to_charge(chosen_store, data, terms.cost, terms.guarantee)) as ledger:
        try:
            with ledger.locked():
                record = _record(ledger, chosen_store, terms)
                if record is None:
                    _begin(ledger, chosen_store, data, terms)
                    record = _record(ledger, chosen_store, terms)
                join_data(ledger, data)
        except LedgerError:
            _observe_if_begun(ledger, chosen_store, terms.name)
            raise
        assert record is not None  # noqa: S101  # it was begun above
        observe(PeriodCharge(chosen_store, record.use))
    return record


def _begin(ledger: Ledger, store: Store, data: PrivateData, terms: SeriesTerms) -> None:
    """Charge a series. Within `Ledger.locked`.

    Raises:
        BudgetError: the budget does not allow it.
        LedgerError: the store cannot be written.
    """
    begin_use(
        ledger,
        kind=FLOWS_OVER_TIME,
        name=terms.name,
        parameters=dict(terms.parameters),
        cost=terms.cost,
        guarantee=terms.guarantee,
        periods=terms.periods,
        column=terms.column,
        rows_read=rows_read(data),
        store=store,
    )


def _observe_if_begun(ledger: Ledger, store: Store, name: str) -> None:
    """Observe the charge of a series that is on the record although an error came after it."""
    with contextlib.suppress(LedgerError), ledger.locked():
        use = _use_of(ledger, name)
        if use is not None:
            observe(PeriodCharge(store, use))


def publish_period(
    store: PathLike | Store, record: SeriesRecord, content: bytes, state: StoredState
) -> None:
    """Record what a series publishes with its next period, and its next state.

    Only then may the content be shown.

    Args:
        store: of the series.
        record: as `begin_series` returned it; the content was computed from its state.
        content: packed.
        state: state that the period after it continues from; it replaces the stored one.

    Raises:
        LedgerError: it cannot be stored, or another process has published this period meanwhile.
            The caller then must not use this content.
    """
    chosen_store, number = Store.of(store), record.use.number
    if len(content) > LARGEST_CONTENT or len(state.secret or b"") > LARGEST_CONTENT:
        raise LedgerError("what is published with a period takes more than the 1 GB of a store")
    digest = hashlib.sha256(content).hexdigest()
    with closing(open_ledger(chosen_store)) as ledger, ledger.locked():
        totals = ledger.totals(number)
        if len(totals.published) != len(record.contents) or totals.ended is not None:
            raise LedgerError(
                f"another process has published this period of the series {record.use.name!r}, or "
                "ended it; what was measured here was thrown away: repeat the command"
            )
        with ledger.writing() as entries:
            entries.add_content(content, packed=True)
            body = {"measured": digest, "time": time_now()}
            entries.add(Kind.PERIOD, number, body, state=state)


def end_series(store: PathLike | Store, name: str = "flows") -> None:
    """End a series before its horizon does, and erase what its store keeps of the private data.

    True sums of earlier periods, and how many rows of each user have counted, are overwritten with
    zeros. What was published stays, and what was spent stays spent. This cannot be undone.

    Args:
        store: of the series.
        name: of the series.

    Raises:
        LedgerError: the store cannot be used.
        ParameterError: it has no such series.

    Examples:
        >>> gc.release.end_series("no-such-store.db")
        Traceback (most recent call last):
        graphcuts_dp.errors.LedgerError: the store ... does not exist; ...
    """
    chosen_store = Store.of(store)
    with closing(open_ledger(chosen_store)) as ledger, ledger.locked():
        use = _use_of(ledger, name)
        if use is None:
            raise ParameterError(f"{chosen_store.path} has no series {name!r:.60}")
        if ledger.totals(use.number).ended is None:
            state = ledger.state(use.number)
            public = b"{}" if state is None else state.public
            with ledger.writing() as entries:
                body = {"time": time_now()}
                entries.add(Kind.ENDED, use.number, body, state=StoredState(public, None))


def series_state(published: int, secret: bytes | None) -> StoredState:
    """Return the state after some periods.

    Args:
        published: number of periods that are published.
        secret: private, what later periods need; None if they need nothing.
    """
    return StoredState(encode({"published": published}), secret)
