"""The graphs of the benchmark: simulated ones of every kind and size, and the bundled real ones."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, final

import numpy as np

from graphcuts_dp import datasets
from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, Graph, read_graph
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.schema.vertices import VertexSet
from scripts.benchmark import made_graphs as made
from scripts.benchmark.base import Contender, Kind

DATA_VARIABLE = "GRAPHCUTS_DP_DATA"
_MADE = "made here (MIT)"
_UNEVEN = (5, 4, 3, 2, 1)
# Files of graphs that may not be distributed; parts are those with most neighbours.
_FILES = (
    ("polblogs", "polblogs.edges.gz", 600),
    ("ego-facebook", "ego_facebook.edges.gz", 600),
    ("email-enron", "email_enron.edges.gz", 600),
    ("worm-neurons", "celegansneural_w.edges", 297),
)


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class GraphCase:
    """A graph of the benchmark, with what is public about it.

    Attributes:
        name: shown and typed.
        title: what it is.
        make: returns the graph, the same each time.
        vertices: how many, of two sides both together.
        groups: returns public groups of its vertices, or None.
        kind: undirected, directed or bipartite.
        weighted: whether there are weights.
        bounded: whether weights have a public bound; if not, neighbours differ by at most 1 in one
            weight.
        licence: of the graph.
        quick: whether it is one of the few of a quick run.
    """

    name: str
    title: str
    make: Callable[[], AnyGraph]
    vertices: int
    groups: Callable[[], Groups] | None = None
    kind: Kind = "undirected"
    weighted: bool = False
    bounded: bool = True
    licence: str = _MADE
    quick: bool = False

    def takes(self, contender: Contender) -> bool:
        """Return whether a contender runs on this graph."""
        return (
            self.kind in contender.kinds
            and (contender.weights or not self.weighted)
            and (contender.unbounded_weights or self.bounded)
            and self.vertices <= contender.most_vertices
            and (self.groups is not None or not contender.needs_groups)
        )


def _blocks(n: int, count: int, level: str = "block") -> Callable[[], Groups]:
    return lambda: made.named_groups(n, made.equal_blocks(n, count), level)


def _nested(n: int, counts: dict[str, int]) -> Groups:
    """Return blocks within blocks, by level."""
    levels = {
        level: [f"{level} {code}" for code in made.equal_blocks(n, count).tolist()]
        for level, count in counts.items()
    }
    return Groups(VertexSet(n), levels)


def _districts(n: int, side: int) -> Groups:
    grid_positions = (made.geometric_places(n) * side).astype(np.int64)
    return made.named_groups(n, grid_positions[:, 0] * side + grid_positions[:, 1], "district")


MADE = (
    GraphCase(name="blocks-150", title="3 blocks, densities .5 and .05", vertices=150,
         make=lambda: made.in_blocks(150, 3, 0.5, 0.05, seed=32), groups=_blocks(150, 3)),
    GraphCase(name="blocks-300", title="4 blocks, densities .4 and .04", vertices=300,
         make=lambda: made.in_blocks(300, 4, 0.4, 0.04, seed=1), groups=_blocks(300, 4)),
    GraphCase(name="blocks-1000", title="8 blocks, densities .2 and .02", vertices=1000,
         make=lambda: made.in_blocks(1000, 8, 0.2, 0.02, seed=24), groups=_blocks(1000, 8)),
    GraphCase(name="corrected-blocks-600", title="5 uneven blocks, degrees that differ sixteenfold",
         vertices=600, make=lambda: made.corrected_blocks(600, _UNEVEN, 0.12, 0.012),
         groups=lambda: made.named_groups(600, made.uneven_blocks(600, _UNEVEN), "block")),
    GraphCase(name="hierarchy-512", title="halves of halves, four levels", vertices=512,
         make=lambda: made.hierarchy(512, 4),
         groups=lambda: _nested(512, {"half": 2, "quarter": 4, "eighth": 8})),
    GraphCase(name="geometric-500", title="near points of a square", vertices=500,
         make=lambda: made.geometric(500, 0.13), groups=lambda: _districts(500, 3)),
    GraphCase(name="ring-500", title="a ring of neighbours, a tenth of the edges anywhere",
         vertices=500, make=lambda: made.ring(500, 10, 0.1)),
    GraphCase(name="preferential-500", title="newcomers prefer those with many edges", vertices=500,
         make=lambda: made.preferential(500, 12)),
    GraphCase(name="power-law-800", title="nothing but degrees, tail of exponent 3", vertices=800,
         make=lambda: made.power_law(800, 20, seed=9)),
    GraphCase(name="affiliation-500", title="overlapping clubs", vertices=500,
         make=lambda: made.affiliation(500, 40, 25)),
    GraphCase(name="core-500", title="a dense core and a periphery", vertices=500,
         make=lambda: made.fringe(500, 80)),
    GraphCase(name="random-300", title="every pair with chance 1/2", vertices=300,
         make=lambda: made.in_blocks(300, 1, 0.5, 0.5, seed=25)),
    GraphCase(name="two-cliques-200", title="two complete halves and one bridge", vertices=200,
         make=lambda: made.two_cliques(200)),
    GraphCase(name="similarity-300", title="similarities in [0, 1] of three clouds", vertices=300,
         make=lambda: made.similarity(300), groups=_blocks(300, 3, "cloud"), weighted=True),
    GraphCase(name="counts-300", title="whole weights up to 5, three blocks", vertices=300,
         make=lambda: made.counts(300, 3, 5), groups=_blocks(300, 3), weighted=True),
    GraphCase(name="heavy-300", title="whole weights of 7 to 400, a change by 1 is hidden; three "
         "blocks", vertices=300, make=lambda: made.heavy(300, 3), weighted=True,
         bounded=False, groups=_blocks(300, 3)),
    GraphCase(name="arcs-400", title="arcs round four blocks", vertices=400, kind="directed",
         make=lambda: made.arcs(400, 4), groups=_blocks(400, 4)),
    GraphCase(name="two-sides-250-350", title="groups of rows like groups of columns", vertices=600,
         make=lambda: made.two_sides(250, 350), kind="bipartite"),
    GraphCase(name="blocks-5000", title="10 blocks, mean degree 20", vertices=5000,
         make=lambda: made.large_blocks(5000, 10, 20, seed=26), groups=_blocks(5000, 10)),
    GraphCase(name="blocks-20000", title="20 blocks, mean degree 20", vertices=20_000,
         make=lambda: made.large_blocks(20_000, 20, 20, seed=28), groups=_blocks(20_000, 20)),
    GraphCase(name="blocks-100000", title="25 blocks, mean degree 10", vertices=100_000,
         make=lambda: made.large_blocks(100_000, 25, 10, seed=30), groups=_blocks(100_000, 25)),
)  # fmt: skip


def _plain(name: str) -> Callable[[], AnyGraph]:
    """Return a bundled graph without its weights, on the same vertices."""
    return lambda: datasets.load(name, weighted=False)


def _capped(name: str, most: float, change: Callable[[FloatVector], FloatVector]) -> AnyGraph:
    """Return a bundled graph whose weights are cut off at `most`, and then changed."""
    graph: Any = datasets.load(name)
    weights = change(np.minimum(graph.weights, most))
    cap = float(change(np.array([most]))[0])
    return Graph(graph.rows, graph.columns, weights, vertices=graph.vertices, max_weight=cap)


def _levels(name: str, finest: str) -> Callable[[], Groups]:
    """Return public groups of a bundled graph, down to a level."""
    return lambda: datasets.load_groups(name).down_to(finest)


_FLIGHTS, _ROUTES = "public domain (US government)", "Apache-2.0"
BUNDLED = (
    GraphCase(name="us-flights", title="flights between US airports, groups: states in regions",
         vertices=305, make=_plain("us_flights_2008"), licence=_FLIGHTS,
         groups=_levels("us_flights_2008", "state")),
    GraphCase(name="us-flights-weighted", title="square roots of flights, capped; groups: regions",
         vertices=305, groups=_levels("us_flights_2008", "region"), weighted=True,
         make=lambda: _capped("us_flights_2008", 1e4, lambda flights: np.sqrt(flights / 1e4)),
         licence=_FLIGHTS),
    GraphCase(name="air-routes", title="airports of the world", vertices=3475,
         make=_plain("air_routes"), licence=_ROUTES),
    GraphCase(name="les-miserables", title="common chapters, capped at 10", vertices=77,
         make=lambda: _capped("lesmis", 10.0, np.asarray), weighted=True,
         licence="free use (Stanford GraphBase)", quick=True),
    GraphCase(name="karate", title="a karate club, groups: its two successors", vertices=34,
         make=_plain("karate"), groups=_levels("karate", "club"),
         licence="BSD-3-Clause (networkx)", quick=True),
    GraphCase(name="davis-women", title="women and social events", vertices=32, kind="bipartite",
         make=_plain("davis_women"), licence="BSD-3-Clause (networkx)", quick=True),
)  # fmt: skip
CASES: tuple[GraphCase, ...] = (*MADE, *BUNDLED)


def cases_of(folder: Path | None) -> Iterator[GraphCase]:
    """Yield real graphs that may not be distributed, if their files are in a folder.

    Args:
        folder: None for the one that the environment variable GRAPHCUTS_DP_DATA names, if any.
    """
    named = os.environ.get(DATA_VARIABLE)
    data_folder = folder or (Path(named) if named else None)
    for name, file, size in _FILES:
        if data_folder is not None and (path := data_folder / file).is_file():
            title, make = f"{file}, the {size} largest degrees", partial(largest_part, path, size)
            yield GraphCase(name=f"{name}-{size}", title=title, make=make, vertices=size,
                            licence="see its source")  # fmt: skip


def largest_part(path: Path, size: int) -> AnyGraph:
    """Return the part of a file's graph on the vertices with most neighbours."""
    graph = read_graph(path, weighted=False)
    degrees = np.bincount(np.concatenate([graph.rows, graph.columns]))
    vertices = np.sort(np.argsort(-degrees, kind="stable")[:size])
    matrix = Graph(graph.rows, graph.columns, vertices=len(degrees)).adjacency
    return Graph.of(matrix[vertices][:, vertices], weighted=False)


def find_cases(names: Sequence[str] = (), *, quick: bool = False) -> tuple[GraphCase, ...]:
    """Return the cases of these names, or of all that begin with one; without names, all.

    Args:
        names: of cases.
        quick: without names, the few that take seconds.

    Raises:
        ParameterError: a name that no case begins with.
    """
    known = (*CASES, *cases_of(None))
    if not names:
        return tuple(case for case in known if case.quick or not quick)
    cases: dict[str, GraphCase] = {}
    for name in names:
        same = [case for case in known if case.name == name]
        same = same or [case for case in known if name and case.name.startswith(name)]
        if not same:
            raise ParameterError(
                f"no graph of the benchmark is called {name!r:.60}; there are "
                f"{', '.join(case.name for case in known)}"
            )
        cases |= {case.name: case for case in same}
    return tuple(cases.values())
