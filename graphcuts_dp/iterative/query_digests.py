"""Lists of queries that are too large to be stored: the SHA-256 of each query."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, cast, final

import numpy as np

from graphcuts_dp.queries.coefficients import as_cut
from graphcuts_dp.queries.linear import CutQuery, LinearQuery, RankOneQuery
from graphcuts_dp.queries.plain import plain_query
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.schema.vertices import Space, VertexSet


@final
@dataclass(frozen=True)
class Digests:
    """A list of queries that are too large to be stored: the SHA-256 of each.

    Attributes:
        universe: the public vertex pairs.
        digests: of the queries, in their order, 32 bytes each.
    """

    universe: Universe
    digests: tuple[bytes, ...]

    @classmethod
    def of(cls, queries: Sequence[LinearQuery], universe: Universe) -> Self:
        """Return the digests of a list of queries."""
        return cls(universe, tuple(query_digest(query, universe.space) for query in queries))

    def __len__(self) -> int:
        return len(self.digests)

    @property
    def public_queries(self) -> Sequence[int]:
        """The indices of the queries, since the queries themselves are not stored."""
        return range(len(self))

    def find(self, query: Any) -> int | None:
        """Return the first index of a query in the list; None if it is not in the list."""
        digest = query_digest(query, self.universe.space)
        return self.digests.index(digest) if digest in self.digests else None

    def arrays(self) -> dict[str, Any]:
        """Return the arrays that `of_arrays` reads."""
        return {"digests": np.array([list(digest) for digest in self.digests], dtype=np.uint8)}

    @classmethod
    def of_arrays(cls, universe: Universe, digests: Any) -> Self:
        """Return the list from the arrays that `arrays` returned."""
        return cls(universe, tuple(digest.tobytes() for digest in digests))


def query_digest(query: LinearQuery, space: Space) -> bytes:
    """Return the SHA-256 of a query's sets, vectors or coefficients."""
    if isinstance(query, RankOneQuery):
        query = as_cut(query, space) or query
    if isinstance(query, CutQuery):
        kind = b"cut"
        arrays: list[Any] = [np.packbits(mask) for mask in query.masks(space)]
    elif isinstance(query, RankOneQuery):
        left, right = cast(tuple[VertexSet, VertexSet], space)
        kind, arrays = b"rank one", list(query.vectors((len(left), len(right))))
    else:
        coefficients = plain_query(query, space).coefficients(space)
        kind, arrays = b"entries", [coefficients + 0.0]  # -0.0 becomes 0.0, as equal numbers must
    digest = hashlib.sha256(kind)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()
