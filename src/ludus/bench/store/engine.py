"""Connections to a store's database, and its failures as :class:`~ludus.errors.StoreError`.

No connection is kept between operations: a store may be used from any thread, and after a fork.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from ludus.bench.store import Address
from ludus.bench.store.tables import NEWEST, apply_missing, schema_number
from ludus.errors import StoreError
from ludus.optional import missing

__all__ = ["Database"]

PATIENCE = 60.0
"""Seconds to wait for another writer."""


class Database:
    """One database: transactions that read, and transactions that write."""

    def __init__(self, address: Address) -> None:
        self.name = address.name
        self.dialect = "sqlite" if address.path is not None else "postgresql"
        self._password = address.url.password or ""
        try:
            self._engine = _sqlite(address) if address.path is not None else _postgres(address)
        except ImportError as problem:
            raise missing("psycopg", extra="postgres", purpose="A store on PostgreSQL") from problem

    def prepare(self, *, create: bool) -> None:
        """Bring the tables up to date, or make them if they may be made.

        Raises:
            StoreError: If there is no store and none is to be made, or a newer Ludus made it.
        """
        with self.reading() as connection:
            _check_encoding(connection)
            found = schema_number(connection)
        if found == 0 and not create:
            raise StoreError(f"{self.name}: there is no store here.")
        if found < NEWEST:
            if self.dialect == "sqlite":
                self._turn_to_wal()
            with self.writing() as connection:
                apply_missing(connection)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection in a transaction that sees one state of the database."""
        with self._failures(), self._engine.connect() as connection:
            if self.dialect == "postgresql":
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection in a transaction that is in whole at the end, or not at all."""
        with self._failures(), self._engine.connect() as connection:
            connection = connection.execution_options(ludus_writes=True)
            if self.dialect == "postgresql":
                # What another writer has just committed is seen, whatever the server's default.
                connection = connection.execution_options(isolation_level="READ COMMITTED")
            with connection.begin():
                if self.dialect == "postgresql":
                    wait = f"SET LOCAL lock_timeout = '{int(PATIENCE * 1000)}'"
                    connection.execute(text(wait))
                yield connection

    def close(self) -> None:
        """Let go of what the engine holds."""
        self._engine.dispose()

    def _turn_to_wal(self) -> None:
        """Let readers and a writer work at once; the file remembers it.

        SQLite does not wait by itself if another process is about to do the same.
        """
        until = time.monotonic() + PATIENCE
        with self._failures(), self._engine.connect() as connection:
            driver: Any = connection.connection.dbapi_connection
            while True:
                try:
                    driver.execute("PRAGMA journal_mode = WAL")
                except sqlite3.OperationalError as problem:
                    if "locked" not in str(problem) or time.monotonic() > until:
                        raise StoreError(str(problem)) from problem
                    time.sleep(0.01)
                else:
                    return

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except StoreError as problem:
            if str(problem).startswith(f"{self.name}: "):
                raise
            raise StoreError(f"{self.name}: {problem}") from problem
        except DBAPIError as problem:
            # The statement and its parameters stay out of the message, and so does the password.
            words = " ".join(str(problem.orig).split())
            raise StoreError(f"{self.name}: {self._masked(words)}{_advice(problem)}") from problem
        except SQLAlchemyError as problem:
            raise StoreError(f"{self.name}: {self._masked(str(problem))}") from problem

    def _masked(self, words: str) -> str:
        return words.replace(str(self._password), "***") if self._password else words


def _advice(problem: DBAPIError) -> str:
    words = str(problem.orig)
    if "not a database" in words:
        return ". Give the path of a store, or of a file that does not exist yet."
    if "unable to open" in words:
        return ". Does the folder exist, and may you write there?"
    if "locked" in words or "lock timeout" in words:
        return f". Another process has been writing for more than {PATIENCE:g} seconds; try again."
    if isinstance(problem, OperationalError) and "connect" in words:
        return ". Is the server running, and are host, user and password right?"
    return ""


def _sqlite(address: Address) -> Engine:
    engine = create_engine(
        address.url, poolclass=NullPool, hide_parameters=True, connect_args={"timeout": PATIENCE}
    )
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _: object) -> None:
    # The driver would begin transactions only at the first change: too late for a lock.
    connection.isolation_level = None
    for setting in ("foreign_keys = ON", "synchronous = FULL", "trusted_schema = OFF"):
        connection.execute(f"PRAGMA {setting}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("ludus_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _postgres(address: Address) -> Engine:
    options = {"connect_timeout": 10, "application_name": "ludus", "client_encoding": "utf8"}
    given = {key: value for key, value in options.items() if key not in address.url.query}
    return create_engine(address.url, poolclass=NullPool, hide_parameters=True, connect_args=given)


def _check_encoding(connection: Connection) -> None:
    if connection.dialect.name != "postgresql":
        return
    found = connection.scalar(text("SHOW server_encoding"))
    if found != "UTF8":
        raise StoreError(
            f"the database's encoding is {found}, and a store needs UTF8; make one with "
            "`createdb --encoding UTF8 --template template0`."
        )
