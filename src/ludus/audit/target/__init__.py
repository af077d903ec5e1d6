"""What is audited: a folder, wheel, sdist or installed distribution, read without running it."""

from __future__ import annotations

from ludus.audit.target.contract import Member, Target
from ludus.audit.target.metadata import Metadata
from ludus.audit.target.opening import open_target

__all__ = ["Member", "Metadata", "Target", "open_target"]
