"""Suites in a store: references and floors for the scores of its results.

A suite is kept under its own digest, which its results name too. So other people's results cannot
be given another scale: content that does not have the digest is not stored, and not used.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql, sqlite

from ludus.bench.store import tables
from ludus.bench.store.board import BoardScale
from ludus.bench.store.leaderboard import bundled_scale, scale_of
from ludus.errors import Error, StoreError

if TYPE_CHECKING:
    from ludus.bench.planning.suite import Suite

__all__ = ["keep_suite", "known_scale"]

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
