"""The command `graphcuts-dp`: subcommands, and what happens when something is wrong."""

import functools
import io
import os
import signal
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.exceptions import Abort, Exit, TyperException
from typer.main import get_command

from graphcuts_dp._version import __version__
from graphcuts_dp.cli import (
    answer,
    audit,
    cut_norm,
    datasets,
    distances,
    evaluate,
    figures,
    plan,
    release,
    release_iteratively,
    session,
    session_record,
    session_repl,
)
from graphcuts_dp.cli.console import out, say
from graphcuts_dp.errors import GraphCutsError

_INTERRUPTED = 130  # what a shell makes of Ctrl-C, and typer

app = typer.Typer(
    name="graphcuts-dp",
    help="Cut queries on private graphs, with a proven promise of edge-level privacy.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
evaluations = typer.Typer(
    cls=evaluate.GraphsByDefault,
    help="Measure errors against the truth: evaluate TRUE SYNTHETIC. NOT PRIVATE.",
    no_args_is_help=True,
)
sessions = typer.Typer(
    help="Answer cut queries on a private graph one by one, on a durable ledger.",
    no_args_is_help=True,
)
app.add_typer(evaluations, name="evaluate")
app.add_typer(sessions, name="session")
app.command(epilog=release.EXAMPLE)(release.release)
app.command("release-iteratively", epilog=release_iteratively.EXAMPLE)(release_iteratively.command)
app.command(epilog=answer.EXAMPLE)(answer.answer)
app.command(epilog=plan.EXAMPLE)(plan.plan)
app.command(epilog=distances.EXAMPLE)(distances.distances)
app.command(epilog=audit.EXAMPLE)(audit.audit)
app.command(epilog=datasets.EXAMPLE)(datasets.datasets)
app.command(epilog=figures.EXAMPLE)(figures.figures)
evaluations.command("graphs", epilog=evaluate.GRAPHS_EXAMPLE)(evaluate.evaluate_graphs)
evaluations.command("release", epilog=evaluate.RELEASE_EXAMPLE)(evaluate.evaluate_release)
evaluations.command("cut-norm", epilog=cut_norm.EXAMPLE)(cut_norm.evaluate_cut_norm)
sessions.command(epilog=session.START_EXAMPLE)(session.start)
sessions.command(epilog=session.ASK_EXAMPLE)(session.ask)
sessions.command(epilog=session_repl.EXAMPLE)(session_repl.repl)
sessions.command(epilog=session.RUN_EXAMPLE)(session.run)
sessions.command(epilog=session_record.STATUS_EXAMPLE)(session_record.status)
sessions.command(epilog=session_record.EXPORT_EXAMPLE)(session_record.export)
sessions.command("list", epilog=session_record.LIST_EXAMPLE)(session_record.list_sessions)


def _show_version(wanted: bool) -> None:
    if wanted:
        out.print(f"graphcuts-dp {__version__}")
        raise Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """Options before the subcommand."""


@functools.cache  # to build it takes longer than most commands
def _command() -> Callable[..., Any]:
    return get_command(app)


def run() -> None:
    """Run the command line: status 0 if all went well, 2 for an error, 130 if interrupted."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # clear up, as after Ctrl-C
    sys.exit(_status())


def _status() -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        # File names need not be text, and not every terminal can show every label.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        status = _command()(prog_name=app.info.name, standalone_mode=False)
        sys.stdout.flush()
    except GraphCutsError as problem:
        say(f"error: {problem}")
        return 2
    except Exit as ended:
        if ended.exit_code == _INTERRUPTED:
            return _interrupted()
        return ended.exit_code
    except TyperException as problem:
        text = problem.format_message()
        if text.startswith("Usage:"):  # no subcommand: the help is what was asked for
            out.print(text, markup=False)
            return 0
        say(f"error: {' '.join(text.split())} (see graphcuts-dp --help)")
        return 2
    except (KeyboardInterrupt, Abort):
        return _interrupted()
    except OSError as problem:
        _drop_output()
        say(f"error: cannot write the output: {problem.strerror}")
        return 2
    except MemoryError:
        say("error: not enough memory for a graph of this size")
        return 2
    if status == _INTERRUPTED:
        return _interrupted()
    return status if isinstance(status, int) else 0


def _interrupted() -> int:
    say("interrupted: no file is half-written")
    return _INTERRUPTED


def _drop_output() -> None:
    """Forget what standard output could not take, so that leaving does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
