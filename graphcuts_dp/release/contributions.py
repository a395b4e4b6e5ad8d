"""What a bound on owners leaves out, and the choice of one: told only with noise, and paid."""

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.noisy_contributions import Contributions, check_bounds
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.owned_rows import OwnedRows
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.ledger.uses import charged
from graphcuts_dp.measure.bounds import (
    choose_by_share,
    measure_contributions,
    rate_of_choice,
    share_sensitivity,
)
from graphcuts_dp.pairs.vertices import public_vertices
from graphcuts_dp.privacy.composition import Cost, stated_cost
from graphcuts_dp.privacy.entropy import entropy_source
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon
from graphcuts_dp.privacy.protection import Protection

_FINEST_SHARE = 1000  # shares are fractions with no larger denominator


@final
@dataclass(frozen=True, kw_only=True)
class ChosenBound:
    """A bound on owners that was chosen privately. It may be published.

    Attributes:
        at_most: the bound.
        share_above: of the owners that was to be above it.
        guarantee: of the choice.
    """

    at_most: int
    share_above: float
    guarantee: PrivacyGuarantee


def release_contributions(
    rows: OwnedRows,
    *,
    epsilon: float,
    bounds: tuple[int, ...] | list[int] | None = None,
    store: PathLike | Store | None = None,
    seed: int | None = None,
) -> Contributions:
    """Release how many owners have how much, with noise: what each bound would leave out.

    Args:
        rows: private.
        epsilon: privacy parameter for one owner, in [1e-6, 50]; all of it is spent.
        bounds: public candidates for `at_most`, ascending; None for 1, 2, 3, 5, 7, 10, ... 100,000.
        store: path of the store, or a `Store`, that remembers what was spent on these rows.
        seed: makes the run repeatable and voids the promise; None for the system's entropy.

    Raises:
        ParameterError: epsilon or bounds out of range, or something else than rows with owners.
        BudgetError: the budget of the store does not allow it. Nothing was spent.
        LedgerError: the store cannot be used.

    Guarantee: epsilon-DP for all rows of one owner, however many, see `measure_contributions`.
    """
    found = check_bounds(bounds)
    rate = exact_epsilon(epsilon)
    guarantee = _promise(rows, Cost.of_pure(rate), epsilon, seed)
    source = entropy_source(seed)
    with charged(
        store,
        rows,
        kind="contributions",
        parameters={"bounds": len(found)},
        cost=stated_cost(Cost.of_pure(rate), epsilon=epsilon),
        guarantee=guarantee,
    ):
        counts = measure_contributions(rows, found, rate=rate, source=source)
    return Contributions(
        bounds=found, counts=counts, rate=rate, what=rows.what, guarantee=guarantee
    )


def choose_bound(
    rows: OwnedRows,
    *,
    epsilon: float,
    share_above: float = 0.05,
    bounds: tuple[int, ...] | list[int] | None = None,
    store: PathLike | Store | None = None,
    seed: int | None = None,
) -> ChosenBound:
    """Choose privately a bound that about a given share of the owners exceeds.

    It needs far less epsilon than the table of `release_contributions`: 0.1 does for a thousand
    owners. It says nothing of rows: the owners above the bound, however few, may have most of them.

    Args:
        rows: private.
        epsilon: privacy parameter for one owner, in [1e-6, 50]; all of it is spent.
        share_above: of the owners that have more than the bound, in (0, 1), a multiple of 0.001.
        bounds: public candidates, ascending; None as for `release_contributions`.
        store: likewise.
        seed: likewise.

    Raises:
        ParameterError: a number out of range, or something else than rows with owners.
        BudgetError: the budget of the store does not allow it. Nothing was spent.
        LedgerError: the store cannot be used.

    Guarantee: epsilon-DP for all rows of one owner, however many, see `choose_by_share`.
    """
    found = check_bounds(bounds)
    share = _share(share_above)
    rate = rate_of_choice(share, exact_epsilon(epsilon))
    built = Cost.of_pure(2 * share_sensitivity(share) * rate)
    guarantee = _promise(rows, built, epsilon, seed)
    source = entropy_source(seed)
    with charged(
        store,
        rows,
        kind="bound",
        parameters={"share_above": float(share), "bounds": len(found)},
        cost=stated_cost(built, epsilon=epsilon),
        guarantee=guarantee,
    ):
        at_most = choose_by_share(rows, found, share=share, rate=rate, source=source)
    return ChosenBound(at_most=at_most, share_above=float(share), guarantee=guarantee)


def _share(share: float) -> Fraction:
    numeric = isinstance(share, int | float | Fraction) and not isinstance(share, bool)
    if not numeric or not 0 < share < 1:
        raise ParameterError("share_above must be between 0 and 1, for example 0.05")
    exact = Fraction(round(Fraction(share) * _FINEST_SHARE), _FINEST_SHARE)
    if not 0 < exact < 1:
        raise ParameterError("share_above must be from 0.001 to 0.999")
    return exact


def _promise(rows: OwnedRows, built: Cost, epsilon: float, seed: int | None) -> PrivacyGuarantee:
    if not isinstance(rows, OwnedRows):
        raise ParameterError("owners are those of rows: read the file with read_owned")
    return PrivacyGuarantee(
        epsilon=stated_cost(built, epsilon=epsilon).epsilon,
        neighbours=(
            "all rows of any one owner, however many (added or removed; replacing them is two such "
            "changes)"
        ),
        public=f"{public_vertices(rows.space)} and the candidates for a bound",
        seed=seed,
        protects=str(Protection(kind="owner")),
    )
