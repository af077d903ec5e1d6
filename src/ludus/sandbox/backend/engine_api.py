"""The HTTP interface of a container engine's daemon, over its socket on this machine."""

from __future__ import annotations

import http.client
import json
import os
import socket
from typing import Any

from ludus.errors import SandboxError

__all__ = ["Refusal", "request", "socket_path"]

_DEFAULT = "unix:///var/run/docker.sock"
_VERSION = "/v1.41"
_PATIENCE = 60.0


class Refusal(SandboxError):
    """The daemon answered with an error ``status``."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket instead of an address."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def socket_path() -> str:
    """Return the path of the daemon's socket: ``$DOCKER_HOST`` or the default.

    Raises:
        SandboxError: the daemon is on another machine, whose containers cannot be entered.
    """
    kind, _, path = (os.environ.get("DOCKER_HOST") or _DEFAULT).partition("://")
    if kind != "unix":
        raise SandboxError(
            f"DOCKER_HOST is {kind}://{path}; sandboxes need a daemon on this machine. Expected "
            "unix:// and the path of its socket."
        )
    return path


def request(
    path: str,
    method: str,
    target: str,
    content: object = None,
    *,
    patience: float = _PATIENCE,
) -> Any:
    """Send an HTTP request to the daemon and return its answer, parsed if it is JSON.

    Bytes are sent as they are, other content as JSON.

    Raises:
        Refusal: it answered with an error.
        SandboxError: it cannot be reached within ``patience`` seconds.
    """
    body = content if isinstance(content, bytes) or content is None else json.dumps(content)
    kind = "application/x-tar" if isinstance(content, bytes) else "application/json"
    connection = _Connection(path, patience)
    try:
        connection.request(method, _VERSION + target, body, {"Content-Type": kind})
        answer = connection.getresponse()
        text = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise SandboxError(f"The Docker daemon at {path} does not answer: {error}.") from None
    finally:
        connection.close()
    if answer.status >= 300:
        said = text.decode("utf-8", "backslashreplace").strip()[-1000:]
        raise Refusal(f"Docker refused {method} {target}: {said!r}.", answer.status)
    try:
        return json.loads(text)
    except ValueError:
        return text
