"""Runs the server."""

from __future__ import annotations

import asyncio
import resource
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace

from ludus.errors import ServeError
from ludus.optional import missing
from ludus.serve.app import create_app
from ludus.serve.logs import log_event
from ludus.serve.served import Served
from ludus.serve.settings import ServeSettings
from ludus.serve.sockets import AnsweringProtocol

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.routing import BaseRoute
    from uvicorn.protocols.http.auto import AutoHTTPProtocol
except ModuleNotFoundError as problem:
    raise missing(problem.name or "uvicorn", extra="serve", purpose="The server") from problem

__all__ = ["listen", "make_server", "serve"]

_BACKLOG = 1024
_PING_SECONDS = 30.0
_CONNECTIONS_PER_SESSION = 2
_SPARE_CONNECTIONS = 200
_OTHER_FILES = 500


def serve(
    served: Sequence[Served],
    settings: ServeSettings | None = None,
    *,
    on_start: Callable[[ServeSettings], None] | None = None,
    more_routes: Sequence[BaseRoute] = (),
) -> None:
    """Serve until the process is interrupted; then finish the steps under way and close all.

    Args:
        served: What is offered.
        settings: Where the server listens, and whom it answers.
        on_start: Is called with the settings, and the port that was taken, once requests are
            accepted.
        more_routes: Routes of other protocols.

    Raises:
        ServeError: The address is taken, or cannot be listened on.
        Error: What is served cannot be made.
    """
    settings = settings or ServeSettings()
    for one in served:
        # What cannot be made is told now, and not to the first client.
        _ = one.facts
    _allow_open_files(_most_connections(settings) + _OTHER_FILES)
    with closing(listen(settings)) as listening:
        settings = replace(settings, port=listening.getsockname()[1])
        server = make_server(create_app(served, settings, more_routes=more_routes), settings)
        if on_start is not None:
            # The socket listens already: whoever connects now waits for the server.
            on_start(settings)
        log_event("server started", url=settings.url, envs=[one.name for one in served])
        server.run(sockets=[listening])
        if not server.started:
            raise ServeError("The server could not start; its log says why.")


def make_server(app: Starlette, settings: ServeSettings) -> uvicorn.Server:
    """Return a server that does not run yet."""
    header_seconds = settings.header_seconds

    class Impatient(_Impatient):
        seconds = header_seconds

    return _Server(
        uvicorn.Config(
            app,
            log_config=None,
            log_level=None,
            access_log=False,
            http=Impatient,
            ws=AnsweringProtocol,
            ws_max_size=settings.message_bytes,
            # Compressing each frame takes longer than a step.
            ws_per_message_deflate=False,
            ws_ping_interval=_PING_SECONDS,
            ws_ping_timeout=_PING_SECONDS,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            limit_concurrency=_most_connections(settings),
            timeout_keep_alive=30,
            timeout_graceful_shutdown=max(1, round(settings.grace_seconds)),
            ssl_certfile=settings.certificate,
            ssl_keyfile=settings.key,
            lifespan="on",
        )
    )


def _most_connections(settings: ServeSettings) -> int:
    return settings.limits.sessions * _CONNECTIONS_PER_SESSION + _SPARE_CONNECTIONS


def _allow_open_files(count: int) -> None:
    """Raise this process's limit of open files, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def listen(settings: ServeSettings) -> socket.socket:
    """Return the socket that the server listens on.

    Raises:
        ServeError: The address is taken, or cannot be listened on.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((settings.host, settings.port))
        made.listen(_BACKLOG)
    except OSError as problem:
        made.close()
        raise ServeError(
            f"The server cannot listen on {settings.host}:{settings.port}: "
            f"{problem.strerror or problem}. Choose another port with --port; 0 takes a free one."
        ) from problem
    return made


class _Impatient(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """Closes connections that send no whole request in time: they would keep others out."""

    seconds = 20.0

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._deadline = asyncio.get_running_loop().call_later(
            self.seconds, self._give_up, transport
        )

    def _give_up(self, transport: asyncio.Transport) -> None:
        if self.cycle is None and transport.get_protocol() is self:
            transport.close()


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
