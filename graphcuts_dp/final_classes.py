"""A decorator for classes that refuse subclasses when the program runs.

`typing.final` is for type checkers alone. The methods of a class on which privacy rests must be
those of this package: a subclass of `PrivacyUnit` could state a larger budget for one change, and a
subclass of `Groups` could return other cells at each call, so that noise would be too small.
`final` refuses subclasses when they are defined. Classes of objects that users may write are
protocols or abstract classes, on which privacy does not rest.
"""

from typing import TYPE_CHECKING, Any, TypeVar

from graphcuts_dp.errors import ParameterError

C = TypeVar("C", bound=type)

if TYPE_CHECKING:
    from typing import final as final
else:

    def final(kind: C) -> C:
        """Return the class, which refuses subclasses from then on.

        Raises:
            ParameterError: a subclass is defined.
        """

        def refuse(cls: type, **_: Any) -> None:  # noqa: ARG001
            raise ParameterError(
                f"{kind.__name__} cannot have subclasses, since privacy rests on what it computes; "
                f"pass an object of {kind.__name__} itself"
            )

        kind.__init_subclass__ = classmethod(refuse)
        kind.__final__ = True
        return kind
