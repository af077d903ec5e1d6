"""No knowledge of the task: always up."""

from __future__ import annotations

from pathlib import Path

from tests.research.tasks.policy_files import policy_files


def null_submission(workspace: Path) -> dict[str, bytes]:
    """Return the files of the null submission."""
    return policy_files("np.zeros(n, np.int64)")
