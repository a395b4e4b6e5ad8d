"""`graphcuts-dp resume`: write the result of a use again that a store has charged, for nothing."""

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

_FORCE = "--force"


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
    chosen_store = store_named(store)
    with closing(open_ledger(chosen_store)) as ledger, ledger.locked():
        chosen = use_to_resume(ledger, use)
        pending = ledger.uses[chosen.number].finished is None
        if not pending:
            kept_by_use(ledger, chosen.number)  # refused here if the store does not keep it
            observe(charge_of_use(ledger, chosen_store, chosen))  # which records the files
    again = f"gc.resume({store!r}, use={chosen.number})"
    if pending:
        again = f"the same call with store=gc.Store({store!r}, resume={chosen.number})"
    if not chosen.command:
        raise ParameterError(
            f"use {chosen.number} of {store} was begun outside of the command line; in Python: "
            f"{again}"
        )
    result = None
    if not pending:
        with suppress(PublicDataNeededError):  # then the command reads it again
            result = result_of(chosen_store, chosen.number)
    if not Path(chosen.folder).is_dir():
        raise LedgerError(
            f"the folder {chosen.folder}, in which the command ran, is not there any more: make it "
            f"again; or in Python: {again}"
        )
    words = _words(chosen.command, data=data, force=force)
    note = "written from what the store has kept" if result is not None else "done again"
    say(f"note: use {chosen.number} is {note}, free of charge: {chosen.kind}")
    target = os.path.abspath(store)  # noqa: PTH100  # links stay: the store is where they lead
    with resuming(Resumption(target, chosen.number, result)), chdir(chosen.folder):
        loaded_command(words[0]).main(
            args=list(words[1:]), prog_name=f"graphcuts-dp {words[0]}", standalone_mode=False
        )


def _words(recorded: Sequence[str], *, data: str | None, force: bool) -> list[str]:
    """Return the words of a recorded command, with its private file replaced, and with force."""
    words = list(recorded)
    if data is not None:
        command = loaded_command(words[0])
        before, data_path = _parsed(command, words), os.path.abspath(data)  # noqa: PTH100  # links stay
        name = "source" if "source" in before else "locations"
        for position, word in enumerate(words):
            changed = [*words[:position], data_path, *words[position + 1 :]]
            if word == before[name] and _parsed(command, changed) == before | {name: data_path}:
                words = changed
                break
        else:
            raise ParameterError("this use has read no file that could have moved")
    if force and _FORCE not in words:
        words.insert(1, _FORCE)  # right after the command: a later word may be the end of options
    return words


def _parsed(command: Any, words: Sequence[str]) -> dict[str, Any]:
    """Return the options and arguments of a command by their names, as they are typed."""
    with command.make_context(words[0], list(words[1:]), resilient_parsing=True) as context:
        return dict(context.params)
