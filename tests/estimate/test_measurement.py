"""Measurements by name, their standard errors, and their files."""

from fractions import Fraction

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.estimate.measurement import (
    MAPS,
    CountMeasurement,
    Degrees,
    Measurements,
    NonlinearCounts,
    Total,
)
from graphcuts_dp.measure.statistics import draw
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy.level_noise import LevelNoise

COUNTS = NonlinearCounts("vertices that have an edge", "a pair has two endpoints")


def counted(name="vertices with edges", kind=COUNTS, counts=((5,),), noise=None):
    parts = [[np.array(part)] for part in counts]
    return draw(
        name,
        kind,
        parts,
        [(2, 4)] * len(parts),
        unit=0.5,
        epsilon=None if noise else Fraction(1, 3),
        noise=noise,
        source=SeededEntropy(1),
    )


@pytest.mark.parametrize("counts", [((5,),), ((1, 2, 3), (7,)), ((4,), (5, 6), (0, 0, 0))])
def test_counts_without_a_linear_map_come_back_from_their_files(counts):
    made = counted(counts=counts)
    again = CountMeasurement.from_parts("vertices with edges", *made.parts())
    assert again.map == COUNTS
    assert again.cost() == made.cost()
    for before, after in zip(made.steps, again.steps, strict=True):
        assert np.array_equal(before, after)


@pytest.mark.parametrize(
    "changed", [{"map": "sums of triangles"}, {"counted": ""}, {"sensitivity": ""}]
)
def test_other_fields_are_refused(changed):
    fields, arrays = counted().parts()
    with pytest.raises((LookupError, ValueError)):
        CountMeasurement.from_parts("vertices with edges", fields | changed, arrays)


def test_a_count_needs_its_name_and_its_argument():
    for texts in (("", "why"), ("what", "")):
        with pytest.raises(ValueError, match="say what is counted"):
            NonlinearCounts(*texts)


def test_files_name_the_map_and_those_of_older_versions_are_known_by_their_names():
    club = gc.datasets.load("karate")
    release = gc.release_graph(
        club, epsilon=2.0, noise="laplace", groups=gc.datasets.load_groups("karate"), seed=0
    )
    found = [each for each in release.measurements.values if isinstance(each, CountMeasurement)]
    assert len(found) > 1
    for measured in found:
        fields, arrays = measured.parts()
        assert MAPS[fields.pop("map")] is type(measured.map)
        # Which older versions did not measure.
        if measured.name in ("second group sums", "squared distance"):
            continue
        assert type(CountMeasurement.from_parts(measured.name, fields, arrays).map) is type(
            measured.map
        )
    fields, arrays = counted().parts()
    del fields["map"]
    with pytest.raises(LookupError):
        CountMeasurement.from_parts("vertices with edges", fields, arrays)


def test_a_map_decides_how_many_numbers_there_are():
    for kind, counts in ((Total(), ((1, 2),)), (Degrees(), ((1,), (2,), (3,)))):
        made = counted(kind=kind, counts=counts)
        with pytest.raises(ValueError, match="other sums"):
            CountMeasurement.from_parts("total", *made.parts())


def test_measurements_are_found_by_their_names():
    club = gc.datasets.load("karate")
    release = gc.release_graph(club, epsilon=2.0, mechanism="degrees+randomized-response", seed=0)
    assert release.measurements.named("degrees") is release.degrees
    assert release.measurements.named("entries") is release.noisy
    with pytest.raises(LookupError, match="'total' was not measured; there are degrees, entries"):
        release.measurements.named("total")
    assert Measurements((counted(),), release.guarantee).find(NonlinearCounts) is not None


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_standard_errors_are_those_of_the_noise(noise):
    """20,000 draws of each: the relative error of a deviation is .8 %, and 6 of these allowed."""
    parameters = (
        (Fraction(1, 5), Fraction(1, 2)) if noise == "laplace" else (Fraction(9), Fraction(4))
    )
    made = counted(counts=np.zeros((2, 20_000), dtype=int), noise=LevelNoise(noise, parameters))
    for values, error in zip(made.values, made.standard_errors, strict=True):
        assert values.std() == pytest.approx(error, rel=0.05)
