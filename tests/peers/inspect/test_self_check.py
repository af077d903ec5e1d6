"""Inspect's own checks of sandbox providers, on Ludus's."""

from __future__ import annotations

import pytest
from inspect_ai.util._sandbox.self_check import *  # noqa: F403 - pytest collects what is imported

from ludus.interop.inspect import LudusSandbox, LudusSandboxConfig
from ludus.sandbox import backends
from tests.research.env_support import LOOSE

pytestmark = pytest.mark.anyio

# The sandbox has one user and no root, so that no user can be made in it.
KNOWN = {"test_exec_as_user": "a sandbox has one user, and refuses others with Inspect's own error"}
POLICY = {**LOOSE, "disk": "256M", "tmp": "128M"}


@pytest.fixture(params=["bubblewrap", "podman"])
async def sandbox_env(request, anyio_backend):
    """Open a sandbox for one check, as Inspect does for a sample."""
    why_not = backends()[request.param]
    if why_not is not None:
        pytest.skip(why_not)
    reason = KNOWN.get(request.node.originalname)
    if reason is not None:
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
    config = LudusSandboxConfig(backend=request.param, policy=POLICY)
    opened = await LudusSandbox.sample_init("self_check", config, {})
    yield opened["default"]
    await LudusSandbox.sample_cleanup("self_check", config, opened, interrupted=False)
