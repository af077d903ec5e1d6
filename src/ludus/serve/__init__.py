"""Serves environments and research tasks over the network.

- :mod:`~ludus.serve.served`: what a server offers; :mod:`~ludus.serve.schemas`: its spaces as JSON
  Schemas and its values as JSON.
- :mod:`~ludus.serve.sessions`: sessions with their limits; :mod:`~ludus.serve.session`: one of
  them; :mod:`~ludus.serve.places`: where its steps run.
- :mod:`~ludus.serve.openenv`: OpenEnv's WebSocket and HTTP protocols on top of sessions.
- :mod:`~ludus.serve.app`: the application; :mod:`~ludus.serve.serving`: the server that runs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names

if TYPE_CHECKING:
    from ludus.serve.limits import Limits
    from ludus.serve.served import Served
    from ludus.serve.session import Result, Session
    from ludus.serve.sessions import Sessions

__all__ = ["Limits", "Result", "Served", "Session", "Sessions"]

__getattr__ = lazy_names(
    __name__,
    {
        "Limits": "limits",
        "Result": "session",
        "Served": "served",
        "Session": "session",
        "Sessions": "sessions",
    },
)
