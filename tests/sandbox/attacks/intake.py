"""Files on their way in, and snapshots: ways out that the box lays where the host will write."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from tests.sandbox.attacks.attack import Attack, Outcome, Scene, broke, held, read_outcome
from tests.sandbox.attacks.copying import MIB, brief, copy, hide, holds_canary, judge, lay, row
from tests.sandbox.attacks.host import meanwhile, secret

__all__ = ["ATTACKS"]


def _put_through(trap: str, target: str, *, folder: bool = False) -> Callable[..., Outcome]:
    """Put a file where the box has laid a way out to a folder of the host."""

    def act(scene: Scene, attack: Attack) -> Outcome:
        open_folder = scene.public_folder(0o777)
        (open_folder / "kept").write_text("kept")
        (open_folder / "kept").chmod(0o666)
        scene.params["open"] = str(open_folder)
        lay(scene, f"os.chdir(P['workspace'])\n{trap}")
        source = scene.folder / "source"
        if folder:
            source.mkdir()
            (source / "planted").write_text("planted")
        else:
            source.write_text("planted")
        said = copy(lambda: scene.box.put(source, scene.inside(target)))
        if (open_folder / "kept").read_text() != "kept":
            return broke("a file of the host was overwritten")
        return judge(said, "planted on the host" if any(open_folder.glob("planted*")) else "")

    return act


def _put_into_fifo(scene: Scene, attack: Attack) -> Outcome:
    lay(scene, "os.mkfifo(P['workspace'] + '/pipe')")
    source = scene.folder / "source"
    source.write_text("x")
    return judge(copy(lambda: scene.box.put(source, scene.inside("pipe")), brief(scene)), "")


def _write_into_fifo(scene: Scene, attack: Attack) -> Outcome:
    lay(scene, "os.mkfifo(P['workspace'] + '/pipe')")
    return judge(copy(lambda: scene.box.write_bytes(scene.inside("pipe"), b"x"), brief(scene)), "")


def _put_follows(scene: Scene, attack: Attack) -> Outcome:
    """Hand a folder back in that holds a link which came out of a box earlier."""
    source = scene.folder / "source"
    source.mkdir()
    (source / "link").symlink_to(secret(scene))
    said = copy(lambda: scene.box.put(source, scene.inside("given")))
    look = "path = P['workspace'] + '/given/link'\nbroke(open(path).read())"
    outcome = read_outcome(scene.python(look))
    return outcome if outcome.word == "BROKE" else held(f"{said}; {outcome.text}")


def _put_bits(scene: Scene, attack: Attack) -> Outcome:
    source = scene.folder / "tool"
    source.write_text("x")
    source.chmod(0o6755)
    copy(lambda: scene.box.put(source, scene.inside("tool")))
    look = "mode = os.stat(P['workspace'] + '/tool').st_mode\n"
    return read_outcome(
        scene.python(look + "broke(oct(mode)) if mode & 0o6000 else held(oct(mode))")
    )


def _restore_through(scene: Scene, attack: Attack) -> Outcome:
    """Take a snapshot, then swap a folder for a link out, then go back to the snapshot."""
    outside = scene.public_folder(0o777)
    scene.params["open"] = str(outside)
    lay(scene, "os.chdir(P['workspace'])\nos.mkdir('d')\nopen('d/planted', 'w').write('x')")
    swap = "import shutil\nos.chdir(P['workspace'])\nshutil.rmtree('d')\nos.symlink(P['open'], 'd')"
    with scene.box.snapshot() as kept:
        lay(scene, swap)
        said = copy(lambda: scene.box.restore(kept))
    return judge(said, "planted on the host" if any(outside.iterdir()) else "")


def _restore_refilled(scene: Scene, attack: Attack) -> Outcome:
    """The box fills the workspace again while the host empties it."""
    loop = """
os.chdir(P["workspace"])
until = time.monotonic() + 9
number = 0
while time.monotonic() < until:
    number += 1
    try:
        os.mkdir(str(number))
        os.mknod(f"{number}/x")
    except OSError:
        pass
"""
    with scene.box.snapshot() as kept, meanwhile(lambda: scene.python(loop, timeout=10)):
        time.sleep(0.3)
        said = copy(lambda: scene.box.restore(kept), 6)
        scene.box.close()
    return judge(said, "")


def _snapshot_link(scene: Scene, attack: Attack) -> Outcome:
    """A snapshot must keep a link as a link: what it names is the host's."""
    hide(scene)
    lay(scene, "os.symlink(P['secret'], P['workspace'] + '/link')")
    kept: list[Any] = []
    with ExitStack() as opened:
        said = copy(lambda: kept.append(opened.enter_context(scene.box.snapshot())))
        said = copy(lambda: scene.box.restore(kept[0])) if kept else said
        if scene.naive:
            return judge(said, holds_canary(scene, kept[0]))
    outcome = read_outcome(scene.python("broke(open(P['workspace'] + '/link').read())"))
    return outcome if outcome.word == "BROKE" else held(said)


def _snapshot_bomb(scene: Scene, attack: Attack) -> Outcome:
    """A sparse file makes a snapshot that is larger than the box's disk ever was."""
    lay(scene, "os.truncate(os.open(P['workspace'] + '/big', 65), 48 << 20)")
    before = os.statvfs(scene.folder)
    kept: list[Any] = []
    said = copy(lambda: kept.append(scene.box.snapshot()))
    sizes = []
    if scene.naive and kept:
        sizes = [p.stat().st_blocks * 512 for p in kept[0].rglob("*") if p.is_file()]
    used = max(sizes, default=(before.f_bfree - os.statvfs(scene.folder).f_bfree) * before.f_frsize)
    return judge(said, f"{used >> 20} MiB on the host's disk" if used > 32 * MIB else "")


def _snapshot_bits(scene: Scene, attack: Attack) -> Outcome:
    make = "os.chdir(P['workspace'])\nopen('tool', 'w').close()\nos.chmod('tool', 0o4755)"
    lay(scene, make)
    with scene.box.snapshot() as kept:
        copy(lambda: scene.box.restore(kept))
    look = "mode = os.stat(P['workspace'] + '/tool').st_mode\n"
    return read_outcome(
        scene.python(look + "broke(oct(mode)) if mode & 0o6000 else held(oct(mode))")
    )


SMALL = {"disk": 8 * MIB, "tmp": 8 * MIB}

ATTACKS = (
    row(
        "put_through_link",
        "a file of the host, overwritten",
        _put_through("os.symlink(P['open'] + '/kept', 'out')", "out"),
    ),
    row(
        "put_through_linked_folder",
        "a file planted on the host",
        _put_through("os.symlink(P['open'], 'way')", "way/planted"),
    ),
    row(
        "put_folder_through_link",
        "files planted on the host",
        _put_through("os.symlink(P['open'], 'way')", "way", folder=True),
    ),
    row(
        "put_folder_over_link_in_it",
        "a file of the host, overwritten by a folder's entry",
        _put_through(
            "os.mkdir('d')\nos.symlink(P['open'] + '/kept', 'd/planted')", "d", folder=True
        ),
    ),
    row("put_into_fifo", "a host that waits for ever", _put_into_fifo),
    row("write_into_fifo", "a host that waits for ever", _write_into_fifo),
    row(
        "put_follows_link",
        "a file of the host, carried into a box",
        _put_follows,
        everywhere=False,
    ),
    row("put_special_bits", "a set-user-id program in the box", _put_bits),
    row("restore_through_link", "files planted on the host", _restore_through),
    row(
        "restore_while_refilled",
        "a host that empties a folder for ever",
        _restore_refilled,
        cannot_succeed_unboxed="needs a restore that empties the workspace first",
        everywhere=False,
    ),
    row(
        "snapshot_follows_link",
        "a file of the host, kept in a snapshot",
        _snapshot_link,
        everywhere=False,
    ),
    row("snapshot_sparse_file", "the host's disk", _snapshot_bomb, policy=SMALL, everywhere=False),
    row("snapshot_special_bits", "a set-user-id program after a restore", _snapshot_bits),
)
