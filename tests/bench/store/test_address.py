"""Where a store is, and what is said if there is none."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import event

from ludus.bench.store import default_path, open_store, parse_address
from ludus.errors import DependencyNotInstalled, StoreError
from tests.bench.store.support import make_many, make_result


def test_paths_and_urls(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for where in ("a.sqlite", Path("a.sqlite"), "sqlite:///a.sqlite", tmp_path / "a.sqlite"):
        with open_store(where) as store:
            store.add([make_result()])
            assert store.name.endswith("a.sqlite")
    with open_store("a.sqlite") as store:
        assert list(store.results()) == [make_result()]
    assert [path.name for path in tmp_path.iterdir()] == ["a.sqlite"]


def test_odd_paths(tmp_path):
    for name in ("with space", "quest?ion", "per%cent", "ünï", "a#b", "x" * 200):
        with open_store(tmp_path / name) as store:
            store.add([make_result()])
        assert (tmp_path / name).is_file()


def test_the_default_is_in_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("LUDUS_STORE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert default_path() == tmp_path / "data" / "ludus" / "results.sqlite"
    with pytest.raises(StoreError, match="there is no store here"):
        open_store(create=False)
    open_store().close()
    assert default_path().is_file()
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_path() == tmp_path / ".local" / "share" / "ludus" / "results.sqlite"
    monkeypatch.setenv("LUDUS_STORE", str(tmp_path / "mine.sqlite"))
    open_store().close()
    assert (tmp_path / "mine.sqlite").is_file()


@pytest.mark.parametrize(
    ("where", "words"),
    [
        (":memory:", "memory"),
        ("", "a path is expected"),
        ("sqlite://", "a path is expected"),
        ("sqlite:///:memory:", "memory"),
        ("sqlite:///x?mode=ro", "without options"),
        ("file:x.sqlite", "a path is expected"),
        ("a\0b", "a path is expected"),
        ("mysql://u:s3cret@host/db", "cannot be on 'mysql'"),
        ("postgresql+asyncpg://u:s3cret@host/db", "cannot be on"),
        ("postgresql://u:s3cret@host:port/db", "cannot be read"),
        ("://s3cret", "cannot be read"),
    ],
)
def test_what_is_no_place(where, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match=words) as caught:
        open_store(where)
    assert "s3c" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_no_folder(tmp_path):
    with pytest.raises(StoreError, match="Does the folder exist"):
        open_store(tmp_path / "missing" / "a.sqlite")


def test_no_database(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes, and not a database\n" * 100)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="Give the path of a store"):
        open_store(path)
    with pytest.raises(StoreError):
        open_store(tmp_path)
    assert path.read_bytes() == before


def test_a_server_that_is_not_there(tmp_path):
    address = f"postgresql://ludus:s3cret@/db?host={tmp_path}&password=s3cret"
    with pytest.raises(StoreError, match="Is the server running") as caught:
        open_store(address)
    chain = "".join(map(str, (caught.value, caught.value.__cause__, parse_address(address))))
    assert "s3cret" not in chain + repr(parse_address(address))
    assert f"postgresql://ludus@{tmp_path}/db" in str(caught.value).replace("%2F", "/")


def test_a_database_that_is_not_there(postgres):
    with pytest.raises(StoreError, match='database "nothing" does not exist') as caught:
        open_store(postgres.url("nothing"))
    assert "s3cret" not in str(caught.value)


def test_a_database_in_another_encoding(postgres):
    name = postgres.new_database("ENCODING LATIN1 LOCALE 'C' TEMPLATE template0")
    with pytest.raises(StoreError, match="encoding is LATIN1.*createdb --encoding UTF8"):
        open_store(postgres.url(name))


def test_short_names_of_the_scheme(postgres):
    url = postgres.new_place()
    for scheme in ("postgres://", "postgresql+psycopg://"):
        with open_store(url.replace("postgresql://", scheme)) as store:
            assert store.name.startswith("postgresql://")


def test_sqlite_is_set_up_to_be_safe(tmp_path):
    with open_store(tmp_path / "a.sqlite") as store, store._database.reading() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 60_000,
    }


def test_the_leaderboard_is_read_from_the_index(tmp_path):
    said = []
    with open_store(tmp_path / "a.sqlite") as store:
        store.add(make_many(range(10)))
        event.listen(
            store._database._engine,
            "before_cursor_execute",
            lambda *arguments: said.append(arguments[2:4]),
        )
        store.leaderboard()
        store.leaderboard("classic")
    connection = sqlite3.connect(tmp_path / "a.sqlite")
    plans = [
        [row[-1] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", values)]
        for query, values in said
        if "FROM ludus_results" in query
    ]
    connection.close()
    indexes = {"ludus_results_tally": 3, "ludus_results_units": 1}
    assert len(plans) == 2 * len(indexes)
    for plan in plans:
        steps = [step for step in plan if "ludus_results" in step]
        (index,) = {step.partition("USING COVERING INDEX ")[2].split()[0] for step in steps}
        assert len(steps) == indexes[index]
        assert not [step for step in plan if "TEMP B-TREE" in step]


@pytest.mark.skipif(os.name != "posix", reason="limits are POSIX's")
def test_a_full_disk(tmp_path):
    """The batch that does not fit is not there, those before it are; then it goes on."""
    program = f"""
import resource, sys
from ludus.bench.store import open_store
from ludus.errors import StoreError
from tests.bench.store.support import make_many
store = open_store({str(tmp_path / "a.sqlite")!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
stored = 0
try:
    while stored < 100_000:
        stored += store.add(make_many(range(stored, stored + 100)))
except StoreError as problem:
    print(problem, file=sys.stderr)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(stored, len(list(store.results())), store.add(make_many(range(stored, stored + 100))))
"""
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120)
    stored, found, more = map(int, done.stdout.split())
    assert "a.sqlite: " in done.stderr
    assert 0 < stored == found < 100_000
    assert more == 100


@pytest.mark.parametrize(("missing", "extra"), [("sqlalchemy", "store"), ("psycopg", "postgres")])
def test_missing_packages_are_told(missing, extra):
    program = f"""
import sys
sys.modules[{missing!r}] = None
import ludus.bench.store
assert "sqlalchemy" not in sys.modules or {missing!r} == "sqlalchemy"
from ludus.errors import DependencyNotInstalled
try:
    ludus.bench.store.open_store("postgresql://ludus@localhost/db")
except DependencyNotInstalled as problem:
    print(problem)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert f"pip install 'ludus-gym[{extra}]'" in done.stdout, done.stderr
    assert issubclass(DependencyNotInstalled, ImportError)
