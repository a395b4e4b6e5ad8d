"""Chromium without a window, for tests of pages; they are skipped where it is not installed."""

import base64
import shutil
from contextlib import contextmanager

import pytest
from page_checks import CONTRAST, LABELS
from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

DRIVER = shutil.which("chromedriver")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
IN_A_BROWSER = [
    pytest.mark.skipif(not (DRIVER and BROWSER), reason="no Chromium with its driver here"),
    pytest.mark.xdist_group("browser"),
]


@contextmanager
def chromium():
    """A browser, which is closed at the end."""
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(flag)
    options.add_argument("--disable-background-networking")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield found
    finally:
        found.quit()


class Visit:
    """What a user does on a page."""

    def __init__(self, driver):
        self.driver = driver
        driver.get_log("browser")

    def wait(self, what, seconds=120):
        passing = (StaleElementReferenceException, NoSuchElementException)  # it is drawn again
        waiting = WebDriverWait(self.driver, seconds, 0.05, ignored_exceptions=passing)
        return waiting.until(lambda _: what())

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.wait(lambda: [self.find(selector).text])[0]

    def ready(self):
        self.wait(lambda: self.find("body").get_attribute("data-ready") == "yes")

    def type(self, selector, text):
        field = self.find(selector)
        field.clear()
        field.send_keys(text)

    def press(self, selector):
        def pressed():
            found = self.find(selector)
            return found.is_enabled() and (found.send_keys(Keys.ENTER) or True)

        self.wait(pressed)

    def check(self, name):
        """Check the page for people with weak eyes and without a mouse."""
        for width in (1280, 390):
            with self.wide(width):
                for script in (LABELS, CONTRAST):
                    problems = self.driver.execute_script(script)
                    assert not problems, (name, width, problems)
                wide = "return [document.documentElement.scrollWidth, window.innerWidth]"
                inside, window = self.driver.execute_script(wide)
                assert inside <= window, (name, width)

    @contextmanager
    def wide(self, width):
        """A window of so many pixels."""
        self.driver.set_window_size(width, 900)
        if width < 500:  # headless windows have a least width
            size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": True}
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        yield
        self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        self.driver.set_window_size(1280, 900)

    def sheets(self):
        """How many sheets of each kind of paper the page prints on."""
        inches = {"A4": (8.27, 11.69), "Letter": (8.5, 11)}
        return {paper: self._sheets(*size) for paper, size in inches.items()}

    def _sheets(self, width, height):
        size = {"paperWidth": width, "paperHeight": height, "displayHeaderFooter": False}
        printed = self.driver.execute_cdp_cmd("Page.printToPDF", size)["data"]
        return base64.b64decode(printed).count(b"/Type /Page\n")

    def complaints(self):
        """What the browser refused, or a script did not catch."""
        return [
            line["message"]
            for line in self.driver.get_log("browser")
            if "Content Security Policy" in line["message"] or "Uncaught" in line["message"]
        ]
