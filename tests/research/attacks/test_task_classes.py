"""What a task's own class returns: observations and states that are none, or that change later."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.errors import StateError, TaskError
from ludus.research import BaseTask
from tests.research.env_support import FakeGrade, make, write_task
from tests.research.grading.support import boxed

pytestmark = boxed


def looped():
    made = []
    made.append(made)
    return made


def deep():
    made = inner = []
    for _ in range(5000):
        inner.append([])
        inner = inner[0]
    return made


class Odd(BaseTask):
    """Returns what it is told to."""

    told = None
    kept = None

    def step(self, action):
        observation, reward, done, info = super().step(action)
        return self.told or observation, reward, done, info

    def get_state(self):
        return self.kept

    def set_state(self, state):
        self.kept = state
        state.append("changed")


@pytest.fixture(scope="module")
def env(tmp_path_factory):
    task = write_task(tmp_path_factory.mktemp("odd") / "answers", max_steps=60)
    with make(task, grade=FakeGrade(), task_class=Odd) as made:
        made.reset(seed=0)
        yield made


ODD = [object(), looped(), deep(), {1, 2}, np.array([object()]), {(1, 2): 3}, lambda: 1]


@pytest.mark.parametrize("value", ODD, ids=range(len(ODD)))
def test_observations_and_states_that_are_not_plain_data(env, value):
    env._rules.task.told = {"extra": value}
    with pytest.raises(TaskError, match="not plain data"):
        env.step("true")
    env._rules.task.told, env._rules.task.kept = None, value
    with pytest.raises(StateError, match="Odd's state"):
        env.get_state()


def test_a_state_stays_as_it_was_taken(env):
    env._rules.task.kept = kept = [1]
    state = env.get_state()
    kept.append(2)
    env.set_state(state)
    assert env._rules.task.kept == [1, "changed"]
    env.set_state(state)
    assert env._rules.task.kept == [1, "changed"]
