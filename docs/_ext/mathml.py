"""Typeset the formulas of the site as MathML when it is built: readers load no script for them.

Pages write formulas in TeX, `$...$` and `$$...$$`, in the part of it that GitHub shows as well.
A formula that is not understood is a warning, and `make docs` makes warnings errors.
"""

import re
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

_SPACE = "http://www.w3.org/1998/Math/MathML"
_THIN = "0.1667em"  # beside the name of a function, as TeX has it
# Delimiters, which the converter takes for identifiers or for operators that need space: each
# passes through it as a character of private use.
_DELIMITERS = {
    "lvert": ("|", "prefix"),
    "rvert": ("|", "postfix"),
    "lVert": ("\u2016", "prefix"),
    "rVert": ("\u2016", "postfix"),
    "lfloor": ("\u230a", "prefix"),
    "rfloor": ("\u230b", "postfix"),
    "lceil": ("\u2308", "prefix"),
    "rceil": ("\u2309", "postfix"),
    "lbrace": ("{", "prefix"),
    "rbrace": ("}", "postfix"),
}
_PRIVATE = {name: chr(0xE000 + at) for at, name in enumerate(_DELIMITERS)}
_NAMES = {character: name for name, character in _PRIVATE.items()}
_DELIMITER = re.compile(rf"(?<!\\left)(?<!\\right)\\({'|'.join(_DELIMITERS)})(?![A-Za-z])")
# What the converter takes for identifiers, and what it is.
_OPERATORS = {sign: sign for sign in "\u00b1\u2213\u00b7\u22c5\u00d7\u2217"} | {"\u29f5": "\u2216"}
_SIGNS = "+\u2212\u00b1\u2213"
_CLOSING = ")]"
_PRIME = "\u2032"
_JOINER = "&#8288;"  # no line breaks between a formula and the punctuation beside it
_LOGGER = logging.getLogger(__name__)


def mathml(tex: str, *, display: bool) -> str:
    """Return a formula as a `<math>` element.

    Args:
        tex: the formula, without dollars.
        display: whether it stands on a line of its own.

    Raises:
        ValueError: braces that do not match, an unknown command, or anything else that the
            converter cannot read.
    """
    braces = re.sub(r"\\[{}]", "", tex)
    depth = 0
    for brace in re.findall("[{}]", braces):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            break
    if depth:
        raise ValueError("its braces do not match")
    tex = _DELIMITER.sub(lambda found: _PRIVATE[found.group(1)], tex)
    try:
        text = convert(tex, display="block" if display else "inline")
        root = ElementTree.fromstring(text)  # noqa: S314  # made from our own pages
    except Exception as error:
        raise ValueError(f"{type(error).__name__} {error}".rstrip()) from error
    unknown = [part.text for part in root.iter() if "\\" in (part.text or "")]
    if unknown:
        raise ValueError(f"unknown command {unknown[0]}")
    _mend(root)
    ElementTree.register_namespace("", _SPACE)
    return ElementTree.tostring(root, encoding="unicode")


def _mend(root: ElementTree.Element) -> None:
    """Set delimiters, primes, strokes and names of functions as TeX does."""
    for part in root.iter():
        if part.text in _NAMES:
            part.tag = f"{{{_SPACE}}}mo"
            part.text, form = _DELIMITERS[_NAMES[part.text]]
            part.attrib = {"form": form, "fence": "true", "stretchy": "false"}
            part.attrib |= {"lspace": "0", "rspace": "0"}
        elif _tag(part) == "mo" and part.text == "/":
            part.attrib |= {"lspace": "0", "rspace": "0"}
        elif _tag(part) == "mi" and part.text in _OPERATORS:
            part.tag, part.text = f"{{{_SPACE}}}mo", _OPERATORS[part.text]
        elif _tag(part) in ("msup", "msubsup") and part[-1].text == _PRIME:
            _lower_prime(part)
    for row in list(root.iter()):
        if _tag(row) not in ("mrow", "mstyle", "math"):
            continue
        spaced: list[ElementTree.Element] = []
        for before, part, after in zip([None, *row], list(row), [*row[1:], None], strict=False):
            if _is_operator(part) and part.text in _SIGNS and _is_operator(before):
                part.set("form", "prefix")  # a sign, and no sum
            function = _is_function(part)
            if function and before is not None and not _is_operator(before):
                spaced.append(_thin_space())
            spaced.append(part)
            if function and after is not None and not (_tag(after) == "mo" or _is_fenced(after)):
                spaced.append(_thin_space())
        row[:] = spaced


def _lower_prime(part: ElementTree.Element) -> None:
    """Put a prime beside its letter: fonts have it raised, and an exponent would be too high."""
    *letter, prime = part
    prime.tag, prime.attrib = f"{{{_SPACE}}}mo", {"lspace": "0", "rspace": "0"}
    if _tag(part) == "msubsup":
        base = ElementTree.Element(f"{{{_SPACE}}}msub")
        base.extend(letter)
        letter = [base]
    part.tag = f"{{{_SPACE}}}mrow"
    part[:] = [*letter, prime]


def _tag(part: ElementTree.Element) -> str:
    return part.tag.rpartition("}")[2]


def _is_operator(part: ElementTree.Element | None) -> bool:
    """Whether it is a sign that something follows: an operator, a comma, an opening parenthesis."""
    if part is None or _tag(part) != "mo" or part.text == _PRIME:
        return False
    return part.text not in _CLOSING and part.get("form") != "postfix"


def _is_function(part: ElementTree.Element) -> bool:
    """Whether it is a name such as ln or max, with or without an index or exponent."""
    while _tag(part) in ("msub", "msup", "msubsup", "munder") and len(part):
        part = part[0]
    name = part.text or ""
    if _tag(part) not in ("mi", "mo") or len(name) < 2 or not (name.isascii() and name.isalpha()):
        return False
    if _tag(part) == "mo":
        part.attrib |= {"lspace": "0", "rspace": "0"}
    return True


def _is_fenced(part: ElementTree.Element | None) -> bool:
    """Whether it begins with a parenthesis that grows."""
    while part is not None and _tag(part) in ("mrow", "msup", "msub") and len(part):
        part = part[0]
    return part is not None and part.get("fence") == "true" and part.text == "("


def _thin_space() -> ElementTree.Element:
    return ElementTree.Element(f"{{{_SPACE}}}mspace", {"width": _THIN})


def _typeset(self: HTML5Translator, node: nodes.Element, *, display: bool) -> None:
    tex = node.astext().strip()
    try:
        formula = mathml(tex, display=display)
    except ValueError as error:
        _LOGGER.warning("formula %r: %s", tex, error, location=node)
        formula = self.encode(tex)
    if display:
        start, end = self.starttag(node, "div", "", CLASS="formula displayed"), "</div>"
    else:
        before, after = _beside(node)
        start = (_JOINER if before[-1:] in ("(", "[") else "") + '<span class="formula">'
        end = "</span>" + (_JOINER if re.match(r"[\w.,;:!?)\]-]", after) else "")
    self.body.append(start + formula + end)
    raise nodes.SkipNode


def _beside(node: nodes.Element) -> tuple[str, str]:
    """Return the text before and after a formula."""
    at, parts = node.parent.index(node), node.parent.children
    before = parts[at - 1].astext() if at and isinstance(parts[at - 1], nodes.Text) else ""
    rest = parts[at + 1 : at + 2]
    return before, rest[0].astext() if rest and isinstance(rest[0], nodes.Text) else ""


def _inline(self: HTML5Translator, node: nodes.Element) -> None:
    _typeset(self, node, display=False)


def _displayed(self: HTML5Translator, node: nodes.Element) -> None:
    _typeset(self, node, display=True)


def setup(app: object) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_displayed, None))  # type: ignore[attr-defined]
    return {"parallel_read_safe": True, "parallel_write_safe": True}
