"""Rows that somebody wrote past the store, beside verified ones: none of them counts as verified.

Whoever has the file of a database can make its tables anew without keys and write anything.
"""

from __future__ import annotations

import pytest
from sqlalchemy import insert, select

from ludus.bench.store import open_store
from ludus.bench.store.tables import results, runs, series
from ludus.errors import StoreError
from tests.bench.stating import some_key, stated
from tests.bench.store.support import make_result

TRUE = 18.0
FORGED = 499.5


@pytest.fixture
def store(tmp_path):
    """One verified result in tables without keys."""
    with open_store(tmp_path / "s.sqlite", trusted_keys=[some_key().public]) as opened:
        opened.add([make_result(score=TRUE)])
        opened.add_statements(stated([make_result(score=TRUE, verified="verified")]))
        with opened._database.writing() as connection:
            for table in ("ludus_results", "ludus_series", "ludus_runs"):
                connection.exec_driver_sql(f"CREATE TABLE bare AS SELECT * FROM {table}")
                connection.exec_driver_sql(f"DROP TABLE {table}")
                connection.exec_driver_sql(f"ALTER TABLE bare RENAME TO {table}")
        yield opened


def put_beside(store, table, **changes):
    """Write a copy of a table's first row with some values changed."""
    with store._database.writing() as connection:
        row = connection.execute(select(table)).mappings().first()
        connection.execute(insert(table), {**row, **changes})


def verified_rows(store, **options):
    """Return agent, number of verified results and mean of all rows of boards of verified ones."""
    return [
        (row.agent, row.verified, row.scores[0].mean)
        for board in store.leaderboard(verified_only=True, **options)
        for row in board.rows
        if row.verified
    ]


def test_the_untouched_row_is_verified(store):
    assert verified_rows(store) == [("random", 1, TRUE)]


@pytest.mark.parametrize(
    "forged",
    [
        {"score": FORGED, "best_score": FORGED},
        {"score": FORGED, "best_score": FORGED, "steps": 10_000},
        {"seed": 7},
        {"steps": 7},
        {"outcome": "infrastructure_fault", "score": None, "best_score": None, "reason": "x"},
    ],
    ids=["score", "score and steps", "seed", "steps", "outcome"],
)
def test_a_row_beside_a_verified_one_is_not_verified(store, forged):
    """It has the same run and id; no statement is about it."""
    put_beside(store, results, number=1000, **forged)
    assert verified_rows(store) == []
    assert {one.verified for one in store.tallies()} == {"claimed"}
    assert sum(one.results for one in store.tallies()) == 2


def test_a_row_that_failed_is_not_hidden_by_another(store):
    with store._database.writing() as connection:
        connection.execute(results.update().values(score=TRUE))
    store.add_statements(stated([make_result(score=TRUE, verified="failed")], some_key()))
    put_beside(store, results, number=1000, steps=7)
    assert {(one.verified, one.results) for one in store.tallies()} == {
        ("failed", 1),
        ("claimed", 1),
    }


def test_a_series_with_two_meanings(store):
    """Verified under one name, counted under another."""
    other = {"suite": "other", "agent": "champion"}
    put_beside(store, series, digest=b"1" * 32, **other)
    # Whatever a board is asked for, a series has one meaning on it.
    found = [*verified_rows(store), *verified_rows(store, suite="other")]
    assert "champion" not in {agent for agent, _, _ in found}
    with store._database.writing() as connection:
        rows = connection.execute(select(series)).mappings().all()
        connection.execute(series.delete())
        connection.execute(insert(series), [dict(row) for row in reversed(rows)])
    found = [*verified_rows(store), *verified_rows(store, suite="other")]
    assert "champion" not in {agent for agent, _, _ in found}


@pytest.mark.parametrize("budget", ['{"episodes":10}', '{"episodes": 10}'], ids=["same", "spaced"])
def test_a_series_twice(store, budget):
    """A verified result would count once for every series that it is listed in."""
    put_beside(store, series, number=1000, digest=b"1" * 32, budget=budget)
    put_beside(store, results, number=1000, series=1000)
    assert verified_rows(store) == []


def test_a_run_twice(store):
    put_beside(store, runs, number=1000)
    put_beside(store, results, number=1000, run=1000)
    assert verified_rows(store) == []


def test_a_budget_in_other_words(store):
    """Moved to a board of its own, where bad results of the same budget are not."""
    put_beside(store, series, number=1000, digest=b"1" * 32, budget='{"episodes": 10}')
    with store._database.writing() as connection:
        connection.execute(results.update().values(series=1000))
    assert verified_rows(store) == []


def test_copies_in_a_series_twice(store):
    """A copy under another run counts once, whichever series it is listed in."""
    copy = make_result(score=TRUE, run="copy", verified="verified")
    put_beside(store, runs, number=1000, name=copy.run)
    put_beside(store, series, number=1000, digest=b"1" * 32)
    put_beside(store, results, number=1000, run=1000, series=1000)
    store.add_statements(stated([copy]))
    assert verified_rows(store) == [("random", 1, TRUE)]


def test_verified_rows_that_were_deleted_are_missed(tmp_path):
    """The bad ones of them; the statement that makes the others verified speaks of all."""
    rows = [
        make_result(id=f"u{seed}", seed=seed, score=100.0 * seed, verified="verified")
        for seed in range(5)
    ]
    with open_store(tmp_path / "s.sqlite", trusted_keys=[some_key().public]) as store:
        store.add([*rows, make_result(run="other", suite="other", suite_digest="e" * 64)])
        store.add_statements(stated(rows))
        words = "results that a trusted statement is about are not here"
        assert not any(words in " ".join(board.notes) for board in store.leaderboard())
        with store._database.writing() as connection:
            connection.execute(
                results.delete().where(results.c.score < 250.0, results.c.id != "unit")
            )
        for options in ({}, {"verified_only": True}):
            board, *others = store.leaderboard(**options)
            assert f"3 {words}." in board.notes
            assert not any(words in " ".join(one.notes) for one in others)


@pytest.mark.parametrize(
    "damage",
    ["UPDATE ludus_results SET series = 999", "UPDATE ludus_series SET agent = x'ff'"],
)
@pytest.mark.parametrize("keys", [[some_key().public], []], ids=["trusted", "not trusted"])
def test_rows_that_cannot_be_read_are_named(store, damage, keys):
    with store._database.writing() as connection:
        connection.exec_driver_sql(damage)
    with open_store(store.name, trusted_keys=keys) as other:
        for read in (other.leaderboard, other.runs, other.tallies, lambda: list(other.results())):
            with pytest.raises(StoreError, match="s.sqlite: .*damaged"):
                read()
