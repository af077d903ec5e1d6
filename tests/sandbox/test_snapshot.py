from __future__ import annotations

import io
import json
import os
import struct
import tempfile
import tracemalloc

import pytest

from ludus.errors import ContentsExceeded, SandboxViolation
from ludus.sandbox import Snapshot, SnapshotLimits
from ludus.sandbox.transfer import copying


@pytest.fixture
def root(tmp_path):
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def test_names_to_keep_are_left_as_they_are(tmp_path):
    (tmp_path / "mounted" / "deep").mkdir(parents=True)
    (tmp_path / "mounted" / "deep" / "file").write_text("before")
    (tmp_path / "own").write_text("before")
    root = os.open(tmp_path, os.O_RDONLY)
    try:
        with Snapshot.take(root, limit=1 << 20) as snapshot:
            (tmp_path / "mounted" / "deep" / "file").write_text("after")
            (tmp_path / "own").write_text("after")
            (tmp_path / "new").write_text("new")
            snapshot.restore(root, owner=None, keep={"mounted"})
    finally:
        os.close(root)
    assert (tmp_path / "mounted" / "deep" / "file").read_text() == "after"
    assert (tmp_path / "own").read_text() == "before"
    assert not (tmp_path / "new").exists()


def _deep_names(root: int, count: int) -> None:
    """Files below folders of long names that are no text, 4,000 bytes of path each."""
    here = os.dup(root)
    for _ in range(15):
        os.mkdir(b"\xff" * 255, dir_fd=here)
        below = os.open(b"\xff" * 255, os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    for number in range(count):
        name = f"{number:04d}".encode() + b"\x01" * 200
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=here))
    os.close(here)


def test_long_names_cost_the_host_no_more_than_the_limit(root, monkeypatch):
    _deep_names(root, 400)
    made, real = [], tempfile.TemporaryFile
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda: made.append(Kept(real())) or made[-1])
    tracemalloc.start()
    with pytest.raises(ContentsExceeded) as caught:
        Snapshot.take(root, limit=1 << 20, limits=SnapshotLimits(path_bytes=200_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (caught.value.limit, caught.value.allowed) == ("path_bytes", 200_000)
    assert caught.value.found > 200_000
    assert sum(file.written for file in made) <= 200_000
    assert peak < 4 << 20


class Kept(io.BytesIO):
    """A file that says how much was written to it."""

    def __init__(self, file) -> None:
        super().__init__()
        file.close()
        self.written = 0

    def write(self, data) -> int:
        self.written += len(data)
        return super().write(data)


@pytest.mark.parametrize(
    ("limit", "value"), [("entries", 10), ("path_bytes", 300), ("depth", 3), ("total_bytes", 60)]
)
def test_every_limit_is_named(root, tmp_path, limit, value):
    (tmp_path / "a" / "b" / "c" / "d").mkdir(parents=True)
    for number in range(12):
        (tmp_path / f"file-{number}").write_text("12345678")
    with pytest.raises(ContentsExceeded, match="contents are the cause") as caught:
        Snapshot.take(root, limits=SnapshotLimits(**{limit: value}))
    assert (caught.value.limit, caught.value.allowed) == (limit, value)
    limits = SnapshotLimits(**{limit: value // 4})
    (tmp_path / "a" / "b" / "c" / "d" / ("long" * 20)).write_text("1" * 60)
    with pytest.raises(ContentsExceeded) as caught:
        copying.get(root, ("a",), tmp_path.parent / "out", limit=1 << 20, limits=limits)
    assert caught.value.limit == limit
    assert not (tmp_path.parent / "out").exists()
    with Snapshot.take(root) as kept, pytest.raises(ContentsExceeded) as caught:
        kept.restore(root, owner=None, limits=SnapshotLimits(**{limit: value}))
    assert caught.value.limit == limit


@pytest.mark.parametrize("value", [-1, 1.5, True, None])
def test_limits_are_numbers(value):
    with pytest.raises(ValueError, match=r"SnapshotLimits\.entries"):
        SnapshotLimits(entries=value)


def test_a_file_that_grows_while_it_is_copied_is_cut(root, tmp_path):
    """It was counted with the size that it had; more of it would be nobody's."""
    (tmp_path / "file").write_text("12")
    for entry in copying.walk(root, (), limit=10):
        if entry.file is not None:
            (tmp_path / "file").write_text("1" * 1000)
            assert b"".join(copying.chunks(entry.file, entry.size)) == b"11"


def test_a_snapshot_cuts_files_that_grow(root, tmp_path, monkeypatch):
    for number in range(3):
        (tmp_path / f"{number}").write_text("1")
    real = copying.chunks

    def grow(file, most=None):
        for number in range(3):
            (tmp_path / f"{number}").write_text("1" * 100_000)
        return real(file, most)

    monkeypatch.setattr(copying, "chunks", grow)
    with Snapshot.take(root, limit=300_000) as kept:
        assert kept.size <= 300_000


def _stored(*lines: bytes) -> Snapshot:
    return Snapshot(io.BytesIO(b"".join(lines)), 0, 0)


@pytest.mark.parametrize(
    "path", [["..", "planted"], ["a/../../planted"], ["/planted"], [], [""], [1], ["a\0b"]]
)
def test_names_in_a_changed_snapshot_lead_nowhere_else(root, tmp_path, path):
    line = json.dumps([path, 0o644, "file", None]).encode() + b"\n" + struct.pack(">I", 0)
    with pytest.raises(SandboxViolation, match="damaged"):
        _stored(line).restore(root, owner=None)
    assert not (tmp_path.parent / "planted").exists()


@pytest.mark.parametrize(
    "data",
    [
        b"no json\n",
        b'[["a"],420,"file",null]\n' + struct.pack(">I", 0xFFFFFFFF) + b"x",
        b'[["a"],420,"file",null]\n' + b"\0",
        b'[["a"],420,"file",null,[-5,0]]\n' + struct.pack(">I", 0),
        b'[["a"],"x","folder",null]\n',
    ],
)
def test_a_damaged_snapshot_is_refused(root, data):
    with pytest.raises(SandboxViolation, match="damaged"):
        _stored(data).restore(root, owner=None)


def test_a_snapshot_of_earlier_versions_is_restored(root, tmp_path):
    folder = json.dumps([["d"], 0o755, "folder", None]).encode() + b"\n"
    name = os.fsdecode(b"\xff")
    file = json.dumps([["d", name], 0o600, "file", None]).encode() + b"\n"
    text = struct.pack(">I", 2) + b"hi" + struct.pack(">I", 0)
    _stored(folder, file, text).restore(root, owner=None)
    assert (tmp_path / "d" / name).read_text() == "hi"
