"""What commands read of the command line that runs: its words, and the use that it resumes.

`resume` runs the recorded command again `with resuming(...)`; that command then charges nothing,
and shows the result that the store has kept (`kept_result`) or measures again.
"""

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
    """Identify the charged use that a command resumes, in place of being charged for a new one.

    Attributes:
        store: path of the store.
        use: number of the use.
        result: the result that the store has kept; None if the command measures again, or reads
            public data again for the result.
    """

    store: str
    use: int
    result: object | None


def remember_words(words: Sequence[str]) -> None:
    """Remember the words of the command that is about to run: stores record them with its uses."""
    _WORDS.set(tuple(words))


def command_words() -> tuple[str, ...]:
    """Return the words of the command that runs: its name, arguments and options."""
    return _WORDS.get()


@contextmanager
def resuming(resumption: Resumption) -> Iterator[None]:
    """Let the command within the `with` statement resume a use."""
    words, token = _WORDS.get(), _RESUMPTION.set(resumption)
    try:
        yield
    finally:
        _RESUMPTION.reset(token)
        _WORDS.set(words)  # of `resume` itself


def current_resumption() -> Resumption | None:
    """Return the use that the command resumes; None if it is charged for a new one."""
    return _RESUMPTION.get()


def kept_result(result_class: type[R]) -> R | None:
    """Return the result of the resumed use, if a store has kept one of this class; else None."""
    resumption = _RESUMPTION.get()
    if resumption is None or not isinstance(resumption.result, result_class):
        return None
    return resumption.result
