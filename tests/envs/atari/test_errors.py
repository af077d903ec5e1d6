"""What Atari games refuse, and what they say then."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("ale_py")

import ludus
from ludus.core import AutoresetMode
from ludus.envs.atari import AtariEnv, AtariVectorEnv
from ludus.errors import (
    AlreadyPendingCallError,
    ClosedEnvironmentError,
    DependencyNotInstalled,
    Error,
    InvalidAction,
    InvalidArgument,
    NoAsyncCallError,
    ResetNeeded,
    StateError,
)


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ale_py", None)
    for build in (
        lambda: AtariEnv("pong"),
        lambda: AtariVectorEnv("pong", 2),
        lambda: ludus.make("ALE/Pong-v5"),
        lambda: ludus.make_vec("ALE/Pong-v5", 2),
    ):
        with pytest.raises(DependencyNotInstalled, match=r"pip install 'ludus-gym\[atari\]'"):
            build()


@pytest.mark.parametrize("build", [AtariEnv, lambda game: AtariVectorEnv(game, 2)])
@pytest.mark.parametrize(
    ("game", "hint"),
    [
        ("MsPacman", "Did you mean: `ms_pacman`"),
        ("braekout", "Did you mean: `breakout`"),
        ("chess", "snake_case"),
    ],
)
def test_unknown_games(build, game, hint):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(Error, match=hint):
            build(game)


def test_unknown_ids():
    with pytest.raises(Error, match="Did you mean: `Breakout`"):
        ludus.make("ALE/Braekout-v5")


def test_missing_and_damaged_cartridges(monkeypatch, tmp_path):
    monkeypatch.setenv("ALE_ROMS_DIR", str(tmp_path / "nowhere"))
    with pytest.raises(Error, match="ALE_ROMS_DIR"):
        AtariEnv("pong")
    monkeypatch.setenv("ALE_ROMS_DIR", str(tmp_path))
    with pytest.raises(Error, match=r"pong\.bin"):
        AtariEnv("pong")
    (tmp_path / "pong.bin").write_bytes(b"no game")
    with pytest.raises(Error, match="hash"):
        AtariEnv("pong")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"mode": 77}, r"mode: 77. Expecting one of \[0, 1\]"),
        ({"mode": "hard"}, "mode: 'hard'"),
        ({"difficulty": 9}, "difficulty: 9. Expecting one of"),
        ({"obs_type": "smell"}, "observation type: 'smell'. Expecting one of .*'grayscale'"),
        ({"render_mode": "ansi"}, "render mode: 'ansi'"),
        ({"frameskip": "4"}, "pass a positive int"),
        ({"repeat_action_probability": 1.5}, "from 0 to 1"),
        ({"repeat_action_probability": "often"}, "from 0 to 1"),
        ({"max_num_frames_per_episode": -1}, "from 0"),
        ({"max_num_frames_per_episode": 1.5}, "pass an int"),
        ({"full_action_space": "yes"}, "True or False"),
    ],
)
def test_wrong_options(options, says):
    with pytest.raises(Error, match=says):
        AtariEnv("pong", **options)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"num_envs": 0}, Error),
        ({"batch_size": 4}, Error),
        ({"batch_size": -1}, Error),
        ({"frameskip": (2, 5)}, InvalidArgument),
        ({"img_height": 0}, Error),
        ({"img_width": "84"}, InvalidArgument),
        ({"max_num_frames_per_episode": 0}, Error),
        ({"noop_max": -1}, Error),
        ({"num_threads": True}, InvalidArgument),
        ({"repeat_action_probability": 2}, Error),
        ({"stack_num": 0}, Error),
        ({"grayscale": 3}, InvalidArgument),
        ({"autoreset_mode": "Never"}, ValueError),
        ({"autoreset_mode": "Disabled", "life_loss_info": True}, Error),
        ({"autoreset_mode": "Disabled", "batch_size": 1}, Error),
    ],
)
def test_wrong_options_of_batches(options, kind):
    with pytest.raises(kind):
        AtariVectorEnv("pong", **{"num_envs": 3, **options})


def test_wrong_actions():
    env = AtariEnv("pong")
    env.reset(seed=1)
    for action in (6, -1, 1.5, "up", None, [1, 2]):
        with pytest.raises(InvalidAction, match=r"invalid; expected an integer from 0 to 5\."):
            env.step(action)
    env = AtariEnv("pong", continuous=True)
    env.reset(seed=1)
    with pytest.raises(InvalidAction, match="float32"):
        env.step(np.zeros(3))
    with pytest.raises(InvalidAction, match="NaN"):
        env.step(np.array([1, np.nan, 0], np.float32))
    with pytest.raises(LookupError, match="-1, 0 or 1"):
        env.map_action_idx(2, 0, False)


def test_render_needs_a_mode():
    with pytest.raises(Error, match="render_mode="):
        AtariEnv("pong").render()


def test_a_window_without_a_display_is_mentioned(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    from ludus.envs.atari.window import warn_without_display

    with pytest.warns(UserWarning, match="no display"):
        warn_without_display()


def test_calls_out_of_order_do_not_wait_forever():
    envs = AtariVectorEnv("pong", 2)
    noop = np.zeros(2, np.int64)
    with pytest.raises(ResetNeeded):
        envs.step(noop)
    with pytest.raises(NoAsyncCallError):
        envs.recv()
    envs.reset(seed=1)
    with pytest.raises(NoAsyncCallError):
        envs.recv()
    envs.send(noop)
    with pytest.raises(AlreadyPendingCallError):
        envs.send(noop)
    with pytest.raises(InvalidAction, match="from 0 to 5"):
        envs.recv(), envs.step(np.array([6, 0]))
    with pytest.raises(StateError, match="sync"):
        envs.get_state()
    envs.close()
    with pytest.raises(ClosedEnvironmentError):
        envs.step(noop)


def test_finished_games_wait_for_a_reset_when_nothing_else_resets_them():
    envs = AtariVectorEnv(
        "pong", 2, autoreset_mode=AutoresetMode.DISABLED, max_num_frames_per_episode=4, noop_max=0
    )
    envs.reset(seed=1)
    noop = np.zeros(2, np.int64)
    assert envs.step(noop)[3].all()
    with pytest.raises(ResetNeeded, match=r"\[0, 1\]"):
        envs.step(noop)
    envs.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(ResetNeeded, match=r"\[1\]"):
        envs.step(noop)


def test_masks_need_a_reset_before():
    mask = {"reset_mask": np.array([True, False])}
    with pytest.raises(ResetNeeded, match="first reset"):
        AtariVectorEnv("pong", 2).reset(options=mask)
    envs = AtariVectorEnv("pong", 2, batch_size=1)
    envs.reset()
    with pytest.raises(ValueError, match=r"batch_size < num_envs \(1 < 2\)"):
        envs.reset(options=mask)


def test_wrong_seeds_of_batches():
    envs = AtariVectorEnv("pong", 2)
    for seed, kind in ((-1, Error), ([1], ValueError), ([1, "2"], TypeError), (1.5, TypeError)):
        with pytest.raises(kind):
            envs.reset(seed=seed)
