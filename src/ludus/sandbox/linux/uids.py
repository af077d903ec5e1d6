"""One host user per sandbox, leased by a file named after its number.

Limits and signals that the kernel keeps per user then apply to one sandbox only: sandboxes cannot
see, signal or starve each other, and one call kills everything in a sandbox.
"""

from __future__ import annotations

import fcntl
import os
import random
import secrets
import subprocess
from contextlib import suppress
from pathlib import Path

from ludus.errors import SandboxError, SandboxUnavailable
from ludus.sandbox.leases import Lease, state_folder
from ludus.sandbox.policy import Policy

__all__ = ["choose_user", "kill_user", "lease_uid", "pool", "release_forgotten", "release_uid"]

# Above all ranges that distributions, container engines and systemd hand out, below 2^31.
# Checked again by the one who kills: it is that user, and not root.
_KILL_ALL = '[[ $EUID == "$1" && $EUID != 0 ]] && kill -KILL -1'
_FIRST, _COUNT = 1_900_000_000, 65_536


def pool(uid_map: str | None = None) -> range:
    """Return the users for sandboxes: the reserved ones, or the highest that are mapped here.

    Raises:
        SandboxUnavailable: this user namespace maps too few.
    """
    text = Path("/proc/self/uid_map").read_text() if uid_map is None else uid_map
    spans = [(int(first), int(count)) for first, _, count in map(str.split, text.splitlines())]
    for first, count in spans:
        if first <= _FIRST and first + count >= _FIRST + _COUNT:
            return range(_FIRST, _FIRST + _COUNT)
    first, count = max(spans, key=lambda span: span[1], default=(0, 0))
    size = min(_COUNT, count // 2)
    if size < 64:
        raise SandboxUnavailable(
            f"Found {count} mapped users in this user namespace; sandboxes need at least 128. "
            "Map more (e.g. by --userns-remap or a larger /etc/subuid), or set Policy.uid."
        )
    return range(first + count - size, first + count)


def choose_user(policy: Policy, workspace: Path | None, lease: Lease) -> tuple[int, bool]:
    """Return the user of a root caller's sandbox, and whether it was leased for it.

    Raises:
        SandboxError: the workspace belongs to root.
        SandboxUnavailable: all users for sandboxes are taken.
    """
    if policy.uid is not None:
        return policy.uid, False
    if workspace is not None:
        owner = workspace.stat().st_uid
        if owner == 0:
            raise SandboxError(
                f"The workspace {str(workspace)!r} belongs to root, and a sandbox does not run as "
                "root. Give the folder to another user with chown."
            )
        return owner, False
    # Noted after it was taken, the lease of the user names this sandbox itself.
    uid = lease_uid(lease.name)
    lease.note(uid=uid)
    return uid, True


def lease_uid(name: str) -> int:
    """Lease an unused user for the sandbox ``name``.

    Raises:
        SandboxUnavailable: all are taken.
    """
    folder = state_folder() / "uids"
    folder.mkdir(mode=0o700, exist_ok=True)
    users = pool()
    start = random.SystemRandom().randrange(len(users))
    # Written elsewhere and linked: no lease is ever seen without its name.
    written = state_folder() / f"uid-{secrets.token_hex(8)}"
    written.write_text(name)
    try:
        for offset in range(len(users)):
            uid = users[(start + offset) % len(users)]
            with suppress(FileExistsError):
                os.link(written, folder / str(uid))
                return uid
    finally:
        written.unlink()
    raise SandboxUnavailable(
        f"All {len(users)} users for sandboxes are taken; run ludus.sandbox.sweep() to free those "
        "of owners that are gone."
    )


def release_forgotten() -> None:
    """Release users whose sandboxes are gone: their owners were killed while leasing them."""
    for file in (state_folder() / "uids").glob("*"):
        # Closing a sandbox releases its user without this lock.
        with suppress(FileNotFoundError), file.open() as lease:
            if not _is_forgotten(lease.read()):
                continue
            # One sweep at a time. A sandbox gives its user back before its folder is removed: a
            # lease that is still there now, after its folder was not, is nobody's, and keeps others
            # from taking the user until it is removed here.
            with suppress(BlockingIOError):
                fcntl.flock(lease, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if file.stat().st_ino == os.fstat(lease.fileno()).st_ino:
                    kill_user(int(file.name))
                    file.unlink()


def _is_forgotten(name: str) -> bool:
    return not name or not (state_folder() / "boxes" / name).is_dir()


def release_uid(uid: int) -> None:
    """Give a leased user back; nothing may run as it any more."""
    (state_folder() / "uids" / str(uid)).unlink(missing_ok=True)


def kill_user(uid: int) -> None:
    """Kill every process of a leased user, wherever it is.

    Raises:
        ValueError: ``uid`` is not from :func:`pool`.
    """
    if uid not in pool():
        raise ValueError(f"{uid} is no user of sandboxes; its processes are not ours to kill.")
    # kill(-1) as that user is atomic: nothing can fork its way past it.
    subprocess.run(  # noqa: S603 - our own arguments
        ["/bin/bash", "-c", _KILL_ALL, "kill", str(uid)],
        user=uid,
        group=uid,
        extra_groups=[],
        env={},
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=30,
    )
