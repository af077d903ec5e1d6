"""Opens environments on servers."""

from __future__ import annotations

import ssl
from typing import Any, overload

from ludus.core.env import Env
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.errors import ServeError
from ludus.serve.binary.frames import PROTOCOL
from ludus.serve.client.address import parse_url
from ludus.serve.client.env import RemoteEnv
from ludus.serve.client.link import Link
from ludus.serve.client.openenv_opening import Asking, open_openenv
from ludus.serve.client.opening import Remote
from ludus.serve.client.pool import RemotePool
from ludus.serve.client.transport import Connection
from ludus.serve.client.vector_env import RemoteVectorEnv

__all__ = ["connect"]

_CONNECT_SECONDS = 10.0


@overload
def connect(
    url: str,
    id: str | None = None,
    *,
    num_envs: None = None,
    token: str | None = None,
    timeout: float = 60.0,
    tls: ssl.SSLContext | None = None,
    **kwargs: Any,
) -> Env[Any, Any]: ...
@overload
def connect(
    url: str,
    id: str | None = None,
    *,
    num_envs: int,
    autoreset_mode: AutoresetMode | str | None = None,
    pool: bool = False,
    token: str | None = None,
    timeout: float = 60.0,
    tls: ssl.SSLContext | None = None,
    **kwargs: Any,
) -> VectorEnv[Any, Any, Any]: ...
def connect(
    url: str,
    id: str | None = None,
    *,
    num_envs: int | None = None,
    autoreset_mode: AutoresetMode | str | None = None,
    pool: bool = False,
    token: str | None = None,
    timeout: float = 60.0,
    tls: ssl.SSLContext | None = None,
    **kwargs: Any,
) -> Env[Any, Any] | VectorEnv[Any, Any, Any]:
    """Open an environment on a server: ``ludus serve``, or any server of OpenEnv's protocol.

    Args:
        url: The server, such as ``"http://127.0.0.1:8000"``; https, ws and wss are possible too.
        id: Which environment; by default the server's first one, or that of the URL's path
            (``http://host:8000/env/FrozenLake-v1``).
        num_envs: Size of a batch; ``None`` for a single environment.
        autoreset_mode: Of a batch, as for ``ludus.make_vec``.
        pool: Whether the environments of the batch are stepped each for itself, so that any of
            them can be sent actions and received; see ``RemotePool``.
        token: The server's token, if it wants one.
        timeout: Seconds that each answer may take.
        tls: How the server's certificate is checked; by default as Python does.
        **kwargs: Arguments of the environment that the server lets clients set, such as
            ``render_mode``.

    Returns:
        An environment, or with ``num_envs`` a vector environment. Close it, or use it in a
        ``with`` statement: the server keeps it as long as the connection is open.

    Raises:
        ServerLost: There is no server, or it refused the connection; the message says why.
        UnknownName: It does not offer this environment; the message says what it offers.
        BadArguments: It does not let clients set an argument.
        CapacityReached: It is full.
        ServeError: An argument is invalid.

    Example:
        >>> with ludus.connect("http://127.0.0.1:8000", "CartPole-v1") as env:  # doctest: +SKIP
        ...     observation, info = env.reset(seed=0)
    """
    _check(num_envs, pool, timeout)
    address = parse_url(url)
    mode = AutoresetMode(autoreset_mode).value if autoreset_mode is not None else None

    def open_connection() -> Connection:
        return Connection(
            address,
            subprotocols=(PROTOCOL,),
            token=token,
            timeout=timeout,
            connect_timeout=min(timeout, _CONNECT_SECONDS),
            tls=tls,
        )

    connection, remote = open_connection(), Remote(url, id, token, timeout, tls)
    if connection.subprotocol is None:
        given = {"num_envs": num_envs, "autoreset_mode": autoreset_mode, **kwargs}
        asking = Asking(address, token, timeout, tls)
        return open_openenv(connection, open_connection, asking, remote, given)
    hello = {
        "id": id,
        "num_envs": num_envs,
        "autoreset_mode": mode,
        "kwargs": kwargs,
        "pool": pool,
    }
    link = Link.over(connection, open_connection, hello)
    try:
        if num_envs is None:
            return RemoteEnv(link, remote)
        kind = RemotePool if pool else RemoteVectorEnv
        return kind(link, remote, num_envs)
    except BaseException:
        link.connection.close()
        raise


def _check(num_envs: Any, pool: bool, timeout: Any) -> None:
    if num_envs is not None and (type(num_envs) is not int or num_envs < 1):
        raise ServeError(f"num_envs is {num_envs!r:.60}; expected an int of at least 1, or None.")
    if pool and num_envs is None:
        raise ServeError("A pool has several environments; pass num_envs.")
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= 1e6:
        raise ServeError(f"timeout is {timeout!r:.60}; expected seconds above 0.")
