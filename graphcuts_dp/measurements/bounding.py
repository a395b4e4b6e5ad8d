"""From what a user hands over to the graph that is measured, for whom a promise protects."""

from graphcuts_dp.errors import ParameterError
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
