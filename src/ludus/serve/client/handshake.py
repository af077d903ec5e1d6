"""Opening of a WebSocket: the TCP or TLS connection, and the upgrade by the library websockets."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Sequence
from typing import Any

from ludus.errors import ServeError, ServerLost, ServerTimeout
from ludus.serve.client.address import Address
from ludus.terminal_text import excerpt

__all__ = ["checked_token", "open_socket", "upgrade"]

_HEAD_BYTES = 1 << 16
_HINTS = {
    401: " The server wants a token: connect(..., token=...).",
    403: " There is no such path, or the host's name or the origin is not allowed.",
    404: " There is no such path; is it a Ludus or OpenEnv server?",
    429: " There are too many requests; try again later.",
    503: " It is full or closing; try again later.",
}


def open_socket(address: Address, tls: ssl.SSLContext | None, seconds: float) -> socket.socket:
    """Connect to an address.

    Raises:
        ServerLost: Nothing listens there, or its certificate is not accepted.
        ServerTimeout: It takes longer than ``seconds``.
    """
    opened: socket.socket | None = None
    try:
        opened = socket.create_connection((address.host, address.port), timeout=seconds)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if not address.secure:
            return opened
        context = tls or ssl.create_default_context()
        return context.wrap_socket(opened, server_hostname=address.host)
    except TimeoutError:
        problem: Exception = ServerTimeout(
            f"{address.url} did not answer within {seconds:g} seconds."
        )
    except OSError as found:
        problem = ServerLost(
            f"Cannot connect to {address.url}: {found}. Is the server running there? Start one "
            "with: ludus serve ID"
        )
    if opened is not None:
        opened.close()
    raise problem


def upgrade(
    opened: socket.socket,
    address: Address,
    subprotocols: Sequence[str],
    token: str | None,
    deadline: float,
) -> tuple[str | None, bytes]:
    """Make a WebSocket of a connection.

    Returns:
        The sub-protocol that the server chose, and what it sent after the handshake.

    Raises:
        ServerLost: The server refused; the message has its answer.
        ServerTimeout: It did not answer until the deadline of the monotonic clock.
    """
    from websockets.client import ClientProtocol
    from websockets.typing import Subprotocol
    from websockets.uri import parse_uri

    offered = [Subprotocol(name) for name in subprotocols]
    protocol = ClientProtocol(parse_uri(address.url), subprotocols=offered or None)
    request = protocol.connect()
    if token is not None:
        request.headers["Authorization"] = f"Bearer {checked_token(token)}"
    protocol.send_request(request)
    try:
        opened.sendall(b"".join(protocol.data_to_send()))
        head, early = _head(opened, address, deadline)
        protocol.receive_data(head)
        if protocol.handshake_exc is None and protocol.events_received():
            # What follows the head are frames, which the library shall not read.
            return protocol.subprotocol, early
        while early and protocol.handshake_exc is None:
            protocol.receive_data(early)
            early = _read(opened, deadline)
        if protocol.handshake_exc is None:
            protocol.receive_eof()
    except TimeoutError:
        raise ServerTimeout(f"{address.url} did not answer in time.") from None
    except OSError as problem:
        raise ServerLost(f"{address.url} closed the connection: {problem}.") from problem
    raise ServerLost(_refusal(address, protocol.handshake_exc))


def _head(opened: socket.socket, address: Address, deadline: float) -> tuple[bytes, bytes]:
    """Read the head of the answer; return it, and what came after it."""
    data = b""
    while (end := data.find(b"\r\n\r\n")) < 0:
        more = _read(opened, deadline)
        if not more or len(data) > _HEAD_BYTES:
            said = f": it answered {excerpt(data[:60].decode('latin-1'), 100)!r}" if data else ""
            raise ServerLost(f"{address.url} is no WebSocket server{said}.")
        data += more
    return data[: end + 4], data[end + 4 :]


def _read(opened: socket.socket, deadline: float) -> bytes:
    opened.settimeout(max(0.001, deadline - time.monotonic()))
    return opened.recv(1 << 12)


def _refusal(address: Address, problem: Exception | None) -> str:
    response: Any = getattr(problem, "response", None)
    if response is None:
        why = excerpt(str(problem or "it closed the connection"), 200)
        return f"{address.url} is no WebSocket server: {why}."
    body = excerpt((response.body or b"")[:300].decode("utf-8", "replace"), 200)
    told = f": {body}" if body else ""
    status = response.status_code
    return f"{address.url} refused with status {status}{told}.{_HINTS.get(status, '')}"


def checked_token(token: Any) -> str:
    """Return a token that fits a header.

    Raises:
        ServeError: It does not.
    """
    if not isinstance(token, str) or not token.isascii() or not token.isprintable():
        raise ServeError("A token is a text of printable ASCII characters.")
    return token
