"""Environments over functions written in JAX, beside Gymnasium's over the same functions."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from typing import NamedTuple

import gymnasium
import numpy as np
import pytest

import ludus
from ludus.core.vector_env import AutoresetMode
from ludus.envs.functional_jax_env import FunctionalJaxEnv, FunctionalJaxVectorEnv
from ludus.envs.phys2d import CartPoleFunctional
from ludus.envs.phys2d.cartpole import KERNEL as CARTPOLE
from ludus.errors import DependencyNotInstalled, Error, ResetNeeded
from ludus.experimental.functional import FuncEnv
from ludus.experimental.kernel_functional import KernelFuncEnv
from tests.interop.programs import check_program

jax = pytest.importorskip("jax")
jnp = jax.numpy
reference = pytest.importorskip("gymnasium.envs.functional_jax_env")


class SwingFunctions:
    """A pendulum that is pushed by chance, seen with noise, and ends when it is too fast."""

    limit = 3.0

    def initial(self, rng, params=None):
        return jax.random.uniform(rng, (2,), minval=-1.0, maxval=1.0)

    def transition(self, state, action, rng, params=None):
        push = 0.5 * jax.random.normal(rng)
        speed = state[1] + 0.3 * jnp.sin(state[0]) + 0.4 * jnp.clip(action[0], -2.0, 2.0) + push
        return jnp.array([state[0] + 0.1 * speed, speed])

    def observation(self, state, rng, params=None):
        noise = 0.01 * jax.random.normal(rng)
        return jnp.array([jnp.cos(state[0]), jnp.sin(state[0]), state[1] + noise])

    def reward(self, state, action, next_state, rng, params=None):
        return -(state[0] ** 2) - 0.1 * next_state[1] ** 2 + 0.1 * jax.random.uniform(rng)

    def terminal(self, state, rng, params=None):
        return jnp.abs(state[1]) > self.limit

    def state_info(self, state, params=None):
        return {"angle": state[0]}

    def render_init(self, params=None, **kwargs):
        return ["opened"]

    def render_image(self, state, render_state, params=None):
        return [*render_state, "drawn"], np.full((4, 4, 3), len(render_state), np.uint8)

    def render_close(self, render_state, params=None):
        render_state.append("closed")


class Swing(SwingFunctions, FuncEnv):
    observation_space = ludus.spaces.Box(-np.inf, np.inf, (3,), np.float32)
    action_space = ludus.spaces.Box(-2.0, 2.0, (1,), np.float32)


class TheirSwing(SwingFunctions, gymnasium.experimental.functional.FuncEnv):
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32)
    action_space = gymnasium.spaces.Box(-2.0, 2.0, (1,), np.float32)


class Pair(NamedTuple):
    angle: object
    speed: object


class TreeSwing(Swing):
    """The same with a state that is a tree."""

    def initial(self, rng, params=None):
        return Pair(*super().initial(rng))

    def transition(self, state, action, rng, params=None):
        return Pair(*super().transition(state, action, rng))


def assert_same(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        assert type(a) is type(b)
        if isinstance(a, dict):
            assert a.keys() == b.keys()
            assert_same(a.values(), b.values())
        elif isinstance(a, jax.Array):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            np.testing.assert_array_equal(a, b)
        else:
            assert a == b


def test_one_environment_steps_as_gymnasiums():
    ours, theirs = FunctionalJaxEnv(Swing()), reference.FunctionalJaxEnv(TheirSwing())
    ours.action_space.seed(0)
    ends = 0
    for seed in (0, None, 2**31 + 7):
        theirs.rng = ours.rng
        assert_same(ours.reset(seed=seed), theirs.reset(seed=seed))
        for _ in range(25):
            action = ours.action_space.sample()
            mine = ours.step(action)
            assert_same(mine, theirs.step(action))
            np.testing.assert_array_equal(ours.state, theirs.state)
            np.testing.assert_array_equal(ours.rng, theirs.rng)
            ends += mine[2]
    assert ends > 0
    assert ours.np_random_seed == theirs.np_random_seed == 2**31 + 7


def batches(ours=Swing, **kwargs):
    pair = (
        FunctionalJaxVectorEnv(ours(), 4, **kwargs),
        reference.FunctionalJaxVectorEnv(TheirSwing(), 4, **kwargs),
    )
    pair[0].action_space.seed(1)
    return pair


@pytest.mark.parametrize("limit", [0, 6])
def test_a_batch_steps_as_gymnasiums(limit):
    """There the others of a batch stand still while one begins anew, though they are paid."""
    ours, theirs = batches(max_episode_steps=limit)
    assert_same(ours.reset(seed=3), theirs.reset(seed=3))
    kinds = set()
    for _ in range(24):
        action = ours.action_space.sample()
        anew = np.asarray(ours.prev_done)
        mine, other = ours.step(action), theirs.step(action)
        begun = np.flatnonzero(anew)
        assert_same(
            [x[begun] for x in (mine[0], mine[2])], [x[begun] for x in (other[0], other[2])]
        )
        assert_same([x[~anew] for x in mine[1:4]], [x[~anew] for x in other[1:4]])
        assert_same(mine[2:], other[2:])
        if not anew.any():
            assert_same(mine, other)
        np.testing.assert_array_equal(np.asarray(mine[1])[anew], 0)
        assert mine[1].dtype == other[1].dtype
        for name in ("steps", "prev_done", "rng"):
            assert_same([getattr(ours, name)], [getattr(theirs, name)])
        np.testing.assert_array_equal(ours.state[begun], theirs.state[begun])
        theirs.state = ours.state
        kinds |= {(bool(a), bool(t), bool(c)) for a, t, c in zip(anew, *mine[2:4], strict=True)}
    assert {(False, True, False), (True, False, False)} <= kinds
    assert ((False, False, True) in kinds) == bool(limit)


def test_all_of_a_batch_begin_anew_together_as_gymnasiums():
    Calm, TheirCalm = (type("Calm", (cls,), {"limit": 1e9}) for cls in (Swing, TheirSwing))
    ours = FunctionalJaxVectorEnv(Calm(), 3, 4)
    theirs = reference.FunctionalJaxVectorEnv(TheirCalm(), 3, 4)
    ours.action_space.seed(1)
    assert_same(ours.reset(seed=5), theirs.reset(seed=5))
    cut = []
    for k in range(20):
        action = ours.action_space.sample()
        mine, other = ours.step(action), theirs.step(action)
        assert_same([mine[0], *mine[2:]], [other[0], *other[2:]])
        assert_same([mine[1]], [jnp.zeros(3) if k % 5 == 4 else other[1]])
        cut.append(mine[3].tolist())
    assert cut == [[k % 5 == 3] * 3 for k in range(20)]


def test_the_others_go_on_while_one_begins_anew():
    ours, _ = batches()
    ours.reset(seed=3)
    for _ in range(40):
        anew, before = np.asarray(ours.prev_done), np.asarray(ours.state)
        keys = jax.random.split(jax.random.split(ours.rng)[0], 4)
        action = ours.action_space.sample()
        ours.step(action)
        after = jax.vmap(Swing().transition)(before, action, keys)
        np.testing.assert_array_equal(np.asarray(ours.state)[~anew], np.asarray(after)[~anew])
        if anew.any():
            assert not anew.all()
            assert (np.abs(np.asarray(ours.state)[anew]) <= 1).all()
            return
    pytest.fail("no episode ended")


def test_reset_forgets_that_episodes_had_ended():
    ours, _ = batches()
    action = np.ones((4, 1), np.float32)
    ours.reset(seed=1)
    expected = ours.step(action)
    while not ours.prev_done.any():
        ours.step(action)
    ours.reset(seed=1)
    assert_same(ours.step(action), expected)


def test_a_tree_as_state():
    flat, tree = (FunctionalJaxVectorEnv(cls(), 4, 5) for cls in (Swing, TreeSwing))
    flat.action_space.seed(0)
    assert_same(tree.reset(seed=9), flat.reset(seed=9))
    for _ in range(15):
        action = flat.action_space.sample()
        assert_same(tree.step(action), flat.step(action))
        np.testing.assert_array_equal(jnp.stack(tree.state, axis=1), flat.state)


def test_the_functions_given_are_left_as_they_are():
    functions = Swing()
    key = jax.random.PRNGKey(0)
    first = [FunctionalJaxVectorEnv(functions, n).reset(seed=0)[0].shape for n in (2, 3)]
    assert first == [(2, 3), (3, 3)]
    assert functions.initial(key).shape == (2,)


def test_infos_of_transitions_are_batched():
    class Told(Swing):
        def transition_info(self, state, action, next_state, params=None):
            return {"change": next_state[1] - state[1]}

    envs = FunctionalJaxVectorEnv(Told(), 3)
    envs.reset(seed=0)
    before = envs.state
    info = envs.step(np.ones((3, 1), np.float32))[4]
    np.testing.assert_array_equal(info["change"], envs.state[:, 1] - before[:, 1])


def test_compiled_functions():
    functions = Swing()
    functions.transform(jax.jit)
    envs, plain = FunctionalJaxVectorEnv(functions, 4), FunctionalJaxVectorEnv(Swing(), 4)
    np.testing.assert_allclose(envs.reset(seed=0)[0], plain.reset(seed=0)[0], rtol=1e-5)
    action = np.ones((4, 1), np.float32)
    for a, b in zip(envs.step(action)[:4], plain.step(action)[:4], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_spaces_and_what_else_is_kept():
    spec = ludus.EnvSpec("Swing-v0")
    env, (ours, theirs) = FunctionalJaxEnv(Swing(), spec=spec), batches()
    assert (env.observation_space, env.action_space) == (
        Swing.observation_space,
        Swing.action_space,
    )
    assert env.metadata == {"render_modes": [], "jax": True}
    assert (env.spec, env.render_mode, env.render_state) == (spec, None, None)
    for name in (
        "observation_space",
        "action_space",
        "single_observation_space",
        "single_action_space",
        "num_envs",
        "time_limit",
        "render_mode",
        "render_state",
    ):
        assert repr(getattr(ours, name)) == repr(getattr(theirs, name))
    assert ours.metadata == {"autoreset_mode": AutoresetMode.NEXT_STEP}
    told = {"render_fps": 7}
    assert FunctionalJaxEnv(Swing(), told).metadata is told
    assert FunctionalJaxVectorEnv(Swing(), 2, metadata=told).metadata is told


@pytest.mark.parametrize(
    "build", [FunctionalJaxEnv, lambda f, **k: FunctionalJaxVectorEnv(f, 2, **k)]
)
def test_pictures(build):
    env = build(Swing(), render_mode="rgb_array")
    with pytest.raises(ResetNeeded, match="render"):
        env.render()
    env.reset(seed=0)
    assert [int(env.render()[0, 0, 0]) for _ in range(2)] == [1, 2]
    kept = env.render_state
    env.close()
    env.close()
    assert kept == ["opened", "drawn", "drawn", "closed"]
    assert env.render_state is None
    silent = build(Swing())
    silent.reset(seed=0)
    with pytest.raises(NotImplementedError, match="rgb_array"):
        silent.render()
    silent.close()


def test_seeds_and_first_steps():
    env, (envs, _) = FunctionalJaxEnv(Swing()), batches()
    with pytest.raises(ResetNeeded, match="step"):
        env.step(np.zeros(1))
    with pytest.raises(ResetNeeded, match="step"):
        envs.step(np.zeros((4, 1)))
    for one in (env, envs):
        with pytest.raises(Error, match="greater or equal to zero"):
            one.reset(seed=-1)
        first, unseeded = one.reset(seed=4)[0], one.reset()[0]
        assert (first != unseeded).any()
        np.testing.assert_array_equal(one.reset(seed=4)[0], first)
    assert (FunctionalJaxEnv(Swing()).rng != FunctionalJaxEnv(Swing()).rng).any()


def test_copies():
    env = FunctionalJaxEnv(Swing())
    env.reset(seed=0)
    others = copy.deepcopy(env), pickle.loads(pickle.dumps(env))
    expected = env.step(np.ones(1))
    for other in others:
        assert_same(other.step(np.ones(1)), expected)


def test_registered_and_wrapped():
    ludus.register(
        "tests/Swing-v0",
        entry_point=lambda **kwargs: FunctionalJaxEnv(Swing(), **kwargs),
        vector_entry_point=lambda num_envs, **kwargs: FunctionalJaxVectorEnv(
            Swing(), num_envs, **kwargs
        ),
        max_episode_steps=7,
        disable_env_checker=True,
    )
    try:
        env = ludus.wrappers.JaxToNumpy(ludus.make("tests/Swing-v0"))
        assert type(env.reset(seed=0)[0]) is np.ndarray
        assert type(env.step(np.zeros(1, np.float32))[0]) is np.ndarray
        envs = ludus.make_vec("tests/Swing-v0", 3)
        assert (type(envs), envs.time_limit) == (FunctionalJaxVectorEnv, 7)
    finally:
        del ludus.registry["tests/Swing-v0"]


class KernelOnly(KernelFuncEnv):
    """Functions of a kernel that have no twin in JAX."""

    kernel = CARTPOLE


def test_functions_of_kernels():
    env = FunctionalJaxEnv(KernelOnly())
    first, _ = env.reset(seed=1)
    assert env.observation_space.contains(first)
    assert env.step(1)[1:] == (1.0, False, False, {})
    seen = env.step(0)[0]
    env.reset(seed=1)
    env.step(1)
    np.testing.assert_array_equal(env.step(0)[0], seen)
    assert (env.reset()[0] != first).any()
    with pytest.raises(TypeError, match=r"KernelOnly.*kernel.*make_vec"):
        FunctionalJaxVectorEnv(KernelOnly(), 2)


def test_functions_of_kernels_that_have_a_twin_in_jax():
    env, envs = (
        FunctionalJaxEnv(CartPoleFunctional()),
        FunctionalJaxVectorEnv(CartPoleFunctional(), 2),
    )
    for made in (env, envs):
        first, _ = made.reset(seed=1)
        again, _ = made.reset(seed=1)
        assert isinstance(first, jax.Array)
        np.testing.assert_array_equal(first, again)
    assert env.step(1)[1:] == (1.0, False, False, {})
    assert envs.step(np.array([0, 1]))[1].tolist() == [1.0, 1.0]


def test_without_jax(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(DependencyNotInstalled, match=r"pip install 'ludus-gym\[jax\]'"):
        FunctionalJaxEnv(Swing())
    with pytest.raises(DependencyNotInstalled, match=r"pip install 'ludus-gym\[jax\]'"):
        FunctionalJaxVectorEnv(Swing(), 2)


def test_importing_the_module_does_not_import_jax():
    program = "import sys, ludus.envs.functional_jax_env; sys.exit('jax' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, env=dict(os.environ))


ALIASED = """
import inspect
from gymnasium.envs.functional_jax_env import FunctionalJaxEnv, FunctionalJaxVectorEnv, PRNGKeyType
import gymnasium, ludus.envs.functional_jax_env as ours
from gymnasium.experimental.functional import FuncEnv, StateType

assert gymnasium.__ludus__
assert FunctionalJaxEnv is ours.FunctionalJaxEnv
assert FunctionalJaxVectorEnv is ours.FunctionalJaxVectorEnv
assert issubclass(FunctionalJaxEnv[int].__origin__, gymnasium.Env)

class Own(FunctionalJaxEnv[StateType], gymnasium.utils.EzPickle):
    pass

print(gymnasium.envs.functional_jax_env.__name__)
"""


def test_served_under_gymnasiums_name(tmp_path):
    assert check_program(ALIASED, tmp_path) == "gymnasium.envs.functional_jax_env\n"
