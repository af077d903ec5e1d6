"""Attacks on the viewer; those that succeeded when they were first tried are mended."""

from __future__ import annotations

import asyncio
import csv
import hashlib
import io
import json
import logging
import re
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from websockets.sync.client import connect

from ludus.errors import RecordDamaged, RecordError, ViewError
from ludus.record import Run
from ludus.view import ViewSettings, export, serving
from ludus.view.beside import ViewerBeside
from ludus.view.episodes import changes, conversation, output
from ludus.view.episodes.episode import open_episode
from ludus.view.library import Library
from ludus.view.model import recording
from ludus.view.model.recordings import record_of
from ludus.view.pages.kept import few_at_once
from ludus.view.replaying.replayer import ReplayFailed
from tests.view import samples
from tests.view.conftest import client_of
from tests.view.recordings import record_single
from tests.view.served import serving as served

TOKEN = "a-token-of-the-tests"
DIGEST = "a" * 64


def episode(path, **changed):
    """Return the record of an episode, to be written."""
    return Run.create(path, kind="research", subject=samples.subject(**changed))


def raw_event(n, kind, data):
    """Return the line of an event that no recorder writes."""
    text = data if isinstance(data, str) else json.dumps(data)
    return (
        f'{{"data":{text},"hash":"{DIGEST}","kind":"{kind}","n":{n},"previous":"{DIGEST}",'
        '"time":"2026-01-01T00:00:00.000Z"}\n'
    )


def recorded(path, rows, stored=(), **subject):
    """Write a recording of rows that are all the same."""
    told = {"id": "CartPole-v1", "num_envs": None, "autoreset_mode": "NextStep", "kwargs": {},
            "wrappers": [], "observations": False, "columns": [], "unreplayable": None,
            "registered": None, **subject}  # fmt: skip
    flags = np.zeros(rows, np.bool_)
    block = {"reward": np.ones(rows), "terminated": ~flags, "truncated": flags, **dict(stored)}
    with Run.create(path, kind="episodes", subject=told) as run:
        run.append("reset", {"row": 0, "seed": 1, "options": None, "check": 0})
        run.append_block(block)


# Who is served


def test_a_link_to_an_environment_imports_no_package(site, tmp_path, monkeypatch):
    (tmp_path / "redteam_lure.py").write_text("")
    info = tmp_path / "redteam_lure-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: redteam_lure\nVersion: 1.0\nRequires-Dist: gymnasium\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for address in ("redteam_lure-x-v0", "redteam_lure:Env-v0", "redteam_lure-v0/inside"):
        assert site.get(f"/envs/{address}").status_code == 404
    assert "redteam_lure" not in sys.modules


def test_the_viewer_beside_a_run_imports_nothing_of_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "uvicorn.py").write_text("open('taken', 'w').close()")
    monkeypatch.chdir(tmp_path)
    with ViewerBeside(tmp_path / "runs", lambda _: None):
        pass
    assert not (tmp_path / "taken").exists()


def test_cookies_of_other_ports_lock_nobody_out(site):
    with client_of(site.folder, token=TOKEN) as client:
        cookie = client.get(f"/runs?token={TOKEN}").headers["set-cookie"].partition(";")[0]
        client.cookies.clear()
        name = cookie.partition("=")[0]
        for others in ('a={"x": 1}; b[]=(', f"{name}=forged", "x" * 20_000, "=;;;="):
            for text in (f"{others}; {cookie}", f"{cookie}; {others}"):
                assert client.get("/runs", headers={"cookie": text}).status_code == 200
        assert client.get("/runs", headers={"cookie": f"{name}=forged"}).status_code == 401
        assert client.get("/runs", headers={"cookie": f"{name}="}).status_code == 401


@pytest.mark.parametrize("path", ["/%09/evil.example", "/%0a/evil.example", "/%5Cevil.example"])
def test_the_page_after_the_token_is_on_this_server(site, path):
    with client_of(site.folder, token=TOKEN) as client:
        text = client.get(f"{path}?token={TOKEN}").text
    (target,) = re.findall(r'content="0;url=([^"]*)"', text)
    assert target.startswith("/%")


def test_connections_that_ask_nothing_are_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(serving, "FIRST_REQUEST_SECONDS", 0.1)
    with served(tmp_path) as client:
        for sent in (b"", b"GET /runs HTTP/1.1\r\nHost: 127"):
            with socket.create_connection(("127.0.0.1", client.port), timeout=30) as slow:
                slow.sendall(sent)
                assert slow.recv(1) == b""
        assert client.get("/runs").status == 200


def test_who_waits_for_a_worker_holds_no_thread():
    held = []

    async def main():
        go_on = asyncio.Event()
        loop = asyncio.get_running_loop()

        def slow(_):
            held.append(1)
            asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(60)
            return PlainTextResponse("slow")

        endpoint = few_at_once("test", 3, slow)
        request = Request({"type": "http", "app": Starlette()})
        waiting = [asyncio.create_task(endpoint(request)) for _ in range(60)]
        while len(held) < 3:
            await asyncio.sleep(0.01)
        assert await run_in_threadpool(lambda: "quick") == "quick"
        assert len(held) == 3
        go_on.set()
        assert {one.status_code for one in await asyncio.gather(*waiting)} == {200}
        assert len(held) == 60

    # In a thread of its own: the browser of other tests has a loop in this one.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(main())).result(120)


def test_bytes_on_the_socket_of_a_game_are_ignored(tmp_path):
    with served(tmp_path) as client:
        address = f"ws://127.0.0.1:{client.port}/envs/CliffWalking-v1/play/socket"
        with connect(address, origin=client.url, open_timeout=30) as game:
            game.recv(timeout=60)
            game.recv(timeout=60)
            for odd in (b"\x00\xff", '{"action": NaN}', '{"action": 1e999}', '{"action": '):
                game.send(odd)
            game.send('{"action": 99}')
            assert "is no action" in json.loads(game.recv(timeout=60))["error"]


def test_names_of_runs_are_those_of_one_place_each(tmp_path):
    for name in ("a/b", "a~b", "x", "y"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "manifest.json").write_text("{}")
    found = Library(ViewSettings.of(tmp_path)).all()
    assert len({one.name for one in found}) == 4
    assert {one.place for one in found if one.name == "a~b"} == {"a/b"}
    for folder in ("x", "y"):
        (tmp_path / folder / "same.traj").write_text("{}")
    files = (tmp_path / "x" / "same.traj", tmp_path / "y" / "same.traj")
    assert len(Library(ViewSettings.of(*files)).all()) == 2


# What odd records do


def test_one_odd_run_does_not_hide_the_others(site, tmp_path, monkeypatch):
    with episode(tmp_path / "good", task="the good one"):
        pass
    with episode(tmp_path / "odd") as run:
        run.append("result", {"outcome": "scored", "unit": "x"})
    from ludus.view.model import summary

    real = summary._of_record

    def odd(found):
        if found.name == "odd":
            raise KeyError("\x1b[2J")
        return real(found)

    monkeypatch.setattr(summary, "_of_record", odd)
    with client_of(tmp_path) as client:
        for address in ("/runs", "/runs?list=episodes", "/compare", "/board"):
            assert client.get(address).status_code == 200
        assert "the good one" in client.get("/runs?list=episodes").text


@pytest.mark.parametrize("depth", [200, 700, 3000, 100_000])
def test_what_is_nested_deeply_is_no_failure_of_the_server(tmp_path, depth):
    with episode(tmp_path / "r"):
        pass
    events = tmp_path / "r" / "events.jsonl"
    count = len(events.read_text().splitlines())
    nested = "[" * depth + "]" * depth
    action = f'{{"tool": "x", "arguments": {{"a": {nested}, "b": 1}}}}'
    data = json.dumps(samples.step(0))
    with events.open("a") as file:
        file.write(raw_event(count, "step", data.replace('"ls"', action)))
        file.write(raw_event(count + 1, "step", data.replace('"measured": {}', f'"m": {nested}')))
        file.write(raw_event(count + 2, "result", f'{{"outcome": "x", "value": {nested}}}'))
    with client_of(tmp_path) as client:
        for rest in ("", "/s/0", "/s/1", "/about", "/overview", "?q=tool", "/conversation"):
            assert client.get(f"/run/r/e/record{rest}").status_code in (200, 422), rest
        assert client.get("/runs").status_code == 200


def test_what_is_no_json_in_a_manifest_is_shown(tmp_path):
    odd = {"array": np.arange(3), "bytes": b"<script>", "tuple": (1, 2), "text": "\x1b[2J\u202e"}
    with episode(tmp_path / "r", options=odd, packages={"<b>": "\"'></pre><script>"}):
        pass
    with client_of(tmp_path) as client:
        text = client.get("/run/r/e/record/about").text
    assert "&lt;script&gt;" in text
    assert "<script>" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize(
    "changed",
    [
        {"columns": [{"name": "action"}]},
        {"columns": [{"name": "action", "dtype": "O", "shape": []}]},
        {"columns": [{"name": "action", "dtype": "<f8", "shape": "x"}]},
        {"columns": 3},
        {"wrappers": 3},
        {"wrappers": [3]},
        {"wrappers": [{"name": "TimeLimit", "kwargs": 3}]},
        {"kwargs": {"a" * 300: "b" * 1000}},
        {"id": ["x"]},
        {"autoreset_mode": ["x"]},
        {"unreplayable": {"x": "\x1b"}},
    ],
)
def test_odd_manifests_of_recordings(tmp_path, changed):
    recorded(tmp_path / "r", 3, {"action": np.ones(3)}.items(), **changed)
    with client_of(tmp_path) as client:
        for rest in ("", "/ep/0", "/ep/0/numbers.csv"):
            answer = client.get(f"/record/r{rest}")
            assert answer.status_code in (200, 422)
            assert "\x1b" not in answer.text
        assert client.get("/runs").status_code == 200


def test_odd_numbers_in_addresses(tmp_path):
    record_single("CartPole-v1", tmp_path / "r", episodes=1)
    samples.make_hostile(tmp_path / "e")
    with client_of(tmp_path) as client:
        for number in ("--5", "-", "\u00b2", "\u0663", "1e9", "9" * 400, "\x00"):
            for address, name in (
                ("/record/r", "page"), ("/record/r/ep/0", "t"), ("/record/r/frame/0", "env"),
                ("/compare?a=e&b=e", "page"), ("/run/e/e/record", "step"), ("/runs", "page"),
                ("/run/e/e/record/s/2", "line"), ("/envs", "page"),
                ("/run/e/e/record/conversation", "call"),
            ):  # fmt: skip
                mark = "&" if "?" in address else "?"
                answer = client.get(address + mark + urlencode({name: number}))
                assert answer.status_code in (200, 404, 422), (address, number)


def test_numbers_as_csv_are_no_formulas_and_no_further_rows(tmp_path):
    names = ["action/\"\n=cmd|' /C calc'!A0", "action/=1+1", 'action","=2', "action"]
    columns = [{"name": one, "dtype": "<f8", "shape": []} for one in names]
    recorded(tmp_path / "r", 3, {one: np.ones(3) for one in names}.items(), columns=columns)
    with client_of(tmp_path) as client:
        text = client.get("/record/r/ep/0/numbers.csv").text
    rows = list(csv.reader(io.StringIO(text)))
    assert {len(row) for row in rows} == {5}
    assert len(rows) == len(text.splitlines()) == 2
    assert all(cell[0].isalnum() for row in rows for cell in row)


# What fills memory and time


def test_small_events_that_stand_for_long_prompts(tmp_path, monkeypatch):
    monkeypatch.setattr(conversation, "_MOST_HELD", 50_000)
    with episode(tmp_path / "r") as run:
        samples.add_step(run, 0)
        run.append("ask", {"n": 0, "messages": ["m"] * 1000, "kept": 0, "bodies": {}})
        for _ in range(100):
            run.append("ask", {"n": 0, "messages": [], "kept": 1000, "bodies": {}})
    with client_of(tmp_path) as client:
        for _ in range(2):
            assert client.get("/run/r/e/record/conversation").status_code == 422
        assert client.get("/run/r/e/record").status_code == 200


def test_the_same_large_message_again_and_again_is_read_once(tmp_path, monkeypatch):
    read = []
    real = conversation._stored
    monkeypatch.setattr(
        conversation, "_stored", lambda *given: (read.append(given[1]), real(*given))[1]
    )
    with episode(tmp_path / "r") as run:
        samples.add_step(run, 0)
        run.add_file("conversation/m", json.dumps({"role": "user", "content": "x" * 9}).encode())
        digest = next(one.data["sha256"] for one in reader_of(run).events if one.kind == "file")
        run.append("ask", {"n": 0, "messages": [digest] * 1500, "kept": 0, "bodies": {}})
    with client_of(tmp_path) as client:
        text = client.get("/run/r/e/record/conversation?all=1").text
    assert text.count("xxxxxxxxx") == 1500
    assert read == [digest]


def reader_of(run):
    from ludus.record import read_run

    run.sync()
    return read_run(run.path)


def test_a_hole_behind_a_text_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(output, "_LONGEST_TEXT", 1 << 16)
    with episode(tmp_path / "r") as run:
        run.add_file("outputs/0.txt", b"line\n" * 3000)
        samples.add_step(run, 0, output_file="outputs/0.txt")
    with (tmp_path / "r" / "outputs" / "0.txt").open("r+b") as file:
        file.truncate(1 << 42)
    with client_of(tmp_path) as client:
        for rest in ("/s/0?line=0", "/s/0?line=2990", "/s/0?line=99999999999"):
            assert client.get(f"/run/r/e/record{rest}").status_code == 200


def test_rows_that_take_no_room(tmp_path, monkeypatch):
    recorded(tmp_path / "r", 10_000)
    monkeypatch.setattr(recording, "_MOST_EPISODES", 1000)
    with pytest.raises(RecordError, match="episodes, too many"):
        recording.open_recording(tmp_path / "r")
    monkeypatch.setattr(recording, "_MOST_NUMBERS", 1000)
    with pytest.raises(RecordError, match="rows, too many"):
        recording.open_recording(tmp_path / "r")


def test_lists_hold_little_of_large_steps(tmp_path):
    big, many = "x" * 500_000, [{"path": "p", "status": "added"}] * 20_000
    with episode(tmp_path / "r") as run:
        for n in range(3):
            samples.add_step(run, n, action=f"{n}{big}", thought=big, output=big, changes=many,
                             graded={"score": 0.5, "more": [1] * 50_000})  # fmt: skip
    with client_of(tmp_path) as client:
        found = next(iter(client.app.state.library.all()))
        with open_episode(found) as opened:
            for one in opened.steps(0, 3):
                texts = (one.action, one.thought, one.output, one.tail)
                assert max(map(len, texts)) <= 20_000
                assert one.graded == {"score": 0.5}
                assert len(one.changes) == 1000
            (whole,) = opened.steps(1, 2)
            assert whole.action == f"1{big}"
        text = client.get("/run/r/e/record").text
        assert len(text) < 60_000
        assert "or more characters" in text
        assert "no action differs" in client.get("/compare?a=r&b=r").text.lower()


def test_many_texts_that_are_slow_to_compare(tmp_path, monkeypatch):
    monkeypatch.setattr(changes, "_SECONDS", 0.2)
    # Each match is the first of the rest, so that the rest is looked at again each time.
    texts = ["\n".join(f"s{n % 50}\n{other}{n}" for n in range(600)) for other in "ab"]
    digests = [hashlib.sha256(one.encode()).hexdigest() for one in texts]
    change = {"status": "modified", "before": digests[0], "after": digests[1], "bytes": 9}
    with episode(tmp_path / "r") as run:
        for digest, one in zip(digests, texts, strict=True):
            run.add_file(f"artefacts/{digest}", one.encode())
        samples.add_step(run, 0, changes=[{"path": f"{n}", **change} for n in range(50)])
    with client_of(tmp_path) as client:
        text = client.get("/run/r/e/record/s/0").text
    assert "+a0" not in text
    assert "b0" in text
    assert "take too long to be compared" in text


def test_another_recording_in_the_same_place_is_not_executed(tmp_path):
    record_single("CartPole-v1", tmp_path / "runs" / "r", episodes=1)
    record_single("CartPole-v1", tmp_path / "other", episodes=1)
    with client_of(tmp_path / "runs") as client:
        own = {"origin": "http://127.0.0.1:8760"}
        assert client.post("/record/r/replay", headers=own, follow_redirects=False).is_redirect
        before = opened_record(client)
        replayer = client.app.state.replayer
        assert replayer.is_allowed(before)
        (tmp_path / "runs" / "r").rename(tmp_path / "away")
        (tmp_path / "other").rename(tmp_path / "runs" / "r")
        assert not replayer.is_allowed(opened_record(client))
        assert "Show frames" in client.get("/record/r/ep/0").text
        # Exchanged between the look and the execution.
        with pytest.raises(ReplayFailed, match="has taken its place"):
            replayer.about(before)


def opened_record(client):
    found = client.app.state.library.record("r")
    return record_of(found, recording.open_recording(found.path, within=found.within))


# What leaves the viewer


def test_exported_pages_stay_in_their_folder(tmp_path):
    samples.make_hostile(tmp_path / "runs" / "hostile")
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("hostile", "static"):
        target = tmp_path / f"pages-{name}"
        target.mkdir()
        (target / name).symlink_to(outside)
        with pytest.raises(ViewError, match="symbolic link"):
            export(ViewSettings.of(tmp_path / "runs"), target)
        assert list(outside.iterdir()) == []
    victim = tmp_path / "victim"
    victim.write_text("mine")
    target = tmp_path / "single"
    target.mkdir()
    (target / "hostile.html").symlink_to(victim)
    export(ViewSettings.of(tmp_path / "runs"), target, single=True)
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("single", [False, True])
def test_exported_pages_of_hostile_records_are_texts(tmp_path, single):
    samples.make_hostile(tmp_path / "runs" / "hostile")
    samples.make_hostile(tmp_path / "runs" / 'x"><img src=x onerror=alert(1)>')
    export(ViewSettings.of(tmp_path / "runs"), tmp_path / "pages", single=single)
    pages = list((tmp_path / "pages").rglob("*.html"))
    assert len(pages) > 2
    for page in pages:
        text = page.read_text()
        for tag in re.findall(r"<(?:script|img|svg|a|iframe|form)\b[^>]*>", text):
            assert not re.search(r"\son\w+\s*=", re.sub(r'"[^"]*"', '""', tag)), tag
            assert "javascript:" not in re.sub(r'title="[^"]*"', "", tag), tag
        assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", text))
        assert str(tmp_path) not in text


def test_pages_about_errors_tell_no_paths(tmp_path):
    with episode(tmp_path / "r"):
        pass
    (tmp_path / "r" / "manifest.json").rename(tmp_path / "m")
    (tmp_path / "r" / "bench.json").write_text("{}")
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "manifest.json").write_text("{")
    with client_of(tmp_path, token=TOKEN) as client:
        assert client.get(f"/runs?token={TOKEN}").status_code == 200
        for address in ("/runs", "/run/r", "/run/s", "/board", "/record/s", "/run/s/e/record"):
            text = client.get(address).text
            assert str(tmp_path) not in text
            assert TOKEN not in text


def test_tracebacks_in_the_log_are_texts():
    try:
        raise KeyError("x") from RecordDamaged("\x1b]0;taken\x07\u202e")
    except KeyError:
        made = logging.LogRecord("uvicorn.error", 40, "", 0, "odd \x1b[2J", (), sys.exc_info())
    text = serving._Escaping("%(message)s").format(made)
    assert "taken" in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    handlers = serving._LOGGING["loggers"]["uvicorn"]["handlers"]
    assert handlers == ["terminal"]
