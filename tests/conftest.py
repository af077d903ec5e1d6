from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Let Ctrl-C reach what the tests start, also where a shell in the background ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
