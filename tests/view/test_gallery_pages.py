from __future__ import annotations

import json
import os
import re
import time
from html import unescape

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

import ludus
from ludus.registration import search
from ludus.view.model.gallery import list_envs, versions
from tests.view import odd_envs
from tests.view.served import serving
from tests.view.test_replayer import ROOT, ended

UNTRUSTED = "ViewOdd/Untrusted-v0"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = ROOT
    try:
        with odd_envs.registered(), serving(tmp_path_factory.mktemp("empty")) as made:
            yield made
    finally:
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before


def ids_on(page):
    return [unescape(one) for one in re.findall(r'<h2><a href="[^"]*">([^<]*)</a>', page)]


def test_every_registered_id_is_in_the_gallery(client):
    first = client.get("/envs?latest=0").text
    pages = int(re.search(r"Page 1 of (\d+)", first)[1])
    found = ids_on(first)
    for number in range(2, pages + 1):
        found += ids_on(client.get(f"/envs?latest=0&page={number}").text)
    assert sorted(found) == [spec.id for spec in search()]


def test_the_gallery_begins_with_latest_versions_of_the_first_families(client):
    shown = ids_on(client.get("/envs").text)
    assert shown[:3] == ["Acrobot-v1", "CartPole-v1", "MountainCar-v0"]
    assert "CartPole-v0" not in shown
    # An old version is found by its id.
    assert ids_on(client.get("/envs?q=cartpole-v0").text) == ["CartPole-v0", "phys2d/CartPole-v0"]


def test_search_and_filters():
    assert [spec.id for spec in list_envs("pendulum torque").specs] == ["Pendulum-v1"]
    everything = list_envs()
    assert sum(facet.count for facet in everything.families) == everything.total
    some = list_envs(family="board", tag="action-mask").specs
    assert some
    assert all("action-mask" in spec.tags and spec.family == "board" for spec in some)
    latest = [spec.id for spec in list_envs(family="classic_control", latest=True).specs]
    assert "CartPole-v1" in latest
    assert "CartPole-v0" not in latest
    assert list_envs(family="none of these").specs == []
    assert [one.id for one in versions(ludus.spec("CartPole-v0"))] == ["CartPole-v1", "CartPole-v0"]


def test_the_page_of_an_environment_tells_what_it_declares(client):
    page = client.get("/envs/CartPole-v1").text
    for text in ("not proved", "475", "500 steps", "builtin", "CartPole-v0", "Play in the browser"):
        assert text in page
    inside = client.get("/envs/CartPole-v1/inside").text
    assert "Discrete(2)" in inside
    assert "sutton_barto_reward" in inside
    assert client.get("/envs/phys2d/CartPole-v1").status == 200
    for unknown in ("None-v0", "os:system", "CartPole-v1:x", "../../etc/passwd"):
        assert client.get(f"/envs/{unknown}").status == 404


def test_pictures_are_images_or_drawn_text(client):
    assert client.get("/envs/CartPole-v1/picture").content.startswith(b"\x89PNG")
    text = client.get("/envs/Copy-v0/picture")
    assert text.headers["content-type"].startswith("image/svg+xml")
    assert "Output Tape" in text.text
    assert "No picture" in client.get("/envs/mlgym/digits-v0/picture").text


def test_code_that_is_not_ludus_runs_only_after_it_was_asked_for(client):
    assert "Make it" in client.get("/envs/ViewOdd/Drift-v0").text
    assert "No picture" in client.get("/envs/ViewOdd/Drift-v0/picture").text
    assert client.post("/envs/ViewOdd/Drift-v0/allow", origin="http://evil.test").status == 403
    assert "No picture" in client.get("/envs/ViewOdd/Drift-v0/picture").text
    assert client.post("/envs/ViewOdd/Drift-v0/allow").status == 303
    assert client.get("/envs/ViewOdd/Drift-v0/picture").content.startswith(b"\x89PNG")


def test_an_untrusted_environment_is_made_in_a_sandbox_only(client):
    with pytest.raises(ConnectionClosed):
        open_game(client, UNTRUSTED).recv(timeout=30)
    client.post(f"/envs/{UNTRUSTED}/allow")
    assert client.get(f"/envs/{UNTRUSTED}/picture").content.startswith(b"\x89PNG")
    assert "sandbox=True" in client.get(f"/envs/{UNTRUSTED}").text
    assert "Sandboxed" in unescape(client.get(f"/envs/{UNTRUSTED}/inside").text)


def open_game(client, env_id, origin=None):
    address = f"ws://127.0.0.1:{client.port}/envs/{env_id}/play/socket"
    return connect(address, origin=origin or client.url, open_timeout=30)


class Game:
    """Plays over the socket."""

    def __init__(self, socket):
        self.socket = socket
        self.first = self.hear()

    def hear(self):
        told = json.loads(self.socket.recv(timeout=60))
        if told.get("binary"):
            told["frame"] = self.socket.recv(timeout=60)
        return told

    def send(self, **data):
        self.socket.send(json.dumps(data))
        return self.hear()


def test_playing_with_keys_typed_and_random_actions(client):
    with open_game(client, "CliffWalking-v1") as socket:
        game = Game(socket)
        assert game.first["frame"].startswith(b"\x89PNG")
        assert {"keys": ["up"], "label": "0"} in game.first["facts"]["buttons"]
        moved = game.send(press=["up"])
        assert (moved["steps"], moved["reward"], moved["action"]) == (1, -1.0, "0")
        assert moved["frame"] != game.first["frame"]
        assert game.send(action=1)["total"] == -2.0
        assert "is no action" in game.send(action={"x": [1]})["error"]
        assert game.send(random=True)["steps"] == 3
        assert game.send(reset=True, seed=3)["steps"] == 0
        # What makes no sense is ignored.
        for nonsense in ("[", "[1]", '"x"', '{"press": 3}', '{"held": {"a": 1}}'):
            socket.send(nonsense)
        game.hear()  # the press without keys
        assert game.send(action=0)["steps"] == 1


def test_while_a_key_is_held_time_runs(client):
    with open_game(client, "CartPole-v1") as socket:
        game = Game(socket)
        told = game.send(held=["left"])
        while not told["terminated"]:
            assert told["action"] == "0"
            told = game.hear()
        assert told["steps"] == told["total"] > 5
        assert game.send(reset=True)["terminated"] is False


def test_text_environments_are_played_as_escaped_text(client):
    with open_game(client, "Copy-v0") as socket:
        game = Game(socket)
        assert "Output Tape" in game.first["html"]
        assert "\x1b" not in game.first["html"]
        assert game.first["facts"]["buttons"] == []


def test_other_sites_cannot_play_and_neither_can_too_many(client):
    for origin in ("http://evil.test", "null", client.url.replace("127.0.0.1", "localhost")):
        with pytest.raises(InvalidStatus):
            open_game(client, "CartPole-v1", origin=origin)
    games = [Game(open_game(client, "CliffWalking-v1")) for _ in range(4)]
    with pytest.raises(ConnectionClosed) as closed:
        open_game(client, "CliffWalking-v1").recv(timeout=30)
    assert closed.value.rcvd.code == 4429
    for game in games:
        game.socket.close()


def test_a_process_ends_with_its_player_or_its_environment(client):
    client.post("/envs/ViewOdd/Crash-v0/allow")
    with open_game(client, "ViewOdd/Crash-v0") as socket:
        game = Game(socket)
        for _ in range(3):
            game.send(action=0)
        assert "exit code 7" in game.send(action=0)["ended"]
    known = set(children())
    with open_game(client, "CliffWalking-v1") as socket:
        Game(socket)
        (pid,) = set(children()) - known
    assert ended(pid)


def children():
    """Return the processes that this one has started."""
    import psutil

    time.sleep(0.1)
    return [one.pid for one in psutil.Process().children()]
