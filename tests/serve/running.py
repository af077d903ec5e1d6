"""A server in a thread of the test process, on a free port of 127.0.0.1."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from websockets.sync.client import ClientConnection, connect

from ludus.serve import Served
from ludus.serve.app import create_app
from ludus.serve.bridge import create_bridge
from ludus.serve.service import Service
from ludus.serve.serving import listen, make_server
from ludus.serve.settings import ServeSettings


@dataclass(frozen=True)
class Running:
    """A server that runs."""

    port: int
    service: Service

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def socket(self, path: str = "/ws", **options: Any) -> ClientConnection:
        return connect(f"ws://127.0.0.1:{self.port}{path}", compression=None, **options)

    def ask(
        self, method: str, path: str, data: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any, dict[str, str]]:
        """Return status, body and headers of an HTTP request."""
        body = data if isinstance(data, bytes | None) else json.dumps(data).encode()
        request = urllib.request.Request(self.url + path, body, headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                status, raw, found = answer.status, answer.read(), dict(answer.headers)
        except urllib.error.HTTPError as problem:
            with problem:
                status, raw, found = problem.code, problem.read(), dict(problem.headers)
        try:
            return status, json.loads(raw), found
        except ValueError:
            return status, raw.decode(), found


@contextmanager
def running(
    served: Sequence[Served], *, protocol: str | None = None, **settings: Any
) -> Iterator[Running]:
    """Run a server; all its sessions are closed at the end."""
    chosen = ServeSettings(port=0, **settings)
    listening = listen(chosen)
    chosen = replace(chosen, port=listening.getsockname()[1])
    app = (
        create_app(served, chosen) if protocol is None else create_bridge(served, chosen, protocol)
    )
    server = make_server(app, chosen)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not server.started:
        assert thread.is_alive(), "the server ended"
        assert time.monotonic() < deadline, "the server did not start"
        time.sleep(0.01)
    try:
        yield Running(chosen.port, app.state.service)
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()
        assert not thread.is_alive(), "the server did not stop"


def say(socket: ClientConnection, kind: str, **data: Any) -> dict[str, Any]:
    """Send a message and return the answer."""
    socket.send(json.dumps({"type": kind, "data": data}))
    return json.loads(socket.recv(timeout=60))
