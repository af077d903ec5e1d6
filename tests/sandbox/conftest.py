"""Skips, with the reason, what needs a container engine that cannot run here."""

from __future__ import annotations

import pytest

from tests.sandbox.attacks.boxes import close_shared
from tests.sandbox.support import why_not


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "needs_engine(name): skip where this container engine cannot run"
    )


@pytest.fixture(autouse=True, scope="session")
def shared_boxes():
    yield
    close_shared()


@pytest.fixture(autouse=True)
def engine_is_there(request):
    for mark in request.node.iter_markers("needs_engine"):
        if reason := why_not(*mark.args):
            pytest.skip(f"{mark.args[0]}: {reason}")
