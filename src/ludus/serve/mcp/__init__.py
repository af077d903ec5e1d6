"""Environments and research tasks over the Model Context Protocol.

- :mod:`~ludus.serve.mcp.agent`: the server of the agent, whose tools are its actions;
  :mod:`~ludus.serve.mcp.resources`: what it may read.
- :mod:`~ludus.serve.mcp.operator`: the server of the operator: begins, watches, saves and closes
  episodes.
- :mod:`~ludus.serve.mcp.stdio` and :mod:`~ludus.serve.mcp.http`: how they are reached.

It needs the extra ``mcp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names
from ludus.optional import check_installed

if TYPE_CHECKING:
    from ludus.serve.mcp.agent import agent_server
    from ludus.serve.mcp.operator import operator_server
    from ludus.serve.mcp.settings import McpSettings

check_installed("mcp", extra="mcp")

__all__ = ["McpSettings", "agent_server", "operator_server"]

__getattr__ = lazy_names(
    __name__,
    {
        "McpSettings": "settings",
        "agent_server": "agent",
        "operator_server": "operator",
    },
)
