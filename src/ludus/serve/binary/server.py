"""The server's side of the binary sub-protocol: one connection, from HELLO to its end.

Steps of inline sessions are answered where their message arrives, if the server can do that (see
:mod:`ludus.serve.sockets`): a queue and two task switches would take longer than the step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from ludus.errors import BadArguments, CodecError, Error
from ludus.serve.binary.frames import PROTOCOL, Kind, Op, read_request, write
from ludus.serve.binary.hosting import Host
from ludus.serve.binary.pool import PoolHost
from ludus.serve.errors import told
from ludus.serve.logs import log_failure, log_session
from ludus.serve.service import Service
from ludus.serve.session import Session
from ludus.serve.sockets import ANSWER_BYTES

__all__ = ["serve_binary"]

_Message = MutableMapping[str, Any]
_Send = Callable[[_Message], Awaitable[None]]
_Receive = Callable[[], Awaitable[_Message]]

_DONE, _GONE, _WRONG_DATA, _WRONG_KIND = 1000, 1001, 1002, 1003
_QUICK = (b"\x93\x02", b"\x94\x03")
"""How the messages of STEP and STEPS begin: a list of three or four, and the operation."""
_HELLO = {
    "id": (str, type(None)),
    "num_envs": (int, type(None)),
    "kwargs": (dict,),
    "autoreset_mode": (str, type(None)),
    "pool": (bool,),
}


async def serve_binary(
    service: Service, name: str, scope: _Message, receive: _Receive, send: _Send
) -> None:
    """Serve one WebSocket whose client offered the sub-protocol, until either side ends.

    The connection's sessions are closed with it.

    Args:
        service: Whose sessions are opened; it has checked host, origin and token.
        name: What is opened for a client that names nothing.
        scope: Of the connection, as of ASGI.
        receive: The same; the first message is ``websocket.connect``.
        send: The same.
    """
    await receive()
    await send({"type": "websocket.accept", "subprotocol": PROTOCOL})
    connection = _Connection(service, name, scope, send)
    try:
        while connection.ended is None:
            message = await receive()
            if message["type"] != "websocket.receive":
                return
            data = message.get("bytes")
            if data is None:
                connection.ended = (_WRONG_KIND, "binary messages only")
                break
            answer = await connection.answer(data)
            if answer is not None:
                await send({"type": "websocket.send", "bytes": answer})
        code, reason = connection.ended
        await send({"type": "websocket.close", "code": code, "reason": reason})
    finally:
        await connection.close()


class _Connection:
    """Requests of one connection, answered one after the other."""

    def __init__(self, service: Service, name: str, scope: _Message, send: _Send) -> None:
        self._service, self._name, self._send = service, name, send
        self._sessions, self._metrics = service.sessions, service.metrics
        self._owner = service.owner(scope)
        self._install = scope.get("extensions", {}).get(ANSWER_BYTES)
        self._own: list[Session] = []
        self._watching: asyncio.Task[None] | None = None
        self._host: Host | PoolHost | None = None
        self._quick: dict[int, Callable[..., Any]] = {}
        self._takes_one_turn: Callable[[int], bool] = lambda _: False
        self._operations: dict[int, Callable[..., Awaitable[Any]]] = {Op.HELLO: self._hello}
        self._is_busy = False
        self.ended: tuple[int, str] | None = None
        """Code and reason with which to close the connection after the answer."""

    def answer_now(self, data: bytes) -> bytes | None:
        """Return the answer to steps of an inline session; ``None`` leaves it to the loop."""
        if self._is_busy or data[:2] not in _QUICK:
            return None
        try:
            op, number, fields = read_request(data)
        except CodecError:
            return None  # the loop finds the same, and tells it
        if op == Op.STEPS and not self._takes_one_turn(fields[1]):
            return None
        self._metrics.frames += 1
        try:
            return write(Kind.VALUE, number, [self._quick[op](*fields)])
        except Exception as problem:  # environments may raise anything
            return write(Kind.ERROR, number, self._described(problem))

    async def answer(self, data: bytes) -> bytes | None:
        """Return the answer to one message, if it has one."""
        self._metrics.frames += 1
        try:
            op, number, fields = read_request(data)
        except CodecError as problem:
            self.ended = (_WRONG_DATA, "no valid request")
            return write(Kind.ERROR, 0, self._described(problem))
        self._is_busy = True
        try:
            operation = self._operations.get(op)
            if operation is None:
                raise BadArguments(self._why_not(op))
            value = await operation(*fields)
            return None if op == Op.SEND else write(Kind.VALUE, number, [value])
        except Exception as problem:  # environments may raise anything
            if op == Op.SEND:
                self.ended = (_WRONG_DATA, "a SEND failed")
            return write(Kind.ERROR, number, self._described(problem, opening=op == Op.HELLO))
        finally:
            self._is_busy = False

    def _described(self, problem: Exception, *, opening: bool = False) -> list[str]:
        """Return code, text and class of an exception, count it, and log what nobody foresaw."""
        heard = told(problem, opening=opening)
        self._metrics.error(heard.code)
        if not isinstance(problem, Error):
            log_failure(self._name, problem, heard)
        return [heard.code, heard.message, type(problem).__name__]

    def _why_not(self, op: int) -> str:
        if self._host is None:
            return "Nothing is open on this connection; begin with HELLO."
        if op == Op.HELLO:
            return "Something is open on this connection; connect once more for another one."
        return f"{Op(op).name} needs a pool; open one with ludus.connect(..., pool=True)."

    async def _hello(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """Open what a client asks for and return its declaration."""
        _check_hello(wanted)
        name, num_envs = wanted.get("id"), wanted.get("num_envs")
        name = self._name if name is None else self._sessions.find(name).name
        mode, kwargs = wanted.get("autoreset_mode"), wanted.get("kwargs") or {}
        if wanted.get("pool", False):
            if num_envs is None or mode is not None:
                raise BadArguments("A pool has num_envs, and no autoreset mode but its own.")
            self._check_number(num_envs)
            count, num_envs = num_envs, None
        else:
            count = 1
        try:
            for _ in range(count):
                session = await self._sessions.open(
                    name,
                    num_envs=num_envs,
                    kwargs=kwargs,
                    owner=self._owner,
                    autoreset_mode=mode,
                )
                self._own.append(session)
                log_session("opened", session)
            host = PoolHost(self._own) if wanted.get("pool", False) else Host(self._own[0])
            declared = await host.declare()
        except BaseException:
            await self.close()
            raise
        self._name = name
        self._begin(host)
        return declared

    def _check_number(self, num_envs: int) -> None:
        most = min(self._sessions.limits.envs, self._sessions.limits.sessions)
        if not 1 <= num_envs <= most:
            raise BadArguments(f"A pool has 1 to {most} environments here, got {num_envs}.")

    def _begin(self, host: Host | PoolHost) -> None:
        self._host = host
        self._operations = _operations(host)
        self._operations[Op.CLOSE] = self._goodbye
        self._watching = asyncio.create_task(self._watch())
        if isinstance(host, Host) and host.session.is_inline and self._install is not None:
            self._quick = {Op.STEP: host.step_inline, Op.STEPS: host.steps_inline}
            self._takes_one_turn = host.takes_one_turn
            self._install(self.answer_now)

    async def _watch(self) -> None:
        """Close the connection when the server closes a session, for instance an idle one."""
        ends = [asyncio.ensure_future(session.ended.wait()) for session in self._own]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends:
                end.cancel()
        why = next((session.why for session in self._own if session.why), "closed")
        reason = f"the session was closed: {why}"
        with suppress(OSError, RuntimeError):  # the connection may have ended meanwhile
            # The loop ends with what receive() then returns.
            await self._send({"type": "websocket.close", "code": _GONE, "reason": reason})

    async def _goodbye(self) -> None:
        await self.close()
        self.ended = (_DONE, "")

    async def close(self) -> None:
        """Close the connection's sessions."""
        if self._watching is not None:
            self._watching.cancel()
        if isinstance(self._host, PoolHost):
            self._host.cancel()
        own, self._own = list(self._own), []
        for session in own:
            with suppress(Error):
                await self._sessions.close(session.id, "disconnected")


def _operations(host: Host | PoolHost) -> dict[int, Callable[..., Awaitable[Any]]]:
    common: dict[int, Callable[..., Awaitable[Any]]] = {
        Op.RESET: host.reset,
        Op.STEP: host.step,
        Op.RENDER: host.render,
        Op.GET_STATE: host.get_state,
        Op.SET_STATE: host.set_state,
        Op.CALL: host.call,
        Op.GET_ATTR: host.get_attr,
    }
    if isinstance(host, PoolHost):
        return common | {Op.SEND: host.send, Op.RECV: host.recv}
    return common | {Op.STEPS: host.steps}


def _check_hello(wanted: dict[str, Any]) -> None:
    for key, value in wanted.items():
        kinds = _HELLO.get(key)
        if kinds is None:
            raise BadArguments(f"HELLO has no entry {key!r:.60}; it has {sorted(_HELLO)}.")
        if type(value) not in kinds:
            raise BadArguments(f"HELLO's {key} is of type {type(value).__name__}.")
