"""Bound what a user contributes to all periods of a table over time, without later rows.

A table is published period after period, and at most k rows of a user may count in all of them
together. The bound of one table (`engine.scaled_cells`) scales the rows of a user by their number
in all periods, which is unknown before the last one. So here the steps that each user has used up
are stored, and a period may use what is left of the bound: rows that were counted stay counted, and
no later row changes them.

**Theorem.** Let U be what a user has used up before a period, in steps of 1/1024 of a row, c_i what
the user has in cell i of this period, T the sum of all c_i, and R = 1024 k - U what is left. If
T <= R the user adds c_i to each cell, and has used up U + T; else floor(R c_i/T), and has used up
1024 k. Then between data and the same without one user, the cells of all periods together change by
at most 1024 k steps in the sum of |change|, whichever rows come when, also if later rows depend on
what was published.

Proof. What a user adds, and the count of that user, follow from the user's own rows so far and from
k alone. So without one user, the others add the same, and the cells of each period are less by
exactly what that user adds, which is at least 0. In each period it adds up to at most what the
period takes of the count: T, or floors of parts of R, which add up to at most R. The count begins
at 0 and never exceeds 1024 k. (Rounding down to whole rows makes what a user adds only less.)

The counts are private: who has one has been in the data. They lie in the store, in the secret part
of the state of the series, under 16 bytes of a keyed hash of each name; the key lies beside them.
Two names of n would have the same hash with a probability below n^2/2^129. The store replaces the
counts in the transaction that records the period, and erases them with its last one.
"""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self, final

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph import engine
from graphcuts_dp.graph.engine import Cells, check_bound
from graphcuts_dp.graph.rows import Rows
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.schema.counting import STEPS

_NAME_BYTES = 16  # bytes of the hash of a name
_LARGEST_AMOUNT = 2**31  # steps of one user in one cell: times what is left, 64 bits hold them


@final
@dataclass(frozen=True, eq=False)
class UsedContributions:
    """The steps of a bound that each user has used up. Private: its repr shows nothing.

    Attributes:
        key: key of the hash of names, 32 random bytes.
        steps: steps that a user has used up, in 1..1024 k, by the hash of the user's name.
    """

    key: bytes = field(repr=False)
    steps: Mapping[bytes, int] = field(repr=False)

    @classmethod
    def none(cls) -> Self:
        """Return the state in which no user has used up anything, with a new key."""
        return cls(secrets.token_bytes(32), {})

    def hash_of(self, name: Any) -> bytes:
        """Return the hash of the name of a user, a text; an integer is hashed as its digits."""
        text = str(name).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, key=self.key, digest_size=_NAME_BYTES).digest()

    def to_arrays(self) -> dict[str, Any]:
        """Return arrays for the store: the key, hashes in order, and steps."""
        hashes = sorted(self.steps)
        return {
            "key": np.frombuffer(self.key, dtype=np.uint8),
            "users": np.frombuffer(b"".join(hashes), dtype=np.uint8),
            "used": np.array([self.steps[user_hash] for user_hash in hashes], dtype=np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Read what `to_arrays` returned.

        Raises:
            LookupError, ValueError: it is something else.
        """
        joined, used = arrays["users"].tobytes(), arrays["used"].tolist()
        starts = range(0, len(joined), _NAME_BYTES)
        hashes = [joined[start : start + _NAME_BYTES] for start in starts]
        return cls(arrays["key"].tobytes(), dict(zip(hashes, used, strict=True)))


def has_lifelong_bound(privacy_unit: PrivacyUnit) -> bool:
    """Return whether a unit bounds what a user contributes in all periods together."""
    return privacy_unit.kind == "user" and not privacy_unit.per_period


def check_lifelong(rows: Rows, privacy_unit: PrivacyUnit) -> None:
    """Refuse rows that cannot be scaled down to a bound for all periods.

    Raises:
        ParameterError: `counting="edges"`, or a bound out of range.
    """
    check_bound(privacy_unit.group_size)
    if rows.counting == "edges":
        raise ParameterError(
            "a bound over all periods is for counting='rows', 'users' or 'weight'; for 'edges' "
            "bound each period: PrivacyUnit.user(max_contributions=..., per_period=True)"
        )


def lifelong_cells(
    rows: Rows,
    privacy_unit: PrivacyUnit,
    used: UsedContributions,
    *,
    period: int,
    whole: bool,
) -> tuple[Cells, UsedContributions]:
    """Return the cells of one period, and the steps that users have used up after it. Private.

    Args:
        rows: private.
        privacy_unit: a user, with k = `group_size` for all periods.
        used: steps that users have used up before this period.
        period: number of the period among those of the rows.
        whole: whether what a user adds to a cell is rounded down to whole rows or units.

    Sensitivity: see the theorem of this module.

    Raises:
        ParameterError: as `check_lifelong`.
        GraphError: bad rows, unless these are left out.
    """
    check_lifelong(rows, privacy_unit)
    if rows.without_any:
        return Cells.none(), used
    shape = rows.shape_of_cells()
    columns = engine.user_cells(rows.coded_table(), shape, period=period)
    keys, users = np.unique(columns["user_key"], return_inverse=True)
    names = rows.names_of_users(keys.tolist())
    hashes = [used.hash_of(name) for name in names]
    used_before = np.array([used.steps.get(user, 0) for user in hashes], dtype=np.int64)
    amounts = columns["amount"].astype(np.int64)
    steps = amounts if rows.counting == "weight" else np.minimum(amounts, _LARGEST_AMOUNT) * STEPS
    bounded, used_now = bounded_steps(
        np.minimum(steps, _LARGEST_AMOUNT), users, STEPS * privacy_unit.group_size - used_before
    )
    if whole:
        bounded = bounded // STEPS * STEPS
    totals = zip(hashes, (used_before + used_now).tolist(), strict=True)
    after = {**used.steps, **{user_hash: total for user_hash, total in totals if total}}
    cells = engine.cells_of_amounts(bounded, columns["cell"].astype(np.int64), shape)
    return cells, UsedContributions(used.key, after)


def bounded_steps(
    steps: IntVector, users: IntVector, remaining: IntVector
) -> tuple[IntVector, IntVector]:
    """Return the steps of each amount that count, and the steps that each user uses up.

    Args:
        steps: amounts in 0..2^31, one for each user and cell.
        users: index of the user of each amount.
        remaining: steps that each user may still contribute, 0..2^30, shape (users,).

    Returns:
        Steps that count, shape of `steps`; and for each user the sum of the amounts, or `remaining`
        if that is smaller.
    """
    totals = np.zeros(len(remaining), dtype=np.int64)
    np.add.at(totals, users, steps)
    is_above = (totals > remaining)[users]
    shares = remaining[users] * steps // np.maximum(totals[users], 1)
    return np.where(is_above, shares, steps), np.minimum(totals, remaining)
