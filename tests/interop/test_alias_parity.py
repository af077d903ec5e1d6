"""The same program on Gymnasium and on Ludus served in its place prints the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.record import replay
from tests.interop.programs import check_program, run_script

PROGRAMS = {
    "functions beside modules of the same name": """
import types
from gymnasium.wrappers import array_conversion as module
from gymnasium.wrappers.array_conversion import array_conversion, module_namespace
from gymnasium.wrappers.jax_to_numpy import jax_to_numpy, numpy_to_jax
from gymnasium.wrappers.jax_to_torch import jax_to_torch, torch_to_jax
from gymnasium.wrappers.numpy_to_torch import numpy_to_torch, torch_to_numpy
import numpy as np
found = [array_conversion, module_namespace, jax_to_numpy, numpy_to_jax, jax_to_torch,
         torch_to_jax, numpy_to_torch, torch_to_numpy]
print([callable(f) and not isinstance(f, types.ModuleType) for f in found])
print(isinstance(module, types.ModuleType), array_conversion({"a": 1.5}, np)["a"])
""",
    "constants": """
import importlib
import numpy as np
NAMES = {
    "box2d.lunar_lander": "FPS SCALE MAIN_ENGINE_POWER SIDE_ENGINE_POWER INITIAL_RANDOM "
        "LANDER_POLY LEG_AWAY LEG_DOWN LEG_W LEG_H LEG_SPRING_TORQUE SIDE_ENGINE_HEIGHT "
        "SIDE_ENGINE_AWAY MAIN_ENGINE_Y_LOCATION VIEWPORT_W VIEWPORT_H",
    "box2d.bipedal_walker": "FPS SCALE MOTORS_TORQUE SPEED_HIP SPEED_KNEE LIDAR_RANGE "
        "INITIAL_RANDOM HULL_POLY LEG_DOWN LEG_W LEG_H VIEWPORT_W VIEWPORT_H TERRAIN_STEP "
        "TERRAIN_LENGTH TERRAIN_HEIGHT TERRAIN_GRASS TERRAIN_STARTPAD FRICTION",
    "box2d.car_racing": "STATE_W STATE_H VIDEO_W VIDEO_H WINDOW_W WINDOW_H SCALE FPS TRACK_RAD "
        "PLAYFIELD ZOOM ZOOM_FOLLOW TRACK_DETAIL_STEP TRACK_TURN_RATE TRACK_WIDTH BORDER "
        "BORDER_MIN_COUNT GRASS_DIM MAX_SHAPE_DIM",
    "box2d.car_dynamics": "SIZE ENGINE_POWER WHEEL_MOMENT_OF_INERTIA FRICTION_LIMIT WHEEL_R "
        "WHEEL_W WHEELPOS HULL_POLY1 HULL_POLY2 HULL_POLY3 HULL_POLY4 WHEEL_COLOR WHEEL_WHITE "
        "MUD_COLOR",
    "classic_control.pendulum": "DEFAULT_X DEFAULT_Y",
    "toy_text.cliffwalking": "UP RIGHT DOWN LEFT",
    "toy_text.frozen_lake": "UP RIGHT DOWN LEFT",
}
for module, names in NAMES.items():
    found = importlib.import_module(f"gymnasium.envs.{module}")
    print(module, [(name, getattr(found, name)) for name in names.split()])
for robot in ("ant half_cheetah hopper humanoid humanoidstandup inverted_double_pendulum "
              "inverted_pendulum reacher walker2d").split():
    for version in (4, 5):
        module = importlib.import_module(f"gymnasium.envs.mujoco.{robot}_v{version}")
        print(robot, sorted((k, np.asarray(v).tolist()) for k, v in
                            module.DEFAULT_CAMERA_CONFIG.items()))
""",
    "helpers of classic control": """
import numpy as np
from gymnasium.envs.classic_control import utils
from gymnasium.envs.classic_control.acrobot import bound, rk4, wrap
from gymnasium.envs.classic_control.pendulum import angle_normalize
print([wrap(x, -np.pi, np.pi) for x in (-9.0, 0.5, 7.0, np.float64(100.0))])
print([bound(x, -1, 2) for x in (-3, 0.5, 9)], bound(5, (0, 3)))
print(angle_normalize(7.5), angle_normalize(np.array([-4.0, 4.0, np.pi])))
def derivs(y):
    return y[1], -y[0], 0.0
print(rk4(derivs, [1.0, 0.0, 0.0], np.arange(0, 1, 0.1)).tolist())
print(utils.maybe_parse_reset_bounds({"low": np.array(-2)}, -1, 1),
      utils.maybe_parse_reset_bounds(None, -1, 1), utils.verify_number_and_cast("3"))
for bad in ({"low": "x"}, {"low": 3, "high": 1}, {"high": [1, 2]}):
    try:
        utils.maybe_parse_reset_bounds(bad, -1, 1)
    except ValueError as problem:
        print("ValueError")
""",
    "hands of blackjack": """
import numpy as np
from gymnasium.envs.toy_text import blackjack as b
rng = np.random.default_rng(3)
hands = [b.draw_hand(rng) + [b.draw_card(rng) for _ in range(k)] for k in (0, 0, 1, 2, 3) * 4]
for hand in [*hands, [1, 10], [1, 1], [10, 10, 5]]:
    print([int(card) for card in hand], int(b.usable_ace(hand)), int(b.sum_hand(hand)),
          bool(b.is_bust(hand)), int(b.score(hand)), bool(b.is_natural(hand)))
print(b.deck, b.cmp(3, 2), b.cmp(2, 2), b.cmp(1, 2))
""",
    "a car of its own": """
import Box2D
from gymnasium.envs.box2d.car_dynamics import Car
world = Box2D.b2World((0, 0))
car = Car(world, 0.3, 2.0, -1.0)
for k in range(60):
    car.gas(0.8)
    car.brake(0.95 if k > 50 else 0.0)
    car.steer(-0.4 if k > 20 else 0.2)
    car.step(0.02)
    world.Step(0.02, 180, 60)
    wheel = car.wheels[2]
    print(*car.hull.position, car.hull.angle, wheel.omega, wheel.phase, *wheel.position)
print(car.fuel_spent, len(world.bodies))
car.destroy()
print(len(world.bodies))
""",
    "states of mujoco": """
import gymnasium as gym
from gymnasium.envs.mujoco.utils import check_mujoco_reset_state, get_state
env = gym.make("Hopper-v5")
check_mujoco_reset_state(env)
env.reset(seed=0)
env.action_space.seed(0)
for _ in range(5):
    env.step(env.action_space.sample())
print(get_state(env).tolist(), env.unwrapped.data.qpos.tolist())
""",
    "names that old code asks for": """
import gymnasium as gym
for name in ("FrameStack", "AutoResetWrapper", "PixelObservationWrapper", "VectorListInfo",
             "GrayScaleObservation", "TransformObservation"):
    print(name, hasattr(gym.wrappers, name))
try:
    from gymnasium.wrappers import FrameStack
except ImportError:
    print("ImportError")
""",
    "registered without a colon": """
import gymnasium as gym
gym.register("Nowhere-v0", "no-entry-point")
print(gym.spec("Nowhere-v0").entry_point)
try:
    gym.make("Nowhere-v0")
except ValueError:
    print("ValueError")
gym.register("Called-v0", lambda: None)
print(gym.pprint_registry({"Called-v0": gym.registry["Called-v0"]}, disable_print=True))
print(gym.spec("CartPole-v1").pprint(disable_print=True, print_all=True))
""",
    "types of batches": """
import gymnasium as gym, numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
envs = gym.make_vec("CartPole-v1", num_envs=1)
print(isinstance(envs, CartPoleVectorEnv), isinstance(envs.unwrapped, CartPoleVectorEnv))
print(envs.reset(seed=4)[0].tolist(), envs.unwrapped.state.tolist())
print(envs.unwrapped.prev_done if envs.unwrapped.prev_done is None else envs.prev_done.tolist())
for _ in range(12):
    observations, rewards, terminated, truncated, infos = envs.step(np.array([1]))
    print(observations.tolist(), rewards.tolist(), terminated.tolist(), envs.prev_done.tolist())
""",
    "colours of bodies": """
import gymnasium as gym
for hard in (False, True):
    env = gym.make("BipedalWalker-v3", hardcore=hard).unwrapped
    env.reset(seed=5)
    print(sorted((body.color1, body.color2) for body in env.terrain))
    print(env.hull.color1, env.hull.color2, [(leg.color1, leg.color2) for leg in env.legs])
""",
    "names imported in passing": """
from gymnasium.envs.box2d.lunar_lander import EzPickle, gym, spaces
from gymnasium.envs.registration import Env, error, logger
from gymnasium.vector.async_vector_env import CustomSpaceError, batch_space, iterate
from gymnasium.wrappers.stateful_observation import Box, RunningMeanStd, batch_space as again
import gymnasium
print(gym is gymnasium, spaces is gymnasium.spaces, error.Error is gymnasium.error.Error)
print(Env is gymnasium.Env, again is batch_space, Box is gymnasium.spaces.Box)
print(hasattr(gymnasium.wrappers, "Box"), hasattr(gymnasium.envs.box2d, "EzPickle"))
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_prints_the_same(name: str, tmp_path: Path) -> None:
    code = "import warnings; warnings.simplefilter('ignore')\n" + PROGRAMS[name]
    theirs = check_program(code, tmp_path, aliased=False)
    ours = check_program(code, tmp_path)
    assert ours.splitlines() == theirs.splitlines()
    assert ours.strip()


ENTRY_POINTS = """
import gymnasium as gym
for env_id, spec in sorted(gym.registry.items()):
    if isinstance(spec.entry_point, str) and spec.entry_point.startswith("gymnasium."):
        print(env_id, spec.entry_point)
"""


def test_entry_points_are_those_of_gymnasium(tmp_path: Path) -> None:
    theirs = set(check_program(ENTRY_POINTS, tmp_path, aliased=False).splitlines())
    ours = set(check_program(ENTRY_POINTS, tmp_path).splitlines())
    # The only one that needs an engine of the past.
    assert theirs - ours == {"Pusher-v4 gymnasium.envs.mujoco.pusher_v4:PusherEnv"}


UNDONE = """
import ludus
before = {env_id: spec.entry_point for env_id, spec in ludus.registry.items()}
from ludus.interop.gymnasium import alias
from ludus.served_names import OWN_NAMES, own_name
alias.install()
import gymnasium
served = gymnasium.spec("CartPole-v1").entry_point
assert served == "gymnasium.envs.classic_control.cartpole:CartPoleEnv"
assert own_name(served + ".vector") == before["CartPole-v1"] + ".vector"
wrapped = gymnasium.wrappers.TimeAwareObservation(gymnasium.make("CartPole-v1"))
(point,) = [wrapper.entry_point for wrapper in wrapped.spec.additional_wrappers]
assert point == "gymnasium.wrappers.stateful_observation:TimeAwareObservation"
assert own_name(point).startswith("ludus.wrappers.")
gymnasium.register("Mine-v0", "my_package:Env")
alias.uninstall()
del ludus.registry["Mine-v0"]
assert {env_id: spec.entry_point for env_id, spec in ludus.registry.items()} == before
assert OWN_NAMES == {}
"""


def test_names_are_given_back(tmp_path: Path) -> None:
    check_program(UNDONE, tmp_path, aliased=False)


RECORD = """
import sys
import gymnasium as gym
from ludus.record import RecordEpisodes
env = RecordEpisodes(gym.wrappers.TimeAwareObservation(gym.make("CartPole-v1")), sys.argv[1])
env.reset(seed=3)
for _ in range(20):
    if any(env.step(1)[2:4]):
        env.reset()
env.close()
"""


def test_a_record_made_under_the_alias_replays_without_it(tmp_path: Path) -> None:
    script = tmp_path / "record.py"
    script.write_text(RECORD)
    folder = tmp_path / "run"
    run_script(script, str(folder))
    assert "gymnasium." not in (folder / "manifest.json").read_text()
    assert replay(folder).is_equal
