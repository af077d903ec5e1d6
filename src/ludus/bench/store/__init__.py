"""Results of benchmarks in a database: an SQLite file, or PostgreSQL by URL.

SQLAlchemy is loaded when the first store is opened.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ludus.bench.store.address import default_path, parse_address
from ludus.errors import StoreError
from ludus.record.format.keys import PublicKey
from ludus.record.format.keys import trusted_keys as all_trusted_keys

if TYPE_CHECKING:
    from ludus.bench.store.store import Store

__all__ = ["default_path", "open_store"]


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
