"""The lowest declared versions are those that `make test-versions` installs."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from ludus.distribution import DISTRIBUTION

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NOT_FOR_USERS = {"dev", "peers"}


def declared() -> dict[str, Requirement]:
    """What users' installations may have, by name."""
    texts = list(PROJECT["dependencies"])
    for extra, rows in PROJECT["optional-dependencies"].items():
        texts += [] if extra in NOT_FOR_USERS else rows
    found = [Requirement(text) for text in texts]
    return {canonicalize_name(row.name): row for row in found if row.name != DISTRIBUTION}


def pinned() -> dict[str, Version]:
    lines = (ROOT / "constraints-lowest.txt").read_text().splitlines()
    rows = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {
        canonicalize_name(row.name): Version(str(row.specifier).removeprefix("==")) for row in rows
    }


def test_every_dependency_has_a_lowest_version():
    for name, requirement in declared().items():
        operators = {one.operator for one in requirement.specifier}
        assert operators & {">=", "=="}, f"{name} declares no lowest version"


def test_the_constraints_are_the_lowest_declared():
    assert pinned().keys() == declared().keys()
    for name, requirement in declared().items():
        (lowest,) = [one for one in requirement.specifier if one.operator in (">=", "==")]
        assert pinned()[name].release[: len(Version(lowest.version).release)] == (
            Version(lowest.version).release
        ), name
        assert pinned()[name] in requirement.specifier, name


def test_one_package_has_one_declaration():
    texts = [*PROJECT["dependencies"]]
    for extra, rows in PROJECT["optional-dependencies"].items():
        texts += [] if extra in NOT_FOR_USERS else rows
    found: dict[str, set[str]] = {}
    for row in map(Requirement, texts):
        if row.name != DISTRIBUTION:
            found.setdefault(canonicalize_name(row.name), set()).add(str(row.specifier))
    assert {name: said for name, said in found.items() if len(said) > 1} == {}


def test_classifiers_and_workflow_name_the_same_pythons():
    named = {
        match[1]
        for row in PROJECT["classifiers"]
        if (match := re.search(r":: Python :: (3\.\d+)$", row))
    }
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    (line,) = re.findall(r"^        python: \[(.*)\]$", workflow, re.MULTILINE)
    assert named == set(re.findall(r"3\.\d+", line))
    lowest = PROJECT["requires-python"].removeprefix(">=")
    assert min(named, key=Version) == lowest


@pytest.mark.skipif(
    os.environ.get("LUDUS_VERSIONS") != "lowest", reason="only `make test-versions` installs these"
)
def test_this_environment_has_the_lowest():
    assert sys.version_info >= (3, 11)
    seen = 0
    for name, wanted in pinned().items():
        try:
            assert Version(version(name)) == wanted, name
        except PackageNotFoundError:
            continue
        seen += 1
    assert seen > 20


LOCKS = ["requirements.lock", "requirements-dev.lock"]


def locked(name: str) -> dict[str, str]:
    """The versions of a lock file, by name."""
    rows = re.findall(r"^([\w.-]+)==([^\s;\\]+)", (ROOT / name).read_text(), re.MULTILINE)
    return {canonicalize_name(package): found for package, found in rows}


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_package_has_a_hash(name):
    blocks = re.split(r"^(?=[\w.-]+==)", (ROOT / name).read_text(), flags=re.MULTILINE)[1:]
    assert len(blocks) == len(locked(name))
    assert [block for block in blocks if "--hash=sha256:" not in block] == []


def test_the_locks_have_what_is_declared_and_agree():
    everything, users = locked("requirements-dev.lock"), locked("requirements.lock")
    assert users.items() <= everything.items()
    # The Makefile says why it is left out.
    dev = [Requirement(text) for text in PROJECT["optional-dependencies"]["dev"]]
    torch = next(row for row in dev if row.name == "torch")
    assert f"'{torch}'" in (ROOT / "Makefile").read_text()
    for row in [*map(Requirement, PROJECT["dependencies"]), *dev]:
        name = canonicalize_name(row.name)
        if name not in (canonicalize_name(DISTRIBUTION), "torch"):
            assert everything[name] in row.specifier, name


def test_hooks_have_the_locked_versions():
    everything = locked("requirements-dev.lock")
    pins = re.findall(r"([\w-]+)==([\w.]+)", (ROOT / ".pre-commit-config.yaml").read_text())
    assert len(pins) > 5
    assert [(name, pin) for name, pin in pins if everything[name] != pin] == []


def test_actions_are_pinned_by_commit():
    moving = ["pypa/gh-action-pypi-publish@release/v1"]
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        for action, note in re.findall(r"uses: (\S+)(.*)", path.read_text()):
            pinned = re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action) and " # v" in note
            assert pinned or action in moving, (path.name, action)
