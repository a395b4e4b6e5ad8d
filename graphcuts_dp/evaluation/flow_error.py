"""The true table between groups beside a noisy one. Reads the truth: not private."""

from dataclasses import dataclass
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.errors import GraphError
from graphcuts_dp.evaluation.tables import NOT_PRIVATE
from graphcuts_dp.flows.flows import Flows
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.graph.groups import Groups
from graphcuts_dp.graph.vertices import Label


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class FlowErrors:
    """A level of flows beside the truth. NOT PRIVATE.

    Attributes:
        level: of the groups.
        labels: of the groups.
        truth: the true table, shape (groups, groups), symmetric; edges inside a group once.
        values: the estimates, likewise.
        covered: the share of cells whose 95 % interval holds the truth.
        root_mean_square: of the errors of the cells that can hold a pair.
    """

    level: str
    labels: tuple[Label, ...]
    truth: FloatMatrix
    values: FloatMatrix
    covered: float
    root_mean_square: float
    mark: str = NOT_PRIVATE


def flow_errors(graph: Graph, groups: Groups, flows: Flows, level: str | None = None) -> FlowErrors:
    """Set a level of flows beside the truth. NOT PRIVATE: for whoever holds the graph.

    Args:
        graph: the true graph.
        groups: those that the flows were released with.
        flows: of this graph and these groups.
        level: None for the finest.

    Raises:
        GraphError: groups of other vertices, or flows of other groups.
        QueryError: no such level.
    """
    if groups.vertices != graph.vertices or flows.groups != groups.tree:
        raise GraphError("the graph, the groups and the flows are not of one another")
    place = flows.cells.place(level)
    name = flows.cells.levels[place - 1]
    codes, count = groups.codes(name), len(groups.labels(name))
    truth = np.zeros((count, count))
    np.add.at(truth, (codes[graph.rows], codes[graph.columns]), graph.weights)
    truth = truth + truth.T
    truth[np.diag_indices(count)] /= 2
    cells = flows.cells.cells(place)
    values = flows.values(name)
    low, high = flows.intervals(name)
    true = truth[cells]
    return FlowErrors(
        level=name,
        labels=groups.labels(name),
        truth=truth,
        values=values,
        covered=float(((low[cells] <= true) & (true <= high[cells])).mean()),
        root_mean_square=float(np.sqrt(((values[cells] - true) ** 2).mean())),
    )
