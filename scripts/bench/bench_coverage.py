"""Count how often intervals of 95 % miss the truth, by kind of release.

Run `python -m scripts.bench.bench_coverage [--quick]`. All data are generated, and nothing was
tuned on them. Seeds take the place of the system's entropy. For each kind of release:

- items: the numbers whose intervals are compared with the truth.
- mean, worst: the share of releases that miss, mean over the items and the worst of them.
- limit: 5 % and three standard errors of one item. The worst of many items may lie above it.

Intervals of "all rows" are those of tables whose users are bounded: `all_low` and `all_high`.
Where no maximum is known there is no upper end, and only lower ends are compared.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import graphcuts_dp as gc
from scripts.bench.harness import Table, run

RUNS, QUICK_RUNS = 1000, 40
ZONES = [f"z{number}" for number in range(12)]
MONTHS = ["2026-01", "2026-02", "2026-03", "2026-04"]
KEPT, KNOWN_MAX, PEOPLE = 8, 60, 300
Misses = Any  # booleans, one for each item
Releases = Callable[[int], Misses]


def missed(low: Any, high: Any, truth: Any) -> Misses:
    """Return whether each truth lies outside its interval, except by rounding of its ends."""
    slack = 1e-6 * np.maximum(1, np.abs(truth))
    return (np.asarray(low) > truth + slack) | (np.asarray(high) < truth - slack)


def by_seed(make: Callable[[int], Any], misses_of: Callable[[Any], Misses], seed: int) -> Misses:
    """Return which intervals of one release miss the truth."""
    return misses_of(make(seed))


def rows_of_people(seed: int) -> tuple[gc.Rows, pd.DataFrame]:
    """Draw trips of people, of whom few have most."""
    random = np.random.default_rng(seed)
    sizes = np.minimum(np.ceil(random.lognormal(1.4, 1.1, PEOPLE)), KNOWN_MAX).astype(int)
    popular = random.dirichlet(np.ones(len(ZONES)))
    people = np.repeat(np.arange(PEOPLE), sizes)
    frame = pd.DataFrame(
        {
            "who": people,
            "from": random.choice(ZONES, len(people), p=popular),
            "to": random.choice(ZONES, len(people)),
            "when": random.choice(MONTHS, len(people)),
        }
    )
    columns = gc.Columns(source="from", target="to", user="who", period="when")
    rows = gc.Rows.of(
        frame,
        columns=columns,
        counting="rows",
        vertices=ZONES,
        periods=f"{MONTHS[0]}..{MONTHS[-1]}",
        kind="directed",
    )
    return rows, frame


def zones() -> gc.Groups:
    """Return twelve zones in three parts."""
    parts = [f"part {number // 4}" for number in range(len(ZONES))]
    table = pd.DataFrame({"zone": ZONES, "part": parts, "place": ZONES})
    return gc.Groups.of(table, gc.VertexSet(ZONES), ["part", "zone"], vertex="place")


def counts_of(frame: pd.DataFrame, table: pd.DataFrame) -> Any:
    """Return the true count of each line of a table of flows."""
    part = dict(zip(ZONES, [f"part {number // 4}" for number in range(len(ZONES))], strict=True))
    coarse = frame.assign(**{"from": frame["from"].map(part), "to": frame["to"].map(part)})
    keys = ["when", "from", "to"]
    known = {
        (level, *key): count
        for level, rows in (("zone", frame), ("part", coarse))
        for key, count in rows.groupby(keys).size().items()
    }
    lines = zip(table["level"], table["period"], table["from"], table["to"], strict=True)
    return np.array([known.get(line, 0) for line in lines])


def people(**options: Any) -> Iterator[tuple[str, Releases]]:
    """Yield tables of people with heavy tails, with and without a known maximum."""
    rows, frame = rows_of_people(1)
    unit = gc.PrivacyUnit.user(max_contributions=KEPT)
    make = partial(release_of_flows, rows, zones(), privacy_unit=unit, **options)
    table = make(0).to_frame()
    truth = counts_of(frame, table)
    sums = {
        f"{start} to part 1, all months": int(
            (frame["from"].isin(ZONES[begin : begin + 4]) & frame["to"].isin(ZONES[4:8])).sum()
        )
        for begin, start in ((0, "part 0"), (8, "part 2"))
    }

    def cells(flows: Any) -> Misses:
        table = flows.to_frame()
        high = table.get("all_high", np.inf)
        return missed(table["all_low"], high, truth)

    def sums_over_periods(flows: Any) -> Misses:
        answers = [flows.between(start.split(" to ")[0], "part 1", "part") for start in sums]
        all_rows = [answer.all_rows for answer in answers]
        ends = [(low, math.inf if high is None else high) for low, high in all_rows]
        low, high = np.array(ends).T
        return missed(low, high, np.array(list(sums.values())))

    promise = "a known maximum" if options.get("known_max") else "no maximum, lower ends"
    yield f"people, all rows, {promise}: cells", partial(by_seed, make, cells)
    yield f"people, all rows, {promise}: sums", partial(by_seed, make, sums_over_periods)


def release_of_flows(data: Any, groups: gc.Groups, seed: int, **options: Any) -> Any:
    """Return a table of flows."""
    return gc.release_flows(data, groups, seed=seed, **{"epsilon": 1.0} | options)


def rows() -> Iterator[tuple[str, Releases]]:
    """Yield tables of rows: cells of two levels, sums over periods, measured margins."""
    data, frame = rows_of_people(2)
    for name, options in (
        ("laplace", {}),
        ("gaussian", {"delta": 1e-6, "workload": gc.FlowWorkload(noise="gaussian")}),
        ("measured margins", {"measure_margins": True}),
    ):
        make = partial(release_of_flows, data, zones(), privacy_unit="row", **options)
        try:
            truth = counts_of(frame, make(0).to_frame())
        except gc.errors.ParameterError:  # margins that gain nothing are refused
            make = partial(make, epsilon=0.1)
            truth = counts_of(frame, make(0).to_frame())

        def cells(flows: Any, truth: Any = truth) -> Misses:
            table = flows.to_frame()
            return missed(table["low"], table["high"], truth)

        def year(flows: Any) -> Misses:
            answers = [flows.between(zone, ZONES[0], "zone") for zone in ZONES[1:]]
            counts = [((frame["from"] == z) & (frame["to"] == ZONES[0])).sum() for z in ZONES[1:]]
            low, high = np.array([answer.interval for answer in answers]).T
            return missed(low, high, np.array(counts))

        yield f"flows of rows, {name}: cells of two levels", partial(by_seed, make, cells)
        yield f"flows of rows, {name}: sums over months", partial(by_seed, make, year)


def graph_and_cuts(n: int) -> tuple[gc.Graph, gc.Groups, list[gc.CutQuery]]:
    """Return four communities, and cuts of halves, communities and vertices."""
    random = np.random.default_rng(n)
    labels = np.arange(n) * 4 // n
    chances = np.where(labels[:, None] == labels, 0.5, 0.05)
    first, second = np.nonzero(np.triu(random.random((n, n)) < chances, 1))
    graph = gc.Graph(first, second, vertices=n)
    sides = [random.random(n) < 0.5 for _ in range(4)]
    sides += [labels == label for label in range(4)] + [np.arange(n) == v for v in range(4)]
    cuts = [gc.CutQuery(side, ~side) for side in sides]
    return graph, gc.Groups(graph.vertices, {"community": labels.tolist()}), cuts


def releases() -> Iterator[tuple[str, Releases]]:
    """Yield releases of graphs: lists of answers, with and without groups, and sparse ones."""
    for n, name, options in (
        (64, "release, list", {"fit": "none"}),
        (64, "release with groups, list", {"fit": "none", "groups": True}),
        (64, "release, shrunk list", {"fit": "maximum-entropy"}),
        (200, "sparse release with groups", {"mechanism": "sparse", "groups": True}),
    ):
        graph, groups, cuts = graph_and_cuts(n)
        truth = np.array([cut.value(graph) for cut in cuts])
        release_options = dict(options) | ({"groups": groups} if options.get("groups") else {})
        shrunk = "shrunk" in name

        def make(
            seed: int, graph: gc.Graph = graph, release_options: dict[str, Any] = release_options
        ) -> Any:
            return gc.release_graph(graph, epsilon=2.0, seed=seed, **release_options)

        def answers(release: Any, cuts: Any = cuts, truth: Any = truth, s: bool = shrunk) -> Misses:
            options = {"estimate": "shrunk"} if s else {}
            low, high = np.array(
                [answer.interval for answer in release.answer_all(cuts, **options)]
            ).T
            return missed(low, high, truth)

        yield name, partial(by_seed, make, answers)


def main(quick: bool) -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    table = Table("release:<52 items:>6 runs:>6 mean:>8.4f worst:>8.4f limit:>8.4f")
    kinds = [*rows(), *people(known_max=KNOWN_MAX, epsilon=2.0), *people(epsilon=2.0), *releases()]
    count = QUICK_RUNS if quick else RUNS
    for name, release in kinds:
        shares = np.mean([release(seed) for seed in range(1, count + 1)], axis=0)
        limit = 0.05 + 3 * math.sqrt(0.05 * 0.95 / count)
        table.row(name, len(shares), count, shares.mean(), shares.max(), limit)


if __name__ == "__main__":
    run(main, __doc__)
