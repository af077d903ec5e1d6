"""One connection to the proxy: read the request, check it, connect, and relay.

The name is resolved once, and the address that was checked is the one that is connected to.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from ludus.sandbox.egress.client_hello import HELLO_LIMIT, NoHello, read_server_name
from ludus.sandbox.egress.hosts import is_address, why_not_public
from ludus.sandbox.egress.journal import EgressEntry
from ludus.sandbox.egress.limits import EgressLimits
from ludus.sandbox.egress.relay import Budget, Flow, relay
from ludus.sandbox.egress.request import HEAD_LIMIT, ProxyRequest, Refused, read_request
from ludus.sandbox.egress.rules import EgressRule

__all__ = ["Exchange", "Resolve", "answer", "resolve_by_host"]

Place = tuple[int, Any]
"""Family and address of a socket."""
Resolve = Callable[[str, int], Sequence[Place]]
"""Returns the addresses of a name or address, and raises ``OSError`` if there are none."""

_CONNECT_TIME = 15.0
_MOST_ADDRESSES = 4
_LAST_TIME = 1.0
_WORDS = {
    400: "Bad Request", 403: "Forbidden", 408: "Request Timeout", 411: "Length Required",
    431: "Request Header Fields Too Large", 502: "Bad Gateway", 503: "Service Unavailable",
}  # fmt: skip


def resolve_by_host(name: str, port: int) -> Sequence[Place]:
    """Ask the host's resolver."""
    found = socket.getaddrinfo(name.strip("[]"), port, type=socket.SOCK_STREAM)
    return [(int(family), place) for family, _, _, _, place in found]


def answer(status: int, reason: str) -> bytes:
    """Return a refusal as an HTTP response."""
    body = f"Ludus egress proxy: {reason}.\n".encode()
    head = f"HTTP/1.1 {status} {_WORDS[status]}\r\nContent-Type: text/plain\r\n"
    return f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


class Exchange:
    """A client's connection and, once that is allowed, the one to the host.

    Args:
        client: the connection; closed by :meth:`run`.
        rules: what is allowed.
        limits: of the connection.
        budget: bytes of the sandbox.
        resolve: finds addresses.
    """

    def __init__(
        self,
        client: socket.socket,
        rules: Sequence[EgressRule],
        limits: EgressLimits,
        budget: Budget,
        resolve: Resolve,
    ) -> None:
        self._client, self._rules, self._limits = client, rules, limits
        self._budget, self._resolve = budget, resolve
        self._guard = threading.Lock()
        self._server: socket.socket | None = None
        self._is_cut_off = False
        self._is_tunnel = False
        self._last: Flow | None = None
        self._address, self._up, self._down = "", 0, 0

    def run(self) -> EgressEntry:
        """Serve the connection to its end, close it, and return what happened."""
        clock, began = time.time(), time.monotonic()
        request, reason = ProxyRequest("", 0, is_tunnel=False), ""
        try:
            self._client.settimeout(self._limits.idle)
            head, rest = self._read_head(began + self._limits.head)
            request = read_request(head)
            reason = self._serve(request, rest, began + self._limits.seconds)
        except Refused as refusal:
            reason, host, port = refusal.reason, refusal.host, refusal.port
            request = request if request.host else ProxyRequest(host, port, is_tunnel=False)
            self._refuse(refusal)
        except OSError:
            reason = "the client has gone"
        finally:
            self._close()
        return EgressEntry(
            host=request.host,
            port=request.port,
            address=self._address,
            passed=self._up > 0,
            reason="the sandbox was closed" if self._is_cut_off else reason,
            up=self._up,
            down=self._down,
            time=clock,
            seconds=time.monotonic() - began,
        )

    def cut_off(self) -> None:
        """End the connection, from another thread."""
        with self._guard:
            self._is_cut_off = self._last is None or not self._last.is_over
            for end in (self._client, self._server):
                if end is not None:
                    with suppress(OSError):
                        end.shutdown(socket.SHUT_RDWR)

    def _serve(self, request: ProxyRequest, rest: bytes, until: float) -> str:
        host, port = request.host, request.port
        if not any(rule.matches(host, port) for rule in self._rules):
            raise Refused(403, "this host and port are not on the allow-list", host, port)
        server = self._connect(host, port)
        if request.is_tunnel:
            self._client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            self._is_tunnel = True
            first = self._read_hello(request, rest, time.monotonic() + self._limits.head)
            most = None
        else:
            body = rest[: request.body]
            first, most = request.head + body, request.body - len(body)
        if not self._budget.take("up", len(first)):
            raise Refused(403, "the limit of bytes up is reached", host, port)
        up = Flow("up", self._client, server, first, most)
        self._last = down = Flow("down", server, self._client)
        try:
            return relay(up, down, self._budget, until, self._limits.idle)
        finally:
            self._up, self._down = up.moved, down.moved

    def _connect(self, host: str, port: int) -> socket.socket:
        """Resolve once, drop what is not public, and connect to one of the addresses left."""
        try:
            places = self._resolve(host, port)
        except (OSError, UnicodeError):
            raise Refused(502, "the host's name cannot be resolved", host, port) from None
        open_ones, why = [], ""
        for family, place in dict.fromkeys(places):
            reason = why_not_public(place[0])
            if reason is None or self._is_named(place[0], port):
                open_ones.append((family, place))
            else:
                why = reason
        if not open_ones:
            raise Refused(403, f"the host's address is not public ({why})", host, port)
        for family, place in open_ones[:_MOST_ADDRESSES]:
            server = socket.socket(family, socket.SOCK_STREAM)
            server.settimeout(_CONNECT_TIME)
            with self._guard:
                self._server = server
                if self._is_cut_off:
                    break
            try:
                server.connect((place[0], port, *place[2:]))
                is_own = server.getsockname()[0] == server.getpeername()[0]
            except OSError:
                server.close()
                continue
            if is_own and not self._is_named(place[0], port):
                raise Refused(403, "the host's address is one of this machine", host, port)
            self._address = str(place[0])
            return server
        raise Refused(502, "the host cannot be reached", host, port)

    def _is_named(self, address: str, port: int) -> bool:
        """Return whether the operator has allowed an address that is not public, literally."""
        named = f"[{address}]" if ":" in address else address
        return any(rule.host == named and rule.port == port for rule in self._rules)

    def _read_head(self, until: float) -> tuple[bytes, bytes]:
        data = b""
        while (end := data.find(b"\r\n\r\n")) < 0:
            if len(data) >= HEAD_LIMIT:
                raise Refused(431, "the request's head is too long")
            data += self._receive(until, HEAD_LIMIT)
        if end + 4 > HEAD_LIMIT:
            raise Refused(431, "the request's head is too long")
        return data[: end + 4], data[end + 4 :]

    def _read_hello(self, request: ProxyRequest, data: bytes, until: float) -> bytes:
        """Return the first bytes of a tunnel: a TLS client's, with the tunnel's host as name."""
        host, port = request.host, request.port
        try:
            while (found := read_server_name(data)) is None:
                if len(data) >= 2 * HELLO_LIMIT:
                    raise NoHello("the TLS client's first message is too long")
                data += self._receive(until, HELLO_LIMIT)
        except NoHello as problem:
            raise Refused(403, str(problem), host, port) from None
        name = found[0]
        if name != (None if is_address(host) else host):
            raise Refused(403, "the TLS server name differs from the tunnel's host", host, port)
        return data

    def _receive(self, until: float, most: int) -> bytes:
        left = until - time.monotonic()
        if left > 0:
            self._client.settimeout(left)
            try:
                if data := self._client.recv(most):
                    return data
            except TimeoutError:
                left = 0.0
        if left <= 0:
            raise Refused(408, "the request took too long")
        raise Refused(400, "the request is cut short")

    def _refuse(self, refusal: Refused) -> None:
        """Answer a refusal; in a tunnel the connection just ends."""
        if self._is_tunnel:
            return
        with suppress(OSError):
            self._client.settimeout(_LAST_TIME)
            self._client.sendall(answer(refusal.status, refusal.reason))
            self._client.shutdown(socket.SHUT_WR)
            # A connection that is closed with data unread is reset, and the answer lost.
            until = time.monotonic() + _LAST_TIME
            while self._client.recv(HEAD_LIMIT) and time.monotonic() < until:
                pass

    def _close(self) -> None:
        with self._guard:
            for end in (self._client, self._server):
                if end is not None:
                    end.close()
