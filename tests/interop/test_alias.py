from __future__ import annotations

import json
from pathlib import Path

import gymnasium
import pytest

from ludus.errors import Error
from ludus.interop.gymnasium import alias
from ludus.interop.gymnasium.alias_table import ROWS
from tests.interop.programs import check_program, run_script


def test_install_after_gymnasium_says_what_to_do() -> None:
    assert gymnasium.__name__ == "gymnasium"
    with pytest.raises(Error, match=r"imported already.*as-gymnasium"):
        alias.install()
    assert not alias.is_installed()


INSTALL = """
import os, sys
before = dict(os.environ)
import ludus
label = ludus.Env.__module__
from ludus.interop.gymnasium import alias
alias.install(); alias.install()
assert sum(type(finder).__name__ == "_AliasFinder" for finder in sys.meta_path) == 1
import gymnasium
assert gymnasium.Env is ludus.Env
assert gymnasium.Env.__module__ == "gymnasium.core"
assert os.environ["LUDUS_AS_GYMNASIUM"] == "1"
assert "numpy" in sys.modules
alias.uninstall(); alias.uninstall()
assert not alias.is_installed()
assert ludus.Env.__module__ == label
assert dict(os.environ) == before
import gymnasium as real
assert real.Env is not ludus.Env
"""


def test_install_and_uninstall(tmp_path: Path) -> None:
    check_program(INSTALL, tmp_path, aliased=False)


IDENTITY = """
import importlib.metadata, importlib.util, inspect
import gymnasium, gymnasium as gym
import ludus
import gymnasium.utils.colorize, gymnasium.spaces.utils, gymnasium.vector.utils.space_utils
from gymnasium import spaces
from gymnasium.core import ActType, ObsType
from gymnasium.wrappers.common import TimeLimit
from gymnasium.wrappers.vector import RecordEpisodeStatistics

assert gym.__ludus__ is True
assert gym.__version__ == "1.4.0" == importlib.metadata.version("gymnasium")
assert importlib.metadata.metadata("Gymnasium")["Name"] == "gymnasium"
assert gym.__spec__ is not None and gym.__spec__.name == "gymnasium"
assert importlib.util.find_spec("gymnasium.wrappers") is not None
assert importlib.util.find_spec("gymnasium.envs.mujoco.mujoco_py_env") is None
assert gym.Env is ludus.Env and gym.make is ludus.make and gym.registry is ludus.registry
assert gym.spaces.Box is ludus.spaces.Box is spaces.box.Box
assert gym.Space is gym.spaces.space.Space
assert gym.vector.VectorEnv is ludus.vector.VectorEnv
assert gym.error.Error is ludus.errors.Error
assert TimeLimit is ludus.wrappers.TimeLimit is gym.wrappers.TimeLimit
assert RecordEpisodeStatistics is ludus.wrappers.vector.RecordEpisodeStatistics
assert RecordEpisodeStatistics is not gym.wrappers.RecordEpisodeStatistics
assert gym.utils.seeding.np_random is ludus.seeding.np_random
assert inspect.isfunction(gym.utils.colorize)
assert gym.envs.registration.EnvSpec is ludus.EnvSpec
assert gym.envs.registration.current_namespace is None
for cls, label in [
    (gym.Env, "gymnasium.core.Env"),
    (gym.Wrapper, "gymnasium.core.Wrapper"),
    (spaces.Discrete, "gymnasium.spaces.discrete.Discrete"),
    (gym.vector.VectorEnv, "gymnasium.vector.vector_env.VectorEnv"),
    (gym.vector.SyncVectorEnv, "gymnasium.vector.sync_vector_env.SyncVectorEnv"),
    (gym.wrappers.ClipAction, "gymnasium.wrappers.transform_action.ClipAction"),
    (gym.wrappers.vector.ClipAction, "gymnasium.wrappers.vector.vectorize_action.ClipAction"),
    (gym.error.ResetNeeded, "gymnasium.error.ResetNeeded"),
    (type(gym.make("CartPole-v1")), "gymnasium.wrappers.common.TimeLimit"),
]:
    assert str(cls) == f"<class '{label}'>", cls

gym.logger.min_level = gym.logger.ERROR
assert ludus.logger.min_level == 40
ludus.logger.min_level = 30
assert gym.logger.min_level == 30

for wrong in ("gymnasium.envs.mujoco.mujoco_py_env", "gymnasium.nonsense"):
    try:
        importlib.import_module(wrong)
    except ModuleNotFoundError as problem:
        assert problem.name == wrong
    else:
        raise AssertionError(wrong)
try:
    gym.wrappers.Nonsense
except AttributeError as problem:
    assert "Nonsense" in str(problem)
assert "Box" in dir(gym.spaces) and "utils" in dir(gym)
from ludus.interop.gymnasium import register_in_gymnasium, to_gymnasium
register_in_gymnasium()
env = gym.make("ludus/CartPole-v1")
assert type(env.unwrapped) is type(gym.make("CartPole-v1").unwrapped)
assert to_gymnasium(env) is env
namespace = {}
exec("from gymnasium import *; from gymnasium.spaces import *", namespace)
assert namespace["Box"] is ludus.spaces.Box and namespace["make"] is ludus.make
"""


def test_identity_labels_versions_and_variables(tmp_path: Path) -> None:
    check_program(IDENTITY, tmp_path)


PICKLES = """
import multiprocessing, pickle, subprocess, sys
import cloudpickle
import gymnasium as gym

class Custom(gym.Wrapper):
    pass

def child(data):
    env = pickle.loads(data)
    import gymnasium
    assert gymnasium.__ludus__
    return str(type(env)), float(env.reset(seed=1)[0][0])

def main():
    env = gym.make("CartPole-v1")
    expected = str(type(env)), float(env.reset(seed=1)[0][0])
    data = pickle.dumps(env)
    assert b"gymnasium.wrappers.common" in data
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            assert pool.apply(child, (data,)) == expected, method
    by_value = cloudpickle.dumps(lambda: gym.spaces.Box(0, 1, (2,)))
    code = "import sys, pickle; print(pickle.loads(sys.stdin.buffer.read())())"
    command = [sys.executable, "-c", code]
    out = subprocess.run(command, input=by_value, capture_output=True, check=True)
    assert out.stdout == b"Box(0.0, 1.0, (2,), float32)\\n", out
    assert isinstance(pickle.loads(pickle.dumps(Custom(env))), gym.Wrapper)

if __name__ == "__main__":
    main()
"""


def test_pickles_and_children_of_every_kind(tmp_path: Path) -> None:
    check_program(PICKLES, tmp_path)


START = """
import sys
assert not any(name in sys.modules for name in ("numpy", "ludus")), "start-up must stay light"
import importlib.metadata
print(len(list(importlib.metadata.distributions())) > 0, importlib.metadata.version("gymnasium"))
"""


def test_start_up_loads_nothing_and_metadata_answers_before_the_import(tmp_path: Path) -> None:
    assert check_program(START, tmp_path) == "True 1.4.0\n"


SPACES = """
import pickle, sys
import gymnasium as gym
s = gym.spaces
space = s.Dict({
    "box": s.Box(-1, 1, (2,)), "n": s.Discrete(4, start=1), "md": s.MultiDiscrete([2, 3]),
    "mb": s.MultiBinary(3), "text": s.Text(4), "t": s.Tuple((s.Discrete(2),)),
    "seq": s.Sequence(s.Discrete(3)), "one": s.OneOf((s.Discrete(2), s.Discrete(3))),
})
if sys.argv[1:] == ["write"]:
    space.seed(3)
    pickle.dump(space, open("space.pickle", "wb"))
else:
    space = pickle.load(open("space.pickle", "rb"))
print(getattr(gym, "__ludus__", False), [space.sample() for _ in range(3)])
"""


@pytest.mark.parametrize("writer_aliased", [False, True])
def test_pickled_spaces_are_exchanged_with_gymnasium(writer_aliased: bool, tmp_path: Path) -> None:
    script = tmp_path / "exchange.py"
    script.write_text(SPACES)
    written = run_script(script, "write", aliased=writer_aliased)
    read = run_script(script, "read", aliased=not writer_aliased)
    assert {written.split()[0], read.split()[0]} == {"True", "False"}
    assert written.split(maxsplit=1)[1] == read.split(maxsplit=1)[1]


SURFACE = """
import importlib, json, pkgutil, types, warnings
warnings.simplefilter("ignore")
import gymnasium

def modules(package):
    for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if found.name.endswith((".mujoco_py_env", ".phys2d", ".tabular")):
            continue
        yield found.name
        if found.ispkg:
            yield from modules(importlib.import_module(found.name))

surface = {}
for name in ["gymnasium", *modules(gymnasium)]:
    module = importlib.import_module(name)
    own = [
        key for key, value in vars(module).items()
        if key[0] != "_" and getattr(value, "__module__", None) == name
        and not isinstance(value, types.ModuleType)
    ]
    surface[name] = sorted({*own, *getattr(module, "__all__", ())})
print(json.dumps(surface))
"""

COMPARE = """
import importlib, json, sys
surface = json.load(open("surface.json"))
missing = {}
for name, words in surface.items():
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError:
        missing[name] = ["*"]
        continue
    lacking = [word for word in words if not hasattr(module, word)]
    if lacking:
        missing[name] = lacking
print(json.dumps(missing))
"""

# Helpers inside Gymnasium's modules that no other code is known to import.
INTERNAL = {
    "gymnasium.spaces.box": {"array_short_repr", "is_float_integer"},
    "gymnasium.spaces.utils": {"T"},
    "gymnasium.envs.registration": {"EnvCreator", "VectorEnvCreator"},
    "gymnasium.wrappers.jax_to_torch": {"Device"},
    "gymnasium.wrappers.numpy_to_torch": {"Device"},
    "gymnasium.envs.box2d.bipedal_walker": {"ContactDetector"},
    "gymnasium.envs.box2d.car_dynamics": {"Particle"},
    "gymnasium.envs.box2d.car_racing": {"FrictionDetector"},
    "gymnasium.envs.box2d.lunar_lander": {"ContactDetector"},
    "gymnasium.envs.mujoco.humanoid_v4": {"mass_center"},
    "gymnasium.envs.mujoco.humanoid_v5": {"mass_center"},
    "gymnasium.envs.toy_text.blackjack": {"draw_table"},
    # Needs an engine of the past.
    "gymnasium.envs.mujoco.pusher_v4": {"*"},
}


@pytest.fixture(scope="module")
def surface(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The public names of the installed Gymnasium, by module."""
    names: dict[str, list[str]] = json.loads(
        check_program(SURFACE, tmp_path_factory.mktemp("surface"), aliased=False)
    )
    return names


def test_every_public_name_of_gymnasium_is_served(
    surface: dict[str, list[str]], tmp_path: Path
) -> None:
    assert len(surface) > 60
    (tmp_path / "surface.json").write_text(json.dumps(surface))
    missing = json.loads(check_program(COMPARE, tmp_path))
    unexpected = {
        name: sorted(set(words) - INTERNAL.get(name, set())) for name, words in missing.items()
    }
    assert not any(unexpected.values()), unexpected


def test_the_table_names_only_modules_of_gymnasium(surface: dict[str, list[str]]) -> None:
    needs_jax = ("gymnasium.envs.phys2d", "gymnasium.envs.tabular")
    assert [name for name in ROWS if name not in surface and not name.startswith(needs_jax)] == []


ATARI = """
import warnings
warnings.simplefilter("error")
import gymnasium as gym
import ale_py
gym.register_envs(ale_py)
assert gym.spec("ALE/Pong-v5").entry_point == "ale_py.env:AtariEnv"
assert type(gym.make("ALE/Pong-v5").unwrapped).__module__ == "ludus.envs.atari.env"
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    gym.register("ALE/Pong-v5", entry_point="ale_py.env:AtariEnv", kwargs={"game": "pong"})
assert "Overriding environment ALE/Pong-v5" in str(caught[0].message)
print(type(gym.make("ALE/Breakout-v5").unwrapped).__module__)
print(type(gym.make("ALE/Pong-v5").unwrapped).__module__)
"""


def test_ale_py_registers_what_is_served_already_and_only_its_name_is_shown(tmp_path: Path) -> None:
    assert check_program(ATARI, tmp_path).split() == ["ludus.envs.atari.env", "ale_py.env"]
