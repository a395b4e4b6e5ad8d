"""Is it good for my questions? The last table of `release`, and all of `release --dry-run`."""

from fractions import Fraction

import numpy as np

from graphcuts_dp.cli.console import out, say, show_facts, show_json, show_table
from graphcuts_dp.cli.group_options import GroupReading
from graphcuts_dp.cli.reading import Reading
from graphcuts_dp.display import short
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.fits.methods import fit_method
from graphcuts_dp.graph.adjacency import AnyGraph, on_space
from graphcuts_dp.graph.vertices import Arcs, Space, VertexSet
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.release.allocation import measure, mechanism_for
from graphcuts_dp.release.group_shares import group_plan
from graphcuts_dp.release.release import Release
from graphcuts_dp.release.size import check_size
from graphcuts_dp.release.sparse import SPARSE, takes_sparse
from graphcuts_dp.release.synthesis import release_graph
from graphcuts_dp.release.usefulness import Usefulness, usefulness_of

_MOST_EDGES = 2e7  # of the graph that a forecast makes up
TITLE = "Is it good for my questions? (95%, each question by itself)"


def show_useful(found: Usefulness) -> None:
    """The table with its advice, on standard output."""
    show_table(TITLE, found.columns, found.cells())
    out.print(f"Advice: {found.advice}", markup=False)


def edges_fact(found: Usefulness) -> str:
    """The noisy total with its interval."""
    if found.interval is None:
        return f"{short(found.edges)} (a public guess)"
    low, high = found.interval
    return f"{short(found.edges)} in [{short(low)}, {short(high)}] (95%)"


def forecast(
    reading: Reading,
    grouping: GroupReading,
    *,
    each: Fraction,
    edges: float | None,
    noise: str,
    mechanism: str,
    share: float | None,
    workload: str,
    fit: str,
) -> Usefulness:
    """What a release would be good for, from public numbers alone: it is tried on a made-up graph.

    The private graph is not read: the one that is released here has as many edges as was guessed,
    at random, on the public vertex sets. Nothing is spent.

    Args:
        reading: vertex sets and schema, by options.
        grouping: public groups.
        each: epsilon of one edge.
        edges: a public guess of how many.
        noise: as for `release_graph`.
        mechanism: likewise.
        share: likewise.
        workload: likewise.
        fit: likewise.

    Raises:
        ParameterError: no vertex sets, no guess, or one that does not fit them.
    """
    graph = _made_up(reading, edges)
    groups = grouping.read(graph.space)
    cap = graph.weight_cap
    choice = {"mechanism": mechanism, "noise": noise, "fit": fit, "blocks": "local"}
    if takes_sparse(graph.shape, weight_cap=cap, **choice):
        made = release_graph(
            graph,
            epsilon=float(each),
            noise=noise,
            mechanism=SPARSE,
            groups=groups,
            fit="none",
            seed=0,
        )
        return usefulness_of(made, edges=edges)
    check_size(graph.shape, noise=noise, fit=fit, blocks="local")
    method = fit_method(fit, weight_cap=cap)
    bought = measure(
        graph,
        epsilon=each,
        noise=noise,
        mechanism=mechanism_for(method, mechanism, share, workload),
        share=share,
        source=SeededEntropy(0),
        groups=group_plan(graph, groups),
        workload=workload,
    )
    return usefulness_of(Release(measurements=bought), edges=edges)


def show_forecast(found: Usefulness, *, as_json: bool) -> None:
    """All that `--dry-run` prints."""
    if as_json:
        show_json(found.to_dict() | {"dry_run": True})
        return
    show_facts({"edges": edges_fact(found)})
    show_useful(found)
    say("note: A dry run: no graph was read, nothing was spent, and nothing was written.")


def _made_up(reading: Reading, edges: float | None) -> AnyGraph:
    given = reading.public_sets
    if given is None:
        raise ParameterError("--dry-run reads no graph: name its vertices by --vertices")
    if edges is None:
        raise ParameterError(
            "--dry-run reads no graph: guess from public sources how many edges there are, with "
            "--expected-edges"
        )
    if reading.owner is not None and reading.counting != "edges":
        raise ParameterError("--dry-run with owners is for --counting edges")
    space: Space = given
    if reading.directed and isinstance(given, VertexSet):
        space = Arcs(given)
    rows, columns = _pairs(space, edges)
    cap, change = reading.weight_cap, reading.hide_change
    weighted = (cap, change) != (None, None) and not reading.ignore_weights
    weights = np.full(len(rows), 1.0 if cap is None else min(1.0, cap)) if weighted else None
    schema = {"weight_cap": cap, "hide_change": change} if weighted else {}
    return on_space(space, rows, columns, weights, **schema)


def _pairs(space: Space, edges: float) -> tuple[np.ndarray, np.ndarray]:
    """So many pairs of a space at random, some of them perhaps twice."""
    sets = (space, space) if isinstance(space, VertexSet) else tuple(space)
    sizes = len(sets[0]), len(sets[1])
    pairs = sizes[0] * sizes[1]
    if isinstance(space, VertexSet | Arcs):
        pairs = sizes[0] * (sizes[0] - 1) // (1 if isinstance(space, Arcs) else 2)
    if not 0 < edges <= min(pairs, _MOST_EDGES):
        raise ParameterError(
            f"--expected-edges must be above 0 and at most {min(pairs, int(_MOST_EDGES)):,}: the "
            f"pairs of these vertices are {pairs:,}"
        )
    generator = np.random.default_rng(0)  # the graph is made up, and no noise comes from here
    count = int(edges)
    rows, columns = (generator.integers(0, size, 3 * count + 20) for size in sizes)
    apart = np.ones(len(rows), dtype=np.bool_)
    if isinstance(space, VertexSet | Arcs):
        apart = rows != columns
    if isinstance(space, VertexSet):
        rows, columns = np.minimum(rows, columns), np.maximum(rows, columns)
    keys = np.unique(rows[apart] * sizes[1] + columns[apart])
    keys = generator.permutation(keys)[:count]
    return keys // sizes[1], keys % sizes[1]
