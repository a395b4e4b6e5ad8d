"""The command `graphcuts-dp`: its subcommands, each loaded when it is typed, and its errors.

`run` is the entry point. A new subcommand is a line of `COMMANDS`, and a function in a file of its
own; `cli.options` says how functions become commands.
"""

import functools
import io
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.exceptions import Abort, Exit, TyperException
from typer.main import get_command

import graphcuts_dp
from graphcuts_dp._version import __version__
from graphcuts_dp.cli.console import HELP, forget_written_files, out, say, written_files
from graphcuts_dp.cli.options import Command, Commands, Group
from graphcuts_dp.cli.resumption import remember_words
from graphcuts_dp.errors import GraphCutsError, ParameterError
from graphcuts_dp.files import OccupiedPathError
from graphcuts_dp.former_names import FLAGS
from graphcuts_dp.ledger.observed import BegunCharge, observed_charges

_EPILOG = """Each command has its own help: graphcuts-dp release -h. With --install-completion the
shell completes commands and options with the Tab key.
"""
_LEAST_SIMILARITY = 0.75  # of a suggested option to the typed one, in [0, 1]
_FAILED, _INTERRUPTED = 2, 130  # exit statuses; 130 is that of shells after Ctrl-C

# By name: the module and function, or group of commands; and the first line of its help, which the
# list of commands shows without loading the module. A test compares it with the docstring.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "release": ("cli.release.release", "Release a synthetic graph with differential privacy."),
    "release-iteratively": (
        "cli.release_iteratively.iteratively",
        "Learn a graph from noisy answers to queries, which are listed or found privately.",
    ),
    "answer": (
        "cli.answer.answer",
        "Answer cut queries from a release: how much weight passes between S and T.",
    ),
    "flows": (
        "cli.flows.flows",
        "Release privately how much weight passes between public groups of vertices.",
    ),
    "flows-over-time": (
        "cli.updates.flows_over_time",
        "Publish flows between groups for one more period, as with one command a month.",
    ),
    "cuts": (
        "cli.cuts.cuts",
        "Find privately a least cut between vertices, or partition a release.",
    ),
    "plan": ("cli.plan.plan", "Compare what all mechanisms would guarantee, best first."),
    "inspect": (
        "cli.inspect.inspect",
        "Explain a release and verify its files; or show how a private file would be read.",
    ),
    "report": (
        "cli.report.report",
        "Write a report on a release, of two printed pages, with a check list of hazards.",
    ),
    "distances": (
        "cli.distances.distances",
        "Release privately the average distance of all people from every vertex of a map.",
    ),
    "audit": (
        "tests.audits.command.audit",
        "Audit the mechanisms and their incorrect variants, on simulated graphs.",
    ),
    "benchmark": (
        "scripts.benchmark.command.benchmark",
        "Run private methods on public graphs, and rank them by the errors of their cuts.",
    ),
    "datasets": ("cli.inspect.datasets", "List the bundled public graphs, or write one to a file."),
    "figures": (
        "scripts.figures.command.figures",
        "Measure and draw statements of the papers and say whether they hold; or list the figures.",
    ),
    "evaluate": (
        "cli.evaluate.evaluate",
        "Measure errors against the truth: evaluate TRUE SYNTHETIC.",
    ),
    "resume": (
        "cli.resume.resume",
        "Write the files of a charged release again if they were lost; it costs nothing more.",
    ),
    "session": (
        "cli.session.session",
        "Answer cut queries on a private graph one by one; a store records what was spent.",
    ),
    "store": (
        "cli.store.store",
        "Show what was spent from a store, check results against it, or export it.",
    ),
    "serve": ("cli.serve.serve", "Serve sessions to analysts over HTTP, with a page for browsers."),
    "page": (
        "page.command.page",
        "Open a page in the browser that leads from a private file to a published table.",
    ),
}


class _LazyCommands(Group):
    """Load a command when it is typed: to load all of them takes longer than most commands run."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Load a command; return None if there is none of this name."""
        return loaded_command(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the typed command, and remember its words."""
        names: Any = dict.fromkeys(COMMANDS)
        self.commands = names  # from which the base class suggests similar names
        remember_words(args)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the list of commands, and load none of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


app: typer.Typer = typer.Typer(
    name="graphcuts-dp",
    cls=_LazyCommands,
    help="Answer cut queries on private graphs, with a proven guarantee of differential privacy.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=HELP,
    epilog=_EPILOG,
)


@functools.cache
def loaded_command(name: str) -> Any:
    """Return the command, or group of commands, of a name in `COMMANDS`."""
    module, _, attribute = COMMANDS[name][0].rpartition(".")
    is_in_package = module.startswith(("cli.", "page."))
    target = getattr(load(f"graphcuts_dp.{module}" if is_in_package else module), attribute)
    if isinstance(target, typer.Typer):
        commands = target
    else:  # one function
        commands = Commands()
        commands.command(name)(target)
    command = get_command(commands)
    command.name = name
    return command


def load(module: str) -> ModuleType:
    """Import a module of this package, or one that lies beside it in a checkout of the source.

    Raises:
        ParameterError: the module is not of this package, and there is no checkout.
    """
    if not module.startswith("graphcuts_dp."):
        root = Path(graphcuts_dp.__file__).resolve().parents[1]
        if not root.joinpath(*module.split(".")).with_suffix(".py").is_file():
            raise ParameterError(
                "this command runs in a checkout of the source, which holds what is not "
                "installed: get the source of graphcuts-dp, and in its folder "
                "`pip install -e .`"
            )
        if str(root) not in sys.path:
            sys.path.insert(0, str(root))
    return import_module(module)


def _show_version(wanted: bool) -> None:
    if wanted:
        out.print(f"graphcuts-dp {__version__}")
        raise Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options before the subcommand."""


def run() -> None:
    """Run the command line, and exit with status 0, or 2 for an error, or 130 if interrupted."""
    _open_closed_streams()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # clear up, as after Ctrl-C
    hangup = getattr(signal, "SIGHUP", None)  # Windows has none
    if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:  # as under nohup
        signal.signal(hangup, lambda *_: signal.raise_signal(signal.SIGTERM))
    sys.exit(run_command())


def _open_closed_streams() -> None:
    """Open the null device for each standard stream that is closed.

    The next file that is opened would get its descriptor otherwise: messages would be written into
    a result or a store.
    """
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(descriptor)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)  # gets the lowest free descriptor: this one
            setattr(sys, name, open(null, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def run_command() -> int:
    """Run the command that `sys.argv` names, and return the exit status.

    If it fails, a message says what was written and spent, and how to go on.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # File names need not be text, and not every terminal can show every label.
        sys.stdout.reconfigure(errors="backslashreplace")
    forget_written_files()
    with observed_charges() as charges:
        try:
            status = _command()(prog_name=app.info.name, standalone_mode=False)
            sys.stdout.flush()  # while an error can still be reported
        except GraphCutsError as problem:
            is_occupied = isinstance(problem, OccupiedPathError)
            return _failed(_with_advice(str(problem), charges, force=is_occupied))
        except Exit as ending:
            status = ending.exit_code
        except TyperException as problem:
            return _misused(problem)
        except (KeyboardInterrupt, Abort):
            status = _INTERRUPTED
        except OSError as problem:
            text = f"cannot write the output: {problem.strerror}"
            if problem.filename is not None:  # a path that the system refuses, such as a long one
                text = f"{problem.filename} cannot be used: {problem.strerror}"
            else:  # forget what standard output could not take, so that exiting does not fail again
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return _failed(_with_advice(text, charges))
        except MemoryError:
            return _failed(_with_advice("not enough memory for a graph of this size", charges))
        if status == _INTERRUPTED:
            say(_with_advice("interrupted: no file is half-written", charges))
    return status if isinstance(status, int) else 0


@functools.cache  # to build it takes longer than most commands run
def _command() -> Callable[..., Any]:
    return get_command(app)


def _with_advice(text: str, charges: Sequence[BegunCharge], *, force: bool = False) -> str:
    """Return a message with the files that were written, and how to get the other ones.

    Args:
        text: the message.
        charges: charges of the command, of which the last one can be resumed.
        force: whether files must be replaced to go on, besides those that were written.
    """
    files, remedy = written_files()
    intact = f"written before, and whole: {', '.join(files)}" if files else ""
    advice = charges[-1].advice(force=bool(files) or force) if charges else ""
    return "; ".join(filter(None, (text, intact, advice or remedy)))


def _failed(text: str) -> int:
    say(f"error: {text}")
    return _FAILED


def _misused(problem: Any) -> int:
    """Say how a command, option or value is typed, and return the exit status."""
    text = problem.format_message()
    if text.startswith("Usage:"):  # no subcommand: the help is what was asked for
        out.print(text, markup=False)
        return 0
    context = getattr(problem, "ctx", None)
    path = app.info.name if context is None else context.command_path
    command, flag = getattr(context, "command", None), getattr(problem, "option_name", None)
    see_help = f"(see {path} --help)"
    if flag is None:
        return _failed(f"{' '.join(text.split())} {see_help}")
    spelling = _spelling(flag, command, path) if isinstance(command, Command) else None
    if spelling is not None:
        return _failed(spelling)
    if "does not take a value" in text:
        return _failed(f"{flag} takes no value: type {flag} alone {see_help}")
    if "requires" in text:
        return _failed(f"{flag} needs a value after it {see_help}")
    suggestion = _suggestion(flag, getattr(problem, "possibilities", None) or ())
    return _failed(f"No such option: {flag}{suggestion} {see_help}")


def _spelling(flag: str, command: Command, path: str | None) -> str | None:
    """Return how a flag is typed that is a key, a former name or an argument; else None."""
    typed = command.typed_as(flag)
    if typed is not None:
        return f"{flag} is typed as {typed}"
    name = FLAGS.get(flag.removeprefix("--").replace("-", "_"), "").replace("_", "-")
    if any(f"--{name}" in parameter.opts for parameter in command.params):
        return f"{flag} is now called --{name}"
    metavar = _argument_like(flag, command)
    if metavar is not None:
        return f"{metavar} is typed without {flag}: {path} {' '.join(_arguments(command))} ..."
    return None


def _argument_like(flag: str, command: Command) -> str | None:
    """Return the argument that a flag resembles, such as OUT for --out or --output; else None."""
    name = flag.removeprefix("--")
    for metavar in _arguments(command):
        argument = metavar.casefold()
        begins_alike = name.startswith(argument) or argument.startswith(name)
        if begins_alike and min(len(name), len(argument)) > 2:
            return metavar
    return None


def _arguments(command: Command) -> list[str]:
    """Return the names of the arguments in the help, in the order in which they are typed."""
    return [
        parameter.metavar
        for parameter in command.params
        if parameter.param_type_name == "argument" and parameter.metavar
    ]


def _suggestion(flag: str, possibilities: Sequence[str]) -> str:
    """Return a question with the options that are spelled similarly; "" if none is."""
    options = {option.removeprefix("--") for option in possibilities}
    name = flag.removeprefix("--")
    similar = get_close_matches(name, sorted(options), cutoff=_LEAST_SIMILARITY)
    return f"; did you mean {' or '.join(f'--{option}' for option in similar)}?" if similar else ""
