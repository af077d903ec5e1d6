"""The results store."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import ColumnElement, Connection, func, select

from ludus.bench.result import OutcomeKind, Result, Verified
from ludus.bench.store import jsonl
from ludus.bench.store.board import BoardScale, Leaderboard, ScaleOf, ScoreTally
from ludus.bench.store.engine import Database
from ludus.bench.store.leaderboard import make_boards
from ludus.bench.store.rows import (
    Numbers,
    Prepared,
    Series,
    load_series,
    prepare,
    read_places,
    write_batch,
)
from ludus.bench.store.suites import keep_suite, known_scale, read_statements, write_statements
from ludus.bench.store.tables import results, runs, series
from ludus.bench.store.tallying import count_missing, read_tallies
from ludus.bench.verifying.statement import Standing, Statement, standing
from ludus.errors import StoreError
from ludus.record.format.keys import PublicKey

if TYPE_CHECKING:
    from ludus.bench.planning.suite import Suite

__all__ = ["RunSummary", "Store"]

BATCH = 2_000
"""Results per transaction."""

_HEAVIEST = 16 << 20  # characters per transaction, about


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a store has of one run; times are those of its first and last result."""

    run: str
    suites: tuple[str, ...]
    agents: tuple[str, ...]
    envs: tuple[str, ...]
    results: int
    first: str
    last: str


class Store:
    """Results of benchmarks in a database; :func:`~ludus.bench.store.open_store` opens one.

    Every method raises :class:`~ludus.errors.StoreError` if the database fails; its message names
    the store without its password. Threads and processes may share a store's address; one object
    may be used by several threads. Statements of ``trusted_keys`` make a result verified.
    """

    def __init__(self, database: Database, trusted_keys: Iterable[PublicKey] = ()) -> None:
        self._open: Database | None = database
        self._keys = frozenset(trusted_keys)
        self._known: Numbers = {}
        self.name = database.name

    def __repr__(self) -> str:
        return f"<Store {self.name}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End using the store; nothing is waiting to be written."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def add(self, results: Iterable[Result], *, batch: int = BATCH) -> int:
        """Store results, and return how many of them are new.

        A result is known by its run and id. One that is there already with the same content is
        passed over. What a result counts as is not stored: statements decide it. An infrastructure
        fault is the lack of a result: a result that comes later takes its place. Each batch is a
        transaction: in whole or not at all, whatever happens meanwhile. Adding the same again
        after a failure is safe.

        Raises:
            StoreError: If a result is there with other content; nothing of its batch is stored.
        """
        if batch < 1:
            raise StoreError(f"A batch has at least one result, not {batch}.")
        added = 0
        for taken in _batches(results, batch):
            with self._database.writing() as connection:
                new, numbers = write_batch(connection, taken, self._known)
            # Only what is committed may be relied on.
            self._known = numbers
            added += new
        return added

    def results(
        self,
        *,
        run: str | None = None,
        agent: str | None = None,
        env: str | None = None,
        suite: str | None = None,
        outcome: OutcomeKind | None = None,
        verified: Verified | None = None,
    ) -> Iterator[Result]:
        """Iterate over the results that fit, by run and id, without holding them in memory.

        All of them are from one moment, however long the iteration takes.
        """
        wanted = _conditions({"agent": agent, "env": env, "suite": suite}, series)
        having = _conditions({"outcome": outcome}, results)
        of_runs = _conditions({"name": run}, runs)
        with self._database.reading() as connection:
            told = self._standing(connection)
            for _, result in read_places(connection, of_runs, wanted, having):
                judged = told.of(result)
                if verified in (None, judged.verified):
                    yield judged

    def runs(self) -> list[RunSummary]:
        """Return what there is of every run, sorted by name."""
        created = results.c.created
        query = select(
            results.c.run, results.c.series, func.count(), func.min(created), func.max(created)
        ).group_by(results.c.run, results.c.series)
        parts: dict[int, list[tuple[Series, int, str, str]]] = {}
        with self._database.reading() as connection:
            kinds = load_series(connection, [])
            names = connection.execute(select(runs.c.name, runs.c.number).order_by(runs.c.name))
            numbers = [(name, number) for name, number in names]
            for run, kind, *rest in connection.execute(query):
                parts.setdefault(run, []).append((kinds[kind], *rest))
        return [_summary(name, parts[number]) for name, number in numbers if number in parts]

    def add_statements(self, statements: Iterable[Statement]) -> None:
        """Store verification statements of any key.

        A statement takes the place of earlier ones of the same key about the same results. Which
        keys count is decided when results are read.

        Raises:
            StoreError: If a signature is not genuine; nothing is stored then.
        """
        taken = list(statements)
        for one in taken:
            if not one.is_genuine():
                raise StoreError(
                    f"the statement about run {one.run!r:.100} was not signed by "
                    f"{one.key.fingerprint}, or was changed since. Verify the run again."
                )
        with self._database.writing() as connection:
            write_statements(connection, taken)

    def statements(self, *, run: str | None = None) -> list[Statement]:
        """Return the statements there are, of all keys, trusted here or not."""
        with self._database.reading() as connection:
            return read_statements(connection, run=run)

    def add_suite(self, suite: Suite) -> None:
        """Keep what the scores of a suite's results are measured with; a run does so by itself.

        Without it, and unless the suite comes with Ludus, a leaderboard has no references, and an
        agent's fault counts as the worst score that was seen.

        Raises:
            StoreError: If the suite is larger than a store takes.
        """
        with self._database.writing() as connection:
            keep_suite(connection, suite)

    def tallies(
        self, *, suite: str | None = None, scale: ScaleOf | None = None
    ) -> list[ScoreTally]:
        """Return counts and sums of scores per series, outcome and what results count as.

        Args:
            suite: its name.
            scale: gives what scores are measured with; by default what the store knows.
        """
        return self._tallies(suite, scale)[0]

    def _tallies(
        self, suite: str | None, scale: ScaleOf | None
    ) -> tuple[
        list[ScoreTally], Mapping[tuple[str, str], BoardScale], Mapping[tuple[str, str], int]
    ]:
        """Return tallies, and by suite and digest the scales and how many results are missed."""
        wanted = _conditions({"suite": suite}, series)
        known: dict[tuple[str, str], BoardScale] = {}
        with self._database.reading() as connection:
            kinds = load_series(connection, wanted)
            for one in kinds.values():
                pair = one.suite, one.suite_digest
                if pair not in known:
                    known[pair] = scale(*pair) if scale else known_scale(connection, *pair)
            told = self._standing(connection)
            found = read_tallies(connection, kinds, wanted, lambda *pair: known[pair], told)
            missing = count_missing(connection, told)
        return found, known, missing

    def leaderboard(
        self,
        suite: str | None = None,
        *,
        verified_only: bool = False,
        limit: int | None = None,
        references: Mapping[str, tuple[float, float]] | None = None,
        lower_is_better: Collection[str] = (),
        floors: Mapping[str, float] | None = None,
    ) -> list[Leaderboard]:
        """Return the leaderboards of one suite, or of all.

        Args:
            suite: its name.
            verified_only: whether only results count that a trusted statement calls verified.
            limit: rows per board.
            references: by environment, the scores that count as 0 and as 1; by default those of
                the suites in the store, and of those that come with Ludus.
            lower_is_better: environments in which lower scores are better, if there is no
                reference.
            floors: by environment, what an agent's fault counts as.

        Raises:
            BenchError: If the limit, a reference or a floor is none.
        """
        scale: ScaleOf | None = None
        if references is not None or lower_is_better or floors is not None:
            given = BoardScale(references or {}, lower_is_better, floors or {})
            scale = lambda *_: given  # noqa: E731
        tallies, known, missing = self._tallies(suite, scale)
        return make_boards(
            tallies,
            verified_only=verified_only,
            limit=limit,
            scale=lambda *pair: known[pair],
            missing=missing,
        )

    def export_jsonl(self, path: str | Path, **wanted: Any) -> int:
        """Write results as lines of JSON, and return how many; the file is there when whole.

        Keyword arguments are those of :meth:`results`. Statements about the runs of these results
        follow after them. The same results and statements give the same file.
        """
        return jsonl.write_file(Path(path), self.results(**wanted), self.statements())

    def import_jsonl(self, path: str | Path) -> int:
        """Store the results and the statements in a file, and return how many results are new.

        All lines are checked before the first is stored. What was stored when a later failure
        came stays, and importing the file again goes on from there. What the results count as
        here depends on whose statements these are.

        Args:
            path: of a file with one result or statement per line.

        Raises:
            StoreError: If a line holds neither; the message gives its number.
        """
        for _ in jsonl.read_file(Path(path)):
            pass
        statements: list[Statement] = []
        added = self.add(_results(jsonl.read_file(Path(path)), statements))
        self.add_statements(statements)
        return added

    def _standing(self, connection: Connection) -> Standing:
        if not self._keys:
            return Standing()
        return standing(read_statements(connection, keys=self._keys), self._keys)

    @property
    def _database(self) -> Database:
        if self._open is None:
            raise StoreError(f"{self.name}: the store is closed; open it again.")
        return self._open


def _results(lines: Iterable[Result | Statement], statements: list[Statement]) -> Iterator[Result]:
    """Yield the results, and put the statements aside."""
    for line in lines:
        if isinstance(line, Statement):
            statements.append(line)
        else:
            yield line


def _batches(results: Iterable[Result], most: int) -> Iterator[list[Prepared]]:
    taken: list[Prepared] = []
    size = 0
    for result in results:
        taken.append(prepare(result))
        size += taken[-1].size
        if len(taken) == most or size > _HEAVIEST:
            yield taken
            taken, size = [], 0
    if taken:
        yield taken


def _conditions(values: Mapping[str, object], table: Any) -> list[ColumnElement[bool]]:
    wanted = []
    for name, value in values.items():
        if value is None:
            continue
        if not isinstance(value, str) or "\0" in value or not _encodable(value):
            raise StoreError(f"{value!r} is no {name} that a store could hold.")
        wanted.append(table.c[name] == value)
    return wanted


def _encodable(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _summary(name: str, found: list[tuple[Series, int, str, str]]) -> RunSummary:
    kinds = [part[0] for part in found]
    return RunSummary(
        run=name,
        suites=tuple(sorted({kind.suite for kind in kinds})),
        agents=tuple(sorted({kind.agent for kind in kinds})),
        envs=tuple(sorted({kind.env for kind in kinds})),
        results=sum(part[1] for part in found),
        first=min(part[2] for part in found),
        last=max(part[3] for part in found),
    )
