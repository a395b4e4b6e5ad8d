"""How the site is built: `make docs`. Nothing is fetched; a warning is an error."""

import re
import sys
from html import escape, unescape
from pathlib import Path

from graphcuts_dp import __version__

_DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(_DOCS / "_ext"))
sys.path.insert(0, str(_DOCS.parent))

from scripts.reference import missing, sections_of, see_also  # noqa: E402  # beside docs/
from tests.audits.public_names import public_names  # noqa: E402

_NAMES = {name: value for name, value in public_names().items() if name != "__version__"}
_API = (_DOCS / "api.md").read_text(encoding="utf-8")
_SECTIONS = sections_of(_API)
# Files at the top of the repository that are pages of the site: links to them lead to the page.
_PAGES = {
    "../README.md": "index.md",
    "../SECURITY.md": "security.md",
    "../CONTRIBUTING.md": "contributing.md",
    "../CHANGELOG.md": "changelog.md",
    "../figures/README.md": "figures.md",
    "../datasets/README.md": "datasets.md",
}

project = "graphcuts_dp"
author = "The graphcuts_dp developers"
version = release = __version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "mathml",  # docs/_ext
]
html_math_renderer = "mathml"
default_role = "code"  # `name` in docstrings
html_theme = "furo"
html_title = f"graphcuts_dp {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
templates_path = ["_templates"]
autodoc_typehints = "none"  # the signature has them in source form
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_use_rtype = False
napoleon_use_ivar = True  # attributes are fields of the class; properties have entries of their own

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
suppress_warnings = ["mystnb.unknown_mime_type"]

# `$ ` is a prompt, not part of what is copied.
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True


def _lead_to_pages(app: object, name: str, source: list[str]) -> None:
    """Let links to files of the repository lead to the pages that hold them."""
    text = source[0]
    depth = "../" * name.count("/")
    for file, page in _PAGES.items():
        text = text.replace(f"]({depth}{file}", f"]({depth}{page}")
    source[0] = text


def _lead_home(app: object, relative: Path, parent: str, content: list[str]) -> None:
    """Likewise in a file of the repository that a page includes."""
    here = (_DOCS / relative).resolve().parent if not relative.is_absolute() else relative.parent
    root = _DOCS.parent

    def led(found: re.Match[str]) -> str:
        target = found.group(1)
        if "://" in target or target.startswith("#"):
            return found.group(0)
        file, mark, anchor = target.partition("#")
        path = (here / file).resolve()
        if not path.is_relative_to(root):
            return found.group(0)
        inside = path.relative_to(root).as_posix()
        page = _PAGES.get(f"../{inside}")
        led_to = page or (
            inside.removeprefix("docs/") if inside.startswith("docs/") else f"../{inside}"
        )
        return f"]({led_to}{mark}{anchor})"

    content[0] = re.sub(r"\]\(([^)\s]+)\)", led, content[0])


def _plain(
    app: object, what: str, name: str, of: object, options: object, lines: list[str]
) -> None:
    """Docstrings are plain text with `names`: keep the marks of reStructuredText from acting."""
    made: list[str] = []
    listed = None  # how far the items of a list are indented, within one
    shown = False  # within an example and what it prints
    for line in lines:
        shown = line.strip().startswith(">>>") or (shown and bool(line.strip()))
        if shown:
            made.append(line)
            continue
        item = re.match(r"( *)(\d+[a-z]?\.|-) ", line)
        indent = len(line) - len(line.lstrip())
        starts = item is not None and listed is None
        ends = item is None and listed is not None and bool(line.strip()) and indent <= listed
        if (starts or ends) and made and made[-1].strip():
            made += [""]
        listed = indent if item else (None if ends else listed)
        parts = line.split("`")
        parts[::2] = [re.sub(r"([|*])|_(?=\W|$)", r"\\\g<0>", part) for part in parts[::2]]
        made.append("`".join(parts))
    lines[:] = made


def _as_cards(
    app: object, page: str, template: str, context: dict[str, object], doctree: object
) -> None:
    """Each cell of a table knows the name of its column, so that a phone shows rows as cards."""
    body = context.get("body")
    if isinstance(body, str):
        context["body"] = re.sub(r"<table\b.*?</table>", _card_table, body, flags=re.DOTALL)


def _card_table(found: re.Match[str]) -> str:
    table = found.group(0)
    head, end, rows = table.partition("</thead>")
    names = re.findall(r"<th\b[^>]*>(.*?)</th>", head, re.DOTALL)
    if not end or len(names) < 2 or "rowspan" in table:
        return table
    plain = [escape(unescape(re.sub(r"<[^>]+>", "", name)).strip()) for name in names]

    def row(match: re.Match[str]) -> str:
        at = iter(range(len(plain)))

        def cell(start: re.Match[str]) -> str:
            place = next(at, None)
            if place is None:
                return start.group(0)
            whole = ' class="whole"' if place == 0 else ""
            kind = re.sub(r' class="[^"]*"', "", start.group(2)) if whole else start.group(2)
            return f'<{start.group(1)} data-name="{plain[place]}"{whole}{kind}>'

        return re.sub(r"<(t[hd])\b([^>]*)>", cell, match.group(0))

    head = re.sub(
        r'<table\b( class="([^"]*)")?',
        lambda start: f'<table class="cards {start.group(2) or ""}"',
        head,
        count=1,
    )
    return head + end + re.sub(r"<tr\b.*?</tr>", row, rows, flags=re.DOTALL)


def _also(app: object, what: str, name: str, of: object, options: object, lines: list[str]) -> None:
    """Add to the page of a public name which other names and pages of the guide to see."""
    public = next((each for each, value in _NAMES.items() if value is of), None)
    if public is None or what not in ("class", "function", "exception", "module"):
        return
    others = [
        f":doc:`{other} </api/graphcuts_dp.{other}>`"
        for other in see_also(public, _SECTIONS, "\n".join(lines))
    ]
    (section,) = (section for section in _SECTIONS if public in section.names)
    guides = [f":doc:`/{page.removesuffix('.md')}`" for page in section.guides]
    lines += ["", ".. rubric:: See also", "", ", ".join([*guides, *others])]


def _whole(app: object) -> None:
    """Stop the build where the reference lacks something."""
    if lacking := missing(_NAMES, _API):
        raise RuntimeError("the API reference is not whole:\n" + "\n".join(lacking))


def setup(app: object) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", _whole, 100)  # type: ignore[attr-defined]
    app.connect("autodoc-process-docstring", _also, 900)  # type: ignore[attr-defined]
    app.connect("autodoc-process-docstring", _plain, 400)  # type: ignore[attr-defined]
    app.connect("source-read", _lead_to_pages)  # type: ignore[attr-defined]
    app.connect("include-read", _lead_home)  # type: ignore[attr-defined]
    app.connect("html-page-context", _as_cards)  # type: ignore[attr-defined]
