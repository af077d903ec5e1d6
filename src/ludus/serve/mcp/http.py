"""Streamable HTTP: the agent's server and the operator's, each with an address of its own.

Both speak the revisions with ``initialize`` and the stateless one of 2026-07-28. A page of another
site, or a name that was bound to this machine, is refused; so is a request without the token.
"""

from __future__ import annotations

import asyncio
import hmac
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace

import uvicorn
from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ludus.errors import ServeError
from ludus.serve.episodes import Episode
from ludus.serve.mcp.agent import agent_server
from ludus.serve.mcp.board import Board
from ludus.serve.mcp.operator import operator_server
from ludus.serve.mcp.settings import Listener, McpSettings
from ludus.serve.served import Served
from ludus.serve.sessions import Sessions
from ludus.serve.tool_calls import instructions

__all__ = ["PATH", "application", "boards", "interrupted", "listening", "operating", "serve_http"]

PATH = "/mcp"
_LARGEST_BODY = 4 << 20
"""Commands have at most a mebibyte, and more in JSON."""
_MOST_CONNECTIONS = 1000
_IDLE_SECONDS = 1800.0


def application(server: Server, listener: Listener) -> ASGIApp:
    """Return the application of a server at an address."""
    names = {"127.0.0.1", "localhost", "[::1]", *listener.names, _bracketed(listener.host)}
    security = TransportSecuritySettings(
        # With a token, a name that was bound to this machine leads nowhere.
        enable_dns_rebinding_protection=listener.token is None or bool(listener.names),
        allowed_hosts=[shown for name in names for shown in (name, f"{name}:*")],
        allowed_origins=[],
    )
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=security,
        max_request_body_size=_LARGEST_BODY,
        session_idle_timeout=_IDLE_SECONDS,
        max_sessions=_MOST_CONNECTIONS,
    )
    return app if listener.token is None else _Token(app, listener.token)


class _Token:
    """Refuses requests without the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._expected = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            shown = Headers(scope=scope).get("authorization", "").encode("utf-8", "replace")
            if not hmac.compare_digest(shown, self._expected):
                refusal = PlainTextResponse(
                    "Send the token as 'Authorization: Bearer TOKEN'.",
                    401,
                    {"www-authenticate": "Bearer"},
                )
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


async def serve_http(settings: McpSettings, *, on_start: Callable[[str, str | None], None]) -> None:
    """Serve an agent, and an operator if there is one, until the program is interrupted.

    Args:
        settings: What is served, and where.
        on_start: Is called with the addresses of both servers once they accept requests.

    Raises:
        ServeError: An address cannot be listened on.
        Error: There is no such environment, or it cannot be made.
    """
    async with boards(settings) as board:
        served = board.served

        async def find(handle: str | None) -> Episode:
            return board.find(handle or "")

        about = instructions(served)
        agent = agent_server(served, find, bound=False, rewards=settings.rewards, about=about)
        async with AsyncExitStack() as stack:
            operator = await stack.enter_async_context(operating(board, settings.operator))
            address = await stack.enter_async_context(listening(agent, settings.agent))
            on_start(address, operator)
            await interrupted()


@asynccontextmanager
async def boards(settings: McpSettings) -> AsyncIterator[Board]:
    """Open the board of episodes; they are closed at the end.

    Raises:
        Error: There is no such environment, or it cannot be made.
    """
    served = Served.of(settings.name, kwargs=settings.kwargs)
    await asyncio.to_thread(lambda: served.facts)
    async with Sessions([served], settings.limits) as sessions:
        yield Board(sessions, served, settings.states)


@asynccontextmanager
async def operating(board: Board, listener: Listener | None) -> AsyncIterator[str | None]:
    """Serve the operator, if there is an address for it; the address is returned."""
    if listener is None:
        yield None
        return
    async with listening(operator_server(board), listener) as address:
        yield address


@asynccontextmanager
async def listening(server: Server, listener: Listener) -> AsyncIterator[str]:
    """Serve at an address, which is returned, until the block ends.

    Raises:
        ServeError: The address cannot be listened on.
    """
    bound = _bound(listener)
    port = bound.getsockname()[1]
    running = _Server(
        uvicorn.Config(
            application(server, replace(listener, port=port)),
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            limit_concurrency=_MOST_CONNECTIONS,
            ws="none",
            timeout_graceful_shutdown=1,
            lifespan="on",
        )
    )
    task = asyncio.create_task(running.serve(sockets=[bound]))
    try:
        yield f"http://{_bracketed(listener.host)}:{port}{PATH}"
    finally:
        running.should_exit = True
        await task
        bound.close()


async def interrupted() -> None:
    """Wait for a signal that ends the program."""
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, stopped.set)
    try:
        await stopped.wait()
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


class _Server(uvicorn.Server):
    """A server among others in one program, which handles the signals itself."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield


def _bound(listener: Listener) -> socket.socket:
    family = socket.AF_INET6 if ":" in listener.host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((listener.host.strip("[]"), listener.port))
        made.listen(128)
    except OSError as problem:
        made.close()
        raise ServeError(
            f"{listener.host}:{listener.port} cannot be listened on: {problem.strerror}. Choose "
            "another port; 0 takes a free one."
        ) from problem
    return made


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
