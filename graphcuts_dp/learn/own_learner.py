"""Learners of one's own in sessions: known to the store by a name and a version."""

from dataclasses import dataclass, field
from typing import Any, Unpack, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.learners import Learned, Learner, ToleranceTerms
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe

OWN = "own: "  # how a stored method of somebody's own begins
_LONGEST = 60


@final
@dataclass(frozen=True)
class OwnLearner:
    """A learner of one's own, of which name and version alone are kept.

    A session makes its corrections again from the record when it is opened. So whoever changes what
    the learner does must change its version; a store with another one then refuses to go on.
    Privacy does not rest on that, nor on the learner at all: it sees noisy numbers, queries and
    what tests found, and the number of corrections is capped whatever it does. It must not look at
    the graph.

    Attributes:
        universe: the public vertex pairs.
        name: of the learner.
        version: as text.
        learner: itself; not part of what is compared or shown.
    """

    universe: Universe
    name: str
    version: str
    learner: Learner = field(repr=False, compare=False)

    @classmethod
    def of(cls, learner: object) -> "OwnLearner":
        """A learner with a name and a version.

        Args:
            learner: as `Learner` describes it, with `version`, a text or a whole number.

        Raises:
            ParameterError: it has none, or is no learner.
        """
        found: Any = learner
        if not all(hasattr(found, name) for name in ("construction", "check", "universe", "name")):
            raise ParameterError("method is a name, or an object as `Learner` describes it")
        version = getattr(found, "version", None)
        if not isinstance(version, str | int) or isinstance(version, bool):
            raise ParameterError(
                "a learner of your own needs a version in a session, for example version = 1: the"
                " store keeps its name and its version, and takes no other when it is opened again"
            )
        for text in (found.name, str(version)):
            if not isinstance(text, str) or not 0 < len(text) <= _LONGEST or not text.isprintable():
                raise ParameterError(
                    f"name and version of a learner are printable texts of up to {_LONGEST} letters"
                )
        return cls(found.universe, found.name, str(version), found)

    @property
    def method(self) -> str:
        """What a store keeps of it."""
        return f"{OWN}{self.name}, version {self.version}"

    def construction(self, **terms: Unpack[ToleranceTerms]) -> Learned:
        """See `Learner.construction`."""
        return self.learner.construction(**terms)

    def check(self, query: CutQuery) -> None:
        """See `Learner.check`."""
        self.learner.check(query)
