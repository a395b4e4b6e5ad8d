"""Small real graphs for examples, tests and figures. All of them are public."""

from dataclasses import dataclass
from pathlib import Path

from graphcuts_dp.errors import FileFormatError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.convert import from_networkx
from graphcuts_dp.graph.files import read_graph

_FOLDER = Path(__file__).resolve().parents[2] / "datasets"


@dataclass(frozen=True, slots=True)
class Dataset:
    """What there is to know about a data set before loading it.

    Attributes:
        name: for `load_dataset`.
        title: what it is, in one line.
        licence: terms of use.
        file: its file in the folder `datasets`, or None if it comes with networkx.
    """

    name: str
    title: str
    licence: str
    file: str | None


_DATASETS = (
    Dataset(
        "air_routes",
        "Airports of the world and routes between them, n = 3475",
        "Apache-2.0",
        "air_routes.edges.gz",
    ),
    Dataset(
        "davis_women",
        "Davis 1941: 18 women and 14 social events, bipartite",
        "BSD-3-Clause (networkx)",
        None,
    ),
    Dataset("karate", "Zachary 1977: a karate club, n = 34", "BSD-3-Clause (networkx)", None),
    Dataset(
        "lesmis",
        "Knuth 1993: characters of Les Miserables, weighted by common chapters, n = 77",
        "free use (Stanford GraphBase)",
        "lesmis.csv",
    ),
    Dataset(
        "us_flights_2008",
        "Direct flights between US airports in 2008, weighted, n = 305",
        "public domain",
        "us_flights_2008.csv",
    ),
)


def list_datasets() -> tuple[Dataset, ...]:
    """All data sets, sorted by name."""
    return _DATASETS


def load_dataset(name: str) -> AnyGraph:
    """Load a data set.

    Args:
        name: one of those that `list_datasets` tells.

    Returns:
        A `Graph`; a `BipartiteGraph` for davis_women.

    Raises:
        ParameterError: no data set of this name.
        FileFormatError: the folder `datasets` is not there; it is part of the repository, not of
            the installed package.
    """
    found = {dataset.name: dataset for dataset in _DATASETS}.get(name)
    if found is None:
        known = ", ".join(dataset.name for dataset in _DATASETS)
        raise ParameterError(f"no data set {name!r}; there are {known}")
    if found.file is None:
        return _from_networkx(name)
    path = _FOLDER / found.file
    if not path.is_file():
        raise FileFormatError(
            f"the data set {name} is not installed; it is in the folder datasets of the "
            "repository: install from a checkout with pip install -e ."
        )
    return read_graph(path)


def _from_networkx(name: str) -> AnyGraph:
    import networkx as nx

    if name == "karate":
        return from_networkx(nx.karate_club_graph(), weighted=False)
    return from_networkx(nx.davis_southern_women_graph(), bipartite=True)
