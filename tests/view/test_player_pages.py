from __future__ import annotations

import json
import re
from html import unescape

import numpy as np
import pytest

import ludus
from ludus.record import Run
from ludus.view.model.recording import open_recording
from tests.view.recordings import record_batch, record_single
from tests.view.samples import HOSTILE
from tests.view.served import serving


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs")
    record_single("CartPole-v1", path / "single", episodes=3)
    record_batch("CartPole-v1", path / "batch", rows=40)
    record_single("Copy-v0", path / "text", episodes=2)
    hostile(path / "hostile")
    return path


@pytest.fixture(scope="module")
def client(folder):
    with serving(folder) as made:
        yield made


def hostile(path):
    """A record of episodes in which every text is meant to do harm."""
    text = "".join(one for one in HOSTILE if "\udc80" not in one)
    column = f"action/{text[:100]}"
    subject = {
        "id": text,
        "num_envs": None,
        "autoreset_mode": None,
        "observations": False,
        "columns": [{"name": column, "dtype": "<i8", "shape": []}],
        "kwargs": {text: text},
        "wrappers": [{"name": text, "entry_point": text, "kwargs": {}}],
        "unreplayable": None,
    }
    with Run.create(path, kind="episodes", subject=subject) as run:
        run.append("reset", {"row": 0, "seed": 2**63 - 1, "options": None, "check": 1})
        columns = {
            "reward": np.array([np.inf, -1.0, np.nan]),
            "terminated": np.array([False, False, True]),
            "truncated": np.zeros(3, bool),
            column: np.arange(3),
        }
        run.append_block(columns)


def data_of(page):
    """Return what the page gives its script."""
    found = re.search(r'<div id="player-data" hidden>(.*?)</div>', page, re.DOTALL)
    return json.loads(unescape(found[1]))


def test_the_record_page_lists_episodes_and_marks_the_best(client, folder):
    recording = open_recording(folder / "single")
    page = client.get("/record/single").text
    best = recording.landmarks()["best"]
    assert f'/record/single/ep/{best.place}">{best.episode.total_reward:g}' in page
    lengths = [recording.episode(place).episode.length for place in range(3)]
    order = client.get("/record/single?sort=-length").text
    rows = [int(one) for one in re.findall(r'<th scope="row"><a href="[^"]*/ep/(\d+)"', order)]
    assert [lengths[place] for place in rows] == sorted(lengths, reverse=True)


def test_frames_are_drawn_only_on_request_of_the_page_itself(client):
    page = client.get("/record/single/ep/1?t=2").text
    assert "Show frames" in page
    assert data_of(page)["allowed"] is False
    refused = client.get("/record/single/frame/1")
    assert (refused.status, refused.headers["content-type"]) == (422, "application/json")
    assert client.post("/record/single/replay", origin="http://evil.test", place=1).status == 403
    assert client.post("/record/single/replay", origin=None, place=1).status == 403
    assert client.get("/record/single/frame/1").status == 422
    allowed = client.post("/record/single/replay", place=1, t=2)
    assert (allowed.status, allowed.headers["location"]) == (303, "/record/single/ep/1?t=2")
    frame = client.get("/record/single/frame/1?last=9")
    assert (frame.status, frame.headers["content-type"]) == (200, "image/png")
    assert frame.content.startswith(b"\x89PNG")
    data = data_of(client.get("/record/single/ep/1?t=2").text)
    assert (data["allowed"], data["t"]) == (True, 2)


def test_a_frame_may_be_kept_only_under_the_address_of_this_version(client):
    client.post("/record/single/replay", place=0)
    stamp = data_of(client.get("/record/single/ep/0").text)["stamp"]
    kept = client.get(f"/record/single/frame/1?v={stamp}").headers["cache-control"]
    assert kept == "private, max-age=3600"
    assert client.get("/record/single/frame/1?v=old").headers["cache-control"] == "no-store"


def test_a_state_is_a_file_that_load_state_takes(client, tmp_path):
    client.post("/record/batch/replay", place=0)
    answer = client.get("/record/batch/state/7")
    assert answer.status == 200
    assert answer.headers["content-disposition"].startswith("attachment")
    (tmp_path / "state").write_bytes(answer.content)
    env = ludus.make_vec("CartPole-v1", 3)
    env.reset(seed=0)
    ludus.load_state(tmp_path / "state", env)
    assert 'ludus.make_vec("CartPole-v1", 3)' in unescape(client.get("/record/batch/ep/0").text)


def test_text_frames_are_escaped_text(client):
    client.post("/record/text/replay", place=0)
    frame = client.get("/record/text/frame/1")
    assert frame.headers["content-type"].startswith("text/html")
    assert "Output Tape" in frame.text
    assert "\x1b" not in frame.text


def test_numbers_as_csv_and_observations(client, folder):
    recording = open_recording(folder / "single")
    length = recording.episode(1).episode.length
    lines = client.get("/record/single/ep/1/numbers.csv").text.splitlines()
    assert lines[0] == 'step,"reward","action"'
    assert len(lines) == length + 1
    client.post("/record/single/replay", place=0)
    chart = json.loads(client.get("/record/single/ep/1/observations").content)
    assert len(chart["lines"]) == 4
    assert chart["x"] == list(range(1, length + 1))


@pytest.mark.parametrize(
    "path",
    [
        "/record/none",
        "/record/single/ep/99",
        "/record/single/ep/-1",
        "/record/single/frame/99999999",
        "/record/..%2f..%2fetc/ep/0",
        "/record/single/state/99999999999999999999",
    ],
)
def test_what_is_not_there_is_not_found(client, path):
    client.post("/record/single/replay", place=0)
    assert client.get(path).status == 404


@pytest.mark.parametrize("query", ["t=x", "t=-5", "t=99999999999", "t=%C2%B2", "t=1e9"])
def test_odd_steps_in_the_address_are_moved_to_the_nearest(client, query):
    data = data_of(client.get(f"/record/single/ep/0?{query}").text)
    assert 0 <= data["t"] <= data["last"]


def test_a_hostile_record_is_shown_as_text(client):
    for path in ("/record/hostile", "/record/hostile/ep/0", "/record/hostile?sort=<script>"):
        page = client.get(path)
        assert page.status == 200
        assert "<script>document" not in page.text
        assert "<img src=x" not in page.text
        assert "<svg onload" not in page.text
        assert "\x1b" not in page.text
        assert "\u202e" not in page.text.replace("\\u202e", "")
        assert "9223372036854775807" in page.text
    client.post("/record/hostile/replay", place=0)
    answer = client.get("/record/hostile/frame/1")
    assert answer.status == 422
    assert "could be built" in json.loads(answer.content)["error"]
