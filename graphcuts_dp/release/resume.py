"""Compute the result of a use again, free of charge, from the measurements in its store."""

from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from typing import Any

from graphcuts_dp.errors import LedgerError
from graphcuts_dp.files import PathLike
from graphcuts_dp.ledger.charges import kept_by_use, provenance_of
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.opening import Store, open_ledger
from graphcuts_dp.ledger.plain_values import DAMAGED
from graphcuts_dp.ledger.series import FLOWS_OVER_TIME
from graphcuts_dp.ledger.uses import DISTANCE_SESSION, SESSION, Use, uses_of
from graphcuts_dp.release.completion import completed_release
from graphcuts_dp.release.contributions import (
    ContributionBound,
    DegreeBound,
    contributions_from,
)
from graphcuts_dp.release.structure import DetectedStructure
from graphcuts_dp.resources import Progress, progress_function, silent
from graphcuts_dp.results.flows import Flows
from graphcuts_dp.results.packing import SavedParts, unpack
from graphcuts_dp.results.partition import Partition
from graphcuts_dp.results.release_parts import with_later_measurement

_CONTINUED = (SESSION, DISTANCE_SESSION, FLOWS_OVER_TIME)  # uses that their own commands continue
# Functions from stored parts to the result, by its kind.
_READERS: dict[str, Callable[[SavedParts], Any]] = {
    "flows": Flows.from_saved,
    "partition": Partition.from_saved,
    "contributions": contributions_from,
    "bound": ContributionBound.from_saved,
    "degree bound": DegreeBound.from_saved,
    "structure test": DetectedStructure.from_saved,
}
_ITERATIVE = ("iterative construction", "answers")  # kinds that a layer above this one reads


def resume(
    store: PathLike | Store, *, use: int | None = None, progress: Progress | bool = silent
) -> Any:
    """Compute the result of a use again, free of charge, from the measurements in its store.

    For results that were lost after a crash, a full disk or a deleted file. The data are not
    needed. A use that was interrupted before its measurements were stored is repeated by the same
    call with `store=Store(path, resume=True)`, which costs nothing more either.

    Args:
        store: an existing one.
        use: number of the use, as `store_status` lists them; None for the last one that is no
            session.
        progress: True shows a bar; a function is called with the fraction of a fit that is done and
            a message.

    Returns:
        The result of the call that was charged: a `Release`, `Flows`, `Partition`, ... On the same
        machine with the same versions it is equal bit by bit, unless a time limit ended its fit.
        A release that was interrupted before its fit was measured lacks `Release.random_halves`;
        the same call with `store=Store(path, resume=True)` measures it, which costs nothing more.

    Raises:
        LedgerError: the store cannot be read, there is no such use, or it stored nothing.

    Privacy:
        It reads noisy measurements alone, whose cost is on the record: post-processing.

    Examples:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "club.db"
        >>> release = gc.release_graph(gc.datasets.load("karate"), epsilon=1.0, store=path)
        >>> gc.resume(path).answer([0, 1]).value == release.answer([0, 1]).value
        True
    """
    return result_of(store, use, progress=progress)


class PublicDataNeededError(LedgerError):
    """Raised where a result also needs public data, which a store does not have."""


def result_of(
    store: PathLike | Store, use: int | None = None, *, progress: Progress | bool = silent
) -> Any:
    """Return the result of `resume`.

    Args:
        store: as for `resume`.
        use: as for `resume`.
        progress: as for `resume`.

    Raises:
        PublicDataNeededError: only the original call can compute the result again.
        LedgerError: as `resume`.
    """
    report = progress_function(progress)
    with closing(open_ledger(store)) as ledger, ledger.locked():
        charged_use = use_to_resume(ledger, use)
        measurement = kept_by_use(ledger, charged_use.number)
        provenance = provenance_of(ledger, charged_use)
        path = ledger.file.path
    if measurement is None:
        raise LedgerError(
            f"use {charged_use.number} of {path} was interrupted before it kept anything: repeat "
            "it on the same data, which costs nothing more; in Python by the same call with "
            "store=gc.Store(..., resume=True)"
        )
    saved = unpack(measurement.content, provenance)
    try:
        if saved.kind == "release":
            release = completed_release(saved, measurement.completion, report)
            if measurement.later is not None:
                release = with_later_measurement(release, unpack(measurement.later, provenance))
            return release
        if saved.kind in _ITERATIVE:
            iterative = import_module("graphcuts_dp.iterative.release")
            return iterative.IterativeRelease.from_saved(saved)
        if saved.kind in _READERS:
            return _READERS[saved.kind](saved)
    except DAMAGED:
        raise LedgerError(f"what {path} has kept of use {charged_use.number} is damaged") from None
    raise PublicDataNeededError(
        f"use {charged_use.number} of {path} is one of {saved.kind}, which need their public map: "
        "repeat the call with store=gc.Store(..., resume=True), which costs nothing more"
    )


def use_to_resume(ledger: Ledger, number: int | None) -> Use:
    """Return the use of a number, or the last one that is no session. Within `Ledger.locked`.

    Raises:
        LedgerError: there is none.
    """
    uses = {use.number: use for use in uses_of(ledger) if use.kind not in _CONTINUED}
    if not uses:
        raise LedgerError(f"{ledger.file.path} has charged nothing that could be resumed")
    wanted = max(uses) if number is None else number
    if wanted not in uses:
        numbers = ", ".join(map(str, uses))
        raise LedgerError(
            f"{ledger.file.path} has no use {wanted} that could be resumed; there is: {numbers}. A "
            "session, or a table over time, goes on by the command that began it"
        )
    return uses[wanted]
