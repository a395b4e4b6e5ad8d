"""Pictures of flows: what is below 0 and what is impossible shows."""

import dataclasses

import numpy as np
import pytest
from statistic_cases import planted

from graphcuts_dp.errors import QueryError
from graphcuts_dp.plotting.flow_tables import FlowPicture, flow_map_figure, heat_map_figure
from graphcuts_dp.release.flow_release import release_flows

PICTURE = FlowPicture(
    values=np.array([[9.0, -2.0, 4.0], [-2.0, 0.0, 1.0], [4.0, 1.0, 100.0]]),
    low=np.array([[5.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 90.0]]),
    possible=np.array([[True, True, True], [True, False, True], [True, True, True]]),
    rows=["a", "b", "c"],
    columns=["a", "b", "c"],
    title="Flows",
)


def test_a_heat_map_shows_what_is_below_zero(tmp_path):
    figure = heat_map_figure(PICTURE)
    figure.savefig(tmp_path / "a.png")
    axes = figure.axes[0]
    shown = np.ma.filled(axes.images[0].get_array(), -1)
    assert shown.tolist() == [[9, 0, 4], [0, -1, 1], [4, 1, 100]]  # -1: masked, impossible
    assert {patch.get_xy() for patch in axes.patches} == {(0.5, -0.5), (-0.5, 0.5)}
    written = [text.get_text() for text in axes.texts]
    assert written == ["9", "-2", "4", "-2", "1", "4", "1", "100"]
    assert [text.get_text() for text in figure.legends[0].texts] == [
        "estimate below 0, drawn as 0 (1 cells)",
        "no pair of vertices",
    ]
    assert "noisy" in figure.axes[1].get_ylabel()
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["a", "b", "c"]


def test_a_table_that_is_all_possible_has_no_legend(tmp_path):
    plain = dataclasses.replace(
        PICTURE, values=np.abs(PICTURE.values), possible=np.ones((3, 3), dtype=bool), unit="weight"
    )
    figure = heat_map_figure(plain)
    figure.savefig(tmp_path / "a.png")
    assert not figure.legends
    assert figure.axes[1].get_ylabel() == "noisy weight"


@pytest.mark.parametrize("count", [61, 200])
def test_many_groups_are_named_by_those_that_enclose_them(count, tmp_path):
    values = np.random.default_rng(0).normal(size=(count, count))
    halves = [("left", count // 2), ("right", count - count // 2 - 1), ("tiny", 1)]
    picture = FlowPicture(
        values=values + values.T,
        low=np.zeros((count, count)),
        possible=np.ones((count, count), dtype=bool),
        rows=[str(i) for i in range(count)],
        columns=[str(i) for i in range(count)],
        breaks=(halves, halves),
        title="Flows",
    )
    figure = heat_map_figure(picture)
    figure.savefig(tmp_path / "a.png")
    axes = figure.axes[0]
    named = [tick.get_text() for tick in axes.get_yticklabels()]
    assert named == ["left", "right"]
    below = int(np.triu(values + values.T < 0).sum())
    assert f"({below} cells)" in figure.legends[0].texts[0].get_text()
    assert bool(axes.patches) is (count == 61)


def test_a_map_shows_what_is_above_zero_for_sure(tmp_path):
    places = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    figure = flow_map_figure(PICTURE, places)
    figure.savefig(tmp_path / "a.png")
    lines, dots, discs = figure.axes[0].collections
    assert [segment.tolist() for segment in lines.get_segments()] == [[[0, 0], [0, 1]]]
    assert dots.get_offsets().tolist() == places.tolist()
    assert discs.get_sizes().tolist() == [54, 0, 600]
    assert "2 that may be 0" in figure.legends[0].texts[2].get_text()


def test_flows_are_drawn_by_level(tmp_path):
    graph, _, groups, _ = planted(parts=4)
    flows = release_flows(graph, groups, epsilon=1.0, seed=0)
    for level in ("half", "part"):
        figure = flows.plot(level)
        figure.savefig(tmp_path / f"{level}.png")
        title = figure.axes[0].get_title(loc="left")
        assert title == f"Flows by {level} (epsilon = 1, seeded: not private)"
        image = np.asarray(figure.axes[0].images[0].get_array())
        assert image == pytest.approx(np.maximum(flows.values(level), 0))
    places = {0: (0, 0), 1: (1, 0), 2: (0, 1), 3: (1, 1)}
    assert len(flows.plot("part", coordinates=places, title="Mail").axes) == 1
    with pytest.raises(QueryError, match="1 of 4 groups have no coordinates"):
        flows.plot("part", coordinates={0: (0, 0), 1: (1, 0), 2: (0, 1)})
    for wrong in ((0, 0, 0), (0, "east"), (0, float("nan"))):
        with pytest.raises(QueryError, match="pairs of numbers"):
            flows.plot("part", coordinates={**places, 3: wrong})
    with pytest.raises(QueryError, match="unknown level"):
        flows.plot("county")
