"""Connections to a model's server, which need not be trusted.

The ``openai`` package reads the body of an error whole, follows redirects, and waits as long as
something comes now and then. Here an exchange ends at its deadline in whatever phase it is, errors
are read up to a limit, nothing is sent on to another address, and an answer is compressed at most
once. Only what the HTTP library documents is used: its hooks for events, and its traces.
"""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["HEADERS", "Connections", "ErrorAnswer", "without_key"]

HEADERS = {"Accept-Encoding": "gzip"}
"""Of every request."""
MAX_ERROR_BYTES = 1 << 18
_ENCODINGS = ("", "deflate", "gzip", "identity")
_SHORTEST_KEY = 8


class ErrorAnswer(Exception):
    """The server answered with another status than 200.

    Attributes:
        status: The status.
        text: What it says, at most 500 characters.
        code: Its error's code, if it has one.
        headers: Of the answer.
    """

    def __init__(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.status, self.headers = status, headers
        self.text, self.code = _error_of(body)
        if 300 <= status < 400:
            self.text = f"it sends to {headers.get('location', '')!r:.200}, which is not asked."
        super().__init__(f"status {status}, {self.text}")


class Unwelcome(Exception):
    """An answer that is not read."""


class Connections:
    """Makes the HTTP client of a model's server, and cuts its connections at a deadline."""

    def __init__(self) -> None:
        # The last few: one is in use, the others may be idle.
        self._streams: deque[Any] = deque(maxlen=4)

    def client(self, openai: Any) -> Any:
        """Return a client for the ``openai`` package."""
        hooks = {"request": [self._watch], "response": [_check]}
        return openai.DefaultHttpxClient(follow_redirects=False, event_hooks=hooks)

    @contextmanager
    def deadline(self, seconds: float) -> Iterator[None]:
        """Cut the connections if the block takes longer; then reading from them fails."""
        timer = threading.Timer(max(seconds, 0.001), self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _watch(self, request: Any) -> None:
        request.extensions["trace"] = self._trace

    def _trace(self, name: str, info: Mapping[str, Any]) -> None:
        if name in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._streams.append(info["return_value"])

    def _cut(self) -> None:
        for stream in list(self._streams):
            # Closed elsewhere meanwhile, or wrapped by TLS.
            with suppress(OSError, AttributeError):
                stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


def without_key(text: str, key: str | None) -> str:
    """Return a text without a key, which servers may repeat and records would keep."""
    return text.replace(key, "[key]") if key and len(key) >= _SHORTEST_KEY else text


def _check(response: Any) -> None:
    """Refuse an answer by its head, before anything reads its body."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        raise Unwelcome(f"its answer is encoded as {encoding!r:.80}")
    if response.status_code == 200:
        return
    body = b""
    # As it came: what is compressed could become very large.
    for part in response.iter_raw():
        body += part
        if len(body) > MAX_ERROR_BYTES:
            break
    raise ErrorAnswer(response.status_code, body, response.headers)


def _error_of(body: bytes) -> tuple[str, str]:
    """Return message and code of an error's body."""
    with suppress(ValueError, RecursionError):
        found = json.loads(body)
        error = found.get("error", found) if isinstance(found, dict) else None
        if isinstance(error, dict):
            message, code = error.get("message"), error.get("code")
            text = message if isinstance(message, str) else json.dumps(error)
            return _plain(text), _plain(code if isinstance(code, str) else "")
        if isinstance(error, str):
            return _plain(error), ""
    return _plain(body.decode("utf-8", "replace")), ""


def _plain(text: str) -> str:
    return text[:500].encode("utf-8", "replace").decode()
