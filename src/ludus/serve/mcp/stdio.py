"""Standard input and output: the connection stands for one episode, which ends with it."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

from mcp.server.stdio import stdio_server

from ludus import logger
from ludus.errors import Error, ServeError
from ludus.serve.episodes import Episode
from ludus.serve.finishing import start_finishing
from ludus.serve.mcp.agent import agent_server
from ludus.serve.mcp.http import boards, operating
from ludus.serve.mcp.settings import McpSettings
from ludus.serve.tool_calls import instructions

__all__ = ["serve_stdio"]

_LONGEST_LINE = 8 << 20
"""Bytes of one message; commands have at most a mebibyte, and more in JSON."""


async def serve_stdio(
    settings: McpSettings,
    *,
    on_start: Callable[[str | None], None] = lambda _: None,
    on_end: Callable[[dict[str, Any]], None] = lambda _: None,
) -> None:
    """Serve one agent over standard input and output until it closes them.

    The episode begins at once. A research task that the agent has not handed in by the end is
    graded as it is.

    Args:
        settings: What is served.
        on_start: Is called with the address of the operator's server, if there is one.
        on_end: Is called with the last result of the episode.

    Raises:
        ServeError: The operator's address cannot be listened on, or standard input is a file.
        Error: There is no such environment, or it cannot be made.
    """
    _check_input()
    async with AsyncExitStack() as stack:
        board = await stack.enter_async_context(boards(_unhurried(settings)))
        on_start(await stack.enter_async_context(operating(board, settings.operator)))
        begun = asyncio.create_task(board.begin(seed=settings.seed))
        stack.push_async_callback(_end, begun, on_end)

        async def find(_handle: str | None) -> Episode:
            return await asyncio.shield(begun)

        served = board.served
        agent = agent_server(
            served, find, bound=True, rewards=settings.rewards, about=instructions(served)
        )
        async with _wire() as stdin, stdio_server(stdin=stdin) as (read, write):
            await agent.run(read, write, agent.create_initialization_options())


def _check_input() -> None:
    """Raise :class:`ServeError` if nobody could say anything on standard input."""
    mode = os.fstat(0).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(0)):
        raise ServeError(
            "Standard input is a file; an MCP client starts 'ludus mcp' with a pipe. Use "
            "--transport http for a server that is started by hand."
        )


def _unhurried(settings: McpSettings) -> McpSettings:
    """Return the settings without limits of time: the connection says how long an episode lives."""
    limits = replace(settings.agent.limits, idle_seconds=None, life_seconds=None)
    return replace(settings, agent=replace(settings.agent, limits=limits))


async def _end(begun: asyncio.Task[Episode], on_end: Callable[[dict[str, Any]], None]) -> None:
    """Have the work of a research task graded that was not handed in, and tell how it ended."""
    if not begun.done():
        begun.cancel()
    with suppress(asyncio.CancelledError, Error):
        episode = await begun
        served = episode.session.served
        if served.records is not None and not episode.is_over:
            # Clients do not wait for a server for as long as grading may take.
            start_finishing(served, episode.handle)
            on_end({"records": str(served.records), "end": "graded by another process"})
            return
        await episode.finish()
        last = episode.current()
        on_end({"total_reward": episode.total_reward, "steps": episode.session.steps, **last.info})


@asynccontextmanager
async def _wire() -> AsyncIterator[Any]:
    """Return standard input as lines, which a signal ends as the client does.

    What is started meanwhile reads from nowhere.
    """
    kept, private = os.dup(0), os.dup(0)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    reader = asyncio.StreamReader(limit=_LONGEST_LINE)
    file = os.fdopen(private, "rb", buffering=0)
    loop, numbers = asyncio.get_running_loop(), (signal.SIGINT, signal.SIGTERM)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    for number in numbers:
        loop.add_signal_handler(number, reader.feed_eof)
    try:
        yield _lines(reader)
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
        transport.close()
        os.set_blocking(kept, True)  # a terminal's other programs share that
        os.dup2(kept, 0)
        os.close(kept)


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[str]:
    while True:
        try:
            line = await reader.readline()
        except ValueError:
            logger.warn(f"The client sent a message of more than {_LONGEST_LINE:,} bytes.")
            return
        if not line:
            return
        yield line.decode("utf-8", "replace")
