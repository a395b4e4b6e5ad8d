"""Compare the errors of a session with those of a table of flows, before it is charged."""

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

_LEAST_RATIO = 4  # of the errors of a session to those of a table, for advice to be given
_MOST_CELLS = 250_000  # of the finest level: errors of larger tables take too long to compute


def table_advice(empty: PrivateData, groups: GroupsRead, requested: SessionTerms) -> str:
    """Return a sentence if a table of flows has far smaller errors for the same budget; else "".

    The comparison needs public facts alone. Both errors hold for all answers at once. If no groups
    are named, a table of two halves stands for any other: noise on single edges or rows does not
    grow with the number of groups.

    Args:
        empty: data of the same schema, without rows.
        groups: public groups of the vertices; None if none are named.
        requested: the terms of the session, of which the method may still be open.
    """
    if groups is None and requested.privacy_unit.kind == "vertex":
        return ""  # noise that hides a vertex grows with the number of groups
    try:
        graph = bounded_graph(empty, requested.privacy_unit)
        universe, grid = Universe.of(graph), requested.grid(graph)
        session_error = requested.resolved(universe, grid).expected_error(universe, grid)
        job = flows_job(
            empty,
            _halves(empty) if groups is None else groups,
            epsilon=requested.epsilon,
            delta=requested.delta,
            privacy_unit=requested.privacy_unit,
        )
        finest = job.cells.depth - 1
        if job.cells.size(finest) > _MOST_CELLS:
            return ""
        cell_errors = level_errors(job.cells, job.strategy, unit=job.grid.unit)[-1]  # finest
    except GraphCutsError:  # such data have no table, or no session, which is refused elsewhere
        return ""
    table_error = cell_errors.simultaneous_half_width
    if session_error < _LEAST_RATIO * table_error:
        return ""
    errors = f"{short_bound(table_error)}, and this session of up to {short_bound(session_error)}"
    if groups is None:
        return (
            "if your questions are sums between public groups, a table of them (flows) has errors "
            f"of about {errors}, for the same budget; --groups FILE names the groups"
        )
    advice = (
        "for sums between the groups, a table of them (flows GRAPH GROUPS OUT) has errors of at "
        f"most {errors}, for the same budget"
    )
    median_pairs = float(np.median(job.cells.pairs(finest)))
    if not job.public.weighted and median_pairs <= 2 * session_error:
        advice += (
            f"; half of these sums can be no more than {median_pairs:,.0f}, so the session tells "
            "next to nothing of them"
        )
    return advice


def _halves(empty: PrivateData) -> Groups | tuple[Groups, Groups]:
    """Return two groups of each vertex set, to which its vertices belong in turn."""
    left, right = vertex_sets(empty.space)
    left_groups = Groups(left, {"half": [vertex % 2 for vertex in range(len(left))]})
    if left is right:
        return left_groups
    return left_groups, Groups(right, {"half": [vertex % 2 for vertex in range(len(right))]})
