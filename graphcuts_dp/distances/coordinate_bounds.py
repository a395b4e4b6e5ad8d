"""How far a coordinate's true sums of distances can be from what was learnt: from released lines.

The sum G(t) of people's distances from t is convex and has slopes from -n to n, and G(0) + G(W) =
n W. With probability 1 - beta, as in `tune_coordinate`, every line is off by no more than its two
radii, and every silent test had G(t) below the hypothesis by less than T + R. The bounds here use
all of that, so they are narrower than one number for all positions. Pure post-processing.
"""

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatVector, IntVector
from graphcuts_dp.distances.coordinate_tuning import CoordinateTuning
from graphcuts_dp.distances.learner import PiecewiseLinear

_SLACK = 1e-12  # of the largest sum: far more than floats are off


def coordinate_bounds(
    hypothesis: PiecewiseLinear, tuning: CoordinateTuning, points: IntVector, *, tested: BoolVector
) -> tuple[FloatVector, FloatVector]:
    """The least and the largest that the sums of distances can be, in steps.

    Below: 0, and each line less its value's radius and twice its count's radius a step away from
    its point. Above: where a line was bought its value plus the radius; where a test was silent the
    hypothesis plus `above`, since it only grows; all people at the farther end; n W less the lower
    bound of the other end; and, since a convex function lies below its chords, no more than the
    lower envelope of all these.

    Args:
        hypothesis: with the lines that were bought, while the coordinate is guaranteed.
        tuning: of the coordinate.
        points: positions, distinct and ascending, 0..W, shape (k,).
        tested: whether the test's last answer about a position is in the hypothesis, shape (k,).

    Returns:
        (low, high), both of shape (k,).
    """
    people, width = tuning.task.people, tuning.task.width
    own = np.array([line.at for line in hypothesis.lines], dtype=np.int64)
    places = np.unique(np.concatenate([points, own, np.array([0, width])]))
    high = people * np.maximum(places, width - places).astype(np.float64)
    where = np.searchsorted(places, points[tested])
    silent = hypothesis.at(points[tested]).astype(np.float64) + tuning.above
    high[where] = np.minimum(high[where], silent)
    low = np.zeros(len(places))
    for line in hypothesis.lines:
        away = places - line.at
        off = tuning.value_radius + 2 * tuning.count_radius * np.abs(away)
        low = np.maximum(low, line.value + line.slope * away - off)
        place = int(np.searchsorted(places, line.at))
        high[place] = min(high[place], line.value + tuning.value_radius)
    whole = float(people * width)
    high[0], high[-1] = min(high[0], whole - low[-1]), min(high[-1], whole - low[0])
    high = _lower_envelope(places, high)
    low[0], low[-1] = max(low[0], whole - high[-1]), max(low[-1], whole - high[0])
    chosen = np.searchsorted(places, points)
    slack = _SLACK * whole
    return np.maximum(low[chosen] - slack, 0), np.maximum(high, low)[chosen] + slack


def _lower_envelope(places: IntVector, values: FloatVector) -> FloatVector:
    """The largest convex function that is nowhere above, at the same places."""
    corners: list[int] = []
    x, y = places.astype(np.float64).tolist(), values.tolist()
    for k in range(len(x)):
        while len(corners) > 1:
            i, j = corners[-2:]
            if (y[j] - y[i]) * (x[k] - x[i]) < (y[k] - y[i]) * (x[j] - x[i]):
                break
            corners.pop()
        corners.append(k)
    return np.asarray(np.interp(x, [x[k] for k in corners], [y[k] for k in corners]))
