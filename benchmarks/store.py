"""The results store: how fast results go in and come out, and the leaderboard over a million.

The store is filled through `Store.add`, as runs do it; every figure of the leaderboard is taken by
a store that was just opened, and its content compared with sums made while filling. Of some runs
every result is verified: a leaderboard compares each of these with what was signed.

  python benchmarks/store.py                       an SQLite file in a temporary folder
  python benchmarks/store.py --store URL           a store of yours, which should be empty
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from measure import Bar, Report, console, progress, short, table

from ludus.bench.result import Result
from ludus.bench.store import open_store
from ludus.bench.verifying.statement import MOST_FINDINGS, Finding, sign_statement
from ludus.record import PublicKey, SigningKey, generate_key

AGENTS, ENVS = 100, 50
SECONDS = 1.0
PORTION = 20_000
OUTCOMES = ("scored",) * 19 + ("infrastructure_fault",)
VERIFIED = 20_000


def made(first: int, count: int, sums: Counter[tuple[str, str]]) -> Iterator[Result]:
    rng = random.Random(first)
    for index in range(first, first + count):
        outcome: Any = rng.choice(OUTCOMES)
        score = rng.gauss(100, 30) if outcome == "scored" else None
        agent, env = f"agent-{index % AGENTS}", f"Env{index // AGENTS % ENVS}-v0"
        if score is not None:
            sums[agent, env] += score
        yield Result(
            id=f"{rng.getrandbits(256):064x}",
            run=f"run-{index // 10_000}",
            suite="large",
            suite_digest="0" * 64,
            agent=agent,
            env=env,
            seed=index,
            outcome=outcome,
            score=score,
            best_score=score,
            episodes=10,
            steps=5_000,
            seconds=1.5,
            cost=0.0,
            budget='{"episodes":10}',
            reason=None if score is not None else "a fault",
            source_hash="1" * 64,
            record=f"records/{index}",
            head="2" * 64,
            created="2026-01-31T12:00:00Z",
            extra={"returns": [score] * 10} if score is not None else {},
        )


def fill(where: str, results: int) -> tuple[float, Counter[tuple[str, str]]]:
    """Add results, and return the seconds that it took and the sums of scores."""
    sums: Counter[tuple[str, str]] = Counter()
    taken = 0.0
    with open_store(where) as store, progress("filling", -(-results // PORTION)) as advance:
        for first in range(0, results, PORTION):
            portion = list(made(first, min(PORTION, results - first), sums))
            start = time.perf_counter()
            store.add(portion)
            taken += time.perf_counter() - start
            advance()
    return taken, sums


def verify(where: str, key: SigningKey) -> int:
    """State that the first results are verified; return how many that were."""
    count = 0
    with open_store(where) as store:
        found = store.results(outcome="scored")
        while count < VERIFIED and (part := list(islice(found, MOST_FINDINGS))):
            findings: dict[str, list[Finding]] = defaultdict(list)
            for one in part:
                about: Any = {"id": one.id, "result": one.digest, "record": one.head}
                what: Any = {"source": one.source_hash, "executed": "", "verdict": "verified"}
                findings[one.run].append(Finding(**about, **what))
            for run, rows in findings.items():
                suite: Any = {"suite": "large", "suite_digest": "0" * 64, "plan": "3" * 64}
                store.add_statements([sign_statement(key, rows, run=run, **suite)])
            count += len(part)
    return count


def timed(
    where: str, rounds: int, call: Callable[[Any], Any], keys: Sequence[PublicKey] = ()
) -> tuple[list[float], Any]:
    """Return the seconds of some calls, each on a store just opened, and what the last gave."""
    found: list[float] = []
    given = None
    for _ in range(rounds):
        start = time.perf_counter()
        with open_store(where, trusted_keys=keys) as store:
            given = call(store)
        found.append(time.perf_counter() - start)
    return found, given


def check(boards: list[Any], sums: Counter[tuple[str, str]], results: int) -> None:
    (board,) = boards
    if board.results != results:
        raise SystemExit(f"the leaderboard counts {board.results} results, not {results}")
    for row in board.rows:
        for task, score in zip(board.tasks, row.scores, strict=True):
            if score is None or score.mean is None:
                continue
            expected = sums[row.agent, task.env] / score.scored
            if abs(score.mean - expected) > 1e-9 * abs(expected):
                raise SystemExit(f"{row.agent} in {task.env}: {score.mean}, not {expected}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--store", help="a path or URL, instead of a temporary file")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        where = options.store or str(Path(folder) / "results.sqlite")
        seconds, sums = fill(where, options.results)
        boards, given = timed(where, options.rounds, lambda store: store.leaderboard("large"))
        check(given, sums, options.results)
        runs, _ = timed(where, 1, lambda store: store.runs())
        lines, count = timed(where, 1, lambda store: sum(1 for _ in store.results(run="run-0")))
        key = generate_key(Path(folder) / "key")
        stated = verify(where, key)
        judged, _ = timed(where, 1, lambda store: store.leaderboard("large"), [key.public])
    shown = table(f"{options.results} results", ("what", "seconds", "per second"))
    rows = (
        ("add", seconds, options.results),
        ("leaderboard, fastest", min(boards), 1),
        ("leaderboard, median", statistics.median(boards), 1),
        ("runs", min(runs), 1),
        (f"results of one run ({count})", min(lines), count),
        (f"leaderboard, {stated} verified results in it", min(judged), 1),
    )
    for what, taken, times in rows:
        shown.add_row(what, f"{taken:.3f}", short(times / taken))
        report.figures.append({"what": what, "seconds": taken})
    console.print(shown)
    claim = f"leaderboard over {json.dumps(options.results)} results, opening included"
    middle = statistics.median(boards)
    report.bars.append(Bar(claim, middle, at_most=SECONDS, unit="s"))
    report.finish(options.json)


if __name__ == "__main__":
    main()
