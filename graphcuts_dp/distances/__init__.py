"""Average distances on a public map to the people of a private list of locations."""

from graphcuts_dp._lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "answers": (
            "DistanceAnswer",
            "DistanceAnswers",
            "answer_distances",
        ),
        "plan": (
            "DistancePlan",
            "plan_distances",
        ),
        "queries": ("DistanceQuery",),
        "session": (
            "DistanceSession",
            "open_distance_session",
        ),
        "session_records": ("DistanceReply",),
    },
)
