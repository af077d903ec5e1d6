"""Every page in a browser: no errors, no requests elsewhere, fits a phone, accessible."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.view.conftest import Opened

axe = pytest.importorskip("axe_playwright_python", reason="axe is not installed")
AXE = next(Path(axe.__file__).parent.rglob("axe.min.js"))
RULES = "{resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa']}"
RUN_AXE = (
    f"axe.run({RULES}).then(r => JSON.stringify(r.violations.filter("
    "v => ['serious', 'critical'].includes(v.impact)).map(v => [v.id, v.nodes[0].html])))"
)


def pages(site) -> list[str]:
    one, other = site.units("first")
    base = site.episode()
    return [
        "/runs",
        "/runs?list=episodes",
        "/run/first",
        base,
        f"{base}/s/4",
        f"{base}/files",
        f"{base}/about",
        f"{site.episode('deep/second')}/conversation?call=3",
        f"/compare?a=first@{one}&b=first@{other}",
        "/nothing-here",
    ]


def violations(page) -> list:
    """Run axe-core past the page's policy, as the developer tools would."""
    session = page.context.new_cdp_session(page)
    session.send("Runtime.evaluate", {"expression": AXE.read_text()})
    asked = {"expression": RUN_AXE, "awaitPromise": True, "returnByValue": True}
    return json.loads(session.send("Runtime.evaluate", asked)["result"]["value"])


def test_pages(site, address, browser):
    """One page of the browser visits all: errors, contrast in both themes, a phone's width."""
    with Opened(browser, address + "/runs") as opened:
        page = opened.page
        for path in pages(site):
            opened.problems.clear()
            page.set_viewport_size({"width": 1280, "height": 900})
            page.goto(address + path)
            assert violations(page) == [], path
            page.set_viewport_size({"width": 390, "height": 844})
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
            wrong = [one for one in opened.problems if "404" not in one or "nothing" not in path]
            assert wrong == [], path


def test_dark_pages(site, address, browser):
    one = site.episode()
    with Opened(browser, f"{address}/run/first", dark=True) as opened:
        for path in (one, f"{one}/s/1"):
            opened.page.goto(address + path)
            assert violations(opened.page) == [], path
        assert opened.problems == []


def test_keys(site, address, browser):
    with Opened(browser, address + site.episode()) as opened:
        page = opened.page
        page.keyboard.press("j")
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.id") == "step-1"
        page.keyboard.press("k")
        assert page.evaluate("document.activeElement.id") == "step-0"
        page.keyboard.press("?")
        assert page.locator("dialog[open]").count() == 1
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        page.keyboard.type("jjj?")
        assert page.locator("input[type=search]").input_value() == "jjj?"
        page.keyboard.press("Escape")
        page.locator("h1").click()
        page.keyboard.press("g")
        page.keyboard.type("5")
        page.keyboard.press("Enter")
        page.wait_for_url("**#step-5")
        page.locator("#step-5 a.id").click()
        page.wait_for_url("**/s/5-*")
        page.keyboard.press("p")
        page.wait_for_url("**/s/4-*")
        page.keyboard.press("u")
        page.wait_for_url("**#step-4")
        assert opened.problems == []


def test_a_long_episode_loads_its_curve_later(site, address, browser, monkeypatch):
    monkeypatch.setattr("ludus.view.pages.episode._AT_ONCE", 100)
    with Opened(browser, f"{address}/run/large/e/record") as opened:
        opened.page.locator("#overview .chip", has_text="Failed 4").wait_for(timeout=10_000)
        assert opened.problems == []
