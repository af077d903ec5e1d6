from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
import textwrap
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

from tests.expensive import EXPENSIVE
from tests.sampling import ALL, sampled

# The same examples on every run; new ones are looked for with --hypothesis-profile default.
settings.register_profile("steady", derandomize=True)
settings.load_profile("steady")

# Tests of kernels are about compiled code, unless they say otherwise.
os.environ.setdefault("LUDUS_COMPILE", "wait")

HERE = Path(__file__).parent
# So that assertions in helpers, too, say what they compared.
pytest.register_assert_rewrite(*(f"tests.{path.name}" for path in HERE.iterdir() if path.is_dir()))

# Verifying signs with the user's key: the tests have a user of their own, without a key.
CONFIGURATION = "XDG_CONFIG_HOME"
REASON_WIDTH = 110


def pytest_configure() -> None:
    """Let Ctrl-C reach what the tests start, also where a shell in the background ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ[CONFIGURATION] = tempfile.mkdtemp(prefix="ludus-tests-")
    # Collecting makes a million objects that stay; looking for garbage among them takes long.
    gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage again while tests run."""
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out cases of expensive tests, unless all are wanted or some are named."""
    if ALL or any("::" in argument for argument in config.args):
        return
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        test = item.nodeid.partition("[")[0].removeprefix("tests/")
        if test in EXPENSIVE:
            cases.setdefault(test, []).append(item)
    left_out = set()
    for test, there in cases.items():
        keep = EXPENSIVE[test]
        chosen = sampled(there, keep, name=lambda item: item.nodeid) if keep else []
        left_out.update(item.nodeid for item in there if item not in chosen)
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
        items[:] = [item for item in items if item.nodeid not in left_out]


@pytest.fixture(autouse=True, scope="module")
def _older_objects_are_left_alone():
    """Let the garbage collector look at the objects of one file of tests only.

    Many tests collect garbage to find leaks. A worker that has imported JAX, torch and numba has
    millions of objects, and looking at all of them takes seconds.
    """
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Remove the keys that were made."""
    shutil.rmtree(os.environ.pop(CONFIGURATION), ignore_errors=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say why tests were skipped: one line for each reason, however many tests have it."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        text = str(report.longrepr[-1]).removeprefix("Skipped: ")
        reasons[textwrap.shorten(text, REASON_WIDTH, placeholder=" …")] += 1
    if reasons:
        terminalreporter.section("skipped tests, by reason")
    for text, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count:5} {text}")
