"""What a hostile server can do to a client: nothing but end the connection."""

from __future__ import annotations

import struct
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest

import ludus
from ludus.codec import encode
from ludus.errors import Error, ServerLost, ServerTimeout, ServerViolation
from ludus.spaces import Box
from ludus.spaces.serialization import to_dict
from tests.serve.client.hostile import Answer, declaration, framed, hang_up, hostile, told
from tests.serve.client.support import MIB

SEEN = np.zeros(2, np.float32)
GOOD = [SEEN, 0.0, False, False, {}]

HEADS = {
    "silence": b"",
    "no HTTP": b"220 mail ready\r\n\r\n",
    "endless head": b"HTTP/1.1 101 Switching Protocols\r\n" + b"X: y\r\n" * 30_000,
    "wrong accept": b"HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Accept: AAAA\r\n\r\n",
    "redirect": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    "refusal": b"HTTP/1.1 503 Full\r\nContent-Length: 9\r\n\r\n\x1b[31mfull",
    "steering": b"HTTP/1.1 403 \x1b]0;x\x07\r\nContent-Length: 0\r\n\r\n",
}


@pytest.mark.parametrize("name", HEADS)
def test_handshakes(name: str) -> None:
    with hostile(head=HEADS[name]) as server:
        began = time.monotonic()
        with pytest.raises(ServerLost) as caught:
            ludus.connect(server.url, timeout=0.5)
        assert time.monotonic() - began < 10
        assert "\x1b" not in str(caught.value)


DECLARATIONS = {
    "no dict": [],
    "another protocol": declaration(protocol="ludus.binary.v9"),
    "no spec": declaration(spec=None),
    "a spec without id": declaration(spec={}),
    "a space that fills the memory": declaration(
        observation_space=to_dict(Box(0, 1, (2,), np.float32)) | {"shape": [10**9, 10**9]}
    ),
    "a nested bomb": declaration(
        observation_space={"type": "Tuple", "spaces": [{"type": "Tuple", "spaces": []}] * 140_000}
    ),
    "no space": declaration(action_space={"type": "os.system"}),
    "metadata": declaration(metadata={"render_modes": 3}),
    "a batch": declaration(num_envs=4),
    "autoreset": declaration(autoreset="NextStep"),
}


@pytest.mark.parametrize("name", DECLARATIONS)
def test_declarations(name: str) -> None:
    with hostile(DECLARATIONS[name]) as server, pytest.raises(ServerViolation):
        ludus.connect(server.url, timeout=5)


def answer(*values: Any) -> Answer:
    return lambda request: framed(encode(list(values)))


ANSWERS: dict[str, Any] = {
    "not msgpack": framed(b"\xc1\xc1"),
    "nothing": framed(b""),
    "rest after the value": lambda request: framed(encode([0, request[1], GOOD]) + b"\x00"),
    "an earlier number": answer(0, 1, GOOD),
    "a later number": answer(0, 99, GOOD),
    "a number that is none": answer(0, "3", GOOD),
    "no list": framed(encode({"kind": 0})),
    "an unknown kind": lambda request: framed(encode([7, request[1], GOOD])),
    "an error of two parts": lambda request: framed(encode([1, request[1], "a", "b"])),
    "an error of numbers": lambda request: framed(encode([1, request[1], 1, 2, 3])),
    "a huge count": framed(b"\x93\x00\x03\xdd\xff\xff\xff\xff"),
    "a huge array": framed(b"\x93\x00\x03\xc9\xff\xff\xff\xff\x03"),
    "four parts": GOOD[:4],
    "another dtype": [SEEN.astype(np.float64), *GOOD[1:]],
    "another shape": [np.zeros(3, np.float32), *GOOD[1:]],
    "out of bounds": [SEEN + 2, *GOOD[1:]],
    "not a number": [SEEN * np.nan, *GOOD[1:]],
    "a list as observation": [[0.0, 0.0], *GOOD[1:]],
    "an infinite reward": [SEEN, float("inf"), *GOOD[2:]],
    "a reward that is a text": [SEEN, "1", *GOOD[2:]],
    "a flag that is a number": [SEEN, 0.0, 2, *GOOD[3:]],
    "an info that is a list": [*GOOD[:4], []],
    "a masked frame": lambda request: b"\x82\x80abcd",
    "a compressed frame": framed(encode([0, 3, GOOD]), 0xC2),
    "a text": framed(b"[0]", 0x81),
    "an unknown opcode": framed(b"", 0x83),
    "a large ping": framed(b"x" * 200, 0x89),
    "a ping in parts": framed(b"", 0x09),
    "a continuation of nothing": framed(b"x", 0x80),
    "a message inside a message": framed(b"x", 0x02) + framed(b"y", 0x82),
    "a length in a long form": b"\x82\x7e\x00\x05hello",
    "a length above all limits": b"\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff",
    "more than is accepted": b"\x82\x7f" + struct.pack(">Q", 2**40),
    "endless fragments": framed(b"", 0x02) + framed(b"", 0x00) * 70_000,
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers(name: str) -> None:
    reset = [SEEN, {}]
    with hostile(declaration(), reset, ANSWERS[name]) as server:
        env = ludus.connect(server.url, timeout=5)
        env.reset(seed=0)
        with pytest.raises(ServerViolation):
            env.step(0)
        with pytest.raises(ServerLost, match="invalid data"):
            env.step(0)
        hang_up(env)


MANY = [
    2,
    np.zeros((2, 2), np.float32),
    np.zeros(2),
    np.zeros(2, bool),
    np.zeros(2, bool),
    [{}, {}],
]


def changed(place: int, value: Any) -> list[Any]:
    return [*MANY[:place], value, *MANY[place + 1 :]]


STEPS = {
    "more steps than asked for": changed(0, 3),
    "no steps": changed(0, 0),
    "an early end without an end": [
        1,
        MANY[1][:1],
        *[column[:1] for column in MANY[2:5]],
        [{}],
    ],
    "an end in the middle": changed(3, np.array([True, False])),
    "observations of fewer steps": changed(1, np.zeros((1, 2), np.float32)),
    "rewards of another dtype": changed(2, np.zeros(2, np.float32)),
    "infinite rewards": changed(2, np.array([np.inf, -np.inf])),
    "flags that are numbers": changed(4, np.zeros(2, np.int8)),
    "fewer infos": changed(5, [{}]),
    "infos that are none": changed(5, [{}, 3]),
}


@pytest.mark.parametrize("name", STEPS)
def test_many_steps(name: str) -> None:
    with hostile(declaration(), [SEEN, {}], STEPS[name]) as server:
        env = ludus.connect(server.url, timeout=5)
        env.reset(seed=0)
        with pytest.raises(ServerViolation):
            env.step_many([0, 1])
        hang_up(env)


FLAGS = np.zeros(2, bool)
BATCH = [np.zeros((2, 2), np.float32), np.zeros(2), FLAGS, FLAGS, {}]
COLUMN = "\0column"
BATCHES = {
    "observations of another batch": [np.zeros((3, 2), np.float32), *BATCH[1:]],
    "rewards of another batch": [BATCH[0], np.zeros(3), *BATCH[2:]],
    "infos that are a list": [*BATCH[:4], []],
    "infos with numbers as keys": [*BATCH[:4], {1: 2}],
    "a column of another batch": [*BATCH[:4], {"a": (COLUMN, [1]), "_a": FLAGS}],
    "a mask that is none": [*BATCH[:4], {"a": (COLUMN, [1, 2]), "_a": np.zeros(2)}],
    "last observations where nothing ended": [
        *BATCH[:4],
        {"final_obs": (COLUMN, [SEEN, None]), "_final_obs": np.array([True, False])},
    ],
    "last observations outside of the space": [
        *BATCH[:2],
        np.array([True, False]),
        FLAGS,
        {"final_obs": (COLUMN, [SEEN + 9, None]), "_final_obs": np.array([True, False])},
    ],
}


@pytest.mark.parametrize("name", BATCHES)
def test_batches(name: str) -> None:
    opened = declaration(num_envs=2, autoreset="SameStep")
    with hostile(opened, [BATCH[0], {}], BATCHES[name]) as server:
        env = ludus.connect(server.url, num_envs=2, timeout=5)
        env.reset(seed=0)
        with pytest.raises(ServerViolation):
            env.step([0, 0])
        hang_up(env)


def test_an_error_of_a_server_cannot_raise_what_it_likes() -> None:
    names = ("SystemExit", "KeyboardInterrupt", "ServerLost", "__import__", "\x1b[31m" + "x" * 9999)
    for name in names:
        refused = lambda request, name=name: framed(  # noqa: E731
            encode([1, request[1], "CODE", "\x1b[2Jtext" * 2000, name])
        )
        with hostile(declaration(), refused) as server:
            env = ludus.connect(server.url, timeout=5)
            with pytest.raises(Error) as caught:
                env.reset()
            assert type(caught.value) is ludus.errors.ServedEnvError
            assert "\x1b" not in str(caught.value)
            assert len(str(caught.value)) < 6000
            hang_up(env)


def test_a_drip_of_bytes_ends_at_the_deadline() -> None:
    def drip(request: list[Any]) -> bytes:
        return b"\x82\x7e\x40\x00"

    with hostile(declaration(), drip) as server:
        env = ludus.connect(server.url, timeout=0.4)
        began = time.monotonic()
        with pytest.raises(ServerTimeout):
            env.reset()
        assert time.monotonic() - began < 5
        hang_up(env)


def test_a_claimed_size_takes_no_memory() -> None:
    claimed = b"\x82\x7f" + struct.pack(">Q", 120 * MIB) + b"x" * 100
    with hostile(declaration(), claimed) as server:
        env = ludus.connect(server.url, timeout=0.4)
        tracemalloc.start()
        with pytest.raises(ServerTimeout):
            env.reset()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4 * MIB
        hang_up(env)


def test_pings_are_answered_and_fragments_joined() -> None:
    def answered(request: list[Any]) -> bytes:
        whole = encode([0, request[1], [SEEN, {"a": "b" * 300}]])
        parts = [whole[:10], whole[10:200], whole[200:]]
        return (
            framed(b"ping", 0x89)
            + framed(parts[0], 0x02)
            + framed(b"", 0x8A)
            + framed(parts[1], 0x00)
            + framed(b"more", 0x89)
            + framed(parts[2], 0x80)
        )

    with hostile(declaration(), answered, GOOD) as server:
        env = ludus.connect(server.url, timeout=5)
        _, info = env.reset()
        assert info == {"a": "b" * 300}
        assert env.step(0)[1] == 0.0
        hang_up(env)


def test_a_ping_is_answered_while_nobody_calls() -> None:
    pinged = lambda request: told(request[1], [SEEN, {}]) + framed(b"hello", 0x89)  # noqa: E731
    with hostile(declaration(), pinged, GOOD) as server:
        env = ludus.connect(server.url, timeout=5)
        env.reset()
        connection = env._link.connection  # type: ignore[attr-defined]
        sent: list[tuple[bytes, int]] = []
        send = connection.send
        connection.send = lambda message, opcode: (
            sent.append((message, opcode)),
            send(message, opcode),
        )
        until = time.monotonic() + 10
        while not sent and time.monotonic() < until:
            connection.attend()
            time.sleep(0.01)
        assert sent == [(b"hello", 10)]
        connection.send = send
        env.step(0)
        hang_up(env)


def test_a_closed_connection_is_left_alone() -> None:
    with hostile(declaration()) as server:
        env = ludus.connect(server.url, timeout=5)
        connection = env._link.connection  # type: ignore[attr-defined]
        connection._socket.close()
        connection.attend()
        with pytest.raises(ServerLost):
            env.reset()


def test_a_message_that_nobody_asked_for_is_kept_for_the_next_call() -> None:
    early = framed(encode([0, 2, [SEEN, {}]]))
    with hostile(lambda request: told(request[1], declaration()) + early, b"") as server:
        env = ludus.connect(server.url, timeout=5)
        connection = env._link.connection  # type: ignore[attr-defined]
        for _ in range(3):
            connection.attend()
        assert not connection.lost
        env.reset()
        hang_up(env)
