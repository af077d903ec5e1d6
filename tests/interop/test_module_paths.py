"""``import ludus as gym``: the paths of Gymnasium's modules, with ``ludus`` for ``gymnasium``."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("gymnasium")

ROOT = Path(importlib.util.find_spec("gymnasium").origin).parent

NOT_SERVED = {
    "envs.box2d.bipedal_walker": {"ContactDetector"},
    "envs.box2d.car_dynamics": {"Particle"},
    "envs.box2d.car_racing": {"FrictionDetector"},
    "envs.box2d.lunar_lander": {"ContactDetector"},
    "envs.phys2d.cartpole": {"CartPoleParams"},
    "envs.phys2d.pendulum": {"PendulumParams"},
    "envs.tabular.blackjack": {
        *("BlackJackParams", "EnvState", "cmp", "dealer_stop", "draw_card", "draw_card_wrapper"),
        *("draw_hand", "is_bust", "is_natural", "notake", "random_card", "score", "sum_hand"),
        *("take", "usable_ace"),
    },
    "envs.tabular.cliffwalking": {"EnvState", "RenderStateType", "fell_off"},
    "envs.toy_text.blackjack": {
        *("cmp", "draw_hand", "draw_table", "is_bust", "sum_hand", "usable_ace"),
    },
    "spaces.box": {"array_short_repr", "is_float_integer"},
}
"""Helpers of Gymnasium's own code, of which its documentation says nothing."""


def defined_in(file: Path) -> list[str]:
    """Return the public classes and functions of a file, and what its ``__all__`` lists."""
    names = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names.update(ast.literal_eval(node.value))
    return sorted(name for name in names if not name.startswith("_"))


def modules() -> dict[str, list[str]]:
    found = {}
    for file in sorted(ROOT.rglob("*.py")):
        path = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix("__init__")
        if file.stat().st_size:
            found[path.rstrip(".")] = defined_in(file)
    return found


MODULES = modules()


@pytest.mark.parametrize("path", MODULES)
def test_the_paths_of_gymnasiums_modules_lead_to_the_same_names(path):
    module = importlib.import_module(f"ludus.{path}".rstrip("."))
    missing = {name for name in MODULES[path] if not hasattr(module, name)}
    assert missing == NOT_SERVED.get(path, set())


def test_a_path_without_a_file_gives_the_class_itself():
    from ludus.envs.mujoco.ant import AntV4Env
    from ludus.envs.mujoco.ant_v4 import AntEnv
    from ludus.wrappers.array_conversion import JaxToNumpy as own
    from ludus.wrappers.jax_to_numpy import JaxToNumpy

    assert JaxToNumpy is own
    assert AntEnv is AntV4Env
    path = "ludus.wrappers.jax_to_numpy"
    with pytest.raises(AttributeError, match=f"'{path}' has no attribute 'Gone'"):
        importlib.import_module(path).Gone  # noqa: B018
    assert importlib.util.find_spec(path).name == path


def test_paths_without_files_load_nothing_before_they_are_used():
    program = """
import sys
import ludus as gym
import ludus.envs.mujoco, ludus.envs.box2d, ludus.wrappers.vector

loaded = set(sys.modules)
own = {"ludus.envs.mujoco.ant", "ludus.envs.box2d.car", "ludus.wrappers.array_conversion"}
assert not own & loaded
assert not {"mujoco", "Box2D", "gymnasium", "ludus.wrappers.common"} & loaded
import ludus.wrappers.jax_to_numpy as conversion
assert gym.wrappers.jax_to_numpy is conversion
assert "ludus.wrappers.array_conversion" not in sys.modules
assert conversion.JaxToNumpy is gym.wrappers.JaxToNumpy
assert gym.wrappers.common.TimeLimit is gym.wrappers.TimeLimit
from ludus.wrappers.rendering import *
assert RecordVideo is gym.wrappers.RecordVideo
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
