"""Files that belong to one graph and appear together: the graph, what was measured, a receipt."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from graphcuts_dp.files import atomic_set, check_writable_set
from graphcuts_dp.graph.files import check_writable_graph, graph_files


def check_writable_files(names: Sequence[Path], *, force: bool = False) -> None:
    """Check that `writing_files` could write; call it before anything is spent.

    Args:
        names: the graph's path, whose ending tells its format, and those of the other files.
        force: replace files that are there.

    Raises:
        FileFormatError: unknown ending, missing folder, no permission, or a file that is there.
    """
    check_writable_graph(names[0], force=force)
    check_writable_set(_all_files(names), force=force)


@contextmanager
def writing_files(names: Sequence[Path], *, force: bool) -> Iterator[tuple[Path, ...]]:
    """Write files so that all of them appear, or none; see `atomic_set`.

    Args:
        names: as for `check_writable_files`; the last one vouches for the others.
        force: replace files that are there.

    Yields:
        Where to write each of them.

    Raises:
        FileFormatError: as `check_writable_files`, or the disk is full or fails.
    """
    check_writable_files(names, force=force)
    with atomic_set(_all_files(names), force=force) as files:
        yield files[-len(names) :]


def written_files(names: Sequence[Path], *, graph: bool = True) -> tuple[str, ...]:
    """What `writing_files` wrote, as text: with a graph, or all but that."""
    return tuple(str(name) for name in (_all_files(names) if graph else names[1:]))


def _all_files(names: Sequence[Path]) -> tuple[Path, ...]:
    return *graph_files(names[0]), *names[1:]
