"""Files that are replaced whole, writers that are killed, and what they leave."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import ludus
from ludus.atomic import replacing, write_whole
from ludus.core.state_files import load_state, save_state

pytestmark = pytest.mark.timeout(60)

KILLED = """
import os, signal, sys
from ludus.atomic import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_writer(path):
    done = subprocess.run([sys.executable, "-c", KILLED, path], check=False)
    assert done.returncode == -signal.SIGKILL


def names(folder):
    return sorted(one.name for one in folder.iterdir())


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), replacing(path) as file:
        file.write(b"%d" % (1 // 0))
    assert (path.read_bytes(), names(tmp_path)) == (b"old", ["a"])
    write_whole(path, b"new")
    assert (path.read_bytes(), names(tmp_path)) == (b"new", ["a"])


def test_the_next_save_of_a_state_removes_what_a_killed_one_left(tmp_path):
    path = tmp_path / "state"
    killed_writer(path)
    left = names(tmp_path)
    assert len(left) == 1
    env = ludus.make("CartPole-v1")
    env.reset(seed=0)
    save_state(env, path)
    assert names(tmp_path) == ["state"]
    load_state(path, env)


def test_killed_writers_leave_one_file_however_many_they_are(tmp_path):
    for _ in range(3):
        killed_writer(tmp_path / "a")
    assert len(names(tmp_path)) == 1


def test_a_writer_at_work_is_left_alone(tmp_path):
    path = tmp_path / "a"
    with replacing(path) as slow:
        slow.write(b"slow")
        slow.flush()
        write_whole(path, b"quick")
        assert path.read_bytes() == b"quick"
    assert (path.read_bytes(), names(tmp_path)) == (b"slow", ["a"])


def test_many_writers_at_once(tmp_path):
    path = tmp_path / "a"
    contents = [bytes([i]) * 10_000 for i in range(12)]
    threads = [threading.Thread(target=write_whole, args=(path, one)) for one in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in contents
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("kind", ["pipe", "link", "dangling link", "hard link", "folder"])
def test_what_lies_where_the_draft_would_be(tmp_path, kind):
    path, victim = tmp_path / "a", tmp_path / "victim"
    victim.write_bytes(b"precious")
    with replacing(path):
        (draft,) = (tmp_path / name for name in names(tmp_path) if name.endswith(".draft"))
    if kind == "pipe":
        os.mkfifo(draft)
    elif kind == "folder":
        draft.mkdir()
    elif kind == "hard link":
        draft.hardlink_to(victim)
    else:
        draft.symlink_to(victim if kind == "link" else tmp_path / "nowhere")
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert not path.is_symlink()
    assert victim.read_bytes() == b"precious"
    assert not (tmp_path / "nowhere").exists()
    assert names(tmp_path) == sorted(["a", "victim", *([draft.name] if kind == "folder" else [])])


def test_names_of_any_length(tmp_path):
    for name in ("n" * 255, "名" * 85):
        write_whole(tmp_path / name, b"x")
        assert (tmp_path / name).read_bytes() == b"x"
    assert len(names(tmp_path)) == 2


def test_without_locks_nobody_is_disturbed(tmp_path, monkeypatch):
    def no_locks(*arguments):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr("fcntl.flock", no_locks)
    path = tmp_path / "a"
    with replacing(path) as slow:
        slow.write(b"slow")
        write_whole(path, b"quick")
        assert path.read_bytes() == b"quick"
    assert (path.read_bytes(), names(tmp_path)) == (b"slow", ["a"])


def test_nothing_is_left_where_nothing_can_be_written(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path / "a", b"x")
    assert names(tmp_path) == ["a"]
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "missing" / "a", b"x")


def test_permissions(tmp_path):
    write_whole(tmp_path / "a", b"x", mode=0o600)
    assert Path(tmp_path / "a").stat().st_mode & 0o777 == 0o600
