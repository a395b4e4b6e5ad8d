"""A user's own learner as the method of a session: its name, and what a store records of it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.final_classes import final
from graphcuts_dp.learn.learners import Learned, Learner
from graphcuts_dp.queries.universe import Universe

OWN = "own: "  # first letters of a stored method that a user has written
_MOST_LETTERS = 60  # of the name of a user's learner, and of its version


@final
@dataclass(frozen=True)
class OwnLearner:
    """A learner that a user has written, as the method of a session.

    A store (the file of a session) keeps the name and version of the learner, but no hypothesis.
    When a session is opened again, the learner makes its updates anew from the stored queries and
    results. So whoever changes what the learner does must change its version; the store then
    refuses to go on. Accuracy rests on that. Privacy does not rest on the learner, as long as it
    does not look at the graph: it sees noisy numbers, queries and results of tests only, and the
    session limits the number of updates whatever the learner claims.

    Attributes:
        universe: the public vertex pairs.
        name: name of the learner.
        version: its version, as text.
        learner: the learner; it is not compared or shown.
    """

    universe: Universe
    name: str
    version: str
    learner: Learner = field(repr=False, compare=False)

    @classmethod
    def of(cls, learner: Any) -> Self:
        """Wrap a learner that has a name and a version.

        Args:
            learner: as `Learner` describes it, with `version`, a text or a whole number.

        Raises:
            ParameterError: it is no learner, or has no proper name and version.
        """
        if not all(hasattr(learner, name) for name in ("construction", "universe", "name")):
            raise ParameterError("method is a name, or an object as `Learner` describes it")
        version = getattr(learner, "version", None)
        if not isinstance(version, str | int) or isinstance(version, bool):
            raise ParameterError(
                "a learner of your own needs a version in a session, for example version = 1: the"
                " store keeps its name and its version, and takes no other when it is opened again"
            )
        for text in (learner.name, str(version)):
            if (
                not isinstance(text, str)
                or not 0 < len(text) <= _MOST_LETTERS
                or not text.isprintable()
            ):
                raise ParameterError(
                    "name and version of a learner are printable texts of up to"
                    f" {_MOST_LETTERS} letters"
                )
        return cls(learner.universe, learner.name, str(version), learner)

    @property
    def method(self) -> str:
        """The text that a store keeps of it."""
        return f"{OWN}{self.name}, version {self.version}"

    def construction(self, **terms: Any) -> Learned:
        """Return the construction, see `Learner.construction`."""
        return self.learner.construction(**terms)

    @property
    def check(self) -> Callable[[Any], None] | None:
        """The method `check` of the learner, which is optional; None if it has none."""
        return getattr(self.learner, "check", None)
