"""Thousands of changes to a verified run: what still reads as verified means what it meant.

After each change the folder is read by somebody who trusts the key that verified it, and verified
again with another key. ``LUDUS_TEST_ALL=1`` makes 5,000 changes.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from dataclasses import replace

import pytest
from sqlalchemy import select, update

from ludus.bench.planning.suite import parse_suite
from ludus.bench.running.folder import BenchFolder
from ludus.bench.running.runner import RunSettings, run_suite
from ludus.bench.store import open_store, tables
from ludus.bench.verifying.verification import verify_run
from ludus.errors import BenchError
from ludus.record import own_key, trusted_keys
from tests.bench.mutations import mutate_folder, mutate_row
from tests.bench.stating import some_key
from tests.sampling import ALL

SHARDS, FOLDERS, ROWS = (10, 450, 50) if ALL else (2, 70, 30)
SUITE = """\
name: tampered
seeds: 1
agents: [random, "constant:1"]
budget: {episodes: 2, max_steps: 1000}
environments:
  - {id: CartPole-v1, reference: {min: 22, max: 500, source: x}}
"""


@pytest.fixture(scope="module")
def verified(tmp_path_factory):
    path = tmp_path_factory.mktemp("tampering") / "run"
    suite = parse_suite(SUITE, "tampered.yaml")
    run_suite(suite, out=path, settings=RunSettings(engine="serial"))
    folder = BenchFolder.open(path)
    assert [one.result.verified for one in verify_run(folder)] == ["verified"] * 2
    return folder


def meaning(folder):
    """Return what a reader of the folder takes from it, beside the results."""
    suite = folder.suite
    rows = [(row.id, row.kwargs, row.max_episode_steps, row.better) for row in suite.environments]
    budgets = [suite.budget_of(row) for row in suite.environments]
    return suite.name, suite.seeds, suite.references, suite.lower, rows, budgets, folder.unit_ids


def read(path):
    """Return what reads as verified, first as it lies there, then verified by another key."""
    keys, other = trusted_keys(), some_key("verifier")
    folder = BenchFolder.open(path)
    found = [one for one in folder.results(trusted_keys=keys) if one.verified == "verified"]
    yield folder, found
    again = [one.result for one in verify_run(folder, key=other)]
    yield folder, [one for one in again if one.verified == "verified"]
    found = folder.results(trusted_keys=[other.public])
    yield folder, [one for one in found if one.verified == "verified"]


@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_changed_folder_never_reads_as_verified_with_another_meaning(verified, tmp_path, shard):
    rng = random.Random(shard)
    originals = {one.id: one for one in verified.results()}
    right, seen = meaning(verified), Counter()
    for _ in range(FOLDERS):
        shutil.copytree(verified.path, tmp_path / "run")
        change = mutate_folder(tmp_path / "run", rng)
        try:
            for is_again, (folder, found) in enumerate(read(tmp_path / "run")):
                seen[len(found)] += 1
                for one in found:
                    # A record with other remarks, on the machine say, is another one of the same.
                    head = originals[one.id].head if is_again else one.head
                    assert replace(one, head=head) == originals[one.id], change
                    assert meaning(folder) == right, change
        except BenchError:
            seen["refused"] += 1
        shutil.rmtree(tmp_path / "run")
    # The changes do change something, and what they leave alone stays verified.
    assert seen[0] + seen[1] > FOLDERS / 2, seen
    assert seen[2] > FOLDERS / 8, seen
    assert seen["refused"], seen


@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_changed_row_never_reads_as_verified_with_another_meaning(verified, tmp_path, shard):
    rng, keys = random.Random(shard), [own_key().public]
    originals = {(one.run, one.id): one for one in verified.results()}
    seen = Counter()
    where = tmp_path / "store.sqlite"
    with open_store(where, trusted_keys=keys) as store:
        store.add(originals.values())
        list(verify_run(verified, store=store))
        assert [one.verified for one in store.results()] == ["verified"] * 2
    for _ in range(ROWS):
        shutil.copy(where, tmp_path / "copy.sqlite")
        with open_store(tmp_path / "copy.sqlite", trusted_keys=keys) as store:
            change = _change_a_row(store, rng)
            try:
                found = [one for one in store.results() if one.verified == "verified"]
                seen[len(found)] += 1
                assert all(one == originals.get((one.run, one.id)) for one in found), change
                tallies = [one for one in store.tallies() if one.verified == "verified"]
                total = sum(one.total for one in tallies)
                assert total == pytest.approx(sum(one.score for one in found)), change
            except BenchError:
                seen["refused"] += 1
        for path in tmp_path.glob("copy.sqlite*"):
            path.unlink()
    assert seen[0] + seen[1] + seen["refused"] > ROWS / 3, seen


def _change_a_row(store, rng):
    """Change one column of one row, where the database lets it be changed."""
    chosen = (tables.results, tables.results, tables.series, tables.runs, tables.statements)
    table = rng.choice(chosen)
    try:
        with store._database.writing() as connection:
            rows = [dict(row) for row in connection.execute(select(table)).mappings()]
            row = rng.choice(rows)
            change = mutate_row(row, rng)
            connection.execute(update(table).where(table.c.number == row["number"]).values(change))
            return f"{table.name}: {change!r:.100}"
    except BenchError:
        return "refused by the database"
