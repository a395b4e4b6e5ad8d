"""The page that shows flows, in a real browser; skipped where Chromium is not installed."""

import json

import pytest
from browser import IN_A_BROWSER, Visit, chromium
from flow_page_cases import HOSTILE, locations, table
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

pytestmark = IN_A_BROWSER
KINDS = ("map", "matrix")
WIDTHS = (390, 600, 1280, 1600)
# How far each text of the picture lies within its frame, on each side.
INSIDE = """
return [...document.querySelectorAll('#picture svg text')].map((e) => {
  const a = e.getBoundingClientRect(), b = e.ownerSVGElement.getBoundingClientRect();
  return [a.left - b.left, b.right - a.right, a.top - b.top, b.bottom - a.bottom];
});
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("pages")
    flows = table()
    flows.to_html(made / "map.html", locations=locations(), title="Trips")
    flows.to_html(made / "matrix.html", title="Trips")
    names = [f"A zone with a long name, number {number}" for number in range(70)]
    table(names, periods=None).to_html(made / "large.html")
    return made


@pytest.fixture(scope="module")
def driver():
    with chromium() as found:
        yield found


@pytest.fixture
def opened(folder, driver):
    def visit(name, theme="light"):
        features = [{"name": "prefers-color-scheme", "value": theme}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        driver.get_log("performance")
        page = Visit(driver)
        driver.get(f"file://{folder}/{name}.html")
        page.ready()
        return page

    return visit


def focused(page):
    return page.driver.execute_script("return document.activeElement.getAttribute('aria-label')")


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("name", [*KINDS, "large"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everybody_can_read_it_at_every_width(opened, name, theme):
    page = opened(name, theme)
    page.check(name)
    for width in WIDTHS:
        with page.wide(width):
            page.wait(lambda: page.find("#picture svg"))
            inside, window = page.driver.execute_script(
                "return [document.documentElement.scrollWidth, window.innerWidth]"
            )
            assert inside <= window
            drawn = page.driver.execute_script(INSIDE)
            assert min(min(each) for each in drawn) > -1.5  # no name is cut off
    assert page.complaints() == []


@pytest.mark.thorough
@pytest.mark.parametrize("name", KINDS)
def test_hostile_names_are_texts_and_nothing_is_fetched(opened, name):
    page = opened(name)
    page.find("#largest button").send_keys(Keys.ENTER)
    title = page.driver.title
    assert title.startswith("Trips, January 2026 to April 2026")
    assert page.driver.execute_script("return document.images.length") == 0
    assert page.driver.execute_script("return document.scripts.length") == 2
    options = {option.text for option in Select(page.find("#group")).options}
    assert HOSTILE[0] in options
    asked = [
        message["params"]["request"]["url"]
        for line in page.driver.get_log("performance")
        if (message := json.loads(line["message"])["message"])["method"]
        == "Network.requestWillBeSent"
    ]
    assert [url for url in asked if not url.startswith("file://")] == []
    assert len(asked) == 1
    assert page.complaints() == []


@pytest.mark.thorough
@pytest.mark.parametrize("name", KINDS)
def test_keys_alone_reach_every_number(opened, name):
    page = opened(name)
    page.driver.execute_script("document.querySelector('#group').focus()")
    page.driver.switch_to.active_element.send_keys(Keys.TAB)
    first = focused(page)
    assert "\N{PLUS-MINUS SIGN}" in first
    seen = {first}
    count = len(page.driver.find_elements(By.CSS_SELECTOR, "#picture [role='button']"))
    page.driver.switch_to.active_element.send_keys(Keys.HOME)
    keys = [Keys.ARROW_DOWN] * (count - 1)
    if name == "matrix":
        side = len(HOSTILE)
        row = [Keys.ARROW_RIGHT] * (side - 1)
        back = [Keys.ARROW_LEFT] * (side - 1)
        keys = [key for i in range(side) for key in [*(back if i % 2 else row), Keys.ARROW_DOWN]]
    seen.add(focused(page))
    for key in keys:
        page.driver.switch_to.active_element.send_keys(key)
        seen.add(focused(page))
    assert len(seen) == count
    named, _, number = focused(page).rpartition(": ")
    chosen = page.text("#chosen")
    assert number in chosen
    assert named.split()[-1] in chosen
    assert "for this number alone" in chosen
    assert len(page.driver.find_elements(By.CSS_SELECTOR, "#picture [tabindex='0']")) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("name", KINDS)
def test_a_period_and_a_place_are_chosen(opened, name):
    page = opened(name)
    page.find("#largest button").send_keys(Keys.ENTER)
    whole = page.text("#chosen .value")
    Select(page.find("#period")).select_by_visible_text("March 2026")
    assert page.text("h1") == page.driver.title == "Trips, March 2026"
    assert "March 2026" in page.text("#chosen")
    assert page.text("#chosen .value") != whole
    page.press("#earlier")
    assert page.text("h1") == "Trips, February 2026"
    before = len(page.driver.find_elements(By.CSS_SELECTOR, "#largest tr"))
    Select(page.find("#group")).select_by_visible_text("Nord")
    Select(page.find("#way")).select_by_visible_text("from it")
    rows = page.driver.find_elements(By.CSS_SELECTOR, "#largest tr")
    assert 0 < len(rows) <= min(before, len(HOSTILE))
    assert {row.find_element(By.CSS_SELECTOR, "td").text for row in rows} == {"Nord"}
    assert page.complaints() == []
