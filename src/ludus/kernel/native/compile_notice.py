"""Notifies the user while a kernel is compiled."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["compile_notice"]


@contextmanager
def compile_notice(name: str, function: str) -> Iterator[None]:
    """Show that a kernel's function is being compiled.

    A terminal shows a line that disappears afterwards; the logger ``ludus.kernel`` logs the time.
    """
    line = f"Compiling {name}, once for this machine …"
    shown = sys.stderr is not None and sys.stderr.isatty()
    if shown:
        sys.stderr.write(line)
        sys.stderr.flush()
    start = time.perf_counter()
    try:
        yield
    finally:
        if shown:
            sys.stderr.write("\r" + " " * len(line) + "\r")
            sys.stderr.flush()
    # Imported here, because most processes compile nothing.
    import logging

    seconds = time.perf_counter() - start
    logging.getLogger("ludus.kernel").info("Compiled %s of %s in %.1f s", function, name, seconds)
