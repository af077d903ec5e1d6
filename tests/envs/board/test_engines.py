"""Engines as child processes: both protocols against small fakes, limits, ends."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("pyspiel")

import ludus
from ludus.envs.board import BoardEnv, BoardVectorEnv
from ludus.envs.board.opponents.process import EngineProcess
from ludus.envs.board.opponents.settings import EngineSettings
from ludus.errors import DependencyNotInstalled, Error, InvalidArgument, ResetNeeded
from tests.envs.board.fakes import GNUGO, SILENT, STOCKFISH, gone, write_program


@pytest.fixture
def install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    return lambda name, text, answer="": write_program(tmp_path / name, text, answer)


def pid_of(env):
    return env.opponent._engine._process.pid


def start(code, **settings):
    return EngineProcess([sys.executable, "-S", "-c", code], EngineSettings(**settings))


def ask(engine, question, done):
    engine.write(question)
    return engine.read_until(done)


def test_gnu_go_is_told_the_game(install):
    path = install("gnugo", GNUGO, "C3")
    with BoardEnv("go", board_size=9, opponent="gnugo:3") as env:
        env.reset(seed=1)
        observation, reward, over, _, _ = env.step(0)
        assert (reward, over) == (0.0, False)
        assert observation[1, 6, 2] == 1
        pid = pid_of(env)
    assert gone(pid)
    log = path.with_suffix(".log").read_text().splitlines()
    seed = log.pop(4)
    assert seed.startswith("set_random_seed ")
    told = ["boardsize 9", "clear_board", "clear_cache", "komi 7.5", "play b A9", "genmove w"]
    assert log == told


def test_gnu_go_passes_and_resigns(install):
    install("gnugo", GNUGO, "PASS")
    with BoardEnv("classic-go", opponent="gnugo") as env:
        env.reset(seed=1)
        env.step(0)
        assert env.step(81)[1:3] == (1.0, True)
    install("gnugo", GNUGO, "resign")
    with BoardEnv("classic-go", opponent="gnugo") as env:
        env.reset(seed=1)
        assert env.step(0)[1:3] == (1.0, True)


@pytest.mark.parametrize("answer", ["A9", "Z1", "A10", "nonsense", "", "\udcff"])
def test_gnu_go_talks_nonsense(install, answer):
    text = GNUGO.replace("import sys", "import sys; sys.stdout.reconfigure(errors='replace')")
    install("gnugo", text, ascii(answer)[1:-1])
    with BoardEnv("go", opponent="gnugo") as env:
        env.reset(seed=1)
        with pytest.raises(Error, match="GNU Go"):
            env.step(0)


def test_gnu_go_refuses(install):
    install("gnugo", GNUGO.replace('"=", flush', '"? not today", flush'))
    with BoardEnv("go", opponent="gnugo") as env:
        env.reset(seed=1)
        with pytest.raises(Error, match="refused 'boardsize 9'.*not today"):
            env.step(0)
        # What it said after that is gone with it.
        assert env.opponent._engine is None
        with pytest.raises(ResetNeeded):
            env.step(1)
        env.reset()


def test_stockfish_is_told_the_game(install):
    path = install("stockfish", STOCKFISH, "e7e5")
    options = {"nodes": 77}
    with BoardEnv("chess", opponent="stockfish:4", engine_options=options) as env:
        env.reset(seed=1)
        env.step(env.position.state.parse_move_to_action("e4"))
        assert [len(env.position.history), env.position.to_move] == [2, 0]
        with pytest.raises(Error, match="illegal"):
            env.step(env.position.state.parse_move_to_action("Nf3"))
    log = path.with_suffix(".log").read_text()
    assert "setoption name Skill Level value 4\n" in log
    assert "position startpos moves e2e4\ngo nodes 77\n" in log
    assert "position startpos moves e2e4 e7e5 g1f3\n" in log


@pytest.mark.parametrize(("game", "opponent"), [("go", "gnugo"), ("chess", "stockfish")])
def test_missing_engines(install, monkeypatch, game, opponent):
    monkeypatch.setattr("ludus.envs.board.opponents.settings._GAMES", "/nowhere")
    with pytest.raises(DependencyNotInstalled, match=f"apt install {opponent}.*engine_options"):
        BoardEnv(game, opponent=opponent)


def test_a_path_leads_to_the_engine(install, tmp_path, monkeypatch):
    path = write_program(tmp_path / "mine", GNUGO, "C3")
    monkeypatch.setenv("PATH", "/nowhere")
    for given in (path, str(path)):
        with BoardEnv("go", opponent="gnugo", engine_options={"path": given}) as env:
            env.reset(seed=1)
            assert env.step(0)[0][1, 6, 2] == 1
    with pytest.raises(Error, match="where no program is"):
        BoardEnv("go", opponent="gnugo", engine_options={"path": str(tmp_path / "other")})


def test_a_program_that_cannot_be_started(tmp_path):
    path = tmp_path / "gnugo"
    path.write_text("#!/nowhere/interpreter\n")
    path.chmod(0o755)
    with BoardEnv("go", opponent="gnugo", engine_options={"path": path}) as env:
        env.reset(seed=1)
        with pytest.raises(Error, match="cannot be started"):
            env.step(0)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"speed": 3}, InvalidArgument, "memory_mb"),
        ("gnugo", InvalidArgument, "expected a dict"),
        ({"seconds": 0}, ValueError, "more than 0"),
        ({"seconds": "soon"}, ValueError, "not a number"),
        ({"memory_mb": 0.5}, ValueError, "memory_mb"),
        ({"nodes": 0}, ValueError, "nodes"),
        ({"path": 3}, TypeError, "path of a program"),
    ],
)
def test_wrong_options(install, options, error, words):
    install("gnugo", GNUGO)
    with pytest.raises(error, match=words):
        BoardEnv("go", opponent="gnugo", engine_options=options)
    with pytest.raises(Error, match="leave them out"):
        BoardEnv("go", opponent="random", engine_options=options)


@pytest.mark.parametrize(
    ("code", "words", "seconds"),
    [
        ("import time; time.sleep(600)", "no answer in 0.2 s", 0.2),
        ("while True: print('info', flush=True)", "no answer in 0.2 s|without end", 0.2),
        ("pass", "ended by itself|is gone", 20),
        ("import os; os.kill(os.getpid(), 9)", r"(ended by itself|is gone) \(exit status -9", 20),
        ("import sys; sys.stdout.write('x' * 5000000)", "without end", 20),
    ],
)
def test_engines_that_fail_are_ended(code, words, seconds):
    engine = start(code, seconds=seconds)
    pid = engine._process.pid
    with pytest.raises(Error, match=words):
        ask(engine, "uci", lambda line: False)
    assert gone(pid)
    assert not engine.alive
    engine.close()
    with pytest.raises(Error, match="is gone"):
        engine.write("uci")


def test_an_engine_that_does_not_read():
    engine = start("import time; time.sleep(600)", seconds=0.3)
    with pytest.raises(Error, match="no answer"):
        engine.write("x" * 1_000_000)
    assert gone(engine._process.pid)


def test_memory_is_limited():
    code = "import sys; sys.stdin.readline(); x = bytearray(10**9); print('ok', flush=True)"
    engine = start(code, memory_mb=512)
    with pytest.raises(Error, match="ended by itself"):
        ask(engine, "go", lambda line: line == "ok")
    engine = start(code, memory_mb=4096)
    assert ask(engine, "go", lambda line: line == "ok") == ["ok"]
    engine.close()


def test_computing_time_is_limited_for_each_question():
    engine = start("import time; time.sleep(600)", seconds=5)
    engine.write("go")
    soft, _ = resource.prlimit(engine._process.pid, resource.RLIMIT_CPU)
    assert 5 <= soft <= 10
    assert resource.prlimit(engine._process.pid, resource.RLIMIT_CORE) == (0, 0)
    engine._failure("is not needed any more")
    assert gone(engine._process.pid)


def test_engines_see_little_of_the_environment(monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "1234")
    engine = start("import os; print(sorted(os.environ), flush=True); input()")
    engine.write("go")
    (names,) = engine.read_until(lambda line: True)
    engine.close()
    assert "SECRET_KEY" not in names
    assert "PATH" in names


def test_an_engine_that_hangs_in_a_game_takes_its_children_with_it(install):
    path = install("gnugo", SILENT)
    with BoardEnv("go", opponent="gnugo", engine_options={"seconds": 1.0}) as env:
        env.reset(seed=1)
        with pytest.raises(Error, match=r"'gnugo' gave no answer in 1.0 s .*Reset"):
            env.step(0)
        for pid in path.with_suffix(".pids").read_text().split():
            assert gone(int(pid))


def test_an_engine_that_is_killed_is_started_again(install):
    path = install("gnugo", GNUGO, "PASS")
    with BoardEnv("go", opponent="gnugo") as env:
        env.reset(seed=1)
        env.step(0)
        first = pid_of(env)
        os.kill(first, signal.SIGKILL)
        os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
        assert env.step(5)[1:3] == (0.0, False)
        second = pid_of(env)
        assert second != first
        assert gone(first)
    assert gone(second)
    told = path.with_suffix(".log").read_text()
    assert told.endswith("play b A9\nplay w pass\nplay b F9\ngenmove w\n")


def test_closed_engines_start_again_after_a_reset(install):
    install("gnugo", GNUGO, "PASS")
    env = BoardEnv("go", opponent="gnugo")
    for _ in range(2):
        env.reset(seed=1)
        env.step(0)
        pid = pid_of(env)
        env.close()
        env.close()
        assert gone(pid)


def test_a_batch_has_one_engine(install):
    install("gnugo", GNUGO, "PASS")
    envs = BoardVectorEnv("go", 3, opponent="gnugo")
    envs.reset(seed=1)
    envs.step([0, 1, 2])
    pids = {pid_of(env) for env in envs.envs}
    envs.close()
    assert len(pids) == 1
    assert gone(pids.pop())


def test_engines_of_worker_processes_end_with_them(tmp_path):
    note = 'open(sys.argv[0] + ".pids", "a").write(f"{__import__(\'os\').getpid()} ")'
    path = write_program(
        tmp_path / "gnugo", GNUGO.replace("import sys", f"import sys; {note}"), "C3"
    )
    envs = ludus.make_vec(
        "Go9x9-v1",
        2,
        vectorization_mode="async",
        opponent="gnugo",
        engine_options={"path": str(path)},
    )
    envs.reset(seed=1)
    envs.step([0, 1])
    envs.close()
    pids = path.with_suffix(".pids").read_text().split()
    assert len(pids) == 2
    assert all(gone(int(pid)) for pid in pids)


def test_forgotten_engines_are_ended():
    engine = start("import time; time.sleep(600)")
    pid = engine._process.pid
    del engine
    assert gone(pid)


def test_engines_end_with_the_program(tmp_path):
    engine = write_program(tmp_path / "gnugo", SILENT)
    script = (
        "import sys; from ludus.envs.board import BoardEnv\n"
        "env = BoardEnv('go', opponent='gnugo', engine_options={'path': sys.argv[1]})\n"
        "env.reset(seed=1)\n"
        "from ludus.envs.board.opponents.process import EngineProcess\n"
        "env.kept = EngineProcess(env.opponent._command, env.opponent._settings)\n"
        "import os, time\n"
        "while not os.path.exists(sys.argv[1] + '.pids'): time.sleep(0.01)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(engine)], check=True, timeout=60)
    for _ in range(100):
        pids = engine.with_suffix(".pids").read_text().split()
        if len(pids) == 2:
            break
        time.sleep(0.01)
    assert all(gone(int(pid)) for pid in pids)


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_process_leaves_the_engine_alone():
    engine = start("print(input(), flush=True); input()")
    child = os.fork()
    if child == 0:
        status = 0 if not engine.alive else 1
        engine.close()
        os._exit(status)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert engine.alive
    engine.write("still there")
    assert engine.read_until(lambda line: True) == ["still there"]
    engine.close()
    assert gone(engine._process.pid)
