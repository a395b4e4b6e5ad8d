"""Distance queries: how far a vertex is from all people, on average."""

from dataclasses import dataclass
from typing import final

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.distances.locations import MOST_PEOPLE, Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.pairs.vertices import Label


@final
@dataclass(frozen=True)
class DistanceQuery:
    """The average shortest-path distance from a vertex to all people.

    Args:
        vertex: a label of the map.

    Source: HR12 section 2.1, which scales the diameter to 1.
    """

    vertex: Label

    def value(self, locations: Locations) -> float:
        """The true answer, in the units of the map's lengths. Private.

        Raises:
            QueryError: the vertex is not on the map.
        """
        metric = locations.metric
        distances = metric.distances_from([metric.row(self.vertex)])[0]
        return float(distances @ locations.counts) / locations.people

    def sensitivity(self, metric: Metric, *, people: int) -> float:
        """Largest change of the value when one of `people` persons is somewhere else.

        ecc(v)/n: a person can move from v itself, at distance 0, to a farthest vertex, and no two
        distances from v differ by more. The largest over all v is diameter/n.

        Args:
            metric: of the map.
            people: n >= 1, public.

        Raises:
            QueryError: the vertex is not on the map.
            ParameterError: n below 1.
        """
        return metric.eccentricity(metric.row(self.vertex)) / checked_people(people)


def all_distances(locations: Locations) -> FloatVector:
    """The true answers of all vertices, shape (V,). Private.

    O(V) on trees, V shortest-path searches on other maps.
    """
    return locations.metric.weighted_sums(locations.counts) / locations.people


def checked_people(people: int) -> int:
    """The public number of people, checked.

    Raises:
        ParameterError: not a whole number of at least 1.
    """
    if isinstance(people, bool) or not isinstance(people, int) or not 1 <= people <= MOST_PEOPLE:
        raise ParameterError("the number of people is a whole number from 1 to 2^40")
    return people
