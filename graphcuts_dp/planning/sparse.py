"""What a sparse release will keep of a graph, before anything is spent: from public numbers alone.

With the part f of epsilon for kept edges, a pair without weight passes the threshold T with
probability e^(-f epsilon T)/(1 + e^(-f epsilon)); T is where false edges are a tenth of the m
edges, about ln(10 n^2/(2 m))/(f epsilon). Edges that weigh more are kept with their noise, edges
well below are not; so what counts is their weight against ln(n^2/m)/epsilon. Where edges are kept,
degrees have about a fifth of epsilon and errors of 2/(.2 epsilon); where none are, all of it.
"""

import math
from dataclasses import dataclass
from typing import final

from graphcuts_dp.interactive.choice import Setting

_KEPT_SHARE, _DEGREE_SHARE = 0.65, 0.21  # of epsilon, with public groups, where edges are kept
_ALL_DEGREES = 0.93  # where none are
_FALSE_SHARE = 0.1


@final
@dataclass(frozen=True, kw_only=True)
class SparseForecast:
    """What to expect of `release_graph` with mechanism "sparse".

    Attributes:
        threshold: about the weight from which edges are kept, in units of what is hidden: 1, a
            change of a weight by 1, or the weight cap.
        degree_error: mean absolute error of a degree where edges are kept.
        degree_error_alone: where none are.
        beats_matrix: whether noise on all pairs puts more into the worst cut than all edges weigh,
            if each weighs 1: then no mechanism with a noisy matrix tells more than an empty graph.
    """

    threshold: float
    degree_error: float
    degree_error_alone: float
    beats_matrix: bool

    def __str__(self) -> str:
        text = (
            f"keeps edges that weigh more than about {self.threshold:,.3g} (times the weight cap, "
            f"if there is one), degrees up to {self.degree_error:,.3g}, or up to "
            f"{self.degree_error_alone:,.3g} where no edges are so heavy"
        )
        if self.beats_matrix:
            text += "; with edges of weight 1 noise on all pairs would weigh more than the graph"
        return text


def sparse_forecast(setting: Setting) -> SparseForecast:
    """What a sparse release of this setting will keep. Reads no data.

    Args:
        setting: the public numbers; `queries`, `delta` and `beta` do not matter.
    """
    epsilon, edges = setting.for_one().epsilon, max(setting.edges, 1.0)
    wanted = _FALSE_SHARE * edges
    threshold = math.log(max(setting.pairs / wanted, 1.0)) / (_KEPT_SHARE * epsilon)
    # The worst cut of a matrix of independent noises is about .4 deviations n^1.5, N = n^2/2.
    worst = 0.4 / (2 * math.sinh(epsilon / 2)) * (2 * setting.pairs) ** 0.75
    return SparseForecast(
        threshold=threshold,
        degree_error=2 / (_DEGREE_SHARE * epsilon),
        degree_error_alone=2 / (_ALL_DEGREES * epsilon),
        beats_matrix=worst > edges,
    )
