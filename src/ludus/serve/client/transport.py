"""A blocking WebSocket connection of a client.

The handshake is made by the library ``websockets``; messages are framed here. Measured on loopback
with messages of 60 bytes against uvicorn, processor time of the client per round trip: 35 µs with
``websockets.sync`` (a thread receives, and hands over), 17 µs with the library's sans-I/O protocol
on a socket, 10 µs with this file; with messages of 80 kB 60, 38 and 27 µs. A step of a compiled
environment takes less than 1 µs, so this is most of what a client waits for.

The server is not trusted. No compression is offered, so a small message cannot become a large one;
sizes are checked before anything is allocated; every wait has a deadline.
"""

from __future__ import annotations

import os
import selectors
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from ludus.errors import ServerLost, ServerTimeout, ServerViolation
from ludus.optional import require
from ludus.serve.client.address import Address
from ludus.serve.client.attending import attend
from ludus.serve.client.handshake import open_socket, upgrade
from ludus.terminal_text import excerpt

__all__ = ["BINARY", "DEFAULT_MAX_BYTES", "TEXT", "Connection"]

DEFAULT_MAX_BYTES = 2**27
"""Largest message from a server that is accepted."""

TEXT, BINARY = 1, 2
_CONTINUATION, _CLOSE, _PING, _PONG = 0, 8, 9, 10
_FIRST_ROOM = 1 << 16
_CONTROL_BYTES = 125

T = TypeVar("T")


class Connection:
    """An open WebSocket connection; at most one thread may use it at a time.

    Args:
        address: Where the server is.
        subprotocols: What is offered, the most wanted first.
        token: Sent as ``Authorization: Bearer``.
        timeout: Seconds that connecting, and later each message, may take.
        tls: How the server's certificate is checked; by default as Python does.
        max_bytes: Largest message that is accepted.

    Raises:
        ServerLost: There is no server, or it refused; the message has its answer.
        ServerTimeout: It did not answer in time.
    """

    def __init__(
        self,
        address: Address,
        *,
        subprotocols: Sequence[str] = (),
        token: str | None = None,
        timeout: float = 60.0,
        connect_timeout: float | None = None,
        tls: ssl.SSLContext | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> None:
        require("websockets", extra="serve", purpose="Connecting to a server")

        self.address = address
        self.timeout = timeout
        self.max_bytes = max_bytes
        self.lock = threading.RLock()
        """Held while a message is sent and its answer awaited."""
        self.lost = ""
        """Why the connection ended; empty while it is open."""
        self._mask: Callable[[Any, Any], bytes] = _masking()
        self._buffer = bytearray(_FIRST_ROOM)
        self._start = self._end = self._began = 0
        limit = timeout if connect_timeout is None else connect_timeout
        self._deadline = time.monotonic() + limit
        self._socket = open_socket(address, tls, limit)
        try:
            chosen = upgrade(self._socket, address, subprotocols, token, self._deadline)
            self.subprotocol, early = chosen
        except BaseException:
            self._socket.close()
            raise
        self._buffer[: len(early)] = early
        self._end = len(early)
        self._socket.settimeout(timeout)
        attend(self)

    # --- one message and its answer -----------------------------------------------------------

    def exchange(self, message: bytes, opcode: int, read: Callable[[memoryview], T]) -> T:
        """Send a message and return what ``read`` makes of the next one.

        Raises:
            ServerLost: The connection is lost.
            ServerTimeout: There is no answer within the time.
            ServerViolation: What came is of another kind, or ``read`` raised ValueError.
        """
        with self.lock:
            try:
                self.send(message, opcode)
                kind, answer = self.receive()
                if kind != opcode:
                    self.violate(f"a message with opcode {kind} instead of {opcode}")
                return read(answer)
            except ServerLost:
                raise
            except ValueError as problem:
                self.violate(str(problem))
            except BaseException as problem:
                # The answer to an interrupted request would be taken for that of the next one.
                self.abandon(f"a call was interrupted by {type(problem).__name__}")
                raise

    def attend(self) -> None:
        """Answer the pings that came while nobody waited for a message."""
        if not self.lock.acquire(blocking=False):
            return
        try:
            while not self.lost and (self._end > self._start or self._is_readable()):
                self._deadline = time.monotonic() + self.timeout
                kind, at, size = self._frame()
                if kind & 15 < _CLOSE:
                    # A message, which is left for whoever calls next.
                    self._start = self._began
                    return
                self._control(kind & 15, bytes(self._buffer[at : at + size]), bool(kind & 0x80))
        except (ServerLost, OSError, ValueError):
            # Whoever calls next hears of it; ValueError is that of a socket that was just closed.
            pass
        finally:
            self.lock.release()

    def _is_readable(self) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            return bool(selector.select(0))

    # --- sending ------------------------------------------------------------------------------

    def send(self, message: bytes, opcode: int = BINARY) -> None:
        """Send one message.

        Raises:
            ServerLost: The connection is lost.
            ServerTimeout: The server does not take it.
        """
        if self.lost:
            raise ServerLost(self.lost)
        size, mask = len(message), os.urandom(4)
        if size < 126:
            head = bytes((0x80 | opcode, 0x80 | size))
        elif size < 65536:
            head = bytes((0x80 | opcode, 0xFE, size >> 8, size & 255))
        else:
            head = bytes((0x80 | opcode, 0xFF)) + size.to_bytes(8, "big")
        self._write(head + mask + self._mask(message, mask))

    def _write(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except TimeoutError:
            self._time_out("take the message")
        except (OSError, ValueError) as problem:
            self._lose(problem)

    # --- receiving ----------------------------------------------------------------------------

    def receive(self) -> tuple[int, memoryview]:
        """Return the next message and its opcode; the memory is valid until the next call.

        Raises:
            ServerLost: The connection is lost.
            ServerTimeout: There is none within the time.
            ServerViolation: What came is no valid frame, or too large.
        """
        if self.lost:
            raise ServerLost(self.lost)
        if self._start == self._end:
            self._start = self._end = 0
        elif self._start > len(self._buffer) // 2:
            self._compact()
        self._deadline = time.monotonic() + self.timeout
        kind, at, size = self._frame()
        if kind & 0x80 and kind & 15 in (TEXT, BINARY):
            # The usual case: a message in one frame.
            return kind & 15, memoryview(self._buffer)[at : at + size]
        return self._joined(kind, at, size)

    def _joined(self, kind: int, at: int, size: int) -> tuple[int, memoryview]:
        """Return a message whose first frame is a control frame or a fragment."""
        parts: list[bytes] = []
        opcode, total = 0, 0
        while True:
            code = kind & 15
            content = bytes(memoryview(self._buffer)[at : at + size])
            if code >= _CLOSE:
                self._control(code, content, bool(kind & 0x80))
            elif (code == _CONTINUATION) != bool(opcode):
                self.violate("a frame continues nothing, or begins inside a message")
            else:
                opcode = opcode or code
                total += size
                if total > self.max_bytes or len(parts) > 1 << 16:
                    self.violate(f"a message is larger than {self.max_bytes} bytes")
                parts.append(content)
                if kind & 0x80:
                    return opcode, memoryview(b"".join(parts))
            if self._start == self._end:
                self._start = self._end = 0
            kind, at, size = self._frame()

    def _frame(self) -> tuple[int, int, int]:
        """Read one frame; return its first byte, and where its content is in the buffer."""
        while self._end - self._start < 2:
            self._fill(2)
        kind, size, head = self._buffer[self._start], self._buffer[self._start + 1], 2
        if size > 125:
            head = 4 if size == 126 else 10
            if size > 127:
                self.violate("a frame of the server is masked")
            while self._end - self._start < head:
                self._fill(head)
            size = int.from_bytes(self._buffer[self._start + 2 : self._start + head], "big")
            if size < (126 if head == 4 else 65536):
                self.violate("the length of a frame is not in its shortest form")
        if kind & 0x70:
            self.violate("a frame uses an extension that was not offered")
        if kind & 15 not in (_CONTINUATION, TEXT, BINARY, _CLOSE, _PING, _PONG):
            self.violate(f"a frame has the unknown opcode {kind & 15}")
        if size > self.max_bytes:
            self.violate(f"a message of {size} bytes; {self.max_bytes} are accepted")
        while self._end - self._start < head + size:
            self._fill(head + size)
        self._began = self._start
        at = self._start + head
        self._start = at + size
        return kind, at, size

    def _fill(self, wanted: int) -> None:
        """Receive more into the buffer, which has room for ``wanted`` bytes from the start."""
        if self._end == len(self._buffer):
            self._compact(wanted)
        try:
            got = self._socket.recv_into(memoryview(self._buffer)[self._end :])
        except TimeoutError:
            self._time_out("answer")
        except (OSError, ValueError) as problem:
            self._lose(problem)
        if not got:
            self._lose(None)
        self._end += got
        if time.monotonic() > self._deadline:
            # A server that sends a byte from time to time keeps nobody waiting.
            self._time_out("finish its answer")

    def _compact(self, wanted: int = 0) -> None:
        """Move what is not read yet to the start of a buffer with enough room.

        The buffer grows as bytes arrive, not as a header claims: to twice of what came at most.
        """
        kept = self._buffer[self._start : self._end]
        room = max(_FIRST_ROOM, min(wanted, 2 * len(kept)))
        if room > len(self._buffer):
            # A new one, because the last message may still be looked at.
            self._buffer = bytearray(room)
        self._buffer[: len(kept)] = kept
        self._start, self._end = 0, len(kept)

    def _control(self, code: int, content: bytes, whole: bool) -> None:
        if len(content) > _CONTROL_BYTES or not whole:
            self.violate("a control frame is too large or in parts")
        if code == _PING:
            self.send(content, _PONG)
        elif code == _CLOSE:
            status = int.from_bytes(content[:2], "big") if len(content) >= 2 else 1005
            reason = excerpt(content[2:].decode("utf-8", "replace"), 120)
            said = f" ({reason})" if reason else ""
            hint = " It takes smaller messages only: --message-bytes." if status == 1009 else ""
            self._end_with(f"{self.address.url} closed the connection: {status}{said}.{hint}")

    # --- ending -------------------------------------------------------------------------------

    def close(self) -> None:
        """Say goodbye and close; a second call does nothing."""
        if self.lost:
            return
        try:
            self._socket.settimeout(1.0)
            self.send((1000).to_bytes(2, "big"), _CLOSE)
        except (ServerLost, OSError):
            pass
        self._drop(f"The connection to {self.address.url} was closed.")

    def set_timeout(self, seconds: float) -> None:
        """Change how long a message may take."""
        self.timeout = seconds
        self._socket.settimeout(seconds)

    def abandon(self, reason: str) -> None:
        """Close without a word, because the other side's next message would be misunderstood."""
        self._drop(
            f"The connection to {self.address.url} was closed: {reason}. Call reconnect(); "
            "episodes begin anew."
        )

    def violate(self, reason: str) -> NoReturn:
        """Close the connection because of what the server sent.

        Raises:
            ServerViolation: Always.
        """
        text = f"{self.address.url} sent invalid data: {excerpt(reason, 500)}."
        self._drop(text)
        raise ServerViolation(text)

    def _time_out(self, what: str) -> NoReturn:
        text = (
            f"{self.address.url} did not {what} within {self.timeout:g} seconds; the connection "
            "was closed. Allow more with connect(..., timeout=...)."
        )
        self._drop(text)
        raise ServerTimeout(text)

    def _lose(self, problem: Exception | None) -> NoReturn:
        if self.lost:
            raise ServerLost(self.lost)
        why = "it closed the connection" if problem is None else excerpt(str(problem), 200)
        self._end_with(f"The server at {self.address.url} is gone: {why}.")

    def _end_with(self, text: str) -> NoReturn:
        text += " Call reconnect() once it is back; episodes begin anew."
        self._drop(text)
        raise ServerLost(text)

    def _drop(self, why: str) -> None:
        self.lost = self.lost or why
        self._socket.close()


def _masking() -> Callable[[Any, Any], bytes]:
    """Return the function that masks a message, compiled if the library has it compiled."""
    try:
        from websockets.speedups import apply_mask
    except ImportError:
        from websockets.utils import apply_mask
    return apply_mask
