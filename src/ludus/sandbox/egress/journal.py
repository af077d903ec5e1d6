"""What a proxy passed and refused: hosts, ports, bytes and times, and no contents."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["EgressEntry", "EgressLog", "summary"]

_MOST, _MOST_ROWS = 10_000, 100


@dataclass(frozen=True, slots=True)
class EgressEntry:
    """One connection to the proxy.

    Attributes:
        host: what was asked for; empty if the request did not say so in a valid way.
        port: likewise; 0 if there is none.
        address: what was connected to; empty if nothing was.
        passed: whether anything was sent to the host.
        reason: why it was refused or cut off; empty if neither.
        up: bytes sent to the host.
        down: bytes received from it.
        time: when it began, in seconds since 1970.
        seconds: how long it lasted.
    """

    host: str = ""
    port: int = 0
    address: str = ""
    passed: bool = False
    reason: str = ""
    up: int = 0
    down: int = 0
    time: float = 0.0
    seconds: float = 0.0

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


class EgressLog:
    """The connections of a sandbox that are over, in the order of their ends.

    It keeps a limited number of refusals; ``dropped`` counts the others.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._entries: list[EgressEntry] = []
        self._taken = self._refused = 0
        self.dropped = 0

    def add(self, entry: EgressEntry) -> None:
        """Keep an entry, or count it.

        What was passed is always kept: refusals are easily had, and must not take its place.
        """
        with self._guard:
            self._refused += not entry.passed
            if entry.passed or self._refused <= _MOST:
                self._entries.append(entry)
            else:
                self.dropped += 1

    def entries(self) -> tuple[EgressEntry, ...]:
        """Return all entries."""
        with self._guard:
            return tuple(self._entries)

    def take_new(self) -> tuple[EgressEntry, ...]:
        """Return the entries that came since the last call."""
        with self._guard:
            new = self._entries[self._taken :]
            self._taken = len(self._entries)
            return tuple(new)


def summary(entries: Iterable[EgressEntry]) -> list[dict[str, Any]]:
    """Return entries as plain data for a record, one row per host, port and reason.

    A row has the number of its ``connections``, their bytes ``up`` and ``down`` and their
    ``seconds`` added up, and the ``time`` of the first. What was passed comes first. Only a limited
    number of hosts is told; the last rows stand for the others, and have no host.
    """
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for entry in sorted(entries, key=lambda each: not each.passed):
        key: tuple[Any, ...] = (entry.host, entry.port, entry.passed, entry.reason)
        if key not in rows and len(rows) >= _MOST_ROWS:
            key = ("", 0, entry.passed, "other hosts")
        names = ("host", "port", "passed", "reason")
        sums = {"connections": 0, "up": 0, "down": 0, "seconds": 0.0}
        row = rows.setdefault(
            key, {**dict(zip(names, key, strict=True)), "time": entry.time, **sums}
        )
        row["connections"] += 1
        for name in ("up", "down", "seconds"):
            row[name] += getattr(entry, name)
    return list(rows.values())
