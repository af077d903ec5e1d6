"""Arguments in records and suites of strangers reach no file and no program."""

from __future__ import annotations

import os

import pytest

import ludus
from ludus.errors import ReplayImpossible
from ludus.record import RecordEpisodes, replay
from ludus.record.replay.rebuild import check_arguments


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("CartPole-v1", {"sutton_barto_reward": True}),
        ("FrozenLake-v1", {"desc": ["SFG"], "is_slippery": False}),
        ("FrozenLake-v1", {"map_name": "8x8"}),
        ("Go9x9-v0", {"opponent": "mcts"}),
        ("Hopper-v5", {"frame_skip": 2, "healthy_z_range": [0.5, 2.0]}),
        ("ALE/Pong-v5", {"obs_type": "ram"}),
        ("Maze/Empty-5x5-v0", {"size": 7}),
        ("Maze/Empty-5x5-v0", {"max_steps": 100_000}),
    ],
)
def test_what_says_how_to_play_is_taken(name, kwargs):
    spec = ludus.spec(name)
    check_arguments(spec, {**spec.kwargs, **kwargs})


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("Hopper-v5", {"xml_file": "hopper.xml"}),
        ("Hopper-v5", {"xml_file": "/dev/stdin"}),
        ("Go9x9-v0", {"engine_options": {"path": "gnugo"}}),
        ("Go9x9-v0", {"opponent": "/bin/sh"}),
        ("FrozenLake-v1", {"map_name": "present.txt"}),
        ("FrozenLake-v1", {"desc": ["S" * 6000, "S" * 6000]}),
        ("CartPole-v1", {"unknown": {"deep": ["..\\x"]}}),
        ("Hopper-v5", {"frame_skip": 10**9}),
        ("ALE/Pong-v5", {"frameskip": [2, 10**9]}),
        ("MetaMaze-v0", {"size": 20_001}),
        ("DuplicatedInput-v0", {"duplication": 1e9}),
    ],
)
def test_what_leads_elsewhere_is_refused(tmp_path, monkeypatch, name, kwargs):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "present.txt").touch()
    with pytest.raises(ReplayImpossible, match="pass env_factory"):
        check_arguments(ludus.spec(name), kwargs)


def test_too_many_one_after_the_other():
    with pytest.raises(ReplayImpossible, match="one after the other"):
        check_arguments(ludus.spec("Taxi-v4"), {"vectorization_mode": "sync"}, 65_536)


def test_other_packages_environments_take_words_only():
    class Mine(ludus.Env):
        observation_space = action_space = ludus.spaces.Discrete(2)

        def __init__(self, mode="plain"):
            self.mode = mode

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return 0, {}

        def step(self, action):
            return 0, 0.0, True, False, {}

    ludus.register("ForeignArguments-v0", Mine)
    try:
        spec = ludus.spec("ForeignArguments-v0")
        check_arguments(spec, {"mode": "easy"})
        with pytest.raises(ReplayImpossible, match="could lead to"):
            check_arguments(spec, {"mode": "os:system"})
    finally:
        del ludus.registry["ForeignArguments-v0"]


def test_a_model_from_a_file_is_not_loaded_for_a_stranger(tmp_path):
    """Opened as a pipe, the file of a model would keep the reader waiting for ever."""
    pytest.importorskip("mujoco")
    copy = tmp_path / "slider.xml"
    copy.write_text(
        "<mujoco><worldbody><body><joint name='a' type='slide'/><joint name='b' type='slide' "
        "axis='1 0 0'/><joint name='c'/><geom size='.1'/></body></worldbody><actuator>"
        "<motor joint='a' ctrlrange='-1 1'/></actuator></mujoco>"
    )
    with RecordEpisodes(ludus.make("HalfCheetah-v5", xml_file=str(copy)), tmp_path / "run") as env:
        env.reset(seed=0)
        env.step(env.action_space.sample())
    copy.unlink()
    os.mkfifo(copy)
    with pytest.raises(ReplayImpossible, match="xml_file"):
        replay(tmp_path / "run")
