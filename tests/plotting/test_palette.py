"""The colours: one palette everywhere, told apart by everybody, and texts that can be read."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.plotting import palette
from graphcuts_dp.plotting.style import AMOUNT_COLOURS, COLOURS

PACKAGE = Path(gc.__file__).parent
STYLES = ("server/page/app.css", "page/web/page.css", "plotting/web/flows.css")
HEX = re.compile(r"#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3})\b")
VARIABLE = re.compile(r"--([a-z-]+):\s*(#[0-9a-fA-F]{6})")
TEXTS = ("ink", "quiet", "accent", "bad", "good")
GROUNDS = ("paper", "ground", "note", "note-bad", "note-good")

# What people without cones for red or for green see, in linear light, by Vienot, Brettel and
# Mollon, "Digital video colourmaps for checking the legibility of displays by dichromats", 1999.
RED, GREEN = (
    np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]]),
    np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]]),
)


def read(name):
    return (PACKAGE / name).read_text(encoding="utf-8")


def rules_of(text):
    """Each colour of a style sheet that has a name, of the light page and of the dark one."""
    dark = re.search(r"prefers-color-scheme: dark\) \{(.*?)\n\}", text, re.DOTALL)
    light = text if dark is None else text.replace(dark[0], "")
    return dict(VARIABLE.findall(light)), dict(VARIABLE.findall(dark[0] if dark else ""))


def test_the_pages_have_the_colours_of_the_palette():
    light, _ = rules_of(read("server/page/app.css"))
    own_light, dark = rules_of(read("page/web/page.css"))
    assert not own_light
    amount = {"amount": {name: stops[1] for name, stops in palette.AMOUNTS.items()}}
    for name, rules in (("light", light), ("dark", dark)):
        assert len(rules) >= 17
        known = {**palette.THEMES[name], "amount": amount["amount"][name]}
        assert rules == {part: known[part] for part in rules}
    assert light.keys() == dark.keys()


def test_no_style_sheet_or_script_has_a_colour_of_its_own():
    known = {colour.lower() for theme in palette.THEMES.values() for colour in theme.values()}
    known |= {colour.lower() for stops in palette.AMOUNTS.values() for colour in stops}
    known |= {"#000000", "#ffffff", "#fff"}
    names = [
        path.relative_to(PACKAGE).as_posix()
        for folder in ("server/page", "page/web", "plotting/web")
        for path in (PACKAGE / folder).iterdir()
    ]
    assert set(STYLES) <= set(names)
    for name in names:
        text = re.sub(r"&#\w+;", "", read(name))
        unknown = {found for found in HEX.findall(text) if found.lower() not in known}
        unknown -= {found for found in unknown if len(found) == 4 and not name.endswith("css")}
        assert not unknown, name
        assert "hsl(" not in text, name


def test_scripts_draw_amounts_in_the_colours_of_pictures():
    stops = re.search(r"const AMOUNTS = \[(.*?)\]", read("server/page/shared.js"))[1]
    assert tuple(re.findall(r'"(#\w+)"', stops)) == palette.AMOUNTS["light"]
    for share in np.linspace(0, 1, 11):
        np.testing.assert_allclose(
            AMOUNT_COLOURS(float(share))[:3], palette.amount_colour(float(share)), atol=0.01
        )


@pytest.mark.parametrize("name", palette.THEMES)
def test_texts_and_shapes_can_be_seen(name):
    theme = {part: palette.rgb(colour) for part, colour in palette.THEMES[name].items()}
    for text in TEXTS:
        for ground in GROUNDS:
            assert palette.contrast(theme[text], theme[ground]) >= palette.LEAST_TEXT_CONTRAST
    assert palette.contrast(theme["accent"], theme["accent-ink"]) >= palette.LEAST_TEXT_CONTRAST
    for shape in ("edge", "between", "within", "focus"):
        assert palette.contrast(theme[shape], theme["paper"]) >= palette.LEAST_SHAPE_CONTRAST
    # Numbers are written on every shade of an amount; the paper is the shade of nothing.
    assert palette.AMOUNTS[name][0] == palette.THEMES[name]["paper"]
    light = []
    for share in np.linspace(0, 1, 101):
        colour = palette.amount_colour(float(share), name)
        ink = palette.rgb(palette.ink_on(colour))
        assert palette.contrast(ink, colour) >= palette.LEAST_TEXT_CONTRAST
        light.append(palette.luminance(colour))
    assert (np.diff(light) < 0).all() if name == "light" else (np.diff(light) > 0).all()


def test_the_contrast_is_that_of_its_source():
    assert palette.contrast((0, 0, 0), (1, 1, 1)) == pytest.approx(21)
    # Grey #767676 is the lightest that can be read on white, by the guidelines' own example.
    assert palette.contrast(palette.rgb("#767676"), (1, 1, 1)) == pytest.approx(4.54, abs=0.01)


def seen(colour, matrix):
    """L*, a* and b* of a colour as somebody sees it."""
    parts = np.array(palette.rgb(colour))
    light = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    light = np.clip(matrix @ light, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ light / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def least_distance(colours):
    """The least difference of two of these colours, to all kinds of people."""
    return min(
        float(np.linalg.norm(seen(a, matrix) - seen(b, matrix)))
        for matrix in (np.eye(3), RED, GREEN)
        for a, b in combinations(colours, 2)
    )


def test_the_colour_blind_can_tell_colours_apart():
    for theme in palette.THEMES.values():
        assert least_distance([theme["between"], theme["within"], theme["ink"]]) > 30
    assert least_distance([COLOURS["noisy"], COLOURS["synthetic"], COLOURS["truth"]]) > 30
    assert least_distance(palette.SERIES) > 9  # they differ in shape besides
    # Red and green of equal brightness, as matplotlib has them, cannot be told apart.
    assert least_distance(["#d62728", "#2ca02c"]) < 30
