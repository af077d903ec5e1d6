"""Servers on the loopback, proxies and clients for the tests of egress."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from ludus.sandbox.egress.limits import EgressLimits
from ludus.sandbox.egress.proxy import EgressProxy
from ludus.sandbox.egress.rules import parse_rules

RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n"


@dataclass
class Server:
    """A server that keeps what it was sent; ``port`` is on 127.0.0.1, and ``address`` another."""

    port: int
    seen: list[bytes] = field(default_factory=list)
    connections: int = 0

    @property
    def text(self) -> bytes:
        return b"".join(self.seen)


@contextmanager
def serving(
    answer: Callable[[socket.socket, Server], None] | None = None, address: str = "127.0.0.1"
) -> Iterator[Server]:
    """Serve connections, one after the other per thread, until the block ends."""
    listener = socket.create_server((address, 0))
    server, ended = Server(listener.getsockname()[1]), threading.Event()

    def serve(client: socket.socket) -> None:
        with client, suppress(OSError):
            client.settimeout(5.0)
            (answer or _say_hello)(client, server)

    def accept() -> None:
        while not ended.is_set():
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server.connections += 1
            threading.Thread(target=serve, args=[client], daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        ended.set()
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5.0)
        listener.close()


def _say_hello(client: socket.socket, server: Server) -> None:
    data = b""
    while b"\r\n\r\n" not in data:
        part = client.recv(65536)
        if not part:
            break
        data += part
    server.seen.append(data)
    if data:
        client.sendall(RESPONSE)
        client.shutdown(socket.SHUT_WR)
        client.settimeout(1.0)
        while more := client.recv(65536):
            server.seen.append(more)


def keep_all(client: socket.socket, server: Server) -> None:
    """Keep what comes, and answer each part with a full stop."""
    while data := client.recv(65536):
        server.seen.append(data)
        client.sendall(b".")


@contextmanager
def proxy(
    rules: Sequence[str],
    names: dict[str, list[str]] | Callable[[str], list[str]] | None = None,
    **limits: float,
) -> Iterator[EgressProxy]:
    """Open a proxy on the loopback, whose resolver knows ``names`` and addresses only."""
    known = names or {}

    def resolve(name: str, port: int) -> list[tuple[int, tuple[str, int]]]:
        found = known(name) if callable(known) else known.get(name)
        if found is None:
            infos = socket.getaddrinfo(
                name.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
            )
            return [(int(info[0]), info[4]) for info in infos]
        families = (socket.AF_INET6 if ":" in one else socket.AF_INET for one in found)
        return [(int(family), (one, port)) for family, one in zip(families, found, strict=True)]

    listener = socket.create_server(("127.0.0.1", 0))
    made = EgressProxy(
        listener,
        parse_rules(rules),
        EgressLimits(**limits),
        resolve=resolve,  # type: ignore[arg-type]
    )
    made.port = listener.getsockname()[1]  # type: ignore[attr-defined]
    try:
        yield made
    finally:
        made.close()


def connected(made: EgressProxy) -> socket.socket:
    """Return a connection to a proxy."""
    return socket.create_connection(("127.0.0.1", made.port), 5.0)  # type: ignore[attr-defined]


def ask(made: EgressProxy, *parts: bytes) -> bytes:
    """Send parts to a proxy and return all it answers."""
    with connected(made) as client:
        for part in parts:
            client.sendall(part)
        return read_all(client)


def read_all(client: socket.socket) -> bytes:
    answer = b""
    with suppress(ConnectionError, TimeoutError):
        while part := client.recv(65536):
            answer += part
    return answer


def status(answer: bytes) -> int:
    """Return the status of an answer; 0 if there is none."""
    words = answer.split(b" ", 2)
    return int(words[1]) if answer.startswith(b"HTTP/1.") else 0


def get(host: str, port: int | None = None, *headers: bytes, path: str = "/") -> bytes:
    """Return a plain request to a proxy."""
    authority = host if port is None else f"{host}:{port}"
    lines = [f"GET http://{authority}{path} HTTP/1.1".encode(), *headers]
    if not any(line.lower().startswith(b"host") for line in headers):
        lines.append(f"Host: {authority}".encode())
    return b"\r\n".join(lines) + b"\r\n\r\n"


def connect(host: str, port: int) -> bytes:
    """Return the request for a tunnel."""
    return f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()


def client_hello(name: str | None) -> bytes:
    """Return the first message of Python's own TLS client."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    inward, outward = ssl.MemoryBIO(), ssl.MemoryBIO()
    made = context.wrap_bio(inward, outward, server_hostname=name)
    with suppress(ssl.SSLWantReadError):
        made.do_handshake()
    return outward.read()
