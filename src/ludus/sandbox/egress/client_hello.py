"""Reads the server name in the first message of a TLS client.

By that name a server that has many sites chooses one, so it must be the host that was allowed.
"""

from __future__ import annotations

from ludus.sandbox.egress.hosts import read_host

__all__ = ["HELLO_LIMIT", "NoHello", "read_server_name"]

HELLO_LIMIT = 32 << 10
"""Bytes of a client's first message."""

_HANDSHAKE, _CLIENT_HELLO, _LARGEST_RECORD = 22, 1, 1 << 14
_SERVER_NAME, _ENCRYPTED_HELLO = 0, 0xFE0D


class NoHello(Exception):
    """The data is not the beginning of a TLS connection that can be checked."""


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, count: int) -> bytes:
        part = self._data[self._at : self._at + count]
        if len(part) < count:
            raise NoHello("a TLS message is cut short")
        self._at += count
        return part

    def vector(self, size: int) -> bytes:
        """Return what follows a length of ``size`` bytes."""
        return self.take(int.from_bytes(self.take(size)))

    @property
    def is_done(self) -> bool:
        return self._at == len(self._data)


def read_server_name(data: bytes) -> tuple[str | None] | None:
    """Return the server name, in a tuple since it may be missing; ``None`` if more data is needed.

    Raises:
        NoHello: it is no TLS client's first message, or one that hides its server name.
    """
    message = _message(data)
    if message is None:
        return None
    hello = _Reader(message)
    hello.take(2 + 32)
    hello.vector(1)
    hello.vector(2)
    hello.vector(1)
    extensions = _Reader(b"" if hello.is_done else hello.vector(2))
    names: list[str] = []
    while not extensions.is_done:
        kind, content = int.from_bytes(extensions.take(2)), extensions.vector(2)
        if kind == _ENCRYPTED_HELLO:
            raise NoHello("the TLS client hides its server name (ECH)")
        if kind == _SERVER_NAME:
            names += _names(content)
    if not hello.is_done or len(names) > 1:
        raise NoHello("the TLS client's first message is malformed")
    return (names[0] if names else None,)


def _message(data: bytes) -> bytes | None:
    """Return the first handshake message, put together from records; ``None`` if it goes on."""
    message, at = b"", 0
    while True:
        head = data[at : at + 5]
        if head[:1] not in (b"", bytes([_HANDSHAKE])) or head[1:2] not in (b"", b"\x03"):
            raise NoHello("the tunnel does not begin with TLS")
        if len(head) < 5:
            return None
        size = int.from_bytes(head[3:5])
        if not 0 < size <= _LARGEST_RECORD:
            raise NoHello("a TLS record is malformed")
        message += data[at + 5 : at + 5 + size]
        at += 5 + size
        if message[:1] not in (b"", bytes([_CLIENT_HELLO])):
            raise NoHello("the tunnel does not begin with a TLS client's first message")
        length = 4 + int.from_bytes(message[1:4]) if len(message) >= 4 else HELLO_LIMIT
        if length > HELLO_LIMIT:
            raise NoHello("the TLS client's first message is too long")
        if len(message) >= length and len(message) >= 4:
            return message[4:length]
        if at > len(data):
            return None


def _names(content: bytes) -> list[str]:
    listed, names = _Reader(_Reader(content).vector(2)), []
    while not listed.is_done:
        kind, name = listed.take(1), listed.vector(2)
        try:
            names.append(read_host(name.decode("ascii")) if kind == b"\0" else "")
        except ValueError:
            raise NoHello("the TLS server name is not spelt in the usual way") from None
    return names
