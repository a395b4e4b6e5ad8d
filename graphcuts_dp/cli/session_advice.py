"""Compare a session with a table of flows before it is charged: `table_advice`."""

import numpy as np

from graphcuts_dp.cli.group_reading import GroupsRead
from graphcuts_dp.display import short_bound
from graphcuts_dp.errors import GraphCutsError
from graphcuts_dp.estimate.flow_errors import level_errors
from graphcuts_dp.graph.rows import PrivateData, bounded_graph
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.release.flow_tables import flows_job
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.schema.vertices import vertex_sets
from graphcuts_dp.session.terms import SessionTerms

_FAR_LESS = 4  # times that errors of a table are smaller, to be worth a remark
_MOST_CELLS = 250_000  # of a table whose errors are computed for a remark


def table_advice(empty: PrivateData, groups: GroupsRead, asked: SessionTerms) -> str:
    """Return a sentence if a table of flows has far smaller errors for the same budget; else "".

    It is computed from public facts alone, before anything is spent. Both errors hold for all
    answers at once. Without groups, those of a table of two halves stand for any: noise on single
    edges or rows does not grow with the number of groups.

    Args:
        empty: data of the same schema, without rows.
        groups: public groups of the vertices; None if none are named.
        asked: the terms of the session.
    """
    halves = groups is None
    if halves and asked.privacy_unit.kind == "vertex":
        return ""
    try:
        graph = bounded_graph(empty, asked.privacy_unit)
        universe, grid = Universe.of(graph), asked.grid(graph)
        error = asked.resolved(universe, grid).expected_error(universe, grid)
        job = flows_job(
            empty,
            _halves(empty) if groups is None else groups,
            epsilon=asked.epsilon,
            delta=asked.delta,
            privacy_unit=asked.privacy_unit,
        )
        finest = job.cells.depth - 1
        if job.cells.size(finest) > _MOST_CELLS:
            return ""
        error_of_table = level_errors(job.cells, job.strategy, unit=job.grid.unit)[-1]
    except GraphCutsError:  # such data have no table, or no session: the session says why
        return ""
    width = error_of_table.simultaneous_half_width
    if error < _FAR_LESS * width:
        return ""
    errors = f"{short_bound(width)}, and this session of up to {short_bound(error)}"
    if halves:
        return (
            "if your questions are sums between public groups, a table of them (flows) has errors "
            f"of about {errors}, for the same budget; --groups FILE names the groups"
        )
    advice = (
        "for sums between the groups, a table of them (flows GRAPH GROUPS OUT) has errors of at "
        f"most {errors}, for the same budget"
    )
    pairs = float(np.median(job.cells.pairs(finest)))
    if not job.public.weighted and pairs <= 2 * error:
        advice += (
            f"; half of these sums can be no more than {pairs:,.0f}, so the session tells next to "
            "nothing of them"
        )
    return advice


def _halves(empty: PrivateData) -> Groups | tuple[Groups, Groups]:
    """Return two groups of each vertex set, of alternating vertices."""
    left, right = vertex_sets(empty.space)
    left_groups = Groups(left, {"half": [vertex % 2 for vertex in range(len(left))]})
    if left is right:
        return left_groups
    return left_groups, Groups(right, {"half": [vertex % 2 for vertex in range(len(right))]})
