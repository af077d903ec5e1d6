"""Usage of a sandbox, read from its control groups: memory, processes, CPU time, kills."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

__all__ = ["Gauges"]

_MEMORY = {
    1: {
        "now": "memory.usage_in_bytes",
        "peak": "memory.max_usage_in_bytes",
        "events": "memory.oom_control",
    },
    2: {"now": "memory.current", "peak": "memory.peak", "events": "memory.events"},
}


class Gauges:
    """Files of control groups, kept open since they are read after every command."""

    def __init__(self) -> None:
        self._gauges: dict[str, int] = {}

    def memory(self) -> tuple[int | None, int | None]:
        """Return the memory used now and at most, in bytes."""
        now, peak = self._gauge("now"), self._gauge("peak")
        return (int(now) if now else None), (int(peak) if peak else None)

    def pids(self) -> int | None:
        """Return how many processes are in the groups."""
        return self._gauge("processes").count(b"\n") if "processes" in self._gauges else None

    def members(self) -> frozenset[int]:
        """Return the processes in the groups, as this process numbers them."""
        return frozenset(int(word) for word in self._gauge("processes").split()) - {0}

    def oom_kills(self) -> int:
        """Return how many processes were killed for lack of memory."""
        words = self._gauge("events").split()
        return int(words[words.index(b"oom_kill") + 1]) if b"oom_kill" in words else 0

    def cpu_seconds(self) -> float | None:
        """Return the processor time used so far."""
        words = self._gauge("cpu").split()
        if b"usage_usec" in words:
            return int(words[words.index(b"usage_usec") + 1]) / 1e6
        return int(words[0]) / 1e9 if words else None

    def _watch_memory(self, folder: Path, version: int) -> None:
        for name, file in _MEMORY[version].items():
            self._watch(name, folder / file)

    def _watch(self, name: str, file: Path) -> None:
        with suppress(FileNotFoundError):
            self._gauges[name] = os.open(file, os.O_RDONLY | os.O_CLOEXEC)

    def _gauge(self, name: str) -> bytes:
        if name not in self._gauges:
            return b""
        try:
            return os.pread(self._gauges[name], 1 << 16, 0)
        except OSError as error:
            # The group is gone: an engine removes it when its container ends.
            if error.errno != errno.ENODEV:
                raise
            return b""

    def _close_gauges(self) -> None:
        for descriptor in self._gauges.values():
            os.close(descriptor)
        self._gauges = {}
