"""The error with which grading functions refuse a submission."""

from __future__ import annotations

__all__ = ["InvalidSubmissionError"]


class InvalidSubmissionError(Exception):
    """The submission does not have the required form."""
