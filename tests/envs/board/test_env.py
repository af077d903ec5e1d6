"""Board games as environments: endings, masks, illegal moves, states."""

from __future__ import annotations

import sys

import numpy as np
import pytest

pytest.importorskip("pyspiel")

import ludus
from ludus.envs.board import BoardEnv
from ludus.envs.board.registration import SPECS
from ludus.errors import (
    DependencyNotInstalled,
    Error,
    InvalidAction,
    ResetNeeded,
    StateError,
    UnsupportedMode,
)
from tests.reference.twins import assert_same


def first_free(observation):
    """Play the first empty point of a Go board."""
    return int(np.flatnonzero(observation[2].ravel())[0])


def masked(env, info):
    return env.action_space.sample(info["action_mask"])


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
def test_games_end_and_states_play_on(spec):
    env = spec.make(disable_env_checker=True)
    env.action_space.seed(3)
    observation, info = env.reset(seed=2)
    events, over = [], False
    for number in range(12):
        assert observation in env.observation_space
        if over:
            break
        if number == 2:
            state, events = env.get_state(), []
        action = masked(env, info)
        observation, reward, over, cut, info = env.step(action)
        events.append((action, (observation, reward, over, cut, info)))
    for target in (env, spec.make(disable_env_checker=True)):
        if target is not env:
            target.reset(seed=77)
        target.set_state(state)
        for action, expected in events:
            assert_same(target.step(action), expected)


def test_a_whole_game_is_won_or_lost():
    env = BoardEnv("hex", board_size=5)
    env.action_space.seed(1)
    seen = set()
    for seed in range(20):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            _, reward, over, _, info = env.step(masked(env, info))
        seen.add(reward)
        assert not info["action_mask"].any()
        assert env.step(0)[1:4] == (0.0, True, False)
    assert seen == {1.0, -1.0}


@pytest.mark.parametrize("action", [40, 82, -1, 1000])
def test_illegal_moves_lose_or_raise(action):
    env = BoardEnv("go", board_size=9)
    env.reset(seed=1)
    env.step(40)
    board = env.position.text()
    assert env.step(action)[1:3] == (-1.0, True)
    assert env.position.text() == board

    env = BoardEnv("go", board_size=9, illegal_move_mode="raise")
    env.reset(seed=1)
    env.step(40)
    with pytest.raises(InvalidAction, match="illegal"):
        env.step(action)


def test_resigning():
    env = BoardEnv("classic-go", resign=True)
    _, info = env.reset(seed=1)
    assert info["action_mask"].shape == (83,)
    assert info["action_mask"][82] == 0
    assert env.step(82)[1:3] == (-1.0, True)
    env = BoardEnv("classic-go", resign=True, opponent=lambda board: None)
    env.reset(seed=1)
    assert env.step(0)[1:3] == (1.0, True)


def test_classic_go_shows_board_and_turn():
    env = BoardEnv("classic-go", opponent=first_free)
    observation, info = env.reset(seed=1)
    assert observation.shape == (3, 9, 9)
    assert observation.dtype == np.int64
    observation, _, _, _, info = env.step(0)
    assert observation[0, 0, 0] == 1
    assert observation[1, 0, 1] == 1
    assert info["state"]["to_play"] == "black"


def test_white_waits_for_black():
    env = BoardEnv("classic-go", player_color="white", opponent=first_free)
    observation, _ = env.reset(seed=1)
    assert observation[0].sum() == 1
    env = BoardEnv("classic-go", player_color="white", opponent=lambda board: None)
    env.reset(seed=1)
    assert env.step(0)[1:3] == (0.0, True)


def test_search_finds_a_win_and_is_reproducible():
    lines = []
    for _ in range(2):
        env = BoardEnv("tic-tac-toe", opponent="mcts:200", player_color="o")
        env.reset(seed=5)
        moves = [action for action in range(9) if action in env.position.legal()]
        env.step(moves[-1])
        lines.append(list(env.position.history))
    assert lines[0] == lines[1]
    lost = 0
    for seed in range(5):
        env = BoardEnv("connect-four", opponent="mcts:100")
        env.action_space.seed(seed)
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            _, reward, over, _, info = env.step(masked(env, info))
        lost += reward == -1
    assert lost >= 4


def test_policies_and_wrong_opponents():
    class Policy:
        def act(self, observation):
            return first_free(observation)

    env = BoardEnv("classic-go", opponent=Policy())
    env.reset(seed=1)
    assert env.step(80)[0][1, 0, 0] == 1
    env = BoardEnv("classic-go", opponent=lambda board: 80)
    env.reset(seed=1)
    with pytest.raises(Error, match="not legal"):
        env.step(80)
    with pytest.raises(Error, match="standard rules"):
        BoardEnv("classic-go", opponent="mcts")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"opponent": "pachi:uct:_2400"}, "Unrecognized opponent"),
        ({"opponent": 3}, "Unrecognized opponent"),
        ({"opponent": "random:3"}, "Unrecognized opponent"),
        ({"opponent": "stockfish"}, "chess only"),
        ({"opponent": "stockfish:3"}, "chess only"),
        ({"opponent": "gnugo:11"}, "levels 1 to 10"),
        ({"player_color": "red"}, "colours"),
        ({"illegal_move_mode": "cry"}, "illegal_move_mode"),
    ],
)
def test_wrong_options(options, words):
    with pytest.raises(Error, match=words):
        BoardEnv("go", **options)


@pytest.mark.parametrize(
    ("game", "options", "error", "words"),
    [
        ("checkers", {}, Error, "expected one of"),
        ("chess", {"board_size": 8}, Error, "one size"),
        ("go", {"board_size": "nine"}, ValueError, "board_size"),
        ("go", {"board_size": 20}, Error, "2 to 19"),
        ("go", {"opponent": "mcts:0"}, ValueError, "simulations"),
        ("go", {"opponent": "mcts:"}, Error, "Unrecognized"),
        ("go", {"opponent": "mcts:-3"}, Error, "Unrecognized"),
        ("go", {"opponent": "mcts:many"}, Error, "Unrecognized"),
        ("chess", {"opponent": "gnugo"}, Error, "Go only"),
        ("chess", {"opponent": "stockfish:21"}, Error, "0 to 20"),
        ("chess", {"player_color": 3}, Error, "colours"),
        ("chess", {"illegal_move_mode": None}, Error, "illegal_move_mode"),
        ("chess", {"render_mode": "3d"}, UnsupportedMode, "render_mode"),
    ],
)
def test_more_wrong_options(game, options, error, words):
    with pytest.raises(error, match=words):
        BoardEnv(game, **options)


@pytest.mark.parametrize("action", [None, "e4", 1.5, [1, 2], np.array([3, 4])])
def test_moves_are_integers(action):
    env = BoardEnv("tic-tac-toe")
    env.reset(seed=1)
    with pytest.raises(InvalidAction, match="integer"):
        env.step(action)
    assert env.step(np.array(4))[1:3] == (0.0, False)


def test_opponents_get_the_mask_if_they_ask_for_it():
    seen = []

    def last_legal(observation, mask):
        seen.append(mask.sum())
        mask[:] = 0  # its own copy
        return 8

    class Mine:
        def move(self, position, rng):
            return position.legal()[-1]

        def close(self):
            pass

    class Cheat(Mine):
        def move(self, position, rng):
            return 0

    env = BoardEnv("tic-tac-toe", opponent=Cheat())
    env.reset(seed=1)
    with pytest.raises(Error, match="not legal"):
        env.step(0)
    for opponent in (last_legal, Mine()):
        env = BoardEnv("tic-tac-toe", opponent=opponent)
        env.reset(seed=1)
        observation, _, _, _, info = env.step(0)
        assert observation[1, 2, 2] == 1
        assert info["action_mask"].tolist() == [0, 1, 1, 1, 1, 1, 1, 1, 0]
    assert seen == [8]


@pytest.mark.parametrize("found", ["e5", 3.5, -1, 9, 0])
def test_opponents_who_break_the_rules(found):
    env = BoardEnv("tic-tac-toe", opponent=lambda observation: found)
    env.reset(seed=1)
    with pytest.raises(Error, match="not legal"):
        env.step(0)
    with pytest.raises(ResetNeeded):
        env.step(1)


def test_passing_ends_a_game_of_go():
    env = BoardEnv("go", opponent=lambda observation: 81)
    _, info = env.reset(seed=1)
    assert info["action_mask"][81] == 1
    # White has its komi, and black not a single point.
    assert env.step(81)[1:3] == (-1.0, True)


def test_states_in_files_and_after_the_end(tmp_path):
    env = ludus.make("Hex9x9-v1")
    env.reset(seed=1)
    env.step(3)
    ludus.save_state(env, tmp_path / "hex.state")
    expected = env.step(40)
    other = ludus.make("Hex9x9-v1")
    ludus.load_state(tmp_path / "hex.state", other)
    assert_same(other.step(40), expected)
    env.step(81)
    other.set_state(env.get_state())
    assert other.step(0)[1:3] == (0.0, True)


def test_states_of_other_games_are_refused():
    env = BoardEnv("hex", board_size=5)
    with pytest.raises(ResetNeeded):
        env.step(0)
    env.reset(seed=1)
    with pytest.raises(StateError, match="this is"):
        BoardEnv("hex", board_size=6).set_state(env.get_state())
    state = env.get_state()
    state["fields"]["history"] = [1, 1]
    with pytest.raises(StateError, match="no move"):
        env.set_state(state)


def test_text():
    env = BoardEnv("tic-tac-toe", render_mode="ansi", opponent=lambda board: 8)
    env.reset(seed=1)
    env.step(0)
    assert env.render() == "x..\n...\n..o\n"


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(DependencyNotInstalled, match=r"pip install 'ludus-gym\[board\]'"):
        BoardEnv("chess")


def test_action_masks_are_those_of_the_infos():
    env = ludus.make("TicTacToe-v1" if "TicTacToe-v1" in ludus.registry else "ConnectFour-v1")
    _, info = env.reset(seed=3)
    rng = np.random.default_rng(0)
    over = False
    while not over:
        mask = env.get_wrapper_attr("action_masks")()
        assert mask.dtype == np.bool_
        np.testing.assert_array_equal(mask, info["action_mask"])
        _, _, over, _, info = env.step(int(rng.choice(np.flatnonzero(mask))))
    assert not info["action_mask"].any()
    assert env.unwrapped.action_masks().all()
    with ludus.make_vec("ConnectFour-v1", 2) as envs:
        envs.reset(seed=3)
        assert np.stack(envs.call("action_masks")).shape == (2, 7)
