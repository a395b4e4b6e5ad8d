"""Noisy degrees, and a graph of dense blocks of vertices of like degree.

How dense blocks are is a public rule of the degree, since fitting it would cost budget. PGB's code
adds noise for one degree where an edge changes two, which spends 2 epsilon, and gives sorted
degrees to vertices in the order of their numbers.
"""

from graphcuts_dp.graph.adjacency import AnyGraph
from scripts.benchmark.baselines import noisy_degrees
from scripts.benchmark.contenders.opening import Run, contender
from scripts.benchmark.contenders.realised import with_blocks


def degree_based_graph(run: Run) -> AnyGraph:
    """Release a graph of the model BTER with the noisy degrees of a private graph.

    1. Every degree gets discrete Laplace noise of rate epsilon/2 (`measure_degrees`).
    2. A graph is drawn with these (`with_blocks`).

    Guarantee: epsilon-DP. One pair changes two degrees by 1 each, so the sensitivity is exactly 2;
    step 2 reads noisy degrees alone.

    Source: "DGG" of Qin, Yu, Yang, Khalil, Xiao, Ren, "Generating synthetic decentralized social
    graphs with local differential privacy", CCS 2017, with a trusted curator, as in PGB.
    """
    run.spend(degrees=run.epsilon)
    noisy = noisy_degrees(run.graph, run.epsilon, run.source)
    return run.made(*with_blocks(noisy, run.generator()))


DGG = contender(
    degree_based_graph,
    name="dgg",
    source="Qin et al., CCS 2017; model BTER: Seshadhri, Kolda, Pinar, 2012",
    most_vertices=100_000,
)
