"""Sets of labels are looked up all at once, and mean what they mean one by one."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from graphcuts_dp import GraphError, QueryError, VertexSet

SETS = {
    "0..n-1": VertexSet(60),
    "integers": VertexSet(range(-3, 57)),
    "huge integers": VertexSet([*range(57), 2**63, 2**64 + 1, -(2**70)]),
    "strings": VertexSet([f"v{i}" for i in range(60)]),
    "both": VertexSet([1, "1a", 0, "0a", "a", *range(2, 57)]),
}


@pytest.mark.parametrize("vertices", SETS.values(), ids=SETS)
def test_every_kind_of_collection_gives_the_mask_of_its_labels(vertices):
    labels = [vertices.labels[i] for i in (7, 0, 59, 3, 7)]
    expected = np.zeros(60, dtype=np.bool_)
    expected[[7, 0, 59, 3]] = True
    given = [labels, tuple(labels), set(labels), dict.fromkeys(labels), iter(labels)]
    given += [(label for label in labels), np.array(labels, dtype=object)]
    wrapped = [np.int64(x) if isinstance(x, int) and abs(x) < 2**63 else x for x in labels]
    given += [wrapped, [np.str_(x) if isinstance(x, str) else x for x in labels]]
    for subset in given:
        assert np.array_equal(vertices.mask(subset), expected)
    assert not vertices.mask([]).any()


def test_a_range_is_a_set_of_integers():
    for vertices in (SETS["0..n-1"], SETS["integers"]):
        assert np.flatnonzero(vertices.mask(range(5, 9))).tolist() == [
            vertices.find(i) for i in range(5, 9)
        ]


# Each equals a label of some set, or looks like one, and is none.
IMPOSTORS = [True, False, np.True_, 1.0, np.float64(0), Fraction(1), Decimal(0), None, [1], b"1"]
FAR = [60, -4, 2**63 - 1, 2**80, "v60", "01", "59", np.uint64(2**64 - 1)]


@pytest.mark.parametrize("label", IMPOSTORS + FAR, ids=repr)
@pytest.mark.parametrize("vertices", SETS.values(), ids=SETS)
def test_what_is_no_label_is_named_wherever_it_stands(vertices, label):
    known = [vertices.labels[i] for i in (7, 0, 59)]
    for subset in ([label, *known], [*known, label, None], (x for x in (*known, label))):
        with pytest.raises(QueryError) as error:
            vertices.mask(subset)
        assert str(error.value) == (
            f"unknown vertex {label!r}; the public vertex set has 60 vertices"
        )


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, "1"], 'one text, such as 1 and "1"'),
        ([10**5000, "a"], "thousands of digits; make it a"),
    ],
)
def test_labels_are_distinct_as_text(labels, message):
    with pytest.raises(GraphError, match=message):
        VertexSet(labels)
    assert len(VertexSet([1, "01", "+1", "-1", "1.0"])) == 5
    assert len(VertexSet(["a", "1" + "0" * 5000])) == 2  # as advised
