"""Noisy degrees, and a graph of dense blocks of vertices of like degree."""

from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.pairs.groups import Groups
from scripts.benchmark.base import Contender, Submission
from scripts.benchmark.baselines import noisy_degrees
from scripts.benchmark.contenders.opening import (
    opened,
    public_generator,
    simple_graph,
    submitted,
)
from scripts.benchmark.contenders.realised import with_blocks


def degree_based_graph(
    graph: AnyGraph,
    *,
    epsilon: float,
    delta: float = 0.0,
    groups: Groups | None = None,
    seed: int | None = None,
) -> Submission:
    """A graph of the model BTER with the noisy degrees of a private graph.

    1. Every degree gets discrete Laplace noise of rate epsilon/2 (`measure_degrees`).
    2. A graph is drawn with these (`with_blocks`).

    Guarantee: epsilon-DP. One pair changes two degrees by 1 each, so the sensitivity is exactly 2;
    step 2 reads noisy degrees alone.

    Arguments and errors as for `Method`; the graph is undirected, without weights.

    Source: "DGG" of Qin, Yu, Yang, Khalil, Xiao, Ren, "Generating synthetic decentralized social
    graphs with local differential privacy", CCS 2017, with a trusted curator, as in PGB.
    """
    del delta, groups
    simple_graph(graph, "dgg")
    exact, source = opened(epsilon, seed)
    noisy = noisy_degrees(graph, exact, source)
    rows, columns = with_blocks(noisy, public_generator(source))
    return submitted(graph, rows, columns, parts=(("degrees", exact),), seed=seed)


DGG = Contender(
    name="dgg",
    method=degree_based_graph,
    source="Qin et al., CCS 2017; model BTER: Seshadhri, Kolda, Pinar, 2012",
    most_vertices=100_000,
    note=(
        "How dense blocks are is a public rule of the degree, since fitting it would cost budget. "
        "PGB's code adds noise for one degree where an edge changes two, which spends 2 epsilon, "
        "and gives sorted degrees to vertices in the order of their numbers."
    ),
)
