"""What the parts of one server share: sessions, the form of their messages, counts."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from ludus.errors import SessionGone
from ludus.serve.logs import log_session
from ludus.serve.metrics import Metrics
from ludus.serve.openenv.exchange import Exchange, Wire
from ludus.serve.served import Served
from ludus.serve.session import Session
from ludus.serve.sessions import Sessions
from ludus.serve.settings import ServeSettings

__all__ = ["Service"]


class Service:
    """A server's sessions and counts.

    Args:
        served: What it offers, the default first.
        settings: Its settings.

    Attributes:
        settings: As given.
        sessions: All sessions.
        metrics: Its counts.
        wires: The form of messages, by name.
    """

    def __init__(self, served: Sequence[Served], settings: ServeSettings) -> None:
        self.settings = settings
        self.sessions = Sessions(served, settings.limits)
        self.metrics = Metrics()
        token = settings.token
        # From the token, if there is one, so that states outlive the server.
        key = (
            secrets.token_bytes(32)
            if token is None
            else hmac.digest(token.encode(), b"ludus injected states", "sha256")
        )
        self.wires = {one.name: Wire(one, key) for one in served}
        self._exchanges: dict[str, Exchange] = {}
        self.sessions.on_close.append(self._forget)

    def owner(self, scope: Mapping[str, Any]) -> str:
        """Return whom a connection counts for: the client's address."""
        client = scope.get("client")
        return str(client[0]) if client else ""

    async def open(self, name: str, scope: Mapping[str, Any]) -> Exchange:
        """Open a session for a connection.

        Raises:
            Error: As :meth:`Sessions.open`.
        """
        session = await self.sessions.open(name, owner=self.owner(scope))
        log_session("opened", session)
        exchange = Exchange(session, self.wires[name])
        self._exchanges[session.id] = exchange
        return exchange

    def find(self, session_id: str, name: str) -> Exchange:
        """Return the session of an id, of what is served under a name.

        Raises:
            SessionGone: There is none.
        """
        session = self.sessions.get(session_id)
        exchange = self._exchanges.get(session.id)
        if exchange is None or session.served.name != name:
            raise SessionGone(f"This session is none of {name}.", why="unknown")
        return exchange

    def attach(self, session_id: str, name: str) -> Exchange:
        """Return a session for a socket that did not open it; one socket at a time.

        Raises:
            SessionGone: There is none, or it has a socket.
        """
        exchange = self.find(session_id, name)
        if exchange.is_attached:
            raise SessionGone("The session has a socket already.", why="attached")
        exchange.is_attached = True
        return exchange

    def _forget(self, session: Session, why: str) -> None:
        self._exchanges.pop(session.id, None)
        log_session("closed", session, why=why)
