"""Counts of a server, in Prometheus's text format."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from ludus.serve.sessions import Sessions
from ludus.version import __version__

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_Sample = tuple[dict[str, str], float]


class Metrics:
    """What a server has done.

    Attributes:
        frames: Number of messages over sockets.
        errors: Number of errors that clients heard, by code.
        requests: Number of HTTP answers, by status.
        refused: Number of requests that were refused before anything saw them, by reason.
    """

    def __init__(self) -> None:
        self._began = time.time()
        self.frames = 0
        self.errors: Counter[str] = Counter()
        self.requests: Counter[int] = Counter()
        self.refused: Counter[str] = Counter()

    def error(self, code: str) -> None:
        """Count an error that a client heard."""
        self.errors[code] += 1

    def text(self, sessions: Sessions) -> str:
        """Return all counts."""
        by_env = Counter(one.served.name for one in sessions)
        return "\n".join(
            [
                *_metric("ludus_info", "gauge", "The server.", [({"version": __version__}, 1)]),
                *_metric("ludus_start_time_seconds", "gauge", "Start.", [({}, self._began)]),
                *_metric(
                    "ludus_sessions",
                    "gauge",
                    "Sessions that are open.",
                    [({"env": name}, by_env[name]) for name in sessions.served],
                ),
                *_metric(
                    "ludus_sessions_limit",
                    "gauge",
                    "Most sessions.",
                    [({}, sessions.limits.sessions)],
                ),
                *_metric(
                    "ludus_sessions_opened_total",
                    "counter",
                    "Sessions that were opened.",
                    [({}, sessions.opened)],
                ),
                *_metric(
                    "ludus_sessions_refused_total",
                    "counter",
                    "Sessions that were refused because of a limit.",
                    [({}, sessions.refused)],
                ),
                *_counter("ludus_sessions_closed_total", "reason", "Closed.", sessions.closed),
                *_metric(
                    "ludus_steps_total",
                    "counter",
                    "Steps of all environments.",
                    [({}, sessions.total_steps)],
                ),
                *_metric("ludus_frames_total", "counter", "Messages.", [({}, self.frames)]),
                *_counter("ludus_errors_total", "code", "Errors told to clients.", self.errors),
                *_counter("ludus_http_responses_total", "status", "Answers.", self.requests),
                *_counter("ludus_refused_total", "reason", "Requests refused.", self.refused),
                *_metric("ludus_memory_bytes", "gauge", "Resident memory.", [({}, _memory())]),
                "",
            ]
        )


def _counter(name: str, label: str, about: str, counts: Counter[str] | Counter[int]) -> list[str]:
    found = [({label: str(key)}, float(value)) for key, value in sorted(counts.items())]
    return list(_metric(name, "counter", about, found))


def _metric(name: str, kind: str, about: str, samples: Iterable[_Sample]) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        shown = ",".join(f'{key}="{_quoted(text)}"' for key, text in labels.items())
        number = int(value) if float(value).is_integer() else value
        yield f"{name}{{{shown}}} {number}" if shown else f"{name} {number}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _memory() -> int:
    """Return the resident memory of this process; 0 where the system does not tell it."""
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return 0
