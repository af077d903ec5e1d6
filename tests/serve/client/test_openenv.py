"""ludus.connect to servers of OpenEnv's protocol: Ludus's own, and hostile ones."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from websockets.sync.server import ServerConnection, serve

import ludus
from ludus.errors import (
    CapacityReached,
    InvalidAction,
    ResetNeeded,
    ServedEnvError,
    ServeError,
    ServerLost,
    ServerTimeout,
    ServerViolation,
    StateError,
    UnknownName,
)
from ludus.serve import Limits
from ludus.serve.client.address import Address
from ludus.serve.client.openenv_env import OpenEnvEnv
from ludus.serve.client.openenv_opening import Asking
from ludus.serve.client.transport import Connection
from ludus.testing import EnvConformance
from tests.serve.client.support import Running, running, served_class


@pytest.fixture(autouse=True)
def json_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client offers a sub-protocol that no server knows."""
    monkeypatch.setattr("ludus.serve.client.connect.PROTOCOL", "none.such")


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running("CartPole-v1", served_class("Dict-v0", "ludus.testing.envs:DictEnv")) as found:
        yield found


class TestConformance(EnvConformance):
    seeds = (1, 2)
    steps = 20

    @pytest.fixture(autouse=True)
    def _with_server(self, server: Running) -> None:
        self.server = server

    def make(self, **kwargs: Any) -> Any:
        return ludus.connect(f"{self.server.url}/env/CartPole-v1", **kwargs)


def test_an_episode_is_that_of_the_local_environment(server: Running) -> None:
    near = ludus.make("CartPole-v1")
    with closing(ludus.connect(server.url)) as far, closing(near):
        with pytest.raises(ResetNeeded):
            far.step({})
        seen, _ = far.reset(seed=3)
        here, _ = near.reset(seed=3)
        action = far.action_space.sample()
        name, place = next(iter(action)), next(iter(seen))
        assert seen[place] == pytest.approx(here.tolist(), rel=1e-6)
        for number in range(200):
            seen, reward, terminated, truncated, info = far.step({name: number % 2})
            expected = near.step(number % 2)
            assert seen[place] == pytest.approx(expected[0].tolist(), rel=1e-6)
            assert (reward, terminated, truncated) == expected[1:4]
            assert info["terminated"] is terminated
            if terminated:
                break
        assert far.server_state()["step_count"] == number + 1  # type: ignore[attr-defined]
        with pytest.raises(StateError):
            far.get_state()
        for bad in (None, 1, {}, {name: 7}, {name: "left"}, {name: True}, {name: float("nan")}):
            with pytest.raises(InvalidAction):
                far.step(bad)
        with pytest.raises(ServeError, match="JSON"):
            far.reset(options={"mask": object()})
        far.reconnect()  # type: ignore[attr-defined]
        with pytest.raises(ResetNeeded):
            far.step({name: 0})
        far.reset(seed=0)


def test_nested_spaces(server: Running) -> None:
    with closing(ludus.connect(f"{server.url}/env/Dict-v0")) as env:
        env.action_space.seed(0)
        seen, _ = env.reset(seed=1)
        assert seen in env.observation_space
        for _ in range(5):
            seen = env.step(env.action_space.sample())[0]
            assert seen in env.observation_space


def test_what_openenv_has_no_message_for(server: Running) -> None:
    for given in ({"num_envs": 3}, {"render_mode": "ansi"}, {"num_envs": 2, "pool": True}):
        with pytest.raises(ServeError, match="OpenEnv"):
            ludus.connect(server.url, **given)  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="has one environment"):
        ludus.connect(server.url, "Pong-v5")


def test_a_full_server_says_so() -> None:
    with (
        running("CartPole-v1", limits=Limits(sessions=1)) as server,
        closing(ludus.connect(server.url)) as env,
    ):
        env.reset()
        with closing(ludus.connect(server.url)) as other, pytest.raises(CapacityReached):
            other.reset()


# --- hostile servers --------------------------------------------------------------------------

SCHEMAS = {
    "action": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    "observation": {"type": "object", "properties": {"b": {"type": "number", "maximum": 1}}},
}
GOOD = {"type": "observation", "data": {"observation": {"b": 0.5}, "reward": 1, "done": False}}


def told(**changed: Any) -> dict[str, Any]:
    return {**GOOD, "data": {**GOOD["data"], **changed}}  # type: ignore[dict-item]


@contextmanager
def answering(answer: str | bytes) -> Iterator[OpenEnvEnv]:
    """Yield an environment on a server that answers a reset well, and each step like this."""

    def handle(connection: ServerConnection) -> None:
        for message in connection:
            request = json.loads(message)
            if request["type"] == "close":
                return
            connection.send(json.dumps(GOOD) if request["type"] == "reset" else answer)

    with serve(handle, "127.0.0.1", 0, compression=None) as running_one:
        port = running_one.socket.getsockname()[1]
        thread = threading.Thread(target=running_one.serve_forever, daemon=True)
        thread.start()
        spec = ludus.EnvSpec("openenv/Hostile")
        address = Address("127.0.0.1", port, "", "", False)
        env = OpenEnvEnv(lambda: Connection(address, timeout=5), SCHEMAS, spec)
        try:
            yield env
        finally:
            env.close()
            running_one.shutdown()
            thread.join(10)


ANSWERS: dict[str, str | bytes] = {
    "no JSON": "{",
    "bytes": b"{}",
    "a list": "[]",
    "no data": '{"type": "observation"}',
    "another type": '{"type": "state", "data": {}}',
    "a deep list": "[" * 100_000,
    "a long number": '{"type":"observation","data":{"reward":' + "9" * 5000 + "}}",
    "an infinite reward": json.dumps(told(reward=float("inf"))),
    "a reward that is a text": json.dumps(told(reward="1")),
    "a flag that is a text": json.dumps(told(done="no")),
    "an observation that is a list": json.dumps(told(observation=[])),
    "an observation outside of the schema": json.dumps(told(observation={"b": 2})),
    "metadata that is a list": json.dumps(told(metadata=[1])),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_hostile_answers(name: str) -> None:
    with answering(ANSWERS[name]) as env:
        env.reset()
        with pytest.raises(ServerViolation):
            env.step({"a": 1})


def test_errors_are_told_without_steering_the_terminal() -> None:
    told = {"code": "EXECUTION_ERROR\x1b[2J", "message": "\x1b]0;x\x07" + "y" * 9999}
    with answering(json.dumps({"type": "error", "data": told})) as env:
        env.reset()
        with pytest.raises(ServedEnvError) as caught:
            env.step({"a": 1})
        assert "\x1b" not in str(caught.value)
        assert len(str(caught.value)) < 3000


def test_rewards_and_flags_as_the_protocol_allows() -> None:
    for changed, expected in (
        ({"reward": None}, (0.0, False, False)),
        ({"reward": True, "done": True}, (1.0, True, False)),
        ({"done": True, "metadata": {"terminated": False, "truncated": True}}, (1.0, False, True)),
    ):
        with answering(json.dumps(told(**changed))) as env:
            env.reset(seed=1, options={"level": 3})
            assert env.step({"a": 1})[1:4] == expected


class _Web(BaseHTTPRequestHandler):
    bodies: dict[str, bytes] = {}

    def do_GET(self) -> None:
        body = self.bodies.get(self.path, b"")
        self.send_response(200 if body else 404)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", ServerLost),
        (b"[]", ServerLost),
        (b"no", ServerLost),
        (b"[" * 100_000, ServerLost),
        (b" " * (5 << 20) + b"{}", ServerLost),
    ],
)
def test_hostile_pages(body: bytes, kind: type[Exception]) -> None:
    handler = type("Web", (_Web,), {"bodies": {"/schema": body}})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as web:
        thread = threading.Thread(target=web.serve_forever, daemon=True)
        thread.start()
        asking = Asking(Address("127.0.0.1", web.server_port, "", "", False), None, 5.0, None)
        with pytest.raises(kind, match="/schema"):
            asking.get("/schema")
        web.shutdown()
        thread.join(10)


def test_a_page_that_never_comes() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        asking = Asking(Address("127.0.0.1", port, "", "", False), None, 0.2, None)
        with pytest.raises(ServerTimeout):
            asking.get("/schema")
