"""`release_graph` and `release_flows`: options become a job, noise is drawn once, a fit ends it.

A release of a graph is one of noisy pairs, or a sparse one, which costs the edges of a graph and
not its pairs. What either takes of a machine is told from public numbers, before anything is spent.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

from graphcuts_dp.errors import AccuracyWarning, GraphError, ParameterError
from graphcuts_dp.estimate.measurement import (
    CellSums,
    Degrees,
    Measurements,
    Total,
    counted_by,
    counts_in_parts,
)
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix, accuracy_warning, expected_error_note
from graphcuts_dp.estimate.strategy import (
    ALL_LEVELS,
    FlowWorkload,
    choose_strategy,
    least_cell_note,
    level_errors,
    noise_warning,
)
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, from_parts_on, from_rows_on
from graphcuts_dp.graph.rows import (
    PrivateData,
    Rows,
    bounded_graph,
    counted_rows,
    paired_graph,
    reach_of,
    without_rows,
)
from graphcuts_dp.io.edge_store import EdgeParts
from graphcuts_dp.learn.bounds import degrees_needed, epsilon_needed, root_and_side, size_of
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.measure.cells import (
    cell_tree,
    changes_on,
    grid_of_cells,
    grid_of_rows,
    measure_cells,
    sides_of_groups,
)
from graphcuts_dp.measure.entries import distribution_for
from graphcuts_dp.options import chosen
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.pairs.vertices import Space, vertex_sets
from graphcuts_dp.privacy.composition import Cost, stated_cost
from graphcuts_dp.privacy.guarantee import EDGE, Protect, exact_epsilon
from graphcuts_dp.privacy.noise import EntropySource
from graphcuts_dp.release.job import Job, execute
from graphcuts_dp.release.measuring import (
    LEAST_EPSILON,
    least_distribution,
    measure,
    measure_sparse,
    promise,
    sparse_distribution,
)
from graphcuts_dp.release.shares import (
    AUTO,
    RESPONSE,
    RESPONSES,
    SPARSE,
    SPLIT,
    Response,
    group_plan,
)
from graphcuts_dp.resources import Progress, memory_limit, silent
from graphcuts_dp.results.flows import Flows
from graphcuts_dp.results.release import Release
from graphcuts_dp.synth.base import FitMethod, FitProblem, FitSummary, what_could_show
from graphcuts_dp.synth.finishing import finished_fit, row_parts, weights_of, whole_weights
from graphcuts_dp.synth.methods import Fitting
from graphcuts_dp.synth.sampling import sample_edges
from graphcuts_dp.synth.sparse_fit import fit_sparse


def release_graph(
    graph: PrivateData,
    *,
    epsilon: float,
    noise: str | None = None,
    mechanism: str | Response = "auto",
    groups: Groups | tuple[Groups, Groups] | None = None,
    fit: str | FitMethod | Fitting = "auto",
    protect: str | Protect = "edges",
    store: PathLike | Store | None = None,
    seed: int | None = None,
    progress: Progress = silent,
) -> Release:
    """Release a synthetic graph whose cuts are near those of a private one.

    Args:
        graph: the private graph, or rows with owners, at least two vertices (one on each side if
            bipartite).
        epsilon: privacy parameter, for whom `protect` names, in [1e-6, 50]; all of it is spent.
        noise: "binary" (flipped bits, least error; the default, for graphs without weights),
            "laplace" (the default of graphs with weights) or "discrete-laplace" (weights are
            rounded down to whole numbers).
        mechanism: how epsilon is spent: "auto", "response", "degrees+response" or "sparse", perhaps
            with options, as in "sparse:degree-share=.3", or a `Response`, which holds them.
        groups: public groups of the vertices (of a bipartite graph a pair, left and right), which
            come out with the release. A twentieth to a quarter of epsilon buys noisy sums between
            them, by `group_share`; a sixth of that first, and the rest, which makes the same sums
            finer, only where it shows that the groups tell more of the graph than its degrees do.
            The fit "maximum-entropy" holds
            the graph to these sums, and answers use them. Of nested levels the finest with at most
            256 groups counts. Beyond epsilon of about 6 entries alone tell sums as well.
        fit: how the synthetic graph is fitted: "auto", "maximum-entropy", "first-order",
            "cutting-plane", "game", "spectral" or "none", perhaps with options, as in
            "first-order:time-limit=60"; an object that satisfies `FitMethod`, or a `Fitting`, which
            holds such options.
        protect: whom the promise is for: "edges", or a `Protect`. Where k edges may change
            together, each has a k-th of epsilon; of an owner so many pairs, rows or units count,
            see `Rows.bounded`.
        store: path of the store, or a `Store`, that remembers what was spent on this graph: the
            release is charged to it, and refused if its budget does not allow it. None for a graph
            of which nothing else is ever released.
        seed: makes the run repeatable and voids the promise; None for the system's entropy. All
            noise is the same on every machine; the last digits of the fit depend on the processor.
        progress: called with the fraction done and a message.

    Returns:
        A `Release`. Its synthetic graph has weights in [0, cap], rounded to four decimals, if the
        private one has weights, and none if not; `Release.expected` has those of the fit.

    Raises:
        ParameterError: an option out of range, or options that do not fit together.
        GraphError: fewer than two vertices, or more than the memory here is enough for; groups of
            other vertices, or more than 256 on every level.
        BudgetError: the budget of the store does not allow the release. Nothing was spent.
        LedgerError: the store cannot be used.

    Warns:
        AccuracyWarning: before anything is spent, when no graph of this size can hold cuts above
            the expected error; afterwards, when the noisy matrix shows communities so near to its
            noise that the synthetic graph may have merged some, or none (`FitSummary.warning`).

    Guarantee: epsilon-DP at edge level: see `measure`, which draws all noise; the rest is computed
    from what it returns. Neighbours: graphs on the same public vertices that differ in one pair, or
    in `Protect.edges(k)` of them, by group privacy.
    Accuracy: with the default confidence, ||x - A||_C (matrix form) is at most
    `worst_cut_error_bound` of the release, and at most 2.01 times `noise_cut_bound` with the
    maximum-entropy fit: where ||x - z||_C is not proven to be within that bound, x is mixed with
    the first-order fit until it is, as far as that itself and the time limit allow. See each fit
    for its own statement.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> release = gc.release_graph(club, epsilon=4.0)
        >>> release.graph  # synthetic, and may be published
        Graph(n=34)
        >>> low, high = release.answer([0, 1, 2]).interval  # holds with the default confidence

    Source: GRU12 section 6, Lemma 6.2.
    """
    job = graph_job(
        graph,
        epsilon=epsilon,
        noise=noise,
        mechanism=mechanism,
        groups=groups,
        fit=fit,
        protect=protect,
    )
    return execute(job, graph, store=store, seed=seed, progress=progress)


def graph_job(
    data: PrivateData,
    *,
    epsilon: float,
    noise: str | None = None,
    mechanism: str | Response = "auto",
    groups: Groups | tuple[Groups, Groups] | None = None,
    fit: str | FitMethod | Fitting = "auto",
    protect: str | Protect = "edges",
    fitted: bool = True,
) -> Job[Release]:
    """What `release_graph` does with these options, told beforehand. Reads the schema alone.

    With `fitted` False the result has no synthetic graph.

    Raises:
        ParameterError, GraphError: as `release_graph`.
    """
    empty = without_rows(data)
    del data  # nothing below can reach it
    response = chosen(mechanism, RESPONSES, "mechanism")
    if not isinstance(response, Response):
        raise ParameterError(f"mechanism is a name or a Response, not {mechanism!r:.60}")
    fitting = fit if isinstance(fit, Fitting) else Fitting.of(fit)
    graph, whom = paired_graph(empty, protect, at_most=None, epsilon=epsilon)
    each = whom.per_step(epsilon)
    cost = whom.cost(Cost.of_pure(each), epsilon=epsilon)
    release = partial(
        Job[Release],
        kind="release",
        public=empty,
        bound=partial(bounded_graph, protection=whom),
        cost=cost,
    )
    if not isinstance(graph, BipartiteGraph) and graph.n < 2:
        raise GraphError("a graph of one vertex has no pairs: there is nothing to release")
    if noise is None:
        noise = "laplace" if graph.weighted else "binary"
    plan = group_plan(graph, groups)
    cap = graph.weight_cap
    if takes_sparse(graph.shape, response, fitting, noise=noise, weight_cap=cap):
        _check_sparse(fitting, each)
        pairs = sparse_distribution(graph, noise, each)
        return release(
            parameters={"noise": pairs.name, "mechanism": SPARSE},
            guarantee=promise(graph, cost, whom, groups=plan is not None),
            measure=lambda private, source, progress: measure_sparse(
                private,
                epsilon=each,
                noise=noise,
                source=source,
                groups=plan,
                degree_share=response.share,
                progress=progress,
            ).protected(whom, epsilon=epsilon),
            finish=lambda measurements, _, source, progress: sparse_release(
                measurements,
                graph.space,
                weight_cap=cap,
                weighted=graph.weighted,
                whole=pairs.unit == 1,
                with_graph=fitted and fitting.fit != "none",
                source=source,
                progress=progress,
            ),
            told=lambda: sparse_notes(graph.shape, asked=response.mechanism == SPARSE),
        )
    method = fitting.method(cap)
    check_size(graph.shape, noise=noise, fit=method is not None)
    distribution = distribution_for(graph, noise, each)
    response = _suited(response, method)
    least = least_distribution(graph, noise, each, response, plan)
    return release(
        parameters={"noise": noise, "mechanism": response.mechanism},
        guarantee=promise(graph, cost, whom, groups=plan is not None),
        measure=lambda private, source, _: measure(
            private, epsilon=each, noise=noise, response=response, source=source, groups=plan
        ).protected(whom, epsilon=epsilon),
        finish=lambda measurements, _, source, progress: _post_process(
            measurements,
            method if fitted else None,
            time_limit=fitting.time_limit,
            weighted=graph.weighted,
            source=source,
            progress=progress,
        ),
        warning=accuracy_warning(distribution, *vertex_sets(graph.space), steps=whom.steps),
        told=lambda: (
            "Weights are rounded down to whole numbers."
            if noise == "discrete-laplace" and graph.weighted
            else None,
            expected_error_note(least, graph.shape),
            None
            if graph.weighted or method is None
            else communities_note(graph, float(each), noise=noise),
            size_note(graph.shape, noise=noise, fit=method is not None),
        ),
    )


def _suited(response: Response, method: FitMethod | None) -> Response:
    """What a fit can use: "response" for "auto" with fits that know no degrees.

    Raises:
        ParameterError: degrees for a fit that does not use them.
    """
    if method is not None and method.uses_degrees:
        return response
    if response.mechanism == SPLIT or response.degree_share is not None:
        raise ParameterError("noisy degrees are used by fit='maximum-entropy' only")
    return replace(response, mechanism=RESPONSE)


def communities_note(
    graph: AnyGraph, epsilon: float, *, noise: str, guess: float | None = None, steps: int = 1
) -> str | None:
    """Whether a synthetic graph can show communities, and single edges.

    From the vertex sets, epsilon and a public guess of the number of edges: m itself is private.

    Args:
        graph: of the schema, without weights.
        epsilon: privacy of one edge.
        noise: of the entries.
        guess: of the number of edges; without it the degrees that it takes are told.
        steps: how many edges share the epsilon that a user names.
    """
    size, flips = size_of(Universe.of(graph)), noise == "binary"
    if guess is not None:
        _, side = root_and_side(size)
        needed = epsilon_needed(size, guess * side, flips=flips)
        if epsilon >= needed:
            return None
        return (
            "A synthetic graph of so many edges will have no communities: "
            f"{what_could_show(steps * needed)} them."
        )
    if not flips:  # that of flipped bits with the same deviation
        epsilon = 2 * math.asinh(epsilon / (2 * math.sqrt(2)))
    communities, edges = degrees_needed(size, epsilon=epsilon)
    if communities > math.sqrt(math.prod(graph.shape)):
        return (
            "No graph of so few vertices has communities that show in the synthetic graph at this "
            "epsilon: raise it, or give public groups."
        )
    return (
        "Communities show in the synthetic graph from an average degree of about "
        f"{communities:,.3g} on, single edges from {edges:,.3g} on; graphcuts-dp plan tells more."
    )


def _post_process(
    measurements: Measurements,
    method: FitMethod | None,
    *,
    time_limit: float | None,
    weighted: bool,
    source: EntropySource,
    progress: Progress,
) -> Release:
    noisy = Release(measurements=measurements).noisy
    home = replace(noisy, blocks=noisy.blocks.copy())
    values = (home if value is noisy else value for value in measurements.values)
    kept = replace(measurements, values=tuple(values))
    if method is None:
        return Release(measurements=kept)
    cap = math.inf if noisy.distribution.weight_cap is None else noisy.distribution.weight_cap
    problem = FitProblem(
        noisy.blocks,
        cap,
        measurements.find(Degrees),
        measurements.find(Total),
        measurements.find(CellSums),
    )
    made, certificate, summary = finished_fit(
        method,
        problem,
        home,
        time_limit=time_limit,
        weighted=weighted,
        source=source,
        progress=progress,
    )
    if summary.directions == 0:
        degree = float(made.expected.sum()) / math.sqrt(math.prod(noisy.shape))
        summary = replace(summary, shown_from=_shown_from(measurements, noisy, degree))
    if summary.warning is not None:
        # Where warnings are errors, what was paid for must not be lost.
        with suppress(AccuracyWarning):
            warnings.warn(summary.warning, AccuracyWarning, stacklevel=6)
    graph = from_rows_on(
        noisy.space,
        (weights_of(rows, cap) for rows in row_parts(made.matrix)),
        weighted=weighted,
        weight_cap=noisy.distribution.weight_cap if weighted else None,
        note=measurements.guarantee.warning,
    )
    weights = None if weighted else whole_weights(made.expected)
    return Release(
        measurements=kept, fit=summary, certificate=certificate, _graph=graph, _weights=weights
    )


def _shown_from(measurements: Measurements, noisy: NoisyMatrix, degree: float) -> float | None:
    """The epsilon of a user at which all of it on the entries could show communities.

    Post-processing: a direction is at most as strong as the average degree, which the synthetic
    graph has from noisy data. None where what was spent would do: there were none to see, it seems,
    or they are weaker.
    """
    spent = float(sum(part.epsilon for part in measurements.values))
    needed = epsilon_needed(
        noisy.shape,
        degree / (noisy.distribution.weight_cap or 1.0),
        flips=noisy.distribution.name == "binary",
    )
    if not spent < needed < math.inf:
        return None
    return needed * measurements.guarantee.epsilon / spent


_MANY_VERTICES = 2000  # of weights without a cap
_SUMMARY = FitSummary(
    method=SPARSE, objective="posterior of kept edges and residual degrees", rounds=0
)


def takes_sparse(
    shape: tuple[int, int],
    response: Response,
    fitting: Fitting,
    *,
    noise: str,
    weight_cap: float | None,
) -> bool:
    """Whether a release is a sparse one: asked for, or "auto" where the dense one is no way.

    From public numbers alone, so that it can be told before anything is spent: "auto" takes it
    where the noisy matrix and its fit need more memory than there is here, and where weights have
    no cap on 2000 vertices or more, where the noise of n^2/2 pairs hides every cut but those
    between heavy pairs, which kept edges hold as well.

    Args:
        shape: rows and columns.
        response: how epsilon is spent.
        fitting: a fit that is asked for is one of a noisy matrix.
        noise: of the entries.
        weight_cap: of the graph.
    """
    if response.mechanism == SPARSE or not may_be_sparse(response, fitting):
        return response.mechanism == SPARSE
    if weight_cap is None and max(shape) >= _MANY_VERTICES:
        return True
    limit = memory_limit()
    return limit is not None and needed_memory(shape, noise=noise, fit=True) > limit


def may_be_sparse(response: Response, fitting: Fitting) -> bool:
    """Whether a graph that is too large for a noisy matrix can be released all the same."""
    return response.mechanism == SPARSE or (response.mechanism, fitting.fit) == (AUTO, "auto")


def sparse_notes(shape: tuple[int, int], *, asked: bool) -> tuple[str, ...]:
    """What a user is told before a sparse release: from public numbers alone.

    Args:
        shape: rows and columns.
        asked: whether the user chose the mechanism.
    """
    size = " x ".join(f"{side:,}" for side in sorted(set(shape)))
    chosen = (
        f"{size} vertices are released sparsely (--mechanism sparse): the noisy matrix of all "
        "pairs would not fit here, or would hide all but the heaviest edges."
    )
    what = (
        "Released are edges whose noisy weight is large, degrees and sums between groups; without "
        "large weights, degrees and groups alone."
    )
    return (what,) if asked else (chosen, what)


def _check_sparse(fitting: Fitting, epsilon: float | Fraction) -> None:
    """Refuse what a sparse release has no use for, and an epsilon that cannot be divided.

    Raises:
        ParameterError: one of these.
    """
    given = {
        "fit": fitting.fit not in ("auto", "none"),
        "oracle": fitting.oracle != Fitting().oracle,
    }
    for name, is_given in given.items():
        if is_given:
            raise ParameterError(f"{name} is not for mechanism='sparse': leave it out")
    if exact_epsilon(epsilon) < LEAST_EPSILON:
        raise ParameterError(
            f"mechanism='sparse' divides epsilon, which must be {LEAST_EPSILON:g} at least"
        )


def sparse_release(
    measurements: Measurements,
    space: Space,
    *,
    weight_cap: float | None,
    weighted: bool,
    whole: bool,
    with_graph: bool,
    source: EntropySource,
    progress: Progress,
) -> Release:
    """The release made of measurements: model and synthetic graph. Reads noisy data alone.

    Args:
        measurements: all that was bought.
        space: public vertex set, or both.
        weight_cap: public largest weight, or None.
        weighted: public: whether edges have weights.
        whole: whether weights are whole numbers.
        with_graph: whether a synthetic graph is wanted.
        source: seeds the ordinary generator that draws the synthetic graph.
        progress: called with the fraction done.
    """
    progress(0.6, "fitting")
    model = fit_sparse(measurements, space, weight_cap=weight_cap, whole=whole)
    if not with_graph:
        return Release(measurements=measurements, _model=model)
    progress(0.8, "drawing the synthetic graph")
    seed = int.from_bytes(source.bytes(8).tobytes(), "little")
    (rows, columns), weights = sample_edges(model, np.random.default_rng(seed), weighted=weighted)
    parts = EdgeParts(rows, columns, weights if weighted else None, owned=True)
    del rows, columns, weights
    graph = from_parts_on(
        model.space,
        parts,
        merge="max",  # each pair is there once
        weight_cap=model.weight_cap if weighted else None,
        note=measurements.guarantee.warning,
    )
    progress(1.0, "done")
    return Release(measurements=measurements, fit=_SUMMARY, _graph=graph, _model=model)


# Bytes for each entry of the matrix (n^2; left times right) that a release takes at least. Peaks of
# ru_maxrss in processes of their own, less what they took after reading the graph (10 n edges,
# epsilon = 1, two threads), in MB for n = 1000, 2000, 4000, 8000. Binary noise: with the default
# fit, and rounded to 0 and 1, 120, 280, 629, 2256 (at last 33.9 bytes an entry), without a fit 26,
# 29, 32, 34. Laplace noise of weights with a cap: 124, 325, 626 and -; without a fit -, -, 246, 814
# (at last 11.8). No estimate is above a peak.
_BITS, _STEPS = 0.25, 8.0
_ROUNDED, _FIT = 30.0, 20.0
_SECONDS = 1.6e-6  # for each entry, on two cores: 7 s for n = 2000, 23 s for 4000
_LONG = 60.0  # seconds, and
_LARGE = 1e9  # bytes, from which it is worth a note


def needed_memory(shape: tuple[int, int], *, noise: str, fit: bool) -> float:
    """Bytes that a release needs beside the graph; at least, for large graphs.

    Args:
        shape: rows and columns of the matrix.
        noise: of the entries.
        fit: whether a synthetic graph is made.
    """
    each, made = (_BITS, _ROUNDED) if noise == "binary" else (_STEPS, _FIT)
    return shape[0] * shape[1] * (each + (made if fit else 0.0))


def check_size(shape: tuple[int, int], *, noise: str, fit: bool) -> None:
    """Refuse a release that cannot end here. Reads public numbers, and what the machine has.

    Args:
        shape: rows and columns of the matrix.
        noise: as for `release_graph`.
        fit: whether a synthetic graph is made.

    Raises:
        GraphError: it needs more memory than this process can ever have.
    """
    limit = memory_limit()
    needed = needed_memory(shape, noise=noise, fit=fit)
    if limit is None or needed <= limit:
        return
    ways = ["answer single cuts in a session (open_session, or graphcuts-dp session start)"]
    if fit and needed_memory(shape, noise=noise, fit=False) <= limit:
        ways.append("release the noisy matrix alone (fit 'none')")
    ways.append("release a smaller graph")
    size = " x ".join(f"{side:,}" for side in sorted(set(shape)))
    raise GraphError(
        f"a release of {size} vertices needs about {_gigabytes(needed)} of memory, and "
        f"{_gigabytes(limit)} are all there is here; nothing was spent: {', or '.join(ways)}"
    )


def size_note(shape: tuple[int, int], *, noise: str, fit: bool) -> str | None:
    """What a large release will take, for the user, before anything is spent."""
    if not fit:
        return None
    seconds = _SECONDS * shape[0] * shape[1]
    needed = needed_memory(shape, noise=noise, fit=True)
    if seconds < _LONG and needed < _LARGE:
        return None
    minutes = f"{seconds / 60:,.0f} minutes" if seconds < 7200 else f"{seconds / 3600:,.0f} hours"
    return f"Takes about {minutes} on two cores, and {_gigabytes(needed)} of memory."


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:,.3g} GB"


def release_flows(
    graph: PrivateData,
    groups: Groups | tuple[Groups, Groups],
    *,
    epsilon: float,
    delta: float = 0.0,
    by: str | Sequence[str] | None = None,
    workload: str | FlowWorkload = ALL_LEVELS,
    protect: str | Protect | None = None,
    store: PathLike | Store | None = None,
    seed: int | None = None,
) -> Flows:
    """Release what passes between public groups, for all cells of all levels and periods.

    Args:
        graph: the private graph, or rows, of which those whose ends are equal count, too.
        groups: the public groups of its vertices; of a bipartite graph a pair, left and right,
            with the same number of levels. They come out with the table, so they must be public,
            and not made from the edges.
        epsilon: privacy parameter, for whom `protect` names, in [1e-6, 50]; all of it is spent.
        delta: in [0, 1); 0 for pure privacy. Above 0 the noise may be Gaussian, where many levels
            pay for it.
        by: of rows with periods: a table for each "day", "month", "quarter" or "year"; or several
            of these, from the coarsest to the finest, over which the budget is divided. None for
            the periods that were declared.
        workload: what should be accurate: "all levels" (every level counts alike), "all cells"
            (every cell of every level counts alike, so that the finest level counts most), "totals"
            (the grand total), or the name of a level; or a `FlowWorkload`, which also says how
            cells are counted, and what you expect in one.
        protect: whom the promise is for: "edges", "rows", or a `Protect`; None for the edges of a
            graph, or for rows as they count ("edges" of `counting="edges"`); rows with weights
            need `Protect.rows(at_most)`, whose bound cuts each. Of an owner so many pairs,
            rows or units count, see `Rows.cells`: in all periods together, or, if `per_period`, in
            each. Of a vertex with degree bound D, each cell of the finest level is the largest
            weight that its edges can keep if no vertex keeps more than D of it in this cell (see
            `graph.bounded_sums`): the true one if no vertex has more than D there, never above it;
            other levels are sums of these. Intervals are for this bounded table. The noise of a
            cell grows with D and with the number of groups.
        store: path of the store, or a `Store`, that remembers what was spent on this graph: the
            flows are charged to it, and refused if its budget does not allow them. None for a
            graph of which nothing else is ever released.
        seed: makes the run repeatable and voids the promise; None for the system's entropy.

    Raises:
        ParameterError: an option out of range; weights whose bound nobody has given (of a vertex
            they need none); noise that would hide the cells of the finest level, see
            `FlowWorkload.expected_cell`. Nothing was spent.
        GraphError: groups of other vertices, or that can hold no pair.
        BudgetError: the budget of the store does not allow it. Nothing was spent.
        LedgerError: the store cannot be used.

    Guarantee: epsilon-DP, or (epsilon, delta)-DP, at edge level: `measure_cells` draws all noise,
    at a cost that is added up from its scales before any is drawn; which levels and shares there
    are is chosen from public sizes; the rest is computed from the noisy sums. Neighbours: graphs on
    the same public vertices that differ in one pair, or in `Protect.edges(k)` of them, or in all
    edges of one vertex (proof in `bounded_changes`). With `whole` or a fine grid the sums are
    those of weights rounded down, and intervals of the fine grid allow for it. Of rows neighbours
    differ in one row, or in all rows of one owner, and each row lies in one period: so every
    period has all of epsilon, and all tables together have epsilon. With a bound for each period
    neighbours differ in the rows of one owner in one period.

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
        by=by,
        workload=workload,
        protect=protect,
    )
    return execute(job, graph, store=store, seed=seed)


def whom_of(data: PrivateData, protect: str | Protect | None) -> Protect:
    """Whom a table of flows protects: as asked for, or what suits the data. Reads the schema.

    Raises:
        ParameterError: no such protection, or weights of rows whose bound nobody has given.
    """
    if protect is None and isinstance(data, Rows) and data.counting == "weight" and not data.owned:
        raise ParameterError(
            "say how many units of the weight of a row count, since what is above is left out: "
            "pass protect='rows:at-most=50'"
        )
    if protect is None:
        rows = isinstance(data, Rows) and data.counting != "edges"
        return Protect.rows() if rows else EDGE
    return Protect.of(protect)


def flows_job(
    data: PrivateData,
    groups: Groups | tuple[Groups, Groups],
    *,
    epsilon: float,
    delta: float = 0.0,
    by: str | Sequence[str] | None = None,
    workload: str | FlowWorkload = ALL_LEVELS,
    protect: str | Protect | None = None,
) -> Job[Flows]:
    """What `release_flows` does with these options, told beforehand. Reads the schema alone.

    Raises:
        ParameterError, GraphError: as `release_flows`.
    """
    empty, exact = without_rows(data), exact_epsilon(epsilon)
    del data  # nothing below can reach it
    protect, reach = whom_of(empty, protect), reach_of(empty)
    work = FlowWorkload.of(workload)
    whole = work.whole
    sides = sides_of_groups(empty, groups)
    cells = cell_tree(empty, sides, by)
    protect.per_step(exact)  # refuses what would leave too little
    if isinstance(empty, Rows):
        # Rows that are not scaled down lose nothing by whole steps.
        whole = whole or not counts_in_parts(empty.counting, protect)
        bound: Callable[[Any], Any] = partial(counted_rows, protection=protect, whole=whole, by=by)
        grid = grid_of_rows(whole=whole, unit=empty.unit)
    else:
        bound = partial(bounded_graph, protection=protect)
        grid = grid_of_cells(
            empty,
            epsilon=float(exact),
            whole=whole,
            protection=protect,
            groups=sum(cells.shape(cells.depth - 1)),
        )
    bound(empty)  # refuses what cannot be promised
    changes = changes_on(grid, cells, protect, reach)
    choose = partial(
        choose_strategy,
        cells,
        delta=delta,
        changes=changes,
        workload=work.accurate,
        noise=work.noise,
    )
    strategy = choose(epsilon=exact)
    warning = noise_warning(
        cells,
        choose,
        strategy,
        epsilon=exact,
        unit=grid.unit,
        weighted=empty.weighted,
        expected=work.expected_cell,
    )
    places, names = strategy.places, ("total", *cells.levels)
    built = strategy.noise.cost(delta=delta, changes=[changes[place] for place in places])
    cost = stated_cost(built, epsilon=epsilon, delta=delta)
    guarantee = promise(empty, cost, protect, groups=True)
    degree_bound = protect.degree_bound
    parts: tuple[tuple[str, float], ...] = ()
    if strategy.noise.distribution == "laplace" and len(places) > 1:
        shares = zip(places, strategy.shares, strict=True)
        parts = tuple((names[p], float(share * exact)) for p, share in shares)
    expected = cache(partial(level_errors, cells, strategy, unit=grid.unit))
    return Job(
        kind="flows",
        public=empty,
        bound=bound,
        parameters={
            "workload": work.accurate,
            "levels": [names[p] for p in places],
            **({} if degree_bound is None else {"degree_bound": degree_bound}),
        },
        cost=cost,
        guarantee=guarantee,
        periods=empty.periods.labels if isinstance(empty, Rows) and empty.periods else None,
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
        finish=lambda noisy, promised, *_: Flows(
            noisy=noisy, strategy=strategy, guarantee=replace(promised, parts=parts)
        ),
        warning=warning,
        told=lambda: (
            *(each.note for each in expected()),
            least_cell_note(cells, strategy, unit=grid.unit, counted=counted_by(empty.counting))
            if isinstance(empty, Rows) and empty.weighted and work.expected_cell is None
            else None,
        ),
        errors=lambda: tuple(
            (f"a cell of level {each.level!r}", each.within) for each in expected()[::-1]
        ),
    )
