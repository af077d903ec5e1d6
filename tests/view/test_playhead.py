from __future__ import annotations

import random

import numpy as np
import pytest

import ludus
from ludus.errors import ReplayImpossible
from ludus.record import Run, read_run
from ludus.record.replay.episode_table import spans
from ludus.view.model.recording import open_recording
from ludus.view.replaying.drawing import draw
from ludus.view.replaying.playhead import NotThereYet, Playhead
from ludus.view.replaying.timeline import Timeline, after, before
from tests.view import odd_envs
from tests.view.recordings import record_batch, record_single

BATCHES = [
    {},
    {"vectorization_mode": "sync"},
    {"vector_kwargs": {"autoreset_mode": "SameStep"}},
    {"vectorization_mode": "sync", "vector_kwargs": {"autoreset_mode": "Disabled"}},
]


def recorded_calls(path):
    """Yield the recorded resets and actions in order, with the moment after each."""
    row = 0
    for span in spans(read_run(path)):
        resets = list(span.resets)
        for index in range(0 if span.block is None else span.block.rows):
            for reset in [one for one in resets if one.row == row]:
                yield before(row), reset, None
            yield after(row), None, np.array(span.block["action"][index], np.int64)[()]
            row += 1


def straight(path, env, index):
    """Return frame and observation at every moment, from an environment stepped in order."""
    found = {}
    for moment, reset, action in recorded_calls(path):
        if reset is not None:
            result = env.reset(seed=reset.seed, options=reset.options)
        else:
            result = env.step(action)
        found[moment] = draw(env, index), np.array(result[0])
    return found


def assert_same_in_any_order(path, env, index):
    """Frames and observations after jumps are those of an environment that was stepped in order."""
    expected = straight(path, env, index)
    head = Playhead(read_run(path))
    moments = sorted(expected)
    order = moments + random.Random(3).sample(moments, 25)
    for moment in order:
        head.seek(moment)
        frame, observation = expected[moment]
        assert np.array_equal(draw(head.env, index), frame), moment
        assert np.array_equal(head.observation, observation), moment
        if moment % 9 == 0:
            head.keep()
    assert head.difference is None
    head.close()


def test_frames_after_jumps_are_those_of_the_recording(tmp_path):
    path = record_single("CartPole-v1", tmp_path / "run", episodes=4)
    assert_same_in_any_order(path, ludus.make("CartPole-v1", render_mode="rgb_array"), 0)


@pytest.mark.parametrize("kwargs", BATCHES[:3], ids=["compiled", "sync", "same step"])
def test_frames_of_batches_after_jumps(tmp_path, kwargs):
    path = record_batch("CartPole-v1", tmp_path / "run", **kwargs)
    env = ludus.make_vec("CartPole-v1", 3, render_mode="rgb_array", **kwargs)
    assert_same_in_any_order(path, env, 2)


@pytest.mark.parametrize("kwargs", [None, *BATCHES], ids=str)
def test_state_files_fit_environments_that_are_built_as_the_recorded_one(tmp_path, kwargs):
    if kwargs is None:
        path = record_single("FrozenLake-v1", tmp_path / "run")
        make = lambda: ludus.make("FrozenLake-v1")  # noqa: E731
    else:
        path = record_batch("CartPole-v1", tmp_path / "run", rows=8, **kwargs)
        make = lambda: ludus.make_vec("CartPole-v1", 3, **kwargs)  # noqa: E731
    head = Playhead(read_run(path))
    head.seek(after(3))
    ludus.save_state(head.env, tmp_path / "state")
    env = make()
    env.reset(seed=99)
    ludus.load_state(tmp_path / "state", env)
    mine = env.step(
        next(action for moment, _, action in recorded_calls(path) if moment == after(4))
    )
    head.seek(after(4))
    assert np.array_equal(mine[0], head.observation)


def test_a_seeded_reset_is_a_shortcut_only_where_nothing_else_is_left(tmp_path):
    path = tmp_path / "run"
    env = ludus.record.RecordEpisodes(ludus.make("CartPole-v1"), path, block_rows=8)
    for seed in range(6):
        env.reset(seed=seed)
        for action in (0, 1, 0, 1, 0):
            env.step(action)
    env.close()
    head = Playhead(read_run(path))
    head.seek(after(27), until=0)  # no time: only a jump to the reset before row 25 gets there
    assert head.difference is None
    wrapped = tmp_path / "wrapped"
    inner = ludus.wrappers.NormalizeObservation(ludus.make("CartPole-v1"))
    env = ludus.record.RecordEpisodes(inner, wrapped, block_rows=8)
    for seed in range(6):
        env.reset(seed=seed)
        for action in (0, 1, 0, 1, 0):
            env.step(action)
    env.close()
    head = Playhead(read_run(wrapped))
    with pytest.raises(NotThereYet):
        head.seek(after(27), until=0)
    while head.moment != after(27):
        try:
            head.seek(after(27), until=0)
        except NotThereYet:
            continue
    head.seek(before(0))
    head.seek(after(27))
    assert head.difference is None


def test_a_difference_from_the_recording_is_noticed(tmp_path, monkeypatch):
    with odd_envs.registered():
        path = record_single("ViewOdd/Drift-v0", tmp_path / "run", episodes=1)
        monkeypatch.setattr(odd_envs.DriftEnv, "pace", 0.5)
        head = Playhead(read_run(path))
        head.seek(after(2))
        assert head.difference is None
        head.seek(after(5))
        assert head.difference == 3


def test_moments_beyond_the_recording_and_records_of_other_kinds_are_refused(tmp_path):
    path = record_single("CartPole-v1", tmp_path / "run", episodes=1)
    head = Playhead(read_run(path))
    with pytest.raises(IndexError):
        head.seek(after(head.timeline.rows))
    with Run.create(tmp_path / "note", kind="note", subject={}):
        pass
    with pytest.raises(ReplayImpossible, match="kind 'note'"):
        Playhead(read_run(tmp_path / "note"))


def test_the_timeline_knows_where_rows_and_resets_lie(tmp_path):
    path = record_single("CartPole-v1", tmp_path / "run", episodes=3)
    timeline = Timeline(read_run(path))
    assert timeline.rows == read_run(path).rows == sum(place.rows for place in timeline.places)
    starts = {open_recording(path).episode(place).episode.first_row for place in range(3)}
    assert {reset.row for reset in timeline.resets} == starts
    for row in range(timeline.rows):
        place = timeline.place_of(row)
        assert place.first <= row < place.first + place.rows
        assert bool(timeline.resets_before(row)) == (row in starts)
    with pytest.raises(IndexError):
        timeline.place_of(timeline.rows)
