"""Tools that an agent has besides bash: commands in its sandbox, and structured calls of them."""

from __future__ import annotations

from ludus.research.tools.calls import command_line, tool_schemas
from ludus.research.tools.inside.table import TOOLS, Parameter, Tool
from ludus.research.tools.installing import BIN, installed, tool_mount

__all__ = [
    "BIN",
    "TOOLS",
    "Parameter",
    "Tool",
    "command_line",
    "installed",
    "tool_mount",
    "tool_schemas",
]
