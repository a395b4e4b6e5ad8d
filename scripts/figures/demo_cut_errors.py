"""The README's figure: cut errors of one release of the US flights graph.

Seeded, so that it can be drawn again; a real release never is.
"""

import graphcuts_dp as gc
from graphcuts_dp.evaluation.cut_error_figure import cut_error_figure
from graphcuts_dp.parallel import one_blas_thread
from scripts.demo import EPSILON, ROOT, regions
from scripts.figures.style import save_figure

SEED = 2008


def main() -> None:
    """Release, measure and draw."""
    graph = gc.read_graph(
        ROOT / "datasets" / "us_flights_2008.csv", weighted=False, public_vertices_from_file=True
    )
    with one_blas_thread():  # the same digits whatever the number of processors
        release = gc.release_graph(graph, epsilon=EPSILON, seed=SEED)
        table = gc.cut_errors(graph, release, groups=regions())
    save_figure(
        cut_error_figure(table),
        ROOT / "figures" / "demo_cut_errors",
        columns=["kind", "cuts", "size", *table.estimates],
        rows=[[row.kind, row.cuts, row.size, *row.errors] for row in table.rows],
        parameters={
            "dataset": "us_flights_2008",
            "epsilon": EPSILON,
            "noise": release.noisy.distribution.name,
            "fit": release.fit.method if release.fit else "none",
            "seed": SEED,
        },
    )


if __name__ == "__main__":
    main()
