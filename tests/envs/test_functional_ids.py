"""Gymnasium's functional environments beside ours: same specs and spaces, same dynamics.

Theirs draw from JAX's generator, whose numbers cannot be had from NumPy's; so they are compared
step by step from common states, and where cards are drawn, with the cards that theirs drew.
"""

from __future__ import annotations

import dataclasses
import importlib
import sys
import types
import warnings

import gymnasium
import numpy as np
import pytest

import ludus
from ludus.core.vector_env import AutoresetMode
from ludus.envs.tabular.cliffwalking import CliffWalkingJaxEnv
from ludus.envs.toy_text.blackjack import State as Cards
from ludus.envs.toy_text.blackjack import hand_of
from ludus.errors import InvalidAction
from tests.envs.foreign import foreign_specs
from tests.envs.states import put
from tests.envs.toy_text.support import Script

jax = pytest.importorskip("jax")

IDS = sorted(
    env_id for env_id, spec in foreign_specs().items() if spec.namespace in ("phys2d", "tabular")
)
# The two CartPoles differ in their specs only.
MOVING = ["phys2d/CartPole-v1", "phys2d/Pendulum-v0"]
# Theirs compute in single precision, ours in double.
CLOSE = {"rtol": 2e-6, "atol": 2e-6}


@pytest.fixture(autouse=True)
def flax(monkeypatch):
    """Stand in for the one thing Gymnasium needs of flax, unless it is installed."""
    try:
        import flax  # noqa: F401
    except ImportError:
        package, struct = types.ModuleType("flax"), types.ModuleType("flax.struct")
        struct.dataclass = dataclasses.dataclass(frozen=True)
        package.struct = struct
        monkeypatch.setitem(sys.modules, "flax", package)
        monkeypatch.setitem(sys.modules, "flax.struct", struct)


def make(library, env_id, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return library.make(env_id, **kwargs)


def test_all_ids_are_there():
    assert len(IDS) == 5
    assert set(IDS) <= set(ludus.registry)


@pytest.mark.parametrize("env_id", IDS)
def test_specs_and_spaces(env_id):
    ours, theirs = make(ludus, env_id), make(gymnasium, env_id)
    for space in ("observation_space", "action_space"):
        assert repr(getattr(ours, space)) == repr(getattr(theirs, space))
    for name in (
        "max_episode_steps",
        "reward_threshold",
        "nondeterministic",
        "order_enforce",
        "disable_env_checker",
        "kwargs",
    ):
        assert getattr(ours.spec, name) == getattr(theirs.spec, name)
    assert type(ours.unwrapped).__name__ == type(theirs.unwrapped).__name__
    assert ours.metadata["render_modes"] == theirs.metadata["render_modes"]
    assert ours.metadata["render_fps"] == theirs.metadata["render_fps"]
    # Downstream code asks this to learn whether observations are JAX arrays.
    assert not ours.metadata["jax"]


@pytest.mark.parametrize("env_id", IDS)
def test_forms_of_what_is_returned(env_id):
    env = make(ludus, env_id)
    env.action_space.seed(0)
    seen, info = env.reset(seed=1)
    for _ in range(20):
        assert type(seen) is np.ndarray
        assert env.observation_space.contains(seen)
        assert info == {}
        seen, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert [type(x) for x in (reward, terminated, truncated)] == [float, bool, bool]
        if terminated:
            env.reset()


@pytest.mark.parametrize("env_id", IDS)
def test_arguments(env_id):
    make(ludus, env_id, options={"colour": "red"})
    assert make(ludus, env_id, options={"note": 3}).unwrapped.func_env.note == 3
    with pytest.raises(TypeError, match="unexpected keyword"):
        make(ludus, env_id, sutton_barto_reward=True)


@pytest.mark.parametrize("env_id", MOVING)
def test_steps_from_common_states(env_id):
    ours, theirs = make(ludus, env_id).unwrapped, make(gymnasium, env_id).unwrapped
    ours.action_space.seed(2)
    ends = 0
    for seed in range(3):
        ours.reset(seed=seed)
        theirs.reset(seed=seed)
        for _ in range(60):
            ours.state = [float(x) for x in theirs.state]
            action = ours.action_space.sample()
            a, b = ours.step(action), theirs.step(action)
            np.testing.assert_allclose(a[0], b[0], **CLOSE)
            assert a[0].dtype == b[0].dtype
            assert a[1] == pytest.approx(b[1], rel=1e-5, abs=1e-5)
            assert a[2:] == b[2:]
            ends += a[2]
    # Steps beyond the end pay, too, as they do there.
    assert ends > 0 or "Pendulum" in env_id


@pytest.mark.parametrize("env_id", MOVING)
def test_many_states_at_once(env_id):
    count = 2000
    theirs = make(gymnasium, env_id).unwrapped.func_env
    ours = ludus.make_vec(env_id, count, autoreset_mode="Disabled", max_episode_steps=None)
    rng = np.random.default_rng(0)
    wide = [2.6, 3.0, 0.25, 3.0] if "CartPole" in env_id else [10.0, 8.0]
    states = rng.uniform(-1, 1, (count, len(wide))).astype(np.float32) * np.float32(wide)
    ours.action_space.seed(0)
    actions = ours.action_space.sample()
    ours.reset(seed=0)
    put(ours, **dict(zip(ours.env.kernel.state._fields, states.T, strict=True)))
    seen, rewards, ended, _, _ = ours.step(actions)

    def step(state, action):
        after = theirs.transition(state, action, None)
        told = theirs.reward(state, action, after, None)
        return theirs.observation(after, None), told, theirs.terminal(after, None)

    expected, pay, over = jax.jit(jax.vmap(step))(states, actions)
    np.testing.assert_allclose(seen, expected, **CLOSE)
    np.testing.assert_allclose(rewards, pay, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(ended, np.broadcast_to(over, count))


def test_a_weaker_motor():
    options = {"max_torque": 0.5}
    ours = make(ludus, "phys2d/Pendulum-v0", options=options).unwrapped
    theirs = make(gymnasium, "phys2d/Pendulum-v0", options=options).unwrapped
    assert repr(ours.action_space) == repr(theirs.action_space)
    ours.reset(seed=0)
    theirs.reset(seed=0)
    for torque in (-2.0, 0.3, 1.0):
        ours.state = [float(x) for x in theirs.state]
        action = np.array([torque], np.float32)
        a, b = ours.step(action), theirs.step(action)
        np.testing.assert_allclose(a[0], b[0], **CLOSE)
        assert a[1] == pytest.approx(b[1], rel=1e-5)


def cards_as_ours(state):
    """Return their hands as our state, and the cards."""
    both = np.array([state.player_hand, state.dealer_hand], int)
    hands = [hand[hand > 0].tolist() for hand in both]
    player, dealer = hand_of(hands[0]), hand_of(hands[1])
    return Cards(*player, *dealer, hands[1][0], 3, 0, 0.0, False), hands


def test_blackjack_with_their_cards():
    ours = make(ludus, "tabular/Blackjack-v0").unwrapped.func_env
    theirs = make(gymnasium, "tabular/Blackjack-v0").unwrapped
    rng = np.random.default_rng(3)
    outcomes = set()
    for seed in range(40):
        seen, _ = theirs.reset(seed=seed)
        assert seen.dtype == np.int32
        over = False
        while not over:
            state, hands = cards_as_ours(theirs.state)
            np.testing.assert_array_equal(ours.observation(state), seen)
            action = int(rng.integers(2))
            seen, reward, over, _, _ = theirs.step(action)
            _, after = cards_as_ours(theirs.state)
            which = 0 if action == 1 else 1
            drawn = Script(*after[which][len(hands[which]) :])
            following = ours.transition(state, action, drawn)
            assert drawn.draws == []
            np.testing.assert_array_equal(ours.observation(following), seen)
            assert ours.reward(state, action, following) == reward
            assert ours.terminal(following) == over
            outcomes.add((action, reward))
    assert outcomes == {(1, 0.0), (1, -1.0), (0, -1.0), (0, 0.0), (0, 1.0)}


def test_every_step_of_the_cliff():
    from gymnasium.envs.tabular.cliffwalking import CliffWalkingFunctional, EnvState

    theirs, ours = CliffWalkingFunctional(), CliffWalkingJaxEnv()
    ours.reset(seed=0)

    def step(cell, action):
        place = jax.numpy.array([cell // 12, cell % 12])
        after = theirs.transition(EnvState(place, -1, False), action, None)
        pay = theirs.reward(None, action, after, None)
        return theirs.observation(after), pay, theirs.terminal(after)

    cells, actions = (grid.ravel() for grid in np.meshgrid(np.arange(48), np.arange(4)))
    answers = jax.jit(jax.vmap(step))(cells, actions[:, None].astype(np.int32))
    expected = [np.asarray(part) for part in answers]
    for k, (cell, action) in enumerate(zip(cells, actions, strict=True)):
        ours.s = int(cell)
        seen, reward, terminated, _, _ = ours.step(np.array([action], np.int32))
        assert (seen, reward, terminated) == tuple(part[k] for part in expected)
        assert ours.lastaction == action


@pytest.mark.parametrize("action", [4, [4], [-1], [1.0], [0, 1], "left"])
def test_bad_directions(action):
    env = CliffWalkingJaxEnv()
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match="expected whole numbers"):
        env.step(np.array(action) if not isinstance(action, str) else action)
    envs = ludus.make_vec("tabular/CliffWalking-v0", 2)
    envs.reset(seed=0)
    with pytest.raises(InvalidAction):
        envs.step(np.array([[3], [4]]))


@pytest.mark.parametrize("env_id", IDS)
def test_functions_are_pure_and_step_like_the_environment(env_id):
    env = make(ludus, env_id).unwrapped
    functions = env.func_env
    seen, _ = env.reset(seed=4)
    rng = ludus.seeding.np_random(4)[0]
    state = functions.initial(rng)
    np.testing.assert_array_equal(state, env.state)
    env.action_space.seed(1)
    for _ in range(30):
        np.testing.assert_array_equal(functions.observation(state), seen)
        action = env.action_space.sample()
        before = tuple(state)
        following = functions.transition(state, action, rng)
        assert tuple(state) == before
        seen, reward, terminated, _, _ = env.step(action)
        assert functions.reward(state, action, following) == reward
        assert functions.terminal(following) == terminated
        assert functions.transition_info(state, action, following) == {}
        state = following
        if terminated:
            break


def test_functions_of_a_kernel_with_arrays():
    from ludus.envs.grid.breakout import BreakoutEnv
    from ludus.experimental.kernel_functional import KernelFuncEnv

    env = BreakoutEnv()

    class Breakout(KernelFuncEnv):
        kernel = BreakoutEnv.kernel

        def get_default_params(self):
            return env.params

    functions, rng = Breakout(), ludus.seeding.np_random(0)[0]
    seen, _ = env.reset(seed=0)
    state = functions.initial(rng)
    for action in [1, 3, 3, 0, 1, 1, 3] * 8:
        np.testing.assert_array_equal(functions.observation(state), seen)
        bricks = state.bricks.copy()
        following = functions.transition(state, action, rng)
        np.testing.assert_array_equal(state.bricks, bricks)
        seen, reward, terminated, _, _ = env.step(action)
        assert functions.reward(state, action, following) == reward
        state = following
        if terminated:
            return


@pytest.mark.parametrize("env_id", IDS)
def test_pictures(env_id, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with make(ludus, env_id, render_mode="rgb_array") as env:
        env.reset(seed=0)
        env.action_space.seed(0)
        env.step(env.action_space.sample())
        frame = env.render()
    assert frame.dtype == np.uint8
    assert len(np.unique(frame.reshape(-1, 3), axis=0)) >= 3


FUNCTIONS = {
    "phys2d.cartpole:CartPoleFunctional": "phys2d/CartPole-v1",
    "phys2d.pendulum:PendulumFunctional": "phys2d/Pendulum-v0",
    "tabular.blackjack:BlackjackFunctional": "tabular/Blackjack-v0",
    "tabular.cliffwalking:CliffWalkingFunctional": "tabular/CliffWalking-v0",
}


def both(place):
    """Return a class of ours and Gymnasium's of the same name."""
    module, _, name = place.partition(":")
    packages = (f"{library}.envs.{module}" for library in ("ludus", "gymnasium"))
    return [getattr(importlib.import_module(package), name) for package in packages]


@pytest.mark.parametrize("place", FUNCTIONS)
def test_functions_in_jax_are_those_of_gymnasium(place):
    ours, theirs = (cls() for cls in both(place))
    # Theirs take no key here.
    keyless = "cliffwalking" in place
    actions = ours.action_space
    actions.seed(3)
    for seed in range(6):
        key = jax.random.PRNGKey(seed)
        states = [functions.initial(key) for functions in (ours, theirs)]
        for step in range(12):
            jax.tree.map(
                lambda a, b: np.testing.assert_allclose(a, b, **CLOSE), *map(tuple_of, states)
            )
            key = jax.random.fold_in(key, step)
            action = actions.sample()
            following = [
                f.transition(s, action, key) for f, s in zip((ours, theirs), states, strict=True)
            ]
            given = zip((ours, theirs), states, following, strict=True)
            rest = [[], [] if keyless else [key]]
            told = [
                (f.observation(n, *k), f.reward(s, action, n, *k), f.terminal(n, *k))
                for (f, s, n), k in zip(given, rest, strict=True)
            ]
            for mine, other in zip(*told, strict=True):
                np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-5)
                assert mine.dtype == np.asarray(other).dtype or other is False
            assert isinstance(told[0][0], jax.Array)
            states = following
            if told[0][2]:
                break


def tuple_of(state):
    return tuple(state) if isinstance(state, tuple) else (state,)


@pytest.mark.parametrize("place", FUNCTIONS)
def test_functions_in_jax_can_be_compiled_and_batched(place):
    plain, batched = both(place)[0](), both(place)[0]()
    batched.transform(jax.vmap)
    batched.transform(jax.jit)
    keys = jax.random.split(jax.random.PRNGKey(1), 5)
    state = batched.initial(keys)
    plain.action_space.seed(0)
    actions = np.array([plain.action_space.sample() for _ in range(5)])
    following = batched.transition(state, actions, keys)
    rewards = batched.reward(state, actions, following, keys)
    ends, seen = batched.terminal(following, keys), batched.observation(following, keys)
    for row in range(5):
        before = plain.initial(keys[row])
        after = plain.transition(before, actions[row], keys[row])
        np.testing.assert_allclose(seen[row], plain.observation(after), **CLOSE)
        np.testing.assert_allclose(rewards[row], plain.reward(before, actions[row], after), **CLOSE)
        assert bool(ends[row]) == bool(plain.terminal(after))
    assert (rewards.dtype, ends.dtype) == (np.float32, np.bool_)


def test_rules_of_the_house_in_jax():
    functions = both("tabular.blackjack:BlackjackFunctional")[0]()
    natural = functions.get_default_params(natural=True, sab=False)
    cards = jax.numpy.zeros(21)
    dealt = functions.initial(jax.random.PRNGKey(0))._replace(
        player_hand=cards.at[:2].set(jax.numpy.array([1.0, 10.0])),
        dealer_hand=cards.at[:2].set(jax.numpy.array([10.0, 8.0])),
    )
    stood = functions.transition(dealt, 0, jax.random.PRNGKey(1))
    assert float(functions.reward(dealt, 0, stood)) == 1.0
    assert float(functions.reward(dealt, 0, stood, params=natural)) == 1.5


@pytest.mark.parametrize(
    "place", ["phys2d.cartpole:CartPoleJaxVectorEnv", "phys2d.pendulum:PendulumJaxVectorEnv"]
)
def test_vector_classes(place):
    ours, theirs = (cls(3, max_episode_steps=5) for cls in both(place))
    assert repr(ours.observation_space) == repr(theirs.observation_space)
    assert ours.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert ours.metadata["jax"]
    results = ours.reset(seed=7), theirs.reset(seed=7)
    ours.action_space.seed(0)
    cut = []
    for _ in range(5):
        for mine, other in zip(*results, strict=True):
            if not isinstance(mine, dict):
                assert isinstance(mine, jax.Array)
                np.testing.assert_allclose(mine, other, **CLOSE)
        action = ours.action_space.sample()
        results = ours.step(action), theirs.step(action)
        cut.append(results[0][3].tolist())
    assert cut == [[False] * 3] * 4 + [[True] * 3]
    ours.close()
