"""The null submission: the strategy that the workspace starts with."""

from __future__ import annotations

from pathlib import Path


def null_submission(workspace: Path) -> dict[str, bytes]:
    """Return the files of a submission without any knowledge."""
    return {"strategy.py": (workspace / "strategy.py").read_bytes()}
