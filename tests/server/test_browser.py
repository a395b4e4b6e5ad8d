"""The page in a real browser; skipped, visibly, where Chromium and its driver are not installed."""

import re

import pytest
from browser import IN_A_BROWSER, Visit, chromium
from processes import ServerProcess
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select
from server_cases import labelled_graph

pytestmark = IN_A_BROWSER
N = 60


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browsed")
    names = ("Sales", "IT", "Board", "Research")
    rows = "".join(f"v{i},{names[i * len(names) // N]}\n" for i in range(N))
    (folder / "staff.csv").write_text("vertex,department\n" + rows)
    groups = ("--groups", str(folder / "staff.csv"))
    made = ServerProcess(folder, labelled_graph(n=N), "--budget", "4", "--tick", "0.05", *groups)
    yield made
    assert made.stop() == 0


@pytest.fixture(scope="module")
def driver():
    with chromium() as found:
        yield found


class Page(Visit):
    """What a user of the server does on its pages."""

    def __init__(self, driver, served):
        super().__init__(driver)
        self.served = served

    def sign_in(self, name):
        self.driver.delete_all_cookies()
        self.driver.get(self.served.url + "/")
        self.type("#token", self.served.tokens[name] + Keys.ENTER)  # without a mouse
        self.wait(lambda: self.driver.current_url.endswith(("/analyst", "/curator")))
        self.ready()

    def open_session(self, name="default", epsilon="1", queries="30"):
        if self.find("#new-session").get_attribute("open") is None:
            self.press("#new-session summary")
        self.type("#open-name", name)
        self.type("#open-epsilon", epsilon)
        self.type("#open-queries", queries)
        self.press("#open button.main")
        self.wait(lambda: self.text("#open-note"))

    def ask(self, labels):
        self.type("#labels-S", labels)
        self.press("#send")
        self.wait(lambda: self.text("#ask-note") and self.find("#send").is_enabled())

    def state(self):
        return self.text("#session-facts dd")


@pytest.fixture
def page(driver, served):
    found = Page(driver, served)
    yield found
    assert found.complaints() == []


def make(page, name, **fields):
    """The curator makes an analyst, on the page."""
    if page.find("#new-person").get_attribute("open") is None:
        page.press("#new-person summary")
    page.type("#add-name", name)
    for field, value in fields.items():
        page.type(f"#add-{field}", value)
    page.press("#add button.main")
    page.wait(lambda: f"Token of {name}" in page.text("#token"))
    page.served.tokens[name] = page.text("#token").rpartition(" ")[2]


@pytest.mark.thorough
def test_a_curator_and_two_analysts(page):
    page.driver.get(page.served.url)
    page.check("login")
    page.sign_in("curator")
    make(page, "ann", epsilon="2")
    make(page, "bob")
    # Both ask for a session, which waits.
    page.sign_in("ann")
    page.open_session()
    page.wait(lambda: page.state() == "waiting")
    assert not page.find("#send").is_enabled()
    page.sign_in("bob")
    page.open_session(queries="2")
    page.check("analyst-waiting")
    # The curator approves both.
    page.sign_in("curator")
    page.check("curator-waiting")
    for name in ("ann", "bob"):
        page.press(f"button[aria-label='Approve {name}.default']")
        row = f"//table[@id='requests']//tr[td[1]='{name}.default']/td[2]"
        page.wait(lambda row=row: page.driver.find_element(By.XPATH, row).text == "open")
    # Ann asks by groups and by labels, and for the table between all groups.
    page.sign_in("ann")
    page.find("input[value='@Sales']").send_keys(Keys.SPACE)
    page.press("#cost")
    page.wait(lambda: "1 new query" in page.text("#ask-note"))
    page.ask("v59, v58")
    assert "about" in page.text("#answer")
    assert "1 answered" in page.text("#left-text")
    page.ask("v1\nv2")
    page.press("#flows-ask")
    page.wait(lambda: page.driver.find_elements(By.CSS_SELECTOR, "#flows-table svg rect"))
    assert len(page.driver.find_elements(By.CSS_SELECTOR, "#flows-table svg rect")) == 16
    errors = page.driver.find_elements(By.CSS_SELECTOR, "#flows-table svg text.off")
    assert len(errors) == 16
    assert all(re.fullmatch(r"[-\d.,]+ to [\d.,]+", each.text) for each in errors)
    page.wait(lambda: "12 answered" in page.text("#left-text"))
    page.check("analyst")
    # Bob exhausts his session.
    page.sign_in("bob")
    for label in ("v1", "v2"):
        page.ask(label)
    page.wait(lambda: page.state() == "stopped")
    assert "run out" in page.text("#session-note")
    page.sign_in("curator")
    page.check("curator")
    assert "answered" in page.text("#audit")


def open_session_of(page, name):
    """Add somebody who may begin sessions at once, sign in as this person, and begin one."""
    page.served.add(name, preapproved=True)
    page.sign_in(name)
    page.open_session(epsilon="0.5", queries="5")
    page.wait(lambda: page.state() == "open")


@pytest.mark.thorough
def test_a_page_that_is_reloaded_while_it_asks_has_one_answer(page):
    open_session_of(page, "cleo")
    page.type("#labels-S", "v7")
    page.find("#send").send_keys(Keys.ENTER)
    page.driver.refresh()
    page.ready()
    page.wait(lambda: "1 answered" in page.text("#left-text"))
    assert "4 of 5 left" in page.text("#left-text")


@pytest.mark.thorough
def test_history_and_login_survive_kill_9_of_the_server(page):
    open_session_of(page, "dora")
    page.ask("v7")
    page.ask("v8")
    page.wait(lambda: "2 answered" in page.text("#left-text"))
    before = page.text("#history tbody")
    page.served.kill()
    page.type("#labels-S", "v9")
    page.find("#send").send_keys(Keys.ENTER)  # while it is down; the page tries again
    page.served.start()
    page.wait(lambda: "3 answered" in page.text("#left-text"))
    assert page.text("#history tbody").endswith(before)
    page.driver.refresh()
    page.ready()
    assert page.text("#history tbody").endswith(before)
    Select(page.find("#session"))  # still signed in


ONE_ITEM_A_PAGE = """
const request = window.fetch;
window.fetch = async (url, options) => {
  const reply = await request(url, options);
  if (!/answers[?]/.test(url)) return reply;
  const page = await reply.json();
  return new Response(JSON.stringify({ ...page, items: page.items.slice(0, 1) }));
};
document.getElementById("session").dispatchEvent(new Event("change"));
"""


@pytest.mark.thorough
def test_pages_of_answers_that_a_server_cuts_short_are_shown_whole(page):
    open_session_of(page, "emil")
    page.ask("v7")
    page.ask("v8")
    page.wait(lambda: len(page.text("#history tbody").splitlines()) > 1)
    before = page.text("#history tbody")
    page.driver.execute_script("document.querySelector('#history tbody').replaceChildren()")
    page.driver.execute_script(ONE_ITEM_A_PAGE)
    page.wait(lambda: page.text("#history tbody") == before)
