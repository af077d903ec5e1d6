"""Whole episodes: model server, agent, box and grading, all of them real."""

from __future__ import annotations

import pytest

from ludus.research.agents import RandomAgent, ScriptedAgent
from ludus.research.episode.env import ResearchEnv
from ludus.research.model_server.policies import Call, Say, by_step
from ludus.research.model_server.server import ModelServer
from ludus.research.task.scaffold import new_task
from tests.research.agents.support import agent_on

SOLUTION = """\
import csv
from statistics import linear_regression
def rows(name):
    with open(name) as file:
        return list(csv.DictReader(file))
train = rows("train.csv")
line = linear_regression([float(r["x"]) for r in train], [float(r["y"]) for r in train])
import os
os.makedirs("predictions", exist_ok=True)
for split in ("validation", "test"):
    with open(f"predictions/{split}.csv", "w") as file:
        print("id,y", file=file)
        for r in rows(f"{split}.csv"):
            print(r["id"], line.slope * float(r["x"]) + line.intercept, sep=",", file=file)
"""
TOOLS = [
    Call("shell", {"command": "ls"}, "First the workspace."),
    Say("I forgot to call a tool."),
    Call("create", {"path": "solve.py", "text": SOLUTION}),
    Call("shell", {"command": "python3 solve.py"}),
    Call("validate"),
    Call("submit"),
]
TEXT = [
    Say("Look.\n\n```bash\nls\n```"),
    Say(f"Solve.\n\n```bash\ncat > solve.py <<'END'\n{SOLUTION}END\npython3 solve.py\n```"),
    Say("Check.\n\n```\nvalidate\n```"),
    Say("Done.\n\n```\nsubmit\n```"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return new_task("nearLine", tmp_path_factory.mktemp("tasks"))


def play(agent, folder, **options):
    with ResearchEnv(folder, **options) as env:
        observation, info = env.reset(seed=5)
        rewards, over = [], False
        while not over:
            observation, reward, terminated, truncated, info = env.step(agent.act(observation))
            rewards.append(float(reward))
            over = terminated or truncated
    return rewards, terminated, info


@pytest.mark.parametrize(("style", "script"), [("tools", TOOLS), ("text", TEXT)])
def test_a_scripted_model_solves_the_task_over_http(folder, style, script):
    pytest.importorskip("openai")
    with ModelServer(by_step({"Predict y from x": script})) as server:
        agent = agent_on(server, style=style)
        rewards, terminated, info = play(agent, folder)
        agent.close()
    assert terminated
    assert info["outcome"] == "scored"
    assert sum(rewards) > 1
    assert agent.usage.calls == len(script)
    assert "validation score: 0.0" in server.requests[-1].text
    assert "train.csv" in server.requests[-1].text


def test_a_small_context_does_not_lose_the_thread(folder):
    pytest.importorskip("openai")
    flood = [Call("shell", {"command": "seq 3000"})] * 6
    with ModelServer(by_step({"Predict y from x": flood + TOOLS}), context_tokens=2500) as server:
        agent = agent_on(server)
        rewards, terminated, _ = play(agent, folder)
        agent.close()
    assert terminated
    assert sum(rewards) > 1


def test_a_script_does_as_well_without_a_model(folder):
    write = {"tool": "create", "arguments": {"path": "solve.py", "text": SOLUTION}}
    rewards, terminated, _ = play(ScriptedAgent([write, "python3 solve.py", "submit"]), folder)
    assert terminated
    assert sum(rewards) > 1


def test_looking_around_at_random_gains_nothing(folder):
    rewards, _, info = play(RandomAgent(2), folder, max_steps=6)
    assert info["outcome"] == "agent_fault"
    assert sum(rewards) <= 0
