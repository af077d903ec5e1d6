"""One state folder for all boxes of these tests, and one box before any is counted."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from ludus.sandbox import backends, open_sandbox


@pytest.fixture(scope="session")
def warmed():
    # Not below pytest's own folder, which a box's user cannot reach.
    folder = Path(f"/tmp/ludus-untrusted-{os.getpid()}-{time.monotonic_ns()}")
    before = os.environ.get("LUDUS_STATE")
    os.environ["LUDUS_STATE"] = str(folder)
    if backends()["bubblewrap"] is None:
        open_sandbox().close()
    yield
    if before is None:
        del os.environ["LUDUS_STATE"]
    else:
        os.environ["LUDUS_STATE"] = before
    shutil.rmtree(folder, ignore_errors=True)
