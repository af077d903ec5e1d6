"""What the tests of boxes share."""

from __future__ import annotations

import os

import pytest

from ludus.sandbox import backends


def needs(backend: str, *, root: bool = False):
    """Skip, saying why, where a backend cannot run or its limits need root."""
    reason = backends()[backend]
    if reason is None and root and os.geteuid() != 0:
        reason = "these limits need root"
    return pytest.mark.skipif(reason is not None, reason=f"{backend}: {reason}")
