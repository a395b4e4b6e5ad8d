"""`graphcuts-dp resume`: write the result of a charged use again, at no further cost.

The store has recorded the words of the command. They are run again, in the same folder, and the
command takes the result that the store has kept (`resumption.kept_result`).
"""

import os
from collections.abc import Sequence
from contextlib import chdir, closing, suppress
from pathlib import Path
from typing import Any

import typer

from graphcuts_dp.cli.console import say
from graphcuts_dp.cli.main import loaded_command
from graphcuts_dp.cli.resumption import Resumption, resuming
from graphcuts_dp.cli.spending import store_named
from graphcuts_dp.errors import LedgerError, ParameterError
from graphcuts_dp.ledger.charges import charge_of_use, kept_by_use
from graphcuts_dp.ledger.observed import observe
from graphcuts_dp.ledger.opening import open_ledger
from graphcuts_dp.options import input_option, output_option
from graphcuts_dp.release.resume import PublicDataNeededError, result_of, use_to_resume

_FORCE = "--force"  # the flag of `options.FORCE`


def resume(
    *,
    store: str = typer.Argument(metavar="STORE", help="The store that was charged."),
    use: int | None = input_option(
        None, help="Number of the use, as `store status` lists them; the last one if omitted."
    ),
    data: str | None = input_option(
        None, help="The private data, if their file has moved since.", metavar="FILE"
    ),
    force: bool = output_option(False, help="Replace existing files."),
) -> None:
    """Write the files of a charged release again if they were lost; it costs nothing more.

    Example: graphcuts-dp resume mail.db

    Example: graphcuts-dp resume mail.db --use 3 --data moved/mail.csv

    Use it after a crash, a full disk or a deleted result. The files of the release are written
    again, from the measurements that the store has kept; the private data are not read. If the
    release was interrupted before anything was kept, the private data are read and measured again
    under the same charge.
    """
    charged_store = store_named(store)
    with closing(open_ledger(charged_store)) as ledger, ledger.locked():
        resumed_use = use_to_resume(ledger, use)
        number = resumed_use.number
        interrupted = ledger.uses[number].finished is None
        if not interrupted:
            kept_by_use(ledger, number)  # refuses a use of which the store keeps no measurements
            observe(charge_of_use(ledger, charged_store, resumed_use))  # records the files
    in_python = f"gc.resume({store!r}, use={number})"
    if interrupted:
        in_python = f"the same call with store=gc.Store({store!r}, resume={number})"
    if not resumed_use.command:
        raise ParameterError(
            f"use {number} of {store} was begun outside of the command line; in Python: {in_python}"
        )
    result = None
    if not interrupted:
        with suppress(PublicDataNeededError):  # the command reads these data again
            result = result_of(charged_store, number)
    if not Path(resumed_use.folder).is_dir():
        raise LedgerError(
            f"the folder {resumed_use.folder}, in which the command ran, is not there any more: "
            f"make it again; or in Python: {in_python}"
        )
    words = _words_to_run(resumed_use.command, data=data, force=force)
    action = "written from what the store has kept" if result is not None else "done again"
    say(f"note: use {number} is {action}, free of charge: {resumed_use.kind}")
    store_path = os.path.abspath(store)  # noqa: PTH100  # keeps symbolic links
    with resuming(Resumption(store_path, number, result)), chdir(resumed_use.folder):
        loaded_command(words[0]).main(
            args=list(words[1:]), prog_name=f"graphcuts-dp {words[0]}", standalone_mode=False
        )


def _words_to_run(recorded: Sequence[str], *, data: str | None, force: bool) -> list[str]:
    """Return a recorded command with another private file, if one is named, and with --force."""
    words = list(recorded)
    if data is not None:
        words = _with_private_file(words, os.path.abspath(data))  # noqa: PTH100  # keeps symbolic links
    if force and _FORCE not in words:
        words.insert(1, _FORCE)  # right after the command: a later word may be the end of options
    return words


def _with_private_file(words: list[str], path: str) -> list[str]:
    """Return a command with another path of its private file.

    Another word may be equal to the path. The word to replace is the one with which this argument
    changes, and nothing else.

    Raises:
        ParameterError: the command reads no private file.
    """
    command = loaded_command(words[0])
    values = _values(command, words)
    argument = "source" if "source" in values else "locations"  # the latter of `distances`
    for position, word in enumerate(words):
        changed_words = [*words[:position], path, *words[position + 1 :]]
        if word == values[argument] and _values(command, changed_words) == values | {
            argument: path
        }:
            return changed_words
    raise ParameterError("this use has read no file that could have moved")


def _values(command: Any, words: Sequence[str]) -> dict[str, Any]:
    """Return the options and arguments of a command by their names, as they are typed."""
    with command.make_context(words[0], list(words[1:]), resilient_parsing=True) as context:
        return dict(context.params)
