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
    path: str
    secure: bool

    @property
    def url(self) -> str:
        """The URL of the WebSocket."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'wss' if self.secure else 'ws'}://{host}:{self.port}{self.path}"


def parse_url(url: str, *, default_path: str = "/ws") -> Address:
    """Return the address in a URL with http, https, ws or wss, or in ``host:port``.

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
    path = parts.path if parts.path not in ("", "/") else default_path
    query = f"?{parts.query}" if parts.query else ""
    return Address(host, port or (443 if secure else 80), path + query, secure)
