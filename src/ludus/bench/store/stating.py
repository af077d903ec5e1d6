"""Verification statements in the tables."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable

from sqlalchemy import Connection, delete, insert, select

from ludus.bench.store.tables import statements as table
from ludus.bench.verifying.statement import Statement
from ludus.errors import BenchError, StoreError
from ludus.record.format.keys import PublicKey

__all__ = ["read_statements", "write_statements"]

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
