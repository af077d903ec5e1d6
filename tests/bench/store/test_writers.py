"""Several processes at once, and processes that are killed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from ludus.bench.store import open_store
from ludus.bench.store.tables import NEWEST
from tests.bench.store.support import make_many, nth
from tests.sampling import ALL

ROOT = Path(__file__).parents[3]
WRITERS, RESULTS, SHARED = (8, 100_000, 300) if ALL else (4, 8_000, 300)


def start(url, *numbers):
    command = [sys.executable, "-m", "tests.bench.store.writer", url, *map(str, numbers)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process):
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors.decode()
    return sum(map(int, output.split()))


def test_many_writers_and_thousands_of_results(url):
    """Each makes a part, and some of its neighbour's; all of them find no store, and make it."""
    part = RESULTS // WRITERS
    processes = [
        start(url, number * part, min(part + SHARED, RESULTS - number * part), 2_000)
        for number in range(WRITERS)
    ]
    assert sum(map(finish, processes)) == RESULTS
    with open_store(url, create=False) as store:
        tallies = store.tallies()
        (run,) = store.runs()
        found = list(store.results(agent="agent-0", env="Env0-v0"))
    assert run.results == RESULTS
    counts, totals, seeds = Counter(), Counter(), set()
    for one in map(nth, range(RESULTS)):
        key = tuple(one[name] for name in ("agent", "env", "outcome"))
        counts[key] += 1
        totals[key] += one["score"] if one["outcome"] == "scored" else 0
        if key[:2] == ("agent-0", "Env0-v0"):
            seeds.add(one["seed"])
    got = {(one.agent, one.env, one.outcome): one for one in tallies}
    assert {key: one.results for key, one in got.items()} == counts
    assert {key: one.total or 0 for key, one in got.items()} == pytest.approx(totals)
    assert {one.seed for one in found} == seeds


def test_everybody_may_open_a_new_store_at_once(url):
    processes = [start(url, 0, 1, 1) for _ in range(6 if ALL else 3)]
    assert sum(map(finish, processes)) == 1
    with open_store(url) as store, store._database.reading() as connection:
        rows = connection.exec_driver_sql("SELECT number FROM ludus_migrations").scalars().all()
    assert sorted(rows) == list(range(1, NEWEST + 1))


@pytest.mark.parametrize("seed", range(4 if ALL else 1))
def test_killed_at_any_moment(url, seed):
    """What was reported is there, and of the batch under way all or nothing."""
    batch, rng = 40, random.Random(seed)
    open_store(url).close()
    stored = 0
    for _ in range(2):
        with start(url, 0, 1_000_000, batch) as process:
            reported = [process.stdout.readline() for _ in range(rng.randrange(1, 12))]
            for _ in range(rng.randrange(60_000)):  # on into the next batch
                pass
            process.kill()
            reported += process.stdout.readlines()
        with open_store(url) as store:
            found = {one.seed for one in store.results()}
            assert len(found) % batch == 0
            assert found == set(range(len(found)))
            assert len(found) >= max(stored, batch * len(reported))
            assert sum(one.results for one in store.tallies()) == len(found)
        stored = len(found)
    with open_store(url) as store:
        assert store.add(make_many(range(stored + batch))) == batch


def test_a_store_may_be_used_after_a_fork(url):
    with open_store(url) as store:
        store.add(make_many(range(10)))
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 0 if store.add(make_many(range(20))) == 10 else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert store.add(make_many(range(30))) == 10
