"""Where a server listens, and whom it answers."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from ludus.errors import ServeError
from ludus.serve.limits import Limits
from ludus.web_guard import SHORTEST_TOKEN, is_loopback

__all__ = ["DEFAULT_PORT", "ServeSettings"]

DEFAULT_PORT = 8000
"""The port of OpenEnv's servers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """Where a server listens, and whom it answers.

    Attributes:
        host: Address to listen on. Without a token it is one of this machine only.
        port: 0 takes a free one.
        token: Secret that clients send as ``Authorization: Bearer TOKEN``.
        names: Host names, besides this machine's, under which the server is reached.
        origins: Sites whose pages may use the server, such as ``https://example.org``.
        certificate: File with a TLS certificate and its chain; ``key`` is then needed.
        key: File with its private key.
        limits: Of sessions.
        message_bytes: Largest message, as the body of a request or over a socket.
        rate: Largest number of requests per second and address, sockets included; ``None`` is no
            limit.
        header_seconds: How long a connection may take to send a request.
        grace_seconds: How long steps under way may take when the server stops.
        out: Folder for the records of research episodes; by default none are kept.

    Raises:
        ServeError: The address can be reached from other machines and there is no token, or a value
            is invalid.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    token: str | None = field(default=None, repr=False)
    names: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    limits: Limits = field(default_factory=Limits)
    message_bytes: int = 4 << 20
    rate: float | None = None
    header_seconds: float = 20.0
    grace_seconds: float = 10.0
    out: Path | None = None

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.host):
            raise ServeError(
                f"{self.host or 'Every address'} can be reached from other machines, and whoever "
                "reaches the server can use it. Set a token with --token or LUDUS_SERVE_TOKEN, or "
                "listen on 127.0.0.1."
            )
        if self.token is not None and len(self.token) < SHORTEST_TOKEN:
            raise ServeError(
                f"The token has {len(self.token)} characters; at least {SHORTEST_TOKEN} are "
                "needed, so that it cannot be guessed."
            )
        if self.token is not None and not (self.token.isascii() and self.token.isprintable()):
            raise ServeError("The token has characters that no header can hold; use ASCII.")
        if (self.certificate is None) != (self.key is None):
            raise ServeError("TLS needs both a certificate and its key: --tls-cert and --tls-key.")
        for file in (self.certificate, self.key):
            if file is not None and not file.is_file():
                raise ServeError(f"There is no file {file}; expected one in PEM format.")
        for name in ("message_bytes", "rate", "header_seconds", "grace_seconds"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ServeError(f"{name} is {value!r}; expected a positive number.")

    @property
    def url(self) -> str:
        """The address for a client on this machine."""
        host = self.host
        try:
            if host == "" or ipaddress.ip_address(host).is_unspecified:
                host = "127.0.0.1"
        except ValueError:
            pass
        shown = f"[{host}]" if ":" in host else host
        scheme = "http" if self.certificate is None else "https"
        return f"{scheme}://{shown}:{self.port}"
