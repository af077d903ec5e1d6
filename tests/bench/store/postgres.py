"""A PostgreSQL server of the tests' own: no network, no durability, gone with the tests."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.sampling import OPTIONAL

FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=64MB")
_numbers = itertools.count()


class Server:
    """A running server; databases are made on demand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def url(self, database: str, **options: str) -> str:
        given = "".join(f"&{key}={value}" for key, value in options.items())
        return f"postgresql://ludus:s3cret%21@/{database}?host={self.folder}{given}"

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        return psycopg.connect(
            host=str(self.folder), user="ludus", dbname=database, autocommit=True, connect_timeout=2
        )

    def new_place(self) -> str:
        """Return the URL of an empty schema, which is much cheaper than a database."""
        name = f"place_{next(_numbers)}"
        with self.connect() as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return self.url("postgres", options=f"-csearch_path%3D{name}")

    def new_database(self, *options: str) -> str:
        name = f"store_{next(_numbers)}"
        with self.connect() as connection:
            connection.execute(" ".join((f"CREATE DATABASE {name}", *options)))
        return name


@contextmanager
def running_server() -> Iterator[Server]:
    binaries = _binaries()
    if OPTIONAL:
        pytest.skip(f"PostgreSQL {OPTIONAL}")
    if binaries is None:
        pytest.skip("PostgreSQL's initdb and postgres are not installed")
    user = _user()
    with tempfile.TemporaryDirectory(prefix="ludus-pg-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)
        data = folder / "data"
        become = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid}
        if user is not None:
            become["extra_groups"] = []
        common = {**become, "cwd": folder, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}}
        make = [binaries / "initdb", "-D", data, "-U", "ludus", "-A", "trust", "-E", "UTF8", "-N"]
        subprocess.run(make, check=True, capture_output=True, timeout=120, **common)
        settings = (f"unix_socket_directories={folder}", "listen_addresses=", *FAST)
        serve = [binaries / "postgres", "-D", data, *(f"-c{setting}" for setting in settings)]
        # The server goes down even if the tests are killed.
        mortal = ["setpriv", "--pdeathsig", "QUIT"] if shutil.which("setpriv") else []
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen([*mortal, *serve], stdout=log, stderr=log, **common)
        try:
            server = Server(folder)
            _wait(server, process)
            yield server
        finally:
            _stop(process)


def _binaries() -> Path | None:
    places = [Path(found).parent for found in (shutil.which("postgres"),) if found]
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for place in places:
        if (place / "initdb").exists() and (place / "postgres").exists():
            return place
    return None


def _user() -> pwd.struct_passwd | None:
    """Return whom to become: the server refuses to be run by root."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    pytest.skip("PostgreSQL does not run as root, and there is no other user here")


def _wait(server: Server, process: subprocess.Popen) -> None:
    until = time.monotonic() + 60
    while True:
        try:
            server.connect().close()
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > until:
                pytest.fail("PostgreSQL does not start: " + (server.folder / "log").read_text())
            time.sleep(0.05)
        else:
            return


def _stop(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGQUIT)  # at once: nothing is kept
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
