"""The command `graphcuts-dp`: subcommands, and what happens when something is wrong."""

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
_LEAST_LIKENESS = 0.75  # of an option that is suggested, to what was typed; 1 for the same
_INTERRUPTED = 130  # what a shell makes of Ctrl-C, and typer

# Module and name of the function, or of the group; and its help, which a test compares.
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


class _Commands(Group):
    """Loads a command when it is asked for: to load all of them takes longer than most take."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """In the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Load it, or None for a name that is none."""
        return loaded_command(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Names that are nearly right are suggested."""
        names: Any = dict.fromkeys(COMMANDS)
        self.commands = names
        remember_words(args)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """The list, from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


app: typer.Typer = typer.Typer(
    name="graphcuts-dp",
    cls=_Commands,
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
    is_internal = module.startswith(("cli.", "page."))
    loaded = getattr(load(f"graphcuts_dp.{module}" if is_internal else module), attribute)
    if not isinstance(loaded, typer.Typer):
        single = Commands()
        single.command(name)(loaded)
        loaded = single
    command = get_command(loaded)
    command.name = name
    return command


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


@functools.cache  # to build it takes longer than most commands
def _command() -> Callable[..., Any]:
    return get_command(app)


def run() -> None:
    """Run the command line: status 0 if all went well, 2 for an error, 130 if interrupted."""
    _open_closed_streams()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # clear up, as after Ctrl-C
    hangup = getattr(signal, "SIGHUP", None)  # Windows has none
    if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:  # as under nohup
        signal.signal(hangup, lambda *_: signal.raise_signal(signal.SIGTERM))
    sys.exit(_status())


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


def _status() -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        # File names need not be text, and not every terminal can show every label.
        sys.stdout.reconfigure(errors="backslashreplace")
    with observed_charges() as charges:
        return _status_of_command(charges)


def _status_of_command(charges: Sequence[BegunCharge]) -> int:
    """Run the command; where it fails, say what was written and spent, and how to go on."""

    def advised(text: str, *, occupied: bool = False) -> str:
        written, remedy = written_files()
        intact = f"written before, and whole: {', '.join(written)}" if written else ""
        advice = charges[-1].advice(force=bool(written) or occupied) if charges else ""
        return "; ".join(filter(None, (text, intact, advice or remedy)))

    forget_written_files()
    try:
        status = _command()(prog_name=app.info.name, standalone_mode=False)
        sys.stdout.flush()  # while an error can still be told
    except GraphCutsError as problem:
        return _failed(advised(str(problem), occupied=isinstance(problem, OccupiedPathError)))
    except Exit as ended:
        status = ended.exit_code
    except TyperException as problem:
        return _misused(problem)
    except (KeyboardInterrupt, Abort):
        status = _INTERRUPTED
    except OSError as problem:
        if problem.filename is not None:  # a path that the system cannot take, such as a long one
            return _failed(advised(f"{problem.filename} cannot be used: {problem.strerror}"))
        # Forget what standard output could not take, so that leaving does not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _failed(advised(f"cannot write the output: {problem.strerror}"))
    except MemoryError:
        return _failed(advised("not enough memory for a graph of this size"))
    if status == _INTERRUPTED:
        say(advised("interrupted: no file is half-written"))
    return status if isinstance(status, int) else 0


def _failed(text: str) -> int:
    say(f"error: {text}")
    return 2


def _misused(problem: Any) -> int:
    """Options and commands that there are not; of keys, how they are typed."""
    text = problem.format_message()
    if text.startswith("Usage:"):  # no subcommand: the help is what was asked for
        out.print(text, markup=False)
        return 0
    flag = getattr(problem, "option_name", None)
    context = getattr(problem, "ctx", None)
    path = context.command_path if context is not None else app.info.name
    command = getattr(context, "command", None)
    if flag is not None and isinstance(command, Command):
        typed = command.typed_as(flag)
        if typed is not None:
            return _failed(f"{flag} is typed as {typed}")
        now = FLAGS.get(flag.removeprefix("--").replace("-", "_"), "").replace("_", "-")
        if any(f"--{now}" in parameter.opts for parameter in command.params):
            return _failed(f"{flag} is now called --{now}")
        metavar = _argument_like(flag, command)
        if metavar is not None:
            arguments = " ".join(_arguments(command))
            return _failed(f"{metavar} is typed without {flag}: {path} {arguments} ...")
    if "does not take a value" in text:
        return _failed(f"{flag} takes no value: type {flag} alone (see {path} --help)")
    if "requires" in text and flag is not None:
        return _failed(f"{flag} needs a value after it (see {path} --help)")
    if flag is not None:
        possibilities = getattr(problem, "possibilities", None) or ()
        text = f"No such option: {flag}{_similar(flag, possibilities)}"
    return _failed(f"{' '.join(text.split())} (see {path} --help)")


def _argument_like(flag: str, command: Command) -> str | None:
    """Return the argument that somebody types as an option, such as OUT for --out or --output."""
    name = flag.removeprefix("--")
    for metavar in _arguments(command):
        argument = metavar.casefold()
        if min(len(name), len(argument)) > 2 and (
            name.startswith(argument) or argument.startswith(name)
        ):
            return metavar
    return None


def _arguments(command: Command) -> list[str]:
    """Return what is typed without the name of an option, in order."""
    return [
        parameter.metavar
        for parameter in command.params
        if parameter.param_type_name == "argument" and parameter.metavar
    ]


def _similar(flag: str, possibilities: Sequence[str]) -> str:
    """Return a question with the options that are spelled nearly like this one; "" if none is."""
    typed = flag.removeprefix("--")
    options = {option.removeprefix("--") for option in possibilities}
    close = get_close_matches(typed, sorted(options), cutoff=_LEAST_LIKENESS)
    return f"; did you mean {' or '.join(f'--{option}' for option in close)}?" if close else ""


def load(module: str) -> ModuleType:
    """A module of this package, or one that lies beside it in a checkout of the source.

    Raises:
        ParameterError: there is no such file beside the package.
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
