"""Check the site that `make docs` built: links, formulas, widths, and that it needs no network.

Every link leads somewhere. Every formula of a page is MathML. No page loads anything from another
host. No page is too wide.

`python scripts/check_docs.py build/docs [--pictures FOLDER]`. Widths are measured by Chromium at
390 and 1,280 pixels, where there is one; no page may scroll sideways, nor any table of six columns
or fewer. With --pictures it also takes a screenshot of nine pages at both widths.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

WIDTHS = (390, 1280)
MOST_COLUMNS = 6
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PICTURED = (
    *("index", "start", "privacy", "releases", "tables", "measured", "papers", "figures"),
    "mathematics",
)
# What a browser fetches of its own accord, by tag; of <link> only these kinds.
_LOADED = {
    **dict.fromkeys(
        ("script", "img", "iframe", "embed", "source", "audio", "video", "track"), "src"
    ),
    "link": "href",
    "object": "data",
}
_LOADED_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "prefetch", "manifest"}
_LOADED_LINKS |= {"preconnect", "dns-prefetch", "apple-touch-icon"}
_REMOTE = re.compile(r"\s*(?:https?:)?//", re.I)
_REMOTE_IN_CSS = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""", re.I)
_REMOTE_IN_JS = re.compile(r"""["']((?:https?:)?//[^"'\s]+\.(?:m?js|css|woff2?))\b""", re.I)
_MEASURE = """<script>
const found = [], pages = PAGES, widths = WIDTHS, most = MOST;
async function measure(page, width) {
  const frame = document.createElement('iframe');
  frame.style = `width:${width}px; height:800px; border:0`;
  const loaded = new Promise(done => { frame.onload = done; });
  frame.src = page;
  document.body.append(frame);
  await loaded;
  const inside = frame.contentDocument, root = inside.scrollingElement;
  if (root.scrollWidth > width + 1) found.push(`${page}: ${root.scrollWidth} px at ${width}`);
  for (const table of inside.querySelectorAll('table')) {
    const columns = Math.max(...[...table.rows].map(row => row.cells.length));
    let box = table;
    while (box && !['auto', 'scroll'].includes(inside.defaultView.getComputedStyle(box).overflowX))
      box = box.parentElement;
    const wide = table.getBoundingClientRect().right > width + 1 ||
      (box && box !== root && box.scrollWidth > box.clientWidth + 1);
    if (columns <= most && wide) {
      found.push(`${page}: a table of ${columns} columns scrolls at ${width}: ` +
        table.innerText.slice(0, 60).replace(/\\s+/g, ' '));
    }
  }
  frame.remove();
}
(async () => {
  for (const width of widths) for (const page of pages) await measure(page, width);
  document.body.innerHTML = `<pre id="done">${JSON.stringify(found)}</pre>`;
})();
</script>"""


def broken_links(site: Path) -> list[str]:
    """Return links of the built pages to files, or to anchors in them, that are missing."""
    texts = {path.resolve(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    anchors_of = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in texts.items()}
    broken = []
    for path, text in texts.items():
        for link in re.findall(r'<a\b[^>]*\bhref="([^"]*)"', text):
            if re.match(r"[a-z]+:", link):
                continue
            file, _, anchor = unescape(unquote(link)).partition("#")
            to = (path.parent / file).resolve() if file else path
            if not to.exists() or (anchor and to in anchors_of and anchor not in anchors_of[to]):
                broken.append(f"{path.relative_to(site.resolve())}: {link}")
    return sorted(set(broken))


class _Page(HTMLParser):
    """Parse a page: what it loads, how many formulas it has, and its text outside of these."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.formulas = 0
        self.prose: list[str] = []
        self._within: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See `HTMLParser`."""
        values = {name: value or "" for name, value in attrs}
        self.formulas += tag == "math"
        if tag in ("code", "pre", "script", "style", "math", "title"):
            self._within.append(tag)
        if tag != "link" or _LOADED_LINKS & set(values.get("rel", "").lower().split()):
            self.loaded += [values.get(_LOADED.get(tag, ""), "")]
        self.loaded += [part.split(" ")[0] for part in values.get("srcset", "").split(", ")]
        self.loaded += _REMOTE_IN_CSS.findall(values.get("style", ""))

    def handle_endtag(self, tag: str) -> None:
        """See `HTMLParser`."""
        if self._within and self._within[-1] == tag:
            self._within.pop()

    def handle_data(self, data: str) -> None:
        """See `HTMLParser`."""
        if not self._within:
            self.prose.append(data)
        elif self._within[-1] == "script":
            self.loaded += _REMOTE_IN_JS.findall(data)
        elif self._within[-1] == "style":
            self.loaded += _REMOTE_IN_CSS.findall(data)


def loaded_from_elsewhere(site: Path) -> list[str]:
    """Return scripts, styles, fonts and pictures that a page, a style or a script loads."""
    loads = []
    for path in sorted(site.rglob("*")):
        if path.suffix not in (".html", ".css", ".js"):
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".html":
            remote = [address for address in _Page(text).loaded if _REMOTE.match(address)]
        else:
            remote = (_REMOTE_IN_CSS if path.suffix == ".css" else _REMOTE_IN_JS).findall(text)
        loads += [f"{path.relative_to(site)}: {address}" for address in remote]
    return sorted(set(loads))


def formulas_of(text: str) -> list[str]:
    """Return the formulas of a page in Markdown, `$...$` and `$$...$$`, outside of code."""
    text = re.sub(r"^( *)(```+|~~~+).*?^\1\2", "", text, flags=re.M | re.S)
    text = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text, flags=re.S)
    return re.findall(r"(?<!\\)(\$\$[^$]+\$\$|\$[^$\s](?:[^$]*[^$\s\\])?\$)", text)


def unset_formulas(site: Path) -> list[str]:
    """Return pages with fewer formulas than their source, or with TeX in their text."""
    problems = []
    for path in sorted(site.rglob("*.html")):
        page, name = _Page(path.read_text(encoding="utf-8")), path.relative_to(site)
        source = site / "_sources" / name.with_suffix(".md.txt")
        written = formulas_of(source.read_text(encoding="utf-8")) if source.exists() else []
        if page.formulas < len(written):
            problems.append(
                f"{name}: {page.formulas} formulas, where its source has {len(written)}"
            )
        text = " ".join(page.prose)
        problems += [f"{name}: {formula}" for formula in formulas_of(text)]
        problems += [
            f"{name}: {formula}" for formula in re.findall(r"\\(?:[a-zA-Z]{2,}|[(\[])", text)
        ]
    return problems


def too_wide(site: Path, browser: str) -> list[str]:
    """Return pages and tables that scroll sideways, as the browser lays them out."""
    skipped = ("genindex", "search", "py-modindex")
    pages = sorted(
        path.relative_to(site).as_posix()
        for path in site.rglob("*.html")
        if path.stem not in skipped and "_static" not in path.parts
    )
    script = _MEASURE.replace("PAGES", json.dumps(pages)).replace("WIDTHS", json.dumps(WIDTHS))
    sheet = site / "measure.htm"
    sheet.write_text(f"<body>{script.replace('MOST', str(MOST_COLUMNS))}</body>", encoding="utf-8")
    options = ["--allow-file-access-from-files", "--virtual-time-budget=600000", "--dump-dom"]
    try:
        shown = _browse(browser, [*options, sheet.resolve().as_uri()])
    finally:
        sheet.unlink()
    done = re.search(r'<pre id="done">(.*?)</pre>', shown, re.DOTALL)
    return json.loads(unescape(done.group(1))) if done else ["the browser measured nothing"]


def take_pictures(site: Path, browser: str, folder: Path) -> None:
    """Take screenshots of some pages at both widths."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PICTURED:
        for width in WIDTHS:
            # A frame, since the browser's own window is never narrower than 500 pixels.
            sheet = site / "picture.htm"
            sheet.write_text(
                f'<body style="margin:0"><iframe src="{name}.html" '
                f'style="width:{width}px; height:1600px; border:0"></iframe></body>'
            )
            to = folder / f"{name}-{width}.png"
            size = f"--window-size={width},1600"
            shot = [f"--screenshot={to}", size, "--allow-file-access-from-files"]
            _browse(browser, [*shot, "--virtual-time-budget=5000", sheet.resolve().as_uri()])
            sheet.unlink()


def _browse(browser: str, options: list[str]) -> str:
    line = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *options]
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=300)  # noqa: S603
    return done.stdout


def main() -> int:
    """Print what is wrong; 1 if anything is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("site", type=Path, help="folder of the built pages")
    parser.add_argument("--pictures", type=Path, help="folder for screenshots of some pages")
    options = parser.parse_args()
    problems = [f"broken link: {problem}" for problem in broken_links(options.site)]
    problems += [
        f"loaded from elsewhere: {problem}" for problem in loaded_from_elsewhere(options.site)
    ]
    problems += [f"formula not set: {problem}" for problem in unset_formulas(options.site)]
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.stdout.write("no Chromium: widths were not measured\n")
    else:
        problems += [f"too wide: {problem}" for problem in too_wide(options.site, browser)]
        if options.pictures:
            take_pictures(options.site, browser, options.pictures)
    sys.stdout.write("".join(f"{problem}\n" for problem in problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
