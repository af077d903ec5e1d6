"""Streamable HTTP: both eras at real sockets, and who is refused."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
from contextlib import suppress
from typing import Any

import httpx2
import pytest

from ludus.errors import ServeError
from ludus.serve.mcp.settings import McpSettings
from ludus.serve.settings import ServeSettings
from tests.serve.mcp.support import COMMAND, ERAS, TOKEN, client, run, served_sides

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def modern(method: str, **params: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a request of the stateless era, as body and headers."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": META, **params}}
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
    }
    if "name" in params:
        headers["mcp-name"] = params["name"]
    return body, headers


@pytest.mark.parametrize("era", ERAS)
def test_an_episode_over_http(era, tmp_path):
    async def work() -> None:
        async with served_sides("FrozenLake-v1", tmp_path, era) as (both, _, _):
            expected = "2025-11-25" if era == "legacy" else era
            assert both.agent.protocol_version == both.operator.protocol_version == expected
            await both.agent.list_tools()
            episode = await both.begin(seed=0)
            result = await both.act(episode, 2)
            while not result.structured_content["over"]:
                result = await both.act(episode, 2)
            told = await both.ask("close", episode=episode)
            assert told["over"]
            assert told["observation"] == result.structured_content["observation"]

    run(work())


def test_both_eras_share_an_episode(tmp_path):
    async def work() -> None:
        async with served_sides("CartPole-v1", tmp_path) as (both, address, _):
            episode = await both.begin(seed=0)
            async with client(address, "legacy") as old, client(address, "auto") as new:
                assert new.protocol_version == "2026-07-28"
                for number, agent in enumerate((old, new, old), 1):
                    await agent.call_tool("act", {"episode": episode, "action": 0})
                    assert (await both.ask("observe", episode=episode))["steps"] == number

    run(work())


def test_the_handle_is_repeated_in_a_header(tmp_path):
    async def work() -> None:
        async with served_sides("CartPole-v1", tmp_path) as (both, address, _):
            one, other = await both.begin(seed=0), await both.begin(seed=0)
            body, headers = modern(
                "tools/call", name="act", arguments={"episode": one, "action": 0}
            )
            async with httpx2.AsyncClient() as http:
                for shown, status in ((one, 200), (other, 400), (None, 400)):
                    more = {} if shown is None else {"mcp-param-episode": shown}
                    said = await http.post(address, json=body, headers={**headers, **more})
                    assert said.status_code == status, said.text
            steps = [(await both.ask("observe", episode=each))["steps"] for each in (one, other)]
            assert steps == [1, 0]

    run(work())


@pytest.mark.parametrize("shown", [None, "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x"])
def test_nobody_operates_without_the_token(shown, tmp_path):
    async def work() -> None:
        async with served_sides("CartPole-v1", tmp_path) as (_, _, beside):
            body, headers = modern("tools/list")
            headers |= {} if shown is None else {"authorization": shown}
            async with httpx2.AsyncClient() as http:
                assert (await http.post(beside, json=body, headers=headers)).status_code == 401
                headers["authorization"] = f"Bearer {TOKEN}"
                said = await http.post(beside, json=body, headers=headers)
                assert "new_episode" in said.text

    run(work())


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("host", "evil.example", 421),
        ("host", "127.0.0.1.evil.example", 421),
        ("host", "evil.example:80", 421),
        ("origin", "http://evil.example", 403),
        ("origin", "null", 403),
        ("content-encoding", "gzip", 415),
    ],
)
def test_other_sites_and_names_are_refused(era, name, value, status, tmp_path):
    async def work() -> None:
        async with served_sides("CartPole-v1", tmp_path) as (_, address, _):
            body, headers = modern("tools/list")
            if era == "legacy":
                headers = {"accept": headers["accept"], "mcp-protocol-version": "2025-11-25"}
            async with httpx2.AsyncClient() as http:
                said = await http.post(address, json=body, headers={**headers, name: value})
                assert said.status_code == status

    run(work())


def test_an_agent_may_need_a_token_too(tmp_path):
    async def work() -> None:
        token = "agent-token-of-tests"
        async with served_sides("CartPole-v1", tmp_path, token=token) as (both, address, _):
            assert len((await both.agent.list_tools()).tools) == 1
            body, headers = modern("tools/list")
            async with httpx2.AsyncClient() as http:
                assert (await http.post(address, json=body, headers=headers)).status_code == 401
                headers["authorization"] = f"Bearer {TOKEN}"
                assert (await http.post(address, json=body, headers=headers)).status_code == 401

    run(work())


def test_large_bodies_are_refused_and_the_server_stays(tmp_path):
    async def work() -> None:
        async with served_sides("CartPole-v1", tmp_path) as (both, address, _):
            episode = await both.begin(seed=0)
            body, headers = modern("tools/call", name="act", arguments={"episode": "x" * 5_000_000})
            async with httpx2.AsyncClient() as http:
                # The server may close the connection before all of it is sent.
                with suppress(httpx2.TransportError):
                    said = await http.post(address, json=body, headers=headers)
                    assert said.status_code == 413
                for raw in (b"", b"{", b"[]", b"1", b"[" * 100_000, b'{"a":' * 50_000, b"\xff"):
                    said = await http.post(
                        address,
                        content=raw,
                        headers={**headers, "content-type": "application/json"},
                    )
                    assert 400 <= said.status_code < 500, raw[:10]
                    assert "Traceback" not in said.text
            assert not (await both.act(episode, 0)).is_error

    run(work())


def test_errors_do_not_name_what_is_inside(tmp_path):
    async def work() -> None:
        async with served_sides("CartPole-v1", tmp_path) as (_, address, _):
            body, headers = modern("tools/call", name="act", arguments=[1])
            async with httpx2.AsyncClient() as http:
                said = await http.post(address, json=body, headers=headers)
                assert said.status_code == 400
                assert "error" in json.loads(said.text)
                assert "/src/" not in said.text

    run(work())


def test_settings_that_would_let_anyone_in_are_refused():
    with pytest.raises(ServeError, match="Set a token"):
        ServeSettings(host="0.0.0.0")
    with pytest.raises(ServeError, match="operator's server needs a token"):
        McpSettings(name="CartPole-v1", operator=ServeSettings(port=0))


def test_the_command_serves_both_sides_until_it_is_interrupted():
    order = [*COMMAND, "CartPole-v1", "--transport", "http", "--port", "0", "--operator-port", "0"]
    child = subprocess.Popen(order, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        lines = [child.stdout.readline() for _ in range(3)]
        address, beside = (re.search(r"http://\S+", line)[0] for line in lines[:2])
        token, failed = lines[2].split()[-1], []

        async def work() -> None:
            # A client of the older revisions keeps a request open all the time.
            async with client(address, "legacy") as agent, client(beside, ERAS[1], token) as both:
                begun = (await both.call_tool("new_episode", {"seed": 3})).structured_content
                given = {"episode": begun["episode"], "action": 1}
                failed.append((await agent.call_tool("act", given)).is_error)
                child.send_signal(signal.SIGINT)
                failed.append(await asyncio.to_thread(child.wait, 30) != 0)

        # The agent's connection is cut.
        with suppress(httpx2.TransportError, ExceptionGroup):
            run(work())
        assert failed == [False, False]
    finally:
        child.kill()
        child.stdout.close()
        child.wait()
