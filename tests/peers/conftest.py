"""Ignores the tests of every peer but the one whose virtual environment runs them.

Peers ask for hundreds of packages in versions that exclude each other, so none is installed where
the other tests run. ``make test-interop`` sets ``LUDUS_PEER`` to the peer that it installed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PEER = os.environ.get("LUDUS_PEER")
HERE = Path(__file__).parent


def pytest_configure(config: pytest.Config) -> None:
    """Do not treat warnings of other packages as errors."""
    if PEER:
        config.addinivalue_line("filterwarnings", "default")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Ignore folders of peers that are not installed here."""
    folder = collection_path if collection_path.is_dir() else collection_path.parent
    inside = folder.relative_to(HERE).parts if folder.is_relative_to(HERE) else ()
    return True if inside and inside[0] != PEER else None


def pytest_report_header() -> str:
    """Say which peer is tested."""
    return f"peer: {PEER or 'none; make test-interop runs the tests in tests/peers'}"
