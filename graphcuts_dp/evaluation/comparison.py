"""Compare synthetic graphs with the real one by the statistics that researchers report.

It reads the true graph, so its results are not private. Start with `compare`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.display import printable
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.evaluation.comparison_tables import (
    BASELINES,
    CHUNG_LU,
    EMPTY,
    ComparisonRow,
    GraphComparison,
)
from graphcuts_dp.evaluation.degree_baseline import draw_by_degrees, expected_by_degrees
from graphcuts_dp.evaluation.graph_statistics import (
    StatisticValue,
    assortativity,
    bipartite_clustering,
    clustering,
    earth_movers_distance,
    kolmogorov_smirnov,
    leading_values,
    path_lengths,
    reciprocity,
)
from graphcuts_dp.evaluation.modularity import block_sums, communities_of, modularity
from graphcuts_dp.evaluation.worst_cut import worst_cut
from graphcuts_dp.graph.adjacency import (
    AnyGraph,
    BipartiteGraph,
    DirectedGraph,
    Graph,
    graph_on_space,
    matrix_on,
)
from graphcuts_dp.graph.private_data import private_graph
from graphcuts_dp.iterative.release import IterativeRelease
from graphcuts_dp.privacy.entropy import Seed, as_seed
from graphcuts_dp.resources import Progress, progress_function, silent
from graphcuts_dp.results.release import Release

_HALVES = 200  # random halves that are cut
_TOLERANCE = 0.25  # at which the search for the worst cut stops
_SECONDS = 3.0  # of the search for the worst cut, of each graph
_MOST_ENTRIES = 5_000**2  # of the largest matrix of expected weights by degrees
_LEADING = 10  # eigenvalues, or singular values


def compare(
    real: Any,
    synthetic: Any,
    *,
    seed: Seed = 0,
    progress: Progress | bool = silent,
) -> GraphComparison:
    """Compare synthetic graphs with the real one by the statistics that researchers report.

    NOT PRIVATE: it reads the private graph. It costs no budget, and its result must not be
    published unless the real graph may be.

    The synthetic graphs are shown beside two baselines: a graph of Chung and Lu, which has only the
    degrees of the real graph, and the empty graph, which has nothing of it. A synthetic graph that
    is not nearer than these keeps nothing else. Rows with "error" are distances from the real
    graph; other rows are a number of each graph:

    - cuts, as errors over the mean true weight of such cuts: "worst cut, at least" and "worst cut,
      at most" are certified bounds by `cut_norm` on the largest error of all cuts, over the sum of
      the matrix (edges inside both sets count twice in undirected graphs); 200 random halves; sums
      inside and between the communities of the real graph;
    - number of edges, total weight;
    - degrees (in and out, or left and right, where these differ): the largest, the distance of the
      distributions by Kolmogorov and Smirnov and as the earth mover's, over the mean degree, and
      the mean error of a vertex, likewise; weights, where there are any, in the same way;
    - clustering, global and mean local (of a directed graph without directions), with weights
      divided by the largest one, too; of a bipartite graph that of squares;
    - assortativity by degree; of directed graphs reciprocity, and out- with in-degree;
    - modularity: of the best communities of each graph, and of those of the real graph in each
      (Louvain; of a directed graph found without directions, and measured as Leicht and Newman; of
      a bipartite one as Barber);
    - mean number of edges of a shortest path in the largest (strongly) connected component, and
      the component's share of all vertices;
    - the leading eigenvalue (or singular value), and the distance of the leading ten.

    Args:
        real: the private graph: of this package, or what `private_data` makes one of. A directed
            graph of networkx or igraph becomes a `DirectedGraph`.
        synthetic: one graph, a release with a synthetic graph, or several as a list or a dict of
            names. Graphs of other libraries become the kind of the real one, on its vertices; all
            need the same vertices, in any order.
        seed: of the random cuts, of the graph of Chung and Lu, and of samples, as numpy takes it.
            It is not privacy noise.
        progress: True shows a bar; a function is called with the fraction done and a message.

    Returns:
        The table. Cuts of Chung and Lu's graph are those of its expected weights, of up to 5,000
        vertices, which are nearer to the real ones than a drawn graph's; all else is of one drawn
        graph. `GraphComparison.notes` says so, and what was sampled.

    Raises:
        GraphError: other vertices, graphs of two kinds, or none to compare.
        ParameterError: two graphs of one name, or a negative seed.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> comparison = gc.compare(club, {"itself": club})
        >>> comparison.row("worst cut, at most").values
        (0.0, 0.22..., 1.0)
        >>> comparison.row("clustering, global").real
        0.25...

    Source: statistics as in networkx and igraph; see `graph_statistics`.
    """
    number = as_seed(seed)
    if number is None:
        raise ParameterError("seed must be given: it makes the comparison repeatable")
    truth = _graph_of(real, None)
    graphs_by_name = _graphs_by_name(synthetic, truth)
    report = progress_function(progress)
    views = {name: _View(_in_order_of(truth, graph)) for name, graph in graphs_by_name.items()}
    views[CHUNG_LU] = _View(draw_by_degrees(truth, seed=number))
    views[EMPTY] = _View(_empty_graph(truth))
    return _Comparison(_View(truth), views, number, report).table()


def _graph_of(source: Any, like: AnyGraph | None) -> AnyGraph:
    """Return a graph of this package: a release's, or one of another library.

    Args:
        source: as for `compare`.
        like: a graph whose kind and vertices it shall have; None for the real graph.
    """
    if isinstance(source, Graph | BipartiteGraph | DirectedGraph):
        return source
    if isinstance(source, Release | IterativeRelease):
        return source.graph
    if like is None:
        return private_graph(source, shows_truth=True, stacklevel=6)
    if isinstance(like, BipartiteGraph):
        return BipartiteGraph.of(source, vertices=(like.left, like.right))
    return type(like).of(source, vertices=like.vertices)


def _graphs_by_name(synthetic: Any, truth: AnyGraph) -> dict[str, AnyGraph]:
    """Return the synthetic graphs by name.

    Raises:
        GraphError: no graph is given.
        ParameterError: two graphs of one name, or a name of a baseline or of a column.
    """
    if isinstance(synthetic, Mapping):
        sources = {printable(str(name)): source for name, source in synthetic.items()}
        count = len(synthetic)
    elif isinstance(synthetic, list | tuple):
        sources = {f"synthetic {k}": source for k, source in enumerate(synthetic, start=1)}
        count = len(sources)
    else:
        sources, count = {"synthetic": synthetic}, 1
    if not sources:
        raise GraphError("no synthetic graph is given: name at least one")
    reserved = {"topic", "statistic", "measure", "unit", "real", *BASELINES}
    if len(sources) < count or reserved & set(sources):
        raise ParameterError(
            "names of synthetic graphs differ from each other and from "
            f"{', '.join(sorted(reserved))}"
        )
    return {name: _graph_of(source, truth) for name, source in sources.items()}


def _in_order_of(truth: AnyGraph, graph: AnyGraph) -> AnyGraph:
    """Return a graph with its vertices in the order of the real one."""
    if graph.space == truth.space:
        return graph
    entries = matrix_on(truth.space, graph).tocoo()
    upper = entries.row < entries.col if isinstance(truth, Graph) else slice(None)
    weights = entries.data[upper] if graph.weighted else None
    return graph_on_space(
        truth.space, entries.row[upper], entries.col[upper], weights, max_weight=graph.max_weight
    )


def _empty_graph(truth: AnyGraph) -> AnyGraph:
    """Return a graph without edges, on the vertices of the real one."""
    no_rows = np.zeros(0, dtype=np.int64)
    return graph_on_space(truth.space, no_rows, no_rows)


class _Parts(NamedTuple):
    """A partition: the part of each row and of each column; one array twice for one vertex set."""

    rows: IntVector
    columns: IntVector


class _View:
    """A graph with rows and columns in the order of the real one, and matrices for statistics.

    Attributes:
        graph: the graph, on the space of the real one.
        matrix: its weights.
        pattern: the same with ones for weights.
        degrees: number of entries of each row and of each column.
    """

    def __init__(self, graph: AnyGraph) -> None:
        self.graph = graph
        self.matrix = graph.to_scipy()
        self.matrix.sort_indices()
        self.pattern = self.matrix.copy()
        self.pattern.data = np.ones(self.pattern.nnz)
        self.degrees = (
            np.diff(self.pattern.indptr).astype(np.float64),
            np.bincount(self.pattern.indices, minlength=graph.shape[1]).astype(np.float64),
        )

    @property
    def one_mode(self) -> sp.csr_array:
        """All vertices as rows and columns, without directions and weights."""
        if isinstance(self.graph, Graph):
            return self.pattern
        if isinstance(self.graph, BipartiteGraph):
            both = sp.block_array([[None, self.pattern], [self.pattern.T, None]], format="csr")
        else:
            both = (self.pattern + self.pattern.T).tocsr()
        both.data = np.ones(both.nnz)
        both.sort_indices()
        return both

    @property
    def all_degrees(self) -> FloatVector:
        """Number of edges of each vertex: in and out together, or left and then right."""
        rows, columns = self.degrees
        if isinstance(self.graph, BipartiteGraph):
            return np.concatenate(self.degrees)
        total: FloatVector = rows if isinstance(self.graph, Graph) else rows + columns
        return total

    def parts(self, seed: int) -> _Parts:
        """Return the communities that Louvain's method finds."""
        codes = communities_of(self.graph, seed=seed)
        if isinstance(self.graph, BipartiteGraph):
            return _Parts(codes[: self.graph.shape[0]], codes[self.graph.shape[0] :])
        return _Parts(codes, codes)


class _Comparison:
    """The rows of a comparison, computed topic by topic.

    Attributes:
        real: the real graph.
        views: the other graphs, by name.
        seed: see `compare`.
        rows: the rows that were computed.
        samples: what statistics were estimated from: texts of graphs, by statistic.
    """

    def __init__(
        self, real: _View, views: Mapping[str, _View], seed: int, report: Progress
    ) -> None:
        self.real, self.views, self.seed, self._report = real, views, seed, report
        self.rows: list[ComparisonRow] = []
        self.samples: dict[str, list[str]] = {}
        # Whether cuts of the graph of Chung and Lu are those of its expected weights.
        self._uses_expected_weights = np.prod(real.graph.shape) <= _MOST_ENTRIES

    def table(self) -> GraphComparison:
        """Compute all rows."""
        steps: Sequence[Callable[[], None]] = (
            self._cuts,
            self._sizes,
            self._degrees,
            self._weights,
            self._clustering,
            self._mixing,
            self._modularity,
            self._paths,
            self._spectrum,
        )
        for index, step in enumerate(steps):
            self._report(index / len(steps), step.__name__.removeprefix("_"))
            step()
        self._report(1.0, "done")
        return GraphComparison(
            graphs=tuple(self.views),
            rows=tuple(self.rows),
            notes=self._notes(),
            seed=self.seed,
            degrees=tuple(view.all_degrees for view in (self.real, *self.views.values())),
        )

    @property
    def _all(self) -> tuple[_View, ...]:
        """The real graph and the others."""
        return (self.real, *self.views.values())

    @property
    def _weighted(self) -> bool:
        """True if the real graph has weights, or another one has weights other than 1."""
        graphs = [view.graph for view in self.views.values()]
        return self.real.graph.weighted or any((graph.weights != 1).any() for graph in graphs)

    def _notes(self) -> tuple[str, ...]:
        """Return sentences on how statistics were computed."""
        cuts = "cuts of its expected weights, and " if self._uses_expected_weights else ""
        notes = [
            f"errors of cuts: over their mean true weight; {_HALVES} random halves",
            "worst cut: over the sum of the matrix; a cut that was found, and a proof for all cuts",
            f"{CHUNG_LU}: {cuts}one graph drawn by the true degrees; seed {self.seed}",
            "communities: by Louvain's method",
        ]
        if self.samples:
            sampled = "; ".join(
                f"{statistic}: {', '.join(samples)}" for statistic, samples in self.samples.items()
            )
            notes.append(f"sampled with seed {self.seed}: {sampled}")
        return tuple(notes)

    def _value(self, topic: str, statistic: str, of: Callable[[_View], StatisticValue]) -> None:
        """Add a row of a number that each graph has, as a function of the graph."""
        names = ("real", *self.views)
        numbers = [of(view) for view in (self.real, *self.views.values())]
        for name, number in zip(names, numbers, strict=True):
            if number.sample:
                self.samples.setdefault(statistic, []).append(f"{name} from {number.sample}")
        real, *values = (number.value for number in numbers)
        self.rows.append(ComparisonRow(topic, statistic, "value", real, tuple(values)))

    def _error(
        self, topic: str, statistic: str, values: Sequence[float | None], unit: float = 1.0
    ) -> None:
        """Add a row of distances from the real graph."""
        self.rows.append(ComparisonRow(topic, statistic, "error", 0.0, tuple(values), unit))

    def _cuts(self) -> None:
        """Add errors of the worst cut, of random halves, and of sums of communities."""
        truth, graph = self.real.matrix, self.real.graph
        bipartite, symmetric = isinstance(graph, BipartiteGraph), isinstance(graph, Graph)
        total = float(truth.sum())
        S, T = _halves(graph.shape, self.seed, bipartite=bipartite)
        parts = self.real.parts(self.seed)
        halves, blocks = _cut_values(truth, S, T), block_sums(truth, *parts)
        inside = np.eye(len(blocks), dtype=np.bool_)
        between = np.triu(~inside) if symmetric else ~inside
        twice = 2.0 if symmetric else 1.0  # edges inside a set stand twice in a symmetric matrix
        units = {
            "worst cut, at least": total,
            "worst cut, at most": total,
            "random halves": float(halves.mean()),
            "inside communities": float(blocks[inside].mean()) / twice,
            "between communities": float(blocks[between].mean()) if between.any() else 0.0,
        }
        errors: dict[str, list[float | None]] = {name: [] for name in units}
        for name, view in self.views.items():
            difference = self._difference(name, view)
            lower, upper = worst_cut(difference, tolerance=_TOLERANCE, time_limit=_SECONDS)
            changed = np.abs(block_sums(difference, *parts))
            errors_by_statistic = {
                "worst cut, at least": lower,
                "worst cut, at most": upper,
                "random halves": float(np.abs(_cut_values(difference, S, T)).mean()),
                "inside communities": float(changed[inside].mean()) / twice,
                "between communities": float(changed[between].mean()) if between.any() else 0.0,
            }
            for statistic, error in errors_by_statistic.items():
                unit = units[statistic]
                errors[statistic].append(error / unit if unit > 0 else None)
        for statistic, values in errors.items():
            self._error("cuts", statistic, values, units[statistic])

    def _difference(self, name: str, view: _View) -> Any:
        """Return the matrix of a graph less the true one, as its cuts count."""
        if name == CHUNG_LU and self._uses_expected_weights:
            expected = expected_by_degrees(self.real.graph)
            edges = self.real.matrix.tocoo()
            expected[edges.row, edges.col] -= edges.data
            return expected
        difference = (view.matrix - self.real.matrix).tocsr()
        difference.eliminate_zeros()
        return difference

    def _sizes(self) -> None:
        """Add the number of edges, and the total weight."""
        self._value("size", "edges", lambda view: StatisticValue(float(len(view.graph.rows))))
        if self._weighted:
            self._value(
                "size", "total weight", lambda view: StatisticValue(float(view.graph.weights.sum()))
            )

    def _degrees(self) -> None:
        """Add rows on degrees."""
        graph = self.real.graph
        sides: tuple[str, ...] = ("degree",)
        if isinstance(graph, BipartiteGraph):
            sides = ("degree, left", "degree, right")
        elif isinstance(graph, DirectedGraph):
            sides = ("out-degree", "in-degree")
        for side, name in enumerate(sides):
            true_degrees = self.real.degrees[side]
            self._value("degrees", f"largest {name}", _largest_degree(side))
            other_degrees = [view.degrees[side] for view in self.views.values()]
            mean = float(true_degrees.mean())
            gaps = [kolmogorov_smirnov(true_degrees, degrees) for degrees in other_degrees]
            self._error("degrees", f"{name}: Kolmogorov-Smirnov", gaps)
            distances = [earth_movers_distance(true_degrees, degrees) for degrees in other_degrees]
            self._error("degrees", f"{name}: earth mover's", _shares(distances, mean), mean)
            vertex_errors: list[float | None] = [
                float(np.abs(true_degrees - degrees).mean()) for degrees in other_degrees
            ]
            self._error("degrees", f"{name} of a vertex", _shares(vertex_errors, mean), mean)

    def _weights(self) -> None:
        """Add rows on weights, if there are any."""
        if not self._weighted:
            return
        true_weights = self.real.graph.weights
        other_weights = [view.graph.weights for view in self.views.values()]
        mean = float(true_weights.mean()) if len(true_weights) else 0.0
        self._value("weights", "mean weight", lambda view: _mean(view.graph.weights))
        gaps = [kolmogorov_smirnov(true_weights, weights) for weights in other_weights]
        self._error("weights", "weights: Kolmogorov-Smirnov", gaps)
        distances = [earth_movers_distance(true_weights, weights) for weights in other_weights]
        self._error("weights", "weights: earth mover's", _shares(distances, mean), mean)

    def _clustering(self) -> None:
        """Add rows on clustering."""
        if isinstance(self.real.graph, BipartiteGraph):
            name = "clustering by squares"
            self._value("clustering", name, lambda view: bipartite_clustering(view.pattern))
            return
        coefficients = {id(view): clustering(view.one_mode, seed=self.seed) for view in self._all}
        self._value("clustering", "clustering, global", lambda view: coefficients[id(view)][0])
        self._value("clustering", "clustering, mean local", lambda view: coefficients[id(view)][1])
        if self._weighted and isinstance(self.real.graph, Graph):
            self._value(
                "clustering",
                "clustering, mean local, weighted",
                lambda view: clustering(_over_largest(view.matrix), seed=self.seed)[1],
            )

    def _mixing(self) -> None:
        """Add rows on assortativity and reciprocity."""
        directed = isinstance(self.real.graph, DirectedGraph)
        name = "assortativity, out- with in-degree" if directed else "assortativity by degree"
        self._value("mixing", name, lambda view: assortativity(view.pattern))
        if directed:
            self._value("mixing", "reciprocity", lambda view: reciprocity(view.pattern))

    def _modularity(self) -> None:
        """Add rows on modularity."""
        real_parts = self.real.parts(self.seed)

        def best(view: _View) -> StatisticValue:
            return StatisticValue(modularity(view.matrix, *view.parts(self.seed)))

        self._value("communities", "modularity, best found", best)
        self._value(
            "communities",
            "modularity of real communities",
            lambda view: StatisticValue(modularity(view.matrix, *real_parts)),
        )

    def _paths(self) -> None:
        """Add rows on paths and components."""
        directed = isinstance(self.real.graph, DirectedGraph)
        paths = {
            id(view): path_lengths(
                view.pattern if directed else view.one_mode, directed=directed, seed=self.seed
            )
            for view in self._all
        }
        self._value("paths", "mean path length", lambda view: paths[id(view)][0])
        self._value("paths", "share in largest component", lambda view: paths[id(view)][1])

    def _spectrum(self) -> None:
        """Add rows on eigenvalues, or singular values."""
        symmetric = isinstance(self.real.graph, Graph)
        name = "eigenvalue" if symmetric else "singular value"
        spectra = {
            id(view): leading_values(view.matrix, _LEADING, symmetric=symmetric)
            for view in self._all
        }

        def leading(view: _View) -> StatisticValue:
            values = spectra[id(view)]
            return StatisticValue(None if values is None else float(values[0]))

        self._value("spectrum", f"leading {name}", leading)
        true_values = spectra[id(self.real)]
        size = 0.0 if true_values is None else float(np.linalg.norm(true_values))
        distances = [_distance(true_values, spectra[id(view)]) for view in self.views.values()]
        self._error("spectrum", f"ten leading {name}s", _shares(distances, size), size)


def _halves(
    shape: tuple[int, int], seed: int, *, bipartite: bool
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return indicators of random sets of rows and of columns, shapes (rows, 200), (columns, 200).

    Columns are the complement of rows where both are one vertex set; a bipartite graph has random
    halves of both sides.
    """
    rng = np.random.default_rng(seed)
    S = rng.random((shape[0], _HALVES)) < 0.5
    T = rng.random((shape[1], _HALVES)) < 0.5 if bipartite else ~S
    return S.astype(np.float64), T.astype(np.float64)


def _cut_values(matrix: Any, S: FloatMatrix, T: FloatMatrix) -> FloatVector:
    """Return the sums of a matrix over the columns of two indicator matrices."""
    values: FloatVector = (S * (matrix @ T)).sum(axis=0)
    return values


def _largest_degree(side: int) -> Callable[[_View], StatisticValue]:
    """Return the function from a graph to the largest degree of its rows (0) or columns (1)."""
    return lambda view: StatisticValue(float(view.degrees[side].max()))


def _mean(values: FloatVector) -> StatisticValue:
    """Return the mean of some values; None if there are none."""
    return StatisticValue(float(values.mean()) if len(values) else None)


def _over_largest(matrix: sp.csr_array) -> sp.csr_array:
    """Return a matrix divided by its largest entry."""
    return matrix / matrix.data.max() if matrix.nnz else matrix


def _shares(values: Sequence[float | None], unit: float) -> list[float | None]:
    """Return values over a unit; None where there is no value or no unit."""
    return [None if value is None or not unit > 0 else value / unit for value in values]


def _distance(first: FloatVector | None, second: FloatVector | None) -> float | None:
    """Return the Euclidean distance of two vectors; None if one is not defined."""
    if first is None or second is None:
        return None
    return float(np.linalg.norm(first - second))
