"""Asynchronous tests run with anyio, which Inspect installs."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio, as Inspect does by default."""
    return "asyncio"
