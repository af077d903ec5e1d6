"""OpenEnv's WebSocket: one session per connection, one answer per message.

Steps of inline sessions are answered where the frame arrives, if the server can do that (see
:mod:`ludus.serve.sockets`): a queue and a task switch would take longer than the step. Every other
message goes through the loop below, which makes the same calls.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from ludus.errors import Error
from ludus.serve.errors import InvalidMessage, Told, told
from ludus.serve.logs import log_failure
from ludus.serve.openenv.exchange import Exchange, Wire
from ludus.serve.openenv.rpc import answer_rpc
from ludus.serve.schemas import dumps
from ludus.serve.service import Service
from ludus.serve.sockets import ANSWER

__all__ = ["Endpoint"]

_Message = MutableMapping[str, Any]
_Send = Callable[[_Message], Awaitable[None]]
_Receive = Callable[[], Awaitable[_Message]]
_FIELDS = {"type", "data"}


class Endpoint:
    """The ASGI application of ``/ws`` of one served environment."""

    def __init__(self, service: Service, wire: Wire) -> None:
        self._service, self._wire = service, wire

    async def __call__(self, scope: _Message, receive: _Receive, send: _Send) -> None:
        """Serve one connection."""
        await receive()  # websocket.connect
        await send({"type": "websocket.accept"})
        service, name = self._service, self._wire.served.name
        wanted = parse_qs(scope["query_string"].decode("latin-1")).get("session_id", [""])[0]
        try:
            exchange = service.attach(wanted, name) if wanted else await service.open(name, scope)
        except Exception as problem:  # whatever making it raises is told
            heard = told(problem, opening=True)
            log_failure(name, problem, heard)
            service.metrics.error(heard.code)
            await _say(send, "error", heard.data)
            await send({"type": "websocket.close", "code": 1013})
            return
        try:
            await _Connection(service, exchange, scope, receive, send).run()
        finally:
            if wanted:
                exchange.is_attached = False
            else:
                await service.sessions.close(exchange.session.id, "disconnected")


class _Connection:
    """One client on one socket."""

    def __init__(
        self, service: Service, exchange: Exchange, scope: _Message, receive: _Receive, send: _Send
    ) -> None:
        self._service, self._exchange = service, exchange
        self._receive, self._send = receive, send
        self._metrics = service.metrics
        self._is_busy = False
        install = scope.get("extensions", {}).get(ANSWER)
        if install is not None and exchange.session.is_inline:
            install(self._answer_now)

    async def run(self) -> None:
        """Answer messages until the client leaves or the session is closed."""
        exchange = self._exchange
        ending = asyncio.ensure_future(exchange.session.ended.wait())
        try:
            while True:
                receiving = asyncio.ensure_future(self._receive())
                await asyncio.wait({receiving, ending}, return_when=asyncio.FIRST_COMPLETED)
                if not receiving.done():
                    receiving.cancel()
                    await self._say_gone()
                    return
                message = receiving.result()
                if message["type"] != "websocket.receive":
                    return
                self._is_busy = True
                text = message.get("text")
                if not await self._answer("" if text is None else text):
                    await self._send({"type": "websocket.close", "code": 1000})
                    return
                self._is_busy = False
        finally:
            ending.cancel()

    async def _say_gone(self) -> None:
        """Tell the client that its session was closed, and why."""
        why = self._exchange.session.why or "closed"
        heard = Told("SESSION_ERROR", f"The session was closed ({why}).", more={"why": why})
        await _say(self._send, "error", heard.data)
        await self._send({"type": "websocket.close", "code": 1001})

    def _answer_now(self, text: str) -> str | None:
        """Return the answer to a step of an inline session; ``None`` leaves it to the loop."""
        if self._is_busy:
            return None
        exchange = self._exchange
        try:
            message = json.loads(text)
            if message["type"] != "step" or len(message) != 2:
                return None
            action = exchange.action(message["data"])
        except Exception:
            return None  # the loop finds the same problem, and tells what it is
        self._metrics.frames += 1
        try:
            return dumps({"type": "observation", "data": exchange.step_inline(action)})
        except Exception as problem:  # environments may raise anything
            return dumps({"type": "error", "data": self._heard(problem).data})

    async def _answer(self, text: str) -> bool:
        """Answer one message; return whether there may be another."""
        self._metrics.frames += 1
        try:
            message = _parsed(text)
            kind, data = message["type"], message.get("data", {})
            if kind == "close":
                return False
            answer, key = await self._handled(kind, data), _ANSWERS[kind]
            await _say(self._send, key, answer)
        except _Unreadable as problem:
            self._metrics.error(problem.code)
            await _say(self._send, "error", {"message": str(problem), "code": problem.code})
        except (OSError, asyncio.CancelledError):
            raise
        except Exception as problem:  # environments may raise anything
            await _say(self._send, "error", self._heard(problem).data)
        return True

    def _heard(self, problem: Exception) -> Told:
        heard = told(problem)
        if not isinstance(problem, Error | InvalidMessage):
            log_failure(self._exchange.session.served.name, problem, heard)
        self._metrics.error(heard.code)
        return heard

    async def _handled(self, kind: str, data: dict[str, Any]) -> Any:
        exchange = self._exchange
        if kind == "step":
            return await exchange.step(data)
        if kind == "reset":
            return await exchange.reset(data)
        if kind == "state":
            return await exchange.state()
        return await answer_rpc(data, self._service, self._exchange.wire, exchange)


_ANSWERS = {"reset": "observation", "step": "observation", "state": "state", "mcp": "mcp"}


class _Unreadable(Exception):
    """A message that says nothing, with OpenEnv's code for that."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


def _parsed(text: str) -> dict[str, Any]:
    """Return a message of a known type.

    Raises:
        _Unreadable: It is not JSON, or of another type.
        InvalidMessage: It has other fields.
    """
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise _Unreadable(f"Invalid JSON: {problem!s:.200}", "INVALID_JSON") from None
    if not isinstance(message, dict):
        raise _Unreadable("A message is an object with a type.", "VALIDATION_ERROR")
    kind = message.get("type", "")
    if not isinstance(kind, str) or (kind not in _ANSWERS and kind != "close"):
        raise _Unreadable(f"Unknown message type: {kind!r:.100}", "UNKNOWN_TYPE")
    if unknown := sorted(set(message) - _FIELDS):
        raise InvalidMessage([unknown[0][:100]], "Unknown field.", "extra_forbidden")
    if not isinstance(message.get("data", {}), dict):
        raise InvalidMessage(["data"], "Expected an object.", "dict_type")
    if kind in ("step", "mcp") and "data" not in message:
        raise InvalidMessage(["data"], "This field is required.", "missing")
    return message


async def _say(send: _Send, kind: str, data: Any) -> None:
    await send({"type": "websocket.send", "text": dumps({"type": kind, "data": data})})
