"""The words of the command line that runs, and what `resume` has found in a store for it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar, final

R = TypeVar("R")
_WORDS: ContextVar[tuple[str, ...]] = ContextVar("words of the command line", default=())
_RESUMPTION: ContextVar["Resumption | None"] = ContextVar("resumption", default=None)


@final
@dataclass(frozen=True)
class Resumption:
    """A use of a store that a command takes up again, in place of being charged for a new one.

    Attributes:
        store: path of the store.
        use: number of the use.
        result: what the store has kept of it; None if the command measures or reads again.
    """

    store: str
    use: int
    result: object | None


def remember_words(words: Sequence[str]) -> None:
    """Remember the words of the command that is about to run, for the record of what it spends."""
    _WORDS.set(tuple(words))


def command_words() -> tuple[str, ...]:
    """Return the words of the command that runs: its name, arguments and options."""
    return _WORDS.get()


@contextmanager
def resuming(resumption: Resumption) -> Iterator[None]:
    """Let the command that runs within the `with` statement take up a use."""
    words, before = _WORDS.get(), _RESUMPTION.set(resumption)
    try:
        yield
    finally:
        _RESUMPTION.reset(before)
        _WORDS.set(words)


def current_resumption() -> Resumption | None:
    """Return the use that is taken up; None where a new one is charged."""
    return _RESUMPTION.get()


def kept_result(kind: type[R]) -> R | None:
    """Return the result that a store has kept for the command that runs; None without one."""
    resumption = _RESUMPTION.get()
    if resumption is None or not isinstance(resumption.result, kind):
        return None
    return resumption.result
