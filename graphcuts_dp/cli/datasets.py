"""`graphcuts-dp datasets`: the small public graphs that come with the repository."""

from dataclasses import asdict
from typing import Annotated

import typer

from graphcuts_dp.cli.console import out, show_json
from graphcuts_dp.datasets import list_datasets, load

EXAMPLE = """Example: graphcuts-dp datasets

Example: graphcuts-dp datasets us-flights flights.graphml"""


def datasets(
    name: Annotated[str | None, typer.Argument(help="Data set to write to a file.")] = None,
    target: Annotated[str | None, typer.Argument(metavar="OUT", help="File to write to.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the bundled public graphs, or write one to a file."""
    if name is not None:
        graph = load(name)
        if target is None:
            raise typer.BadParameter("name the file to write, for example flights.graphml")
        graph.write(target, force=force)
        return
    found = list_datasets()
    if as_json:
        show_json([asdict(data) for data in found])
    else:
        width = max(len(data.name) for data in found)
        for data in found:
            out.print(f"{data.name:<{width}}  {data.title}", markup=False)
            for fact in (data.source, data.licence, data.sha256 and f"sha256 {data.sha256}"):
                if fact:
                    out.print(f"{'':<{width}}  {fact}", markup=False)
