"""How much a copy of a sandbox's files may hold, checked while they are read."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ludus.errors import ContentsExceeded

__all__ = ["SnapshotLimits", "TransferTally"]

_WORDS = {
    "entries": "entries",
    "path_bytes": "bytes of names",
    "depth": "levels of folders",
    "total_bytes": "bytes",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotLimits:
    """The most that a snapshot, or another copy of a sandbox's files, may hold.

    Args:
        entries: files, folders and links.
        path_bytes: of all paths and link targets, as they are stored.
        depth: nested folders.
        total_bytes: of the contents of all files.

    Raises:
        ValueError: one of them is negative or not a whole number.
    """

    entries: int = 200_000
    path_bytes: int = 32 << 20
    depth: int = 128
    total_bytes: int = 1 << 34

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(
                    f"SnapshotLimits.{field.name} is {value!r}; expected a whole number from 0 on."
                )


class TransferTally:
    """Counts what one copy has met so far; ``name`` is for messages."""

    def __init__(self, limits: SnapshotLimits, name: str) -> None:
        self._limits, self._name = limits, name
        self._found = dict.fromkeys(_WORDS, 0)

    def add(self, limit: str, amount: int) -> None:
        """Add to a count.

        Raises:
            ContentsExceeded: the limit is exceeded.
        """
        self._found[limit] += amount
        self.check(limit, self._found[limit])

    def check(self, limit: str, found: int) -> None:
        """Check a number that does not add up.

        Raises:
            ContentsExceeded: the limit is exceeded.
        """
        allowed: int = getattr(self._limits, limit)
        if found > allowed:
            raise ContentsExceeded(
                f"{self._name} has more than {allowed:,} {_WORDS[limit]}: found {found:,} or more. "
                "Its contents are the cause. Remove some of them, or allow more with "
                f"SnapshotLimits({limit}=...).",
                limit=limit,
                allowed=allowed,
                found=found,
            )
