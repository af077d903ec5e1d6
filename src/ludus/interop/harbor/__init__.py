"""Research tasks for Harbor: a task's folder in Harbor's form, and its grading there."""

from __future__ import annotations

from ludus.interop.harbor.exporting import export_harbor_task
from ludus.interop.harbor.verifying import verify_submission

__all__ = ["export_harbor_task", "verify_submission"]
