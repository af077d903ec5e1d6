"""Requests of the binary sub-protocol and their answers, over a connection."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ludus import errors
from ludus.codec import decode
from ludus.errors import Error, ServedEnvError
from ludus.serve.binary.frames import ANSWER_LIMITS, REQUEST_LIMITS, Kind, Op, write
from ludus.serve.client.transport import BINARY, Connection
from ludus.terminal_text import excerpt

__all__ = ["Link", "server_error"]

_TEXT = 4000
_CLOSE_TIMEOUT = 2.0
_SAME_ERRORS: dict[str, type[Exception]] = {
    name: getattr(errors, name)
    for name in (
        "BadArguments",
        "CapacityReached",
        "CodecError",
        "ClosedEnvironmentError",
        "DependencyNotInstalled",
        "DeprecatedEnv",
        "EpisodeOver",
        "Error",
        "InvalidAction",
        "InvalidArgument",
        "MissingArgument",
        "NameNotFound",
        "NamespaceNotFound",
        "ResetNeeded",
        "ServeError",
        "SessionGone",
        "StateError",
        "UnknownName",
        "UnregisteredEnv",
        "UnsupportedMode",
        "VersionNotFound",
    )
} | {"NotImplementedError": NotImplementedError, "TypeError": TypeError, "ValueError": ValueError}


class Link:
    """Asks a server, one request after the other.

    Args:
        connect: Opens a connection.
        hello: What to open there.

    Raises:
        ServerLost: There is no server.
        Error: It does not open that.
    """

    def __init__(self, connect: Callable[[], Connection], hello: dict[str, Any]) -> None:
        self._connect, self._hello = connect, hello
        self._maker = os.getpid()
        self._open(connect())

    @classmethod
    def over(
        cls, connection: Connection, connect: Callable[[], Connection], hello: dict[str, Any]
    ) -> Link:
        """Return the link over a connection that is already there."""
        first = [connection]
        return cls(lambda: first.pop() if first else connect(), hello)

    def _open(self, connection: Connection) -> None:
        self.connection = connection
        self._number = 0
        try:
            self.declared: Any = self.call(Op.HELLO, self._hello)
        except BaseException:
            connection.close()
            raise

    def reconnect(self) -> None:
        """Close what is left of the connection, and open the same anew."""
        self.connection.close()
        self._open(self._connect())

    def call(self, op: int, *fields: Any) -> Any:
        """Send a request and return the value of its answer, decoded and not checked.

        Raises:
            ServerLost: The connection is lost, or was lost before.
            CodecError: A field is no plain data; nothing was sent.
            Error: The server answered with an error.
        """
        connection = self.connection
        with connection.lock:
            data = self._request(op, fields)
            message = connection.exchange(data, BINARY, _decoded)
            if type(message) is not list or len(message) < 3:
                connection.violate("an answer is no list of at least three entries")
            kind, number, *values = message
            if type(number) is not int or number != self._number:
                # What the server cannot read has no number; a SEND is answered only by an error.
                if kind != Kind.ERROR or type(number) is not int or not 0 <= number < self._number:
                    connection.violate(f"answer {number!r:.50} came instead of {self._number}")
                connection.abandon("the server could not go on")
        if kind == Kind.VALUE and len(values) == 1:
            return values[0]
        if kind != Kind.ERROR or len(values) != 3 or any(type(v) is not str for v in values):
            connection.violate(f"an answer of kind {kind!r:.50} with {len(values)} fields")
        raise server_error(*values)

    def send(self, op: int, *fields: Any) -> None:
        """Send a request and return without waiting for an answer."""
        connection = self.connection
        with connection.lock:
            connection.send(self._request(op, fields), BINARY)

    def _request(self, op: int, fields: tuple[Any, ...]) -> bytes:
        if os.getpid() != self._maker:
            raise Error(
                f"The connection to {self.connection.address.url} was made in process "
                f"{self._maker}; call ludus.connect() in this one."
            )
        self._number += 1
        return write(op, self._number, list(fields), REQUEST_LIMITS)

    def close(self) -> None:
        """Let the server close the environment, then close the connection."""
        connection = self.connection
        if connection.lost or os.getpid() != self._maker:
            return
        connection.set_timeout(min(connection.timeout, _CLOSE_TIMEOUT))
        try:
            self.call(Op.CLOSE)
        except Error:
            pass
        finally:
            connection.close()


def _decoded(message: memoryview) -> Any:
    return decode(message, ANSWER_LIMITS)


def server_error(code: str, text: str, name: str) -> Exception:
    """Return the exception for an error that a server sent."""
    shown = excerpt(text, _TEXT)
    same = _SAME_ERRORS.get(name)
    if same is not None:
        return same(shown or "The server gave no reason.")
    kind = excerpt(name, 100) or excerpt(code, 100)
    return ServedEnvError(f"The environment on the server raised {kind}: {shown}", kind=kind)
