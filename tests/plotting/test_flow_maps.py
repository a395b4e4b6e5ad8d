"""Maps of flows: which are drawn, how wide and where to; degrees and kilometres around them."""

import dataclasses
import itertools
import math
import re

import numpy as np
import pytest
from matplotlib.path import Path as Outline
from test_object_plots import PICTURE, picture_of_noise, texts

from graphcuts_dp.plotting.flow_maps import arrow_outline, flow_map_figure, flow_maps_figure
from graphcuts_dp.plotting.flow_tables import heat_maps_figure
from graphcuts_dp.plotting.map_places import MapPlaces

TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
PLANE = MapPlaces(rows=TRIANGLE, columns=TRIANGLE)


def earth(latitudes, longitudes):
    """Places on earth, on the plane that is true on their middle latitude."""
    scale = math.cos(math.radians((min(latitudes) + max(latitudes)) / 2))
    points = np.stack([np.array(longitudes) * scale, np.array(latitudes, dtype=float)], axis=1)
    return MapPlaces(rows=points, columns=points, longitude_scale=scale)


def arrows_of(figure):
    """The outlines of the arrows, in the order in which they are drawn."""
    return [path.vertices[:-1] for path in figure.axes[0].collections[1].get_paths()]


def area(corners):
    x, y = corners.T
    return abs(float(x @ np.roll(y, 1) - y @ np.roll(x, 1))) / 2


def test_a_map_shows_what_is_above_zero_for_sure():
    figure = flow_map_figure(PICTURE, PLANE)
    discs, arrows, dots = figure.axes[0].collections
    (arrow,) = arrows_of(figure)
    ends = arrow[[0, len(arrow) // 2]]  # one side goes there, the other comes back
    np.testing.assert_allclose(sorted(ends[:, 1]), [0, 1], atol=0.05)
    assert discs.get_sizes().tolist() == pytest.approx([500 * 9 / 1234, 500])
    assert dots.get_offsets().tolist() == [*TRIANGLE.tolist(), *TRIANGLE.tolist()]
    # Half of the largest disc is sure, five ninths of the other: that is paler by as much.
    white = 1 - discs.get_facecolors()[:, :3]
    share = (0.25 + 0.75 * 5 / 9) / (0.25 + 0.75 / 2)
    assert white[0] == pytest.approx(white[1] * share)
    legend = [text.replace("\n", " ") for text in texts(figure.legends[0].texts)]
    assert "not drawn: 2 flows that may be 0" in legend
    assert not any("heads" in text for text in legend)
    assert len(arrows.get_paths()) == 1
    assert set(texts(figure.axes[0].texts)) == {"a", "b", "c"}


def test_large_sure_flows_of_a_map_are_on_top():
    rng = np.random.default_rng(1)
    points = rng.random((30, 2)) * 100
    values = rng.random((30, 30)) * 100
    low = values * rng.random((30, 30))
    picture = dataclasses.replace(picture_of_noise(30), values=values, low=low, symmetric=False)
    figure = flow_map_figure(picture, MapPlaces(rows=points, columns=points))
    arrows = arrows_of(figure)
    assert len(arrows) == 400

    def nearest(point):
        return int(np.argmin(np.hypot(*(points - point).T)))

    # The tip is the corner in the middle; both ends of the shaft are the first and the last corner.
    sure = [
        low[nearest((arrow[0] + arrow[-1]) / 2), nearest(arrow[len(arrow) // 2])]
        for arrow in arrows
    ]
    off_diagonal = low - np.diag(np.diag(low))
    assert sure == pytest.approx(np.sort(off_diagonal.ravel())[-400:])
    legend = " ".join(texts(figure.legends[0].texts)).replace("\n", " ")
    assert "not drawn: 0 flows that may be 0, 470 smaller ones" in legend
    assert "heads show the direction" in legend


def test_ways_and_ways_back_lie_side_by_side():
    """Each bends to the left on its way, so that neither covers the other."""
    points = TRIANGLE * 100
    for a, b in itertools.permutations(range(3), 2):
        for width in (0.6, 3.0, 7.0):
            there = arrow_outline(points[a], points[b], width, has_head=True)
            back = arrow_outline(points[b], points[a], width, has_head=True)
            chord = points[b] - points[a]
            left = np.array([-chord[1], chord[0]]) / np.hypot(*chord)
            assert ((there - points[a]) @ left).mean() > 0 > ((back - points[a]) @ left).mean()
            middle = slice(len(there) // 8, len(there) // 4)
            assert not Outline(back).contains_points(there[middle]).any()


@pytest.mark.parametrize("has_head", [True, False])
def test_arrows_are_as_wide_as_flows_are_large_and_end_where_they_go(has_head):
    start, stop = np.array([0.0, 0.0]), np.array([200.0, 40.0])
    for width in (1.0, 2.0, 6.0):
        arrow = arrow_outline(start, stop, width, has_head=has_head)
        shaft = arrow_outline(start, stop, width, has_head=False)
        assert area(shaft) == pytest.approx(width * 208, rel=0.05)
        assert np.hypot(*(arrow[0] - arrow[-1])) == pytest.approx(width)
        last = len(arrow) // 2  # the tip, or the last corner of one side
        end = np.hypot(*(arrow[last - 1] - arrow[last + 1 if has_head else last]))
        assert end > width + 2 if has_head else end == pytest.approx(width)
        assert np.hypot(*(arrow[last] - stop)) < 3 + width / 2
    short = arrow_outline(start, np.array([2.0, 0.0]), 7.0, has_head=has_head)
    assert np.isfinite(short).all()


def test_names_do_not_run_into_each_other():
    points = np.repeat([[0.0, 0.0], [1.0, 1.0]], 20, axis=0) + np.arange(40)[:, None] / 1e5
    figure = flow_map_figure(picture_of_noise(40), MapPlaces(rows=points, columns=points))
    names = texts(figure.axes[0].texts)
    assert len(names) == 8  # four about each of the two places
    assert {"3", "5"} <= set(names)  # the largest first


def dots_per_unit(figure):
    figure.draw_without_rendering()
    transform = figure.axes[0].transData
    origin, right, up = transform.transform([[0, 0], [1, 0], [0, 1]])
    return right[0] - origin[0], up[1] - origin[1]


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("latitude", [0, 50, -33])
def test_maps_are_true_on_their_middle_latitude(latitude):
    places = earth([latitude - 0.1, latitude, latitude + 0.1], [8.0, 8.4, 8.2])
    figure = flow_map_figure(PICTURE, places)
    across, up = dots_per_unit(figure)
    assert across == pytest.approx(up)
    axes = figure.axes[0]
    for axis, scale, words in ((axes.xaxis, places.longitude_scale, "EW"), (axes.yaxis, 1, "NS")):
        labels = texts(axis.get_ticklabels())
        assert 2 <= len(labels) <= 8
        for place, label in zip(axis.get_ticklocs(), labels, strict=True):
            number, _, side = label.partition("\N{DEGREE SIGN}")
            sign = -1 if side.strip() == words[1] else 1
            assert sign * float(number) == pytest.approx(place / scale, abs=0.006)


def kilometres(start, stop):
    """The distance of two places (latitude, longitude) along a great circle, by haversines."""
    (a, b), (c, d) = np.radians(start), np.radians(stop)
    half = math.sin((c - a) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((d - b) / 2) ** 2
    return 2 * 6371.0088 * math.asin(math.sqrt(half))


@pytest.mark.parametrize("span", [0.002, 0.1, 2.0, 8.0])
def test_the_bar_has_the_length_that_it_names(span):
    places = earth([50, 50 + span, 50 + span / 2], [8, 8 + span, 8])
    (axes,) = flow_map_figure(PICTURE, places).axes
    bar = axes.lines[-1]
    (x0, x1), (y, _) = bar.get_data()
    scale = places.longitude_scale
    (text,) = [name for name in texts(axes.texts) if re.fullmatch(r"[\d,]+ k?m", name)]
    number, unit = text.replace(",", "").split()
    named = float(number) / (1000 if unit == "m" else 1)
    assert kilometres((y, x0 / scale), (y, x1 / scale)) == pytest.approx(named, rel=0.15)


def test_maps_of_continents_and_of_planes_have_no_bar():
    for places in (earth([20, 60, 40], [-120, -70, -90]), PLANE):
        (axes,) = flow_map_figure(PICTURE, places).axes
        assert not [name for name in texts(axes.texts) if name.endswith(" km")]
    assert texts(axes.get_xticklabels()) == []  # of the plane: it has no degrees
    assert axes.spines["top"].get_visible()  # but a frame


def test_a_map_across_the_date_line_names_its_degrees():
    places = earth([-18, -17, -16], [177, 179, 182])  # Fiji, as `on_a_plane` gives it
    (axes,) = flow_map_figure(PICTURE, places).axes
    labels = texts(axes.get_xticklabels())
    assert "180\N{DEGREE SIGN}" in labels
    assert any(label.endswith(" W") for label in labels)
    assert any(label.endswith(" E") for label in labels)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("count", [2, 5, 12])
def test_months_have_one_scale(count):
    tables = {
        f"Month {i}": dataclasses.replace(
            PICTURE, values=PICTURE.values * (i + 1), low=PICTURE.low * (i + 1)
        )
        for i in range(count)
    }
    figure = heat_maps_figure(tables, "Months")
    images = [axes.images[0].get_array() for axes in figure.axes if axes.images][:count]
    assert len(images) == count
    assert texts(figure.axes[0].texts) == ["Month 0"]
    first, last = (np.asarray(image)[2, 2].mean() for image in (images[0], images[-1]))
    assert last < first  # the largest of all is the darkest
    maps = flow_maps_figure(tables, PLANE, "Months")
    areas = [area(axes.collections[1].get_paths()[0].vertices[:-1]) for axes in maps.axes]
    assert np.all(np.diff(areas) > 0)
    discs = [axes.collections[0].get_sizes().max() for axes in maps.axes]
    assert np.array(discs) / discs[-1] == pytest.approx(np.arange(1, count + 1) / count)
