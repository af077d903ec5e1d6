from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from html import unescape

import pytest

from ludus.bench import BenchFolder, RunSettings, load_suite, open_store, run_suite
from ludus.view.library import Library
from ludus.view.model.boards import Boards
from ludus.view.replaying.verifications import Busy, Verifications
from ludus.view.settings import ViewSettings
from tests.view.recordings import record_single
from tests.view.samples import HOSTILE
from tests.view.served import serving

SERIAL = RunSettings(engine="serial")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs")
    suite = load_suite("classic").changed(seeds=(0, 1), episodes=1)
    run_suite(suite, ["random", "heuristic"], out=path / "first", settings=SERIAL)
    other = suite.changed(seeds=(2,))
    run_suite(other, ["random"], out=path / "deep" / "second", settings=SERIAL)
    record_single("CartPole-v1", path / "single", episodes=1)
    return path


@pytest.fixture(scope="module")
def client(folder):
    with serving(folder) as made:
        yield made


def verified(client, name):
    """Verify on the page, and return the page when that has ended."""
    assert client.post(f"/verify/{name}").status == 303
    for _ in range(600):
        page = client.get(f"/verify/{name}").text
        if "running</span>" not in page:
            return page
        time.sleep(0.1)
    raise AssertionError(page)


def test_the_list_of_suites_counts_runs_agents_and_results(client):
    page = client.get("/board").text
    assert '<a href="/board/classic">Classic control</a>' in page
    assert '<td class="number">2</td><td class="number">2</td><td class="number">25</td>' in page


def test_a_board_has_the_figures_of_the_leaderboard_and_of_the_report(client, folder):
    boards = Boards(Library(ViewSettings.of(folder)))
    (row,), problems = boards.suites()
    assert problems == []
    (board,) = boards.leaderboards("classic", row.runs)
    page = unescape(client.get("/board/classic").text)
    for one in board.rows:
        assert f">{one.agent}</th>" in page
        assert f'<td class="number">{one.value:.4g}</td>' in page
    with open_store(folder / "store.sqlite") as store:
        for run in row.runs:
            store.add_suite(run.folder.suite)
            store.add(run.results)
        (stored,) = store.leaderboard("classic")
    assert [one.value for one in stored.rows] == pytest.approx([one.value for one in board.rows])
    from_store = Boards(Library(ViewSettings.of(folder)), str(folder / "store.sqlite"))
    assert from_store.leaderboards("classic", ())[0].agents == board.agents
    report = boards.report(row.runs[1:])
    assert [heading for _, heading, _ in report.sections][:2] == [
        "Overall scores",
        "Performance profiles",
    ]
    only = client.get("/board/classic?run=first").text
    assert "95 % interval" in only
    assert re.search(r'id="provenance"', only)
    assert " style=" not in only
    assert "<style" not in only


def test_a_suite_without_results_is_not_found(client):
    assert client.get("/board/none").status == 404
    assert client.get("/board/..%2f..%2fetc").status == 404


def test_runs_are_verified_from_the_page_and_count_as_such(client, folder):
    assert "No result of this suite is verified" in client.get("/board/classic?verified=1").text
    assert client.post("/verify/first", origin="http://evil.test").status == 403
    assert client.post("/verify/first", origin=None).status == 403
    assert not (folder / "first" / "verifications").exists()
    page = verified(client, "first")
    assert 'badge good">passed' in page
    assert "20 verified, 0 claimed, 0 failed" in page
    assert {one.verified for one in BenchFolder.open(folder / "first").results()} == {"verified"}
    board = client.get("/board/classic?verified=1").text
    assert '<span class="badge good">verified</span>' in board
    assert "20 verified" in client.get("/board").text


def test_a_result_that_its_record_does_not_give_fails(client, folder):
    run = BenchFolder.open(folder / "deep" / "second")
    unit = run.unit_ids[0]
    path = run.path / "results" / f"{unit}.json"
    before = path.read_bytes()
    result = run.result(unit)
    run.write(replace(result, score=result.score + 100))
    try:
        assert 'badge bad">failed' in verified(client, "deep~second")
        assert "1 failed" in client.get("/board").text
    finally:
        path.write_bytes(before)


def test_single_records_are_verified_too(client):
    page = verified(client, "single")
    assert 'badge good">passed' in page
    assert "verdict: passed" in page


def test_one_verification_at_a_time_and_none_after_its_time(folder):
    jobs = Verifications(seconds=0.3)
    jobs.start("a", ["bench", "verify", "--", str(folder / "first")])
    with pytest.raises(Busy):
        jobs.start("b", ["verify", "--", str(folder / "single")])
    for _ in range(200):
        if jobs.job("a").state != "running":
            break
        time.sleep(0.05)
    assert jobs.job("a").state == "stopped"
    jobs.close()


def test_a_hostile_run_is_text_and_damaged_ones_are_left_out(tmp_path):
    text = "".join(one for one in HOSTILE if "\udc80" not in one)
    suite = load_suite("classic").changed(seeds=(0,), episodes=1)
    suite = suite.model_copy(
        update={"environments": suite.environments[:1], "title": "<b>bold</b>"}
    )
    run_suite(suite, ["random"], out=tmp_path / "hostile", settings=SERIAL)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "bench.json").write_text(json.dumps({"name": text}))
    (tmp_path / "link").symlink_to(tmp_path / "hostile")
    with serving(tmp_path) as client:
        page = client.get("/board").text
        assert page.count('<a href="/board/') == 1
        assert "does not describe a bench run" in page
        for path in ("/board", "/board/classic"):
            page = client.get(path).text
            for piece in ("<script>document", "<b>bold", "<img src=x", "\x1b"):
                assert piece not in page
        assert "&lt;b&gt;bold&lt;/b&gt;" in page
