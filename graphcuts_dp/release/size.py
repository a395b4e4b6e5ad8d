"""What a release takes of a machine, from public numbers alone: memory and time."""

from graphcuts_dp.errors import GraphError
from graphcuts_dp.memory import memory_limit

# Bytes for each entry of the matrix (n^2; left times right) that a release takes at least. Peaks of
# ru_maxrss in processes of their own, less what they took after reading the graph (10 n edges,
# epsilon = 1, two threads), in MB for n = 1000, 2000, 4000, 8000. Binary noise: with the default
# fit 111, 286, 487, 1456 (at last 20.2 bytes an entry), without a fit 26, 29, 32, 34. Laplace noise
# with a cap: 124, 325, 626 and -; without a fit -, -, 246, 814 (at last 11.8). No estimate is above
# a peak.
_BITS, _STEPS, _FIT = 0.25, 8.0, 20.0
_SECONDS = 1.2e-6  # for each entry, on two cores
_LONG = 60.0  # seconds, and
_LARGE = 1e9  # bytes, from which it is worth a note


def needed_memory(shape: tuple[int, int], *, noise: str, fit: bool) -> float:
    """Bytes that a release needs beside the graph; at least, for large graphs.

    Args:
        shape: rows and columns of the matrix.
        noise: of the entries.
        fit: whether a synthetic graph is made.
    """
    each = _BITS if noise == "binary" else _STEPS
    return shape[0] * shape[1] * (each + (_FIT if fit else 0.0))


def check_size(shape: tuple[int, int], *, noise: str, fit: object, blocks: str) -> None:
    """Refuse a release that cannot end here. Reads public numbers, and what the machine has.

    Args:
        shape: rows and columns of the matrix.
        noise: as for `release_graph`.
        fit: likewise.
        blocks: likewise; a cluster has memory that nobody here knows of.

    Raises:
        GraphError: it needs more memory than this process can ever have.
    """
    limit = memory_limit()
    needed = needed_memory(shape, noise=noise, fit=fit != "none")
    if blocks != "local" or limit is None or needed <= limit:
        return
    ways = ["answer single cuts in a session (open_session, or graphcuts-dp session start)"]
    if fit != "none" and needed_memory(shape, noise=noise, fit=False) <= limit:
        ways.append("release the noisy matrix alone (fit 'none')")
    ways.append("release a smaller graph")
    size = " x ".join(f"{side:,}" for side in sorted(set(shape)))
    raise GraphError(
        f"a release of {size} vertices needs about {_gigabytes(needed)} of memory, and "
        f"{_gigabytes(limit)} are all there is here; nothing was spent: {', or '.join(ways)}"
    )


def size_note(shape: tuple[int, int], *, noise: str, fit: object) -> str | None:
    """What a large release will take, for the user, before anything is spent."""
    if fit == "none":
        return None
    seconds = _SECONDS * shape[0] * shape[1]
    needed = needed_memory(shape, noise=noise, fit=True)
    if seconds < _LONG and needed < _LARGE:
        return None
    minutes = f"{seconds / 60:,.0f} minutes" if seconds < 7200 else f"{seconds / 3600:,.0f} hours"
    return f"Takes about {minutes} on two cores, and {_gigabytes(needed)} of memory."


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:,.3g} GB"
