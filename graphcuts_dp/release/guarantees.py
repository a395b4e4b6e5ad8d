"""What a release states: its guarantee, from the schema of the data and the cost alone."""

from dataclasses import replace

from graphcuts_dp.graph.rows import PrivateData, Rows
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.guarantee import EDGE, PrivacyGuarantee, Protect, hidden_change
from graphcuts_dp.schema.vertices import Arcs, public_vertices


def release_guarantee(
    graph: PrivateData,
    cost: Cost,
    protect: Protect = EDGE,
    *,
    seed: int | None = None,
    groups: bool = False,
) -> PrivacyGuarantee:
    """Return the guarantee of a release. Reads the schema of the graph only.

    Args:
        graph: the private graph or rows, or those of its schema without any.
        cost: of everything together.
        protect: whom it protects.
        seed: of the noise, or None.
        groups: whether public groups come out with it.
    """
    public = public_vertices(graph.space) + (" and the groups" if groups else "")
    cap = None if isinstance(graph, Rows) else graph.weight_cap
    if isinstance(graph, Rows) and graph.periods is not None:
        public += " and the periods"
    if graph.weighted and cap is not None:
        public += " and the weight cap"
    if protect.degree_bound is not None:
        public += " and the degree bound"
    periods = graph.periods if isinstance(graph, Rows) else None
    rows = isinstance(graph, Rows) and graph.weighted
    hidden = hidden_change(
        weighted=graph.weighted, weight_cap=cap, directed=isinstance(graph.space, Arcs)
    )
    step = PrivacyGuarantee(
        epsilon=cost.epsilon,
        delta=cost.delta,
        neighbours="one row, or unit of weight, more or less" if rows else hidden,
        public=public,
        seed=seed,
    )
    if periods is not None and protect.kind == "edges":
        step = replace(step, neighbours=f"{hidden} in any one {periods.by}")
    guarantee = protect.promise(step, cost)
    if isinstance(graph, Rows) and periods is not None:
        guarantee = replace(guarantee, protects=graph.protects(protect))
        if protect.kind == "edges":
            several = f"of a pair with rows in k {periods.by}s the promise holds with k epsilon"
            neighbours = f"{guarantee.neighbours}; {several}"
            guarantee = replace(guarantee, neighbours=neighbours)
    return guarantee
