"""The server's side of the binary sub-protocol: one connection, from HELLO to its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ludus import errors, logger
from ludus.errors import BadArguments, CodecError, Error, UnknownName
from ludus.serve.binary.frames import PROTOCOL, Kind, Op, read_request, write
from ludus.serve.binary.hosting import Host
from ludus.serve.binary.pool import PoolHost
from ludus.serve.session import Session
from ludus.serve.sessions import Sessions
from ludus.terminal_text import excerpt

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

__all__ = ["serve_binary"]

_TEXT = 4000
_WRONG_DATA, _WRONG_KIND, _DONE = 1002, 1003, 1000
_HELLO = {
    "id": (str, type(None)),
    "num_envs": (int, type(None)),
    "kwargs": (dict,),
    "autoreset_mode": (str, type(None)),
    "pool": (bool,),
}


async def serve_binary(websocket: WebSocket, sessions: Sessions, *, owner: str = "") -> None:
    """Serve one WebSocket whose client offered the sub-protocol, until either side ends.

    The caller has checked host, origin and token. The connection's sessions are closed with it.

    Args:
        websocket: Not accepted yet.
        sessions: Those of the server.
        owner: Whom sessions of this connection count for.
    """
    await websocket.accept(subprotocol=PROTOCOL)
    connection = _Connection(sessions, owner)
    try:
        while True:
            message = await websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            data = message.get("bytes")
            if data is None:
                await websocket.close(_WRONG_KIND, "binary messages only")
                return
            answer = await connection.answer(data)
            if answer is not None:
                await websocket.send({"type": "websocket.send", "bytes": answer})
            if connection.ended is not None:
                await websocket.close(*connection.ended)
                return
    finally:
        await connection.close()


class _Connection:
    """Requests of one connection, answered one after the other."""

    def __init__(self, sessions: Sessions, owner: str) -> None:
        self._sessions, self._owner = sessions, owner
        self._own: list[Session] = []
        self._host: Host | PoolHost | None = None
        self._operations: dict[int, Callable[..., Awaitable[Any]]] = {Op.HELLO: self._hello}
        self.ended: tuple[int, str] | None = None
        """Code and reason with which to close the connection after the answer."""

    async def answer(self, data: bytes) -> bytes | None:
        """Return the answer to one message, if it has one."""
        try:
            op, number, fields = read_request(data)
        except CodecError as problem:
            self.ended = (_WRONG_DATA, "no valid request")
            return write(Kind.ERROR, 0, ["request", excerpt(str(problem), _TEXT), "CodecError"])
        try:
            operation = self._operations.get(op)
            if operation is None:
                raise BadArguments(self._why_not(op))
            value = await operation(*fields)
            return None if op == Op.SEND else write(Kind.VALUE, number, [value])
        except Exception as problem:  # of the environment, of any kind: the client hears of it
            if op == Op.SEND:
                self.ended = (_WRONG_DATA, excerpt(str(problem), 100))
            return write(Kind.ERROR, number, _described(problem))

    def _why_not(self, op: int) -> str:
        if self._host is None:
            return "Nothing is open on this connection; begin with HELLO."
        if op == Op.HELLO:
            return "Something is open on this connection; connect once more for another one."
        return f"{Op(op).name} needs a pool; open one with ludus.connect(..., pool=True)."

    async def _hello(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """Open what a client asks for and return its declaration."""
        _check_hello(wanted)
        name = wanted.get("id")
        if name is None:
            name = self._only_name()
        num_envs, pool = wanted.get("num_envs"), wanted.get("pool", False)
        own: dict[str, Any] = {"kwargs": wanted.get("kwargs") or {}, "owner": self._owner}
        if pool:
            self._host = await self._pool(name, num_envs, own, wanted.get("autoreset_mode"))
        else:
            mode = wanted.get("autoreset_mode")
            session = await self._sessions.open(name, num_envs=num_envs, autoreset_mode=mode, **own)
            self._own.append(session)
            self._host = Host(session)
        try:
            declared = await self._host.declare()
        except BaseException:
            self._host = None
            await self.close()
            raise
        self._operations = _operations(self._host)
        self._operations[Op.CLOSE] = self._goodbye
        return declared

    async def _pool(
        self, name: str, num_envs: int | None, own: dict[str, Any], mode: str | None
    ) -> PoolHost:
        if num_envs is None or not 1 <= num_envs <= self._sessions.limits.envs or mode is not None:
            raise BadArguments(
                f"A pool has num_envs from 1 to {self._sessions.limits.envs} and no autoreset "
                f"mode but its own; got num_envs={num_envs}, autoreset_mode={mode!r:.40}."
            )
        try:
            for _ in range(num_envs):
                self._own.append(await self._sessions.open(name, **own))
        except BaseException:
            await self.close()
            raise
        return PoolHost(list(self._own))

    def _only_name(self) -> str:
        names = list(self._sessions.served)
        if len(names) != 1:
            raise UnknownName(
                f"The server offers {len(names)} environments; name one of them as id: "
                f"{excerpt(str(names), 1000)}."
            )
        return names[0]

    async def _goodbye(self) -> None:
        await self.close()
        self.ended = (_DONE, "")

    async def close(self) -> None:
        """Close the connection's sessions."""
        if isinstance(self._host, PoolHost):
            self._host.cancel()
        own, self._own = self._own, []
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


def _described(problem: Exception) -> list[str]:
    """Return code, text and class of an exception; never a traceback, which tells of the server."""
    known = getattr(errors, type(problem).__name__, None) is type(problem)
    code = "refused" if known else "raised"
    try:
        text = excerpt(str(problem), _TEXT)
    except Exception:  # the text of a class of the environment's own may raise anything
        text = "(its text is not available)"
    if not known and not isinstance(problem, TypeError | ValueError | NotImplementedError):
        logger.warn(f"An environment on the server raised {type(problem).__name__}: {text[:300]}")
    return [code, text.encode("utf-8", "replace").decode(), type(problem).__name__]
