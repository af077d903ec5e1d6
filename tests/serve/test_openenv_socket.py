from __future__ import annotations

import json
import socket as raw
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed

import ludus
from ludus.serve import Limits, Served
from tests.serve.running import Running, running, say

NAMES = ("CartPole-v1", "FrozenLake-v1", "Hopper-v5", "Blackjack-v1")


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running([Served.of(name) for name in NAMES]) as found:
        yield found


def played(name: str, steps: int, seed: int) -> Iterator[tuple[Any, ...]]:
    env = ludus.make(name)
    env.action_space.seed(seed)
    observation, _ = env.reset(seed=seed)
    yield (observation,)
    for _ in range(steps):
        action = env.action_space.sample()
        done = env.step(action)
        yield (action, *done)
        if done[2] or done[3]:
            break
    env.close()


@pytest.mark.parametrize("name", NAMES)
def test_an_episode_is_bit_equal_to_a_local_one(server: Running, name: str) -> None:
    with server.socket(f"/env/{name}/ws") as socket:
        moves = played(name, 60, seed=4)
        told = say(socket, "reset", seed=4)["data"]
        assert (told["reward"], told["done"]) == (None, False)
        np.testing.assert_array_equal(told["observation"]["observation"], next(moves)[0])
        for action, observation, reward, terminated, truncated, _ in moves:
            told = say(socket, "step", action=np.asarray(action).tolist())["data"]
            np.testing.assert_array_equal(told["observation"]["observation"], observation)
            assert told["reward"] == reward
            assert told["metadata"]["terminated"] is terminated
            assert told["metadata"]["truncated"] is truncated
            assert told["done"] is (terminated or truncated)
            assert told["observation"]["metadata"] == told["metadata"]


def test_the_first_name_is_served_at_the_root(server: Running) -> None:
    with server.socket() as socket:
        assert len(say(socket, "reset")["data"]["observation"]["observation"]) == 4


def test_a_state_is_given_and_restored_in_another_session(server: Running) -> None:
    with server.socket() as first, server.socket() as second:
        say(first, "reset", seed=1, episode_id="mine")
        for _ in range(5):
            last = say(first, "step", action=1)
        state = say(first, "state")["data"]
        assert (state["episode_id"], state["step_count"]) == ("mine", 5)
        told = say(second, "reset", injected_state=state["injected_state"])
        assert (
            told["data"]["observation"]["observation"]
            == (last["data"]["observation"]["observation"])
        )
        assert say(second, "state")["data"]["step_count"] == 5
        for action in (0, 1, 1):
            mine, other = (say(one, "step", action=action) for one in (first, second))
            assert mine == other


def test_only_states_of_this_server_are_restored(server: Running) -> None:
    with server.socket() as socket, server.socket("/env/FrozenLake-v1/ws") as other:
        say(socket, "reset", seed=1)
        sealed = say(socket, "state")["data"]["injected_state"]
        forged = sealed[:60] + ("A" if sealed[60] != "A" else "B") + sealed[61:]
        for wrong in (forged, "", "é", 3, [], sealed[:20]):
            told = say(socket, "reset", injected_state=wrong)
            assert told["type"] == "error"
            assert "injected state" in told["data"]["message"]
        assert say(other, "reset", injected_state=sealed)["type"] == "error"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "INVALID_JSON"),
        ("{", "INVALID_JSON"),
        ("[" * 100_000, "INVALID_JSON"),
        ("[]", "VALIDATION_ERROR"),
        ("7" * 5000, "INVALID_JSON"),
        ('{"type":"dance"}', "UNKNOWN_TYPE"),
        ('{"type":["step"]}', "UNKNOWN_TYPE"),
        ("{}", "UNKNOWN_TYPE"),
        ('{"type":"step"}', "VALIDATION_ERROR"),
        ('{"type":"step","data":[]}', "VALIDATION_ERROR"),
        ('{"type":"step","data":{}}', "VALIDATION_ERROR"),
        ('{"type":"step","data":{"action":1,"more":2}}', "VALIDATION_ERROR"),
        ('{"type":"step","data":{"action":1},"more":2}', "VALIDATION_ERROR"),
        ('{"type":"step","data":{"action":2}}', "VALIDATION_ERROR"),
        ('{"type":"step","data":{"action":true}}', "VALIDATION_ERROR"),
        ('{"type":"step","data":{"action":1.5}}', "VALIDATION_ERROR"),
        ('{"type":"step","data":{"action":[[1]]}}', "VALIDATION_ERROR"),
        ('{"type":"step","data":{"action":null}}', "VALIDATION_ERROR"),
        ('{"type":"reset","data":{"seed":-1}}', "VALIDATION_ERROR"),
        ('{"type":"reset","data":{"seed":1.5}}', "VALIDATION_ERROR"),
        ('{"type":"reset","data":{"episode_id":""}}', "VALIDATION_ERROR"),
        ('{"type":"reset","data":{"options":3}}', "VALIDATION_ERROR"),
        ('{"type":"state","data":3}', "VALIDATION_ERROR"),
    ],
)
def test_a_wrong_message_is_told_and_changes_nothing(server: Running, text: str, code: str) -> None:
    with server.socket() as socket:
        say(socket, "reset", seed=1)
        socket.send(text)
        told = json.loads(socket.recv(timeout=20))
        assert told["type"] == "error"
        assert told["data"]["code"] == code
        assert told["data"]["message"]
        assert say(socket, "state")["data"]["step_count"] == 0
        assert say(socket, "step", action=1)["type"] == "observation"


def test_a_step_before_a_reset_is_told(server: Running) -> None:
    with server.socket() as socket:
        told = say(socket, "step", action=1)
        assert told["data"]["code"] == "EXECUTION_ERROR"
        assert "reset" in told["data"]["message"]


def test_unknown_fields_of_a_reset_are_ignored_and_metadata_of_an_action_too(
    server: Running,
) -> None:
    with server.socket() as socket:
        assert say(socket, "reset", seed=1, difficulty="hard")["type"] == "observation"
        told = say(socket, "step", action=1, metadata={"thought": "go"})
        assert told["type"] == "observation"


def test_binary_frames_and_fragments_do_not_break_the_order(server: Running) -> None:
    with server.socket() as socket:
        socket.send(b"\x00\x01")
        assert json.loads(socket.recv())["data"]["code"] == "INVALID_JSON"
        socket.send(json.dumps({"type": "reset", "data": {"seed": 1}}))
        steps = [json.dumps({"type": "step", "data": {"action": n % 2}}) for n in range(15)]
        socket.send(iter([steps[0][:7], steps[0][7:9], steps[0][9:]]))
        state = json.dumps({"type": "state"})
        sent = [steps[n] if n % 3 else state for n in range(1, 15)]
        for text in sent:
            socket.send(text)
        told = [json.loads(socket.recv(timeout=20)) for _ in range(len(sent) + 2)]
        kinds = [one["type"] for one in told]
        assert kinds[:2] == ["observation", "observation"]
        assert kinds[2:] == ["state" if text is state else "observation" for text in sent]
        counts = [one["data"]["step_count"] for one in told if one["type"] == "state"]
        assert counts == [3, 5, 7, 9]


def test_invalid_utf8_closes_the_socket_and_leaves_the_server(server: Running) -> None:
    with server.socket() as socket:
        say(socket, "reset", seed=1)
        socket.send(b"\xff\xfe", text=True)
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=20)
    with server.socket() as socket:
        say(socket, "reset", seed=1)


def handshake(server: Running) -> raw.socket:
    """Return a connection after the handshake, without a WebSocket library."""
    made = raw.create_connection(("127.0.0.1", server.port), 10)
    made.settimeout(10)
    made.sendall(
        b"GET /ws HTTP/1.1\r\nhost: 127.0.0.1\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-version: 13\r\n"
        b"sec-websocket-extensions: permessage-deflate\r\n\r\n"
    )
    answer = made.recv(4096)
    assert answer.startswith(b"HTTP/1.1 101")
    assert b"deflate" not in answer
    return made


def closed_with(made: raw.socket) -> int:
    """Return the code with which the server closes."""
    data = b""
    while part := made.recv(4096):
        data += part
    assert data[0] == 0x88
    return int.from_bytes(data[2:4], "big")


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        # A compressed frame, though compression was not agreed on: a bomb is never unpacked.
        (b"\xc1\x84\0\0\0\0" + b"\xaa\x56\x4a\x01", 1002),
        (b"\x81\x02{}", 1002),  # not masked
        (b"\x83\x80\0\0\0\0", 1002),  # an unknown kind
        (b"\x81\xff" + (1 << 40).to_bytes(8, "big") + b"\0\0\0\0", 1009),  # a terabyte
        (b"\x81\xff" + (1 << 23).to_bytes(8, "big") + b"\0\0\0\0", 1009),
        (b"\x09\x80\0\0\0\0", 1002),  # a ping in parts
    ],
)
def test_frames_that_break_the_protocol_close_the_socket(
    server: Running, frame: bytes, code: int
) -> None:
    with handshake(server) as made:
        made.sendall(frame)
        assert closed_with(made) == code
    with server.socket() as socket:
        assert say(socket, "reset")["type"] == "observation"


def test_a_client_that_does_not_read_takes_no_memory(server: Running) -> None:
    with handshake(server) as made:
        text = b'{"type":"nothing of this kind, told at length"}'
        frame = b"\x81" + bytes([0x80 | len(text)]) + b"\0\0\0\0" + text
        made.setblocking(False)
        sent = 0
        try:
            for _ in range(400):
                sent += made.send(frame * 1000)
        except BlockingIOError:
            pass
        # The server has stopped to read, so that the system's buffers have filled up.
        assert sent < 400_000 * len(frame)
        with server.socket() as socket:
            assert say(socket, "reset")["type"] == "observation"


def test_close_ends_the_session_without_an_answer(server: Running) -> None:
    before = server.service.sessions.closed["disconnected"]
    with server.socket() as socket:
        say(socket, "reset")
        socket.send('{"type":"close"}')
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=20)
    for _ in range(100):
        if server.service.sessions.closed["disconnected"] > before:
            return
        time.sleep(0.02)
    pytest.fail("the session was not closed")


def test_sessions_beyond_the_limit_are_refused_and_idle_ones_are_told() -> None:
    limits = Limits(sessions=1, idle_seconds=0.4)
    with running([Served.of("CartPole-v1")], limits=limits) as server:
        with server.socket() as first:
            say(first, "reset")
            with server.socket() as second:
                told = json.loads(second.recv(timeout=20))["data"]
                assert told["code"] == "CAPACITY_REACHED"
                assert (told["active_sessions"], told["max_sessions"]) == (1, 1)
                with pytest.raises(ConnectionClosed):
                    second.recv(timeout=20)
            told = json.loads(first.recv(timeout=20))["data"]
            assert (told["code"], told["why"]) == ("SESSION_ERROR", "idle")
            with pytest.raises(ConnectionClosed):
                first.recv(timeout=20)
        with server.socket() as third:
            assert say(third, "reset")["type"] == "observation"


def test_a_socket_takes_over_a_session_of_http(server: Running) -> None:
    status, _, headers = server.ask("POST", "/reset", {"seed": 3})
    assert status == 200
    session = headers["x-session-id"]
    with server.socket(f"/ws?session_id={session}") as socket:
        assert say(socket, "step", action=1)["type"] == "observation"
        with server.socket(f"/ws?session_id={session}") as second:
            assert json.loads(second.recv(timeout=20))["data"]["code"] == "SESSION_ERROR"
    with server.socket(f"/ws?session_id={'0' * 32}") as socket:
        assert json.loads(socket.recv(timeout=20))["data"]["code"] == "SESSION_ERROR"
    named = {"x-session-id": session}
    status, told, _ = server.ask("GET", "/state", None, named)
    assert (status, told["step_count"]) == (200, 1)
    assert server.ask("POST", "/close", {}, named)[0] == 200
    assert server.ask("GET", "/state", None, named)[0] == 404
