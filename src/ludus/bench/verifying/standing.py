"""The standing of a result: verified, failed, or only claimed.

A result is verified if a statement about exactly this result is signed by a key that is trusted
here. Statements of other keys, damaged statements, and statements about another result, record, run
or plan change nothing. If two trusted keys disagree, the result failed. Of one key's statements
about a result the newest counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ludus.bench.result import Result
from ludus.bench.verifying.statement import NO_RECORD, Statement
from ludus.errors import DependencyNotInstalled
from ludus.record.format.keys import PublicKey

__all__ = ["Standing", "standing"]

_Unit = tuple[str, str]
_About = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Standing:
    """What statements of trusted keys say about results.

    Attributes:
        told: By run and unit, then by the digests of result and record, then by key: the time of
            the statement, and the verdict. A statement about another result or record says nothing.
        suites: Name and digest of the suite, by run and unit.
    """

    told: dict[_Unit, dict[_About, dict[str, tuple[str, str]]]] = field(default_factory=dict)
    suites: dict[_Unit, tuple[str, str]] = field(default_factory=dict)

    @property
    def runs(self) -> set[str]:
        """Names of the runs that statements are about."""
        return {run for run, _ in self.told}

    def of(self, result: Result) -> Result:
        """Return the result with its standing."""
        about = self.told.get((result.run, result.id))
        key = result.digest, result.head or NO_RECORD
        said = {} if about is None else about.get(key, {})
        verdicts = {verdict for _, verdict in said.values()}
        if not verdicts:
            return result.marked("claimed")
        return result.marked("failed" if "failed" in verdicts else "verified")

    def missing(self, results: Iterable[Result]) -> set[_Unit]:
        """Return the results that statements are about and that are not among these."""
        return self.told.keys() - {(one.run, one.id) for one in results}


def standing(
    statements: Iterable[Statement], keys: Iterable[PublicKey], *, plan: str | None = None
) -> Standing:
    """Return what statements say, as far as they are genuine and their keys are trusted.

    With ``plan``, the digest of a run's plan, statements about other plans are ignored.
    """
    trusted = set(keys)
    made = Standing()
    for one in statements:
        if one.key not in trusted or plan not in (None, one.plan) or not _is_genuine(one):
            continue
        for found in one.findings:
            unit = made.told.setdefault((one.run, found.id), {})
            made.suites[one.run, found.id] = one.suite, one.suite_digest
            said = unit.setdefault((found.result, found.record), {})
            newest = said.get(one.public_key)
            if newest is None or newest[0] < one.created:
                said[one.public_key] = one.created, found.verdict
    return made


def _is_genuine(statement: Statement) -> bool:
    try:
        return statement.is_genuine()
    except DependencyNotInstalled:
        return False  # no signature can be checked here, so nothing is verified
