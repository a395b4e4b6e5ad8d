"""Three tasks of a curator in a real browser, each with pictures of what it saw."""

import json
import time

import pytest
from browser import IN_A_BROWSER, Visit, chromium
from page_cases import PageProcess
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import graphcuts_dp as gc

pytestmark = [*IN_A_BROWSER, pytest.mark.slow]
CLICKS, SECONDS = 12, 120
LONGEST_WAY = 120  # presses of the Tab key
FOCUSED = "return document.activeElement.matches(arguments[0])"


@pytest.fixture(scope="module")
def driver():
    with chromium() as found:
        yield found


class Curator(Visit):
    """What a curator does: each field that is typed into, and each button, is a click."""

    def __init__(self, driver, folder):
        super().__init__(driver)
        driver.get_log("performance")
        self.began, self.clicks, self.folder = time.monotonic(), 0, folder
        self.page = PageProcess(folder / "results")
        driver.get(self.page.link)
        self.ready()

    def click(self, selector):
        place = self.find(selector)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", place)
        self.wait(place.is_enabled)
        place.click()
        self.clicks += 1

    def fill(self, selector, text):
        self.click(selector)
        select_all = ActionChains(self.driver).key_down(Keys.CONTROL).send_keys("a")
        select_all.key_up(Keys.CONTROL).send_keys(text).perform()

    def choose(self, key, value):
        Select(self.find(f"[data-key='{key}']")).select_by_value(value)
        self.clicks += 2  # the list, and what is in it

    def tab(self, selector):
        """Go to a place with the Tab key alone."""
        for _ in range(LONGEST_WAY):
            if self.driver.execute_script(FOCUSED, selector):
                return
            ActionChains(self.driver).send_keys(Keys.TAB).perform()
        raise AssertionError(f"no way to {selector} with the keyboard")

    def keys(self, *typed):
        ActionChains(self.driver).send_keys(*typed).perform()

    def guaranteed(self):
        self.wait(lambda: "will guarantee" in self.text("#missing"))

    def run(self):
        self.click("#run")

    def done(self):
        def state():
            return (self.find("#result").get_attribute("data-run") or "").rpartition(" ")[2]

        self.wait(lambda: state() == "done")

    def picture(self, name, width=1280):
        """The whole page, of this width."""
        with self.wide(width):
            tall = self.driver.execute_script("return document.documentElement.scrollHeight")
            size = {"width": width, "height": tall, "deviceScaleFactor": 1, "mobile": width < 500}
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            time.sleep(0.3)
            file = self.folder / f"{name}-{width}.png"
            assert self.driver.save_screenshot(str(file))
        assert file.stat().st_size > 20_000

    def left(self):
        """Leave; returns what was fetched from elsewhere."""
        assert self.page.end() == 0
        lines = (json.loads(each["message"]) for each in self.driver.get_log("performance"))
        sent = (each["message"] for each in lines)
        asked = [
            each["params"]["request"]["url"]
            for each in sent
            if each["method"] == "Network.requestWillBeSent"
        ]
        assert len(asked) > 5
        own = (self.page.url, "data:", "blob:")
        return [url for url in asked if not url.startswith(own)]


@pytest.fixture
def curator(driver, tmp_path):
    found = Curator(driver, tmp_path)
    yield found
    assert found.complaints() == []
    assert found.left() == []


def test_messy_trips_to_a_table_by_month(curator, trips, tmp_path):
    curator.fill("#source", str(trips) + Keys.TAB)
    curator.wait(lambda: "Columns: user" in curator.text("#head"))
    assert not curator.find("#run").is_enabled()
    curator.fill("[data-key='groups']", str(tmp_path / "zones.csv"))
    curator.fill("[data-key='columns.user']", "user")
    curator.fill("[data-key='columns.period']", "date")
    curator.choose("columns.on-bad", "skip")
    curator.fill("[data-key='periods']", "2026-01..2026-06")
    before = curator.text("#protected")
    curator.choose("privacy-unit", "user")
    curator.fill("[data-key='privacy-unit.max-contributions']", "20")
    curator.guaranteed()
    curator.wait(lambda: "any one user" in curator.text("#protected") != before)
    curator.wait(lambda: "nothing was spent" in curator.text("#spent"))
    curator.check("form")
    curator.picture("trips-form")
    curator.picture("trips-form", 390)
    curator.run()
    curator.done()
    assert time.monotonic() - curator.began < SECONDS
    assert curator.clicks <= CLICKS
    assert "2026-03" in curator.text("#shown")
    assert "±" in curator.text("#shown")
    assert "epsilon = 1" in curator.text("#state")
    assert len(curator.driver.find_elements("css selector", "#pictures img")) == 1
    assert curator.driver.find_elements("css selector", "#truth.hidden")
    curator.check("result")
    curator.picture("trips-result")
    curator.picture("trips-result", 390)
    with curator.wide(390):
        table = "return document.querySelector('#shown table').getBoundingClientRect().right"
        assert curator.driver.execute_script(table) <= 390
    (use,) = gc.store_status(tmp_path / "results" / "trips.csv.db").uses
    assert use.state == "finished"
    # Somebody comes back: what was made before is there, and what was spent.
    curator.driver.refresh()
    curator.ready()
    curator.wait(lambda: "Spent so far: epsilon = 1" in curator.text("#spent"))
    curator.done()
    assert "2026-03" in curator.text("#shown")
    assert "A table" in curator.text("#past tbody")


def test_mail_and_departments_to_a_synthetic_graph(curator, mail, tmp_path):
    curator.fill("#source", str(mail) + Keys.TAB)
    curator.wait(lambda: "first line is not read" in curator.text("#head"))
    curator.click("input[value='graph']")
    for key, name in (("groups", "staff.csv"), ("vertices", "staff.txt")):
        curator.fill(f"[data-key='{key}']", str(tmp_path / name))
    curator.fill("[data-key='dry-run']", "600")
    curator.fill("#epsilon", "4")
    curator.guaranteed()
    curator.wait(lambda: "epsilon = 4" in curator.text("#missing"))
    curator.picture("mail-form")
    curator.run()
    curator.wait(lambda: curator.text("#state").startswith("At work"))
    curator.driver.refresh()  # a page that is loaded again finds its run
    curator.ready()
    curator.done()
    assert curator.clicks <= CLICKS
    assert "Release" in curator.text("#shown")
    curator.wait(lambda: curator.find("#shown img").get_property("naturalWidth") > 100)
    assert "not private" not in curator.text("main")
    assert curator.text("#compared") == ""
    curator.picture("mail-result")
    curator.click("#reveal")
    curator.wait(lambda: "not private" in curator.text("#compared"))
    assert "one vertex against all" in curator.text("#compared")
    curator.check("truth")
    curator.picture("mail-truth")
    curator.click("#reveal")
    assert curator.text("#compared") == ""


def test_an_error_of_50_gives_its_epsilon_with_the_keyboard_alone(curator, trips, tmp_path):
    curator.tab("#source")
    curator.keys(str(trips), Keys.TAB)
    curator.wait(lambda: "Columns" in curator.text("#head"))
    words = {"groups": str(tmp_path / "zones.csv"), "columns.user": "user"}
    words |= {"columns.period": "date", "periods": "2026-01..2026-06", "privacy-unit": "user"}
    for key, text in (words | {"privacy-unit.max-contributions": "20"}).items():
        curator.tab(f"[data-key='{key}']")
        curator.keys(text)
    curator.guaranteed()
    before = float(curator.find("#error").get_property("value"))
    curator.tab("#error")
    curator.keys(Keys.CONTROL + "a" + Keys.NULL, "50", Keys.TAB)
    curator.wait(lambda: curator.find("#epsilon").get_property("value") != "1")
    curator.guaranteed()
    epsilon = float(curator.find("#epsilon").get_property("value"))
    assert epsilon == pytest.approx(before / 50, rel=0.03)
    assert f"epsilon = {epsilon:g}" in curator.text("#missing")
    curator.picture("error-50")
    # And the other way round: the slider tells the error.
    curator.driver.find_element("css selector", "body").send_keys(Keys.HOME)
    curator.driver.execute_script("document.getElementById('upload').focus()")
    curator.tab("#slider")
    for _ in range(30):
        curator.keys(Keys.ARROW_RIGHT)
    curator.wait(lambda: float(curator.find("#error").get_property("value") or 50) < 40)
    after = float(curator.find("#error").get_property("value"))
    told = float(curator.find("#epsilon").get_property("value"))
    assert after == pytest.approx(before / told, rel=0.03)
    assert not list((tmp_path / "results").glob("*.db"))
    assert curator.clicks == 0
