"""The viewer as it is served, on a free port of this machine."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlencode

from ludus.view.serving import make_server
from ludus.view.settings import ViewSettings


@dataclass(frozen=True)
class Answer:
    """What the server answered."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def text(self) -> str:
        """The content as text."""
        return self.content.decode()


@dataclass(frozen=True)
class Client:
    """Asks the server as a browser would."""

    port: int

    @property
    def url(self) -> str:
        """Address of the server."""
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, **headers: str) -> Answer:
        """Send a GET request."""
        return self._send("GET", path, headers=headers)

    def post(self, path: str, origin: str | None = "", **form: object) -> Answer:
        """Post a form, by default from a page of the server itself."""
        headers = {"content-type": "application/x-www-form-urlencoded"}
        if origin is not None:
            headers["origin"] = origin or self.url
        return self._send("POST", path, body=urlencode(form), headers=headers)

    def _send(self, method: str, path: str, **more: object) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, **more)
            found = connection.getresponse()
            headers = {name.lower(): value for name, value in found.getheaders()}
            return Answer(found.status, headers, found.read())
        finally:
            connection.close()


@contextmanager
def serving(folder: Path) -> Iterator[Client]:
    """Serve a folder in a thread."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        port = listening.getsockname()[1]
        server = make_server(replace(ViewSettings.of(folder), port=port))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        try:
            yield Client(port)
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()
