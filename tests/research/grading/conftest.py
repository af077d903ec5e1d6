"""One state folder for all boxes of these tests."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest


@pytest.fixture(autouse=True, scope="session")
def own_state():
    # Not below pytest's own folder, which a box's user cannot reach.
    folder = Path(f"/tmp/ludus-grading-{os.getpid()}-{time.monotonic_ns()}")
    before = os.environ.get("LUDUS_STATE")
    os.environ["LUDUS_STATE"] = str(folder)
    yield
    if before is None:
        del os.environ["LUDUS_STATE"]
    else:
        os.environ["LUDUS_STATE"] = before
    shutil.rmtree(folder, ignore_errors=True)
