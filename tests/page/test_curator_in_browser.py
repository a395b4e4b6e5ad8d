"""Seven tasks of a curator in a real browser, each with pictures of what it saw."""

import json
import re
import time

import pytest
from browser import IN_A_BROWSER, Visit, chromium
from page_cases import PageProcess, write_contacts
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

import graphcuts_dp as gc

pytestmark = [*IN_A_BROWSER, pytest.mark.slow]
CLICKS, SECONDS = 14, 180
LONGEST_WAY = 60  # presses of the Tab key
FOCUSED = "return document.activeElement.matches(arguments[0])"
WITHOUT_COUNTS = """
const send = window.fetch;
window.fetch = (path, ...options) =>
  path === "/api/row_counts" ? Promise.reject(new TypeError("no network")) : send(path, ...options);
"""


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

    def pick(self, key, value):
        """Choose one of several that are all to be seen."""
        self.click(f"[data-key='{key}'][value='{value}']")

    def tab(self, selector):
        """Go to a place with the Tab key alone."""
        for _ in range(LONGEST_WAY):
            if self.driver.execute_script(FOCUSED, selector):
                return
            ActionChains(self.driver).send_keys(Keys.TAB).perform()
        raise AssertionError(f"no way to {selector} with the keyboard")

    def keys(self, *typed):
        ActionChains(self.driver).send_keys(*typed).perform()

    def next(self, step):
        """Go on; returns once the step is there."""
        self.click("#next")
        self.at(step)

    def at(self, step):
        self.wait(lambda: self.find("body").get_attribute("data-step") == step)
        assert self.driver.execute_script(FOCUSED, f"#title-{step}")

    def counted(self, share):
        """Wait for the marked panel."""
        self.wait(lambda: self.find("#share").get_attribute("data-share") == str(share))

    def spent(self):
        """The uses that the stores of the folder have recorded."""
        stores = (self.folder / "results").glob("*.db")
        return [use for store in stores for use in gc.store_status(store).uses]

    def run(self):
        """Confirm; nothing was spent before."""
        assert "spends" in self.text("#price")
        self.click("#run")
        self.at("result")

    def done(self):
        def state():
            result = self.find("section[data-step=result]")
            return (result.get_attribute("data-run") or "").rpartition(" ")[2]

        self.wait(lambda: state() == "done")

    def pictures(self, name):
        """The whole page in both themes, wide and narrow; each is also checked."""
        for theme in ("light", "dark"):
            features = [{"name": "prefers-color-scheme", "value": theme}]
            self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
            self.check(f"{name} {theme}")
            for width in (1280, 390):
                self.picture(f"{name}-{theme}", width)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

    def picture(self, name, width):
        with self.wide(width):
            tall = self.driver.execute_script("return document.documentElement.scrollHeight")
            size = {"width": width, "height": tall, "deviceScaleFactor": 1, "mobile": width < 500}
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            file = self.folder / f"{name}-{width}.png"
            assert self.driver.save_screenshot(str(file))
        assert file.stat().st_size > 10_000

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


def choose_trips(curator, trips, folder):
    """From the first step to that of how exact, of the trips of 200 people."""
    curator.fill("#source", str(trips))
    curator.next("check")
    curator.fill("[data-key='groups']", str(folder / "zones.csv"))
    curator.fill("[data-key='periods']", "2026-01..2026-06")
    curator.wait(lambda: "cannot be used" in curator.text("#share"))
    curator.pick("columns.on-bad", "skip")
    curator.next("who")
    assert curator.find("[data-key='privacy-unit'][value='user']").is_selected()
    curator.next("count")
    curator.fill("[data-key='privacy-unit.max-contributions']", "20")
    curator.next("out")
    curator.next("exact")


def test_trips_to_a_table_by_month(curator, trips, tmp_path):
    curator.pictures("data")
    choose_trips(curator, trips, tmp_path)
    curator.wait(lambda: "Northfield \u2192 Eastbrook" in curator.text("#simulated"))
    assert "Simulated names and numbers" in curator.text("#simulated")
    assert curator.text("#odds").startswith("A guess whether")
    curator.pictures("exact")
    curator.next("confirm")
    curator.wait(lambda: "any one person" in curator.text("#summary"))
    assert "This spends 1. There is no budget" in curator.text("#price")
    assert "person: user, date: date" in curator.text("#summary")
    assert "count apart" in curator.text("#summary")
    assert curator.spent() == []
    curator.pictures("confirm")
    curator.click("#questions summary")
    curator.fill("#answer-access", "Two people <of> the office")
    curator.run()
    curator.done()
    assert time.monotonic() - curator.began < SECONDS
    assert curator.clicks <= CLICKS
    assert "2026-03" in curator.text("#shown")
    assert "±" in curator.text("#shown")
    assert "used up 1" in curator.text("#spent")
    assert len(curator.driver.find_elements("css selector", "#pictures img")) == 1
    curator.pictures("result")
    assert curator.find("#print").is_displayed()
    assert curator.sheets() == {"A4": 2, "Letter": 2}
    sheets = "return document.querySelector('#report').textContent"
    assert "Two people <of> the office" in curator.driver.execute_script(sheets)
    with curator.wide(390):
        table = "return document.querySelector('#shown table').getBoundingClientRect().right"
        assert curator.driver.execute_script(table) <= 390
    (use,) = curator.spent()
    assert use.state == "finished"
    # Somebody comes back: the result is there, and so is all that was typed.
    curator.driver.refresh()
    curator.ready()
    curator.done()
    assert "2026-03" in curator.text("#shown")
    assert "A table" in curator.text("#past tbody")
    curator.click("[data-go='check']")
    assert curator.find("[data-key='periods']").get_property("value") == "2026-01..2026-06"
    for step in ("who", "count", "out", "exact"):
        curator.next(step)
        curator.pictures(step)


def test_contacts_of_wards_with_a_wrong_first_file_and_german_dates(curator, tmp_path):
    contacts = write_contacts(tmp_path)
    (tmp_path / "budget.csv").write_text("user,date\n1,2\n")
    curator.fill("#source", str(tmp_path / "budget.csv"))
    curator.keys(Keys.TAB)
    curator.wait(lambda: "Columns: user" in curator.text("#head"))
    curator.fill("#source", str(contacts))
    curator.next("check")
    curator.fill("[data-key='groups']", str(tmp_path / "wards.csv"))
    curator.fill("[data-key='periods']", "2025-01..2025-06")
    curator.counted(1)
    assert "100 %" in curator.text("#share")
    curator.pictures("dates")
    curator.click("#mend button")
    assert curator.driver.execute_script(FOCUSED, "#share")
    curator.counted(0)
    assert "From" not in curator.text("#problem")
    curator.next("who")
    curator.next("count")
    curator.fill("[data-key='privacy-unit.max-contributions']", "8")
    curator.next("out")
    curator.next("exact")
    curator.next("confirm")
    assert curator.spent() == []
    assert "contacts.csv.db" in curator.text("#summary")
    curator.run()
    curator.done()
    assert curator.clicks <= CLICKS
    assert "2025-03" in curator.text("#shown")
    assert [file.name for file in (tmp_path / "results").glob("*.db")] == ["contacts.csv.db"]
    # Six months of four cells, from 300 rows: the page says that this is noise.
    assert "most of this table is noise" in curator.text("#state")
    assert "bad" in curator.find("#state").get_attribute("class")
    curator.pictures("noise")


def test_months_of_the_wrong_year_are_seen_in_the_marked_panel(curator, tmp_path):
    curator.fill("#source", str(write_contacts(tmp_path)))
    curator.next("check")
    curator.fill("[data-key='groups']", str(tmp_path / "wards.csv"))
    curator.fill("[data-key='periods']", "2024-01..2024-06")
    curator.fill("[data-key='columns.date-format']", "%d.%m.%Y")
    curator.wait(lambda: "300 of 300 rows are outside of the months" in curator.text("#share"))
    assert "6 months: 2024-01 to 2024-06" in curator.text("[id='f-periods-note']")
    curator.pictures("wrong-year")
    curator.click("#next")  # nothing but noise would come out
    curator.wait(lambda: curator.driver.execute_script(FOCUSED, "#share"))
    assert curator.find("body").get_attribute("data-step") == "check"
    curator.fill("[data-key='periods']", "2025-06..2025-12")
    curator.wait(lambda: "and would not count." in curator.text("#share"))
    curator.next("who")
    curator.next("count")
    curator.fill("[data-key='privacy-unit.max-contributions']", "8")
    curator.next("out")
    curator.next("exact")
    curator.next("confirm")
    curator.wait(lambda: "outside of the months to report" in curator.text("#doubt"))
    assert "See why, and change it" in curator.text("#doubt-mend")
    assert curator.find("#run").is_enabled()
    assert curator.spent() == []


def test_a_step_is_complete_if_rows_could_not_be_counted(curator, trips, tmp_path):
    curator.fill("#source", str(trips))
    curator.next("check")
    curator.driver.execute_script(WITHOUT_COUNTS)
    curator.fill("[data-key='groups']", str(tmp_path / "zones.csv"))
    curator.fill("[data-key='periods']", "2026-01..2026-06")
    curator.next("who")
    assert curator.spent() == []


def test_files_of_excel_a_list_of_one_column_and_a_row_that_cannot_be_used(curator, tmp_path):
    contacts = write_contacts(tmp_path)
    text = contacts.read_text().replace("Ward A", "Station Süd") + "p1;nowhere;ICU;01.01.2025\n"
    contacts.write_bytes(text.encode("cp1252"))
    wards = tmp_path / "wards.csv"
    wards.write_bytes("ward\nStation Süd\nWard B\nWard C\nICU\n".encode("cp1252"))
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Ann,\nplease publish the table.\n")
    copies = tmp_path / "results" / "data"
    curator.find("#upload").send_keys(str(letter))
    curator.wait(lambda: "does not look like a table" in curator.text("#head"))
    assert "Ann" not in curator.text("main")
    curator.pictures("letter")
    curator.find("#upload").send_keys(str(contacts))
    curator.wait(lambda: "Columns: patient" in curator.text("#head"))
    curator.wait(lambda: [file.name for file in copies.glob("*/*")] == ["contacts.csv"])
    curator.next("check")
    curator.click("#next")  # nothing is said of places and months yet
    curator.wait(lambda: "Name this list" in curator.text("[id='f-groups-note']"))
    assert "first and the last month" in curator.text("[id='f-periods-note']")
    curator.pictures("missing")
    curator.fill("[data-key='groups']", str(wards))
    curator.fill("[data-key='periods']", "2025-01..2025-06")
    curator.wait(lambda: "an area of its own" in curator.text("[id='f-groups-note']"))
    assert "read as text of Excel on Windows" in curator.text("[id='f-groups-note']")
    curator.counted(1)
    curator.pictures("encoding")
    curator.click("#next")  # waits: nothing could come out
    assert curator.find("body").get_attribute("data-step") == "check"
    assert "Leave these rows out" not in curator.text("#mend")
    first = curator.find("#mend button").text
    assert first == "Dates are written as 31.01.2026, and the file comes from Excel on Windows"
    curator.click("#mend button")
    assert curator.driver.execute_script(FOCUSED, "#share")
    curator.wait(lambda: curator.text("#share").startswith("1 of 301 rows cannot be used"))
    assert "Leave these rows out" in curator.text("#mend")
    assert "day.month.year" in curator.text("#zone")
    curator.next("who")
    curator.next("count")
    curator.fill("[data-key='privacy-unit.max-contributions']", "8")
    curator.next("out")
    curator.next("exact")
    curator.next("confirm")
    curator.wait(lambda: "the run would stop" in curator.text("#doubt"))
    assert "2025-01..2025-06" in curator.text("#summary")
    assert not curator.find("#run").is_enabled()
    curator.pictures("stops")
    curator.fill("[data-key='author']", "Ann, statistics")
    buttons = curator.driver.find_elements("css selector", "#doubt-mend button")
    next(button for button in buttons if button.text == "Leave it out").click()
    curator.wait(lambda: "would be skipped" in curator.text("#doubt"))
    curator.wait(lambda: curator.find("#run").is_enabled())
    curator.run()
    curator.done()
    assert curator.clicks + 1 - 2 <= CLICKS  # with the dropped file, without two refused clicks
    (use,) = curator.spent()
    assert use.use.author == "Ann, statistics"
    assert len(list(copies.glob("*/*"))) == 1
    curator.click("#copy button")
    curator.wait(lambda: "is deleted" in curator.text("#copy"))
    assert list(copies.glob("*/*")) == []
    curator.pictures("copy")


def test_a_budget_that_is_used_up_stops_before_the_confirmation(curator, trips, tmp_path):
    choose_trips(curator, trips, tmp_path)
    curator.fill("[data-key='budget.epsilon']", "2")
    curator.wait(lambda: "of a budget of 2" in curator.text("#left"))
    curator.next("confirm")
    curator.wait(lambda: "This spends 1 of 2" in curator.text("#price"))
    curator.run()
    curator.done()
    curator.click("[data-go='exact']")
    curator.at("exact")
    curator.fill("#epsilon", "2")
    curator.wait(lambda: "Only 1 of the budget is left" in curator.text("#left"))
    curator.click("#next")
    curator.pictures("used-up")
    assert curator.find("body").get_attribute("data-step") == "exact"
    curator.click("[data-go='confirm']")
    curator.wait(lambda: "Only 1 of the budget is left" in curator.text("#missing"))
    assert not curator.find("#run").is_enabled()
    assert len(curator.spent()) == 1
    curator.click("#missing button")
    curator.at("exact")
    curator.fill("#epsilon", "1")
    curator.wait(lambda: "0 is left" in curator.text("#left"))
    curator.next("confirm")
    curator.run()
    curator.done()
    assert len(curator.spent()) == 2


def test_mail_to_a_simulated_network(curator, mail, tmp_path):
    curator.fill("#source", str(mail))
    curator.next("check")
    curator.fill("[data-key='groups']", str(tmp_path / "staff.csv"))  # names the people, too
    curator.next("who")
    assert curator.find("[data-key='privacy-unit'][value='edge']").is_selected()
    curator.next("count")
    curator.next("out")
    curator.click("input[value='graph']")
    curator.fill("[data-key='dry-run']", "600")
    curator.next("exact")
    curator.fill("#epsilon", "4")
    curator.wait(lambda: curator.find("body").get_attribute("data-preview") == "4")
    assert "Ada\u2019s group \u2192 Ben\u2019s group" in curator.text("#simulated")
    error = curator.find("#error").get_property("value")
    assert float(re.search(r"\u00b1 ([\d.]+)", curator.text("#simulated"))[1]) == pytest.approx(
        float(error), rel=0.02
    )
    assert "is a forecast" in curator.text("#noise")
    assert "98.3 % likely" in curator.text("#odds")
    assert curator.text("#odds").startswith("This is a weak guarantee.")
    curator.pictures("exact-network")
    curator.next("confirm")
    curator.wait(lambda: f"about \u00b1 {error}" in curator.text("#summary"))
    assert curator.spent() == []
    curator.run()
    curator.wait(lambda: curator.text("#state").startswith("At work"))
    curator.driver.refresh()  # a page that is loaded again finds its run
    curator.ready()
    curator.done()
    assert curator.clicks <= CLICKS
    assert "This network has 60 members" in curator.text("#shown")
    curator.wait(lambda: curator.find("#shown img").get_property("naturalWidth") > 100)
    assert "not private" not in curator.text("main")
    assert curator.text("#compared") == ""
    curator.click("#reveal")
    curator.wait(lambda: "not private" in curator.text("#compared"))
    assert "one vertex against all" in curator.text("#compared")
    curator.pictures("truth")
    curator.click("#reveal")
    assert curator.text("#compared") == ""


def test_an_error_of_50_gives_what_it_uses_up(curator, trips, tmp_path):
    choose_trips(curator, trips, tmp_path)
    curator.wait(lambda: curator.find("#error").get_property("value"))
    before = float(curator.find("#error").get_property("value"))
    curator.fill("#error", "50")
    curator.keys(Keys.TAB)
    curator.wait(lambda: curator.find("#epsilon").get_property("value") != "1")
    epsilon = float(curator.find("#epsilon").get_property("value"))
    assert epsilon == pytest.approx(before / 50, rel=0.03)
    assert "± 50" in curator.text("#simulated").replace("49.9", "50").replace("49.8", "50")
    curator.next("confirm")
    curator.wait(lambda: f"spends {epsilon:g}" in curator.text("#price"))
    assert curator.clicks <= CLICKS
    assert curator.spent() == []


def test_the_keyboard_alone(curator, trips, tmp_path):
    curator.tab("#source")
    curator.keys(str(trips), Keys.ENTER)
    curator.at("check")
    words = {"groups": str(tmp_path / "zones.csv"), "periods": "2026-01..2026-06"}
    for key, text in words.items():
        curator.tab(f"[data-key='{key}']")
        curator.keys(text)
    curator.tab("[data-key='columns.on-bad']")
    curator.keys(Keys.ARROW_DOWN)
    assert curator.find("[data-key='columns.on-bad'][value='skip']").is_selected()
    curator.keys(Keys.ENTER)
    curator.at("who")
    curator.tab("[data-key='privacy-unit']")
    curator.keys(Keys.ARROW_DOWN)  # the focus stays where it is
    assert curator.driver.execute_script(FOCUSED, "[data-key='privacy-unit'][value='row']")
    curator.keys(Keys.ARROW_UP, Keys.ENTER)
    curator.at("count")
    curator.tab("[data-key='privacy-unit.max-contributions']")
    curator.keys("20", Keys.ENTER)
    curator.at("out")
    curator.tab("#next")
    curator.keys(Keys.ENTER)
    curator.at("exact")
    curator.wait(lambda: curator.find("#error").get_property("value"))
    before = float(curator.find("#error").get_property("value"))
    curator.tab("#slider")
    for _ in range(30):
        curator.keys(Keys.ARROW_RIGHT)
    assert curator.driver.execute_script(FOCUSED, "#slider")
    curator.wait(lambda: float(curator.find("#error").get_property("value")) < 0.7 * before)
    uses = float(curator.find("#epsilon").get_property("value"))
    curator.wait(lambda: curator.find("body").get_attribute("data-preview") == f"{uses:g}")
    after = float(curator.find("#error").get_property("value"))
    assert after == pytest.approx(before / uses, rel=0.03)
    curator.keys(Keys.ENTER)
    curator.at("confirm")
    curator.driver.back()  # the browser's own way back
    curator.at("exact")
    assert float(curator.find("#epsilon").get_property("value")) == uses
    curator.keys(Keys.TAB)
    curator.tab("#next")
    curator.keys(Keys.ENTER)
    curator.at("confirm")
    curator.wait(lambda: curator.find("#run").is_enabled())
    curator.tab("#run")
    assert curator.spent() == []
    curator.keys(Keys.ENTER)
    curator.at("result")
    curator.done()
    assert len(curator.spent()) == 1
    assert curator.clicks == 0


def test_an_estimate_of_the_limit_goes_into_its_field_and_keeps_the_focus(curator, trips, tmp_path):
    curator.fill("#source", str(trips))
    curator.next("check")
    curator.fill("[data-key='groups']", str(tmp_path / "zones.csv"))
    curator.fill("[data-key='periods']", "2026-01..2026-06")
    curator.pick("columns.on-bad", "skip")
    curator.next("who")
    curator.next("count")
    note = "[id='f-privacy-unit.max-contributions-note']"
    curator.click("#next")  # nothing is typed yet
    curator.wait(lambda: "Type a number" in curator.text(note))
    assert curator.find("body").get_attribute("data-step") == "count"
    curator.click("#bound summary")
    curator.pictures("estimate")
    curator.fill("#bound-people", "200")
    curator.click("#bound-ask")
    curator.wait(lambda: "nothing can be seen with 0.1" in curator.text("#bound-state"))
    assert not curator.find("#bound-confirm").is_displayed()
    curator.pictures("estimate-blind")
    curator.click("#bound-state button")  # as much as it takes
    curator.wait(lambda: "Type a budget above" in curator.text("#bound-state"))
    assert "without a budget" in curator.text("#bound-confirm")
    curator.fill("[data-key='budget.epsilon']", "5")
    curator.click("#bound-ask")
    curator.wait(lambda: "of a budget of 5" in curator.text("#bound-state"))
    curator.pictures("estimate-price")
    assert curator.spent() == []
    curator.click("#bound-confirm")
    curator.wait(lambda: "have more than" in curator.text("#bound-state"))
    assert "of 100 (95%)" in curator.text("#bound-state")
    assert "1 result has used up" in curator.text("#account-name")
    assert not curator.find("[data-key='budget.epsilon']").is_enabled()
    curator.pictures("estimate-done")
    assert curator.driver.execute_script(FOCUSED, "#bound-state button")
    curator.click("#bound-state button")
    limit = "[data-key='privacy-unit.max-contributions']"
    assert int(curator.find(limit).get_property("value")) >= 1
    assert [use.use.kind for use in curator.spent()] == ["bound"]
    curator.next("out")
    curator.next("exact")
    curator.wait(lambda: not curator.find("[data-key='budget.epsilon']").is_enabled())
    assert "It was set to 5" in curator.text("[id='f-budget.epsilon-note']")
    curator.wait(lambda: "is used already" in curator.text("#left"))
    curator.fill("#cell", "3")
    curator.wait(lambda: "most of this table will be noise" in curator.text("#noise"))
    assert "of the 24 numbers of the table about" in curator.text("#noise")
    curator.next("confirm")
    curator.wait(lambda: "most of this table will be noise" in curator.text("#noise-again"))


def test_an_estimate_that_would_stop_at_a_row_says_so_in_the_marked_panel(curator, trips, tmp_path):
    curator.fill("#source", str(trips))
    curator.next("check")
    curator.fill("[data-key='groups']", str(tmp_path / "zones.csv"))
    curator.fill("[data-key='periods']", "2026-01..2026-06")
    curator.next("who")
    curator.next("count")
    curator.click("#bound summary")
    curator.fill("#bound-people", "200")
    curator.click("#bound-ask")
    curator.wait(lambda: "the run would stop" in curator.text("#bound-refusal"))
    assert curator.driver.execute_script(FOCUSED, "#bound-mend button")
    assert curator.text("#bound-state") == ""
    curator.pictures("estimate-stops")
    curator.click("#bound-mend button")
    curator.wait(lambda: "nothing can be seen" in curator.text("#bound-state"))
    assert not curator.find("#bound-refusal").is_displayed()
    assert curator.spent() == []


def test_a_file_with_one_row_more_is_asked_whose_it_is(curator, trips, tmp_path):
    store = gc.Store(tmp_path / "results" / "mail.db", budget=2.0)
    gc.release_graph(gc.datasets.load("karate"), epsilon=0.5, store=store)
    choose_trips(curator, trips, tmp_path)
    curator.wait(lambda: "0.5 of 2 used up" in curator.text("#account-answers"))
    curator.pictures("accounts")
    curator.click("#next")
    curator.wait(lambda: "also in another account" in curator.text("#missing"))
    assert curator.find("body").get_attribute("data-step") == "exact"
    assert curator.driver.execute_script(FOCUSED, "#account-people input")
    curator.click("#account-answers label")  # the same people
    curator.wait(lambda: "Shared with other data" in curator.text("#account-name"))
    curator.wait(lambda: not curator.find("[data-key='budget.epsilon']").is_enabled())
    assert curator.find("#account-people input").is_selected()
    curator.click("#account-answers label:last-child")  # other people, after all
    curator.wait(lambda: "trips.csv.db is a new account" in curator.text("#account-name"))
    curator.wait(lambda: curator.find("[data-key='budget.epsilon']").is_enabled())
    curator.next("confirm")
    curator.wait(lambda: "trips.csv.db, new" in curator.text("#summary"))
    assert "none can be set later" in curator.text("#summary")
    curator.pictures("confirm-new")
    curator.run()
    curator.done()
    sheets = "return document.querySelector('#report').textContent"
    assert "as the curator states: mail.db" in curator.driver.execute_script(sheets)
    # A file of the same name about other people: its account is used up, or has to be another one.
    curator.click("[data-go='exact']")
    curator.at("exact")
    curator.wait(lambda: "1 result has used up 1" in curator.text("#account-name"))
    curator.click("#account-separate")
    curator.wait(lambda: "trips.csv-2.db is a new account" in curator.text("#account-name"))
    assert curator.driver.execute_script(FOCUSED, "#account-name")
    curator.wait(lambda: curator.find("#account-people input[value='']").is_selected())
    curator.pictures("account-own")


def test_another_private_file_and_start_again_empty_all_that_was_typed(curator, trips, tmp_path):
    contacts = write_contacts(tmp_path)
    choose_trips(curator, trips, tmp_path)
    curator.fill("[data-key='budget.epsilon']", "2")
    curator.fill("#epsilon", "0.6")
    curator.next("confirm")
    curator.fill("[data-key='author']", "Bus company")
    curator.click("[data-go='data']")
    curator.fill("#source", str(contacts))
    curator.keys(Keys.TAB)
    curator.wait(lambda: "former file is emptied" in curator.text("#emptied"))
    kept = "return JSON.parse(sessionStorage.getItem('graphcuts-page')).values"
    proposed = {"columns.user": "patient", "columns.period": "date", "kind": "directed"}
    presets = {"plot": "table.png", "html": "table.html"}
    assert curator.driver.execute_script(kept) == proposed | presets
    assert not curator.find("[data-go='check']").is_enabled()
    curator.next("check")
    curator.fill("[data-key='groups']", str(tmp_path / "wards.csv"))
    curator.click("#again")
    curator.at("data")
    assert curator.find("#source").get_property("value") == ""
    assert curator.driver.execute_script(kept) == presets
