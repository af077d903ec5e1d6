"""gVisor is refused, and says why."""

from __future__ import annotations

import pytest

from ludus.errors import SandboxUnavailable
from ludus.sandbox import gvisor, open_sandbox


@pytest.mark.parametrize("found", [None, "/usr/bin/runsc"])
def test_it_says_why(monkeypatch, found):
    monkeypatch.setattr(gvisor, "why_not_here", lambda: None)
    monkeypatch.setattr(gvisor, "which", lambda name: found)
    with pytest.raises(SandboxUnavailable, match=r"[Rr]unsc.*Use podman"):
        open_sandbox(backend="gvisor")
