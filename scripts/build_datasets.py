"""Build a bundled data set again from the package it comes from, and compare it with ours.

`source` is the file of the package or, for air_routes, the folder of its sample; lesmis comes with
networkx. Compressed files are compared after decompression, as versions of zlib differ.
"""

import argparse
import csv
import gzip
import importlib.util
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "datasets"
AIR_ROUTES = "seed/queries/propertygraph/gremlin/airports"
ROUTE = re.compile(r'addE\("route"\)\.property\(id,"\d+"\)\.from\(V\("(\d+)"\)\)\.to\(V\("(\d+)"\)')
# City and state of four airports for which the source has NA.
PLACES = {
    "CLD": ("Carlsbad", "CA"),
    "HHH": ("Hilton Head Island", "SC"),
    "MQT": ("Marquette", "MI"),
    "SCE": ("State College", "PA"),
}


def us_flights_2008(source: Path) -> str:
    """Return flights in both directions added up; from vega-datasets, data/flights-airport.csv."""
    flights: dict[tuple[str, str], int] = defaultdict(int)
    for row in _rows(source):
        first, second = sorted((row["origin"], row["destination"]))
        flights[first, second] += int(row["count"])
    return _csv("source,target,flights", ((*pair, n) for pair, n in sorted(flights.items())))


def us_airports_2008(source: Path) -> str:
    """Return the airports of our flights; from vega-datasets, data/airports.csv."""
    flights = _rows(FOLDER / "us_flights_2008.csv")
    codes = {row[side] for row in flights for side in ("source", "target")}
    lines = []
    for row in sorted(_rows(source), key=lambda row: row["iata"]):
        if row["iata"] in codes:
            city, state = PLACES.get(row["iata"], (row["city"], row["state"]))
            lines.append((row["iata"], city, state, row["latitude"], row["longitude"]))
    return _csv("airport,city,state,latitude,longitude", lines)


def air_routes(source: Path | None) -> str:
    """Return routes without direction, ids in order from 0; from graph-notebook's sample."""
    text = "".join(
        file.read_text(encoding="utf-8") for file in sorted(_sample(source).glob("*edges*"))
    )
    pairs = {tuple(sorted((int(a), int(b)))) for a, b in ROUTE.findall(text)}
    rank = {airport: i for i, airport in enumerate(sorted({end for pair in pairs for end in pair}))}
    return "".join(f"{rank[a]} {rank[b]}\n" for a, b in sorted(pairs))


def lesmis(_: Path | None) -> str:
    """Return Knuth's graph as networkx has it."""
    import networkx as nx

    edges = nx.les_miserables_graph().edges(data="weight")
    return _csv("source,target,weight", sorted((*sorted((a, b)), n) for a, b, n in edges))


BUILDERS: dict[str, tuple[str, Callable[..., str]]] = {
    "air_routes": ("air_routes.edges.gz", air_routes),
    "lesmis": ("lesmis.csv", lesmis),
    "us_airports_2008": ("us_airports_2008.csv", us_airports_2008),
    "us_flights_2008": ("us_flights_2008.csv", us_flights_2008),
}


def _sample(source: Path | None) -> Path:
    if source is not None:
        return source
    package = importlib.util.find_spec("graph_notebook")
    if package is None or package.origin is None:
        raise SystemExit(f"graph-notebook is not installed; give its folder {AIR_ROUTES}")
    return Path(package.origin).parent / AIR_ROUTES


def _rows(source: Path) -> list[dict[str, str]]:
    with source.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _csv(header: str, rows: Iterable[Iterable[object]]) -> str:
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"


def _read(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=BUILDERS, help="name of the data set")
    parser.add_argument("source", type=Path, nargs="?", help="file or folder of the package")
    parser.add_argument(
        "-o", "--output", type=Path, help="also write the data set to this file, not compressed"
    )
    options = parser.parse_args()
    file, build = BUILDERS[options.name]
    if options.source is None and options.name.startswith("us_"):
        parser.error(f"{options.name} needs the file of its package, see datasets/README.md")
    text = build(options.source)
    if options.output is not None:
        options.output.write_text(text, encoding="utf-8", newline="")
    same = text == _read(FOLDER / file)
    print(f"{file}: {'the same' if same else 'DIFFERENT'}, {text.count(chr(10)):,} lines")
    raise SystemExit(0 if same else 1)


if __name__ == "__main__":
    main()
