"""The command, and the viewer beside a run."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
import urllib.request
from urllib.parse import urlsplit

import pytest

from ludus.view.beside import ViewerBeside
from ludus.view.opening import default_sources, open_browser


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "ludus", "view", *arguments]


def test_it_serves_until_it_is_interrupted(site):
    process = subprocess.Popen(
        command(str(site.folder / "first"), "--port", "0", "--no-open"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        address = process.stdout.readline().split()[4]
        with urllib.request.urlopen(address, timeout=20) as answer:
            assert answer.url == f"{address}run/first"
            assert b"Scores by task and agent" in answer.read()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert (process.returncode, errors) == (0, "")
    finally:
        process.kill()
        process.wait()


def test_it_stops_silently_while_pages_wait(site):
    process = subprocess.Popen(
        command(str(site.folder / "first"), "--port", "0", "--no-open"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        port = urlsplit(process.stdout.readline().split()[4]).port
        waiting = []
        for path in ("/live", "/envs/Ant-v5/picture", "/envs/Taxi-v4/picture"):
            waiting.append(http.client.HTTPConnection("127.0.0.1", port, timeout=20))
            waiting[-1].request("GET", path)
        stream = waiting[0].getresponse()
        assert stream.readline() == b": hello\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert (process.returncode, errors) == (0, "")
        for connection in waiting:
            connection.close()
    finally:
        process.kill()
        process.wait()


def test_an_export_that_lacks_something_fails(tmp_path):
    (tmp_path / "bad.json").write_text("{")
    done = subprocess.run(
        command("bad.json", "--export", "pages"), capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: bad.json: ")
    assert (tmp_path / "pages").is_dir()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("no-such-folder",), "is no folder"),
        ((".", "--host", "0.0.0.0"), "--token"),
        ((".", "--token", "short"), "at least 16"),
        ((".", "--single"), "--single needs --export"),
    ],
)
def test_wrong_usage(arguments, told, tmp_path):
    done = subprocess.run(command(*arguments), capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert told in " ".join(done.stderr.split())


def test_a_viewer_beside_a_run(tmp_path):
    lines: list[str] = []
    with ViewerBeside(tmp_path / "run", lines.append) as viewer:
        (line,) = lines
        with urllib.request.urlopen(line.split()[4], timeout=20) as answer:
            assert b"There are no runs here yet" in answer.read()
        viewer.wait()  # nobody is at the terminal
        process = viewer._process
    assert process.returncode is not None


def test_what_is_shown_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert default_sources() == ["."]
    (tmp_path / "runs").mkdir()
    assert default_sources() == ["runs"]


def test_browsers_are_opened_only_for_people(monkeypatch):
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: bool(opened.append(address) or True))
    monkeypatch.setenv("DISPLAY", ":0")
    assert not open_browser("a", wanted=None)  # the output is no terminal
    assert not open_browser("b", wanted=False)
    assert open_browser("c", wanted=True)
    assert opened == ["c"]
