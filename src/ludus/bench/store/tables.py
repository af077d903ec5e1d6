"""The store's tables, as queries see them, and the steps that create them.

What many results have in common is kept once, as a series, and so is a run's name: a result's own
row is small, and so is the index that the leaderboard is read from.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Double,
    LargeBinary,
    MetaData,
    Table,
    Text,
    func,
    insert,
    inspect,
    select,
    text,
)

from ludus.distribution import pip_install
from ludus.errors import StoreError

__all__ = [
    "NEWEST",
    "STEPS",
    "Migration",
    "apply_missing",
    "metadata",
    "migrations",
    "results",
    "runs",
    "schema_number",
    "series",
    "statements",
    "suites",
]


metadata = MetaData()


def _table(name: str, key: Column[Any], needed: str, kinds: dict[str, Any], **others: Any) -> Table:
    """Return a table with a key, texts that are ``needed``, and columns of other kinds.

    Columns in ``others`` may be null.
    """
    texts = [Column(one, Text, nullable=False) for one in needed.split()]
    rest = [Column(one, kind, nullable=False) for one, kind in kinds.items()]
    nulls = [Column(one, kind) for one, kind in others.items()]
    return Table(f"ludus_{name}", metadata, key, *texts, *rest, *nulls)


def _number() -> Column[Any]:
    return Column("number", BigInteger, primary_key=True)


migrations = _table("migrations", _number(), "name applied", {})
runs = _table("runs", _number(), "name", {})
series = _table(
    "series",
    _number(),
    "suite suite_digest agent env budget",
    {"digest": LargeBinary},
    source_hash=Text,
)
results = _table(
    "results",
    _number(),
    "id outcome created extra",
    {
        **dict.fromkeys(("run", "series", "seed", "episodes", "steps"), BigInteger),
        **dict.fromkeys(("seconds", "cost"), Double),
        "digest": LargeBinary,
    },
    **dict.fromkeys(("score", "best_score"), Double),
    **dict.fromkeys(("reason", "record", "head"), Text),
)
statements = _table(
    "statements",
    _number(),
    "run public_key",
    {"digest": LargeBinary, "content": LargeBinary},
)
suites = _table("suites", Column("digest", Text, primary_key=True), "name content", {})


_ADVISORY_LOCK = 0x6C75647573  # "ludus"
_WORDS = {
    "sqlite": {"{key}": "INTEGER PRIMARY KEY", "{text}": "TEXT", "{bytes}": "BLOB"},
    # Texts compare by code point, as in SQLite, whatever the server's language is.
    "postgresql": {
        "{key}": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "{text}": 'TEXT COLLATE "C"',
        "{bytes}": "BYTEA",
    },
}


@dataclass(frozen=True, slots=True)
class Migration:
    """One step: its number, what it is about, and its statements."""

    number: int
    name: str
    statements: tuple[str, ...]


_RESULTS = (
    "CREATE TABLE ludus_runs (number {key}, name {text} NOT NULL UNIQUE)",
    """CREATE TABLE ludus_series (
        number {key},
        digest {bytes} NOT NULL UNIQUE,
        suite {text} NOT NULL,
        suite_digest {text} NOT NULL,
        agent {text} NOT NULL,
        env {text} NOT NULL,
        budget {text} NOT NULL,
        source_hash {text}
    )""",
    """CREATE TABLE ludus_results (
        number {key},
        run BIGINT NOT NULL REFERENCES ludus_runs (number),
        id {text} NOT NULL,
        series BIGINT NOT NULL REFERENCES ludus_series (number),
        seed BIGINT NOT NULL,
        outcome {text} NOT NULL
            CHECK (outcome IN ('scored', 'agent_fault', 'infrastructure_fault')),
        score DOUBLE PRECISION,
        best_score DOUBLE PRECISION,
        episodes BIGINT NOT NULL,
        steps BIGINT NOT NULL,
        seconds DOUBLE PRECISION NOT NULL,
        cost DOUBLE PRECISION NOT NULL,
        reason {text},
        record {text},
        head {text},
        verified {text} NOT NULL CHECK (verified IN ('verified', 'unverified', 'failed')),
        created {text} NOT NULL,
        extra {text} NOT NULL,
        digest {bytes} NOT NULL,
        UNIQUE (run, id),
        CHECK ((outcome = 'scored') = (score IS NOT NULL))
    )""",
    # Holds all that the leaderboard asks for, so that it never looks into the table.
    "CREATE INDEX ludus_results_tally ON ludus_results (series, outcome, verified, score)",
)

_VERIFICATIONS = (
    """CREATE TABLE ludus_verifications (
        number {key},
        result BIGINT NOT NULL REFERENCES ludus_results (number),
        before {text} NOT NULL,
        after {text} NOT NULL CHECK (after IN ('verified', 'unverified', 'failed')),
        head {text},
        author {text} NOT NULL,
        moment {text} NOT NULL
    )""",
    "CREATE INDEX ludus_verifications_result ON ludus_verifications (result)",
)

# A column that anybody with access could set says nothing about a record: signed statements do.
_STATEMENTS = (
    "DROP INDEX ludus_results_tally",
    "ALTER TABLE ludus_results DROP COLUMN verified",
    # All that a leaderboard asks for, so that it never looks into the table.
    "CREATE INDEX ludus_results_tally ON ludus_results (series, outcome, score)",
    "DROP TABLE ludus_verifications",
    """CREATE TABLE ludus_statements (
        number {key},
        digest {bytes} NOT NULL UNIQUE,
        run {text} NOT NULL,
        public_key {text} NOT NULL,
        content {bytes} NOT NULL
    )""",
    "CREATE INDEX ludus_statements_key ON ludus_statements (public_key)",
)

_SUITES = (
    """CREATE TABLE ludus_suites (
        digest {text} NOT NULL PRIMARY KEY,
        name {text} NOT NULL,
        content {text} NOT NULL
    )""",
    # Tells, without a look into the table, which units have several results.
    "CREATE INDEX ludus_results_units ON ludus_results (series, id)",
)

STEPS = (
    Migration(1, "results", _RESULTS),
    Migration(2, "history of verifications", _VERIFICATIONS),
    Migration(3, "signed statements", _STATEMENTS),
    Migration(4, "suites", _SUITES),
)
NEWEST = STEPS[-1].number


def schema_number(connection: Connection) -> int:
    """Return the number of the last step that was applied, 0 for a database without a store.

    Raises:
        StoreError: If a newer Ludus than this one made the tables.
    """
    if not inspect(connection).has_table(migrations.name):
        return 0
    found: int = connection.scalar(select(func.max(migrations.c.number))) or 0
    if found > NEWEST:
        raise StoreError(
            f"a newer Ludus made this store: its schema is number {found}, and this Ludus knows "
            f"{NEWEST}. Run `{pip_install(upgrade=True)}`, or give another store."
        )
    return found


def apply_missing(connection: Connection, up_to: int = NEWEST) -> None:
    """Apply the steps that are missing, in a transaction that can write.

    A second process waits, and finds the work done.

    Raises:
        StoreError: If a newer Ludus than this one made the tables.
    """
    dialect = connection.dialect.name
    if dialect == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
    found = schema_number(connection)
    if found == 0:
        connection.execute(
            text(
                "CREATE TABLE IF NOT EXISTS ludus_migrations "
                "(number BIGINT PRIMARY KEY, name TEXT NOT NULL, applied TEXT NOT NULL)"
            )
        )
    for step in STEPS:
        if found < step.number <= up_to:
            for statement in step.statements:
                connection.exec_driver_sql(_in_dialect(statement, dialect))
            now = datetime.now(UTC).isoformat(timespec="seconds")
            row = {"number": step.number, "name": step.name, "applied": now}
            connection.execute(insert(migrations), row)


def _in_dialect(statement: str, dialect: str) -> str:
    for word, meaning in _WORDS[dialect].items():
        statement = statement.replace(word, meaning)
    return statement
