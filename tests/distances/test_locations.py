"""Private locations: what is read, refused, and never told; queries and their sensitivities."""

import itertools

import numpy as np
import pytest

from graphcuts_dp.distances.locations import DistanceQuery, Locations, all_distances
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.errors import FileFormatError

TREE = Metric([0, 1, 1], [1, 2, 3], [1.0, 2.0, 0.5], vertices=["a", "b", "c", "d"])


def test_labels_counts_and_files_agree(tmp_path):
    expected = [2, 0, 1, 0]
    files = {
        "lines.txt": "a\nc\n a \n\n",
        "people.csv": "vertex\na\nc\na\n",
        "counts.csv": "people,place\n2,a\n1,c\n\n",
        "other.csv": "place;age\na;30\n a ;40\nc;50",
        "tabs.tsv": "age\tlocation\n1\ta\n2\ta\n3\tc\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.write_text(text)
        assert Locations.read(TREE, path).counts.tolist() == expected
    same = Locations(TREE, expected)
    for given in (["a", "c", "a"], {"c": 1, "a": 2}, path, str(path), same):
        assert Locations.of(TREE, given).counts.tolist() == expected
    numbered = tmp_path / "numbers.txt"
    numbered.write_text("2\n0\n0\n")
    assert Locations.read(Metric.path(3), numbered).counts.tolist() == [2, 0, 1]


def test_only_the_number_of_people_is_told():
    here, there = (Locations(TREE, counts) for counts in ([3, 0, 0, 0], [0, 0, 1, 2]))
    assert repr(here) == repr(there) == "Locations(people=3, Metric(tree, vertices=4))"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("vertex\na\nsecret\n", "line 3: not a vertex"),
        ("secret\na\n", "names no column vertex; write vertex above"),
        ("", "the file is empty"),
        ("vertex,people\na,0\n", "no people"),
        ("vertex,people\na,1.5\n", "line 2: the number of people"),
        ("vertex,people\na,-1\n", "line 2"),
        ("vertex,people\na\n", "line 2"),
        ('vertex\n"a\na"\n', "line 2: malformed row: check its quotes"),
    ],
)
def test_bad_files_are_refused_without_quoting_them(tmp_path, text, message):
    path = tmp_path / "people.csv"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=message) as told:
        Locations.read(TREE, path)
    assert "secret" not in str(told.value)
    assert "\n" not in str(told.value)


def test_values_are_averages_of_distances():
    locations = Locations(TREE, [2, 0, 1, 1])
    expected = TREE.matrix @ [2, 0, 1, 1] / 4
    values = [DistanceQuery(v).value(locations) for v in "abcd"]
    assert np.allclose(values, expected)
    assert np.allclose(all_distances(locations), expected)


def test_sensitivities_are_the_largest_changes_of_all_replacements():
    people = 3
    for vertex in "abcd":
        changes = [
            abs(
                DistanceQuery(vertex).value(Locations(TREE, first))
                - DistanceQuery(vertex).value(Locations(TREE, second))
            )
            for first, second in neighbours(people)
        ]
        exact = DistanceQuery(vertex).sensitivity(TREE, people=people)
        assert exact == pytest.approx(max(changes))
    largest = max(DistanceQuery(v).sensitivity(TREE, people=people) for v in "abcd")
    assert largest == pytest.approx(TREE.diameter / people)


def neighbours(people):
    """All pairs of locations in which one person is elsewhere."""
    for rest in itertools.combinations_with_replacement(range(4), people - 1):
        for x, y in itertools.permutations(range(4), 2):
            yield tuple(np.bincount([*rest, place], minlength=4) for place in (x, y))
