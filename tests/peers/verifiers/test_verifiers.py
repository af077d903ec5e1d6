"""verifiers plays Ludus's environments and research tasks with a model behind a real server."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import verifiers.v1 as vf
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig
from verifiers.v1.utils.loaders import environment_class, taskset_class

from ludus.interop.verifiers import LudusConfig, LudusEnv, LudusEnvConfig, LudusTaskset
from ludus.research import register_task
from tests.peers.verifiers.scripted_server import script, serving
from tests.research.env_support import LOOSE, SECRET, answer, write_task

RIGHT, DOWN = 2, 1
TO_THE_GOAL = [f'Onwards.\n{{"action": {one}}}' for one in (DOWN, DOWN, RIGHT, RIGHT, DOWN, RIGHT)]
BIN = Path(sys.executable).parent

pytestmark = pytest.mark.skipif(
    shutil.which("uv", path=f"{BIN}{os.pathsep}{os.environ['PATH']}") is None,
    reason="verifiers runs its chat program with uv",
)


@pytest.fixture(autouse=True)
def _uv_is_found(monkeypatch):
    monkeypatch.setenv("PATH", f"{BIN}{os.pathsep}{os.environ['PATH']}")


def play(tmp_path, url, env="FrozenLake-v1", arguments=None, **fields):
    """Run verifiers' evaluation of one episode in this process; return its trace."""
    given = {"is_slippery": False} if arguments is None else arguments
    taskset = {"id": "ludus-verifiers", "env": env, "arguments": given, "num_episodes": 1}
    config = EvalConfig.model_validate(
        {
            "env": {"taskset": taskset, **fields},
            "model": "scripted",
            "client": {"base_url": url},
            "push": False,
            "rich": None,
            "output_dir": tmp_path / "out",
        }
    )
    (episode,) = asyncio.run(run_eval(config))
    return episode


def test_the_plugin_is_found_by_its_id():
    assert taskset_class("ludus-verifiers") is LudusTaskset
    assert environment_class("ludus-verifiers") is LudusEnv


def test_an_episode_is_played_to_the_goal(tmp_path):
    with serving(script(TO_THE_GOAL)) as (url, asked):
        episode = play(tmp_path, url)
    (trace,) = episode.traces
    assert not episode.errors
    assert trace.rewards["ludus_reward"].score == 1.0
    assert trace.metrics["steps"] == len(TO_THE_GOAL) == len(asked)
    told = [message["content"] for message in asked[-1]["messages"]]
    assert told[1::2] == [f"Observation: {cell}" for cell in (0, 4, 8, 9, 10, 14)]


def test_the_command_line(tmp_path):
    with serving(script(TO_THE_GOAL)) as (url, asked):
        command = [
            str(BIN / "vf-eval"), "ludus-verifiers",
            "--env.taskset.env", "FrozenLake-v1",
            "--env.taskset.arguments", '{"is_slippery": false}',
            "-n", "1", "--model", "scripted", "--client.base-url", url,
            "--no-push", "--no-rich", "-o", str(tmp_path / "out"),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    (traces,) = (tmp_path / "out").rglob("traces.jsonl")
    assert '"ludus_reward"' in traces.read_text()
    assert len(asked) == len(TO_THE_GOAL)


def test_a_research_task_is_graded(tmp_path):
    register_task("answersForVf", folder=write_task(tmp_path / "answers"))
    replies = [f"First this.\n```bash\n{one}\n```" for one in (answer(0.75), "validate", "submit")]
    with serving(script(replies)) as (url, asked):
        episode = play(
            tmp_path,
            url,
            "mlgym/answersForVf-v0",
            {"backend": "bubblewrap", "policy": LOOSE},
        )
    (trace,) = episode.traces
    assert trace.rewards["ludus_reward"].score == pytest.approx(0.5)
    assert trace.info["ludus"]["outcome"] == "scored"
    assert "score = 0.75" in asked[-1]["messages"][-1]["content"]
    # Neither the model nor the trace, which is often published, has what the grader saw.
    assert SECRET not in json.dumps(asked) + trace.model_dump_json()


def test_work_is_graded_when_the_model_has_stopped(tmp_path):
    register_task("answersForVf2", folder=write_task(tmp_path / "answers"))
    replies = [f"```bash\n{answer(1.0)}\n```", "I have done all that was asked."]
    with serving(script(replies)) as (url, asked):
        episode = play(
            tmp_path,
            url,
            "mlgym/answersForVf2-v0",
            {"backend": "bubblewrap", "policy": LOOSE},
            max_malformed=2,
        )
    (trace,) = episode.traces
    assert trace.rewards["ludus_reward"].score == pytest.approx(1.0)
    assert trace.stop_condition == "malformed_replies"
    assert len(asked) == 3


def test_a_harness_that_runs_programs_on_this_machine_is_refused(tmp_path):
    with serving(script(TO_THE_GOAL)) as (url, asked):
        player = {"harness": {"id": "bash"}, "runtime": {"type": "subprocess"}}
        episode = play(tmp_path, url, player=player)
    assert any("runs the model's programs on this machine" in one.message for one in episode.errors)
    assert not asked


def test_an_episode_that_fails_has_no_reward(tmp_path):
    with serving(script(TO_THE_GOAL)) as (url, _):
        episode = play(tmp_path, url, "tests.peers.failing_env:Failing-v0", {})
    assert episode.errors
    assert all("ludus_reward" not in trace.rewards for trace in episode.traces)


def test_tasks_have_seeds_and_rules():
    config = LudusConfig(id="ludus-verifiers", env="CartPole-v1", seed=5, num_episodes=3)
    tasks = list(LudusTaskset(config))
    assert [task.data.seed for task in tasks] == [5, 6, 7]
    assert "0 left, 1 right" in tasks[0].data.system_prompt
    assert len({task.key for task in tasks}) == 3


def test_no_environment_is_named():
    with pytest.raises(ValueError, match="has no environment"):
        list(LudusTaskset(LudusConfig(id="ludus-verifiers")))


def test_players_default_to_a_harness_without_tools():
    player = LudusEnvConfig(taskset=LudusConfig(id="ludus-verifiers", env="CartPole-v1")).player
    assert player.harness.id == "null"
    assert isinstance(player.runtime, vf.SubprocessConfig)
