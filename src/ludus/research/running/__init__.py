"""Running agents on research tasks, many episodes at a time, each of them recorded.

::

    from ludus.research.running import parse_agent, run_research

    agent = parse_agent("react", {"model": "my-model"})
    done = run_research(["battleOfSexes"], [agent], out="runs/first", runs=4)
"""

from __future__ import annotations

from ludus.research.running.agents import parse_agent, parse_options, read_agent_config
from ludus.research.running.options import EpisodeOptions
from ludus.research.running.run import is_research_run, resume_research, run_research

__all__ = [
    "EpisodeOptions",
    "is_research_run",
    "parse_agent",
    "parse_options",
    "read_agent_config",
    "resume_research",
    "run_research",
]
