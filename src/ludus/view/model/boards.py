"""Suites and what agents reached in them, from the run folders below the viewer's folder.

Every figure comes from the leaderboard and the report of :mod:`ludus.bench`; nothing is computed
here. A result counts as verified only by a statement of a trusted key.
"""

from __future__ import annotations

import os
import threading
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from ludus.bench.comparing.merging import merge_runs
from ludus.bench.report.document import Document
from ludus.bench.report.html import sections_of
from ludus.bench.report.write import build_document
from ludus.bench.result import Result
from ludus.bench.running.folder import BenchFolder
from ludus.bench.store import open_store
from ludus.bench.store.board import BoardScale, Leaderboard, tally_results
from ludus.bench.store.leaderboard import bundled_scale, make_boards, scale_of
from ludus.errors import BenchError, ComparisonRefused, Error, StoreError
from ludus.record.format.keys import trusted_keys
from ludus.view.library import Found, Library

__all__ = ["BoardRun", "Boards", "Report", "SuiteRow"]

_KEPT = 200
_MOST_MERGED = 50


@dataclass(frozen=True, slots=True)
class BoardRun:
    """One run: where it is and how its results stand."""

    found: Found
    folder: BenchFolder
    results: Sequence[Result]

    @property
    def standing(self) -> Counter[str]:
        """How many results are verified, claimed and failed."""
        return Counter(one.verified for one in self.results)

    @property
    def agents(self) -> int:
        """How many agents it has."""
        return len(self.folder.agents)


@dataclass(frozen=True, slots=True)
class SuiteRow:
    """A suite and its runs."""

    name: str
    title: str
    runs: tuple[BoardRun, ...]

    @property
    def agents(self) -> int:
        """How many agents its runs have."""
        return len({agent.name for run in self.runs for agent in run.folder.agents})

    @property
    def results(self) -> int:
        """How many results its runs have."""
        return sum(len(run.results) for run in self.runs)

    @property
    def standing(self) -> Counter[str]:
        """How many results are verified, claimed and failed."""
        return sum((run.standing for run in self.runs), Counter())


@dataclass(frozen=True, slots=True)
class Report:
    """The report of some runs: its head, and the markup of each section."""

    document: Document
    sections: tuple[tuple[str, str, Markup], ...]


class Boards:
    """Reads runs, again when they have changed. May be used by several threads."""

    def __init__(self, library: Library, store: str | None = None) -> None:
        self._library, self._store = library, store
        self._kept: OrderedDict[tuple[str, ...], BoardRun] = OrderedDict()
        self._lock = threading.Lock()

    def suites(self) -> tuple[list[SuiteRow], list[str]]:
        """Return the suites by name, and what is wrong with runs that are left out."""
        by_name: defaultdict[str, list[BoardRun]] = defaultdict(list)
        problems = []
        for found in self._library.all():
            if found.kind != "run":
                continue
            try:
                run = self._run(found)
            except Error as problem:
                problems.append(f"{found.place}: {self._library.told(problem)}")
                continue
            except Exception as problem:  # one odd run among many must not hide the others
                problems.append(f"{found.place}: it cannot be read: {type(problem).__name__}")
                continue
            by_name[run.folder.suite.name].append(run)
        rows = [
            SuiteRow(name, runs[0].folder.suite.title or name, tuple(runs))
            for name, runs in sorted(by_name.items())
        ]
        return rows, problems

    def leaderboards(
        self, suite: str, runs: Iterable[BoardRun], *, verified_only: bool = False
    ) -> list[Leaderboard]:
        """Return the boards of a suite: of the runs, or of the store if there is one.

        Raises:
            StoreError: The store cannot be read.
        """
        if self._store is not None:
            try:
                with open_store(self._store, create=False) as opened:
                    return opened.leaderboard(suite, verified_only=verified_only)
            except OSError as problem:
                raise StoreError(f"The store cannot be read: {problem}") from problem
        found = list(runs)
        scales = {run.folder.suite.digest: scale_of(run.folder.suite) for run in found}

        def scale(name: str, digest: str) -> BoardScale:
            return scales.get(digest) or bundled_scale(name, digest)

        results = [one for run in found for one in run.results]
        return make_boards(tally_results(results, scale), verified_only=verified_only, scale=scale)

    def report(self, runs: Sequence[BoardRun]) -> Report:
        """Return the report of runs, merged.

        Raises:
            ComparisonRefused: They cannot be merged, or there are too many.
            BenchError: One of them is damaged.
        """
        if len(runs) > _MOST_MERGED:
            raise ComparisonRefused(
                f"There are {len(runs)} runs, and at most {_MOST_MERGED} are merged; choose some."
            )
        merged = merge_runs([run.found.path for run in runs])
        document = build_document(
            merged.results,
            title=merged.title,
            references=merged.references,
            lower=merged.lower,
            floors=merged.floors,
            planned=merged.planned,
            provenance={
                "runs": [run.folder.name for run in runs],
                "suites": sorted({f"{r.folder.suite.name} {r.folder.suite.digest}" for r in runs}),
            },
        )
        # Written by ludus.bench.report, which escapes every text of a result.
        parts = tuple(
            (section.anchor, section.title, Markup(markup))  # noqa: S704
            for section, markup in sections_of(document)
        )
        return Report(document, parts)

    def _run(self, found: Found) -> BoardRun:
        stamp = _stamp(found.path)
        with self._lock:
            if stamp in self._kept:
                self._kept.move_to_end(stamp)
                return self._kept[stamp]
        with found.open():
            folder = BenchFolder.open(found.path)
        run = BoardRun(found, folder, tuple(folder.own_results()))
        with self._lock:
            self._kept[stamp] = run
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return run


def _stamp(path: Path) -> tuple[str, ...]:
    """Return what changes with the run, its results, its verifications, or the trusted keys."""
    parts = [str(path), *sorted(key.hex for key in trusted_keys())]
    for name in ("bench.json", "results", "verifications"):
        try:
            status = os.lstat(path / name)
        except OSError:
            parts.append("-")
        else:
            parts.append(f"{status.st_ino:x}.{status.st_mtime_ns:x}.{status.st_size:x}")
    if len(parts) < 2:
        raise BenchError(f"{path} cannot be read.")
    return tuple(parts)
