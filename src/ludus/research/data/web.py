"""Opens web addresses whose servers need not be trusted."""

from __future__ import annotations

import http.client
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ludus.errors import DataMissing

__all__ = ["WebStream", "opened"]


class WebStream:
    """The body of an answer.

    A server that keeps a connection alive with next to nothing, before or in its answer, would
    never run into a time limit for silence. So a thread cuts the connection if too little has
    come.

    Args:
        seconds: How often it looks.
        least: Bytes of the body that must have come in between.
    """

    def __init__(self, seconds: float, least: int) -> None:
        self._seconds, self._least = seconds, least
        self._came = 0
        self._answer: Any = None
        self._socket: socket.socket | None = None
        self._is_over = threading.Event()
        self.is_cut = False
        threading.Thread(target=self._watch, daemon=True).start()

    def read1(self, size: int) -> bytes:
        """Return some bytes; none at the end.

        Raises:
            http.client.HTTPException: It breaks off.
            OSError: Likewise.
        """
        data = b""
        try:
            data = self._answer.read1(size)
        except (http.client.HTTPException, OSError):
            if not self.is_cut:
                raise
        self._came += len(data)
        if self.is_cut and not data:
            raise ConnectionError("the server sends next to nothing")
        return data

    def close(self) -> None:
        """Stop watching, and close the connection."""
        self._is_over.set()
        if self._answer is not None:
            self._answer.close()

    def ask(self, url: str) -> Any:
        """Send the request and return the answer's headers."""
        opener = urllib.request.OpenerDirector()
        # No others: an address that is sent on to a file or another protocol is refused.
        for handler in (
            urllib.request.ProxyHandler(),
            _Http(self),
            _Https(self),
            urllib.request.HTTPDefaultErrorHandler(),
            _Redirects(),
            urllib.request.HTTPErrorProcessor(),
        ):
            opener.add_handler(handler)
        self._answer = opener.open(url, timeout=self._seconds)
        return self._answer

    def take(self, connection: socket.socket) -> None:
        """Watch a connection instead of the one before."""
        self._socket = connection

    def _watch(self) -> None:
        before = 0
        while not self._is_over.wait(self._seconds):
            if self._came - before < self._least:
                self.is_cut = True
                with suppress(OSError, AttributeError):
                    # Whoever waits for its bytes sees the end of them.
                    self._socket.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]
                return
            before = self._came


@contextmanager
def opened(url: str, seconds: float, least: int) -> Iterator[tuple[WebStream, int | None]]:
    """Open an address, and tell the size of what it has, if that is known.

    Args:
        url: Begins with ``http://`` or ``https://``.
        seconds: How long the server may be silent.
        least: Bytes that must come in this time.

    Raises:
        DataMissing: It cannot be reached, or does not answer as web servers do.
    """
    stream = WebStream(seconds, least)
    try:
        answer = _answer(stream, url)
        if answer.status != 200:
            raise DataMissing(f"{url} answers {answer.status} {answer.reason}; expected 200.")
        length = answer.headers.get("Content-Length", "")
        is_number = length.isascii() and length.isdecimal() and len(length) < 20
        yield stream, int(length) if is_number else None
    finally:
        stream.close()


def _answer(stream: WebStream, url: str) -> Any:
    try:
        return stream.ask(url)
    except urllib.error.HTTPError as problem:
        problem.close()
        raise DataMissing(f"{url} answers {problem.code} {problem.reason}.") from problem
    except urllib.error.URLError as problem:
        raise DataMissing(f"{url} cannot be reached: {problem.reason}.") from problem
    except (http.client.HTTPException, OSError, ValueError) as problem:
        told = "the server sends next to nothing" if stream.is_cut else repr(problem)
        raise DataMissing(f"{url} does not answer as a web server: {told:.300}.") from problem


class _Http(urllib.request.HTTPHandler):
    def __init__(self, stream: WebStream) -> None:
        super().__init__()
        self._stream = stream

    def http_open(self, request: urllib.request.Request) -> Any:
        return self.do_open(_kind(http.client.HTTPConnection, self._stream), request)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, stream: WebStream) -> None:
        super().__init__()
        self._stream = stream

    def https_open(self, request: urllib.request.Request) -> Any:
        return self.do_open(_kind(http.client.HTTPSConnection, self._stream), request)


def _kind(kind: type[http.client.HTTPConnection], stream: WebStream) -> Any:
    """Return a class of connections that are watched."""

    class Watched(kind):  # type: ignore[misc, valid-type]
        def connect(self) -> None:
            super().connect()
            stream.take(self.sock)

    return Watched


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows addresses that are as safe as the one before."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if req.full_url.startswith("https:") and not newurl.startswith("https:"):
            told = f"sends to {newurl:.200}, which anybody on the way can read and change"
            raise urllib.error.HTTPError(req.full_url, code, told, headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)
