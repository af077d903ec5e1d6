"""Policies in a grader's environments, without boxes."""

from __future__ import annotations

import numpy as np
import pytest

import ludus
from ludus.errors import SubmissionRejected
from ludus.research.grading.policies import PolicyTest

CAR = PolicyTest("MountainCarContinuous-v0", frames=120, policies=2, environments=8)
MAZE = PolicyTest("MetaMaze-v0", frames=60, policies=2, environments=64)


class FakeCode:
    """Submitted code that runs here; time goes by as it is told to."""

    def __init__(self, act, seconds_per_call=0.0):
        self.act, self.seconds, self._each = act, 0.0, seconds_per_call
        self.started = []

    def call(self, function, *args, timeout, max_bytes):
        self.seconds += self._each
        if function == "start":
            self.started.append(args)
            return None
        return self.act(*args)


class FakeSubmission:
    def __init__(self, act, **options):
        self.made = FakeCode(act, **options)
        self.read = []

    def arrays(self, name):
        self.read.append(name)

    def code(self, name):
        assert name == "policy.py"
        return self.made


def start(policy, environments):
    pass


def rock(observations):
    return np.where(observations[:, 1] >= 0, 1.0, -1.0)


def wander(observations):
    return np.arange(len(observations)) * int(observations[0, 14] * 100 + 200) % 7 % 4


def grade(test, act, seed=0, split="test", key="k", **options):
    return test.grade(FakeSubmission(act, **options), seed, split, key)


def test_every_policy_is_started_and_plays():
    submission = FakeSubmission(rock)
    score = CAR.grade(submission, 0, "test", "k")
    assert submission.made.started == [(0, 8), (1, 8)]
    assert submission.read == ["weights.npz"]
    assert len(score.details["policies"]) == 2
    assert score.details["episodes"] == 16
    assert score.value == pytest.approx(np.mean(score.details["policies"]))
    assert 85 < score.value < 95


def test_the_same_seed_gives_the_same_score():
    assert grade(MAZE, wander) == grade(MAZE, wander)


@pytest.mark.parametrize("other", [{"seed": 1}, {"split": "validation"}, {"key": "l"}])
def test_seed_split_and_key_change_the_environments(other):
    assert grade(CAR, rock).details != grade(CAR, rock, **other).details


def test_no_two_policies_play_the_same_episodes():
    first, second = CAR.returns(start, rock, 0)
    assert not np.isin(first, second).all()


def test_returns_are_those_of_single_environments():
    seen = []

    def act(observations):
        seen.append(observations)
        return rock(observations)

    test = PolicyTest("MountainCarContinuous-v0", frames=120, policies=1, environments=3)
    (returns,) = test.returns(start, act, 5)
    env = ludus.make("MountainCarContinuous-v0")
    seeds = np.random.default_rng(5).integers(2**63, size=3).tolist()
    for row, seed in enumerate(seeds):
        observation, _ = env.reset(seed=seed)
        np.testing.assert_array_equal(observation, seen[0][row])
        total, over = 0.0, False
        for _ in range(120):
            action = rock(observation[None]).astype(np.float32)
            observation, reward, terminated, truncated, _ = env.step(action)
            total += reward
            if over := terminated or truncated:
                break
        assert over
        assert returns[row] == pytest.approx(total)


def test_what_comes_after_an_episode_does_not_count():
    long = PolicyTest("MountainCarContinuous-v0", frames=1000, policies=1, environments=8)
    short = PolicyTest("MountainCarContinuous-v0", frames=200, policies=1, environments=8)
    calls = []

    def act(observations):
        calls.append(None)
        return rock(observations)

    np.testing.assert_array_equal(long.returns(start, act, 3), short.returns(start, rock, 3))
    assert len(calls) < 200  # all had arrived


def test_forces_are_clipped():
    full = CAR.returns(start, rock, 0)
    np.testing.assert_array_equal(CAR.returns(start, lambda o: 1e30 * rock(o), 0), full)
    np.testing.assert_array_equal(CAR.returns(start, lambda o: rock(o)[:, None], 0), full)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "left",
        {"a": 1},
        np.zeros(7),
        np.zeros((8, 2)),
        np.zeros((1, 8)),
        np.full(8, np.nan),
        np.full(8, np.inf),
        np.zeros(8, complex),
        np.zeros(8, bool),
        [0.0] * 9,
        [[0.0], [0.0, 1.0]],
    ],
)
def test_what_are_no_forces_is_refused(answer):
    with pytest.raises(SubmissionRejected, match=r"finite numbers of shape \(8, 1\)"):
        CAR.returns(start, lambda observations: answer, 0)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        3,
        np.zeros(63, int),
        np.zeros((64, 1), int),
        np.full(64, 4),
        np.full(64, -1),
        np.zeros(64),
        np.zeros(64, bool),
        [2**63] + [0] * 63,
        ["0"] * 64,
        [[0], [0, 1]] * 32,
    ],
)
def test_what_are_no_actions_is_refused(answer):
    with pytest.raises(SubmissionRejected, match="64 ints from 0 to 3"):
        MAZE.returns(start, lambda observations: answer, 0)


def test_slow_policies_are_refused():
    with pytest.raises(SubmissionRejected, match="more than 300 seconds"):
        grade(CAR, rock, seconds_per_call=9.0)
