"""The interface in turns, and what PettingZoo thinks of it."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("pyspiel")

from ludus.envs.board import TurnBasedEnv, pettingzoo_env
from ludus.envs.board.rules import GAMES
from ludus.errors import (
    DependencyNotInstalled,
    Error,
    InvalidAction,
    ResetNeeded,
    StateError,
    UnsupportedMode,
)
from tests.reference.twins import assert_same


@pytest.mark.parametrize("game", ["tic-tac-toe", "connect-four", "hex", "backgammon", "chess"])
def test_games_end(game):
    env = TurnBasedEnv(game)
    env.reset(seed=3)
    rng = np.random.default_rng(1)
    total = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter(5000):
        observation, reward, over, cut, _ = env.last()
        total[agent] += reward
        assert observation in env.observation_space(agent)
        if over or cut:
            env.step(None)
            continue
        env.step(int(rng.choice(np.flatnonzero(observation["action_mask"]))))
    assert env.agents == []
    assert sum(total.values()) == 0


def test_illegal_moves_lose():
    env = TurnBasedEnv("tic-tac-toe")
    env.reset()
    env.step(0)
    env.step(0)
    assert env.rewards == {"x_0": 1.0, "o_0": -1.0}
    assert all(env.terminations.values())


def test_illegal_moves_raise_and_change_nothing():
    env = TurnBasedEnv("tic-tac-toe", illegal_move_mode="raise")
    env.reset()
    env.step(0)
    for action in (0, 9, -1):
        with pytest.raises(InvalidAction, match="illegal"):
            env.step(action)
    with pytest.raises(InvalidAction, match="integer"):
        env.step("b2")
    assert env.agent_selection == "o_0"
    env.step(np.int64(4))
    assert env.render() is None


def test_resigning():
    env = TurnBasedEnv("go", board_size=5, resign=True)
    env.reset()
    assert env.action_space("black_0").n == 27
    assert env.observe("black_0")["action_mask"][26] == 0
    env.step(25)
    env.step(26)
    assert env.rewards == {"black_0": 1.0, "white_0": -1.0}
    assert all(env.terminations.values())


@pytest.mark.parametrize("game", ["backgammon", "go", "chess"])
def test_states_play_on(game):
    env, other = TurnBasedEnv(game), TurnBasedEnv(game)
    env.reset(seed=3)
    rng = np.random.default_rng(1)
    for number in range(60):
        if number == 9:
            state = env.get_state()
            events = []
        if number >= 9:
            events.append((env.agent_selection, env.last()))
        if not env.agents:
            break
        mask = env.last()[0]["action_mask"]
        action = int(rng.choice(np.flatnonzero(mask))) if mask.any() else None
        if number >= 9:
            events.append(action)
        env.step(action)
    other.reset(seed=77)
    other.set_state(state)
    for seen, action in zip(events[::2], events[1::2], strict=False):
        assert_same((other.agent_selection, other.last()), seen)
        other.step(action)
    with pytest.raises(StateError, match="this is"):
        TurnBasedEnv("hex").set_state(state)
    with pytest.raises(StateError, match="no state"):
        other.set_state({**state, "history": [-5]})


@pytest.mark.parametrize(
    "options",
    [
        *({"game": game} for game in GAMES),
        {"game": "go", "board_size": 5, "resign": True},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_pettingzoo_accepts_it(options, capsys):
    api_test = pytest.importorskip("pettingzoo.test").api_test
    env = pettingzoo_env(render_mode="ansi", **options)
    assert isinstance(env, pytest.importorskip("pettingzoo").AECEnv)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # It says so of its own games, whose observations hold a mask, too.
        warnings.filterwarnings("ignore", "Observation (is not a NumPy array|space for each)")
        api_test(env, num_cycles=60)
    assert "Passed API test" in capsys.readouterr().out


def test_pettingzoo_wraps_it():
    wrappers = pytest.importorskip("pettingzoo.utils.wrappers")
    env = wrappers.OrderEnforcingWrapper(pettingzoo_env("connect-four"))
    env.reset(seed=1)
    for _ in env.agent_iter():
        observation, _, over, _, _ = env.last()
        env.step(
            None
            if over
            else env.action_space(env.agent_selection).sample(observation["action_mask"])
        )
    assert env.agents == []


def test_without_pettingzoo(monkeypatch):
    from ludus.envs.board import pettingzoo

    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    pettingzoo._class.cache_clear()
    with pytest.raises(DependencyNotInstalled, match="pip install pettingzoo"):
        pettingzoo_env("go")


def test_pictures():
    env = TurnBasedEnv("tic-tac-toe", render_mode="rgb_array")
    env.reset()
    before = env.render()
    assert before.shape == (240, 240, 3)
    env.step(4)
    assert (env.render() != before).any()


def test_refused():
    with pytest.raises(UnsupportedMode, match="render_mode"):
        TurnBasedEnv("hex", render_mode="hologram")
    with pytest.raises(Error, match="illegal_move_mode"):
        TurnBasedEnv("hex", illegal_move_mode="cry")
    env = TurnBasedEnv("tic-tac-toe", render_mode="ansi")
    with pytest.raises(ResetNeeded):
        env.step(0)
    env.reset()
    with pytest.raises(InvalidAction, match="turn"):
        env.step(None)
    assert env.render() == "...\n...\n...\n"


@pytest.mark.parametrize("game", ["tic-tac-toe", "connect-four", "hex"])
def test_petting_zoos_render_test(game, capsys):
    zoo = pytest.importorskip("pettingzoo.test")
    zoo.render_test(lambda **options: pettingzoo_env(game, **options))
    assert capsys.readouterr().out


def test_human_mode_prints_without_being_asked(capsys):
    env = TurnBasedEnv("tic-tac-toe", render_mode="human")
    env.reset(seed=0)
    assert capsys.readouterr().out == env._position.text()
    env.step(4)
    assert capsys.readouterr().out == env._position.text()
    assert env.render() is None
