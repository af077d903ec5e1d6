"""``LudusVecEnv`` beside SB3's ``DummyVecEnv``, step by step."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import ludus
from ludus.errors import Error
from ludus.vector import AutoresetMode, SyncVectorEnv

pytest.importorskip("stable_baselines3")

from stable_baselines3.common.env_util import make_vec_env as make_dummy_vec_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from ludus.interop.sb3 import LudusVecEnv, make_vec_env
from ludus.interop.sb3.episodes import MonitorOptions

SAME_STEP, DISABLED = AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
IDS = [
    "Acrobot-v1",
    "CartPole-v1",
    "CliffWalking-v1",
    "FrozenLake-v1",
    "MountainCarContinuous-v0",
    "Pendulum-v1",
    "Taxi-v4",
]
ENGINES = ["Hopper-v5", "LunarLander-v3"]
SHORT = {"max_episode_steps": 17}


def assert_equal(ours: Any, theirs: Any, rtol: float = 0.0) -> None:
    """Compare nested values, types of containers included."""
    if isinstance(theirs, dict):
        assert isinstance(ours, dict)
        assert ours.keys() == theirs.keys()
        for key in theirs:
            assert_equal(ours[key], theirs[key], rtol)
    elif isinstance(theirs, list | tuple):
        assert type(ours) is type(theirs)
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_equal(one, other, rtol)
    elif isinstance(theirs, np.ndarray):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol)
    elif isinstance(theirs, float | np.floating):
        assert ours == pytest.approx(theirs, rel=max(rtol, 1e-12), abs=rtol)
    else:
        assert ours == theirs


def without_time(infos: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for info in infos:
        if "episode" in info:
            assert info["episode"].pop("t") >= 0
    return infos


def step_both(ours: Any, theirs: Any, steps: int, rtol: float = 0.0) -> int:
    """Step both with the same actions and compare; return how many episodes ended."""
    ended = 0
    space = theirs.action_space
    space.seed(3)
    assert_equal(ours.reset(), theirs.reset(), rtol)
    assert_equal(ours.reset_infos, theirs.reset_infos, rtol)
    for _ in range(steps):
        actions = np.array([space.sample() for _ in range(theirs.num_envs)])
        seen, expected = ours.step(actions), theirs.step(actions)
        assert_equal(seen[:3], expected[:3], rtol)
        assert_equal(without_time(seen[3]), without_time(expected[3]), rtol)
        assert_equal(ours.reset_infos, theirs.reset_infos, rtol)
        ended += int(seen[2].sum())
    return ended


@pytest.mark.parametrize("env_id", IDS + ENGINES)
def test_a_batch_returns_what_single_environments_return(env_id):
    arguments = {"n_envs": 3, "seed": 5, "env_kwargs": SHORT}
    ours = make_vec_env(env_id, **arguments)
    theirs = make_vec_env(env_id, vec_env_cls=DummyVecEnv, **arguments)
    assert isinstance(ours, LudusVecEnv)
    assert type(theirs) is DummyVecEnv
    assert not isinstance(ours.env.unwrapped, SyncVectorEnv)
    # A batch of the engine computes in another order than one robot does.
    assert step_both(ours, theirs, 60, rtol=1e-9 if env_id == "Hopper-v5" else 0.0) > 5
    ours.close()
    theirs.close()


@pytest.mark.parametrize("env_id", IDS)
def test_and_what_gymnasiums_return(env_id):
    arguments = {"n_envs": 3, "seed": 5, "env_kwargs": SHORT}
    ours, theirs = make_vec_env(env_id, **arguments), make_dummy_vec_env(env_id, **arguments)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.render_mode == theirs.render_mode == "rgb_array"
    assert step_both(ours, theirs, 60, rtol=2e-6) > 5


def sync(**options: Any) -> Any:
    builders = [lambda: ludus.make("CartPole-v1", **SHORT)] * 3
    return SyncVectorEnv(builders, **options)


def batch(**options: Any) -> Any:
    return ludus.make_vec("CartPole-v1", num_envs=3, **SHORT, **options)


@pytest.mark.parametrize("mode", [SAME_STEP, DISABLED])
@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("build", [sync, batch])
def test_every_kind_of_batch(build, copy, mode):
    ours = LudusVecEnv(build(autoreset_mode=mode, copy=copy))
    theirs = make_vec_env("CartPole-v1", 3, env_kwargs=SHORT, vec_env_cls=DummyVecEnv)
    ours.seed(9)
    theirs.seed(9)
    assert step_both(ours, theirs, 60) > 5


def test_worker_processes():
    kinds = {"vectorization_mode": "async"}
    ours = make_vec_env("CartPole-v1", 3, seed=2, env_kwargs=SHORT, vec_env_kwargs=kinds)
    theirs = make_vec_env("CartPole-v1", 3, seed=2, env_kwargs=SHORT, vec_env_cls=DummyVecEnv)
    try:
        assert step_both(ours, theirs, 40) > 3
        assert ours.get_attr("gravity", [0, 2]) == [9.8, 9.8]
        ours.set_attr("gravity", 3.0)
        assert ours.get_attr("gravity") == [3.0] * 3
        with pytest.raises(Error, match=r"all environments .* indices=\[1\]"):
            ours.env_method("get_state", indices=[1])
    finally:
        ours.close()


def test_a_vector_environment_of_gymnasium():
    mode = gymnasium.vector.AutoresetMode.SAME_STEP
    inner = gymnasium.make_vec(
        "CartPole-v1",
        3,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode},
        **SHORT,
    )
    ours = LudusVecEnv(inner)
    theirs = make_dummy_vec_env("CartPole-v1", 3, env_kwargs=SHORT)
    ours.seed(4)
    theirs.seed(4)
    assert step_both(ours, theirs, 40) > 3


def test_next_step_autoreset_is_refused():
    with pytest.raises(Error, match=r"(?s)NEXT_STEP.*make_vec_env.*SameStep"):
        LudusVecEnv(ludus.make_vec("CartPole-v1", num_envs=2))


def test_what_is_no_vector_environment_is_refused():
    with pytest.raises(TypeError, match="VectorEnv"):
        LudusVecEnv(ludus.make("CartPole-v1"))


@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1", "LunarLander-v3", "Hopper-v5"])
def test_what_was_returned_stays_as_it_is(env_id):
    env = make_vec_env(env_id, 4, seed=0, env_kwargs=SHORT)
    kept = [(env.reset(),)]
    kept += [env.step(np.array([env.action_space.sample() for _ in range(4)])) for _ in range(40)]
    copies = [[np.copy(part) for part in row[:3]] for row in kept]
    finals = [info for row in kept[1:] for info in row[3] if "terminal_observation" in info]
    last = [np.copy(info["terminal_observation"]) for info in finals]
    assert finals
    env.reset()
    env.step(np.array([env.action_space.sample() for _ in range(4)]))
    assert_equal([list(row[:3]) for row in kept], copies)
    assert_equal([np.asarray(info["terminal_observation"]) for info in finals], last)
    infos = [info for row in kept[1:] for info in row[3]]
    assert len({id(info) for info in infos}) == len(infos)


def test_observations_of_a_batch_are_rows_in_memory():
    env = make_vec_env("CartPole-v1", 4, seed=0)
    assert env.reset().flags.c_contiguous
    assert env.step(np.ones(4, np.int64))[0].flags.c_contiguous


def test_seeds_are_used_once_and_may_be_any():
    env = make_vec_env("CartPole-v1", 3)
    theirs = make_vec_env("CartPole-v1", 3, vec_env_cls=DummyVecEnv)
    assert env.seed(7) == [7, 8, 9]
    first = env.reset()
    assert not (env.reset() == first).any()
    env._seeds = theirs._seeds = [7, 3, 100]
    assert_equal(env.reset(), theirs.reset())
    assert_equal(env.reset(), theirs.reset())
    env.seed(7)
    assert_equal(env.reset(), first)


def test_options_go_to_the_next_reset_of_each():
    env = make_vec_env("CartPole-v1", 3, seed=1)
    theirs = make_vec_env("CartPole-v1", 3, seed=1, vec_env_cls=DummyVecEnv)
    wide, narrow = {"low": -0.2, "high": 0.2}, {"low": 0.01, "high": 0.02}
    for options in (wide, [wide, narrow, wide], [{}, narrow, {}], None):
        for vec in (env, theirs):
            vec.set_options(options)
        assert_equal(env.reset(), theirs.reset())
    assert (abs(env.reset()) < 0.05).all()


def test_options_that_differ_at_the_first_reset():
    narrow = {"low": 0.01, "high": 0.02}
    env = make_vec_env("CartPole-v1", 2, seed=1)
    theirs = make_vec_env("CartPole-v1", 2, seed=1, vec_env_cls=DummyVecEnv)
    for vec in (env, theirs):
        vec.set_options([{}, narrow])
    assert_equal(env.reset(), theirs.reset())


class Described(gymnasium.Env):
    """An environment with a dict of observations and infos of several kinds."""

    observation_space = gymnasium.spaces.Dict(
        {"place": gymnasium.spaces.Box(-1, 1, (2,)), "room": gymnasium.spaces.Discrete(9)}
    )
    action_space = gymnasium.spaces.MultiDiscrete([3, 2])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.seen(), {"start": True, "nested": {"depth": 1, "name": "first"}}

    def seen(self):
        place = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return {"place": place, "room": int(self.np_random.integers(9))}

    def step(self, action):
        self.steps += 1
        info = {"path": np.arange(3) * self.steps, "word": "x" * self.steps}
        if self.steps % 2:
            info["odd"] = 0.5
        return self.seen(), float(action[0]), self.steps > 4, False, info


@pytest.fixture(scope="module")
def described():
    ludus.register("Described-v0", lambda: ludus.interop.gymnasium.from_gymnasium(Described()))
    yield "Described-v0"
    del ludus.registry["Described-v0"]


def test_dicts_and_infos_of_all_kinds(described):
    ours = make_vec_env(described, 3, seed=1)
    theirs = make_dummy_vec_env(Described, 3, seed=1)
    assert step_both(ours, theirs, 17) == 9


def test_episodes_are_logged_as_monitor_logs_them(tmp_path):
    folders = [str(tmp_path / name) for name in ("ours", "theirs")]
    for folder, kind in zip(folders, (None, DummyVecEnv), strict=True):
        env = make_vec_env(
            "FrozenLake-v1",
            2,
            seed=1,
            start_index=3,
            monitor_dir=folder,
            vec_env_cls=kind,
            monitor_kwargs={"info_keywords": ("prob",)},
        )
        space = env.action_space
        space.seed(0)
        env.reset()
        for _ in range(60):
            infos = env.step(np.array([space.sample() for _ in range(2)]))[3]
            assert all("prob" in info["episode"] for info in infos if "episode" in info)
        env.close()
    for number in (3, 4):
        ours, theirs = ((tmp_path / who / f"{number}.monitor.csv").read_text().splitlines()
                        for who in ("ours", "theirs"))  # fmt: skip
        assert len(ours) > 5
        assert '"env_id": "FrozenLake-v1"' in ours[0]
        assert ours[1] == theirs[1] == "r,l,t,prob"
        rows = [[line.split(",") for line in lines[2:]] for lines in (ours, theirs)]
        kept = [[(float(r), int(n), float(p)) for r, n, _, p in part] for part in rows]
        assert kept[0] == kept[1]


def test_returns_and_lengths_are_kept():
    arguments = {"n_envs": 2, "seed": 1, "env_kwargs": SHORT}
    ours = make_vec_env("CartPole-v1", **arguments)
    theirs = make_vec_env("CartPole-v1", vec_env_cls=DummyVecEnv, **arguments)
    step_both(ours, theirs, 50)
    for name in ("get_episode_rewards", "get_episode_lengths", "get_total_steps"):
        assert ours.env_method(name) == theirs.env_method(name)
    assert [len(times) for times in ours.env_method("get_episode_times")] == [
        len(returns) for returns in ours.env_method("get_episode_rewards")
    ]


def test_early_resets_can_be_forbidden():
    env = make_vec_env("CartPole-v1", 2, monitor_kwargs={"allow_early_resets": False})
    env.reset()
    with pytest.raises(RuntimeError, match="allow_early_resets"):
        env.reset()


def test_an_early_reset_begins_a_new_episode():
    env = make_vec_env("CartPole-v1", 2, seed=0, env_kwargs=SHORT)
    env.reset()
    for _ in range(5):
        env.step(np.array([0, 1]))
    env.reset()
    for steps in range(1, 20):
        infos = env.step(np.array([1, 1]))[3]
        if "episode" in infos[0]:
            assert infos[0]["episode"]["l"] == steps
            break
    else:
        pytest.fail("no episode ended")


def test_without_monitor_there_are_no_episodes():
    env = LudusVecEnv(batch(autoreset_mode=SAME_STEP), monitor=None)
    env.reset()
    assert not any(env.env_is_wrapped(Monitor))
    for _ in range(20):
        infos = env.step(np.ones(3, np.int64))[3]
        assert not any("episode" in info for info in infos)
    assert not env.has_attr("get_episode_rewards")


def test_options_of_monitor_that_a_batch_cannot_have():
    with pytest.raises(TypeError, match=r"reset_keywords.*DummyVecEnv"):
        make_vec_env("CartPole-v1", monitor_kwargs={"reset_keywords": ("x",)})


def test_monitor_options_are_values():
    assert MonitorOptions() == MonitorOptions(None, 0)
