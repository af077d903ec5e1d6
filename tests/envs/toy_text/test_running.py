"""How the games run: modes of the engine, state, rendering, bad input."""

from __future__ import annotations

import copy
import subprocess
import sys

import numpy as np
import pytest

from ludus.classic.from_ludus import classic_generator
from ludus.core.spec import EnvSpec
from ludus.envs.toy_text.frozen_lake import generate_random_map
from ludus.errors import InvalidAction, ResetNeeded
from tests.envs.toy_text.support import BY_ID, make

KERNELS = {
    spec.entry_point: env_id
    for env_id, spec in BY_ID.items()
    if spec.vector_entry_point is not None
}.values()
DRAWN = ["FrozenLake-v1", "CliffWalking-v1", "Taxi-v4", "Blackjack-v1"]


def trace(env, actions):
    seen = [env.reset(seed=11)]
    for action in actions:
        seen.append(env.step(action))
        if seen[-1][2] or seen[-1][3]:
            seen.append(env.reset())
    return repr(seen)


@pytest.mark.parametrize("env_id", KERNELS)
def test_plain_python_equals_compiled(env_id, monkeypatch):
    env = make(env_id)
    env.action_space.seed(2)
    actions = [env.action_space.sample() for _ in range(300)]
    compiled = trace(env, actions)
    monkeypatch.setenv("LUDUS_JIT", "0")
    assert trace(make(env_id), actions) == compiled


@pytest.mark.parametrize("env_id", ["CliffWalkingSlippery-v1", "Taxi-v4", "Blackjack-v1"])
def test_vector_equals_single(env_id):
    vector = make(env_id).unwrapped.vector(
        num_envs=3, **BY_ID[env_id].kwargs, autoreset_mode="Disabled"
    )
    singles = [make(env_id).unwrapped for _ in range(3)]
    together, infos = vector.reset(seed=5)
    apart = [env.reset(seed=5 + i) for i, env in enumerate(singles)]
    for _ in range(30):
        for i, (observation, *_, info) in enumerate(apart):
            row = (
                tuple(part[i] for part in together) if isinstance(together, tuple) else together[i]
            )
            assert row == observation
            for key, value in info.items():
                np.testing.assert_array_equal(infos[key][i], value)
        actions = np.array([1, 0, 1])
        together, _, terminated, _, infos = vector.step(actions)
        apart = [env.step(int(a)) for env, a in zip(singles, actions, strict=True)]
        assert terminated.tolist() == [result[2] for result in apart]
        if terminated.any():
            break


@pytest.mark.parametrize("env_id", KERNELS)
def test_state_continues_the_episode(env_id):
    env = make(env_id).unwrapped
    env.reset(seed=4)
    env.action_space.seed(0)
    env.step(env.action_space.sample())
    saved = env.get_state()
    action = env.action_space.sample()
    after = repr(env.step(action))
    other = make(env_id).unwrapped
    other.set_state(saved)
    assert repr(other.step(action)) == after


def test_classic_random_numbers_are_drawn_from():
    env = make("Roulette-v0").unwrapped
    env.np_random = classic_generator(123)[0]
    env.reset()
    reference = classic_generator(123)[0]
    for _ in range(20):
        pocket = int(reference.integers(0, 37))
        expected = 1.0 if pocket and pocket % 2 else -1.0
        assert env.step(1)[1] == expected


def test_present_state_and_starts_can_be_set():
    env = make("FrozenLake-v1", is_slippery=False).unwrapped
    env.reset(seed=0)
    env.s = 14
    assert env.step(2)[:3] == (15, 1.0, True)
    assert env.lastaction == 2
    starts = np.zeros(16)
    starts[9] = 1.0
    env.initial_state_distrib = starts
    assert env.reset(seed=1)[0] == 9
    assert env.lastaction is None
    np.testing.assert_array_equal(env.isd, starts)
    with pytest.raises(ValueError, match="states run from 0 to 15"):
        env.s = 16
    with pytest.raises(ValueError, match="16 probabilities"):
        env.initial_state_distrib = np.ones(4)


def test_fickle_passengers_can_be_watched():
    env = make("Taxi-v4", fickle_passenger=True, fickle_probability=1.0).unwrapped
    assert not env.fickle_step
    env.reset(seed=0)
    assert env.fickle_step
    env.s = env.encode(2, 2, 4, 1)
    assert env.fickle_step
    observation = env.step(0)[0]
    assert env.decode(observation)[3] != 1
    assert not env.fickle_step


@pytest.mark.parametrize("env_id", DRAWN)
def test_pictures(env_id, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with make(env_id, render_mode="rgb_array") as env:
        assert env.unwrapped.render() is None
        env.reset(seed=1)
        first = env.render()
        env.step(1 if env_id.startswith("Blackjack") else 0)
        env.step(1)
        env.step(1)
        second = env.render()
    assert first.dtype == np.uint8
    assert len(np.unique(first.reshape(-1, 3), axis=0)) >= 5
    assert first.shape == second.shape
    assert (first != second).any()


@pytest.mark.parametrize("env_id", DRAWN)
def test_windows(env_id, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with make(env_id, render_mode="human") as env:
        env.reset(seed=0)
        env.step(0)
        assert env.render() is None
    with make(env_id) as env:
        env.reset(seed=0)
        with pytest.warns(UserWarning, match="without specifying any render mode"):
            assert env.render() is None


def test_a_drowned_walker_and_a_riding_passenger_are_drawn(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    lake = make("FrozenLake-v1", render_mode="rgb_array").unwrapped
    lake.reset(seed=0)
    taxi = make("Taxi-v4", render_mode="rgb_array").unwrapped
    taxi.reset(seed=0)
    for env, states in ((lake, (4, 5)), (taxi, (taxi.encode(2, 2, 0, 1), taxi.encode(2, 2, 4, 1)))):
        frames = []
        for env.s in states:
            frames.append(env.render())
        assert (frames[0] != frames[1]).any()


@pytest.mark.parametrize("env_id", ["KellyCoinflip-v0", "KellyCoinflipGeneralized-v0"])
def test_kelly_lines(env_id, capsys):
    env = make(env_id, render_mode="ansi")
    env.reset(seed=0)
    assert env.render().startswith("Current wealth: 25.0; Rounds left: ")
    env = make(env_id, render_mode="human")
    env.reset(seed=0)
    env.step(1)
    assert capsys.readouterr().out.count("Current wealth") == 2
    env = make(env_id)
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="without specifying any render mode"):
        assert env.render() is None


@pytest.mark.parametrize(
    ("env_id", "kwargs", "problem", "words"),
    [
        ("FrozenLake-v1", {"map_name": "5x5"}, KeyError, "no map '5x5'; choose one of 4x4, 8x8"),
        ("FrozenLake-v1", {"desc": ["SF", "FFG"]}, ValueError, "equal length"),
        ("FrozenLake-v1", {"desc": "SFFG"}, ValueError, "list of rows"),
        ("FrozenLake-v1", {"desc": []}, ValueError, "list of rows"),
        ("FrozenLake-v1", {"desc": ["FF", "FG"]}, ValueError, "start cell 'S'"),
        ("FrozenLake-v1", {"success_rate": 1.5}, ValueError, "success_rate .* got 1.5"),
        ("FrozenLake-v1", {"reward_schedule": (1, 0)}, ValueError, "three numbers"),
        ("Taxi-v4", {"rainy_probability": -0.1}, ValueError, "rainy_probability .* got -0.1"),
        ("Taxi-v4", {"fickle_probability": 2}, ValueError, "fickle_probability .* got 2"),
        ("NChain-v0", {"n": 0}, ValueError, "n is 0; expected an integer of at least 1"),
        ("NChain-v0", {"n": 2.5}, ValueError, "n is 2.5; expected an integer"),
        ("NChain-v0", {"slip": 7}, ValueError, "slip is a probability"),
        ("Roulette-v0", {"spots": 0}, ValueError, "spots is 0; expected an integer of at least 1"),
        ("KellyCoinflip-v0", {"edge": 60}, ValueError, "edge is a probability"),
        ("KellyCoinflip-v0", {"initial_wealth": 500.0}, ValueError, "max_wealth=250.0"),
        ("KellyCoinflip-v0", {"max_rounds": 0}, ValueError, "at least 1"),
        ("KellyCoinflipGeneralized-v0", {"edge_prior_beta": 0}, ValueError, "must be positive"),
        ("KellyCoinflip-v0", {"max_wealth": np.inf}, ValueError, "max_wealth must be finite"),
        ("KellyCoinflipGeneralized-v0", {"max_rounds_sd": -1}, ValueError, "not be negative"),
        ("KellyCoinflipGeneralized-v0", {"max_rounds_sd": np.nan}, ValueError, "got nan"),
        ("KellyCoinflipGeneralized-v0", {"max_wealth_m": np.inf}, ValueError, "finite, got inf"),
    ],
)
def test_bad_arguments(env_id, kwargs, problem, words):
    with pytest.raises(problem, match=words):
        make(env_id, **kwargs)


def test_bad_maps_and_cards_and_states():
    with pytest.raises(ValueError, match="at least 2"):
        generate_random_map(size=1)
    with pytest.raises(ValueError, match="p=0"):
        generate_random_map(p=0)
    taxi = make("Taxi-v4").unwrapped
    with pytest.raises(ValueError, match="from 0 to 499"):
        taxi.decode(500)
    cards = make("Blackjack-v1").unwrapped
    cards.reset(seed=0)
    with pytest.raises(ValueError, match="got 11"):
        cards.player = [11]
    with pytest.raises(ValueError, match="at least one card"):
        cards.dealer = []


def test_a_random_map_when_none_is_named():
    env = make("FrozenLake-v1", map_name=None)
    assert env.unwrapped.desc.shape == (8, 8)
    assert repr(env.observation_space) == "Discrete(64)"


@pytest.mark.parametrize("env_id", BY_ID)
def test_bad_actions(env_id):
    env = make(env_id).unwrapped
    with pytest.raises(ResetNeeded):
        env.step(env.action_space.sample())
    env.reset(seed=0)
    for action in ("left", None, -20_000, [1.0, 2.0]):
        with pytest.raises(InvalidAction, match="invalid"):
            env.step(action)


@pytest.mark.parametrize("env_id", DRAWN)
def test_copies_go_their_own_way(env_id, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = make(env_id, render_mode="rgb_array").unwrapped
    env.reset(seed=0)
    frame = env.render()
    twin = copy.deepcopy(env)
    np.testing.assert_array_equal(twin.render(), frame)
    before = repr(env.state)
    twin.reset(seed=3)
    twin.step(1)
    assert repr(env.state) == before


def test_specs_are_plain_data():
    for spec in BY_ID.values():
        assert EnvSpec.from_json(spec.to_json()) == spec


def test_reading_the_specs_loads_no_game():
    code = (
        "import sys, ludus.envs.toy_text.registration; "
        "print([m for m in sys.modules if m == 'numba' or m == 'pygame' "
        "or (m.startswith('ludus.envs.toy_text.') and not m.endswith('registration'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_names_of_the_package():
    from ludus.envs import toy_text

    for name in toy_text.__all__:
        assert getattr(toy_text, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'ChessEnv'"):
        toy_text.ChessEnv  # noqa: B018
