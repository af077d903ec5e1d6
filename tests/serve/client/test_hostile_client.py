"""What a hostile client can do to a server in the binary sub-protocol: get errors, and no more."""

from __future__ import annotations

import os
import socket
import struct
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

import ludus
from ludus.codec import decode, encode
from ludus.serve.binary.frames import PROTOCOL, Op
from tests.serve.client.support import MIB, Running, running, served_class, wait_for


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    counter = served_class("Counter-v0", "ludus.testing.envs:CounterEnv")
    dicts = served_class("Dict-v0", "ludus.testing.envs:DictEnv")
    with running("CartPole-v1", counter, dicts, message_bytes=MIB) as found:
        yield found


@pytest.fixture(autouse=True)
def still_serving(server: Running) -> Iterator[None]:
    """The server still serves others after each test, and keeps no session."""
    yield
    with closing(ludus.connect(server.url, "CartPole-v1", num_envs=2)) as env:
        env.reset(seed=0)
        env.step([0, 1])
    wait_for(lambda: not len(server.service.sessions))


def open_raw(server: Running, **given: Any) -> ClientConnection:
    url = server.url.replace("http", "ws") + "/ws"
    offered = [Subprotocol(PROTOCOL)]
    return connect(url, subprotocols=offered, compression=None, max_size=None, **given)


def ask(client: ClientConnection, *message: Any) -> Any:
    client.send(encode(list(message)))
    return heard(client)


def heard(client: ClientConnection) -> Any:
    answer = client.recv(timeout=20)
    assert isinstance(answer, bytes)
    return decode(answer)


def hello(client: ClientConnection, name: str = "CartPole-v1", **more: Any) -> Any:
    return ask(client, Op.HELLO, 1, {"id": name, **more})


MALFORMED = {
    "nothing": b"",
    "no msgpack": b"\xc1",
    "random": os.urandom(300),
    "an endless list": b"\xdd\xff\xff\xff\xff",
    "an endless array": b"\x93\x02\x02\xc9\xff\xff\xff\xff\x03\x1a\x01\xff\xff\xff\xff",
    "a deep list": b"\x91" * 5000,
    "a number": encode(5),
    "an empty list": encode([]),
    "no number": encode([2]),
    "an unknown operation": encode([77, 1]),
    "a bool as operation": encode([True, 1, 0]),
    "a negative number": encode([2, -1, 0]),
    "a huge number": encode([2, 2**70, 0]),
    "too many fields": encode([2, 2, 0, 0, 0]),
    "too few fields": encode([3, 2, 0]),
    "a wrong field": encode([0, 1, "CartPole-v1"]),
    "a bool as count": encode([5, 2, True]),
    "colliding keys": encode([0, 1, {"kwargs": {}}])[:-1] + b"\xde\x10\x00" + b"\x01\x01" * 4096,
    "a key twice": b"\x93\x00\x01\x82\xa2id\xa1x\xa2id\xa1y",
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_messages_end_the_connection(server: Running, name: str) -> None:
    for opened in (False, True):
        with open_raw(server) as client:
            if opened:
                hello(client)
            client.send(MALFORMED[name])
            kind, number, *_ = heard(client)
            assert (kind, number) == (1, 0)
            with pytest.raises(ConnectionClosed):
                client.recv(timeout=20)
            assert client.protocol.close_code == 1002


def test_a_text_ends_the_connection(server: Running) -> None:
    with open_raw(server) as client:
        client.send('{"type":"reset"}')
        with pytest.raises(ConnectionClosed):
            client.recv(timeout=20)


@pytest.mark.parametrize("op", [op for op in Op if op not in (Op.HELLO, Op.SEND)])
def test_nothing_works_before_hello(server: Running, op: Op) -> None:
    fields: dict[Op, list[Any]] = {
        Op.RESET: [None, None],
        Op.STEP: [0],
        Op.STEPS: [[0], 1],
        Op.RECV: [1],
        Op.SET_STATE: [{}],
        Op.CALL: ["close", []],
        Op.GET_ATTR: ["spec"],
    }
    with open_raw(server) as client:
        kind, _, _, text, _ = ask(client, op, 1, *fields.get(op, []))
        assert kind == 1
        assert "HELLO" in text


HELLOS: list[dict[str, Any]] = [
    {"id": "Counter-v0", "kwargs": {"goal": 3}},
    {"id": "Nothing-v0"},
    {"id": 3},
    {"id": "../../etc/passwd"},
    {"id": "ludus.testing.envs:CounterEnv"},
    {"num_envs": 0},
    {"num_envs": -3},
    {"num_envs": 2**62},
    {"num_envs": 2**31, "pool": True},
    {"num_envs": True},
    {"num_envs": 2.0},
    {"kwargs": {"sandbox": False}},
    {"kwargs": {"entry_point": "os:system"}},
    {"kwargs": {"render_mode": "human"}},
    {"kwargs": {1: 2}},
    {"kwargs": None},
    {"autoreset_mode": "Never"},
    {"pool": 1},
    {"pool": True},
    {"spec": "x"},
]


@pytest.mark.parametrize("wanted", HELLOS, ids=str)
def test_what_is_not_offered_is_refused(server: Running, wanted: dict[str, Any]) -> None:
    with open_raw(server) as client:
        kind, number, *_ = ask(client, Op.HELLO, 1, wanted)
        assert (kind, number) == (1, 1)
        # The connection can still be used, once; what was refused is not remembered.
        kind, _, declared = ask(client, Op.HELLO, 1, {})
        assert (kind, declared["served"]) == (0, "CartPole-v1")
        assert hello(client)[0] == 1


ACTIONS: list[Any] = [
    2,
    -1,
    0.5,
    "0",
    None,
    [],
    {},
    2**70,
    np.zeros(3, np.int64),
    np.zeros((0, 4)),
    np.array(["a"]),
    float("nan"),
    np.float32(1),
]


@pytest.mark.parametrize("name", ["CartPole-v1", "Counter-v0"])
def test_wrong_actions_are_refused_and_nothing_happens(server: Running, name: str) -> None:
    with open_raw(server) as client:
        hello(client, name)
        ask(client, Op.RESET, 2, 5, None)
        for action in ACTIONS:
            kind, _, _, _, raised = ask(client, Op.STEP, 4, action)
            assert (kind, raised) == (1, "InvalidAction"), action
        found = ask(client, Op.STEP, 5, 1)
    with closing(ludus.connect(server.url, name)) as other:
        other.reset(seed=5)
        assert encode(found[2]) == encode(list(other.step(1)))


@pytest.mark.parametrize("name", ["CartPole-v1", "Counter-v0", "Dict-v0"])
def test_wrong_batches_are_refused(server: Running, name: str) -> None:
    wrong: list[Any] = [
        np.zeros(3, np.int64),
        np.zeros((2, 2), np.int64),
        np.full(2, 9),
        np.zeros(2),
        np.array(["a", "b"]),
        [0, 0, 0],
        {"move": np.zeros((3, 2), np.float32), "press": np.zeros((2, 2), np.int64)},
        {"move": np.zeros((2, 2), np.float32)},
        {"move": np.zeros((2, 2), np.float32), "press": np.full((2, 2), 9)},
        None,
    ]
    with open_raw(server) as client:
        hello(client, name, num_envs=2)
        ask(client, Op.RESET, 2, 5, None)
        for actions in wrong:
            assert ask(client, Op.STEP, 3, actions)[0] == 1, actions


def test_huge_counts_are_refused(server: Running) -> None:
    with open_raw(server) as client:
        hello(client)
        ask(client, Op.RESET, 2, 0, None)
        for actions, count in (
            (np.zeros(1, np.int64), 2**62),
            (np.zeros(5000, np.int64), 5000),
            (np.zeros(3, np.int64), 4),
            (np.zeros(3, np.int64), 0),
            (np.zeros(3, np.int64), -1),
            ([0, 1], 3),
            (3, 3),
            (None, 1),
        ):
            kind, _, _, text, _ = ask(client, Op.STEPS, 3, actions, count)
            assert kind == 1, text
        assert ask(client, Op.STEP, 4, 0)[0] == 0


def test_wrong_resets_are_refused(server: Running) -> None:
    with open_raw(server) as client:
        hello(client, num_envs=2)
        for seed, options in (
            (-1, None),
            ([1], None),
            (["a", "b"], None),
            (None, {"reset_mask": np.zeros(2, bool)}),
            (None, {"reset_mask": np.ones(3, bool)}),
            (None, {"reset_mask": [True, True]}),
        ):
            assert ask(client, Op.RESET, 2, seed, options)[0] == 1, (seed, options)
        assert ask(client, Op.RESET, 2, [4, None], None)[0] == 0


def test_hostile_states_are_refused(server: Running) -> None:
    with open_raw(server) as client:
        hello(client)
        ask(client, Op.RESET, 2, 0, None)
        state = ask(client, Op.GET_STATE, 3)[2]
        for bad in (None, [], {}, {"env": "x"}, {**state, "env": {"env": {}}}, "x" * 1000, 2**200):
            kind, _, _, _, raised = ask(client, Op.SET_STATE, 4, bad)
            assert (kind, raised) == (1, "StateError"), bad
        assert ask(client, Op.SET_STATE, 5, state)[0] == 0
        assert ask(client, Op.STEP, 6, 1)[0] == 0


def test_only_what_is_served_can_be_called_or_read(server: Running) -> None:
    names = ("close", "__init__", "_np_random", "unwrapped", "spec", "env", "step", "a" * 10_000)
    with open_raw(server) as client:
        hello(client)
        for name in names:
            assert ask(client, Op.CALL, 2, name, [])[4] == "BadArguments"
            assert ask(client, Op.GET_ATTR, 3, name)[4] == "BadArguments"
        assert ask(client, Op.CALL, 4, "get_action_meanings", [1, 2, 3])[0] == 1


def test_a_pool_in_the_wrong_order(server: Running) -> None:
    with open_raw(server) as client:
        hello(client, "Counter-v0", num_envs=3, pool=True)
        ask(client, Op.RESET, 2, 0, None)
        assert ask(client, Op.RECV, 3, 1)[0] == 1
        assert ask(client, Op.STEPS, 4, np.zeros((1, 3), np.int64), 1)[0] == 1
        client.send(encode([Op.SEND, 5, np.array([0, 1]), np.zeros(2, np.int64)]))
        for op, fields in ((Op.RESET, [None, None]), (Op.GET_STATE, []), (Op.RECV, [3])):
            assert ask(client, op, 6, *fields)[0] == 1
        # To send again what was not received ends the connection, since a SEND has no answer.
        client.send(encode([Op.SEND, 7, np.array([1]), np.zeros(1, np.int64)]))
        kind, number, *_ = heard(client)
        assert (kind, number) == (1, 7)
        with pytest.raises(ConnectionClosed):
            client.recv(timeout=20)


@pytest.mark.parametrize(
    "rows", [np.array([0, 0]), np.array([3]), np.array([-1]), np.array([0.0]), "01", None, [0]]
)
def test_wrong_rows_end_the_connection(server: Running, rows: Any) -> None:
    with open_raw(server) as client:
        hello(client, "Counter-v0", num_envs=3, pool=True)
        ask(client, Op.RESET, 2, 0, None)
        client.send(encode([Op.SEND, 3, rows, np.zeros(1, np.int64)]))
        assert heard(client)[:2] == [1, 3]


def test_too_large_a_message_ends_the_connection(server: Running) -> None:
    with open_raw(server) as client:
        hello(client)
        with suppress(ConnectionClosed):
            client.send(b"x" * (MIB + 1))
        with pytest.raises(ConnectionClosed):
            client.recv(timeout=20)
        assert client.protocol.close_code == 1009


def test_a_decompression_bomb_is_not_inflated(server: Running) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = (packer.compress(bytes(64 * MIB)) + packer.flush(zlib.Z_SYNC_FLUSH))[:-4]
    with closing(shaken(server)) as raw:
        mask = b"\0\0\0\0"
        head = bytes((0xC2, 0xFE)) + struct.pack(">H", len(bomb))
        assert len(bomb) < 65536
        raw.sendall(head + mask + bomb)
        assert closed_with(raw) == 1002


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (b"\x82\x03abc", 1002),  # not masked
        (b"\x82\xff" + struct.pack(">Q", 2**62) + b"\0\0\0\0", 1009),
        (b"\x83\x80\0\0\0\0", 1002),
        (b"\x80\x80\0\0\0\0", 1002),
        (b"\x89\xfe\x00\xff\0\0\0\0" + b"x" * 255, 1002),
    ],
)
def test_malformed_frames(server: Running, frame: bytes, code: int) -> None:
    with closing(shaken(server)) as raw:
        raw.sendall(frame)
        assert closed_with(raw) == code


def test_half_a_frame_holds_up_nobody(server: Running) -> None:
    with closing(shaken(server)) as raw:
        raw.sendall(b"\x82\xfe\x10\x00\0\0\0\0abc")
        with closing(ludus.connect(server.url)) as env:
            env.reset(seed=0)


def test_a_client_that_does_not_read_holds_up_nobody(server: Running) -> None:
    with open_raw(server) as client:
        hello(client, num_envs=256)
        ask(client, Op.RESET, 2, 0, None)
        raw = client.socket
        message = encode([Op.STEPS, 3, np.zeros((16, 256), np.int64), 16])
        size = struct.pack(">H", len(message))
        raw.settimeout(0.5)
        try:
            for _ in range(400):
                raw.sendall(b"\x82\xfe" + size + b"\0\0\0\0" + message)
        except (TimeoutError, OSError):
            pass
        with closing(ludus.connect(server.url)) as env:
            env.reset(seed=0)
            env.step(0)
        raw.close()


def shaken(server: Running) -> socket.socket:
    """Return a socket after the handshake."""
    opened = socket.create_connection((server.settings.host, server.settings.port), timeout=20)
    opened.sendall(
        f"GET /ws HTTP/1.1\r\nHost: {server.settings.host}:{server.settings.port}\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Extensions: permessage-deflate\r\n"
        f"Sec-WebSocket-Protocol: {PROTOCOL}\r\n\r\n".encode()
    )
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += opened.recv(1)
    assert b" 101 " in head
    assert b"permessage-deflate" not in head
    return opened


def closed_with(raw: socket.socket) -> int:
    """Return the code with which the server closes."""
    data = b""
    while more := raw.recv(4096):
        data += more
    assert data[0] == 0x88
    return int(struct.unpack(">H", data[2:4])[0])
