"""The emulator's batches of games, compared with single games under the wrappers of Ludus."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("ale_py")
pytest.importorskip("cv2")

import ludus
from ludus.core import AutoresetMode
from ludus.envs.atari import AtariEnv, AtariVectorEnv
from ludus.envs.atari.batch_seeds import game_seeds
from ludus.envs.atari.games import game_title
from ludus.wrappers import AtariPreprocessing, FrameStackObservation
from tests.envs.atari.sampling import GAMES_TRIED
from tests.reference.twins import assert_same
from tests.sampling import ALL

PLAIN = {"noop_max": 0, "use_fire_reset": False, "reward_clipping": False}
FEW = ("breakout", "kaboom", "pong")
STEPS = 120 if ALL else 40


def single(game, sticky=0.0, frames=108_000, life=False):
    """Build the game that a batch without no-ops holds, seeds apart."""
    env = AtariEnv(
        game, frameskip=1, repeat_action_probability=sticky, max_num_frames_per_episode=frames
    )
    env = AtariPreprocessing(env, noop_max=0, terminal_on_life_loss=life)
    return FrameStackObservation(env, 4, padding_type="zero")


def start(env, seed):
    """Reset a single game so that its emulator has the seed that a batch gives to it."""
    game = env.unwrapped
    if game.ale.getFloat("repeat_action_probability") > 0:
        game.ale.setInt("random_seed", seed)
        game.load_game()
    return env.reset()


def assert_equal(found, number, expected):
    """Fail unless one game of a batch returned what the single game did."""
    observations, *arrays, infos = found
    assert_same(observations[number], expected[0])
    assert [array[number] for array in arrays] == list(expected[1:-1])
    for key, value in expected[-1].items():
        assert infos[key][number] == value


@pytest.mark.parametrize(
    ("game", "sticky"), [("pong", 0.0), *((game, 0.25) for game in (GAMES_TRIED if ALL else FEW))]
)
def test_a_batch_holds_preprocessed_single_games(game, sticky):
    seeds = [3, 9]
    # A batch does not count the frames that some cartridges need to start, an emulator does.
    frames = 100 if game in FEW else 108_000
    options = {"repeat_action_probability": sticky, "max_num_frames_per_episode": frames, **PLAIN}
    envs = ludus.make_vec(f"ALE/{game_title(game)}-v5", 2, **options)
    assert isinstance(envs, AtariVectorEnv)
    singles = [single(game, sticky, frames=frames) for _ in seeds]
    found = envs.reset(seed=seeds)
    for i, env in enumerate(singles):
        assert env.observation_space == envs.single_observation_space
        assert env.action_space == envs.single_action_space
        assert_equal(found, i, start(env, seeds[i]))
    envs.action_space.seed(1)
    over = [False, False]
    for _ in range(STEPS):
        actions = envs.action_space.sample()
        found = envs.step(actions)
        for i, env in enumerate(singles):
            if over[i]:
                observation, info = env.reset()
                expected = observation, 0.0, False, False, info
            else:
                expected = env.step(int(actions[i]))
            assert_equal(found, i, expected)
            over[i] = expected[2] or expected[3]
    envs.close()


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_autoreset_modes(mode):
    options = {"max_num_frames_per_episode": 60, "episodic_life": True, **PLAIN}
    envs = AtariVectorEnv("breakout", 2, autoreset_mode=mode, **options)
    assert envs.metadata["autoreset_mode"] is mode
    singles = [single("breakout", frames=60, life=True) for _ in range(2)]
    found = envs.reset(seed=1)
    for i, env in enumerate(singles):
        assert_equal(found, i, start(env, 1 + i))
    envs.action_space.seed(7)
    over, ended = np.zeros(2, bool), 0
    for _ in range(70):
        actions = envs.action_space.sample()
        found = envs.step(actions)
        for i, env in enumerate(singles):
            if over[i] and mode is AutoresetMode.NEXT_STEP:
                observation, info = env.reset()
                assert_equal(found, i, (observation, 0.0, False, False, info))
                over[i] = False
                continue
            expected = env.step(int(actions[i]))
            over[i] = expected[2] or expected[3]
            if over[i] and mode is AutoresetMode.SAME_STEP:
                assert "_final_obs" not in found[4]  # as in ale-py
                assert_same(found[4]["final_obs"][i], expected[0])
                observation, info = env.reset()
                expected = observation, *expected[1:4], info
            assert_equal(found, i, expected)
        ended += over.sum()
        if mode is AutoresetMode.DISABLED and over.any():
            found = envs.reset(options={"reset_mask": over})
            for i in np.flatnonzero(over):
                assert_equal(found, i, singles[i].reset())
    assert ended > 3


def test_make_vec_takes_the_same_ids_and_options():
    envs = ludus.make_vec("ALE/Pong-v5", 2, num_threads=1, full_action_space=True, compile="wait")
    assert isinstance(envs, AtariVectorEnv)
    assert envs.observation_space.shape == (2, 4, 84, 84)
    assert envs.single_action_space.n == 18
    again = ludus.make_vec(envs.spec)
    assert isinstance(again, AtariVectorEnv)
    assert again.num_envs == 2
    classic = ludus.make_vec("Pong-ram-v4", 2)
    assert classic.reset(seed=1)[0].shape == (2, 128)


def test_seeds_decide_alone():
    def run(envs, seed):
        envs.action_space.seed(4)
        results = [envs.reset(seed=seed)]
        return results + [envs.step(envs.action_space.sample()) for _ in range(8)]

    first, second = (
        AtariVectorEnv("breakout", 2, repeat_action_probability=0.25, num_threads=threads)
        for threads in (1, 2)
    )
    expected = run(first, 5)
    assert_same(run(second, [5, 6]), expected)
    with pytest.raises(AssertionError):
        assert_same(run(first, 6), expected)


def test_seeds_of_games():
    for seed in (5, [5, 6], (5, 6), np.array([5, 6])):
        assert game_seeds(seed, 2).tolist() == [5, 6]
    assert game_seeds(None, 2).tolist() == [-1, -1]
    large = game_seeds(2**31 - 1, 3)
    assert large[0] == 2**31 - 1
    assert len(set(large.tolist())) == 3
    assert (large >= 0).all()
    assert (game_seeds(2**31 - 1, 3) == large).all()


def test_a_reset_drops_results_that_nobody_received():
    envs = AtariVectorEnv("pong", 2)
    first = envs.reset(seed=1)
    envs.send(np.zeros(2, np.int64))
    assert_same(envs.reset(seed=1), first)
    assert (envs.step(np.zeros(2, np.int64))[4]["episode_frame_number"] > 0).all()


def test_smaller_batches_come_as_games_are_ready():
    envs = AtariVectorEnv("pong", 4, batch_size=2)
    seen, (observations, infos) = set(), envs.reset(seed=1)
    for _ in range(1000):  # a busy machine may keep one game waiting
        assert observations.shape == (2, 4, 84, 84)
        seen |= set(infos["env_id"].tolist())
        if len(seen) == 4:
            break
        envs.send(np.zeros(2, np.int64))
        observations, *_, infos = envs.recv()
    assert seen == {0, 1, 2, 3}
    assert envs.reset(seed=1)[0].shape == (2, 4, 84, 84)


def test_a_mask_may_name_no_game():
    envs = AtariVectorEnv("pong", 2)
    first, _ = envs.reset(seed=1)
    assert_same(envs.reset(options={"reset_mask": np.zeros(2, bool)})[0], first)


def test_wrappers_of_batches():
    envs = ludus.make_vec("ALE/Breakout-v5", 2, max_num_frames_per_episode=40)
    envs = ludus.wrappers.vector.RecordEpisodeStatistics(envs)
    envs.reset(seed=1)
    infos = [envs.step(np.zeros(2, np.int64))[4] for _ in range(30)]
    assert any("episode" in info for info in infos)
