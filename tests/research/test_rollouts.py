"""Episodes side by side in one program."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import ludus
from ludus.errors import ResearchError, TaskError
from ludus.research import parse_agent, rollouts
from ludus.research.agents import AgentStopped, StopReason
from ludus.research.data.preparation import load_program
from ludus.vector import AsyncVectorEnv
from tests.research.env_support import LOOSE, answer, write_task
from tests.research.running.support import fake_grade

OPTIONS = {"backend": "bubblewrap", "policy": LOOSE}


@pytest.fixture
def task(tmp_path):
    return write_task(tmp_path / "answers")


@pytest.fixture
def quick():
    return {**OPTIONS, "grade": fake_grade(None, None)}


class Counted:
    """Answers with its seed, then stops or submits."""

    def reset(self, seed, env):
        self.seed, self.done = seed, False

    def act(self, observation):
        if self.done and self.seed == 1:
            raise AgentStopped("enough", reason=StopReason.OVER)
        if self.done:
            return "submit"
        self.done = True
        return answer(self.seed / 4)


def test_each_episode_has_an_agent_of_its_own(task, quick):
    found = sorted(rollouts(task, Counted, 3, options=quick), key=lambda one: one.seed)
    assert [one.score for one in found] == pytest.approx([-0.1, 0.15, 0.4])
    assert [one.info["end"] for one in found] == ["submitted", "nothing_left", "submitted"]
    assert [len(one.steps) for one in found] == [2, 1, 2]
    for one in found:
        assert one.error is None
        assert one.reward == pytest.approx(one.info["normalised_score"])
        assert one.steps[0].observation["steps_left"] == 20


def test_they_go_at_their_own_pace_and_within_the_limit(task, quick):
    """The first one waits until all others are over; none is in lock-step with it."""
    over, running, most = threading.Event(), [], []

    def policy(observation):
        if not running:
            running.append(True)
            assert over.wait(60)
        most.append(sum(one.name.startswith("rollout") for one in threading.enumerate()))
        return "submit"

    order = []
    for one in rollouts(task, policy, 5, concurrency=2, options=quick):
        order.append(one.seed)
        if len(order) == 4:
            over.set()
    assert sorted(order) == [0, 1, 2, 3, 4]
    assert order[-1] in (0, 1)
    assert max(most) <= 2


def test_an_error_is_that_of_one_episode(task, quick):
    class Weak(Counted):
        def act(self, observation):
            if self.seed == 0:
                raise ValueError("too hard")
            return super().act(observation)

    found = {one.seed: one for one in rollouts(task, Weak, 2, options=quick)}
    assert str(found[0].error) == "too hard"
    assert (found[0].score, found[1].error) == (None, None)


def test_bundled_agents(task, quick):
    agent = parse_agent("random", {"submit_after": 1})
    (one,) = rollouts(task, agent, 1, seed=5, options=quick)
    assert (one.seed, one.info["end"], len(one.steps)) == (5, "submitted", 2)


class Endless(Counted):
    def act(self, observation):
        return "submit" if self.seed == 0 else "true"


def test_a_closed_iterator_ends_what_is_under_way(task, quick):
    before = threading.active_count()
    found = rollouts(task, Endless, 3, options={**quick, "max_steps": 10**6})
    assert threading.active_count() == before  # nothing begins before it is asked for
    assert next(found).seed == 0
    found.close()
    assert threading.active_count() == before


def test_wrong_calls(task):
    with pytest.raises(ResearchError, match="at least 1"):
        rollouts(task, Counted, 0)
    with pytest.raises(TaskError, match="noSuchTask"):
        rollouts("noSuchTask", Counted, 1)


def test_a_batch_has_a_worker_per_episode():
    with ludus.make_vec("mlgym/battleOfSexes-v0", num_envs=3, **OPTIONS) as envs:
        assert isinstance(envs, AsyncVectorEnv)
        assert len(envs._pool.workers) == 3
        observations, _ = envs.reset(seed=0)
        assert list(observations["steps_left"]) == [observations["steps_left"][0]] * 3
        observations, *_ = envs.step(["pwd"] * 3)
        assert list(observations["output"]) == ["/workspace\n"] * 3


def test_threads_load_one_program_at_a_time(tmp_path):
    """Dataclasses look for their module by its name, which the threads share."""
    program = tmp_path / "data.py"
    program.write_text(
        "from __future__ import annotations\n"
        "import time\n"
        "from dataclasses import dataclass\n"
        "time.sleep(0.01)\n"
        "@dataclass\n"
        "class Row:\n"
        "    value: int\n"
    )
    with ThreadPoolExecutor(8) as pool:
        modules = list(pool.map(load_program, [program] * 16))
    assert len({module.Row for module in modules}) == 16
