"""A page that shows flows in a browser: one file, which fetches nothing.

`page_of` puts the data, as JSON, between the style sheet and the script of the folder `web`. The
page's own policy allows this one style sheet and this one script, by their digests, and no request
to anywhere. Names come from files of others and may be anything: in the JSON no character can end
the element that holds it, and the script writes them as text, never as HTML.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.files import PathLike, check_writable
from graphcuts_dp.plotting.palette import AMOUNTS, THEMES

_WEB = Path(__file__).resolve().parent / "web"
_ENDING = ".html"


def check_html(path: PathLike, *, force: bool) -> None:
    """Check that a page can be written, without writing it.

    Raises:
        FileFormatError: another ending than .html, a missing folder, or a file that is there.
    """
    if Path(path).suffix.lower() != _ENDING:
        raise FileFormatError(f"{path!s} must end in {_ENDING}: a page for a browser")
    check_writable(path, force=force)


def page_of(data: Mapping[str, Any]) -> str:
    """Return the page as text of ASCII characters.

    Args:
        data: what the page shows; see `results.flow_pictures.page_data`. The colours are added.
    """
    style = _theme_rules() + (_WEB / "flows.css").read_text(encoding="ascii")
    script = (_WEB / "flows.js").read_text(encoding="ascii")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "POLICY": escape(policy),
        "TITLE": escape(str(data["title"])),
        "STYLE": style,
        "DATA": json_in_html({**data, "amounts": AMOUNTS}),
        "SCRIPT": script,
    }
    page = (_WEB / "flows.html").read_text(encoding="ascii")
    before, *pieces = page.split("{{")
    filled = [before]
    for piece in pieces:  # each part is put in once, so that none is read for parts of others
        name, _, after = piece.partition("}}")
        filled += [parts[name], after]
    return "".join(filled).encode("ascii", "xmlcharrefreplace").decode("ascii")


def json_in_html(data: Any) -> str:
    """Return JSON that can stand in an HTML element: without <, > and &, in ASCII characters."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _theme_rules() -> str:
    """Return the colours of the light and the dark page as a style sheet."""
    rules = {
        name: "".join(f"--{part}:{colour};" for part, colour in theme.items())
        for name, theme in THEMES.items()
    }
    dark = f"@media (prefers-color-scheme: dark) {{ :root {{ {rules['dark']} }} }}"
    return f":root {{ color-scheme: light dark; {rules['light']} }}\n{dark}\n"


def _digest(text: str) -> str:
    """Return the digest of a style sheet or script, as a policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
