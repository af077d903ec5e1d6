"""Exported pages open without a server."""

from __future__ import annotations

import re

import pytest

from ludus.errors import ViewError
from ludus.view import ViewSettings, export
from tests.view.conftest import Opened


@pytest.fixture(scope="module")
def exported(site, tmp_path_factory):
    target = tmp_path_factory.mktemp("export")
    return export(ViewSettings.of(site.folder / "first"), target), target


def test_every_link_leads_to_a_file(exported):
    done, folder = exported
    assert done.pages > 15
    pages = list(folder.rglob("*.html"))
    assert pages
    for page in pages:
        text = page.read_text()
        for target in re.findall(r'<[^<>]*\s(?:href|src|action)="([^"#]+)', text):
            assert (page.parent / target).is_file(), (page.name, target)
        assert "hx-" not in re.sub(r"<pre.*?</pre>", "", text, flags=re.DOTALL)
        assert "Content-Security-Policy" in text


def test_it_opens_from_a_file(exported, browser):
    done, _ = exported
    with Opened(browser, done.first.as_uri()) as opened:
        opened.problems = [one for one in opened.problems if not one.startswith("request: file:")]
        assert opened.problems == []
        page = opened.page
        page.locator("a.cell").first.click()
        assert page.locator(".step").count() == 7
        page.locator("svg.curve a").first.click()
        assert page.url.endswith("#step-2")
        page.locator("#step-1 a.id").click()
        assert "import json" in page.locator(".diff").inner_text()
        page.get_by_role("link", name="Step 2").click()
        assert page.locator("h1").inner_text() == "Step 2"
        # The style sheet is there.
        assert page.evaluate("getComputedStyle(document.querySelector('.top')).display") == "flex"


def test_one_file(site, tmp_path, browser):
    done = export(ViewSettings.of(site.folder / "first"), tmp_path, single=True)
    assert [one.name for one in tmp_path.iterdir()] == ["first.html"]
    with Opened(browser, done.first.as_uri()) as opened:
        assert [one for one in opened.problems if not one.startswith("request: file:")] == []
        page = opened.page
        page.locator("a.cell").first.click()
        assert re.search(r"#p\d+$", page.url)
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
        assert len(ids) == len(set(ids))
        links = "[...document.querySelectorAll('a[href^=\"#\"]')]"
        targets = page.evaluate(f"{links}.map(one => one.getAttribute('href').slice(1))")
        assert set(targets) <= set(ids)


def test_hostile_records_stay_texts(site, tmp_path, browser):
    done = export(ViewSettings.of(site.folder / "hostile"), tmp_path)
    with Opened(browser, done.first.as_uri()) as opened:
        assert [one for one in opened.problems if not one.startswith("request: file:")] == []
        assert opened.page.locator("main script, main img").count() == 0


def test_nothing_to_export(tmp_path):
    with pytest.raises(ViewError, match="no run"):
        export(ViewSettings.of(tmp_path), tmp_path / "out")
