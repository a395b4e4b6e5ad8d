"""Final classes that are final when the program runs, too.

`typing.final` is a word for type checkers. A class on whose objects privacy rests must be what this
package says it is: a subclass of `PrivacyUnit` could state a larger budget for one change, or one
of `Groups` other cells each time that it is read, and noise would be too small. `final` refuses
subclasses when they are defined. Objects that users may write themselves are protocols or abstract
classes, which say what privacy does not rest on.
"""

from typing import TYPE_CHECKING, Any, TypeVar

from graphcuts_dp.errors import ParameterError

C = TypeVar("C", bound=type)

if TYPE_CHECKING:
    from typing import final as final
else:

    def final(kind: C) -> C:
        """Return a class that cannot have subclasses; a decorator.

        Raises:
            ParameterError: when somebody defines a subclass.
        """

        def refuse(cls: type, **_: Any) -> None:  # noqa: ARG001
            raise ParameterError(
                f"{kind.__name__} cannot have subclasses, since privacy rests on what it computes; "
                f"pass an object of {kind.__name__} itself"
            )

        kind.__init_subclass__ = classmethod(refuse)
        kind.__final__ = True
        return kind
