"""GNU Go and Stockfish themselves, where they are installed."""

from __future__ import annotations

import shutil
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("pyspiel")

from ludus.envs.board import BoardEnv, BoardVectorEnv
from ludus.envs.board.opponents.gtp import vertex_of
from ludus.envs.board.opponents.process import EngineProcess
from ludus.envs.board.opponents.settings import EngineSettings
from ludus.envs.board.rules import rules_of
from tests.envs.board.fakes import gone
from tests.reference.twins import assert_same

PATH = "/usr/games:/usr/local/bin:/usr/bin"
GNUGO = shutil.which("gnugo", path=PATH) or shutil.which("gnugo")
STOCKFISH = shutil.which("stockfish", path=PATH) or shutil.which("stockfish")
needs_gnugo = pytest.mark.skipif(GNUGO is None, reason="gnugo is not installed")
needs_stockfish = pytest.mark.skipif(STOCKFISH is None, reason="stockfish is not installed")
RNG = np.random.default_rng(0)


def play(env, seed, most=400):
    env.action_space.seed(seed)
    _, info = env.reset(seed=seed)
    results = []
    while len(results) < most:
        action = int(env.action_space.sample(info["action_mask"]))
        results.append((action, env.step(action)))
        _, _, over, _, info = results[-1][1]
        if over:
            break
    return results


@needs_gnugo
@pytest.mark.parametrize("game", ["go", "classic-go"])
def test_gnu_go_wins_and_plays_the_same_again(game):
    ends = []
    for _ in range(2):
        with BoardEnv(game, board_size=5, opponent="gnugo:1") as env:
            results = play(env, 3)
            ends.append(list(env.position.history))
            assert results[-1][1][1:3] == (-1.0, True)
            pid = env.opponent._engine._process.pid
        assert gone(pid)
    assert ends[0] == ends[1]


@needs_gnugo
def test_gnu_go_as_black_and_a_saved_game():
    with BoardEnv("go", board_size=7, player_color="white", opponent="gnugo:1") as env:
        observation, _ = env.reset(seed=2)
        assert observation[0].sum() == 1
        env.step(env.position.legal()[0])
        state = env.get_state()
        moves = [env.position.legal()[5], 49]
        expected = [env.step(move) for move in moves]
    with BoardEnv("go", board_size=7, player_color="white", opponent="gnugo:1") as other:
        other.reset(seed=9)
        other.step(other.position.legal()[3])
        other.set_state(state)
        for move, result in zip(moves, expected, strict=True):
            assert_same(other.step(move), result)


@needs_gnugo
def test_one_gnu_go_serves_a_batch():
    envs = BoardVectorEnv("go", 2, board_size=5, opponent="gnugo:1")
    singles = [BoardEnv("go", board_size=5, opponent="gnugo:1") for _ in range(2)]
    assert_same(
        envs.reset(seed=4)[0], np.stack([e.reset(seed=4 + i)[0] for i, e in enumerate(singles)])
    )
    for actions in ([12, 7], [0, 25], [24, 20]):
        if any(env.position.mask()[a] == 0 for env, a in zip(singles, actions, strict=True)):
            break
        found = envs.step(actions)
        expected = [env.step(a) for env, a in zip(singles, actions, strict=True)]
        assert_same(found[0], np.stack([result[0] for result in expected]))
        assert found[1].tolist() == [result[1] for result in expected]
    for env in (envs, *singles):
        env.close()


@needs_gnugo
@pytest.mark.parametrize(
    ("game", "ko"), [("go", "--positional-superko"), ("classic-go", "--simple-ko")]
)
def test_gnu_go_agrees_which_moves_are_legal(game, ko):
    size = 5
    position = rules_of(game, size).start(RNG)
    suicide = ["--allow-suicide"] if game == "classic-go" else ["--forbid-suicide"]
    command = [GNUGO, "--mode", "gtp", "--chinese-rules", ko, *suicide]
    rng = np.random.default_rng(5)
    engine = EngineProcess(command, EngineSettings())

    def ask(question):
        engine.write(question)
        return engine.read_until(lambda line: line == "")[0]

    ask(f"boardsize {size}")
    compared = 0
    for _ in range(60):
        color = "bw"[position.to_move]
        theirs = set(ask(f"all_legal {'black' if color == 'b' else 'white'}")[1:].upper().split())
        legal = position.legal()[:-1]
        if game == "go":
            # open_spiel lets a player repeat a position, and ends the game.
            legal = [m for m in legal if not repeats(position, m)]
        assert {vertex_of(move, size) for move in legal} == theirs, position.text()
        compared += 1
        if not legal:
            break
        move = legal[rng.integers(len(legal))]
        ask(f"play {color} {vertex_of(move, size)}")
        position.play(move, RNG)
        if position.over:
            break
    engine.close()
    assert compared > 30


def repeats(position, move):
    child = position.state.child(position.rules.convert(move))
    return child.is_terminal() and len(child.history()) < 50


@needs_stockfish
def test_stockfish_mates_and_plays_the_same_again():
    ends = []
    for _ in range(2):
        with BoardEnv("chess", opponent="stockfish", engine_options={"nodes": 2000}) as env:
            results = play(env, 1)
            assert results[-1][1][1:3] == (-1.0, True)
            ends.append(list(env.position.history))
            pid = env.opponent._engine._process.pid
        assert gone(pid)
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    ("game", "opponent"),
    [
        pytest.param("go", "gnugo:1", marks=needs_gnugo),
        pytest.param("chess", "stockfish", marks=needs_stockfish),
    ],
)
def test_engines_leave_when_their_program_is_killed(game, opponent):
    script = (
        "import sys; from ludus.envs.board import BoardEnv\n"
        f"env = BoardEnv({game!r}, opponent={opponent!r}, player_color='white')\n"
        "env.reset(seed=1)\n"
        "if env.opponent._engine is None: env.step(env.position.legal()[0])\n"
        "print(env.opponent._engine._process.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as program:
        engine = int(program.stdout.readline())
        assert not gone(engine, patience=0)
        program.kill()
    assert gone(engine)


@needs_stockfish
def test_skill_is_told_to_stockfish():
    with BoardEnv("chess", opponent="stockfish:0", engine_options={"nodes": 500}) as env:
        assert play(env, 1, most=5)[-1][1][1] in (0.0, -1.0)


@needs_stockfish
def test_stockfish_as_white():
    options = {"opponent": "stockfish", "player_color": "black", "engine_options": {"nodes": 500}}
    with BoardEnv("chess", **options) as env:
        env.reset(seed=1)
        assert len(env.position.history) == 1


@needs_stockfish
def test_stockfish_finds_mate_in_one():
    with BoardEnv("chess", opponent="stockfish", engine_options={"nodes": 1000}) as env:
        env.reset(seed=1)
        # 1. f3 ... 2. g4 and whatever else: with black's queen free, h4 mates.
        position = env.position
        for move in ("f3", "e5"):
            position.play(position.state.parse_move_to_action(move), RNG)
        result = env.step(position.state.parse_move_to_action("g4"))
        assert result[1:3] == (-1.0, True)
