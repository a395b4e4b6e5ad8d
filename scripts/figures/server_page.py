"""Take the picture of the analyst's page, from the server of `make demo-server`, by Chromium.

Run `python -m scripts.figures.server_page`; needs selenium, of the extra `dev`, and Chromium with
its driver. The noise is fresh, as on every server, so each picture has other numbers.
"""

import re
import shutil
import subprocess
import sys
import time
from urllib.error import URLError
from urllib.request import urlopen

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from scripts.demo import ROOT

PICTURE = ROOT / "figures" / "server_page.png"
WIDTH = 1280


def draw(url: str, token: str) -> None:
    """Sign in, open a session, ask one question and a table, and take the picture."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
    )
    driver.set_window_size(WIDTH, 1900)
    waiting = WebDriverWait(driver, 60)

    def find(selector: str) -> webdriver.remote.webelement.WebElement:
        return driver.find_element(By.CSS_SELECTOR, selector)

    def type_in(selector: str, text: str) -> None:
        find(selector).clear()
        find(selector).send_keys(text)

    def unfold(whether: str) -> None:
        driver.execute_script(f"document.querySelector('#new-session').open = {whether}")

    try:
        driver.get(url)
        type_in("#token", token + Keys.ENTER)
        waiting.until(lambda _: driver.current_url.endswith("/analyst"))
        waiting.until(lambda _: find("body").get_attribute("data-ready") == "yes")
        unfold("true")
        for name, value in {"epsilon": "1", "delta": "0.000001", "queries": "20"}.items():
            type_in(f"#open-{name}", value)
        find("#open button.main").click()
        waiting.until(lambda _: find("#send").is_enabled())
        unfold("false")
        find("input[name='group-S'][value='@South']").click()
        find("#send").click()
        waiting.until(lambda _: "about" in find("#answer").text)
        find("#flows-ask").click()
        waiting.until(lambda _: driver.find_elements(By.CSS_SELECTOR, "#flows-table svg rect"))
        find("body").click()
        driver.execute_script("window.scrollTo(0, 0)")
        driver.save_screenshot(str(PICTURE))
    finally:
        driver.quit()


def main() -> None:
    """Start the server of the demo, take the picture, and stop it."""
    command = [sys.executable, str(ROOT / "scripts" / "demo_server.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
        try:
            token, url = "", ""
            for line in server.stdout or ():
                if match := re.match(r"ann +(\S+)", line):
                    token = match.group(1)
                if match := re.search(r"Open (\S+) ", line):
                    url = match.group(1)
                if token and url:
                    break
            wait_for(url)
            draw(url, token)
        finally:
            server.terminate()


def wait_for(url: str) -> None:
    """Wait until the server replies, for half a minute at most."""
    for _ in range(60):
        try:
            urlopen(url).close()  # noqa: S310
        except URLError:
            time.sleep(0.5)
        else:
            return
    raise TimeoutError("the server of the demo does not reply")


if __name__ == "__main__":
    main()
