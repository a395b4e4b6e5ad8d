"""The guarantee of a release, from the schema of the data and the cost alone."""

from dataclasses import replace

from graphcuts_dp.graph.rows import PrivateData, Rows
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.default_unit import EDGE
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, change_of_one_pair
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.schema.vertices import Arcs, public_vertices


def release_guarantee(
    graph: PrivateData,
    cost: Cost,
    privacy_unit: PrivacyUnit = EDGE,
    *,
    seed: int | None = None,
    groups: bool = False,
) -> PrivacyGuarantee:
    """Return the guarantee of a release. Reads the schema of the data alone.

    Args:
        graph: the private graph or rows, or data of the same schema without any.
        cost: of everything together.
        privacy_unit: the difference between neighbours.
        seed: of the noise; None for the system's entropy.
        groups: whether public groups are released with it.
    """
    public = public_vertices(graph.space) + (" and the groups" if groups else "")
    max_weight = None if isinstance(graph, Rows) else graph.max_weight
    if isinstance(graph, Rows) and graph.periods is not None:
        public += " and the periods"
    if graph.weighted and max_weight is not None:
        public += " and the maximum weight"
    if privacy_unit.max_degree is not None:
        public += " and the degree bound"
    periods = graph.periods if isinstance(graph, Rows) else None
    differ_by_rows = isinstance(graph, Rows) and graph.weighted
    change = change_of_one_pair(
        weighted=graph.weighted, max_weight=max_weight, directed=isinstance(graph.space, Arcs)
    )
    of_one_change = PrivacyGuarantee(
        epsilon=cost.epsilon,
        delta=cost.delta,
        neighbours="one row, or unit of weight, more or less" if differ_by_rows else change,
        public=public,
        seed=seed,
    )
    if periods is not None and privacy_unit.kind == "edge":
        of_one_change = replace(of_one_change, neighbours=f"{change} in any one {periods.by}")
    guarantee = privacy_unit.guarantee(of_one_change, cost)
    if isinstance(graph, Rows) and periods is not None:
        guarantee = replace(guarantee, privacy_unit=graph.privacy_unit(privacy_unit))
        if privacy_unit.kind == "edge":
            several = f"of a pair with rows in k {periods.by}s the guarantee holds with k epsilon"
            neighbours = f"{guarantee.neighbours}; {several}"
            guarantee = replace(guarantee, neighbours=neighbours)
    return guarantee
