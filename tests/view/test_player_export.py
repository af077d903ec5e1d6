from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ludus.view import ViewSettings, export
from ludus.view.model.recording import open_recording
from tests.view.recordings import record_single

WAIT = 60_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs")
    record_single("CartPole-v1", path / "single", episodes=4)
    record_single("Copy-v0", path / "text", episodes=1)
    return path


def exported(folder, target, **options):
    """Export in a thread: Playwright has an event loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(export, ViewSettings.of(folder), target, **options).result()


def test_without_being_asked_nothing_is_executed_for_an_export(folder, tmp_path):
    exported(folder, tmp_path / "pages")
    names = {path.name for path in (tmp_path / "pages" / "single").iterdir()}
    assert {"index.html", "ep-0.html", "ep-3.html", "ep-0-numbers.csv"} <= names
    assert not [name for name in names if name.endswith(".png")]
    page = (tmp_path / "pages" / "single" / "ep-0.html").read_text()
    assert "Frames of this episode were not exported" in page
    assert '<svg class="curve"' in page


def test_exported_frames_play_from_files(folder, tmp_path, browser):
    exported(folder, tmp_path / "pages", frames=True)
    best = open_recording(folder / "single").landmarks()["best"]
    page = browser.new_page()
    complaints: list[str] = []
    foreign: list[str] = []
    page.on("console", lambda one: complaints.append(one.text) if one.type == "error" else None)
    page.on("request", lambda one: None if one.url.startswith("file:") else foreign.append(one.url))
    for name, place, last in (("single", best.place, best.episode.length), ("text", 0, None)):
        address = Path(tmp_path / "pages" / name / f"ep-{place}.html").as_uri()
        page.goto(address)
        page.wait_for_selector('#stage[data-shown="0"]', timeout=WAIT)
        if last is not None:
            page.keyboard.press("End")
            page.wait_for_selector(f'#stage[data-shown="{last}"]', timeout=WAIT)
            page.locator("#charts canvas").first.wait_for(timeout=WAIT)
    page.close()
    assert complaints == []
    assert foreign == []


def test_one_file_has_the_charts_as_pictures(folder, tmp_path):
    exported(folder, tmp_path / "pages", single=True)
    text = (tmp_path / "pages" / "single.html").read_text()
    assert text.count('<svg class="curve"') == 8  # rewards and actions of four episodes
    assert "<script" not in text
