"""Agents: anything that chooses actions."""

from __future__ import annotations

from ludus.bench.agents.loading import AgentUnusable, as_agent, as_batch_agent, load_agent
from ludus.bench.agents.reference import reference_agent, reference_ids
from ludus.bench.agents.spec import Agent, AgentSpec, BatchAgent, parse_agent

__all__ = [
    "Agent",
    "AgentSpec",
    "AgentUnusable",
    "BatchAgent",
    "as_agent",
    "as_batch_agent",
    "load_agent",
    "parse_agent",
    "reference_agent",
    "reference_ids",
]
