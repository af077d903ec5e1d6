"""Packages that register in Gymnasium, with ``import ludus as gym`` alone.

Each program runs in a process of its own: importing such a package changes both registries.
flappy-bird-gymnasium is no dependency of the tests, because it needs pygame, which installs the
same module as pygame-ce does; where it is installed, it is tested too.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ludus.sandbox import backends
from tests.interop.programs import SOURCE, check_program
from tests.sampling import ALL

IDS = {
    "minigrid": [
        "MiniGrid-Empty-5x5-v0",
        "MiniGrid-DoorKey-8x8-v0",
        "MiniGrid-Dynamic-Obstacles-6x6-v0",
        "BabyAI-GoToLocal-v0",
    ],
    "highway_env": ["highway-fast-v0", "merge-v0", "roundabout-v0", "parking-v0"],
    "gymnasium_robotics": ["PointMaze_UMaze-v3", "AdroitHandDoor-v1", "AntMaze_UMaze-v5"],
    "flappy_bird_gymnasium": ["FlappyBird-v0"],
    "ale_py": ["ALE/Pong-v5", "ALE/Breakout-v5"],
}

QUIET = """
import warnings
warnings.simplefilter("ignore")
"""


def needs(*packages: str) -> None:
    for package in ("gymnasium", *packages):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")


PARITY = """
import copy, json, sys
import numpy as np
import ludus as gym
assert "gymnasium" not in sys.modules
import {package}
import gymnasium
from ludus.utils.env_checker import data_equivalence

assert not hasattr(gymnasium, "__ludus__")
for id in {ids}:
    theirs, ours = gymnasium.make(id), gym.make(id)
    assert isinstance(ours, gym.Env) and not isinstance(ours, gymnasium.Env)
    assert isinstance(ours.observation_space, gym.Space), ours.observation_space
    assert str(theirs.observation_space) == str(ours.observation_space)
    seed, steps, ended = 0, 0, True
    while steps < {steps}:
        if ended:
            (a, first), (b, info) = theirs.reset(seed=seed), ours.reset(seed=seed)
            assert data_equivalence(a, b), (id, "reset", seed)
            # highway-env draws an action from a space that it makes anew, without a seed.
            for key in ("action", "rewards"):
                first.pop(key, None), info.pop(key, None)
            assert data_equivalence(first, info), (id, first, info)
            theirs.action_space.seed(seed), ours.action_space.seed(seed)
            seed += 1
        action, same = theirs.action_space.sample(), ours.action_space.sample()
        assert data_equivalence(action, same)
        a, b = copy.deepcopy(theirs.step(action)), ours.step(same)
        assert data_equivalence(a, b), (id, steps, a, b)
        assert b[0] in ours.observation_space or a[0] not in theirs.observation_space
        ended, steps = a[2] or a[3], steps + 1
    theirs.close(), ours.close()
    print(id, seed)
"""


@pytest.mark.parametrize("package", IDS)
def test_same_observations_rewards_and_infos_as_gymnasium(package: str, tmp_path: Path) -> None:
    needs(package)
    code = QUIET + PARITY.format(package=package, ids=IDS[package], steps=200 if ALL else 40)
    printed = check_program(code, tmp_path, aliased=False)
    assert [line.split()[0] for line in printed.splitlines()[-len(IDS[package]) :]] == IDS[package]


WAYS = """
import sys
import ludus as gym
assert "gymnasium" not in sys.modules

named = gym.make("minigrid:MiniGrid-Empty-5x5-v0", max_episode_steps=7, render_mode="rgb_array")
assert gym.spec("MiniGrid-Empty-8x8-v0").entry_point == "minigrid.envs:EmptyEnv"

import minigrid
gym.register_envs(minigrid)
assert "MiniGrid-Empty-16x16-v0" in gym.registry
assert gym.envs.registry is gym.registry
env = gym.make("MiniGrid-Empty-5x5-v0", agent_start_pos=(2, 2))
assert [s.id for s in gym.search("minigrid empty 16x16")] == ["MiniGrid-Empty-16x16-v0"]
assert "MiniGrid-Empty-16x16-v0" in gym.pprint_registry(disable_print=True)

# One of each wrapper, and the arguments reach the environment.
assert str(named) == (
    "<TimeLimit<OrderEnforcing<PassiveEnvChecker<AsLudus<EmptyEnv<MiniGrid-Empty-5x5-v0>>>>>>"
), str(named)
bare = gym.make("MiniGrid-Empty-5x5-v0", disable_env_checker=True)
assert str(bare) == "<OrderEnforcing<AsLudus<EmptyEnv<MiniGrid-Empty-5x5-v0>>>>"
named.reset(seed=1)
outcomes = [named.step(0)[2:4] for _ in range(7)]
assert outcomes == [(False, False)] * 6 + [(False, True)], outcomes
assert named.render().shape == (160, 160, 3) and named.render_mode == "rgb_array"
try:
    gym.make("MiniGrid-Empty-5x5-v0").step(0)
except gym.error.ResetNeeded:
    pass
else:
    raise AssertionError("step before reset")
try:
    gym.make("MiniGrid-Empty-5x5-v0", sise=5)
except (gym.error.Error, TypeError) as problem:
    assert "sise" in str(problem)

# The environment of the package is within reach.
env.reset(seed=0)
assert tuple(env.unwrapped.agent_pos) == (2, 2) == tuple(env.get_wrapper_attr("agent_pos"))
env.unwrapped.agent_dir = 3
assert env.unwrapped.gymnasium_env.agent_dir == 3
assert env.unwrapped.gymnasium_env.spec.id == "MiniGrid-Empty-5x5-v0"
assert env.unwrapped.np_random is env.unwrapped.gymnasium_env.np_random

# A spec builds the same again, here and as JSON.
for spec in (named.spec, gym.EnvSpec.from_json(named.spec.to_json())):
    again = gym.make(spec)
    assert str(again) == str(named) and again.spec == named.spec
import gymnasium
assert str(gym.make(gymnasium.spec("MiniGrid-Empty-5x5-v0"))) == str(env)
assert not [id for id in gymnasium.registry if id.startswith("ludus/MiniGrid")]
named.close()
print("done")
"""


def test_all_ways_to_make_one(tmp_path: Path) -> None:
    needs("minigrid")
    assert check_program(QUIET + WAYS, tmp_path, aliased=False).split()[-1] == "done"


SPACES = """
import copy, pickle
import ludus as gym, minigrid, gymnasium

theirs = gymnasium.make("BabyAI-GoToObj-v0").observation_space
ours = gym.make("BabyAI-GoToObj-v0").observation_space
door, door2 = (m("MiniGrid-Fetch-5x5-N2-v0").observation_space for m in (gymnasium.make, gym.make))
for a, b in ((theirs, ours), (door, door2)):
    assert isinstance(b, gym.spaces.Dict) and isinstance(b["mission"], gym.Space)
    assert a.seed(3) == b.seed(3)
    drawn = [(a.sample()["mission"], b.sample()["mission"]) for _ in range(20)]
    assert all(x == y and x in b["mission"] for x, y in drawn), drawn
    assert ("no such mission" in a["mission"]) == ("no such mission" in b["mission"])
    clone = copy.deepcopy(b)
    assert clone == b and clone.sample()["mission"] == b.sample()["mission"]
assert "no such mission" not in door2["mission"]
assert len({door2.sample()["mission"] for _ in range(20)}) > 1
assert door2["mission"].ordered_placeholders == door["mission"].ordered_placeholders
batch = gym.spaces.batch_space(door2, 2)
assert len(batch.sample()["mission"]) == 2
back = gym.interop.gymnasium.to_gymnasium_space(door2)
assert type(back["mission"]) is type(door["mission"]) and back == door
assert pickle.loads(pickle.dumps(door2)) == door2
print("done")
"""


def test_a_space_of_the_package(tmp_path: Path) -> None:
    needs("minigrid")
    assert check_program(QUIET + SPACES, tmp_path, aliased=False).split()[-1] == "done"


VECTOR = """
import numpy as np
import ludus as gym
from ludus.utils.env_checker import data_equivalence

def play(make_vec):
    envs = make_vec()
    observations = [envs.reset(seed=5)]
    for step in range(40):
        observations.append(envs.step(np.array([step % 3, (step + 1) % 3, 2])))
    envs.close()
    return envs, observations

if __name__ == "__main__":
    kinds = {"sync": {}, "async": {"shared_memory": False}}
    id = "MiniGrid-Dynamic-Obstacles-5x5-v0"
    first = gym.make_vec(f"minigrid:{id}", num_envs=3, max_episode_steps=10)
    first.close()
    import gymnasium
    for mode, options in kinds.items():
        given = dict(num_envs=3, vectorization_mode=mode, vector_kwargs=options)
        given["max_episode_steps"] = 9
        theirs, expected = play(lambda: gymnasium.make_vec(id, **given))
        ours, found = play(lambda: gym.make_vec(id, **given))
        assert isinstance(ours, gym.vector.VectorEnv)
        assert str(theirs.observation_space) == str(ours.observation_space)
        assert data_equivalence(expected, found), mode
        assert any(step[3].any() for step in found[1:]), "no episode ended"
    point = "gymnasium.envs.classic_control.cartpole:CartPoleVectorEnv"
    gym.register("Batch-v0", vector_entry_point=point)
    envs = gym.make_vec("Batch-v0", num_envs=2)
    assert isinstance(envs, gym.vector.VectorEnv) and envs.reset(seed=0)[0].shape == (2, 4)
    print("done")
"""


def test_batches(tmp_path: Path) -> None:
    needs("minigrid")
    assert check_program(QUIET + VECTOR, tmp_path, aliased=False).split()[-1] == "done"


WRAPPERS = """
import copy, inspect
import ludus as gym, gymnasium, minigrid.wrappers
from ludus.utils.env_checker import data_equivalence

arguments = {"NoDeath": {"no_death_types": ("lava",)}}

def play(wrapper, make):
    given = arguments.get(wrapper.__name__, {})
    env = wrapper(make("MiniGrid-DoorKey-5x5-v0", render_mode="rgb_array"), **given)
    found = [env.reset(seed=3)]
    for action in (1, 2, 0, 2, 3, 2, 1, 5, 2, 2):
        found.append(copy.deepcopy(env.step(action)))
    return env, found

count = 0
for name, wrapper in inspect.getmembers(minigrid.wrappers, inspect.isclass):
    if wrapper.__module__ != "minigrid.wrappers" or not issubclass(wrapper, gymnasium.Wrapper):
        continue
    _, expected = play(wrapper, gymnasium.make)
    env, found = play(wrapper, gym.make)
    assert isinstance(env, wrapper) and env.unwrapped.agent_pos is not None
    assert data_equivalence(expected, found), name
    # Wrappers of Ludus go around it, and a spec names all of them.
    outer = gym.wrappers.TimeLimit(env, 3)
    assert data_equivalence(outer.reset(seed=3), expected[0]), name
    assert isinstance(outer.observation_space, gym.Space), name
    assert [w.name for w in outer.spec.additional_wrappers] == [name]
    assert outer.spec.max_episode_steps == 3
    again = gym.make(outer.spec)
    assert data_equivalence(again.reset(seed=3), expected[0]), name
    count += 1

image = minigrid.wrappers.ImgObsWrapper(gym.make("MiniGrid-Empty-5x5-v0"))
flat = gym.wrappers.FlattenObservation(gym.wrappers.ReshapeObservation(image, (49, 3)))
assert flat.reset(seed=0)[0].shape == (147,)
assert isinstance(flat.observation_space, gym.spaces.Box)
envs = gym.vector.SyncVectorEnv(
    [lambda: minigrid.wrappers.ImgObsWrapper(gym.make("MiniGrid-Empty-5x5-v0"))] * 2
)
assert envs.reset(seed=0)[0].shape == (2, 7, 7, 3)
envs = gym.make_vec("MiniGrid-Empty-5x5-v0", num_envs=2, wrappers=[minigrid.wrappers.ImgObsWrapper])
assert envs.reset(seed=0)[0].shape == (2, 7, 7, 3)

# Wrappers of Gymnasium itself, around environments of Ludus itself, and the other way round.
env = gymnasium.wrappers.RescaleAction(gym.make("Pendulum-v1"), -1, 1)
assert env.reset(seed=0)[0].shape == (3,) and isinstance(env.action_space, gymnasium.spaces.Box)
env = gym.wrappers.RescaleAction(gymnasium.make("Pendulum-v1"), -1, 1)
assert env.reset(seed=0)[0].shape == (3,) and isinstance(env.action_space, gym.spaces.Box)
envs = gymnasium.wrappers.vector.ClipReward(gym.make_vec("CartPole-v1", num_envs=2), 0, 1)
assert envs.reset(seed=0)[0].shape == (2, 4)
envs = gym.wrappers.vector.ClipReward(gymnasium.make_vec("CartPole-v1", num_envs=2), 0, 1)
assert envs.reset(seed=0)[0].shape == (2, 4)
for wrapper in (gym.Wrapper, gymnasium.Wrapper):
    try:
        wrapper("CartPole-v1")
    except (TypeError, AssertionError) as problem:
        assert "str" in str(problem)
    else:
        raise AssertionError("a text is no environment")
print(count)
"""


def test_wrappers_of_packages_around_environments_of_ludus(tmp_path: Path) -> None:
    needs("minigrid")
    assert int(check_program(QUIET + WRAPPERS, tmp_path, aliased=False).split()[-1]) >= 10


ADDITIONAL = """
import ludus as gym, highway_env, gymnasium
from ludus.utils.env_checker import data_equivalence

id = "intersection-multi-agent-v2"
theirs, ours = gymnasium.make(id), gym.make(id)
names = [[w.name for w in env.spec.additional_wrappers] for env in (theirs, ours)]
assert names == [["MultiAgentWrapper"]] * 2, names
assert str(ours).count("MultiAgentWrapper") == 1 == str(ours).count("OrderEnforcing"), str(ours)
assert data_equivalence(theirs.reset(seed=0)[0], ours.reset(seed=0)[0])
for _ in range(5):
    a, b = theirs.step((1, 1)), ours.step((1, 1))
    assert data_equivalence(a[:4], b[:4]), (a, b)
assert ours.unwrapped.config == theirs.unwrapped.config
print("done")
"""


def test_wrappers_that_a_package_registers_are_applied_once(tmp_path: Path) -> None:
    needs("highway_env")
    assert check_program(QUIET + ADDITIONAL, tmp_path, aliased=False).split()[-1] == "done"


SANDBOX = """
import sys
import numpy as np
import ludus as gym
from ludus.utils.env_checker import data_equivalence

boxed = gym.make("{package}:{id}", sandbox=True)
assert "{package}" not in sys.modules and "gymnasium" not in sys.modules
import {package}
free = gym.make("{id}")
known = gym.make("{id}", sandbox=True)
boxed.action_space.seed(1)
starts = [env.reset(seed=2) for env in (boxed, free, known)]
assert data_equivalence(starts[0][0], starts[1][0]) and data_equivalence(starts[2][0], starts[1][0])
for _ in range(20):
    action = boxed.action_space.sample()
    a, b, c = (env.step(action) for env in (boxed, free, known))
    assert data_equivalence(a[0], b[0]) and data_equivalence(c[0], b[0])
    assert a[1:4] == b[1:4] == c[1:4], (a[1:4], b[1:4], c[1:4])
    if a[2] or a[3]:
        break
assert a[0] in boxed.observation_space
assert gym.spec("{id}").security.trust == "plugin"
for env in (boxed, free, known):
    env.close()
print("done")
"""


@pytest.mark.parametrize(
    ("package", "id"),
    [
        ("minigrid", "MiniGrid-DoorKey-5x5-v0"),
        ("highway_env", "highway-fast-v0"),
        ("gymnasium_robotics", "PointMaze_UMaze-v3"),
    ],
)
def test_in_a_sandbox(package: str, id: str, tmp_path: Path) -> None:
    needs(package)
    reason = backends()["bubblewrap"]
    if reason is not None:
        pytest.skip(f"no sandbox: {reason}")
    code = QUIET + SANDBOX.format(package=package, id=id)
    assert check_program(code, tmp_path, aliased=False).split()[-1] == "done"


RECORD = """
import ludus as gym, minigrid.wrappers
from ludus.record import RecordEpisodes, replay, verify

def record(env, folder):
    env = RecordEpisodes(env, folder)
    env.action_space.seed(0)
    for seed in range(2):
        env.reset(seed=seed)
        for _ in range(30):
            if any(env.step(env.action_space.sample())[2:4]):
                break
    env.close()
    found = verify(folder)
    assert found.verdict == "passed", found
    assert replay(folder).difference is None

record(gym.make("BabyAI-GoToLocal-v0"), "plain")
wrapped = minigrid.wrappers.ViewSizeWrapper(gym.make("MiniGrid-DoorKey-5x5-v0"), agent_view_size=5)
record(minigrid.wrappers.ImgObsWrapper(wrapped), "wrapped")
{others}
print("done")
"""


def test_recordings_replay_and_verify(tmp_path: Path) -> None:
    needs("minigrid")
    others = [
        f"import {package}\nrecord(gym.make({IDS[package][0]!r}), {package!r})"
        for package in ("highway_env", "gymnasium_robotics")[0 if ALL else 1 :]
        if importlib.util.find_spec(package) is not None
    ]
    code = QUIET + RECORD.format(others="\n".join(others))
    assert check_program(code, tmp_path, aliased=False).split()[-1] == "done"
    for folder, module, status in (
        ("plain", "minigrid", 0),
        ("wrapped", "minigrid.wrappers", 0),
        ("plain", None, 2),  # a record imports nothing
    ):
        options = [] if module is None else ["--import", module]
        done = ludus_command("verify", "--json", *options, str(tmp_path / folder))
        assert done.returncode == status, (done.stdout, done.stderr)
        statuses = {row["name"]: row["status"] for row in json.loads(done.stdout)["checks"]}
        assert statuses["replay"] == ("passed" if status == 0 else "skipped")


def ludus_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "ludus", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


UNKNOWN = """
import sys
import ludus as gym

def message(id):
    try:
        gym.make(id)
    except gym.error.NameNotFound as problem:
        return str(problem)
    raise AssertionError(id)

assert "Did you mean: `CartPole`?" in message("CartPol-v1")
text = message("Mini-Empty-5x5-v0")
assert "minigrid" in text and "make('minigrid:Mini-Empty-5x5-v0')" in text, text
assert "gymnasium" not in sys.modules and "minigrid" not in sys.modules
assert gym.make("MiniGrid-Empty-5x5-v0").reset(seed=0)[0]["image"].shape == (7, 7, 3)
assert "minigrid" in sys.modules
assert "Did you mean: `MiniGrid-Empty-8x8`?" in message("MiniGrid-Emty-8x8-v0")
try:
    gym.make("minigrid:MiniGrid-Empty-5x5-v9")
except gym.error.VersionNotFound:
    pass
print("done")
"""


def test_an_id_that_nobody_knows_imports_nothing_and_gets_a_hint(tmp_path: Path) -> None:
    needs("minigrid")
    assert check_program(QUIET + UNKNOWN, tmp_path, aliased=False).split()[-1] == "done"
