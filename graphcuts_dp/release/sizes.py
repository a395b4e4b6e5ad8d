"""Estimate memory and time of a release with a noisy matrix before it, from public numbers."""

from graphcuts_dp.errors import GraphError
from graphcuts_dp.resources import memory_limit

# Least bytes of a release for each entry of the matrix (n^2; left times right). Measured as peaks
# of ru_maxrss, each in a new process, less its value after reading the graph (epsilon = 1).
# Binary noise with the default fit, rounded to 0 and 1: 270 MB for n = 2000, 276 for 4000, and for
# the whole command 483 for 5000 and 1186 for 10000, so 9.4 bytes an entry; without a fit 26, 29, 32
# and 34 MB for n = 1000, 2000, 4000 and 8000. Laplace noise of weights with a maximum: 366 MB for
# 2000, 767 for 4000; without a fit 246 for 4000, 814 for 8000 (11.8 bytes an entry for the
# largest). No estimate is above a peak.
_BYTES_OF_BINARY_NOISE, _BYTES_OF_OTHER_NOISE = 0.25, 8.0
_BYTES_OF_ROUNDED_FIT, _BYTES_OF_WEIGHTED_FIT = 9.5, 20.0  # in addition, if a graph is fitted
_SECONDS = 6e-7  # for each entry, on two cores, of large matrices: a minute for n = 10,000
# A release that takes so long, or so much memory, gets a note.
_NOTED_SECONDS, _NOTED_BYTES = 60.0, 1e9
_LONGEST_IN_MINUTES = 7200  # seconds; longer times are stated in hours


def needed_memory(shape: tuple[int, int], *, noise: str, fit: bool) -> float:
    """Return the least bytes that a release of a large graph needs, without those of the graph.

    Args:
        shape: rows and columns of the matrix.
        noise: name of the distribution of the entries.
        fit: whether a synthetic graph is made.
    """
    noise_bytes, fit_bytes = _BYTES_OF_OTHER_NOISE, _BYTES_OF_WEIGHTED_FIT
    if noise == "binary":
        noise_bytes, fit_bytes = _BYTES_OF_BINARY_NOISE, _BYTES_OF_ROUNDED_FIT
    return shape[0] * shape[1] * (noise_bytes + (fit_bytes if fit else 0.0))


def check_size(shape: tuple[int, int], *, noise: str, fit: bool) -> None:
    """Refuse a release that does not fit into memory. Reads public numbers, and the memory here.

    Args:
        shape: rows and columns of the matrix.
        noise: as for `release_graph`.
        fit: whether a synthetic graph is made.

    Raises:
        GraphError: it needs more memory than this process can have.
    """
    limit = memory_limit()
    needed = needed_memory(shape, noise=noise, fit=fit)
    if limit is None or needed <= limit:
        return
    options = ["answer single cuts in a session (open_session, or graphcuts-dp session start)"]
    if fit and needed_memory(shape, noise=noise, fit=False) <= limit:
        options.append("release the noisy matrix alone (fit 'none')")
    options.append("release a smaller graph")
    size = " x ".join(f"{side:,}" for side in sorted(set(shape)))
    raise GraphError(
        f"a release of {size} vertices needs about {_gigabytes(needed)} of memory, and "
        f"{_gigabytes(limit)} are all there is here; nothing was spent: {', or '.join(options)}"
    )


def size_note(shape: tuple[int, int], *, noise: str, fit: bool) -> str | None:
    """Return a note on the time and memory of a large release; None for others."""
    if not fit:
        return None
    seconds = _SECONDS * shape[0] * shape[1]
    needed = needed_memory(shape, noise=noise, fit=True)
    if seconds < _NOTED_SECONDS and needed < _NOTED_BYTES:
        return None
    minutes = round(seconds / 60)
    duration = "a minute" if minutes <= 1 else f"{minutes} minutes"
    if seconds >= _LONGEST_IN_MINUTES:
        duration = f"{seconds / 3600:,.0f} hours"
    return f"Takes about {duration} on two cores, and {_gigabytes(needed)} of memory."


def _gigabytes(size: float) -> str:
    """Return a number of bytes as text."""
    return f"{size / 1e9:,.3g} GB"
