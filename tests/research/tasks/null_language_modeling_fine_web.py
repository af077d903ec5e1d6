"""The null submission: the model of the workspace, which knows nothing."""

from __future__ import annotations

from pathlib import Path

from tests.research.tasks import null_language_modeling_corpus


def null_submission(workspace: Path) -> dict[str, bytes]:
    """Return equal probabilities, and weights that say nothing."""
    return null_language_modeling_corpus.null_submission(workspace)
