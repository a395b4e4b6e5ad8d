"""Uses of the private data: each is on the ledger, with its whole cost, before it draws noise."""

import getpass
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, final

from graphcuts_dp._version import __version__
from graphcuts_dp.errors import BudgetError, LedgerError
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.rows import PrivateData
from graphcuts_dp.ledger.ledger import Kind, Ledger, from_plain, intact, plain
from graphcuts_dp.ledger.opening import (
    Budget,
    Store,
    Subject,
    create_ledger,
    ledger_budget,
    open_ledger,
    size_of,
)
from graphcuts_dp.privacy.composition import Cost, exact, least_epsilon, rounded_up
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, warn_of_delta

SESSION = "session"
DISTANCE_SESSION = "distance session"


@final
@dataclass(frozen=True, kw_only=True)
class Use:
    """One use of the private data, as its BEGIN record tells. All of it is public.

    Attributes:
        number: of the use, from 1.
        kind: "session", "release", "distances", ...
        name: of a session, each once in a ledger; empty for other uses.
        parameters: of the mechanism, plain values.
        cost: what all of it costs.
        guarantee: what it promises.
        source: how to read the data again; empty if that is not known.
        reading: of a session, how its data were read that may be read in several ways.
        time: when it began, in UTC, as ISO 8601 writes it.
        user: of the operating system, who began it.
        made_by: the version of this program.
    """

    number: int
    kind: str
    name: str
    parameters: dict[str, Any]
    cost: Cost
    guarantee: PrivacyGuarantee
    source: dict[str, Any]
    reading: dict[str, Any]
    time: str
    user: str
    made_by: str

    @property
    def seed(self) -> int | None:
        """Of the noise; a seed voids the promise."""
        return self.guarantee.seed


def uses_of(ledger: Ledger) -> list[Use]:
    """All uses, in order; within `Ledger.locked`."""
    with intact(f"the store {ledger.file.path} was written by another version, or is damaged"):
        uses = [from_plain(Use, ledger.record(totals.begin)[1]) for totals in ledger.uses.values()]
        if [use.number for use in uses] != list(ledger.uses):
            raise ValueError
        return uses


def total_cost(costs: Sequence[Cost], budget: Budget | None = None) -> Cost:
    """What at least one use cost together, as a valid odometer.

    Whoever stops before it passes numbers fixed beforehand is within these, though each was
    chosen after seeing the others' answers. With a budget that has a delta: the least epsilon for
    that delta (`least_epsilon`). Else the sums of the stated numbers; one use is its own cost.

    Args:
        costs: in the order in which the uses were begun.
        budget: of the store, fixed when it was made.
    """
    if len(costs) == 1:
        return costs[0]
    pure = [cost.pure for cost in costs if cost.pure is not None]
    if len(pure) == len(costs):
        return Cost.of_pure(sum(pure, Fraction(0)))
    # A store from before the filter may hold more than it would admit: then the plain sums.
    if budget is not None and budget.delta and budget.allows(costs):
        return Cost(epsilon=least_epsilon(costs, delta=budget.delta), delta=budget.delta)
    return Cost(
        epsilon=rounded_up(sum((exact(cost) for cost in costs), Fraction(0))),
        delta=rounded_up(sum((Fraction(cost.delta) for cost in costs), Fraction(0))),
    )


def check_budget(budget: Budget | None, spent: Sequence[Cost], cost: Cost) -> None:
    """Refuse a use that the budget does not allow.

    Raises:
        BudgetError: it would cost too much.
    """
    if budget is not None and not budget.allows([*spent, cost]):
        deltas = sum(other.delta for other in [*spent, cost] if other.pure is None)
        hint = (
            f". Uses that share a budget may state deltas of {budget.delta / 2:g} together, "
            "half of the budget's: choose a smaller delta"
            if spent and deltas > budget.delta / 2
            else ""
        )
        before = "another" if spent else "a"
        raise BudgetError(
            f"the graph's budget ({budget}) does not allow {before} use of epsilon = "
            f"{cost.epsilon:g}, delta = {cost.delta:g}; nothing was spent{hint}"
        )


def check_protection(ledger: Ledger, guarantee: PrivacyGuarantee) -> None:
    """Refuse a use that protects somebody else than the other uses of a store do.

    Costs for edges, for ten edges, for an owner and for a vertex are costs for different
    neighbours: their sum would promise nothing.

    Raises:
        BudgetError: the store is for another protection.
    """
    protects = ledger.header.get("protects")
    if protects != guarantee.protects:
        raise BudgetError(
            f"all promises of the store {ledger.file.path} protect {protects}, this one would"
            f" protect {guarantee.protects}, and costs for different neighbours do not add up;"
            " nothing was spent: choose the protection of the store, which is protect= and at_most="
        )


def begin_use(
    ledger: Ledger,
    *,
    kind: str,
    name: str = "",
    parameters: dict[str, Any],
    cost: Cost,
    guarantee: PrivacyGuarantee,
    source: dict[str, Any] | None = None,
    reading: dict[str, Any] | None = None,
) -> Use:
    """Write that a use begins; its whole cost is spent from then on. Within `Ledger.locked`.

    Raises:
        BudgetError: the budget does not allow it.
        LedgerError: the store cannot be written.
    """
    before = uses_of(ledger)
    check_protection(ledger, guarantee)
    check_budget(ledger_budget(ledger), [other.cost for other in before], cost)
    begun = Use(
        number=len(before) + 1,
        kind=kind,
        name=name,
        parameters=parameters,
        cost=cost,
        guarantee=guarantee,
        source=source or {},
        reading=reading or {},
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        user=_user(),
        made_by=f"graphcuts_dp {__version__}",
    )
    with ledger.writing() as entries:
        entries.add(Kind.BEGIN, begun.number, plain(begun))
    return begun


def opened(
    store: Store, data: PrivateData | Subject, cost: Cost, guarantee: PrivacyGuarantee
) -> Ledger:
    """Open the ledger of a store; make it if it is not there and allows a first use of this cost.

    All uses of a store protect whom the first one does.

    Raises:
        BudgetError: it does not.
        LedgerError: as `open_ledger`.
        ParameterError: likewise.
    """
    if not store.exists:
        check_budget(store.cap, [], cost)
        create_ledger(store, data, protects=guarantee.protects)
    return open_ledger(store, data)


@contextmanager
def charged(
    store: PathLike | Store | None,
    data: PrivateData | Subject,
    *,
    kind: str,
    parameters: dict[str, Any],
    cost: Cost,
    guarantee: PrivacyGuarantee,
) -> Iterator[None]:
    """Charge a use that is no session: its cost is on the disk before the body begins.

    Whatever happens in the body, the cost stays spent.

    Args:
        store: where; None charges nothing.
        data: private.
        kind: what the use is.
        parameters: public, plain values.
        cost: of all that the body does.
        guarantee: of the same.

    Raises:
        BudgetError: the budget does not allow it; the body is not run.
        LedgerError: the store cannot be used; likewise.
        ParameterError: likewise.

    Warns:
        PrivacyWarning: before anything is charged, when delta is too large.
    """
    count, of = size_of(data)
    warn_of_delta(cost.delta, count=count, of=of, stacklevel=3)
    if store is None:
        yield
        return
    place = Store.of(store)
    with closing(opened(place, data, cost, guarantee)) as ledger, ledger.locked():
        use = begin_use(ledger, kind=kind, parameters=parameters, cost=cost, guarantee=guarantee)
    yield
    with (
        suppress(LedgerError),  # it is paid for: the result must not be lost for a note
        closing(open_ledger(place)) as ledger,
        ledger.locked(),
        ledger.writing() as entries,
    ):
        entries.add(Kind.FINISHED, use.number, {})


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container whose user has no name
        return f"uid {os.getuid()}"
