"""A WebSocket protocol for uvicorn that can answer a frame where it arrives.

An application that finds :data:`ANSWER` among the extensions of its scope may install a function
from a text message to the answer, and with :data:`ANSWER_BYTES` one from a binary message. It is
called for frames while nothing else is under way on the connection; if it returns ``None``, the
frame goes the usual way. The same frames are read and
written; only a queue, two task switches and pausing the socket are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ludus.optional import missing

try:
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
except ModuleNotFoundError as problem:
    raise missing(problem.name or "uvicorn", extra="serve", purpose="The server") from problem

__all__ = ["ANSWER", "ANSWER_BYTES", "AnsweringProtocol"]

ANSWER = "ludus.answer"
"""Name of the extension: a function that installs a function."""
ANSWER_BYTES = "ludus.answer.bytes"
"""The same, for binary messages."""

_Answer = Callable[[str], str | None]
_AnswerBytes = Callable[[bytes], bytes | None]


class AnsweringProtocol(WebSocketsSansIOProtocol):  # type: ignore[misc, unused-ignore]
    """Uvicorn's protocol, with :data:`ANSWER`."""

    _answer: _Answer | None = None
    _answer_bytes: _AnswerBytes | None = None

    def handle_connect(self, event: Any) -> None:
        """Offer the extension to the application."""
        super().handle_connect(event)
        if hasattr(self, "scope"):
            extensions: dict[str, Any] = self.scope["extensions"]
            extensions[ANSWER] = self._install
            extensions[ANSWER_BYTES] = self._install_bytes

    def handle_text(self, event: Any) -> None:
        """Answer a whole message at once if that can be done; else queue it."""
        answer = self._answer
        if (
            answer is not None
            and event.fin
            and not self.close_sent
            and self.queue.empty()
            and self.writable.is_set()
        ):
            try:
                text = answer(event.data.decode())
            except UnicodeDecodeError:
                text = None
            if text is not None:
                self.conn.send_text(text.encode())
                self.transport.write(b"".join(self.conn.data_to_send()))
                return
        super().handle_text(event)

    def handle_bytes(self, event: Any) -> None:
        """Answer a whole message at once if that can be done; else queue it."""
        answer = self._answer_bytes
        if (
            answer is not None
            and event.fin
            and not self.close_sent
            and self.queue.empty()
            and self.writable.is_set()
        ):
            content = answer(bytes(event.data))
            if content is not None:
                self.conn.send_binary(content)
                self.transport.write(b"".join(self.conn.data_to_send()))
                return
        super().handle_bytes(event)

    def _install_bytes(self, answer: _AnswerBytes) -> None:
        self._answer_bytes = answer

    def _install(self, answer: _Answer) -> None:
        self._answer = answer
