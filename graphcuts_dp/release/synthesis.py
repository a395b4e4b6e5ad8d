"""How a release is made: noise once, then a fit to it."""

import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from graphcuts_dp.errors import AccuracyWarning, GraphError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, Graph
from graphcuts_dp.privacy.entropy import SEEDED_WARNING, EntropySource, entropy_source
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.release.blocks import LocalBlocks
from graphcuts_dp.release.certify import certify, weights_of
from graphcuts_dp.release.dask_blocks import DaskBlocks, dask_client
from graphcuts_dp.release.fits.base import (
    FitMethod,
    FitProblem,
    FitSummary,
    Progress,
    silent,
)
from graphcuts_dp.release.fits.cutting_plane import CuttingPlane
from graphcuts_dp.release.fits.first_order import FirstOrder
from graphcuts_dp.release.fits.spectral import Spectral
from graphcuts_dp.release.noisy_matrix import NoisyMatrix
from graphcuts_dp.release.randomized_response import (
    MakeBlocks,
    accuracy_warning,
    guarantee_of,
    law_for,
    randomized_response,
)
from graphcuts_dp.release.release import Release
from graphcuts_dp.release.rounding import round_entries

FITS = ("auto", "cutting-plane", "first-order", "spectral", "none")
PLACES = ("local", "dask")
ORACLES = ("cut-norm", "spectral")
_ROW_ENTRIES = 1 << 20  # entries of the synthetic matrix turned into edges at a time
_CUTTING_PLANE_PAIRS = 64 * 63 // 2  # up to here the linear program takes about a second


def release_graph(
    graph: AnyGraph,
    *,
    epsilon: float,
    noise: str = "binary",
    fit: str = "auto",
    oracle: str = "cut-norm",
    unweighted: bool = False,
    seed: int | None = None,
    time_limit: float | None = None,
    blocks: str = "local",
    progress: Progress = silent,
) -> Release:
    """Release a synthetic graph whose cuts are near those of a private one.

    Args:
        graph: the private graph, at least two vertices (one on each side if bipartite).
        epsilon: privacy parameter for one edge, in [1e-6, 50]; all of it is spent.
        noise: "binary" (graphs without weights: flipped bits, least error), "laplace" or
            "discrete-laplace" (weights are rounded down to whole numbers).
        fit: "cutting-plane" (linear program, to about 150 vertices), "first-order" (to
            thousands), "spectral" (least spectral norm, as GRU12 section 6.2; a reference), "none"
            (only the noisy matrix), or "auto": cutting-plane to 64 vertices, else first-order.
        oracle: separation oracle of the cutting-plane fit, "cut-norm" or "spectral".
        unweighted: round the synthetic graph to one without weights; adds error.
        seed: makes the run repeatable and voids the promise; None for the system's entropy.
        time_limit: seconds after which the fit returns its best point; None for no limit.
        blocks: where the noisy matrix lives while the fit runs: "local", or "dask" for the workers
            of the Dask cluster whose client was made last, which see the private edges and must
            be as trusted as this machine (see `dask_blocks`).
        progress: called with the fraction done and a message.

    Returns:
        A `Release`. Its synthetic graph has weights in [0, cap], rounded to four decimals.

    Raises:
        ParameterError: an option out of range, or binary noise for weights.
        GraphError: fewer than two vertices.

    Warns:
        AccuracyWarning: before anything is spent, when no graph of this size can hold cuts above
            the expected error.

    Guarantee: epsilon-DP at edge level. The noisy matrix is (see `randomized_response`); all the
    rest is computed from it. Neighbours: graphs on the same public vertices that differ in one
    pair. Accuracy: with ||A - z||_C the cut norm of the noise, ||x - A||_C <= 2 ||A - z||_C/(1-gap)
    for the cutting-plane fit before rounding; see each fit for its own statement.
    Source: GRU12 section 6, Lemma 6.2.
    """
    left, right = _sides(graph)
    law = law_for(graph, noise, epsilon)
    method = _fit_method(graph, fit, oracle, time_limit)
    source = entropy_source(seed)
    make_blocks = _maker_of_blocks(blocks)
    if unweighted and (graph.weighted or fit == "none"):
        raise ParameterError("unweighted=True needs a graph without weights and a fit")
    warning = accuracy_warning(law, left, right)
    if warning is not None:
        warnings.warn(warning, AccuracyWarning, stacklevel=2)

    noisy = randomized_response(graph, law, source, make_blocks)
    guarantee = guarantee_of(law, graph, seed)
    # From here on nothing reads the private graph.
    return _post_process(noisy, guarantee, method, unweighted, source, progress)


def _post_process(
    noisy: NoisyMatrix,
    guarantee: PrivacyGuarantee,
    method: FitMethod | None,
    unweighted: bool,
    source: EntropySource,
    progress: Progress,
) -> Release:
    home = replace(noisy, blocks=noisy.blocks.fetch())
    if method is None:
        return Release(noisy=home, guarantee=guarantee, fit=None, certificate=None, _graph=None)
    cap = math.inf if noisy.law.weight_cap is None else noisy.law.weight_cap
    found = method(FitProblem(noisy.blocks, cap), progress=progress)
    matrix: npt.NDArray[np.number] = found.matrix
    if unweighted:
        matrix = round_entries(found.matrix, symmetric=noisy.symmetric, source=source)
    progress(1.0, "certifying")
    return Release(
        noisy=home,
        guarantee=guarantee,
        fit=FitSummary.of(found, method, unweighted=unweighted),
        certificate=certify(matrix, home, cap),
        _graph=_synthetic_graph(
            (weights_of(rows, cap) for rows in _few_rows(matrix)),
            home,
            weighted=not unweighted,
            note="" if guarantee.is_private else SEEDED_WARNING,
        ),
    )


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


def _fit_method(
    graph: AnyGraph, fit: str, oracle: str, time_limit: float | None
) -> FitMethod | None:
    if fit not in FITS:
        raise ParameterError(f"unknown fit {fit!r}; choose one of {', '.join(FITS)}")
    if oracle not in ORACLES:
        raise ParameterError(f"unknown oracle {oracle!r}; choose one of {', '.join(ORACLES)}")
    if time_limit is not None and not time_limit > 0:
        raise ParameterError("time_limit must be a positive number of seconds")
    if fit == "auto":
        pairs = (
            graph.n * (graph.n - 1) // 2
            if isinstance(graph, Graph)
            else graph.shape[0] * graph.shape[1]
        )
        fit = (
            "cutting-plane"
            if pairs <= _CUTTING_PLANE_PAIRS or oracle != "cut-norm"
            else "first-order"
        )
    elif fit != "cutting-plane" and oracle != "cut-norm":
        raise ParameterError("an oracle can be chosen for fit='cutting-plane' only")
    if fit == "cutting-plane":
        return CuttingPlane(
            oracle="spectral" if oracle == "spectral" else "cut-norm", time_limit=time_limit
        )
    if fit == "first-order":
        return FirstOrder(time_limit=time_limit)
    return Spectral(time_limit=time_limit) if fit == "spectral" else None
