"""The README and the pages of docs/ point at what is there."""

import csv
import re
from pathlib import Path

import pytest

import graphcuts_dp as gc
from graphcuts_dp.cli.plan_answers import LARGE_EPSILON
from graphcuts_dp.reports.hazards import STRONG_EPSILON
from tests.audits.public_names import public_names

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md"]
PAGES += sorted((ROOT / "docs").glob("*.md"))
DESCRIPTIONS_OF_THE_CODE = [
    PAGES[1],
    PAGES[2],
    *(ROOT / "docs" / f"{name}.md" for name in ("architecture", "extending")),
]
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page):
    links = [found.group(1) for found in LINK.finditer(page.read_text(encoding="utf-8"))]
    missing = [
        link for link in links if "://" not in link and not (page.parent / link).resolve().exists()
    ]
    assert not missing


@pytest.mark.parametrize("page", DESCRIPTIONS_OF_THE_CODE, ids=lambda page: page.name)
def test_every_file_and_folder_that_is_named_is_there(page):
    """Paths with a slash, relative to the root or to the package."""
    paths = re.findall(r"`(\w[\w/]*/(?:\w+\.py)?)`", page.read_text(encoding="utf-8"))
    assert len(paths) > 5
    roots = (ROOT, ROOT / "graphcuts_dp")
    missing = [path for path in paths if not any((root / path).exists() for root in roots)]
    assert not missing


def test_the_site_leads_to_every_page():
    tree = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^([\w/*-]+)$", tree, re.M))
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}
    assert named == pages | {"notebooks/*"}


def test_the_reference_has_every_public_name():
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    named = re.findall(r"^   ([\w.]+)$", text, re.M)
    assert sorted(named) == sorted(set(public_names()) - {"__version__"})


def test_the_page_of_figures_names_scripts_that_are_there():
    text = (ROOT / "figures" / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:scripts|docs)/[\w/.-]+)`", text)
    assert len(named) > 5
    assert [each for each in named if not (ROOT / each).exists()] == []
    pictures = {path.stem for path in (ROOT / "figures").glob("*.png")}
    assert len(pictures) > 10
    shown = set(re.findall(r"`([\w-]+)`|\]\(([\w-]+)\.png\)", text))
    assert pictures <= {name for pair in shown for name in pair}


def test_the_table_of_errors_is_that_of_the_figure():
    with (ROOT / "figures" / "demo_tables.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    text = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    assert len(rows) == 6
    assert all(f"| {' | '.join(row)} |\n" in text for row in rows)


def test_the_readme_fits_a_screen_and_a_half():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 95


def test_the_page_for_decision_makers_has_the_odds_of_the_guarantee():
    text = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    epsilons = [float(cell.removeprefix("epsilon = ")) for cell in lines[0][1:]]
    assert epsilons == [0.1, 0.5, 1, 2, 5]
    for before, *after in lines[1:]:
        prior = float(before.removesuffix(" %")) / 100
        for epsilon, cell in zip(epsilons, after, strict=True):
            highest = gc.PrivacyUnit().explain(epsilon=epsilon, priors=(prior,)).odds[0].highest
            digits = len(cell.partition(".")[2].removesuffix(" %"))
            above = float(cell.removesuffix(" %")) - 100 * highest
            assert 0 <= above < 10**-digits  # rounded up, as in a report


def test_the_page_for_decision_makers_calls_the_epsilons_weak_that_plan_calls_weak():
    text = " ".join((ROOT / "docs" / "privacy.md").read_text(encoding="utf-8").split())
    strong, large = f"{STRONG_EPSILON:g}", f"{LARGE_EPSILON:g}"
    usual = f"epsilon up to {strong} is called strong, {strong} to {large}"
    assert f"{usual} is common, and above {large} little is left of the guarantee" in text


def test_the_study_of_a_researcher_has_at_most_25_lines():
    text = (ROOT / "docs" / "inputs.md").read_text(encoding="utf-8")
    script = text.split("## A study in one script")[1].split("```python\n")[1].split("```")[0]
    lines = [line for line in script.splitlines() if line.strip()]
    assert 15 < len(lines) <= 25
    for needed in ("nx.", "gc.compare", ".plot(", "Parallel(", "progress=True", "to_frame"):
        assert needed in script
