"""``ludus task check``: what is wrong with a task, and where an agent could read the answers."""

from __future__ import annotations

from ludus.findings import Finding, Report, Rule
from ludus.research.linting.check import check_task
from ludus.research.linting.rules import RULES, ordered, to_dict

__all__ = ["RULES", "Finding", "Report", "Rule", "check_task", "ordered", "to_dict"]
