from __future__ import annotations

import dataclasses
from importlib.metadata import PackageNotFoundError

import pytest

from ludus.bench.agents.spec import AgentSpec
from ludus.bench.planning import plan
from ludus.bench.planning.plan import make_plan, missing_environments
from ludus.bench.planning.suite import load_suite, parse_suite
from ludus.core.spec import SecuritySpec
from ludus.errors import BenchError
from ludus.registration import registry

TEXT = """\
name: mine
seeds: 2
budget: {episodes: 10}
environments:
  - id: CartPole-v1
  - id: LunarLander-v99
    install: pip install moon
  - id: tests.bench.players:tests-Line-v0
"""


@pytest.fixture
def suite():
    return parse_suite(TEXT, "mine.yaml")


def test_units_go_seed_by_seed(suite):
    units = make_plan(suite, ["random", "constant:0"], skip_missing=True).units
    assert [(unit.seed, unit.env_id, unit.agent.name) for unit in units] == [
        (seed, env, agent)
        for seed in (0, 1)
        for env in ("CartPole-v1", "tests-Line-v0")
        for agent in ("random", "constant:0")
    ]


def test_missing_environments_are_named_with_what_to_install(suite):
    assert [one.env for one in missing_environments(suite)] == ["LunarLander-v99"]
    with pytest.raises(BenchError, match=r"(?s)1 of 3 .*LunarLander-v99.*pip install moon.*--skip"):
        make_plan(suite)
    assert make_plan(suite, skip_missing=True).missing[0].install == "pip install moon"


@pytest.mark.parametrize("suite", ["atari5", "board", "box2d", "mujoco"])
def test_environments_whose_engine_is_not_installed_are_missing(suite, monkeypatch):
    def nothing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(plan, "version", nothing)
    suite = load_suite(suite)
    assert len(missing_environments(suite)) == len(suite.environments)
    with pytest.raises(BenchError, match=r"(?s)which is not installed; pip install .*ludus-gym\["):
        make_plan(suite)
    with pytest.raises(BenchError, match="None of the environments of"):
        make_plan(suite, skip_missing=True)


def test_an_engine_of_another_version_will_not_do(monkeypatch):
    monkeypatch.setattr(plan, "version", lambda name: "0.1")
    (first, *_) = missing_environments(load_suite("mujoco"))
    assert first.reason == "needs mujoco>=4,<5, and 0.1 is installed"


@pytest.mark.parametrize(("needs", "lacks"), [("not a requirement at all", 0), ("no-such-one", 1)])
def test_what_a_plugin_says_that_it_needs(needs, lacks, suite, monkeypatch):
    spec = dataclasses.replace(registry["CartPole-v1"], security=SecuritySpec((needs,)))
    monkeypatch.setitem(registry, "CartPole-v1", spec)
    assert len(missing_environments(suite)) == 1 + lacks


def test_the_same_work_has_the_same_id(suite):
    def ids(suite, agents=("random",)):
        return [unit.id for unit in make_plan(suite, agents, skip_missing=True).units]

    first = ids(suite)
    assert first == ids(parse_suite(TEXT, "elsewhere.yaml"))
    assert len(set(first)) == 4
    assert set(first) < set(ids(suite, ["random", "constant:0"]))
    assert set(first[:2]) == set(ids(suite.changed(seeds=1)))
    variants = (
        "-v0",
        "-v1\n    kwargs: {sutton_barto_reward: true}",
        "-v1\n    max_episode_steps: 9",
    )
    changed = [parse_suite(TEXT.replace("-v1", text), "mine.yaml") for text in variants]
    others = [
        ids(suite.changed(episodes=9)),
        ids(suite, ["constant:1"]),
        ids(suite, ["other=random"]),
        ids(suite, [AgentSpec("random", "random", num_envs=2)]),
        *(ids(one) for one in changed),
    ]
    assert not set(first) & {one for other in others for one in other}


def test_an_agents_file_is_part_of_what_it_is(suite, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def act(observation): return 0\n")

    def first_id():
        return make_plan(suite, [f"{path}:act"], skip_missing=True).units[0].id

    before = first_id()
    assert before == first_id()
    path.write_text("def act(observation): return 1\n")
    assert before != first_id()


def test_all_agents_meet_the_same_episodes(suite):
    first, second = make_plan(suite, ["random", "constant:0"], skip_missing=True).units[:2]
    assert first.env_seed(3) == second.env_seed(3) != first.env_seed(4)


@pytest.mark.parametrize(
    ("agents", "words"),
    [
        (["heuristic"], "no reference agent for tests.bench.players:tests-Line-v0"),
        (["random", "random"], "Two agents are called random"),
        ([], "There is no agent"),
        (["nonsense"], "names no agent; expected one of constant"),
        (["nothing.py:act"], "there is no file nothing.py"),
        (["random:3"], "random takes no value"),
        (["constant:{"], "as JSON"),
        (["batch:many:a:b"], "write batch:16:module:factory"),
        (["sb3:PPO"], "write sb3:ALGORITHM:model.zip"),
        (["sb3:PPO:model.zip"], "--trust-pickle"),
        ([7], "is no agent"),
        ([{"name": "x"}], "An agent has the fields"),
        ([{"use": "a:b", "options": {"x": float("nan")}}], "must be plain JSON"),
    ],
)
def test_agents_that_cannot_be_had(suite, agents, words):
    with pytest.raises(BenchError, match=words):
        make_plan(suite, agents, skip_missing=True)
