"""The arrays that an iterative release is saved in: what was measured, and the list of queries."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphcuts_dp.distinguishers.cut_list import CutList
from graphcuts_dp.distinguishers.question_list import QuestionList
from graphcuts_dp.errors import QueryError
from graphcuts_dp.graph.graph_queries import GraphQuery, Question
from graphcuts_dp.graph.queries import CutQuery, MatrixQuery
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.iterative.outcome import Measured

Listed = CutList | QuestionList | None


def arrays_of(universe: Universe, transcript: Sequence[Measured], listed: Listed) -> dict[str, Any]:
    """The transcript and the list as arrays; of a list of cuts their sets, of others coefficients.

    Raises:
        QueryError: a transcript of other queries than cuts, without their list.
    """
    arrays: dict[str, Any] = {
        "values": np.array([measured.value for measured in transcript]),
        "rounds": np.array([measured.round for measured in transcript], dtype=np.int64),
        "updated": np.array([measured.updated for measured in transcript], dtype=np.bool_),
    }
    if isinstance(listed, QuestionList):
        places = [listed.place(measured.query) for measured in transcript]
        arrays["found_places"] = np.array(places, dtype=np.int64)
        arrays["listed_rows"] = listed.given_rows
        arrays["listed_statistics"] = np.array(
            [each.statistic if isinstance(each, GraphQuery) else "" for each in listed.asked]
        )
        return arrays
    masks = [universe.masks(_cut(measured.query)) for measured in transcript]
    for name, side, n in zip("ST", (0, 1), universe.shape, strict=True):
        sets = [mask[side] for mask in masks]
        arrays[f"found_{name}"] = np.array(sets, dtype=np.bool_).reshape(len(sets), n)
        if listed is not None:
            arrays[f"listed_{name}"] = listed.words[side]
    return arrays


def read_back(universe: Universe, arrays: dict[str, Any]) -> tuple[tuple[Measured, ...], Listed]:
    """The transcript and the list from what `arrays_of` made."""
    listed: Listed = None
    queries: list[Question]
    if "listed_rows" in arrays:
        asked = [
            GraphQuery(str(statistic)) if statistic else _matrix(universe, row)
            for statistic, row in zip(
                arrays["listed_statistics"], arrays["listed_rows"], strict=True
            )
        ]
        listed = QuestionList(universe, asked)
        queries = [asked[int(place)] for place in arrays["found_places"]]
    else:
        if "listed_S" in arrays:
            listed = CutList.of_words(universe, arrays["listed_S"], arrays["listed_T"])
        queries = [
            CutQuery(S, T) for S, T in zip(arrays["found_S"], arrays["found_T"], strict=True)
        ]
    rows = zip(arrays["rounds"], queries, arrays["values"], arrays["updated"], strict=True)
    return tuple(
        Measured(round=int(number), query=query, value=float(value), updated=bool(updated))
        for number, query, value, updated in rows
    ), listed


def _cut(query: Question) -> CutQuery:
    if not isinstance(query, CutQuery):
        raise QueryError("this release has measured another query than a cut")
    return query


def _matrix(universe: Universe, row: Any) -> MatrixQuery:
    matrix = np.zeros(universe.shape)
    matrix[universe.pairs()] = row
    return MatrixQuery(matrix)
