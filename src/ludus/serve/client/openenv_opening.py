"""Opening of an environment on a server of OpenEnv's protocol: its schemas and its name."""

from __future__ import annotations

import http.client
import json
import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ludus.core.spec import EnvSpec, SecuritySpec
from ludus.errors import ServeError, ServerLost, ServerTimeout, UnknownName
from ludus.serve.client.address import Address
from ludus.serve.client.handshake import checked_token
from ludus.serve.client.openenv_env import OpenEnvEnv
from ludus.serve.client.opening import Remote
from ludus.serve.client.transport import Connection
from ludus.spaces.errors import SpaceTypeError, SpaceValueError
from ludus.terminal_text import excerpt

__all__ = ["Asking", "open_openenv"]

_MOST_BYTES = 1 << 22


class Asking:
    """Gets JSON from a server by HTTP.

    Args:
        address: Where the server is.
        token: Sent as ``Authorization: Bearer``.
        timeout: Seconds that an answer may take.
        tls: How the server's certificate is checked.
    """

    def __init__(
        self, address: Address, token: str | None, timeout: float, tls: ssl.SSLContext | None
    ) -> None:
        self._address, self._timeout, self._tls = address, timeout, tls
        self._headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {checked_token(token)}"

    def get(self, path: str) -> dict[str, Any]:
        """Return the JSON object at a path below the server's.

        Raises:
            ServerLost: There is none, or it is too large.
            ServerTimeout: It took too long.
        """
        at, host = self._address, self._address.host
        if at.secure:
            tls = self._tls or ssl.create_default_context()
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                host, at.port, timeout=self._timeout, context=tls
            )
        else:
            connection = http.client.HTTPConnection(host, at.port, timeout=self._timeout)
        try:
            connection.request("GET", at.base + path, headers=self._headers)
            response = connection.getresponse()
            body = response.read(_MOST_BYTES + 1)
            status = response.status
        except TimeoutError:
            raise ServerTimeout(f"{at.url} did not answer GET {path} in time.") from None
        except (OSError, http.client.HTTPException) as problem:
            raise ServerLost(
                f"{at.url} did not answer GET {path}: {excerpt(repr(problem), 200)}."
            ) from problem
        finally:
            connection.close()
        try:
            found = json.loads(body) if status == 200 and len(body) <= _MOST_BYTES else None
        except (ValueError, RecursionError):
            found = None
        if type(found) is not dict:
            raise ServerLost(
                f"{at.url} speaks neither Ludus's binary protocol nor OpenEnv's: GET {path} gave "
                f"status {status} and no JSON object."
            )
        return found


def open_openenv(
    connection: Connection,
    connect: Callable[[], Connection],
    asking: Asking,
    remote: Remote,
    arguments: Mapping[str, Any],
) -> OpenEnvEnv:
    """Return the environment of an OpenEnv server.

    Args:
        connection: An open connection to it.
        connect: Opens others.
        asking: Gets JSON from it.
        remote: Where it is, and the id that was asked for, if one was.
        arguments: What was given that OpenEnv has no message for.

    Raises:
        ServeError: There are arguments.
        UnknownName: Its environment has another name.
        ServerLost: It has no schemas, or no valid ones.
    """
    try:
        given = sorted(name for name, value in arguments.items() if value is not None)
        if given:
            raise ServeError(
                f"{connection.address.url} is an OpenEnv server, whose clients cannot set "
                f"{', '.join(given)}. It has single environments with fixed arguments."
            )
        name = _name(asking)
        if remote.id is not None and remote.id != name:
            raise UnknownName(
                f"{remote.id!r:.100} is not served at {connection.address.url}, but {name!r:.100}. "
                "An OpenEnv server has one environment; the id can be left out."
            )
        schemas = asking.get("/schema")
        spec = EnvSpec(
            f"openenv/{re.sub(r'[^A-Za-z0-9_.-]+', '_', name)[:80] or 'env'}",
            entry_point=replace(remote, metadata={"render_modes": []}),
            nondeterministic=True,
            security=SecuritySpec(network="host"),
        )
        first = [connection]
        return OpenEnvEnv(lambda: first.pop() if first else connect(), schemas, spec)
    except (SpaceTypeError, SpaceValueError) as problem:
        connection.close()
        raise ServerLost(f"{connection.address.url} has no valid schemas: {problem}") from problem
    except BaseException:
        connection.close()
        raise


def _name(asking: Asking) -> str:
    """Return what the server calls its environment."""
    name = asking.get("/metadata").get("name")
    return name if type(name) is str and name else "env"
