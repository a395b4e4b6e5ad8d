"""No two texts of a picture collide, and none is cut off: the boxes are those of the renderer."""

from itertools import combinations, product

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from graphcuts_dp.plotting.answer_lists import answer_list_figure
from graphcuts_dp.plotting.flow_maps import flow_map_figure, flow_maps_figure
from graphcuts_dp.plotting.flow_tables import (
    FlowPicture,
    heat_map_figure,
    heat_maps_figure,
    periods_figure,
)
from graphcuts_dp.plotting.labels import shortened, text_width, wrapped
from graphcuts_dp.plotting.map_places import MapPlaces
from graphcuts_dp.plotting.partition_plot import map_figure

COUNTS = (3, 5, 8, 12, 13, 25, 40, 60)
LONG = "Krankenhaus der Barmherzigen Schwestern zu Sankt Elisabeth, Station"
WORDS = "Nord Ost"
TITLE = (
    "Flows by ward, March 2026 (epsilon = 1, delta = 1e-06, seeded: not private); of each person "
    "at most 20 rows count in all months together, and the others are left out"
)
DOLLARS = "a$b_{x}$"
NAMES_AND_LARGEST = [(LONG, 50.0), (LONG, 1e9), (WORDS, 1e9), (DOLLARS, 50.0)]
MONTHS = ("January 2026", "February 2026", "March 2026", "April 2026", "May 2026")
TOUCH = 0.6  # dots that boxes may share: they are rounded to whole dots


def quick_and_slow(cases, quick):
    """Leave all cases to the slow tests but some, of which no two are of the same size."""
    cases = list(cases)
    assert set(quick) <= set(cases)
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=[] if case in quick else [pytest.mark.slow],
        )
        for case in cases
    ]


def collisions(figure):
    """Pairs of texts that collide, and texts that the figure cuts off."""
    texts = drawn_texts(figure)
    wrong = [
        (first, second)
        for (first, a), (second, b) in combinations(texts, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > TOUCH and min(a.y1, b.y1) - max(a.y0, b.y0) > TOUCH
    ]
    whole = figure.bbox
    cut = [
        text
        for text, box in texts
        if box.x0 < -TOUCH or box.y0 < -TOUCH or box.x1 > whole.x1 + TOUCH or box.y1 > whole.y1
    ]
    return wrong, cut


def drawn_texts(figure):
    """The texts that are drawn, with their boxes in dots."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    labels, drawn = set(), set()  # of ticks: some lie outside of their axes and are not drawn
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            labels |= {id(label) for tick in ticks for label in (tick.label1, tick.label2)}
            low, high = sorted(axis.get_view_interval())
            drawn |= {id(tick.label1) for tick in ticks if low <= tick.get_loc() <= high}
    return [
        (text.get_text(), text.get_window_extent(renderer))
        for text in figure.findobj(Text)
        if text.get_visible()
        and text.get_text().strip()
        and (text.axes is None or text.axes.get_visible())
        and (id(text) not in labels or id(text) in drawn)
    ]


def picture(count, *, name=LONG, largest=1e6, numbered=True, symmetric=False, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.exponential(largest / 5, (count, count))
    values[0, 1] = largest
    names = [f"{name} {number}" for number in range(1, count + 1)]
    thirds = [(f"{name} group {i}", count // 3) for i in range(2)]
    thirds.append((f"{name} group 3", count - 2 * (count // 3)))
    return FlowPicture(
        values=values,
        half_widths=np.full((count, count), largest / 30) if numbered else None,
        low=np.where(values > largest / 4, values * 0.7, 0.0),
        possible=~np.eye(count, dtype=bool),
        row_names=names,
        column_names=names,
        enclosing=(thirds, thirds),
        axis_names=("from: ward", "to: ward"),
        symmetric=symmetric,
        title=TITLE,
        unit="rows",
    )


def places(count, *, on_earth=True, seed=1, span=0.3):
    rng = np.random.default_rng(seed)
    degrees = np.stack([rng.uniform(50, 50 + span, count), rng.uniform(8, 8 + span, count)], axis=1)
    scale = float(np.cos(np.radians(50 + span / 2)))
    points = np.stack([degrees[:, 1] * scale, degrees[:, 0]], axis=1)
    return MapPlaces(rows=points, columns=points, longitude_scale=scale if on_earth else None)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("count", "name", "largest"),
    quick_and_slow(
        ((count, *pair) for count, pair in product(COUNTS, NAMES_AND_LARGEST)),
        [
            *((12, LONG, 50.0), (8, LONG, 1e9), (13, LONG, 1e9)),
            *((5, WORDS, 1e9), (25, WORDS, 1e9), (3, DOLLARS, 50.0), (60, DOLLARS, 50.0)),
        ],
    ),
)
def test_names_and_numbers_of_a_heat_map_do_not_collide(count, name, largest):
    figure = heat_map_figure(picture(count, name=name, largest=largest))
    assert collisions(figure) == ([], [])
    axes = figure.axes[0]
    assert [axes.get_ylabel(), axes.get_xlabel()] == ["from: ward", "to: ward"]
    assert len(axes.get_yticklabels()) == len(axes.get_xticklabels()) == count
    assert max(figure.get_size_inches()) < 13


@pytest.mark.thorough
@pytest.mark.parametrize("count", [61, 150])
def test_names_of_enclosing_groups_do_not_collide(count):
    figure = heat_map_figure(picture(count))
    assert collisions(figure) == ([], [])
    assert len(figure.axes[0].get_yticklabels()) == 3


@pytest.mark.thorough
@pytest.mark.parametrize("count", quick_and_slow([3, 9, 24, 40], [9, 40]))
def test_heat_maps_of_months_do_not_collide(count):
    tables = {month: picture(count, seed=number) for number, month in enumerate(MONTHS)}
    figure = heat_maps_figure(tables, TITLE)
    assert collisions(figure) == ([], [])
    shown = {text for text, _ in drawn_texts(figure)}
    assert set(MONTHS) <= shown
    # One scale: the same value has the same colour in each.
    for month, axes in zip(MONTHS, figure.axes, strict=False):
        assert axes.texts[0].get_text() == month


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("count", "on_earth", "symmetric"),
    quick_and_slow(
        product(COUNTS, (True, False), (True, False)),
        [
            *((3, True, True), (5, True, False), (8, False, True), (12, False, False)),
            *((13, True, True), (25, False, False), (40, False, True), (60, True, False)),
        ],
    ),
)
def test_names_of_a_map_do_not_collide(count, on_earth, symmetric):
    table = picture(count, symmetric=symmetric)
    figure = flow_map_figure(table, places(count, on_earth=on_earth))
    assert collisions(figure) == ([], [])


@pytest.mark.thorough
@pytest.mark.parametrize("count", quick_and_slow([3, 12, 30], [3, 30]))
def test_maps_of_months_do_not_collide(count):
    tables = {month: picture(count, seed=number) for number, month in enumerate(MONTHS)}
    figure = flow_maps_figure(tables, places(count), TITLE)
    assert collisions(figure) == ([], [])
    assert set(MONTHS) <= {text for text, _ in drawn_texts(figure)}


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("count", [2, 12, 13])
def test_names_of_parts_do_not_collide(count):
    points = np.random.default_rng(2).random((count, 2)) / 20
    points[-1] = 1.0
    labels = [f"{LONG} {number}" for number in range(count)]
    positions = dict(zip(labels, map(tuple, points.tolist()), strict=True))
    figure = map_figure(positions, labels, np.arange(count) % 9, title=TITLE)
    assert collisions(figure) == ([], [])


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("count", [1, 9, 40])
def test_names_of_answers_do_not_collide(count):
    values = np.arange(1.0, count + 1)
    figure = answer_list_figure(
        values,
        values - 1,
        values + 1,
        title=TITLE,
        x_label="cut",
        names=[f"{LONG} {number}" for number in range(count)],
        unit="edges",
    )
    assert collisions(figure) == ([], [])


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("cells", [1, 4, 9])
def test_charts_over_months_do_not_collide(cells):
    values = np.random.default_rng(0).exponential(1e5, (cells, 24))
    names = [f"{shortened(LONG, 28)} \N{RIGHTWARDS ARROW} {shortened(LONG, 28)}"] * cells
    months = [f"{year}-{month:02}" for year in (2025, 2026) for month in range(1, 13)]
    figure = periods_figure(
        periods=months,
        cells=names,
        values=values,
        low=values * 0.9,
        high=values * 1.1,
        title=TITLE,
        unit="rows",
        omitted=7,
    )
    wrong, cut = collisions(figure)
    # Turned texts have upright boxes, so those of neighbouring months overlap: only these may.
    assert not [pair for pair in wrong if not set(pair) <= set(months)]
    assert not cut


def test_the_check_sees_texts_that_collide():
    figure = Figure(figsize=(3, 3))
    axes = figure.subplots()
    axes.set_xticks([0, 1, 2], [f"{LONG} {i}" for i in range(3)])
    axes.text(0, 0, "beyond the edge " * 20)
    wrong, cut = collisions(figure)
    assert len(wrong) >= 2
    assert cut


@pytest.mark.thorough
def test_texts_are_measured_cut_and_broken():
    assert text_width("mmmm", 10) == pytest.approx(4 * text_width("m", 10), rel=0.05)
    assert text_width("m", 20) == pytest.approx(2 * text_width("m", 10), rel=0.1)
    assert shortened("short", 10) == "short"
    cut = shortened("Station 1 of Saint Mary, ward 12", 12)
    assert (len(cut), cut[:3], cut[-2:]) == (12, "Sta", "12")
    lines = wrapped(f"{LONG} {'x' * 200}", 10, 100).split("\n")
    assert len(lines) > 5
    assert max(text_width(line, 10) for line in lines) <= 100
    assert "".join(lines).replace(" ", "") == f"{LONG}{'x' * 200}".replace(" ", "")
