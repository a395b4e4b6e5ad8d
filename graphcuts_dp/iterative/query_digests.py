"""Lists of queries that are too large to be kept, known by the SHA-256 of each."""

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
    """A list of queries that are too large to be kept: SHA-256 of each."""

    universe: Universe
    digests: tuple[bytes, ...]

    @classmethod
    def of(cls, queries: Sequence[LinearQuery], universe: Universe) -> Self:
        """Of queries over two vertex sets."""
        return cls(universe, tuple(query_digest(query, universe.space) for query in queries))

    def __len__(self) -> int:
        return len(self.digests)

    @property
    def asked(self) -> Sequence[int]:
        """In place of the queries, their places."""
        return range(len(self))

    def find(self, query: Any) -> int | None:
        """The first place of a query in the list; None for one that is not in it."""
        known = query_digest(query, self.universe.space)
        return self.digests.index(known) if known in self.digests else None

    def arrays(self) -> dict[str, Any]:
        """What `of_arrays` reads."""
        return {"digests": np.array([list(digest) for digest in self.digests], dtype=np.uint8)}

    @classmethod
    def of_arrays(cls, universe: Universe, digests: Any) -> Self:
        """From what `arrays` gave."""
        return cls(universe, tuple(digest.tobytes() for digest in digests))


def query_digest(query: LinearQuery, space: Space) -> bytes:
    """What a query of the list is known by: SHA-256 of its sets, vectors or coefficients."""
    if isinstance(query, RankOneQuery):
        query = as_cut(query, space) or query
    if isinstance(query, CutQuery):
        kind = b"cut"
        arrays: list[Any] = [np.packbits(mask) for mask in query.masks(space)]
    elif isinstance(query, RankOneQuery):
        left, right = cast(tuple[VertexSet, VertexSet], space)
        kind, arrays = b"rank one", list(query.vectors((len(left), len(right))))
    else:
        kind, arrays = b"entries", [plain_query(query, space).coefficients(space) + 0.0]
    found = hashlib.sha256(kind)
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.digest()
