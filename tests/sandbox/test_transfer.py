"""Copies, without a box: the folder is the hostile one."""

from __future__ import annotations

import os
import stat

import pytest

from ludus.errors import SandboxError, SandboxViolation
from ludus.sandbox.transfer import copying
from ludus.sandbox.transfer.clearing import clear, remove_tree
from ludus.sandbox.transfer.snapshot import Snapshot


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "box"
    folder.mkdir()
    yield folder
    remove_tree(folder)


@pytest.fixture
def root(place):
    descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a/b", ("/workspace", ("a", "b"))), ("/workspace/a", ("/workspace", ("a",))),
        ("/tmp/x", ("/tmp", ("x",))), ("/dev/shm/x", ("/dev/shm", ("x",))),
        ("/workspace", ("/workspace", ())),
    ],
)  # fmt: skip
def test_locate(path, found):
    assert copying.locate(path) == found


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x", "a/../b", "/workspace/../x", "a\0b", "/workspacex/a"]
)
def test_locate_refuses(path):
    with pytest.raises(SandboxError):
        copying.locate(path)


def test_links_are_never_followed(place, root, tmp_path):
    (tmp_path / "secret").write_text("secret")
    (place / "link").symlink_to(tmp_path / "secret")
    (place / "way").symlink_to(tmp_path)
    for parts in (("link",), ("way", "secret")):
        with pytest.raises(SandboxViolation):
            copying.read_bytes(root, parts, 100)
        with pytest.raises(SandboxViolation):
            copying.get(root, parts, tmp_path / "out", limit=100)
    copying.write_bytes(root, ("link",), b"new", owner=None)
    assert (tmp_path / "secret").read_text() == "secret"
    assert (place / "link").read_bytes() == b"new"
    with pytest.raises(SandboxViolation):
        copying.write_bytes(root, ("way", "planted"), b"x", owner=None)
    assert not (tmp_path / "planted").exists()


def test_a_refused_copy_leaves_nothing(place, root, tmp_path):
    (place / "d").mkdir()
    (place / "d" / "a").write_text("x")
    os.mkfifo(place / "d" / "z")
    with pytest.raises(SandboxViolation, match="plain file"):
        copying.get(root, ("d",), tmp_path / "out", limit=100)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["box"]


@pytest.mark.parametrize(
    ("link", "inside"),
    [
        ("b", True), ("../a", True), ("../../a", False), ("/a", False), ("b/../../..", False),
        ("b/..", False), ("./b", True), ("..", True), ("../..", False),
    ],
)  # fmt: skip
def test_links_that_stay_inside(place, root, tmp_path, link, inside):
    (place / "d" / "sub").mkdir(parents=True)
    (place / "d" / "sub" / "link").symlink_to(link)
    if inside:
        copying.get(root, ("d",), tmp_path / "out", limit=100)
        assert (tmp_path / "out/sub/link").is_symlink()
    else:
        with pytest.raises(SandboxViolation, match="out of the copy"):
            copying.get(root, ("d",), tmp_path / "out", limit=100)


def test_bounds(place, root, tmp_path):
    with (place / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(SandboxViolation, match="more than 1,000 bytes"):
        copying.get(root, ("sparse",), tmp_path / "out", limit=1000)
    with pytest.raises(SandboxViolation, match="more than 10 bytes"):
        copying.read_bytes(root, ("sparse",), 10)
    deep = place
    for _ in range(140):
        deep = deep / "d"
        deep.mkdir()
    with pytest.raises(SandboxViolation, match="levels"):
        copying.get(root, ("d",), tmp_path / "out", limit=1000)


def test_special_bits_are_dropped(place, root, tmp_path):
    (place / "tool").write_text("x")
    (place / "tool").chmod(0o6777)
    copying.get(root, ("tool",), tmp_path / "tool", limit=100)
    assert stat.S_IMODE((tmp_path / "tool").stat().st_mode) == 0o755
    (tmp_path / "tool").chmod(0o4755)
    copying.put(tmp_path / "tool", root, ("in",), owner=None)
    assert stat.S_IMODE((place / "in").stat().st_mode) == 0o755


def test_put_says_what_is_wrong(root, tmp_path):
    with pytest.raises(SandboxError, match="not there"):
        copying.put(tmp_path / "none", root, ("x",), owner=None)
    (tmp_path / "exists").mkdir()
    with pytest.raises(SandboxError, match="exists"):
        copying.get(root, ("x",), tmp_path / "exists", limit=1)


def test_clear_does_not_care_how_deep(place, root):
    here = os.dup(root)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    (place / "link").symlink_to("/")
    os.mkfifo(place / "fifo")
    clear(root, 60)
    assert list(place.iterdir()) == []


def test_snapshots_keep_odd_names(place, root):
    names = [b"-rf", b"new\nline", b"\xff\xfe", b"x" * 255]
    for name in names:
        (place / os.fsdecode(name)).write_bytes(name)
    with Snapshot.take(root, limit=10_000) as kept:
        clear(root)
        kept.restore(root, owner=None)
        assert kept.entries == len(names)
    assert {os.fsencode(path.name): path.read_bytes() for path in place.iterdir()} == {
        name: name for name in names
    }
    with pytest.raises(SandboxError, match="closed"):
        kept.restore(root, owner=None)
