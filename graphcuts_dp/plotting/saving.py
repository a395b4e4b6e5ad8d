"""A figure on disk: PNG and PDF, with its table and its parameters beside it."""

from pathlib import Path

from matplotlib.figure import Figure

from graphcuts_dp.files import PathLike, atomic_write


def write_figure(figure: Figure, path: PathLike, *, force: bool = False) -> None:
    """Write a figure to one file, whole or not at all; the same figure gives the same bytes.

    Args:
        figure: what to draw.
        path: where; a PDF if it ends in .pdf, else a PNG.
        force: replace a file that is there.

    Raises:
        FileFormatError: the file cannot be written, or is there.
    """
    pdf = Path(path).suffix.lower() == ".pdf"
    about = {"CreationDate": None} if pdf else {"Software": None}
    with atomic_write(path, force=force) as handle:
        figure.savefig(handle, format="pdf" if pdf else "png", metadata=about)
