"""Results of several run folders as those of one run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ludus.bench.planning.suite import env_id_of
from ludus.bench.result import Result
from ludus.bench.running.folder import BenchFolder
from ludus.bench.statistics.normalise import Reference
from ludus.errors import ComparisonRefused
from ludus.record.format.keys import PublicKey

__all__ = ["MergedRuns", "merge_runs"]


@dataclass(frozen=True, slots=True)
class MergedRuns:
    """What reports and statistics need of one or several runs.

    Attributes:
        folders: The runs.
        results: Of all of them.
        planned: How many results there should be.
        references: Scale of each environment.
        lower: Environments where lower scores are better.
        floors: The least that a result counts as.
    """

    folders: tuple[BenchFolder, ...]
    results: tuple[Result, ...]
    planned: int
    references: Mapping[str, Reference] = field(default_factory=dict)
    lower: tuple[str, ...] = ()
    floors: Mapping[str, float] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """A headline: the suite and its run, or how many runs there are."""
        suite = self.folders[0].suite
        if len(self.folders) == 1:
            return f"{suite.title or suite.name}: {self.folders[0].name}"
        return f"{len(self.folders)} runs: {', '.join(one.name for one in self.folders)}"


def merge_runs(
    paths: Sequence[str | Path], *, trusted_keys: Iterable[PublicKey] | None = None
) -> MergedRuns:
    """Merge runs: results of one agent on one environment count together.

    Two runs may repeat a seed, which gives two results; the same record counts only once.

    Raises:
        BenchError: A folder is no run, or damaged.
        ComparisonRefused: Scores of an environment, or an agent of one name, are not the same in
            all runs, or a record is in two of them.
    """
    if not paths:
        raise ComparisonRefused("There is no run to report on; name at least one folder.")
    keys = None if trusted_keys is None else tuple(trusted_keys)
    folders = tuple(BenchFolder.open(path) for path in paths)
    _check_same("agent", [(folder, _agents(folder)) for folder in folders])
    _check_same("environment", [(folder, _environments(folder)) for folder in folders])
    results = [one for folder in folders for one in folder.own_results(trusted_keys=keys)]
    heads = [one.head for one in results if one.head is not None]
    if len(set(heads)) < len(heads):
        raise ComparisonRefused(
            "The same record is in two of the runs, so it would count twice; name each run once."
        )
    references: dict[str, Reference] = {}
    floors: dict[str, float] = {}
    lower: dict[str, None] = {}
    for folder in folders:
        references |= folder.suite.references
        floors |= folder.suite.floors
        lower |= dict.fromkeys(folder.suite.lower)
    return MergedRuns(
        folders,
        tuple(results),
        sum(len(folder.unit_ids) for folder in folders),
        references,
        tuple(lower),
        floors,
    )


def _agents(folder: BenchFolder) -> dict[str, Any]:
    return {row.name: row.model_dump(exclude={"by_name"}) for row in folder.agents}


def _environments(folder: BenchFolder) -> dict[str, Any]:
    suite = folder.suite
    return {
        env_id_of(row.id): {
            **row.model_dump(exclude={"budget", "install"}),
            "budget": suite.budget_of(row).model_dump(),
        }
        for row in suite.environments
    }


def _check_same(what: str, sides: list[tuple[BenchFolder, dict[str, Any]]]) -> None:
    """Raise if things of one name differ between runs."""
    known: dict[str, tuple[BenchFolder, Any]] = {}
    for folder, rows in sides:
        for name, row in rows.items():
            first, before = known.setdefault(name, (folder, row))
            if before == row:
                continue
            fields = [key for key in row if row[key] != before.get(key)]
            raise ComparisonRefused(
                f"The {what} {name} is not the same in {first.path} and {folder.path}: "
                f"{', '.join(fields)} differ. Report on the runs one by one"
                + ("." if what == "environment" else ", or rename it: --agent other=…")
            )
