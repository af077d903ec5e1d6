"""Schemas: made, brought up to date, refused."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import insert, inspect, text

from ludus.bench.store import open_store, parse_address
from ludus.bench.store.engine import Database
from ludus.bench.store.rows import prepare
from ludus.bench.store.tables import NEWEST, STEPS, apply_missing, metadata, schema_number
from ludus.errors import StoreError
from tests.bench.stating import stated
from tests.bench.store.support import make_result


def test_steps_are_numbered():
    assert [step.number for step in STEPS] == list(range(1, NEWEST + 1))


def test_tables_are_what_queries_think(url):
    with open_store(url) as store, store._database.reading() as connection:
        look = inspect(connection)
        assert set(look.get_table_names()) == set(metadata.tables)
        for name, table in metadata.tables.items():
            found = {column["name"]: column["nullable"] for column in look.get_columns(name)}
            keys = {column.name for column in table.primary_key}
            assert set(found) == set(table.c.keys())
            assert {key: value for key, value in found.items() if key not in keys} == {
                column.name: column.nullable for column in table.c if column.name not in keys
            }


def test_an_older_store_is_brought_up_to_date(url):
    database = Database(parse_address(url))
    with database.writing() as connection:
        apply_missing(connection, up_to=1)
    with database.reading() as connection:
        assert schema_number(connection) == 1
        assert not inspect(connection).has_table("ludus_statements")
    with open_store(url, create=False) as store:
        store.add([make_result()])
        store.add_statements(stated([make_result(verified="verified")]))
        assert len(store.statements()) == 1
    with database.reading() as connection:
        assert schema_number(connection) == NEWEST


def test_data_survives_an_update_and_marks_do_not(url):
    """Whoever could write to the table could set a mark."""
    database = Database(parse_address(url))
    row = {**prepare(make_result()).row, "verified": "verified"}
    names = ", ".join((*row, "run", "series"))
    with database.writing() as connection:
        apply_missing(connection, up_to=2)
        series = {"digest": b"1", **prepare(make_result()).series._asdict()}
        connection.execute(insert(metadata.tables["ludus_runs"]), {"name": "first"})
        connection.execute(insert(metadata.tables["ludus_series"]), series)
        marks = ", ".join(f":{name}" for name in row)
        command = f"INSERT INTO ludus_results ({names}) VALUES ({marks}, 1, 1)"
        connection.execute(text(command), row)
    with open_store(url) as store:
        assert list(store.results()) == [make_result()]
        assert store.statements() == []


def test_a_newer_store_is_refused(url):
    with open_store(url) as store, store._database.writing() as connection:
        connection.exec_driver_sql(
            f"INSERT INTO ludus_migrations VALUES ({NEWEST + 1}, 'to come', 'tomorrow')"
        )
    with pytest.raises(StoreError, match="a newer Ludus made this store") as caught:
        open_store(url)
    assert f"number {NEWEST + 1}, and this Ludus knows {NEWEST}" in str(caught.value)
    assert re.search(r"pip install --upgrade ludus-gym`, or give another store", str(caught.value))


def test_a_failing_step_leaves_nothing(url):
    database = Database(parse_address(url))
    with database.writing() as connection:
        connection.exec_driver_sql("CREATE TABLE ludus_results (mine INTEGER)")
    with pytest.raises(StoreError, match="already exists"):
        open_store(url)
    with database.reading() as connection:
        assert inspect(connection).get_table_names() == ["ludus_results"]


def test_no_store_is_made_unasked(url):
    with pytest.raises(StoreError, match="there is no store here"):
        open_store(url, create=False)
    open_store(url).close()
    open_store(url, create=False).close()
