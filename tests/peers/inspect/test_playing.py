"""Inspect plays Ludus's environments and research tasks, and logs Ludus's score."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from inspect_ai import Task, eval
from inspect_ai.agent import react
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.solver import basic_agent

from ludus.interop.inspect import episode_tools, play
from ludus.interop.inspect.playing import _episodes
from ludus.research import register_task
from tests.research.env_support import LOOSE, SECRET, answer, write_task

RIGHT, DOWN = 2, 1
TO_THE_GOAL = [("act", {"action": one}) for one in (DOWN, DOWN, RIGHT, RIGHT, DOWN, RIGHT)]
BOX = {"backend": "bubblewrap", "policy": LOOSE}
DRY = {"is_slippery": False}


def scripted(calls):
    """Return a model of Inspect's that makes some calls, then says that it is done."""
    outputs = [ModelOutput.for_tool_call("mockllm", name, given) for name, given in calls]
    outputs += [ModelOutput.from_content("mockllm", "Done.") for _ in range(4)]
    for output in outputs:
        # Otherwise Inspect counts tokens, with a vocabulary that it downloads.
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return get_model("mockllm/model", custom_outputs=outputs, memoize=False)


def run(task, calls, tmp_path, **options):
    """Evaluate a task with a scripted model; return the log."""
    (log,) = eval(
        task,
        model=scripted(calls),
        log_dir=str(tmp_path / "logs"),
        display="none",
        **options,
    )
    assert not _episodes
    return log


def told(log):
    return [message.text for message in log.samples[0].messages if message.role == "tool"]


@pytest.fixture
def answers(tmp_path, request):
    name = f"answers{abs(hash(request.node.nodeid))}"
    register_task(name, folder=write_task(tmp_path / "answers"))
    return f"mlgym/{name}-v0"


def test_an_episode_is_played_to_the_goal(tmp_path):
    log = run(play("FrozenLake-v1", arguments=DRY), TO_THE_GOAL, tmp_path)
    assert log.status == "success"
    score = log.samples[0].scores["ludus_score"]
    assert (score.value, score.metadata["steps"]) == (1.0, len(TO_THE_GOAL))
    assert told(log)[0] == "Observation: 4"
    assert "over" in told(log)[-1]
    read = [message.text for message in log.samples[0].messages]
    assert not any("seed" in text for text in (log.samples[0].input, *read))


def test_wrong_calls_are_answered_and_do_nothing(tmp_path):
    calls = [("act", {"action": 9}), ("act", {}), ("reset", {}), ("act", {"action": DOWN})]
    log = run(play("FrozenLake-v1", arguments=DRY), calls, tmp_path)
    score = log.samples[0].scores["ludus_score"]
    assert (score.value, score.metadata["steps"]) == (0.0, 1)
    assert told(log)[-1] == "Observation: 4"


def test_a_research_task_is_graded(tmp_path, answers):
    calls = [("shell", {"command": answer(0.75)}), ("validate", {}), ("submit", {})]
    log = run(play(answers, arguments=BOX), calls, tmp_path)
    assert log.status == "success", log.error
    score = log.samples[0].scores["ludus_score"]
    assert score.value == pytest.approx(0.5)
    assert score.metadata["score"] == 0.75
    assert (score.metadata["outcome"], score.answer) == ("scored", "submitted")
    assert "score = 0.75" in told(log)[1]
    assert log.results.scores[0].metrics["mean"].value == pytest.approx(0.5)
    assert SECRET not in log.model_dump_json()


def test_work_is_graded_where_a_limit_ends_the_sample(tmp_path, answers):
    calls = [("shell", {"command": answer(1.0)}), *[("shell", {"command": "ls"})] * 5]
    log = run(play(answers, arguments=BOX, message_limit=6), calls, tmp_path)
    assert log.samples[0].limit.type == "message"
    assert log.samples[0].scores["ludus_score"].value == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["react", "basic_agent"])
def test_other_agents(tmp_path, answers, kind):
    tools = episode_tools(answers, BOX)
    if kind == "react":
        # Its own tool for submitting is called so, too.
        solver = react(tools=[one for one in tools if one.name != "submit"])
    else:
        solver = basic_agent(tools=[one.as_tool() for one in tools if one.name != "submit"])
    calls = [("shell", {"command": answer(0.75)}), ("submit", {"answer": "1000"})]
    task = play(answers, arguments=BOX)
    log = run(task, calls, tmp_path, solver=solver)
    assert log.status == "success", log.error
    assert log.samples[0].scores["ludus_score"].value == pytest.approx(0.5)


def test_an_episode_that_fails_has_no_score(tmp_path):
    task = play("tests.peers.failing_env:Failing-v0")
    log = run(task, [("act", {"action": 1})] * 3, tmp_path)
    assert log.status == "error"
    assert "The episode has no score" in log.error.message
    assert "FaultyEnv" not in "".join(told(log))


def test_samples_have_episodes_of_their_own(tmp_path):
    task = play("CartPole-v1", num_episodes=3, seed=5)
    log = run(task, [("act", {"action": 0})] * 3, tmp_path, max_samples=1)
    assert log.status == "success", log.error
    first = [sample.messages[1].text for sample in log.samples]
    assert len(set(first)) == 3
    steps = [sample.scores["ludus_score"].metadata["steps"] for sample in log.samples]
    assert steps == [3, 0, 0]


def test_the_command_line(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from inspect_ai import task\n"
        "from ludus.interop.inspect import play\n"
        "from tests.peers.inspect.test_playing import DRY, TO_THE_GOAL, scripted\n"
        "@task\n"
        "def mine():\n"
        "    made = play('FrozenLake-v1', arguments=DRY)\n"
        "    made.model = scripted(TO_THE_GOAL)\n"
        "    return made\n"
    )
    command = [
        str(Path(sys.executable).parent / "inspect"), "eval", file.name,
        "--log-dir", str(tmp_path / "logs"), "--display", "none",
    ]  # fmt: skip
    path = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=200, env=path, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (written,) = (tmp_path / "logs").glob("*.eval")
    log = read_eval_log(str(written))
    assert log.status == "success", log.error
    assert log.samples[0].scores["ludus_score"].value == 1.0


def test_the_sandbox_in_a_task_of_another(tmp_path):
    """A task that knows nothing of Ludus runs its commands in Ludus's sandbox."""
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import includes
    from inspect_ai.solver import generate, use_tools
    from inspect_ai.tool import bash
    from inspect_ai.util import SandboxEnvironmentSpec

    from ludus.interop.inspect import LudusSandboxConfig

    config = LudusSandboxConfig(backend="bubblewrap", policy=dict(LOOSE))
    task = Task(
        dataset=[Sample(input="Read it.", target="Done", files={"note.txt": "the note"})],
        solver=[use_tools(bash()), generate()],
        scorer=includes(),
        sandbox=SandboxEnvironmentSpec("ludus", config),
    )
    log = run(task, [("bash", {"command": "cat note.txt; pwd; hostname"})], tmp_path)
    assert log.status == "success", log.error
    assert told(log) == ["the note/workspace\nludus\n"]
    # The log can be read again, configuration and all.
    again = json.loads(log.model_dump_json())["eval"]["sandbox"]
    assert again["config"]["backend"] == "bubblewrap"
