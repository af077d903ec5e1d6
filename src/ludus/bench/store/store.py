"""The results store."""

from __future__ import annotations

import getpass
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, get_args

from sqlalchemy import ColumnElement, Connection, func, insert, select, update

from ludus.bench.board import Board, Scale
from ludus.bench.leaderboard import make_boards
from ludus.bench.result import Outcome, Result, Verified
from ludus.bench.store import jsonl
from ludus.bench.store.engine import Database
from ludus.bench.store.rows import OWN_FIELDS, Prepared, Series, prepare, restore
from ludus.bench.store.suites import keep_suite, known_scale
from ludus.bench.store.tables import results, runs, series, verifications
from ludus.bench.store.tally import ScaleOf, Tally
from ludus.bench.store.tallying import read_tallies
from ludus.bench.store.writing import Numbers, write_batch
from ludus.errors import StoreError

if TYPE_CHECKING:
    from ludus.bench.suite import Suite

__all__ = ["RunSummary", "Store", "VerificationChange"]

BATCH = 2_000
"""Results per transaction."""

_HEAVIEST = 16 << 20  # characters per transaction, about
_PAGE = 50  # results in memory while reading


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


@dataclass(frozen=True, slots=True)
class VerificationChange:
    """Who set a result's verification, when, and from what to what.

    ``head`` is the chain head of the record that was looked at.
    """

    run: str
    id: str
    before: Verified
    after: Verified
    head: str | None
    author: str
    moment: str


class Store:
    """Results of benchmarks in a database; :func:`~ludus.bench.store.open_store` opens one.

    Every method raises :class:`~ludus.errors.StoreError` if the database fails; its message names
    the store without its password. Threads and processes may share a store's address; one object
    may be used by several threads.
    """

    def __init__(self, database: Database) -> None:
        self._open: Database | None = database
        self._known: Numbers = {}
        self.name = database.name

    def __repr__(self) -> str:
        return f"<Store {self.name}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End using the store; nothing is waiting to be written."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def add(self, results: Iterable[Result], *, batch: int = BATCH) -> int:
        """Store results, and return how many of them are new.

        A result is known by its run and id. One that is there already with the same content is
        passed over; its verification is no content, and stays what it is. An infrastructure
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
        outcome: Outcome | None = None,
        verified: Verified | None = None,
    ) -> Iterator[Result]:
        """Iterate over the results that fit, by run and id, without holding them in memory.

        All of them are from one moment, however long the iteration takes.
        """
        wanted = _conditions({"agent": agent, "env": env, "suite": suite}, series)
        having = _conditions({"outcome": outcome, "verified": verified}, results)
        of_runs = _conditions({"name": run}, runs)
        with self._database.reading() as connection:
            kinds = _load_series(connection, wanted)
            found = connection.execute(
                select(runs.c.number, runs.c.name).where(*of_runs).order_by(runs.c.name)
            ).all()
            query = select(results.c.series, *(results.c[name] for name in OWN_FIELDS))
            if wanted:
                query = query.join(series, series.c.number == results.c.series).where(*wanted)
            for number, name in found:
                page = query.where(results.c.run == number, *having).order_by(results.c.id)
                rows = connection.execution_options(yield_per=_PAGE).execute(page)
                for kind, *values in rows:
                    yield restore(name, kinds[kind], values)

    def runs(self) -> list[RunSummary]:
        """Return what there is of every run, sorted by name."""
        created = results.c.created
        query = select(
            results.c.run, results.c.series, func.count(), func.min(created), func.max(created)
        ).group_by(results.c.run, results.c.series)
        parts: dict[int, list[tuple[Series, int, str, str]]] = {}
        with self._database.reading() as connection:
            kinds = _load_series(connection, [])
            names = connection.execute(select(runs.c.name, runs.c.number).order_by(runs.c.name))
            numbers = [(name, number) for name, number in names]
            for run, kind, *rest in connection.execute(query):
                parts.setdefault(run, []).append((kinds[kind], *rest))
        return [_summary(name, parts[number]) for name, number in numbers if number in parts]

    def mark_verified(
        self,
        run: str,
        id: str,
        status: Verified,
        head: str | None = None,
        *,
        author: str | None = None,
    ) -> None:
        """Set what came of verifying a result's record; the history keeps who did so, and when.

        Args:
            run: the result's.
            id: the result's.
            status: what it is from now on.
            head: chain head of the record that was verified.
            author: who says so; by default the user that runs this process.

        Raises:
            StoreError: If there is no such result, or the record verified is not the result's.
        """
        if status not in get_args(Verified):
            raise StoreError(f"A result is one of {get_args(Verified)}, not {status!r}.")
        with self._database.writing() as connection:
            query = select(results.c.number, results.c.verified, results.c.head)
            query = query.join(runs, runs.c.number == results.c.run).with_for_update(of=results)
            wanted = [*_conditions({"name": run}, runs), *_conditions({"id": id}, results)]
            found = connection.execute(query.where(*wanted)).one_or_none()
            if found is None:
                raise StoreError(f"run {run!r} has no result {id!r} here; add it first.")
            if status == "verified" and found.head != head:
                raise StoreError(
                    f"the record that was verified ends in {head}, and that of result {id!r} of "
                    f"run {run!r} in {found.head}: it is another one."
                )
            connection.execute(
                update(results).where(results.c.number == found.number).values(verified=status)
            )
            change = {"result": found.number, "before": found.verified, "after": status}
            said = {"head": head, "author": author or _user(), "moment": _now()}
            connection.execute(insert(verifications), {**change, **said})

    def verifications(
        self, *, run: str | None = None, id: str | None = None
    ) -> list[VerificationChange]:
        """Return every change of a verification, oldest first."""
        names = ("before", "after", "head", "author", "moment")
        query = (
            select(runs.c.name, results.c.id, *(verifications.c[name] for name in names))
            .join(results, results.c.number == verifications.c.result)
            .join(runs, runs.c.number == results.c.run)
            .where(*_conditions({"name": run}, runs), *_conditions({"id": id}, results))
            .order_by(verifications.c.number)
        )
        with self._database.reading() as connection:
            return [VerificationChange(*row) for row in connection.execute(query)]

    def add_suite(self, suite: Suite) -> None:
        """Keep what the scores of a suite's results are measured with; a run does so by itself.

        Without it, and unless the suite comes with Ludus, a leaderboard has no references, and an
        agent's fault counts as the worst score that was seen.

        Raises:
            StoreError: If the suite is larger than a store takes.
        """
        with self._database.writing() as connection:
            keep_suite(connection, suite)

    def tallies(self, *, suite: str | None = None, scale: ScaleOf | None = None) -> list[Tally]:
        """Return counts and sums of scores per series, outcome and verification.

        Args:
            suite: its name.
            scale: gives what scores are measured with; by default what the store knows.
        """
        return self._tallies(suite, scale)[0]

    def _tallies(
        self, suite: str | None, scale: ScaleOf | None
    ) -> tuple[list[Tally], Mapping[tuple[str, str], Scale]]:
        wanted = _conditions({"suite": suite}, series)
        known: dict[tuple[str, str], Scale] = {}
        with self._database.reading() as connection:
            kinds = _load_series(connection, wanted)
            for one in kinds.values():
                pair = one.suite, one.suite_digest
                if pair not in known:
                    known[pair] = scale(*pair) if scale else known_scale(connection, *pair)
            found = read_tallies(connection, kinds, wanted, lambda *pair: known[pair])
        return found, known

    def leaderboard(
        self,
        suite: str | None = None,
        *,
        verified_only: bool = False,
        limit: int | None = None,
        references: Mapping[str, tuple[float, float]] | None = None,
        lower_is_better: Collection[str] = (),
        floors: Mapping[str, float] | None = None,
    ) -> list[Board]:
        """Return the leaderboards of one suite, or of all.

        Args:
            suite: its name.
            verified_only: whether only results count whose record was verified.
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
            given = Scale(references or {}, lower_is_better, floors or {})
            scale = lambda *_: given  # noqa: E731
        tallies, known = self._tallies(suite, scale)
        return make_boards(
            tallies, verified_only=verified_only, limit=limit, scale=lambda *pair: known[pair]
        )

    def export_jsonl(self, path: str | Path, **wanted: Any) -> int:
        """Write results as lines of JSON, and return how many; the file is there when whole.

        Keyword arguments are those of :meth:`results`. The same results give the same file.
        """
        return jsonl.write_file(Path(path), self.results(**wanted))

    def import_jsonl(self, path: str | Path, *, trust_verified: bool = False) -> int:
        """Store the results in a file, and return how many are new.

        All lines are checked before the first is stored. What was stored when a later failure
        came stays, and importing the file again goes on from there.

        Args:
            path: of a file with one result per line.
            trust_verified: keep what the file calls verified; else it is unverified here.

        Raises:
            StoreError: If a line holds no result; the message gives its number.
        """
        for _ in jsonl.read_file(Path(path), trust_verified=trust_verified):
            pass
        return self.add(jsonl.read_file(Path(path), trust_verified=trust_verified))

    @property
    def _database(self) -> Database:
        if self._open is None:
            raise StoreError(f"{self.name}: the store is closed; open it again.")
        return self._open


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


def _load_series(connection: Connection, wanted: list[ColumnElement[bool]]) -> dict[int, Series]:
    query = select(series.c.number, *(series.c[name] for name in Series._fields)).where(*wanted)
    return {number: Series(*values) for number, *values in connection.execute(query)}


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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
