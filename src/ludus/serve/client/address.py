"""Addresses of servers."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from ludus.errors import ServeError

__all__ = ["Address", "parse_url"]

_SCHEMES = {"http": False, "ws": False, "https": True, "wss": True}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is: the parts of a URL."""

    host: str
    port: int
    base: str
    """Path of the server, without a slash at its end; usually empty."""
    query: str
    secure: bool

    @property
    def url(self) -> str:
        """The URL of the WebSocket."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        query = f"?{self.query}" if self.query else ""
        return f"{'wss' if self.secure else 'ws'}://{host}:{self.port}{self.base}/ws{query}"


def parse_url(url: str) -> Address:
    """Return the address in a URL with http, https, ws or wss, or in ``host:port``.

    As of OpenEnv's clients, the path is that of the server, and ``/ws`` below it the WebSocket's.

    Raises:
        ServeError: It is no such URL.
    """
    if not isinstance(url, str):
        raise ServeError(f"The URL of a server is a text, got {type(url).__name__}.")
    parts = urlsplit(url if "://" in url else f"ws://{url}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if parts.scheme not in _SCHEMES or not host or not url.isprintable() or " " in url:
        raise ServeError(
            f"{url!r:.200} is no URL of a server; expected something like 'http://127.0.0.1:8000', "
            "with http, https, ws or wss."
        )
    if parts.username is not None or parts.password is not None:
        raise ServeError("A URL with a user's name is not supported; pass token= instead.")
    secure = _SCHEMES[parts.scheme]
    base = parts.path.rstrip("/").removesuffix("/ws")
    return Address(host, port or (443 if secure else 80), base, parts.query, secure)
