from __future__ import annotations

import json

import numpy as np
import pytest

import ludus
from ludus.errors import RecordDamaged, RecordError
from ludus.record import Run, episodes, read_run
from ludus.view.library import Found
from ludus.view.model.recording import open_recording, thinned
from ludus.view.model.recordings import Recordings, how_to_build
from tests.view.recordings import record_batch, record_single


def test_the_table_of_episodes_is_that_of_the_record(tmp_path):
    path = record_batch("CartPole-v1", tmp_path / "run")
    recording = open_recording(path)
    expected = list(episodes(read_run(path), unfinished=True))
    assert [recording.episode(place).episode for place in range(len(recording))] == expected
    ended = [one for one in expected if one.is_finished]
    marks = recording.landmarks()
    assert marks["best"].episode.total_reward == max(one.total_reward for one in ended)
    assert marks["worst"].episode.total_reward == min(one.total_reward for one in ended)
    assert marks["longest"].episode.length == max(one.length for one in ended)
    order = recording.sorted("length", descending=True)
    assert [expected[place].length for place in order] == sorted(
        (one.length for one in expected), reverse=True
    )
    with pytest.raises(IndexError):
        recording.episode(len(expected))


def test_series_are_the_numbers_of_the_episode(tmp_path):
    path = record_single("Pendulum-v1", tmp_path / "run", episodes=2, observations=True)
    recording = open_recording(path)
    shown = recording.episode(1)
    reward, action, observation = recording.series(shown)
    rows = [row for block in read_run(path).blocks() for row in block["reward"]]
    first, length = shown.episode.first_row, shown.episode.length
    assert reward.lines["reward"] == pytest.approx(rows[first : first + length])
    assert sum(reward.lines["reward"]) == pytest.approx(shown.episode.total_reward)
    assert list(reward.steps) == list(range(1, length + 1))
    assert list(action.lines) == ["action[0]"]
    assert len(observation.lines) == 3
    seen = np.concatenate([block["observation"] for block in read_run(path).blocks()])
    assert observation.lines["observation[2]"] == pytest.approx(seen[first : first + length, 2])


def test_series_of_one_environment_of_a_batch(tmp_path):
    path = record_batch("CartPole-v1", tmp_path / "run")
    recording = open_recording(path)
    shown = recording.episode(len(recording) - 1)
    _, action = recording.series(shown)
    whole = np.concatenate([block["action"] for block in read_run(path).blocks()])
    one = shown.episode
    expected = whole[one.first_row : one.first_row + one.length, one.env_index]
    assert action.lines["action"] == expected.tolist()


def test_under_same_step_autoreset_the_last_frame_is_missing(tmp_path):
    modes = {"SameStep": 1, "NextStep": 0}
    for mode, missing in modes.items():
        path = record_batch("CartPole-v1", tmp_path / mode, vector_kwargs={"autoreset_mode": mode})
        recording = open_recording(path)
        shown = recording.landmarks()["longest"]
        assert recording.last_frame(shown) == shown.episode.length - missing


def test_thinning_keeps_peaks_and_replaces_what_is_not_finite():
    table = np.zeros((10_000, 2))
    table[1234, 0], table[7777, 0], table[5, 1] = 50, -50, np.inf
    steps, lines = thinned(table, ["a", "b"], 400)
    assert len(steps) == 400
    assert steps == sorted(steps)
    assert max(lines["a"]) == 50
    assert min(lines["a"]) == -50
    assert json.dumps(lines, allow_nan=False)
    assert thinned(np.array([[np.nan], [1.0]]), ["a"]) == ([1, 2], {"a": [None, 1.0]})


def test_a_recording_is_read_again_when_it_has_grown(tmp_path):
    path = record_single("CartPole-v1", tmp_path / "run", episodes=1)
    found = Found("run", "record", path, "run", tmp_path)
    recordings = Recordings()
    first = recordings.of(found)
    assert recordings.of(found) is first
    (path / "events.jsonl").touch()
    assert recordings.of(found) is not first


def test_records_that_are_none_of_episodes_are_refused(tmp_path):
    with Run.create(tmp_path / "note", kind="note", subject={}):
        pass
    with pytest.raises(RecordError, match="kind 'note'"):
        open_recording(tmp_path / "note")
    with Run.create(tmp_path / "odd", kind="episodes", subject={"num_envs": "many"}):
        pass
    with pytest.raises(RecordDamaged, match="num_envs"):
        open_recording(tmp_path / "odd")


def test_how_to_build_is_the_call_that_was_recorded(tmp_path):
    path = record_batch("CartPole-v1", tmp_path / "run", rows=2, vectorization_mode="sync")
    call, further = how_to_build(open_recording(path).subject)
    assert call == 'ludus.make_vec("CartPole-v1", 3, vectorization_mode="sync")'
    assert further == []
    mode = {"vector_kwargs": {"autoreset_mode": "SameStep"}}
    for number, kwargs in enumerate(({}, mode)):
        path = record_batch("CartPole-v1", tmp_path / str(number), rows=2, **kwargs)
        call, _ = how_to_build(open_recording(path).subject)
        made, own = eval(call, {"ludus": ludus}), ludus.make_vec("CartPole-v1", 3, **kwargs)
        assert repr(made) == repr(own)
        made.reset(seed=0)
        ludus.save_state(made, tmp_path / "state")
        own.reset(seed=1)
        ludus.load_state(tmp_path / "state", own)
    path = record_single("FrozenLake-v1", tmp_path / "lake", episodes=1)
    assert how_to_build(open_recording(path).subject) == ('ludus.make("FrozenLake-v1")', [])
