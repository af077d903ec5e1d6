"""Clients and servers of the Model Context Protocol, in one process or over a socket."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from ludus.serve.episodes import Episode
from ludus.serve.mcp.agent import agent_server
from ludus.serve.mcp.board import Board
from ludus.serve.mcp.http import boards, listening, operating
from ludus.serve.mcp.operator import operator_server
from ludus.serve.mcp.settings import McpSettings
from ludus.serve.settings import ServeSettings
from ludus.serve.tool_calls import instructions

ERAS = ("legacy", "2026-07-28")
"""With ``initialize``, and stateless."""
TOKEN = "operator-token-of-tests"
COMMAND = (sys.executable, "-m", "ludus", "mcp")


def run(work: Coroutine[Any, Any, Any], seconds: float = 100) -> Any:
    return asyncio.run(asyncio.wait_for(work, seconds))


@dataclass
class Sides:
    """An operator and an agent of one board."""

    board: Board
    operator: Client
    agent: Client

    async def begin(self, **arguments: Any) -> str:
        return (await self.ask("new_episode", **arguments))["episode"]

    async def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return what an operator's tool says."""
        result = await self.operator.call_tool(tool, arguments)
        assert not result.is_error, result.content
        return result.structured_content

    async def act(self, episode: str, action: Any) -> Any:
        return await self.agent.call_tool("act", {"episode": episode, "action": action})


def agent_of(board: Board, **options: Any) -> Any:
    async def find(handle: str | None) -> Episode:
        return board.find(handle or "")

    given = {"bound": False, "rewards": False, "about": instructions(board.served), **options}
    return agent_server(board.served, find, **given)


@asynccontextmanager
async def board_of(name: str, folder: Path, **options: Any) -> AsyncIterator[Board]:
    async with boards(McpSettings(name=name, states=folder / "states", **options)) as board:
        yield board


@asynccontextmanager
async def sides(
    name: str, folder: Path, era: str = ERAS[1], *, rewards: bool = False, **options: Any
) -> AsyncIterator[Sides]:
    """Connect both sides in this process."""
    async with board_of(name, folder, **options) as board:
        agent, operator = agent_of(board, rewards=rewards), operator_server(board)
        async with Client(operator, mode=era) as one, Client(agent, mode=era) as other:
            yield Sides(board, one, other)


@asynccontextmanager
async def served_sides(
    name: str,
    folder: Path,
    era: str = ERAS[1],
    *,
    rewards: bool = False,
    kwargs: dict[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[tuple[Sides, str, str]]:
    """Connect both sides over HTTP; the addresses of agent and operator are returned too."""
    operator, agent = ServeSettings(port=0, token=TOKEN), ServeSettings(port=0, **options)
    async with (
        board_of(name, folder, agent=agent, kwargs=kwargs or {}) as board,
        operating(board, operator) as beside,
        listening(agent_of(board, rewards=rewards), board.served, agent) as address,
        client(beside or "", era, TOKEN) as one,
        client(address, era, agent.token) as other,
    ):
        yield Sides(board, one, other), address, beside or ""


@asynccontextmanager
async def client(address: str, era: str, token: str | None = None) -> AsyncIterator[Client]:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(address, http_client=http), mode=era) as made,
    ):
        yield made


def started(*arguments: str) -> StdioServerParameters:
    """Return how a client starts ``ludus mcp``."""
    kept = ("PYTHONPATH", "LUDUS_COMPILE", "LUDUS_CACHE", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
    env = {name: os.environ[name] for name in kept if name in os.environ}
    command = [*COMMAND, *arguments]
    return StdioServerParameters(command=command[0], args=command[1:], env=env)


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")
