"""The charges that began within a run, for whoever says what was spent when the run fails.

A module of its own: a command line needs it before it needs anything that spends.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

_CHARGES: ContextVar["list[BegunCharge] | None"] = ContextVar("charges", default=None)


class BegunCharge(Protocol):
    """A charge of which something can be said and noted: see `charges.Charge`."""

    def advice(self, *, force: bool = False) -> str:
        """Return a sentence that says what was spent and how to get the result.

        Args:
            force: whether files of the result are there, which have to be replaced.
        """

    def record_files(self, digests: Mapping[str, str]) -> None:
        """Record which files hold the result."""


@contextmanager
def observed_charges() -> Iterator[list[BegunCharge]]:
    """Collect the charges that begin within the `with` statement, in order."""
    charges: list[BegunCharge] = []
    before = _CHARGES.set(charges)
    try:
        yield charges
    finally:
        _CHARGES.reset(before)


def latest_charge() -> BegunCharge | None:
    """Return the charge that began last within `observed_charges`; None without one."""
    charges = _CHARGES.get()
    return charges[-1] if charges else None


def observe(charge: BegunCharge) -> None:
    """Add a charge to those that are collected, if any are."""
    charges = _CHARGES.get()
    if charges is not None:
        charges.append(charge)
