"""The pages of the player, the gallery and the boards in Chromium, as people use them."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from ludus.bench import RunSettings, load_suite, run_suite
from ludus.view.model.recording import open_recording
from tests.view.recordings import record_single
from tests.view.served import serving
from tests.view.test_player_pages import hostile

PAGES = (
    "/record/single",
    "/record/single/ep/1",
    "/envs?family=classic_control",
    "/envs/FrozenLake-v1",
    "/envs/FrozenLake-v1/play",
    "/board",
    "/board/classic",
    "/verify/bench",
)
WAIT = 60_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs")
    record_single("CartPole-v1", path / "single", episodes=3)
    record_single("CartPole-v1", path / "fresh", episodes=1)
    hostile(path / "hostile")
    suite = load_suite("classic").changed(seeds=(0,), episodes=1)
    settings = RunSettings(engine="serial")
    run_suite(suite, ["random", "heuristic"], out=path / "bench", settings=settings)
    return path


@pytest.fixture(scope="module")
def client(folder):
    with serving(folder) as made:
        made.post("/record/single/replay", place=0)
        yield made


@pytest.fixture
def page(browser, client):
    """A page that must neither complain nor ask other hosts."""
    context = browser.new_context(viewport={"width": 1200, "height": 800}, base_url=client.url)
    made = context.new_page()
    complaints: list[str] = []
    made.on("console", lambda one: complaints.append(one.text) if one.type == "error" else None)
    made.on("pageerror", lambda one: complaints.append(str(one)))
    hosts: set[str] = set()
    made.on("request", lambda one: hosts.add(urlsplit(one.url).netloc))
    yield made
    context.close()
    assert complaints == []
    assert hosts == {f"127.0.0.1:{client.port}"}


def serious(page, *rules):
    """Return what axe-core finds and calls serious or critical; all rules, or those named."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"runOnly": rules} if rules else None).response["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] != "minor"]


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_accessible_in_both_themes_and_fit_a_phone(page, path):
    page.goto(path)
    page.wait_for_load_state("networkidle")
    assert serious(page) == []
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 800})
    assert serious(page, "color-contrast") == []
    assert page.evaluate("document.documentElement.scrollWidth") == 390


COLOURS = """() => {
    const frame = document.getElementById("frame");
    const drawn = frame.getContext("2d").getImageData(0, 0, frame.width, frame.height);
    return new Set(new Uint32Array(drawn.data.buffer)).size;
}"""


def at(page, step):
    page.wait_for_selector(f'#stage[data-shown="{step}"]', timeout=WAIT)
    return page.evaluate("document.getElementById('frame').toDataURL()")


def test_one_clock_moves_frame_scrubber_charts_and_address(page, folder):
    shown = open_recording(folder / "single").episode(1)
    last = shown.episode.length
    page.goto("/record/single/ep/1?t=3")
    third = at(page, 3)
    assert page.locator("#scrub").input_value() == "3"
    page.locator("#observed").wait_for(timeout=WAIT)
    assert page.locator("#observed-value").text_content().startswith("[0] ")
    page.keyboard.press("ArrowRight")
    at(page, 4)
    assert page.url.endswith("?t=4")
    assert page.locator("#state").get_attribute("href").endswith(f"/state/{shown.moment(4)}")
    page.keyboard.press("ArrowLeft")
    assert at(page, 3) == third
    page.keyboard.press("End")
    assert at(page, last) != third
    assert page.locator("#scrub").get_attribute("aria-valuetext") == f"step {last} of {last}"
    page.keyboard.press("Home")
    at(page, 0)
    page.select_option("#speed", "8")
    page.keyboard.press(" ")
    at(page, last)
    page.wait_for_selector('#play[aria-pressed="false"]')
    lines = [one.bounding_box()["x"] for one in page.locator(".now").all()]
    assert max(lines) - min(lines) < 2
    page.keyboard.press("n")
    page.wait_for_url("**/ep/2")


def test_a_click_into_a_chart_goes_to_its_step(page):
    page.goto("/record/single/ep/0")
    at(page, 0)
    box = page.locator("#charts .u-over").first.bounding_box()
    page.mouse.click(box["x"] + box["width"] - 1, box["y"] + box["height"] / 2)
    assert page.locator("#scrub").input_value() == page.locator("#scrub").get_attribute("max")


def test_frames_are_asked_for_with_a_button(page):
    page.goto("/record/fresh/ep/0?t=2")
    assert page.locator("#frame").count() == 0
    page.get_by_role("button", name="Show frames").click()
    at(page, 2)
    assert page.locator("#frame").is_visible()
    assert page.evaluate(COLOURS) > 1


def test_nothing_in_a_hostile_record_runs(page):
    page.on("dialog", lambda one: pytest.fail(one.message))
    for path in ("/record/hostile", "/record/hostile/ep/0?t=2"):
        page.goto(path)
        page.wait_for_load_state("networkidle")
        assert page.title().endswith("ludus view")
        assert page.locator("main script, main img[onerror], main svg[onload]").count() == 0


def test_an_environment_is_played_with_keys_and_buttons(page):
    page.goto("/envs/CliffWalking-v1/play")
    page.wait_for_selector('#screen[data-steps="0"]', timeout=WAIT)
    page.keyboard.press("ArrowUp")
    page.wait_for_selector('#screen[data-steps="1"]', timeout=WAIT)
    page.get_by_role("button", name="→ 1").click()
    page.wait_for_selector('#screen[data-steps="2"]', timeout=WAIT)
    assert page.locator("#total").text_content() == "-2"
    page.fill("#typed-action", "9")
    page.get_by_role("button", name="Step", exact=True).click()
    page.locator("#wrong").wait_for(timeout=WAIT)
    assert "is no action" in page.locator("#wrong").text_content()
    page.locator("#restart").click()
    page.wait_for_selector('#screen[data-steps="0"]', timeout=WAIT)


def test_the_end_of_an_episode_is_told_and_the_next_one_begins(page):
    page.goto("/envs/CartPole-v1/play")
    page.wait_for_selector('#screen[data-steps="0"]', timeout=WAIT)
    page.keyboard.down("ArrowLeft")
    page.locator("#cover").wait_for(timeout=WAIT)
    page.keyboard.up("ArrowLeft")
    assert page.locator("#ending").text_content().startswith("Terminated after")
    page.locator("#again").click()
    page.locator("#cover").wait_for(state="hidden", timeout=WAIT)


def test_a_run_is_verified_with_a_button(page):
    page.goto("/board/classic")
    page.get_by_role("link", name="Verify…").click()
    page.get_by_role("button", name="Verify").click()
    page.locator(".badge.good").wait_for(timeout=WAIT)
    assert "10 verified" in page.locator("#job").text_content()
