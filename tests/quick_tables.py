"""The quick tables of the registered figures: each is measured once, whoever reads it."""

import functools
import os
import pickle
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from graphcuts_dp import AccuracyWarning
from graphcuts_dp.resources import one_blas_thread
from scripts.figures.base import Table
from scripts.figures.registry import find_figure


@dataclass(frozen=True)
class Measured:
    """A table of seed 0, which no test may change, and how far its experiment said to have come."""

    table: Table
    progress: tuple[float, ...]


def measured_in(folder: Path) -> Callable[[str], Measured]:
    """Gives the table of a figure's name; processes find in the folder what others measured."""

    @functools.cache
    def measured(name: str) -> Measured:
        path = folder / f"{name}.pickle"
        if path.exists():
            found = pickle.loads(path.read_bytes())  # noqa: S301  # another process of this run
            assert isinstance(found, Measured)
            return found
        found = _measure(name)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_bytes(pickle.dumps(found))
        part.replace(path)
        return found

    return measured


def _measure(name: str) -> Measured:
    """In the surroundings in which `make_figure` measures."""
    said: list[float] = []
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        table = find_figure(name).measure(
            quick=True, seed=0, progress=lambda done, _: said.append(done)
        )
    return Measured(table, tuple(said))
