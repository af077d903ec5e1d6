"""The server's log: one JSON object per line, or text."""

from __future__ import annotations

import hashlib
import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, Literal

from ludus.serve.errors import Told
from ludus.serve.session import Session
from ludus.terminal_text import escaped

__all__ = ["LogFormat", "log_event", "log_failure", "log_refusal", "log_session", "set_up_logging"]

LogFormat = Literal["json", "text"]

_log = logging.getLogger("ludus.serve")


def set_up_logging(form: LogFormat = "json", level: str = "INFO") -> None:
    """Write the server's events to the standard error, in place of what was set up before."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        _Json() if form == "json" else _Text("%(asctime)s %(levelname)s %(message)s")
    )
    for name in ("ludus.serve", "uvicorn"):
        log = logging.getLogger(name)
        log.handlers[:] = [handler]
        log.setLevel(level if name == "ludus.serve" else logging.WARNING)
        log.propagate = False


def log_event(event: str, /, *, level: int = logging.INFO, **fields: Any) -> None:
    """Log one event with its fields."""
    _log.log(level, event, extra={"fields": fields})


def log_session(event: str, session: Session, **more: Any) -> None:
    """Log what happened to a session; of its id, which is a secret, only a hash."""
    log_event(
        f"session {event}",
        session=hashlib.sha256(session.id.encode()).hexdigest()[:12],
        env=session.served.name,
        num_envs=session.num_envs,
        owner=session.owner,
        steps=session.total_steps,
        episodes=session.episode,
        **more,
    )


def log_failure(name: str, problem: Exception, heard: Told) -> None:
    """Log an exception of an environment, and what the client heard of it."""
    is_foreseen = heard.status < 500 or heard.code == "CAPACITY_REACHED"
    _log.log(
        logging.INFO if is_foreseen else logging.ERROR,
        "request failed",
        exc_info=None if is_foreseen else problem,
        extra={"fields": {"env": name, "code": heard.code, "problem": str(problem)[:1000]}},
    )


def log_refusal(reason: str, owner: str, path: str) -> None:
    """Log a request that was refused before anything saw it."""
    log_event("request refused", level=logging.WARNING, reason=reason, owner=owner, path=path[:200])


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        told: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)
        return json.dumps(told, default=str)


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text, with the control characters in it written out."""
        fields = getattr(record, "fields", {})
        shown = " ".join(f"{name}={value}" for name, value in fields.items() if value is not None)
        return escaped(f"{super().format(record)} {shown}".rstrip())
