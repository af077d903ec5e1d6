from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys

import numpy as np
import pytest

import ludus.spaces

MODULES = [module.name for module in pkgutil.iter_modules(ludus.spaces.__path__)]

PUBLIC = [
    "Box", "Dict", "Discrete", "Graph", "GraphInstance", "Layout", "MemoryLayout",
    "MultiBinary", "MultiDiscrete", "OneOf", "Sequence", "Space", "SpaceRangeError",
    "SpaceTypeError", "SpaceValueError", "Text", "Tuple", "batch_differing_spaces",
    "batch_space", "concatenate", "create_empty_array", "create_shared_memory", "flatdim",
    "flatten", "flatten_space", "from_dict", "from_json", "is_space_dtype_shape_equiv",
    "iterate", "read_from_shared_memory", "to_dict", "to_json", "unflatten", "utils",
    "write_to_shared_memory",
]  # fmt: skip


def test_public_names():
    assert ludus.spaces.__all__ == PUBLIC
    assert all(hasattr(ludus.spaces, name) for name in PUBLIC)


@pytest.mark.parametrize("name", MODULES)
def test_names_of_modules(name):
    module = importlib.import_module(f"ludus.spaces.{name}")
    assert sorted(module.__all__) == list(module.__all__)
    assert all(hasattr(module, public) for public in module.__all__)


@pytest.mark.skipif(np.__version__.startswith("1."), reason="NumPy 1 prints scalars otherwise")
@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"ludus.spaces.{name}")
    names = {public: getattr(ludus.spaces, public) for public in PUBLIC}
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for example in finder.find(module, globs={**names, "np": np}):
        runner.run(example)
    for function in vars(module).values():
        # singledispatch hides its functions from the finder.
        if hasattr(function, "dispatch") and function.__module__ == module.__name__:
            for example in finder.find(function.__wrapped__, globs={**names, "np": np}):
                runner.run(example)
    assert runner.summarize(verbose=False).failed == 0


def test_import_is_light():
    code = (
        "import sys, types; package = types.ModuleType('ludus');"
        f"package.__path__ = {list(ludus.__path__)!r}; sys.modules['ludus'] = package;"
        "import ludus.spaces; print(*{name.split('.')[0] for name in sys.modules})"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    )
    third_party = set(output.stdout.split()) - set(sys.stdlib_module_names)
    assert {
        name for name in third_party if name in ("torch", "jax", "gymnasium", "scipy", "cv2")
    } == set()
    assert {"numpy", "ludus"} <= third_party
