"""Suites in a store: references and floors for the scores of its results.

A suite is kept under its own digest, which its results name too. So other people's results cannot
be given another scale: content that does not have the digest is not stored, and not used.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from ludus.bench.store import tables
from ludus.bench.store.board import BoardScale
from ludus.bench.store.leaderboard import bundled_scale, scale_of
from ludus.bench.store.tables import statements as table
from ludus.bench.verifying.statement import Statement
from ludus.errors import BenchError, Error, StoreError
from ludus.record.format.keys import PublicKey

if TYPE_CHECKING:
    from ludus.bench.planning.suite import Suite

__all__ = ["keep_suite", "known_scale", "read_statements", "write_statements"]

_LARGEST = 1 << 20


def keep_suite(connection: Connection, suite: Suite) -> None:
    """Write a suite, unless it is there; raises ``StoreError`` if it is too large."""
    content = json.dumps(suite.model_dump(mode="json", exclude_unset=True))
    if len(content) > _LARGEST:
        raise StoreError(
            f"the suite {suite.name} takes {len(content)} characters, and a store takes {_LARGEST}."
        )
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    row = {"digest": suite.digest, "name": suite.name, "content": content}
    connection.execute(dialect.insert(tables.suites).on_conflict_do_nothing(), row)


def known_scale(connection: Connection, name: str, digest: str) -> BoardScale:
    """Return the scale of a suite that is kept or comes with Ludus, an empty one of others."""
    from ludus.bench.planning.suite import suite_from

    bundled = bundled_scale(name, digest)
    if bundled != BoardScale():
        return bundled  # no stored suite is needed
    query = select(tables.suites.c.content).where(tables.suites.c.digest == digest)
    content = connection.scalar(query)
    if content is None:
        return bundled
    try:
        suite = suite_from(json.loads(content), f"suite {name} in the store")
        return scale_of(suite) if (suite.name, suite.digest) == (name, digest) else BoardScale()
    except (Error, ValueError, TypeError, RecursionError):
        # One suite that is no scale must not keep all other boards from being shown.
        return BoardScale()


_LONGEST_RUN = 300


def read_statements(
    connection: Connection, *, run: str | None = None, keys: Collection[PublicKey] | None = None
) -> list[Statement]:
    """Return statements, of a run or of some keys only, in the order in which they were stored.

    Rows that are no statement are left out.
    """
    query = select(table.c.content).order_by(table.c.number)
    if run is not None:
        query = query.where(table.c.run == run)
    if keys is not None:
        query = query.where(table.c.public_key.in_([key.hex for key in keys]))
    found = []
    for (content,) in connection.execute(query):
        try:
            found.append(Statement.from_bytes(bytes(content)))
        except BenchError:
            continue
    return found


def write_statements(connection: Connection, statements: Iterable[Statement]) -> None:
    """Store statements; each replaces older ones of the same key about the same results."""
    for one in statements:
        _drop_covered(connection, one)
        content = one.to_bytes()
        digest = hashlib.sha256(content).digest()
        if connection.execute(select(table.c.number).where(table.c.digest == digest)).first():
            continue
        if len(one.run) > _LONGEST_RUN:
            raise StoreError(f"The name of run {one.run!r:.80} is too long for a store.")
        row = {"digest": digest, "run": one.run, "public_key": one.public_key, "content": content}
        connection.execute(insert(table), row)


def _drop_covered(connection: Connection, statement: Statement) -> None:
    """Remove older statements about nothing but what this one is about."""
    query = select(table.c.number, table.c.content).where(
        table.c.run == statement.run, table.c.public_key == statement.public_key
    )
    for number, content in connection.execute(query).all():
        try:
            older = Statement.from_bytes(bytes(content))
        except BenchError:
            continue
        if older.is_covered_by(statement):
            connection.execute(delete(table).where(table.c.number == number))
