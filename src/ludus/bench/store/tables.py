"""The store's tables, as queries see them; :mod:`.migrations` is what makes them.

What many results have in common is kept once, as a series, and so is a run's name: a result's own
row is small, and so is the index that the leaderboard is read from.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

__all__ = ["metadata", "migrations", "results", "runs", "series", "statements", "suites"]

metadata = MetaData()

migrations = Table(
    "ludus_migrations",
    metadata,
    Column("number", BigInteger, primary_key=True),
    Column("name", Text, nullable=False),
    Column("applied", Text, nullable=False),
)

runs = Table(
    "ludus_runs",
    metadata,
    Column("number", BigInteger, primary_key=True),
    Column("name", Text, nullable=False),
)

series = Table(
    "ludus_series",
    metadata,
    Column("number", BigInteger, primary_key=True),
    Column("digest", LargeBinary, nullable=False),
    Column("suite", Text, nullable=False),
    Column("suite_digest", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("env", Text, nullable=False),
    Column("budget", Text, nullable=False),
    Column("source_hash", Text),
)

results = Table(
    "ludus_results",
    metadata,
    Column("number", BigInteger, primary_key=True),
    Column("run", BigInteger, ForeignKey("ludus_runs.number"), nullable=False),
    Column("id", Text, nullable=False),
    Column("series", BigInteger, ForeignKey("ludus_series.number"), nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("score", Double),
    Column("best_score", Double),
    Column("episodes", BigInteger, nullable=False),
    Column("steps", BigInteger, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("cost", Double, nullable=False),
    Column("reason", Text),
    Column("record", Text),
    Column("head", Text),
    Column("created", Text, nullable=False),
    Column("extra", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False),
)

statements = Table(
    "ludus_statements",
    metadata,
    Column("number", BigInteger, primary_key=True),
    Column("digest", LargeBinary, nullable=False),
    Column("run", Text, nullable=False),
    Column("public_key", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
)

suites = Table(
    "ludus_suites",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("content", Text, nullable=False),
)
