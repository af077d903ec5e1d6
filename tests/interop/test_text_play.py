"""Environments as language models play them."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

import ludus
from ludus.core import Env
from ludus.errors import CustomSpaceError, Error, InvalidAction
from ludus.interop.text_play import TextEpisode, open_episode
from ludus.interop.text_play.episode import OVER
from ludus.interop.text_play.replies import arguments_in, command_in
from ludus.research.episode.env import ResearchEnv
from ludus.spaces import Box, Dict, Discrete, Graph, MultiBinary, MultiDiscrete, Text, Tuple
from ludus.testing import FaultyEnv
from tests.research.env_support import LOOSE, SECRET, answer, write_task
from tests.research.running.support import fake_grade

HOSTILE = [
    None, True, "1", "", [], {}, [1], [[1]], 1.5, -1, 10**400, 1e308, float("nan"), float("inf"),
    "\0", "\ud800", {"action": 1}, [True], [None, None],
]  # fmt: skip


class Told(Env):
    """Repeats an observation and keeps the last action."""

    def __init__(self, action_space=None, observation_space=None, observation=0):
        self.action_space = action_space or Discrete(3)
        self.observation_space = observation_space or Discrete(3)
        self.observation, self.last = observation, None

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation, {"hidden": "the-secret"}

    def step(self, action):
        self.last = action
        return self.observation, 1.5, False, False, {"hidden": "the-secret"}


def playing(**spaces):
    episode = TextEpisode(Told(**spaces))
    episode.begin(0)
    return episode


ACTIONS = [
    (Discrete(3, start=-1), {"action": -1}, np.int64(-1), {"action": 2}),
    (MultiDiscrete([2, 3]), {"action": [1, 2]}, np.array([1, 2]), {"action": [2, 0]}),
    (MultiBinary(2), {"action": [1, 0]}, np.array([1, 0], np.int8), {"action": [2, 0]}),
    (Box(-1, 1, (2,)), {"action": [0.5, -1]}, np.array([0.5, -1], "f4"), {"action": [2.0, 0]}),
    (Box(0, 9, (), np.float64), {"action": 4}, np.float64(4), {"action": 10}),
    (
        Box(0, 9, (2,), np.uint8),
        {"action": [3, 4]},
        np.array([3, 4], np.uint8),
        {"action": [-1, 0]},
    ),
    (Text(5), {"action": "abc"}, "abc", {"action": "abcdef"}),
    (
        Dict({"go": Discrete(2), "say": Text(3)}),
        {"go": 1, "say": "ab"},
        {"go": 1, "say": "ab"},
        {"go": 1},
    ),
    (Tuple([Discrete(2), Discrete(4)]), {"part_1": 0, "part_2": 3}, (0, 3), {"part_1": 0}),
]


@pytest.mark.parametrize(("space", "given", "meant", "wrong"), ACTIONS, ids=str)
def test_arguments_become_members_of_the_space(space, given, meant, wrong):
    episode = playing(action_space=space)
    episode.call("act", given)
    assert episode.env.last in space
    np.testing.assert_equal(episode.env.last, meant)
    with pytest.raises(InvalidAction, match="expected|missing"):
        episode.call("act", wrong)
    assert episode.steps == 1


@pytest.mark.parametrize(("space", "given"), [row[:2] for row in ACTIONS], ids=str)
def test_what_is_no_member_is_refused_and_does_nothing(space, given):
    episode = playing(action_space=space)
    for name in given:
        for value in HOSTILE:
            try:
                episode.call("act", {**given, name: value})
            except InvalidAction:
                continue
            assert episode.env.last in space
    with pytest.raises(InvalidAction, match="no argument"):
        episode.call("act", {**given, "self": 1})
    with pytest.raises(InvalidAction, match="no tool 'reset'"):
        episode.call("reset", {})


@pytest.mark.parametrize(
    "space",
    [
        Graph(Discrete(2), None),
        Box(0, 1, (2, 2)),
        *(Dict({key: Discrete(2)}) for key in ("not a name", "class", "self")),
    ],
    ids=str,
)
def test_spaces_that_no_model_can_act_in(space):
    with pytest.raises(CustomSpaceError, match="cannot act in"):
        TextEpisode(Told(action_space=space))


@pytest.mark.parametrize(
    ("space", "observation", "told"),
    [
        (Discrete(4), np.int64(3), "3"),
        (Box(-9, 9, (3,)), np.array([1, 0.25, -1 / 3], "f4"), "[1, 0.25, -0.333333]"),
        (Box(0, 9, (2, 2), np.int8), np.eye(2, dtype=np.int8), "[[1, 0],\n [0, 1]]"),
        (Text(9), "a room", "a room"),
        (Tuple([Discrete(2), Text(9)]), (1, "x"), "(1, x)"),
        (Dict({"b": Discrete(9), "a": Discrete(9)}), {"a": 1, "b": 2}, "\na: 1\nb: 2"),
    ],
    ids=str,
)
def test_observations_are_told(space, observation, told):
    episode = TextEpisode(Told(observation_space=space, observation=observation))
    assert episode.begin(0) == f"Observation: {told}"


@pytest.mark.parametrize("space", [Box(0, 255, (9, 9, 13), np.uint8), Graph(Discrete(2), None)])
def test_observations_that_are_no_text(space):
    with pytest.raises(CustomSpaceError, match="told as text"):
        TextEpisode(Told(observation_space=space))


def test_nothing_but_observations_is_told():
    episode = playing()
    told = episode.begin(0) + episode.call("act", {"action": 1})
    assert "secret" not in told
    assert "1.5" not in told
    assert (episode.reward, episode.info["hidden"]) == (1.5, "the-secret")


def test_an_episode_ends_once():
    episode = open_episode("FrozenLake-v1", {"is_slippery": False})
    assert episode.call("act", {"action": 1}) == OVER
    episode.begin(0)
    told = [episode.call("act", {"action": one}) for one in (1, 1, 2, 2, 1, 2)]
    assert told[-1] == f"Observation: 15\n{OVER}"
    assert episode.is_over
    assert [episode.call("act", {"action": 0}) for _ in range(3)] == [OVER] * 3
    episode.finish()
    assert (episode.reward, episode.steps) == (1.0, 6)
    episode.begin(0)
    assert (episode.reward, episode.steps, episode.is_over) == (0.0, 0, False)
    episode.close()


def test_the_same_seed_is_the_same_episode():
    episode = open_episode("CartPole-v1")
    assert episode.begin(3) == episode.begin(3) != episode.begin(4)


def test_pictures_are_told_only_where_they_were_asked_for():
    plain, drawn = (
        open_episode("FrozenLake-v1"),
        open_episode("FrozenLake-v1", {"render_mode": "ansi"}),
    )
    assert plain.begin(0) == "Observation: 0"
    assert drawn.begin(0) == "[S]FFF\nFHFH\nFFFH\nHFFG\nObservation: 0"


class Slow(Told):
    """Waits in every call until it may go on."""

    def __init__(self):
        super().__init__()
        self.inside, self.may_go_on, self.closed = threading.Event(), threading.Event(), 0

    def reset(self, *, seed=None, options=None):
        self.inside.set()
        self.may_go_on.wait(10)
        return super().reset()

    def step(self, action):
        self.inside.set()
        self.may_go_on.wait(10)
        return super().step(action)

    def close(self):
        self.closed += 1


def test_what_is_opened_while_it_is_closed_is_closed_as_well():
    env = Slow()
    episode, told = TextEpisode(env), []
    thread = threading.Thread(target=lambda: told.append(episode.begin(0)))
    thread.start()
    env.inside.wait(10)
    episode.close()
    env.may_go_on.set()
    thread.join(10)
    assert (told, env.closed, episode.is_over) == ([OVER], 2, True)


def test_an_episode_ends_after_the_action_that_is_under_way():
    """A trainer that has given up waiting for an action asks for the reward."""
    env = Slow()
    env.may_go_on.set()
    episode = TextEpisode(env)
    episode.begin(0)
    env.may_go_on.clear()
    env.inside.clear()
    acting = threading.Thread(target=lambda: episode.call("act", {"action": 1}))
    acting.start()
    env.inside.wait(10)
    ending = threading.Thread(target=episode.finish)
    ending.start()
    ending.join(0.2)
    assert ending.is_alive()
    env.may_go_on.set()
    acting.join(10)
    ending.join(10)
    assert (episode.reward, episode.steps, episode.is_over) == (1.5, 1, True)


def test_what_fails_is_told_to_the_operator_only():
    episode = TextEpisode(FaultyEnv(at_step=1))
    episode.begin(0)
    with pytest.warns(UserWarning, match="FaultyEnv fails"):
        told = episode.call("act", {"action": 1})
    assert "FaultyEnv" not in told
    assert "no fault of yours" in told
    assert (episode.reward, episode.is_over) == (None, True)
    assert "FaultyEnv fails" in episode.fault
    episode.finish()
    assert episode.reward is None


def test_there_is_no_such_environment():
    with pytest.raises(Error, match="NoSuchThing"):
        open_episode("NoSuchThing-v0")


@pytest.fixture
def research(tmp_path):
    task = write_task(tmp_path / "answers")
    grade = fake_grade(None, None)
    episode = TextEpisode(ResearchEnv(task, backend="bubblewrap", policy=LOOSE, grade=grade))
    yield episode
    episode.close()


def test_a_research_task_has_its_tools(research):
    first = research.begin(0)
    assert "Write the answer to answer.json." in first
    assert next(iter(research.tools)) == "shell"
    assert "submit" in research.tools
    told = research.call("shell", {"command": answer(0.5)})
    assert "exit code: 0" in told
    assert "score = 0.5" in research.call("validate", {})
    assert research.call("submit", {}) == OVER
    # The work scores less on the test split than the agent was told, and is not told so.
    assert research.info["score"] == pytest.approx(0.4)
    assert research.reward == pytest.approx(research.info["normalised_score"])


def test_wrong_arguments_of_a_research_tool_are_told(research):
    research.begin(0)
    assert "open" in research.call("open", {"line": "x", "path": None})
    with pytest.raises(InvalidAction, match="no tool"):
        research.call("grade", {})


def test_work_is_graded_where_the_model_stops(research):
    research.begin(0)
    research.call("shell", {"command": answer(1.0)})
    research.finish()
    research.finish()
    assert (research.info["end"], research.steps) == ("agent", 1)
    assert research.info["score"] == pytest.approx(0.9)


def test_nothing_of_the_grader_is_within_reach(research):
    research.begin(0)
    places = "/workspace /tmp /etc /dev/shm /ludus /var"
    find = {"command": f"grep -rls {SECRET[:6]}'{SECRET[6:]}' {places} 2>/dev/null"}
    assert "(no output)" in research.call("shell", find)
    research.call("shell", {"command": f"echo {SECRET} > planted"})
    assert "planted" in research.call("shell", find)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('{"action": 1}', {"action": 1}),
        ('I go left.\n{"action": 1}', {"action": 1}),
        ('```json\n{"action": 2}\n```\nThat is it.', {"action": 2}),
        ('Not {"action": 1} but {"action": 2}', {"action": 2}),
        ('<think>{"action": 3}</think>\n{"action": 1}', {"action": 1}),
        ('{"say": "a } brace"}', {"say": "a } brace"}),
    ],
)
def test_the_action_in_a_reply(text, meant):
    assert arguments_in(text) == meant


@pytest.mark.parametrize("text", ["", "left", "[1]", "{", "{'action': 1}", '<think>{"action": 3}'])
def test_replies_without_an_action(text):
    with pytest.raises(InvalidAction, match="no JSON object"):
        arguments_in(text)


def test_hostile_replies_end():
    for text in ("{" * 300_000, "[" * 300_000, "}" * 300_000, '{"a":' * 50_000, "```\n" * 50_000):
        with pytest.raises(InvalidAction):
            arguments_in(text)
        with pytest.raises(InvalidAction):
            command_in(text)


def test_a_reply_acts():
    episode = open_episode("FrozenLake-v1", {"is_slippery": False})
    assert json.dumps({"action": 1}) in episode.text_instructions
    episode.begin(0)
    assert episode.reply('Down.\n{"action": 1}') == "Observation: 4"


def test_rules_are_those_of_the_class():
    told = open_episode("FrozenLake-v1").instructions
    assert "0 left, 1 down, 2 right, 3 up" in told
    assert "render_mode" not in told


def test_every_small_environment_can_be_played():
    chosen = ("classic_control", "toy_text", "algorithmic")
    ids = [spec.id for spec in ludus.registry.values() if spec.family in chosen]
    assert len(ids) > 20
    for env_id in ids:
        if ludus.spec(env_id).version == max(_versions(env_id)):
            episode = open_episode(env_id)
            assert episode.begin(0)
            episode.close()


def _versions(env_id):
    base = env_id.rpartition("-v")[0]
    return [spec.version for spec in ludus.registry.values() if spec.id.rpartition("-v")[0] == base]
