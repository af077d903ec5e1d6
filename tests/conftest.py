from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples on every run; new ones are looked for with --hypothesis-profile default.
settings.register_profile("steady", derandomize=True)
settings.load_profile("steady")

HERE = Path(__file__).parent
# So that assertions in helpers, too, say what they compared.
pytest.register_assert_rewrite(*(f"tests.{path.name}" for path in HERE.iterdir() if path.is_dir()))

# These start, kill and wait for real processes, and a busy machine can spoil the timing of one. It
# is tried once more, which the summary reports. Attacks are not: one that works once is a hole.
WITH_PROCESSES = {
    *("bench", "board", "cli", "play", "record", "research", "sandbox", "untrusted", "vector")
}
ATTACKS = {
    *("attacks", "exploits", "test_attacks.py", "test_hostile.py"),
    *("test_hostile_run_folder.py", "test_tamper.py"),
}


# Verifying signs with the user's key: the tests have a user of their own, without a key.
CONFIGURATION = "XDG_CONFIG_HOME"


def pytest_configure() -> None:
    """Let Ctrl-C reach what the tests start, also where a shell in the background ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ[CONFIGURATION] = tempfile.mkdtemp(prefix="ludus-tests-")


def pytest_unconfigure() -> None:
    """Remove the keys that were made."""
    shutil.rmtree(os.environ.pop(CONFIGURATION), ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what may be tried twice."""
    for item in items:
        parts = set(item.path.relative_to(HERE).parts)
        if parts & WITH_PROCESSES and not parts & ATTACKS:
            item.add_marker(pytest.mark.flaky(reruns=1))
