"""Sets that are unions of public groups, held as these."""

from collections.abc import Iterator, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.graph.groups import Groups
from graphcuts_dp.graph.vertices import Label, NamedSet


@final
class GroupUnion(NamedSet):
    """All vertices of some groups: held as the groups, of which there are few.

    Args:
        groups: that the names are of.
        names: label and level of each group; levels may differ.

    Raises:
        QueryError: no such level, or no such group in it.
    """

    def __init__(self, groups: Groups, names: Sequence[tuple[Label, str]]) -> None:
        self.groups = groups
        self._names = tuple(names)
        within = [groups.within(label, level) for label, level in self._names]
        self.chosen: BoolVector = np.logical_or.reduce(within)
        self.chosen.flags.writeable = False

    @classmethod
    def of(cls, unions: Sequence["GroupUnion"]) -> "GroupUnion":
        """Of sets of the same groups together; there is at least one."""
        if len(unions) == 1:
            return unions[0]
        found = cls.__new__(cls)
        found.groups = unions[0].groups
        found._names = tuple(name for each in unions for name in each._names)
        found.chosen = np.logical_or.reduce([each.chosen for each in unions])
        found.chosen.flags.writeable = False
        return found

    def truth_vector(self) -> BoolVector:
        """See `NamedSet.truth_vector`; of a single group one object each time."""
        if len(self._names) == 1:
            return self.groups.members(*self._names[0])
        found: BoolVector = self.chosen[self.groups.codes()]
        found.flags.writeable = False
        return found

    def __iter__(self) -> Iterator[Label]:
        labels = self.groups.vertices.labels
        return (labels[row] for row in np.flatnonzero(self.truth_vector()).tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.truth_vector(), dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"GroupUnion({', '.join(repr(label) for label, _ in self._names)})"
