"""The examples in docstrings run and print what they show."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import numpy as np
import pytest

import ludus
from ludus.errors import DependencyNotInstalled
from ludus.registration import registry

SOURCE = Path(ludus.__file__).parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = sorted(
    ".".join(("ludus", *file.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
    for file in SOURCE.rglob("*.py")
    # tests/spaces runs those of the spaces.
    if ">>> " in file.read_text("utf-8") and file.parent.name != "spaces"
)


@pytest.fixture(autouse=True)
def same_registry():
    before = set(registry)
    yield
    for name in set(registry) - before:
        del registry[name]


@pytest.mark.skipif(np.__version__.startswith("1."), reason="NumPy 1 prints scalars otherwise")
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        module = importlib.import_module(name)
    except DependencyNotInstalled as missing:
        pytest.skip(str(missing))
    public = {other: getattr(module, other) for other in getattr(module, "__all__", ())}
    names = {"ludus": ludus, "np": np, **public}
    found = doctest.testmod(module, extraglobs=names, optionflags=FLAGS)
    assert found.failed == 0


def test_every_package_for_users_has_examples():
    packages = {name.split(".")[1] for name in MODULES if "." in name}
    assert packages >= {"codec", "core", "interop", "kernel", "registration", "vector", "wrappers"}
