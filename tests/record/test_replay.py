from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import ludus
from ludus.cli.app import app
from ludus.core import Env, Wrapper
from ludus.errors import RecordDamaged, RecordError, ReplayImpossible
from ludus.record import Run, read_run, replay
from ludus.record.episodes.record_episodes import RecordEpisodes, RecordVectorEpisodes
from ludus.record.format.columns import narrowed, restored
from ludus.record.format.values import pack_texts, unpack_texts
from ludus.spaces import Discrete
from ludus.wrappers import FrameStackObservation, TransformReward
from tests.record.tampering import Forgery


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with RecordEpisodes(
        ludus.make("CartPole-v1", max_episode_steps=6), tmp_path / "run", observations=True
    ) as env:
        for _ in range(3):
            env.reset(seed=2)
            for step in range(6):
                env.step(step % 2)
    return tmp_path / "run"


@pytest.fixture
def vector_run(tmp_path: Path) -> Path:
    envs = ludus.make_vec("CartPole-v1", 4, max_episode_steps=5)
    with RecordVectorEpisodes(envs, tmp_path / "vector", block_rows=8) as env:
        env.reset(seed=2)
        for row in range(30):
            env.step(np.full(4, row % 2))
    return tmp_path / "vector"


def test_the_first_difference_is_named(run: Path) -> None:
    forgery = Forgery(run)
    (block,) = forgery.of("block")
    block["reward"] = np.array(block["reward"], np.float64)
    block["reward"][8] = 3.5
    block["reward"][9] = 3.5
    forgery.write()
    found = replay(run)
    assert found.rows == 8
    difference = found.difference
    assert difference is not None
    assert (difference.row, difference.env_index) == (8, None)
    assert (difference.episode, difference.step) == (1, 2)
    assert (difference.field, difference.recorded, difference.replayed) == ("reward", 3.5, 1.0)
    text = "row 8, episode 1, step 2: reward was 3.5, now it is 1.0"
    assert str(difference) == text


def test_an_observation_is_named_down_to_its_number(run: Path) -> None:
    forgery = Forgery(run)
    (block,) = forgery.of("block")
    old = block["observation"][4, 3]
    block["observation"][4, 3] = -old
    forgery.write()
    difference = replay(run).difference
    assert difference is not None
    assert (difference.row, difference.field) == (4, "observation[3]")
    assert (difference.recorded, difference.replayed) == (-old, old)


def test_of_many_the_environment_is_named(vector_run: Path) -> None:
    forgery = Forgery(vector_run)
    flags = forgery.of("block")[1]["terminated"]
    flags[4, 2] = True
    forgery.write()
    difference = replay(vector_run).difference
    assert difference is not None
    assert (difference.row, difference.env_index, difference.field) == (12, 2, "terminated")
    # Five steps and one that resets, twice; the forged end is the first step of the third episode.
    assert (difference.episode, difference.step) == (2, 0)
    assert (difference.recorded, difference.replayed) == (True, False)


def test_an_observation_that_was_not_stored_is_told_by_its_row(vector_run: Path) -> None:
    forgery = Forgery(vector_run)
    forgery.of("block")[2]["observation_check"][1] ^= 1
    forgery.write()
    difference = replay(vector_run).difference
    assert difference is not None
    assert (difference.row, difference.field) == (17, "observation_check")
    assert difference.env_index is None
    assert difference.episode is None


def test_a_reset_that_differs(run: Path) -> None:
    forgery = Forgery(run)
    forgery.of("reset")[1]["seed"] = 99
    forgery.write()
    difference = replay(run).difference
    assert difference is not None
    assert (difference.row, difference.field) == (6, "reset_check")


def test_other_code_that_raises(run: Path) -> None:
    class Broken(Wrapper[Any, Any, Any, Any]):
        def step(self, action: Any) -> Any:
            if self.get_wrapper_attr("_elapsed_steps") == 3:
                raise ValueError("no more")
            return self.env.step(action)

    found = replay(run, env_factory=lambda: Broken(ludus.make("CartPole-v1", max_episode_steps=6)))
    difference = found.difference
    assert difference is not None
    assert (difference.row, difference.field) == (3, "step")
    assert difference.replayed == "ValueError: no more"
    assert found.rows == 3


def test_progress_is_told(vector_run: Path) -> None:
    seen: list[tuple[int, int]] = []
    replay(vector_run, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(8, 30), (16, 30), (24, 30), (30, 30)]


def test_the_environment_is_closed(run: Path) -> None:
    closed = []

    class Closing(Wrapper[Any, Any, Any, Any]):
        def close(self) -> None:
            closed.append(True)

    replay(run, env_factory=lambda: Closing(ludus.make("CartPole-v1", max_episode_steps=6)))
    assert closed == [True]


def test_wrappers_are_built_again(tmp_path: Path) -> None:
    env = FrameStackObservation(ludus.make("CartPole-v1"), 3)
    with RecordEpisodes(env, tmp_path / "run", observations=True) as recording:
        recording.reset(seed=0)
        for _ in range(8):
            recording.step(0)
    assert replay(tmp_path / "run").is_equal


def test_time_limits_outside_of_other_wrappers(tmp_path: Path) -> None:
    """A spec does not tell the order; a recording does."""
    from ludus.wrappers import RepeatAction, TimeLimit

    env = TimeLimit(RepeatAction(ludus.make("Pendulum-v1"), 2), 5)
    with RecordEpisodes(env, tmp_path / "run") as recording:
        recording.reset(seed=0)
        for _ in range(5):
            result = recording.step(np.zeros(1, np.float32))
        assert result[3]
    assert replay(tmp_path / "run").is_equal


def test_a_function_as_argument_is_named(tmp_path: Path) -> None:
    env = TransformReward(ludus.make("CartPole-v1"), lambda reward: 2 * float(reward))
    with RecordEpisodes(env, tmp_path / "run") as recording:
        recording.reset(seed=0)
        recording.step(0)
    with pytest.raises(ReplayImpossible, match="argument func of the wrapper TransformReward"):
        replay(tmp_path / "run")


def test_a_window_is_not_opened(tmp_path: Path) -> None:
    with RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run") as recording:
        recording.reset(seed=0)
        recording.step(0)
    forgery = Forgery(tmp_path / "run")
    forgery.manifest["subject"]["kwargs"]["render_mode"] = "human"
    forgery.write()
    assert replay(tmp_path / "run").is_equal


class Local(Env[Any, Any]):
    """Not registered when a recording comes from elsewhere."""

    observation_space = action_space = Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return 0, {}

    def step(self, action: Any) -> Any:
        return int(self.np_random.integers(2)), 0.5, False, False, {}


def record_local(path: Path, **kwargs: Any) -> None:
    ludus.register("test/Local-v0", entry_point=Local, **kwargs)
    try:
        with RecordEpisodes(ludus.make("test/Local-v0"), path) as recording:
            recording.reset(seed=0)
            recording.step(0)
    finally:
        del ludus.registry["test/Local-v0"]


def test_an_id_that_is_unknown_here(tmp_path: Path) -> None:
    record_local(tmp_path / "run")
    with pytest.raises(ReplayImpossible, match="not known here"):
        replay(tmp_path / "run")
    ludus.register("test/Local-v0", entry_point=Local)
    try:
        assert replay(tmp_path / "run").is_equal
    finally:
        del ludus.registry["test/Local-v0"]


def test_what_is_nondeterministic_is_not_replayed(tmp_path: Path) -> None:
    record_local(tmp_path / "run")
    ludus.register("test/Local-v0", entry_point=Local, nondeterministic=True)
    try:
        with pytest.raises(ReplayImpossible, match="nondeterministic"):
            replay(tmp_path / "run")
    finally:
        del ludus.registry["test/Local-v0"]


def test_other_runs_cannot_be_replayed(tmp_path: Path) -> None:
    Run.create(tmp_path / "run", kind="notes", subject={}).close()
    with pytest.raises(ReplayImpossible, match="only recordings of episodes"):
        replay(tmp_path / "run")
    with pytest.raises(RecordError):
        replay(tmp_path / "nothing")


@pytest.mark.parametrize(
    "change",
    [
        {"num_envs": 10**12},
        {"num_envs": True},
        {"kwargs": None},
        {"wrappers": 5},
        {"wrappers": [{}]},
        {"wrappers": [5]},
        {"id": "os:path"},
        {"id": None},
        {"id": "a/b/c"},
        {"kwargs": {"render_mode": object}},
        {"kwargs": {"max_episode_steps": []}},
        {"kwargs": {"unknown": 1}},
    ],
)
def test_a_hostile_subject(vector_run: Path, change: dict[str, Any]) -> None:
    forgery = Forgery(vector_run)
    forgery.manifest["subject"].update(change if "render_mode" not in str(change) else {})
    forgery.manifest["subject"].setdefault("kwargs", {})
    forgery.write()
    if change.get("kwargs") == {"render_mode": object}:
        assert replay(vector_run).is_equal
        return
    with pytest.raises((ReplayImpossible, RecordDamaged)):
        replay(vector_run)


@pytest.mark.parametrize(
    "data",
    [
        {"row": -1},
        {"row": "0"},
        {"row": 10**6},
        {"seed": 1.5},
        {"seed": -1},
        {"seed": ["a"]},
        {"seed": {}},
        {"options": []},
        {"check": None},
        {"more": 1},
    ],
)
def test_a_hostile_reset(vector_run: Path, data: dict[str, Any]) -> None:
    forgery = Forgery(vector_run)
    forgery.of("reset")[0].update(data)
    forgery.write()
    with pytest.raises(RecordDamaged, match="events.jsonl line"):
        replay(vector_run)


@pytest.mark.parametrize("seed", [[1], [1] * 5, 2**900], ids=["few", "many", "large"])
def test_seeds_that_do_not_fit(vector_run: Path, seed: Any) -> None:
    forgery = Forgery(vector_run)
    forgery.of("reset")[0]["seed"] = seed
    forgery.write()
    assert replay(vector_run).difference is not None


# --- numbers and texts ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "dtype", "stored"),
    [
        ([0, 1, 1], np.int64, np.bool_),
        ([0, 200], np.int64, np.uint8),
        ([-1, 100], np.int64, np.int8),
        ([-1, 200], np.int64, np.int16),
        ([0, 2**40], np.int64, np.int64),
        ([0.0, 1.0], np.float64, np.bool_),
        ([-3.0, 7.0], np.float64, np.int8),
        ([0.5, 1.25], np.float64, np.float32),
        ([0.1], np.float64, np.float64),
        ([-0.0, 1.0], np.float64, np.float32),
        ([np.inf, -np.inf], np.float64, np.float32),
        ([np.nan, 1.0], np.float64, np.float64),
        ([1e300], np.float64, np.float64),
        ([1.0, 2.0], np.float32, np.int8),
        ([], np.float64, np.float64),
    ],
)
def test_numbers_are_stored_narrow(values: list[float], dtype: Any, stored: Any) -> None:
    column = np.array(values, dtype)
    found = narrowed(column)
    assert found.dtype == stored
    assert restored(found, np.dtype(dtype)).tobytes() == column.tobytes()


def test_a_nan_with_a_message_is_kept() -> None:
    column = np.array([0x7FF8000000000001], np.uint64).view(np.float64)
    assert restored(narrowed(column), np.dtype(np.float64)).tobytes() == column.tobytes()


def test_texts_come_back() -> None:
    texts = [b"", b"abc", b"", b"x" * 1000, b"end"]
    packed = pack_texts("t", texts)
    assert {column.shape[0] for column in packed.values()} == {5}
    assert unpack_texts("t", packed) == texts
    packed["t.length"] = np.array([1, 2, 3, 4, 10**6], np.uint32)
    with pytest.raises(RecordDamaged):
        unpack_texts("t", packed)


# --- the command --------------------------------------------------------------------------------


def test_the_command(run: Path) -> None:
    done = CliRunner().invoke(app, ["replay", str(run)])
    assert done.exit_code == 0
    assert "18 rows, 3 episodes: identical" in done.output
    forgery = Forgery(run)
    forgery.of("block")[0]["terminated"][3] = True
    forgery.write()
    done = CliRunner().invoke(app, ["replay", str(run)])
    assert done.exit_code == 1
    assert "row 3, episode 0, step 3" in " ".join(done.output.split())
    done = CliRunner().invoke(app, ["replay", str(run), "--json"])
    assert done.exit_code == 1
    assert '"field": "terminated"' in done.output
    assert CliRunner().invoke(app, ["replay", str(run / "no")]).exit_code == 2
    words = ["replay", str(run), "--import", "no_such_module_x"]
    assert CliRunner().invoke(app, words).exit_code == 2
    assert read_run(run).rows == 18
