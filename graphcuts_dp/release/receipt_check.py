"""Compare the receipt of a result with the store that was charged for it."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from graphcuts_dp.errors import FileFormatError, LedgerError
from graphcuts_dp.files import PathLike
from graphcuts_dp.ledger.charges import file_digests, provenance_of
from graphcuts_dp.ledger.opening import Store, ledger_budget, open_ledger, store_id
from graphcuts_dp.ledger.uses import Use, spent_together, uses_of
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.results.bundle import (
    check_files,
    guarantee_of,
    read_receipt,
    receipt_path,
    sha256_of,
)


@final
@dataclass(frozen=True)
class ReceiptCheck:
    """The record of a store about a result whose receipt belongs to it.

    Attributes:
        use: the use that was charged for the result.
        uses: number of uses that the store has recorded, later ones included.
        before: cost of all uses before this one together; None if there were none.
        recorded: whether the store has recorded the same files, and not only the measurement.
    """

    use: Use
    uses: int
    before: Cost | None
    recorded: bool

    def __str__(self) -> str:
        before = "nothing else was spent on these data before it"
        if self.before is not None:
            delta = f", delta = {self.before.delta:g}" if self.before.delta else ""
            before = f"epsilon = {self.before.epsilon:.4g}{delta} was spent on these data before it"
        return f"use {self.use.number} of {self.uses}; {before}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        before = self.before
        return {
            "use": self.use.number,
            "uses": self.uses,
            "epsilon_before": 0.0 if before is None else before.epsilon,
            "delta_before": 0.0 if before is None else before.delta,
            "files_recorded": self.recorded,
        }


def check_receipt(store: PathLike | Store, path: PathLike) -> ReceiptCheck:
    """Compare a saved result and its receipt with the store that was charged for it.

    Args:
        store: an existing one.
        path: of the result, as for its `save`.

    Raises:
        FileFormatError: the receipt or a file of the result is missing, damaged or changed, or the
            receipt names no store.
        LedgerError: the store cannot be read, is not the one that was charged, or has another
            record of this use.
    """
    receipt = read_receipt(receipt_path(path))
    check_files(path, receipt["files"])
    try:
        guarantee = guarantee_of(receipt)
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError):
        raise FileFormatError(f"{receipt_path(path)} is damaged or of another version") from None
    provenance = guarantee.provenance
    if provenance is None or not provenance.store:
        raise FileFormatError(f"the receipt of {path!s} names no store: it was charged to none")
    with closing(open_ledger(store)) as ledger, ledger.locked():
        store_path, uses = ledger.file.path, uses_of(ledger)
        if store_id(ledger) != provenance.store:
            raise LedgerError(f"{store_path} is not the store that the receipt of {path!s} names")
        if not 0 < provenance.use <= len(uses):
            raise LedgerError(
                f"{store_path} has {len(uses)} uses, and the receipt of {path!s} names use "
                f"{provenance.use}: this is an older copy of the store"
            )
        use = uses[provenance.use - 1]
        digests = file_digests(ledger, use.number)
        if provenance_of(ledger, use) != provenance or not _same_guarantee(guarantee, use):
            raise LedgerError(
                f"{store_path} says something else of use {use.number} than the receipt of "
                f"{path!s}: one of them was altered"
            )
        receipt_digest = digests.get(receipt_path(path).name)
        if receipt_digest is not None and receipt_digest != sha256_of(receipt_path(path)):
            raise LedgerError(
                f"{store_path} has recorded another receipt of this name for use {use.number} than "
                f"that of {path!s}: it was altered"
            )
        earlier = uses[: use.number - 1]
        before = spent_together(earlier, ledger_budget(ledger)) if earlier else None
    are_recorded = all(
        digests.get(Path(name).name) == digest for name, digest in receipt["files"].items()
    )
    return ReceiptCheck(use=use, uses=len(uses), before=before, recorded=are_recorded)


def _same_guarantee(guarantee: PrivacyGuarantee, use: Use) -> bool:
    """Return whether a receipt states the epsilon, delta and privacy unit of a recorded use."""
    charged = use.guarantee
    return (guarantee.epsilon, guarantee.delta, guarantee.privacy_unit, guarantee.seed) == (
        charged.epsilon,
        charged.delta,
        charged.privacy_unit,
        charged.seed,
    )
