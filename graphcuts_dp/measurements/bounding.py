"""From what a user hands over to the graph that is measured, for whom a promise protects."""

from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.owned_rows import OwnedRows, PrivateData
from graphcuts_dp.privacy.protection import Protection


def bounded_graph(data: PrivateData, protection: Protection) -> AnyGraph:
    """The graph of private data: of rows with owners, that in which each owner is bounded. Private.

    Between neighbours, files with and without the rows of one owner, it changes by at most
    `protection.steps` steps: see `OwnedRows.bounded`.

    Args:
        data: a graph, or rows with owners.
        protection: whom the promise is for.

    Raises:
        ParameterError: an owner shall be protected of a graph, which has none; or rows with owners
            shall be released for somebody else; or a bound out of range.
    """
    if isinstance(data, OwnedRows):
        if protection.kind != "owner":
            raise ParameterError(
                "rows with owners are released under protect='owner' with a bound at_most; for "
                "anything else read the file with read_graph"
            )
        return data.bounded(at_most=protection.steps)
    if protection.kind == "owner":
        raise ParameterError(
            "protect='owner' needs rows with owners: read the file with read_owned(path, owner=...)"
        )
    return data


def paired_graph(
    data: PrivateData, protect: str, *, at_most: int | None, epsilon: float
) -> tuple[AnyGraph, Protection]:
    """The graph of private data, for what is made of noisy pairs, and whom that can protect.

    Args:
        data: a graph, or rows with owners.
        protect: as users type it, see `Protection.of_pairs`.
        at_most: likewise.
        epsilon: that was asked for.

    Raises:
        GraphError: neither a graph nor rows.
        ParameterError: as `Protection.of_pairs` and `bounded_graph`.
    """
    if not isinstance(data, PrivateData):
        raise GraphError(
            "the first argument must be a Graph; build one with read_graph or from_..."
        )
    protection = Protection.of_pairs(
        protect, at_most=at_most, others=max(data.shape) - 1, epsilon=epsilon
    )
    return bounded_graph(data, protection), protection
