"""scripts/check_docs.py notices links, formulas and hosts that the built site must not have."""

import importlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
check_docs = importlib.import_module("check_docs")


def site_of(folder, html, source="", **files):
    """A site of one page."""
    (folder / "_sources").mkdir()
    (folder / "page.html").write_text(html, encoding="utf-8")
    (folder / "_sources" / "page.md.txt").write_text(source, encoding="utf-8")
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "html",
    [
        '<script src="https://cdn.example/mathjax.js"></script>',
        '<script src="//cdn.example/mathjax.js"></script>',
        '<link rel="stylesheet" href="https://fonts.example/css">',
        '<img src="http://pictures.example/a.png">',
        '<img src="a.png" srcset="b.png 1x, https://pictures.example/c.png 2x">',
        '<iframe src="https://page.example"></iframe>',
        '<p style="background: url(https://pictures.example/a.png)">text</p>',
        "<style>@import 'https://fonts.example/css';</style>",
        '<script>load("https://cdn.example/require.min.js")</script>',
    ],
)
def test_what_comes_from_another_host_is_noticed(tmp_path, html):
    assert len(check_docs.loaded_from_elsewhere(site_of(tmp_path, html))) == 1


def test_styles_and_scripts_are_read(tmp_path):
    style, script = "a { background: url(//x.example/a.png) }", 'import "https://x.example/a.mjs"'
    site = site_of(tmp_path, "<p>text</p>", style_css=style, script_js=script)
    assert check_docs.loaded_from_elsewhere(site) == [
        "script.js: https://x.example/a.mjs",
        "style.css: //x.example/a.png",
    ]


def test_links_and_own_files_are_no_matter(tmp_path):
    html = '<a href="https://page.example">text</a><script src="own.js"></script>'
    html += '<link rel="canonical" href="https://page.example"><img src="data:image/png;base64,AA">'
    assert check_docs.loaded_from_elsewhere(site_of(tmp_path, html)) == []


@pytest.mark.parametrize(
    ("html", "source", "problems"),
    [
        ("<p><math><mi>x</mi></math></p>", "$x$", 0),
        ("<p>none</p>", "$x$ and\n\n$$\ny\n$$\n", 1),
        ("<p><code>$x$</code></p>", "`$x$`\n\n```\n$ graphcuts-dp plan\n$ exit\n```\n", 0),
        ("<p>for $x$</p>", "", 1),
        (r"<p>for \frac{1}{2}</p>", "", 1),
        (r"<p>for \(x\)</p>", "", 1),
        ("<p>5 $ and 6 $</p>", "5 $ and 6 $", 0),
    ],
)
def test_formulas_that_are_not_set_are_noticed(tmp_path, html, source, problems):
    assert len(check_docs.unset_formulas(site_of(tmp_path, html, source))) == problems
