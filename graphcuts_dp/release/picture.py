"""What a picture of a release shows: answers with their intervals, and the synthetic graph's."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from graphcuts_dp.errors import QueryError
from graphcuts_dp.graph.queries import CutQuery, answer_all
from graphcuts_dp.graph.vertices import sets_in
from graphcuts_dp.plotting.answer_lists import AnswerPicture, answer_list_figure
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.release.answers_at_once import FewAnswers
from graphcuts_dp.release.release import Release

MOST_VERTICES = 200  # that are drawn


def promise_text(guarantee: PrivacyGuarantee) -> str:
    """For titles."""
    delta = f", delta = {guarantee.delta:g}" if guarantee.delta else ""
    mark = f", {guarantee.warning}" if guarantee.warning else ""
    return f"epsilon = {guarantee.epsilon:g}{delta}{mark}"


def drawn(release: Release, queries: Sequence[CutQuery] | None, title: str | None) -> Figure:
    """See `Release.plot`."""
    names: list[str] = []
    across = "query number"
    if queries is None:
        side = sets_in(release.space)[0]
        step = -(-len(side) // MOST_VERTICES)
        labels = side.labels[::step]
        names = [str(label) for label in labels]
        asked = [CutQuery([label]) for label in labels]
        across = "vertex, by its answer"
        if step > 1:
            across += f" (one vertex in {step})"
        title = title or "Edges of each vertex"
    else:
        asked = list(queries)
    if not asked:
        raise QueryError("there are no queries to draw")
    answers = release.answer_all(asked)
    values = np.array([answer.value for answer in answers])
    ends = np.array([answer.interval for answer in answers])
    other = np.array(answer_all(asked, release.graph)) if release.has_graph else None
    order = np.arange(len(asked))
    if queries is None:
        order = np.argsort(-values, kind="stable")
    return answer_list_figure(
        AnswerPicture(
            values=values[order],
            low=ends[order, 0],
            high=ends[order, 1],
            names=[names[place] for place in order] if names else [],
            other=None if other is None else other[order],
            other_label="the synthetic graph",
            title=f"{title or 'Cuts'} ({promise_text(release.guarantee)})",
            across=across,
        )
    )


def drawn_answers(made: FewAnswers, title: str | None) -> Figure:
    """See `FewAnswers.plot`."""
    ends = np.array([answer.interval for answer in made.answers])
    return answer_list_figure(
        AnswerPicture(
            values=np.array(made.values),
            low=ends[:, 0],
            high=ends[:, 1],
            title=f"{title or 'Cuts'} ({promise_text(made.guarantee)})",
            across=f"cut, in the order of the list; {made.confidence:.0%} for all at once",
        )
    )
