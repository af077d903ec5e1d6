"""The facade leads where things live, and loads nothing heavy."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

import ludus.utils
from ludus import checking, core, play, seeding, testing

MODULES = sorted(module.name for module in pkgutil.iter_modules(ludus.utils.__path__))


@pytest.mark.parametrize("name", MODULES)
def test_all_lists_what_is_there(name: str) -> None:
    module = importlib.import_module(f"ludus.utils.{name}")
    assert module.__all__
    for member in module.__all__:
        assert hasattr(module, member)


def test_things_are_the_same_wherever_they_come_from() -> None:
    assert ludus.utils.EzPickle is core.EzPickle
    assert ludus.utils.RecordConstructorArgs is core.RecordConstructorArgs
    assert ludus.utils.seeding.np_random is seeding.np_random
    assert ludus.utils.env_checker.check_env is checking.check_env
    assert ludus.utils.env_match.check_environments_match is checking.check_environments_match
    assert ludus.utils.play.play is play.play
    assert ludus.utils.save_video.save_video is play.save_video
    assert ludus.utils.performance.benchmark_step is testing.benchmark_step


def test_attributes() -> None:
    assert set(MODULES) <= set(dir(ludus.utils))
    # The function, not the module it is in.
    assert ludus.utils.colorize("x", "red") == "\x1b[31mx\x1b[0m"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ludus.utils.nothing


def test_nothing_heavy_is_loaded() -> None:
    program = (
        "import sys, ludus.utils, ludus.testing, ludus.checking\n"
        + "".join(f"import ludus.utils.{name}\n" for name in MODULES)
        + "heavy = {'pygame', 'matplotlib', 'moviepy', 'cv2', 'torch', 'jax', 'gymnasium'}\n"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
