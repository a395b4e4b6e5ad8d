"""Options about whom a promise protects."""

from dataclasses import dataclass
from typing import Annotated, Any, final

import typer

from graphcuts_dp.cli.reading import spelled
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.protection import Protection


@final
@dataclass(frozen=True, kw_only=True)
class Protecting:
    """Whom what is released protects."""

    protect: Annotated[str, typer.Option(help="Whom it is for: edges or vertex.")] = "edges"
    at_most: Annotated[
        int | None,
        typer.Option(help="How many edges may change together: 1 if left out."),
    ] = None

    degree_bound: Annotated[
        int | None,
        typer.Option(help="Of a vertex: how many of its edges a sum counts at most."),
    ] = None

    @property
    def of(self) -> Protection:
        """Whom.

        Raises:
            ParameterError: an unknown name, or a bound out of range.
        """
        try:
            return Protection.of(self.protect, at_most=self.at_most, degree_bound=self.degree_bound)
        except ParameterError as problem:
            raise spelled(problem, "") from None

    def options(self, *, vertices: bool = False) -> dict[str, Any]:
        """As the functions of the package take them, checked.

        Args:
            vertices: whether the function knows of vertices; others refuse them by themselves.

        Raises:
            ParameterError: as `of`.
        """
        self.of  # noqa: B018  # refuses
        given = {"protect": self.protect, "at_most": self.at_most}
        return {**given, "degree_bound": self.degree_bound} if vertices else given
