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
