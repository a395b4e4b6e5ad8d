"""Options about whom a promise protects."""

from dataclasses import dataclass
from typing import Annotated, Any, final

import typer

from graphcuts_dp.privacy.protection import Protection


@final
@dataclass(frozen=True, kw_only=True)
class Protecting:
    """Whom what is released protects."""

    protect: Annotated[str, typer.Option(help="Whom the promise is for: edges.")] = "edges"
    at_most: Annotated[
        int | None,
        typer.Option(help="How many edges may change together: 1 if left out."),
    ] = None

    @property
    def of(self) -> Protection:
        """Whom.

        Raises:
            ParameterError: an unknown name, or a bound out of range.
        """
        return Protection.of(self.protect, at_most=self.at_most)

    def options(self) -> dict[str, Any]:
        """As the functions of the package take them, checked.

        Raises:
            ParameterError: as `of`.
        """
        self.of  # noqa: B018  # refuses
        return {"protect": self.protect, "at_most": self.at_most}
