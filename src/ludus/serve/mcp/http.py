"""Streamable HTTP: the agent's server and the operator's, each with an address of its own.

Both speak the revisions with ``initialize`` and the stateless one of 2026-07-28. The guard of every
server of Ludus refuses other sites, names that were bound to this machine, wrong tokens and large
bodies before the protocol sees a request.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace

from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings

from ludus.serve.episodes import Episode
from ludus.serve.guard import Guard
from ludus.serve.mcp.agent import agent_server
from ludus.serve.mcp.board import Board
from ludus.serve.mcp.operator import operator_server
from ludus.serve.mcp.settings import McpSettings
from ludus.serve.served import Served
from ludus.serve.service import Service
from ludus.serve.serving import listen, make_server
from ludus.serve.sessions import Sessions
from ludus.serve.settings import ServeSettings
from ludus.serve.tool_calls import instructions

__all__ = ["PATH", "boards", "listening", "operating", "serve_http"]

PATH = "/mcp"
_IDLE_SECONDS = 1800.0


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

        async def find(handle: str | None) -> Episode:
            return board.find(handle or "")

        agent = agent_server(
            board.served,
            find,
            bound=False,
            rewards=settings.rewards,
            about=instructions(board.served),
        )
        async with (
            operating(board, settings.operator) as operator,
            listening(agent, board.served, settings.agent) as address,
        ):
            on_start(address, operator)
            await _interrupted()


@asynccontextmanager
async def boards(settings: McpSettings) -> AsyncIterator[Board]:
    """Open the board of episodes; they are closed at the end.

    Raises:
        Error: There is no such environment, or it cannot be made.
    """
    served = Served.of(settings.name, kwargs=settings.kwargs, records=settings.agent.out)
    await asyncio.to_thread(lambda: served.facts)
    async with Sessions([served], settings.agent.limits) as sessions:
        yield Board(sessions, served, settings.states)


@asynccontextmanager
async def operating(board: Board, settings: ServeSettings | None) -> AsyncIterator[str | None]:
    """Serve the operator, if there is an address for it, which is returned.

    Raises:
        ServeError: The address cannot be listened on.
    """
    if settings is None:
        yield None
        return
    async with listening(operator_server(board), board.served, settings) as address:
        yield address


@asynccontextmanager
async def listening(server: Server, served: Served, settings: ServeSettings) -> AsyncIterator[str]:
    """Serve at an address, which is returned, until the block ends.

    Raises:
        ServeError: The address cannot be listened on.
    """
    with listen(settings) as bound:
        settings = replace(settings, port=bound.getsockname()[1])
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            # The guard has looked at hosts and origins.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=settings.message_bytes,
            session_idle_timeout=_IDLE_SECONDS,
            max_sessions=settings.limits.sessions,
        )
        app.add_middleware(Guard, service=Service([served], settings))
        running = make_server(app, settings)
        # Signals end the program, which has more than this server.
        running.capture_signals = nullcontext  # type: ignore[method-assign, assignment]
        task = asyncio.create_task(running.serve(sockets=[bound]))
        try:
            yield f"{settings.url}{PATH}"
        finally:
            running.should_exit = True
            await task


async def _interrupted() -> None:
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
