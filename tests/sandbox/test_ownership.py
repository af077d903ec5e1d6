"""What a workspace's user could not read before must not become its own, by any way of copying.

The caller is root, the workspace is a folder of the host, and the sandbox's user owns it: the user
can rename whatever lies in it, at any moment, also what it can neither read nor enter.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ludus.errors import SandboxError
from ludus.sandbox import Policy, open_sandbox
from ludus.sandbox.transfer import clearing, copying
from ludus.sandbox.transfer.snapshot import Snapshot
from tests.sandbox.support import needs

pytestmark = needs("bubblewrap", root=True)
USER = 54321
SECRET = "for root's eyes"


@pytest.fixture
def workspace() -> Iterator[Path]:
    """A folder of USER with things in it that only root can reach."""
    # Not below pytest's own folder, which USER cannot reach.
    folder = Path(tempfile.mkdtemp(prefix="ludus-"))
    (folder / "closed" / "inner").mkdir(parents=True)
    (folder / "closed").chmod(0o700)
    (folder / "closed" / "inner" / "key").write_text(SECRET)
    (folder / "key").write_text(SECRET)
    (folder / "key").chmod(0o600)
    (folder / "own").write_text("theirs")
    (folder / "own").chmod(0o640)
    for path in (folder, folder / "own"):
        os.chown(path, USER, USER)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def root(workspace: Path) -> Iterator[int]:
    descriptor = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


READ = """
import os, sys
os.setgroups([]); os.setresgid(*[{user}] * 3)
os.chdir({folder!r})
os.setresuid(*[{user}] * 3)
for here, folders, files in os.walk("."):
    for name in files:
        try:
            print(open(os.path.join(here, name)).read())
        except OSError:
            pass
"""


def readable(folder: Path) -> str:
    """Return all that USER can read below a folder."""
    code = READ.format(user=USER, folder=str(folder))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def owners(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Return user, group and mode of all below a folder."""
    found = {path.relative_to(folder): path.lstat() for path in folder.rglob("*")}
    return {
        str(path): (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode))
        for path, status in found.items()
    }


def test_snapshot_and_restore_give_nothing_away(workspace):
    before = owners(workspace)
    with open_sandbox(Policy(disk=None), workspace=workspace) as box, box.snapshot() as kept:
        assert kept.entries == len(before)
        box.restore(kept)
        done = box.run(["sh", "-c", "cat key closed/inner/key own; id -u >/dev/null"])
        assert SECRET not in done.text + readable(workspace)
        assert "theirs" in done.text
    assert owners(workspace) == before
    assert (workspace / "closed/inner/key").read_text() == SECRET


def test_a_snapshot_gives_nothing_away_in_another_sandbox(workspace):
    with (
        open_sandbox(Policy(disk=None), workspace=workspace) as box,
        box.snapshot() as kept,
        open_sandbox() as other,
    ):
        other.restore(kept)
        done = other.run(["sh", "-c", "cat key closed/inner/key; cat own"])
        assert SECRET not in done.text
        assert "theirs" in done.text


def test_a_folder_that_is_swapped_while_it_is_made_keeps_its_owner(workspace, root, monkeypatch):
    """The window of the race is held open: whatever is made is swapped before it is looked at."""
    real = os.mkdir

    def swap(name, *more, dir_fd):
        real(name, *more, dir_fd=dir_fd)
        # Only what USER may do: rename in a folder of its own.
        if os.fstat(dir_fd).st_uid == USER:
            os.rename("closed", name, src_dir_fd=root, dst_dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", swap)
    with contextlib.suppress(SandboxError):
        copying.write_bytes(root, ("new", "file"), b"x", owner=USER)
    monkeypatch.undo()
    held = [path for path in workspace.rglob("*") if (path / "inner" / "key").exists()]
    assert [path.stat().st_uid for path in held] == [0]
    assert SECRET not in readable(workspace)


def test_a_file_that_is_swapped_for_a_link_keeps_its_owner(workspace, root, tmp_path, monkeypatch):
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "link").symlink_to("own")
    real = os.symlink

    def swap(target, name, *, dir_fd):
        real(target, name, dir_fd=dir_fd)
        if os.fstat(dir_fd).st_uid == USER:
            os.rename("key", name, src_dir_fd=root, dst_dir_fd=dir_fd)

    monkeypatch.setattr(os, "symlink", swap)
    copying.put(tmp_path / "host", root, ("got",), owner=USER)
    monkeypatch.undo()
    assert SECRET not in readable(workspace)
    keys = [path for path in workspace.rglob("*") if path.is_file() and path.stat().st_size == 15]
    assert {path.stat().st_uid for path in keys} == {0}


def test_clearing_shows_nothing_on_the_way(workspace, root, monkeypatch):
    """Folders of a closed folder are moved to be removed, but never to where others can enter."""
    seen, real = [], os.rename

    def look(*args, **options):
        real(*args, **options)
        seen.append(readable(workspace))

    monkeypatch.setattr(os, "rename", look)
    clearing.clear(root)
    monkeypatch.undo()
    assert seen, "nothing was moved, so nothing was shown"
    assert SECRET not in "".join(seen)
    assert list(workspace.iterdir()) == []


def test_restoring_shows_nothing_on_the_way(workspace, root, monkeypatch):
    seen, real = [], os.fchmod

    def look(descriptor, mode):
        real(descriptor, mode)
        seen.append(readable(workspace))

    with Snapshot.take(root, limit=1 << 20, owner=USER) as kept:
        monkeypatch.setattr(os, "fchmod", look)
        kept.restore(root, owner=USER)
    monkeypatch.undo()
    assert seen
    assert SECRET not in "".join(seen)


def test_a_copy_out_stays_as_closed_as_it_was(workspace, tmp_path):
    with open_sandbox(Policy(disk=None), workspace=workspace) as box:
        box.get("closed", tmp_path / "copy")
    assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o700


def test_putting_opens_no_closed_folder(workspace, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o755)
    (tmp_path / "closed" / "more").write_text("x")
    with open_sandbox(Policy(disk=None), workspace=workspace) as box:
        box.put(tmp_path / "closed", "closed")
    assert owners(workspace)["closed"] == (0, 0, 0o700)
    assert SECRET not in readable(workspace)
