"""A Python installation full of other things: sandboxes see Python, and what was installed."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import ludus
from ludus.sandbox import Mount, Policy, open_sandbox
from ludus.sandbox.linux import distribution_files, remembered, visible_files
from tests.sandbox.support import needs

CANARY = "a grader or a key"
PACKAGES = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
COPY = ("research/grading/checks.py", "sandbox/contract.py", "research/tasks/task/grader.py")
# Where each thing lies, none of which an honest installation has.
PLANTED = (
    *(f"{PACKAGES}/ludus/{name}" for name in COPY),
    *(f"{PACKAGES}/ludus_copy/{name}" for name in COPY),
    *(f"{PACKAGES}/renamed/{name}" for name in COPY),
    *(f"{PACKAGES}/fork/{name}" for name in COPY),
    *(f"{PACKAGES}/project/src/ludus/{name}" for name in COPY),
    f"{PACKAGES}/checkout/.git/config",
    f"{PACKAGES}/other/pyvenv.cfg",
    f"{PACKAGES}/other/key",
    f"{PACKAGES}/loose.py",
    f"{PACKAGES}/_start.py",
    f"{PACKAGES}/__pycache__/loose.cpython.pyc",
    f"{PACKAGES}/.keys/agent.key",
    f"{Path(PACKAGES).parent}/extra.py",
    "lib/keys/agent.key",
    "bin/grader",
    "share/ludus/tasks/grader.py",
    "include/keys.h",
    "home/.ludus/agent.key",
    "checkout/src/ludus/research/tasks/grader.py",
    ".git/objects/grader",
    "agent.key",
)
RECORDS = {
    "honest-1.0": "honest/__init__.py,,\nhonest/data/table,,\nalone.py,,\n../../../bin/honest,,\n",
    "ludus-0.1": "ludus/__init__.py,,\nludus_copy/__init__.py,,\n",
    "ludus_gym-0.1": "_start.py,,\n",
    "fork-2.0": "fork/__init__.py,,\nfork/research/grading/checks.py,,\n",
}
HONEST = ("honest/__init__.py", "honest/data/table", "alone.py")

PRELUDE = """
import os, sys, types
package = types.ModuleType("ludus")
package.__path__ = [sys.argv[1]]
sys.modules["ludus"] = package
from ludus.sandbox import Policy, open_sandbox
policy = Policy(memory=None, cpus=None, pids=64)
WALK = '''
import os, sys
print(sys.prefix)
for here, folders, files in os.walk(sys.prefix):
    for name in files:
        print("FILE", os.path.relpath(os.path.join(here, name), sys.prefix))
        try:
            text = open(os.path.join(here, name), errors="replace").read(100)
        except OSError:
            continue
        if sys.argv[1] in text:
            print("FOUND", os.path.join(here, name))
import honest, alone
table = os.path.join(os.path.dirname(honest.__file__), "data/table")
print("IMPORTED", alone.VALUE, open(table).read())
'''
def look(box):
    done = box.run([sys.executable, "-c", WALK, sys.argv[2]], timeout=60)
    return done.text + done.error_text
"""


@pytest.fixture
def prefix() -> Iterator[Path]:
    """A virtual environment with honest packages, in which much else lies around."""
    # Not below pytest's own folder, which a sandbox's user cannot reach.
    folder = Path(tempfile.mkdtemp(prefix="ludus-"))
    folder.chmod(0o755)
    root = folder / "prefix"
    argv = [sys.executable, "-m", "venv", "--without-pip", str(root)]
    subprocess.run(argv, check=True)
    packages = root / PACKAGES
    for path in PLANTED:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(CANARY)
    for name, text in RECORDS.items():
        (packages / f"{name}.dist-info").mkdir()
        (packages / f"{name}.dist-info" / "RECORD").write_text(text)
    (packages / "honest" / "data").mkdir(parents=True)
    (packages / "honest" / "__init__.py").write_text("")
    (packages / "honest" / "data" / "table").write_text("numbers")
    (packages / "alone.py").write_text("VALUE = 5")
    (folder / "outside").mkdir()
    (folder / "outside" / "grader.py").write_text(CANARY)
    (packages / "leads").symlink_to(folder / "outside")
    (packages / "leads.pth").write_text(f"{folder / 'outside'}\n")
    yield root
    shutil.rmtree(folder)


def run(prefix: Path, code: str) -> str:
    argv = [str(prefix / "bin" / "python"), "-I", "-B", "-c", PRELUDE + code]
    package = str(Path(ludus.__file__).resolve().parent)
    argv += [package, CANARY, str(prefix)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check(text: str) -> None:
    assert "IMPORTED 5 numbers" in text
    assert "FOUND" not in text
    seen = {line.removeprefix("FILE ") for line in text.splitlines() if line.startswith("FILE ")}
    assert {f"{PACKAGES}/{name}" for name in HONEST} <= seen
    assert not seen & set(PLANTED)
    assert not {name for name in seen if "leads" in name or "grader" in name}


BACKENDS = [
    pytest.param("bubblewrap", marks=needs("bubblewrap", root=True)),
    pytest.param("podman", marks=needs("podman")),
]


@pytest.mark.parametrize("backend", BACKENDS)
def test_only_python_and_what_was_installed_is_seen(prefix, backend):
    text = run(
        prefix,
        f"""
with open_sandbox(policy, backend={backend!r}) as box:
    print(look(box))
""",
    )
    check(text)


@needs("bubblewrap", root=True)
def test_without_overlays_as_well(prefix):
    """Then what is not to be seen is covered."""
    text = run(
        prefix,
        """
from ludus.sandbox.linux import syscalls
real = syscalls.mount
def mount(source, target, kind, *more):
    if kind == "overlay":
        raise OSError(19, "No such device")
    return real(source, target, kind, *more)
syscalls.mount = mount
with open_sandbox(policy, backend="bubblewrap") as box:
    print(look(box))
""",
    )
    assert "IMPORTED 5 numbers" in text
    assert "FOUND" not in text


@needs("bubblewrap", root=True)
def test_what_is_planted_later_is_not_seen_either(prefix):
    later = f"{PACKAGES}/later"
    text = run(
        prefix,
        f"""
with open_sandbox(policy, backend="bubblewrap") as box:
    look(box)
    os.mkdir(sys.argv[3] + "/{later}")
    open(sys.argv[3] + "/{later}/grader.py", "w").write(sys.argv[2])
    print(look(box))
os.mkdir(sys.argv[3] + "/later")
open(sys.argv[3] + "/later/agent.key", "w").write(sys.argv[2])
with open_sandbox(policy, backend="bubblewrap") as box:
    print(look(box))
""",
    )
    check(text)
    assert text.count("IMPORTED") == 2
    assert "later" not in text


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_file_that_is_covered_stays_covered(backend):
    """Also where the folder around it is mounted anew."""
    folder = Path(tempfile.mkdtemp(prefix="ludus-"))
    folder.chmod(0o755)
    (folder / "file").write_text("instead")
    (folder / "folder").mkdir()
    mounts = (
        Mount(str(folder / "file"), "/usr/bin/env"),
        Mount(str(folder / "folder"), "/usr/share/doc"),
    )
    try:
        with open_sandbox(Policy(mounts=mounts), backend=backend) as box:
            done = box.run(["sh", "-c", "cat /usr/bin/env; ls -A /usr/share/doc | wc -l"])
    finally:
        shutil.rmtree(folder)
    assert done.text == "instead0\n"


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_mount_of_a_shown_folder_opens_nothing_elsewhere(backend):
    """Who mounts all of a folder of the system gets it there, and only there."""
    whole = Mount("/usr", "/whole")
    with open_sandbox(Policy(mounts=(whole,)), backend=backend) as box:
        done = box.run(["sh", "-c", "ls /usr; echo; ls /whole"])
    seen, mounted = (set(text.split()) for text in done.text.split("\n\n"))
    assert "bin" in seen & mounted
    assert "src" in mounted - seen


@needs("bubblewrap", root=True)
def test_a_folder_may_be_mounted_twice():
    folder = Path(tempfile.mkdtemp(prefix="ludus-"))
    folder.chmod(0o777)
    mounts = (Mount(str(folder), "/read"), Mount(str(folder), "/write", writable=True))
    with open_sandbox(Policy(mounts=mounts), backend="bubblewrap") as box:
        box.run(["sh", "-c", "echo x > /write/file"]).check()
        assert box.run(["sh", "-c", "echo x > /read/other"]).returncode != 0
    assert [path.name for path in folder.iterdir()] == ["file"]
    shutil.rmtree(folder)


@needs("bubblewrap", root=True)
def test_a_socket_that_is_mounted_can_be_used():
    folder = Path(tempfile.mkdtemp(prefix="ludus-"))
    folder.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
        (folder / "socket").chmod(0o777)
        server.listen()
        code = "import socket; socket.socket(socket.AF_UNIX).connect('/socket'); print('there')"
        mounts = (Mount(str(folder / "socket"), "/socket"),)
        with open_sandbox(Policy(mounts=mounts), backend="bubblewrap") as box:
            done = box.run(["/usr/bin/python3", "-c", code])
    shutil.rmtree(folder)
    assert done.text == "there\n", done


@needs("bubblewrap", root=True)
def test_the_least_memory_is_still_enough_for_a_shell():
    with open_sandbox(Policy(memory="8M"), backend="bubblewrap") as box, box.shell() as shell:
        assert shell.run("ls /usr/bin | wc -l").returncode == 0


def test_folders_single_files_and_programs_are_told_apart(tmp_path):
    record = b'a/b,1,2\nsix.py,sha,1\r\n"x y/z",,\n../../../bin/p,s,1\na/c,,\n../../../bin/q,,'
    (tmp_path / "RECORD").write_bytes(record)
    (tmp_path / "top_level.txt").write_text("not_in_the_record")
    found = distribution_files.owned_by(str(tmp_path))
    assert {*found.names} >= {"a", "a.py", "six.py", "x y"}
    assert not {*found.names} & {"..", "", "bin", "z"}
    assert "not_in_the_record" not in found.names
    assert found.programs == ["p", "q"]


def test_a_distribution_without_a_record_owns_what_its_top_level_names(tmp_path):
    assert not distribution_files.owned_by(str(tmp_path)).names
    (tmp_path / "top_level.txt").write_text("a b")
    assert {*distribution_files.owned_by(str(tmp_path)).names} >= {"a", "b", "b.py"}


@pytest.fixture
def settled(monkeypatch, tmp_path):
    """A state folder of its own, which also keeps what was derived from a file of this moment."""
    monkeypatch.setenv("LUDUS_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(remembered, "_SETTLED", 0.0)
    return tmp_path


def test_a_result_is_kept_until_a_source_of_it_changes(settled):
    file, folder, missing = (str(settled / name) for name in ("file", "folder", "missing"))
    Path(file).write_text("a")
    Path(folder).mkdir()
    os.utime(folder, (1, 1))  # a change in the same tick of the clock would not be seen
    changes = [
        lambda: Path(file).write_text("bc"),
        lambda: Path(folder, "new").touch(),
        Path(missing).touch,
        Path(missing).unlink,
    ]
    for number, change in enumerate(changes):
        remembered.remember("key", number, remembered.sources([file, folder, missing]))
        assert remembered.recall("key") == number
        assert remembered.recall("another key") is None
        change()
        assert remembered.recall("key") is None


def test_nothing_is_kept_of_a_file_that_changed_just_now(settled, monkeypatch):
    monkeypatch.setattr(remembered, "_SETTLED", 3600.0)
    (settled / "file").touch()
    remembered.remember("key", 1, remembered.sources([str(settled / "file")]))
    assert remembered.recall("key") is None


@pytest.mark.parametrize("kept", [b"", b"{", b"[]", b"7", b'{"key": "key"}', b"\xff"])
def test_a_kept_result_that_is_damaged_is_not_used(settled, kept):
    remembered.remember("key", 1, remembered.sources([]))
    (place,) = (settled / "state" / "remembered").iterdir()
    place.write_bytes(kept)
    assert remembered.recall("key") is None


def test_the_oldest_of_many_kept_results_are_removed(settled):
    for number in range(40):
        remembered.remember(f"key {number}", number, remembered.sources([]))
    assert len([*(settled / "state" / "remembered").iterdir()]) <= 16
    assert remembered.recall("key 39") == 39


def test_the_list_of_visible_files_is_worked_out_once(settled, monkeypatch):
    first = visible_files._found.__wrapped__(())
    monkeypatch.setattr(visible_files, "_python_names", None)  # not asked again
    assert visible_files._found.__wrapped__(()) == first
    assert {type(step) for shown in first for step in (*shown.steps, *shown.plain_steps)} == {tuple}


@pytest.mark.parametrize("copy", ["", "ludus", "src/ludus"])
def test_a_copy_of_ludus_that_comes_into_a_package_is_noticed(settled, monkeypatch, copy):
    """Also below folders of the package that were there before."""
    packages = settled / "lib" / "site-packages"
    (packages / "harmless" / "src").mkdir(parents=True)
    for folder in (packages / "harmless" / "src", packages / "harmless"):
        os.utime(folder, (1, 1))  # a change in the same tick of the clock would not be seen
    monkeypatch.setattr(visible_files, "_watched", lambda: (str(packages),))
    before = remembered.sources([str(packages), *visible_files._looked_at()])
    assert not visible_files._is_apart(str(packages), "harmless")
    inside = packages / "harmless" / copy
    (inside / "research" / "grading").mkdir(parents=True)
    (inside / "sandbox").mkdir()
    (inside / "sandbox" / "contract.py").touch()
    assert visible_files._is_apart(str(packages), "harmless")
    assert remembered.sources(before.paths).digest != before.digest


def test_what_is_seen_follows_what_is_named():
    names = {"": ("lib",), "lib/packages": ("numpy",)}
    folder = visible_files.Shown("/opt/python", names)
    seen = ["/opt/python", "/opt/python/lib/x/y", "/opt/python/lib/packages/numpy/core"]
    unseen = ["/opt/python/bin", "/opt/python/lib/packages/ludus/x", "/opt", "/opt/python2/lib"]
    assert all(folder.shows(Path(path)) for path in seen)
    assert not any(folder.shows(Path(path)) for path in unseen)


def test_this_installation_is_seen_without_ludus():
    assert visible_files.is_shown(Path(os.__file__))
    assert visible_files.is_shown(Path(pytest.__file__))
    assert visible_files.is_shown(Path(json.__file__).parent)
    for folder in visible_files.shown_folders():
        for inside, names in folder.names.items():
            if inside.endswith("-packages"):
                assert not [name for name in names if name.lower().startswith("ludus")]
