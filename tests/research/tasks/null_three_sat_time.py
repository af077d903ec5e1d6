"""The null submission: the heuristic that the workspace starts with, the first open variable."""

from __future__ import annotations

from pathlib import Path


def null_submission(workspace: Path) -> dict[str, bytes]:
    """Return the files of a submission without any knowledge."""
    return {"heuristic.py": (workspace / "heuristic.py").read_bytes()}
