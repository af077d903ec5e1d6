"""One check: a function that returns what is wrong, in the form of OpenEnv's graders."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from openenv.validation.report import CheckResult
from openenv.validation.types import CheckStatus, Level, ProviderCapability

__all__ = ["Check", "CheckStatus", "Found", "Level", "NotChecked"]

_MOST = 20


class NotChecked(Exception):
    """The check cannot be made here; the message says why."""


@dataclass
class Found:
    """What a check has found.

    Attributes:
        problems: What is wrong; nothing if the check passes.
        measured: Figures for the report.
    """

    problems: list[str] = field(default_factory=list)
    measured: dict[str, Any] = field(default_factory=dict)

    def expect(self, holds: bool, problem: str) -> None:
        """Note a problem unless the condition holds."""
        if not holds:
            self.problems.append(problem)


@dataclass(frozen=True)
class Check:
    """A grader of OpenEnv.

    Attributes:
        check_id: Id of the policy.
        level: When it runs.
        find: Returns what is wrong.
        remedy: What the author changes.
        requires_capabilities: Fields of the manifest's capabilities that must be set.
        requires_provider: What the sandbox must be able to do.
        depends_on: Checks that must pass before.
    """

    check_id: str
    level: Level
    find: Callable[[Any], Found]
    remedy: str
    requires_capabilities: frozenset[str] = frozenset()
    requires_provider: frozenset[ProviderCapability] = frozenset()
    depends_on: tuple[str, ...] = ()

    def applies_to(self, manifest: Any) -> bool:
        """Whether the manifest selects it; the capabilities have done that."""
        return True

    def run(self, subject: Any) -> CheckResult:
        """Return the result; what cannot be checked is skipped, with the reason."""
        began = time.monotonic()
        try:
            found = self.find(subject)
        except NotChecked as reason:
            return self._result(CheckStatus.SKIP, began, Found([str(reason)]))
        status = CheckStatus.FAIL if found.problems else CheckStatus.PASS
        return self._result(status, began, found)

    def _result(self, status: CheckStatus, began: float, found: Found) -> CheckResult:
        return CheckResult(
            check_id=self.check_id,
            status=status,
            measured=found.measured,
            evidence=found.problems[:_MOST],
            remediation=self.remedy if status is CheckStatus.FAIL else None,
            duration_s=time.monotonic() - began,
        )
