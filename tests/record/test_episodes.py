from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ludus
from ludus.core import Env, Wrapper
from ludus.errors import InvalidAction, RecordError, ReplayImpossible, ResetNeeded
from ludus.record import Episode, episodes, read_run, replay, totals, verify
from ludus.record.episodes.record_episodes import RecordEpisodes
from ludus.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    MultiBinary,
    MultiDiscrete,
    Sequence,
    Text,
    Tuple,
)
from tests.sampling import ALL


def play(env: Any, steps: int, seed: int | None = 0) -> list[tuple[float, int]]:
    """Step with sampled actions; return the episodes' returns and lengths."""
    env.action_space.seed(seed or 0)
    env.reset(seed=seed)
    done, total, length = [], 0.0, 0
    for _ in range(steps):
        _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        total, length = total + float(reward), length + 1
        if terminated or truncated:
            done.append((total, length))
            total, length = 0.0, 0
            env.reset()
    return done


@pytest.mark.parametrize("observations", [False, True])
@pytest.mark.parametrize(
    "env_id", ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "Blackjack-v1", "Taxi-v3"]
)
def test_what_was_recorded_comes_out_again(env_id: str, observations: bool, tmp_path: Path) -> None:
    with RecordEpisodes(
        ludus.make(env_id), tmp_path / "run", observations=observations, block_rows=50
    ) as env:
        done = play(env, 320)
        assert env.rows == 320
    reader = read_run(tmp_path / "run")
    assert reader.outcome == "complete"
    assert reader.rows == 320
    found = totals(reader)
    assert list(zip(found.returns, found.lengths, strict=True)) == done
    assert replay(tmp_path / "run").is_equal
    assert verify(tmp_path / "run").passed


def test_the_first_seed_is_drawn_and_kept(tmp_path: Path) -> None:
    seeds = []
    for name in ("a", "b"):
        with RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / name) as env:
            play(env, 30, seed=None)
        reader = read_run(tmp_path / name)
        resets = [event.data for event in reader.events if event.kind == "reset"]
        assert isinstance(resets[0]["seed"], int)
        assert all(data["seed"] is None for data in resets[1:])
        assert replay(tmp_path / name).is_equal
        seeds.append(resets[0]["seed"])
    assert seeds[0] != seeds[1]


def test_episodes_and_their_rows(tmp_path: Path) -> None:
    with RecordEpisodes(ludus.make("CartPole-v1", max_episode_steps=4), tmp_path / "run") as env:
        env.reset(seed=7)
        for _ in range(4):
            env.step(0)
        env.step(0)  # beyond the end: belongs to no episode
        env.reset(seed=8)
        env.step(1)
        env.step(1)
        env.reset()
        env.step(0)
    reader = read_run(tmp_path / "run")
    assert list(episodes(reader)) == [Episode(0, 0, 7, 0, 4, 4.0, False, True)]
    assert list(episodes(reader, unfinished=True))[1:] == [
        Episode(0, 1, 8, 5, 2, 2.0, False, False),
        Episode(0, 2, None, 7, 1, 1.0, False, False),
    ]


def test_options_are_recorded(tmp_path: Path) -> None:
    options = {"low": -0.01, "high": 0.01, "extra": np.arange(3)}
    with RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run") as env:
        env.reset(seed=1, options=options)
        env.step(0)
        with pytest.raises(RecordError, match="options"):
            env.reset(options={"a": object()})
        env.step(1)
    reset = next(event for event in read_run(tmp_path / "run").events if event.kind == "reset")
    assert reset.data["options"]["low"] == -0.01
    assert replay(tmp_path / "run").is_equal


def test_actions_are_kept_to_the_bit(tmp_path: Path) -> None:
    """Single and double precision, lists and arrays: the results depend on it."""
    with RecordEpisodes(ludus.make("Pendulum-v1"), tmp_path / "run") as env:
        env.reset(seed=1)
        for action in (
            np.array([0.1], np.float32),
            np.array([0.1], np.float64),
            [1 / 3],
            np.array([0.2], np.float32),
        ):
            env.step(action)
    dtypes = [block["action"].dtype for block in read_run(tmp_path / "run").blocks()]
    assert dtypes == [np.float32, np.float64]
    assert replay(tmp_path / "run").is_equal


def test_a_refused_action_is_not_recorded(tmp_path: Path) -> None:
    with RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run") as env:
        env.reset(seed=0)
        env.step(0)
        with pytest.raises(InvalidAction):
            env.step(7)
        env.step(1)
    reader = read_run(tmp_path / "run")
    assert reader.rows == 2
    assert reader.outcome == "complete"
    assert replay(tmp_path / "run").is_equal


def test_an_action_of_another_form(tmp_path: Path) -> None:
    with RecordEpisodes(ludus.make("Pendulum-v1"), tmp_path / "run") as env:
        env.reset(seed=0)
        for action in (np.zeros((2, 2)), "left", np.array(["a"]), {"a": 1}):
            with pytest.raises(RecordError, match="action"):
                env.step(action)
        env.step(np.zeros(1, np.float32))
    assert read_run(tmp_path / "run").rows == 1


class Failing(Wrapper[Any, Any, Any, Any]):
    """Fails at a step."""

    def __init__(self, env: Any, problem: BaseException, at: int) -> None:
        super().__init__(env)
        self.problem, self.left = problem, at

    def step(self, action: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            raise self.problem
        return self.env.step(action)


@pytest.mark.parametrize("problem", [RuntimeError("broken"), KeyboardInterrupt()])
def test_what_was_stepped_is_kept_when_the_environment_fails(
    problem: BaseException, tmp_path: Path
) -> None:
    env = RecordEpisodes(Failing(ludus.make("CartPole-v1"), problem, 5), tmp_path / "run")

    def run() -> None:
        with env:
            env.reset(seed=0)
            for _ in range(9):
                env.step(0)

    with pytest.raises(type(problem)):
        run()
    reader = read_run(tmp_path / "run")
    assert (reader.rows, reader.outcome) == (5, "interrupted")
    with pytest.raises(ReplayImpossible, match="Failing"):
        replay(tmp_path / "run")
    assert replay(tmp_path / "run", env_factory=lambda: ludus.make("CartPole-v1")).is_equal


def test_after_a_failure_nothing_more_is_recorded(tmp_path: Path) -> None:
    env = RecordEpisodes(
        Failing(ludus.make("CartPole-v1"), RuntimeError("broken"), 2), tmp_path / "run"
    )
    env.reset(seed=0)
    env.step(0)
    env.step(0)
    with pytest.raises(RuntimeError, match="broken"):
        env.step(0)
    for call in (lambda: env.step(0), env.reset):
        with pytest.raises(RecordError, match="was not completed"):
            call()
    env.close()
    reader = read_run(tmp_path / "run")
    assert (reader.rows, reader.outcome) == (2, "interrupted")
    with pytest.raises(RecordError, match="closed"):
        env.reset()


def test_flush_and_age(tmp_path: Path) -> None:
    env = RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run", flush_seconds=3600)
    env.reset(seed=0)
    env.step(0)
    assert read_run(tmp_path / "run").rows == 0
    env.flush(sync=True)
    assert read_run(tmp_path / "run").rows == 1
    env.step(1)
    env._recorder._due = 0.0  # as if an hour had passed
    env.step(0)
    assert read_run(tmp_path / "run").rows == 3
    env.close()
    env.close()


def test_a_recording_that_nobody_closes_is_closed(tmp_path: Path) -> None:
    env = RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run")
    env.reset(seed=0)
    env.step(0)
    del env
    reader = read_run(tmp_path / "run")
    assert (reader.rows, reader.outcome) == (1, "interrupted")


def test_results_are_claimed_and_checked(tmp_path: Path) -> None:
    with RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run") as env:
        done = play(env, 200)
        mean = float(np.mean([total for total, _ in done]))
        env.add_result("mean_return", mean, episodes=len(done))
    assert verify(tmp_path / "run")["results"].status == "passed"


def test_small_numbers_take_little_room(tmp_path: Path) -> None:
    with RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run") as env:
        play(env, 4096)
    block = next(read_run(tmp_path / "run").blocks())
    assert block["action"].dtype == np.bool_
    assert block["reward"].dtype == np.bool_
    assert (tmp_path / "run" / "blocks.bin").stat().st_size < 4096 * 10


def test_negative_zero_and_nan_survive(tmp_path: Path) -> None:
    rewards = [0.0, -0.0, float("nan"), 1.0, 1e300]

    class Odd(Env[Any, Any]):
        observation_space = action_space = Discrete(3)
        count = -1

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            return 0, {}

        def step(self, action: Any) -> Any:
            self.count += 1
            return 1, rewards[self.count], False, False, {}

    with RecordEpisodes(Odd(), tmp_path / "run", block_rows=2) as env:
        env.reset(seed=0)
        for _ in rewards:
            env.step(1)
    assert replay(tmp_path / "run", env_factory=Odd).is_equal


# --- spaces -------------------------------------------------------------------------------------

SPACES = {
    "box": Box(-1, 1, (2, 3), np.float32),
    "bytes": Box(0, 255, (4,), np.uint8),
    "discrete": Discrete(5, start=-2),
    "many": MultiDiscrete([3, 300]),
    "bits": MultiBinary(5),
    "dict": Dict({"arm": Box(0, 1, (2,)), "mode": Discrete(3), "deep": Tuple((Discrete(2),))}),
    "tuple": Tuple((Discrete(3), Box(0, 1, (1,), np.float64))),
    "text": Text(8),
    "sequence": Sequence(Discrete(4)),
    "graph": Graph(Box(0, 1, (2,)), Discrete(3)),
    "mixed": Dict({"words": Text(5), "image": Box(0, 255, (2, 2), np.uint8)}),
    "slashes": Dict({"a/b": Discrete(2), "a": Dict({"b": Discrete(2)})}),
}


class Echo(Env[Any, Any]):
    """Observes the last action, and something drawn from the same space."""

    def __init__(self, space: Any) -> None:
        self.action_space, self.observation_space = space, space

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self.left = 4
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        self.left -= 1
        seen = action if self.left % 2 else self.observation_space.sample()
        return seen, float(self.np_random.normal()), self.left == 0, False, {}


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("observations", [False, True])
def test_every_space(name: str, observations: bool, tmp_path: Path) -> None:
    import copy

    def make() -> Env[Any, Any]:
        return Echo(copy.deepcopy(SPACES[name]))

    space = copy.deepcopy(SPACES[name])
    space.seed(3)
    with RecordEpisodes(make(), tmp_path / "run", observations=observations, block_rows=7) as env:
        env.reset(seed=5)
        for _ in range(30):
            if env.step(space.sample())[2]:
                env.reset()
    assert replay(tmp_path / "run", env_factory=make).is_equal


# --- resuming -----------------------------------------------------------------------------------

DRIVER = """
import sys, time
import numpy as np
import ludus
from ludus.record.episodes.record_episodes import RecordEpisodes

def policy(row):
    return int(np.random.default_rng(row).integers(2))

path, rows, pause = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
env = RecordEpisodes(ludus.make("CartPole-v1"), path, resume=True, block_rows=7, observations=True)
if env.resumed is None or env.resumed.needs_reset:
    env.reset(seed=None if env.rows else 5)
print("go", flush=True)
while env.rows < rows:
    _, _, terminated, truncated, _ = env.step(policy(env.rows))
    if pause:
        time.sleep(pause)
    if terminated or truncated:
        env.reset()
env.close()
"""


def columns_of(path: Path) -> dict[str, np.ndarray]:
    blocks = list(read_run(path).blocks())
    names = ("action", "reward", "terminated", "truncated", "observation_check", "observation")
    return {name: np.concatenate([np.asarray(b[name], float) for b in blocks]) for name in names}


def test_a_killed_recording_goes_on(tmp_path: Path) -> None:
    def start(name: str, pause: float) -> subprocess.Popen[str]:
        words = [sys.executable, "-c", DRIVER, str(tmp_path / name), "150", str(pause)]
        return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)

    with start("whole", 0) as whole:
        assert whole.wait(60) == 0
    moments = random.Random(4)
    for _ in range(4):
        with start("killed", 0.002) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "go\n"
            try:
                child.wait(moments.uniform(0.0, 0.12))
            except subprocess.TimeoutExpired:
                os.kill(child.pid, signal.SIGKILL)
    with start("killed", 0) as last:
        assert last.wait(60) == 0
    assert read_run(tmp_path / "killed").outcome == "complete"
    whole_rows, killed_rows = columns_of(tmp_path / "whole"), columns_of(tmp_path / "killed")
    for name, column in whole_rows.items():
        assert np.array_equal(column, killed_rows[name]), name
    assert [e.total_reward for e in episodes(read_run(tmp_path / "whole"))] == [
        e.total_reward for e in episodes(read_run(tmp_path / "killed"))
    ]
    assert verify(tmp_path / "killed").passed


def record_slowly(path: Path, rows: int, pause: float) -> None:
    made = ludus.make("CartPole-v1")
    with RecordEpisodes(made, path, resume=True, block_rows=7, observations=True) as env:
        if env.resumed is None or env.resumed.needs_reset:
            env.reset(seed=None if env.rows else 5)
        while env.rows < rows:
            action = int(np.random.default_rng(env.rows).integers(2))
            _, _, terminated, truncated, _ = env.step(action)
            time.sleep(pause)
            if terminated or truncated:
                env.reset()


def is_complete(path: Path) -> bool:
    return (path / "manifest.json").exists() and read_run(path).outcome == "complete"


def test_killed_at_many_moments_it_ends_the_same(tmp_path: Path) -> None:
    rows, moments, kills, finished = 120, random.Random(6), 0, 0
    most, least_runs = (200, 3) if ALL else (25, 1)
    record_slowly(tmp_path / "whole", rows, 0.0)  # also compiles, before anything is forked
    whole = columns_of(tmp_path / "whole")
    while kills < most:
        path = tmp_path / str(finished)
        for attempt in range(200):
            child = os.fork()
            if child == 0:
                try:
                    record_slowly(path, rows, 0.001)
                except BaseException:
                    (tmp_path / "failure").write_text(traceback.format_exc())
                    os._exit(1)
                os._exit(0)
            time.sleep(moments.uniform(0.0, 0.06 + 0.01 * attempt))  # so that all of them get on
            os.kill(child, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            assert code in (0, -signal.SIGKILL), (tmp_path / "failure").read_text()
            kills += code != 0
            if code == 0 or is_complete(path):  # it may be killed between its closing and its end
                break
        finished += 1
        found = columns_of(path)
        assert all(np.array_equal(column, found[name]) for name, column in whole.items())
        assert verify(path).passed
    assert finished >= least_runs


def test_resuming_at_every_row(tmp_path: Path) -> None:
    """Interrupted after each row once, the run is what it would have been."""

    def policy(row: int) -> int:
        return int(np.random.default_rng(row).integers(2))

    with RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "whole", observations=True) as env:
        env.reset(seed=5)
        while env.rows < 40:
            _, _, terminated, truncated, _ = env.step(policy(env.rows))
            if terminated or truncated:
                env.reset()
    for row in range(40):
        env = RecordEpisodes(
            ludus.make("CartPole-v1"), tmp_path / "parts", resume=True, observations=True
        )
        if env.resumed is None:
            env.reset(seed=5)
        elif env.resumed.needs_reset:
            env.reset()
        assert env.rows == row
        env.step(policy(row))
        env._end("complete" if row == 39 else "interrupted")
    parts, whole = columns_of(tmp_path / "parts"), columns_of(tmp_path / "whole")
    assert all(np.array_equal(parts[name], whole[name]) for name in whole)
    assert verify(tmp_path / "parts").passed


def test_a_reset_that_led_nowhere_is_forgotten(tmp_path: Path) -> None:
    """Killed after the reset was written, but before its rows were."""
    env = RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run")
    env.reset(seed=5)
    env.step(0)
    env.flush()
    run = env._recorder.run
    run.append("reset", {"row": 3, "seed": 9, "options": None, "check": 1})
    env._recorder._resets.clear()
    env._end("interrupted")
    with RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run", resume=True) as env:
        assert env.resumed is not None
        assert env.resumed.rows == 1
        for _ in range(4):
            env.step(0)
    assert verify(tmp_path / "run").passed


def test_another_environment_does_not_resume(tmp_path: Path) -> None:
    env = RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run")
    env.reset(seed=5)
    env._end("interrupted")
    for other in (ludus.make("CartPole-v1", max_episode_steps=3), ludus.make("Pendulum-v1")):
        with pytest.raises(ReplayImpossible, match="cannot be resumed"):
            RecordEpisodes(other, tmp_path / "run", resume=True)
    with RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run", resume=True):
        pass
    with pytest.raises(RecordError, match="complete"):
        RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run", resume=True)
    with pytest.raises(RecordError):
        RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run")


def test_other_physics_do_not_resume(tmp_path: Path) -> None:
    env = RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run")
    env.reset(seed=5)
    env.step(0)
    env._end("interrupted")
    changed = ludus.make("CartPole-v1")
    changed.unwrapped.gravity = 1.0  # type: ignore[attr-defined]
    with pytest.raises(ReplayImpossible, match="observation_check of row 0"):
        RecordEpisodes(changed, tmp_path / "run", resume=True)


def test_video(tmp_path: Path) -> None:
    pytest.importorskip("moviepy")
    env = ludus.make("CartPole-v1", render_mode="rgb_array", max_episode_steps=3)
    with RecordEpisodes(env, tmp_path / "run", video=2) as recording:
        play(recording, 9)
    files = [e.data["path"] for e in read_run(tmp_path / "run").events if e.kind == "file"]
    assert files == ["video/episode-000000.mp4", "video/episode-000002.mp4"]
    assert (tmp_path / "run" / files[0]).stat().st_size > 1000
    assert verify(tmp_path / "run").passed


@pytest.mark.parametrize("video", [0, -1, True, 1.5])
def test_video_takes_a_positive_number(video: Any, tmp_path: Path) -> None:
    env = ludus.make("CartPole-v1", render_mode="rgb_array")
    with pytest.raises(ValueError, match="video="):
        RecordEpisodes(env, tmp_path / "run", video=video)
    with pytest.raises(ValueError, match="render mode"):
        RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run", video=1)
    assert not (tmp_path / "run").exists()


def test_an_interrupt_while_writing_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever call inside flush() an interrupt comes after, the next flush() puts it right."""
    for after in range(8):
        path = tmp_path / str(after)
        env = RecordEpisodes(ludus.make("CartPole-v1"), path, observations=True)
        env.reset(seed=0)
        env.step(0)
        env.reset(seed=1)
        env.step(1)
        env.reset(seed=2)
        calls = after

        def interrupted(function: Any) -> Any:
            def call(*args: Any, **kwargs: Any) -> Any:
                nonlocal calls
                result = function(*args, **kwargs)
                calls -= 1
                if calls == -1:
                    raise KeyboardInterrupt
                return result

            return call

        run, buffer = env._recorder.run, env._recorder._buffer
        with monkeypatch.context() as patch:
            patch.setattr(type(run), "append", interrupted(type(run).append))
            patch.setattr(type(run), "append_block", interrupted(type(run).append_block))
            patch.setattr(type(buffer), "columns", interrupted(type(buffer).columns))
            patch.setattr(type(buffer), "clear", interrupted(type(buffer).clear))
            try:
                env.flush()
            except KeyboardInterrupt:
                env.flush()
        env.step(0)
        env.close()
        kinds = [event.kind for event in read_run(path).events]
        assert kinds.count("reset") == 3, after
        assert read_run(path).rows == 3, after
        assert verify(path).passed, after


def test_an_interrupt_between_the_parts_of_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run")
    env.reset(seed=0)
    env.step(0)
    buffer = env._recorder._buffer
    put = buffer._put_reward
    monkeypatch.setattr(buffer, "_put_reward", None)
    with pytest.raises(TypeError):
        env.step(1)
    monkeypatch.setattr(buffer, "_put_reward", put)
    env.close()
    reader = read_run(tmp_path / "run")
    assert (reader.rows, reader.outcome) == (1, "interrupted")
    assert replay(tmp_path / "run").is_equal


def test_only_steps_and_resets_are_recorded(tmp_path: Path) -> None:
    inner = ludus.make("CartPole-v1")
    inner.reset(seed=0)
    with RecordEpisodes(inner, tmp_path / "run") as env:
        with pytest.raises(ResetNeeded):
            env.step(0)
        env.reset(seed=0)
        state = env.get_state()
        with pytest.raises(RecordError, match="state"):
            env.set_state(state)
        env.step(0)
    assert verify(tmp_path / "run").passed
