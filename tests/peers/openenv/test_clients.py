"""OpenEnv's own clients and validation against ``ludus serve``."""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openenv import GenericEnvClient

import ludus
from tests.peers.openenv.conftest import IDS

ACTIONS: dict[str, list[Any]] = {
    "CartPole-v1": [1, 0, 1, 1, 0],
    "FrozenLake-v1": [2, 1, 1, 2, 0],
    "peer_envs:peer/Counting-v0": [{"add": n % 3, "where": [0.5, -0.25]} for n in range(5)],
    "CarRacing-v3": [[0.0, 1.0, 0.0], [0.5, 0.5, 0.0], [-0.5, 0.0, 0.25]],
    "research/battleOfSexes": ["ls", {"tool": "shell", "arguments": {"command": "pwd"}}],
}


def local(name: str) -> list[tuple[Any, ...]]:
    """Return what the environment itself does."""
    with ludus.make(name) as env:
        done = [env.reset(seed=7)]
        for action in ACTIONS[name]:
            value = np.array(action, np.float32) if isinstance(action, list) else action
            done.append(env.step(value))
        return done


def compare(name: str, told: list[Any]) -> None:
    """Compare observations, rewards and flags with the environment's own."""
    for mine, found in zip(local(name), told, strict=True):
        assert np.array_equal(np.array(found.observation["observation"]), np.asarray(mine[0]))
        if len(mine) == 5:
            assert found.reward == mine[1]
            assert found.done is (mine[2] or mine[3])
            assert found.metadata["terminated"] is mine[2]
            assert found.metadata["truncated"] is mine[3]


async def play_async(url: str, name: str) -> list[Any]:
    async with GenericEnvClient(base_url=f"{url}/env/{name}") as env:
        told = [await env.reset(seed=7)]
        told += [await env.step({"action": action}) for action in ACTIONS[name]]
        state = await env.state()
        assert state["step_count"] == len(ACTIONS[name])
        assert state["episode_id"]
        return told


def play_sync(url: str, name: str) -> list[Any]:
    with GenericEnvClient(base_url=f"{url}/env/{name}").sync() as env:
        told = [env.reset(seed=7)]
        told += [env.step({"action": action}) for action in ACTIONS[name]]
        assert env.state()["step_count"] == len(ACTIONS[name])
        return told


@pytest.mark.parametrize("way", ["async", "sync"])
@pytest.mark.parametrize("name", ["CartPole-v1", "FrozenLake-v1", "CarRacing-v3"])
def test_episodes_are_those_of_the_environment(server: str, name: str, way: str) -> None:
    told = asyncio.run(play_async(server, name)) if way == "async" else play_sync(server, name)
    compare(name, told)


@pytest.mark.parametrize("way", ["async", "sync"])
def test_dicts_are_fields(server: str, way: str) -> None:
    name = "peer_envs:peer/Counting-v0"
    told = asyncio.run(play_async(server, name)) if way == "async" else play_sync(server, name)
    last = told[-1]
    assert last.observation["count"] == 4
    assert last.observation["seen"] == [0.5, "inf"]
    assert last.observation["bits"] == [0, 0, 1]
    assert last.observation["word"] == "nnnn"
    assert last.metadata["info"] == {"count": 4}
    assert [one.reward for one in told] == [None, 0.0, 1.0, 2.0, 0.0, 1.0]


def test_a_research_task_is_worked_on_and_graded(server: str) -> None:
    name = "research/battleOfSexes"
    with GenericEnvClient(base_url=f"{server}/env/{name}").sync() as env:
        first = env.reset(seed=1)
        assert "strategy" in first.observation["task"]
        assert first.observation["validation_score"] == "-inf"
        seen = env.step({"action": "cat strategy.py > copy.py; ls"})
        assert "copy.py" in seen.observation["output"]
        tool = {"tool": "validate", "arguments": {}}
        validated = env.step({"action": tool})
        score = validated.metadata["info"]["validation"]["score"]
        assert math.isfinite(score)
        done = env.step({"action": "submit"})
        assert done.done
        assert done.metadata["terminated"] is True
        info = done.metadata["info"]
        assert info["outcome"] == "scored"
        assert math.isfinite(info["score"])
        secrets = json.dumps([one.metadata for one in (first, seen, validated, done)])
        for hidden in ("draw", "files", "details", "reason"):
            assert f'"{hidden}"' not in secrets


def test_wrong_actions_are_told(server: str) -> None:
    with GenericEnvClient(base_url=server).sync() as env:
        env.reset(seed=1)
        with pytest.raises(RuntimeError, match="VALIDATION_ERROR"):
            env.step({"action": 7})
        assert env.step({"action": 1}).reward == 1.0


def test_a_state_is_injected(server: str) -> None:
    with (
        GenericEnvClient(base_url=server).sync() as first,
        GenericEnvClient(base_url=server).sync() as second,
    ):
        first.reset(seed=1)
        last = first.step({"action": 1})
        told = second.reset(injected_state=first.state()["injected_state"])
        assert told.observation["observation"] == last.observation["observation"]
        assert first.step({"action": 0}) == second.step({"action": 0})


@pytest.mark.parametrize("name", IDS)
def test_openenv_validates_the_running_server(server: str, name: str) -> None:
    order = [sys.executable, "-m", "openenv.cli", "validate", "--url", f"{server}/env/{name}"]
    done = subprocess.run(
        [*order, "--json"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["passed"] is True
    assert report["mode"] == "simulation"
    assert all(one["passed"] for one in report["criteria"])


@pytest.mark.parametrize("name", ["CartPole-v1", "research/battleOfSexes"])
def test_openenv_validates_the_manifest(tmp_path: Path, name: str) -> None:
    order = [sys.executable, "-m", "ludus", "serve", name, "--manifest", str(tmp_path)]
    subprocess.run(order, check=True, capture_output=True, timeout=120)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "openenv.cli", "validate", str(tmp_path)),
            *("--level", "static", "--skip-build", "--json"),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = {one["check_id"]: one["status"] for one in json.loads(done.stdout)["results"]}
    assert results["static.manifest"] == "pass"
