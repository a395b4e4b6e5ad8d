"""Tables by periods that are made of known sums."""

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.estimate.measurement import CellSums
from graphcuts_dp.estimate.strategy import choose_strategy
from graphcuts_dp.measure.statistics import draw
from graphcuts_dp.privacy.entropy import entropy_source
from graphcuts_dp.schema.cells import CellTree

ZONES = {"county": ["n", "n", "n", "s", "s"], "zone": ["n1", "n2", "n2", "s1", "s2"]}
SHOPS = {"city": ["x", "x", "y"], "shop": ["x1", "x2", "y1"]}
MONTHS = gc.Periods.of("2025-11..2026-04")
EXACT = 50.0  # the noise of a cell is then hardly ever other than 0


def cells_of(kind="directed", by="month", loops=True):
    """Zones in counties, by themselves or with shops in cities."""
    rows = gc.Groups(gc.VertexSet(5), ZONES).tree
    columns = gc.Groups(gc.VertexSet(3), SHOPS).tree if kind == "bipartite" else None
    periods = None if by is None else MONTHS.tree(by)
    return CellTree(rows, columns, directed=kind == "directed", periods=periods, loops=loops)


def sums_at(cells, finest):
    """The sums of each place, from those of the finest cells."""
    found = [np.asarray(finest, dtype=np.int64)]
    for place in range(cells.depth - 1, 0, -1):
        found.insert(0, cells.sums(place, found[0]))
    return found


def flows_of(cells, finest, *, epsilon=1.0, seed=1, unit=1.0, whole=True, workload="all levels"):
    """Flows as a release makes them, of sums that are given in steps."""
    step = round(1 / unit)
    changes = ((step, step**2),) * cells.depth
    strategy = choose_strategy(cells, epsilon=epsilon, changes=changes, workload=workload)
    kind = CellSums(
        tree=cells,
        measured_levels=strategy.measured_levels,
        max_weight=None,
        weighted=not whole,
        integral=whole,
        rounding="pairs" if whole else "none",
    )
    sums = sums_at(cells, finest)
    noisy = draw(
        "flows",
        kind,
        [[sums[place]] for place in strategy.measured_levels],  # of one digit each
        [changes[place] for place in strategy.measured_levels],
        unit=unit,
        noise=strategy.noise,
        source=entropy_source(seed),
    )
    guarantee = gc.PrivacyGuarantee(
        epsilon=epsilon, neighbours="one row", public="the groups", seed=seed
    )
    return gc.Flows(noisy=noisy, strategy=strategy, guarantee=guarantee)
