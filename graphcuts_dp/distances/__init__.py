"""Average distances to people on a public map, privately."""

from graphcuts_dp.distances.answers import (
    DistanceAnswer,
    DistanceAnswers,
    DistancePlan,
    answer_distances,
    plan_distances,
)
from graphcuts_dp.distances.locations import DistanceQuery, Locations
from graphcuts_dp.distances.metric import Metric, read_map
from graphcuts_dp.distances.session import DistanceSession, open_distance_session

__all__ = [
    "DistanceAnswer",
    "DistanceAnswers",
    "DistancePlan",
    "DistanceQuery",
    "DistanceSession",
    "Locations",
    "Metric",
    "answer_distances",
    "open_distance_session",
    "plan_distances",
    "read_map",
]
