"""Take the picture of the curator's page, of a table of the bundled flights, by Chromium's driver.

Run `python -m scripts.figures.curator_page`; needs selenium, of the extra `dev`, and Chromium with
its driver. The noise is fresh, as on every page, so each picture has other numbers.
"""

import re
import shutil
import subprocess
import sys
import tempfile

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from scripts.demo import ROOT

PICTURE = ROOT / "figures" / "curator_page.png"
FLIGHTS, AIRPORTS = (ROOT / "datasets" / f"us_{name}_2008.csv" for name in ("flights", "airports"))
LIST = {
    "groups": str(AIRPORTS),
    "groups-columns.vertex": "airport",
    "groups-columns.levels": "state",
}


def draw(link: str) -> None:
    """Go from step to step, and take the picture of how exact the table would be."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
    )
    driver.set_window_size(1280, 1000)
    waiting = WebDriverWait(driver, 60)

    def find(selector: str) -> webdriver.remote.webelement.WebElement:
        return driver.find_element(By.CSS_SELECTOR, selector)

    try:
        driver.get(link)
        waiting.until(lambda _: find("body").get_attribute("data-ready") == "yes")

        def go(step: str) -> None:
            find("#next").click()
            waiting.until(lambda _: find("body").get_attribute("data-step") == step)

        find("#source").send_keys(str(FLIGHTS))
        go("check")
        driver.execute_script(
            "for (const each of document.querySelectorAll('details')) each.open = true;"
        )
        for key, text in LIST.items():
            find(f"[data-key='{key}']").send_keys(text)
        for key in ("ignore-weights", "public-vertices-from-file"):
            find(f"[data-key='{key}']").click()
        for step in ("who", "count", "out", "exact"):
            go(step)
        waiting.until(lambda _: find("body").get_attribute("data-preview") == "1")
        driver.save_screenshot(str(PICTURE))
    finally:
        driver.quit()


def main() -> None:
    """Start a page in a folder for the moment, take the picture, and stop it."""
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, "-m", "graphcuts_dp", "page", f"{folder}/results", "--no-browser"]
        with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as page:  # noqa: S603
            try:
                first_line = page.stdout.readline() if page.stdout else ""
                address = re.search(r"http\S+", first_line)
                draw(address[0] if address else "")
            finally:
                page.terminate()


if __name__ == "__main__":
    main()
