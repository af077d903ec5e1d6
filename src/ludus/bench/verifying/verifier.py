"""Collects findings into signed statements, for the run's folder and a store."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ludus import logger
from ludus.bench.running.folder import BenchFolder
from ludus.bench.verifying.statement import (
    MOST_FINDINGS,
    Finding,
    Statement,
    sign_statement,
    write_statement,
)
from ludus.errors import DependencyNotInstalled
from ludus.record.format.keys import SigningKey, own_key

__all__ = ["Verifier", "keeping_statements"]

_EVERY = 2.0


class Verifier:
    """Collects findings, signs them with a key, and writes them to the folder and the store."""

    def __init__(self, folder: BenchFolder, key: SigningKey, store: Any) -> None:
        self._folder, self._key, self._store = folder, key, store
        self._findings: list[Finding] = []
        self._written = time.monotonic()

    def add(self, finding: Finding) -> None:
        """Add a finding; findings older than two seconds are written to the folder."""
        self._findings.append(finding)
        if len(self._findings) == MOST_FINDINGS:
            self.close()
        elif time.monotonic() - self._written > _EVERY:
            write_statement(self._folder.path, self._sign())
            self._written = time.monotonic()

    def close(self) -> None:
        """Sign the findings, and put the statement into the folder and the store.

        Raises:
            BenchError: The folder cannot be written.
            StoreError: The store does not take it.
        """
        if not self._findings:
            return
        statement = self._sign()
        self._findings, self._written = [], time.monotonic()
        write_statement(self._folder.path, statement)
        if self._store is not None:
            self._store.add_statements([statement])

    def _sign(self) -> Statement:
        suite = self._folder.suite
        return sign_statement(
            self._key,
            self._findings,
            run=self._folder.name,
            plan=self._folder.digest,
            suite=suite.name,
            suite_digest=suite.digest,
        )


@contextmanager
def keeping_statements(
    folder: BenchFolder, key: SigningKey | None, store: Any
) -> Iterator[Verifier | None]:
    """Yield a verifier; ``None``, with a warning, if ``cryptography`` is not installed.

    However the block is left, findings up to then are written.
    """
    try:
        verifier = Verifier(folder, key or own_key(), store)
    except DependencyNotInstalled as problem:
        logger.warn(f"What is found is not kept, and results stay claims. {problem}")
        yield None
        return
    try:
        yield verifier
    finally:
        verifier.close()
