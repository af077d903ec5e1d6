"""Atari games compared with ale-py's own environments, step by step."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

ale_py = pytest.importorskip("ale_py")
gymnasium = pytest.importorskip("gymnasium")

from ludus import wrappers as ludus_wrappers  # noqa: E402
from ludus.envs.atari.env import AtariEnv  # noqa: E402
from ludus.envs.atari.registration import MODERN, SPECS  # noqa: E402
from ludus.envs.atari.vector_env import AtariVectorEnv  # noqa: E402
from tests.envs.atari.sampling import GAMES_TRIED  # noqa: E402
from tests.reference.twins import assert_same  # noqa: E402
from tests.sampling import ALL  # noqa: E402

OPTIONS = {
    "defaults": {},
    "gray": {"obs_type": "grayscale", "full_action_space": True, "mode": 1, "difficulty": 2},
    "ram": {"obs_type": "ram", "frameskip": (2, 5)},
    "one frame": {"frameskip": 1, "repeat_action_probability": 0.0},
    "joystick": {"continuous": True, "continuous_action_threshold": 0.3},
    "sound": {"sound_obs": True, "max_num_frames_per_episode": 100},
    "drawn": {"render_mode": "rgb_array"},
}
PREPROCESSING = {
    "defaults": {},
    "sticky": {"sticky": 0.25, "noop_max": 5, "terminal_on_life_loss": True},
    "colours": {"grayscale_obs": False, "screen_size": (40, 50), "frame_skip": 2},
    "scaled": {"scale_obs": True, "grayscale_newaxis": True, "noop_max": 0},
}


def pair(**kwargs):
    return AtariEnv(**kwargs), ale_py.AtariEnv(**kwargs)


def assert_alike(ours, theirs, steps, seed=5):
    assert ours.action_space == _as_ours(theirs.action_space)
    assert_same(ours.reset(seed=seed), theirs.reset(seed=seed))
    ours.action_space.seed(1)
    for _ in range(steps):
        action = ours.action_space.sample()
        found, expected = ours.step(action), theirs.step(action)
        assert_same(found, expected)
        assert type(found[1]) is type(expected[1])
        if found[2] or found[3]:
            assert_same(ours.reset(), theirs.reset())


def _as_ours(space):
    from ludus.spaces import Box, Discrete

    if isinstance(space, gymnasium.spaces.Discrete):
        return Discrete(int(space.n))
    return Box(space.low, space.high, dtype=space.dtype.type)


@pytest.mark.parametrize("game", GAMES_TRIED)
def test_every_game(game):
    assert_alike(*pair(game=game), steps=200 if ALL else 12)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_options(options):
    ours, theirs = pair(game="pong", **options)
    assert_alike(ours, theirs, steps=500 if ALL else 40)
    assert ours.get_action_meanings() == theirs.get_action_meanings()
    assert ours.np_random_seed == theirs.np_random_seed
    if ours.render_mode:
        assert_same(ours.render(), theirs.render())
    if not ours.continuous:
        assert ours.get_keys_to_action() == theirs.get_keys_to_action()


@pytest.mark.parametrize("options", PREPROCESSING.values(), ids=PREPROCESSING)
def test_preprocessing(options):
    """The usual treatment and a stack of frames, over whole episodes of either library."""
    game = {"game": "breakout", "frameskip": 1, "max_num_frames_per_episode": 200}
    options = dict(options)
    game["repeat_action_probability"] = options.pop("sticky", 0.0)
    ours = ludus_wrappers.FrameStackObservation(
        ludus_wrappers.AtariPreprocessing(AtariEnv(**game), **options), 4
    )
    theirs = gymnasium.wrappers.FrameStackObservation(
        gymnasium.wrappers.AtariPreprocessing(ale_py.AtariEnv(**game), **options), 4
    )
    assert ours.observation_space.shape == theirs.observation_space.shape
    assert ours.observation_space.dtype == theirs.observation_space.dtype
    assert_alike(ours, theirs, steps=1000 if ALL else 100)


def test_actions_of_the_joystick():
    for push in itertools.product((-1, 0, 1), (-1, 0, 1), (False, True)):
        assert AtariEnv.map_action_idx(*push) == ale_py.AtariEnv.map_action_idx(*push)


def test_whole_games():
    assert_alike(
        *pair(game="breakout", frameskip=7, full_action_space=True), steps=1000 if ALL else 300
    )


@pytest.mark.parametrize(
    "options",
    [
        {"obs_type": "smell"},
        {"frameskip": 0},
        {"frameskip": 2.0},
        {"frameskip": (1, 2, 3)},
        {"frameskip": (4, 4)},
        {"frameskip": (0, 4)},
        {"render_mode": "ansi"},
    ],
)
def test_refused_options(options):
    with pytest.raises(gymnasium.error.Error) as expected:
        ale_py.AtariEnv(game="pong", **options)
    from ludus.errors import Error

    with pytest.raises(Error) as found:
        AtariEnv(game="pong", **options)
    assert str(found.value).split()[0] == str(expected.value).split()[0] or "render" in str(found)


def test_ids_and_their_options_are_theirs():
    ours = {spec.id: spec for spec in SPECS}
    theirs = {
        spec.id: spec
        for spec in gymnasium.registry.values()
        if spec.entry_point == "ale_py.env:AtariEnv"
    }
    assert set(theirs) <= set(ours)
    assert {spec.id for spec in MODERN} == {id for id in theirs if id.startswith("ALE/")}
    for id, spec in theirs.items():
        assert ours[id].kwargs == spec.kwargs
        assert ours[id].max_episode_steps == spec.max_episode_steps
        assert (ours[id].vector_entry_point is None) == (spec.vector_entry_point is None)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"autoreset_mode": "SameStep", "max_num_frames_per_episode": 100},
        {"grayscale": False, "stack_num": 2, "img_height": 40, "img_width": 50, "frameskip": 2},
        {
            "continuous": True,
            "repeat_action_probability": 0.25,
            "reward_clipping": False,
            "episodic_life": True,
            "noop_max": 3,
            "use_fire_reset": False,
            "num_threads": 1,
        },
    ],
)
def test_batches(options):
    ours = AtariVectorEnv("breakout", 2, **options)
    theirs = ale_py.AtariVectorEnv("breakout", 2, **options)
    assert ours.observation_space.shape == theirs.observation_space.shape
    assert ours.metadata["autoreset_mode"].value == theirs.metadata["autoreset_mode"].value
    assert_same(ours.reset(seed=3), theirs.reset(seed=3))
    theirs.action_space.seed(2)
    for _ in range(200 if ALL else 28):
        actions = theirs.action_space.sample()
        found, expected = ours.step(actions), theirs.step(actions)
        assert_same(found, expected)
    ours.close()


def test_batches_start_again():
    ours, theirs = AtariVectorEnv("breakout", 2), ale_py.AtariVectorEnv("breakout", 2)
    assert_same(ours.map_action_idx, theirs.map_action_idx)
    seeds = np.array([7, 8])
    assert_same(ours.reset(seed=seeds), theirs.reset(seed=seeds))
    mask = {"reset_mask": np.array([True, False])}
    assert_same(ours.reset(seed=1, options=mask), theirs.reset(seed=1, options=mask))
    ours.close()


@pytest.fixture(scope="module")
def batches():
    return AtariVectorEnv("pong", 3), ale_py.AtariVectorEnv("pong", 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda envs: envs.reset(seed="x"),
        lambda envs: envs.reset(seed=np.arange(2)),
        lambda envs: envs.reset(options={"reset_mask": [True, True, True]}),
        lambda envs: envs.reset(options={"reset_mask": np.ones(2, bool)}),
        lambda envs: envs.step([0, 0, 0]),
        lambda envs: envs.step(np.zeros(2, np.int64)),
    ],
)
def test_refused_by_batches(call, batches):
    ours, theirs = batches
    with pytest.raises((TypeError, ValueError, AssertionError)) as expected:
        call(theirs)
    with pytest.raises(expected.type):
        call(ours)
