"""Files that are none, or never end."""

from __future__ import annotations

import os
import socket

import pytest

from ludus.bench.planning.suite import load_suite
from ludus.bench.store import open_store
from ludus.errors import ResearchError, StoreError, SuiteError, TaskError
from ludus.foreign_files import read_regular
from ludus.research.agents.simple import ScriptedAgent
from ludus.research.task.discovery import load_task

pytestmark = pytest.mark.timeout(30)
ODD = ["pipe", "socket", "device", "folder", "loop", "sparse"]


def put(path, kind):
    """Put something in place of a file."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as one:
            here = os.open(path.parent, os.O_RDONLY)
            try:  # The path itself may be longer than a socket's may be.
                one.bind(f"/proc/self/fd/{here}/{path.name}")
            finally:
                os.close(here)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "outside":
        path.symlink_to("/etc/hostname")
    else:
        with path.open("wb") as file:
            file.truncate(1 << 40)


@pytest.mark.parametrize("kind", ODD)
def test_reading(tmp_path, kind):
    path = tmp_path / "a"
    put(path, kind)
    with pytest.raises(OSError, match="regular|No such device|Too many|symbolic|bytes"):
        read_regular(path, 1000)


def test_sizes(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"x" * 1000)
    assert read_regular(path, 1000) == b"x" * 1000
    with pytest.raises(OSError, match="It has 1000 bytes; at most 999 are read"):
        read_regular(path, 999)
    # A file of the system, which says that it is empty.
    assert read_regular("/proc/self/status", 1 << 20).startswith(b"Name")
    with pytest.raises(OSError, match="at most 5 are read"):
        read_regular("/proc/self/status", 5)


def test_links(tmp_path):
    put(tmp_path / "a", "outside")
    assert read_regular(tmp_path / "a", 1000)
    with pytest.raises(OSError, match="symbolic"):
        read_regular(tmp_path / "a", 1000, follow=False)


@pytest.mark.parametrize("kind", ODD)
def test_suites_tasks_scripts_and_exports(tmp_path, kind):
    for name in ("suite.yaml", "task.yaml", "script.yaml", "results.jsonl"):
        put(tmp_path / name, kind)
    with pytest.raises(SuiteError):
        load_suite(tmp_path / "suite.yaml")
    with pytest.raises(TaskError):
        load_task(tmp_path / "task.yaml")
    with pytest.raises(ResearchError):
        ScriptedAgent.from_file(tmp_path / "script.yaml")
    with open_store(tmp_path / "s.db") as store, pytest.raises(StoreError):
        store.import_jsonl(tmp_path / "results.jsonl")
