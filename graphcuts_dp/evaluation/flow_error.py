"""The true table between groups beside a noisy one. Reads the truth: not private."""

from dataclasses import dataclass
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.errors import GraphError
from graphcuts_dp.evaluation.tables import NOT_PRIVATE
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.measure.cells import cell_tree, sides_of_groups
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.pairs.vertices import Label
from graphcuts_dp.results.flows import Flows


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class FlowErrors:
    """A level of flows beside the truth. NOT PRIVATE.

    Attributes:
        level: of the groups; of two sides both names.
        labels: of the groups of the rows.
        right_labels: of the columns; the same for one vertex set.
        truth: the true table, shape (groups, groups); symmetric, with edges inside a group once,
            for one vertex set without directions.
        values: the estimates, likewise.
        covered: the share of cells whose 95 % interval holds the truth.
        root_mean_square: of the errors of the cells that can hold a pair.
    """

    level: str
    labels: tuple[Label, ...]
    right_labels: tuple[Label, ...]
    truth: FloatMatrix
    values: FloatMatrix
    covered: float
    root_mean_square: float
    mark: str = NOT_PRIVATE


def flow_errors(
    graph: AnyGraph,
    groups: Groups | tuple[Groups, Groups],
    flows: Flows,
    level: str | None = None,
) -> FlowErrors:
    """Set a level of flows beside the truth. NOT PRIVATE: for whoever holds the graph.

    Args:
        graph: the true graph.
        groups: those that the flows were released with; of a bipartite graph both sides'.
        flows: of this graph and these groups.
        level: None for the finest.

    Raises:
        GraphError: groups of other vertices, or flows of other groups or of another kind of graph.
        QueryError: no such level.
    """
    sides = sides_of_groups(graph, groups)
    if flows.cells != cell_tree(graph, sides):
        raise GraphError("the graph, the groups and the flows are not of one another")
    place = flows.cells.place(level)
    name = flows.cells.levels[place - 1]
    names = [side.levels[place - 1] for side in sides]
    left, right = (side.codes(own) for side, own in zip(sides, names, strict=True))
    truth = np.zeros(flows.cells.shape(place))
    np.add.at(truth, (left[graph.rows], right[graph.columns]), graph.weights)
    if isinstance(graph, Graph):
        truth = truth + truth.T
        truth[np.diag_indices(len(truth))] /= 2
    cells = flows.cells.cells(place)
    values = flows.values(name)
    low, high = flows.intervals(name)
    true = truth[cells]
    return FlowErrors(
        level=name,
        labels=sides[0].labels(names[0]),
        right_labels=sides[1].labels(names[1]),
        truth=truth,
        values=values,
        covered=float(((low[cells] <= true) & (true <= high[cells])).mean()),
        root_mean_square=float(np.sqrt(((values[cells] - true) ** 2).mean())),
    )
