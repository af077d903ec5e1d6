"""OpenEnv's ``/mcp``: JSON-RPC with one tool, ``act``, and sessions by id.

It is for agents: there is no reset and no reward. A full MCP server is ``ludus mcp``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ludus.errors import BadArguments, InvalidAction, SessionGone
from ludus.serve.errors import InvalidMessage, told
from ludus.serve.logs import log_failure
from ludus.serve.openenv.exchange import Exchange, Wire
from ludus.serve.schemas import dumps
from ludus.serve.service import Service

__all__ = ["PARSE_ERROR", "answer_rpc"]

_INVALID_REQUEST, _NO_METHOD, _INVALID_PARAMS, _FAILED = -32600, -32601, -32602, -32603
TOOL = "act"


def _failed(code: int, message: str, request_id: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "error": {"code": code, "message": message}, "id": request_id}


PARSE_ERROR = _failed(-32700, "The body is not JSON.")


async def answer_rpc(
    data: Any,
    service: Service,
    wire: Wire,
    exchange: Exchange | None = None,
    scope: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the answer to a JSON-RPC request; problems are answers too.

    Args:
        data: The request.
        service: The server.
        wire: The environment whose route was used.
        exchange: The session of the socket that the request came over.
        scope: Of the HTTP request.
    """
    if (
        not isinstance(data, dict)
        or data.get("jsonrpc") != "2.0"
        or not isinstance(data.get("method"), str)
        or not isinstance(data.get("id"), str | int | None)
    ):
        return _failed(_INVALID_REQUEST, "Expected a JSON-RPC 2.0 request.")
    request_id, params = data.get("id"), data.get("params")
    method = _METHODS.get(data["method"])
    if method is None:
        return _failed(_NO_METHOD, f"Expected one of {sorted(_METHODS)}.", request_id)
    if not isinstance(params, dict | None):
        return _failed(_INVALID_PARAMS, "Expected an object as params.", request_id)
    call = _Call(params or {}, service, wire, exchange, scope or {})
    try:
        return {"jsonrpc": "2.0", "result": await method(call), "id": request_id}
    except (SessionGone, InvalidMessage, InvalidAction, BadArguments) as problem:
        return _failed(_INVALID_PARAMS, told(problem).message, request_id)
    except Exception as problem:  # environments may raise anything
        heard = told(problem)
        log_failure(wire.served.name, problem, heard)
        return _failed(_FAILED, heard.message, request_id)


class _Call:
    """One call of a method."""

    def __init__(
        self,
        params: dict[str, Any],
        service: Service,
        wire: Wire,
        exchange: Exchange | None,
        scope: Mapping[str, Any],
    ) -> None:
        self.params, self.service, self.wire, self.scope = params, service, wire, scope
        self._exchange = exchange

    @property
    def exchange(self) -> Exchange:
        """The session that the call is for."""
        session_id = self.params.get("session_id")
        if session_id is None and self._exchange is not None:
            return self._exchange
        if not isinstance(session_id, str):
            raise BadArguments(
                "Expected a session_id: call openenv/session/create, or POST /reset, first."
            )
        return self.service.find(session_id, self.wire.served.name)


async def _list_tools(call: _Call) -> dict[str, Any]:
    served = call.wire.served
    schema = call.wire.schemas["action"]["properties"]["action"]
    return {
        "tools": [
            {
                "name": TOOL,
                "description": f"Makes one step. {served.description}",
                "inputSchema": {
                    "type": "object",
                    "properties": {"action": schema},
                    "required": ["action"],
                },
            }
        ]
    }


async def _call_tool(call: _Call) -> dict[str, Any]:
    if call.params.get("name") != TOOL:
        raise BadArguments(f"There is no such tool; expected {TOOL!r}.")
    arguments = call.params.get("arguments")
    if not isinstance(arguments, dict):
        raise BadArguments('Expected an object as arguments: {"action": VALUE}.')
    made = await call.exchange.step(arguments)
    observation = {key: part for key, part in made["observation"].items() if key != "metadata"}
    seen = {"observation": observation, "done": made["done"]}
    return {
        "content": [{"type": "text", "text": dumps(seen)}],
        "structuredContent": seen,
        "isError": False,
    }


async def _create(call: _Call) -> dict[str, Any]:
    exchange = await call.service.open(call.wire.served.name, call.scope)
    try:
        await exchange.reset({})
    except BaseException:
        await call.service.sessions.close(exchange.session.id)
        raise
    return {"session_id": exchange.session.id}


async def _close(call: _Call) -> dict[str, Any]:
    session_id = call.exchange.session.id
    await call.service.sessions.close(session_id)
    return {"session_id": session_id, "closed": True}


_METHODS: dict[str, Callable[[_Call], Awaitable[dict[str, Any]]]] = {
    "openenv/session/close": _close,
    "openenv/session/create": _create,
    "tools/call": _call_tool,
    "tools/list": _list_tools,
}
