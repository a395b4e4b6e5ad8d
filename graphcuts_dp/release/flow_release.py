"""How flows are released: a strategy from public sizes, noise once, then least squares."""

from dataclasses import replace

from graphcuts_dp.estimate.strategy import ALL_LEVELS, choose_strategy, forecast_of
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.owned_rows import PrivateData, bounded_graph, reach_of, without_rows
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.measure.cells import (
    cell_tree,
    changes_on,
    grid_of_cells,
    measure_cells,
    sides_of_groups,
)
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.privacy.composition import stated_cost
from graphcuts_dp.privacy.guarantee import EDGE, Protect, exact_epsilon
from graphcuts_dp.release.allocation import promise
from graphcuts_dp.release.job import Job, execute
from graphcuts_dp.results.flows import Flows


def release_flows(
    graph: PrivateData,
    groups: Groups | tuple[Groups, Groups],
    *,
    epsilon: float,
    delta: float = 0.0,
    workload: str = ALL_LEVELS,
    noise: str = "auto",
    whole: bool = False,
    protect: str | Protect = "edges",
    store: PathLike | Store | None = None,
    seed: int | None = None,
) -> Flows:
    """Release the weight between public groups of a private graph, for all cells of all levels.

    Args:
        graph: the private graph, or rows with owners.
        groups: the public groups of its vertices; of a bipartite graph a pair, left and right,
            with the same number of levels. They come out with the table, so they must be public,
            and not made from the edges.
        epsilon: privacy parameter, for whom `protect` names, in [1e-6, 50]; all of it is spent.
        delta: in [0, 1); 0 for pure privacy. Above 0 the noise may be Gaussian, where many levels
            pay for it.
        workload: what the levels' shares of the budget are chosen for: "all levels" (every level
            counts alike), "all cells" (every cell of every level counts alike, so that the finest
            level counts most), "totals" (the grand total), or the name of a level.
        noise: "laplace", "gaussian" (which needs a delta), or "auto" for the less expected error.
        whole: count weights in whole numbers, rounded down; else in small steps.
        protect: whom the promise is for: "edges", or a `Protect`. Of an owner so many pairs, rows
            or units count, see `OwnedRows.bounded`; such weights are whole. Of a vertex with degree
            bound D, each cell of the finest level is the largest weight that its edges can keep if
            no vertex keeps more than D of it in this cell (see `graph.bounded_sums`): the true one
            if no vertex has more than D there, never above it; other levels are sums of these.
            Intervals are for this bounded table. The noise of a cell grows with D and with the
            number of groups.
        store: path of the store, or a `Store`, that remembers what was spent on this graph: the
            flows are charged to it, and refused if its budget does not allow them. None for a
            graph of which nothing else is ever released.
        seed: makes the run repeatable and voids the promise; None for the system's entropy.

    Raises:
        ParameterError: an option out of range; weights whose bound nobody has given (of a vertex
            they need none).
        GraphError: groups of other vertices, or that can hold no pair.
        BudgetError: the budget of the store does not allow it. Nothing was spent.
        LedgerError: the store cannot be used.

    Guarantee: epsilon-DP, or (epsilon, delta)-DP, at edge level: `measure_cells` draws all noise,
    at a cost that is added up from its scales before any is drawn; which levels and shares there
    are is chosen from public sizes; the rest is computed from the noisy sums. Neighbours: graphs on
    the same public vertices that differ in one pair, or in `Protect.edges(k)` of them, or in all
    edges of one vertex (proof in `bounded_changes`). With `whole` or a fine grid the sums are
    those of weights rounded down, and intervals of the fine grid allow for it.

    Examples:
        >>> flows = gc.release_flows(
        ...     gc.datasets.load("karate"), gc.datasets.load_groups("karate"), epsilon=1.0
        ... )
        >>> low, high = flows.between("Mr. Hi", "Officer").interval
    """
    job = flows_job(
        graph,
        groups,
        epsilon=epsilon,
        delta=delta,
        workload=workload,
        noise=noise,
        whole=whole,
        protect=Protect.of(protect),
    )
    return execute(job, graph, store=store, seed=seed)


def flows_job(
    data: PrivateData,
    groups: Groups | tuple[Groups, Groups],
    *,
    epsilon: float,
    delta: float = 0.0,
    workload: str = ALL_LEVELS,
    noise: str = "auto",
    whole: bool = False,
    protect: Protect = EDGE,
) -> Job[Flows]:
    """What `release_flows` does with these options, told beforehand. Reads the schema alone.

    Raises:
        ParameterError, GraphError: as `release_flows`.
    """
    empty = without_rows(data)
    del data  # nothing below can reach it
    graph, reach = bounded_graph(empty, protect), reach_of(empty)
    whole = whole or reach is not None
    sides = sides_of_groups(graph, groups)
    cells = cell_tree(graph, sides)
    exact = exact_epsilon(epsilon)
    protect.per_step(exact)  # refuses what would leave too little
    grid = grid_of_cells(
        graph,
        epsilon=float(exact),
        whole=whole,
        protection=protect,
        groups=sum(cells.shape(cells.depth - 1)),
    )
    changes = changes_on(grid, cells, protect, reach)
    strategy = choose_strategy(
        cells, epsilon=exact, delta=delta, changes=changes, workload=workload, noise=noise
    )
    places, names = strategy.places, ("total", *cells.levels)
    built = strategy.noise.cost(delta=delta, changes=[changes[place] for place in places])
    cost = stated_cost(built, epsilon=epsilon, delta=delta)
    guarantee = promise(graph, cost, protect, groups=True)
    bound = protect.degree_bound
    parts: tuple[tuple[str, float], ...] = ()
    if strategy.noise.distribution == "laplace" and len(places) > 1:
        shares = zip(places, strategy.shares, strict=True)
        parts = tuple((names[p], float(share * exact)) for p, share in shares)
    return Job(
        kind="flows",
        public=empty,
        protect=protect,
        parameters={
            "workload": workload,
            "levels": [names[p] for p in places],
            **({} if bound is None else {"degree_bound": bound}),
        },
        cost=cost,
        guarantee=guarantee,
        measure=lambda private, source, _: measure_cells(
            private,
            sides,
            cells,
            places=places,
            noise=strategy.noise,
            grid=grid,
            whole=whole,
            protection=protect,
            reach=reach,
            source=source,
        ),
        finish=lambda noisy, source, _: Flows(
            noisy=noisy,
            strategy=strategy,
            guarantee=replace(guarantee, seed=source.seed, parts=parts),
        ),
        told=lambda: (
            forecast_of(
                cells, strategy, unit=grid.unit, epsilon=float(exact), delta=float(delta)
            ).notes
        ),
    )
