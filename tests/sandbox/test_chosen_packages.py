"""Sandboxes that show some distributions of this Python, and no others."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from pathlib import Path

import pytest

from ludus.errors import TaskError
from ludus.research import load_task, new_task
from ludus.research.episode.agent_sandbox import declared_packages
from ludus.sandbox import Policy, open_sandbox
from ludus.sandbox.linux import chosen_packages
from ludus.sandbox.linux.visible_files import Shown
from ludus.untrusted.package_set import PackageSet
from tests.sandbox.support import needs

LOOK = """
import importlib, json, os, pkgutil, sys
places = [path for path in sys.path if path.endswith("-packages") and os.path.isdir(path)]
found = sorted({module.name for module in pkgutil.iter_modules(places)})
files = [name for path in places for name in os.listdir(path)]
programs = os.listdir(os.path.dirname(sys.executable))
imported = []
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ImportError:
        continue
    imported.append(name)
print(json.dumps({"modules": found, "files": files, "programs": programs, "imported": imported}))
"""
FOREIGN = ("pytest", "gymnasium", "pydantic", "rich", "scipy", "matplotlib", "pip", "ludus")


BACKENDS = [pytest.param(name, marks=needs(name)) for name in ("bubblewrap", "podman", "docker")]


def look(backend: str, packages: tuple[str, ...], *names: str) -> dict[str, list[str]]:
    policy = Policy(memory=None, cpus=None, packages=packages)
    with open_sandbox(policy, backend=backend) as sandbox:
        done = sandbox.run([sys.executable, "-I", "-c", LOOK, *names], timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def modules_of(distribution: str) -> set[str]:
    owners = metadata.packages_distributions()
    return {name for name, owned in owners.items() if distribution in owned}


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_not_chosen_cannot_be_imported(backend):
    seen = look(backend, ("numpy",), "numpy", *FOREIGN)
    assert seen["imported"] == ["numpy"]
    assert set(seen["modules"]) <= modules_of("numpy")
    assert {name.partition("-")[0] for name in seen["files"] if "dist-info" in name} == {"numpy"}


@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_chosen_leaves_the_standard_library(backend):
    seen = look(backend, (), "numpy", *FOREIGN)
    assert seen["imported"] == seen["modules"] == []
    assert not [name for name in seen["files"] if name != "__pycache__"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_neither_path_files_nor_programs_of_others_are_there(backend):
    seen = look(backend, ("numpy",))
    assert not [name for name in seen["files"] if name.endswith((".pth", ".egg-link"))]
    assert not {"ludus", "pytest", "ruff", "mypy"} & set(seen["programs"])


HUNT = """
import glob, importlib, json, os, subprocess, sys
found = []
for where, folders, files in os.walk("/"):
    folders[:] = [name for name in folders if os.path.join(where, name) not in ("/proc", "/sys")]
    found += [f"{where}/{name}" for name in files if name.endswith((".whl", ".egg", ".pth"))]
    if where.endswith("-packages"):
        found += [f"{where}/{name}" for name in folders + files]
        sys.path.append(where)
for name in ("pip", "setuptools", "pytest", "cryptography", "six"):
    try:
        importlib.import_module(name)
    except ImportError:
        continue
    found.append(name)
done = subprocess.run([sys.executable, "-m", "ensurepip", "--user"], capture_output=True)
print(json.dumps({"found": found, "pip": done.returncode == 0}))
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_other_pythons_and_archives_bring_no_package_along(backend):
    """Some programs below /usr bring a Python of their own, and Python itself has pip's archive."""
    policy = Policy(memory=None, cpus=None, packages=("numpy",))
    with open_sandbox(policy, backend=backend) as sandbox:
        done = sandbox.run([sys.executable, "-c", HUNT], timeout=60)
    told = json.loads(done.stdout)
    assert {path for path in told["found"] if "numpy" not in Path(path).name} <= {
        path for path in told["found"] if path.endswith("/__pycache__")
    }
    assert not told["pip"]


def test_programs_that_bring_a_python_along_are_hidden_whole(tmp_path, monkeypatch):
    usr = tmp_path / "usr"
    for inside in (
        "lib/python3/dist-packages", "lib/python3/vendor/x/site-packages", "lib/tool/a/b/c/"
        "site-packages", "lib/x86/y", "share/python-wheels", "share/doc", "local/lib/z",
        "local/lib/other/site-packages",
    ):  # fmt: skip
        (usr / inside).mkdir(parents=True)
    monkeypatch.setattr(chosen_packages, "system_folders", lambda: (str(usr),))
    names = {"": ("lib", "share", "local"), "lib/python3/dist-packages": ()}
    seen = dict(chosen_packages._with(Shown.of(str(usr), names), frozenset()).names)
    assert set(seen["lib"]) == {"python3", "x86"}
    assert set(seen["lib/python3/vendor/x"]) == set()
    assert set(seen["share"]) == {"doc"}
    assert set(seen["local/lib"]) == {"z"}


def place(folder: Path, distribution: str, *files: str) -> None:
    info = folder / f"{distribution}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("")


def test_of_shared_folders_only_the_chosen_parts_are_shown(tmp_path):
    """Namespace packages: several distributions put modules into one folder."""
    folder = tmp_path / "lib" / "site-packages"
    place(folder, "one", "space/one/__init__.py", "space/deep/mine.py", "alone/__init__.py")
    place(folder, "two", "space/two/__init__.py", "space/deep/theirs.py", "loose.py")
    (folder / "two.pth").write_text("import two")
    names = tuple(sorted(path.name for path in folder.iterdir()))
    shown = Shown.of(str(tmp_path), {"": ("lib",), "lib/site-packages": names})
    seen = dict(chosen_packages._with(shown, frozenset({"one"})).names)
    assert set(seen["lib/site-packages"]) == {"one-1.0.dist-info", "space", "alone"}
    assert set(seen["lib/site-packages/space"]) == {"one", "deep"}
    assert set(seen["lib/site-packages/space/deep"]) == {"mine.py"}


def test_dependencies_come_along_and_extras_do_not():
    found = PackageSet.of(["sklearn"])
    assert {"scikit-learn", "numpy", "scipy", "joblib", "threadpoolctl"} <= set(found.names)
    assert not {"pytest", "matplotlib", "ludus-gym"} & set(found.names)
    assert PackageSet.of(["sklearn"]).digest == found.digest != PackageSet.of(["numpy"]).digest
    assert found.plain()["distributions"]["numpy"]["version"] == metadata.version("numpy")


def test_a_missing_package_is_refused_with_what_to_install(tmp_path):
    folder = new_task("needyTask", tmp_path)
    file = folder / "task.yaml"
    kept = [line for line in file.read_text().splitlines() if not line.startswith("packages:")]
    file.write_text("\n".join([*kept, "packages: [no_such_module]"]))
    with pytest.raises(TaskError, match="pip install no_such_module"):
        declared_packages(load_task(folder))


@pytest.mark.parametrize("names", ["numpy", ("../x",), ("",), ("a b",)])
def test_names_that_are_none(names):
    with pytest.raises(ValueError, match=r"Policy\.packages"):
        Policy(packages=names)
