"""``ludus serve`` in a process of its own, for peers that are its clients."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def served(*arguments: str) -> Iterator[str]:
    """Run a server; its address is returned."""
    order = [sys.executable, "-m", "ludus", "serve", *arguments, "--port", "0"]
    child = subprocess.Popen(order, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        found = re.search(r"http://\S+", child.stdout.readline())
        assert found, "the server did not start"
        yield found[0]
    finally:
        child.terminate()
        assert child.wait(60) == 0
        child.stdout.close()
