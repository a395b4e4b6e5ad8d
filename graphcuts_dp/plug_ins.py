"""Tables of names that installed packages extend through entry points.

A package that declares, for example,

    [project.entry-points."graphcuts_dp.fits"]
    clipped = "clipped_fit:CLIPPED"

adds the name "clipped" to what `fit=` takes, in Python and on the command line. `PlugInTable` is
such a table: names of this package first, then those of installed packages, which are looked up
when a name is not one of ours and imported when it is used. `graphcuts_dp.plugins` documents the
groups and the interfaces.

Privacy: a plug-in runs in the same process as everything else, so it is trusted code on both sides
of the privacy boundary. A name of this package cannot be replaced by a plug-in.
"""

import warnings
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar, final

from graphcuts_dp.errors import ParameterError, PrivacyWarning

T = TypeVar("T")


@cache
def installed(group: str) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return the entry points of a group by name, of all installed packages; none is imported.

    Of two packages of one name the first on the path counts.
    """
    named: dict[str, tuple[EntryPoint, ...]] = {}
    for point in _entry_points().select(group=group):
        named[point.name] = (*named.get(point.name, ()), point)
    return named


@cache
def _entry_points() -> Any:
    """Return all entry points: they are read once, and not the other data of each package.

    Its method `select` is the same in all versions of Python, and its type is not.
    """
    return entry_points()


@final
class PlugInTable(MutableMapping[str, T], Generic[T]):
    """A table of this package's names and those of plug-ins.

    Args:
        group: of entry points.
        what: one of its objects in words, such as "fit".
        built_in: the names of this package.
        adapt: called with a name and the object of its entry point; returns the entry of the table,
            or raises ParameterError for an object of another kind.
        private: whether privacy rests on a plug-in of this table; a `PrivacyWarning` says so when
            one is first used.
    """

    def __init__(
        self,
        group: str,
        what: str,
        built_in: Mapping[str, T],
        adapt: Callable[[str, object], T],
        *,
        private: bool = False,
    ) -> None:
        self.group: str = group
        self._what = what
        self._adapt = adapt
        self._private = private
        self._known: MutableMapping[str, T] = dict(built_in)
        self._loaded: dict[str, T] = {}

    @property
    def built_in(self) -> tuple[str, ...]:
        """The names of this package, without importing any plug-in."""
        return tuple(self._known)

    def beside(self, more: Mapping[str, T]) -> "PlugInTable[T]":
        """Return a table with more names; what is entered into this one is in it, too."""
        table = PlugInTable(self.group, self._what, {}, self._adapt, private=self._private)
        table._known = ChainMap(self._known, dict(more))
        return table

    def __getitem__(self, name: str) -> T:
        if name in self._known:
            return self._known[name]
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def __setitem__(self, name: str, value: T) -> None:
        self._known[name] = value

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known or name in installed(self.group)

    def __iter__(self) -> Iterator[str]:
        yield from self._known
        yield from (name for name in installed(self.group) if name not in self._known)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _load(self, name: str) -> T:
        points = installed(self.group).get(name, ())
        if not points:
            raise KeyError(name)
        packages = sorted(_package_of(point) for point in points)
        if len(points) > 1:
            raise ParameterError(
                f"several installed packages have a {self._what} {name!r:.60}: "
                f"{', '.join(packages)}; uninstall all but one"
            )
        try:
            value = points[0].load()
        except Exception as problem:
            reason = " ".join(f"{type(problem).__name__}: {problem}".split())
            raise ParameterError(
                f"the {self._what} {name!r:.60} of {packages[0]} cannot be imported "
                f"({reason:.200}); repair that package or uninstall it"
            ) from problem
        try:
            entry = self._adapt(name, value)
        except ParameterError as problem:
            raise ParameterError(
                f"the {self._what} {name!r:.60} of {packages[0]} is no such object: {problem}"
            ) from None
        if self._private:
            warnings.warn(
                f"the {self._what} {name!r:.60} is of {packages[0]}: the privacy guarantee rests on"
                " the code of that package, too",
                PrivacyWarning,
                stacklevel=4,
            )
        return entry


def _package_of(point: EntryPoint) -> str:
    """Return the name and version of the package that an entry point is of."""
    return "an unknown package" if point.dist is None else f"{point.dist.name} {point.dist.version}"
