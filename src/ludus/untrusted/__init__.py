"""Environments whose code is not trusted, run in sandboxes.

``ludus.make(id, sandbox=True)`` makes one; nothing here imports the environment's package. What
runs on the other side is in :mod:`ludus.untrusted.inside`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_attributes

if TYPE_CHECKING:
    from ludus.spaces.cost import SpaceLimits
    from ludus.untrusted.env import SandboxedEnv
    from ludus.untrusted.env import SandboxedEnv as BoxedEnv
    from ludus.untrusted.options import SandboxOptions
    from ludus.untrusted.options import SandboxOptions as BoxOptions
    from ludus.untrusted.vector_env import SandboxedVectorEnv
    from ludus.untrusted.vector_env import SandboxedVectorEnv as BoxedVectorEnv

__all__ = [
    "BoxOptions",
    "BoxedEnv",
    "BoxedVectorEnv",
    "SandboxOptions",
    "SandboxedEnv",
    "SandboxedVectorEnv",
    "SpaceLimits",
]

_MODULES = {
    # Old names.
    "BoxOptions": "ludus.untrusted.options:SandboxOptions",
    "BoxedEnv": "ludus.untrusted.env:SandboxedEnv",
    "BoxedVectorEnv": "ludus.untrusted.vector_env:SandboxedVectorEnv",
    "SandboxOptions": "ludus.untrusted.options",
    "SandboxedEnv": "ludus.untrusted.env",
    "SandboxedVectorEnv": "ludus.untrusted.vector_env",
    "SpaceLimits": "ludus.spaces.cost",
}

__getattr__ = lazy_attributes(__name__, _MODULES)
