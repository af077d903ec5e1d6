"""The server of the agent: its actions as tools, and what it may read as resources.

Nothing here resets an episode, saves its state or, unless the operator allows it, tells a reward.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from ludus.errors import InvalidAction, SessionGone
from ludus.serve.episodes import Episode
from ludus.serve.errors import told
from ludus.serve.logs import log_failure
from ludus.serve.mcp.content import failed, result_schema, step_result
from ludus.serve.mcp.resources import Resources
from ludus.serve.served import Served
from ludus.serve.tool_calls import tools_of
from ludus.version import __version__

__all__ = ["EPISODE", "Find", "agent_server", "agent_tools", "episode_property"]

Find = Callable[[str | None], Awaitable[Episode]]
"""Returns the episode of a handle; of ``None``, that of the connection."""

EPISODE = "episode"
"""The argument with the handle of an episode."""

_HANDLE = 100
_READ_ONLY = frozenset({"find_file", "memory_read", "search_dir", "search_file"})
_LAST = "submit"
_GONE = "There is no episode of this handle ({why}). Use the one that you were given."
_BY_HANDLE = "Every call needs the argument 'episode': the handle that you were given."


def agent_server(served: Served, find: Find, *, bound: bool, rewards: bool, about: str) -> Server:
    """Return the server of an agent.

    Args:
        served: What the agent works on.
        find: Finds episodes; raises :class:`~ludus.errors.Error` if there is none.
        bound: Whether the connection stands for the episode; else tools take its handle.
        rewards: Whether results contain reward and flags.
        about: What a model is told before its first action.
    """
    tools = agent_tools(served, bound=bound, rewards=rewards)
    schemas = {tool.name: tool.input_schema for tool in tools}
    resources = Resources(served, find, bound=bound)

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(tools))

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in schemas:
            known = ", ".join(schemas)
            raise MCPError(
                types.INVALID_PARAMS, f"There is no tool {params.name!r:.100}; there are: {known}."
            )
        arguments = dict(params.arguments or {})
        try:
            episode = await find(None if bound else _handle(arguments))
            result = await episode.act(params.name, arguments)
        except SessionGone as problem:
            return failed(_GONE.format(why=problem.why))
        except Exception as problem:  # of the environment, which may raise anything
            heard = told(problem)
            log_failure(served.name, problem, heard)
            return failed(heard.message)
        return step_result(served, result, rewards=rewards, steps=episode.session.steps)

    return Server(
        "ludus",
        version=__version__,
        title=served.name,
        instructions=about if bound else f"{about}\n\n{_BY_HANDLE}",
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=resources.listed,
        on_list_resource_templates=resources.templates,
        on_read_resource=resources.read,
    )


def agent_tools(served: Served, *, bound: bool, rewards: bool) -> tuple[types.Tool, ...]:
    """Return the tools for the actions of an environment or a research task."""
    output = result_schema(served, rewards=rewards)
    return tuple(
        types.Tool(
            name=tool.name,
            description=tool.about,
            input_schema=tool.parameters if bound else _with_episode(tool.parameters),
            output_schema=output,
            annotations=types.ToolAnnotations(
                read_only_hint=tool.name in _READ_ONLY,
                destructive_hint=tool.name == _LAST,
                idempotent_hint=tool.name in _READ_ONLY,
                open_world_hint=False,
            ),
        )
        for tool in tools_of(served)
    )


def episode_property() -> dict[str, Any]:
    """Return the JSON Schema of the argument with the handle.

    Clients of 2026-07-28 repeat it in the header ``Mcp-Param-Episode``, so that proxies can route.
    """
    return {
        "type": "string",
        "description": "The handle of the episode.",
        "maxLength": _HANDLE,
        "x-mcp-header": "Episode",
    }


def _with_episode(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **parameters,
        "properties": {EPISODE: episode_property(), **parameters["properties"]},
        "required": [EPISODE, *parameters["required"]],
    }


def _handle(arguments: dict[str, Any]) -> str:
    """Take the handle out of the arguments."""
    handle = arguments.pop(EPISODE, None)
    if not isinstance(handle, str) or not 0 < len(handle) <= _HANDLE:
        raise InvalidAction(_BY_HANDLE)
    return handle
