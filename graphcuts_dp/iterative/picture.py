"""What pictures of offline releases show: the queries that were measured, and what was learnt."""

import numpy as np
from matplotlib.figure import Figure

from graphcuts_dp.errors import QueryError
from graphcuts_dp.iterative.release import IterativeRelease
from graphcuts_dp.iterative.sensing_release import SensingRelease
from graphcuts_dp.plotting.answer_lists import AnswerPicture, answer_list_figure


def drawn(release: IterativeRelease, title: str | None) -> Figure:
    """See `IterativeRelease.plot`."""
    if not release.transcript:
        raise QueryError("no cut was measured, so there is nothing to draw")
    answers = release.answer_all([measured.query for measured in release.transcript])
    ends = np.array([answer.interval for answer in answers])
    mark = f", {release.guarantee.warning}" if release.guarantee.warning else ""
    return answer_list_figure(
        AnswerPicture(
            values=np.array([answer.value for answer in answers]),
            low=ends[:, 0],
            high=ends[:, 1],
            other=np.array([measured.value for measured in release.transcript]),
            other_label="noisy, as measured",
            title=f"{title or 'Measured cuts'} (epsilon = {release.guarantee.epsilon:g}{mark})",
            across="cut, in the order of measuring",
        )
    )


def drawn_sensing(release: SensingRelease, title: str | None) -> Figure:
    """See `SensingRelease.plot`."""
    values = np.array([made.value for made in release.measurements])
    chosen = release.radius is None  # one by one; there is no interval for each of them
    radius = np.inf if release.radius is None else release.radius
    mark = f", {release.guarantee.warning}" if release.guarantee.warning else ""
    return answer_list_figure(
        AnswerPicture(
            values=values,
            low=values - radius,
            high=values + radius,
            other=np.array([made.estimate for made in release.measurements]) if chosen else None,
            other_label="expected by what was learnt before",
            title=f"{title or 'Measured sums'} (epsilon = {release.guarantee.epsilon:g}{mark})",
            across="query, in the order of measuring",
            unit="sum of ratings",
        )
    )
