"""Export of research tasks to Harbor, and grading inside Harbor's verifier."""

from __future__ import annotations

from ludus.interop.harbor.exporting import export_harbor_task
from ludus.interop.harbor.verifying import verify_submission

__all__ = ["export_harbor_task", "verify_submission"]
