"""The server of the operator: begins, watches, saves, restores and closes episodes.

It tells rewards and the result of a research task's test. So it listens apart from the agent's
server and always asks for a token.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import mcp_types as types
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ludus.serve.episodes import Episode
from ludus.serve.errors import told
from ludus.serve.logs import log_failure
from ludus.serve.mcp.board import Board
from ludus.serve.mcp.content import failed, picture_block
from ludus.serve.schemas import dumps, plain
from ludus.serve.tool_calls import instructions, view_of
from ludus.version import __version__

__all__ = ["operator_server"]

_STATE = r"^[0-9a-f]{32}$"


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _New(_Arguments):
    seed: int | None = Field(None, ge=0, lt=2**63, description="Determines the episode.")
    options: dict[str, Any] | None = Field(None, description="Of the environment's reset.")


class _Named(_Arguments):
    episode: str = Field(
        max_length=100,
        description="The handle of the episode.",
        json_schema_extra={"x-mcp-header": "Episode"},
    )


class _Close(_Named):
    grade: bool = Field(True, description="Grade the work of a research task that goes on.")


class _Restore(_Arguments):
    state: str = Field(pattern=_STATE, description="What save returned.")
    episode: str | None = Field(
        None, max_length=100, description="Of an episode to continue there; by default a new one."
    )


class _Operation(NamedTuple):
    about: str
    arguments: type[_Arguments]
    run: Callable[[Board, Any], Awaitable[types.CallToolResult]]


def operator_server(board: Board) -> Server:
    """Return the server of an operator over the episodes of a board."""
    tools = [
        types.Tool(name=name, description=one.about, input_schema=one.arguments.model_json_schema())
        for name, one in _OPERATIONS.items()
    ]
    schemas = {tool.name: tool.input_schema for tool in tools}

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in _OPERATIONS:
            known = ", ".join(_OPERATIONS)
            raise MCPError(
                types.INVALID_PARAMS, f"There is no tool {params.name!r:.100}; there are: {known}."
            )
        operation = _OPERATIONS[params.name]
        try:
            return await operation.run(
                board, operation.arguments.model_validate(params.arguments or {})
            )
        except ValidationError as problem:
            return failed(_told(problem))
        except Exception as problem:  # of the environment, which may raise anything
            heard = told(problem, opening=params.name == "new_episode")
            log_failure(board.served.name, problem, heard)
            return failed(heard.message)

    return Server(
        "ludus-operator",
        version=__version__,
        title=f"Operator of {board.served.name}",
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _new_episode(board: Board, given: _New) -> types.CallToolResult:
    episode = await board.begin(seed=given.seed, options=given.options)
    return _report(episode, instructions=instructions(board.served, episode.current().observation))


async def _observe(board: Board, given: _Named) -> types.CallToolResult:
    return _report(board.find(given.episode))


async def _close(board: Board, given: _Close) -> types.CallToolResult:
    episode = board.find(given.episode)
    if given.grade:
        await episode.finish()
    await board.close(given.episode)
    return _report(episode)


async def _save(board: Board, given: _Named) -> types.CallToolResult:
    return _structured({"state": await board.save(given.episode)})


async def _restore(board: Board, given: _Restore) -> types.CallToolResult:
    return _report(await board.restore(given.state, given.episode))


_OPERATIONS = {
    "new_episode": _Operation(
        "Begin an episode and return its handle, the first observation and what to tell the agent.",
        _New,
        _new_episode,
    ),
    "observe": _Operation(
        "Return the last result of an episode: observation, rewards, flags and info.",
        _Named,
        _observe,
    ),
    "close": _Operation(
        "Close an episode and return its last result. Work of a research task that was not handed "
        "in is graded first, as it is.",
        _Close,
        _close,
    ),
    "save": _Operation(
        "Save the state of an episode on the server, and return its name.", _Named, _save
    ),
    "restore": _Operation(
        "Continue from a saved state, in a new episode or in the one that is named.",
        _Restore,
        _restore,
    ),
}


def _report(episode: Episode, **more: Any) -> types.CallToolResult:
    last, session = episode.current(), episode.session
    view = view_of(session.served, last.observation)
    data = {
        "episode": episode.handle,
        "seed": episode.seed,
        "steps": session.steps,
        "over": episode.is_over,
        "observation": view.data,
        "reward": float(last.reward),
        "total_reward": episode.total_reward,
        "terminated": bool(last.terminated),
        "truncated": bool(last.truncated),
        "info": last.info,
        **more,
    }
    return _structured(data, *map(picture_block, view.pictures))


def _structured(data: dict[str, Any], *blocks: types.ContentBlock) -> types.CallToolResult:
    """Return data as structured content, and as text for clients that read no other."""
    written = plain(data)
    text = types.TextContent(text=dumps(written))
    return types.CallToolResult(content=[text, *blocks], structured_content=written)


def _told(problem: ValidationError) -> str:
    first = problem.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"])) or "arguments"
    return f"Wrong arguments, {where}: {first['msg']}."
