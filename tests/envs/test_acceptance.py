"""Every id that Gymnasium (or MinAtar) has, too: 10 seeds, 500 random steps each.

With ``LUDUS_TEST_ALL=1`` these are 100 seeds and 1,000 steps. As many environments of the other
library run beside one compiled batch that autoresets in the same step, so that every step is a real
one. Spaces, first observations, discrete observations, flags and
infos are equal; rewards are, unless they are made of continuous numbers. Continuous observations

- stay within 1e-6 (relative to numbers above 1) over whole episodes, and
- are within 4 units in the last place of a float32 after each single step from a common state.

The first holds for a chaotic system only as long as the other library agrees with itself: sines
that differ in the last bit of a double, as those of two libraries may, end as differences of any
size. So a second copy of theirs, nudged by one unit in the last place at every step, measures how
far such differences have grown; while ten times that is below 1e-6, so must ours be.
"""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest

import ludus
from ludus.core import AutoresetMode
from ludus.envs.builtin import KERNELS
from ludus.kernel import KernelVectorEnv
from tests.envs.foreign import foreign_specs, give_stream
from tests.envs.states import put
from tests.sampling import ALL

SEEDS, STEPS = (100, 1000) if ALL else (10, 500)
TOLERANCE, ULPS, SAFETY = 1e-6, 4, 10.0
CHAOTIC = {"Acrobot-v1"}
# NumPy squares float32 torques with powf, and math.pow squares doubles: both miss the nearest
# number now and then, so these rewards are continuous numbers.
REWARD_TOLERANCE = {"Pendulum-v1": 1e-6, "MountainCarContinuous-v0": 1e-6}
# Their seeds are JAX's, and cannot be reproduced: see test_functional_ids.py.
FUNCTIONAL = ("phys2d", "tabular")
SPECS = foreign_specs()
IDS = {spec.id for spec in KERNELS}
SHARED = sorted(
    env_id for env_id, spec in SPECS.items() if env_id in IDS and spec.namespace not in FUNCTIONAL
)
ABOUT_ENDS = {"final_obs", "_final_obs", "final_info", "_final_info"}


def test_the_shared_ids_are_many():
    assert len(SHARED) >= 22
    assert {"CartPole-v1", "Acrobot-v1", "Taxi-v4", "MinAtar/Freeway-v1"} < set(SHARED)


def reference_envs(env_id):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [gymnasium.make(SPECS[env_id], disable_env_checker=True) for _ in range(SEEDS)]


def ours_batch(env_id):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        envs = ludus.make_vec(env_id, SEEDS, autoreset_mode=AutoresetMode.SAME_STEP)
    assert isinstance(envs, KernelVectorEnv)
    return envs


def same_space(ours, theirs):
    assert repr(ours) == repr(theirs)
    assert ours.dtype == theirs.dtype
    for name in ("low", "high"):
        if hasattr(theirs, name):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


def stacked(observations):
    """Return our batch with the numbers of a tuple on the last axis."""
    return np.stack(observations, axis=-1) if isinstance(observations, tuple) else observations


def last_seen(observations, infos):
    """Return what each environment saw last of the step, before any reset."""
    seen = stacked(observations).copy()
    for i in np.flatnonzero(infos.get("_final_obs", False)):
        seen[i] = infos["final_obs"][i]
    return seen


def check_infos(ours, theirs, chosen):
    """Compare our merged infos with a dict for each of the chosen environments."""
    keys = theirs[0].keys()
    assert all(info.keys() == keys for info in theirs)
    assert {key for key in ours if key[0] != "_"} - ABOUT_ENDS == set(keys)
    for key in keys:
        assert ours[f"_{key}"][chosen].all()
        expected = np.array([info[key] for info in theirs])
        np.testing.assert_array_equal(ours[key][chosen], expected)


class Shadow:
    """Copies of the other library's environments, nudged in the last bit at every step."""

    def __init__(self, env_id, originals):
        self.originals = [env.unwrapped for env in originals]
        self.copies = [gymnasium.make(env_id).unwrapped for _ in originals]
        self.rng = np.random.default_rng(0)
        self.worst = np.zeros(len(originals))
        self.restart(range(len(originals)))

    def restart(self, chosen):
        for i in chosen:
            self.copies[i].reset()
            self.copies[i].state = np.array(self.originals[i].state, np.float64)
            self.worst[i] = 0.0

    def step(self, actions, expected):
        """Step all; return how far each has been from its original in this episode."""
        seen = []
        for env, action in zip(self.copies, actions, strict=True):
            ends = self.rng.choice([-np.inf, np.inf], len(env.state))
            env.state = np.nextafter(np.asarray(env.state, np.float64), ends)
            seen.append(env.step(action)[0])
        self.worst = np.maximum(self.worst, distances(np.array(seen), expected))
        return self.worst.copy()


def distances(ours, theirs):
    """Return each environment's largest difference, relative for numbers above 1."""
    scale = np.maximum(np.abs(theirs), 1.0)
    return (np.abs(ours.astype(np.float64) - theirs) / scale).max(axis=1)


class Whole:
    """What is kept of a run for checks of all its steps at once."""

    def __init__(self):
        self.before, self.after, self.actions, self.rewards, self.ended = [], [], [], [], []
        self.far, self.comparable, self.over = [], [], []


@pytest.mark.parametrize("env_id", SHARED)
def test_thousands_of_steps(env_id, record_property):
    theirs, ours = reference_envs(env_id), ours_batch(env_id)
    same_space(ours.single_observation_space, theirs[0].observation_space)
    same_space(ours.single_action_space, theirs[0].action_space)
    if env_id.startswith("MinAtar/"):
        for seed, env in enumerate(theirs):
            give_stream(env, seed)
    first = [env.reset(seed=seed) for seed, env in enumerate(theirs)]
    observations, infos = ours.reset(seed=0)
    np.testing.assert_array_equal(stacked(observations), np.array([r[0] for r in first]))
    check_infos(infos, [r[1] for r in first], np.arange(SEEDS))

    continuous = stacked(observations).dtype.kind == "f"
    shadow = Shadow(env_id, theirs) if env_id in CHAOTIC else None
    whole = Whole()
    ours.action_space.seed(0)
    for _ in range(STEPS):
        actions = ours.action_space.sample()
        one_by_one = actions.tolist() if actions.ndim == 1 else list(actions)
        if continuous:
            whole.before.append([np.asarray(env.unwrapped.state, np.float64) for env in theirs])
        results = [env.step(action) for env, action in zip(theirs, one_by_one, strict=True)]
        expected, rewards, ended, cut, told = zip(*results, strict=True)
        expected, over = np.array(expected), np.logical_or(ended, cut)
        observations, our_rewards, our_ended, our_cut, infos = ours.step(actions)
        np.testing.assert_array_equal(our_ended, ended)
        np.testing.assert_array_equal(our_cut, cut)
        tolerance = REWARD_TOLERANCE.get(env_id, 0.0)
        np.testing.assert_allclose(our_rewards, np.array(rewards, float), tolerance, tolerance)
        seen = last_seen(observations, infos)
        if continuous:
            whole.after.append(expected)
            whole.actions.append(actions)
            whole.rewards.append(rewards)
            whole.ended.append(ended)
            whole.over.append(over)
            whole.far.append(distances(seen, expected))
            grown = shadow.step(one_by_one, expected) if shadow else np.zeros(SEEDS)
            whole.comparable.append(SAFETY * grown < TOLERANCE)
        else:
            np.testing.assert_array_equal(seen, expected)
        going = np.flatnonzero(~over)
        if going.size:
            check_infos(infos, [told[i] for i in going], going)
        if over.any():
            ends = np.flatnonzero(over)
            check_infos(infos["final_info"], [told[i] for i in ends], ends)
            anew = [theirs[i].reset() for i in ends]
            np.testing.assert_array_equal(
                stacked(observations)[ends], np.array([r[0] for r in anew])
            )
            check_infos(infos, [r[1] for r in anew], ends)
            if shadow:
                shadow.restart(ends)
    if continuous:
        check_whole_episodes(env_id, whole, record_property)
        check_single_steps(env_id, whole)


def check_whole_episodes(env_id, whole, record_property):
    far, comparable = np.array(whole.far), np.array(whole.comparable)
    assert far[comparable].max() <= TOLERANCE
    assert comparable.all() or env_id in CHAOTIC
    # Not a test of the beginnings of episodes only.
    assert comparable.mean() > 0.95
    starts = np.vstack([np.zeros((1, SEEDS), int), np.cumsum(whole.over, axis=0)[:-1]])
    episodes = [(i, k) for i in range(SEEDS) for k in range(starts[-1, i] + 1)]
    close = sum(far[starts[:, i] == k, i].max() <= TOLERANCE for i, k in episodes)
    record_property("episodes within 1e-6", f"{close} of {len(episodes)}")
    record_property("comparable steps", f"{comparable.mean():.4%}")
    print(
        f"{env_id}: {close} of {len(episodes)} episodes within 1e-6 throughout; "
        f"{comparable.mean():.2%} of the steps comparable; largest difference there "
        f"{far[comparable].max():.1e}, anywhere {far.max():.1e}"
    )


def check_single_steps(env_id, whole):
    """Put every state that theirs was in into one batch, and step it once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        envs = ludus.make_vec(
            env_id, SEEDS * STEPS, autoreset_mode=AutoresetMode.DISABLED, max_episode_steps=None
        )
    envs.reset()
    states = np.array(whole.before).reshape(SEEDS * STEPS, -1).T
    put(envs, **dict(zip(envs.env.kernel.state._fields, states, strict=True)))
    seen, rewards, ended, cut, _ = envs.step(np.concatenate(whole.actions))
    np.testing.assert_array_max_ulp(np.ascontiguousarray(seen), np.concatenate(whole.after), ULPS)
    np.testing.assert_array_equal(ended, np.concatenate(whole.ended))
    assert not cut.any()
    np.testing.assert_allclose(
        rewards, np.concatenate(whole.rewards), 1e-9 if env_id in REWARD_TOLERANCE else 0.0
    )
