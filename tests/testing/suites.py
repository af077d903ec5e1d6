"""Running a suite by hand, to see which of its tests fail."""

from __future__ import annotations

import unittest
from typing import Any


def failures(suite: type[Any]) -> dict[str, str]:
    """Run every test of the suite; return those that raise, with the message."""
    failed: dict[str, str] = {}
    for name in dir(suite):
        if name.startswith("test_"):
            try:
                getattr(suite(), name)()
            except unittest.SkipTest:
                failed[name] = "skipped"
            except Exception as problem:
                failed[name] = f"{type(problem).__name__}: {problem}"
    return failed
