"""A server in a thread of the test's process, and what the tests of clients share."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from ludus.core import EnvSpec
from ludus.serve import Limits, Served, Sessions
from ludus.serve.binary.server import serve_binary

MIB = 2**20


def served_class(name: str, entry_point: str, **given: Any) -> Served:
    """Return an environment of a class that is trusted here."""
    spec = EnvSpec(name, entry_point=entry_point, disable_env_checker=True)
    return Served(name, spec, **given)


class Running:
    """A server: its URL, its sessions, and its event loop."""

    def __init__(self, served: Sequence[Served], limits: Limits | None) -> None:
        self.sessions = Sessions(served, limits)
        self.loop: asyncio.AbstractEventLoop | None = None

        async def endpoint(websocket: WebSocket) -> None:
            self.loop = asyncio.get_running_loop()
            await serve_binary(websocket, self.sessions)

        app = Starlette(routes=[WebSocketRoute("/ws", endpoint)])
        config = uvicorn.Config(
            app,
            port=0,
            log_level="error",
            lifespan="off",
            ws_max_size=64 * MIB,
            ws_per_message_deflate=False,
            ws_ping_timeout=None,
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)

    @property
    def url(self) -> str:
        host, port = self.server.servers[0].sockets[0].getsockname()[:2]
        return f"http://{host}:{port}"


@contextmanager
def running(*served: Served | str, limits: Limits | None = None) -> Iterator[Running]:
    """Serve environments while the block runs."""
    server = Running([Served.of(s) if isinstance(s, str) else s for s in served], limits)
    server.thread.start()
    try:
        while not server.server.started:
            if not server.thread.is_alive():
                raise RuntimeError("the server did not start")
            threading.Event().wait(0.01)
        yield server
    finally:
        server.server.should_exit = True
        server.thread.join(10)
