"""Search for known vulnerabilities: in local OSV files, or in an online service by pip-audit."""

from __future__ import annotations

from ludus.audit.advisories.osv import check_advisories
from ludus.audit.advisories.outcome import Outcome, Vulnerability
from ludus.audit.advisories.pip_audit import check_index

__all__ = ["Outcome", "Vulnerability", "check_advisories", "check_index"]
