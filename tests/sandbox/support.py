"""What the tests of boxes share."""

from __future__ import annotations

import os
from functools import cache

import pytest

from ludus.sandbox.backend.containers import why_no_sandbox
from ludus.sandbox.opening import backend_class
from tests.sampling import OPTIONAL
from tests.sandbox.daemon import why_no_daemon

ENGINES = ("podman", "docker", "gvisor")


@cache
def why_not(backend: str, *, root: bool = False) -> str | None:
    """Return why a backend cannot run, or why its limits would not hold."""
    if root and os.geteuid() != 0:
        return "these limits need root"
    if backend in ENGINES and OPTIONAL:
        return OPTIONAL
    if backend == "docker" and (reason := why_no_daemon()):
        return reason
    chosen = backend_class(backend)
    reason = chosen.unavailable()
    return why_no_sandbox(chosen) if reason is None and backend == "docker" else reason


def needs(backend: str, *, root: bool = False):
    """Skip, saying why, where a backend cannot run or its limits need root.

    Engines take a while to try: whether they run is found out when their first test does.
    """
    if backend in ENGINES:
        return pytest.mark.needs_engine(backend)
    reason = why_not(backend, root=root)
    return pytest.mark.skipif(reason is not None, reason=f"{backend}: {reason}")
