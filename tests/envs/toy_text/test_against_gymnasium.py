"""The games beside Gymnasium's: same seeds and actions, same everything."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from tests.envs.toy_text.support import BY_ID, make

CASES = [
    *((env_id, {}) for env_id in BY_ID if env_id in gymnasium.registry),
    ("FrozenLake-v1", {"is_slippery": False}),
    ("FrozenLake-v1", {"success_rate": 0.85, "reward_schedule": (10, -3, -0.25)}),
    ("FrozenLake-v1", {"desc": ["SFHF", "FFSF", "XFFG"]}),
    ("FrozenLake8x8-v1", {"success_rate": 1.0}),
    ("Taxi-v4", {"is_rainy": True}),
    ("Taxi-v4", {"is_rainy": True, "rainy_probability": 0.5}),
    ("Taxi-v4", {"fickle_passenger": True}),
    ("Taxi-v4", {"is_rainy": True, "fickle_passenger": True, "fickle_probability": 1.0}),
    ("Blackjack-v1", {"sab": False}),
    ("Blackjack-v1", {"sab": False, "natural": True}),
]
NAMES = [f"{env_id}-{'-'.join(kwargs)}" for env_id, kwargs in CASES]


def equal_infos(ours, theirs):
    assert list(ours) == list(theirs)
    for key, value in theirs.items():
        np.testing.assert_array_equal(ours[key], value)
        if isinstance(value, np.ndarray):
            assert ours[key].dtype == value.dtype


def directed(env_id, theirs, info):
    """Return a random action; a taxi that never does the right thing would never deliver."""
    if env_id.startswith("Taxi"):
        return theirs.action_space.sample(info["action_mask"])
    return theirs.action_space.sample()


@pytest.mark.parametrize(("env_id", "kwargs"), CASES, ids=NAMES)
def test_trajectories_equal(env_id, kwargs):
    ours, theirs = make(env_id, **kwargs), gymnasium.make(env_id, **kwargs)
    theirs.action_space.seed(1)
    ended = 0
    for seed in range(20):
        a, b = ours.reset(seed=seed), theirs.reset(seed=seed)
        assert a[0] == b[0]
        assert type(a[0]) is type(b[0])
        equal_infos(a[1], b[1])
        info = b[1]
        for _ in range(300):
            action = directed(env_id, theirs, info)
            a, b = ours.step(action), theirs.step(action)
            assert a[:4] == b[:4]
            assert type(a[1]) in (type(b[1]), float)
            assert type(a[2]) is bool
            equal_infos(a[4], b[4])
            info = b[4]
            if b[2] or b[3]:
                ended += 1
                a, b = ours.reset(), theirs.reset()
                assert a[0] == b[0]
                info = b[1]
    assert ended or env_id.startswith("Cliff")


@pytest.mark.parametrize(("env_id", "kwargs"), CASES, ids=NAMES)
def test_specs_and_spaces_equal(env_id, kwargs):
    ours, theirs = make(env_id, **kwargs), gymnasium.make(env_id, **kwargs)
    for space in ("observation_space", "action_space"):
        assert repr(getattr(ours, space)) == repr(getattr(theirs, space))
    for field in ("max_episode_steps", "reward_threshold", "nondeterministic", "kwargs"):
        assert getattr(ours.spec, field) == getattr(theirs.spec, field)
    assert ours.metadata["render_modes"] == theirs.metadata["render_modes"]
    assert ours.metadata["render_fps"] == theirs.metadata["render_fps"]


@pytest.mark.parametrize(
    ("env_id", "kwargs"),
    [case for case in CASES if not case[0].startswith("Blackjack")],
    ids=[name for name in NAMES if not name.startswith("Blackjack")],
)
def test_tables_equal(env_id, kwargs):
    ours = make(env_id, **kwargs).unwrapped
    theirs = gymnasium.make(env_id, **kwargs).unwrapped
    assert theirs.P == ours.P
    np.testing.assert_array_equal(ours.initial_state_distrib, theirs.initial_state_distrib)
    for name in ("nrow", "ncol", "reward_range", "shape", "start_state_index", "locs", "max_row"):
        if hasattr(theirs, name):
            assert getattr(ours, name) == getattr(theirs, name)
    if hasattr(theirs, "desc"):
        np.testing.assert_array_equal(ours.desc, theirs.desc)


@pytest.mark.parametrize("env_id", ["FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"])
def test_texts_equal(env_id):
    ours = make(env_id, render_mode="ansi")
    theirs = gymnasium.make(env_id, render_mode="ansi")
    theirs.action_space.seed(3)
    for seed in range(10):
        ours.reset(seed=seed)
        _, info = theirs.reset(seed=seed)
        assert ours.render() == theirs.render()
        for _ in range(100):
            action = directed(env_id, theirs, info)
            ours.step(action)
            _, _, terminated, truncated, info = theirs.step(action)
            assert ours.render() == theirs.render()
            assert ours.unwrapped.s == theirs.unwrapped.s
            assert ours.unwrapped.lastaction == theirs.unwrapped.lastaction
            if terminated or truncated:
                break


@pytest.mark.filterwarnings("ignore:pkg_resources")
@pytest.mark.parametrize(
    "env_id", ["FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1", "Taxi-v4", "Blackjack-v1"]
)
def test_pictures_have_gymnasiums_shape(env_id, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    frames = []
    for env in (
        make(env_id, render_mode="rgb_array"),
        gymnasium.make(env_id, render_mode="rgb_array"),
    ):
        env.reset(seed=0)
        frames.append(env.render())
        env.close()
    assert frames[0].shape == frames[1].shape


def test_random_maps_equal():
    from gymnasium.envs.toy_text import frozen_lake as theirs

    from ludus.envs.toy_text import frozen_lake as ours

    assert dict(ours.MAPS) == theirs.MAPS
    for seed in range(30):
        for size, p in ((4, 0.5), (8, 0.8), (5, 1.5)):
            board = ours.generate_random_map(size, p, seed)
            assert board == theirs.generate_random_map(size, p, seed)
            assert ours.is_valid(board, size)
    for board in (["SH", "HG"], ["SF", "HG"], ["SFH", "HHF", "HFG"], ["SFF", "HHF", "GFF"]):
        assert ours.is_valid(board, len(board)) == theirs.is_valid(board, len(board))


def test_taxi_masks_and_coding_equal():
    ours, theirs = make("Taxi-v4").unwrapped, gymnasium.make("Taxi-v4").unwrapped
    for state in range(500):
        assert ours.decode(state) == theirs.decode(state)
        assert ours.encode(*ours.decode(state)) == state
        np.testing.assert_array_equal(ours.action_mask(state), theirs.action_mask(state))


def test_blackjack_cards_equal():
    ours, theirs = make("Blackjack-v1").unwrapped, gymnasium.make("Blackjack-v1").unwrapped
    names = ("player", "dealer", "dealer_top_card_suit", "dealer_top_card_value_str", "sab")
    for seed in range(200):
        ours.reset(seed=seed)
        theirs.reset(seed=seed)
        for action in (1, 1, 0):
            assert [getattr(ours, n) for n in names] == [getattr(theirs, n) for n in names]
            a, b = ours.step(action), theirs.step(action)
            assert a == b
            if a[2]:
                break


def test_categorical_sample():
    from gymnasium.envs.toy_text.utils import categorical_sample as theirs

    from ludus.envs.toy_text.utils import categorical_sample as ours

    a, b = np.random.default_rng(0), np.random.default_rng(0)
    for _ in range(50):
        assert ours([0.2, 0.0, 0.5, 0.3], a) == theirs([0.2, 0.0, 0.5, 0.3], b)
