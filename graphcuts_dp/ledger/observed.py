"""Collect the charges of a command, so that its error message can say what was spent.

It is a module of its own because the command line imports it before anything that spends.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

_CHARGES: ContextVar["list[BegunCharge] | None"] = ContextVar("charges", default=None)


class BegunCharge(Protocol):
    """The methods of `charges.Charge` and `series.PeriodCharge` that a command line calls."""

    def advice(self, *, force: bool = False) -> str:
        """Return a sentence that says what was spent and how to get the result.

        Args:
            force: whether files of the result exist, so that they have to be replaced.
        """

    def record_files(self, digests: Mapping[str, str]) -> None:
        """Record which files hold the result.

        Args:
            digests: SHA-256 of each file, in hexadecimal, by its name.
        """


@contextmanager
def observed_charges() -> Iterator[list[BegunCharge]]:
    """Yield the list of the charges that begin within the `with` statement, in order."""
    charges: list[BegunCharge] = []
    token = _CHARGES.set(charges)
    try:
        yield charges
    finally:
        _CHARGES.reset(token)


def latest_charge() -> BegunCharge | None:
    """Return the charge that began last within `observed_charges`; None if there is none."""
    charges = _CHARGES.get()
    return charges[-1] if charges else None


def observe(charge: BegunCharge) -> None:
    """Add a charge to the list of `observed_charges`; do nothing outside of it."""
    charges = _CHARGES.get()
    if charges is not None:
        charges.append(charge)
