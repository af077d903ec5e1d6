"""A small benchmark for the demonstration: run, verified, and one score changed by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ludus.bench.planning.suite import load_suite
from ludus.bench.result import Result
from ludus.bench.running.folder import BenchFolder
from ludus.bench.running.runner import RunSettings, run_suite
from ludus.bench.verifying.verification import verify_run
from ludus.record import generate_key

__all__ = ["verified_benchmark"]


def verified_benchmark(folder: Path) -> list[tuple[str, Result]]:
    """Run a suite with two agents, verify it, and forge a result.

    Args:
        folder: Of the run, which is not there yet. The key that signs is kept in it, so that the
            user's own stays out of this.

    Returns:
        Results with what they count as, each with what was done to it, in a word.
    """
    suite = load_suite("classic").changed(seeds=1, episodes=2)
    run_suite(suite, ["random", "heuristic"], out=folder, settings=RunSettings(engine="serial"))
    opened, key = BenchFolder.open(folder), generate_key(folder / "key")
    for _ in verify_run(opened, key=key):
        pass
    keys = [key.public]
    rows = [("played", one) for one in opened.results(trusted_keys=keys)]
    best = max((one for _, one in rows if one.score is not None), key=lambda one: one.score or 0.0)
    forged = replace(best, score=(best.score or 0.0) + 1.0)
    rows.append(("score changed by hand", opened.standing(keys).of(forged)))
    return rows
