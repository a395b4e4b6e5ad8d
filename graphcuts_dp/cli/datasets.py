"""`graphcuts-dp datasets`: the small public graphs that come with the repository."""

from dataclasses import asdict
from typing import Annotated

import typer

from graphcuts_dp.cli.console import show_json, show_table
from graphcuts_dp.graph.datasets import list_datasets, load_dataset
from graphcuts_dp.graph.files import write_graph

EXAMPLE = """Example: graphcuts-dp datasets
Example: graphcuts-dp datasets us_flights_2008 flights.graphml"""


def datasets(
    name: Annotated[str | None, typer.Argument(help="Data set to write to a file.")] = None,
    target: Annotated[str | None, typer.Argument(metavar="OUT", help="Where to.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the bundled public graphs, or write one to a file."""
    if name is not None:
        graph = load_dataset(name)
        if target is None:
            raise typer.BadParameter("name the file to write, for example flights.graphml")
        write_graph(graph, target, force=force)
        return
    found = list_datasets()
    if as_json:
        show_json([asdict(data) for data in found])
    else:
        rows = [(data.name, data.title, data.licence) for data in found]
        show_table("Bundled graphs, all public", ("name", "title", "licence"), rows)
