from __future__ import annotations

import json
import signal
import ssl
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest
import yaml
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from ludus.errors import ServeError
from ludus.serve import Served
from ludus.serve.openenv.manifest import write_manifest
from ludus.serve.settings import ServeSettings
from tests.sandbox.support import needs
from tests.serve.commands import failed, serving
from tests.serve.running import say

TOKEN = "0123456789abcdef"


def test_a_public_address_without_a_token_is_refused() -> None:
    code, text = failed("CartPole-v1", "--host", "0.0.0.0")
    assert code == 2
    assert "--token" in text
    for wrong in (
        {"host": "0.0.0.0"},
        {"host": ""},
        {"host": "::"},
        {"host": "192.168.1.2"},
        {"token": "short"},
        {"token": "é" * 20},
        {"key": Path(__file__)},
        {"certificate": Path("/nothing"), "key": Path("/nothing")},
        {"rate": -1.0},
    ):
        with pytest.raises(ServeError):
            ServeSettings(**wrong)
    assert ServeSettings(host="0.0.0.0", token=TOKEN).url == "http://127.0.0.1:8000"
    assert TOKEN not in repr(ServeSettings(token=TOKEN))


def test_what_cannot_be_served_is_said() -> None:
    code, text = failed("CartPole-v1", "--kwarg", "is_slippery")
    assert code == 2
    assert "NAME=JSON" in text


def test_steps_under_way_are_finished_and_the_end_is_orderly() -> None:
    with serving("CartPole-v1", "--log", "json") as server:
        with connect(f"ws://127.0.0.1:{server.port}/ws") as socket:
            say(socket, "reset", seed=1)
            assert say(socket, "step", action=1)["type"] == "observation"
            server.process.send_signal(signal.SIGTERM)
            with pytest.raises(ConnectionClosed):
                socket.recv(timeout=20)
        assert server.process.wait(30) == 0
        events = [json.loads(line) for line in server.log.read_text().splitlines()]
        assert events[0]["event"] == "server started"
        assert events[-1]["event"] == "server stopped"
        assert events[-1]["steps"] == 1


def test_tls_by_file(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"),
            *("-keyout", str(key), "-out", str(certificate), "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
        ],
        check=True,
        capture_output=True,
    )
    files = ("--tls-cert", str(certificate), "--tls-key", str(key))
    trusting = ssl.create_default_context(cafile=str(certificate))
    with serving("CartPole-v1", *files, LUDUS_SERVE_TOKEN=TOKEN) as server:
        request = urllib.request.Request(f"https://127.0.0.1:{server.port}/metadata")
        request.add_header("Authorization", f"Bearer {TOKEN}")
        with urllib.request.urlopen(request, timeout=20, context=trusting) as answer:
            assert json.load(answer)["name"] == "CartPole-v1"


def test_the_manifest_describes_what_is_served(tmp_path: Path) -> None:
    file = write_manifest(Served.of("CartPole-v1"), tmp_path)
    told = yaml.safe_load(file.read_text())
    assert told["name"] == "cartpole-v1"
    assert told["validation"]["capabilities"]["set_state"] is True
    probe = json.loads((tmp_path / "validation" / "runtime.json").read_text())
    assert probe["actions"]
    assert '"CartPole-v1"' in (tmp_path / "Dockerfile").read_text()


@needs("bubblewrap", root=True)
def test_a_killed_server_is_noticed_and_a_research_episode_goes_on(tmp_path: Path) -> None:
    arguments = ("research/battleOfSexes", "CartPole-v1", "--out", str(tmp_path))
    with serving(*arguments) as server:
        with connect(f"ws://127.0.0.1:{server.port}/ws", open_timeout=60) as socket:
            say(socket, "reset", seed=1, episode_id="mine")
            told = say(socket, "step", action="echo kept > kept.txt")["data"]
            left = told["observation"]["steps_left"]
            server.process.kill()
            began = time.monotonic()
            with pytest.raises(ConnectionClosed):
                socket.recv(timeout=20)
            assert time.monotonic() - began < 1.0
        server.process.wait(20)
    with serving(*arguments) as server:
        url = f"ws://127.0.0.1:{server.port}/ws"
        with connect(url) as socket:
            told = say(socket, "reset", seed=2, episode_id="mine")
            assert told["type"] == "error"
            told = say(socket, "reset", episode_id="mine")["data"]
            assert told["observation"]["steps_left"] == left
            told = say(socket, "step", action="cat kept.txt")["data"]
            assert "kept" in told["observation"]["output"]
            with connect(url) as other:
                told = say(other, "reset", episode_id="mine")
                assert told["type"] == "error"
            done = say(socket, "step", action="submit")["data"]
            assert done["metadata"]["info"]["outcome"] == "scored"
            again = say(socket, "reset", episode_id="mine")
            assert "is over" in again["data"]["message"]
