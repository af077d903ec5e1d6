from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from ludus.serve import Limits, Served
from tests.serve.running import Running, running

TOKEN = "a-token-of-enough-characters"


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    names = ("CartPole-v1", "FrozenLake-v1")
    with running([Served.of(name) for name in names], limits=Limits(sessions=20)) as found:
        yield found


@pytest.fixture(scope="module")
def guarded() -> Iterator[Running]:
    with running(
        [Served.of("CartPole-v1")],
        token=TOKEN,
        names=("gym.example.org",),
        origins=("https://app.example.org",),
        message_bytes=2000,
        header_seconds=0.5,
    ) as found:
        yield found


def test_a_session_is_kept_by_its_id(server: Running) -> None:
    status, first, headers = server.ask("POST", "/reset", {"seed": 3, "episode_id": "e"})
    assert status == 200
    named = {"x-session-id": headers["x-session-id"]}
    for count in range(1, 4):
        status, told, _ = server.ask("POST", "/step", {"action": {"action": 1}}, named)
        assert (status, told["reward"], told["done"]) == (200, 1.0, False)
        assert server.ask("GET", "/state", None, named)[1]["step_count"] == count
    assert told["observation"] != first["observation"]
    assert server.ask("POST", "/reset", {"seed": 3}, named)[1] == first
    assert server.ask("POST", "/close", {}, named)[0] == 200
    status, told, _ = server.ask("POST", "/step", {"action": {"action": 1}}, named)
    assert status == 404
    assert "it was closed" in told["detail"]


def test_what_is_wrong_is_told_with_a_status(server: Running) -> None:
    _, _, headers = server.ask("POST", "/reset", {})
    named = {"x-session-id": headers["x-session-id"]}
    for data in ({"action": {"action": 5}}, {"action": 1}, {}, {"action": {}}, []):
        assert server.ask("POST", "/step", data, named)[0] == 422, data
    assert server.ask("POST", "/step", b"{", named)[0] == 422
    assert server.ask("POST", "/step", {"action": {"action": 1}})[0] == 422
    assert server.ask("POST", "/reset", {"seed": -1})[0] == 422
    assert server.ask("GET", "/reset")[0] == 405
    assert server.ask("GET", "/nothing")[0] == 404
    assert server.ask("POST", "/env/FrozenLake-v1/step", {"action": {"action": 1}}, named)[0] == 404
    assert server.ask("GET", "/state")[1] == {"episode_id": None, "step_count": 0}
    server.ask("POST", "/close", {}, named)


def test_a_reset_that_fails_leaves_no_session(server: Running) -> None:
    before = len(server.service.sessions)
    assert server.ask("POST", "/reset", {"options": {"nonsense": 1}, "seed": "x"})[0] == 422
    assert len(server.service.sessions) == before


def test_capacity_is_told_as_status_503(server: Running) -> None:
    found = [server.ask("POST", "/reset", {}) for _ in range(21)]
    assert [status for status, _, _ in found].count(503) >= 1
    for status, _, headers in found:
        if status == 200:
            server.ask("POST", "/close", {}, {"x-session-id": headers["x-session-id"]})
    assert server.ask("POST", "/reset", {})[0] == 200


def test_the_pages_about_the_server(server: Running) -> None:
    assert server.ask("GET", "/health")[1] == {"status": "healthy"}
    assert server.ask("GET", "/list_environments")[1] == ["CartPole-v1", "FrozenLake-v1"]
    about = server.ask("GET", "/env/FrozenLake-v1/metadata")[1]
    assert about["name"] == "FrozenLake-v1"
    assert about["description"]
    schema = server.ask("GET", "/schema")[1]
    assert schema["action"]["properties"]["action"] == {
        "type": "integer",
        "minimum": 0,
        "maximum": 1,
    }
    assert {"observation", "state", "reset_observation"} <= schema.keys()
    paths = server.ask("GET", "/openapi.json")[1]["paths"]
    assert {"/reset", "/step", "/state"} <= paths.keys()
    status, text, headers = server.ask("GET", "/metrics")
    assert status == 200
    assert headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'ludus_sessions{env="CartPole-v1"}' in text
    assert "ludus_http_responses_total" in text


def test_tasks_are_seeds_and_those_of_splits_differ(server: Running) -> None:
    name = "CartPole-v1"
    splits = [one["name"] for one in server.ask("GET", f"/{name}/splits")[1]]
    assert splits == ["train", "validation", "test"]
    seeds: set[int] = set()
    for split in splits:
        count = server.ask("POST", f"/{name}/num_tasks", {"split": split})[1]["num_tasks"]
        tasks = server.ask("POST", f"/{name}/tasks", {"split": split})[1]["tasks"]
        assert len(tasks) == count
        seeds |= {task["seed"] for task in tasks}
        part = server.ask("POST", f"/{name}/task_range", {"split": split, "start": 2, "stop": 4})
        assert part[1]["tasks"] == tasks[2:4]
        one = server.ask("POST", f"/{name}/task", {"split": split, "index": 7})
        assert one[1]["task"] == tasks[7]
        assert server.ask("POST", "/reset", one[1]["task"])[0] in (200, 503)
    assert len(seeds) == 3 * count
    assert server.ask("POST", f"/{name}/task", {"split": "train", "index": 10**6})[0] == 400
    assert server.ask("POST", f"/{name}/task", {"split": "secret", "index": 0})[0] == 422
    assert server.ask("POST", "/Nothing-v0/task", {"split": "train", "index": 0})[0] == 404


def test_json_rpc_steps_a_session_and_tells_no_reward(server: Running) -> None:
    def call(method: str, **params: object) -> dict[str, object]:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        status, told, _ = server.ask("POST", "/mcp", request)
        assert status == 200
        return told

    tools = call("tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["act"]
    session = call("openenv/session/create")["result"]["session_id"]
    made = call("tools/call", name="act", arguments={"action": 1}, session_id=session)["result"]
    assert made["structuredContent"]["done"] is False
    assert "reward" not in str(made)
    assert call("tools/call", name="act", arguments={"action": 9}, session_id=session)["error"]
    assert call("tools/call", name="reset", arguments={}, session_id=session)["error"]
    assert call("tools/call", name="act", arguments={"action": 1})["error"]
    assert call("dance")["error"]["code"] == -32601
    assert call("openenv/session/close", session_id=session)["result"]["closed"] is True
    assert server.ask("POST", "/mcp", {})[1]["jsonrpc"] == "2.0"
    assert server.ask("POST", "/mcp", b"{")[1]["error"]["code"] == -32700


def test_requests_without_the_token_are_refused_and_counted(guarded: Running) -> None:
    good = {"authorization": f"Bearer {TOKEN}"}
    assert guarded.ask("GET", "/metadata", None, good)[0] == 200
    assert guarded.ask("GET", "/health")[0] == 200
    before = guarded.service.metrics.refused["token"]
    for wrong in ({}, {"authorization": "Bearer no"}, {"authorization": TOKEN}):
        assert guarded.ask("GET", "/metadata", None, wrong)[0] == 401
    assert guarded.service.metrics.refused["token"] == before + 3
    with pytest.raises(Exception, match="401"):
        guarded.socket()
    with guarded.socket(additional_headers=good) as found:
        assert found.ping() is not None


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "gym.example.org"}, 200),
        ({"host": "10.1.2.3:80"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "https://app.example.org"}, 200),
        ({"content-encoding": "gzip"}, 415),
    ],
)
def test_hosts_and_origins(guarded: Running, headers: dict[str, str], status: int) -> None:
    good = {"authorization": f"Bearer {TOKEN}", **headers}
    assert guarded.ask("GET", "/metadata", None, good)[0] == status


def test_large_bodies_are_refused_also_if_their_length_is_not_announced(guarded: Running) -> None:
    good = {"authorization": f"Bearer {TOKEN}"}
    assert guarded.ask("POST", "/reset", b" " * 2001, good)[0] == 413
    with socket.create_connection(("127.0.0.1", guarded.port), 10) as raw:
        raw.settimeout(10)
        head = (
            f"POST /reset HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {TOKEN}\r\n"
            "transfer-encoding: chunked\r\n\r\n"
        )
        raw.sendall(head.encode())
        for _ in range(40):
            raw.sendall(b"64\r\n" + b" " * 100 + b"\r\n")
        raw.sendall(b"0\r\n\r\n")
        assert b" 413 " in raw.recv(4096).partition(b"\r\n")[0]


def test_connections_that_send_nothing_are_closed(guarded: Running) -> None:
    with socket.create_connection(("127.0.0.1", guarded.port), 10) as raw:
        raw.settimeout(10)
        raw.sendall(b"GET / HTTP/1.1\r\nhost: 127")
        began = time.monotonic()
        assert raw.recv(100) == b""
        assert time.monotonic() - began < 5
    assert guarded.ask("GET", "/health")[0] == 200


def test_too_many_requests_of_one_address_are_refused() -> None:
    with running([Served.of("CartPole-v1")], rate=3.0) as server:
        found = [server.ask("GET", "/health")[0] for _ in range(12)]
        assert found[:6] == [200] * 6
        assert found.count(429) >= 4
        time.sleep(0.5)
        assert server.ask("GET", "/health")[0] == 200
