"""What a picture of a session shows: its answers so far, in order."""

from matplotlib.figure import Figure

from graphcuts_dp.errors import QueryError
from graphcuts_dp.interactive.session import Session
from graphcuts_dp.plotting.session_answers import AnswerPoint, session_answers_figure
from graphcuts_dp.privacy.entropy import SEEDED_WARNING


def drawn(session: Session, title: str | None) -> Figure:
    """See `Session.plot`."""
    points = [
        AnswerPoint(entry.answer.value, *entry.answer.interval, entry.answer.updated)
        for entry in session.history
    ]
    if not points:
        raise QueryError("there are no answers to draw yet")
    promise = session.guarantee
    text = f"{title or f'Session {session.name}'} (epsilon = {promise.epsilon:g}"
    text += f", delta = {promise.delta:g})" if promise.delta else ")"
    if not promise.is_private:
        text += f"  {SEEDED_WARNING}"
    return session_answers_figure(points, title=text)
