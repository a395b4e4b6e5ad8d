"""How a release is made: noise once, then a fit to it."""

import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import RealMatrix
from graphcuts_dp.cutnorm.certificate import CutNormCertificate
from graphcuts_dp.errors import AccuracyWarning, GraphError, ParameterError
from graphcuts_dp.fits.base import FitMethod, FitProblem, FitSummary
from graphcuts_dp.fits.certify import certify, weights_of
from graphcuts_dp.fits.cutting_plane import CuttingPlane
from graphcuts_dp.fits.first_order import FirstOrder
from graphcuts_dp.fits.game import QueryGame
from graphcuts_dp.fits.maximum_entropy import MaximumEntropy
from graphcuts_dp.fits.rounding import round_keeping_degrees
from graphcuts_dp.fits.spectral import Spectral
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, Graph
from graphcuts_dp.graph.queries import CutQuery
from graphcuts_dp.iterative.methods import IterativeOptions, release_iteratively
from graphcuts_dp.iterative.release import IterativeRelease
from graphcuts_dp.measurements.blocks import LocalBlocks
from graphcuts_dp.measurements.dask_blocks import DaskBlocks, dask_client
from graphcuts_dp.measurements.entries import MakeBlocks, accuracy_warning, law_for
from graphcuts_dp.measurements.noisy_matrix import NoisyMatrix
from graphcuts_dp.measurements.worst_case import noise_cut_bound
from graphcuts_dp.privacy.entropy import SEEDED_WARNING, EntropySource, entropy_source
from graphcuts_dp.progress import Progress, silent
from graphcuts_dp.release.allocation import NoisyData, check_mechanism, respond
from graphcuts_dp.release.release import Release

FITS = ("auto", "maximum-entropy", "first-order", "cutting-plane", "game", "spectral", "none")
PLACES = ("local", "dask")
ORACLES = ("cut-norm", "spectral")
_ROW_ENTRIES = 1 << 20  # entries of the synthetic matrix turned into edges at a time
_MARGINS = (0.001, 0.01, 0.1, 0.4)  # each try costs a certificate, a share too large costs accuracy


class IterativeArguments(TypedDict, total=False):
    """Options of mechanism="iterative-construction"; see `release_graph`."""

    delta: float
    construction: str
    distinguisher: str
    queries: Iterable[CutQuery] | None
    calibration: str
    rounds: int | None
    queries_per_round: int
    refits: int
    beta: float
    total_weight: float | None


@overload
def release_graph(  # type: ignore[overload-overlap]  # a literal is narrower than str
    graph: AnyGraph,
    *,
    epsilon: float,
    mechanism: Literal["iterative-construction"],
    seed: int | None = None,
    progress: Progress = silent,
    **iterative: Unpack[IterativeArguments],
) -> IterativeRelease: ...


@overload
def release_graph(
    graph: AnyGraph,
    *,
    epsilon: float,
    noise: str = "binary",
    mechanism: str = "auto",
    degree_share: float | None = None,
    fit: str = "auto",
    oracle: str = "cut-norm",
    unweighted: bool = False,
    seed: int | None = None,
    time_limit: float | None = None,
    blocks: str = "local",
    progress: Progress = silent,
) -> Release: ...


def release_graph(
    graph: AnyGraph,
    *,
    epsilon: float,
    noise: str = "binary",
    mechanism: str = "auto",
    degree_share: float | None = None,
    fit: str = "auto",
    oracle: str = "cut-norm",
    unweighted: bool = False,
    seed: int | None = None,
    time_limit: float | None = None,
    blocks: str = "local",
    progress: Progress = silent,
    **iterative: Unpack[IterativeArguments],
) -> Release | IterativeRelease:
    """Release a synthetic graph whose cuts are near those of a private one.

    Args:
        graph: the private graph, at least two vertices (one on each side if bipartite).
        epsilon: privacy parameter for one edge, in [1e-6, 50]; all of it is spent.
        noise: "binary" (graphs without weights: flipped bits, least error), "laplace" or
            "discrete-laplace" (weights are rounded down to whole numbers).
        mechanism: "response" (all of epsilon for the entries), "degrees+response" (a part for
            noisy degrees, which are cheap and hold most of a sparse graph's cuts), or "auto": a
            fiftieth of epsilon tells the total weight, which tells the better of the two. For the
            fit "maximum-entropy"; "auto" is "response" with any other. "iterative-construction"
            learns the graph from noisy answers to cuts that a private distinguisher finds: see
            below; it takes a seed and `progress` of the options here. As a synthetic graph it is
            worse than "auto" on all that was measured; it is for lists of `queries`, for proven
            errors on small graphs, and for comparison.
        degree_share: part of epsilon for the degrees, in (0, 1); None for 2/(2 + n^(1/4)).
        fit: "maximum-entropy" (right for all kinds of cuts), "first-order" (least worst cut error
            against the noisy matrix; worse between communities), "cutting-plane" (the same as a
            linear program, to about 150 vertices), "game" (likewise, as the game of DR14 section
            5.3.3; a reference), "spectral" (least spectral norm, as GRU12 section 6.2; a
            reference), "none" (only the noisy matrix), or "auto": maximum-entropy where weights
            have a public cap, else first-order.
        oracle: separation oracle of the cutting-plane fit, "cut-norm" or "spectral".
        unweighted: round the synthetic graph to one without weights; adds error.
        seed: makes the run repeatable and voids the promise; None for the system's entropy. All
            noise is the same on every machine; the last digits of the fit depend on the processor.
        time_limit: seconds after which the fit returns its best point; None for no limit.
        blocks: where the noisy matrix lives while the fit runs: "local", or "dask" for the workers
            of the Dask cluster whose client was made last, which see the private edges and must
            be as trusted as this machine (see `dask_blocks`).
        progress: called with the fraction done and a message.
        **iterative: of mechanism="iterative-construction" only:
            delta: in (0, 1), needed but for calibration="dr14", and for "practical" with
                "response-rank-one", which spends epsilon alone.
            construction: "multiplicative-weights", "frieze-kannan", or "mirror-descent" (its
                hypothesis stays within the weights allowed).
            distinguisher: "exponential" (over `queries`), "exact-cuts" (all cuts, up to 22
                vertices), "response-rank-one" or "power-rank-one" (no accuracy is proven; the
                latter for thousands of vertices), or "auto": the first of these that fits.
            queries: a public list of cuts, a `CutList` for very long ones.
            calibration: "practical" (all rounds are used, the error is measured), "tight" (stops
                when the result is proven to be good), or a paper's: "gru12", "dr14", "nik17"
                (which is Nik17 Alg. 1 with `queries` and multiplicative weights).
            rounds: at most so many; None for the calibration's choice.
            queries_per_round: found by the same hypothesis.
            refits: corrections by old answers after each round.
            beta: probability that the stated accuracy fails.
            total_weight: of the graph, if that is public; else a noisy value is bought.

    Returns:
        A `Release`. Its synthetic graph has weights in [0, cap], rounded to four decimals. An
        `IterativeRelease` for mechanism="iterative-construction".

    Raises:
        ParameterError: an option out of range, or options that do not fit together.
        GraphError: fewer than two vertices.

    Warns:
        AccuracyWarning: before anything is spent, when no graph of this size can hold cuts above
            the expected error.

    Guarantee: epsilon-DP at edge level: see `respond`, which draws all noise; the rest is computed
    from what it returns. (epsilon, delta)-DP for "iterative-construction": see
    `IterativeConstruction`. Neighbours: graphs on the same public vertices that differ in one pair.
    Accuracy: with probability 95 %, ||x - A||_C (matrix form) is at most `worst_cut_error_bound` of
    the release, and never more than twice `noise_cut_bound` with the maximum-entropy fit: where
    ||x - z||_C is not proven to be within that bound, x is mixed with the first-order fit until it
    is, as far as that itself is. See each fit for its own statement.
    Source: GRU12 section 6, Lemma 6.2.
    """
    if mechanism == "iterative-construction":
        changed = (noise, degree_share, fit, oracle, unweighted, time_limit, blocks)
        if changed != ("binary", None, "auto", "cut-norm", False, None, "local"):
            raise ParameterError(
                "mechanism='iterative-construction' takes no options of noise, fits or blocks"
            )
        options = IterativeOptions(**iterative)
        return release_iteratively(
            graph, epsilon=epsilon, options=options, seed=seed, progress=progress
        )
    if iterative:
        raise ParameterError(f"{min(iterative)} is for mechanism='iterative-construction'")
    left, right = _sides(graph)
    law = law_for(graph, noise, epsilon)
    method = fit_method(graph, fit, oracle, time_limit)
    mechanism = mechanism_for(method, mechanism, degree_share)
    source = entropy_source(seed)
    make_blocks = _maker_of_blocks(blocks)
    if unweighted and (graph.weighted or fit == "none"):
        raise ParameterError("unweighted=True needs a graph without weights and a fit")
    warning = accuracy_warning(law, left, right)
    if warning is not None:
        warnings.warn(warning, AccuracyWarning, stacklevel=2)

    data = respond(
        graph,
        epsilon=epsilon,
        noise=noise,
        mechanism=mechanism,
        share=degree_share,
        source=source,
        make_blocks=make_blocks,
    )
    # From here on nothing reads the private graph.
    return _post_process(data, method, unweighted, source, progress)


def _post_process(
    data: NoisyData,
    method: FitMethod | None,
    unweighted: bool,
    source: EntropySource,
    progress: Progress,
) -> Release:
    noisy = data.noisy
    home = replace(noisy, blocks=noisy.blocks.fetch())
    if method is None:
        return Release.of(replace(data, noisy=home))
    cap = math.inf if noisy.law.weight_cap is None else noisy.law.weight_cap
    problem = FitProblem(noisy.blocks, cap, data.degrees, data.total)
    found = method(problem, progress=progress)
    matrix, certificate = _finished(found.matrix, home, cap, unweighted, source, progress)
    mixed = 0.0
    if isinstance(method, MaximumEntropy):
        bound = noise_cut_bound(noisy.law, noisy.shape, symmetric=noisy.symmetric)
        if certificate.upper > bound:
            other = FirstOrder(time_limit=method.time_limit)(problem, progress=progress)
            for mixed in _shares(certificate.upper, certify(other.matrix, home, cap).upper, bound):
                x = (1 - mixed) * found.matrix + mixed * other.matrix
                matrix, certificate = _finished(x, home, cap, unweighted, source, progress)
                if certificate.upper <= bound:
                    break
    return Release.of(
        replace(data, noisy=home),
        fit=FitSummary.of(found, method, unweighted=unweighted, mixed=mixed),
        certificate=certificate,
        graph=_synthetic_graph(
            (weights_of(rows, cap) for rows in _few_rows(matrix)),
            home,
            weighted=not unweighted,
            note="" if data.guarantee.is_private else SEEDED_WARNING,
        ),
    )


def _finished(
    x: RealMatrix,
    noisy: NoisyMatrix,
    cap: float,
    unweighted: bool,
    source: EntropySource,
    progress: Progress,
) -> tuple[npt.NDArray[np.number], CutNormCertificate]:
    """The matrix of the synthetic graph, rounded if asked for, and its certificate."""
    matrix: npt.NDArray[np.number] = x
    if unweighted:
        progress(1.0, "rounding")
        matrix = round_keeping_degrees(x, symmetric=noisy.symmetric, source=source)
    progress(1.0, "certifying")
    return matrix, certify(matrix, noisy, cap)


def _shares(upper: float, least: float, bound: float) -> Iterator[float]:
    """How much of another fit may bring a mixture within a bound: to be tried in this order.

    The cut norm is convex, so a mixture is at most the line between the two fits. Its proven bound
    is so only nearly: weights are rounded, flipped for `unweighted`, and no two certificates have
    the same gap. So the aim is below the bound by a growing part of the way to `least`, and at last
    the other fit alone.

    Args:
        upper: proven bound of the fit, above `bound`.
        least: proven bound of the other fit.
        bound: what a mixture must not pass.
    """
    if least < bound:
        for margin in _MARGINS:
            yield (upper - bound + margin * (bound - least)) / (upper - least)
    yield 1.0


def mechanism_for(method: FitMethod | None, mechanism: str, share: float | None) -> str:
    """The mechanism that a fit can use: "response" for "auto" with fits that know no degrees.

    Raises:
        ParameterError: an option out of range, or degrees for a fit that does not use them.
    """
    check_mechanism(mechanism, share)
    if isinstance(method, MaximumEntropy):
        return mechanism
    if mechanism == "degrees+response" or share is not None:
        raise ParameterError("noisy degrees are used by fit='maximum-entropy' only")
    return "response"


def _maker_of_blocks(blocks: str) -> MakeBlocks:
    if blocks not in PLACES:
        raise ParameterError(f"unknown blocks {blocks!r}; choose one of {', '.join(PLACES)}")
    if blocks == "local":
        return LocalBlocks.from_pairs
    dask_client()  # refuses before anything is spent
    return DaskBlocks.from_pairs


def _few_rows(matrix: npt.NDArray[np.number]) -> Iterator[npt.NDArray[np.number]]:
    height = max(1, _ROW_ENTRIES // matrix.shape[1])
    for start in range(0, len(matrix), height):
        yield matrix[start : start + height]


def _synthetic_graph(
    parts: Iterable[npt.NDArray[np.float64]], noisy: NoisyMatrix, *, weighted: bool, note: str
) -> AnyGraph:
    cap = noisy.law.weight_cap if weighted else None
    if noisy.symmetric:
        return Graph.from_rows(
            parts, vertices=noisy.left, weighted=weighted, weight_cap=cap, note=note
        )
    return BipartiteGraph.from_rows(
        parts,
        left=noisy.left,
        right=noisy.right,
        weighted=weighted,
        weight_cap=cap,
        note=note,
    )


def _sides(graph: AnyGraph) -> tuple[Any, Any]:
    if isinstance(graph, Graph):
        if graph.n < 2:
            raise GraphError("a graph of one vertex has no pairs: there is nothing to release")
        return graph.vertices, graph.vertices
    if isinstance(graph, BipartiteGraph):
        return graph.left, graph.right
    raise GraphError("the first argument must be a Graph; build one with read_graph or from_...")


def fit_method(
    graph: AnyGraph, fit: str, oracle: str, time_limit: float | None
) -> FitMethod | None:
    """The fit of a name, or of "auto"; None for "none". Reads the schema of the graph only.

    Raises:
        ParameterError: an option out of range, or a fit that does not suit the schema.
    """
    if fit not in FITS:
        raise ParameterError(f"unknown fit {fit!r}; choose one of {', '.join(FITS)}")
    if oracle not in ORACLES:
        raise ParameterError(f"unknown oracle {oracle!r}; choose one of {', '.join(ORACLES)}")
    if time_limit is not None and not time_limit > 0:
        raise ParameterError("time_limit must be a positive number of seconds")
    if fit == "auto":
        capped = graph.weight_cap is not None
        fit = "maximum-entropy" if capped else "first-order"
        fit = "cutting-plane" if oracle != "cut-norm" else fit
    elif fit != "cutting-plane" and oracle != "cut-norm":
        raise ParameterError("an oracle can be chosen for fit='cutting-plane' only")
    if fit == "maximum-entropy":
        if graph.weight_cap is None:
            raise ParameterError(
                "fit 'maximum-entropy' needs a public largest weight: give weight_cap, or choose "
                "fit='first-order'"
            )
        return MaximumEntropy(time_limit=time_limit)
    if fit == "cutting-plane":
        return CuttingPlane(
            oracle="spectral" if oracle == "spectral" else "cut-norm", time_limit=time_limit
        )
    if fit == "first-order":
        return FirstOrder(time_limit=time_limit)
    if fit == "game":
        return QueryGame(time_limit=time_limit)
    return Spectral(time_limit=time_limit) if fit == "spectral" else None
