"""Measurements by name, their standard errors, and the parts of which they are stored."""

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

NAME = "vertices with edges"
COUNTS = NonlinearCounts("vertices that have an edge", "a pair has two endpoints")


def measurement_of(map_of_counts=COUNTS, counts=((5,),), noise=None):
    """Measure counts, an array each, with Laplace noise of epsilon 1/3 unless noise is given."""
    digits_of_counts = [[np.array(array)] for array in counts]
    return draw(
        NAME,
        map_of_counts,
        digits_of_counts,
        [(2, 4)] * len(counts),
        unit=0.5,
        epsilon=None if noise else Fraction(1, 3),
        noise=noise,
        source=SeededEntropy(1),
    )


@pytest.mark.parametrize(
    "counts",
    [
        pytest.param(((5,),), id="one number"),
        pytest.param(((1, 2, 3), (7,)), id="two arrays"),
        pytest.param(((4,), (5, 6), (0, 0, 0)), id="three arrays"),
    ],
)
def test_counts_without_a_linear_map_are_restored_from_their_parts(counts):
    measurement = measurement_of(counts=counts)
    restored = CountMeasurement.from_parts(NAME, *measurement.parts())
    assert restored.map == COUNTS
    assert restored.cost() == measurement.cost()
    assert all(map(np.array_equal, measurement.steps, restored.steps))


@pytest.mark.parametrize(
    "changed_fields",
    [
        pytest.param({"map": "sums of triangles"}, id="unknown map"),
        pytest.param({"counted": ""}, id="no name of the count"),
        pytest.param({"sensitivity": ""}, id="no argument for the sensitivity"),
    ],
)
def test_damaged_fields_are_refused(changed_fields):
    fields, arrays = measurement_of().parts()
    with pytest.raises((LookupError, ValueError)):
        CountMeasurement.from_parts(NAME, fields | changed_fields, arrays)


@pytest.mark.parametrize(("counted", "sensitivity"), [("", "why"), ("what", "")])
def test_a_count_without_a_linear_map_needs_its_name_and_its_argument(counted, sensitivity):
    with pytest.raises(ValueError, match="say what is counted"):
        NonlinearCounts(counted, sensitivity)


@pytest.fixture(scope="module")
def count_measurements():
    """All counts of a release with groups."""
    release = gc.release_graph(
        gc.datasets.load("karate"),
        epsilon=2.0,
        noise="laplace",
        groups=gc.datasets.load_groups("karate"),
        seed=0,
    )
    measurements = [
        value for value in release.measurements.values if isinstance(value, CountMeasurement)
    ]
    assert len(measurements) > 1
    return measurements


def test_stored_fields_name_the_map(count_measurements):
    for measurement in count_measurements:
        fields, _ = measurement.parts()
        assert MAPS[fields["map"]] is type(measurement.map)


def test_the_map_of_files_of_older_versions_follows_from_the_name(count_measurements):
    not_measured_by_older_versions = ("second group sums", "squared distance")
    for measurement in count_measurements:
        if measurement.name not in not_measured_by_older_versions:
            fields, arrays = measurement.parts()
            del fields["map"]
            restored = CountMeasurement.from_parts(measurement.name, fields, arrays)
            assert type(restored.map) is type(measurement.map)


def test_a_file_without_a_map_is_refused_if_no_older_version_measured_its_name():
    fields, arrays = measurement_of().parts()
    del fields["map"]
    with pytest.raises(LookupError):
        CountMeasurement.from_parts(NAME, fields, arrays)


@pytest.mark.parametrize(
    ("map_of_counts", "counts"),
    [
        pytest.param(Total(), ((1, 2),), id="two totals"),
        pytest.param(Degrees(), ((1,), (2,), (3,)), id="degrees of three sides"),
    ],
)
def test_more_numbers_than_a_map_has_are_refused(map_of_counts, counts):
    measurement = measurement_of(map_of_counts, counts)
    with pytest.raises(ValueError, match="other sums"):
        CountMeasurement.from_parts("total", *measurement.parts())


def test_measurements_are_returned_by_their_names_or_maps():
    club = gc.datasets.load("karate")
    release = gc.release_graph(club, epsilon=2.0, mechanism="degrees+randomized-response", seed=0)
    assert release.measurements.named("degrees") is release.degrees
    assert release.measurements.named("entries") is release.noisy
    with pytest.raises(LookupError, match="'total' was not measured; there are degrees, entries"):
        release.measurements.named("total")
    measurement = measurement_of()
    measurements = Measurements((measurement,), release.guarantee)
    assert measurements.find(NonlinearCounts) is measurement


@pytest.mark.parametrize(
    "noise",
    [
        pytest.param(LevelNoise("laplace", (Fraction(1, 5), Fraction(1, 2))), id="laplace"),
        pytest.param(LevelNoise("gaussian", (Fraction(9), Fraction(4))), id="gaussian"),
    ],
)
def test_standard_errors_are_those_of_the_noise(noise):
    """Of 20,000 draws the deviation has a relative error of .8 %; 5 % are allowed."""
    measurement = measurement_of(counts=np.zeros((2, 20_000), dtype=int), noise=noise)
    for values, error in zip(measurement.values, measurement.standard_errors, strict=True):
        assert values.std() == pytest.approx(error, rel=0.05)
