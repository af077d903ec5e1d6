"""Agents that want more than their actions."""

from __future__ import annotations

import asyncio
import gc
import json
import secrets
import socket
import time

import httpx2
import mcp
import pytest

from ludus.errors import CapacityReached
from ludus.serve import Limits
from ludus.serve.settings import ServeSettings
from tests.serve.mcp.support import ERAS, run, served_sides, sides, text_of
from tests.serve.mcp.test_http import modern


@pytest.mark.parametrize("era", ERAS)
def test_guessed_and_mangled_handles_lead_nowhere(era, tmp_path):
    async def work() -> None:
        async with sides("CartPole-v1", tmp_path, era) as both:
            mine = await both.begin(seed=0)
            wrong = [
                "", " ", mine[:-1], mine.upper() + "A", f" {mine}", f"{mine}\x00", f"{mine}/..",
                "*", "%", "null", "None", "0" * 32, "'; --", "\u202e" + mine, mine * 10, "é" * 32,
                *(secrets.token_hex(16) for _ in range(50)),
            ]  # fmt: skip
            said = set()
            for handle in [*wrong, 1, None, True, [mine], {"episode": mine}]:
                result = await both.act(handle, 1)
                assert result.is_error, handle
                said.add(text_of(result))
            # Nothing tells a wrong handle from an almost right one.
            assert len(said) == 2, said
            assert (await both.ask("observe", episode=mine))["steps"] == 0

    run(work())


def test_an_episode_of_another_agent_needs_its_handle(tmp_path):
    async def work() -> None:
        async with sides("CartPole-v1", tmp_path) as both:
            mine, other = await both.begin(seed=0), await both.begin(seed=1)
            assert len(mine) == 32
            assert int(mine, 16) >> 64 != int(other, 16) >> 64
            for found in (
                await both.agent.list_tools(),
                await both.agent.list_resources(),
                await both.agent.list_resource_templates(),
                await both.agent.read_resource("task://CartPole-v1/instructions"),
                await both.act(mine, 0),
            ):
                assert other not in found.model_dump_json()
            template = f"task://CartPole-v1/episodes/{mine}/../{other[:-1]}/observation"
            with pytest.raises(mcp.MCPError):
                await both.agent.read_resource(template)
            assert (await both.ask("observe", episode=other))["steps"] == 0

    run(work())


@pytest.mark.parametrize("era", ERAS)
def test_the_agents_server_runs_no_operation(era, tmp_path):
    async def work() -> None:
        async with served_sides("CartPole-v1", tmp_path, era) as (both, address, beside):
            episode = await both.begin(seed=0)
            await both.act(episode, 0)
            for tool in ("new_episode", "observe", "save", "restore", "close"):
                with pytest.raises(mcp.MCPError, match="no tool"):
                    await both.agent.call_tool(tool, {"episode": episode, "seed": 0})
            async with httpx2.AsyncClient() as http:
                for url in (beside, address.replace("/mcp", "/operator"), f"{address}/../mcp2"):
                    body, headers = modern("tools/call", name="close", arguments={})
                    said = await http.post(url, json=body, headers=headers)
                    assert said.status_code in (401, 404), url
            for method in ("reset", "state", "ludus/reset", "sampling/createMessage"):
                body, headers = modern(method)
                async with httpx2.AsyncClient() as http:
                    said = await http.post(address, json=body, headers=headers)
                    assert "error" in said.json()
            assert (await both.ask("observe", episode=episode))["steps"] == 1

    run(work())


def test_wrong_arguments_change_nothing(tmp_path):
    async def work() -> None:
        async with sides("Pendulum-v1", tmp_path) as both:
            episode = await both.begin(seed=0)
            before = await both.ask("observe", episode=episode)
            deep: list = []
            for _ in range(90):
                deep = [deep]
            wrong = [
                None, 0.5, [], [[]], [1, 2], [None], ["0"], ["nan"], ["__import__('os')"], {}, deep,
                {"0": 1}, [True], [1e400], [10**400], "0" * 100_000, [[0.5]] * 10_000,
            ]  # fmt: skip
            for action in wrong:
                result = await both.act(episode, action)
                assert result.is_error, action
                assert len(text_of(result)) < 3000
            for arguments in ({"action": [0.5], "reward": 1}, {"actions": [0.5]}, {}):
                result = await both.agent.call_tool("act", {"episode": episode, **arguments})
                assert result.is_error
            assert await both.ask("observe", episode=episode) == before

    run(work())


@pytest.mark.parametrize(
    "written",
    [
        "[" * 900 + "]" * 900,
        "[" * 30_000 + "]" * 30_000,
        "NaN",
        "-Infinity",
        "1" * 5000,
        "1e99999",
        '"\\ud800"',
        '"\\u0000"',
        '{"__class__": "os.system"}',
        '1, "action": 0',
    ],
    ids=lambda written: written[:12],
)
def test_json_that_no_client_writes(written, tmp_path):
    async def work() -> None:
        async with served_sides("Pendulum-v1", tmp_path) as (both, address, _):
            episode = await both.begin(seed=0)
            body, headers = modern(
                "tools/call", name="act", arguments={"episode": episode, "action": "HERE"}
            )
            raw = json.dumps(body).replace('"HERE"', written).encode()
            headers |= {"mcp-param-episode": episode, "content-type": "application/json"}
            async with httpx2.AsyncClient() as http:
                said = await http.post(address, content=raw, headers=headers)
            assert "Traceback" not in said.text
            assert said.status_code in (200, 400), said.text
            if said.status_code == 200:
                assert said.json()["result"]["isError"], said.text
            assert (await both.ask("observe", episode=episode))["steps"] == 0
            assert not (await both.act(episode, [0.5])).is_error

    run(work())


def test_a_flood_of_calls_is_turned_away_and_the_rest_is_in_order(tmp_path):
    async def work() -> None:
        async with sides("Hopper-v5", tmp_path) as both:
            episode, beside = await both.begin(seed=0), await both.begin(seed=0)
            still = [0.0, 0.0, 0.0]
            many = [asyncio.create_task(both.act(episode, still)) for _ in range(60)]
            result = await both.act(beside, still)
            assert not result.is_error
            # The operator is not turned away.
            assert (await both.ask("save", episode=episode))["state"]
            done = await asyncio.gather(*many)
            taken = [one for one in done if not one.is_error]
            refused = [text_of(one) for one in done if one.is_error]
            assert all("calls of this episode wait already" in text for text in refused)
            assert refused
            assert (await both.ask("observe", episode=episode))["steps"] == len(taken)

    run(work())


def test_a_flood_of_requests_is_limited_by_rate(tmp_path):
    async def work() -> None:
        async with served_sides("CartPole-v1", tmp_path, rate=5) as (_, address, _):
            body, headers = modern("tools/list")
            async with httpx2.AsyncClient() as http:
                found = [
                    (await http.post(address, json=body, headers=headers)).status_code
                    for _ in range(60)
                ]
            assert 429 in found
            assert set(found) <= {200, 429}

    run(work())


def test_there_are_only_so_many_episodes(tmp_path):
    async def work() -> None:
        few = ServeSettings(limits=Limits(sessions=2))
        async with sides("CartPole-v1", tmp_path, agent=few) as both:
            first, _ = await both.begin(seed=0), await both.begin(seed=0)
            refused = await both.operator.call_tool("new_episode", {})
            assert refused.is_error
            assert "at most 2" in text_of(refused)
            with pytest.raises(CapacityReached):
                await both.board.begin()
            await both.ask("close", episode=first)
            await both.begin(seed=0)

    run(work())


def test_a_client_that_leaves_in_the_middle_has_taken_its_step(tmp_path):
    async def work() -> None:
        async with served_sides("Hopper-v5", tmp_path) as (both, address, _):
            episode = await both.begin(seed=0)
            body, headers = modern(
                "tools/call", name="act", arguments={"episode": episode, "action": [0, 0, 0]}
            )
            headers |= {"mcp-param-episode": episode, "content-type": "application/json"}
            raw = json.dumps(body).encode()
            host, port = address.removeprefix("http://").removesuffix("/mcp").split(":")
            lines = [f"{name}: {value}" for name, value in headers.items()]
            head = "\r\n".join(
                [
                    "POST /mcp HTTP/1.1",
                    f"host: {host}:{port}",
                    f"content-length: {len(raw)}",
                    *lines,
                ]
            )
            for number in range(1, 4):
                with socket.create_connection((host, int(port))) as made:
                    made.sendall(head.encode() + b"\r\n\r\n" + raw)
                    await asyncio.sleep(0.05)
                deadline = time.monotonic() + 20
                while (await both.ask("observe", episode=episode))["steps"] < number:
                    assert time.monotonic() < deadline
                    await asyncio.sleep(0.02)
            assert not (await both.act(episode, [0, 0, 0])).is_error
            assert (await both.ask("observe", episode=episode))["steps"] == 4

    run(work())


def test_episodes_leave_nothing_behind(tmp_path):
    async def work() -> None:
        async with sides("CartPole-v1", tmp_path) as both:
            sizes = []
            for number in range(90):
                episode = await both.begin(seed=0)
                await both.act(episode, 1)
                await both.ask("close", episode=episode)
                if number % 30 == 29:
                    gc.collect()
                    sizes.append(len(gc.get_objects()))
            assert sizes[2] - sizes[1] < 400, sizes

    run(work())
