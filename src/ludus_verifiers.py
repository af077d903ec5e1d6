"""The plugin ``ludus-verifiers`` of verifiers, which finds plugins as modules without a package."""

from __future__ import annotations

from ludus.interop.verifiers import LudusEnv, LudusTaskset

__all__ = ["LudusEnv", "LudusTaskset"]
