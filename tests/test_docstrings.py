"""The examples in docstrings run and print what they show."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import ludus
from ludus.errors import DependencyNotInstalled

SOURCE = Path(ludus.__file__).parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PACKAGES = (
    *("audit", "checking", "classic", "cli", "experimental", "interop", "play", "registration"),
    *("testing", "utils"),
)
FILES = [*SOURCE.glob("*.py"), *(file for one in PACKAGES for file in (SOURCE / one).rglob("*.py"))]
MODULES = sorted(
    ".".join(("ludus", *file.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
    for file in FILES
    if ">>> " in file.read_text("utf-8")
)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        module = importlib.import_module(name)
    except DependencyNotInstalled as missing:
        pytest.skip(str(missing))
    found = doctest.testmod(module, optionflags=FLAGS)
    assert found.failed == 0
