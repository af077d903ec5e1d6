"""Checks of requests that every server of Ludus makes: hosts, origins, secrets, body sizes.

A page of another site can send requests to this machine, and with DNS rebinding it can read the
answers. So the ``Host`` of a request must be an address of this machine or a configured name, and
an ``Origin`` must be the same as the host.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Awaitable, Callable, Collection, MutableMapping, Sequence
from typing import Any

__all__ = [
    "SHORTEST_TOKEN",
    "body_length",
    "is_address",
    "is_loopback",
    "is_own_host",
    "is_same_origin",
    "is_same_secret",
    "limited",
    "without_port",
]

SHORTEST_TOKEN = 16
"""Characters of a token that cannot be guessed."""

_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]


def is_loopback(host: str) -> bool:
    """Whether a host, without its port, is this machine by definition."""
    name = host.lower().strip("[]")
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def is_address(name: str) -> bool:
    """Whether a host name is an IP address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def without_port(host: str) -> str:
    """Return the name in a ``Host`` header, in lower case."""
    if host.startswith("["):
        return host.partition("]")[0].removeprefix("[").lower()
    return host.partition(":")[0].lower().rstrip(".")


def is_own_host(hosts: Sequence[str], names: Collection[str], *, any_address: bool) -> bool:
    """Whether a server answers requests with these ``Host`` headers.

    Args:
        hosts: All such headers of the request; there must be one.
        names: Host names under which the server is reached, besides this machine's.
        any_address: Whether all IP addresses will do. DNS rebinding needs a name, so they may if
            there is a token.
    """
    if len(hosts) != 1:
        return False
    name = without_port(hosts[0])
    return is_loopback(name) or name in names or (any_address and is_address(name))


def is_same_origin(origin: str, scheme: str, host: str | None) -> bool:
    """Whether an ``Origin`` header names the server itself; ``scheme`` may be that of a socket."""
    scheme = {"ws": "http", "wss": "https"}.get(scheme, scheme)
    return origin == f"{scheme}://{host}"


def is_same_secret(shown: str, secret: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(shown.encode("utf-8", "replace"), secret.encode())


def body_length(length: str | None, most: int) -> int:
    """Return the length in a ``Content-Length`` header; more than ``most`` if it is no number."""
    length = "0" if length is None else length
    # int() refuses, slowly, what has thousands of digits.
    fits = length.isascii() and length.isdigit() and len(length) < 20
    return int(length) if fits else most + 1


def limited(receive: _Receive, most: int) -> _Receive:
    """Return a ``receive`` that ends a body which is longer than announced, or than ``most``."""
    total = 0

    async def receive_limited() -> _Message:
        nonlocal total
        message = await receive()
        if message["type"] == "http.request":
            total += len(message.get("body", b""))
            if total > most:
                return {"type": "http.disconnect"}
        return message

    return receive_limited
