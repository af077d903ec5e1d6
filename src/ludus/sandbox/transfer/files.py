"""Files in and out of a sandbox: the part of the contract that runs nothing inside."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from pathlib import Path

from ludus.sandbox.policy import Policy
from ludus.sandbox.transfer import copying
from ludus.sandbox.transfer.limits import SnapshotLimits
from ludus.sandbox.transfer.snapshot import Snapshot

__all__ = ["Files"]

_READ_LIMIT = 16 << 20


class Files(ABC):
    """What a sandbox offers for files; a backend says by ``_root`` where they are."""

    policy: Policy

    def put(self, source: str | os.PathLike[str], target: str) -> None:
        """Copy a file or folder of the host into the sandbox.

        Links are copied as links, never followed, on either side. Set-id bits are dropped.

        Raises:
            SandboxError: source or target cannot be used; the message says why.
        """
        with self._in_use():
            root, path = self._place(target)
            copying.put(Path(source), root, path, owner=self._owner())

    def get(
        self,
        source: str,
        target: str | os.PathLike[str],
        *,
        limits: SnapshotLimits | None = None,
    ) -> None:
        """Copy a file or folder out of the sandbox to a host path that does not exist yet.

        Raises:
            ContentsExceeded: there is more than ``limits`` allow.
            SandboxViolation: there are devices, or links that lead out; nothing is left on the
                host.
            SandboxError: it does not exist, or the target exists.
        """
        with self._in_use():
            root, path = self._place(source)
            copying.get(root, path, Path(target), limit=self._size_limit(), limits=limits)

    def read_bytes(self, path: str, limit: int = _READ_LIMIT) -> bytes:
        """Return the contents of a file in the sandbox.

        Raises:
            SandboxViolation: it is larger than ``limit`` or not a plain file.
            SandboxError: it does not exist.
        """
        with self._in_use():
            root, parts = self._place(path)
            return copying.read_bytes(root, parts, limit)

    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a file in the sandbox, replacing what has that name.

        Raises:
            SandboxError: it cannot be written, for instance because the disk is full.
        """
        with self._in_use():
            root, parts = self._place(path)
            copying.write_bytes(root, parts, data, owner=self._owner())

    def snapshot(self, *, limits: SnapshotLimits | None = None) -> Snapshot:
        """Return a copy of ``/workspace``, which is consistent if nothing runs meanwhile.

        Raises:
            ContentsExceeded: it holds more than ``limits``.
            SandboxViolation: it holds devices, fifos or sockets.
        """
        with self._in_use():
            return Snapshot.take(
                self._root("/workspace"),
                limit=self._size_limit(),
                limits=limits,
                owner=self._owner(),
            )

    def restore(self, snapshot: Snapshot) -> None:
        """Restore ``/workspace`` to the contents of ``snapshot``.

        Raises:
            SandboxError: it could not be restored completely.
        """
        with self._in_use():
            snapshot.restore(self._root("/workspace"), owner=self._owner())

    @abstractmethod
    def _in_use(self) -> AbstractContextManager[None]:
        """Delay closing until the call ends."""

    @abstractmethod
    def _root(self, place: str) -> int:
        """Return a descriptor of ``/workspace``, ``/tmp`` or ``/dev/shm``, owned by the sandbox.

        Raises:
            SandboxError: the host cannot reach that place.
        """

    def _owner(self) -> int | None:
        """Return the host user that files put into the sandbox belong to; ``None``: the caller."""
        return None

    def _home(self) -> str:
        return "/workspace"

    def _place(self, path: str) -> tuple[int, tuple[str, ...]]:
        """Return the root that holds ``path`` and the names below it."""
        root, parts = copying.locate(path, home=self._home())
        return self._root(root), parts

    def _size_limit(self) -> int:
        """Return how much may come out of the workspace at once."""
        return 1 << 34 if self.policy.disk is None else max(self.policy.disk, self.policy.tmp or 0)
