"""NeMo Gym's own agent and client play environments and research tasks that Ludus serves.

The model is a script behind a server; everything else is theirs.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
import uvicorn
from fastapi import FastAPI
from nemo_gym.config_types import (
    AggregateMetricsRequest,
    BaseServerConfig,
    ModelServerRef,
    ResourcesServerRef,
)
from nemo_gym.server_utils import ServerClient, get_global_aiohttp_client
from omegaconf import OmegaConf
from responses_api_agents.gymnasium_agent.app import (
    GymnasiumAgent,
    GymnasiumAgentConfig,
    GymnasiumAgentRunRequest,
)

import ludus
from ludus.research import load_task
from ludus.serve import Served
from ludus.serve.nemo_gym import rows
from tests.peers.served import served

RESEARCH = "research/battleOfSexes"
GOOD = load_task("battleOfSexes").reference.joinpath("strategy.py").read_text()


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    out = tmp_path_factory.mktemp("served")
    with served("CartPole-v1", RESEARCH, "--protocol", "nemo-gym", "--out", str(out)) as address:
        yield address


@pytest.fixture(scope="module")
def run():
    # One loop for all: their client is one for the whole program.
    with asyncio.Runner() as runner:
        yield lambda work: runner.run(asyncio.wait_for(work, 200))
        runner.run(get_global_aiohttp_client().close())


@pytest.fixture(autouse=True)
def _no_arguments(monkeypatch, tmp_path):
    # NeMo Gym reads its settings from them, and writes into the current folder.
    monkeypatch.setattr(sys, "argv", ["test"])
    monkeypatch.chdir(tmp_path)


def script(replies, seen):
    """Return a model that gives these replies: texts, or names of tools with arguments."""
    app = FastAPI()

    @app.post("/v1/responses")
    async def respond(body: dict):
        seen.append(body)
        reply = replies[min(len(seen), len(replies)) - 1]
        if isinstance(reply, str):
            content = [{"type": "output_text", "text": reply, "annotations": []}]
            item = {"id": "m", "type": "message", "role": "assistant", "status": "completed"}
            item["content"] = content
        else:
            item = {"type": "function_call", "call_id": f"call-{len(seen)}", "name": reply[0]}
            item["arguments"] = json.dumps(reply[1])
        response = {"id": "r", "created_at": 0.0, "model": "script", "object": "response"}
        response |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        return {**response, "output": [item]}

    return app


@asynccontextmanager
async def model_of(replies, seen):
    """Run a model's server; its port is returned."""
    server = uvicorn.Server(uvicorn.Config(script(replies, seen), port=0, log_level="error"))
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.02)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await task


async def play(url, row, replies, most=30):
    """Return what their agent makes of a row, and what the model was asked."""
    seen = []
    async with model_of(replies, seen) as port:
        agent = agent_of(url, port, most)
        request = SimpleNamespace(cookies={})
        done = await agent.run(request, GymnasiumAgentRunRequest.model_validate(row))
        found = [{"_ng_task_index": 0, "reward": done.reward}, {"_ng_task_index": 1, "reward": 0.0}]
        metrics = await agent.aggregate_metrics(AggregateMetricsRequest(verify_responses=found))
    return done, seen, metrics


def agent_of(url, port, most):
    """Return their agent between a server of Ludus and a model."""
    host, own = url.removeprefix("http://").split(":")
    ludus_at = {"host": host, "port": int(own), "entrypoint": "app.py"}
    model_at = {"host": "127.0.0.1", "port": port, "entrypoint": "app.py"}
    places = {
        "ludus": {"resources_servers": {"ludus": ludus_at}},
        "policy": {"responses_api_models": {"policy": model_at}},
    }
    return GymnasiumAgent(
        config=GymnasiumAgentConfig(
            host="",
            port=0,
            entrypoint="",
            name="agent",
            resources_server=ResourcesServerRef(type="resources_servers", name="ludus"),
            model_server=ModelServerRef(type="responses_api_models", name="policy"),
            max_steps=most,
        ),
        server_client=ServerClient(
            head_server_config=BaseServerConfig(host="127.0.0.1", port=1),
            global_config_dict=OmegaConf.create(places),
        ),
    )


def row_of(name, seed=3):
    (row,) = rows(Served.of(name), [seed])
    return row


def test_an_episode_by_text_and_by_calls(url, run):
    replies = ["I think.", "<action>1</action>", ["act", {"action": 1}], ["act", {"action": 9}]]
    with ludus.make("CartPole-v1") as env:
        env.reset(seed=3)
        total, is_over = 0.0, False
        while not is_over:
            _, reward, terminated, truncated, _ = env.step(1)
            total, is_over = total + float(reward), terminated or truncated
    replies.append("Now <action>0</action>, no: <action> 1 </action>")
    done, seen, metrics = run(play(url, row_of("CartPole-v1"), replies))
    assert (done.reward, done.terminated, done.truncated) == (total, True, False)
    assert "Keep a pole upright" in seen[0]["input"][-1]["content"]
    assert [tool["name"] for tool in seen[0]["tools"]] == ["act"]
    assert "<action>" in seen[1]["input"][-1]["content"]
    assert seen[3]["input"][-1]["type"] == "function_call_output"
    assert "Discrete(2)" in seen[4]["input"][-1]["output"]
    assert metrics.key_metrics["mean/reward"] == total / 2
    assert len(metrics.group_level_metrics) == 2


def test_their_limit_of_steps_truncates(url, run):
    done, _, _ = run(play(url, row_of("CartPole-v1"), [["act", {"action": 1}]], most=3))
    assert (done.reward, done.terminated, done.truncated) == (3.0, False, True)


def test_a_research_task_is_worked_on_and_graded(url, run):
    replies = [
        "<action>ls</action>",
        "<action>rm strategy.py</action>",
        ["create", {"path": "strategy.py", "text": GOOD}],
        ["validate", {}],
        ["submit", {}],
    ]
    done, seen, _ = run(play(url, row_of(RESEARCH), replies))
    assert (done.terminated, done.truncated) == (True, False)
    assert done.reward > 0.5
    assert "strategy.py" in seen[1]["input"][-1]["content"]
    assert "Validation 1" in seen[4]["input"][-1]["output"]
    assert {"shell", "submit"} <= {tool["name"] for tool in seen[0]["tools"]}


def test_rows_that_are_wrong_are_refused(url, run):
    for wrong in ({"env": "NoSuchEnv-v1"}, {"seed": -1}, {"seed": "1"}, {"options": []}):
        with pytest.raises(Exception, match="40|42"):
            run(play(url, {**row_of("CartPole-v1"), **wrong}, ["<action>1</action>"]))
