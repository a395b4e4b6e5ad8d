"""Tasks of a curator in a real browser, with screenshots that are checked for accessibility.

Each step of the page has a name, from `data`, the private file, to `confirm` and `result`.
"""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from browser import IN_A_BROWSER, Visit, chromium
from page_cases import PageProcess, write_contacts
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver

import graphcuts_dp as gc

pytestmark = [*IN_A_BROWSER, pytest.mark.slow]
MAX_CLICKS, MAX_SECONDS = 14, 180  # of a whole task
MAX_TABS = 60  # presses of the Tab key from a control to any other
IS_FOCUSED = "return document.activeElement.matches(arguments[0])"
MAX_CONTRIBUTIONS = "[data-key='privacy-unit.max-contributions']"

# Lets the browser's request for counts of rows fail.
WITHOUT_COUNTS = """
const send = window.fetch;
window.fetch = (path, ...options) =>
  path === "/api/row_counts" ? Promise.reject(new TypeError("no network")) : send(path, ...options);
"""


@pytest.fixture(scope="module")
def driver():
    with chromium() as chromium_driver:
        yield chromium_driver


class Curator(Visit):
    """A curator at a page; counts clicks on buttons and on fields that are typed into.

    Selectors are those of CSS; a `key` is that of a field of the form.
    """

    def __init__(self, driver: WebDriver, folder: Path) -> None:
        super().__init__(driver)
        driver.get_log("performance")  # empties the log
        self.start_time, self.clicks, self.folder = time.monotonic(), 0, folder
        self.page = PageProcess(folder / "results")
        driver.get(self.page.link)
        self.ready()

    def click(self, selector: str) -> None:
        element = self.find(selector)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        self.wait(element.is_enabled)
        element.click()
        self.clicks += 1

    def fill(self, selector: str, text: str) -> None:
        """Replace the text of a field."""
        self.click(selector)
        select_all = ActionChains(self.driver).key_down(Keys.CONTROL).send_keys("a")
        select_all.key_up(Keys.CONTROL).send_keys(text).perform()

    def pick(self, key: str, value: str) -> None:
        """Choose a radio button."""
        self.click(f"[data-key='{key}'][value='{value}']")

    def tab_to(self, selector: str) -> None:
        """Move the focus with the Tab key."""
        for _ in range(MAX_TABS):
            if self.is_focused(selector):
                return
            self.press_keys(Keys.TAB)
        raise AssertionError(f"the Tab key does not reach {selector}")

    def press_keys(self, *keys: str) -> None:
        ActionChains(self.driver).send_keys(*keys).perform()

    def is_focused(self, selector: str) -> bool:
        return self.driver.execute_script(IS_FOCUSED, selector)

    def value(self, selector: str) -> str:
        return self.find(selector).get_property("value")

    @property
    def step(self) -> str:
        """The step that is shown."""
        return self.find("body").get_attribute("data-step")

    def go_to(self, *steps: str) -> None:
        """Press the button for the next step until the last of these steps is shown."""
        for step in steps:
            self.click("#next")
            self.wait_for_step(step)

    def wait_for_step(self, step: str) -> None:
        self.wait(lambda: self.step == step)
        assert self.is_focused(f"#title-{step}")

    def wait_for_text(self, selector: str, text: str) -> None:
        self.wait(lambda: text in self.text(selector))

    def wait_for_unusable_share(self, share: int) -> None:
        """Wait until the rows are counted and a share of them, 0 to 1, cannot be used."""
        self.wait(lambda: self.find("#share").get_attribute("data-share") == str(share))

    def uses(self) -> list[Any]:
        """Return all charges to the accounts of the folder."""
        stores = (self.folder / "results").glob("*.db")
        return [use for store in stores for use in gc.store_status(store).uses]

    def run(self) -> None:
        """Confirm what will be spent."""
        assert "spends" in self.text("#price")
        self.click("#run")
        self.wait_for_step("result")

    def wait_for_result(self) -> None:
        def state() -> str:
            result = self.find("section[data-step=result]")
            return (result.get_attribute("data-run") or "").rpartition(" ")[2]

        self.wait(lambda: state() == "done")

    def check_and_photograph(self, name: str) -> None:
        """Check the page and take screenshots of it in both themes, wide and narrow."""
        for theme in ("light", "dark"):
            features = [{"name": "prefers-color-scheme", "value": theme}]
            self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
            self.check(f"{name} {theme}")
            for width in (1280, 390):
                self._photograph(f"{name}-{theme}", width)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

    def _photograph(self, name: str, width: int) -> None:
        with self.wide(width):
            height = self.driver.execute_script("return document.documentElement.scrollHeight")
            size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            file = self.folder / f"{name}-{width}.png"
            assert self.driver.save_screenshot(str(file))
        assert file.stat().st_size > 10_000

    def end_page(self) -> list[str]:
        """Stop the page; return the URLs on other hosts that the browser has requested."""
        assert self.page.end() == 0
        log = (json.loads(entry["message"]) for entry in self.driver.get_log("performance"))
        events = (entry["message"] for entry in log)
        urls = [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
        assert len(urls) > 5
        return [url for url in urls if not url.startswith((self.page.url, "data:", "blob:"))]


@pytest.fixture
def curator(driver, tmp_path):
    visiting_curator = Curator(driver, tmp_path)
    yield visiting_curator
    assert visiting_curator.complaints() == []
    assert visiting_curator.end_page() == []


def choose_trips(curator: Curator, trips: Path) -> None:
    """Fill in the file of trips, its zones and its months; stops at the step `check`."""
    curator.fill("#source", str(trips))
    curator.go_to("check")
    curator.fill("[data-key='groups']", str(trips.with_name("zones.csv")))
    curator.fill("[data-key='periods']", "2026-01..2026-06")


def choose_trips_and_limit(curator: Curator, trips: Path) -> None:
    """Choose trips without their unusable rows and limit those of a person; stops at `exact`."""
    choose_trips(curator, trips)
    curator.wait_for_text("#share", "cannot be used")
    curator.pick("columns.on-bad", "skip")
    curator.go_to("who")
    assert curator.find("[data-key='privacy-unit'][value='user']").is_selected()
    curator.go_to("count")
    curator.fill(MAX_CONTRIBUTIONS, "20")
    curator.go_to("out", "exact")


def limit_contacts(curator: Curator) -> None:
    """Limit the contacts of a person; goes from `check` to `confirm`."""
    curator.go_to("who", "count")
    curator.fill(MAX_CONTRIBUTIONS, "8")
    curator.go_to("out", "exact", "confirm")


def test_trips_give_a_table_by_month_that_is_there_after_a_reload(curator, trips):
    curator.check_and_photograph("data")
    choose_trips_and_limit(curator, trips)
    curator.wait_for_text("#simulated", "Northfield \u2192 Eastbrook")
    assert "Simulated names and numbers" in curator.text("#simulated")
    assert curator.text("#odds").startswith("A guess whether")
    curator.check_and_photograph("exact")
    curator.go_to("confirm")
    curator.wait_for_text("#summary", "any one person")
    assert "This spends 1. There is no budget" in curator.text("#price")
    assert "person: user, date: date" in curator.text("#summary")
    assert "count apart" in curator.text("#summary")
    assert curator.uses() == []
    curator.check_and_photograph("confirm")
    curator.click("#questions summary")
    curator.fill("#answer-access", "Two people <of> the office")
    curator.run()
    curator.wait_for_result()
    assert time.monotonic() - curator.start_time < MAX_SECONDS
    assert curator.clicks <= MAX_CLICKS
    assert "2026-03" in curator.text("#shown")
    assert "±" in curator.text("#shown")
    assert "used up 1" in curator.text("#spent")
    assert len(curator.driver.find_elements("css selector", "#pictures img")) == 1
    curator.check_and_photograph("result")
    assert curator.find("#print").is_displayed()
    assert curator.sheets() == {"A4": 2, "Letter": 2}
    sheets = "return document.querySelector('#report').textContent"
    assert "Two people <of> the office" in curator.driver.execute_script(sheets)
    with curator.wide(390):
        table = "return document.querySelector('#shown table').getBoundingClientRect().right"
        assert curator.driver.execute_script(table) <= 390
    (use,) = curator.uses()
    assert use.state == "finished"
    # After a reload the result is shown, and the fields are as they were filled in.
    curator.driver.refresh()
    curator.ready()
    curator.wait_for_result()
    assert "2026-03" in curator.text("#shown")
    assert "A table" in curator.text("#past tbody")
    curator.click("[data-go='check']")
    assert curator.value("[data-key='periods']") == "2026-01..2026-06"
    for step in ("who", "count", "out", "exact"):  # pages with the result in the background
        curator.go_to(step)
        curator.check_and_photograph(step)


def test_a_wrong_file_is_replaced_and_german_dates_are_mended_by_a_button(curator, tmp_path):
    contacts = write_contacts(tmp_path)
    (tmp_path / "budget.csv").write_text("user,date\n1,2\n")
    curator.fill("#source", str(tmp_path / "budget.csv"))
    curator.press_keys(Keys.TAB)
    curator.wait_for_text("#head", "Columns: user")
    curator.fill("#source", str(contacts))
    curator.go_to("check")
    curator.fill("[data-key='groups']", str(tmp_path / "wards.csv"))
    curator.fill("[data-key='periods']", "2025-01..2025-06")
    curator.wait_for_unusable_share(1)
    assert "100 %" in curator.text("#share")
    curator.check_and_photograph("dates")
    curator.click("#mend button")
    assert curator.is_focused("#share")
    curator.wait_for_unusable_share(0)
    assert "From" not in curator.text("#problem")
    limit_contacts(curator)
    assert curator.uses() == []
    assert "contacts.csv.db" in curator.text("#summary")
    curator.run()
    curator.wait_for_result()
    assert curator.clicks <= MAX_CLICKS
    assert "2025-03" in curator.text("#shown")
    assert [file.name for file in (tmp_path / "results").glob("*.db")] == ["contacts.csv.db"]
    # 300 rows are too few for six months of four cells.
    assert "most of this table is noise" in curator.text("#state")
    assert "bad" in curator.find("#state").get_attribute("class")
    curator.check_and_photograph("noise")


def test_rows_outside_of_the_months_are_counted_before_anything_is_spent(curator, tmp_path):
    curator.fill("#source", str(write_contacts(tmp_path)))
    curator.go_to("check")
    curator.fill("[data-key='groups']", str(tmp_path / "wards.csv"))
    curator.fill("[data-key='periods']", "2024-01..2024-06")
    curator.fill("[data-key='columns.date-format']", "%d.%m.%Y")
    curator.wait_for_text("#share", "300 of 300 rows are outside of the months")
    assert "6 months: 2024-01 to 2024-06" in curator.text("[id='f-periods-note']")
    curator.check_and_photograph("wrong-year")
    curator.click("#next")  # refused: no row would count
    curator.wait(lambda: curator.is_focused("#share"))
    assert curator.step == "check"
    curator.fill("[data-key='periods']", "2025-06..2025-12")
    curator.wait_for_text("#share", "and would not count.")
    limit_contacts(curator)
    curator.wait_for_text("#doubt", "outside of the months to report")
    assert "See why, and change it" in curator.text("#doubt-mend")
    assert curator.find("#run").is_enabled()
    assert curator.uses() == []


def test_a_step_is_complete_if_rows_could_not_be_counted(curator, trips):
    curator.fill("#source", str(trips))
    curator.go_to("check")
    curator.driver.execute_script(WITHOUT_COUNTS)
    curator.fill("[data-key='groups']", str(trips.with_name("zones.csv")))
    curator.fill("[data-key='periods']", "2026-01..2026-06")
    curator.go_to("who")
    assert curator.uses() == []


def test_files_of_excel_and_a_row_that_cannot_be_used_are_mended_by_buttons(curator, tmp_path):
    contacts = write_contacts(tmp_path)
    text = contacts.read_text().replace("Ward A", "Station Süd") + "p1;nowhere;ICU;01.01.2025\n"
    contacts.write_bytes(text.encode("cp1252"))
    wards = tmp_path / "wards.csv"
    wards.write_bytes("ward\nStation Süd\nWard B\nWard C\nICU\n".encode("cp1252"))
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Ann,\nplease publish the table.\n")
    copies = tmp_path / "results" / "data"
    curator.find("#upload").send_keys(str(letter))
    curator.wait_for_text("#head", "does not look like a table")
    assert "Ann" not in curator.text("main")
    curator.check_and_photograph("letter")
    curator.find("#upload").send_keys(str(contacts))
    curator.wait_for_text("#head", "Columns: patient")
    curator.wait(lambda: [file.name for file in copies.glob("*/*")] == ["contacts.csv"])
    curator.go_to("check")
    curator.click("#next")  # refused: the list of places and the months are missing
    curator.wait_for_text("[id='f-groups-note']", "Name this list")
    assert "first and the last month" in curator.text("[id='f-periods-note']")
    curator.check_and_photograph("missing")
    curator.fill("[data-key='groups']", str(wards))
    curator.fill("[data-key='periods']", "2025-01..2025-06")
    curator.wait_for_text("[id='f-groups-note']", "an area of its own")
    assert "read as text of Excel on Windows" in curator.text("[id='f-groups-note']")
    curator.wait_for_unusable_share(1)
    curator.check_and_photograph("encoding")
    curator.click("#next")  # refused: no row can be used
    assert curator.step == "check"
    assert "Leave these rows out" not in curator.text("#mend")
    mend_button = curator.find("#mend button").text
    assert (
        mend_button == "Dates are written as 31.01.2026, and the file comes from Excel on Windows"
    )
    curator.click("#mend button")
    assert curator.is_focused("#share")
    curator.wait(lambda: curator.text("#share").startswith("1 of 301 rows cannot be used"))
    assert "Leave these rows out" in curator.text("#mend")
    assert "day.month.year" in curator.text("#zone")
    limit_contacts(curator)
    curator.wait_for_text("#doubt", "the run would stop")
    assert "2025-01..2025-06" in curator.text("#summary")
    assert not curator.find("#run").is_enabled()
    curator.check_and_photograph("stops")
    curator.fill("[data-key='author']", "Ann, statistics")
    buttons = curator.driver.find_elements("css selector", "#doubt-mend button")
    next(button for button in buttons if button.text == "Leave it out").click()
    curator.wait_for_text("#doubt", "would be skipped")
    curator.wait(lambda: curator.find("#run").is_enabled())
    curator.run()
    curator.wait_for_result()
    # One more for the second file, which is dropped; without the two clicks that were refused.
    assert curator.clicks + 1 - 2 <= MAX_CLICKS
    (use,) = curator.uses()
    assert use.use.author == "Ann, statistics"
    assert len(list(copies.glob("*/*"))) == 1
    curator.click("#copy button")
    curator.wait_for_text("#copy", "is deleted")
    assert list(copies.glob("*/*")) == []
    curator.check_and_photograph("copy")


def test_more_than_the_budget_has_left_cannot_be_confirmed(curator, trips):
    choose_trips_and_limit(curator, trips)
    curator.fill("[data-key='budget.epsilon']", "2")
    curator.wait_for_text("#left", "of a budget of 2")
    curator.go_to("confirm")
    curator.wait_for_text("#price", "This spends 1 of 2")
    curator.run()
    curator.wait_for_result()
    curator.click("[data-go='exact']")
    curator.wait_for_step("exact")
    curator.fill("#epsilon", "2")
    curator.wait_for_text("#left", "Only 1 of the budget is left")
    curator.click("#next")
    curator.check_and_photograph("used-up")
    assert curator.step == "exact"
    curator.click("[data-go='confirm']")
    curator.wait_for_text("#missing", "Only 1 of the budget is left")
    assert not curator.find("#run").is_enabled()
    assert len(curator.uses()) == 1
    curator.click("#missing button")
    curator.wait_for_step("exact")
    curator.fill("#epsilon", "1")
    curator.wait_for_text("#left", "0 is left")
    curator.go_to("confirm")
    curator.run()
    curator.wait_for_result()
    assert len(curator.uses()) == 2


def test_mail_gives_a_simulated_network_and_shows_the_truth_on_request_only(
    curator, mail, tmp_path
):
    curator.fill("#source", str(mail))
    curator.go_to("check")
    curator.fill("[data-key='groups']", str(tmp_path / "staff.csv"))  # also the list of people
    curator.go_to("who")
    assert curator.find("[data-key='privacy-unit'][value='edge']").is_selected()
    curator.go_to("count", "out")
    curator.click("input[value='graph']")
    curator.fill("[data-key='dry-run']", "600")
    curator.go_to("exact")
    curator.fill("#epsilon", "4")
    curator.wait(lambda: curator.find("body").get_attribute("data-preview") == "4")
    assert "Ada\u2019s group \u2192 Ben\u2019s group" in curator.text("#simulated")
    error = curator.value("#error")
    assert float(re.search(r"\u00b1 ([\d.]+)", curator.text("#simulated"))[1]) == pytest.approx(
        float(error), rel=0.02
    )
    assert "is a forecast" in curator.text("#noise")
    assert "98.3 % likely" in curator.text("#odds")
    assert curator.text("#odds").startswith("This is a weak guarantee.")
    curator.check_and_photograph("exact-network")
    curator.go_to("confirm")
    curator.wait(lambda: f"about \u00b1 {error}" in curator.text("#summary"))
    assert curator.uses() == []
    curator.run()
    curator.wait(lambda: curator.text("#state").startswith("At work"))
    curator.driver.refresh()  # the run goes on
    curator.ready()
    curator.wait_for_result()
    assert curator.clicks <= MAX_CLICKS
    assert "This network has 60 members" in curator.text("#shown")
    curator.wait(lambda: curator.find("#shown img").get_property("naturalWidth") > 100)
    assert "not private" not in curator.text("main")
    assert curator.text("#compared") == ""
    curator.click("#reveal")
    curator.wait_for_text("#compared", "not private")
    assert "one vertex against all" in curator.text("#compared")
    curator.check_and_photograph("truth")
    curator.click("#reveal")
    assert curator.text("#compared") == ""


def test_a_wanted_error_sets_the_epsilon_that_it_takes(curator, trips):
    choose_trips_and_limit(curator, trips)
    curator.wait(lambda: curator.value("#error"))
    before = float(curator.value("#error"))
    curator.fill("#error", "50")
    curator.press_keys(Keys.TAB)
    curator.wait(lambda: curator.value("#epsilon") != "1")
    epsilon = float(curator.value("#epsilon"))
    assert epsilon == pytest.approx(before / 50, rel=0.03)
    assert "± 50" in curator.text("#simulated").replace("49.9", "50").replace("49.8", "50")
    curator.go_to("confirm")
    curator.wait(lambda: f"spends {epsilon:g}" in curator.text("#price"))
    assert curator.clicks <= MAX_CLICKS
    assert curator.uses() == []


def test_a_table_can_be_made_with_the_keyboard_alone(curator, trips, tmp_path):
    curator.tab_to("#source")
    curator.press_keys(str(trips), Keys.ENTER)
    curator.wait_for_step("check")
    texts = {"groups": str(tmp_path / "zones.csv"), "periods": "2026-01..2026-06"}
    for key, text in texts.items():
        curator.tab_to(f"[data-key='{key}']")
        curator.press_keys(text)
    curator.tab_to("[data-key='columns.on-bad']")
    curator.press_keys(Keys.ARROW_DOWN)
    assert curator.find("[data-key='columns.on-bad'][value='skip']").is_selected()
    curator.press_keys(Keys.ENTER)
    curator.wait_for_step("who")
    curator.tab_to("[data-key='privacy-unit']")
    curator.press_keys(Keys.ARROW_DOWN)  # the focus moves with the choice
    assert curator.is_focused("[data-key='privacy-unit'][value='row']")
    curator.press_keys(Keys.ARROW_UP, Keys.ENTER)
    curator.wait_for_step("count")
    curator.tab_to(MAX_CONTRIBUTIONS)
    curator.press_keys("20", Keys.ENTER)
    curator.wait_for_step("out")
    curator.tab_to("#next")
    curator.press_keys(Keys.ENTER)
    curator.wait_for_step("exact")
    curator.wait(lambda: curator.value("#error"))
    before = float(curator.value("#error"))
    curator.tab_to("#slider")
    for _ in range(30):
        curator.press_keys(Keys.ARROW_RIGHT)
    assert curator.is_focused("#slider")
    curator.wait(lambda: float(curator.value("#error")) < 0.7 * before)
    uses = float(curator.value("#epsilon"))
    curator.wait(lambda: curator.find("body").get_attribute("data-preview") == f"{uses:g}")
    after = float(curator.value("#error"))
    assert after == pytest.approx(before / uses, rel=0.03)
    curator.press_keys(Keys.ENTER)
    curator.wait_for_step("confirm")
    curator.driver.back()  # the browser's own way back
    curator.wait_for_step("exact")
    assert float(curator.value("#epsilon")) == uses
    curator.press_keys(Keys.TAB)
    curator.tab_to("#next")
    curator.press_keys(Keys.ENTER)
    curator.wait_for_step("confirm")
    curator.wait(lambda: curator.find("#run").is_enabled())
    curator.tab_to("#run")
    assert curator.uses() == []
    curator.press_keys(Keys.ENTER)
    curator.wait_for_step("result")
    curator.wait_for_result()
    assert len(curator.uses()) == 1
    assert curator.clicks == 0


def test_an_estimate_of_the_limit_is_charged_and_filled_into_its_field(curator, trips):
    choose_trips(curator, trips)
    curator.pick("columns.on-bad", "skip")
    curator.go_to("who", "count")
    note = "[id='f-privacy-unit.max-contributions-note']"
    curator.click("#next")  # refused: the limit is missing
    curator.wait_for_text(note, "Type a number")
    assert curator.step == "count"
    curator.click("#bound summary")
    curator.check_and_photograph("estimate")
    curator.fill("#bound-people", "200")
    curator.click("#bound-ask")
    curator.wait_for_text("#bound-state", "nothing can be seen with 0.1")
    assert not curator.find("#bound-confirm").is_displayed()
    curator.check_and_photograph("estimate-blind")
    curator.click("#bound-state button")  # for an epsilon that is large enough
    curator.wait_for_text("#bound-state", "Type a budget above")
    assert "without a budget" in curator.text("#bound-confirm")
    curator.fill("[data-key='budget.epsilon']", "5")
    curator.click("#bound-ask")
    curator.wait_for_text("#bound-state", "of a budget of 5")
    curator.check_and_photograph("estimate-price")
    assert curator.uses() == []
    curator.click("#bound-confirm")
    curator.wait_for_text("#bound-state", "have more than")
    assert "of 100 (95%)" in curator.text("#bound-state")
    assert "1 result has used up" in curator.text("#account-name")
    assert not curator.find("[data-key='budget.epsilon']").is_enabled()
    curator.check_and_photograph("estimate-done")
    assert curator.is_focused("#bound-state button")
    curator.click("#bound-state button")
    assert int(curator.value(MAX_CONTRIBUTIONS)) >= 1
    assert [use.use.kind for use in curator.uses()] == ["bound"]
    curator.go_to("out", "exact")
    curator.wait(lambda: not curator.find("[data-key='budget.epsilon']").is_enabled())
    assert "It was set to 5" in curator.text("[id='f-budget.epsilon-note']")
    curator.wait_for_text("#left", "is used already")
    curator.fill("#cell", "3")
    curator.wait_for_text("#noise", "most of this table will be noise")
    assert "of the 24 numbers of the table about" in curator.text("#noise")
    curator.go_to("confirm")
    curator.wait_for_text("#noise-again", "most of this table will be noise")


def test_an_estimate_that_would_stop_at_an_unusable_row_is_mended_by_a_button(curator, trips):
    choose_trips(curator, trips)
    curator.go_to("who", "count")
    curator.click("#bound summary")
    curator.fill("#bound-people", "200")
    curator.click("#bound-ask")
    curator.wait_for_text("#bound-refusal", "the run would stop")
    assert curator.is_focused("#bound-mend button")
    assert curator.text("#bound-state") == ""
    curator.check_and_photograph("estimate-stops")
    curator.click("#bound-mend button")
    curator.wait_for_text("#bound-state", "nothing can be seen")
    assert not curator.find("#bound-refusal").is_displayed()
    assert curator.uses() == []


def test_a_new_account_beside_another_needs_an_answer_whose_data_it_is(curator, trips, tmp_path):
    store = gc.Store(tmp_path / "results" / "mail.db", budget=2.0)
    gc.release_graph(gc.datasets.load("karate"), epsilon=0.5, store=store)
    choose_trips_and_limit(curator, trips)
    curator.wait_for_text("#account-answers", "0.5 of 2 used up")
    curator.check_and_photograph("accounts")
    curator.click("#next")
    curator.wait_for_text("#missing", "also in another account")
    assert curator.step == "exact"
    assert curator.is_focused("#account-people input")
    curator.click("#account-answers label")  # the same people
    curator.wait_for_text("#account-name", "Shared with other data")
    curator.wait(lambda: not curator.find("[data-key='budget.epsilon']").is_enabled())
    assert curator.find("#account-people input").is_selected()
    curator.click("#account-answers label:last-child")  # other people, after all
    curator.wait_for_text("#account-name", "trips.csv.db is a new account")
    curator.wait(lambda: curator.find("[data-key='budget.epsilon']").is_enabled())
    curator.go_to("confirm")
    curator.wait_for_text("#summary", "trips.csv.db, new")
    assert "none can be set later" in curator.text("#summary")
    curator.check_and_photograph("confirm-new")
    curator.run()
    curator.wait_for_result()
    sheets = "return document.querySelector('#report').textContent"
    assert "as the curator states: mail.db" in curator.driver.execute_script(sheets)
    # A file of the same name about other people needs an account of its own.
    curator.click("[data-go='exact']")
    curator.wait_for_step("exact")
    curator.wait_for_text("#account-name", "1 result has used up 1")
    curator.click("#account-separate")
    curator.wait_for_text("#account-name", "trips.csv-2.db is a new account")
    assert curator.is_focused("#account-name")
    curator.wait(lambda: curator.find("#account-people input[value='']").is_selected())
    curator.check_and_photograph("account-own")


def test_another_private_file_or_start_again_empties_all_fields(curator, trips, tmp_path):
    contacts = write_contacts(tmp_path)
    choose_trips_and_limit(curator, trips)
    curator.fill("[data-key='budget.epsilon']", "2")
    curator.fill("#epsilon", "0.6")
    curator.go_to("confirm")
    curator.fill("[data-key='author']", "Bus company")
    curator.click("[data-go='data']")
    curator.fill("#source", str(contacts))
    curator.press_keys(Keys.TAB)
    curator.wait_for_text("#emptied", "former file is emptied")
    stored_values = "return JSON.parse(sessionStorage.getItem('graphcuts-page')).values"
    proposed = {"columns.user": "patient", "columns.period": "date", "kind": "directed"}
    presets = {"plot": "table.png", "html": "table.html"}
    assert curator.driver.execute_script(stored_values) == proposed | presets
    assert not curator.find("[data-go='check']").is_enabled()
    curator.go_to("check")
    curator.fill("[data-key='groups']", str(tmp_path / "wards.csv"))
    curator.click("#again")
    curator.wait_for_step("data")
    assert curator.value("#source") == ""
    assert curator.driver.execute_script(stored_values) == presets
