"""`graphcuts-dp page`: from a private file to a published table, in a browser."""

import os
import sys
import webbrowser
from functools import partial
from pathlib import Path

import typer

from graphcuts_dp.cli.console import out
from graphcuts_dp.cli.options import NO_FILE
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.files import open_secret
from graphcuts_dp.options import input_option, output_option


def page(
    *,
    folder: str = typer.Argument(
        "graphcuts-page", metavar=NO_FILE, help="Folder for results and stores; made if missing."
    ),
    port: int = output_option(
        0, help="Port to listen on; 0 takes any free port.", least=0, most=65535
    ),
    no_browser: bool = output_option(False, help="Only print the link."),
    largest: float = input_option(
        1024, help="Size of the largest file that can be dropped on the page.", unit="MiB", above=0
    ),
) -> None:
    """Open a page in the browser that leads from a private file to a published table.

    Example: graphcuts-dp page

    Example: graphcuts-dp page results-2026 --port 8471 --no-browser

    The page asks what the file is, who is protected, what to release and how exact it should be,
    and shows what the noise will do before anything is spent. It reads the first line of the
    private file alone; a release is made by the command that it shows. Only this machine can reach
    it, with the link that is printed, which holds a token. Results and stores are in the folder:
    start the page with the same folder again to go on. Ctrl-C stops it; a run goes on, and is there
    next time.
    """
    if sys.platform == "win32":  # runs inherit a file lock
        raise ParameterError("the page runs on Linux and macOS: use the commands here, or WSL")
    try:
        from graphcuts_dp.page.app import serve
    except ImportError:
        raise ParameterError(
            "the page needs more packages: python -m pip install fastapi uvicorn duckdb"
        ) from None
    path = Path(folder).expanduser()
    serve(path, port, int(largest * 2**20), partial(_announce, path, browser=not no_browser))


def _announce(folder: Path, link: str, *, browser: bool) -> None:
    """Print the link of the page, and open it in a browser if that is wanted."""
    out.print(f"open {link}", markup=False)
    out.print(f"results are in {folder.resolve()}; Ctrl-C stops the page", markup=False)
    if browser:
        # The link is passed in a file, since every account can read the arguments of a program.
        file = folder / "open.html"
        file.unlink(missing_ok=True)
        with os.fdopen(open_secret(file, new=True), "w", encoding="utf-8") as handle:
            handle.write(f'<meta http-equiv="refresh" content="0;url={link}">')
        webbrowser.open(file.resolve().as_uri())
