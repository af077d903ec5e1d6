"""Batches in compiled code beside single environments."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import ludus
from ludus.core import AutoresetMode
from ludus.envs.box2d.native import program as native_program
from ludus.envs.box2d.vector_env import Box2DVectorEnv
from ludus.errors import EpisodeOver, InvalidAction, KernelError, ResetNeeded, StateError
from ludus.testing import VectorEnvConformance
from ludus.vector import SyncVectorEnv
from tests.reference.twins import assert_same

CASES = [
    ("LunarLander-v2", {}),
    ("LunarLander-v3", {"gravity": -4.0}),
    ("LunarLander-v3", {"enable_wind": True, "wind_power": 18.0, "turbulence_power": 1.9}),
    ("LunarLanderContinuous-v3", {"enable_wind": True}),
    ("LunarLanderContinuous-v2", {}),
    ("BipedalWalker-v3", {}),
    ("BipedalWalkerHardcore-v3", {}),
]
NAMES = [f"{env_id}-{'-'.join(kwargs)}" for env_id, kwargs in CASES]


class Conformance(VectorEnvConformance):
    env_id = ""
    steps = 130

    def make(self, num_envs, autoreset_mode):
        return ludus.make_vec(self.env_id, num_envs, autoreset_mode=autoreset_mode, num_threads=2)

    def make_single(self):
        return ludus.make(self.env_id, disable_env_checker=True)


class TestLander(Conformance):
    env_id = "LunarLander-v3"


class TestContinuousLander(Conformance):
    env_id = "LunarLanderContinuous-v3"


class TestWalker(Conformance):
    env_id = "BipedalWalker-v3"


class TestRace(VectorEnvConformance):
    """Not compiled; few and short episodes, for its pictures take their time."""

    env_id = "CarRacing-v3"
    num_envs = 2
    steps = 7
    autoreset_modes = (AutoresetMode.DISABLED,)

    def make(self, num_envs, autoreset_mode):
        options = {"autoreset_mode": autoreset_mode}
        return ludus.make_vec(self.env_id, num_envs, max_episode_steps=6, vector_kwargs=options)

    def make_single(self):
        return ludus.make(self.env_id, disable_env_checker=True, max_episode_steps=6)


class TestOlderRace(TestRace):
    env_id = "CarRacing-v2"


def pair(env_id, num_envs, **kwargs):
    made = ludus.make_vec(env_id, num_envs, **kwargs)
    assert isinstance(made, Box2DVectorEnv)
    for name in ("num_threads", "copy"):
        kwargs.pop(name, None)
    return made, ludus.make_vec(env_id, num_envs, vectorization_mode="sync", **kwargs)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("env_id", "kwargs"), CASES, ids=NAMES)
def test_batches_equal_single_environments(env_id, kwargs, threads):
    ours, singles = pair(env_id, 9, num_threads=threads, **kwargs)
    with ours, singles:
        assert_same(ours.reset(seed=7), singles.reset(seed=7))
        ours.action_space.seed(1)
        ended = 0
        for _ in range(150):
            actions = ours.action_space.sample()
            result = ours.step(actions)
            assert_same(result, singles.step(actions))
            ended += result[2].sum()
        assert ended


def test_walkers_take_double_precision_as_such():
    ours, singles = pair("BipedalWalker-v3", 3)
    with ours, singles:
        ours.reset(seed=1)
        singles.reset(seed=1)
        for number in range(20):
            actions = np.full((3, 4), 0.1 * (number % 7) - 0.3)
            assert_same(ours.step(actions), singles.step(actions))


@pytest.mark.parametrize("mode", AutoresetMode)
def test_long_episodes_are_cut_off_and_saved(mode):
    """Longer than the first log of actions; a lander hovers longer than any random one."""

    def hover(seen):
        return np.where(seen[:, 3] < 0.0, 2, 0)

    with ludus.make_vec(
        "LunarLander-v3", 2, max_episode_steps=300, autoreset_mode=mode, gravity=-1.0
    ) as envs:
        seen, _ = envs.reset(seed=4)
        states = {}
        played = []
        for number in range(300):
            if number in (40, 280):
                states[number] = envs.get_state()
            seen, *rest = result = envs.step(hover(seen))
            played.append(result)
            if rest[1].any() or rest[2].any():
                break
        last = len(played) - 1
        assert last > 256
        for number, state in states.items():
            envs.reset(seed=0)
            envs.set_state(state)
            assert_same(envs.step(hover(played[number - 1][0])), played[number])


def test_states_of_other_batches_are_refused():
    with ludus.make_vec("LunarLander-v3", 2) as envs, ludus.make_vec("LunarLander-v3", 3) as other:
        envs.reset(seed=1)
        with pytest.raises(StateError, match="cannot be set"):
            other.set_state(envs.get_state())


DAMAGE = {
    "more steps than actions": ("elapsed", lambda a: a + 1_000_000),
    "steps before the start": ("elapsed", lambda a: a - 1_000),
    "counts of another type": ("elapsed", lambda a: a.astype(np.float64)),
    "a longer batch": ("elapsed", lambda a: np.concatenate([a, a])),
    "random streams cut short": ("words", lambda a: a[:, :2]),
    "streams of another type": ("starts", lambda a: a.astype(np.int64)),
    "flags that are numbers": ("waiting", lambda a: a.astype(np.int64)),
    "no list of who has started": ("started", lambda a: None),
    "actions of another size": ("log", lambda a: a[:, :, :1]),
    "actions in one row": ("log", lambda a: a.ravel()),
    "actions that are no numbers": ("log", lambda a: a * np.nan),
    "actions of another type": ("log", lambda a: a.astype(object)),
}


@pytest.mark.parametrize("env_id", ["LunarLander-v3", "BipedalWalker-v3"])
@pytest.mark.parametrize("how", DAMAGE)
def test_damaged_states_never_reach_compiled_code(env_id, how):
    with ludus.make_vec(env_id, 3) as envs:
        envs.reset(seed=0)
        envs.action_space.seed(0)
        for _ in range(5):
            envs.step(envs.action_space.sample())
        state = envs.get_state()
        name, damage = DAMAGE[how]
        with pytest.raises(StateError, match="damaged"):
            envs.set_state({**state, name: damage(state[name])})
        action = envs.action_space.sample()
        expected = envs.step(action)[0]
        envs.set_state(state)
        np.testing.assert_array_equal(envs.step(action)[0], expected)


def test_a_state_before_the_first_reset():
    with ludus.make_vec("LunarLander-v3", 2) as envs:
        state = envs.get_state()
        envs.reset(seed=1)
        envs.set_state(state)
        with pytest.raises(ResetNeeded):
            envs.step([0, 0])


@pytest.mark.parametrize(
    ("env_id", "actions", "error"),
    [
        ("LunarLander-v3", [0, 4], InvalidAction),
        ("LunarLander-v3", [0.5, 1.0], InvalidAction),
        ("LunarLander-v3", [0], ValueError),
        ("LunarLanderContinuous-v3", np.zeros((2, 3)), ValueError),
        ("BipedalWalker-v3", np.zeros((4, 2)), ValueError),
        ("LunarLanderContinuous-v3", [[0.0, 0.0], [np.nan, 0.0]], InvalidAction),
        ("BipedalWalker-v3", np.full((2, 4), np.nan, np.float32), InvalidAction),
    ],
)
def test_wrong_actions_step_nothing(env_id, actions, error):
    with ludus.make_vec(env_id, 2) as envs:
        envs.reset(seed=3)
        before = envs.get_state()
        with pytest.raises(error, match=r"[Ee]xpected"):
            envs.step(actions)
        assert_same(envs.get_state(), before)


def test_steps_out_of_order():
    with ludus.make_vec("LunarLander-v3", 2, autoreset_mode=AutoresetMode.DISABLED) as envs:
        with pytest.raises(ResetNeeded, match="reset"):
            envs.step([0, 0])
        with pytest.raises(ResetNeeded, match="whole"):
            envs.reset(options={"reset_mask": np.array([True, False])})
        envs.reset(seed=1)
        while not envs.step([0, 0])[2].any():
            pass
        with pytest.raises(EpisodeOver, match="reset_mask"):
            envs.step([0, 0])


def test_unseeded_batches_differ():
    with ludus.make_vec("LunarLander-v3", 2) as envs:
        seen, _ = envs.reset()
        assert not np.array_equal(seen[0], seen[1])
        assert all(isinstance(seed, int) for seed in envs.np_random_seed)


@pytest.mark.parametrize(
    ("env_id", "kwargs"),
    [
        ("LunarLander-v3", {"render_mode": "rgb_array"}),
        ("LunarLander-v2", {"enable_wind": True}),
    ],
)
def test_what_compiled_code_cannot_do_is_done_by_single_environments(env_id, kwargs):
    with ludus.make_vec(env_id, 2, num_threads=2, **kwargs) as envs:
        assert isinstance(envs, SyncVectorEnv)
        envs.reset(seed=0)
        assert envs.step([0, 2])[0].shape == (2, 8)


@pytest.mark.parametrize(
    ("compile", "kind"),
    [("wait", Box2DVectorEnv), ("background", Box2DVectorEnv), ("never", SyncVectorEnv)],
)
@pytest.mark.parametrize("env_id", ["LunarLander-v3", "BipedalWalker-v3"])
def test_compile_chooses_between_compiled_code_and_single_environments(env_id, compile, kind):
    envs = ludus.make_vec(env_id, 2, compile=compile)
    assert type(envs) is kind
    envs.close()


def test_an_unknown_way_to_compile_is_refused():
    with pytest.raises(KernelError, match="compile must be 'wait', 'background' or 'never'"):
        ludus.make_vec("LunarLander-v3", 2, compile="soon")


def test_without_the_engines_functions_single_environments_serve(monkeypatch):
    monkeypatch.setattr(native_program, "SYMBOLS", ("no_such_function",))
    native_program.native_program.cache_clear()
    try:
        with ludus.make_vec("BipedalWalker-v3", 2) as envs:
            assert isinstance(envs, SyncVectorEnv)
            assert envs.reset(seed=0)[0].shape == (2, 24)
    finally:
        native_program.native_program.cache_clear()


def test_a_batch_that_nobody_closes_is_freed():
    envs = ludus.make_vec("LunarLander-v3", 2)
    envs.reset(seed=0)
    end = envs._end
    del envs
    gc.collect()
    assert not end.alive
