"""Commands that are run in this process."""

import io
import signal
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout

from graphcuts_dp.cli import main

LONGEST = 60  # seconds; what takes longer hangs
# What a person at the prompt of `session repl` may type.
TYPED = "\n".join(
    [
        *("0,1", "0 | 1", "0 | 1 | 2", "|", ",", ":cost 0,1", ":cost", ":status", ":history 1e9"),
        *(":history " + "9" * 5000, ":plot new.png", ":plot", ":plot /no/x.png", ":wrong", "[/]"),
        *("@missing | 0", "x" * 10_000, ":help", "\x00", "\u2028"),
    ]
)


@contextmanager
def no_hang(seconds=LONGEST):
    """Fails what does not come back."""

    def stop(*_):
        raise AssertionError("no answer for a minute")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run_line(*arguments, typed=TYPED):
    """Run a command in this process as the program would: (status, standard output, error)."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    before = sys.argv, sys.stdin
    sys.argv, sys.stdin = ["graphcuts-dp", *arguments], io.TextIOWrapper(io.BytesIO(typed.encode()))
    try:
        with no_hang(), redirect_stdout(out), redirect_stderr(err):
            status = main.run_command()
    finally:
        sys.argv, sys.stdin = before
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())
    return status, *texts
