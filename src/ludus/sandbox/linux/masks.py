"""Masks in the state folder, made once and used by every sandbox of root."""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from functools import cache
from pathlib import Path

from ludus.sandbox.leases import state_folder
from ludus.sandbox.linux.mounts import make_mask
from ludus.sandbox.linux.visible_files import Steps

__all__ = ["mask_folder"]


def mask_folder(steps: Steps) -> str | None:
    """Return a folder with the mask of ``steps``; ``None`` if it cannot be made."""
    return _made(steps, str(state_folder()))


@cache
def _made(steps: Steps, state: str) -> str | None:
    digest = hashlib.sha256(json.dumps(steps).encode()).hexdigest()
    folder = Path(state, "masks", digest[:32])
    if not folder.is_dir():
        # Made elsewhere and moved, so that it is complete or missing.
        draft = Path(state, "making", f"mask-{secrets.token_hex(8)}")
        try:
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft.mkdir(mode=0o755, parents=True)
            make_mask(str(draft), steps)
            draft.rename(folder)
        except OSError:
            shutil.rmtree(draft, ignore_errors=True)
            # Another process was faster, or the file system has no such attributes.
            return str(folder) if folder.is_dir() else None
    return str(folder)
