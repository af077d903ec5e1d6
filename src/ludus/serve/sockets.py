"""A WebSocket protocol for uvicorn that can answer a frame where it arrives.

An application that finds :data:`ANSWER` among the extensions of its scope may install a function
from a text message to the answer. It is called for text frames while nothing else is under way on
the connection; if it returns ``None``, the frame goes the usual way. The same frames are read and
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

__all__ = ["ANSWER", "AnsweringProtocol"]

ANSWER = "ludus.answer"
"""Name of the extension: a function that installs a function."""

_Answer = Callable[[str], str | None]


class AnsweringProtocol(WebSocketsSansIOProtocol):  # type: ignore[misc, unused-ignore]
    """Uvicorn's protocol, with :data:`ANSWER`."""

    _answer: _Answer | None = None

    def handle_connect(self, event: Any) -> None:
        """Offer the extension to the application."""
        super().handle_connect(event)
        if hasattr(self, "scope"):
            extensions: dict[str, Any] = self.scope["extensions"]
            extensions[ANSWER] = self._install

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

    def _install(self, answer: _Answer) -> None:
        self._answer = answer
