"""LouvainDP as it was published: the communities alone, with all of epsilon.

The partition is handed in without a graph. The module `louvain_dp` says what differs from the
paper.
"""

from scripts.benchmark.base import Clustering
from scripts.benchmark.contenders.louvain_dp import LouvainShares, found_communities
from scripts.benchmark.contenders.opening import Run, contender


def louvain_dp_parts(run: Run) -> Clustering:
    """Return the communities that LouvainDP finds.

    Guarantee: epsilon-DP: `found_communities` with these shares, of which blocks get none.
    Source: Nguyen, Imine, Rusinowitch, "Detecting communities under differential privacy",
    WPES 2016.
    """
    shares = LouvainShares.of_parts(run.epsilon)
    run.spend(shares.cost)
    return Clustering(found_communities(run.graph, shares, run.source))


LOUVAIN_DP_PARTS = contender(
    louvain_dp_parts,
    name="louvain-dp-parts",
    source="Nguyen, Imine, Rusinowitch: Detecting communities under differential privacy, 2016",
    most_vertices=4_000,
)
