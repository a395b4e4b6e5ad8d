"""Progress of long work: how callers are told."""

from collections.abc import Callable

# Called with the fraction done, from 0 to 1, and a message for people.
Progress = Callable[[float, str], None]


def silent(done: float, message: str) -> None:
    """Tell nobody."""
    del done, message
