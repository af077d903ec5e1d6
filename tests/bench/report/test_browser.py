"""Reports in a real browser, on a screen and on a phone, by day and by night."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ludus.bench.report import write_report

from .samples import HOSTILE, PROVENANCE, REFERENCES, RESEARCH, many, research, usual
from .test_write import hostile_report

CHROMIUM = Path("/usr/bin/chromium")
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed")

WIDTHS = (1280, 900, 768, 360, 320)

CHARTS = """() => [...document.querySelectorAll('figure:has(svg.chart)')].map(figure => {
  const shown = [...figure.querySelectorAll('svg.chart')].filter(s => s.getClientRects().length);
  return shown.map(svg => {
    const box = svg.getBoundingClientRect();
    const scale = svg.getScreenCTM().a;
    const inside = m => {
      const b = m.getBoundingClientRect();
      return b.left >= box.left - 1 && b.right <= box.right + 1 &&
             b.top >= box.top - 1 && b.bottom <= box.bottom + 1;
    };
    const marks = [...svg.querySelectorAll('.mark, .line, .whisker')];
    const texts = [...svg.querySelectorAll('text')];
    return {
      width: box.width, height: box.height, marks: marks.length,
      outside: [...marks, ...texts].filter(m => !inside(m)).map(m => m.outerHTML),
      font: Math.min(...texts.map(t => parseFloat(getComputedStyle(t).fontSize) * scale)),
    };
  });
})"""

CONTRASTS = """() => {
  const parse = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => {
    const [r, g, b] = c.map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = e => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const found = [];
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    const mark = e.matches('svg .line, svg .whisker, svg .mark:not(.hollow)');
    if (!(own || mark) || !e.getClientRects().length || e.closest('title, desc')) continue;
    const style = getComputedStyle(e);
    const paint = mark ? (e.matches('.mark') ? style.fill : style.stroke)
                       : e.namespaceURI.endsWith('svg') ? style.fill : style.color;
    const value = ratio(light(parse(paint).slice(0, 3)), light(behind(e)));
    if (value < (mark ? 3 : 4.5)) found.push([value, e.outerHTML.slice(0, 120)]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=str(CHROMIUM),
            args=["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    results, references = many(agents=30, envs=10, seeds=3)
    return {
        "usual": write_report(
            usual(), folder / "usual.html", references=REFERENCES, provenance=PROVENANCE
        ).html,
        "hostile": hostile_report(folder / "hostile.html").html,
        "many": write_report(results, folder / "many.html", references=references).html,
        "empty": write_report([], folder / "empty.html").html,
        "research": write_report(research(), folder / "research.html", references=RESEARCH).html,
    }


class Opened:
    """A page, with all that went wrong in it."""

    def __init__(self, browser, path: Path, width: int, scheme: str = "light") -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *problem: object) -> None:
        self.context.close()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["usual", "hostile", "many", "empty", "research"])
def test_pages_are_quiet_and_fit(browser, reports, name, width):
    with Opened(browser, reports[name], width) as opened:
        assert opened.complaints == []
        assert opened.requests == [reports[name].as_uri()]
        opened.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        wide = opened.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("name", "figures"), [("usual", 7), ("hostile", 4), ("many", 3)])
def test_every_chart_is_seen_and_can_be_read(browser, reports, name, figures, width):
    with Opened(browser, reports[name], width) as opened:
        charts = opened.page.evaluate(CHARTS)
    assert len(charts) == figures
    for shown in charts:
        (chart,) = shown  # of the wide and the narrow one, exactly one
        assert chart["width"] > 200
        assert chart["height"] > 80
        assert chart["marks"] > 0
        assert chart["outside"] == []
        assert chart["font"] >= 11


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_text_and_marks_stand_out(browser, reports, scheme, width):
    with Opened(browser, reports["usual"], width, scheme) as opened:
        opened.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert opened.page.evaluate(CONTRASTS) == []
        dark = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (dark == "rgb(16, 21, 27)") == (scheme == "dark")


def test_nothing_hostile_runs(browser, reports):
    with Opened(browser, reports["hostile"], 1280) as opened:
        page = opened.page
        assert page.title().startswith("<script>")
        assert page.evaluate("document.scripts.length") == 0
        assert page.evaluate("document.images.length") == 0
        assert page.evaluate("document.styleSheets.length") == 1
        names = page.evaluate(
            "[...document.querySelectorAll('tbody th bdi')].map(b => b.textContent)"
        )
        assert HOSTILE[0] in names
        assert not any("\u202e" in name for name in names)


def test_the_policy_stops_what_somebody_writes_into_the_file(browser, reports, tmp_path):
    text = reports["empty"].read_text("utf-8")
    attack = (
        "<script>document.title='owned'</script><img src='http://127.0.0.1:9/x'>"
        "<p style='color:red'>"
    )
    path = tmp_path / "changed.html"
    path.write_text(text.replace("</main>", f"{attack}</main>"), "utf-8")
    with Opened(browser, path, 1280) as opened:
        assert opened.page.title() == "Benchmark results"
        assert len(opened.complaints) >= 3


def test_paper_shows_what_the_screen_folds(browser, reports):
    with Opened(browser, reports["usual"], 1280) as opened:
        opened.page.emulate_media(media="print")
        shown = opened.page.evaluate(
            "[...document.querySelectorAll('svg.wide')].every(s => s.getClientRects().length) && "
            "![...document.querySelectorAll('svg.narrow')].some(s => s.getClientRects().length)"
        )
        assert shown
        assert opened.page.evaluate(
            "[...document.querySelectorAll('details table')].every(t => t.checkVisibility())"
        )
