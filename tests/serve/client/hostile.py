"""A server that says what it is told to, in the binary sub-protocol."""

from __future__ import annotations

import base64
import hashlib
import itertools
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import numpy as np

from ludus.codec import decode, encode
from ludus.serve.binary.frames import PROTOCOL
from ludus.spaces import Box, Discrete
from ludus.spaces.serialization import to_dict

Answer = Callable[[list[Any]], Any]
"""From a decoded request to what is sent: bytes as they are, anything else as an answer."""


def declaration(**changed: Any) -> dict[str, Any]:
    return {
        "protocol": PROTOCOL,
        "served": "Mine-v0",
        "kind": "environment",
        "name": "Mine",
        "num_envs": None,
        "observation_space": to_dict(Box(-1.0, 1.0, (2,), np.float32)),
        "action_space": to_dict(Discrete(3)),
        "metadata": {"render_modes": []},
        "render_mode": None,
        "rendering": None,
        "autoreset": None,
        "spec": {
            "id": "Mine-v0",
            "nondeterministic": False,
            "order_enforce": True,
            "disable_env_checker": False,
        },
        **changed,
    }


def framed(content: bytes, first: int = 0x82) -> bytes:
    size = len(content)
    if size < 126:
        return bytes((first, size)) + content
    if size < 65536:
        return bytes((first, 126)) + struct.pack(">H", size) + content
    return bytes((first, 127)) + struct.pack(">Q", size) + content


def told(number: int, value: Any) -> bytes:
    return framed(encode([0, number, value]))


class Hostile:
    """A server that shakes hands and then answers as it is told to."""

    def __init__(self, answers: list[Any], head: bytes | None = None) -> None:
        self._answers, self._head = answers, head
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(20)
        self.port = self._listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            connection, _ = self._listening.accept()
        except OSError:
            return
        with closing(connection):
            connection.settimeout(20)
            with suppress(OSError):
                self._serve(connection)

    def _serve(self, connection: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(4096)
        if self._head is not None:
            connection.sendall(self._head)
            connection.recv(1)
            return
        key = head.lower().split(b"sec-websocket-key: ")[1].split(b"\r\n")[0]
        at = head.lower().index(b"sec-websocket-key: ") + len("sec-websocket-key: ")
        key = head[at : at + len(key)]
        guid = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key + guid).digest())
        connection.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + accept + b"\r\n"
            b"Sec-WebSocket-Protocol: " + PROTOCOL.encode() + b"\r\n\r\n"
        )
        for answer in itertools.chain(self._answers, itertools.repeat(None)):
            request = read_message(connection)
            if request is None:
                return
            if answer is None:
                continue
            made = answer(request) if callable(answer) else answer
            connection.sendall(made if isinstance(made, bytes) else told(request[1], made))

    def close(self) -> None:
        self._listening.close()
        self._thread.join(20)


def read_exactly(connection: socket.socket, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            return None
        data += more
    return data


def read_message(connection: socket.socket) -> list[Any] | None:
    head = read_exactly(connection, 2)
    if head is None or head[0] & 15 == 8:
        return None
    size = head[1] & 127
    if size > 125:
        more = read_exactly(connection, 2 if size == 126 else 8)
        assert more is not None
        size = int.from_bytes(more, "big")
    content = read_exactly(connection, 4 + size)
    if content is None:
        return None
    if head[0] & 15 != 2:
        return read_message(connection)
    mask = content[:4] * (size // 4 + 1)
    request = decode(bytes(a ^ b for a, b in zip(content[4:], mask, strict=False)))
    assert isinstance(request, list)
    return request


@contextmanager
def hostile(*answers: Any, head: bytes | None = None) -> Iterator[Hostile]:
    with closing(Hostile(list(answers), head)) as server:
        yield server


def hang_up(env: Any) -> None:
    """Close without waiting for an answer, which these servers do not give."""
    env._link.connection.close()
