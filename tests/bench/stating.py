"""Statements about results that were never run, for tests of what reads them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from tempfile import TemporaryDirectory

from ludus.bench.result import Result
from ludus.bench.verifying.statement import Finding, Statement, sign_statement
from ludus.record import SigningKey, generate_key

PLAN = "c" * 64


def some_key(name: str = "ada") -> SigningKey:
    """Return a key, the same one for the same name."""
    return _made(name)


@cache
def _made(name: str) -> SigningKey:
    with TemporaryDirectory() as folder:
        return generate_key(f"{folder}/{name}")


def finding(result: Result, **changes) -> Finding:
    fields = {
        "id": result.id,
        "result": result.digest,
        "record": result.head,
        "source": result.source_hash,
        "executed": "not really",
        "verdict": result.verified,
        **changes,
    }
    return Finding(**fields)


def stated(
    results: Iterable[Result], key: SigningKey | None = None, *, plan: str = PLAN, **changes
) -> list[Statement]:
    """Return signed statements that say of each result what it says of itself."""
    by_run: dict[tuple[str, str, str], list[Finding]] = {}
    for one in results:
        if one.verified != "claimed" and one.outcome != "infrastructure_fault":
            about = by_run.setdefault((one.run, one.suite, one.suite_digest), [])
            about.append(finding(one, **changes))
    return [
        sign_statement(
            key or some_key(),
            found,
            run=run,
            plan=plan,
            suite=suite,
            suite_digest=digest,
        )
        for (run, suite, digest), found in by_run.items()
    ]
