"""Results of benchmarks in a database: an SQLite file, or PostgreSQL by URL.

SQLAlchemy is loaded when the first store is opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ludus.errors import StoreError
from ludus.optional import missing
from ludus.record.format.keys import PublicKey
from ludus.record.format.keys import trusted_keys as all_trusted_keys

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

    from ludus.bench.store.store import Store

__all__ = ["Address", "default_path", "open_store", "parse_address"]


def open_store(
    where: str | Path | None = None,
    *,
    create: bool = True,
    trusted_keys: Iterable[PublicKey] | None = None,
) -> Store:
    """Open a store, and make it or bring its tables up to date if need be.

    Args:
        where: a path, ``sqlite:///path`` or ``postgresql://user:password@host/database``. By
            default ``$LUDUS_STORE``, else ``ludus/results.sqlite`` in the user's data folder.
        create: whether to make a store where there is none.
        trusted_keys: whose statements make a result verified; by default the user's own key and
            those that the user has listed, see :func:`ludus.record.trusted_keys`.

    Raises:
        StoreError: If it cannot be opened, there is none, or a newer Ludus made it.
        DependencyNotInstalled: If SQLAlchemy, or psycopg for PostgreSQL, is missing.
    """
    address = parse_address(where)
    from ludus.bench.store.engine import Database
    from ludus.bench.store.store import Store

    if address.path is not None:
        if not create and not address.path.exists():
            raise StoreError(f"{address.name}: there is no store here.")
        if where is None and create:
            address.path.parent.mkdir(parents=True, exist_ok=True)
    database = Database(address)
    database.prepare(create=create)
    return Store(database, all_trusted_keys() if trusted_keys is None else trusted_keys)


_POSTGRES = frozenset({"postgres", "postgresql", "postgresql+psycopg"})


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed address.

    Attributes:
        url: for SQLAlchemy, with the driver; may hold a password, and is never printed.
        name: for people and for messages, without password and options.
        path: of an SQLite file, ``None`` for a server.
    """

    url: URL
    name: str
    path: Path | None

    def __repr__(self) -> str:
        return f"Address({self.name!r})"


def default_path() -> Path:
    """Return the default store, below the user's data folder."""
    home = os.environ.get("XDG_DATA_HOME", "")
    # The XDG specification asks for relative paths to be ignored.
    base = Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "share"
    return base / "ludus" / "results.sqlite"


def parse_address(where: str | Path | None) -> Address:
    """Return the address that a path or a URL means.

    ``None`` means ``$LUDUS_STORE``, else :func:`default_path`.

    Raises:
        StoreError: If it is no path and no URL of SQLite or PostgreSQL.
        DependencyNotInstalled: If SQLAlchemy is missing.
    """
    try:
        from sqlalchemy.engine import URL, make_url
        from sqlalchemy.exc import ArgumentError
    except ImportError as problem:
        raise missing("SQLAlchemy", extra="store", purpose="The results store") from problem
    if where is None:
        where = os.environ.get("LUDUS_STORE") or default_path()
    if isinstance(where, Path) or "://" not in where:
        return _file(URL.create("sqlite", database=os.fspath(where)))
    try:
        url = make_url(where)
    except (ArgumentError, ValueError):
        # What came is not repeated: it may hold a password.
        raise StoreError(
            "The store's URL cannot be read; expected a path, sqlite:///path or "
            "postgresql://user:password@host:port/database. Write special characters of a "
            "password as %XX."
        ) from None
    if url.drivername in {"sqlite", "sqlite+pysqlite"}:
        return _file(url)
    if url.drivername not in _POSTGRES:
        raise StoreError(
            f"A store cannot be on {url.drivername!r}; expected a path, sqlite:///path or "
            "postgresql://user@host/database."
        )
    host = url.host or url.query.get("host") or ""
    shown = URL.create("postgresql", url.username, None, str(host), url.port, url.database)
    return Address(url.set(drivername="postgresql+psycopg"), shown.render_as_string(), None)


def _file(url: URL) -> Address:
    text = url.database or ""
    if url.query or text in {"", ":memory:"} or "\0" in text or text.startswith("file:"):
        raise StoreError(
            f"{text!r} is no place for a store: a path is expected, without options. Results in "
            "memory would be gone with the process."
        )
    path = Path(text).expanduser()
    return Address(url.set(drivername="sqlite+pysqlite", database=str(path)), str(path), path)
