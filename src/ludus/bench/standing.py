"""What a result counts as here: verified, failed, or only claimed.

A result is verified if a statement about exactly this result is signed by a key that is trusted
here. Statements of keys that are not trusted, damaged statements, and statements about another
result, run or plan change nothing. If two trusted keys disagree, the result failed. Of one key's
statements about a result the newest counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ludus.bench.result import Result, Verified
from ludus.bench.statement import Finding, Statement
from ludus.errors import DependencyNotInstalled
from ludus.record.keys import PublicKey

__all__ = ["Standing", "standing"]

_Key = tuple[str, str]
_Told = dict[str, tuple[str, Finding]]


@dataclass(frozen=True, slots=True)
class Standing:
    """What trusted keys say about results, by run and unit.

    Attributes:
        told: By run and unit, then by key: when it was said, and the finding.
    """

    told: dict[_Key, _Told] = field(default_factory=dict)

    @property
    def runs(self) -> set[str]:
        """Names of the runs that something is said about."""
        return {run for run, _ in self.told}

    def of(self, result: Result) -> Result:
        """Return the result with what it counts as."""
        about = self.told.get((result.run, result.id))
        if about is None:
            return result.marked("claimed")
        digest = result.digest
        verdicts = {
            found.verdict
            for _, found in about.values()
            if found.result == digest and found.record == result.head
        }
        verdict: Verified = "claimed"
        if verdicts:
            verdict = "failed" if "failed" in verdicts else "verified"
        return result.marked(verdict)

    def missing(self, results: Iterable[Result]) -> set[_Key]:
        """Return the results that statements speak of and that are not among these."""
        return self.told.keys() - {(one.run, one.id) for one in results}


def standing(
    statements: Iterable[Statement], keys: Iterable[PublicKey], *, plan: str | None = None
) -> Standing:
    """Return what statements say, as far as they are genuine and their keys are trusted.

    Args:
        statements: Anybody's.
        keys: Whom to trust.
        plan: Digest of a run's plan; statements about another plan say nothing then.
    """
    trusted = set(keys)
    told: dict[_Key, _Told] = {}
    for one in statements:
        if one.key not in trusted or plan not in (None, one.plan) or not _is_genuine(one):
            continue
        for found in one.findings:
            about = told.setdefault((one.run, found.id), {})
            newest = about.get(one.public_key)
            if newest is None or newest[0] < one.created:
                about[one.public_key] = one.created, found
    return Standing(told)


def _is_genuine(statement: Statement) -> bool:
    try:
        return statement.is_genuine()
    except DependencyNotInstalled:
        return False  # nobody's word can be checked here, so nothing is verified
