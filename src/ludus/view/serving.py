"""Runs the server."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from ludus.errors import ViewError
from ludus.optional import missing
from ludus.terminal_text import escaped
from ludus.view.app import create_app
from ludus.view.settings import ViewSettings

try:
    import uvicorn
    from uvicorn.protocols.http.auto import AutoHTTPProtocol
except ModuleNotFoundError as problem:
    raise missing("uvicorn", extra="view", purpose="The viewer") from problem

__all__ = ["address", "listen", "make_server", "serve"]

_MOST_CONNECTIONS = 1000
_MESSAGE_BYTES = 1 << 16
FIRST_REQUEST_SECONDS = 30.0
_LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"escaping": {"()": "ludus.view.serving._Escaping", "fmt": "%(message)s"}},
    "handlers": {"terminal": {"class": "logging.StreamHandler", "formatter": "escaping"}},
    "loggers": {"uvicorn": {"handlers": ["terminal"], "level": "WARNING", "propagate": False}},
}


def serve(
    settings: ViewSettings, *, on_start: Callable[[str], None] | None = None, page: str = "/"
) -> None:
    """Serve the viewer until it is interrupted.

    Args:
        settings: What it shows, and where it listens.
        on_start: Is called with the address, token included, once requests are accepted.
        page: Of which ``on_start`` gets the address.

    Raises:
        ViewError: The address is taken, or cannot be listened on.
    """
    with closing(listen(settings)) as listening:
        settings = replace(settings, port=listening.getsockname()[1])
        server = make_server(settings)
        if on_start is not None:
            # The socket listens already: whoever connects now waits for the server.
            on_start(address(settings, page))
        server.run(sockets=[listening])


def make_server(settings: ViewSettings) -> uvicorn.Server:
    """Return a server that does not run yet."""
    server = _Server(
        uvicorn.Config(
            create_app(settings),
            log_level="warning",
            log_config=_LOGGING,
            http=_Impatient,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            limit_concurrency=_MOST_CONNECTIONS,
            ws="auto",
            ws_max_size=_MESSAGE_BYTES,
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=1,
            lifespan="on",
        )
    )
    logging.getLogger("uvicorn.error").addFilter(_is_news)
    return server


def _is_news(record: logging.LogRecord) -> bool:
    """Whether the terminal is told: not that requests were cancelled when the server stopped."""
    problem = record.exc_info[1] if record.exc_info else None
    is_cancelled = isinstance(problem, asyncio.CancelledError)
    return not is_cancelled and not str(record.msg).startswith("Cancel %s running task")


class _Impatient(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """Closes connections that send no whole request: they would keep others out."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        asyncio.get_running_loop().call_later(FIRST_REQUEST_SECONDS, self._give_up, transport)

    def _give_up(self, transport: asyncio.Transport) -> None:
        if self.cycle is None and transport.get_protocol() is self:
            transport.close()


class _Escaping(logging.Formatter):
    """Tracebacks may quote what a record says."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line with control characters written out."""
        return escaped(super().format(record))


class _Server(uvicorn.Server):
    """A server that ends at Ctrl-C without raising it again."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop serving at the signals that end a program."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def address(settings: ViewSettings, path: str = "/") -> str:
    """Return what to open in a browser."""
    host = "127.0.0.1" if settings.host in ("", "0.0.0.0", "::") else settings.host  # noqa: S104
    shown = f"[{host}]" if ":" in host else host
    mark = "&" if "?" in path else "?"
    token = "" if settings.token is None else f"{mark}token={settings.token}"
    return f"http://{shown}:{settings.port}{path}{token}"


def listen(settings: ViewSettings) -> socket.socket:
    """Return the socket that the server listens on.

    Raises:
        ViewError: The address is taken, or cannot be listened on.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((settings.host, settings.port))
        made.listen(128)
    except OSError as problem:
        made.close()
        raise ViewError(
            f"The viewer cannot listen on {settings.host}:{settings.port}: "
            f"{problem.strerror or problem}. Choose another port with --port; 0 takes a free one."
        ) from problem
    return made
