"""What an agent may read: the text of its task, the spaces, the last observation and picture.

=============================  ======================================================
``task://NAME/instructions``   what to do, as text
``task://NAME/spaces``         action space and observation space, as JSON
``task://NAME/observation``    the last observation, as JSON
``task://NAME/picture``        what the environment shows now, as PNG
=============================  ======================================================

Where a connection does not stand for an episode, the last two have its handle:
``task://NAME/episodes/HANDLE/observation``.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from ludus.errors import CustomSpaceError, UnknownName
from ludus.serve.errors import told
from ludus.serve.logs import log_failure
from ludus.serve.mcp.content import PNG
from ludus.serve.schemas import dumps, schema_of
from ludus.serve.served import Served
from ludus.serve.tool_calls import instructions, observation_data
from ludus.spaces import Space
from ludus.spaces.errors import SpaceValueError
from ludus.spaces.serialization import to_dict

__all__ = ["Resources"]

_JSON, _TEXT = "application/json", "text/plain"
_FIXED = {
    "instructions": (_TEXT, "What to do."),
    "spaces": (_JSON, "The action space and the observation space."),
}
_OF_EPISODE = {
    "observation": (_JSON, "The last observation of the episode."),
    "picture": (PNG, "What the environment shows now."),
}
_HOUR = 3_600_000
_Contents = types.TextResourceContents | types.BlobResourceContents


class Resources:
    """Lists and reads the resources of an agent.

    Args:
        served: What the agent works on.
        find: Finds episodes, by handle or of the connection.
        bound: Whether the connection stands for the episode.
    """

    def __init__(self, served: Served, find: Any, *, bound: bool) -> None:
        self._served, self._find, self._bound = served, find, bound
        self._root = f"task://{served.name}/"

    async def listed(self, context: Any, params: Any) -> types.ListResourcesResult:
        """Answer ``resources/list``."""
        kinds = {**_FIXED, **(_OF_EPISODE if self._bound else {})}
        found = [
            types.Resource(uri=f"{self._root}{name}", name=name, description=about, mime_type=mime)
            for name, (mime, about) in kinds.items()
        ]
        return types.ListResourcesResult(resources=found)

    async def templates(self, context: Any, params: Any) -> types.ListResourceTemplatesResult:
        """Answer ``resources/templates/list``."""
        found = [
            types.ResourceTemplate(
                uri_template=f"{self._root}episodes/{{episode}}/{name}",
                name=name,
                description=about,
                mime_type=mime,
            )
            for name, (mime, about) in _OF_EPISODE.items()
            if not self._bound
        ]
        return types.ListResourceTemplatesResult(resource_templates=found)

    async def read(
        self, context: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Answer ``resources/read``.

        Raises:
            MCPError: There is no such resource.
        """
        handle, name = self._parsed(params.uri)
        try:
            contents = await self._contents(params.uri, handle, name)
        except Exception as problem:  # of the environment, which may raise anything
            heard = told(problem)
            log_failure(self._served.name, problem, heard)
            raise MCPError(types.INVALID_PARAMS, heard.message) from problem
        if name in _FIXED and not self._bound:
            return types.ReadResourceResult(contents=[contents], ttl_ms=_HOUR, cache_scope="public")
        return types.ReadResourceResult(contents=[contents])

    def _parsed(self, uri: str) -> tuple[str | None, str]:
        """Return the handle in a URI, if there is one, and the name of the resource."""
        match uri.removeprefix(self._root).split("/") if uri.startswith(self._root) else []:
            case [name] if name in _FIXED or (self._bound and name in _OF_EPISODE):
                return None, name
            case ["episodes", handle, name] if name in _OF_EPISODE and not self._bound:
                return handle, name
        raise MCPError(types.INVALID_PARAMS, f"There is no resource {uri!r:.200}.")

    async def _contents(self, uri: str, handle: str | None, name: str) -> _Contents:
        if name == "spaces":
            return types.TextResourceContents(uri=uri, mime_type=_JSON, text=dumps(self._spaces()))
        if name == "instructions" and not self._bound:
            return types.TextResourceContents(
                uri=uri, mime_type=_TEXT, text=instructions(self._served)
            )
        episode = await self._find(handle)
        if name == "picture":
            png = await episode.picture()
            if png is None:
                raise UnknownName(f"{self._served.name} draws no pictures.")
            return types.BlobResourceContents(uri=uri, mime_type=PNG, blob=b64encode(png).decode())
        observation = episode.current().observation
        if name == "instructions":
            text = instructions(self._served, observation)
            return types.TextResourceContents(uri=uri, mime_type=_TEXT, text=text)
        data = observation_data(self._served, observation)
        return types.TextResourceContents(uri=uri, mime_type=_JSON, text=dumps(data))

    def _spaces(self) -> dict[str, Any]:
        found = {"action": self._served.action_space, "observation": self._served.observation_space}
        return {
            name: {"space": _described(space), "schema": schema_of(space)}
            for name, space in found.items()
        }


def _described(space: Space[Any]) -> dict[str, Any] | None:
    """Return a space in the form of :func:`ludus.spaces.to_json`, if it has one."""
    try:
        return to_dict(space)
    except (CustomSpaceError, SpaceValueError):
        return None
