"""docs/_ext/mathml.py sets formulas, and says which it cannot."""

import importlib
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="the site is built with the extra docs")
pytest.importorskip("latex2mathml", reason="the site is built with the extra docs")

ROOT = Path(__file__).resolve().parents[2]
for _folder in ("docs/_ext", "scripts"):
    sys.path.insert(0, str(ROOT / _folder))
mathml = importlib.import_module("mathml").mathml
formulas_of = importlib.import_module("check_docs").formulas_of


@pytest.mark.parametrize("tex", [r"\frac{1", "x}", r"\nothing x", r"\left( x", "a & b", "}{"])
def test_formulas_that_are_not_understood_are_refused(tex):
    with pytest.raises(ValueError, match=r"braces|unknown command|Error"):
        mathml(tex, display=False)


def test_delimiters_are_set_close_and_functions_apart():
    norm = mathml(r"\lVert x\rVert_C", display=False)
    assert norm.count('form="prefix"') == norm.count('form="postfix"') == 1
    assert "mspace" in mathml(r"m \ln k", display=False)
    assert "mspace" not in mathml(r"\ln(k)", display=False)
    assert 'display="block"' in mathml("x", display=True)


@pytest.mark.thorough(cases=36)
@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_formulas_of_the_pages_are_understood(page):
    for formula in formulas_of(page.read_text(encoding="utf-8")):
        mathml(formula.strip("$"), display=formula.startswith("$$"))
        assert not re.search(r"\\[^A-Za-z]", formula), "GitHub drops this backslash"
        assert not re.search(r"[^A-Za-z0-9\s]_|\*", formula), "GitHub may take it for emphasis"
