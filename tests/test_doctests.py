"""The examples in docstrings give the results they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import sys

import numpy as np
import pytest

import ludus
from ludus.registration import registry

# tests/spaces runs those of the spaces.
PACKAGES = ["ludus.core", "ludus.codec", "ludus.kernel", "ludus.vector", "ludus.wrappers"]
WITH_EXAMPLES = [
    "ludus.codec",
    "ludus.core.env",
    "ludus.kernel.register_env",
    "ludus.seeding",
    "ludus.vector",
    "ludus.wrappers.time_limit",
    "ludus.wrappers.vector",
]


def _modules():
    found = ["ludus.seeding", *PACKAGES]
    for package in PACKAGES:
        path = importlib.import_module(package).__path__
        found += [module.name for module in pkgutil.walk_packages(path, f"{package}.")]
    # These import numba, which has no place where nothing is compiled.
    return [name for name in found if ".native.numba_" not in name and "__main__" not in name]


@pytest.mark.skipif(np.__version__.startswith("1."), reason="NumPy 1 prints scalars otherwise")
def test_examples_in_docstrings():
    ids = set(registry)
    run = {}
    for name in _modules():
        module = importlib.import_module(name)
        names = {"ludus": ludus, "np": np}
        for public in getattr(module, "__all__", ()):
            names[public] = getattr(module, public)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        # `names` come last in a module's own globals: an example sees what the module defines.
        globs = {**vars(sys.modules[name]), **names}
        for example in doctest.DocTestFinder(exclude_empty=True).find(module, globs=globs):
            runner.run(example)
        assert runner.summarize(verbose=False).failed == 0, name
        run[name] = runner.tries
    for id in set(registry) - ids:
        del registry[id]
    assert [name for name in WITH_EXAMPLES if not run.get(name)] == []
